#!/usr/bin/env python3
"""The capabilities of the agent's unit: each of them is needed for what the unit says it is for, and all are enough.

usage: capabilities_test.py FAIRLEAD SOURCE_DIR    Exit code 77: it needs root, setpriv, unshare and ip.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

FAIRLEAD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
from patience import PATIENCE_S  # noqa: E402

UNIT = (SOURCE / "packaging/systemd/fairlead-agent.service.in").read_text()
AGENT, OTHER = 61_234, 61_235  # users that nobody has

# What the agent does with each, as a program of Python. FOLDER is like /dev/shm, and holds files of root and of OTHER;
# PROCESS is one of OTHER's.
DEEDS = {
    "NET_ADMIN": "import subprocess; subprocess.run(['ip', 'rule', 'add', 'pref', '77', 'lookup', 'main'], check=True)",
    "NET_RAW": "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)",
    "SYS_PTRACE": "import ctypes, os; pidfd = os.pidfd_open(PROCESS); "
                  "assert ctypes.CDLL(None, use_errno=True).syscall(438, pidfd, 0, 0) >= 0",
    "DAC_READ_SEARCH": "open(FOLDER + '/secret').read()",
    "FOWNER": "import os; os.unlink(FOLDER + '/others')",
    "SYSLOG": "open('/dev/kmsg').close()",
    "CHOWN": "import os; open(FOLDER + '/own', 'w'); os.chown(FOLDER + '/own', -1, OTHER)",
}


def named(setting):
    found = re.search(rf"^{setting}=(.*)$", UNIT, re.M)
    return {name.removeprefix("CAP_") for name in found.group(1).split()}


def as_agent(capabilities, *command):
    """With these capabilities and no other, as systemd starts the unit."""
    listed = ",".join("+" + name.lower() for name in sorted(capabilities))
    return ["setpriv", "--reuid", str(AGENT), "--regid", str(AGENT), "--clear-groups", "--no-new-privs",
            "--inh-caps", "-all," + listed, "--ambient-caps", "-all," + listed, "--bounding-set", "-all," + listed,
            *map(str, command)]


class Capabilities(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead."))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o1777)
        (self.folder / "secret").write_text("of root")
        (self.folder / "secret").chmod(0o600)
        (self.folder / "others").write_text("")
        os.chown(self.folder / "others", OTHER, OTHER)
        self.process = subprocess.Popen(["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups",
                                         "sleep", "1000"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)

    def is_done(self, deed, capabilities):
        program = f"FOLDER, PROCESS, OTHER = {str(self.folder)!r}, {self.process.pid}, {OTHER}\n{DEEDS[deed]}\n"
        command = as_agent(capabilities, sys.executable, "-c", program)
        return subprocess.run(["unshare", "-n", *command], stderr=subprocess.DEVNULL).returncode == 0

    def test_the_unit_has_those_that_it_explains(self):
        self.assertEqual(named("AmbientCapabilities"), set(DEEDS))
        self.assertEqual(named("CapabilityBoundingSet"), set(DEEDS))
        for name in DEEDS:
            self.assertRegex(UNIT, rf"(?m)^# {name} ")

    def test_each_is_needed_and_all_are_enough(self):
        for deed in DEEDS:
            if deed == "SYSLOG" and pathlib.Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() == "0":
                continue  # here everybody may read the kernel's log
            self.assertFalse(self.is_done(deed, set(DEEDS) - {deed}), f"{deed} is not needed")
            self.assertTrue(self.is_done(deed, set(DEEDS)), deed)

    def test_the_agent_runs_with_them(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(str(self.folder / "notify"))
            (self.folder / "notify").chmod(0o777)
            listener.settimeout(PATIENCE_S)
            shutil.copy(FAIRLEAD, self.folder / "fairlead")  # where that user may run it
            if (agent := pathlib.Path(FAIRLEAD + "-agent")).exists():
                shutil.copy(agent, self.folder / "fairlead-agent")
            process = subprocess.Popen(
                ["unshare", "-n"] + as_agent(
                    set(DEEDS), self.folder / "fairlead-agent", "run", "--controller", f"unix:{self.folder}/controller",
                    "--host", "h0", "--nic", "127.0.0.1", "--socket", self.folder / "agent.sock", "--segments",
                    self.folder, "--group", "nogroup"),
                env=dict(os.environ, NOTIFY_SOCKET=str(self.folder / "notify")), stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            try:
                self.assertEqual(listener.recv(100), b"READY=1")
            except TimeoutError:
                process.kill()
                self.fail(process.communicate()[1])
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        effective = int(re.search(r"CapEff:\s+(\w+)", status).group(1), 16)
        self.assertEqual(bin(effective).count("1"), len(DEEDS), "these, and no other")


if __name__ == "__main__":
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("setpriv", "unshare", "ip")):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
