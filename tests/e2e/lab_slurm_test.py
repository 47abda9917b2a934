"""A lab whose hosts are nodes of a real Slurm: an elastic job gets its hosts from Fairlead and trains over the lab's network,
one of its processes hangs, its host is drained, and it goes on at its number from its checkpoint on the spare; then the
lab's keeper is killed, and nothing is left.

usage: lab_slurm_test.py FAIRLEAD SOURCE_DIR
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import slurm_cluster
from lab import Lab
from patience import fetch

FAIRLEAD, SOURCE_DIR = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PATIENCE_S = 120
SCENARIO = """title: a lab with Slurm
fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 2
  spines: 2
  uplink_gbps: 200
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 200, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 1000}
policies: [ecmp]
allocation: aiturbo
simulate_s: 60
jobs:
  - {name: gpt, gpus: 2, min_gpus: 1, max_gpus: 3, iterations: 100000, compute_s: 0.3, size_mb: 1000,
     collective: ring-all-reduce}
"""


class LabSlurmTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="fl-lab-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.scenario = self.folder / "scenario.yaml"
        self.scenario.write_text(SCENARIO)

    def slurm(self, *command):
        program = self.lab.folder / "slurm" / "bin" / command[0]
        done = subprocess.run([str(program), *command[1:]], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def wait_until(self, is_so, what):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                self.fail(f"no {what}\n{self.slurm('squeue')}\n{self.slurm('sinfo', '-N', '-l')}\n{self.lab.log()}\n"
                          + "".join(file.read_text() for file in (self.lab.folder / "slurm/work").glob("gpt/run*/*log")))
            time.sleep(0.2)

    def hosts_of(self, job):
        nodes = self.slurm("squeue", "-h", "-t", "running", "-j", job, "-o", "%N")
        return self.slurm("scontrol", "show", "hostnames", nodes).split() if nodes else []

    def iterations(self, run):
        """Numbers of those that worker 0 has done in that run."""
        records = self.work / f"run{run}" / "0.jsonl"
        lines = records.read_text().splitlines() if records.exists() else []
        return [json.loads(line)["iteration"] for line in lines if line.startswith('{"iteration"') and line.endswith("}")]

    def processes_of_lab(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if str(self.lab.folder).encode() in words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
        return found

    def hang(self, rank):
        """In the first run: it computes nothing any more, and lives."""
        part = self.work / "run0" / "part"
        part.write_text('{"pause_s": 3600}')
        part.rename(self.work / "run0" / f"{rank}.control")

    def keeper(self):
        return json.loads((self.lab.folder / "lab.json").read_text())["keeper"]

    def test_1_a_job_is_sized_replaced_and_everything_ends_with_the_lab(self):
        self.lab = Lab(FAIRLEAD, self.folder, self.scenario, "--slurm", "--spares", "h3")
        self.addCleanup(self.lab.down)
        self.work = self.lab.folder / "slurm/work/gpt"
        wish = {"fairlead": {"steps": 100000, "progress": f"{self.work}/steps", "checkpoint": f"{self.work}/checkpoint"}}
        job = self.slurm("sbatch", "--parsable", "-N1-3", "--requeue", "--gpus-per-node=1", "--chdir=/",
                         f"--comment={json.dumps(wish)}", str(self.lab.folder / "slurm/train.sh"), "gpt")
        self.wait_until(lambda: self.hosts_of(job) == ["h0", "h1", "h2"], "job that has all hosts but the spare")
        self.wait_until(lambda: len(self.iterations(0)) > 20, "training")
        self.assertGreater(max(self.lab.sent_between_switches().values()), 10000, "it trains over the lab's network")
        self.wait_until(lambda: int((self.work / "steps").read_text()) > 20, "steps")
        self.assertTrue([one for one in self.lab.get("connections") if f"slurm-{job}" in one["job"]], "its connections are steered")
        self.hang(1)
        self.wait_until(lambda: "drain" in self.slurm("sinfo", "-h", "-N", "-n", "h1", "-o", "%T"), "drain")
        self.wait_until(lambda: self.hosts_of(job) == ["h0", "h2", "h3"], "job on the spare")
        self.wait_until(lambda: self.iterations(1), "training of the second run")
        self.assertGreaterEqual(self.iterations(1)[0], 10, "it goes on from its checkpoint")
        self.assertRegex(self.slurm("sinfo", "-h", "-N", "-n", "h1", "-o", "%E"), "^fairlead: finding")
        [size] = [one for one in json.loads(fetch(f"{self.lab.page}/v1/slurm")[1])["sizes"] if one["job"] == int(job)]
        self.assertGreater(size["steps_done"], 10)
        self.assertTrue([one for one in self.processes_of_lab() if "slurmd" in one])
        os.kill(self.keeper()["pid"], signal.SIGKILL)
        self.wait_until(lambda: not self.processes_of_lab(), "end of all processes")
        self.assertEqual(self.lab.down().returncode, 0)
        self.assertFalse(self.lab.folder.exists())

    def test_2_what_is_missing_is_said_once(self):
        command = [str(FAIRLEAD), "lab", "slurm", "--run-dir", str(self.folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, user=65534)
        except PermissionError:
            self.skipTest("another user may not run the program")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"\A\S.*needs root.*\n\Z")


if __name__ == "__main__":
    reason = slurm_cluster.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
