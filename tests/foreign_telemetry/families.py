"""Jobs for foreign_telemetry.py: shapes, healthy peculiarities, faults, and what has to be found.

Families whose name is in HELD_OUT are never looked at while the detectors are changed.
"""

import random


def comms(*groups):
    return [{"name": name, "ranks": list(ranks)} for name, ranks in groups]


# --- programs: generators of what a host thread does -------------------------------------------------------------


def rank0_phase(job, rank, i, options):
    every, seconds = options.get("rank0_every", 0), options.get("rank0_s", 0)
    if every and rank == 0 and i > 0 and i % every == 0:
        yield ("host", seconds)


def ring(compute, buckets, size, ahead=1, sequence=0.0):
    """Data parallel: forward, backward with buckets, an optional host sync."""

    def program(job, rank):
        options = job.job
        i = 0
        while True:
            yield from rank0_phase(job, rank, i, options)
            yield ("host", 0.002)
            length = 1 + job.rng.uniform(-sequence, sequence) if sequence else 1
            yield ("compute", "s", compute * length / 3)
            for b in range(buckets):
                yield ("compute", "s", compute * length * 2 / 3 / buckets)
                yield ("record", "s", ("b", i, b))
                yield ("wait", "c", ("b", i, b))
                yield ("coll", "c", 0, "all_reduce", size / buckets)
            yield ("record", "c", ("r", i))
            yield ("wait", "s", ("r", i))
            yield ("compute", "s", compute * 0.03)
            yield ("record", "s", ("i", i))
            if i >= ahead:
                yield ("sync_event", ("i", i - ahead))
            else:
                yield ("sync",)
            i += 1

    return program


def hierarchical(compute, layers, tp_size, dp_size, tp):
    """Tensor parallel in a host, data parallel across: comms 0.. are tensor groups, then data groups."""

    def program(job, rank):
        num_tp = len(job.ranks) // tp
        mine, data = rank // tp, num_tp + rank % tp
        i = 0
        while True:
            yield from rank0_phase(job, rank, i, job.job)
            yield ("host", 0.002)
            for layer in range(layers):
                yield ("compute", "s", compute / layers)
                yield ("coll", "s", mine, "all_reduce", tp_size)
            yield ("coll", "s", data, "reduce_scatter", dp_size)
            yield ("compute", "s", compute * 0.02)
            yield ("coll", "s", data, "all_gather", dp_size)
            yield ("record", "s", ("i", i))
            yield ("sync_event", ("i", i - 1)) if i else ("sync",)
            i += 1

    return program


def fsdp(compute, layers, size):
    def program(job, rank):
        i = 0
        while True:
            yield from rank0_phase(job, rank, i, job.job)
            yield ("host", 0.003)
            for phase, weight in (("f", 1 / 3), ("b", 2 / 3)):
                for layer in range(layers):
                    if layer >= 2:
                        yield ("wait", "c", (phase, i, layer - 2))
                    yield ("coll", "c", 0, "all_gather", size)
                    yield ("record", "c", ("g" + phase, i, layer))
                    yield ("wait", "s", ("g" + phase, i, layer))
                    yield ("compute", "s", compute * weight / layers)
                    yield ("record", "s", (phase, i, layer))
                    if phase == "b":
                        yield ("wait", "r", (phase, i, layer))
                        yield ("coll", "r", 1, "reduce_scatter", size)
            yield ("record", "r", ("x", i))
            yield ("wait", "s", ("x", i))
            yield ("compute", "s", compute * 0.03)
            yield ("record", "s", ("i", i))
            yield ("sync_event", ("i", i - 1)) if i else ("sync",)
            i += 1

    return program


def pipeline(compute, stages, replicas, micro, activation, gradient, ahead=0, last_factor=1.0):
    """GPipe-like: rank = replica + replicas * stage; comms 0.. pipelines of a replica, then data groups of a stage."""

    def program(job, rank):
        stage, replica = rank // replicas, rank % replicas
        chain, data = replica, replicas + stage
        up, down = rank - replicas, rank + replicas
        factor = last_factor if stage == stages - 1 else 1.0
        i = 0
        while True:
            yield from rank0_phase(job, rank, i, job.job)
            yield ("host", 0.002)
            for m in range(micro):
                if stage > 0:
                    yield ("recv", "rf", chain, up, activation)
                    yield ("record", "rf", ("rf", i, m))
                    yield ("wait", "s", ("rf", i, m))
                yield ("compute", "s", factor * compute / 3 / micro)
                if stage < stages - 1:
                    yield ("record", "s", ("f", i, m))
                    yield ("wait", "sf", ("f", i, m))
                    yield ("send", "sf", chain, down, activation)
            for m in range(micro):
                if stage < stages - 1:
                    yield ("recv", "rb", chain, down, activation)
                    yield ("record", "rb", ("rb", i, m))
                    yield ("wait", "s", ("rb", i, m))
                yield ("compute", "s", factor * compute * 2 / 3 / micro)
                if stage > 0:
                    yield ("record", "s", ("b", i, m))
                    yield ("wait", "sb", ("b", i, m))
                    yield ("send", "sb", chain, up, activation)
            if replicas > 1:
                yield ("coll", "s", data, "all_reduce", gradient)
            yield ("compute", "s", compute * 0.02)
            yield ("record", "s", ("i", i))
            if ahead:
                if i >= ahead:
                    yield ("sync_event", ("i", i - ahead))
            else:
                yield ("sync",)
            i += 1

    return program


def moe(compute, layers, tokens, gradient, imbalance=0.3):
    def program(job, rank):
        i = 0
        while True:
            yield ("host", 0.002)
            for layer in range(layers):
                yield ("compute", "s", compute * 0.5 / layers)
                yield ("coll", "s", 0, "all_to_all", tokens)
                load = job.job["moe_weights"](job, rank, 2 * (i * layers + layer))
                yield ("compute", "s", compute * 0.5 / layers * load)
                yield ("coll", "s", 0, "all_to_all", tokens)
            yield ("coll", "s", 1, "all_reduce", gradient)
            yield ("compute", "s", compute * 0.03)
            yield ("record", "s", ("i", i))
            yield ("sync_event", ("i", i - 1)) if i else ("sync",)
            i += 1

    return program


def moe_weights(imbalance, hot):
    cache = {}

    def weight(job, rank, seq):
        key = (rank, seq // 2)
        if key not in cache:
            if len(cache) > 20000:
                cache.clear()
            base = 1 + (imbalance if rank == hot else 0)
            cache[key] = base * random.Random(rank * 1000003 + seq // 2).uniform(1 - imbalance, 1 + imbalance)
        return cache[key]

    return weight


# --- shapes ---------------------------------------------------------------------------------------------------------


def shape(name, rng):
    everyone = range(16)
    if name == "ring":  # one GPU a host: all edges are network; 8 GB ring with 520 KB messages
        n = 16
        return dict(num_ranks=n, gpus_per_host=1, comms=comms(("dp", range(n))), program=ring(0.75, 4, 0.7e9),
                    ring_message=520_000, iteration=0.8)
    if name == "ring8":
        return dict(num_ranks=16, gpus_per_host=8, comms=comms(("dp", everyone)), program=ring(0.4, 2, 1.5e9),
                    ring_message=1_048_576, iteration=0.5)
    if name == "ring_small":
        return dict(num_ranks=4, gpus_per_host=1, comms=comms(("dp", range(4))), program=ring(0.3, 2, 1e9),
                    iteration=0.35)
    if name == "ring_ahead":
        return dict(num_ranks=16, gpus_per_host=2, comms=comms(("dp", everyone)), program=ring(0.8, 3, 2e9, ahead=3),
                    iteration=0.9)
    if name == "long5":
        return dict(num_ranks=16, gpus_per_host=4, comms=comms(("dp", everyone)), program=ring(4.6, 4, 8e9),
                    iteration=5, seconds=360)
    if name == "long15":
        return dict(num_ranks=16, gpus_per_host=4, comms=comms(("dp", everyone)), program=ring(14, 4, 20e9),
                    iteration=15, seconds=600)
    if name == "hier":
        groups = [(f"tp{g}", range(4 * g, 4 * g + 4)) for g in range(4)]
        groups += [(f"dp{t}", range(t, 16, 4)) for t in range(4)]
        return dict(num_ranks=16, gpus_per_host=4, comms=comms(*groups),
                    program=hierarchical(0.9, 12, 64e6, 3e9, 4), iteration=1.0)
    if name == "fsdp":
        return dict(num_ranks=8, gpus_per_host=2, comms=comms(("ag", range(8)), ("rs", range(8))),
                    program=fsdp(1.2, 6, 300e6), iteration=1.3)
    if name in ("pipe", "pipe_ahead", "pipe_single"):
        stages, replicas = (4, 2) if name != "pipe_single" else (4, 1)
        groups = [(f"pp{r}", [r + replicas * s for s in range(stages)]) for r in range(replicas)]
        groups += [(f"dp{s}", [r + replicas * s for r in range(replicas)]) for s in range(stages)]
        if replicas == 1:
            groups = groups[:1]
        return dict(num_ranks=stages * replicas, gpus_per_host=1, comms=comms(*groups),
                    program=pipeline(0.8, stages, replicas, 6, 32e6, 1e9, ahead=4 if name == "pipe_ahead" else 0,
                                     last_factor=1.15), iteration=1.2)
    if name == "fast":  # hundreds of iterations a second
        return dict(num_ranks=4, gpus_per_host=1, comms=comms(("dp", range(4))), program=ring(0.002, 1, 5e6),
                    iteration=0.0025, seconds=120)
    if name == "fast_pipe":
        return dict(num_ranks=4, gpus_per_host=1, comms=comms(("pp0", range(4))),
                    program=pipeline(0.008, 4, 1, 4, 1e6, 2e6), iteration=0.012, seconds=120)
    if name == "moe":
        return dict(num_ranks=8, gpus_per_host=1, comms=comms(("ep", range(8)), ("dp", range(8))),
                    program=moe(0.9, 2, 200e6, 1e9), moe_weights=moe_weights(0.3, -1), iteration=1.0)
    raise ValueError(name)


# Nothing was ever tuned on them.
FAST_SHAPES = ("fast", "fast_pipe")
HEALTHY = {
    "plain": {},
    "gpu_spread": dict(gpu_spread=0.05),
    "pareto": dict(pareto=1.5),
    "neighbours": dict(neighbours=dict(on_s=6, off_s=25, factor=2.5)),
    "bimodal": dict(bimodal=(0.2, 1.3)),
    "nic_jitter": dict(nic_jitter=0.25),
    "fifo": dict(fifo=True),
    "rank0_eval": dict(rank0_s=25, rank0_every=60),
    "rank0_save": dict(rank0_s=30, rank0_every=90),
    "silent": dict(silent=(5,)),
    "skew": dict(clock_skew_s=20),
}


def healthy_cases():
    for name in ("ring", "ring8", "hier", "fsdp", "pipe", "pipe_ahead", "moe", "ring_ahead", "ring_small", "pipe_single"):
        for trait in HEALTHY:
            if trait in ("silent",) and name in ("ring_small", "pipe_single"):
                continue
            yield f"healthy/{name}/{trait}", name, HEALTHY[trait], []
    for name in ("long5", "long15"):
        for trait in ("plain", "gpu_spread", "neighbours"):
            yield f"healthy/{name}/{trait}", name, HEALTHY[trait], []
    for name in FAST_SHAPES:
        for trait in ("plain", "gpu_spread", "pareto", "neighbours", "bimodal"):
            yield f"healthy/{name}/{trait}", name, HEALTHY[trait], []
        yield f"healthy/{name}/rough", name, dict(compute_cv=0.3), []
    for name, program in (("ring", ring(0.75, 4, 0.7e9, sequence=0.4)), ("ring8", ring(0.4, 2, 1.5e9, sequence=0.4))):
        yield f"healthy/{name}/sequence", name, dict(program=program), []


def fault_cases():
    begin = 80.0
    for name in ("ring", "ring8", "hier", "fsdp", "pipe", "pipe_ahead", "moe", "ring_ahead", "ring_small", "pipe_single"):
        for kind in ("frozen", "gpu_hang", "nic_down", "crash"):
            yield f"hang/{name}/{kind}", name, {}, [dict(kind=kind, begin=begin)]
    for name in ("ring", "ring8", "hier", "fsdp", "pipe", "pipe_ahead", "moe", "ring_ahead"):
        for x in (1.15, 1.3, 1.6):
            yield f"slow_gpu/{name}/{x}", name, {}, [dict(kind="slow_gpu", begin=begin, x=x)]
    for name in ("ring", "ring8", "hier", "moe"):
        yield f"throttle/{name}/1.5", name, {}, [dict(kind="slow_gpu", begin=begin, x=1.5, duty=(15, 60))]
    for name in FAST_SHAPES:
        for kind in ("frozen", "gpu_hang", "slow_gpu"):
            yield f"{kind}/{name}", name, {}, [dict(kind=kind, begin=begin, x=1.3)]
    for name in ("long5", "long15"):
        for x in (1.2, 1.5):
            yield f"slow_gpu/{name}/{x}", name, {}, [dict(kind="slow_gpu", begin=begin, x=x)]
    for x in (2, 3, 4, 6):
        yield f"slow_nic/ring/{x}", "ring", {}, [dict(kind="slow_nic_send", begin=begin, x=x)]
    for name in ("ring8", "hier", "fsdp", "moe"):
        for x in (2, 4):
            yield f"slow_nic/{name}/{x}", name, {}, [dict(kind="slow_nic_send", begin=begin, x=x)]
    for name in ("ring", "hier", "fsdp", "pipe"):
        for kind in ("frozen", "slow_gpu", "gpu_hang"):
            yield f"silent_{kind}/{name}", name, dict(silent="other"), [dict(kind=kind, begin=begin, x=1.5)]
    for trait in ("pareto", "neighbours", "nic_jitter", "bimodal", "gpu_spread", "skew"):
        for name in ("ring8", "hier", "fsdp"):
            yield f"noisy_slow/{name}/{trait}", name, HEALTHY[trait], [dict(kind="slow_gpu", begin=begin, x=1.4)]
    # Behind a slower GPU the NIC costs little in "ring".
    for name, is_minor in (("ring", True), ("ring8", False), ("moe", False), ("ring_ahead", False)):
        yield f"gpu_and_nic/{name}", name, {}, [
            dict(kind="slow_nic_send", begin=begin, x=4, is_minor=is_minor), dict(kind="slow_gpu", begin=begin, x=1.3, is_there=True)]
    # None is slower than all the others.
    for name, num in (("ring", 4), ("ring8", 4), ("hier", 3), ("fsdp", 2), ("pipe", 2), ("moe", 2), ("ring_ahead", 5)):
        yield f"several_gpus/{name}/{num}", name, {}, [dict(kind="slow_gpu", begin=begin, x=1.4, is_elsewhere=True)] * num
    for name in ("ring", "hier"):
        yield f"several_nics/{name}/4", name, {}, [dict(kind="slow_nic_send", begin=begin, x=4, is_elsewhere=True)] * 2
    for name in ("ring", "ring8", "hier", "fsdp", "pipe", "moe"):
        yield f"several_frozen/{name}", name, {}, [dict(kind="frozen", begin=begin, is_elsewhere=True)] * 2
    yield "half_host/ring8/1.4", "ring8", {}, [dict(kind="slow_gpu", begin=begin, x=1.4, is_next=True)] * 4


HELD_OUT_SHAPES = ("fsdp", "ring_ahead", "long15", "pipe_single")
HELD_OUT_TRAITS = ("nic_jitter", "rank0_save", "skew")


def is_held_out(case):
    parts = case.split("/")
    return parts[1] in HELD_OUT_SHAPES or parts[-1] in HELD_OUT_TRAITS


def rank_of(fault, before, job, rng):
    """The rank of a fault, beside those that are before it."""
    if before and fault.get("is_there"):
        return before[0]["rank"]
    if before and fault.get("is_next"):  # on the same host
        host, place = divmod(before[-1]["rank"], job["gpus_per_host"])
        return host * job["gpus_per_host"] + (place + 1) % job["gpus_per_host"]
    taken = [other["rank"] for other in before] if fault.get("is_elsewhere") else []
    return rng.choice([rank for rank in range(job["num_ranks"]) if rank not in taken])


def make(case, name, options, faults, seed):
    rng = random.Random(f"{case}{seed}")
    job = shape(name, rng)
    job.update(options)
    n, per_host = job["num_ranks"], job["gpus_per_host"]
    job["faults"] = []
    for fault in faults:
        rank = rank_of(fault, job["faults"], job, rng)
        if fault["kind"] in ("nic_down", "slow_nic_send"):  # a rank that sends over the network
            if name == "ring8":
                rank = per_host - 1 + per_host * rng.randrange(n // per_host)
            elif name == "ring_ahead" or name == "fsdp":
                rank = per_host - 1 + per_host * rng.randrange(n // per_host)
            elif name.startswith("pipe"):
                rank = rng.randrange(n - n // 4)
        if fault.get("is_elsewhere") and rank in [other["rank"] for other in job["faults"]]:
            rank = (rank + per_host) % n
        job["faults"].append(dict(fault, rank=rank))
    if job.get("silent") == "other":
        candidates = [r for r in range(1, n) if r // per_host != job["faults"][0]["rank"] // per_host]
        job["silent"] = (rng.choice(candidates),)
    job["seconds"] = job.get("seconds", 240)
    if faults and faults[0]["kind"] in ("frozen", "gpu_hang", "nic_down", "crash"):
        job["seconds"] = max(int(faults[0]["begin"]) + 60 + int(2 * job["iteration"]), 140)
    return job
