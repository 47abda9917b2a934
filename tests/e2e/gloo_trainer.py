"""A small training program on Gloo, for torch_watch_test.py: DistributedDataParallel, knows nothing of Fairlead.

usage: gloo_trainer.py FOLDER    RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment

Writes its iteration to FOLDER/iteration.RANK. While FOLDER/loop.RANK is there, it is stuck before the next one; while
FOLDER/slow.RANK is, it takes longer for each; with FOLDER/order.RANK it calls what nobody else does. After an error of
a collective it waits for somebody to look at it.
"""
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist

BATCH, WIDTH, OUTPUTS = 4, 64, 4


def train(folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.ReLU(),
                            torch.nn.Linear(WIDTH, OUTPUTS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    iteration = 0
    while True:
        while (folder / f"loop.{rank}").exists():
            time.sleep(0.01)
        # What a GPU would need.
        time.sleep(0.15 if (folder / f"slow.{rank}").exists() else 0.05)
        if (folder / f"order.{rank}").exists():
            dist.barrier()
        optimizer.zero_grad()
        model(torch.randn(BATCH, WIDTH)).square().sum().backward()
        optimizer.step()
        iteration += 1
        if iteration % 20 == 0:
            dist.all_gather_object([None] * dist.get_world_size(), {"iteration": iteration})
            dist.barrier()
        (folder / f"iteration.{rank}").write_text(str(iteration))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        train(pathlib.Path(sys.argv[1]))
    except RuntimeError as error:
        print(error, file=sys.stderr, flush=True)
        signal.pause()
