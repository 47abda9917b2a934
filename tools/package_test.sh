#!/bin/bash
# Do the packages install, work, upgrade and go away on a Debian 12 that has nothing else? Run by hand, as root, with
# network:
#
#   tools/package_test.sh [FOLDER]     FOLDER (default: a temporary one) keeps the downloaded base system
#
# Environment: PACKAGES=FOLDER with packages (default out/packages, made with tools/package.sh where it is empty);
# MIRROR (default http://deb.debian.org/debian).
# Takes 1 GB of disk and some three minutes, beside building. Exit codes: 0 passed, 1 an expectation failed, 77 skipped: this
# machine can't run it.
set -euo pipefail
export LC_ALL=C
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
packages=${PACKAGES:-$root/out/packages}
mirror=${MIRROR:-http://deb.debian.org/debian}
names=(fairlead fairlead-agent fairlead-controller fairlead-slurm libfairlead-preload)
work=$(mktemp -d)
base=${1:-$work}/base
system=$work/system
booted=
untried=
trap 'end_system; rm -rf --one-file-system "$work"' EXIT

say() { echo "package_test: $*"; }
fail() {
  say "FAILED: $*"
  exit 1
}
skip() {
  say "skipped: $*"
  exit 77
}

# Runs a command as root in the system, with its own mounts and processes; no host variable reaches it.
inside() {
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
    unshare --mount --pid --fork bash -c '
      mount -t proc proc "$1/proc"
      mount -t tmpfs tmpfs "$1/dev/shm"
      exec chroot "$1" bash -c "$2"' bash "$system" "$*"
}

# expect TEXT COMMAND: the command succeeds in the system, and its output has TEXT.
expect() {
  local text=$1 code=0
  shift
  inside "$*" >"$work/output" 2>&1 </dev/null || code=$?
  ((code == 0)) || fail "exit code $code: $*: $(tail -n 5 "$work/output")"
  grep -qF -- "$text" "$work/output" || fail "no '$text' in: $*: $(head -n 5 "$work/output")"
}

end_system() {
  [[ -z $booted ]] || "$root/tests/packaging/boot_systemd.sh" end "$booted"
  booted=
}

# Runs a command in the booted system.
booted() { nsenter -t "$booted" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "$*"; }

# wait_for TEXT COMMAND: within 20 s the command's output in the booted system has TEXT.
wait_for() {
  local text=$1 tries
  shift
  for ((tries = 0; tries < 100; ++tries)); do
    booted "$*" >"$work/output" 2>&1 || true
    if grep -qF -- "$text" "$work/output"; then return; fi
    sleep 0.2
  done
  fail "no '$text' within 20 s in: $*: $(tail -n 10 "$work/output"); $(booted 'journalctl -n 20 --no-pager' || true)"
}

# What the controller answers at a path.
ask() { echo "exec 3<>/dev/tcp/127.0.0.1/8080; printf 'GET $1 HTTP/1.0\r\n\r\n' >&3; tr -d ' ' <&3"; }

main_pid() { booted "systemctl show $1 -p MainPID --value"; }

file_of() { echo "$packages/$1"_*.deb; }

check_lintian() {
  say "lintian finds no error"
  lintian --allow-root --tag-display-limit 0 --fail-on error "$packages"/*.deb >"$work/lintian" 2>&1 ||
    fail "lintian: $(grep -E '^E:' "$work/lintian" || cat "$work/lintian")"
  sed 's/^/  /' "$work/lintian"
}

check_content() {
  say "no file names the folder of the build, and programs are stripped"
  local package file
  for package in "$packages"/*.deb; do
    dpkg-deb -x "$package" "$work/content"
    dpkg-deb -e "$package" "$work/content/control-of-$(basename "$package")"
  done
  # Whole words: /usr/src/fairlead is no match for /src/fairlead.
  if grep -raohE "(^|[^[:alnum:]_./-])$root(/[[:graph:]]{0,80}|$)" "$work/content" >"$work/found"; then
    fail "found in packages: $(sort -u "$work/found" | tr -d '\0' | head -n 5)"
  fi
  while IFS= read -r file; do
    ! file "$file" | grep -q 'not stripped' || fail "$file is not stripped"
  done < <(find "$work/content" -type f \( -path '*/bin/*' -o -name '*.so' \))
}

check_sizes() {
  say "sizes (installed, then as a file)"
  local name installed
  for name in "${names[@]}"; do
    installed=$(dpkg-deb -f "$(file_of "$name")" Installed-Size)
    printf '  %-22s %6d kB %6d kB\n' "$name" "$installed" $(($(stat -c %s "$(file_of "$name")") / 1024))
    # Symbols that were not taken out would more than treble them.
    ((installed < 80000)) || fail "$name has $installed kB: are its symbols still in it?"
  done
}

make_system() {
  if [[ ! -d $base ]]; then
    say "downloading a minimal Debian 12"
    mkdir -p "$(dirname "$base")"
    debootstrap --variant=minbase bookworm "$base.part" "$mirror" >"$work/debootstrap.log" ||
      skip "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
    mv "$base.part" "$base"
  fi
  cp -a "$base" "$system"
  cp -L /etc/resolv.conf "$system/etc/resolv.conf"
  mkdir -p "$system/packages" "$system/packaging"
  cp "$packages"/*.deb "$system/packages/"
  cp "$root/packaging/install_in_image.sh" "$system/packaging/"
}

# All that the packages may leave behind, and who there is.
take_stock() {
  inside "find / -xdev -iname '*fairlead*' -not -path '/packages*' -not -path '/proc/*' \
            -not -path '/var/log/apt/*' -not -path '/var/log/dpkg.log' | sort
          getent passwd | grep fairlead; getent group | grep fairlead; true" >"$1"
}

check_programs() {
  say "programs run in any folder"
  local program version
  version=$(dpkg-deb -f "$(file_of fairlead)" Version)
  expect "fairlead " 'cd /tmp && fairlead --version'
  # 0.1.0~git20261123091500.1a1fe33-1: the commit is in both.
  if [[ $version == *~git* ]]; then
    version=${version#*~git*.}
    expect "+g${version:0:7}" 'fairlead --version'
  fi
  for program in "$system"/usr/bin/fairlead-*; do
    program=${program##*/fairlead-}
    [[ $program != trainer ]] || continue
    expect "fairlead " "fairlead-$program --version"
  done
  # Commands of all programs, each found by `fairlead`.
  for program in agent audit cert controller diag doctor experiment fabric get lab predict sched "sim chaos" top trace; do
    expect Usage "fairlead $program --help"
  done
  expect Usage 'fairlead-trainer --help || true'
  expect ecmp 'cd /var/tmp && fairlead sim run scenarios/two-jobs.yaml --policy ecmp,crux'
  expect crux 'cd /tmp && fairlead sim run scenarios/two-jobs.yaml --policy crux-levels --detail agents'
  expect Usage 'fairlead lab --help'
  expect large-model 'cd / && fairlead explain job large-model --scenario scenarios/two-jobs.yaml'
  expect ok 'cd /tmp && fairlead check scenarios/two-jobs.yaml && echo ok'
  expect '' 'fairlead schema scenario | head -n 1'
  expect ok 'cd /tmp && fairlead sim chaos --seeds 1 >/dev/null && echo ok'
  expect "h0-key.pem" 'cd /tmp && fairlead-cert init keys && fairlead-cert host keys h0 && ls keys'
}

check_libraries() {
  say "libraries load, and leave a process without an agent alone"
  expect done 'FAIRLEAD_JOB=j LD_PRELOAD=/usr/lib/fairlead/libfairlead-steer.so bash -c "echo > /dev/tcp/127.0.0.1/1" || echo done'
  expect done 'LD_PRELOAD=/usr/lib/fairlead/libnccl-profiler-fairlead.so bash -c "echo done"'
  [[ -f $system/usr/lib/fairlead/python/fairlead_torch/__init__.py ]] || fail "no fairlead_torch"
  [[ -f $system/usr/lib/fairlead/spank_fairlead.so ]] || fail "no SPANK plugin"
  for program in epilog job-end prolog watchdog; do
    expect ok "bash -n /usr/share/fairlead/integrations/slurm/fairlead-$program && echo ok"
  done
}

check_services() {
  say "services are there, off, and have users and settings"
  local daemon
  for daemon in agent controller; do
    [[ -f $system/lib/systemd/system/fairlead-$daemon.service ]] || fail "no unit of $daemon"
    [[ -f $system/etc/default/fairlead-$daemon ]] || fail "no settings of $daemon"
    expect "fairlead-$daemon" "getent passwd fairlead-$daemon"
    ! find "$system/etc/systemd" -name "fairlead-$daemon.service" | grep -q . || fail "fairlead-$daemon is enabled"
  done
  say "the examples of the settings have options that the daemons know"
  # Uncommented, an example is read by a shell as systemd reads it; the first thing missing is a file, no option.
  for daemon in agent controller; do
    sed -nE "/^#FAIRLEAD_/,/[^\\\\]\$/s/^#//p" "$system/etc/default/fairlead-$daemon" >"$system/tmp/example"
    expect example "sh -c '. /tmp/example; timeout 10 fairlead-$daemon $([[ $daemon == agent ]] && echo run) \
      \$FAIRLEAD_$(tr a-z A-Z <<<$daemon)_OPTIONS' 2>&1; echo example"
    grep -qE '/etc/fairlead/[a-z0-9-]+\.(pem|yaml)' "$work/output" || fail "example of $daemon: $(<"$work/output")"
  done
}

# What an operator does, with keys for host h0 of a fabric of two.
configure_services() {
  cat >"$system/etc/fairlead/fabric.yaml" <<'END'
fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 1
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
END
  echo '{"nics": {"127.0.0.1": "h0/nic0", "127.0.1.1": "h1/nic0"}, "interfaces": {}}' >"$system/etc/fairlead/addresses.json"
  inside 'cd /root && fairlead-cert init keys && fairlead-cert host keys controller --address 127.0.0.1 && fairlead-cert host keys h0
          cp keys/ca.pem keys/controller*.pem keys/h0*.pem /etc/fairlead && cd /etc/fairlead
          chown fairlead-controller ca.pem controller*.pem && rm -r /root/keys' >/dev/null
}

set_options() {
  for daemon in agent controller; do cp "$system/etc/default/fairlead-$daemon" "$work/default-$daemon"; done
  # The examples themselves, with addresses of this machine.
  sed -i -E '/^#FAIRLEAD_/,/[^\\]$/s/^#//; s/10\.1\.0\.9|10\.0\.0\.1/127.0.0.1/g' "$system"/etc/default/fairlead-*
}

check_running_services() {
  local before
  if ! inside "DEBIAN_FRONTEND=noninteractive apt-get update -q && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -q --no-install-recommends systemd systemd-sysv" >"$work/output" 2>&1; then
    fail "systemd: $(tail -n 3 "$work/output")"
  fi
  configure_services
  local code=0
  booted=$("$root/tests/packaging/boot_systemd.sh" start "$system") || code=$?
  if ((code == 77)); then
    untried=", but for the services under systemd, which can't be booted here"
    return
  fi
  ((code == 0)) || fail "systemd does not come up"
  say "services are off after boot; one without options is skipped and says what to do"
  wait_for "inactive inactive" 'echo $(systemctl is-active fairlead-agent fairlead-controller)'
  booted 'systemctl start fairlead-agent fairlead-controller' || true
  for daemon in agent controller; do
    wait_for "inactive" "systemctl is-active fairlead-$daemon"
    wait_for "OPTIONS in /etc/default/fairlead-$daemon" "journalctl -u fairlead-$daemon --no-pager"
  done
  say "one with wrong options is not tried again and again"
  cp "$system/etc/default/fairlead-agent" "$work/default-agent"
  echo 'FAIRLEAD_AGENT_OPTIONS="--no-such-option"' >>"$system/etc/default/fairlead-agent"
  booted 'systemctl start fairlead-agent' || true
  wait_for "Result=exit-code NRestarts=0 ExecMainStatus=2 ActiveState=failed" \
    'echo $(systemctl show fairlead-agent -p Result -p NRestarts -p ExecMainStatus -p ActiveState)'
  cp "$work/default-agent" "$system/etc/default/fairlead-agent"
  say "with options they start inside their walls, and find each other over TLS"
  set_options
  booted 'systemctl reset-failed; systemctl enable --now fairlead-controller fairlead-agent' >"$work/output" 2>&1 ||
    fail "start: $(<"$work/output")"
  wait_for '"connected":true' "$(ask /v1/hosts)"
  wait_for fairlead-agent 'ps -o user= -p $(systemctl show fairlead-agent -p MainPID --value) 2>/dev/null ||
    stat -c %U /proc/$(systemctl show fairlead-agent -p MainPID --value)'
  say "the agent has what it needs: its table, other users' telemetry, a socket for everybody"
  wait_for "table inet fairlead_agent" 'nft list table inet fairlead_agent'
  wait_for "40000:" 'ip rule'
  booted 'setpriv --reuid 65534 --regid 65534 --clear-groups bash -c \
    "umask 077; echo no segment >/dev/shm/fairlead-\$\$; sleep 30" >/dev/null 2>&1 &'
  wait_for "bytes, found 11" 'journalctl -u fairlead-agent --no-pager'
  wait_for yes 'setpriv --reuid 65534 --regid 65534 --clear-groups test -w /run/fairlead/agent.sock && echo yes'
  say "a process that has loaded the library gets a path, and is seen"
  booted "perl -MIO::Socket -e 'my \$s = IO::Socket::INET->new(LocalAddr => q(127.0.1.1), LocalPort => 5001, Listen => 5);
    my @kept; while (my \$c = \$s->accept) { push @kept, \$c }' >/dev/null 2>&1 &"
  booted 'sleep 1; setpriv --reuid 65534 --regid 65534 --clear-groups env FAIRLEAD_JOB=gpt \
    LD_PRELOAD=/usr/lib/fairlead/libfairlead-steer.so \
    bash -c "exec 3<>/dev/tcp/127.0.1.1/5001; exec sleep 60" >/dev/null 2>&1 &'
  wait_for '"destination":"h1/nic0"' "$(ask '/v1/connections')"
  wait_for "127.0.1.1" 'fairlead-agent probe 127.0.1.1 --port 5001 --hops 1 --source-ports 50000-50000 || true'
  if booted 'journalctl -u fairlead-agent -u fairlead-controller --no-pager' | grep -iE 'not permitted|denied|CAP_'; then
    fail "the walls are too narrow (above)"
  fi
  say "killed, they are back, and find each other again"
  for daemon in controller agent; do
    before=$(main_pid "fairlead-$daemon")
    booted "kill -9 $before"
    wait_for "active" "[[ \$(systemctl show fairlead-$daemon -p MainPID --value) != $before ]] && systemctl is-active fairlead-$daemon"
  done
  wait_for '"connected":true' "$(ask /v1/hosts)"
  say "an upgrade restarts them, leaves them enabled, and keeps the folder that job containers mount"
  before=$(booted 'systemctl show fairlead-agent -p MainPID --value; stat -c %i /run/fairlead')
  booted 'dpkg --force-confold -i /packages/fairlead-{agent,controller}_*.deb' >"$work/output" 2>&1 || fail "$(<"$work/output")"
  for daemon in agent controller; do
    wait_for "active enabled" "echo \$(systemctl is-active fairlead-$daemon) \$(systemctl is-enabled fairlead-$daemon)"
  done
  local after
  after=$(booted 'systemctl show fairlead-agent -p MainPID --value; stat -c %i /run/fairlead')
  [[ ${before%%$'\n'*} != "${after%%$'\n'*}" ]] || fail "the agent was not restarted"
  [[ ${before##*$'\n'} == "${after##*$'\n'}" ]] || fail "the upgrade made another /run/fairlead"
  wait_for '"connected":true' "$(ask /v1/hosts)"
  say "they end cleanly"
  booted 'systemctl disable --now fairlead-agent fairlead-controller' >/dev/null 2>&1 || fail "stop"
  wait_for "Result=success Result=success" \
    'echo $(systemctl show fairlead-agent -p Result) $(systemctl show fairlead-controller -p Result)'
  booted 'systemd-analyze security --no-pager fairlead-agent.service fairlead-controller.service' 2>/dev/null | grep Overall || true
  say "purged while they run, they are stopped, and their users are gone"
  booted 'systemctl start fairlead-controller fairlead-agent; DEBIAN_FRONTEND=noninteractive dpkg --purge fairlead-agent fairlead-controller' \
    >"$work/output" 2>&1 || fail "purge: $(tail -n 5 "$work/output")"
  if booted 'readlink /proc/[0-9]*/exe | grep fairlead- || getent passwd fairlead-agent fairlead-controller' >"$work/output"; then
    fail "left behind by purge: $(<"$work/output")"
  fi
  booted 'dpkg -i /packages/fairlead-{agent,controller}_*.deb' >"$work/output" 2>&1 || fail "install again: $(tail -n 5 "$work/output")"
  end_system
  for daemon in agent controller; do cp "$work/default-$daemon" "$system/etc/default/fairlead-$daemon"; done
  inside 'rm -f /etc/fairlead/*'
}

# The same packages as the next version, whose own settings are others than before.
make_next_version() {
  local name
  mkdir -p "$system/next"
  for name in "${names[@]}"; do
    rm -rf "$work/next"
    dpkg-deb -R "$(file_of "$name")" "$work/next"
    sed -i -E 's/^(Version: .*)$/\1+next/' "$work/next/DEBIAN/control"
    if [[ -d $work/next/etc/default ]]; then echo "# next version" >>"$work/next/etc/default/$name"; fi
    (cd "$work/next" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    dpkg-deb --root-owner-group -b "$work/next" "$system/next/${name}_next.deb" >/dev/null
  done
}

check_upgrade() {
  say "an upgrade keeps changed settings, takes new ones where none were changed, and keeps state"
  inside 'echo "FAIRLEAD_AGENT_OPTIONS=mine" >>/etc/default/fairlead-agent
          mkdir -p /var/lib/fairlead-agent; echo kept >/var/lib/fairlead-agent/state; echo key >/etc/fairlead/h0-key.pem'
  make_next_version
  inside 'DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i /next/*.deb' >"$work/output" 2>&1 ||
    fail "upgrade: $(tail -n 5 "$work/output")"
  expect +next 'dpkg-query -W -f "\${Version}\n" fairlead-agent'
  expect mine 'tail -n 1 /etc/default/fairlead-agent'
  expect "next version" 'tail -n 1 /etc/default/fairlead-controller'
  expect kept 'cat /var/lib/fairlead-agent/state'
  say "and back again"
  inside 'DEBIAN_FRONTEND=noninteractive dpkg --force-confold --force-downgrade -i /packages/{fairlead,fairlead-agent,fairlead-controller,fairlead-slurm,libfairlead-preload}_*.deb' >"$work/output" 2>&1 ||
    fail "downgrade: $(tail -n 5 "$work/output")"
  expect mine 'tail -n 1 /etc/default/fairlead-agent'
  expect "fairlead " 'fairlead-agent --version'
}

check_removal() {
  say "remove keeps settings and state; purge leaves nothing but what the operator put there"
  expect '' "DEBIAN_FRONTEND=noninteractive apt-get remove -y -q ${names[*]}"
  expect mine 'tail -n 1 /etc/default/fairlead-agent'
  expect kept 'cat /var/lib/fairlead-agent/state'
  [[ ! -e $system/usr/bin/fairlead-agent ]] || fail "the agent was not removed"
  # Not apt-get, which does not know a package any more of which nothing is left.
  inside "dpkg --purge ${names[*]}" >"$work/output" 2>&1 || fail "purge: $(tail -n 5 "$work/output")"
  expect key 'cat /etc/fairlead/h0-key.pem'
  inside 'rm -r /etc/fairlead /next /tmp/keys'
  take_stock "$work/after"
  diff "$work/before" "$work/after" >"$work/leftovers" || fail "left behind: $(<"$work/leftovers")"
}

((EUID == 0)) || skip "needs root, for debootstrap and chroot"
missing=()
for need in debootstrap lintian dpkg-deb file systemd-nspawn; do command -v "$need" >/dev/null || missing+=("$need"); done
((${#missing[@]} == 0)) || skip "needs ${missing[*]}: apt-get install debootstrap lintian dpkg file systemd-container"
if ! compgen -G "$packages/fairlead_*.deb" >/dev/null; then "$root/tools/package.sh" "$packages"; fi
check_lintian
check_content
check_sizes
make_system
take_stock "$work/before"
say "installing as Containerfile does: agent, then the rest"
inside /packaging/install_in_image.sh /packages fairlead-agent >"$work/output" 2>&1 || fail "agent: $(tail -n 5 "$work/output")"
expect Usage 'fairlead-agent run --help'
expect "fairlead " 'fairlead-agent --version'
inside /packaging/install_in_image.sh /packages "${names[@]}" >"$work/output" 2>&1 || fail "all: $(tail -n 5 "$work/output")"
check_programs
check_libraries
check_services
check_running_services
check_upgrade
check_removal
say "passed$untried"
