"""Are the faults in recordings of real jobs found in their time, and nobody else accused, whatever ranks are called?

usage: recordings_test.py PROGRAM FOLDER
"""
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile
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
    return analyze(FOLDER / f"{name}.jsonl.gz", tick)


def analyze(path, tick):
    seen = subprocess.run([PROGRAM, "diag", "analyze", str(path), "--tick", str(tick), "--json", "-"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert seen.returncode in (0, 1), seen.stderr
    return json.loads(seen.stdout)


def ranks(finding):
    return {culprit["rank"] for culprit in finding["culprits"]}


# What is to be believed, however often it is found again, with what ranks and hosts are called elsewhere.
def said(analysis, rank_of=range(10**6), host_of=range(10**6)):
    def names(culprits):
        return tuple(sorted((rank_of[c["rank"]], host_of[c["host"]]) for c in culprits))

    return {(f["syndrome"], f["confidence"], names(f["culprits"]))
            for f in analysis["findings"] if f["confidence"] >= 0.5}


# What a recording tells in other words; records are changed in place.


def renumber_ranks(records, new):
    for record in records:
        if "layout" in record:
            layout = record["layout"]
            layout["ranks"] = [layout["ranks"][new.index(rank)] for rank in range(len(new))]
            for communicator in layout["communicators"]:
                communicator["ranks"] = [new[rank] for rank in communicator["ranks"]]
        report = record.get("rank_report", {})
        if report:
            report["rank"] = new[report.get("rank", 0)]
        for connection in report.get("connections", ()):
            connection["key"]["peer"] = new[connection["key"].get("peer", 0)]
        for operation in [*report.get("operations", ()), *report.get("progress", ())]:
            if "peer" in operation:
                operation["peer"] = new[operation["peer"]]
        for process in record.get("host_report", {}).get("ranks", ()):
            process["rank"] = new[process["rank"]]


def renumber_hosts(records, new):
    for record in records:
        for place in [*record.get("layout", {}).get("ranks", ()), record.get("host_report", {})]:
            if place:
                place["host"] = new[place["host"]]


# All clocks are ahead by the same.
def set_clocks(records, ahead):
    def move(fields, *names):
        for name in names:
            if name in fields:
                fields[name] += ahead

    for record in records:
        for report in (record.get("rank_report", {}), record.get("host_report", {})):
            move(report, "at", "operations_since")
            for connection in report.get("connections", ()):
                move(connection, "last_progress", "phase_since")
            for operation in report.get("operations", ()):
                move(operation, "enqueued", "started", "finished")


# Each fifth report comes again, soon after.
def repeat_reports(records, rng):
    keyed = [(place, record) for place, record in enumerate(records)]
    keyed += [(place + rng.uniform(0, 12), record)
              for place, record in keyed if "layout" not in record and rng.random() < 0.2]
    return [record for _, record in sorted(keyed, key=lambda pair: pair[0])]


class RecordingsTest(unittest.TestCase):
    def test_names_clocks_and_repeated_reports_do_not_matter(self):
        for name in FAULTS:
            with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as recording:
                records = [json.loads(line) for line in recording]
            rng = random.Random(name)
            places = next(record["layout"] for record in records if "layout" in record)["ranks"]
            rank_of = rng.sample(range(len(places)), len(places))
            host_of = dict(zip([place["host"] for place in places], rng.sample(range(1000), len(places))))
            wanted = said(findings(name, 1), rank_of, host_of)
            renumber_ranks(records, rank_of)
            renumber_hosts(records, host_of)
            set_clocks(records, rng.randrange(10**18))
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "recording.jsonl"
                lines = [json.dumps(record) + "\n" for record in repeat_reports(records, rng)]
                path.write_text("".join(lines), encoding="utf-8")
                self.assertEqual(said(analyze(path, 1)), wanted)

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
