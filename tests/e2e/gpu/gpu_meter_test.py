"""Does the agent measure what a job computes on a real GPU? Matrix products, of which it is known how many operations they are.

usage: gpu_meter_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]

from nccl_watch_test import find_nccl_python  # noqa: E402

PROGRAM, SOURCE_DIR = "", pathlib.Path()
JOB = """
import sys, time, torch
kind, seconds = sys.argv[1], float(sys.argv[2])
size = 4096 if kind == "float64" else 8192
a, b = (torch.randn(size, size, device="cuda", dtype=getattr(torch, kind)) for _ in range(2))
a @ b
torch.cuda.synchronize()
time.sleep(1.5)  # until it is known as a process of the GPU
products, begin = 1, time.time()
while time.time() < begin + seconds:
    for _ in range(5):
        a @ b
    products += 5
    torch.cuda.synchronize()
time.sleep(0.5)  # counters are 0.1 s behind
print(products * 2 * size ** 3, flush=True)
sys.stdin.read()
"""


class GpuMeterTest(unittest.TestCase):
    def measure(self, kind):
        """Operations that were done, and that were measured."""
        with tempfile.TemporaryDirectory(prefix="fl-gpu-") as folder:
            agent = subprocess.Popen([PROGRAM, "agent", "run", "--controller", f"unix:{folder}/none", "--host", "h0",
                                      "--nic", "127.0.0.1", "--socket", f"{folder}/agent.sock", "--keep-ports",
                                      "--segments", "", "--gpu-meter", "nvml", "--json", f"{folder}/counts.json"],
                                     stderr=subprocess.DEVNULL)
            job = subprocess.Popen([self.python, "-c", JOB, kind, "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env={**os.environ, "FAIRLEAD_JOB": "products"})
            try:
                done = float(job.stdout.readline())
                agent.terminate()
                self.assertEqual(agent.wait(30), 0)
            finally:
                for process in (agent, job):
                    process.kill()
                    process.wait()
            work = json.loads(pathlib.Path(folder, "counts.json").read_text())["gpu_work"]
            [measured] = [job for job in work if job["job"].split("@")[0] == "products"]
            self.assertEqual(measured["gpus"], 1)
            return done, measured["flop"]

    def test_operations_are_those_of_the_job(self):
        self.python = find_nccl_python()
        for kind in ("bfloat16", "float32", "float64"):
            with self.subTest(kind):
                done, measured = self.measure(kind)
                print(f"{kind}: {done:.4g} operations, measured {100 * (measured / done - 1):+.1f} %", flush=True)
                self.assertAlmostEqual(measured / done, 1, delta=0.1)


if __name__ == "__main__":
    PROGRAM, SOURCE_DIR = sys.argv[1], pathlib.Path(sys.argv[2])
    del sys.argv[1:3]
    unittest.main(verbosity=2)
