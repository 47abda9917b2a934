"""A finding about a job of a real Slurm: its host is drained, it goes on at its number on another one, the host is tested
and comes back, while the controller is killed in the middle. Agents, controller and job are real; hosts are one machine.

usage: slurm_steering_test.py FAIRLEAD SOURCE_DIR PROFILER_LIBRARY
"""
import json
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import slurm_cluster
from patience import fetch

FAIRLEAD, SOURCE_DIR, PROFILER = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
NUM_HOSTS = 6
# One that every user may run.
PYTHON = "/usr/bin/python3"
PATIENCE_S = 150
FABRIC = """fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 3
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
"""


class SlurmSteeringTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="fl-slurm-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.cluster = slurm_cluster.SlurmCluster(self.folder, num_hosts=NUM_HOSTS)
        self.addCleanup(self.cluster.stop)
        self.cluster.start()
        for name in ("job", *(f"segments/h{i}" for i in range(NUM_HOSTS))):
            (self.folder / name).mkdir(parents=True)
            (self.folder / name).chmod(0o1777)
        # What nobody may read where it is.
        shutil.copy(PROFILER, self.folder / "profiler.so")
        (self.folder / "plugin").mkdir()
        shutil.copy(SOURCE_DIR / "src/ccl/torch/fairlead_torch/plugin.py", self.folder / "plugin")
        shutil.copy(SOURCE_DIR / "tests/e2e/slurm_player.py", self.folder)
        (self.folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (self.folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))

    def start(self, log, *command):
        with open(self.folder / "log" / log, "ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=self.cluster.environment)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    def start_controller(self, *options):
        log = self.folder / "log" / "controller"
        before = log.read_text().count("http://") if log.exists() else 0
        process = self.start(
            "controller", str(FAIRLEAD), "controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses",
            f"{self.folder}/addresses.json", "--listen", f"unix:{self.folder}/agents.sock", "--store",
            f"sqlite:{self.folder}/store.db", "--http", "127.0.0.1:0", "--http-operator-open", "--engine", "slurm",
            "--slurm-period", "1", "--slurm-spares", "fairlead_spares", "--audit", f"{self.folder}/audit", *options)
        self.wait_until(lambda: log.read_text().count("http://") > before or process.poll() is not None, "controller")
        self.page = re.findall(r"(http://\S+)/", log.read_text())[-1]
        return process

    def start_agents(self):
        for i in range(NUM_HOSTS):
            self.start(f"agent.h{i}", str(FAIRLEAD), "agent", "run", "--controller", f"unix:{self.folder}/agents.sock",
                       "--host", f"h{i}", "--nic", f"127.0.0.{i + 1}", "--socket", f"{self.folder}/h{i}.sock",
                       "--keep-ports", "--segments", f"{self.folder}/segments/h{i}")

    def get(self, path):
        return json.loads(fetch(self.page + path)[1])

    def wait_until(self, is_so, what):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                log = (self.folder / "log" / "controller").read_text()
                self.fail(f"no {what}\n{self.cluster.run('squeue')}{self.cluster.run('sinfo', '-N', '-l')}{log[-5000:]}"
                          + ((self.folder / "job/output").read_text() if (self.folder / "job/output").exists() else ""))
            time.sleep(0.1)

    def submit_training(self):
        job = self.cluster.submit(
            f"""export FAIRLEAD_JOB=slurm-$SLURM_JOB_ID NCCL_PROFILER_PLUGIN={self.folder}/profiler.so
srun bash -c 'export FAIRLEAD_SHM_FOLDER={self.folder}/segments/$SLURMD_NODENAME RANK=$SLURM_PROCID
exec {PYTHON} {self.folder}/slurm_player.py {self.folder}/plugin {self.folder}/job/${{SLURM_RESTART_COUNT:-0}}'
""", "-N2", "--ntasks-per-node=1", "--exclusive", "--requeue", "--uid=nobody", "--chdir=/", "-w", "h0,h1",
            "-o", f"{self.folder}/job/output")
        self.cluster.wait_for(job, "RUNNING")
        self.wait_until(lambda: self.progress(0) > 100, "training")
        return job

    def progress(self, run):
        steps = [self.folder / "job" / str(run) / str(rank) for rank in range(2)]
        return min(int(step.read_text()) if step.exists() else -1 for step in steps)

    def hang(self, rank):
        """It does not come to the next operation, in this run of the job."""
        (self.folder / "job" / "0" / f"hang.{rank}").touch()
        return (self.folder / "job" / "0" / f"host.{rank}").read_text()

    def node(self, host):
        record = self.cluster.run("scontrol", "show", "node", "-o", host)
        return re.search(r" State=(\S+)", record)[1], (re.search(r" Reason=(.*?) \[", record) or ("", ""))[1]

    def hosts_of(self, job):
        return self.cluster.run("scontrol", "show", "hostnames", self.cluster.value(job, "NodeList")).split()

    def reserved(self, name):
        found = re.search(rf"ReservationName={name} .*? Nodes=(\S+)", self.cluster.run("scontrol", "show", "reservation", "-o"))
        return self.cluster.run("scontrol", "show", "hostnames", found[1]).split() if found else []

    def test_1_dry_run_touches_nothing(self):
        alive = self.folder / "alive"
        self.start_controller("--alive-file", str(alive))
        self.start_agents()
        job = self.submit_training()
        self.hang(1)
        self.wait_until(lambda: self.get("/v1/findings")["findings"], "finding")
        self.wait_until(lambda: [line for line in self.get("/v1/steering")["log"] if "observing only" in line.get("reason", "")],
                        "word that nothing is done")
        state = self.get("/v1/slurm")
        self.assertEqual((state["acts"], state["answers"], state["error"], state["actions"]), (False, True, None, []))
        [seen] = [one for one in state["jobs"] if one["job"] == int(job)]
        nobody = pwd.getpwnam("nobody").pw_uid
        self.assertEqual((seen["owner"], seen["hosts"], seen["state"]), (nobody, ["h0", "h1"], "running"))
        self.assertEqual(self.node("h1")[1], "")
        self.assertEqual(self.cluster.value(job, "Restarts"), "0")
        self.assertFalse(alive.exists(), "elastic jobs would be held, and nobody would start them")

    def test_2_a_job_goes_on_elsewhere_and_its_host_comes_back(self):
        cluster = self.cluster
        cluster.run("scontrol", "create", "reservation", "ReservationName=fairlead_spares", "StartTime=now", "Duration=UNLIMITED",
                    "Nodes=h5", "Users=root", "Flags=IGNORE_JOBS")
        acts = ("--steer", "act", "--alive-file", f"{self.folder}/alive", "--slurm-test", shutil.which("true"))
        controller = self.start_controller(*acts)
        self.start_agents()
        job = self.submit_training()
        stranger = cluster.submit("exec sleep 1000", "-N2", "--ntasks-per-node=1", "--exclusive", "--chdir=/", "-w", "h2,h3")
        cluster.wait_for(stranger, "RUNNING")
        # Would take the host that the job leaves for a moment.
        waiting = cluster.submit("exec sleep 1000", "-N2", "--ntasks-per-node=1", "--exclusive", "--chdir=/")
        self.assertEqual(self.hang(1), "h1")
        self.wait_until(lambda: "DRAIN" in self.node("h1")[0], "drain")
        self.assertRegex(self.node("h1")[1], r"^fairlead: finding 1: ")
        for is_further in (lambda: True, lambda: cluster.state(job) != "RUNNING" or self.hosts_of(job) == ["h0", "h5"]):
            self.wait_until(is_further, "next step")
            controller.send_signal(signal.SIGKILL)
            controller.wait()
            time.sleep(0.3)
            controller = self.start_controller(*acts)
        self.wait_until(lambda: cluster.state(job) == "RUNNING" and self.hosts_of(job) == ["h0", "h5"], "job on other hosts")
        self.wait_until(lambda: self.progress(1) > 50, "training of the second run")
        self.wait_until(lambda: "DRAIN" not in self.node("h1")[0], "host that comes back")
        self.wait_until(lambda: self.reserved("fairlead_spares") == ["h1"], "host as a spare")
        self.wait_until(lambda: not self.get("/v1/steering")["open_actions"], "end")
        self.assertEqual((cluster.value(job, "Restarts"), cluster.value(job, "UserId")[:7]), ("1", "nobody("))
        self.assertIn(cluster.value(job, "AdminComment"), (None, "", "(null)"))
        # What was done to it, once each, however often the controller was killed; and nothing about others.
        comment = lambda one: cluster.run("squeue", "-h", "-j", one, "-o", "%k").strip()
        self.wait_until(lambda: "restarted on h(0,5)" in comment(job), "account in the comment")
        counts = [comment(job).count(words) for words in ("h1 is isolated", "stopped, to be restarted", "finding 1: ")]
        self.assertEqual(counts, [1, 1, 3], comment(job))
        self.assertEqual((comment(stranger), comment(waiting)), ("(null)", "(null)"))
        explained = " ".join(cluster.run(str(FAIRLEAD), "explain", "job", f"slurm-{job}", "--server", self.page).split())
        for expected in ("restarted on h[0,5]: finding 1: ", "The controller knows no connection of this job now"):
            self.assertIn(expected, explained)
        self.assertEqual((cluster.state(stranger), cluster.value(stranger, "Restarts")), ("RUNNING", "0"))
        self.assertEqual(cluster.state(waiting), "PENDING")
        self.assertEqual(re.findall(r"ReservationName=(\S+)", cluster.run("scontrol", "show", "reservation", "-o")), ["fairlead_spares"])
        self.assertLess(time.time() - int((self.folder / "alive").read_text()), 20)
        self.assertEqual(self.get("/v1/slurm")["jobs_stopped"], 0)
        self.assertRegex(fetch(self.page + "/metrics")[1], r'fairlead_scheduler_up 1\n')
        # A Slurm that is away: one event, and nothing else.
        cluster.controller.kill()
        cluster.controller.wait()
        self.wait_until(lambda: not self.get("/v1/slurm")["answers"], "word that Slurm is away")
        time.sleep(3)
        told = [event for event in self.get("/v1/events")["events"] if "no reading" in event["text"]]
        self.assertEqual(len(told), 1, told)
        cluster.start_controller()
        self.wait_until(lambda: self.get("/v1/slurm")["answers"], "word that Slurm is back")


if __name__ == "__main__":
    reason = slurm_cluster.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
