"""`fairlead agent run` as a program, without a controller: it answers, ends, is killed and comes back.

usage: agent_run_test.py PROGRAM SOURCE_DIR
"""
import json
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from agent_questions import LEAVE, MAGIC, USE, VERSION, ask, kind_of, question
from patience import PATIENCE_S

PROGRAM = ""


class Agent:
    def __init__(self, folder, *args):
        self.path = str(folder / "agent.sock")
        self.process = subprocess.Popen(
            [PROGRAM, "agent", "run", "--controller", f"unix:{folder}/nobody", "--host", "h0", "--nic", "127.0.0.1",
             "--socket", self.path, "--state", str(folder / "state"), "--keep-ports", *args],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if "listens at" in line:
                break

    def ask(self, packet):
        return ask(self.path, packet)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output, errors


class AgentRunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *args):
        agent = Agent(self.folder, *args)
        self.addCleanup(agent.process.communicate)
        self.addCleanup(agent.process.kill)
        return agent

    def test_answers_and_ends_cleanly(self):
        agent = self.start("--json", "-")
        magic, version, kind, port, sets_class = struct.unpack("=IHHHB", agent.ask(question("127.0.0.3"))[:11])
        self.assertEqual((magic, version, kind, port, sets_class), (MAGIC, VERSION, USE, 0, 0),
                         "nobody knows a path: go on, but tell")
        self.assertEqual(kind_of(agent.ask(question("127.0.0.1"))), LEAVE, "to itself")
        self.assertEqual(struct.unpack("=IHH", agent.ask(question("127.0.0.3", version=9))[:8])[1:], (VERSION, LEAVE))
        self.assertEqual(agent.ask(b"garbage"), b"")
        code, output, _ = agent.end()
        self.assertEqual(code, 0)
        counts = json.loads(output)
        self.assertEqual((counts["questions"], counts["class_only"], counts["left_alone"], counts["rejected"]),
                         (2, 1, 1, 2))
        self.assertFalse(pathlib.Path(agent.path).exists())

    def test_takes_as_many_descriptors_as_it_may(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        agent = self.start()
        self.assertEqual(resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE), (before[1], before[1]))
        self.assertIn(f"may have {before[1]} descriptors open", agent.said)

    def test_one_agent_for_a_socket_and_the_next_after_kill(self):
        agent = self.start()
        other = self.start()
        self.assertNotEqual(other.process.wait(timeout=PATIENCE_S), 0)
        self.assertIn("another agent listens there", other.said)
        agent.end(signal.SIGKILL)
        self.assertTrue(pathlib.Path(agent.path).exists())
        again = self.start()
        self.assertEqual(kind_of(again.ask(question("127.0.0.3"))), USE)
        self.assertEqual(again.end(signal.SIGINT)[0], 0)

    def test_bad_input(self):
        good = ["--controller", "unix:/x", "--host", "h0", "--nic", "127.0.0.1", "--socket", str(self.folder / "s")]
        for change, part in (({"--nic": "here"}, "expected an IP address"), ({"--controller": "nowhere"}, "nowhere"),
                             ({"--socket": "x" * 200}, "1 to 107 bytes")):
            words = good.copy()
            for name, value in change.items():
                words[words.index(name) + 1] = value
            result = subprocess.run([PROGRAM, "agent", "run", *words], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(result.returncode, 2, (words, result.stderr))
            self.assertIn(part, result.stderr)
        result = subprocess.run([PROGRAM, "agent", "run", "--help"], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 0)
        self.assertIn("Example: fairlead agent run", result.stdout)


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=1)
