#!/usr/bin/env python3
"""Fairlead's fluid engine against SimGrid on the same workloads: equal results, and how much faster?

    cmake --preset bench && cmake --build --preset bench
    compare_simgrid.py [--build build/bench] [--only NAME[,NAME]] [--repeat 3] [--wall-limit 120] [--json FILE]

Needs Debian's libsimgrid-dev when the presets are built. Both run in turn, `--repeat` times; CPU seconds are medians, so that
a busy machine slows both sides alike. SimGrid runs that pass the wall limit are stopped; their time is then estimated from
the completions they reached, marked ~, and their results aren't compared.
Exit code: 0 when all results agree to 1e-6, 1 otherwise. Ratios are data.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SIMGRID_OPTIONS = [
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
    "--log=root.thres:error",
]

# name, arguments of generate.py, detail, target in CPU seconds, target in MB
WORKLOADS = [
    ("snap1000", "snap --n 1000", "edge", 0.0026, None),
    ("snap10000", "snap --n 10000", "edge", 0.2, None),
    ("snap100000", "snap --n 100000", "edge", 60, 50),
    ("excl512", "excl --pods 4 --iters 20 --seed 6", "edge", 0.0025, None),
    ("jobs8", "jobs --n 8 --iters 10", "edge", 0.0075, None),
    ("jobs64", "jobs --n 64 --iters 10", "edge", 2.8, None),
    ("jobs64-coupled", "jobs --n 64 --iters 10", "coupled", 0.5, None),
    ("jobs400", "jobs --n 400 --iters 2 --seed 3", "edge", 60, None),
    ("excl10k", "excl --pods 80 --iters 5", "edge", 0.025, None),
    ("excl100k", "excl --pods 800 --iters 2", "edge", 0.15, 50),
    ("excl512-stepwise", "excl --pods 4 --iters 20 --seed 6", "stepwise", 0.1, None),
]


def output_of(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def generate(folder, arguments):
    path = folder / (arguments.replace(" --", "-").replace(" ", "") + ".fwl")
    if not path.exists():
        with open(path, "w") as file:
            subprocess.run([sys.executable, HERE / "generate.py", *arguments.split()], stdout=file, check=True)
    return path


def run_in_turn(ours_command, simgrid_command, repeat):
    """Median CPU seconds of each side and their last results; SimGrid's long runs aren't repeated."""
    ours_cpu, simgrid_cpu = [], []
    simgrid = None
    for round_number in range(repeat):
        ours = output_of(ours_command)
        ours_cpu.append(ours["cpu_s"])
        if simgrid_command and (round_number == 0 or simgrid_cpu[0] < 10):
            simgrid = output_of(simgrid_command)
            simgrid_cpu.append(simgrid["cpu_s"])
    ours["cpu_s"] = statistics.median(ours_cpu)
    if simgrid:
        simgrid["cpu_s"] = statistics.median(simgrid_cpu)
        if not simgrid["finished"]:
            simgrid["cpu_s"] *= ours["completions"] / max(1, simgrid["completions"])
    return ours, simgrid


def agree(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


def compare(name, arguments, detail, target_s, target_mb, options):
    path = generate(options.work, arguments)
    simgrid_command = None
    if detail != "coupled":  # a ring as one variable has no counterpart there
        simgrid_command = [options.build / "bench" / "fwl" / "simgrid_fwl", path, detail, str(options.wall_limit), *SIMGRID_OPTIONS]
    ours_command = [options.build / "apps" / "fairlead", "sim", "fwl", path, "--detail", detail, "--json", "-"]
    ours, simgrid = run_in_turn(ours_command, simgrid_command, options.repeat)
    row = {"name": name, "detail": detail, "ours": ours, "simgrid": simgrid, "target_s": target_s, "target_mb": target_mb}
    if simgrid:
        row["ratio"] = simgrid["cpu_s"] / ours["cpu_s"]
    if simgrid and simgrid["finished"]:
        row["equal"] = ours["completions"] == simgrid["completions"] and all(
            agree(ours[key], simgrid[key]) for key in ("end_s", "mean_iteration_s")
        )
    return row


def print_row(row):
    ours, simgrid = row["ours"], row["simgrid"]
    simgrid_s = "-"
    if simgrid:
        simgrid_s = ("" if simgrid["finished"] else "~") + "%.4g" % simgrid["cpu_s"]
    memory = "%.1f" % ours["peak_rss_mb"] + ("/%g" % row["target_mb"] if row["target_mb"] else "")
    print(
        "%-17s %10s %10s %8s %9.4g %9.4g %10s  %s"
        % (
            row["name"],
            ours["completions"],
            simgrid_s,
            "%.1f" % row["ratio"] if "ratio" in row else "-",
            ours["cpu_s"],
            row["target_s"],
            memory,
            {True: "equal", False: "DIFFERENT", None: "not compared"}[row.get("equal")],
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench", help="folder of the bench preset")
    parser.add_argument("--only", help="comma-separated names")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--wall-limit", type=float, default=120, help="seconds for one SimGrid run")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "fwl", help="generated files")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    names = options.only.split(",") if options.only else [workload[0] for workload in WORKLOADS]
    unknown = set(names) - {workload[0] for workload in WORKLOADS}
    if unknown:
        parser.error("unknown workloads: " + ", ".join(sorted(unknown)))
    print("%-17s %10s %10s %8s %9s %9s %10s" % ("workload", "completed", "SimGrid s", "ratio", "ours s", "target s", "ours MB"))
    rows = []
    for workload in WORKLOADS:
        if workload[0] in names:
            rows.append(compare(*workload, options))
            print_row(rows[-1])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 1 if any(row.get("equal") is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
