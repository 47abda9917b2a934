#!/usr/bin/python3
"""Elastic jobs on a real Slurm, with and without Fairlead: mean completion times of the same workload.

    python3 bench/slurm/sizes_bench.py build/release/apps/fairlead --seeds 1,2,3 --at-once 6      as root; about 40 minutes

Each workload has 12 jobs on 8 hosts of 4 GPUs. A job of b nodes takes t(b) = t(1) ((1 - f) / b + f) for a step, with a share
f of its own from 0 to 0.12; its length is log-normal, so that most are short and few are long, and its owner asks for 1, 2 or
4 nodes. Jobs are batch scripts that sleep and count steps; they write a checkpoint on SIGTERM. A restart takes about 3.6 s
here, 0.12 of the 30 s that the policy's times are made for, so these times are 0.12 of their defaults. With --scale 4 a job
has 440 s of work for one node at the median, as one of an hour would; with --scale 1 a quarter of that.

    plain     what its owner asks for, fixed; Slurm's backfill, with limits of twice the time that each job takes
    fairlead  a range of 1 to 8 nodes; lengths declared, speeds not known beforehand

What `fairlead sched run` predicts for the same workload is printed beside it: fcfs-skip for plain; aiturbo with --known steps
for fairlead, with the restart cost that was measured. Both know what steps took more than they should (starting `sleep`).
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import re
import signal
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import slurm_cluster  # noqa: E402
from patience import fetch  # noqa: E402

NUM_HOSTS, NUM_GPUS, NUM_JOBS = 8, 4, 12
# Times of the policy are made for restarts of 30 s; here one takes about 3.6 s, so all are 0.12 of their defaults.
SETTINGS = {"hold_s": 36, "min_run_s": 72, "round_s": 29, "patience_s": 72, "max_wait_s": 1728}
# Clusters choose free ports when they start.
STARTING = threading.Lock()
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


def draw_workload(seed, scale):
    """[(submission in s, nodes asked for, steps, seconds of a step on one node, share f)]"""
    chance = random.Random(seed)
    jobs, at = [], 0.0
    for _ in range(NUM_JOBS):
        asked = chance.choice((1, 1, 2, 2, 4))
        share = chance.uniform(0, 0.12)
        alone_s = scale * min(600, max(30, math.exp(chance.gauss(math.log(110), 0.9))))  # on one node
        jobs.append((at, asked, max(30, round(alone_s / 1.0)), 1.0, share))
        at += scale * chance.expovariate(1 / 10)
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
        with STARTING:
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
                 "--engine", "slurm", "--slurm-period", "1", "--steer", "act", "--alive-file", str(self.alive), "--slurm-elastic",
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
        # Owners know about how long their jobs take: backfill needs that.
        limit_min = 300 if self.controller else math.ceil(2 * steps * speed(job, asked) / 60) + 1
        wish = json.dumps({"fairlead": {"steps": steps, "progress": str(progress)}}) if self.controller else "plain"
        return self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-N", nodes, "--ntasks-per-node=4", "--gpus-per-node=4",
                                "--exclusive", "--requeue", "--chdir=/", f"--time={limit_min}", f"--comment={wish}", str(script),
                                f"{self.folder}/work", str(steps), str(step_s), str(share)).strip()

    def execute(self, jobs):
        """(submissions, runs of each: [begin, nodes, steps before], ends, what the controller says of each job last)"""
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
        runs = []
        for number, end in zip(numbers, ends):
            own = [line.split() for line in (self.folder / "work" / number / "runs").read_text().splitlines()]
            runs.append([[float(begin), int(nodes), int(done)] for begin, nodes, done in own])
        return submitted, runs, [float(end.read_text()) for end in ends], shown

    def stop(self):
        if self.controller:
            self.controller.send_signal(signal.SIGTERM)
            self.controller.wait()
        self.cluster.stop()


def overhead_s(jobs, runs, ends):
    """What a step took more than it should, s: the mean over the last run of each job."""
    more, steps = 0, 0
    for job, own, end in zip(jobs, runs, ends):
        begin, nodes, done = own[-1]
        more += end - begin - (job[2] - done) * speed(job, nodes)
        steps += job[2] - done
    return max(0, more / steps)


def start_s(submitted, runs, ends):
    """How long a start took, s: from when the job was there, and the last one ended whose nodes it might have waited for."""
    return statistics.median(own[0][0] - max([at, *(end for end in ends if end < own[0][0])]) for at, own in zip(submitted, runs))


def predict(program, jobs, with_fairlead, restart_s, step_s):
    """Mean completion time by the simulator, in s. Args: step_s: what a step takes more than it should."""
    lines = ["job,submit,gpus,steps,speeds"]
    for number, job in enumerate(jobs):
        speeds = " ".join(f"{nodes * NUM_GPUS}:{speed(job, nodes) + step_s:.6f}" for nodes in range(1, NUM_HOSTS + 1))
        lines.append(f"job{number},{job[0]:.3f},{(1 if with_fairlead else job[1]) * NUM_GPUS},{job[2]},{speeds}")
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"aiturbo.{key}={value}")]
    policy = ("--policy", "aiturbo", "--known", "steps", *settings) if with_fairlead else ("--policy", "fcfs-skip", "--known", "oracle")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "workload.csv"
        path.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [program, "sched", "run", str(path), "--layout", "neutral", "--cluster", f"{NUM_HOSTS}x{NUM_GPUS}", "--interval-s", "1",
             "--restart-s", f"{restart_s:.2f}", "--json", "-", *policy], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["runs"][0]["jct_s"]["mean"]


def measure(program, seed, scale, with_fairlead):
    jobs = draw_workload(seed, scale)
    with tempfile.TemporaryDirectory(prefix="fl-slurm-") as folder:
        run = Run(program, pathlib.Path(folder), with_fairlead)
        try:
            submitted, runs, ends, shown = run.execute(jobs)
        finally:
            run.stop()
    times = [end - at for end, at in zip(ends, submitted)]
    step_s = overhead_s(jobs, runs, ends)
    cost_s = statistics.mean(one["restart_cost_s"] for one in shown.values()) if with_fairlead else start_s(submitted, runs, ends)
    predicted_s = predict(program, jobs, with_fairlead, cost_s, step_s)
    mean_s, num_restarts = statistics.mean(times), sum(len(own) - 1 for own in runs)
    print(f"seed {seed} {'fairlead' if with_fairlead else 'plain':8s} mean {mean_s:6.1f} s, predicted {predicted_s:6.1f} s "
          f"({100 * (predicted_s / mean_s - 1):+.0f} %), longest {max(times):6.1f} s, {1000 * step_s:.0f} ms more a step"
          + (f", {num_restarts} restarts of {cost_s:.1f} s" if with_fairlead else f", starts of {cost_s:.1f} s"), flush=True)
    return {"seed": seed, "scale": scale, "with_fairlead": with_fairlead, "jobs": jobs, "submitted": submitted, "completion_s": times, "runs": runs, "ends": ends,
            "mean_s": mean_s, "predicted_s": predicted_s, "restarts": num_restarts, "restart_cost_s": cost_s, "step_more_s": step_s}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--scale", type=float, default=4, help="of lengths and arrivals; default 4")
    parser.add_argument("--only", choices=("plain", "fairlead"), help="one of both")
    parser.add_argument("--at-once", type=int, default=1, help="clusters at once, each with its own Slurm; default 1")
    parser.add_argument("--json", type=pathlib.Path, help="all results")
    args = parser.parse_args()
    if reason := slurm_cluster.missing():
        sys.exit(f"sizes_bench: {reason}")
    program = str(args.program.resolve())
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        tasks = [pool.submit(measure, program, seed, args.scale, with_fairlead)
                 for seed in map(int, args.seeds.split(",")) for with_fairlead in (False, True)
                 if args.only != ("plain" if with_fairlead else "fairlead")]
        results = [task.result() for task in tasks]
    if args.json:
        args.json.write_text(json.dumps(results))
    if args.only:
        return
    plain, ours = ([result["mean_s"] for result in results if result["with_fairlead"] == kind] for kind in (False, True))
    print(f"mean completion time: {statistics.mean(ours):.1f} s against {statistics.mean(plain):.1f} s, "
          f"{100 * (1 - statistics.mean(ours) / statistics.mean(plain)):.0f} % lower, of single workloads "
          + ", ".join(f"{100 * (1 - b / a):.0f} %" for a, b in zip(plain, ours)))


if __name__ == "__main__":
    main()
