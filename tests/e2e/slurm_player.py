"""A training process for tests under Slurm, as the profiler sees one: operations in step with the others, by files.

usage: slurm_player.py PLUGIN_FOLDER FOLDER    SLURM_PROCID, SLURM_NTASKS and the rest of a task's environment

Writes how far it is to FOLDER/RANK, and its host to FOLDER/host.RANK. While FOLDER/hang.RANK is there, it does not come to
the next operation.
"""
import os
import pathlib
import sys
import time

sys.path.insert(0, sys.argv[1])
import plugin  # noqa: E402

folder = pathlib.Path(sys.argv[2])
rank, num_ranks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
communicator = plugin.Communicator(plugin.Plugin(), int(os.environ["SLURM_JOB_ID"]), "world", num_ranks, num_ranks, rank)
folder.mkdir(parents=True, exist_ok=True)


def write(name, text):
    part = folder / f".{name}.{rank}"
    part.write_text(text)
    part.rename(folder / name)


def reached(other):
    path = folder / str(other)
    return int(path.read_text()) if path.exists() else -1


write(f"host.{rank}", os.environ["SLURMD_NODENAME"])
sequence = 0
while True:
    while (folder / f"hang.{rank}").exists():
        time.sleep(0.01)
    time.sleep(0.05)  # what a GPU would need
    kernel = communicator.begin(b"AllReduce", sequence, 250, b"ncclFloat32", -1)
    write(str(rank), str(sequence))
    while any(reached(other) < sequence for other in range(num_ranks)):
        time.sleep(0.005)
    communicator.end(kernel)
    sequence += 1
