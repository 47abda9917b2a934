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
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

PATIENCE_S = 60
EXIT_SKIPPED = 77


class Soak:
    def __init__(self, program, scenario, folder):
        self.program = program
        self.scenario = scenario
        self.folder = pathlib.Path(folder)
        self.run_dir = self.folder / "run"
        self.lab_dir = self.run_dir / "lab"
        up = self.lab("up", str(scenario), "--scale", "0.0001")
        if up.returncode == 2 and "namespace" in up.stderr:
            print("skipped: " + up.stderr.strip(), file=sys.stderr)
            sys.exit(EXIT_SKIPPED)
        if up.returncode != 0:
            raise RuntimeError(up.stdout + up.stderr)
        self.page = re.search(r"page: (http://\S+)", up.stdout).group(1)
        self.commands = {}
        for name, pid in self.daemons().items():
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
            self.commands[name] = [word.decode() for word in words]
        self.run = None

    def lab(self, *args):
        return subprocess.run([self.program, "lab", args[0], "--run-dir", str(self.run_dir), *args[1:]],
                              capture_output=True, text=True, timeout=300)

    def daemons(self):
        """{"controller": PID, "h0": PID, ...}, found by the folder that their commands name."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except (OSError, NotADirectoryError):
                continue
            if not entry.name.isdigit() or not any(str(self.lab_dir).encode() in word for word in words):
                continue
            if b"controller" in words[1:2]:
                found["controller"] = int(entry.name)
            elif words[1:3] == [b"agent", b"run"]:
                found[words[words.index(b"--host") + 1].decode()] = int(entry.name)
        return found

    def get(self, what):
        with urllib.request.urlopen(f"{self.page}/v1/{what}", timeout=30) as answer:
            return json.load(answer)[what]

    def start_jobs(self):
        self.run = subprocess.Popen([self.program, "lab", "run", str(self.scenario), "--seconds", "86400", "--warm-up",
                                     "0", "--run-dir", str(self.run_dir)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)

    def restart(self, name):
        log = open(self.lab_dir / "soak.log", "ab")
        command = self.commands[name]
        if name != "controller":
            command = [self.program, "lab", "exec", "--run-dir", str(self.run_dir), name, "--", *command]
        subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def wait_until(self, what, is_so):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if is_so():
                    return
            except (OSError, ValueError, http.client.HTTPException):
                pass  # the controller is away
            if time.monotonic() > end:
                raise RuntimeError(what)
            time.sleep(0.1)

    def held(self):
        """What living connections have: {connection: (job, source, destination, port, links)}."""
        connections = self.get("connections")
        if any(c["answer"] != "use" or c["wire_port"] != c["source_port"] for c in connections):
            return None  # a path is looked for, or is about to be taken
        return {c["connection"]: (c["job"], c["source"], c["destination"], c["source_port"], tuple(c["links"]))
                for c in connections}

    def all_connected(self):
        return all(host["connected"] for host in self.get("hosts"))

    def settle(self, num_connections):
        self.wait_until("jobs do not get their paths", lambda: len(self.held() or ()) == num_connections)
        return self.held()

    def kill_daemon(self, name, before):
        killed = self.daemons()[name]
        os.kill(killed, signal.SIGKILL)
        self.restart(name)
        # The controller may still take the one that was killed for connected.
        self.wait_until(f"{name} does not start", lambda: self.daemons().get(name, killed) != killed)
        self.wait_until(f"{name} does not come back", self.all_connected)
        # A path may have become another one while nobody could be asked: then it is told, and stays.
        self.wait_until(f"after {name} was killed connections have not what they had", lambda: self.held() == before)
        if self.run.poll() is not None:
            raise RuntimeError(f"jobs ended when {name} was killed: " + self.run.stderr.read())

    def trainers(self):
        found = subprocess.run(["pgrep", "-f", f"fairlead-trainer {self.lab_dir}/"], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def kill_trainer(self, rng):
        os.kill(rng.choice(self.trainers()), signal.SIGKILL)
        self.run.wait(timeout=PATIENCE_S)
        self.wait_until("what ended jobs held is not given back", lambda: not self.get("connections"))
        self.start_jobs()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", default=str(pathlib.Path(__file__).parents[2] / "scenarios/lab-eight-jobs.yaml"))
    args = parser.parse_args()
    rng = random.Random(args.seed)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="fl-soak-") as folder:
        soak = Soak(os.path.abspath(args.program), pathlib.Path(args.scenario).resolve(), folder)
        try:
            hosts = sorted(name for name in soak.commands if name != "controller")
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
            print((soak.lab_dir / "controller.log").read_text()[-1500:], file=sys.stderr)
            if (soak.lab_dir / "soak.log").exists():
                print((soak.lab_dir / "soak.log").read_text()[-3000:], file=sys.stderr)
            try:
                now = soak.held()
                print("differs:", [(k, held.get(k), (now or {}).get(k)) for k in set(held) | set(now or {})
                                   if held.get(k) != (now or {}).get(k)][:4], file=sys.stderr)
                print([c for c in soak.get("connections") if c["answer"] != "use"][:4], file=sys.stderr)
            except OSError as away:
                print(away, file=sys.stderr)
            return 1
        finally:
            if soak.run is not None:
                soak.run.kill()
            # A controller that was started again is no process of the lab.
            for pid in soak.daemons().values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            soak.lab("down")


if __name__ == "__main__":
    sys.exit(main())
