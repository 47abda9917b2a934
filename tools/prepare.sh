#!/bin/bash
# Makes the machine and the build ready, doing only what is missing:
#
#   tools/prepare.sh KIND [TARGET…]     KIND: run, test, check or develop (tools/packages.txt)
#
# 1. Debian packages of KIND    asked once for each package list; apt only when something is missing
# 2. CMake configuration        of the preset `release`, once; with tests where KIND is not `run`
# 3. TARGETs                    `all` for everything; without targets the script stops after the packages
#
# Callers at the same time take turns. Nothing is written to stdout, and nothing to stderr when nothing is to do.
# Exit codes: 0 ready, 2 usage, 3 the machine lacks something, 4 the source does not configure or compile.
set -euo pipefail
export LC_ALL=C

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
package_list=$root/tools/packages.txt
build=$root/build

say() { echo "fairlead: $*" >&2; }

fail() {
  local code=$1
  shift
  say "$@"
  exit "$code"
}

# The kinds whose packages KIND needs: itself and those before it.
kinds_of() {
  case $1 in
    run) echo "run" ;;
    test) echo "run|test" ;;
    check) echo "run|test|check" ;;
    develop) echo "run|test|check|develop" ;;
    *) fail 2 "unknown kind '$1'; usage: tools/prepare.sh run|test|check|develop [TARGET…]" ;;
  esac
}

missing_packages() {
  local names
  names=$(sed -nE "s/^($1)[[:space:]]+([^[:space:]#]+).*/\2/p" "$package_list")
  # Unknown names make dpkg-query fail, and are missing too.
  comm -23 <(sort <<<"$names") \
    <(xargs dpkg-query -W -f '${db:Status-Status} ${Package}\n' <<<"$names" 2>/dev/null |
      sed -n 's/^installed //p' | sort -u)
}

# Prints the command prefix that gives the right to install, or explains who may.
superuser() {
  if ((EUID == 0)); then
    echo "env"
  elif command -v sudo >/dev/null; then
    echo "sudo env"
  else
    fail 3 "packages are missing, and only root can install them. Run as root, then try again:
  apt-get update && apt-get install --no-install-recommends $*"
  fi
}

apt_get() {
  # shellcheck disable=SC2086  # the prefix is one or two words
  $prefix DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
    -o Dpkg::Use-Pty=0 "$@" 9>&- >>"$build/packages.log" 2>&1 </dev/null
}

install_packages() {
  local missing prefix
  mapfile -t missing < <(missing_packages "$1")
  ((${#missing[@]})) || return 0
  prefix=$(superuser "${missing[@]}") || exit $?
  say "installing ${missing[*]} (log: $build/packages.log)"
  : >"$build/packages.log"
  # A list that cannot be refreshed may still be good enough, so only the installation decides.
  apt_get update || true
  if ! apt_get install --no-install-recommends "${missing[@]}"; then
    tail -n 15 "$build/packages.log" >&2
    fail 3 "apt-get could not install: ${missing[*]} (see above; whole log: $build/packages.log)"
  fi
}

# A stamp holds the hash of the package list that was found installed, so that dpkg is not asked on every call.
ensure_packages() {
  local kind=$1 kinds stamp hash
  kinds=$(kinds_of "$kind") || exit $?
  stamp=$build/.packages-$kind
  hash=$(sha256sum <"$package_list")
  # The stamp may have come here with a copied build folder: the tools must be here too.
  if [[ -f $stamp && $(<"$stamp") == "$hash" ]] && type cmake ninja c++ &>/dev/null; then
    return
  fi
  if type dpkg-query apt-get &>/dev/null; then
    install_packages "$kinds"
  else
    say "not a Debian system; please see to the packages in tools/packages.txt yourself"
  fi
  echo "$hash" >"$stamp"
}

# The stamp names what the configuration depends on and CMake does not watch: the folder's place and the presets.
ensure_configured() {
  local tests=$1 stamp=$build/release/.configured inputs log=$build/configure.log
  inputs="$root $(sha256sum <"$root/CMakePresets.json")"
  if [[ -f $build/release/build.ninja && -f $stamp ]]; then
    # Tests that are configured already do not disturb a caller who needs none.
    case $(<"$stamp") in
      "$inputs ON" | "$inputs $tests") return ;;
    esac
  fi
  say "configuring build/release"
  if ! (cd "$root" && cmake --fresh --preset release -DFAIRLEAD_TESTS="$tests") >"$log" 2>&1; then
    cat "$log" >&2
    fail 4 "CMake could not configure (see above)"
  fi
  echo "$inputs $tests" >"$stamp"
}

# Ninja's output without what it says when nothing is to do (a dry run cannot tell, as CMake's file(GLOB) is always
# looked at): its steps in one line on a terminal, and before many of them how long they may take.
show_build() {
  local line one_line='' count steps_per_minute
  [[ -t 2 ]] && one_line=yes
  steps_per_minute=$((14 * $(nproc)))
  while IFS= read -r line; do
    case $line in
      "ninja: Entering directory"* | *"Re-checking globbed directories"* | "ninja: no work to do"*) continue ;;
      "[1/"*)
        count=${line#*/}
        count=${count%%]*}
        ((count < 30)) || say "building $*: $count steps, about $(((count + steps_per_minute - 1) / steps_per_minute)) min"
        ;;
    esac
    if [[ $one_line && $line == "["*"/"*"]"* ]]; then
      printf '\r\033[K%s' "${line:0:$(($(tput cols 2>/dev/null || echo 80) - 1))}" >&2
    else
      printf '%s%s\n' "${one_line:+$'\r\033[K'}" "$line" >&2
    fi
  done
  [[ -z $one_line ]] || printf '\r\033[K' >&2
}

build_targets() {
  ninja -C "$build/release" "$@" 2>&1 | show_build "$@" || fail 4 "the build failed (see above)"
}

# CTest asks each new test binary for its cases and keeps the answers in files. Callers at the same time would write
# over each other, so it is done while this one has its turn.
list_tests() {
  ctest --test-dir "$build/release" -N >/dev/null || fail 4 "a test binary does not start (see above)"
}

main() {
  local kind=${1:-} tests=ON
  kinds_of "$kind" >/dev/null || exit $?
  shift
  mkdir -p "$build" 2>/dev/null && { : >>"$build/.lock"; } 2>/dev/null ||
    fail 3 "$(id -un) cannot write to $build. Run as its owner, or remove it to start anew"
  exec 9>>"$build/.lock"
  if ! flock -n 9; then
    say "waiting for another call that is setting up or building"
    flock 9
  fi
  ensure_packages "$kind"
  (($#)) || return 0
  [[ $kind == run ]] && tests=OFF
  ensure_configured "$tests"
  build_targets "$@"
  [[ $tests == OFF ]] || list_tests
}

main "$@"
