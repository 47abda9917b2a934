"""A job of the lab whose ranks communicate by real NCCL on CPUs: its own connections are steered, it trains without a
finding, and of four ranks the one that is killed is named.

usage: lab_nccl_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from lab import Lab
from patience import PATIENCE_S, wait_until

PROGRAM = ""
SOURCE_DIR = ""
SCENARIO = """title: four hosts that all-reduce
fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 2
  spines: 2
  uplink_gbps: 500
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 500, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 1000}
qps_per_connection: 1
policies: [ecmp]
simulate_s: 10
jobs:
  - {name: ring, gpus: 4, gpus_per_host: 1, compute_s: 0.1, size_mb: 4000, collective: ring-all-reduce}
"""
KILLED = 2


class LabNcclTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fl-nccl-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scenario = self.folder / "ring.yaml"
        self.scenario.write_text(SCENARIO)

    def test_without_nccl_a_message_says_how_to_get_it(self):
        alone = self.folder / "fairlead-lab"
        shutil.copy(pathlib.Path(PROGRAM).parent / alone.name, alone)
        for command in ("run", "diagnose"):
            run = subprocess.run([alone, command, f"{SOURCE_DIR}/scenarios/lab-diagnosis.yaml", "--trainer", "nccl"],
                                 capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("nccl_lab_rank was not found", run.stderr)
            self.assertIn("FAIRLEAD_NCCL_SOURCES", run.stderr)

    def records(self, rank):
        """What a rank has recorded, by its first key."""
        records = {}
        text = (self.lab.folder / f"jobs/{rank}.{rank}.jsonl").read_text()
        for line in text.splitlines()[:-1] if text else []:
            record = json.loads(line)
            records.setdefault(next(iter(record)), []).append(record)
        return records

    def iterations(self):
        return min(len(self.records(rank).get("iteration", [])) for rank in range(4))

    def pid_of(self, rank):
        """Of the rank's process, not of its parent in this machine's process namespace, which has the same words."""
        plan = str(self.lab.folder / f"jobs/{rank}.{rank}.json")
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and plan in (entry / "cmdline").read_text().split("\0"):
                    return int(entry.name)
            except OSError:
                continue
        return None

    def test_a_job_trains_and_the_rank_that_is_killed_is_named(self):
        build = pathlib.Path(PROGRAM).resolve().parent.parent
        if not (build / "tests/nccl_host/nccl_lab_rank").exists():
            self.skipTest("nccl_lab_rank was not built: no sources of NCCL, or no headers of CUDA 13")
        self.lab = Lab(PROGRAM, self.folder, self.scenario, scale="0.0002")
        self.addCleanup(self.lab.down)
        output = self.folder / "output"
        with open(output, "wb") as file:
            run = self.lab.start("run", str(self.scenario), "--trainer", "nccl", "--diagnose", "--seconds", "600",
                                 "--warm-up", "0", stdout=file, stderr=file)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        jobs = self.lab.folder / "jobs"
        wait_until(lambda: run.poll() is not None or
                   (jobs / "3.3.jsonl").exists() and all((jobs / f"{r}.{r}.jsonl").exists() for r in range(4)) and
                   self.iterations() >= 30, output.read_text)
        self.assertIsNone(run.poll(), output.read_text())
        # NCCL connects each pair of neighbours for itself, and its connections have paths.
        paths = [connection for connection in self.lab.get("connections") if connection.get("job") == "ring"]
        self.assertGreaterEqual(len(paths), 4, paths)
        self.assertEqual(self.lab.get("findings"), [])

        os.kill(self.pid_of(KILLED), signal.SIGKILL)
        wait_until(lambda: self.lab.get("findings") != [], self.lab.log)
        findings = self.lab.get("findings")
        self.assertEqual([(f["syndrome"], f["ranks"]) for f in findings], [("dead", [KILLED])], findings)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    SOURCE_DIR = sys.argv.pop(1)
    unittest.main(verbosity=2)
