#!/usr/bin/env python3
"""What steering costs a process: how long connect() takes, and how fast bytes go, with and without.

Brings up a lab of its own (two leaves, eight spines, a host at each leaf), and goes round the cases in turn, so that
whatever else the machine does falls on all of them. Prints a table; --json FILE has every time that was taken.

usage: connect_cost.py FAIRLEAD LIBRARY CONNECT_COST [--rounds N] [--connections N] [--megabytes N] [--json FILE]
FAIRLEAD, LIBRARY (libfairlead-steer.so) and CONNECT_COST are the built files.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/e2e"))
from lab import Lab  # noqa: E402
from patience import wait_until  # noqa: E402

FABRIC = """fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 1
  spines: 8
  uplink_gbps: 200
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 200}
"""
SCALE = "0.1"  # 20 Gb/s: more than a processor sends
FIRST_PORT = 20000
NUM_PORTS = 400
KNOWN_PORT = FIRST_PORT + NUM_PORTS  # the last one that is served
SETTLE_S = 2  # until an agent has seen that sockets are gone, and the controller has given their ports back


def bring_up(program, folder):
    """A lab whose agents are there."""
    fabric = pathlib.Path(folder) / "fabric.yaml"
    fabric.write_text(FABRIC)
    try:
        lab = Lab(program, folder, fabric, scale=SCALE)
        wait_until(lambda: sum(host["connected"] for host in lab.get("hosts")) == 2, "the agents have not come")
    except (AssertionError, unittest.SkipTest) as error:
        sys.exit(str(error))
    time.sleep(SETTLE_S)
    return lab


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Measurement:
    def __init__(self, lab, options):
        self.lab = lab
        self.options = options
        self.sockets = {"none": "/nonexistent/agent.sock", "lone": str(lab.run_folder / "lone.sock"),
                        "lab": lab.agent_socket("h0")}
        addresses = json.loads((lab.folder / "addresses.json").read_text())["nics"]
        self.address = {nic.split("/")[0]: address for address, nic in addresses.items()}
        self.next_port = FIRST_PORT
        self.times = {}  # case -> ns
        self.steered = {}  # case -> of how many connections the socket has the port that the controller gave
        self.sends = {}  # case -> [(seconds, seconds of processor time)]

    def start(self, host, *args, **how):
        return self.lab.start("exec", host, "--", *args, stdout=subprocess.PIPE, **how)

    def environment(self, agent):
        if agent is None:
            return ["env"]
        return ["env", f"LD_PRELOAD={self.options.library}", "FAIRLEAD_JOB=cost",
                f"FAIRLEAD_AGENT_SOCKET={self.sockets[agent]}"]

    def fresh_ports(self, count):
        if self.next_port + count > KNOWN_PORT:
            sys.exit("more connections than ports that nobody knows: fewer --rounds or --connections")
        first = self.next_port
        self.next_port += count
        return [str(first), str(count)]

    def connect(self, case, agent, ports):
        count = self.options.connections
        print(f"\r{case or 'ports become known':60}", end="", file=sys.stderr, flush=True)
        client = self.start("h0", *self.environment(agent), self.options.connect_cost, "connect",
                                self.address["h0"], self.address["h1"], *ports, str(count), "10",
                                stdin=subprocess.PIPE)
        lines = [client.stdout.readline().split() for _ in range(count)]
        if agent == "lab" and case:
            given = {c["source_port"] for c in self.lab.get("connections")}
            self.steered.setdefault(case, []).append(sum(int(port) in given for _, port in lines))
        client.communicate()
        if case:
            self.times.setdefault(case, []).extend(int(line[0]) for line in lines)

    def send(self, case, agent, after_ms):
        client = self.start("h0", *self.environment(agent), self.options.connect_cost, "send",
                                self.address["h0"], self.address["h1"], str(KNOWN_PORT),
                                str(self.options.megabytes), str(after_ms))
        out, _ = client.communicate()
        self.sends.setdefault(case, []).append(tuple(float(word) for word in out.split()))

    def round(self):
        known = [str(KNOWN_PORT), "1"]
        self.connect("without the library", None, known)
        self.connect("library, no agent", "none", known)
        self.connect("agent, no controller", "lone", known)
        self.connect("agent and controller, ports known", "lab", known)
        self.connect("agent and controller, ports unknown", "lab", self.fresh_ports(self.options.connections))
        time.sleep(SETTLE_S)
        pid = self.lab.daemons()["controller"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.connect("agent, controller stands still", "lab_stopped", known)
        finally:
            os.kill(pid, signal.SIGCONT)
        for case, agent in (("without the library", None), ("steered", "lab")):
            self.send(case, agent, 500)
        time.sleep(SETTLE_S)

    def run(self):
        server = self.start("h1", self.options.connect_cost, "serve", self.address["h1"], str(FIRST_PORT),
                                str(NUM_PORTS + 1), stdin=subprocess.PIPE)
        server.stdout.readline()
        # It ends with the lab.
        self.start("h0", self.lab.program, "agent", "run", "--controller",
                              f"unix:{self.lab.run_folder}/nobody.sock", "--host", "h0", "--nic", self.address["h0"],
                              "--socket", self.sockets["lone"], "--keep-ports", stderr=subprocess.DEVNULL)
        self.sockets["lab_stopped"] = self.sockets["lab"]
        try:
            time.sleep(SETTLE_S)
            for _ in range(2):  # ports become known
                self.connect(None, "lab", [str(KNOWN_PORT), "1"])
                time.sleep(SETTLE_S)
            for _ in range(self.options.rounds):
                self.round()
        finally:
            server.communicate()


def report(measurement, options):
    print(f"{'connect()':40} {'n':>4} {'median':>9} {'99 %':>9} {'longest':>9}   steered at once")
    for case, times in measurement.times.items():
        steered = sum(measurement.steered.get(case, []))
        values = [f"{value / 1e6:6.3f} ms" for value in
                  (statistics.median(times), percentile(times, 0.99), max(times))]
        print(f"{case:40} {len(times):4} {' '.join(values)}   {steered if case in measurement.steered else '-'}")
    print(f"\n{options.megabytes} MB over one connection, medians")
    for case, runs in measurement.sends.items():
        rate = statistics.median(options.megabytes / seconds for seconds, _ in runs)
        cost = statistics.median(cpu * 1e3 / options.megabytes for _, cpu in runs)
        print(f"{case:40} {len(runs):4} {rate:7.0f} MB/s {cost:7.3f} ms of processor time per MB")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"connect_ns": measurement.times, "steered": measurement.steered, "sends_s": measurement.sends}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("connect_cost")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--json")
    options = parser.parse_args()
    for name in ("program", "library", "connect_cost"):
        setattr(options, name, str(pathlib.Path(getattr(options, name)).resolve()))
    with tempfile.TemporaryDirectory(prefix="fl-cost-") as folder:
        lab = bring_up(options.program, folder)
        try:
            measurement = Measurement(lab, options)
            measurement.run()
        finally:
            lab.down()
        report(measurement, options)


if __name__ == "__main__":
    main()
