"""A job of two hosts hangs because one of them has lost its cable: telemetry can't tell which, tests of its hosts can. When
the job has ended, a collector of OpenTelemetry gets the trace of the incident, once, though it is away at first, then busy,
and the controller is killed meanwhile.

Five hosts below one leaf; three of them are free, and stand by.

usage: lab_slow_end_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from lab import Lab
from otlp_collector import Collector, attributes_of
from patience import PATIENCE_S, fetch, wait_until

PROGRAM = ""
SCENARIO = """title: two hosts that train, and three that are free
fabric:
  kind: clos2
  leaves: 1
  hosts_per_leaf: 5
  spines: 1
  uplink_gbps: 500
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 500, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 1000}
qps_per_connection: 1
policies: [ecmp]
simulate_s: 10
jobs:
  - {name: ring, hosts: [h0, h1], gpus: 2, gpus_per_host: 1, compute_s: 0.1, size_mb: 4000, collective: ring-all-reduce}
"""


class SlowEndTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fl-end-")
        self.addCleanup(folder.cleanup)
        self.scenario = pathlib.Path(folder.name) / "ring.yaml"
        self.scenario.write_text(SCENARIO)
        self.collector = Collector()
        self.addCleanup(self.collector.stop)
        # The controller of a lab has the environment of whoever brings it up.
        os.environ["FAIRLEAD_CONTROLLER_OTLP"] = self.collector.url
        self.addCleanup(os.environ.pop, "FAIRLEAD_CONTROLLER_OTLP")
        self.lab = Lab(PROGRAM, folder.name, self.scenario, scale="0.0005")
        self.addCleanup(self.lab.down)

    def findings(self):
        return [finding for finding in self.lab.get("findings") if finding["cleared_at_s"] is None]

    def test_the_host_without_its_cable_is_named(self):
        run = self.lab.start("run", str(self.scenario), "--diagnose", "--seconds", "600", "--warm-up", "0",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        wait_until(lambda: any((job["iteration_s"] or 0) > 0 for job in self.lab.get("jobs")),
                   lambda: "the job trains: " + self.lab.log())
        self.assertEqual(self.lab.run("fault", "h1/nic0-leaf0", "--health", "0").returncode, 0)
        wait_until(lambda: any("at fault" in finding["text"] for finding in self.findings()),
                   lambda: "the hosts are tested: " + self.lab.log())
        found = [finding for finding in self.findings() if "at fault" in finding["text"]][0]
        self.assertIn("tests say that the network of host h1 is at fault", found["text"])
        self.assertEqual(found["hosts"], ["h1"], found)
        self.assertEqual(found["action"], "isolate and restart", found)
        self.assertIn("test", found["signs"])
        self.assertTrue(any("what host h1 reaches with other hosts" in line for line in found["evidence"]), found)
        # Where the ranks were when it was found, as their kernels say.
        threads = json.loads(fetch(f"{self.lab.page}/v1/findings/{found['id']}")[1])["threads"]
        self.assertEqual([alike["ranks"] for alike in threads], ["2 ranks: 0–1"], threads)
        self.assertTrue(any(group.get("place") for alike in threads for group in alike["groups"]), threads)
        run.send_signal(signal.SIGINT)
        run.wait(PATIENCE_S)
        self.the_collector_gets_the_incident(found)

    def metric(self, name):
        return int(float(re.search(rf"^fairlead_otlp_{name} (\S+)$", fetch(f"{self.lab.page}/metrics")[1], re.MULTILINE).group(1)))

    def the_collector_gets_the_incident(self, found):
        wait_until(lambda: self.metric("waiting") == 1 and self.metric("failures_total") > 0,
                   lambda: f"the trace waits: {self.lab.get('findings')} {self.lab.log()}")
        notes = [event["text"] for event in self.lab.get("events") if event["subject"] == "incident traces"]
        self.assertEqual(notes, ["the collector takes no traces: no connection; they wait"])
        os.kill(self.lab.daemons()["controller"], signal.SIGKILL)
        self.lab.start_again("controller")
        wait_until(lambda: self.metric("waiting") == 1, lambda: "the next controller has it: " + self.lab.log())
        self.collector.answers = [(503, {"Retry-After": "1"})]
        self.collector.start()
        wait_until(self.collector.taken, lambda: f"the trace: {self.collector.requests} {self.lab.log()}")
        wait_until(lambda: self.metric("waiting") == 0, "it is known to be there")
        (busy, first), (fine, second) = self.collector.requests
        self.assertEqual((busy, fine, first), (503, 200, second))
        [spans] = self.collector.taken()
        self.assertEqual({"incident", "suspect", "advise"}, set(spans), "steering only observes")
        incident = attributes_of(spans["incident"])
        self.assertEqual((incident["fairlead.finding"], incident["fairlead.job"], incident["fairlead.hosts"], incident["fairlead.state"]),
                         (str(found["id"]), found["job"], "h1", "over"))
        self.assertEqual((self.metric("traces_total"), self.metric("given_up_total")), (1, 0))


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
