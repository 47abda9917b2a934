#!/usr/bin/env python3
"""Kills controller, agents and trainers of a lab with SIGKILL, in random order, under load, and looks whether all is well.

After each kill of a daemon the same command is started again, and within a minute all hosts have to be connected and all
connections of the living jobs have to have what they had before: the same numbers, ports and paths. After each kill of a
trainer its jobs are started anew, and what they held has to be given back first.

usage: lab_soak.py PROGRAM [--kills N] [--seed S] [--scenario FILE]      as root; N = 200; about three seconds for each
exit code 0: all was well; 1: the first thing that was not, with the end of the controller's log; 77: no namespaces here
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

PATIENCE_S = 60
EXIT_SKIPPED = 77


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


class Soak:
    def __init__(self, program, scenario, folder):
        self.lab = Lab(program, folder, scenario)
        self.scenario = scenario
        self.run = None

    def start_jobs(self):
        self.run = self.lab.start("run", str(self.scenario), "--seconds", "86400", "--warm-up", "0",
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait_until(self, what, is_so):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if is_so():
                    return
            except (KeyError, ValueError, OSError):
                pass  # the controller is not ready
            if time.monotonic() > end:
                has_ended_too = self.run is not None and self.run.poll() is not None
                raise RuntimeError(f"{what}, and jobs have ended: {self.run.stderr.read()}" if has_ended_too else what)
            time.sleep(0.1)

    def held(self):
        """What living connections have: {connection: (job, source, destination, port, links)}."""
        connections = self.lab.get("connections")
        if any(c["answer"] != "use" or c["wire_port"] != c["source_port"] for c in connections):
            return None  # a path is looked for, or is about to be taken
        return {c["connection"]: (c["job"], c["source"], c["destination"], c["source_port"], tuple(c["links"]))
                for c in connections}

    def all_connected(self):
        return all(host["connected"] for host in self.lab.get("hosts"))

    def settle(self, num_connections):
        """Waits until all is as it was a second before: moves to these paths may still be under way to the agents."""
        before = {}

        def is_settled():
            nonlocal before
            now = self.held() or {}
            before, is_same = now, now == before
            if not is_same:
                time.sleep(1)
            return is_same and len(now) == num_connections

        self.wait_until("jobs do not get their paths", is_settled)
        return before

    def kill_daemon(self, name, before):
        killed = self.lab.daemons()[name]
        os.kill(killed, signal.SIGKILL)
        # On a busy machine it lives on for a moment, with its store; a parent would wait, too.
        self.wait_until(f"{name} does not end", lambda: has_ended(killed))
        self.lab.start_again(name)
        # The controller may still take the one that was killed for connected.
        self.wait_until(f"{name} does not start", lambda: self.lab.daemons().get(name, killed) != killed)
        self.wait_until(f"{name} does not come back", self.all_connected)
        # A path may have become another one while no controller was there: then it is reported, and stays.
        self.wait_until(f"after {name} was killed connections have not what they had", lambda: self.held() == before)
        if self.run.poll() is not None:
            raise RuntimeError(f"jobs ended when {name} was killed: " + self.run.stderr.read())

    def trainers(self):
        found = subprocess.run(["pgrep", "-f", f"fairlead-trainer {self.lab.folder}/"], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def kill_trainer(self, rng):
        os.kill(rng.choice(self.trainers()), signal.SIGKILL)
        self.run.wait(timeout=PATIENCE_S)
        self.wait_until("what ended jobs held is not given back", lambda: not self.lab.get("connections"))
        self.start_jobs()

    def tell_what_differs(self, before):
        try:  # first, as it may change
            connections = self.lab.get("connections")
            now = self.held() or {}
            print("differs:", [(k, before.get(k), now.get(k)) for k in set(before) | set(now)
                               if before.get(k) != now.get(k)][:4], file=sys.stderr)
            print("connections:", connections[:4], file=sys.stderr)
        except OSError as away:
            print(away, file=sys.stderr)
        logs = [self.lab.folder / "controller.log", self.lab.folder / "again.log",
                *sorted((self.lab.folder / "agents").glob("*.log")), *sorted((self.lab.folder / "jobs").glob("*.log"))]
        for log in logs:
            if log.exists() and log.stat().st_size > 0:
                print(f"{log.name}:\n{log.read_text()[-2000:]}", file=sys.stderr)
        print("trainers:", self.trainers(), file=sys.stderr)
        for host in sorted(name for name in self.lab.commands if name != "controller"):
            print(f"sockets of {host}:\n{self.lab.run('exec', host, '--', 'ss', '-tnpe').stdout}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", default=str(pathlib.Path(__file__).parents[2] / "scenarios/lab-eight-jobs.yaml"))
    args = parser.parse_args()
    # However it ends, it leaves no lab behind.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rng = random.Random(args.seed)
    counts = collections.Counter()
    held = {}
    with tempfile.TemporaryDirectory(prefix="fl-soak-") as folder:
        try:
            soak = Soak(args.program, pathlib.Path(args.scenario).resolve(), folder)
        except unittest.SkipTest as reason:
            print(f"skipped: {reason}", file=sys.stderr)
            return EXIT_SKIPPED
        try:
            hosts = sorted(name for name in soak.lab.commands if name != "controller")
            soak.start_jobs()
            held = soak.settle(len(hosts))
            for number in range(args.kills):
                kind = rng.choices(["controller", "agent", "trainer"], [4, 4, 2])[0]
                counts[kind] += 1
                if kind == "trainer":
                    soak.kill_trainer(rng)
                    held = soak.settle(len(hosts))
                else:
                    soak.kill_daemon("controller" if kind == "controller" else rng.choice(hosts), held)
                if sys.stderr.isatty() or number % 20 == 19:
                    print(f"{number + 1} of {args.kills} kills: all well", file=sys.stderr)
            print(json.dumps({"kills": args.kills, "seed": args.seed, **counts, "lost": 0}))
            return 0
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{sum(counts.values())} kills ({dict(counts)}): {error}", file=sys.stderr)
            soak.tell_what_differs(held)
            return 1
        finally:
            if soak.run is not None:
                soak.run.kill()
            soak.lab.down()


if __name__ == "__main__":
    sys.exit(main())
