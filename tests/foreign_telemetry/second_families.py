"""A second suite for judge.py (`--suite second`): other shapes, peculiarities and faults than families.py.

It was written after the detectors had been set by families.py, and is not used for calibration.
"""

import random

from families import comms, pipeline, rank0_phase, rank_of


# --- programs -----------------------------------------------------------------------------------------------------


def hybrid(compute, layers, tensor_size, activation, gradient, tensor, stages, replicas, micro):
    """Tensor parallel in a host, 1F1B pipelines across hosts, data parallel across pipelines.

    rank = t + tensor * (replica + replicas * stage); comms: tensor groups, pipelines, data groups.
    """

    def program(job, rank):
        t, group = rank % tensor, rank // tensor
        replica, stage = group % replicas, group // replicas
        num_tensor = replicas * stages
        chain, data = num_tensor + t + tensor * replica, num_tensor + tensor * replicas + t + tensor * stage
        up, down = rank - tensor * replicas, rank + tensor * replicas
        warm = min(stages - 1 - stage, micro)

        def forward(i, m):
            if stage > 0:
                yield ("recv", "rf", chain, up, activation)
                yield ("record", "rf", ("rf", i, m))
                yield ("wait", "s", ("rf", i, m))
            for _ in range(layers):
                yield ("compute", "s", compute / 3 / micro / layers)
                yield ("coll", "s", group, "all_reduce", tensor_size)
            if stage < stages - 1:
                yield ("record", "s", ("f", i, m))
                yield ("wait", "sf", ("f", i, m))
                yield ("send", "sf", chain, down, activation)

        def backward(i, m):
            if stage < stages - 1:
                yield ("recv", "rb", chain, down, activation)
                yield ("record", "rb", ("rb", i, m))
                yield ("wait", "s", ("rb", i, m))
            for _ in range(layers):
                yield ("compute", "s", compute * 2 / 3 / micro / layers)
                yield ("coll", "s", group, "all_reduce", tensor_size)
            if stage > 0:
                yield ("record", "s", ("b", i, m))
                yield ("wait", "sb", ("b", i, m))
                yield ("send", "sb", chain, up, activation)

        i = 0
        while True:
            yield from rank0_phase(job, rank, i, job.job)
            yield ("host", 0.003)
            for m in range(warm):
                yield from forward(i, m)
            for m in range(micro - warm):
                yield from forward(i, m + warm)
                yield from backward(i, m)
            for m in range(micro - warm, micro):
                yield from backward(i, m)
            yield ("coll", "s", data, "all_reduce", gradient)
            yield ("compute", "s", compute * 0.02)
            yield ("record", "s", ("i", i))
            yield ("sync_event", ("i", i - 1)) if i else ("sync",)
            i += 1

    return program


def sharded_in_host(compute, layers, size, gradient, per_host):
    """Parameters sharded within a host, gradients reduced across hosts. comms: hosts, then one for each GPU of a host."""

    def program(job, rank):
        num_hosts = job.job["num_ranks"] // per_host
        inside, across = rank // per_host, num_hosts + rank % per_host
        i = 0
        while True:
            yield from rank0_phase(job, rank, i, job.job)
            yield ("host", 0.003)
            for phase, weight in (("f", 1 / 3), ("b", 2 / 3)):
                for layer in range(layers):
                    yield ("coll", "c", inside, "all_gather", size)
                    yield ("record", "c", (phase, i, layer))
                    yield ("wait", "s", (phase, i, layer))
                    yield ("compute", "s", compute * weight / layers)
                    if phase == "b":
                        yield ("record", "s", ("g", i, layer))
                        yield ("wait", "r", ("g", i, layer))
                        yield ("coll", "r", inside, "reduce_scatter", size)
                        yield ("coll", "r", across, "all_reduce", gradient / layers)
            yield ("record", "r", ("x", i))
            yield ("wait", "s", ("x", i))
            yield ("compute", "s", compute * 0.03)
            yield ("record", "s", ("i", i))
            yield ("sync_event", ("i", i - 1)) if i else ("sync",)
            i += 1

    return program


def accumulated(compute, steps, size, length=0.0, together=False):
    """Data parallel, one all-reduce after some batches; `together`: all ranks save after each 60 iterations."""

    def program(job, rank):
        i = 0
        while True:
            if together and i and i % 60 == 0:
                yield ("host", 12 * job.rng.uniform(0.7, 1.3))
            yield from rank0_phase(job, rank, i, job.job)
            for _ in range(steps):
                yield ("host", 0.004)
                yield ("compute", "s", compute / steps * (job.rng.lognormvariate(0, length) if length else 1))
            yield ("coll", "s", 0, "all_reduce", size)
            yield ("compute", "s", compute * 0.03)
            yield ("sync",)
            i += 1

    return program


def evaluated(compute, size, every, batches):
    """Data parallel; all ranks evaluate at times, with a small all-reduce at the end of it."""

    def program(job, rank):
        i = 0
        while True:
            if i and i % every == 0:
                for _ in range(batches):
                    yield ("host", 0.004)
                    yield ("compute", "s", compute / 3 * job.rng.uniform(0.9, 1.1))
                yield ("coll", "s", 0, "all_reduce", 64)
                yield ("sync",)
            yield ("host", 0.004)
            yield ("compute", "s", compute)
            yield ("coll", "s", 0, "all_reduce", size)
            yield ("compute", "s", compute * 0.03)
            yield ("record", "s", ("i", i))
            yield ("sync_event", ("i", i - 1)) if i else ("sync",)
            i += 1

    return program


def seldom_synchronized(compute, steps, size):
    """Local steps, parameters averaged after each `steps` of them."""

    def program(job, rank):
        while True:
            for _ in range(steps):
                yield ("host", 0.003)
                yield ("compute", "s", compute)
                yield ("sync",)
            yield ("coll", "s", 0, "all_reduce", size)
            yield ("sync",)

    return program


def hot_expert(compute, layers, tokens, gradient, hot):
    """Experts of which one has half as many tokens again as the others, all the time: healthy."""

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

    def weights(job, rank, seq):
        noise = random.Random(rank * 7919 + seq // 2).uniform(0.85, 1.15)
        return noise * (1.5 if rank == hot else 1.0)

    return program, weights


# --- shapes ---------------------------------------------------------------------------------------------------------

SHAPES = ("hybrid", "sharded", "accumulated", "evaluated", "seldom", "uneven", "deep", "small_gpus")


def shape(name):
    if name == "hybrid":  # 32 ranks: 4 tensor x 4 stages x 2 replicas, 8 hosts
        tensor, stages, replicas = 4, 4, 2
        groups = [(f"tp{g}", range(tensor * g, tensor * g + tensor)) for g in range(stages * replicas)]
        groups += [(f"pp{r}.{t}", [t + tensor * (r + replicas * s) for s in range(stages)])
                   for r in range(replicas) for t in range(tensor)]
        groups += [(f"dp{s}.{t}", [t + tensor * (r + replicas * s) for r in range(replicas)])
                   for s in range(stages) for t in range(tensor)]
        return dict(num_ranks=32, gpus_per_host=4, comms=comms(*groups),
                    program=hybrid(1.6, 2, 30e6, 16e6, 0.6e9, tensor, stages, replicas, 8), iteration=2.4)
    if name == "sharded":
        groups = [(f"host{h}", range(4 * h, 4 * h + 4)) for h in range(4)]
        groups += [(f"dp{g}", range(g, 16, 4)) for g in range(4)]
        return dict(num_ranks=16, gpus_per_host=4, comms=comms(*groups),
                    program=sharded_in_host(0.9, 6, 200e6, 1.5e9, 4), iteration=1.0)
    if name == "accumulated":
        return dict(num_ranks=12, gpus_per_host=2, comms=comms(("dp", range(12))), program=accumulated(1.0, 4, 2e9),
                    iteration=1.1)
    if name == "evaluated":
        return dict(num_ranks=8, gpus_per_host=4, comms=comms(("dp", range(8))), program=evaluated(0.45, 1e9, 40, 60),
                    iteration=0.5)
    if name == "seldom":
        return dict(num_ranks=8, gpus_per_host=1, comms=comms(("dp", range(8))),
                    program=seldom_synchronized(0.3, 20, 4e9), iteration=6.5, seconds=360)
    if name in ("uneven", "deep"):
        stages, replicas, micro, last = (4, 2, 8, 1.5) if name == "uneven" else (8, 1, 16, 1.0)
        groups = [(f"pp{r}", [r + replicas * s for s in range(stages)]) for r in range(replicas)]
        if replicas > 1:
            groups += [(f"dp{s}", [r + replicas * s for r in range(replicas)]) for s in range(stages)]
        return dict(num_ranks=stages * replicas, gpus_per_host=1, comms=comms(*groups),
                    program=pipeline(0.9, stages, replicas, micro, 24e6, 0.8e9, last_factor=last), iteration=1.6)
    if name == "small_gpus":  # communication takes half of an iteration
        return dict(num_ranks=8, gpus_per_host=1, gbps=100, comms=comms(("dp", range(8))),
                    program=accumulated(0.25, 1, 1.6e9), iteration=0.5)
    if name == "hot_expert":
        program, weights = hot_expert(0.9, 2, 200e6, 1e9, 3)
        return dict(num_ranks=8, gpus_per_host=1, comms=comms(("ep", range(8)), ("dp", range(8))), program=program,
                    moe_weights=weights, iteration=1.1)
    raise ValueError(name)


HEALTHY = {
    "plain": {},
    "unequal": dict(gpu_spread=0.08),
    "stalls": dict(stall=(0.02, 0.5)),  # garbage collection, slow reads: any rank, now and then
    "warmer": dict(drift=lambda now: 1 + 0.15 * min(1.0, max(0.0, now - 90) / 60)),  # all GPUs
    "longer": dict(drift=lambda now: 1 + 0.4 * (now >= 120)),  # a curriculum's longer sequences
    "clock_step": dict(clock_step=(1, 100, 2.5)),
    "lost_reports": dict(lost_reports=0.05),
    "rank0_log": dict(rank0_s=3, rank0_every=15),
    "rough": dict(compute_cv=0.15),
}


def healthy_cases():
    for name in SHAPES:
        for trait, options in HEALTHY.items():
            yield f"healthy/{name}/{trait}", name, options, []
    for trait in ("plain", "unequal", "stalls"):
        yield f"healthy/hot_expert/{trait}", "hot_expert", HEALTHY[trait], []
    yield ("healthy/accumulated/lengths", "accumulated", dict(program=accumulated(1.0, 4, 2e9, length=0.35)), [])
    yield ("healthy/accumulated/all_save", "accumulated", dict(program=accumulated(1.0, 4, 2e9, together=True)), [])


def fault_cases():
    begin = 80.0
    for name in SHAPES:
        for kind in ("frozen", "gpu_hang", "crash", "dead_host"):
            yield f"hang/{name}/{kind}", name, {}, [dict(kind=kind, begin=begin)]
        for x in (1.25, 1.6):
            yield f"slow_gpu/{name}/{x}", name, {}, [dict(kind="slow_gpu", begin=begin, x=x)]
        yield f"fading_gpu/{name}/1.5", name, {}, [dict(kind="fading_gpu", begin=begin, x=1.5, ramp=60)]
        yield f"slow_from_start/{name}/1.5", name, {}, [dict(kind="slow_gpu", begin=0.0, x=1.5)]
    for name in ("accumulated", "evaluated", "small_gpus", "seldom", "sharded"):
        # Hosts run an iteration ahead: what takes less than that costs nothing.
        yield f"slow_loader/{name}", name, {}, [dict(kind="slow_loader", begin=begin, x=1.5 if name == "sharded" else 0.6)]
    for name in ("hybrid", "sharded", "accumulated", "evaluated"):
        yield f"slow_host/{name}/1.4", name, {}, [dict(kind="slow_host", begin=begin, x=1.4)]
    for name in ("accumulated", "evaluated", "small_gpus", "sharded"):
        for kind in ("slow_nic_send", "slow_nic_receive", "slow_connection"):
            yield f"{kind}/{name}/4", name, {}, [dict(kind=kind, begin=begin, x=4)]
    # Behind a slower GPU the NIC costs little in "sharded".
    for name, is_minor in (("accumulated", False), ("small_gpus", False), ("sharded", True)):
        yield f"gpu_and_nic/{name}", name, {}, [
            dict(kind="slow_nic_send", begin=begin, x=4, is_minor=is_minor), dict(kind="slow_gpu", begin=begin, x=1.3, is_there=True)]
    for name, num in (("accumulated", 3), ("evaluated", 2), ("hybrid", 4), ("sharded", 4), ("small_gpus", 2), ("seldom", 2)):
        yield f"several_gpus/{name}/{num}", name, {}, [dict(kind="slow_gpu", begin=begin, x=1.4, is_elsewhere=True)] * num
    for name in ("accumulated", "small_gpus", "sharded"):
        yield f"several_nics/{name}/4", name, {}, [dict(kind="slow_nic_send", begin=begin, x=4, is_elsewhere=True)] * 2
    for name in SHAPES:
        yield f"several_frozen/{name}", name, {}, [dict(kind="frozen", begin=begin, is_elsewhere=True)] * 2
    for name in ("hybrid", "sharded", "evaluated"):
        yield f"half_host/{name}/1.4", name, {}, [dict(kind="slow_gpu", begin=begin, x=1.4, is_next=True)] * 2
    for name in ("accumulated", "evaluated", "hybrid", "uneven"):
        yield f"early_frozen/{name}", name, {}, [dict(kind="frozen", begin=12.0)]
        for trait in ("stalls", "unequal", "lost_reports", "clock_step"):
            yield f"noisy_frozen/{name}/{trait}", name, HEALTHY[trait], [dict(kind="frozen", begin=begin)]
            yield f"noisy_slow/{name}/{trait}", name, HEALTHY[trait], [dict(kind="slow_gpu", begin=begin, x=1.5)]


def network_edge(job, name, rng):
    """A rank that sends to another host, and its receiver."""
    n, per_host = job["num_ranks"], job["gpus_per_host"]
    if name == "sharded":  # ring of the GPUs in the same place of each host
        rank = rng.randrange(n)
        return rank, (rank + per_host) % n
    host = rng.randrange(n // per_host)
    rank = per_host * host + per_host - 1
    return rank, (rank + 1) % n


def make(case, name, options, faults, seed):
    rng = random.Random(f"second{case}{seed}")
    job = shape(name)
    job.update(options)
    job["faults"] = []
    for fault in faults:
        fault = dict(fault, rank=rank_of(fault, job["faults"], job, rng))
        if fault["kind"] in ("slow_nic_send", "slow_nic_receive", "slow_connection"):
            taken = [other["rank"] for other in job["faults"]] if fault.get("is_elsewhere") else []
            while (edge := network_edge(job, name, rng))[0] in taken:
                pass
            fault["rank"], fault["peer"] = edge
            if fault["kind"] == "slow_nic_receive":
                fault["rank"], fault["peer"] = fault["peer"], fault["rank"]
        job["faults"].append(fault)
    job["seconds"] = job.get("seconds", 240)
    if faults and faults[0]["kind"] in ("frozen", "gpu_hang", "crash", "dead_host"):
        job["seconds"] = max(int(faults[0]["begin"]) + 60 + int(2 * job["iteration"]), 140)
    return job
