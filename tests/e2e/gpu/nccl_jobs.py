"""Training jobs of several kinds, for record_jobs.py: small, but they compute and communicate as large ones do. Know
nothing of Fairlead.

usage: nccl_jobs.py KIND FOLDER [--seconds N] [--backend nccl|gloo] [--scale F]

KIND  ddp       a transformer whose gradients DistributedDataParallel averages, in buckets of bf16
      zero      parameters are in shards: gathered before each layer's forward and backward; gradients are scattered
      pipeline  a stage of a transformer in each rank, 1F1B: activations and gradients are sent between neighbours
      moe       tokens go to experts on other ranks and come back, in parts that differ by rank and iteration
      fsdp      PyTorch's own shards (fully_shard), each layer gathered twice; with nccl only
      tensor    pairs of ranks share each layer and add up activations; pairs average their gradients
      lengths   ddp with sequences of 0.6 to 1.4 times the length, drawn by each rank for each step
      evaluates ddp whose first rank now and then evaluates and saves for 28 s, while the others wait

Each rank is a process, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment; nothing else of it is
looked at here. With nccl all use GPU 0, with gloo the CPU. --scale F makes tensors about F times as wide and as long.

FOLDER/control.RANK is looked at when an iteration begins: JSON, which may come, change (by a rename) and go at any
time. What can't be read says nothing.
    {"compute": 1.5}      this rank computes 1.5 times as much
    {"loader_s": 0.1}     it sleeps that long in each iteration, before anything else
    {"pause_s": 25}       it sleeps that long once; again when the file's content has changed
    {"end": true}         of rank 0: the job ends
FOLDER/iteration.RANK has the last iteration that the host has enqueued, FOLDER/times.RANK a line "unix_time iteration"
for each. The host runs ahead of the GPU, except that every tenth iteration is waited for. All ranks end after the same
iteration: the first of those that ends after --seconds, if given, on rank 0.
"""
import argparse
import collections
import contextlib
import functools
import itertools
import json
import os
import pathlib
import random
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

ITERATIONS_BETWEEN_REPORTS = 10
LEARNING_RATE = 1e-4
HEAD_WIDTH = 64

# Sizes at --scale 1. What a rank sends is of an iteration of four ranks.
# 13 M parameters: 39 MB. 64 k tokens.
DDP_LAYERS, DDP_WIDTH, DDP_WORDS, DDP_LENGTH, DDP_BATCH, DDP_STEPS, DDP_BUCKET_MB = 4, 512, 1024, 512, 32, 4, 12
# 13 M parameters, gathered twice and scattered once: 57 MB.
ZERO_LAYERS, ZERO_WIDTH, ZERO_TOKENS = 6, 512, 65536
# 3 MB for each microbatch and direction: 50 MB, of the first and last rank 25 MB. 63 M parameters in a stage.
PIPELINE_LAYERS, PIPELINE_WIDTH, PIPELINE_LENGTH, PIPELINE_BATCH, PIPELINE_MICROBATCHES = 5, 1024, 256, 6, 8
PIPELINE_TIED = 1 << 18
# 13 MB four times, three quarters of them to others: 38 MB; 13 MB for gradients. 134 M parameters in an expert.
MOE_LAYERS, MOE_WIDTH, MOE_EXPERT_WIDTH, MOE_TOKENS, MOE_SEED = 8, 1024, 8192, 6144, 7
# 38 M parameters, gathered twice and scattered once.
FSDP_LAYERS, FSDP_WIDTH, FSDP_BATCH = 12, 512, 8
# 4 MB for each layer and microbatch, four times.
TENSOR_LAYERS, TENSOR_WIDTH, TENSOR_LENGTH, TENSOR_BATCH, TENSOR_MICROBATCHES, TENSOR_RANKS = 4, 1024, 256, 8, 4, 2
SHORTEST, LONGEST = 0.6, 1.4
EVALUATION_ITERATIONS, EVALUATION_S, SAVING_S = 240, 20, 8


class Faults:
    """What the control file says of this rank."""

    def __init__(self, path, autocast):
        self._path, self._autocast = path, autocast
        self._text, self._compute, self._owed = "", 1.0, 0.0
        self.is_to_end = False

    def begin_iteration(self):
        try:
            text = self._path.read_text()
            said = json.loads(text)
            compute, loader_s, pause_s = (float(said.get(key, otherwise)) for key, otherwise in
                                          (("compute", 1), ("loader_s", 0), ("pause_s", 0)))
            self.is_to_end = said.get("end") is True
        except (OSError, ValueError, TypeError, AttributeError):
            text, compute, loader_s, pause_s, self.is_to_end = "", 1.0, 0.0, 0.0, False
        if text == self._text:
            pause_s = 0.0
        self._text = text
        if compute != self._compute:
            self._compute, self._owed = compute, 0.0
        time.sleep(max(0.0, loader_s) + max(0.0, pause_s))

    def slow(self, function, num_calls):
        """Computes more, after work that takes as long as that many calls of the function."""
        if self._compute <= 1:
            return
        self._owed += (self._compute - 1) * num_calls
        with torch.no_grad():
            while self._owed >= 1:
                function()
                self._owed -= 1

    def concern(self, modules, twin=None):
        """Of one input each. They get slow along their forward, and their backward, which takes twice as long. What is
        computed again is the module, or what is as costly: a `twin` that does not communicate."""
        def again(module):
            with self._autocast(cache_enabled=False):
                (twin or module).forward(module.seen)

        def after_forward(module, inputs, _):
            module.seen = inputs[0].detach()
            self.slow(lambda: again(module), 1)

        def after_backward(module, *_):
            self.slow(lambda: again(module), 2)
        for module in modules:
            module.register_forward_hook(after_forward)
            module.register_full_backward_hook(after_backward)


class Place:
    """Where this rank computes, with which sizes."""

    def __init__(self, folder, backend, scale):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.is_on_gpu, self._scale = backend == "nccl", scale
        self.device = torch.device("cuda" if self.is_on_gpu else "cpu")
        self.dtype = torch.bfloat16 if self.is_on_gpu else torch.float32  # of what is sent
        self.faults = Faults(folder / f"control.{self.rank}", self.autocast)

    def autocast(self, cache_enabled=True):
        if not self.is_on_gpu:
            return contextlib.nullcontext()
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=cache_enabled)

    def scaled(self, number, multiple=1):
        return max(1, round(number * self._scale / multiple)) * multiple

    def random(self, *shape):
        return torch.randn(*shape, device=self.device, dtype=self.dtype)

    def all_gather(self, whole, part):
        """Begins. Returns what is to be waited for."""
        if self.is_on_gpu:
            return [dist.all_gather_into_tensor(whole, part, async_op=True)]
        return [dist.all_gather(list(whole.chunk(self.size)), part, async_op=True)]

    def reduce_scatter(self, whole):
        """Begins. Returns what is to be waited for, and the part of this rank, which is then there."""
        parts = whole.chunk(self.size)
        if not self.is_on_gpu:
            return [dist.reduce(part, rank, async_op=True) for rank, part in enumerate(parts)], parts[self.rank]
        part = torch.empty_like(parts[self.rank])
        return [dist.reduce_scatter_tensor(part, whole, async_op=True)], part


def attend(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    later = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).triu(1)  # PyTorch 1
    return ((q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5).masked_fill(later, float("-inf")).softmax(-1) @ v


class Mlp(nn.Module):
    def __init__(self, width, inner_width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner_width), nn.Linear(inner_width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, -1, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
        return self.mlp(x + self.out(attend(q, k, v).transpose(1, 2).reshape(batch, length, width)))


class Gpt(nn.Module):
    def __init__(self, layers, width, words, dtype):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(words, width), nn.LayerNorm(width)
        self.blocks, self.dtype = nn.ModuleList([Block(width) for _ in range(layers)]), dtype
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, tokens):
        x = self.embedding(tokens).to(self.dtype)
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.embedding.weight)


def ddp(place, lengths=(1, 1), evaluates=False):
    """Each of these returns what does an iteration and returns a loss, and does not wait for the GPU."""
    length, batch = place.scaled(DDP_LENGTH), place.scaled(DDP_BATCH)
    model = Gpt(DDP_LAYERS, place.scaled(DDP_WIDTH, HEAD_WIDTH), DDP_WORDS, place.dtype).to(place.device)
    place.faults.concern(model.blocks)
    model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=max(1, place.scaled(DDP_BUCKET_MB)))
    if place.is_on_gpu:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    chance = random.Random(place.rank)
    iterations = itertools.count(1)

    def draw_tokens():
        here = round(length * chance.uniform(*lengths))
        return torch.randint(DDP_WORDS, (batch, here + 1), device=place.device)

    def evaluate():
        end = time.monotonic() + EVALUATION_S
        while time.monotonic() < end:
            with torch.no_grad(), place.autocast():
                model.module(draw_tokens()).sum().item()
        time.sleep(SAVING_S)

    def iterate():
        if evaluates and place.rank == 0 and next(iterations) % EVALUATION_ITERATIONS == 0:
            evaluate()
        optimizer.zero_grad()
        for step in range(DDP_STEPS):
            with contextlib.nullcontext() if step == DDP_STEPS - 1 else model.no_sync():
                tokens = draw_tokens()
                with place.autocast():
                    words = model(tokens[:, :-1])
                    loss = F.cross_entropy(words.flatten(0, 1), tokens[:, 1:].flatten())
                (loss / DDP_STEPS).backward()
        optimizer.step()
        return loss
    return iterate


def zero(place):
    width, tokens = place.scaled(ZERO_WIDTH, HEAD_WIDTH), place.scaled(ZERO_TOKENS)
    half = 4 * width * width
    elements_of_shard = -(-2 * half // place.size)
    shards = [0.02 * torch.randn(elements_of_shard, device=place.device) for _ in range(ZERO_LAYERS)]
    optimizer = torch.optim.AdamW(shards, lr=LEARNING_RATE)

    def compute(x, parameters):
        up, down = parameters[:half].view(4 * width, width), parameters[half:2 * half].view(width, 4 * width)
        return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,)), up)), down)

    def parameters_of(layers):
        """Of one layer after the other. Those of the next one are under way meanwhile."""
        under_way = None
        for layer in (*layers, None):
            here, under_way = under_way, None
            if layer is not None:
                part = shards[layer].to(place.dtype)
                whole = torch.empty(place.size * elements_of_shard, device=place.device, dtype=place.dtype)
                under_way = place.all_gather(whole, part), whole
            if here is not None:
                for work in here[0]:
                    work.wait()
                yield here[1]

    def iterate():
        x, inputs, scattered = place.random(tokens, width), [], [None] * ZERO_LAYERS
        with torch.no_grad():
            for parameters in parameters_of(range(ZERO_LAYERS)):
                inputs.append(x)
                x = compute(x, parameters)
                place.faults.slow(lambda: compute(inputs[-1], parameters), 1)
        loss, gradient = x.float().square().mean(), x * (2 / x.numel())
        backward = range(ZERO_LAYERS - 1, -1, -1)
        for layer, parameters in zip(backward, parameters_of(backward)):
            x = inputs.pop().requires_grad_()
            parameters.requires_grad_()
            compute(x, parameters).backward(gradient)
            place.faults.slow(lambda: compute(x, parameters), 3)
            gradient = x.grad
            scattered[layer] = place.reduce_scatter(parameters.grad)
        for shard, (works, part) in zip(shards, scattered):
            for work in works:
                work.wait()
            shard.grad = part.float() / place.size
        optimizer.step()
        return loss
    return iterate


def pipeline(place):
    width = place.scaled(PIPELINE_WIDTH, HEAD_WIDTH)
    shape = (place.scaled(PIPELINE_BATCH), place.scaled(PIPELINE_LENGTH), width)
    stage = nn.Sequential(*(Block(width) for _ in range(PIPELINE_LAYERS))).to(place.device)
    place.faults.concern(stage)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=LEARNING_RATE)
    tied = torch.zeros(place.scaled(PIPELINE_TIED), device=place.device)
    # A group for each direction: in each pair both enqueue the same operations in the same order.
    down, up = dist.new_group(), dist.new_group()
    is_first, is_last = place.rank == 0, place.rank == place.size - 1
    under_way, sent = collections.deque(), []

    def receive(rank, group):
        tensor = torch.empty(shape, device=place.device, dtype=place.dtype)
        dist.irecv(tensor, rank, group=group).wait()
        return tensor

    def send(tensor, rank, group):
        sent.append((dist.isend(tensor, rank, group=group), tensor))

    def forward():
        x = place.random(*shape) if is_first else receive(place.rank - 1, down)
        x.requires_grad_()
        with place.autocast():
            y = stage(x)
            if is_last:
                y = y.float().square().mean() / PIPELINE_MICROBATCHES
        if not is_last:
            y = y.to(place.dtype)
            send(y.detach().contiguous(), place.rank + 1, down)
        under_way.append((x, y))
        return y.detach()

    def backward():
        x, y = under_way.popleft()
        y.backward(None if is_last else receive(place.rank + 1, up))
        if not is_first:
            send(x.grad.contiguous(), place.rank - 1, up)

    def iterate():
        optimizer.zero_grad()
        ahead = min(place.size - 1 - place.rank, PIPELINE_MICROBATCHES)
        for number in range(PIPELINE_MICROBATCHES + ahead):
            if number < PIPELINE_MICROBATCHES:
                output = forward()
            if number >= ahead:
                backward()
        for work, _ in sent:
            work.wait()
        sent.clear()
        dist.all_reduce(tied)
        optimizer.step()
        return output.float().mean()
    return iterate


def fsdp(place):
    from torch.distributed.fsdp import fully_shard
    length = place.scaled(DDP_LENGTH)
    width = place.scaled(FSDP_WIDTH, HEAD_WIDTH)
    model = Gpt(FSDP_LAYERS, width, DDP_WORDS, place.dtype).to(place.device, place.dtype)
    # The parameters of a layer are away when it has been computed.
    place.faults.concern(model.blocks, Block(width).to(place.device, place.dtype))
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)

    def iterate():
        optimizer.zero_grad()
        tokens = torch.randint(DDP_WORDS, (FSDP_BATCH, length + 1), device=place.device)
        loss = F.cross_entropy(model(tokens[:, :-1]).float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss
    return iterate


class ForAll(torch.autograd.Function):
    """Input of a layer that ranks of a group share: their gradients of it are added up."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class OfAll(torch.autograd.Function):
    """Output of such a layer: their parts of it are added up."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class SharedMlp(nn.Module):
    """One rank's part of a layer. Without a group it is computed, and nothing is sent."""

    def __init__(self, width, group):
        super().__init__()
        self.norm, self._group = nn.LayerNorm(width), group
        self.up, self.down = nn.Linear(width, 4 * width // TENSOR_RANKS), nn.Linear(4 * width // TENSOR_RANKS, width)

    def forward(self, x):
        here = self.norm(x)
        if self._group is None:
            return x + self.down(F.gelu(self.up(here)))
        return x + OfAll.apply(self.down(F.gelu(self.up(ForAll.apply(here, self._group)))), self._group)


def tensor(place):
    width = place.scaled(TENSOR_WIDTH, HEAD_WIDTH)
    shape = place.scaled(TENSOR_BATCH), place.scaled(TENSOR_LENGTH), width
    pairs = [dist.new_group(list(range(first, first + TENSOR_RANKS))) for first in range(0, place.size, TENSOR_RANKS)]
    replicas = [dist.new_group(list(range(part, place.size, TENSOR_RANKS))) for part in range(TENSOR_RANKS)]
    pair, replica = pairs[place.rank // TENSOR_RANKS], replicas[place.rank % TENSOR_RANKS]
    layers = nn.Sequential(*(SharedMlp(width, pair) for _ in range(2 * TENSOR_LAYERS))).to(place.device, place.dtype)
    place.faults.concern(layers, SharedMlp(width, None).to(place.device, place.dtype))
    optimizer = torch.optim.SGD(layers.parameters(), lr=LEARNING_RATE)

    def iterate():
        optimizer.zero_grad()
        for _ in range(TENSOR_MICROBATCHES):
            loss = layers(place.random(*shape).requires_grad_()).float().square().mean() / TENSOR_MICROBATCHES
            loss.backward()
        works = [dist.all_reduce(parameter.grad, group=replica, async_op=True) for parameter in layers.parameters()]
        for work in works:
            work.wait()
        optimizer.step()
        return loss
    return iterate


def exchange(rows, sent, received):
    result = rows.new_empty(sum(received), rows.shape[1])
    dist.all_to_all_single(result, rows, received, sent)
    return result


class Exchange(torch.autograd.Function):
    """Rows go to other ranks, `sent[rank]` to each, and as many as `received` says come."""

    @staticmethod
    def forward(ctx, rows, sent, received):
        ctx.splits = sent, received
        return exchange(rows, sent, received)

    @staticmethod
    def backward(ctx, gradients):
        sent, received = ctx.splits
        return exchange(gradients.contiguous(), received, sent), None, None


def moe(place):
    width, tokens = place.scaled(MOE_WIDTH, HEAD_WIDTH), place.scaled(MOE_TOKENS)
    dense = Mlp(width, width).to(place.device)
    expert = nn.Sequential(*(Mlp(width, place.scaled(MOE_EXPERT_WIDTH, HEAD_WIDTH)) for _ in range(MOE_LAYERS)))
    expert = expert.to(place.device, place.dtype)
    place.faults.concern([dense, *expert])
    optimizer = torch.optim.SGD([*dense.parameters(), *expert.parameters()], lr=LEARNING_RATE)
    drawn = torch.Generator().manual_seed(MOE_SEED)  # all ranks draw the same
    try:
        exchange(place.random(place.size, width), [1] * place.size, [1] * place.size)
    except RuntimeError as error:
        if place.is_on_gpu:
            raise
        sys.exit(f"skipped: {str(error).splitlines()[0]}")

    def draw_splits():
        shares = torch.rand(place.size, place.size, generator=drawn) + 0.25
        rows = (shares / shares.sum(1, keepdim=True) * tokens).long()
        rows[:, -1] += tokens - rows.sum(1)
        return rows[place.rank].tolist(), rows[:, place.rank].tolist()

    def iterate():
        optimizer.zero_grad()
        sent, received = draw_splits()
        with place.autocast():
            x = dense(place.random(tokens, width).requires_grad_()).to(place.dtype)
            y = expert(Exchange.apply(x, sent, received))
            loss = Exchange.apply(y.to(place.dtype), received, sent).float().square().mean()
        loss.backward()
        gradients = torch.cat([parameter.grad.flatten() for parameter in dense.parameters()])
        dist.all_reduce(gradients)
        parts = gradients.split([parameter.numel() for parameter in dense.parameters()])
        for parameter, part in zip(dense.parameters(), parts):
            parameter.grad = part.view_as(parameter) / place.size
        optimizer.step()
        return loss
    return iterate


def train(iterate, place, folder, seconds):
    end = time.monotonic() + seconds
    iteration, has_ended = 0, False
    with open(folder / f"times.{place.rank}", "a", buffering=1, encoding="ascii") as times:
        while not has_ended:
            place.faults.begin_iteration()
            loss = iterate()
            iteration += 1
            if iteration % ITERATIONS_BETWEEN_REPORTS == 0:
                is_to_end = place.rank == 0 and (place.faults.is_to_end or time.monotonic() >= end)
                report = torch.stack([loss.detach().float(), torch.full((), float(is_to_end), device=place.device)])
                dist.all_reduce(report)
                has_ended = report.tolist()[1] > 0
            (folder / f"iteration.{place.rank}").write_text(str(iteration))
            times.write(f"{time.time():.6f} {iteration}\n")


def main():
    parser = argparse.ArgumentParser()
    kinds = {"ddp": ddp, "zero": zero, "pipeline": pipeline, "moe": moe, "fsdp": fsdp, "tensor": tensor,
             "lengths": functools.partial(ddp, lengths=(SHORTEST, LONGEST)),
             "evaluates": functools.partial(ddp, evaluates=True)}
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ["RANK"]))
    if options.backend == "nccl":
        torch.cuda.set_device(0)
    dist.init_process_group(options.backend)
    place = Place(options.folder, options.backend, options.scale)
    train(kinds[options.kind](place), place, options.folder, options.seconds)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
