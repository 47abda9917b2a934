#!/usr/bin/env python3
"""What commands print, character by character, against what they printed when somebody last read it.

usage: golden_test.py GOLDEN PROGRAM SOURCE_DIR    FAIRLEAD_UPDATE_GOLDEN=1 writes GOLDEN anew: read the difference.

A golden file is commands and their outputs. To add a command, write its line and update:

    $ fairlead check scenarios/two-jobs.yaml
    scenarios/two-jobs.yaml: scenario, 2 jobs …
    $ fairlead check nothing.yaml
    stderr: fairlead: nothing.yaml: no such file
    exit code: 2

Commands run one after the other in one new folder that has the folders of input files of the source tree. Times and
memory that a run takes are not compared.
"""
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

INPUTS = ["fabrics", "scenarios", "workloads"]
PROMPT = "$ fairlead "
# The last two columns of a run (wall time and memory, under headings that are wider than both), and an experiment's time.
COST = re.compile(r"((?:exact|e-\d\d|–)) +[\d.,]+ (?:ns|µs|ms|s|min|h) +[\d,]+$", re.MULTILINE)
TIME = re.compile(r"^(seed \d+), [\d.]+ (?:ns|µs|ms|s)$", re.MULTILINE)


def output_of(program, command, folder):
    env = {**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    run = subprocess.run([program, *shlex.split(command)], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    text = TIME.sub(r"\1, (time)", COST.sub(r"\1  (time and memory)", run.stdout))
    if text and not text.endswith("\n"):
        text += "\n"
    text += "".join(f"stderr: {line}\n" for line in run.stderr.splitlines())
    return text + (f"exit code: {run.returncode}\n" if run.returncode else "")


def main():
    golden, program, source = (pathlib.Path(arg).resolve() for arg in sys.argv[1:4])
    expected = golden.read_text(encoding="utf-8")
    found = ""
    with tempfile.TemporaryDirectory() as folder:
        for name in INPUTS:
            os.symlink(source / name, pathlib.Path(folder) / name)
        for line in expected.splitlines():
            if line.startswith(PROMPT):
                found += line + "\n" + output_of(program, line[len(PROMPT):], folder)
    if found == expected:
        return 0
    if os.environ.get("FAIRLEAD_UPDATE_GOLDEN"):
        golden.write_text(found, encoding="utf-8")
        print(f"{golden} is written anew")
        return 0
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), str(golden), "now", n=1))
    print("If that is meant: FAIRLEAD_UPDATE_GOLDEN=1, and read the difference before it is committed.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
