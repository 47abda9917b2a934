#!/usr/bin/env python3
"""What operators, plugins and users write where Fairlead's marks stand is told, and touches nothing: AdminComments that are
nearly marks, of several lines, with quotes and separators; heterogeneous jobs that are marked.

usage: slurm_marks_test.py FAIRLEAD SOURCE_DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import slurm_cluster

FAIRLEAD, SOURCE_DIR = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
INTEGRATION = SOURCE_DIR / "integrations" / "slurm"
NUM_HOSTS = 4
FABRIC = f"""fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: {NUM_HOSTS // 2}
  spines: 2
  uplink_gbps: 100
  host: {{gpus: 4, nics: 1, ports_per_nic: 1, port_gbps: 100}}
"""
# [comment] whether it looks like ours and is not.
COMMENTS = {"fairlead:": True, "fairlead:v1 nodes=5-2 tasks-per-node=4 held": True, "fairlead:v2 nodes=1-3 tasks-per-node=4": True,
            "fairlead:v1 nodes=1-3 tasks-per-node=4|7|x": True, "fairlead:v1 nodes=1-3 tasks-per-node=4 held held": True,
            "x\nfairlead:v1 nodes=1-3 tasks-per-node=4\n9|N/A|": False, "\"'; $(reboot) `id` \u00fcn\u00ef": False,
            "".join(map(chr, range(1, 32))) + "\x7f": False, "fairlead:v1 nodes=1-3 tasks-per-node=4\n": True,
            " fairlead:v1 nodes=1-3 tasks-per-node=4 held": False, "fairlead:v1 nodes=1-3 tasks-per-node=4" + 40 * " " + "x": True,
            # Bytes that are no text; what looks like the end of a job, and another one behind it; as long as can be.
            "\udcff\udcfe\udcc3(": False, "x|end-of-job\n": False,
            "\n77|N/A|N/A|0|PENDING|0|0|1|1|3|2|2|2|1|0|0:00|train|(null)||" + "JobHeldUser".ljust(64) + 2 * "fairlead:v1 nodes=1-3 tasks-per-node=4 held".ljust(64)
            + "\n": False, "y" * 65536: False}


def submit(cluster, *options):
    return cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--chdir=/", "-N1-2", "--ntasks-per-node=4", *options).strip()


def check(cluster, folder, alive):
    running = cluster.submit("exec sleep 1000", "-N1", "--exclusive", "--chdir=/")
    cluster.wait_for(running, "RUNNING")
    jobs = {submit(cluster, "--hold", "--wrap=sleep 100"): comment for comment in COMMENTS}
    # Its first part is held, and will have the mark of that.
    opted_in = submit(cluster, "--hold", ":", "-N1-2", "--ntasks-per-node=4", "--wrap=sleep 300")
    marked = submit(cluster, ":", "-N1", "--ntasks-per-node=4", "--wrap=sleep 300")
    comments = {**jobs, running: "fairlead:v1 nodes=1-3 tasks-per-node=4 x", marked: "fairlead:v1 nodes=1-3 tasks-per-node=4",
                opted_in: "fairlead:v1 nodes=1-2 tasks-per-node=4 held"}
    for job, comment in comments.items():
        cluster.run("scontrol", "update", f"JobId={job}", f"AdminComment={comment}")
    shown = lambda job: cluster.run("scontrol", "show", "job", "-o", job)
    with open(folder / "log" / "controller", "wb") as log:
        controller = subprocess.Popen(
            [FAIRLEAD, "controller", "--fabric", f"{folder}/fabric.yaml", "--addresses", f"{folder}/addresses.json", "--listen",
             f"unix:{folder}/agents.sock", "--store", f"sqlite:{folder}/store.db", "--engine", "slurm", "--slurm-period", "1", "--steer", "act",
             "--alive-file", str(alive), "--slurm-elastic", "train"], stdout=log, stderr=log, env=cluster.environment)
    try:
        log = lambda: (folder / "log" / "controller").read_text()
        is_not_ours = [job for job, comment in comments.items() if job == running or COMMENTS.get(comment)]
        for job in is_not_ours:
            cluster.wait_until(lambda: f"job {job} mark: its AdminComment begins as one of Fairlead's and is not understood" in log(), f"word of job {job}", log)
        for job in (marked, opted_in):
            cluster.wait_until(lambda: f"job {job} mark: is an array, or heterogeneous" in log(), f"word of job {job}", log)
        cluster.wait_until(lambda: f"job {opted_in}: is released" in log(), "release of what the plugin holds", log)
        assert "no reading" not in log(), log()
        for job in jobs:
            assert (cluster.state(job), cluster.value(job, "Priority")) == ("PENDING", "0"), shown(job)
            assert f"job {job}: " not in log(), log()
        assert (cluster.state(running), cluster.value(running, "Restarts")) == ("RUNNING", "0"), shown(running)
        assert "job 77" not in log(), log()
        for job, comment in comments.items():
            said = subprocess.run(["squeue", "-h", "-a", "-j", job, "-O", "admin_comment:|"], capture_output=True, env=cluster.environment, check=True)
            is_left = job != opted_in  # what is released has the mark of a hold no more
            assert (os.fsencode(comment) in said.stdout) == is_left, job
    finally:
        controller.kill()
        controller.wait()


def main():
    if reason := slurm_cluster.missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="fl-slurm-", ignore_cleanup_errors=True) as temporary:
        folder = pathlib.Path(temporary)
        alive = folder / "alive"
        cluster = slurm_cluster.SlurmCluster(folder, NUM_HOSTS, 4, options="JobSubmitPlugins=lua\n")
        lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
        (folder / "etc" / "job_submit.lua").write_text(
            lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{alive}"'))
        (folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))
        try:
            cluster.start()
            alive.write_text(cluster.run("date", "+%s"))
            check(cluster, folder, alive)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
