#!/bin/bash
# Do ./run and ./test work on a Debian 12 that has nothing but git? Run by hand, as root, with network:
#
#   tools/check_fresh_install.sh [FOLDER]     FOLDER (default: a temporary one) keeps the downloaded base system
#
# Environment: MIRROR (default http://deb.debian.org/debian), ONLY_RUN=1 to leave ./test out.
# Builds the working tree as it is, untracked files included, inside a minimal system made by debootstrap. Takes
# 1 GB of disk and, beside the build itself, about two minutes. Exit code 1 at the first expectation that fails.
set -euo pipefail
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
mirror=${MIRROR:-http://deb.debian.org/debian}
shared=${1:-}
work=$(mktemp -d)
system=$work/system
trap 'rm -rf --one-file-system "$work"' EXIT

say() { echo "check_fresh_install: $*"; }
fail() {
  say "FAILED: $*"
  exit 1
}

# Runs a command in the system as USER ("root" or "user"), with its own mounts and processes. No host variable
# reaches it. With NETWORK=none it has no network.
inside() {
  local user=$1 isolate=(--mount --pid --fork)
  shift
  [[ ${NETWORK:-} == none ]] && isolate+=(--net)
  env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp unshare "${isolate[@]}" bash -c '
    mount -t proc proc "$1/proc"
    exec chroot --userspec="$2" "$1" bash -c "$3"' bash "$system" "$user:$user" "$*"
}

make_system() {
  local base=${shared:-$work}/base
  if [[ ! -d $base ]]; then
    say "downloading a minimal Debian 12"
    mkdir -p "$(dirname "$base")"
    debootstrap --variant=minbase --include=git,ca-certificates bookworm "$base.part" "$mirror" >"$work/debootstrap.log" ||
      fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
    mv "$base.part" "$base"
  fi
  cp -a "$base" "$system"
  cp -L /etc/resolv.conf "$system/etc/resolv.conf"
  inside root useradd --create-home user
}

copy_source() {
  git clone --quiet --no-hardlinks "$root" "$system/srv/fairlead"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard |
    tar --null --files-from=- --ignore-failed-read -c 2>/dev/null) | tar -x -C "$system/srv/fairlead"
  ln -s /srv/fairlead/run "$system/usr/local/bin/fairlead-run"
}

expect_code() {
  local expected=$1 code=0
  shift
  "$@" >"$work/stdout" 2>"$work/stderr" || code=$?
  ((code == expected)) || fail "expected exit code $expected, found $code: $*: $(tail -n 20 "$work/stderr")"
}

check_refusals() {
  say "without root and sudo: one message with the command to run"
  inside root chown -R user:user /srv/fairlead
  expect_code 3 inside user /srv/fairlead/run --version
  grep -q 'apt-get install --no-install-recommends .*cmake' "$work/stderr" || fail "no instruction: $(<"$work/stderr")"
  inside root chown -R root:root /srv/fairlead
  say "without network: apt's failure is told"
  NETWORK=none expect_code 3 inside root /srv/fairlead/run --version
  grep -q 'apt-get could not install' "$work/stderr" || fail "no reason: $(<"$work/stderr")"
}

check_run() {
  say "the first ./run installs, builds and runs"
  expect_code 0 inside root "cd /tmp && fairlead-run --version"
  [[ $(wc -l <"$work/stdout") == 1 ]] || fail "stdout is not the program's alone: $(<"$work/stdout")"
  say "the second does neither, is silent and starts within a second, without network too"
  # An apt-get that fails loudly, so that asking it again shows.
  printf '#!/bin/sh\nexit 99\n' >"$system/usr/local/bin/apt-get"
  chmod +x "$system/usr/local/bin/apt-get"
  local start=$EPOCHREALTIME
  NETWORK=none expect_code 0 inside root fairlead-run --version
  local ms=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
  [[ ! -s $work/stderr ]] || fail "noise: $(<"$work/stderr")"
  ((ms < 1000)) || fail "it took $ms ms"
  say "the second call took $ms ms"
  say "packages that are there already are found without apt"
  inside root rm -rf /srv/fairlead/build/.packages-run
  NETWORK=none expect_code 0 inside root fairlead-run --version
  say "two first builds at the same time take turns"
  inside root rm -rf /srv/fairlead/build
  expect_code 0 inside root 'fairlead-run --version & a=$!; fairlead-run --version & wait $a && wait $!'
  rm "$system/usr/local/bin/apt-get"
}

check_test() {
  say "./test installs the rest, builds and passes"
  expect_code 0 inside root /srv/fairlead/test
  grep '^100% tests passed' "$work/stdout" || fail "no summary: $(tail -n 3 "$work/stdout")"
  say "the program does not lose its tests to ./run, nor ./test its build"
  expect_code 0 inside root "fairlead-run --version && /srv/fairlead/test -N"
  [[ ! -s $work/stderr ]] || fail "something was built again: $(<"$work/stderr")"
}

((EUID == 0)) || fail "needs root, for debootstrap and chroot"
command -v debootstrap >/dev/null || fail "needs debootstrap (tools/prepare.sh develop)"
make_system
copy_source
check_refusals
check_run
[[ ${ONLY_RUN:-} == 1 ]] || check_test
say "passed"
