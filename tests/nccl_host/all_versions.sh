#!/bin/bash
# Runs the tests of NCCL on CPUs with every NCCL that this machine has sources of:  tests/nccl_host/all_versions.sh [GTEST ARGS]
#
# Needs the test's own build (./test -R Nccl builds it). Builds of NCCL are kept in build/nccl_host/VERSION. The exit code is
# 1 where a test fails, 3 where a version can't be built.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=$here/../..
test=$root/build/release/tests/nccl_host/nccl_host_test
[[ -x $test ]] || { echo "fairlead: no $test: run ./test -R Nccl first" >&2; exit 3; }

mkdir -p "$root/build/nccl_host"
code=0
for version in 2.27.7 2.28.9 2.30.7; do
  build=$root/build/nccl_host/$version
  echo "==== NCCL $version"
  cmake -S "$here" -B "$build" -G Ninja -DFAIRLEAD_NCCL_VERSION="$version" >"$build.log" 2>&1 ||
    { cat "$build.log" >&2; exit 3; }
  if grep "is skipped" "$build.log"; then continue; fi
  cmake --build "$build" >>"$build.log" 2>&1 || { tail -n 30 "$build.log" >&2; exit 3; }
  FAIRLEAD_NCCL_ALL=1 FAIRLEAD_NCCL_PROGRAMS=$build "$test" "$@" || code=1
done
exit $code
