#!/usr/bin/env python3
"""Makes src/diagnosis/c4d/calibration_table.h from what judge.py counted, and prints reliability tables.

    judge.py --binary ... --pairs pairs.jsonl                     the first suite: what was said, and was it right
    judge.py --binary ... --held-out --pairs pairs.jsonl          the rest of it
    judge.py --binary ... --suite second --pairs pairs.jsonl      the second suite: only checked on
    calibrate.py pairs.jsonl --table src/diagnosis/c4d/calibration_table.h

Method: calibration.h. A line of the file is {"syndrome", "score", "confidence", "right", "held_out", ...}.
"""

import argparse
import json
import math

CLASSES = {"comm_hang": "Stalled", "non_comm_hang": "Stalled", "dead": "Stalled", "comm_slow": "Slow",
           "non_comm_slow": "Slow", "mismatch": "Other", "unreachable": "Other"}
PSEUDO_CASES = 4
WORDS = {"Stalled": "comm_hang, non_comm_hang, dead", "Slow": "comm_slow, non_comm_slow",
         "Other": "mismatch, unreachable"}


def pool(pairs):
    """[(least score, cases, right, sum of scores)], share right ascending strictly."""
    blocks = []
    for pair in sorted(pairs, key=lambda p: p["score"]):
        if blocks and pair["score"] == blocks[-1][4]:
            block = blocks.pop()
        else:
            block = (pair["score"], 0, 0, 0.0, pair["score"])
        blocks.append((block[0], block[1] + 1, block[2] + pair["right"], block[3] + pair["score"], pair["score"]))
    pooled = []
    for block in blocks:
        pooled.append(block)
        while len(pooled) > 1 and pooled[-2][2] * pooled[-1][1] >= pooled[-1][2] * pooled[-2][1]:
            b, a = pooled.pop(), pooled.pop()
            pooled.append((a[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], b[4]))
    return pooled


def bins_of(pairs):
    bins, least = [], 0.0
    for score, cases, right, total, _ in pool(pairs):
        confidence = (right + PSEUDO_CASES * total / cases) / (cases + PSEUDO_CASES)
        least = max(least, min(confidence, 0.05 ** (1 / cases)))
        # No more than the cases of any bin above can show either: the mapping ascends.
        bins.append((score, cases, right, least))
    for i in range(len(bins) - 2, -1, -1):
        bins[i] = (*bins[i][:3], min(bins[i][3], bins[i + 1][3]))
    return bins


def beta_interval(right, cases, level=0.9):
    """Of the share right, uniform prior, by bisection of the incomplete beta function's sum."""
    def below(p):  # P(Beta(right + 1, cases - right + 1) <= p)
        n = cases + 1
        return sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k) for k in range(right + 1, n + 1))

    def quantile(q):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) < q else (low, middle)
        return low

    return quantile((1 - level) / 2), quantile((1 + level) / 2)


def confidence_of(bins, score):
    chosen = [b for b in bins if b[0] <= score]
    return chosen[-1][3] if chosen else min(score, bins[0][3] if bins else 0.6)


def print_reliability(title, pairs, tables):
    print(f"\n{title}: {len(pairs)} findings\n\n| said | findings | right | 90 % interval |\n| --- | --- | --- | --- |")
    cells = {}
    for pair in pairs:
        said = confidence_of(tables[CLASSES[pair["syndrome"]]], pair["score"])
        cells.setdefault(min(9, int(said * 10)), []).append((said, pair["right"]))
    error = 0.0
    for cell in sorted(cells):
        said = sum(s for s, _ in cells[cell]) / len(cells[cell])
        right, n = sum(r for _, r in cells[cell]), len(cells[cell])
        low, high = beta_interval(right, n)
        error += abs(said - right / n) * n / len(pairs)
        print(f"| {said:.2f} | {n} | {right} ({right / n:.2f}) | {low:.2f} to {high:.2f} |")
    brier = sum((s - r) ** 2 for cell in cells.values() for s, r in cell) / max(1, len(pairs))
    print(f"\nCalibration error {error:.3f}, Brier score {brier:.3f}.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--table", default="")
    arguments = parser.parse_args()
    pairs = [json.loads(line) for path in arguments.pairs for line in open(path)]
    tables = {name: bins_of([p for p in pairs if CLASSES[p["syndrome"]] == name and not p["held_out"]])
              for name in WORDS}
    text = """// Made by tests/foreign_telemetry/calibrate.py from the recordings of the first suite; do not edit.
#pragma once

#include <array>

#include "diagnosis/c4d/calibration.h"

namespace fairlead::diagnosis::c4d {

"""
    for name, bins in tables.items():
        text += f"// {WORDS[name]}: {{least score, cases, right, confidence}}\n"
        text += f"inline constexpr std::array<CalibrationBin, {len(bins)}> k{name}Bins = {{"
        text += "{" + ", ".join(f"{{{s:.4g}, {n}, {r}, {c:.4g}}}" for s, n, r, c in bins) + "}" if bins else ""
        text += "};\n"
    text += "\n}  // namespace fairlead::diagnosis::c4d\n"
    if arguments.table:
        with open(arguments.table, "w") as out:
            out.write(text)
    else:
        print(text)
    print_reliability("First suite", [p for p in pairs if not p["held_out"]], tables)
    print_reliability("Second suite, held out", [p for p in pairs if p["held_out"]], tables)


if __name__ == "__main__":
    main()
