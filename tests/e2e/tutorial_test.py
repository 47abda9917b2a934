"""Runs the commands of a tutorial line by line, and compares what they print with what the page promises.

Blocks marked `console` have commands (`$ …`) and, below each, its output: a line `...` stands for any lines, `...` in a
line for any text, runs of spaces are one space. No output below a command: it is not compared. A command has to exit with
0, or with N where its line ends in `# exits with N`. `<!-- needs: root -->` as the first line: skipped without root.

usage: tutorial_test.py PROGRAM PAGE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77


def read_steps(page):
    """(line number, command, expected lines) of each command."""
    steps = []
    is_console = False
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        if line.startswith("```"):
            is_console = line == "```console"
        elif is_console and line.startswith("$ "):
            steps.append((number, line[2:], []))
        elif is_console:
            steps[-1][2].append(line)
    return steps


def pattern_of(expected):
    """What output matches the expected lines."""
    text = ""
    for line in expected:
        if line.strip() == "...":
            text += r"(?:[^\n]*\n)*?"
            continue
        words = [re.escape(part) for part in re.split(r"\s+", line.strip())]
        text += " ".join(words).replace(r"\.\.\.", r"[^\n]*?") + r"\n"
    return re.compile(text)


def normalize(output):
    return "".join(re.sub(r"[ \t]+", " ", line).strip() + "\n" for line in output.splitlines())


def run_page(page, environment, folder):
    steps = read_steps(page)
    assert steps, f"{page}: no commands"
    failures = 0
    for number, command, expected in steps:
        wanted = re.search(r"# exits with (\d+)\s*$", command)
        code = int(wanted.group(1)) if wanted else 0
        result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        where = f"{page}:{number}: {command}"
        if result.returncode != code:
            print(f"{where}\n  exit code {result.returncode}, expected {code}\n{result.stdout}{result.stderr}")
            return 1  # what follows builds on it
        if expected and not pattern_of(expected).fullmatch(normalize(result.stdout + result.stderr)):
            print(f"{where}\n--- expected\n" + "\n".join(expected) + f"\n--- printed\n{result.stdout}{result.stderr}")
            failures += 1
    print(f"{page}: {len(steps)} commands, {failures} with other output than the page says")
    return 1 if failures else 0


def main():
    program, page = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    if page.read_text().startswith("<!-- needs: root -->") and os.geteuid() != 0:
        print(f"{page}: needs root")
        return SKIPPED
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    with tempfile.TemporaryDirectory() as folder:
        return run_page(page, environment, folder)


if __name__ == "__main__":
    sys.exit(main())
