#!/bin/bash
# What does clang-tidy (.clang-tidy) say about the sources?
#   tools/check_tidy.sh                     all that is compiled; half an hour on two processors
#   tools/check_tidy.sh --changed [REV]     files that differ from REV (default HEAD), and new ones
#   tools/check_tidy.sh FILE…               these files
# Headers are checked through the files that include them. Exit code 1 where it finds something.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

if ! type run-clang-tidy clang-tidy clang++ &>/dev/null; then
  echo "check_tidy: clang and clang-tidy are needed; tools/prepare.sh develop installs them" >&2
  exit 3
fi
# Only configured, never built: clang-tidy wants the compile commands, and the headers that the build makes.
configure() {
  cmake --preset "$1" >/dev/null
  ninja -C "build/$1" fairlead_version_header src/workload/chakra.pb.h src/wire/api/fairlead/v1/agent.pb.h >/dev/null
}

files=()
case ${1:-} in
  --changed)
    mapfile -t files < <(git diff --name-only --diff-filter=d "${2:-HEAD}" -- '*.cc'
                         git ls-files --others --exclude-standard -- '*.cc')
    ;;
  "")
    # Eight sources as one, so that headers are read once for them.
    configure tidy
    exec run-clang-tidy -quiet -p build/tidy -j "$(nproc)" -checks=-bugprone-suspicious-include \
      -header-filter="^$PWD/(src|apps|experiments|tests)/" "/Unity/unity_[0-9]+_cxx" "^$PWD/(src|apps|experiments|tests)/"
    ;;
  *) mapfile -t files < <(realpath --relative-to=. -- "$@") ;;
esac
if ((${#files[@]} == 0)); then
  echo "check_tidy: nothing to check" >&2
  exit 0
fi

configure clang
# run-clang-tidy takes regular expressions that are searched in absolute paths, and passes over files in no target.
patterns=()
for file in "${files[@]}"; do patterns+=("$PWD/${file//./\\.}\$"); done
run-clang-tidy -quiet -p build/clang -j "$(nproc)" "${patterns[@]}"
