#!/bin/bash
# Boots the systemd of a root file system as a container of its own, so that services can be tried without a virtual machine:
#
#   boot_systemd.sh start ROOT     prints the PID of that systemd, for   nsenter -t PID -a systemctl …
#   boot_systemd.sh end PID        kills everything in it
#
# It has no network but a loopback of its own. Exit codes: 0 done, 1 it did not come up, 77 this machine can't.
set -euo pipefail

((EUID == 0)) || { echo "boot_systemd: needs root" >&2; exit 77; }
command -v systemd-nspawn >/dev/null || { echo "boot_systemd: needs systemd-container" >&2; exit 77; }
[[ -d /sys/fs/cgroup ]] || { echo "boot_systemd: no control groups are mounted" >&2; exit 77; }

if [[ $1 == end ]]; then
  container=$(cut -d ' ' -f 4 "/proc/$2/stat")
  [[ $(<"/proc/$container/comm") == systemd-nspawn ]] || { echo "boot_systemd: process $2 is no container" >&2; exit 1; }
  # Groups that it made lie below that of its supervisor's parent, in each hierarchy that systemd uses.
  groups=()
  while IFS=: read -r _ kind path; do
    [[ $path == */supervisor ]] || continue
    for mount in $(findmnt --noheadings --types "cgroup$([[ $kind ]] || echo 2)" --options "${kind:-rw}" --output TARGET); do
      groups+=("$mount${path%/supervisor}")
    done
  done <"/proc/$container/cgroup"
  kill -KILL "$2"
  for ((tries = 0; tries < 100; ++tries)); do
    [[ -d /proc/$container ]] || break
    sleep 0.1
  done
  for group in "${groups[@]}"; do
    find "$group/payload" "$group/supervisor" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
  exit
fi

root=$2
systemd-nspawn --quiet --register=no --keep-unit --private-network --link-journal=no --directory="$root" \
  --console=pipe --boot </dev/null >"$root.console" 2>&1 &
container=$!
for ((tries = 0; tries < 300; ++tries)); do
  pid=$(pgrep -P "$container" -x systemd || true)
  if [[ $pid ]]; then
    case $(nsenter -t "$pid" -a systemctl is-system-running 2>/dev/null || true) in
      running | degraded)
        echo "$pid"
        exit
        ;;
    esac
  fi
  kill -0 "$container" 2>/dev/null || break
  sleep 0.2
done
echo "boot_systemd: it does not come up: $(tail -n 3 "$root.console")" >&2
kill "$container" 2>/dev/null || true
exit 1
