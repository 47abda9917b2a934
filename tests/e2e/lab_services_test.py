"""A lab with its controller and agents, as a user has it: real processes, real connections, a cable that is cut.

Two leaves, four spines, four hosts; two jobs of two hosts each, so four connections cross the spines, two each way.

usage: lab_services_test.py PROGRAM SOURCE_DIR
"""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from patience import PATIENCE_S, fetch, wait_until, wait_until_gone

PROGRAM = ""


class LabServicesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fl-lab-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.scenario = pathlib.Path(__file__).with_name("two_jobs.yaml")
        up = cls.lab("up", str(cls.scenario), "--scale", "0.0001")
        if up.returncode == 2 and "namespace" in up.stderr:
            raise unittest.SkipTest(up.stderr.strip())
        if up.returncode != 0:
            raise AssertionError(up.stdout + up.stderr)
        cls.addClassCleanup(cls.lab, "down")
        cls.page = re.search(r"page: (http://\S+)", up.stdout).group(1)

    @classmethod
    def lab(cls, *args):
        return subprocess.run([PROGRAM, "lab", args[0], "--run-dir", str(cls.folder / "run"), *args[1:]],
                              capture_output=True, text=True, timeout=300)

    def get(self, what):
        return json.loads(fetch(f"{self.page}/v1/{what}")[1])[what]

    def wait_until(self, is_so, what):
        wait_until(is_so, lambda: what + ": " + self.log())

    def log(self):
        return (self.folder / "run/lab/controller.log").read_text()[-2000:]

    def are_spread(self, num_links):
        """All four connections have ports that lead over their paths, no two of them over one uplink."""
        connections = self.get("connections")
        uplinks = collections.Counter(c["links"][1] for c in connections if len(c["links"]) == 4)
        return (len(connections) == 4 and all(c["answer"] == "use" for c in connections)
                and sum(uplinks.values()) == 4 and len(uplinks) == num_links)

    def connections_over(self, spine):
        return [c for c in self.get("connections") if any(spine in link for link in c["links"])]

    def states_of(self, spine):
        return {link["state"] for link in self.get("links") if spine in (link["from"], link["to"])}

    def test_1_all_agents_are_there(self):
        self.wait_until(lambda: [h["name"] for h in self.get("hosts") if h["connected"]] == ["h0", "h1", "h2", "h3"],
                        "four agents")

    def test_2_jobs_are_spread_and_survive_a_lost_cable(self):
        run = subprocess.Popen([PROGRAM, "lab", "run", str(self.scenario), "--seconds", "600", "--warm-up", "0",
                                "--run-dir", str(self.folder / "run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        self.addCleanup(run.kill)
        self.wait_until(lambda: self.are_spread(4), "four connections on four uplinks")
        self.assertEqual({job["name"] for job in self.get("jobs")}, {"a", "b"})
        cable = self.get("connections")[0]["links"][1].replace("->", "-")
        spine = cable.split("-")[1]
        self.assertEqual(self.lab("fault", cable).returncode, 0)
        self.wait_until(lambda: "down" in self.states_of(spine), "the lost cable is noticed")
        self.wait_until(lambda: self.are_spread(4) and not self.connections_over(spine), "everybody has a path again")
        # Nobody lost a connection: a worker that does ends, and with it the run.
        self.assertIsNone(run.poll())
        self.assertEqual(self.lab("fault", cable, "--health", "1").returncode, 0)
        self.wait_until(lambda: self.states_of(spine) == {"up"}, "the repaired cable is used again")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 130)
        self.wait_until(lambda: not self.get("connections"), "what the jobs held is given back")

    def test_3_hosts_have_their_names(self):
        named = self.lab("exec", "h1", "--", "sh", "-c", "hostname; getent hosts h2")
        self.assertEqual(named.returncode, 0, named.stderr)
        if os.geteuid() == 0:
            self.assertEqual(named.stdout.split()[:2], ["h1", "10.0.2.1"])

    def test_4_nothing_is_left_after_down(self):
        self.assertEqual(self.lab("down").returncode, 0)
        wait_until_gone(str(self.folder))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.argv.pop(1)
    unittest.main(verbosity=2)
