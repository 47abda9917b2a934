#!/bin/bash
# Boots the systemd of a root file system in namespaces of its own, so that services can be tried without a container
# builder or a virtual machine:
#
#   boot_systemd.sh start ROOT     prints its PID, for   nsenter -t PID -a systemctl …
#   boot_systemd.sh end PID        kills everything in it
#
# It has no network but a loopback of its own; kernel settings are read-only for it, and the capabilities are gone that
# reach the machine below. Exit codes: 0 booted, 1 it did not, 77 this machine can't (no cgroup2, no root).
set -euo pipefail

((EUID == 0)) || { echo "boot_systemd: needs root" >&2; exit 77; }
cgroups=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET) ||
  { echo "boot_systemd: no cgroup2 is mounted" >&2; exit 77; }

if [[ $1 == end ]]; then
  # 0::/GROUP/init.scope
  group=$(sed -nE 's#^0::(.*fairlead-package-test\.[0-9]+)(/.*)?$#\1#p' "/proc/$2/cgroup")
  [[ $group ]] || { echo "boot_systemd: process $2 is no systemd of ours" >&2; exit 1; }
  kill -KILL "$2"
  # The kernel empties the group in a moment.
  for ((tries = 0; tries < 50; ++tries)); do
    find "$cgroups$group" -depth -type d -exec rmdir {} + 2>/dev/null && exit
    sleep 0.1
  done
  echo "boot_systemd: $cgroups$group can't be removed" >&2
  exit 1
fi

root=$2
# A group for the new systemd only: it takes its group for the root of all.
group=$cgroups/fairlead-package-test.$$
mkdir "$group" 2>/dev/null || { echo "boot_systemd: no group can be made in $cgroups" >&2; exit 77; }
: >"$root/console.log"

(
  echo "$BASHPID" >"$group/cgroup.procs"
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=fairlead \
    unshare --mount --pid --uts --ipc --net --cgroup --fork bash -c '
      set -e
      mount --make-rprivate /
      mount --bind "$1" "$1"
      cd "$1"
      mount -t proc proc proc
      mount --bind proc/sys proc/sys
      mount -o remount,bind,ro proc/sys
      mount -t sysfs -o ro sysfs sys
      mount -t cgroup2 none sys/fs/cgroup
      mount -t tmpfs -o mode=755 tmpfs dev
      for node in null zero full random urandom tty; do
        touch dev/$node
        mount --bind /dev/$node dev/$node
      done
      mkdir dev/shm dev/pts
      mount -t tmpfs -o mode=1777 tmpfs dev/shm
      mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
      touch dev/console
      mount --bind console.log dev/console
      mount -t tmpfs -o mode=755 tmpfs run
      mkdir -p old
      pivot_root . old
      umount -l /old
      exec setpriv --bounding-set -sys_module,-sys_time,-sys_rawio,-syslog,-sys_boot /lib/systemd/systemd
    ' bash "$root"
) >"$root/boot.log" 2>&1 </dev/null &
parent=$!

for ((tries = 0; tries < 300; ++tries)); do
  # unshare stays as the parent of PID 1.
  pid=$(pgrep -P "$parent" || true)
  if [[ $pid ]]; then
    case $(nsenter -t "$pid" -a systemctl is-system-running 2>/dev/null || true) in
      running | degraded)
        echo "$pid"
        exit
        ;;
    esac
  fi
  kill -0 "$parent" 2>/dev/null || break
  sleep 0.2
done
echo "boot_systemd: it does not come up: $(tail -n 3 "$root/boot.log" "$root/console.log")" >&2
if [[ ${pid:-} ]]; then "$0" end "$pid"; else rmdir "$group"; fi
exit 1
