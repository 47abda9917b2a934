"""`fairlead agent processes`: what somebody on a host sees of its training processes, running, stopped and dead.

usage: agent_processes_test.py PROGRAM SOURCE_DIR PROFILER_LIBRARY
"""
import csv
import json
import os
import signal
import subprocess
import sys
import unittest

from command_case import CommandCase, main

LIBRARY = ""

# Two operations that end, one that does not; the library is called as NCCL calls it.
PLAYER = """
import plugin, signal
communicator = plugin.Communicator(plugin.Plugin(), 0x1f2e, "world", 1, 4, 3)
for sequence in range(3):
    kernel = communicator.begin(b"AllReduce", sequence, 250, b"ncclFloat32", -1)
    if sequence < 2:
        communicator.end(kernel)
print("there", flush=True)
signal.pause()
"""


class AgentProcessesTest(CommandCase):
    def play(self, job):
        environment = {**os.environ, "PYTHONPATH": str(self.source / "src/ccl/torch/fairlead_torch"), "RANK": "7",
                       "NCCL_PROFILER_PLUGIN": LIBRARY, "FAIRLEAD_JOB": job, "FAIRLEAD_SHM_FOLDER": str(self.folder)}
        process = subprocess.Popen([sys.executable, "-c", PLAYER], stdout=subprocess.PIPE, env=environment)

        def end():
            process.kill()
            process.wait()
            process.stdout.close()
        self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), b"there\n")
        return process

    def look(self):
        done = self.run_program("agent", "processes", "--segments", ".", "--json", "-")
        self.assertEqual(done.stderr, "")
        return done.returncode, json.loads(done.stdout)

    def test_what_a_process_does(self):
        process = self.play("gpt")
        code, seen = self.look()
        self.assertEqual((code, seen["faults"], len(seen["processes"])), (0, [], 1))
        told = seen["processes"][0]
        self.assertEqual((told["pid"], told["state"], told["job"], told["rank"]), (process.pid, "running", "gpt", 7))
        self.assertEqual((told["operations_finished"], told["operations_pending"], told["not_recorded"]), (2, 1, 0))
        self.assertEqual(told["communicators"],
                         [{"id": "0x1f2e", "name": "world", "ranks": 4, "rank": 3, "finalized": False}])
        self.assertEqual([(o["operation"], o["sequence"], o["bytes"], o["finished_s"] is None) for o in told["operations"]],
                         [("all_reduce", 0, 1000, False), ("all_reduce", 1, 1000, False), ("all_reduce", 2, 1000, True)])
        for operation in told["operations"]:
            self.assertTrue(0 <= seen["at_s"] - operation["enqueued_s"] < 600, operation)

    def test_the_table(self):
        process = self.play("gpt")
        done = self.run_program("agent", "processes", "--segments", ".")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"{process.pid}  running  gpt +7 +1 +2 +1 +0 +0 +0\n")
        self.assertRegex(done.stdout, rf"{process.pid}  all_reduce 2 of world +\S+ \S+ ago +\S+ \S+ ago\n")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        rows = list(csv.reader(self.run_program("agent", "processes", "--segments", ".", "--format", "csv").stdout.splitlines()))
        self.assertEqual(rows[0][:4], ["process", "state", "job", "rank"])
        self.assertEqual(rows[1][:4], [str(process.pid), "running", "gpt", "7"])
        self.assertEqual(rows[2], [], "an empty line between two tables")
        self.assertEqual(rows[4][:2], [str(process.pid), "all_reduce 2 of world"])

    def test_stopped_and_dead_processes_are_told_and_left_alone(self):
        process = self.play("gpt")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        self.assertEqual(self.look()[1]["processes"][0]["state"], "stopped")
        process.kill()
        process.wait()
        for _ in range(2):
            seen = self.look()[1]["processes"][0]
            self.assertEqual((seen["state"], seen["operations_pending"]), ("gone", 1), "what it was about to do is still there")

    def test_nobody_has_the_library(self):
        done = self.run_program("agent", "processes", "--segments", ".")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("libnccl-profiler-fairlead.so", done.stdout)
        code, seen = self.look()
        self.assertEqual((code, seen["processes"], seen["faults"]), (1, [], []))

    def test_what_is_no_segment_is_named(self):
        (self.folder / "fairlead-1").write_bytes(b"no segment")
        code, seen = self.look()
        self.assertEqual((code, seen["processes"]), (1, []))
        self.assertEqual([fault["path"] for fault in seen["faults"]], ["./fairlead-1"])
        self.assertIn("found 10", seen["faults"][0]["reason"])
        self.assertIn("./fairlead-1: expected", self.run_program("agent", "processes", "--segments", ".").stdout)

    def test_no_such_folder(self):
        done = self.run_program("agent", "processes", "--segments", "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--segments: Directory does not exist: nowhere", done.stderr)

    def test_a_folder_that_can_not_be_read(self):
        (self.folder / "locked").mkdir(mode=0o300)
        # Rights are no obstacle to root, unless it gives that up.
        bounded = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        done = subprocess.run([*bounded, self.program, "agent", "processes", "--segments", "locked"], cwd=self.folder,
                              capture_output=True, text=True, timeout=300)
        self.assert_refused(done, "locked: can't be listed: Permission denied")

    def test_an_output_that_can_not_be_written(self):
        done = self.run_program("agent", "processes", "--segments", ".", "--json", "/proc/nowhere/seen.json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/proc/nowhere", done.stderr)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(3)
    main()
