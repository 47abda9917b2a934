"""The profiler plugin in a real NCCL: four processes on one GPU, which send to each other over the socket transport.

usage: nccl_watch_test.py PROGRAM SOURCE_DIR PROFILER_LIBRARY

Each process says that it is on a host of its own, so that NCCL lets them share a GPU and they use the network. One
channel, rings and the simple protocol, so that the bytes of connections are known. Prints what the plugin costs.
"""
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from patience import free_port  # noqa: E402
from watched_training import WatchedTraining, find_python, of_rank, run_ranks  # noqa: E402

SOURCE_DIR, LIBRARY = pathlib.Path(), ""

# As nccl_trainer.py does.
PAUSE_AT = 200
REDUCED_BYTES, SENT_BYTES = 4 << 20, 4 << 16


def find_nccl_python():
    return find_python("import torch, torch.distributed as d; assert torch.cuda.is_available() and "
                       "d.is_nccl_available() and torch.cuda.nccl.version() >= (2, 27)",
                       "no GPU, or no PyTorch with NCCL 2.27 or later")


def environment(rank, **changes):
    return {**os.environ, "NCCL_HOSTID": f"host{rank}", "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo",
            "NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MIN_NCHANNELS": "1", "NCCL_MAX_NCHANNELS": "1",
            "NCCL_DEBUG": "WARN", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "OMP_NUM_THREADS": "1", **changes}


class WatchedNcclTest(WatchedTraining):
    @classmethod
    def find_interpreter(cls):
        return find_nccl_python()

    @classmethod
    def rank_command(cls, rank):
        (cls.folder / "pause").touch()
        command = [cls.python, str(SOURCE_DIR / "tests/e2e/gpu/nccl_trainer.py"), str(cls.folder)]
        return command, environment(rank, FAIRLEAD_JOB="nccl", NCCL_PROFILER_PLUGIN=LIBRARY)

    def test_1_each_operation_and_each_byte_is_seen(self):
        self.wait_until(lambda: self.iteration() == PAUSE_AT, "the first iterations")
        for rank in range(self.NUM_RANKS):
            [seen] = self.processes(rank)
            self.assertEqual((seen["state"], seen["job"], seen["rank"]), ("running", "nccl", rank))
            self.assertEqual((seen["operations_pending"], seen["not_recorded"]), (0, 0))
            places = [(communicator["ranks"], communicator["rank"]) for communicator in seen["communicators"]]
            self.assertIn((self.NUM_RANKS, rank), places)
            self.check_operations(rank, seen["operations"])
            self.check_connections(rank, seen["connections"])

    def check_operations(self, rank, operations):
        reduces = [o for o in operations if o["operation"] == "all_reduce" and o["bytes"] == REDUCED_BYTES]
        sends = [o for o in operations if o["operation"] == "send" and o["bytes"] == SENT_BYTES]
        receives = [o for o in operations if o["operation"] == "receive" and o["bytes"] == SENT_BYTES]
        self.assertEqual([len(reduces), len(sends), len(receives)], [PAUSE_AT] * 3)
        self.assertEqual({o["peer"] for o in sends}, {(rank + 1) % self.NUM_RANKS})
        self.assertEqual({o["peer"] for o in receives}, {(rank - 1) % self.NUM_RANKS})
        self.assertEqual({o["data_type"] for o in reduces}, {"ncclFloat32"})
        for operation in (*reduces, *sends, *receives):
            self.assertLessEqual(operation["enqueued_s"], operation["started_s"], operation)
            self.assertLessEqual(operation["started_s"], operation["finished_s"], operation)
        for kind in (reduces, sends, receives):
            numbers = [o["sequence"] for o in kind]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + PAUSE_AT)), "numbered without a gap")

    def check_connections(self, rank, connections):
        """A ring sends 2 (n - 1) / n of the tensor to the next rank, in which order ever NCCL has put the ranks."""
        reduced = PAUSE_AT * REDUCED_BYTES * 2 * (self.NUM_RANKS - 1) / self.NUM_RANKS
        for direction in ("send", "receive"):
            moved = [c for c in connections if c["direction"] == direction]
            self.assertAlmostEqual(sum(c["bytes"] for c in moved) / (reduced + PAUSE_AT * SENT_BYTES), 1, delta=0.1)
            self.assertTrue(all(c["in_flight"] == 0 for c in moved), moved)
        wire_s = sum(c["wire_s"] for c in connections if c["direction"] == "send")
        self.assertTrue(0 < wire_s < 60, f"rank {rank}: {wire_s} s on the wire")

    def test_2_nothing_is_found_while_all_is_well(self):
        (self.folder / "pause").unlink()
        self.wait_until(lambda: self.iteration() > 10 * PAUSE_AT, "2,000 iterations")
        self.assertIn('fairlead_watched_ranks{hpc_job="nccl"} 4', self.get("/metrics"))
        self.assertEqual(self.findings(), [])

    def test_3_a_stopped_process_is_named(self):
        self.ranks[2].send_signal(signal.SIGSTOP)
        finding = self.wait_for_finding()
        self.assertEqual(self.processes(2)[0]["state"], "stopped")
        self.assertGreater(self.processes(1)[0]["operations_pending"], 0)
        self.ranks[2].send_signal(signal.SIGCONT)
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("non_comm_hang", [2], ["h2"]))
        self.assertIn("stopped", finding["text"])
        self.wait_until_all_is_well()

    def test_4_a_killed_process_is_named(self):
        self.ranks[3].kill()
        finding = self.wait_for_finding()
        self.assertEqual((finding["syndrome"], finding["ranks"], finding["hosts"]), ("dead", [3], ["h3"]))


class CostTest(unittest.TestCase):
    ROUNDS, ITERATIONS, NUM_RANKS = 5, 1000, 4

    def seconds_of_an_iteration(self, python, **changes):
        """Median of the slowest rank; the job starts anew each time."""
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            said = run_ranks(
                [python, str(SOURCE_DIR / "tests/e2e/gpu/nccl_trainer.py"), folder, str(self.ITERATIONS)],
                [of_rank(environment(rank, FAIRLEAD_JOB="cost", **changes), rank, self.NUM_RANKS, port, folder)
                 for rank in range(self.NUM_RANKS)])
            left = [name for name in os.listdir(folder) if name.startswith("fairlead-")]
            self.assertEqual(left, [], "segments go with their processes")
            return max(float(output.splitlines()[-1]) for output, _ in said)

    def test_a_job_with_the_plugin_beside_one_without(self):
        python = find_nccl_python()
        ratios = []
        for _ in range(self.ROUNDS):  # in turns, so that what changes with time concerns both
            without = self.seconds_of_an_iteration(python, NCCL_PROFILER_PLUGIN="none")
            ratios.append(self.seconds_of_an_iteration(python, NCCL_PROFILER_PLUGIN=LIBRARY) / without)
            print(f"iteration without the plugin {1e3 * without:.3f} ms, with it {100 * (ratios[-1] - 1):+.2f} %")
        print(f"median of {self.ROUNDS}: {100 * (statistics.median(ratios) - 1):+.2f} %")


if __name__ == "__main__":
    WatchedTraining.program, SOURCE_DIR, LIBRARY = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    del sys.argv[1:4]
    unittest.main(verbosity=2)
