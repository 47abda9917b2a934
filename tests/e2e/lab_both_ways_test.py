"""A connection that carries data both ways, by programs that nobody has changed: each way has a path of its own, chosen by
the controller, and the bytes are there.

usage: lab_both_ways_test.py PROGRAM SOURCE_DIR STEERING_LIBRARY
"""
import pathlib
import sys
import tempfile
import time
import unittest

from lab import Lab
from patience import wait_until

PROGRAM = ""
LIBRARY = ""
# Of one direction of a cable, while data uses it: acknowledgements alone are less than a tenth of it.
BUSY_BYTES = 1_000_000


class LabBothWaysTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fl-lab-")
        cls.addClassCleanup(folder.cleanup)
        cls.lab = Lab(PROGRAM, folder.name, pathlib.Path(__file__).with_name("two_jobs.yaml"))
        cls.addClassCleanup(cls.lab.down)

    def start(self, host, role):
        process = self.lab.start("exec", host, "--", "env", f"LD_PRELOAD={LIBRARY}", "FAIRLEAD_JOB=both",
                                 f"FAIRLEAD_AGENT_SOCKET={self.lab.agent_socket(host)}", sys.executable,
                                 str(pathlib.Path(__file__).with_name("both_ways.py")), role, "h2")
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def wait_until(self, is_so, what):
        wait_until(is_so, lambda: f"{what}: {self.lab.get('connections')} {self.lab.log()}")

    def fabric_routes(self):
        """Links between switches of the connections that have their port."""
        return [[link for link in c["links"] if "leaf" in link and "spine" in link]
                for c in self.lab.get("connections") if c["answer"] == "use"]

    def busy_links(self):
        before = self.lab.sent_between_switches()
        time.sleep(2)  # 2.5 MB of data each way
        after = self.lab.sent_between_switches()
        return {link for link in after if after[link] - before[link] > BUSY_BYTES}

    def expect_bytes_where_the_controller_says(self):
        self.wait_until(lambda: len(self.fabric_routes()) == 2, "both ways have a port")
        self.wait_until(lambda: self.busy_links() == {link for route in self.fabric_routes() for link in route},
                        "bytes on both routes, and nowhere else")

    def test_each_way_is_steered(self):
        self.start("h2", "listen")
        self.start("h0", "connect")
        self.expect_bytes_where_the_controller_says()
        # Both ways leave a spine that is lost.
        for leaf in ("leaf0", "leaf1"):
            route = next(r for r in self.fabric_routes() if r[0].startswith(leaf + "->"))
            cable = route[0].replace("->", "-")
            self.assertEqual(self.lab.run("fault", cable).returncode, 0)
            spine = cable.split("-")[1]
            self.wait_until(lambda: len(self.fabric_routes()) == 2
                            and not any(spine in link for route in self.fabric_routes() for link in route),
                            f"paths around {spine}")
            self.expect_bytes_where_the_controller_says()


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(3)
    sys.argv.pop(2)
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
