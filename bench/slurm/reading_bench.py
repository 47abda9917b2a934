#!/usr/bin/python3
"""What reading a large Slurm costs: 2,000 jobs and 5,000 nodes.

    python3 bench/slurm/reading_bench.py build/release/apps/fairlead build/release/src/slurm/slurm_live_test      as root; 9 minutes

A slurmctld with 5,000 nodes, all but four of them down, and 2,000 jobs that wait, a tenth of them elastic. First single readings
(slurm_live_test, case CostOfAReading), and what slurmctld takes for them. Then a controller with --engine slurm: what it takes
for each reading, with Slurm's programs, and its memory; once looking only, once with sizes, at the default period of 10 s and,
to see more readings, at 2 s. Times are of the processor, so that a busy machine changes them little.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import slurm_cluster  # noqa: E402
from patience import fetch  # noqa: E402

INTEGRATION = ROOT / "integrations" / "slurm"
NUM_UP = 4
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid, with_children=False):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15] if with_children else fields[11:13])) / TICKS


def memory_mb(pid, key="VmHWM"):
    return int(re.search(rf"{key}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def make_cluster(folder, num_nodes, alive):
    down = (f"NodeName=h[{NUM_UP}-{num_nodes - 1}] NodeHostname=nowhere NodeAddr=127.0.0.1 Port=9 CPUs=4 CoresPerSocket=4 RealMemory=1000 "
            "State=DOWN Reason=bench\nJobSubmitPlugins=lua\n")
    cluster = slurm_cluster.SlurmCluster(folder, NUM_UP, options=down,
                                         topology=f"SwitchName=leaf0 Nodes=h[0-{num_nodes - 1}]\n")
    lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
    (folder / "etc" / "job_submit.lua").write_text(
        lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{alive}"'))
    return cluster


def submit_all(cluster, num_jobs):
    script = cluster.folder / "script"
    script.write_text("#!/bin/bash\nexec sleep 1000\n")

    def submit(number):
        # One in ten is elastic; it asks for more nodes than are up, and so waits.
        options = ("-N8-16", "--comment=fairlead") if number % 10 == 0 else ("--hold", "-N2", f"--comment=run {number} of mine")
        cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--ntasks-per-node=4", "--requeue", "--open-mode=append", "--chdir=/",
                    *options, str(script))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(submit, range(num_jobs)))


def run_controller(program, cluster, num_nodes, period_s, seconds, acts, alive):
    (cluster.folder / "fabric.yaml").write_text(
        f"fabric:\n  kind: clos2\n  leaves: 50\n  hosts_per_leaf: {num_nodes // 50}\n  spines: 2\n  uplink_gbps: 100\n"
        "  host: {gpus: 4, nics: 1, ports_per_nic: 1, port_gbps: 100}\n")
    (cluster.folder / "addresses.json").write_text(json.dumps({"nics": {"127.0.0.1": "h0/nic0"}, "interfaces": {}}))
    log = cluster.folder / "log" / f"controller.{period_s}.{acts}"
    with open(log, "ab") as output:
        controller = subprocess.Popen(
            [program, "controller", "--fabric", f"{cluster.folder}/fabric.yaml", "--addresses", f"{cluster.folder}/addresses.json",
             "--listen", f"unix:{cluster.folder}/agents.sock", "--http", "127.0.0.1:0", "--engine", "slurm", "--slurm-period", str(period_s),
             *(("--steer", "act", "--alive-file", str(alive), "--slurm-elastic", "train") if acts else ())],
            stdout=output, stderr=output, env=cluster.environment)
    try:
        while not (log.exists() and "http://" in log.read_text()):
            time.sleep(0.1)
        page = re.findall(r"(http://\S+)/", log.read_text())[-1]

        def readings():
            return int(float(re.search(r"(?m)^fairlead_scheduler_readings_total (\S+)", fetch(page + "/metrics")[1])[1]))
        # Elastic jobs are taken twenty in a reading; that is over then.
        while readings() < (14 if acts else 2):
            time.sleep(0.2)
        before = readings(), cpu_s(controller.pid, True)
        time.sleep(seconds)
        after = readings(), cpu_s(controller.pid, True)
        num, ours = (b - a for a, b in zip(before, after))
        print(f"controller {'acts, sizes ' if acts else 'looks only, '}period {period_s:g} s: {num} readings, {ours / num:.3f} s of CPU each with "
              f"Slurm's programs; {memory_mb(controller.pid):.0f} MB at most",
              flush=True)
    finally:
        controller.send_signal(signal.SIGTERM)
        controller.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("live_test", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=5000)
    args = parser.parse_args()
    if reason := slurm_cluster.missing():
        sys.exit(f"reading_bench: {reason}")
    program, live_test = str(args.program.resolve()), str(args.live_test.resolve())
    with tempfile.TemporaryDirectory(prefix="fl-slurm-") as name:
        folder = pathlib.Path(name)
        alive = folder / "alive"
        cluster = make_cluster(folder, args.nodes, alive)
        try:
            cluster.start()
            alive.write_text(f"{int(time.time()) + 3600}\n")
            submit_all(cluster, args.jobs)
            time.sleep(60)  # with submissions slurmctld has work for a while
            read = [live_test, "--gtest_filter=*CostOfAReading"]
            before, begin = cpu_s(cluster.controller.pid), time.monotonic()
            for number in range(10):
                done = subprocess.run(read, capture_output=True, text=True, check=False,
                                      env={**cluster.environment, "FAIRLEAD_LIVE_SLURM": str(cluster.rest_socket)})
                if number < 3:
                    print("; ".join(line for line in done.stdout.splitlines() if "CPU" in line), flush=True)
            print(f"slurmctld: {(cpu_s(cluster.controller.pid) - before) / 10:.3f} s of CPU for each two readings, by lines and over REST, "
                  f"in {time.monotonic() - begin:.0f} s, its own work included", flush=True)
            for acts in (False, True):
                for period_s, seconds in ((10, 100), (2, 40)):
                    run_controller(program, cluster, args.nodes, period_s, seconds, acts, alive)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
