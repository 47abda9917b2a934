"""Do our readers and writers do with a real Slurm what they do with a stand-in?

usage: slurm_engine_test.py SLURM_LIVE_TEST [GTEST_OPTION…]
"""
import pathlib
import subprocess
import sys
import tempfile

import slurm_cluster

reason = slurm_cluster.missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="fl-slurm-") as folder:
    cluster = slurm_cluster.SlurmCluster(pathlib.Path(folder), num_hosts=5)
    try:
        cluster.start()
        done = subprocess.run(sys.argv[1:], check=False, timeout=240,
                              env={**cluster.environment, "FAIRLEAD_LIVE_SLURM": str(cluster.rest_socket)})
    finally:
        cluster.stop()
sys.exit(done.returncode)
