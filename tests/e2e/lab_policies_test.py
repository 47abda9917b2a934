"""What a lab's controller decides about its jobs: with hashed paths, connections stay where the kernel puts them, and the
controller knows where that is; levels come from what agents measure.

usage: lab_policies_test.py PROGRAM SOURCE_DIR
"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from lab_bytes import sent_between_switches
from patience import fetch, wait_until

PROGRAM = ""
# Of one direction of a cable, while a connection uses it: acknowledgements alone are less than a tenth of it.
BUSY_BYTES = 1_000_000


class LabPoliciesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fl-lab-")
        self.addCleanup(folder.cleanup)
        self.run_folder = str(pathlib.Path(folder.name) / "run")
        self.scenario = str(pathlib.Path(__file__).with_name("two_jobs.yaml"))

    def lab(self, *args):
        return subprocess.run([PROGRAM, "lab", args[0], "--run-dir", self.run_folder, *args[1:]], capture_output=True,
                              text=True, timeout=300)

    def start(self, policy):
        up = self.lab("up", self.scenario, "--scale", "0.0001", "--policy", policy)
        if up.returncode == 2 and "namespace" in up.stderr:
            self.skipTest(up.stderr.strip())
        self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
        self.addCleanup(self.lab, "down")
        self.page = re.search(r"page: (http://\S+)", up.stdout).group(1)
        run = subprocess.Popen([PROGRAM, "lab", "run", self.scenario, "--seconds", "600", "--warm-up", "0", "--run-dir",
                                self.run_folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.communicate)
        self.addCleanup(run.send_signal, signal.SIGINT)

    def get(self, what):
        return json.loads(fetch(f"{self.page}/v1/{what}")[1])[what]

    def wait_until(self, is_so, what):
        log = pathlib.Path(self.run_folder, "lab/controller.log")
        wait_until(is_so, lambda: what + ": " + log.read_text()[-2000:])

    def sent_bytes(self):
        return sent_between_switches(self.lab("status", "--json", "-", "--interval", "0.01").stdout)

    def test_hashed_paths_are_known_and_levels_set(self):
        self.start("crux-levels")
        self.wait_until(lambda: len(self.get("connections")) == 4
                        and all(len(c["links"]) == 4 for c in self.get("connections")), "four routes")
        connections = self.get("connections")
        self.assertEqual({c["answer"] for c in connections}, {"unmanaged"})
        self.wait_until(lambda: all(j["intensity_flop_per_s"] for j in self.get("jobs")), "two measured jobs")
        for job in self.get("jobs"):
            self.assertIn("intensity", job["reason"])
        # What the controller believes is where the bytes are.
        routes = {link for c in connections for link in c["links"] if "leaf" in link and "spine" in link}
        self.wait_until(lambda: self.busy_links(routes) == routes, "only the routes carry bytes")

    def busy_links(self, routes):
        """Those that carry at least half of what the least busy of these routes carries, in a while."""
        before = self.sent_bytes()
        sent = {}

        def have_all_carried():
            after = self.sent_bytes()
            sent.update({link: after[link] - before[link] for link in after})
            return min(sent[route] for route in routes) > BUSY_BYTES

        self.wait_until(have_all_carried, "bytes on all routes")
        return {link for link in sent if sent[link] > min(sent[route] for route in routes) / 2}

    def test_without_decisions_jobs_are_only_watched(self):
        self.start("ecmp")
        self.wait_until(lambda: [j["intensity_flop_per_s"] is not None for j in self.get("jobs")] == [True, True],
                        "two measured jobs")
        self.assertEqual({j["level"] for j in self.get("jobs")}, {7})
        self.assertEqual({j["reason"] for j in self.get("jobs")}, {"the policy sets no levels"})
        self.assertEqual({c["answer"] for c in self.get("connections")}, {"unmanaged"})

    def test_unknown_policies_are_refused(self):
        up = self.lab("up", self.scenario, "--policy", "crux")
        self.assertEqual(up.returncode, 2)
        self.assertIn("crux-levels (priorities)", up.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.argv.pop(1)
    unittest.main(verbosity=2)
