"""Are the faults in recordings of real jobs found in their time, and nobody else accused?

usage: recordings_test.py PROGRAM FOLDER
"""
import json
import pathlib
import subprocess
import sys
import unittest

PROGRAM, FOLDER = "", pathlib.Path()

# Of each recording: syndrome, rank, and the seconds within which it has to be confirmed.
FAULTS = {
    "h100-ddp": [("non_comm_slow", 2, 63, 108), ("non_comm_hang", 1, 128, 153)],
    "h100-pipeline": [("non_comm_slow", 1, 47, 92), ("non_comm_hang", 2, 92, 117)],
    "h100-moe": [("non_comm_slow", 0, 44, 72)],
    "h100-zero": [("non_comm_slow", 3, 33, 78)],
}


def findings(name, tick):
    seen = subprocess.run([PROGRAM, "diag", "analyze", str(FOLDER / f"{name}.jsonl.gz"), "--tick", str(tick), "--json", "-"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert seen.returncode in (0, 1), seen.stderr
    return json.loads(seen.stdout)


def ranks(finding):
    return {culprit["rank"] for culprit in finding["culprits"]}


class RecordingsTest(unittest.TestCase):
    def test_faults_are_found_and_nobody_else_is_accused(self):
        for name, faults in FAULTS.items():
            for tick in (0.25, 1):  # a controller's, and the default
                with self.subTest(name, tick=tick):
                    analysis = findings(name, tick)
                    for syndrome, rank, begin, end in faults:
                        named = [f["confirmed_s"] for f in analysis["findings"]
                                 if f["syndrome"] == syndrome and ranks(f) == {rank}]
                        self.assertTrue(any(begin <= second <= end for second in named), f"rank {rank}: {named}")
                    guilty = {rank for _, rank, _, _ in faults}
                    for finding in analysis["findings"]:
                        if "isolate" in finding["action"] or finding["confidence"] >= 0.5:
                            self.assertLessEqual(ranks(finding), guilty, finding["summary"])


if __name__ == "__main__":
    PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
    del sys.argv[1:3]
    unittest.main(verbosity=2)
