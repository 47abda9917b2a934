"""Records the telemetry of the jobs of nccl_jobs.py, healthy and with faults, as a controller gets it. Needs one GPU.

usage: record_jobs.py PROGRAM SOURCE_DIR PROFILER_LIBRARY OUT_FOLDER [--plan NAME,...] [--backend nccl|gloo] [--ranks N]
                      [--quick F] [--scale F] [--sm-percent N]

Each rank is as if on a host of its own, with an agent; all share the GPU under MPS, which is started if it is there
and CUDA_MPS_PIPE_DIRECTORY is not set. Jobs of a group run at the same time, one group after the other. --quick F
multiplies the times of all phases; --scale F sizes (nccl_jobs.py). Under MPS a rank gets --sm-percent of the
multiprocessors, so that one that computes more takes longer by that much, and is not helped by what the others leave it
while they wait.

OUT_FOLDER  telemetry/       by the controller
            dumps/           JOB.PHASE/: what PyTorch's flight recorder and NCCL's RAS say at the end of a phase in which
                             a rank does not go on (rank N: a pickle; ras.txt)
            phases.json      {job: [{phase, rank, amount, from_unix_s, until_unix_s}]}
            findings.json    {"groups": [{jobs, unix_s, findings}], as of the end of each; "changes": [{unix_s, job, id,
                             syndrome, ranks, culprits, confidence, confirmed_at_s, cleared_at_s, text}]}
            iterations.json  {job: [{phase, rank, iterations, median_ms}]}
            logs/            the last 20 kB of each process's
Exit code 1: a job ended early, or not at all when told to. What was recorded is there all the same, also after SIGTERM.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from typing import NamedTuple, Optional

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]

from nccl_watch_test import find_nccl_python  # noqa: E402
from patience import free_port  # noqa: E402
from torch_watch_test import find_gloo_python  # noqa: E402
from watched_training import of_rank  # noqa: E402


class Phase(NamedTuple):
    kind: str
    seconds: float
    rank: Optional[int] = None
    # slow_gpu: times as much is computed; slow_loader: seconds in each iteration; slow_nic: MB/s of each socket
    amount: Optional[float] = None


SLOW_SENDS = pathlib.Path(__file__).resolve().parent / "slow_sends.c"

# How long it stands still is a phase of its own; what comes after it is "recovery".
RECOVERY_S = {"frozen": 10, "pause": 20}

PLANS = {
    "ddp": [Phase("healthy", 60), Phase("slow_gpu", 45, 2, 1.6), Phase("healthy", 20), Phase("frozen", 35, 1)],
    "zero": [Phase("healthy", 60), Phase("pause", 25, 0), Phase("healthy", 20), Phase("slow_loader", 45, 3, 0.5)],
    "pipeline": [Phase("healthy", 50), Phase("slow_gpu", 45, 1, 1.6), Phase("frozen", 35, 2)],
    "moe": [Phase("healthy", 90), Phase("slow_gpu", 45, 0, 1.6)],
    "fsdp": [Phase("healthy", 150), Phase("slow_gpu", 45, 5, 1.4), Phase("healthy", 40), Phase("slow_nic", 45, 3, 40),
             Phase("healthy", 30), Phase("frozen", 35, 6), Phase("killed", 20, 2)],
    "tensor": [Phase("healthy", 120), Phase("slow_gpu", 60, 1, 1.4), Phase("healthy", 30), Phase("slow_loader", 45, 6, 0.2),
               Phase("healthy", 30), Phase("slow_nic", 45, 4, 40), Phase("healthy", 20),
               Phase("frozen", 35, 7)],
    "lengths": [Phase("healthy", 240), Phase("slow_gpu", 60, 2, 1.5), Phase("healthy", 30), Phase("frozen", 35, 3),
                Phase("killed", 20, 0)],
    "evaluates": [Phase("healthy", 240), Phase("slow_gpu", 60, 1, 1.5), Phase("healthy", 40), Phase("frozen", 35, 5)],
}
GROUPS = [("ddp", "zero"), ("pipeline", "moe"), ("fsdp", "tensor"), ("lengths", "evaluates")]
STANDS_STILL = ("frozen", "killed")

WARM_UP_ITERATIONS = 10
ITERATIONS_AT_ONCE = 10  # hosts run ahead for so many
START_PATIENCE_S, END_PATIENCE_S = 90, 15
LOG_BYTES = 20_000
DUMP_PATIENCE_S = 12
KEPT_OF_FINDINGS = ("job", "id", "syndrome", "ranks", "culprits", "confidence", "confirmed_at_s", "cleared_at_s",
                    "text")

FABRIC = """fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: {hosts_per_leaf}
  spines: 2
  uplink_gbps: 100
  host: {{gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}}
"""


class Signals:
    """Ends the program at a place where nothing is half done, and not a second time."""

    def __init__(self):
        self._number = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, number, _):
        self._number = self._number or number

    def rest(self, seconds=0.1):
        time.sleep(seconds)
        if self._number is not None:
            number, self._number = self._number, None
            sys.exit(128 + number)


class Processes:
    """Of which none is left at the end."""

    def __init__(self, folder, cleanup):
        self.folder, self._cleanup = folder, cleanup

    def start(self, command, log, env=None, patience_s=0):
        """Args: how long it has to end by itself after a SIGTERM at the end."""
        with open(self.folder / log, "wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
        self._cleanup.callback(end, process, patience_s)
        return process

    def said(self, log):
        return (self.folder / log).read_bytes().decode(errors="replace")


def end(process, patience_s=0):
    if patience_s > 0:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    process.kill()
    process.wait()


class Job:
    """From the start of its ranks to their end, through the phases of its plan."""

    def __init__(self, name, first_host, options, context):
        self.name, self.notes, self.phases, self.ranks = name, [], [], []
        self._first_host, self._options, self._context = first_host, options, context
        self.folder = context.processes.folder / name
        self.folder.mkdir()
        self._steps, self._next_s, self._is_ending, self._ras_port = None, 0.0, False, None

    def start(self):
        port, options, context = free_port(), self._options, self._context
        command = [str(options.source_dir / "tests/e2e/gpu/nccl_jobs.py"), self.name, str(self.folder),
                   "--backend", options.backend, "--scale", str(options.scale)]
        if options.backend == "gloo":
            command[:0] = ["-m", "fairlead_torch"]
        for rank in range(options.ranks):
            host = self._first_host + rank
            environment = {**context.environment, "NCCL_HOSTID": f"host{host}", "FAIRLEAD_JOB": self.name}
            environment = of_rank(environment, rank, options.ranks, port, context.processes.folder / f"h{host}")
            environment.update(self._dump_settings())
            environment.update(context.slow_sends(self.folder / f"nic.{rank}"))
            log = f"{self.name}.{rank}.log"
            self.ranks.append(context.processes.start([context.python, *command], log, environment))

    def iteration(self):
        """Of the slowest rank."""
        paths = [self.folder / f"iteration.{rank}" for rank in range(len(self.ranks))]
        return min(int(path.read_text() or 0) if path.exists() else 0 for path in paths)

    def fail(self, note):
        for rank in self.ranks:
            end(rank)
        self.notes.append(note)
        self.close()

    def close(self):
        """The phase that is on ends; no other one begins."""
        if self._steps is not None and not self._is_ending:
            self._steps.close()
        self._steps = None

    def begin_phases(self):
        self._steps, self._next_s = self._play(), 0.0

    def step(self):
        """Does what is due. Returns whether there is more to come."""
        if self._steps is not None and not self._is_ending:
            codes = {rank: process.poll() for rank, process in enumerate(self.ranks)}
            ended = [rank for rank, code in codes.items() if code is not None]
            if ended:
                said = self._context.processes.said(f"{self.name}.{ended[0]}.log")[-600:]
                self.fail(f"{self.name}: ranks {ended} ended with {[codes[rank] for rank in ended]}: {said}")
        if self._steps is not None and time.monotonic() >= self._next_s:
            try:
                self._next_s = time.monotonic() + next(self._steps)
            except StopIteration:
                self._steps = None
        return self._steps is not None

    def _play(self):
        """Yields how long to wait until it goes on."""
        for phase in PLANS[self.name]:
            rank = None if phase.rank is None else phase.rank % len(self.ranks)
            yield from self._keep(phase, rank)
            if phase.kind == "killed":
                self._is_ending = True
                for process in self.ranks:
                    end(process)
                return
            if phase.kind in RECOVERY_S:
                yield from self._keep(Phase("recovery", RECOVERY_S[phase.kind]), None)
        self._is_ending = True
        self._control(0, {"end": True})
        begin = time.monotonic()
        while any(rank.poll() is None for rank in self.ranks) and time.monotonic() < begin + END_PATIENCE_S:
            yield 0.1
        codes = [rank.poll() for rank in self.ranks]
        if any(code != 0 for code in codes):
            self.fail(f"{self.name}: told to end, its ranks ended with {codes}")

    def _keep(self, phase, rank):
        seconds = phase.seconds * self._options.quick
        said = {"slow_gpu": {"compute": phase.amount}, "slow_loader": {"loader_s": phase.amount},
                "pause": {"pause_s": seconds}}.get(phase.kind)
        self.phases.append({"phase": phase.kind, "rank": rank, "amount": phase.amount, "from_unix_s": time.time(),
                            "until_unix_s": None})
        if phase.kind in STANDS_STILL:
            self._is_ending = phase.kind == "killed"
            self.ranks[rank].send_signal(signal.SIGSTOP if phase.kind == "frozen" else signal.SIGKILL)
            self.ranks[rank].poll()
        elif phase.kind == "slow_nic":
            (self.folder / f"nic.{rank}").write_text(str(phase.amount * 1e6))
        elif said is not None:
            self._control(rank, said)
        try:
            yield max(seconds - DUMP_PATIENCE_S, 0) if phase.kind in STANDS_STILL else seconds
            if phase.kind in STANDS_STILL:
                self._ask_for_dumps(phase, rank)
                yield DUMP_PATIENCE_S
                self._keep_dumps(phase)
        finally:
            if phase.kind == "slow_nic":
                (self.folder / f"nic.{rank}").unlink()
            if phase.kind == "frozen":
                self.ranks[rank].send_signal(signal.SIGCONT)
            elif said is not None:
                self._control(rank, {})
            self.phases[-1]["until_unix_s"] = time.time()

    def _dump_settings(self):
        """So that the flight recorder is written when something is written to FOLDER/ask.RANK.pipe, as FOLDER/flight.RANK."""
        self._ras_port = free_port() if self._ras_port is None else self._ras_port
        return {"TORCH_FR_BUFFER_SIZE": "200", "TORCH_NCCL_TRACE_BUFFER_SIZE": "200",
                "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{self.folder}/ask.",
                "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{self.folder}/flight.", "TORCH_FR_DUMP_TEMP_FILE": f"{self.folder}/flight.",
                "NCCL_RAS_ADDR": f"127.0.0.1:{self._ras_port}"}

    def _ask_for_dumps(self, phase, silent):
        folder = self._dump_folder(phase)
        for rank in range(len(self.ranks)):
            if rank != silent:
                with contextlib.suppress(OSError):
                    pipe = os.open(self.folder / f"ask.{rank}.pipe", os.O_WRONLY | os.O_NONBLOCK)
                    os.write(pipe, b"1\n")
                    os.close(pipe)
        threading.Thread(target=self._ask_ras, args=(folder / "ras.txt",), daemon=True).start()

    def _ask_ras(self, path):
        # Who answers for the job may be who does not go on.
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self._ras_port)), timeout=2) as ras:
            ras.settimeout(DUMP_PATIENCE_S)
            ras.sendall(b"verbose status\n")
            with open(path, "wb", buffering=0) as said:
                while data := ras.recv(65536):
                    said.write(data)

    def _keep_dumps(self, phase):
        for dump in self.folder.glob("flight.*"):
            shutil.move(dump, self._dump_folder(phase) / dump.suffix[1:])

    def _dump_folder(self, phase):
        folder = self._options.out / "dumps" / f"{self.name}.{phase.kind}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _control(self, rank, said):
        written = self.folder / f"control.{rank}.new"
        written.write_text(json.dumps(said))
        written.replace(self.folder / f"control.{rank}")

    def iterations(self):
        """Of each phase, by rank 0."""
        times = []
        with contextlib.suppress(OSError):
            lines = (self.folder / "times.0").read_text().splitlines()
            times = [float(line.split()[0]) for line in lines if " " in line]
        found = []
        for phase in self.phases:
            until = phase["until_unix_s"] or math.inf
            within = [when for when in times if phase["from_unix_s"] <= when < until]
            at_once = min(ITERATIONS_AT_ONCE, len(within) - 1)
            took = [(later - when) / at_once for when, later in zip(within, within[max(at_once, 1):])]
            found.append({"phase": phase["phase"], "rank": phase["rank"], "iterations": len(within),
                          "median_ms": round(1e3 * statistics.median(took), 1) if took else None})
        return found


class Findings:
    def __init__(self, page):
        self._page, self._seen, self._next_s = page, {}, 0.0
        self.groups, self.changes = [], []

    def ask(self):
        """None: no answer this time. A controller has other things to do, and may not be waited for."""
        try:
            with urllib.request.urlopen(f"{self._page}/v1/findings", timeout=2) as answer:
                findings = json.loads(answer.read())["findings"]
        except (OSError, ValueError):
            return None
        for finding in findings:
            what = [finding[key] for key in ("syndrome", "culprits", "confirmed_at_s", "cleared_at_s", "text")]
            if self._seen.get((finding["job"], finding["id"])) != what:
                self._seen[finding["job"], finding["id"]] = what
                self.changes.append({"unix_s": time.time(), **{key: finding[key] for key in KEPT_OF_FINDINGS}})
        return findings

    def look(self):
        """Each second."""
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + 1
            self.ask()

    def keep_group(self, names):
        for _ in range(5):
            findings = self.ask()
            if findings is not None:
                break
        self.groups.append({"jobs": list(names), "unix_s": time.time(), "findings": findings})

    def confirmed(self, job):
        """What was first said of each."""
        first = {}
        for change in self.changes:
            if change["job"] == job and change["confirmed_at_s"] is not None:
                first.setdefault(change["id"], change)
        return list(first.values())


class Context:
    """What all jobs need: the interpreter and the environment of ranks, processes, the time."""

    def __init__(self, options, python, folder, cleanup):
        self.python, self.signals = python, Signals()
        self.processes = Processes(folder, cleanup)
        self.environment = {**os.environ, "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "WARN",
                            "NCCL_PROFILER_PLUGIN": str(options.library.resolve()), "OMP_NUM_THREADS": "1",
                            "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}
        if options.backend == "gloo":
            paths = [str(options.source_dir / "src/ccl/torch"), os.environ.get("PYTHONPATH", "")]
            self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

    def start_mps(self, options, cleanup):
        program = shutil.which("nvidia-cuda-mps-control")
        if options.backend == "nccl" and program and "CUDA_MPS_PIPE_DIRECTORY" not in os.environ:
            folders = {"CUDA_MPS_PIPE_DIRECTORY": "mps", "CUDA_MPS_LOG_DIRECTORY": "mps.logs"}
            for key, name in folders.items():
                (self.processes.folder / name).mkdir()
                self.environment[key] = str(self.processes.folder / name)
            cleanup.callback(self._end_mps, program, dict(self.environment))
            with open(self.processes.folder / "mps.log", "wb") as log:
                subprocess.run([program, "-d"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               timeout=30, check=True)
        if "CUDA_MPS_PIPE_DIRECTORY" in self.environment and options.sm_percent < 100:
            self.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(options.sm_percent)

    def slow_sends(self, path):
        """So that a rank's sockets send no faster than the file says, when it is there: as a NIC that got slow."""
        library = self.processes.folder / "slow_sends.so"
        if not library.exists():
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SLOW_SENDS)], check=True, timeout=60)
        return {"LD_PRELOAD": str(library), "SLOW_SENDS_FILE": str(path)}

    @staticmethod
    def _end_mps(program, environment):
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([program], env=environment, input=b"quit\n", capture_output=True, timeout=20, check=False)

    def start_controller(self, options, num_hosts):
        """Returns its page."""
        folder = self.processes.folder
        (folder / "fabric.yaml").write_text(FABRIC.format(hosts_per_leaf=(num_hosts + 1) // 2))
        nics = {address(host): f"h{host}/nic0" for host in range(num_hosts)}
        (folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        controller = self.processes.start(
            [options.program, "controller", "--fabric", f"{folder}/fabric.yaml", "--addresses",
             f"{folder}/addresses.json", "--listen", f"unix:{folder}/agents.sock", "--http", "127.0.0.1:0", "--record",
             f"{options.out}/telemetry", "--record-space", "2GB"], "controller.log", patience_s=10)
        patience_end = time.monotonic() + START_PATIENCE_S
        while not (found := re.search(r"(http://\S+)/", self.processes.said("controller.log"))):
            if controller.poll() is not None or time.monotonic() > patience_end:
                raise RuntimeError(f"the controller did not start: {self.processes.said('controller.log')}")
            self.signals.rest()
        return found.group(1)

    def start_agents(self, options, num_hosts):
        folder = self.processes.folder
        for host in range(num_hosts):
            (folder / f"h{host}").mkdir()
            self.processes.start([options.program, "agent", "run", "--controller", f"unix:{folder}/agents.sock",
                                  "--host", f"h{host}", "--nic", address(host), "--socket", f"{folder}/h{host}.sock",
                                  "--keep-ports", "--segments", f"{folder}/h{host}"], f"agent.{host}.log")


def address(host):
    return f"127.0.0.{host + 1}"


def run_group(jobs, findings, signals):
    """Phases begin when all its jobs train."""
    for job in jobs:
        job.start()
    patience_end = time.monotonic() + START_PATIENCE_S
    waiting = list(jobs)
    while waiting:
        for job in list(waiting):
            has_ended = any(rank.poll() is not None for rank in job.ranks)
            if has_ended or time.monotonic() > patience_end:
                job.fail(f"{job.name} did not start: its ranks ended with {[rank.poll() for rank in job.ranks]}")
                waiting.remove(job)
            elif job.iteration() >= WARM_UP_ITERATIONS:
                waiting.remove(job)
        findings.look()
        signals.rest()
    for job in jobs:
        if not job.notes:
            job.begin_phases()
    while any([job.step() for job in jobs]):
        findings.look()
        signals.rest()
    findings.keep_group([job.name for job in jobs])


def write_results(out, jobs, findings):
    results = {"phases": {job.name: job.phases for job in jobs},
               "iterations": {job.name: job.iterations() for job in jobs}}
    if findings is not None:
        results["findings"] = {"groups": findings.groups, "changes": findings.changes}
    for name, result in results.items():
        (out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def keep_logs(folder, out):
    out.mkdir(exist_ok=True)
    for log in [*folder.glob("*.log"), *folder.glob("mps.logs/*.log")]:
        name = log.name if log.parent == folder else f"mps.{log.name}"
        (out / name).write_bytes(log.read_bytes()[-LOG_BYTES:])


def print_table(jobs, findings):
    def said(finding):
        ranks = ",".join(str(rank) for rank in finding["ranks"])
        confidence = "" if finding["confidence"] is None else f" ({finding['confidence']:.2f})"
        return f"{finding['syndrome']} {'of ' + ranks if ranks else '; '.join(finding['culprits'])}{confidence}"
    print(f"{'job':9} {'phase':22} {'iteration ms':>12}  confirmed")
    for job in jobs:
        left = findings.confirmed(job.name)
        for phase, iterations in zip(job.phases, job.iterations()):
            until = phase["until_unix_s"] or math.inf
            here = [finding for finding in left if phase["from_unix_s"] <= finding["confirmed_at_s"] < until]
            left = [finding for finding in left if finding not in here]
            what = phase["phase"] + ("" if phase["rank"] is None else f" of {phase['rank']}") + (
                "" if phase["amount"] is None else f", {phase['amount']}")
            print(f"{job.name:9} {what:22} {str(iterations['median_ms']):>12}  {'; '.join(map(said, here))}")
        if left:
            print(f"{job.name:9} {'before or after':22} {'':>12}  {'; '.join(map(said, left))}")


def record(options, python):
    """Whether all jobs ended as told."""
    names = [[name for name in group if name in options.plan] for group in GROUPS]
    num_hosts = options.ranks * sum(map(len, names))
    jobs, findings = [], None
    options.out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as cleanup:
        folder = pathlib.Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="fl-jobs-")))
        cleanup.callback(lambda: write_results(options.out, jobs, findings))
        cleanup.callback(lambda: keep_logs(folder, options.out / "logs"))
        context = Context(options, python, folder, cleanup)
        context.start_mps(options, cleanup)
        findings = Findings(context.start_controller(options, num_hosts))
        context.start_agents(options, num_hosts)
        cleanup.callback(lambda: [job.close() for job in jobs])
        for group in filter(None, names):
            hosts = range(options.ranks * len(jobs), num_hosts, options.ranks)
            here = [Job(name, first_host, options, context) for name, first_host in zip(group, hosts)]
            jobs += here
            run_group(here, findings, context.signals)
        print_table(jobs, findings)
    notes = [note for job in jobs for note in job.notes]
    print("\n".join(notes), file=sys.stderr, end="\n" if notes else "")
    return not notes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source_dir", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--plan", type=lambda text: text.split(","), default=list(PLANS))
    parser.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--quick", type=float, default=1.0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--sm-percent", type=int, default=25)
    options = parser.parse_args()
    unknown = [name for name in options.plan if name not in PLANS]
    if unknown:
        parser.error(f"--plan: {unknown}, expected some of {list(PLANS)}")
    try:
        python = find_nccl_python() if options.backend == "nccl" else find_gloo_python()
    except unittest.SkipTest as reason:
        print(reason, file=sys.stderr)
        sys.exit(3)
    sys.exit(0 if record(options, python) else 1)


if __name__ == "__main__":
    main()
