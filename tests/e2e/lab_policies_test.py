"""What a lab's controller decides about its jobs: with hashed paths, connections stay where the kernel puts them, and the
controller knows where that is; levels come from what agents measure.

usage: lab_policies_test.py PROGRAM SOURCE_DIR
"""
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
# Of one direction of a cable, while a connection uses it: acknowledgements alone are less than a tenth of it.
BUSY_BYTES = 1_000_000


class LabPoliciesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fl-lab-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, policy):
        self.lab = Lab(PROGRAM, self.folder, SCENARIO, "--policy", policy)
        self.addCleanup(self.lab.down)
        run = self.lab.start("run", str(SCENARIO), "--seconds", "600", "--warm-up", "0", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.addCleanup(run.communicate)
        self.addCleanup(run.send_signal, signal.SIGINT)

    def get(self, what):
        return self.lab.get(what)

    def wait_until(self, is_so, what):
        wait_until(is_so, lambda: what + ": " + self.lab.log())

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
        before = self.lab.sent_between_switches()
        sent = {}

        def have_all_carried():
            after = self.lab.sent_between_switches()
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
        up = subprocess.run([PROGRAM, "lab", "up", "--run-dir", self.folder, str(SCENARIO), "--policy", "crux"],
                            capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(up.returncode, 2)
        self.assertIn("expected one of ecmp, c4p, crux-levels, crux+c4p, found 'crux'", up.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.argv.pop(1)
    unittest.main(verbosity=2)
