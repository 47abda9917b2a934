"""fairlead_torch end to end: PyTorch on Gloo in four processes, agents that look at them, a controller that judges.

Each process has a folder of segments, as if on a host of its own.

usage: torch_watch_test.py PROGRAM SOURCE_DIR PROFILER_LIBRARY
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from patience import free_port
from watched_training import PATIENCE_S, WatchedTraining, find_python, of_rank, run_ranks

SOURCE_DIR, LIBRARY = pathlib.Path(), ""


def find_gloo_python():
    return find_python("import torch.distributed as d; assert d.is_available() and d.is_gloo_available()",
                       "no PyTorch with Gloo (Debian: python3-torch)")


def environment(**changes):
    return {**os.environ, "PYTHONPATH": str(SOURCE_DIR / "src/ccl/torch"), "NCCL_PROFILER_PLUGIN": LIBRARY,
            "OMP_NUM_THREADS": "1", **changes}


class WithoutTheLibraryTest(unittest.TestCase):
    def test_the_program_runs_with_one_warning(self):
        python = find_gloo_python()
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
        said = run_ranks([python, *watched, program],
                         [of_rank(environment(FAIRLEAD_JOB="same"), rank, 3, port, folder) for rank in range(3)])
        self.assertNotIn("fairlead_torch", "".join(errors for _, errors in said))
        return [output for output, _ in said]

    def test_a_watched_program_computes_the_same(self):
        python = find_gloo_python()
        with tempfile.TemporaryDirectory() as folder:
            plain = self.results(python, folder)
            self.assertGreater(len(plain[0].splitlines()), 10)
            self.assertEqual(self.results(python, folder, "-m", "fairlead_torch"), plain)
            self.assertEqual(os.listdir(folder), [], "segments go with their processes")


class WatchedTrainingTest(WatchedTraining):
    @classmethod
    def find_interpreter(cls):
        return find_gloo_python()

    @classmethod
    def rank_command(cls, rank):
        command = [cls.python, "-m", "fairlead_torch", str(SOURCE_DIR / "tests/e2e/gloo_trainer.py"), str(cls.folder)]
        return command, environment(FAIRLEAD_JOB="gloo")

    def test_1_nothing_is_found_while_all_is_well(self):
        self.wait_until(lambda: 'fairlead_watched_ranks{hpc_job="gloo"} 4' in self.get("/metrics"), "four ranks are watched")
        reached = self.iteration()
        self.wait_until(lambda: self.iteration() > reached + 150, "150 iterations")
        self.assertEqual(self.findings(), [])
        for rank in range(self.NUM_RANKS):
            [seen] = self.processes(rank)
            self.assertEqual((seen["state"], seen["job"], seen["rank"]), ("running", "gloo", rank))
            self.assertGreater(seen["operations_finished"], 150)

    def test_2_a_stopped_process_is_named(self):
        self.ranks[2].send_signal(signal.SIGSTOP)
        finding = self.wait_for_finding()
        self.assertEqual(self.processes(2)[0]["state"], "stopped")
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
    WatchedTraining.program, SOURCE_DIR, LIBRARY = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    unittest.main(verbosity=2)
