"""Elastic jobs of a real Slurm go through sizes, a drain and a requeue, while controller, agents and slurmd are killed with
-9 at random moments. No job is lost or started twice, nothing of strangers is touched, no held job is forgotten, and
the final loss of each job is that of an undisturbed run of the same steps.

usage: slurm_kills_test.py FAIRLEAD SOURCE_DIR PROFILER_LIBRARY

FAIRLEAD_KILL_MOMENTS (default 8) and FAIRLEAD_KILL_JOBS (default 4) make it longer. From 20 moments on there is more: another
job hangs, its host is drained, tested and returned, and a spare takes its place; slurmctld is killed as often as the others,
and once stopped (SIGSTOP) for a minute. 50 moments and 20 jobs take 8 minutes. The seed is printed; FAIRLEAD_KILL_SEED repeats it,
as far as daemons and clocks do. FAIRLEAD_KILL_KEEP names a folder that gets the logs of a run.
"""
import json
import os
import pathlib
import random
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
INTEGRATION = SOURCE_DIR / "integrations" / "slurm"
NUM_MOMENTS = int(os.environ.get("FAIRLEAD_KILL_MOMENTS", 8))
NUM_JOBS = int(os.environ.get("FAIRLEAD_KILL_JOBS", 4))
IS_LONG = NUM_MOMENTS >= 20
SEED = int(os.environ.get("FAIRLEAD_KILL_SEED", random.randrange(1_000_000)))
KEEP = os.environ.get("FAIRLEAD_KILL_KEEP")
NUM_HOSTS, NUM_GPUS = 8, 4
SPARE = f"h{NUM_HOSTS - 1}"
PYTHON = "/usr/bin/python3"  # one that every user may run
PATIENCE_S = 400
# What happened in its last seconds slurmctld forgets when it is killed: jobs that were submitted then; and jobs that ended
# then it starts again, which find that nothing is left to do.
SAVED_S = 6
STOPPED_S = 60
FABRIC = f"""fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: {NUM_HOSTS // 2}
  spines: 2
  uplink_gbps: 100
  host: {{gpus: {NUM_GPUS}, nics: 1, ports_per_nic: 1, port_gbps: 100}}
"""
# A step of n nodes takes 0.4 s / n, and is the same work at each size: the loss depends on the steps alone. Whoever finds
# that another run of the job has begun says so.
TRAINING = """work=$1/$SLURM_JOB_ID total=$2
mkdir -p $work
[[ -s $work/final ]] && { echo again >>$work/again; exit 0; }
me=${SLURM_RESTART_COUNT:-0}.$$.$RANDOM
echo $me >$work/owner
read -r step loss < <(cat CHECKPOINT 2>/dev/null || echo 0 1)
echo "$SLURM_JOB_NUM_NODES $step ${SLURM_RESTART_COUNT:-0}" >>$work/runs
save() { echo "$step $loss" >CHECKPOINT.part.$$; mv CHECKPOINT.part.$$ CHECKPOINT; }
trap 'save; exit 143' TERM
trap save USR1
pause=$(awk "BEGIN { print 0.4 / $SLURM_JOB_NUM_NODES }")
while ((step < total)); do
  sleep $pause &
  wait $!
  ((++step, loss = (loss * 1103515245 + 12345 + step) % 2147483648))
  [[ $(<$work/owner) == "$me" ]] || echo "$me beside $(<$work/owner)" >>$work/twice
  ((step % 10)) || save
  echo $step >PROGRESS
done
echo $step $loss >>$work/final
"""


def undisturbed(steps):
    loss = 1
    for step in range(1, steps + 1):
        loss = (loss * 1103515245 + 12345 + step) % 2147483648
    return loss


class SlurmKillsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="fl-slurm-", ignore_cleanup_errors=True)
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.addCleanup(self.keep_logs)
        self.cluster = slurm_cluster.SlurmCluster(self.folder, NUM_HOSTS, NUM_GPUS, options="JobSubmitPlugins=lua\nRequeueExit=143\n")
        self.addCleanup(self.cluster.stop)
        self.alive = self.folder / "alive"
        lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
        (self.folder / "etc" / "job_submit.lua").write_text(
            lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{self.alive}"'))
        self.cluster.start()
        for name in ("work", "player", *(f"segments/{host}" for host in self.cluster.hosts)):
            (self.folder / name).mkdir(parents=True)
            (self.folder / name).chmod(0o1777)
        shutil.copy(PROFILER, self.folder / "profiler.so")
        (self.folder / "plugin").mkdir()
        shutil.copy(SOURCE_DIR / "src/ccl/torch/fairlead_torch/plugin.py", self.folder / "plugin")
        shutil.copy(SOURCE_DIR / "tests/e2e/slurm_player.py", self.folder)
        (self.folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (self.folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        self.chance = random.Random(SEED)
        self.jobs = {}  # number -> steps
        # What slurmctld forgets takes minutes to be over.
        self.kills = {kind: 0 for kind in ("controller", "agent", "slurmd", *(("slurmctld",) if IS_LONG else ()))}
        self.order = []
        self.num_duplicates = 0
        self.submitted_at = 0
        self.page = None

    def keep_logs(self):
        if KEEP:
            shutil.copytree(self.folder / "log", f"{KEEP}/{SEED}", dirs_exist_ok=True)

    # ---- What is killed ----

    def start(self, log, *command):
        with open(self.folder / "log" / log, "ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=self.cluster.environment)
        self.addCleanup(self.kill, process)
        return process

    @staticmethod
    def kill(process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def start_controller(self):
        self.controller = self.start(
            "controller", str(FAIRLEAD), "controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses",
            f"{self.folder}/addresses.json", "--listen", f"unix:{self.folder}/agents.sock", "--store",
            f"sqlite:{self.folder}/store.db", "--http", "127.0.0.1:0", "--http-operator-open", "--engine", "slurm", "--slurm-period",
            "1", "--steer", "act", "--slurm-spares", "fairlead_spares", "--slurm-test", shutil.which("true"), "--alive-file", str(self.alive),
            "--audit", f"{self.folder}/audit", "--slurm-elastic", "train", "--slurm-restart", "3", "--allocation-option", "hold_s=10",
            "--allocation-option", "min_run_s=10", "--allocation-option", "round_s=5", "--allocation-option", "restart_factor=1",
            "--slurm-log", f"{self.folder}/log/slurmctld.log")

    def start_agent(self, i):
        self.agents[i] = self.start(
            f"agent.h{i}", str(FAIRLEAD), "agent", "run", "--controller", f"unix:{self.folder}/agents.sock", "--host", f"h{i}",
            "--nic", f"127.0.0.{i + 1}", "--socket", f"{self.folder}/h{i}.sock", "--keep-ports", "--segments", f"{self.folder}/segments/h{i}")

    def start_slurmd(self, i):
        self.slurmds[i] = self.cluster.spawn("slurmd", "-D", "-f", str(self.cluster.conf), "-N", f"h{i}")

    def kill_something(self):
        # Each kind as often as the others.
        if not self.order:
            self.order = list(self.kills)
            self.chance.shuffle(self.order)
        kind, i = self.order.pop(), self.chance.randrange(NUM_HOSTS)
        self.kills[kind] += 1
        absent_s = self.chance.choice((0, 0.5, 2 if IS_LONG else 1))
        if kind == "controller":
            self.kill(self.controller)
            time.sleep(absent_s)
            self.start_controller()
        elif kind == "agent":
            self.kill(self.agents[i])
            time.sleep(absent_s)
            self.start_agent(i)
        elif kind == "slurmctld":
            time.sleep(max(0, self.submitted_at + SAVED_S - time.monotonic()))
            self.kill(self.cluster.controller)
            time.sleep(absent_s)
            self.cluster.start_controller()
        else:
            self.kill(self.slurmds[i])
            time.sleep(absent_s)
            self.start_slurmd(i)

    # ---- What happens ----

    def run_slurm(self, *command):
        """Again where slurmctld is away."""
        end = time.monotonic() + 60
        while True:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=self.cluster.environment)
            if done.returncode == 0:
                return done.stdout
            if time.monotonic() > end:
                self.fail(f"{command}: {done.stderr}")
            time.sleep(0.3)

    def train(self, total, nodes):
        number = len(self.jobs)
        progress, checkpoint = (f"{self.folder}/work/{name}.{number}" for name in ("progress", "checkpoint"))
        wish = {"fairlead": {"steps": total, "progress": progress}}
        if number % 2:
            wish["fairlead"]["checkpoint"] = checkpoint
        path = self.folder / "train.sh"
        path.write_text("#!/bin/bash\n" + TRAINING.replace("PROGRESS", progress).replace("CHECKPOINT", checkpoint))
        job = self.run_slurm("sbatch", "--parsable", "-o", "/dev/null", "-N", nodes, "--ntasks-per-node=4", f"--gpus-per-node={NUM_GPUS}",
                             "--exclusive", "--open-mode=append", "--signal=B:USR1@60", "--uid=nobody", "--chdir=/",
                             f"--comment={json.dumps(wish)}", str(path), f"{self.folder}/work", str(total)).strip()
        self.submitted_at = time.monotonic()
        self.jobs[job] = total
        return job

    def submit_player(self):
        """A job of fixed size that hangs later."""
        path = self.folder / "player.sh"
        path.write_text(f"""#!/bin/bash
export FAIRLEAD_JOB=slurm-$SLURM_JOB_ID NCCL_PROFILER_PLUGIN={self.folder}/profiler.so
srun bash -c 'export FAIRLEAD_SHM_FOLDER={self.folder}/segments/$SLURMD_NODENAME RANK=$SLURM_PROCID
exec {PYTHON} {self.folder}/slurm_player.py {self.folder}/plugin {self.folder}/player/${{SLURM_RESTART_COUNT:-0}}'
""")
        return self.run_slurm("sbatch", "--parsable", "-N2", "--ntasks-per-node=1", "--exclusive", "--requeue", "--uid=nobody", "--chdir=/",
                              "-w", "h0,h1", "-o", "/dev/null", str(path)).strip()

    def player_steps(self, run):
        files = [self.folder / "player" / str(run) / str(rank) for rank in range(2)]
        return min(int(one.read_text() or -1) if one.exists() else -1 for one in files)

    def player_runs(self):
        """Those in which it trained. Slurm counts a launch that has failed as a run, too."""
        return sorted(int(run.name) for run in (self.folder / "player").iterdir())

    def read(self, job, name):
        path = self.folder / "work" / job / name
        return path.read_text().splitlines() if path.exists() else []

    def running(self):
        return [job for job in self.run_slurm("squeue", "-h", "-t", "RUNNING", "-o", "%i").split()
                if job in self.jobs and not self.read(job, "final")]

    def wait_until(self, is_so, what):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                self.fail(f"seed {SEED}: no {what}\n{self.shown()}")
            time.sleep(0.2)

    def shown(self):
        log = (self.folder / "log" / "controller").read_text()
        jobs = {job: (steps, self.read(job, "final"), self.read(job, "runs")[-3:]) for job, steps in self.jobs.items()}
        return (self.cluster.run("squeue", "-a", "-O", "JobID:5,UserName:8,State:12,NumNodes:4,NodeList:14,ReqNodes:14,Reservation:18,Reason:24,admin_comment:60")
                + self.cluster.run("sinfo", "-N", "-l") + self.run_slurm("scontrol", "show", "reservation", "-o")
                + "\n".join(f"{job}: {what}" for job, what in jobs.items()) + log[-4000:])

    def node(self, host):
        record = self.run_slurm("scontrol", "show", "node", "-o", host)
        return re.search(r" State=(\S+)", record)[1], (re.search(r" Reason=(.*?) \[", record) or ("", ""))[1]

    def resume_duplicates(self):
        """Where slurmctld has forgotten the end of a job it may start it beside itself, and drains the host."""
        for host in self.cluster.hosts:
            state, reason = self.node(host)
            if "DRAIN" in state and reason == "Duplicate jobid":
                self.num_duplicates += 1
                subprocess.run(["scontrol", "update", f"NodeName={host}", "State=RESUME"], capture_output=True, timeout=60, check=False,
                               env=self.cluster.environment)
        return True

    def spares(self):
        found = re.search(r"ReservationName=fairlead_spares .*? Nodes=(\S+)", self.run_slurm("scontrol", "show", "reservation", "-o"))
        return self.run_slurm("scontrol", "show", "hostnames", found[1]).split() if found else []

    def get(self, path):
        log = (self.folder / "log" / "controller").read_text()
        return json.loads(fetch(re.findall(r"(http://\S+)/", log)[-1] + path)[1])

    def test_kills(self):
        print(f"seed {SEED}", flush=True)
        self.run_slurm("scontrol", "create", "reservation", "ReservationName=fairlead_spares", "StartTime=now", "Duration=UNLIMITED",
                       f"Nodes={SPARE}", "Users=root", "Flags=IGNORE_JOBS")
        self.start_controller()
        self.wait_until(self.alive.exists, "alive file")
        player = self.submit_player() if IS_LONG else None
        stranger = self.cluster.submit("exec sleep 10000", "-N1", "--ntasks-per-node=1", "--exclusive", "--chdir=/", "-w", "h2",
                                       "--comment=a stranger's")
        held = self.run_slurm("sbatch", "--parsable", "--hold", "-N1-3", "--ntasks-per-node=4", "--comment=fairlead", "-o", "/dev/null",
                              "--chdir=/", "--wrap=sleep 1").strip()
        self.agents, self.slurmds = {}, dict(enumerate(self.cluster.slurmds))
        for i in range(NUM_HOSTS):
            self.start_agent(i)
        self.submitted_at = time.monotonic()
        if IS_LONG:
            self.wait_until(lambda: self.player_steps(0) > 100, "training of the job that will hang")
            time.sleep(SAVED_S)
            hung_host = (self.folder / "player/0/host.1").read_text()
        self.disturb()
        self.wait_until(lambda: self.resume_duplicates() and all(self.read(job, "final") for job in self.jobs), "end of all jobs")
        ours = sorted(filter(None, (player, stranger, held)), key=int)
        self.wait_until(lambda: sorted(self.run_slurm("squeue", "-h", "-a", "-o", "%i").split(), key=int) == ours, "end of whatever Slurm began again")
        if IS_LONG:
            self.wait_until(lambda: len(self.player_runs()) > 1 and self.player_steps(self.player_runs()[-1]) > 20, "second run of the job that hung")
            self.wait_until(lambda: self.spares() == [hung_host] and self.node(hung_host)[0] == "IDLE+RESERVED", "returned host as a spare")
        self.wait_until(lambda: not self.get("/v1/steering")["open_actions"] and not self.get("/v1/slurm")["jobs_stopped"], "end of steering")
        self.check(player, stranger, held)
        sizes = sum(len(self.read(job, "runs")) - 1 for job in self.jobs)
        again = sum(len(self.read(job, "again")) for job in self.jobs)
        log = (self.folder / "log" / "controller").read_text()
        placed, requeued = (len(re.findall(words, log)) for words in ("it is stopped and placed anew", r"it is requeued, \d of"))
        print(f"{len(self.jobs)} jobs, {sizes} restarts, {again} after the end, {placed} lost runs, {requeued} requeued, "
              f"{self.num_duplicates} hosts drained for duplicates; killed: {self.kills}", flush=True)

    def disturb(self):
        """Jobs come, things happen to them, and daemons are killed, all mixed by the seed."""
        drained = [None]

        def hang():
            (self.folder / "player/0/hang.1").touch()

        def stop_slurm():
            told = lambda words: len([event for event in self.get("/v1/events")["events"] if words in event["text"]])
            self.wait_until(lambda: self.get("/v1/slurm")["answers"], "answer of Slurm")
            before, begin = told("no reading"), time.monotonic()
            self.cluster.controller.send_signal(signal.SIGSTOP)
            self.wait_until(lambda: not self.get("/v1/slurm")["answers"], "word that Slurm is away")
            away_s = time.monotonic() - begin
            time.sleep(max(0, STOPPED_S - away_s))
            again = told("answers again after")
            self.assertEqual((told("no reading"), self.get("/v1/slurm")["answers"]), (before + 1, False))
            self.cluster.controller.send_signal(signal.SIGCONT)
            self.wait_until(lambda: told("answers again after") > again, "word that Slurm is back")
            print(f"slurmctld stopped for {STOPPED_S} s: told after {away_s:.0f} s, once", flush=True)

        def drain():
            drained[0] = self.chance.choice([f"h{i}" for i in range(3, NUM_HOSTS - 1)])
            self.run_slurm("scontrol", "update", f"NodeName={drained[0]}", "State=DRAIN", "Reason=repair")

        def resume():
            # With slurmctld's memory the drain may be gone, or come back.
            while drained[0] and "DRAIN" in self.node(drained[0])[0]:
                subprocess.run(["scontrol", "update", f"NodeName={drained[0]}", "State=RESUME"], capture_output=True, timeout=60,
                               check=False, env=self.cluster.environment)
                time.sleep(0.3)

        def requeue():
            running = self.running()
            if running:
                subprocess.run(["scontrol", "requeue", self.chance.choice(running)], capture_output=True, timeout=60, check=False,
                               env=self.cluster.environment)

        def submit():
            low = self.chance.choice((1, 1, 2))
            self.train(self.chance.choice((40, 80, 160) if IS_LONG else (20, 40)), f"{low}-{self.chance.choice((3, 4, 5))}")

        last = [resume] if NUM_MOMENTS else []
        mixed = [submit] * (NUM_JOBS - 2) + [self.kill_something] * NUM_MOMENTS
        self.chance.shuffle(mixed)
        for place, what in zip(sorted(self.chance.sample(range(len(mixed) - 1), 3)), (drain, requeue, resume)):
            mixed.insert(place, what)
        for what in [submit, submit, *((hang, stop_slurm) if IS_LONG else ()), *mixed, *last]:
            what()
            time.sleep(self.chance.uniform(0, 60 / (NUM_MOMENTS + 20)) if what != self.kill_something else self.chance.uniform(0, 2.5 if IS_LONG else 1))

    def check(self, player, stranger, held):
        for job, total in self.jobs.items():
            # Once, and as if nothing had happened.
            self.assertEqual(self.read(job, "final"), [f"{total} {undisturbed(total)}"], f"job {job}: {self.read(job, 'runs')}")
            self.assertEqual(self.read(job, "twice"), [], f"job {job}: {self.read(job, 'runs')}")
        if player:
            runs = self.player_runs()
            self.assertEqual(len(runs), 2, f"it hung in the first, and trains in the second: {runs}")
            self.assertEqual((self.cluster.state(player), self.cluster.value(player, "Restarts")), ("RUNNING", str(runs[1])))
        self.assertEqual((self.cluster.state(stranger), self.cluster.value(stranger, "Restarts")), ("RUNNING", "0"))
        self.assertEqual((self.cluster.state(held), self.cluster.value(held, "Priority")), ("PENDING", "0"), "its user holds it")
        comments = [self.run_slurm("squeue", "-h", "-j", one, "-o", "%k").strip() for one in (stranger, held)]
        self.assertEqual(comments, ["a stranger's", "fairlead"], "nothing was done to them")
        self.assertEqual(re.findall(r"ReservationName=(\S+)", self.run_slurm("scontrol", "show", "reservation", "-o")), ["fairlead_spares"])
        self.assertEqual([host for host in self.cluster.hosts if "DRAIN" in self.node(host)[0]], [])


if __name__ == "__main__":
    reason = slurm_cluster.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
