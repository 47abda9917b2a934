#!/bin/sh
# Installs Fairlead packages into a container image or a chroot of Debian 12; run as root inside of it:
#
#   install_in_image.sh FOLDER PACKAGE…     PACKAGE such as fairlead-agent; FOLDER has its .deb file
#
# Used by Containerfile and tools/package_test.sh, so that what images do is tested. Only dependencies are installed, no
# recommended packages, and no package lists stay behind.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

if [ $# -lt 2 ]; then
  echo "usage: install_in_image.sh FOLDER PACKAGE…" >&2
  exit 2
fi
folder=$1
shift

files=
for package in "$@"; do
  found=
  for file in "$folder/${package}_"*.deb; do
    [ -f "$file" ] || continue
    if [ -n "$found" ]; then
      echo "install_in_image: $folder has more than one version of $package; leave one" >&2
      exit 2
    fi
    found=$file
  done
  if [ -z "$found" ]; then
    echo "install_in_image: $folder has no ${package}_*.deb; make it with tools/package.sh" >&2
    exit 2
  fi
  files="$files $found"
  # With it the agent can move open connections.
  [ "$package" != fairlead-agent ] || files="$files nftables"
done

apt-get update -q
# shellcheck disable=SC2086  # a list of files without blanks
apt-get install -q -y --no-install-recommends $files

# What systemd would make when it starts the service.
for daemon in fairlead-agent fairlead-controller; do
  if getent passwd "$daemon" >/dev/null; then
    install -d -o "$daemon" -g "$daemon" -m 700 "/var/lib/$daemon"
  fi
done
if getent passwd fairlead-agent >/dev/null; then install -d -o fairlead-agent -g fairlead-agent /run/fairlead; fi
apt-get clean
rm -rf /var/lib/apt/lists/*
