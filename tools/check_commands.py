#!/usr/bin/env python3
"""Does every command, option and key exist that documents for users name?

Asks the programs for their commands (`--print-commands`), and looks through blocks of code and inline code of README.md, of the three
doors, of the glossary and of the reference for

  fairlead WORD … --option     (also ./run WORD …, and fairlead-WORD …)
  `sim run …`, `--option`      inline, without the name of a program: some command has it
  key: value                   inline, and in blocks with keys of scenarios or fabrics (schemas/) or of a daemon's --config

Usage: check_commands.py PROGRAM [ROOT]    prints one line for each that does not exist; exit code 1 if there is one, 77 if there is
none among what could be checked but a program is not built.
"""

import json
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
PAGES = ["README.md", "docs/README.md", "docs/glossary.md", "docs/plan/*.md", "docs/operate/*.md", "docs/oncall/*.md", "docs/reference/*.md"]
# Of sbatch.
FOREIGN_OPTIONS = {"--begin", "--comment", "--constraint", "--contiguous", "--dependency", "--exclude", "--exclusive",
                   "--fairlead", "--gpus-per-socket", "--licenses", "--nodelist", "--ntasks-per-node", "--open-mode",
                   "--oversubscribe", "--requeue", "--reservation", "--spread-job", "--switches"}
CALL = re.compile(r"(?:^|(?<=[\s`($|&;=\"']))(?P<program>\./run|(?:\S*/)?fairlead(?:-[a-z]+)?)(?=\s)")
# What may stand before the name of a program that is called: nothing, a separator, variables, a few commands that run another one.
BEFORE_CALL = re.compile(r"(?:^|[;|&(`\"'])\s*(?:(?:\$|[A-Z][a-z ]*:|sudo|time|exec|timeout \S+|[A-Z_]+=\S*)\s+)*$")
KEY = re.compile(r"(?:^|[{,\[]|- )\s*([a-z_-]+):(?=\s|$)", re.MULTILINE)
ENDS_COMMAND = re.compile(r"\s(?:\||\|\||&&?|;|>|2>|<|#)(?:\s|&|$)|;\s|\s{3,}(?=[^\s-])")


class Commands:
    """The tree of all commands, by their words: ("diag", "analyze")."""

    def __init__(self, program):
        self.options = {(): {"-h", "--help", "--version"}}
        self.not_built = set()
        self.folder = folder = pathlib.Path(program).resolve().parent
        for path in [pathlib.Path(program).resolve()] + sorted(p for p in folder.glob("fairlead-*") if p.is_file() and not p.suffix):
            result = subprocess.run([str(path), "--print-commands"], capture_output=True, text=True, timeout=60)
            if result.returncode == 0 and result.stdout.startswith("{"):
                for command in json.loads(result.stdout)["commands"]:
                    self.add(command)

    def add(self, command):
        words = tuple(command["command"].split()[1:])
        names = {name for option in command["options"] for name in option["names"]}
        self.options[words] = self.options.get(words, set()) | names
        for inner in command["commands"]:
            self.add(inner)

    def note_not_built(self, sources):
        """Sources of the programs lie in that folder."""
        for source in sources.glob("fairlead_*.cc"):
            words = tuple(source.stem.removeprefix("fairlead_").split("_"))
            if not (self.folder / "-".join(("fairlead",) + words)).exists():
                self.not_built.add(words)

    def has_inner(self, words):
        return any(len(other) > len(words) and other[:len(words)] == words for other in self.options)

    def all_options(self):
        return set().union(*self.options.values())

    def complaint(self, text):
        """What is wrong with the words behind `fairlead`; nothing if all is well, or if its program is not built."""
        words, rest = (), text.split()
        if any(tuple(rest[:len(program)]) == program for program in self.not_built):
            return None
        while rest and words + (rest[0].strip("`'\"),."),) in self.options:
            words += (rest.pop(0).strip("`'\"),."),)
        if self.has_inner(words) and rest and re.fullmatch(r"[a-z][a-z-]+", rest[0]):
            return f"no command `{' '.join(('fairlead',) + words + (rest[0],))}`"
        for word in rest:
            option = re.match(r"--?[a-z][a-z0-9-]*", word.strip("[(`'\""))
            if option and option.group() not in self.options[words]:
                return f"`{' '.join(('fairlead',) + words)}` has no option {option.group()}"
        return None


def joined(lines):
    """Lines that end in a backslash, or go on with an option on the next one, as one: (number, text)."""
    result = []
    for number, line in lines:
        if result and (result[-1][1].endswith("\\") or re.match(r"\s+(?:\[?--[a-z])", line)) and result[-1][2] == number - 1:
            first, text, _ = result[-1]
            result[-1] = (first, text.rstrip("\\") + " " + line.strip(), number)
        else:
            result.append((number, line, number))
    return [(number, text) for number, text, _ in result]


def code_of(page):
    """(line number, text, is it inline) of all code of a page. Output below a `$ ` of a console block is no code."""
    blocks, inline, fence = [], [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            fence = None if fence is not None else line[3:]
        elif fence is not None:
            if fence != "console" or line.startswith("$ "):
                blocks.append((number, line.removeprefix("$ ")))
        elif re.match(r"    \S|      ", line):
            blocks.append((number, line))
        else:
            inline += [(number, code) for code in re.findall(r"`([^`]+)`", line)]
    return [(n, t, False) for n, t in joined(blocks)] + [(n, t, True) for n, t in inline]


def find_wrong(commands, page, name):
    tops = {words[0] for words in commands.options if words}
    for number, code, is_inline in code_of(page):
        complaints = []
        calls = [call for call in CALL.finditer(code) if BEFORE_CALL.search(code[:call.start("program")])]
        ends = [call.start() for call in calls[1:]] + [len(code)]
        for call, end in zip(calls, ends):
            program, rest = call.group("program").split("/")[-1], ENDS_COMMAND.split(code[call.end():end])[0]
            word = program.removeprefix("fairlead-") if program.startswith("fairlead-") else ""
            if word and word not in tops | {words[0] for words in commands.not_built}:
                continue  # a file, such as fairlead-hook
            complaints.append(commands.complaint(f"{word} {rest}"))
        first = code.split()[0] if code.split() else ""
        if is_inline and not complaints and first in tops and re.fullmatch(r"[a-z]+ [a-z]+(?: .*)?", code):
            complaints.append(commands.complaint(code))
        if is_inline and first.startswith("--"):
            option = re.match(r"--[a-z0-9-]*", first).group()
            if option not in commands.all_options() | FOREIGN_OPTIONS and not commands.not_built:
                complaints.append(f"no command has an option {option}")
        for complaint in filter(None, complaints):
            yield f"{name}:{number}: {complaint}"


def keys_of(schema):
    """Names of all properties, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(keys_of, schema.values()))


def find_wrong_keys(known, page, name):
    text = page.read_text(encoding="utf-8")
    codes = [(match.start(), match.group(1)) for match in re.finditer(r"`([a-z_-]+: ?[^`\n]*)`", text)]
    blocks = re.compile(r"^```(?:yaml)?\n(.*?)^```|((?:^    .*\n|^\n(?=    ))+)", re.DOTALL | re.MULTILINE)
    codes += [(match.start(), match.group(1) or match.group(2) or "") for match in blocks.finditer(text)]
    for start, code in codes:
        found = [(match.start(1), match.group(1)) for match in KEY.finditer(code)]
        is_inline = "\n" not in code
        if is_inline or sum(key in known for _, key in found) > len(found) / 2:
            for offset, key in found:
                if key not in known:
                    yield f"{name}:{text.count(chr(10), 0, start + offset) + 1}: no file has the key `{key}`"


def main():
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parent.parent)
    commands = Commands(sys.argv[1])
    commands.note_not_built(root / "apps")
    keys = {option[2:] for options in commands.options.values() if "--config" in options for option in options if option[:2] == "--"}
    keys |= {key for schema in ("scenario", "fabric") for key in keys_of(json.loads((root / f"schemas/{schema}.json").read_text()))}
    pages = [(page, page.relative_to(root)) for pattern in PAGES for page in sorted(root.glob(pattern))]
    wrong = [line for page in pages for line in find_wrong(commands, *page)]
    wrong += [line for page in pages for line in find_wrong_keys(keys, *page)]
    for line in wrong:
        print(line)
    if not wrong and commands.not_built:
        print(f"not checked, because they are not built: {', '.join('-'.join(('fairlead',) + words) for words in sorted(commands.not_built))}")
        return SKIPPED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
