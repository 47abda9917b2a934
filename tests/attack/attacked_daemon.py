"""A daemon under attack: what it may use meanwhile, and how soon an honest client has its answer."""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FAIRLEAD = sys.argv[1]
sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "tests" / "e2e"))
from patience import wait_until  # noqa: E402
from two_hosts import ADDRESSES, FABRIC  # noqa: E402

DESCRIPTORS = 1024  # what most systems give a process that does not ask
MEMORY_MB = 256  # above idle
ANSWER_S = 1.0
# A machine that runs other tests beside this one may stop it for as long.
TRIES = 20


def with_few_descriptors():
    """For preexec_fn: the limit can't be raised again."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


class AttackedDaemon(unittest.TestCase):
    """Subclasses set `process`, the daemon, and `idle_mb`, what it has used so far, once it is idle."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead."))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "fabric.yaml").write_text(FABRIC)
        (self.folder / "addresses.json").write_text(json.dumps(ADDRESSES))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def start_daemon(self, ready, *command, **how):
        """Until its log matches `ready`. Returns the process, the match, and the file of its log."""
        number = len(list(self.folder.glob("*.log")))
        log = self.folder / f"{command[0]}.{number}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen([FAIRLEAD, *map(str, command)], stdout=output, stderr=output, **how)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: re.search(ready, log.read_text(), re.S) or process.poll() is not None, log.read_text)
        return process, re.search(ready, log.read_text(), re.S), log

    def start_controller(self, *options, **how):
        """Returns the process, and the addresses for agents and for clients of HTTP."""
        process, listens, log = self.start_daemon(
            r"listening to agents on (\S+?),.*http://(\S+)/", "controller", "--fabric", self.folder / "fabric.yaml",
            "--addresses", self.folder / "addresses.json", "--http", "127.0.0.1:0", *options, **how)
        self.assertTrue(listens, log.read_text())
        return process, listens[1], listens[2]

    def memory_mb(self):
        """Most that was resident so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def assert_small(self):
        self.assertIsNone(self.process.poll(), "it has ended")
        self.assertLess(self.memory_mb() - self.idle_mb, MEMORY_MB)

    def assert_answered(self, what, ask, answer):
        """`ask` returns `answer` within a second, whatever goes on."""
        times = []
        for _ in range(TRIES):
            began = time.monotonic()
            said = ask()
            times.append((round(time.monotonic() - began, 2), said))
            if times[-1][0] < ANSWER_S and said == answer:
                return
        self.fail(f"{what}: {times}")
