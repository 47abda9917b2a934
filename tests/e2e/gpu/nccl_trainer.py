"""A small training job on NCCL, for nccl_watch_test.py: all-reduces and a ring of sends; knows nothing of Fairlead.

usage: nccl_trainer.py FOLDER [ITERATIONS]    RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment

All ranks use the same GPU. Writes its iteration to FOLDER/iteration.RANK. After iteration 200, and each 200 more, it
waits while FOLDER/pause is there. With ITERATIONS it ends after so many, and prints the median of their seconds.
"""
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist

ITERATIONS_BETWEEN_PAUSES = 200
REDUCED_ELEMENTS = 1 << 20
SENT_ELEMENTS = 1 << 16


def train(folder, num_iterations):
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    gradients = torch.zeros(REDUCED_ELEMENTS, device="cuda")
    sent, received = torch.zeros(SENT_ELEMENTS, device="cuda"), torch.zeros(SENT_ELEMENTS, device="cuda")
    seconds = []
    while len(seconds) != num_iterations:
        begin = time.monotonic()
        dist.all_reduce(gradients)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, (rank + 1) % size),
                                            dist.P2POp(dist.irecv, received, (rank - 1) % size)]):
            work.wait()
        torch.cuda.synchronize()
        seconds.append(time.monotonic() - begin)
        (folder / f"iteration.{rank}").write_text(str(len(seconds)))
        while len(seconds) % ITERATIONS_BETWEEN_PAUSES == 0 and (folder / "pause").exists():
            time.sleep(0.01)
    print(statistics.median(seconds), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
