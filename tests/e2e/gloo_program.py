"""What programs do with torch.distributed, for torch_watch_test.py: prints what comes out of it, to the last bit.

usage: gloo_program.py    RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment
"""
import hashlib
import pickle

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

BATCH, WIDTH, OUTPUTS, ITERATIONS = 4, 32, 4, 3


def show(what, *tensors):
    digest = hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()[:16]
    print(what, digest, flush=True)


def train(what, hook_before=None, hook_after=None):
    """Args: hooks that are registered before and after the first forward()."""
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.Linear(WIDTH, OUTPUTS)))
    if hook_before is not None:
        model.register_comm_hook(None, hook_before)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for iteration in range(ITERATIONS):
        optimizer.zero_grad()
        outputs = model(torch.randn(BATCH, WIDTH))
        if iteration == 0 and hook_after is not None:
            model.register_comm_hook(None, hook_after)
        outputs.square().sum().backward()
        optimizer.step()
    pickle.dumps(model.module)
    show(what, *model.parameters(), *model.buffers())
    return model


def call_collectives(rank, size):
    tensor = torch.randn(5)
    dist.all_reduce(tensor)
    dist.broadcast(tensor=tensor, src=1)
    dist.reduce(tensor, 2)
    parts = [torch.zeros(5) for _ in range(size)]
    dist.all_gather(parts, tensor)
    dist.gather(tensor, parts if rank == 0 else None, dst=0)
    dist.scatter(tensor, parts if rank == 0 else None, src=0)
    dist.barrier()
    show("collectives", tensor, *parts)
    works = [dist.all_reduce(part, async_op=True) for part in parts]
    print([work.wait() for work in works], [work.is_completed() for work in works])
    show("without waiting", *parts)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    dist.broadcast_object_list(objects, src=1)
    print(objects)
    if rank == 0:
        dist.send(tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor, src=0)
    show("sent", tensor)


def call_in_groups(rank):
    for number in range(2):
        group = dist.new_group([0, 2])
        tensor = torch.full((3,), rank + number + 0.1)
        print(dist.all_reduce(tensor, group=group))
        if rank != 1:
            dist.broadcast(tensor, src=2, group=group)
            dist.destroy_process_group(group)
        show("group", tensor)


def fail():
    for arguments in (("no tensor",), (), (torch.zeros(1), "no operation")):
        try:
            dist.all_reduce(*arguments)
        except Exception as error:  # all are shown, without addresses
            print(type(error), str(error)[:40])


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    model = train("averaged by DDP")
    train("hook of the program", hook_before=default_hooks.fp16_compress_hook)
    train("hook registered late", hook_after=default_hooks.fp16_compress_hook)
    try:
        model.register_comm_hook(None, default_hooks.allreduce_hook)
        model.register_comm_hook(None, default_hooks.allreduce_hook)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
    call_collectives(rank, size)
    call_in_groups(rank)
    fail()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
