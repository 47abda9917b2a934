#!/bin/bash
# Is every C++ file of the repository laid out as .clang-format says?
#   tools/check_format.sh          names the first differences; exit code 1 if there are any
#   tools/check_format.sh --fix    rewrites the files instead
# Without clang-format the check is skipped, with a message and exit code 0.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

if ! command -v clang-format >/dev/null; then
  echo "check_format: skipped, clang-format is not installed" >&2
  exit 0
fi
mode=(--dry-run --Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
# clang-format leaves comments alone; they end where code does. Tables of tests and embedded texts may be wider.
long_comments=$(git -c safe.directory='*' grep -nE '^ *//.{119,}$' -- '*.h' '*.cc' || true)
if [[ -n $long_comments ]]; then
  echo "check_format: comments that are longer than 120 columns:" >&2
  echo "$long_comments" >&2
  exit 1
fi
# Tracked files, less those that were deleted and not committed yet.
git -c safe.directory='*' ls-files -z -- '*.h' '*.cc' |
  while IFS= read -r -d '' file; do [[ -f $file ]] && printf '%s\0' "$file"; done |
  xargs -0 -r -n 16 -P "$(nproc)" clang-format --style=file "${mode[@]}"
