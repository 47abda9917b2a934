#!/usr/bin/env python3
"""Runs `fairlead diag analyze` on jobs of families.py and judges what it says.

    judge.py --binary build/release/apps/fairlead              two thirds of the families
    judge.py --binary … --held-out                             the third that is not to be tuned on
    judge.py --binary … --suite second                         other families, never tuned on
    judge.py --binary … --check slow_gpu/ring8/1.3 …           some cases, as a test
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import families
import second_families
from foreign_telemetry import Job


SUITES = {"first": families, "second": second_families}
OF_A_HOST = ("nic_down", "crash", "slow_host", "dead_host")
OF_A_RANK = ("slow_gpu", "frozen")
OF_A_NIC = ("nic_down", "slow_nic_send", "slow_nic_receive", "slow_connection", "gpu_hang")


def is_right(culprit, job, fault):
    rank, per_host = fault["rank"], job["gpus_per_host"]
    kind = culprit["kind"].lower()
    if kind == "rank":
        return culprit["rank"] == rank or (fault["kind"] in ("slow_host", "dead_host") and
                                           culprit["rank"] // per_host == rank // per_host)
    if kind == "host":
        of_host = set(range(culprit["host"] * per_host, (culprit["host"] + 1) * per_host))
        return rank in of_host and (fault["kind"] in OF_A_HOST or of_host <= {other["rank"] for other in job["faults"]})
    if fault["kind"] in OF_A_NIC:
        ends = (rank, fault["peer"]) if fault["kind"] == "slow_connection" else (rank,)
        if kind == "connection":
            return all(end in (culprit["rank"], culprit["peer"]) for end in ends)
        if kind.startswith("nic"):
            return any(culprit["nic"] == end or culprit["host"] == end // per_host for end in ends)
    return False


def said(finding, right):
    return {"syndrome": finding["syndrome"], "score": finding["score"], "confidence": finding["confidence"],
            "right": right}


def run(task):
    case, name, options, faults, seed, binary, keep, suite = task
    job = SUITES[suite].make(case, name, options, faults, seed)
    path = os.path.join(keep or tempfile.gettempdir(), f"{suite}-{case.replace('/', '-')}-{seed}.jsonl")
    if not (keep and os.path.exists(path)):
        with open(path, "w") as out:
            Job(job, f"{case}{seed}").run(job["seconds"], out)
    answer = subprocess.run([binary, "diag", "analyze", path, "--json", "-"], capture_output=True, text=True)
    if not keep:
        os.unlink(path)
    if answer.returncode not in (0, 1):
        return case, seed, "error", None, answer.stderr[:300], []
    findings = json.loads(answer.stdout)["findings"]
    explained = {s for f in findings for s in f["symptoms"]}
    findings = [f for f in findings if f["id"] not in explained]
    if not faults:
        loud = [f for f in findings if f["confidence"] >= 0.5]
        verdict = "silent" if not findings else "hint" if not loud else "accused"
        if any("isolate" in f["action"] for f in findings):
            verdict = "isolate"
        return case, seed, verdict, None, "; ".join(f"{f['confidence']:.2f} {f['action']}: {f['summary']}"
                                                    for f in findings), [said(f, False) for f in findings]
    fault = job["faults"][0]
    named = [f for f in findings if f["culprits"]]
    verdict, delay = "missed", None
    is_about = lambda finding, fault: any(is_right(c, job, fault) for c in finding["culprits"])
    right = [all(any(is_right(c, job, fault) for fault in job["faults"]) for c in f["culprits"]) for f in named]
    if named:
        # Of two faults at a rank each is to be found by its own kind of culprit.
        is_found = lambda fault: any(is_about(f, fault) and (fault["kind"] in OF_A_RANK or f["culprits"][0]["kind"] != "rank")
                                     for f in named)
        is_complete = len(job["faults"]) == 1 or all(fault.get("is_minor") or is_found(fault) for fault in job["faults"])
        verdict = ("right" if is_complete else "partly") if all(right) else "innocent" if right[0] else "wrong"
        delay = named[0]["confirmed_s"] - fault["begin"]
    elif findings:
        verdict = "unnamed"
    text = f"rank {fault['rank']}: " + "; ".join(
        f"{f['confirmed_s']:.0f}s {f['confidence']:.2f} {f['action']}: {f['summary']}" for f in findings)
    pairs = [said(f, r) for f, r in zip(named, right)]
    return case, seed, verdict, delay, text, pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--suite", choices=sorted(SUITES), default="first")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--pairs", default="", help="append what was said and whether it was right, a JSON line each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="no line for each case that went wrong")
    parser.add_argument("--check", nargs="*", default=[], help="only these cases; exit code 1 if one goes wrong")
    arguments = parser.parse_args()
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    tasks = []
    suite = SUITES[arguments.suite]
    # By the first suite confidence is calibrated, on the second one that is checked.
    is_checked_on = suite is second_families
    for case, _, _, _ in list(suite.healthy_cases()) + list(suite.fault_cases()):
        if arguments.check:
            if case not in arguments.check:
                continue
        elif arguments.only not in case or (suite is families and
                                            families.is_held_out(case) != arguments.held_out):
            continue
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            tasks.append((case, seed, arguments.binary, arguments.keep, arguments.suite))
    sums, delays, pairs = defaultdict(Counter), defaultdict(list), []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for case, seed, verdict, delay, text, found in pool.map(run_indirect, tasks):
            family = case.split("/")[0] if not case.startswith("healthy") else "healthy " + case.split("/")[2]
            sums[family][verdict] += 1
            if delay is not None:
                delays[family].append(delay)
            pairs += found
            if arguments.pairs:
                with open(arguments.pairs, "a") as out:
                    out.writelines(json.dumps(dict(pair, case=case, seed=seed, held_out=is_checked_on)) + "\n"
                                   for pair in found)
            if verdict not in ("right", "silent") and not arguments.table:
                print(f"{case} #{seed} {verdict}: {text}", flush=True)
    print()
    healthy, faulty = Counter(), Counter()
    for family in sorted(sums):
        line = ", ".join(f"{v} {k}" for k, v in sums[family].most_common())
        if delays[family]:
            line += f"; delay median {statistics.median(delays[family]):.0f} s, longest {max(delays[family]):.0f} s"
        print(f"{family:24} {line}")
        (healthy if family.startswith("healthy") else faulty).update(sums[family])
    print("all faults:", dict(faulty), "all healthy:", dict(healthy))
    bins = defaultdict(list)
    for pair in pairs:
        bins[min(9, int(10 * pair["confidence"]))].append(pair["right"])
    num_wrong = sum(healthy.values()) + sum(faulty.values())
    num_wrong -= healthy["silent"] + healthy["hint"] + faulty["right"]
    print("right of said, by confidence:",
          {f"{b / 10:.1f}-{(b + 1) / 10:.1f}": f"{sum(v)}/{len(v)}" for b, v in sorted(bins.items())})
    return 1 if arguments.check and (num_wrong or len(tasks) != len(arguments.check)) else 0


def run_indirect(key):
    wanted, seed, binary, keep, suite = key
    for case, name, options, faults in list(SUITES[suite].healthy_cases()) + list(SUITES[suite].fault_cases()):
        if case == wanted:
            return run((case, name, options, faults, seed, binary, keep, suite))
    raise KeyError(wanted)


if __name__ == "__main__":
    sys.exit(main())
