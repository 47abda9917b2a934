#!/usr/bin/env python3
"""Is every source file built? A test that no CMakeLists.txt names never fails.

Each .cc file below src/, experiments/, apps/, bench/ and tests/ must be named in the closest CMakeLists.txt above it, by its path
from there. Data for tests lies in folders called `testdata` or `golden` and is passed over.

Usage: check_listed.py [ROOT]    prints one line for each file that is not named; exit code 1 if there is one.
"""

import pathlib
import re
import sys

FOLDERS = ["src", "experiments", "apps", "bench", "tests"]
DATA_FOLDERS = {"testdata", "golden"}


def closest_list(path, root):
    for folder in path.parents:
        candidate = folder / "CMakeLists.txt"
        if candidate.is_file():
            return candidate
        if folder == root:
            break
    return None


def named_files(cmake_list):
    """All words of a CMakeLists.txt, less its comments."""
    text = re.sub(r"#.*", "", cmake_list.read_text(encoding="utf-8"))
    return set(re.split(r'[\s()"]+', text))


def find_unlisted(root):
    root = pathlib.Path(root).resolve()
    words, unlisted = {}, []
    files = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*.cc"))]
    for path in files:
        if DATA_FOLDERS.intersection(path.relative_to(root).parts):
            continue
        cmake_list = closest_list(path, root)
        if cmake_list not in words:
            words[cmake_list] = named_files(cmake_list) if cmake_list else set()
        if not cmake_list or path.relative_to(cmake_list.parent).as_posix() not in words[cmake_list]:
            where = cmake_list.relative_to(root).as_posix() if cmake_list else "any CMakeLists.txt"
            unlisted.append(f"{path.relative_to(root).as_posix()}: not named in {where}, so it is not built")
    return unlisted


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    unlisted = find_unlisted(sys.argv[1] if len(sys.argv) == 2 else pathlib.Path(__file__).resolve().parent.parent)
    for line in unlisted:
        print(line)
    sys.exit(1 if unlisted else 0)


if __name__ == "__main__":
    main()
