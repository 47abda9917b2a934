#!/usr/bin/env python3
"""Prints a scenario of any size, for measuring how `fairlead sim run` grows.

    generate_scenario.py --jobs 100 > jobs100.yaml && fairlead sim run jobs100.yaml --threads 1

Two fifths of the jobs have 64 GPUs, two fifths 128, one fifth 32; the two-layer Clos is as large as they need (a third of its hosts
stays free), 16 hosts to a leaf, as many spines as hosts on a leaf.
"""

import argparse

MIX = [(2, 64, "gpt-13b"), (2, 128, "gpt-30b"), (1, 32, "bert-large")]
HOSTS_PER_LEAF = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100, help="a multiple of 5")
    parser.add_argument("--simulate-s", type=float, default=60)
    options = parser.parse_args()
    if options.jobs < 5 or options.jobs % 5:
        parser.error("--jobs must be a multiple of 5")
    fifth = options.jobs // 5
    gpus = sum(part * fifth * size for part, size, _ in MIX)
    leaves = max(2, round(gpus / 8 * 1.5 / HOSTS_PER_LEAF))
    print(f"title: {options.jobs} jobs on {leaves * HOSTS_PER_LEAF * 8} GPUs")
    print(f"simulate_s: {options.simulate_s:g}\nseeds: 1\nplacement: random")
    print(f"fabric: {{kind: clos2, leaves: {leaves}, hosts_per_leaf: {HOSTS_PER_LEAF}, spines: 16, oversubscription: 1}}")
    print("jobs:")
    for part, size, model in MIX:
        print(f"  - {{name: {model}, count: {part * fifth}, gpus: {size}, model: {model}}}")


if __name__ == "__main__":
    main()
