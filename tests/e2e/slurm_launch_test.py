#!/usr/bin/env python3
"""A job that a real slurmctld could not launch, and failed for it, is requeued by Fairlead and goes on; one whose script ended
with the same exit code is not, nor is any without Fairlead's leave to act.

usage: slurm_launch_test.py FAIRLEAD SOURCE_DIR
"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import slurm_cluster
from patience import fetch

FAIRLEAD, SOURCE_DIR = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
INTEGRATION = SOURCE_DIR / "integrations" / "slurm"
NUM_HOSTS = 4
NUM_TRIES = 20
FABRIC = f"""fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: {NUM_HOSTS // 2}
  spines: 2
  uplink_gbps: 100
  host: {{gpus: 4, nics: 1, ports_per_nic: 1, port_gbps: 100}}
"""
# One run after the other counts on, and says which run it is.
COUNT = """echo ${SLURM_RESTART_COUNT:-0} >>RUNS
step=$(cat STEPS 2>/dev/null || echo 0)
trap 'exit 143' TERM
while sleep 0.2 & wait $!; do echo $((++step)) >STEPS.part; mv STEPS.part STEPS; done
"""


class Launch:
    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        self.log = folder / "log" / "slurmctld.log"

    def submit(self, script, name):
        path = self.folder / f"{name}.sh"
        for word in ("RUNS", "STEPS"):
            script = script.replace(word, f"{self.folder}/work/{name}.{word.lower()}")
        path.write_text("#!/bin/bash\n" + script)
        wish = {"fairlead": {"steps": 100_000, "progress": f"{self.folder}/work/{name}.steps"}}
        return self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--chdir=/", "-N1-2", "--ntasks-per-node=4", "--exclusive",
                                "--gpus-per-node=4", "--open-mode=append", f"--comment={json.dumps(wish)}", str(path)).strip()

    def runs(self, name):
        path = self.folder / "work" / f"{name}.runs"
        return path.read_text().split() if path.exists() else []

    def steps(self, name):
        path = self.folder / "work" / f"{name}.steps"
        return int(path.read_text()) if path.exists() else 0

    def start(self, store, mode):
        output = open(self.folder / "log" / f"controller.{store}", "ab")
        return subprocess.Popen(
            [FAIRLEAD, "controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses", f"{self.folder}/addresses.json", "--listen",
             f"unix:{self.folder}/agents.sock", "--http", "127.0.0.1:0", "--http-operator-open", "--store", f"sqlite:{self.folder}/{store}.db", "--engine", "slurm",
             "--slurm-period", "1", "--steer", mode, "--alive-file", str(self.folder / "alive"), "--slurm-elastic", "train", "--slurm-restart", "3",
             "--slurm-log", str(self.log)], stdout=output, stderr=output, env=self.cluster.environment)

    def told(self, store):
        return (self.folder / "log" / f"controller.{store}").read_text()

    def num_not_launched(self, job):
        return len(re.findall(rf"\] Killing non-startable batch JobId={job}: Job credential revoked", self.log.read_text()))

    def fail_to_launch(self, job):
        """slurmctld ends a run, and starts the next one within the same second: its credential is revoked already."""
        before = self.num_not_launched(job)
        for _ in range(NUM_TRIES):
            self.cluster.wait_for(job, "RUNNING")
            time.sleep(2 - time.time() % 1)  # to the begin of a second, so that as much as can be comes within it
            self.cluster.run("scontrol", "requeue", job)
            self.cluster.wait_for(job, "PENDING")
            self.cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
            self.cluster.wait_for(job, "RUNNING", "FAILED")
            time.sleep(0.3)
            if self.cluster.state(job) == "FAILED":
                break
        assert self.num_not_launched(job) == before + 1, self.log.read_text()[-3000:]
        return int(self.cluster.value(job, "Restarts"))

    def check(self):
        cluster = self.cluster
        actor = self.start("actor", "act")
        try:
            cluster.wait_until((self.folder / "alive").exists, "alive file", lambda: self.told("actor"))
            job = self.submit(COUNT, "job")
            # Its script ends with the exit code that slurmctld gives to what it can't launch.
            own = self.submit("echo ${SLURM_RESTART_COUNT:-0} >>RUNS; exit 1\n", "own")
            cluster.wait_for(own, "FAILED")
            cluster.wait_until(lambda: self.steps("job") > 5, "steps", lambda: self.told("actor"))
            actor.send_signal(signal.SIGSTOP)
            num_restarts = self.fail_to_launch(job)
            record = cluster.run("scontrol", "show", "job", "-o", job)
            assert " JobState=FAILED Reason=NonZeroExitCode " in record and " ExitCode=1:0 " in record, record
            steps = self.steps("job")
            actor.send_signal(signal.SIGCONT)
            cluster.wait_for(job, "RUNNING")
            cluster.wait_until(lambda: self.steps("job") > steps, "further steps", lambda: self.told("actor"))
            assert int(cluster.value(job, "Restarts")) == num_restarts + 1, cluster.run("scontrol", "show", "job", "-o", job)
            mark = cluster.run("squeue", "-h", "-j", job, "-O", "admin_comment:64").strip()
            assert mark == "fairlead:v1 nodes=1-2 tasks-per-node=4", f"{mark}: it is held no longer"
            words = "could not be launched by Slurm (Job credential revoked): it is requeued, 1 of 3"
            assert self.told("actor").count(words) == 1, self.told("actor")
            account = lambda: cluster.run("squeue", "-h", "-j", job, "-o", "%k")
            cluster.wait_until(lambda: "could not be launched by Slurm" in account(), "its comment", account)
            page = re.findall(r"(http://\S+)/", self.told("actor"))[-1]
            entries = json.loads(fetch(f"{page}/v1/slurm/account?job={job}")[1])["entries"]
            assert [entry["text"] for entry in entries].count(words) == 1, entries
            time.sleep(3)
            assert (cluster.state(own), self.runs("own")) == ("FAILED", ["0"]), cluster.run("scontrol", "show", "job", "-o", own)
        finally:
            actor.kill()
            actor.wait()
        self.check_observer(job)

    def check_observer(self, job):
        """Only looks: what slurmctld has failed stays so."""
        num_restarts = self.fail_to_launch(job)
        observer = self.start("observer", "observe")
        try:
            self.cluster.wait_until(lambda: "sizes are chosen with --steer act only" in self.told("observer"), "word of it",
                                    lambda: self.told("observer"))
            time.sleep(5)
            assert (self.cluster.state(job), int(self.cluster.value(job, "Restarts"))) == ("FAILED", num_restarts)
        finally:
            observer.kill()
            observer.wait()


def main():
    if reason := slurm_cluster.missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="fl-slurm-", ignore_cleanup_errors=True) as temporary:
        folder = pathlib.Path(temporary)
        cluster = slurm_cluster.SlurmCluster(folder, NUM_HOSTS, 4, options="JobSubmitPlugins=lua\nRequeueExit=143\n")
        (folder / "work").mkdir()
        lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
        (folder / "etc" / "job_submit.lua").write_text(
            lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{folder}/alive"'))
        (folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        try:
            cluster.start()
            Launch(cluster, folder).check()
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
