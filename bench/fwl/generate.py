#!/usr/bin/env python3
"""Writes fwl workloads (src/sim/fwl_workload.h has the format) to standard output.

    generate.py snap --n 10000            10,000 flows between random NICs, all started at once
    generate.py jobs --n 64 --iters 10    ring jobs on random hosts: many jobs share a NIC
    generate.py excl --pods 4 --iters 20  ring jobs that share no host, scattered in groups of 4 hosts

Fabric: `pods` pods of 16 hosts with 8 NICs; leaf (pod, rail) has 16 NICs below it and 16 uplinks, one to each of 16 spines; all links
200 Gb/s. With N = 128 * pods NICs, and NIC n = (pod * 16 + host) * 8 + rail, the directed links are

    n                              NIC -> leaf
    N + n                          leaf -> NIC
    2 N + (leaf * 16) + spine      leaf -> spine, leaf = pod * 8 + rail
    3 N + (leaf * 16) + spine      spine -> leaf

The order of the random draws is part of the format: equal arguments give equal bytes, for ever.
"""

import argparse
import random
import sys

HOSTS_PER_POD = 16
RAILS = 8
SPINES = 16
NICS_PER_POD = HOSTS_PER_POD * RAILS
LINK_BYTES_PER_S = 25e9
JOB_HOSTS = [8, 16, 32, 64]
ALLREDUCE_BYTES = [0.5e9, 1e9, 2e9, 4e9]


def route(pods, source, destination, spine):
    """Links from NIC to NIC; `spine` counts only when they hang on different leaves."""
    num_nics = pods * NICS_PER_POD
    source_leaf = source // NICS_PER_POD * RAILS + source % RAILS
    destination_leaf = destination // NICS_PER_POD * RAILS + destination % RAILS
    if source_leaf == destination_leaf:
        return (source, num_nics + destination)
    return (
        source,
        2 * num_nics + source_leaf * SPINES + spine,
        3 * num_nics + destination_leaf * SPINES + spine,
        num_nics + destination,
    )


def flow_line(num_bytes, links):
    return "f %.0f %d %s\n" % (num_bytes, len(links), " ".join(map(str, links)))


def write_snapshot(out, draw, pods, num_flows):
    hosts = pods * HOSTS_PER_POD
    out("jobs 1\njob 0 0 0 1 0 %d\n" % num_flows)
    for _ in range(num_flows):
        rail = draw.randrange(RAILS)
        source = draw.randrange(hosts)
        destination = draw.randrange(hosts - 1)
        destination += destination >= source
        links = route(pods, source * RAILS + rail, destination * RAILS + rail, draw.randrange(SPINES))
        out(flow_line(draw.uniform(0.5e9, 1.5e9), links))


def shared_hosts(draw, pods, num_jobs):
    hosts = pods * HOSTS_PER_POD
    jobs = []
    for _ in range(num_jobs):
        size = min(draw.choice(JOB_HOSTS), hosts)
        jobs.append(draw.sample(range(hosts), size))
    return jobs


def exclusive_hosts(draw, pods):
    hosts = list(range(pods * HOSTS_PER_POD))
    groups = [hosts[i : i + 4] for i in range(0, len(hosts), 4)]
    draw.shuffle(groups)
    free = [host for group in groups for host in group]
    jobs = []
    while free:
        size = min(draw.choice(JOB_HOSTS), len(free))
        jobs.append(free[:size])
        free = free[size:]
    return jobs


def ring_flows(draw, pods, hosts, allreduce_bytes, channels):
    """One ring for each rail: every edge carries 2 (n-1) / n of the rail's share."""
    size = len(hosts)
    num_bytes = 2.0 * (size - 1) / size * allreduce_bytes / RAILS / channels
    for rail in range(RAILS):
        for i in range(size):
            source = hosts[i] * RAILS + rail
            destination = hosts[(i + 1) % size] * RAILS + rail
            for _ in range(channels):
                yield num_bytes, route(pods, source, destination, draw.randrange(SPINES))


def write_jobs(out, draw, pods, jobs, iterations, channels):
    out("jobs %d\n" % len(jobs))
    for j, hosts in enumerate(jobs):
        allreduce_bytes = draw.choice(ALLREDUCE_BYTES)
        compute_s = draw.uniform(0.05, 0.3)
        start_s = draw.uniform(0, 0.3)
        flows = list(ring_flows(draw, pods, hosts, allreduce_bytes, channels)) if len(hosts) > 1 else []
        out("job %d %d %.9f %d %.9f %d\n" % (j, j % 8, compute_s, iterations, start_s, len(flows)))
        for num_bytes, links in flows:
            out(flow_line(num_bytes, links))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["snap", "jobs", "excl"])
    parser.add_argument("--pods", type=int, default=4)
    parser.add_argument("--n", type=int, default=100, help="flows (snap) or jobs (jobs)")
    parser.add_argument("--iters", type=int, default=10, help="iterations of every job")
    parser.add_argument("--chan", type=int, default=1, help="parallel flows for each ring edge")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    draw = random.Random(args.seed)
    out = sys.stdout.write
    out("fwl 1\nlinkcaps %d %.0f\n" % (4 * args.pods * NICS_PER_POD, LINK_BYTES_PER_S))
    if args.kind == "snap":
        write_snapshot(out, draw, args.pods, args.n)
        return
    if args.kind == "jobs":
        jobs = shared_hosts(draw, args.pods, args.n)
    else:
        jobs = exclusive_hosts(draw, args.pods)
    write_jobs(out, draw, args.pods, jobs, args.iters, args.chan)


if __name__ == "__main__":
    main()
