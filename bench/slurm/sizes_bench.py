#!/usr/bin/python3
"""Elastic jobs on a real Slurm, with and without Fairlead: mean completion times of the same workload.

    python3 bench/slurm/sizes_bench.py build/release/apps/fairlead --seeds 1,2,3      as root; about 8 minutes for each seed

Each workload has 12 jobs on 8 hosts of 4 GPUs. A job of b nodes takes t(b) = t(1) ((1 - f) / b + f) for a step, with a share
f of its own from 0 to 0.12; its length is log-normal, so that most are short and few are long, and its owner asks for 1, 2 or
4 nodes. Jobs are batch scripts that sleep and count steps; they write a checkpoint on SIGTERM. Times are a hundredth of real
ones, but for Slurm's own: a restart takes 3 to 5 s, which is dear for jobs of a minute.

    plain     what its owner asks for, fixed; Slurm's backfill
    fairlead  a range of 1 to 8 nodes; lengths declared, speeds not known beforehand

What `fairlead sched run` predicts for the same workload is printed beside it: fcfs-skip for plain, aiturbo with declared lengths
and speeds that it measures for fairlead, with the restart cost that was measured.
"""
import argparse
import json
import math
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import slurm_cluster  # noqa: E402
from patience import fetch  # noqa: E402

NUM_HOSTS, NUM_GPUS, NUM_JOBS = 8, 4, 12
# Times of the policy are made for restarts of 30 s; here one takes about 3.6 s, so all are 0.12 of their defaults.
SETTINGS = {"hold_s": 36, "min_run_s": 72, "round_s": 29, "patience_s": 72, "max_wait_s": 1728}
INTEGRATION = ROOT / "integrations" / "slurm"
# Args: folder, steps, seconds of a step on one node, share that does not get faster.
TRAINING = """work=$1/$SLURM_JOB_ID
mkdir -p $work
step=$(cat $work/checkpoint 2>/dev/null || echo 0)
echo "$(date +%s.%N) $SLURM_JOB_NUM_NODES $step" >>$work/runs
pause=$(awk "BEGIN { print $3 * ((1 - $4) / $SLURM_JOB_NUM_NODES + $4) }")
trap 'echo $step >$work/checkpoint.part; mv $work/checkpoint.part $work/checkpoint; exit 0' TERM
while ((step < $2)); do
  sleep $pause &
  wait $!
  ((++step))
  echo $step >PROGRESS
done
date +%s.%N >$work/end
"""


def draw_workload(seed):
    """[(submission in s, nodes asked for, steps, seconds of a step on one node, share f)]"""
    chance = random.Random(seed)
    jobs, at = [], 0.0
    for _ in range(NUM_JOBS):
        asked = chance.choice((1, 1, 2, 2, 4))
        share = chance.uniform(0, 0.12)
        alone_s = min(600, max(30, math.exp(chance.gauss(math.log(110), 0.9))))  # on one node
        jobs.append((at, asked, max(30, round(alone_s / 1.0)), 1.0, share))
        at += chance.expovariate(1 / 10)
    return jobs


def speed(job, nodes):
    return job[3] * ((1 - job[4]) / nodes + job[4])


class Run:
    def __init__(self, program, folder, with_fairlead):
        self.program, self.folder = program, folder
        self.alive = folder / "alive"
        self.cluster = slurm_cluster.SlurmCluster(folder, NUM_HOSTS, NUM_GPUS, options="JobSubmitPlugins=lua\n")
        lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
        (folder / "etc" / "job_submit.lua").write_text(
            lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{self.alive}"'))
        (folder / "work").mkdir()
        self.cluster.start()
        self.controller = self.start_controller() if with_fairlead else None

    def start_controller(self):
        (self.folder / "fabric.yaml").write_text(
            f"fabric:\n  kind: clos2\n  leaves: 2\n  hosts_per_leaf: {NUM_HOSTS // 2}\n  spines: 2\n  uplink_gbps: 100\n"
            f"  host: {{gpus: {NUM_GPUS}, nics: 1, ports_per_nic: 1, port_gbps: 100}}\n")
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (self.folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        self.log = self.folder / "log" / "controller"
        with open(self.log, "ab") as output:
            controller = subprocess.Popen(
                [self.program, "controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses", f"{self.folder}/addresses.json",
                 "--listen", f"unix:{self.folder}/agents.sock", "--store", f"sqlite:{self.folder}/store.db", "--http", "127.0.0.1:0",
                 "--engine", "slurm", "--slurm-period", "0.5", "--steer", "act", "--alive-file", str(self.alive), "--slurm-elastic",
                 "train", *(word for key, value in SETTINGS.items() for word in ("--allocation-option", f"{key}={value}"))],
                stdout=output, stderr=output, env=self.cluster.environment)
        while not self.alive.exists():
            if controller.poll() is not None:
                raise RuntimeError(self.log.read_text())
            time.sleep(0.1)
        return controller

    def submit(self, number, job):
        _, asked, steps, step_s, share = job
        progress = self.folder / "work" / f"progress.{number}"
        script = self.folder / "train.sh"
        script.write_text("#!/bin/bash\n" + TRAINING.replace("PROGRESS", str(progress)))
        nodes = f"1-{NUM_HOSTS}" if self.controller else f"{asked}-{asked}"
        wish = json.dumps({"fairlead": {"steps": steps, "progress": str(progress)}}) if self.controller else "plain"
        return self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-N", nodes, "--ntasks-per-node=4", "--gpus-per-node=4",
                                "--exclusive", "--requeue", "--chdir=/", "--time=60", f"--comment={wish}", str(script),
                                f"{self.folder}/work", str(steps), str(step_s), str(share)).strip()

    def execute(self, jobs):
        """(completion times in s, restarts of each, what the controller says of them last)"""
        begin, numbers, submitted, shown = time.time(), [], [], {}
        for number, job in enumerate(jobs):
            time.sleep(max(0, begin + job[0] - time.time()))
            submitted.append(time.time())
            numbers.append(self.submit(number, job))
        ends = [self.folder / "work" / number / "end" for number in numbers]
        while not all(end.exists() and end.read_text() for end in ends):
            time.sleep(0.5)
            if self.controller:
                page = re.findall(r"(http://\S+)/", self.log.read_text())[-1]
                shown.update({one["job"]: one for one in json.loads(fetch(page + "/v1/slurm")[1])["sizes"]})
        runs = [(self.folder / "work" / number / "runs").read_text().splitlines() for number in numbers]
        return [float(end.read_text()) - at for end, at in zip(ends, submitted)], [len(run) - 1 for run in runs], shown

    def stop(self):
        if self.controller:
            self.controller.send_signal(signal.SIGTERM)
            self.controller.wait()
        self.cluster.stop()


def predict(program, jobs, policy, known, restart_s):
    """Mean completion time by the simulator, in s."""
    lines = ["job,submit,gpus,steps,speeds"]
    for number, job in enumerate(jobs):
        speeds = " ".join(f"{nodes * NUM_GPUS}:{speed(job, nodes):.6f}" for nodes in range(1, NUM_HOSTS + 1))
        lines.append(f"job{number},{job[0]:.3f},{job[1] * NUM_GPUS},{job[2]},{speeds}")
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"aiturbo.{key}={value}")]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "workload.csv"
        path.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [program, "sched", "run", str(path), "--layout", "neutral", "--cluster", f"{NUM_HOSTS}x{NUM_GPUS}", "--policy", policy,
             "--known", known, "--interval-s", "1", "--restart-s", f"{restart_s:.2f}", "--json", "-",
             *(settings if policy == "aiturbo" else ())], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["runs"][0]["jct_s"]["mean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--json", type=pathlib.Path, help="all results")
    args = parser.parse_args()
    if reason := slurm_cluster.missing():
        sys.exit(f"sizes_bench: {reason}")
    program, results = str(args.program.resolve()), []
    for seed in map(int, args.seeds.split(",")):
        jobs = draw_workload(seed)
        result = {"seed": seed, "jobs": jobs}
        for name in ("plain", "fairlead"):
            with tempfile.TemporaryDirectory(prefix="fl-slurm-") as folder:
                run = Run(program, pathlib.Path(folder), name == "fairlead")
                try:
                    times, restarts, shown = run.execute(jobs)
                finally:
                    run.stop()
            costs = [one["restart_cost_s"] for one in shown.values()]
            result[name] = {"completion_s": times, "restarts": restarts, "restart_cost_s": statistics.mean(costs) if costs else None}
            cost_s = statistics.mean(costs) if costs else 0
            predicted = predict(program, jobs, *(("aiturbo", "declared") if costs else ("fcfs-skip", "oracle")), cost_s)
            print(f"seed {seed} {name:8s} mean {statistics.mean(times):6.1f} s (predicted {predicted:6.1f} s), longest {max(times):6.1f} s"
                  + (f", {sum(restarts)} restarts of {cost_s:.1f} s" if costs else ""), flush=True)
        results.append(result)
    plain, ours = ([statistics.mean(result[name]["completion_s"]) for result in results] for name in ("plain", "fairlead"))
    print(f"mean completion time: {100 * (1 - statistics.mean(ours) / statistics.mean(plain)):.0f} % lower, of single workloads "
          + ", ".join(f"{100 * (1 - b / a):.0f} %" for a, b in zip(plain, ours)))
    if args.json:
        args.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
