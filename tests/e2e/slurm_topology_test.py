#!/usr/bin/env python3
"""Does a real slurmctld read the topology.conf that `fairlead fabric export slurm` writes, and place jobs by it?

usage: slurm_topology_test.py FAIRLEAD
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import slurm_cluster

FABRIC = """fabric:
  kind: rail-dual-plane
  pods: 2
  segments: 2
  hosts_per_segment: 3
  spines: 2
  cores: 2
  host: {gpus: 4, nics: 4}
"""
# 12 hosts: two pods of two segments, whose hosts meet on 4 rails x 2 planes.
SWITCHES = {"group0": ("0", "h[0-2]"), "group1": ("0", "h[3-5]"), "group2": ("0", "h[6-8]"), "group3": ("0", "h[9-11]"),
            "pod0": ("1", "h[0-5]"), "pod1": ("1", "h[6-11]"), "cores": ("2", "h[0-11]")}


def fairlead(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, timeout=60, check=True).stdout


def check_nodes(cluster, folder):
    """Lines of hosts, as the slurm.conf of another slurmctld."""
    lines = fairlead("fabric", "export", "slurm", "--nodes", str(folder / "fabric.yaml"))
    other = folder / "other"
    (other / "state").mkdir(parents=True)
    own = [line for line in cluster.conf.read_text().splitlines() if not line.startswith(("NodeName=", "PartitionName=", "GresTypes="))]
    text = re.sub("SlurmctldPort=.*", f"SlurmctldPort={slurm_cluster.free_ports(1)[0]}", "\n".join(own))
    for name in ("state", "run/slurmctld.pid", "log/slurmctld.log"):
        text = text.replace(str(cluster.folder / name), str(other / name.split("/")[-1]))
    (other / "slurm.conf").write_text(f"{text}\nNodeName=DEFAULT CPUs=4 RealMemory=1000\n"
                                     + lines.replace(" State=UNKNOWN", " NodeAddr=127.0.0.[1-12] State=UNKNOWN"))  # else what DNS says
    (other / "gres.conf").write_text("Name=gpu Count=4\n")
    (other / "topology.conf").write_text((folder / "topology.conf").read_text())
    cluster.spawn("slurmctld", "-D", "-c", "-f", str(other / "slurm.conf"))
    shown = lambda what: cluster.run("sinfo", "-h", "-o", what, SLURM_CONF=str(other / "slurm.conf")).strip()
    cluster.wait_until(lambda: shown("%R"), "slurmctld with exported nodes",
                       lambda: (other / "slurmctld.log").read_text()[-2000:] + (cluster.folder / "log/daemons").read_text()[-2000:])
    assert shown("%R %D %N %G") == "train 12 h[0-11] gpu:4", shown("%R %D %N %G")


def check(cluster, folder):
    shown = cluster.run("scontrol", "show", "topology")
    found = {}
    for line in shown.splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        found[words["SwitchName"]] = (words["Level"], words["Nodes"])
    assert found == SWITCHES, shown
    log = (cluster.folder / "log" / "slurmctld.log").read_text()
    complaints = [line for line in log.splitlines() if re.search("switch|topology", line, re.I) and "error" in line]
    assert not complaints, complaints

    # One host of each pod's first group is taken: three hosts below one line are group1 or group3, never a mixture.
    for host in ("h0", "h6"):
        cluster.wait_for(cluster.submit("sleep 60", "-N1", "--exclusive", "-w", host), "RUNNING")
    for _ in range(2):
        job = cluster.submit("sleep 60", "-N3", "--exclusive", "--switches=1")
        cluster.wait_for(job, "RUNNING")
        hosts = cluster.value(job, "NodeList")
        assert hosts in ("h[3-5]", "h[9-11]"), hosts

    check_nodes(cluster, folder)

    # And back: a fabric whose export is the same.
    again = folder / "again.yaml"
    fairlead("fabric", "import", "slurm", str(folder / "topology.conf"), "--speed", "400", "-o", str(again))
    lines = [[line for line in fairlead("fabric", "export", "slurm", str(path)).splitlines() if not line.startswith("#")]
             for path in (folder / "fabric.yaml", again)]
    assert lines[0] == lines[1], lines


reason = slurm_cluster.missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="fl-slurm-") as name:
    folder = pathlib.Path(name)
    (folder / "fabric.yaml").write_text(FABRIC)
    fairlead("fabric", "export", "slurm", str(folder / "fabric.yaml"), "-o", str(folder / "topology.conf"))
    cluster = slurm_cluster.SlurmCluster(folder, num_hosts=12, topology=(folder / "topology.conf").read_text())
    try:
        cluster.start()
        check(cluster, folder)
    finally:
        cluster.stop()
print("slurmctld reads our topology.conf and places jobs by it")
