#!/usr/bin/env python3
"""Writes the example workloads beside this file: what SimAI and Chakra files look like, with numbers easy to check.

  moe-32.txt      SimAI text: 8 layers of a mixture of experts, tensor 4, expert 4, 2 micro-batches, 32 GPUs
  sharded-16.et   Chakra trace (schema 0.0.4) that stands for each of 16 ranks: sharded data parallelism over 16
                  layers, the next layer's parameters gathered while this one computes

usage: make_examples.py [FOLDER]
"""
import pathlib
import sys

MEGABYTE = 1_000_000


def simai_moe():
    """One line per layer and micro-batch; columns as in docs/internals/modules/workload.md."""
    rows = [
        ("grad_gather", 1, "NONE", 0, 1, "NONE", 0, 1, "ALLGATHER", 400 * MEGABYTE),
        ("grad_param_comm", 1, "NONE", 0, 1, "NONE", 0, 1, "REDUCESCATTER", 800 * MEGABYTE),
        ("moe_grad_norm1", 1, "NONE", 0, 1, "NONE", 0, 1, "ALLGATHER_DP_EP", 600 * MEGABYTE),
        ("moe_grad_norm2", 1, "NONE", 0, 1, "NONE", 0, 1, "REDUCESCATTER_DP_EP", 1200 * MEGABYTE),
    ]
    for _ in range(2):
        for _ in range(8):
            rows += [
                ("attention_column", 1_500_000, "ALLGATHER", 16 * MEGABYTE, 1_500_000, "REDUCESCATTER", 16 * MEGABYTE,
                 1_500_000, "NONE", 0),
                ("attention_row", 1_500_000, "REDUCESCATTER", 16 * MEGABYTE, 1_500_000, "ALLGATHER", 16 * MEGABYTE,
                 1_500_000, "NONE", 0),
                ("mlp_moelayer", 1, "ALLTOALL_EP", 8 * MEGABYTE, 1, "ALLTOALL_EP", 8 * MEGABYTE, 1, "NONE", 0),
                ("mlp_moelayer", 4_000_000, "ALLTOALL_EP", 8 * MEGABYTE, 4_000_000, "ALLTOALL_EP", 8 * MEGABYTE,
                 4_000_000, "NONE", 0),
            ]
    header = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 4 pp: 1 vpp: 1 ga: 2 all_gpus: 32 "
              "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0")
    lines = [header, str(len(rows))]
    lines += ["\t".join([row[0], "-1", *map(str, row[1:]), "100"]) for row in rows]
    return "\n".join(lines) + "\n"


# Protocol buffers by hand: a trace needs varints, numbers and byte strings only.
def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def framed(message):
    return varint(len(message)) + message


COMPUTE, COLLECTIVE = 4, 7
ALL_GATHER, REDUCE_SCATTER = 2, 7


def node(node_id, name, kind, dependencies, duration_us=0, attributes=()):
    message = number(1, node_id) + text(2, name) + number(3, kind)
    if dependencies:
        message += text(5, b"".join(varint(d) for d in dependencies))
    if duration_us:
        message += number(7, duration_us)
    for name, value in attributes:
        message += text(10, text(1, name) + number(9, value))
    return framed(message)


def chakra_sharded(num_ranks, num_layers=16, layer_bytes=200 * MEGABYTE, forward_us=6000):
    """All ranks do the same, and communicate with all. Chakra counts what a rank puts in."""
    shard = layer_bytes // num_ranks
    out = framed(text(1, "0.0.4"))
    next_id = 0

    def add(name, kind, dependencies, **more):
        nonlocal out, next_id
        next_id += 1
        out += node(next_id, name, kind, dependencies, **more)
        return next_id

    def gather(layer, after):
        return add(f"gather{layer}", COLLECTIVE, after, attributes=[("comm_type", ALL_GATHER), ("comm_size", shard)])

    def run(layers, microseconds, name, with_gradients):
        compute = run.last
        gathered = gather(layers[0], compute)
        for here, following in zip(layers, [*layers[1:], None]):
            prefetched = gather(following, compute) if following is not None else None
            compute = [add(f"{name}{here}", COMPUTE, [gathered, *compute], duration_us=microseconds)]
            if with_gradients:
                add(f"scatter{here}", COLLECTIVE, compute,
                    attributes=[("comm_type", REDUCE_SCATTER), ("comm_size", layer_bytes)])
            gathered = prefetched
        run.last = compute

    run.last = []
    run(list(range(num_layers)), forward_us, "forward", False)
    run(list(reversed(range(num_layers))), 2 * forward_us, "backward", True)
    return out


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else pathlib.Path(__file__).resolve().parent
    (folder / "moe-32.txt").write_text(simai_moe())
    (folder / "sharded-16.et").write_bytes(chakra_sharded(16))


if __name__ == "__main__":
    main()
