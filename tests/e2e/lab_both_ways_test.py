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
import urllib.request

PROGRAM = ""
LIBRARY = ""
PATIENCE_S = 60
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
                              capture_output=True, text=True, timeout=120)

    def start(self, host, role):
        agent = self.folder / f"run/lab/agents/{host}.sock"
        process = subprocess.Popen([PROGRAM, "lab", "exec", "--run-dir", str(self.folder / "run"), host, "--", "env",
                                    f"LD_PRELOAD={LIBRARY}", "FAIRLEAD_JOB=both", f"FAIRLEAD_AGENT_SOCKET={agent}",
                                    sys.executable, str(pathlib.Path(__file__).with_name("both_ways.py")), role, "h2"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def get(self, what):
        with urllib.request.urlopen(f"{self.page}/v1/{what}", timeout=10) as answer:
            return json.load(answer)[what]

    def wait_until(self, is_so, what):
        """Polls; what is waited for takes seconds, and a busy machine longer."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            log = (self.folder / "run/lab/controller.log").read_text()[-2000:]
            self.assertLess(time.monotonic(), end, f"{what}: {self.get('connections')} {log}")
            time.sleep(0.2)

    def fabric_routes(self):
        """Links between switches of the connections that have their port."""
        return [[link for link in c["links"] if "leaf" in link and "spine" in link]
                for c in self.get("connections") if c["answer"] == "use"]

    def sent_bytes(self):
        """[link between switches] of each direction, since the lab came up."""
        status = json.loads(self.lab("status", "--json", "-", "--interval", "0.01").stdout)
        sent = {}
        for cable in status["cables"]:
            lower, upper = cable["name"].split("-")
            if lower.startswith("leaf"):
                sent[f"{lower}->{upper}"], sent[f"{upper}->{lower}"] = cable["sent_bytes"]
        return sent

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
