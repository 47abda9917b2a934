"""Runs the commands of a tutorial line by line, and compares what they print with what the page promises.

Blocks marked `console` have commands (`$ …`) and, below each, its output: a line `...` stands for any lines, `...` in a
line for any text, runs of spaces are one space. No output below a command: it is not compared. A command has to exit with
0, or with N where its line ends in `# exits with N`.

`<!-- needs: root -->` as the first line: skipped without root or network namespaces; its commands have a network namespace and
a /run/fairlead of their own, so that they meet nothing else of this machine. `<!-- always: COMMAND -->` is run at the end, also
after a failure.

usage: tutorial_test.py PROGRAM PAGE
"""
import os
import pathlib
import re
import signal
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


class Here:
    """Runs commands as they are."""

    def words(self, command):
        return ["bash", "-c", command]

    def close(self):
        pass


class Apart:
    """Runs commands as root in a network namespace of their own, with a /run/fairlead of their own."""

    def __init__(self, folder):
        self.net, self.run = pathlib.Path(folder, "net"), pathlib.Path(folder, "run")
        self.net.touch()
        self.run.mkdir()
        subprocess.run(["unshare", f"--net={self.net}", "ip", "link", "set", "lo", "up"], check=True)

    def words(self, command):
        script = 'mkdir -p /run/fairlead && mount --bind "$0" /run/fairlead && exec bash -c "$1"'
        return ["nsenter", f"--net={self.net}", "unshare", "--mount", "sh", "-c", script, str(self.run), command]

    def close(self):
        """Ends what a command has left running."""
        own = os.stat(self.net).st_ino
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.stat(entry / "ns/net").st_ino == own:
                    os.kill(int(entry.name), signal.SIGKILL)
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                pass  # it has just ended, or is none of ours
        subprocess.run(["umount", "--lazy", str(self.net)], check=True)


def run_page(page, environment, folder, place):
    steps = read_steps(page)
    assert steps, f"{page}: no commands"
    failures = 0
    for number, command, expected in steps:
        wanted = re.search(r"# exits with (\d+)\s*$", command)
        code = int(wanted.group(1)) if wanted else 0
        result = subprocess.run(place.words(command), cwd=folder, env=environment, capture_output=True, text=True,
                                timeout=300)
        where = f"{page}:{number}: {command}"
        if result.returncode != code:
            print(f"{where}\n  exit code {result.returncode}, expected {code}\n{result.stdout}{result.stderr}")
            return 1  # what follows builds on it
        if expected and not pattern_of(expected).fullmatch(normalize(result.stdout + result.stderr)):
            print(f"{where}\n--- expected\n" + "\n".join(expected) + f"\n--- printed\n{result.stdout}{result.stderr}")
            failures += 1
    print(f"{page}: {len(steps)} commands, {failures} with other output than the page says")
    return 1 if failures else 0


def can_be_apart():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--net", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0


def main():
    program, page = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    text = page.read_text()
    needs_root = text.startswith("<!-- needs: root -->")
    if needs_root and not can_be_apart():
        print(f"{page}: needs root and network namespaces")
        return SKIPPED
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as folder:
        place = Apart(own) if needs_root else Here()
        try:
            return run_page(page, environment, folder, place)
        finally:
            for command in re.findall(r"^<!-- always: (.*) -->$", text, re.MULTILINE):
                subprocess.run(place.words(command), cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            place.close()


if __name__ == "__main__":
    sys.exit(main())
