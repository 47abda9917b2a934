"""What is done about findings, as processes: options and /v1/steering of `fairlead controller`, `fairlead agent check`.

Usage: steering_test.py FAIRLEAD SOURCE_DIR
"""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from patience import PATIENCE_S, fetch, wait_until
from two_hosts import ADDRESSES, FABRIC

FAIRLEAD = sys.argv[1]


class ControllerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fairlead.")
        self.addCleanup(shutil.rmtree, self.folder)
        pathlib.Path(self.folder, "fabric.yaml").write_text(FABRIC)
        pathlib.Path(self.folder, "addresses.json").write_text(json.dumps(ADDRESSES))
        self.inputs = ["--fabric", f"{self.folder}/fabric.yaml", "--addresses", f"{self.folder}/addresses.json",
                       "--listen", f"unix:{self.folder}/agents.sock", "--store", f"sqlite:{self.folder}/store.db"]

    def start(self, *arguments):
        process = subprocess.Popen([FAIRLEAD, "controller", *self.inputs, "--http", "127.0.0.1:0", *arguments],
                                   stderr=subprocess.PIPE, text=True)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.addCleanup(end)
        for line in process.stderr:
            match = re.search(r"http://(\S+)/", line)
            if match:
                return process, match.group(1)
        raise AssertionError("the controller did not start")

    @staticmethod
    def ask(address, path, body=None):
        status, text = fetch(f"http://{address}{path}", body and json.dumps(body).encode(),
                             {"Content-Type": "application/json"})
        return status, json.loads(text)

    def test_looks_only_by_default(self):
        _, address = self.start()
        code, steering = self.ask(address, "/v1/steering")
        self.assertEqual((code, steering["mode"], steering["back_end"]), (200, "observe", "log"))
        self.assertEqual(self.ask(address, "/v1/steering/undo", {"host": "h0"})[0], 403)

    def test_spares_and_the_log_outlive_a_kill(self):
        arguments = ["--steer", "act", "--hook", "true", "--spare", "h1", "--audit", f"{self.folder}/audit.jsonl",
                     "--http-operator-open"]
        for number_of_start in (1, 2):
            process, address = self.start(*arguments)
            # The start is logged, and the spare offered, with the first tick.
            wait_until(lambda: all(self.ask(address, "/v1/steering")[1][what] for what in ("hosts", "log")), "a tick")
            steering = self.ask(address, "/v1/steering")[1]
            self.assertEqual(steering["hosts"], [{"name": "h1", "condition": "spare"}])
            self.assertEqual((steering["mode"], steering["back_end"]), ("act", "hook"))
            self.assertEqual(self.ask(address, "/v1/steering/undo", {"host": "h1"})[0], 400)
            self.assertEqual(self.ask(address, "/v1/steering/pause", {"job": "x", "for_s": 1, "reason": "y"})[0], 404)
            process.send_signal(signal.SIGKILL)
            process.wait()
            lines = pathlib.Path(self.folder, "audit.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["kind"] for line in lines], ["start"] * number_of_start)

    def test_says_which_option_is_wrong(self):
        for wrong, message in ((["--steer", "act"], "--hook"), (["--spare", "h9"], "'h9'"),
                               (["--health-events", "10.0.0.1:1"], "--insecure"), (["--steer", "maybe"], "--steer")):
            done = subprocess.run([FAIRLEAD, "controller", *self.inputs, *wrong], capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)


class AgentCheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fairlead.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = pathlib.Path(self.folder, "health.json")

    def check(self, *arguments):
        done = subprocess.run([FAIRLEAD, "agent", "check", "--health-file", str(self.path), *arguments],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertLessEqual(len(done.stdout.rstrip("\n")), 80)
        return done.returncode, done.stdout

    def write(self, age_s, findings):
        self.path.write_text(json.dumps({"fairlead_health": 1, "host": "h3", "at_s": int(time.time()) - age_s,
                                         "findings": findings}))

    def test_answers_as_node_problem_detector_expects(self):
        finding = {"job": "gpt", "syndrome": "dead", "text": "rank 3 is gone", "action": "restart"}
        self.assertEqual(self.check()[0], 2)
        self.write(0, [])
        self.assertEqual(self.check()[0], 0)
        self.write(0, [finding])
        self.assertEqual(self.check(), (1, "dead: job gpt: rank 3 is gone\n"))
        self.assertEqual(self.check("--action", "isolate and restart")[0], 0)
        self.write(1000, [])
        self.assertEqual(self.check()[0], 2)
        self.assertEqual(self.check("--max-age", "2000")[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
