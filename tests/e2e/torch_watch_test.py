"""fairlead_torch end to end: PyTorch on Gloo in four processes, agents that look at them, a controller that judges.

Each process has a folder of segments, as if on a host of its own.

usage: torch_watch_test.py PROGRAM SOURCE_DIR PROFILER_LIBRARY
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from patience import fetch, free_port

PROGRAM, SOURCE_DIR, LIBRARY = "", pathlib.Path(), ""
NUM_RANKS = 4
PATIENCE_S = 240

FABRIC = """fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 2
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
"""


def find_python():
    """An interpreter that has PyTorch with Gloo."""
    for python in (sys.executable, "/usr/bin/python3"):
        check = "import torch.distributed as d; assert d.is_available() and d.is_gloo_available()"
        if subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
            return python
    raise unittest.SkipTest("no PyTorch with Gloo (Debian: python3-torch)")


def environment(**changes):
    return {**os.environ, "PYTHONPATH": str(SOURCE_DIR / "src/ccl/torch"), "NCCL_PROFILER_PLUGIN": LIBRARY,
            "OMP_NUM_THREADS": "1", **changes}


class WithoutTheLibraryTest(unittest.TestCase):
    def test_the_program_runs_with_one_warning(self):
        python = find_python()
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "script.py")
            script.write_text("import sys, fairlead_torch; print(sys.argv, __name__, fairlead_torch.watch())")
            # libc is a library, and no profiler.
            for library in ("/nowhere/libnccl-profiler-fairlead.so", "libc.so.6"):
                done = subprocess.run([python, "-m", "fairlead_torch", str(script), "--a", "b"], capture_output=True,
                                      text=True, timeout=PATIENCE_S, env=environment(NCCL_PROFILER_PLUGIN=library))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, f"{[str(script), '--a', 'b']} __main__ False\n")
                self.assertEqual(done.stderr.count("this process is not watched"), 1, done.stderr)
                self.assertIn(library, done.stderr)


class TheSameResultsTest(unittest.TestCase):
    def results(self, python, folder, *watched):
        """Of gloo_program.py in three processes: a number of which the quotient is not exact. Not more than that on
        standard output, and nothing of ours on the other."""
        port, program = free_port(), str(SOURCE_DIR / "tests/e2e/gloo_program.py")
        ranks = [subprocess.Popen([python, *watched, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=environment(RANK=str(rank), WORLD_SIZE="3", MASTER_ADDR="127.0.0.1",
                                                  MASTER_PORT=port, FAIRLEAD_JOB="same", FAIRLEAD_SHM_FOLDER=folder))
                 for rank in range(3)]
        said = [rank.communicate(timeout=PATIENCE_S) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0, 0], said)
        self.assertNotIn("fairlead_torch", "".join(errors for _, errors in said))
        return [output for output, _ in said]

    def test_a_watched_program_computes_the_same(self):
        python = find_python()
        with tempfile.TemporaryDirectory() as folder:
            plain = self.results(python, folder)
            self.assertGreater(len(plain[0].splitlines()), 10)
            self.assertEqual(self.results(python, folder, "-m", "fairlead_torch"), plain)
            self.assertEqual(os.listdir(folder), [], "segments go with their processes")


class WatchedTrainingTest(unittest.TestCase):
    num_found = 0

    @classmethod
    def setUpClass(cls):
        cls.python = find_python()
        folder = tempfile.TemporaryDirectory(prefix="fl-torch-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{host + 1}": f"h{host}/nic0" for host in range(NUM_RANKS)}
        (cls.folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        cls.start_controller()
        for host in range(NUM_RANKS):
            (cls.folder / f"h{host}").mkdir()
            cls.start([PROGRAM, "agent", "run", "--controller", f"unix:{cls.folder}/agents.sock", "--host", f"h{host}",
                       "--nic", f"127.0.0.{host + 1}", "--socket", f"{cls.folder}/h{host}.sock", "--keep-ports",
                       "--segments", f"{cls.folder}/h{host}"], f"agent.{host}.log")
        port = free_port()
        cls.ranks = [cls.start([cls.python, "-m", "fairlead_torch", str(SOURCE_DIR / "tests/e2e/gloo_trainer.py"),
                                str(cls.folder)], f"rank.{rank}.log",
                               environment(RANK=str(rank), WORLD_SIZE=str(NUM_RANKS), MASTER_ADDR="127.0.0.1",
                                           MASTER_PORT=port, FAIRLEAD_JOB="gloo",
                                           FAIRLEAD_SHM_FOLDER=f"{cls.folder}/h{rank}"))
                     for rank in range(NUM_RANKS)]

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
        controller = cls.start([PROGRAM, "controller", "--fabric", f"{cls.folder}/fabric.yaml", "--addresses",
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
        paths = [self.folder / f"iteration.{rank}" for rank in range(NUM_RANKS)]
        return min(int(path.read_text() or 0) if path.exists() else 0 for path in paths)

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
        number = WatchedTrainingTest.num_found = self.num_found + 1
        self.wait_until(lambda: len(self.findings()) >= number, f"finding {number}")
        findings = self.findings()
        self.assertEqual(len(findings), number, findings)
        return findings[-1]

    def wait_until_all_is_well(self):
        self.wait_until(lambda: all(f["cleared_at_s"] is not None for f in self.findings()), "the finding is cleared")
        reached = self.iteration()
        self.wait_until(lambda: self.iteration() > reached + 20, "training goes on")

    def test_1_nothing_is_found_while_all_is_well(self):
        self.wait_until(lambda: 'fairlead_watched_ranks{job="gloo"} 4' in self.get("/metrics"), "four ranks are watched")
        reached = self.iteration()
        self.wait_until(lambda: self.iteration() > reached + 150, "150 iterations")
        self.assertEqual(self.findings(), [])

    def test_2_a_stopped_process_is_named(self):
        self.ranks[2].send_signal(signal.SIGSTOP)
        finding = self.wait_for_finding()
        self.ranks[2].send_signal(signal.SIGCONT)
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("non_comm_hang", [2], ["h2"]))
        self.assertIn("stopped", finding["text"])
        self.wait_until_all_is_well()

    def test_3_a_process_that_does_not_come_is_named(self):
        (self.folder / "loop.1").touch()
        finding = self.wait_for_finding()
        (self.folder / "loop.1").unlink()
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("non_comm_hang", [1], ["h1"]))
        self.wait_until_all_is_well()

    def test_4_a_process_that_keeps_others_waiting_is_named(self):
        (self.folder / "slow.0").touch()
        finding = self.wait_for_finding()
        (self.folder / "slow.0").unlink()
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("non_comm_slow", [0], ["h0"]))

    def test_5_a_process_that_calls_something_else_is_named(self):
        (self.folder / "order.2").touch()
        finding = self.wait_for_finding()
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("mismatch", [2], ["h2"]))

    def test_6_a_killed_process_is_named(self):
        self.ranks[3].kill()
        finding = self.wait_for_finding()
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("dead", [3], ["h3"]))


if __name__ == "__main__":
    PROGRAM, SOURCE_DIR, LIBRARY = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    unittest.main(verbosity=2)
