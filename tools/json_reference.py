#!/usr/bin/env python3
"""Prints docs/reference/json.md: every key of the JSON of every command, found by running the commands.

usage: tools/json_reference.py PROGRAM SOURCE_DIR > docs/reference/json.md
       tools/json_reference.py PROGRAM SOURCE_DIR --check       is the page what would be printed?

PROGRAM is fairlead; the programs of its other commands lie beside it. What a key means is in tools/json_meanings.yaml, by its name:
a key that is not there is an error, and so is a meaning that no key needs. Takes some seconds. Exit codes: 0 printed, 1 a
command failed, a meaning is missing or left over, or the page is stale; 77 python3-yaml is not installed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml")
    sys.exit(77)

PAGE = "docs/reference/json.md"
HEAD = """# The JSON of commands

What `--json FILE` writes, and `--format json` prints. `[]` stands for each element of a list. Times are seconds, shares are 0 to 1; a number
that is unknown is `null`; there is no NaN. Keys may be added; existing keys keep their names and meaning.

Generated from runs of the commands: `tools/json_reference.py`. [sim run](sim-run-json.md) has a page of its own. The commands of labs and of
running agents (`lab …`, `agent processes`, `agent probe`, `agent run`) are not listed here; their keys are the columns of their tables."""

SCENARIO = """title: example
simulate_s: 20
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1, oversubscription: 4}
jobs:
  - {name: big, hosts: [h0, h2], gpus: 16, compute_s: 0.2, size_mb: 4000, collective: hierarchical-all-reduce}
  - {name: small, hosts: [h1, h3], gpus: 16, compute_s: 0.2, size_mb: 4000, collective: hierarchical-all-reduce}
"""
SPEEDS = "model,global_batch,num_ps,num_workers,step_time_s\n" + "".join(
    f"m,{batch},{servers},{workers},{0.1 + batch / workers / 100 + workers / servers / 50}\n"
    for batch in (32, 64, 128) for servers in (1, 2, 4) for workers in (1, 2, 4))


class Reference:
    def __init__(self, program, source):
        self.program = str(pathlib.Path(program).resolve())
        self.source = pathlib.Path(source).resolve()
        self.folder = pathlib.Path()
        self.meanings = yaml.safe_load((self.source / "tools/json_meanings.yaml").read_text())
        self.used = set()
        self.missing = []

    def run(self, *words, codes=(0,)):
        result = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, text=True, timeout=300)
        if result.returncode not in codes:
            sys.exit(f"fairlead {' '.join(words)}: exit code {result.returncode}: {result.stderr}")
        return result.stdout

    def prepare(self):
        (self.folder / "my.yaml").write_text(SCENARIO)
        (self.folder / "speeds.csv").write_text(SPEEDS)
        self.run("diag", "simulate", "--fault", "slow_gpu", "-o", "job.jsonl")
        self.run("predict", "generate", "--jobs", "20", "-o", "jobs")
        self.run("predict", "train", "--learner", "logistic", *self.jobs(), "-o", "model.json")
        self.run("trace", "generate", "--days", "1", "-o", "trace.csv")
        generate = [sys.executable, str(self.source / "bench/fwl/generate.py"), "excl", "--pods", "2", "--iters", "2", "--seed", "6"]
        (self.folder / "a.fwl").write_text(subprocess.run(generate, capture_output=True, text=True, check=True).stdout)

    @staticmethod
    def jobs():
        return "--jobs", "jobs/jobs.csv", "--curves", "jobs/curves.csv"

    def commands(self):
        """Title, and a call whose JSON has all keys."""
        return [
            ("explain job", ("explain", "job", "0", "--scenario", "my.yaml", "--policy", "ecmp", "--without", "1")),
            ("explain job --workload", ("explain", "job", "7", "--workload", "generated", "--allocation", "tiresias")),
            ("check", ("check", "my.yaml")),
            ("sim fwl", ("sim", "fwl", "a.fwl")),
            ("workload show", ("workload", "show", str(self.source / "workloads/moe-32.txt"))),
            ("fabric show", ("fabric", "show", str(self.source / "fabrics/crux-testbed.yaml"))),
            ("doctor", ("doctor", "--for", "sim")),
            ("diag analyze", ("diag", "analyze", "job.jsonl")),
            ("diag drill", ("diag", "drill", "--fault", "gpu_hang@900:5", "--minutes", "40")),
            ("experiment list", ("experiment", "list")),
            ("experiment run", ("experiment", "run", "crux-examples")),
            ("predict train", ("predict", "train", "--learner", "logistic", *self.jobs(), "-o", "m.json")),
            ("predict score", ("predict", "score", *self.jobs(), "--model", "model.json", "--job", "job-0000")),
            ("predict speed", ("predict", "speed", "speeds.csv", "--ps", "2", "--workers", "2")),
            ("trace generate", ("trace", "generate", "--days", "1", "-o", "again.csv")),
            ("trace validate", ("trace", "validate", "trace.csv", "--against", "lingjun-2023")),
            ("agent check", ("agent", "check", "--health-file", "none.json")),
            ("cert init", ("cert", "init", "keys")),
            ("cert host", ("cert", "host", "keys", "h0")),
        ]

    def render(self):
        lines = [HEAD]
        for title, call in self.commands():
            rows = {}
            collect(json.loads(self.run(*call, "--json", "-", codes=(0, 1, 2))), "", rows)
            lines += ["", f"## fairlead {title}", ""]
            lines.append(f"From `fairlead {' '.join(shown(word) for word in call)} --json -`.\n")
            lines.append("| key | type | what |\n| --- | --- | --- |")
            for path, types in rows.items():
                lines.append(f"| `{path}` | {' or '.join(sorted(types))} | {self.meaning(title, path)} |")
        left_over = sorted(set(self.meanings) - self.used)
        if self.missing or left_over:
            sys.exit(f"tools/json_meanings.yaml: missing: {', '.join(self.missing)}; left over: {', '.join(left_over)}")
        return "\n".join(lines) + "\n"

    def meaning(self, title, path):
        name = path.rsplit(".", 1)[-1].removesuffix("[]")
        for key in (f"{title}: {path}", f"{title}: {name}", name):
            if key in self.meanings:
                self.used.add(key)
                return self.meanings[key]
        self.missing.append(f"{title}: {path}")
        return ""


def shown(word):
    return pathlib.Path(word).parent.name + "/" + pathlib.Path(word).name if word.startswith("/") else word


def type_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    return {int: "number", float: "number", str: "text", list: "list", dict: "object"}[type(value)]


def collect(value, path, rows):
    """Adds each key below `value` with its types."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (list, dict)):
                collect(item, path + "[]", rows)
            else:
                rows.setdefault(path + "[]", set()).add(type_of(item))
    elif isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}.{key}".removeprefix(".")
            rows.setdefault(here, set()).add(type_of(inner))
            collect(inner, here, rows)


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--check"]):
        sys.exit(__doc__)
    reference = Reference(*sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        reference.folder = pathlib.Path(folder)
        reference.prepare()
        page = reference.render()
    if "--check" not in sys.argv:
        sys.stdout.write(page)
    elif (reference.source / PAGE).read_text() != page:
        sys.exit(f"{PAGE} is stale; run: tools/json_reference.py build/release/apps/fairlead . > {PAGE}")


if __name__ == "__main__":
    main()
