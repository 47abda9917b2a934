"""A connection that carries data both ways, by programs that nobody has changed: each way has a path of its own, chosen by
the controller, and the bytes are there.

usage: lab_both_ways_test.py PROGRAM SOURCE_DIR STEERING_LIBRARY
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from lab_bytes import sent_between_switches
from patience import fetch, wait_until

PROGRAM = ""
LIBRARY = ""
# Of one direction of a cable, while data uses it: acknowledgements alone are less than a tenth of it.
BUSY_BYTES = 1_000_000


class LabBothWaysTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fl-lab-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        scenario = pathlib.Path(__file__).with_name("two_jobs.yaml")
        up = cls.lab("up", str(scenario), "--scale", "0.0001")
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

    def start(self, host, role):
        agent = self.folder / f"run/lab/agents/{host}.sock"
        process = subprocess.Popen([PROGRAM, "lab", "exec", "--run-dir", str(self.folder / "run"), host, "--", "env",
                                    f"LD_PRELOAD={LIBRARY}", "FAIRLEAD_JOB=both", f"FAIRLEAD_AGENT_SOCKET={agent}",
                                    sys.executable, str(pathlib.Path(__file__).with_name("both_ways.py")), role, "h2"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def get(self, what):
        return json.loads(fetch(f"{self.page}/v1/{what}")[1])[what]

    def wait_until(self, is_so, what):
        log = self.folder / "run/lab/controller.log"
        wait_until(is_so, lambda: f"{what}: {self.get('connections')} {log.read_text()[-2000:]}")

    def fabric_routes(self):
        """Links between switches of the connections that have their port."""
        return [[link for link in c["links"] if "leaf" in link and "spine" in link]
                for c in self.get("connections") if c["answer"] == "use"]

    def sent_bytes(self):
        return sent_between_switches(self.lab("status", "--json", "-", "--interval", "0.01").stdout)

    def busy_links(self):
        before = self.sent_bytes()
        time.sleep(2)  # 2.5 MB of data each way
        after = self.sent_bytes()
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
            self.assertEqual(self.lab("fault", cable).returncode, 0)
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
