#!/usr/bin/env python3
"""Does everything exist that documents point to?

Checks four kinds of pointers:
  links      `[text](path#anchor)` in every Markdown page: the file exists, and has a heading for the anchor
  files      names of files in backticks in README.md and docs/, such as `src/base/units.h`, `service/steering/hook_message.h` (below src/)
             or `hook_message.h`: a file of the source tree ends with it
  mentions   docs/PAGE.md in comments and messages of the source
  sections   docs/spec/PAGE.md section 4.1, or sections 3, 4.1 and 7 to 7.2: the page has headings of these numbers

Usage: check_links.py [ROOT]    prints one line for each dead pointer; exit code 1 if there is one.
"""

import pathlib
import re
import sys

SKIPPED_FOLDERS = {".git", "build", "out", "shared"}
FOLDERS = ["src", "apps", "api", "tests", "tools", "bench", "experiments", "integrations", "cmake", "web", "workloads", "scenarios",
           "profiles", "trace_profiles", "fabrics", "packaging"]
SOURCE_ENDINGS = {".cc", ".h", ".hpp", ".c", ".py", ".sh", ".txt", ".cmake", ".yaml", ".proto", ".js", ".json"}
LINK = re.compile(r"\]\(([^()\s]+)\)")
NAMED_FILE = re.compile(r"`([A-Za-z0-9_.-]*[A-Za-z0-9_-](?:/[A-Za-z0-9_.-]+)*\.(?:h|cc|py|sh|md|proto|cmake))`")
MENTION = re.compile(r"\bdocs/[A-Za-z0-9_./-]+\.md\b")
# A comment may break the line anywhere.
SECTIONS = re.compile(r"docs/spec/([a-z0-9-]+\.md),?\s+sections?\s+((?:\d+(?:\.\d+)*(?:,\s+|\s+and\s+|\s+to\s+)?)+)")
# Files that the build makes, that a page uses as an example, or that belong to other projects.
NOT_OURS = {"version.h", "NAME_fuzz.cc", "train.py", "docs/custom_plugin_monitor.md", "data-models/protobufs/health_event.proto",
            "src/transport/net_ib/connect.cc"}


def files_below(root):
    for path in sorted(root.iterdir()):
        if path.is_dir() and path.name not in SKIPPED_FOLDERS and not path.is_symlink():
            yield from files_below(path)
        elif path.is_file():
            yield path


def without_code(text):
    """Blocks of code keep their lines, but lose their text."""
    lines, in_block = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            in_block = not in_block
            line = ""
        lines.append("" if in_block else line)
    return lines


def anchors_of(page):
    """As GitHub makes them: lower case, punctuation dropped, spaces become hyphens, repeated ones are numbered."""
    anchors = set()
    for line in without_code(page.read_text(encoding="utf-8")):
        heading = re.match(r"#{1,6}\s+(.*)", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            number = 0
            while anchor + (f"-{number}" if number else "") in anchors:
                number += 1
            anchors.add(anchor + (f"-{number}" if number else ""))
    return anchors


def dead_links(page, root):
    for number, line in enumerate(without_code(page.read_text(encoding="utf-8")), start=1):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = page if not name else (page.parent / name).resolve()
            if not path.exists():
                yield f"{page.relative_to(root)}:{number}: {target}: no such file"
            elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
                yield f"{page.relative_to(root)}:{number}: {target}: no such heading"


def dead_names(page, root, tree):
    """Every file of the tree is found by the ends of its path."""
    for number, line in enumerate(without_code(page.read_text(encoding="utf-8")), start=1):
        for name in NAMED_FILE.findall(line):
            if name not in NOT_OURS and name not in tree:
                yield f"{page.relative_to(root)}:{number}: `{name}`: no such file"


def dead_mentions(path, root):
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        for name in MENTION.findall(line):
            if name not in NOT_OURS and not (root / name).exists():
                yield f"{path.relative_to(root)}:{number}: {name}: no such file"


def dead_sections(path, root):
    text = path.read_text(encoding="utf-8", errors="replace")
    for found in SECTIONS.finditer(re.sub(r"\n\s*//", lambda line: "\n" + " " * (len(line[0]) - 1), text)):
        page = root / "docs/spec" / found[1]
        numbers = set(re.findall(r"^#+ (\d+(?:\.\d+)*)\b", page.read_text(encoding="utf-8"), re.M)) if page.exists() else set()
        for section in re.findall(r"\d+(?:\.\d+)*", found[2]):
            if section not in numbers:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line}: docs/spec/{found[1]} has no section {section}"


def find_dead(root):
    root = pathlib.Path(root).resolve()
    files = list(files_below(root))
    tree = set()
    for path in files:
        parts = path.relative_to(root).parts
        tree.update("/".join(parts[i:]) for i in range(len(parts)))
    dead = []
    for path in files:
        parts = path.relative_to(root).parts
        if path.suffix == ".md":
            dead += dead_links(path, root)
            if parts[0] == "docs" or path.name == "README.md":
                dead += dead_names(path, root, tree)
        elif parts[0] in FOLDERS and path.suffix in SOURCE_ENDINGS and not path.name.startswith("check_links"):
            dead += dead_mentions(path, root)
            dead += dead_sections(path, root)
    return dead


def main():
    dead = find_dead(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    for line in dead:
        print(line)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
