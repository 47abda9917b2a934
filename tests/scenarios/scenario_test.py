#!/usr/bin/env python3
"""Scenarios whose outcome can be worked out by hand.

usage: scenario_test.py PROGRAM SOURCE_DIR

Each *.yaml beside this file is a scenario as users write it. Its comments say what has to come of it, and why:

    # expect ecmp: first.iteration_s ~ 2 * first.solo_iteration_s
    # expect crux: stalled_jobs == 0

One condition a line, of the run under one policy. Jobs are named by their names, with the fields that `sim run --json` has;
other fields are those of the run. `a ~ b` means: equal within half a percent (a run begins and ends within iterations).
"""
import json
import pathlib
import re
import subprocess
import sys
import types
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(sys.argv[2]).resolve() / "tests" / "scenarios"
EXPECT = re.compile(r"^# expect (\S+): (.+)$", re.MULTILINE)


def names_in(run):
    names = {name: value for name, value in run.items() if not isinstance(value, (dict, list))}
    names.update((job["name"], types.SimpleNamespace(**job)) for job in run["jobs"])
    names["busy"] = run["gpu_utilization"]["busy"]
    return names


def holds(condition, names):
    left, is_near, right = condition.partition(" ~ ")
    if not is_near:
        return eval(condition, {"__builtins__": {}}, names)
    left, right = (eval(side, {"__builtins__": {}}, names) for side in (left, right))
    return abs(left - right) <= 5e-3 * abs(right)


class ScenarioTest(unittest.TestCase):
    def check(self, file):
        expected = EXPECT.findall(file.read_text(encoding="utf-8"))
        self.assertTrue(expected, "nothing is expected")
        run = subprocess.run([PROGRAM, "sim", "run", file, "--json", "-"], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        runs = {run["policy"]: names_in(run) for run in json.loads(run.stdout)["runs"]}
        for policy, condition in expected:
            with self.subTest(policy=policy, condition=condition):
                self.assertIn(policy, runs)
                self.assertTrue(holds(condition, runs[policy]), runs[policy])


for path in sorted(FOLDER.glob("*.yaml")):
    setattr(ScenarioTest, "test_" + path.stem.replace("-", "_"), lambda self, file=path: self.check(file))

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
