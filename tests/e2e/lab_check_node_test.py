"""fairlead check-node: a running controller has the agents of a lab test its hosts, over real TCP and shaped cables.

Two leaves, four spines, four hosts.

usage: lab_check_node_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from lab import Lab
from patience import PATIENCE_S, wait_until

PROGRAM = ""
SCENARIO = pathlib.Path(__file__).with_name("two_jobs.yaml")


class CheckNodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fl-check-")
        cls.addClassCleanup(folder.cleanup)
        cls.lab = Lab(PROGRAM, folder.name, SCENARIO)
        cls.addClassCleanup(cls.lab.down)
        wait_until(lambda: all(host["connected"] for host in cls.lab.get("hosts")), lambda: "agents: " + cls.lab.log())

    def words(self, *args, transfer="500ms"):
        return [self.lab.program, "check-node", *args, "--transfer", transfer, "--server", self.lab.page]

    def check(self, *args):
        """(exit code, {host: its result})"""
        ran = subprocess.run(self.words(*args, "--json", "-"), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return ran.returncode, {host["name"]: host for host in json.loads(ran.stdout)["hosts"]}

    def refusal(self, *args):
        ran = subprocess.run(self.words(*args), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(ran.returncode, 2, ran.stdout)
        return ran.stderr

    def slow_down(self, cable, health, side):
        self.assertEqual(self.lab.run("fault", cable, "--health", str(health), "--side", side).returncode, 0)

    def test_1_healthy_hosts_pass(self):
        code, hosts = self.check("h0", "h1", "h2", "h3")
        self.assertEqual({host["verdict"] for host in hosts.values()}, {"passed"}, hosts)
        self.assertEqual(code, 0)

    def test_2_the_slow_host_is_named_with_its_direction(self):
        for side, does in [("up", "sends"), ("down", "receives")]:
            self.slow_down("h2/nic0-leaf1", 0.4, side)
            code, hosts = self.check("h0", "h1", "h2", "h3")
            self.assertEqual(code, 1)
            self.assertEqual({name for name, host in hosts.items() if host["verdict"] == "failed"}, {"h2"}, hosts)
            self.assertIn(f"NIC 0 {does} at", hosts["h2"]["reasons"][0])
            self.assertAlmostEqual(hosts["h2"]["rate_share"], 0.4, delta=0.06)
            self.slow_down("h2/nic0-leaf1", 1, side)

    def test_3_a_host_alone_gets_partners(self):
        self.slow_down("h3/nic0-leaf1", 0, "both")
        code, hosts = self.check("h3")
        self.assertEqual(code, 1)
        self.assertEqual(hosts["h3"]["verdict"], "failed", hosts)
        self.assertEqual({name for name, host in hosts.items() if host.get("is_partner")}, set(hosts) - {"h3"})
        self.assertEqual(len(hosts), 3)
        # Whoever asks for its partner alone is told that it is well.
        code, hosts = self.check("h2")
        self.assertEqual((code, hosts["h2"]["verdict"]), (0, "passed"), hosts)
        self.slow_down("h3/nic0-leaf1", 1, "both")

    def test_4_an_agent_that_dies_blames_nobody(self):
        started = subprocess.Popen(self.words("h0", "h1", "h2", "h3", "--json", "-", transfer="2s"),
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(started.stdout.close)
        wait_until(lambda: any("ended_s" not in check for check in self.lab.get("checks")), lambda: "a check begins")
        os.kill(self.lab.daemons()["h1"], signal.SIGKILL)
        result = json.loads(started.communicate(timeout=PATIENCE_S)[0])
        self.assertEqual(started.returncode, 1)
        verdicts = {host["name"]: host["verdict"] for host in result["hosts"]}
        self.assertNotIn("failed", verdicts.values(), result)
        self.assertEqual(verdicts["h1"], "undecided", result)
        self.assertIn("its agent is away", self.refusal("h1"))
        self.lab.start_again("h1")
        wait_until(lambda: all(host["connected"] for host in self.lab.get("hosts")), lambda: "again: " + self.lab.log())

    def test_5_training_is_not_disturbed(self):
        run = self.lab.start("run", str(SCENARIO), "--seconds", "600", "--warm-up", "0", stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        wait_until(lambda: len(self.lab.get("connections")) == 4, lambda: "connections: " + self.lab.log())
        self.assertIn("has connections there", self.refusal("h0"))
        _, hosts = self.check("h0", "h1", "h2", "h3", "--while-training")
        self.assertNotIn("failed", {host["verdict"] for host in hosts.values()}, hosts)
        self.assertTrue(all("rate_share" not in host for host in hosts.values()), hosts)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        run.wait(PATIENCE_S)
        wait_until(lambda: not self.lab.get("connections"), lambda: "the end of the jobs: " + self.lab.log())

    def test_6_what_cannot_be_is_said(self):
        self.assertIn("no host 'h9' in the fabric", self.refusal("h9"))
        self.assertIn("host h0 is named twice", self.refusal("h0", "h0"))
        self.assertIn("--burn-in 1h", self.refusal("h0", "--burn-in", "1h"))
        # No agent of a lab has a program for it: that fails nobody, and is said.
        code, hosts = self.check("h0", "h1", "h2", "--burn-in", "1s")
        self.assertEqual(code, 0, hosts)
        self.assertIn("no burn-in: this agent has no program for it", hosts["h0"]["reasons"][0])


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
