"""The daemons say to the service manager that they are ready, and then again and again that they are alive.

Usage: service_manager_test.py FAIRLEAD SOURCE_DIR
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from patience import PATIENCE_S
from two_hosts import ADDRESSES, FABRIC

FAIRLEAD = sys.argv[1]


class ServiceManagerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead."))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "fabric.yaml").write_text(FABRIC)
        (self.folder / "addresses.json").write_text(json.dumps(ADDRESSES))
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.listener.close)
        self.listener.bind(str(self.folder / "notify"))
        self.listener.settimeout(PATIENCE_S)

    def start(self, *command):
        environment = dict(os.environ, NOTIFY_SOCKET=str(self.folder / "notify"), WATCHDOG_USEC="900000")
        process = subprocess.Popen([FAIRLEAD, *map(str, command)], env=environment, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def hear(self):
        return self.listener.recv(1000).decode()

    def follow(self, process):
        """Through the life of a daemon that does not hang, and of one that does."""
        self.assertEqual(self.hear(), "READY=1")
        for _ in range(3):
            self.assertEqual(self.hear(), "WATCHDOG=1")
        process.send_signal(signal.SIGSTOP)
        self.listener.settimeout(2)
        with self.assertRaises(TimeoutError):
            for _ in range(10):
                self.hear()
        process.send_signal(signal.SIGCONT)
        self.listener.settimeout(PATIENCE_S)
        self.assertEqual(self.hear(), "WATCHDOG=1")
        process.terminate()
        while (said := self.hear()) != "STOPPING=1":
            self.assertEqual(said, "WATCHDOG=1")
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_controller(self):
        self.follow(self.start("controller", "--fabric", self.folder / "fabric.yaml", "--addresses",
                               self.folder / "addresses.json", "--listen", f"unix:{self.folder}/agents"))

    def test_agent(self):
        self.follow(self.start("agent", "run", "--controller", f"unix:{self.folder}/agents", "--host", "h0", "--nic",
                               "127.0.0.1", "--socket", self.folder / "agent.sock", "--segments", self.folder,
                               "--keep-ports"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
