"""Elastic jobs of a real Slurm get their nodes from AITurbo: they share a cluster with a stranger's job, are stopped, resized
and go on from their checkpoints, while the controller and Slurm's are killed. Slurm, controller and jobs are real; hosts are
one machine.

usage: slurm_sizes_test.py FAIRLEAD SOURCE_DIR
"""
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import slurm_cluster
from patience import fetch

FAIRLEAD, SOURCE_DIR = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
INTEGRATION = SOURCE_DIR / "integrations" / "slurm"
NUM_HOSTS = 6
# Many: a job with all of them leaves the first level of attained service after 25 s.
NUM_GPUS = 16
PATIENCE_S = 300
FABRIC = f"""fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: {NUM_HOSTS // 2}
  spines: 2
  uplink_gbps: 100
  host: {{gpus: {NUM_GPUS}, nics: 1, ports_per_nic: 1, port_gbps: 100}}
"""
# Trains n steps each 0.2 s on n nodes, from its checkpoint on; tells how far it is, and each of its runs.
TRAINING = """work=$1/$SLURM_JOB_ID total=$2
mkdir -p $work
step=$(cat $work/checkpoint 2>/dev/null || echo 0)
echo "$SLURM_JOB_NUM_NODES $step ${SLURM_RESTART_COUNT:-0}" >>$work/runs
save() { echo $step >$work/checkpoint.part; mv $work/checkpoint.part $work/checkpoint; }
trap 'save; exit 0' TERM
trap save USR1
while ((step < total)); do
  sleep 0.2 &
  wait $!
  ((step += SLURM_JOB_NUM_NODES))
  echo $step >$work/steps
done
echo $step >>$work/final
"""


class SlurmSizesTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="fl-slurm-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.cluster = slurm_cluster.SlurmCluster(self.folder, num_hosts=NUM_HOSTS, num_gpus=NUM_GPUS, options="JobSubmitPlugins=lua\n")
        self.addCleanup(self.cluster.stop)
        self.alive = self.folder / "alive"
        lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
        (self.folder / "etc" / "job_submit.lua").write_text(
            lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{self.alive}"'))
        self.cluster.start()
        (self.folder / "work").mkdir()
        (self.folder / "work").chmod(0o1777)
        (self.folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (self.folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        self.controller, self.number = None, 0

    def start_controller(self):
        log = self.folder / "log" / "controller"
        before = log.read_text().count("http://") if log.exists() else 0
        with open(log, "ab") as output:
            self.controller = subprocess.Popen(
                [str(FAIRLEAD), "controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses",
                 f"{self.folder}/addresses.json", "--listen", f"unix:{self.folder}/agents.sock", "--store",
                 f"sqlite:{self.folder}/store.db", "--http", "127.0.0.1:0", "--http-operator-open", "--engine", "slurm",
                 "--slurm-period", "1", "--steer", "act", "--alive-file", str(self.alive), "--audit", f"{self.folder}/audit",
                 "--slurm-elastic", "train", "--slurm-restart", "3", "--allocation-option", "hold_s=10", "--allocation-option", "min_run_s=10",
                 "--allocation-option", "round_s=5", "--allocation-option", "restart_factor=1"],
                stdout=output, stderr=output, env=self.cluster.environment)
        self.addCleanup(self.kill_controller, self.controller)
        self.wait_until(lambda: log.read_text().count("http://") > before or self.controller.poll() is not None, "controller")
        self.page = re.findall(r"(http://\S+)/", log.read_text())[-1]

    def kill_controller(self, process=None):
        process = process or self.controller
        process.send_signal(signal.SIGKILL)
        process.wait()

    def wait_until(self, is_so, what, patience_s=PATIENCE_S):
        end = time.monotonic() + patience_s
        while not is_so():
            if time.monotonic() > end:
                log = self.folder / "log" / "controller"
                self.fail(f"no {what}\n" + self.cluster.run("squeue", "-o", "%i %u %T %D %N %r %k")
                          + (log.read_text()[-6000:] if log.exists() else ""))
            time.sleep(0.1)

    def train(self, steps, nodes="1-6", tells=True):
        wish, script = {"fairlead": {"steps": steps} if tells else {}}, TRAINING
        if tells:
            # The number of the job is not known before; its user writes into files of his own.
            self.number += 1
            wish["fairlead"]["progress"] = f"{self.folder}/work/progress.{self.number}"
            wish["fairlead"]["checkpoint"] = f"{self.folder}/work/checkpoint.{self.number}"
            script = script.replace("$work/steps", wish["fairlead"]["progress"])
            script = script.replace("$work/checkpoint", wish["fairlead"]["checkpoint"])
        path = self.folder / "train.sh"
        path.write_text("#!/bin/bash\n" + script)
        return self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-N", nodes, "--ntasks-per-node=4", f"--gpus-per-node={NUM_GPUS}",
                                "--exclusive", "--open-mode=append", "--signal=B:USR1@60", "--uid=nobody", "--chdir=/",
                                f"--comment={json.dumps(wish)}", str(path), f"{self.folder}/work", str(steps)).strip()

    def nodes_of(self, job):
        return int(self.cluster.value(job, "NumNodes").split("-")[0]) if self.cluster.state(job) == "RUNNING" else 0

    def runs_of(self, job):
        """(nodes, step at which it began, restarts) of each run."""
        runs = self.folder / "work" / job / "runs"
        return [tuple(map(int, line.split())) for line in runs.read_text().splitlines()] if runs.exists() else []

    def final(self, job):
        final = self.folder / "work" / job / "final"
        return [int(line) for line in final.read_text().split()] if final.exists() else []

    def get(self, path):
        return json.loads(fetch(self.page + path)[1])

    def test_1_sizes_follow_what_waits(self):
        self.start_controller()
        self.wait_until(self.alive.exists, "alive file")
        first = self.train(20000)
        self.wait_until(lambda: self.nodes_of(first) == NUM_HOSTS, "job that has all")
        self.assertEqual(self.cluster.value(first, "Restarts"), "0")
        self.wait_until(lambda: [one for one in self.get("/v1/slurm")["sizes"] if one["steps_done"] > 50], "steps")
        time.sleep(12)
        second = self.train(200, "1-3")
        self.wait_until(lambda: self.nodes_of(second) > 0, "second job")
        self.wait_until(lambda: len(self.runs_of(first)) > 1, "first job at another size")
        self.assertLess(self.runs_of(first)[1][0], NUM_HOSTS)
        self.assertGreater(self.runs_of(first)[1][1], 50, "it goes on from its checkpoint")
        self.check_account(first, second)
        self.wait_until(lambda: self.final(second), "end of the second job")
        # To how many, its measured speeds decide: beside other work the greatest size need not have been the fastest.
        self.wait_until(lambda: self.nodes_of(first) > NUM_HOSTS // 2, "first job that grows again")
        [size] = self.get("/v1/slurm")["sizes"]
        self.assertTrue(size["reason"])
        self.assertGreater(size["restart_cost_s"], 0)
        shown = self.cluster.run(str(FAIRLEAD), "get", "sizes", "--server", self.page)
        self.assertRegex(shown, rf"(?m)^ *{first} +[456] +1-6 +20,000 .*resized: place 1 of 1")
        self.cluster.run("scancel", first)
        self.wait_until(lambda: not self.get("/v1/slurm")["sizes"], "end of all")

    def check_account(self, first, second):
        """What was done to the first job stands in its comment, beside its user's wish, and is explained."""
        lost = f"slurm-{second} gets "
        self.wait_until(lambda: lost in self.comment(first), "account in the comment")
        wish = json.loads(self.comment(first))
        self.assertEqual(wish["fairlead"]["steps"], 20000, "what its user wrote")
        self.assertRegex(wish["fairlead_account"], r"^20\d\d-\d\d-\d\dT\d\d:\d\dZ \d nodes?, ")
        explained = self.cluster.run(str(FAIRLEAD), "explain", "job", f"slurm-{first}", "--server", self.page)
        for expected in (f"job {first} of user ", "What Fairlead did", "6 nodes, h[0-5], which reach one another without a core switch",
                         ": started: place 1 of 1", lost, "a restart costs"):
            self.assertIn(expected, " ".join(explained.split()))
        account = json.loads(self.cluster.run(str(FAIRLEAD), "explain", "job", f"slurm-{first}", "--server", self.page, "--json", "-"))
        self.assertEqual((account["job"], [entry["kind"] for entry in account["entries"]][0]), (int(first), "size"))
        unknown = self.cluster.run(str(FAIRLEAD), "explain", "job", "slurm-999999", "--server", self.page, fails=True)
        self.assertIn("Slurm shows no job 999999, and nothing was done to one", unknown)

    def comment(self, job):
        return self.cluster.run("squeue", "-h", "-j", job, "-o", "%k").strip()

    def test_2_ten_jobs_while_everything_is_killed(self):
        chance = random.Random(3)
        self.start_controller()
        self.wait_until(self.alive.exists, "alive file")
        stranger = self.cluster.submit("exec sleep 1000", "-N1", "--ntasks-per-node=1", "--exclusive", "--chdir=/")
        self.cluster.wait_for(stranger, "RUNNING")
        held = self.cluster.run("sbatch", "--parsable", "--hold", "-N1-3", "--ntasks-per-node=4", "--comment=fairlead",
                                "-o", "/dev/null", "--chdir=/", "--wrap=sleep 1").strip()
        steps = {}
        longest = self.train(400, "2-6")
        steps[longest] = 400
        self.wait_until(lambda: self.nodes_of(longest) > 0, "first job")
        self.cluster.wait_until_saved()
        self.cluster.controller.kill()
        self.cluster.controller.wait()
        time.sleep(1)
        self.cluster.start_controller()
        for number in range(9):
            low = chance.choice((1, 1, 2))
            total = chance.choice((40, 80, 160))
            job = self.train(total, f"{low}-{chance.choice((3, 4, 6))}", tells=number % 3 != 2)
            steps[job] = total
            time.sleep(chance.uniform(0, 2))
            if number % 3 == 1:
                self.kill_controller()
                time.sleep(chance.uniform(0, 2))
                self.start_controller()
        killed = 0
        while killed < 8 and not all(self.final(job) for job in steps):
            time.sleep(chance.uniform(0.2, 3))
            self.kill_controller()
            killed += 1
            self.start_controller()
        self.wait_until(lambda: all(self.final(job) for job in steps), "end of all jobs: "
                        + str({job: (self.final(job), self.runs_of(job)) for job in steps}))
        for job, total in steps.items():
            [final] = self.final(job)  # once
            sizes = [nodes for nodes, _, _ in self.runs_of(job)]
            self.assertLess(final - total, max(sizes), "not a step too many")
            begins = [step for _, step, _ in self.runs_of(job)]
            self.assertEqual(begins, sorted(begins))
            restarts = [restart for _, _, restart in self.runs_of(job)]
            self.assertEqual(len(restarts), len(set(restarts)), f"started twice: {self.runs_of(job)}")
        self.assertEqual((self.cluster.state(stranger), self.cluster.value(stranger, "Restarts")), ("RUNNING", "0"))
        self.assertEqual((self.cluster.state(held), self.cluster.value(held, "Priority")), ("PENDING", "0"), "its user holds it")
        self.assertEqual((self.comment(stranger), self.comment(held)), ("(null)", "fairlead"), "nothing was done to them")

    def test_3_a_dead_brain_stops_no_cluster(self):
        self.start_controller()
        self.wait_until(self.alive.exists, "alive file")
        first = self.train(4000, "4-6")
        self.wait_until(lambda: self.nodes_of(first) == NUM_HOSTS, "job that has all")
        waits = self.train(60, "3-6")
        self.wait_until(lambda: self.cluster.value(waits, "Priority") == "0", "job that waits, held")
        self.kill_controller()
        watchdog = lambda: self.cluster.run(str(INTEGRATION / "fairlead-watchdog"), FAIRLEAD_ALIVE_FILE=str(self.alive))
        self.alive.write_text(f"{int(time.time())}\n")
        self.assertEqual(watchdog(), "", "it lives")
        # Its nodes were chosen by Fairlead, and one of them does not come back.
        self.cluster.run("scontrol", "update", "NodeName=h0", "State=DRAIN", "Reason=repair")
        self.cluster.run("scontrol", "requeue", first)
        self.wait_until(lambda: self.cluster.state(first) == "PENDING", "job that was requeued")
        self.alive.write_text("1000\n")
        said = watchdog()
        self.assertIn(f"job {first} waits for any nodes", said)
        self.assertIn(f"job {waits} released", said)
        self.wait_until(lambda: self.nodes_of(first) in (4, 5) or self.final(waits), "job on other nodes")
        self.assertNotIn(f"job {first}", watchdog())
        self.wait_until(lambda: self.nodes_of(first) in (4, 5), "job on other nodes")
        self.cluster.run("scancel", first)
        self.wait_until(lambda: self.final(waits), "end of the job that was held")


if __name__ == "__main__":
    reason = slurm_cluster.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
