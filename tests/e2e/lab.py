"""A lab of its own for a test or a measurement, and what is known of it from outside."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from patience import fetch


class Lab:
    """Brought up with the fabric of `scenario`, in a new folder below `folder`, and taken down by down().

    Raises unittest.SkipTest, with the reason, where there can be no network namespaces.
    """

    def __init__(self, program, folder, scenario, *options, scale="0.0001"):
        self.program = os.path.abspath(program)
        self.run_folder = pathlib.Path(folder) / "run"
        self.folder = self.run_folder / "lab"
        up = self.run("up", str(scenario), "--scale", scale, *options)
        if up.returncode == 2 and "namespace" in up.stderr:
            raise unittest.SkipTest(up.stderr.strip())
        if up.returncode != 0:
            raise AssertionError(up.stdout + up.stderr)
        self.page = re.search(r"page: (http://\S+)", up.stdout).group(1)
        self.again = []
        self.commands = {name: words for name, (_, words) in self._find_daemons().items()}

    def down(self):
        # A daemon that was started again is no process of the lab.
        for pid in self.daemons().values():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has just ended
        down = self.run("down")
        for guard in self.again:
            guard.wait()
        return down

    def words(self, command, *args):
        """Of `fairlead lab COMMAND` in this lab."""
        return [self.program, "lab", command, "--run-dir", str(self.run_folder), *args]

    def run(self, command, *args):
        return subprocess.run(self.words(command, *args), capture_output=True, text=True, timeout=300)

    def start(self, command, *args, **how):
        return subprocess.Popen(self.words(command, *args), text=True, **how)

    def get(self, what):
        """"connections" and so on, as the controller has them."""
        return json.loads(fetch(f"{self.page}/v1/{what}")[1])[what]

    def log(self):
        """The end of the controller's."""
        return (self.folder / "controller.log").read_text()[-2000:]

    def agent_socket(self, host):
        return str(self.folder / f"agents/{host}.sock")

    def sent_between_switches(self):
        """{link between switches: bytes} of each direction, since the lab came up."""
        status = self.run("status", "--json", "-", "--interval", "0.01").stdout
        sent = {}
        for cable in json.loads(status)["cables"]:
            lower, upper = cable["name"].split("-")
            if lower.startswith("leaf"):
                sent[f"{lower}->{upper}"], sent[f"{upper}->{lower}"] = cable["sent_bytes"]
        return sent

    def daemons(self):
        """{"controller": PID, "h0": PID, ...}, found by the folder that their commands name."""
        return {name: pid for name, (pid, _) in self._find_daemons().items()}

    def _find_daemons(self):
        """{name: (PID, words of its command)}. A daemon that is about to run a program has a child of the same words for a
        moment: that one is left out."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            words = self._command_of(entry.name)
            if not any(str(self.folder) in word for word in words):
                continue
            program = pathlib.Path(words[0]).name
            if program == "fairlead-controller":
                found.setdefault("controller", {})[int(entry.name)] = words
            elif program == "fairlead-agent":
                found.setdefault(words[words.index("--host") + 1], {})[int(entry.name)] = words
        parents = {name: [(pid, words) for pid, words in processes.items() if self._parent_of(pid) not in {None, *processes}]
                   for name, processes in found.items()}
        return {name: daemons[0] for name, daemons in parents.items() if daemons}

    def start_again(self, daemon):
        """One that was killed, with the command that it had; its words go to again.log."""
        words = self.commands[daemon]
        if daemon != "controller":
            words = self.words("exec", daemon, "--", *words)
        with open(self.folder / "again.log", "ab") as log:
            self.again.append(subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                               start_new_session=True))

    @staticmethod
    def _parent_of(pid):
        try:
            return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return None  # it has just ended

    @staticmethod
    def _command_of(pid):
        try:
            return [word.decode(errors="replace") for word in
                    pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]]
        except OSError:
            return []  # it has just ended
