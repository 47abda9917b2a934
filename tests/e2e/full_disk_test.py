"""A disk that is really full: controller and agent on a small file system of their own, which is filled and emptied again.

The file system is a tmpfs of 1 MiB in a private namespace of mounts; what runs there is seen from here at /proc/PID/root.

usage: full_disk_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

from patience import PATIENCE_S, fetch, wait_until
from two_hosts import ADDRESSES, FABRIC

PROGRAM = ""
USE = 1


def question(job, inode):
    """shm/steering_messages.h: SteeringQuestion of a process that is about to connect to h1."""
    address = b"\0" * 10 + b"\xff\xff" + socket.inet_aton("127.0.1.1")
    return struct.pack("=IHHQ16s16sHHI64s", 0x534C4146, 1, 1, inode, b"\0" * 16, address, 0, 5001, 0, job.encode())


class SmallDisk:
    """Empty, at `path` for those who are started by words()."""

    def __init__(self, path):
        self.path = path
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t tmpfs -o size=1m none "$1" && echo ready && exec cat', "sh", path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.is_there = self.holder.stdout.readline() == "ready\n"
        self.view = pathlib.Path(f"/proc/{self.holder.pid}/root{path}")

    def end(self):
        return self.holder.communicate()[1]

    def words(self, *args):
        return ["nsenter", "--target", str(self.holder.pid), "--mount", *args]

    def fill(self):
        """To the last byte: what is left after the last whole page is taken by ever smaller writes."""
        with open(self.view / "filler", "wb", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def empty(self):
        (self.view / "filler").unlink()


class FullDiskTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fairlead.")
        self.addCleanup(shutil.rmtree, self.folder)
        pathlib.Path(self.folder, "fabric.yaml").write_text(FABRIC)
        pathlib.Path(self.folder, "addresses.json").write_text(json.dumps(ADDRESSES))
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs root and the program unshare, for a small file system of its own")
        disk = f"{self.folder}/disk"
        os.mkdir(disk)
        self.disk = SmallDisk(disk)
        if not self.disk.is_there:
            self.skipTest("may not mount a small file system: " + self.disk.end().strip())
        self.addCleanup(self.disk.end)

    def start(self, ready, *words):
        """Until it says on standard error what `ready` matches; returns the process and the match."""
        process = subprocess.Popen(self.disk.words(PROGRAM, *words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        said = ""
        for line in process.stderr:
            said += line
            match = re.search(ready, line)
            if match:
                return process, match
        self.fail(said)

    def controller_words(self):
        return ["controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses", f"{self.folder}/addresses.json",
                "--listen", f"unix:{self.folder}/agents.sock", "--http", "127.0.0.1:0", "--store",
                f"sqlite:{self.disk.path}/store.db"]

    def start_controller(self):
        process, match = self.start(r"http://(\S+)/", *self.controller_words())
        self.http = match.group(1)
        return process

    def get(self, path):
        status, text = fetch(f"http://{self.http}{path}")
        return status, json.loads(text)

    def jobs(self):
        return {job["name"] for job in self.get("/v1/jobs")[1]["jobs"]}

    def begin(self, job):
        """A process of a job that connects, for as long as the test; returns what the agent answers."""
        process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(process.close)
        process.settimeout(PATIENCE_S)
        process.connect(f"{self.folder}/agent.sock")
        process.send(question(job, os.fstat(process.fileno()).st_ino))
        return struct.unpack("=IHHHB", process.recv(100)[:11])[2]

    def test_nothing_is_lost_and_all_goes_on_when_there_is_room(self):
        controller = self.start_controller()
        agent, _ = self.start("connected to the controller", "agent", "run", "--controller",
                              f"unix:{self.folder}/agents.sock", "--host", "h0", "--nic", "127.0.0.1", "--socket",
                              f"{self.folder}/agent.sock", "--state", f"{self.disk.path}/agent.state", "--keep-ports")
        self.begin("before")
        wait_until(lambda: self.jobs() == {"before"}, "a job is known")
        self.assertEqual(self.get("/healthz")[0], 200)

        self.disk.fill()
        self.assertEqual(shutil.disk_usage(self.disk.view).free, 0)
        # A new job has to be saved before its agent gets an answer. Its process continues meanwhile.
        self.assertEqual(self.begin("meanwhile"), USE)
        wait_until(lambda: self.get("/healthz")[0] == 503, "the full disk is told")
        self.assertIn("full", self.get("/healthz")[1]["error"])
        self.assertEqual(self.begin("meanwhile-too"), USE)

        self.disk.empty()
        wait_until(lambda: self.get("/healthz")[0] == 200, "there is room again")
        wait_until(lambda: self.jobs() == {"before", "meanwhile", "meanwhile-too"}, "nothing was lost")
        self.assertIsNone(agent.poll())

        # Killed on a full disk, where no other one starts; when there is room, it has all that was kept.
        self.disk.fill()
        controller.send_signal(signal.SIGKILL)
        controller.wait()
        refused = subprocess.run(self.disk.words(PROGRAM, *self.controller_words()), capture_output=True, text=True,
                                 timeout=PATIENCE_S)
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("make room", refused.stderr)
        self.disk.empty()
        self.start_controller()
        wait_until(lambda: self.jobs() == {"before", "meanwhile", "meanwhile-too"}, "the agent announces its jobs")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.argv.pop(1)
    unittest.main(verbosity=2)
