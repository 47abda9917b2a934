#!/usr/bin/env python3
"""Has every large class a reason to be one?

A class of more than 15 members, or whose functions have more than 400 lines, is more than one thing, unless its file says
why it is not: a line "// Size        ..." in the comment before the class or at the head of the file. Structs of plain
data are not meant; tests, benchmarks and their fixtures may be large.

What is counted, by the project's format: members are declarations in the class whose names end with an underscore;
lines are those of functions defined as "Class::Name(" in the same folder or inside the class.

Usage: check_classes.py [ROOT]    prints "file:line: ..." for each violation; exit code 1 if there is one.
"""

import collections
import pathlib
import re
import sys

MEMBERS_MAX = 15
LINES_MAX = 400

NOT_MEANT = re.compile(r"(_(test|bench|fuzz)\.cc|_example\.h|/testing/.*)$")
CLASS = re.compile(r"^(\s*)(?:class|struct)\s+(?:\w+::)*(\w+)[^;]*\{\s*$")
OUT_OF_LINE = re.compile(r"^[A-Za-z_].*?\b([A-Z]\w*)::~?\w+\(")
NO_FUNCTION = re.compile(r"\s*(return|using|friend|static_assert|//|namespace)\b")
REASON = re.compile(r"^\s*// Size {2,}\S")

Found = collections.namedtuple("Found", "path line members lines has_reason")


def end_of(lines, begin, indent):
    """The line that closes what begins at `begin` with this indentation."""
    close = re.compile(r"^ {%d}\}" % indent)
    for number in range(begin, len(lines)):
        if (number > begin and close.match(lines[number])) or (number == begin and lines[number].rstrip().endswith("}")):
            return number
    return len(lines) - 1


def members_and_lines(lines, begin, end, indent):
    """Members of the class between two lines, and lines of the functions that are defined in it."""
    member = re.compile(r"^ {%d}[A-Za-z_].*\b\w+_(\s*(=|\{).*)?;\s*(//.*)?$" % (indent + 2))
    function = re.compile(r"^ {%d}[A-Za-z_~].*\).*\{$" % (indent + 2))
    num_members = num_lines = 0
    number = begin + 1
    while number < end:
        line = lines[number]
        if function.match(line) and not CLASS.match(line):
            last = end_of(lines, number, indent + 2)
            num_lines += last - number + 1
            number = last
        elif member.match(line) and not NO_FUNCTION.match(line):
            num_members += 1
        number += 1
    return num_members, num_lines


def has_reason(lines, begin):
    comment = begin - 1
    while comment >= 0 and lines[comment].lstrip().startswith(("//", "template")):
        comment -= 1
    head = 0
    while head < len(lines) and lines[head].startswith("//"):
        head += 1
    return any(REASON.match(line) for line in lines[:head] + lines[comment + 1:begin])


def large_classes(root):
    classes = {}  # by folder and name
    out_of_line = collections.Counter()
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc") or NOT_MEANT.search(path.as_posix()):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        number = 0
        while number < len(lines):
            line = lines[number]
            begins_class = CLASS.match(line)
            if begins_class:
                indent = len(begins_class.group(1))
                end = end_of(lines, number, indent)
                members, inside = members_and_lines(lines, number, end, indent)
                key = (path.parent, begins_class.group(2))
                before = classes.get(key)
                if before is None or members + inside > before.members + before.lines:
                    classes[key] = Found(path, number + 1, members, inside, has_reason(lines, number))
            function = OUT_OF_LINE.match(line)
            if function and not NO_FUNCTION.match(line) and not line.rstrip().endswith(";"):
                end = end_of(lines, number, 0)
                out_of_line[(path.parent, function.group(1))] += end - number + 1
                number = end
            number += 1
    for key, found in classes.items():
        found = found._replace(lines=found.lines + out_of_line[key])
        if found.members > MEMBERS_MAX or found.lines > LINES_MAX:
            yield key[1], found


def find_bad(root):
    """Lines for people, one for each large class without a reason."""
    root = pathlib.Path(root)
    return [f"{found.path.relative_to(root)}:{found.line}: {name} has {found.members} members and {found.lines} lines of "
            f"functions (at most {MEMBERS_MAX} and {LINES_MAX}): make parts of it, or say why it is one thing in a line "
            f"\"// Size        ...\" above it"
            for name, found in large_classes(root) if not found.has_reason]


def main():
    bad = find_bad(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
