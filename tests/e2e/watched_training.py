"""A training job of which each process has an agent and a folder of segments, as if on a host of its own, and a
controller that judges it."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from patience import fetch, free_port

PATIENCE_S = 240

FABRIC = """fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 2
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
"""


def find_python(check, otherwise):
    """An interpreter for which the statement `check` holds; without one the test is skipped, and says `otherwise`."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
            return python
    raise unittest.SkipTest(otherwise)


def of_rank(environment, rank, num_ranks, port, segments):
    """With what torch.distributed needs to know, and the folder of its segment."""
    return {**environment, "RANK": str(rank), "WORLD_SIZE": str(num_ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port, "FAIRLEAD_SHM_FOLDER": str(segments)}


def run_ranks(command, environments):
    """Standard output and standard error of each, once all have ended well."""
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
             for environment in environments]
    said = [rank.communicate(timeout=PATIENCE_S) for rank in ranks]
    if any(rank.returncode != 0 for rank in ranks):
        raise AssertionError(f"ended with {[rank.returncode for rank in ranks]}: {said}")
    return said


class WatchedTraining(unittest.TestCase):
    """Of a subclass with find_interpreter() and rank_command(); its tests run one after the other on the same job."""

    NUM_RANKS = 4
    program = ""  # fairlead
    num_found = 0

    @classmethod
    def find_interpreter(cls):
        """Raises unittest.SkipTest where the job can't run."""
        raise NotImplementedError

    @classmethod
    def rank_command(cls, rank):
        """Command and environment of its process, which writes its iteration to FOLDER/iteration.RANK. The folder of its
        segments and what torch.distributed needs to know are added to the environment."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.python = cls.find_interpreter()
        folder = tempfile.TemporaryDirectory(prefix="fl-torch-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{host + 1}": f"h{host}/nic0" for host in range(cls.NUM_RANKS)}
        (cls.folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        cls.start_controller()
        for host in range(cls.NUM_RANKS):
            (cls.folder / f"h{host}").mkdir()
            cls.start([cls.program, "agent", "run", "--controller", f"unix:{cls.folder}/agents.sock", "--host",
                       f"h{host}", "--nic", f"127.0.0.{host + 1}", "--socket", f"{cls.folder}/h{host}.sock",
                       "--keep-ports", "--segments", f"{cls.folder}/h{host}"], f"agent.{host}.log")
        port = free_port()
        cls.ranks = []
        for rank in range(cls.NUM_RANKS):
            command, environment = cls.rank_command(rank)
            environment = of_rank(environment, rank, cls.NUM_RANKS, port, cls.folder / f"h{rank}")
            cls.ranks.append(cls.start(command, f"rank.{rank}.log", environment))

    @classmethod
    def start(cls, command, log, env=None):
        with open(cls.folder / log, "wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=env)

        def end():
            process.kill()
            process.wait()
        cls.addClassCleanup(end)
        return process

    @classmethod
    def start_controller(cls):
        controller = cls.start([cls.program, "controller", "--fabric", f"{cls.folder}/fabric.yaml", "--addresses",
                                f"{cls.folder}/addresses.json", "--listen", f"unix:{cls.folder}/agents.sock", "--http",
                                "127.0.0.1:0"], "controller.log")
        end = time.monotonic() + PATIENCE_S
        while True:
            log = (cls.folder / "controller.log").read_text()
            found = re.search(r"(http://\S+)/", log)
            if found:
                cls.page = found.group(1)
                return
            if controller.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"the controller did not start: {log}")
            time.sleep(0.1)

    def get(self, path):
        return fetch(self.page + path)[1]

    def findings(self):
        return json.loads(self.get("/v1/findings"))["findings"]

    def iteration(self):
        """Of the slowest rank."""
        paths = [self.folder / f"iteration.{rank}" for rank in range(self.NUM_RANKS)]
        return min(int(path.read_text() or 0) if path.exists() else 0 for path in paths)

    def processes(self, rank):
        """What `agent processes` sees on the host of that rank."""
        seen = subprocess.run([self.program, "agent", "processes", "--segments", f"{self.folder}/h{rank}", "--json", "-"],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(seen.stderr, "")
        return json.loads(seen.stdout)["processes"]

    def wait_until(self, is_so, what):
        """Polls; what is waited for takes seconds, and a busy machine longer."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                logs = [f"{log.name}: {log.read_text()[-600:]}" for log in sorted(self.folder.glob("*.log"))]
                self.fail("\n".join([what, str(self.findings()), *logs]))
            time.sleep(0.2)

    def wait_for_finding(self):
        """The next one, and no other one."""
        number = type(self).num_found = self.num_found + 1
        self.wait_until(lambda: len(self.findings()) >= number, f"finding {number}")
        findings = self.findings()
        self.assertEqual(len(findings), number, findings)
        return findings[-1]

    def wait_until_all_is_well(self):
        self.wait_until(lambda: all(f["cleared_at_s"] is not None for f in self.findings()), "the finding is cleared")
        reached = self.iteration()
        self.wait_until(lambda: self.iteration() > reached + 20, "training goes on")
