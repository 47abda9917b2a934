#!/usr/bin/env python3
"""Prints docs/reference/json.md: every key of the JSON of every command, found by running the commands.

usage: tools/json_reference.py PROGRAM SOURCE_DIR > docs/reference/json.md
       tools/json_reference.py PROGRAM SOURCE_DIR --check       is the page what would be printed?

PROGRAM is fairlead; the programs of its other commands lie beside it. What a key means is in tools/json_meanings.yaml, by its name:
a key that is not there is an error, and so is a meaning that no key needs. Takes about a minute, most of it in labs. Exit codes:
0 printed, 1 a command failed, a meaning is missing or left over, or the page is stale; 77 python3-yaml is not installed, or no
lab can be made here.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml")
    sys.exit(77)

PAGE = "docs/reference/json.md"
HEAD = """# The JSON of commands

What `--json FILE` writes, and `--format json` prints. `[]` stands for each element of a list. Times are seconds, shares are 0 to 1; a number
that is unknown is `null`; there is no NaN. Keys may be added; existing keys keep their names and meaning.

Generated from runs of the commands: `tools/json_reference.py`. [sim run](sim-run-json.md) has a page of its own."""

SCENARIO = """title: example
simulate_s: 20
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1, oversubscription: 4}
jobs:
  - {name: big, hosts: [h0, h2], gpus: 16, compute_s: 0.2, size_mb: 4000, collective: hierarchical-all-reduce}
  - {name: small, hosts: [h1, h3], gpus: 16, compute_s: 0.2, size_mb: 4000, collective: hierarchical-all-reduce}
"""
LAB = """title: example
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, host: {gpus: 2, nics: 1, pcie_switches: 1, sockets: 1}}
jobs:
  - {name: a, hosts: [h0, h2], gpus: 4, compute_s: 0.1, size_mb: 400, collective: hierarchical-all-reduce}
"""
# The columns of the Lingjun data set that are read.
LINGJUN_JOBS = """id,job_name,model,is_deleted,gmt_job_submitted,gmt_job_running,gmt_job_stopped,gmt_job_finished,gmt_created
1,dlc1,llama,0,2023/7/16 01:00,2023/7/16 01:05,,2023/7/16 03:00,2023/7/16 01:00
"""
LINGJUN_WORKERS = """job_name,host_ip,gmt_created,gmt_pod_running,gmt_pod_finished,RES
dlc1,10.0.0.1,2023/7/16 01:00,2023/7/16 01:05,2023/7/16 03:00,"{""nvidia.com/gpu"": ""8""}"
"""
SPEEDS = "model,global_batch,num_ps,num_workers,step_time_s\n" + "".join(
    f"m,{batch},{servers},{workers},{0.1 + batch / workers / 100 + workers / servers / 50}\n"
    for batch in (32, 64, 128) for servers in (1, 2, 4) for workers in (1, 2, 4))
SCHED = """job,submit,gpus,duration,tenant
a,0,8,1000,research
b,60,64,500,prod
"""


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
        (self.folder / "sched.csv").write_text(SCHED)
        (self.folder / "lab.yaml").write_text(LAB)
        (self.folder / "job.csv").write_text(LINGJUN_JOBS)
        (self.folder / "worker.csv").write_text(LINGJUN_WORKERS)
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
            ("sim chaos", ("sim", "chaos", "--seeds", "2")),
            ("sim fwl", ("sim", "fwl", "a.fwl")),
            ("sched run", ("sched", "run", "sched.csv", "--policy", "tiresias", "--mtbf-h", "1000")),
            ("workload show", ("workload", "show", str(self.source / "workloads/moe-32.txt"))),
            ("fabric show", ("fabric", "show", str(self.source / "fabrics/crux-testbed.yaml"))),
            ("job check", ("job", "check", str(self.source / "tests/e2e/elastic_job.sh"))),
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
            ("trace import lingjun", ("trace", "import", "lingjun", "--jobs", "job.csv", "--workers", "worker.csv", "-o", "t.csv")),
            ("agent check", ("agent", "check", "--health-file", "none.json")),
            ("cert init", ("cert", "init", "keys")),
            ("cert host", ("cert", "host", "keys", "h0")),
        ]

    def answers(self):
        """Title, call and what it prints, of all commands."""
        for title, call in self.commands():
            yield title, call, self.run(*call, "--json", "-", codes=(0, 1, 2))
        yield from self.answers_of_labs()

    def answers_of_labs(self):
        lab = ("--name", f"json{os.getpid()}", "--run-dir", "labs")
        up = subprocess.run([self.program, "lab", "up", "lab.yaml", *lab], cwd=self.folder, capture_output=True, text=True)
        if up.returncode == 3:
            print("skipped: no lab can be made here:", up.stderr.strip())
            sys.exit(77)
        try:
            yield "lab status", ("lab", "status"), self.run("lab", "status", *lab, "--json", "-")
            call = ("lab", "run", "lab.yaml", "--seconds", "3", "--diagnose", "--simulate")
            jobs = subprocess.Popen([self.program, *call, *lab, "--json", "-"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
            segments = self.folder / lab[3] / lab[1] / "segments/h0"
            wait_until(lambda: segments.is_dir() and any(segments.iterdir()))
            time.sleep(2)
            processes = self.run("agent", "processes", "--segments", str(segments), "--json", "-")
            yield *call_of(call), jobs.communicate(timeout=60)[0]
            yield *call_of(("agent", "processes")), processes
            probe = ("agent", "probe", "10.0.2.1", "--port", "29500", "--source-ports", "40000-40001")
            yield *call_of(probe), self.run("lab", "exec", *lab, "h0", "--", self.program, *probe, "--json", "-")
            agent = ("agent", "run", "--controller", "unix:controller.sock", "--host", "h0")
            running = subprocess.Popen([self.program, *agent, "--nic", "127.0.0.1", "--socket", "agent.sock", "--segments", "",
                                        "--json", "-"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            wait_until((self.folder / "agent.sock").exists)
            running.send_signal(signal.SIGTERM)
            yield *call_of(agent), running.communicate(timeout=60)[0]
        finally:
            self.run("lab", "down", *lab)
        demo = ("lab", "demo", "lab.yaml", "--seconds", "1")
        yield *call_of(demo), self.run(*demo, "--run-dir", "labs", "--json", "-")
        diagnose = ("lab", "diagnose", "lab.yaml", "--faults", "frozen_rank", "--healthy", "1")
        for _ in range(3):  # only an answer with a finding has all keys, and a busy machine may blur the fault
            answer = self.run(*diagnose, "--run-dir", "labs", "--json", "-", codes=(0, 1))
            if json.loads(answer)["stops"][0]["findings"]:
                break
        yield *call_of(diagnose), answer

    def render(self):
        lines = [HEAD]
        for title, call, answer in self.answers():
            rows = {}
            collect(json.loads(answer), "", rows)
            lines += ["", f"## fairlead {title}", ""]
            lines.append(f"From `fairlead {' '.join(shown(word) for word in call)} --json -`.\n")
            lines.append("| key | type | what |\n| --- | --- | --- |")
            for path, types in rows.items():
                lines.append(f"| `{path}` | {' or '.join(sorted(types))} | {self.meaning(title, path, rows)} |")
        left_over = sorted(set(self.meanings) - self.used)
        if self.missing or left_over:
            sys.exit(f"tools/json_meanings.yaml: missing: {', '.join(self.missing)}; left over: {', '.join(left_over)}")
        return "\n".join(lines) + "\n"

    def meaning(self, title, path, rows):
        """The most particular of what is written about a key; elements of a list are what the list is."""
        if path.endswith("[]") and path[:-2] in rows:
            return self.meaning(title, path[:-2], rows)
        name = path.rsplit(".", 1)[-1]
        kinds = [f"{name} ({kind})" for kind in sorted(rows[path] - {"null"})]
        for key in (f"{title}: {path}", f"{title}: {name}", *kinds, name):
            if key in self.meanings:
                self.used.add(key)
                if self.meanings[key].startswith("how many") and not rows[path] <= {"number", "null"}:
                    break
                return self.meanings[key]
        self.missing.append(f"{title}: {path} ({', '.join(sorted(rows[path]))})")
        return ""


def call_of(call):
    return " ".join(call[:2]), call


def wait_until(is_there):
    deadline = time.monotonic() + 60
    while not is_there():
        if time.monotonic() > deadline:
            sys.exit("a lab has not come up in a minute")
        time.sleep(0.05)


def without_types(page):
    """Which keys of a running system happen to be null differs between runs."""
    return re.sub(r"^(\| `[^`]*` \|)[^|]*\|", r"\1", page, flags=re.M)


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
    elif without_types((reference.source / PAGE).read_text()) != without_types(page):
        sys.exit(f"{PAGE} is stale; run: tools/json_reference.py build/release/apps/fairlead . > {PAGE}")


if __name__ == "__main__":
    main()
