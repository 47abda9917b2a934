#!/usr/bin/env python3
"""A small PyTorch training job: DistributedDataParallel over Gloo on CPUs, as a user would write it.

Nothing here knows of Fairlead. Start one process for each host with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and
to have it steered LD_PRELOAD=libfairlead-steer.so and FAIRLEAD_JOB=NAME. Rank 0 prints one line of JSON for each
iteration: {"iteration": 3, "begin_s": 71.25, "seconds": 0.51, "loss": 0.7}, with seconds of the monotonic clock.

usage: train_ddp.py [--iterations N] [--width N]     N iterations; the model has about 2 * width * width parameters
"""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--width", type=int, default=512)
    args = parser.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(args.width, args.width), torch.nn.ReLU(), torch.nn.Linear(args.width, args.width)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + rank)
    for iteration in range(args.iterations):
        begin_s = time.monotonic()
        data = torch.randn(8, args.width, generator=generator)
        loss = (model(data) - data.roll(1, dims=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(json.dumps({"iteration": iteration, "begin_s": begin_s, "seconds": time.monotonic() - begin_s,
                              "loss": loss.item()}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
