#!/bin/bash
# Makes the Debian packages of Fairlead from the working tree, on Debian 12:
#
#   tools/package.sh [FOLDER]     FOLDER (default out/packages) gets the packages; debug symbols are packages of their own
#
# Builds the preset `package` in build/package first, with JOBS compilers at a time (default: one for each core). Older
# Fairlead packages in FOLDER are replaced. The version comes from project(VERSION) and git (packaging/package_version.cmake).
# Exit codes: 0 made, 2 usage, 3 the machine lacks something, 4 the source does not configure, compile or pack.
set -euo pipefail
export LC_ALL=C
caller=$PWD
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

say() { echo "package: $*" >&2; }
fail() {
  local code=$1
  shift
  say "$@"
  exit "$code"
}

(($# <= 1)) && [[ ${1:-} != -* ]] || fail 2 "usage: tools/package.sh [FOLDER]"
folder=$PWD/out/packages
if (($#)); then folder=$(cd -- "$caller" && realpath -m -- "$1"); fi

tools/prepare.sh run
for need in dpkg-shlibdeps:dpkg-dev file:file objcopy:binutils; do
  command -v "${need%%:*}" >/dev/null || fail 3 "${need%%:*} is missing: apt-get install ${need#*:}"
done

build=build/package
log=build/package.log
# Callers at the same time take turns.
mkdir -p "$build"
exec 9>"$build/.lock"
flock 9
git_here() { git -c safe.directory='*' "$@" 2>/dev/null; }
if [[ -n $(git_here status --porcelain --untracked-files=no) ]]; then
  say "the working tree has uncommitted changes: the version says +changed"
fi
# Files in packages are as old as the commit, so that the same commit makes the same packages.
if SOURCE_DATE_EPOCH=$(git_here log -1 --format=%ct); then export SOURCE_DATE_EPOCH; fi

# The packages do not depend on whether the machine has ccache; only the time does.
cmake --preset package >"$log" 2>&1 || { cat "$log" >&2; fail 4 "CMake could not configure (see above)"; }
ninja -C "$build" -j "${JOBS:-$(nproc)}" >&2 || fail 4 "the build failed (see above)"

rm -rf "$build/packages"
(cd "$build" && umask 022 && cpack -G DEB) >"$log" 2>&1 || { cat "$log" >&2; fail 4 "cpack failed (see above)"; }

# What cpack of Debian 12 gets wrong and has no option for. dpkg-deb writes the packages again, as its compression uses all
# cores.
correct() {
  local package=$1 parts=$build/packages/parts name
  rm -rf "$parts"
  dpkg-deb -R "$package" "$parts"
  name=$(dpkg-deb -f "$package" Package)
  case $name in
    *-dbgsym)
      # Sums name the files by their place on the machine that built them. The package has no documents of its own.
      sed -i -E 's#  /.*/(usr/lib/debug/)#  \1#' "$parts/DEBIAN/md5sums"
      mkdir -p "$parts/usr/share/doc"
      ln -s "${name%-dbgsym}" "$parts/usr/share/doc/$name"
      ;;
    # The linker's cache is for libraries that programs look for by name.
    libfairlead-preload | fairlead-slurm) rm -f "$parts"/DEBIAN/{postinst,postrm} ;;
  esac
  rm "$package"
  # apt takes no other ending than .deb, and Debian's own packages of debug symbols have it too.
  dpkg-deb --root-owner-group -Zxz -b "$parts" "${package%.*deb}.deb" >>"$log"
  rm -rf "$parts"
}
for file in "$build"/packages/*.*deb; do correct "$file"; done
mkdir -p "$folder"
find "$folder" -maxdepth 1 -type f \( -name 'fairlead*_*.deb' -o -name 'libfairlead-preload*_*.deb' \) -delete
find "$build/packages" -maxdepth 1 -name '*.deb' -exec mv -t "$folder" {} +
(cd "$folder" && for file in fairlead*.deb libfairlead*.deb; do
  printf '%9d kB  %s\n' $((($(stat -c %s "$file") + 512) / 1024)) "$folder/$file"
done)
