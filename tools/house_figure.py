#!/usr/bin/env python3
"""Draws the house of docs/ARCHITECTURE.md: which module stands on which, from the includes of the product's files.

A module stands one floor above the highest one that it includes. Beside it is what it includes, without what that already
stands on. Tests, benchmarks, fuzzers and examples of tests are left out.

Usage: house_figure.py [ROOT]            puts the figure into the page, between its two marks
       house_figure.py [ROOT] --check    is the page what would be written? exit code 1 if it is not
"""

import pathlib
import re
import sys
import textwrap

import check_layers

PAGE = "docs/ARCHITECTURE.md"
BEGIN = "<!-- house: made by tools/house_figure.py -->\n"
END = "<!-- end of house -->\n"
NOT_PRODUCT = re.compile(r"_(test|bench|fuzz|example)\.(cc|h)$|(^|/)random_[a-z_]+\.(cc|h)$")
WIDTH = 118


def read_uses(root):
    """Module -> set of the other modules that its product files include."""
    uses = {}
    for module in check_layers.MODULES:
        files = [p for p in check_layers.source_files(root, f"src/{module}") if not NOT_PRODUCT.search(p.name)]
        if not files:
            continue
        targets = {include.path.split("/")[0] for p in files for include in check_layers.read_includes(p)
                   if include.quote == '"' and "/" in include.path}
        uses[module] = {t for t in targets if t in check_layers.MODULES and t != module}
    return uses


def reach(uses, module):
    """All that the module stands on."""
    found, todo = set(), list(uses[module])
    while todo:
        other = todo.pop()
        if other not in found:
            found.add(other)
            todo.extend(uses.get(other, ()))
    return found


def floors(uses):
    """Module -> its floor, 0 for those that include no other. There are no circles (check_layers.py)."""
    floor = {}
    for module in uses:
        waiting = [module]
        while waiting:
            below = [m for m in uses.get(waiting[-1], ()) if m not in floor]
            if below:
                waiting.extend(below)
            else:
                top = waiting.pop()
                floor[top] = 1 + max((floor[m] for m in uses.get(top, ())), default=-1)
    return floor


def direct(uses, module):
    """What the module includes and does not already stand on through another one, in the order of layers."""
    own = uses[module]
    return sorted((m for m in own if not any(m in reach(uses, other) for other in own if other != m)),
                  key=check_layers.MODULES.index)


def draw(uses):
    floor = floors(uses)
    width = max(len(m) for m in uses)
    lines = []
    for level in sorted(set(floor.values()), reverse=True):
        modules = [m for m in check_layers.MODULES if floor.get(m) == level]
        for module in modules:
            start = f"    {level if module == modules[0] else '':>2}  {module:<{width}}"
            text = " ".join(direct(uses, module))
            lines.append(f"{start}  {text}".rstrip())
    lines = [wrapped for line in lines for wrapped in
             (textwrap.wrap(line, WIDTH, drop_whitespace=False) if len(line) > WIDTH else [line])]
    return "\n".join(lines) + "\n"


def with_figure(page, figure):
    """The page with the figure between its marks; None: it has not both of them."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        return None
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + figure + "\n" + END + rest.split(END)[1]


def main():
    args = [a for a in sys.argv[1:] if a != "--check"]
    if len(args) > 1:
        sys.exit(__doc__)
    root = pathlib.Path(args[0] if args else pathlib.Path(__file__).resolve().parent.parent)
    path = root / PAGE
    page = path.read_text(encoding="utf-8")
    wanted = with_figure(page, draw(read_uses(root)))
    if wanted is None:
        sys.exit(f"{PAGE}: expected the lines {BEGIN.strip()} and {END.strip()} once each")
    if "--check" not in sys.argv[1:]:
        path.write_text(wanted, encoding="utf-8")
    elif wanted != page:
        sys.exit(f"{PAGE}: the figure of the house is not that of the includes; tools/house_figure.py draws it anew")


if __name__ == "__main__":
    main()
