#!/usr/bin/env python3
"""Runs jobs in a lab under the diagnosis, with all that healthy jobs do, and counts what is found: nothing may be.

A job of eight hosts trains. Again and again, as chance has it, all of it pauses; or its first worker alone does for some
seconds, as for a checkpoint; or its user stops or kills all of it and starts it again, at once or later, from its
checkpoint; and a second job comes, ends by itself or is stopped, and comes again. Nobody announces any of it.

usage: diagnosis_soak.py PROGRAM [--minutes N] [--seed S] [--log FILE]     as root; N = 60
exit code 0: nothing was found; 1: something was, or a job did not get on: it is printed, with what was done before;
77: no namespaces here
"""
import argparse
import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
from lab import Lab  # noqa: E402

EXIT_SKIPPED = 77
SCENARIO = pathlib.Path(__file__).with_name("two_trainings.yaml")
HOSTS = {"main": [f"h{n}" for n in range(8)], "guest": ["h8", "h9"]}
CHECKPOINT_EVERY = 20
# A job that does no iteration for so long, and is not paused, has a fault that this script knows nothing of.
PATIENCE_S = 90
# A rank that makes others wait longer than that is suspected, rightly.
STALL_MAX_S = 6


def find_beside(program, name, folders):
    for folder in folders:
        path = (pathlib.Path(program).parent / folder / name).resolve()
        if path.exists():
            return str(path)
    raise RuntimeError(f"{name} is not beside {program}; build it")


def processes_of(plan_prefix):
    """Trainers, by the plans that they were started with."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, NotADirectoryError):
            continue
        is_trainer = entry.name.isdigit() and words[0].endswith(b"/fairlead-trainer")
        if is_trainer and any(word.startswith(plan_prefix.encode()) for word in words):
            found.append(int(entry.name))
    return found


class Job:
    """The trainers of one job, as somebody starts them who has a plan for each."""

    def __init__(self, soak, name, plans):
        self.soak, self.name, self.plans = soak, name, plans
        self.starts = 0
        self.iterations = 0  # of starts that have ended
        self.guards = []
        self.quiet_until = 0

    def prefix(self):
        return f"{self.soak.folder}/jobs/{self.name}.{self.starts}."

    def file(self, worker, ending):
        return pathlib.Path(f"{self.prefix()}{worker}.{ending}")

    def start(self, iterations=0):
        self.starts += 1
        ids = collections.defaultdict(lambda: self.soak.random.getrandbits(63))  # drawn again, as NCCL does
        for plan in self.plans:
            own = json.loads(json.dumps(plan))
            worker = own["worker"]
            own["iterations"] = iterations
            own["checkpoint"] = "" if iterations else f"{self.soak.folder}/jobs/{self.name}.checkpoint"
            own["checkpoint_every"] = CHECKPOINT_EVERY
            for communicator in own["communicators"]:
                communicator["id"] = ids[communicator["id"]]
            self.file(worker, "json").write_text(json.dumps(own))
            host = HOSTS[self.name][worker]
            lab = self.soak.lab
            command = lab.words("exec", host, "--", "env", f"LD_PRELOAD={self.soak.steering}",
                                f"FAIRLEAD_AGENT_SOCKET={lab.agent_socket(host)}",
                                f"NCCL_PROFILER_PLUGIN={self.soak.plugin}",
                                f"FAIRLEAD_SHM_FOLDER={lab.folder}/segments/{host}",
                                f"FAIRLEAD_GPU_COUNTERS={lab.folder}/gpus/{host}", f"FAIRLEAD_JOB={self.name}",
                                f"FAIRLEAD_TRAINER_CONTROL={self.file(worker, 'control')}", self.soak.trainer,
                                "--ccl=plugin", str(self.file(worker, "json")))
            with open(self.file(worker, "jsonl"), "wb") as records, open(self.file(worker, "log"), "wb") as log:
                self.guards.append(subprocess.Popen(command, stdout=records, stderr=log, stdin=subprocess.DEVNULL))
        self.moved(PATIENCE_S)

    def moved(self, more_s=0):
        self.quiet_until = time.monotonic() + PATIENCE_S + more_s
        self.seen = self.done_now()

    def done_now(self):
        """Iterations of this start."""
        try:
            return self.file(0, "jsonl").read_text().count('"iteration"')
        except OSError:
            return 0

    def has_ended(self):
        return all(guard.poll() is not None for guard in self.guards)

    def stop(self, number):
        for pid in processes_of(self.prefix()):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + 60
        while not self.has_ended():
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not end")
            time.sleep(0.05)
        self.reap()

    def reap(self):
        for guard in self.guards:
            guard.wait()
        self.guards = []
        self.iterations += self.done_now()

    def pause(self, workers, seconds):
        """At one begin of an iteration: the files are written in the midst of the one before."""
        seen = [self.done_now()]
        times = []
        end = time.monotonic() + PATIENCE_S
        while len(times) < 2:
            if time.monotonic() > end or self.has_ended():
                return False
            time.sleep(0.01)
            if self.done_now() != seen[0]:
                seen[0] = self.done_now()
                times.append(time.monotonic())
        time.sleep((times[1] - times[0]) / 2)
        for worker in workers:
            # The number tells this wish from the one before.
            wish = {"pause_s": round(seconds + self.soak.random.random() / 1000, 6)}
            temporary = self.file(worker, "control.new")
            temporary.write_text(json.dumps(wish))
            temporary.rename(self.file(worker, "control"))
        self.moved(seconds)
        return True

    def check(self):
        if not self.guards:
            return
        if self.done_now() != self.seen:
            self.seen = self.done_now()
            self.quiet_until = max(self.quiet_until, time.monotonic() + PATIENCE_S)
        ended = [guard.returncode for guard in self.guards if guard.poll() is not None]
        if len(ended) == len(self.guards) and not any(ended):
            return
        if any(ended) or time.monotonic() > self.quiet_until:
            logs = "\n".join(self.file(w, "log").read_text()[-300:] for w in range(len(self.plans)))
            raise RuntimeError(f"{self.name} does not get on; ended with {ended}; {self.seen} iterations\n{logs}")


class Soak:
    def __init__(self, program, folder, seed, log):
        self.program = program
        self.random = random.Random(seed)
        self.log = log
        self.folder = pathlib.Path(folder)
        self.lab = None
        self.trainer = find_beside(program, "fairlead-trainer", [".", "../bin"])
        self.plugin = find_beside(program, "libnccl-profiler-fairlead.so", [".", "../lib/fairlead", "../lib", "../src/ccl"])
        self.steering = find_beside(program, "libfairlead-steer.so", [".", "../lib/fairlead", "../lib", "../src/ccl"])
        self.counts = collections.Counter()
        self.findings = {}
        self.loads = []
        self.begin = time.monotonic()
        self.jobs = {}

    def bring_up(self):
        self.lab = Lab(self.program, self.folder, SCENARIO)
        # Plans are those of a short run; without the diagnosis, which is to see nothing of it.
        run = self.lab.run("run", str(SCENARIO), "--seconds", "1", "--warm-up", "0")
        if run.returncode != 0:
            raise RuntimeError(run.stdout + run.stderr)
        plans = collections.defaultdict(list)
        for path in (self.lab.folder / "jobs").glob("*.json"):
            plan = json.loads(path.read_text())
            plans[plan["job"]].append(plan)
        (self.folder / "jobs").mkdir()
        self.jobs = {name: Job(self, name, sorted(own, key=lambda p: p["worker"])) for name, own in plans.items()}

    def say(self, what):
        line = f"{time.monotonic() - self.begin:7.1f} s  load {os.getloadavg()[0]:5.2f}  {what}"
        print(line, file=self.log, flush=True)

    def look(self):
        self.loads.append(os.getloadavg()[0])
        for job in self.jobs.values():
            job.check()
        for finding in self.lab.get("findings"):
            if finding["id"] not in self.findings:
                self.say("FOUND " + json.dumps(finding))
            self.findings[finding["id"]] = finding

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(0.5)

    # ---- What healthy jobs do ----

    def pause_all(self):
        seconds = self.random.uniform(12, 45)
        if self.jobs["main"].pause(range(len(HOSTS["main"])), seconds):
            self.say(f"main pauses for {seconds:.0f} s")
            self.wait(seconds)

    def stall_first(self):
        seconds = self.random.uniform(1, STALL_MAX_S)
        if self.jobs["main"].pause([0], seconds):
            self.say(f"the first worker of main alone pauses for {seconds:.1f} s")
            self.wait(seconds)

    def restart_main(self):
        number = self.random.choice([signal.SIGTERM, signal.SIGKILL])
        gap = self.random.choice([0, 0, self.random.uniform(1, 10), self.random.uniform(10, 60)])
        main = self.jobs["main"]
        main.stop(number)
        self.say(f"main was ended with {number.name} after {main.iterations} iterations, comes again after {gap:.0f} s")
        self.wait(gap)
        main.start()

    def toggle_guest(self):
        guest = self.jobs["guest"]
        if guest.guards and guest.has_ended():
            guest.reap()
        if guest.guards:
            number = self.random.choice([signal.SIGTERM, signal.SIGKILL])
            guest.stop(number)
            self.say(f"guest was ended with {number.name}")
        else:
            iterations = self.random.choice([0, self.random.randint(20, 400)])
            guest.start(iterations)
            self.say(f"guest comes, for {iterations or 'any number of'} iterations")

    def play(self, minutes):
        self.jobs["main"].start()
        end = time.monotonic() + minutes * 60
        doings = {self.pause_all: 2, self.stall_first: 3, self.restart_main: 2, self.toggle_guest: 3}
        while time.monotonic() < end:
            # Often long enough for the diagnosis to learn what is normal.
            self.wait(min(self.random.uniform(5, 90), max(0.0, end - time.monotonic())))
            if time.monotonic() >= end:
                break
            doing = self.random.choices(list(doings), list(doings.values()))[0]
            self.counts[doing.__name__] += 1
            doing()
        self.wait(1)

    def take_down(self):
        for job in self.jobs.values():
            if job.guards:
                job.stop(signal.SIGKILL)
        if self.lab is not None:
            self.lab.down()

    def summary(self):
        return {"minutes": round((time.monotonic() - self.begin) / 60, 1), **self.counts,
                "iterations": {name: job.iterations for name, job in self.jobs.items()},
                "starts": {name: job.starts for name, job in self.jobs.items()},
                "load": {"mean": round(sum(self.loads) / max(1, len(self.loads)), 1), "max": max(self.loads, default=0)},
                "findings": list(self.findings.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=argparse.FileType("w"), default=sys.stderr, help="default: standard error")
    args = parser.parse_args()
    # However it ends, it leaves no lab behind.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="fl-soak-") as folder:
        soak = Soak(os.path.abspath(args.program), folder, args.seed, args.log)
        failure = ""
        try:
            soak.bring_up()
            soak.play(args.minutes)
        except unittest.SkipTest as reason:
            print(f"skipped: {reason}", file=sys.stderr)
            return EXIT_SKIPPED
        except (AssertionError, RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            failure = str(error)
        finally:
            soak.take_down()
        print(json.dumps(soak.summary()))
        if failure:
            print(failure, file=sys.stderr)
        return 1 if failure or soak.findings else 0


if __name__ == "__main__":
    sys.exit(main())
