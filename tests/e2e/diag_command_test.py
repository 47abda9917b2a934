"""fairlead diag analyze as a user meets it: real processes, real files, exit codes, messages.

usage: diag_command_test.py PROGRAM SOURCE_DIR
"""
import gzip
import json
import os
import pickle
import re

from command_case import CommandCase, main
from figure_folder import check_figures

SECOND = 10**9


def flight_recorder_file(num_ranks, num_issued):
    """What PyTorch writes of one rank that has completed 5 all-reduces and begun `num_issued` - 5 more."""
    entries = []
    for i in range(num_issued):
        entries.append({"record_id": i, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": i + 1,
                        "p2p_seq_id": 0, "op_id": i + 1, "profiling_name": "nccl:all_reduce", "is_p2p": False,
                        "time_created_ns": 1724779239936775119 + i, "input_sizes": [[3, 4]], "input_dtypes": ["Float"],
                        "output_sizes": [[3, 4]], "output_dtypes": ["Float"], "retired": False, "timeout_ms": 600000,
                        "state": "completed" if i < 5 else "started",
                        "time_discovered_started_ns": 1724779239936775119 + i,
                        "time_discovered_completed_ns": 1724779239936775119 + i if i < 5 else 0})
    return json.dumps({"version": "2.5", "entries": entries, "pg_status": {}, "nccl_comm_state": {}, "pg_config": {
        "0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(num_ranks)))}}})


def dump(num_ranks, seconds, hang_at=None, slow_from=None):
    """Our own form: two all-reduces a second. Rank 3 stops at second `hang_at`; rank 5 sends slowly from `slow_from`."""
    layout = {"job": 4, "ranks": [{"host": r // 8, "gpu": r % 8, "nic": r} for r in range(num_ranks)],
              "communicators": [{"name": "world", "ranks": list(range(num_ranks))}]}
    lines = [{"fairlead_telemetry": 1, "layout": layout}]
    for second in range(1, seconds + 1):
        at = second * SECOND
        for host in range(num_ranks // 8):
            ranks = [{"rank": rank} for rank in range(8 * host, 8 * host + 8)]
            lines.append({"host_report": {"job": 4, "host": host, "number": second - 1, "at": at, "ranks": ranks}})
        stands = hang_at is not None and second >= hang_at
        for rank in range(num_ranks):
            report = {"job": 4, "rank": rank, "number": second - 1, "at": at, "operations": [], "connections": []}
            for index in range(2 * second - 2, 2 * second):
                begin = at - SECOND + index % 2 * SECOND // 2
                operation = {"communicator": 0, "kind": 0, "sequence": index, "index": index, "bytes": 2**30,
                             "root": -1, "enqueued": begin, "started": begin + 1000}
                if not stands:
                    operation["finished"] = begin + 3 * SECOND // 10
                if not stands or (second == hang_at and rank != 3 and index == 2 * second - 2):
                    report["operations"].append(operation)
            for distance in range(1, 5) if not stands else ():
                is_slow = slow_from is not None and second >= slow_from and rank == 5
                # A few per cent of difference, the same in each run.
                wire_time = (200 + (7 * rank + 11 * distance + 5 * second) % 10) * 10**6 * (3 if is_slow else 1)
                report["connections"].append({
                    "key": {"communicator": 0, "direction": 0, "peer": (rank + distance) % num_ranks}, "messages": 400,
                    "bytes": 400 * 2**19, "wire_time": wire_time, "wire_time_max": wire_time // 300,
                    "last_progress": at})
            lines.append({"rank_report": {key: value for key, value in report.items() if value != []}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def ras_answer(counts, time, missing_status=None):
    """What `ncclras -f json` prints of 4 ranks on 2 hosts; without a comma before "status", as NCCL 2.28.9."""
    ranks = [{"rank": rank, "host": f"10.0.0.{rank // 2}", "pid": 100 + rank, "cuda_dev": rank % 2,
              "collective_counts": {"Broadcast": 1, "AllReduce": count, "Send": 0}, "status": {"async_error": 0}}
             for rank, count in enumerate(counts)]
    missing = [] if missing_status is None else [
        {"rank": 3, "host": "10.0.0.1", "pid": 103, "cuda_dev": 1, "nvml_dev": 1, "status": missing_status}]
    text = json.dumps({"nccl_version": "2.28.9", "timestamp": time, "communicators_count": 1, "communicators": [
        {"hash": "0x1f", "secondary_hash": "0x1:0x2", "size": 4, "ranks": ranks, "missing_ranks": missing}]})
    return text.replace('"nvml_dev": 1, ', '"nvml_dev": 1 ')


def inspector_file(rank, num_ranks, late_rank):
    """Dumps of NCCL Inspector, 30 s apart. Who comes last to a collective spends the least time in it."""
    lines = []
    for sequence in range(240):
        dump = 1772585717 * 10**6 + sequence // 20 * 30 * 10**6 + 3 * rank
        duration = (50000 if rank == late_rank else 300000) + (7 * rank + 13 * sequence) % 11 * 300
        lines.append({
            "header": {"id": "0x1", "rank": rank, "n_ranks": num_ranks, "nnodes": 2},
            "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": dump,
                         "hostname": f"worker-{rank // 4}", "pid": 40 + rank},
            "coll_perf": {"coll": "AllReduce", "coll_sn": sequence, "coll_msg_size_bytes": 2**28,
                          "coll_exec_time_us": duration}})
    return "".join(json.dumps(line) + "\n" for line in lines)


class DiagCommandTest(CommandCase):
    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        return name

    def analyze(self, *args):
        return self.run_program("diag", "analyze", *args)

    def simulate(self, *args):
        return self.run_program("diag", "simulate", *args)

    def test_help_has_an_example(self):
        result = self.analyze("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("Example: ", result.stdout)
        self.assertIn("Exit codes: ", result.stdout)

    def test_flight_recorder_names_the_rank_that_did_not_come(self):
        files = [self.write(f"trace_{rank}", flight_recorder_file(8, 5 if rank == 6 else 6)) for rank in range(8)]
        result = self.analyze(*files, "--json", "found.json", "--html", "found.html", "--figures", "figures")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        found = json.loads((self.folder / "found.json").read_text())
        self.assertEqual(found["format"], "flight-recorder")
        self.assertEqual(len(found["findings"]), 1)
        self.assertEqual(found["findings"][0]["syndrome"], "non_comm_hang")
        self.assertEqual([culprit["rank"] for culprit in found["findings"][0]["culprits"]], [6])
        self.assertIn("do not name hosts", " ".join(found["notes"]))
        page = (self.folder / "found.html").read_text()
        self.assertIn("waits", check_figures(self.folder / "figures", page).values())
        self.assertIn("node culprit", page)
        self.assertIsNone(re.search(r'(src|href)="https?:', page), "the page must not fetch anything")

    def test_a_hang_that_accuses_nobody_names_who_it_may_be(self):
        files = [self.write(f"all_{rank}", flight_recorder_file(8, 6)) for rank in range(8)]
        result = self.analyze(*files, "--json", "found.json", "--html", "found.html")
        self.assertEqual(result.returncode, 1, result.stderr)
        [finding] = json.loads((self.folder / "found.json").read_text())["findings"]
        self.assertEqual(finding["culprits"], [])
        self.assertEqual([one["culprit"]["host"] for one in finding["candidates"]], list(range(8)))
        self.assertIn("1 rank of it is inside", finding["candidates"][0]["why"])
        self.assertEqual(finding["tell_apart"][0]["command"].split()[:2], ["fairlead", "check-node"])
        self.assertIn("One of these, and it is not known which:", result.stdout)
        self.assertIn("host of rank 3: 1 rank of it is inside", result.stdout)
        self.assertIn("What tells them apart:", result.stdout)
        self.assertLessEqual(max(len(line) for line in result.stdout.splitlines() if "check-node" not in line), 100)
        page = (self.folder / "found.html").read_text()
        for said in ("host of rank 3: 1 rank of it is inside", "What tells them apart", "<code>fairlead check-node"):
            self.assertTrue(said in page, said)

    def test_a_flight_recorder_that_was_written_at_once_may_be_of_a_job_that_runs(self):
        files = [self.write(f"early_{rank}", flight_recorder_file(8, 5 if rank == 6 else 6)) for rank in range(8)]
        for seconds, is_early in ((0.5, True), (60, False)):
            for file in files:
                os.utime(self.folder / file, (1724779240 + seconds,) * 2)
            found = json.loads(self.analyze(*files, "--json", "-").stdout)
            [finding] = found["findings"]
            self.assertEqual(finding["action"], "watch" if is_early else "isolate and restart")
            self.assertEqual(finding["confidence"] <= 0.5, is_early, finding)
            self.assertEqual("may have been running" in " ".join(found["notes"]), is_early, found["notes"])

    def pickled(self, rank, protocol):
        """As PyTorch writes it by default: sizes and groups as tuples, frames shared by all entries, None for unknown."""
        file = json.loads(flight_recorder_file(8, 5 if rank == 6 else 6))
        frames = [{"name": "all_reduce", "filename": "/usr/lib/python3/torch/distributed/c10d.py", "line": 1},
                  {"name": "step", "filename": "/job/train.py", "line": 88}]
        for entry in file["entries"]:
            entry.update(frames=frames, process_group=tuple(entry["process_group"]), duration_ms=None,
                         input_sizes=tuple(map(tuple, entry["input_sizes"])))
            if not entry["time_discovered_completed_ns"]:
                entry["time_discovered_completed_ns"] = None
        file["pg_status"] = {0: {"last_completed_collective": 5}}
        return pickle.dumps(file, protocol)

    def test_pickles_of_the_flight_recorder(self):
        for protocol in (2, 3, 4, 5):
            files = [self.write(f"pickle{protocol}_{rank}", self.pickled(rank, protocol)) for rank in range(8)]
            found = json.loads(self.analyze(*files, "--json", "-").stdout)
            self.assertEqual([(f["syndrome"], [c["rank"] for c in f["culprits"]]) for f in found["findings"]],
                             [("non_comm_hang", [6])])
            self.assertIn("Collective 6 of process group 0 is not finished; issued by rank 0, 1, 2, 3, 4 and 2 more at "
                          "step (train.py:88).", found["notes"])

    def test_pickles_run_nothing(self):
        class Evil:
            def __reduce__(self):
                return (open, ("/tmp/fairlead-was-here", "w"))

        for protocol in (2, 3, 4, 5):
            evil = self.write(f"evil{protocol}_0", pickle.dumps({"pg_config": {}, "version": Evil()}, protocol))
            self.assert_refused(self.analyze(evil), "GLOBAL would run code of the file and is refused")

    def test_packed_files(self):
        plain = [self.write(f"plain_{rank}", self.pickled(rank, 2)) for rank in range(8)]
        packed = [self.write(f"packed_{rank}.gz", gzip.compress(self.pickled(rank, 2))) for rank in range(8)]
        self.assertEqual([syndrome for syndrome, _ in self.findings(*plain)], ["non_comm_hang"])
        self.assertEqual(self.findings(*plain), self.findings(*packed))
        recording = dump(8, 60, hang_at=20)
        for name, content in (("plain.jsonl", recording), ("packed.jsonl.gz", gzip.compress(recording.encode()))):
            self.write(name, content)
        self.assertEqual([syndrome for syndrome, _ in self.findings("plain.jsonl")], ["non_comm_hang"])
        self.assertEqual(self.findings("plain.jsonl"), self.findings("packed.jsonl.gz"))
        whole = gzip.compress(recording.encode())
        self.assert_refused(self.analyze(self.write("short.gz", whole[:len(whole) // 2])),
                            "short.gz: is packed by gzip and damaged behind byte")
        wrong = whole[:40] + bytes(byte ^ 255 for byte in whole[40:60]) + whole[60:]
        self.assert_refused(self.analyze(self.write("wrong.gz", wrong)), "wrong.gz: is packed by gzip and damaged")

    def test_flight_recorder_of_a_job_without_a_fault(self):
        files = [self.write(f"trace_{rank}.json", flight_recorder_file(4, 5)) for rank in range(4)]
        result = self.analyze(*files)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("no finding", result.stdout)

    def findings(self, *args):
        result = self.analyze(*args, "--json", "-")
        found = json.loads(result.stdout)["findings"]
        self.assertEqual(result.returncode, 1 if found else 0, result.stderr)
        return [(f["syndrome"], [(c["rank"], c["host_name"]) for c in f["culprits"]]) for f in found]

    def test_ras(self):
        early, late = "2026-01-31 12:00:00", "2026-01-31 12:01:00"
        behind = self.write("behind", ras_answer([101, 101, 100, 101], early))
        self.assertEqual(self.findings(behind), [("non_comm_hang", [(2, "10.0.0.1")])])
        # One answer may have caught a job that moves.
        once = self.analyze(behind, "--act", "log").stdout
        self.assertIn("One answer shows one instant", once)
        self.assertNotIn("isolate", once)
        same = self.write("same", ras_answer([101, 101, 100, 101], late))
        self.assertEqual(self.findings(behind, same), [("non_comm_hang", [(2, "10.0.0.1")])])
        self.assertIn("isolate", self.analyze(behind, same).stdout)
        moved = self.write("moved", ras_answer([301, 301, 300, 301], late))
        self.assertEqual(self.findings(behind, moved), [])
        dead = self.write("dead", ras_answer([9, 9, 9], early, {"unresponsive": True, "considered_dead": True}))
        self.assertEqual(self.findings(dead), [("dead", [(3, "10.0.0.1")])])
        silent = self.write("silent", ras_answer([9, 9, 9], early, {"unresponsive": True, "considered_dead": False}))
        self.assertIn("rank 3 gives no answer", self.analyze(silent).stdout)
        # One answer does not show whether a rank waits for it: unreachable, and only to be watched.
        self.assertEqual(self.findings(silent), [("unreachable", [(3, "10.0.0.1")])])
        self.assertNotIn("isolate", self.analyze(silent, "--act", "log").stdout)
        # Ranks may be behind because one does not answer.
        lag = self.write("lag", ras_answer([9, 8, 9], early, {"unresponsive": True, "considered_dead": False}))
        found = json.loads(self.analyze(lag, "--json", "-").stdout)
        self.assertEqual([(f["syndrome"], [c["rank"] for c in f["culprits"]]) for f in found["findings"]],
                         [("unreachable", [3])])
        self.assertIn("rank 1", " ".join(note for note in found["notes"] if "may come of who gives no answer" in note))
        # It has come back by the next answer.
        back = self.write("back", ras_answer([9, 9, 9, 9], late))
        self.assertEqual(self.findings(silent, back), [])
        # A minute later nothing has moved, and it is still silent: it is taken for dead.
        still = self.write("still", ras_answer([9, 9, 9], late, {"unresponsive": True, "considered_dead": False}))
        self.assertEqual(self.findings(silent, still), [("dead", [(3, "10.0.0.1")])])
        moved = self.write("on", ras_answer([40, 40, 40], late, {"unresponsive": True, "considered_dead": False}))
        self.assertEqual(self.findings(silent, moved), [("unreachable", [(3, "10.0.0.1")])])

    def test_ras_in_words(self):
        text = """NCCL version 2.27.7 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         8         8         8   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (34a704fd70ae67b0) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation %d
  Rank 3 has launched up to operation %d -- GPU 3 managed by process 13426 on node 10.0.0.4

"""
        first = self.write("first.txt", text % (240, 235))
        self.assertEqual(self.findings(first), [("non_comm_hang", [(3, "10.0.0.4")])])
        self.assertNotIn("isolate", self.analyze(first).stdout)
        self.assertEqual(self.findings(first, self.write("on.txt", text % (440, 435))), [])
        stuck = self.analyze(first, self.write("same.txt", text % (240, 235))).stdout
        self.assertIn("isolate", stuck)
        self.assertIn("a minute apart, in the order given", stuck)
        self.assert_refused(self.analyze(self.write("cut.txt", text[:text.find("Warnings")])), "cut.txt: the answer of NCCL RAS ends")

    def test_announced_pauses(self):
        job = self.write("job.jsonl", dump(16, 90, hang_at=20))
        self.assertEqual([f[0] for f in self.findings(job)], ["non_comm_hang"])
        self.assertEqual(self.findings(job, "--pause", "10-100"), [])
        # Findings that still hold after the pause are made then: not before 8 s of confirmation.
        result = self.analyze(job, "--pause", "10-50", "--json", "-")
        (finding,) = json.loads(result.stdout)["findings"]
        self.assertGreaterEqual(finding["confirmed_s"], 57.9)
        for wrong in ("50-10", "5", "a-b", "1-nan"):
            self.assert_refused(self.analyze(job, "--pause", wrong), f"--pause {wrong}", "600-900")

    def test_steering_of_a_recording(self):
        job = self.write("job.jsonl", dump(16, 60, hang_at=20))
        plain = json.loads(self.analyze(job, "--json", "-").stdout)
        self.assertIsNone(plain["steering"])
        result = self.analyze(job, "--act", "log", "--audit", "audit.jsonl", "--json", "-")
        steering = json.loads(result.stdout)["steering"]
        steps = [line["step"] for line in steering if line["kind"] == "action" and line["step"] != "excuse_job"]
        self.assertEqual(sorted(steps), ["isolate_host", "restart_job", "stop_job", "take_spare", "test_host"])
        audit = [json.loads(line) for line in (self.folder / "audit.jsonl").read_text().splitlines()]
        chains = [(line.pop("chain"), line.pop("chain_begins", False)) for line in audit]
        self.assertEqual([begins for _, begins in chains], [True] + [False] * (len(chains) - 1))
        self.assertEqual(audit, steering)
        self.assertIn("What steering would do (nothing is touched)", self.analyze(job, "--act", "log").stdout)
        # Rank 3 is on host 0 of 0 and 1; the spare is host 2.
        self.assertEqual([line["hosts"] for line in steering if line.get("step") == "restart_job"], [[2, 1]])

    def test_hook(self):
        job = self.write("job.jsonl", dump(16, 60, hang_at=20))
        result = self.analyze(job, "--act", "hook", "--hook", "cat >> told.jsonl; echo '{\"healthy\": false}'")
        self.assertEqual(result.returncode, 1, result.stderr)
        told = [json.loads(line) for line in (self.folder / "told.jsonl").read_text().splitlines()]
        self.assertEqual({line["fairlead_action"] for line in told}, {1})
        self.assertEqual(sorted(line["step"] for line in told),
                         ["isolate_host", "restart_job", "stop_job", "take_spare", "test_host"])
        self.assertEqual([line["host"] for line in told if line["step"] == "isolate_host"], [0])
        self.assertGreater(len(told[0]["evidence"]), 0)
        # A hook that says never (2) is not asked again, and the job is left alone.
        refused = self.analyze(job, "--act", "hook", "--hook", "cat >> refused.jsonl; exit 2")
        self.assertEqual(len((self.folder / "refused.jsonl").read_text().splitlines()), 1)
        self.assertIn("given up after 1 attempt: hook: exit code 2", refused.stdout.replace("\n    ", " "))

    def test_steering_must_be_asked_for(self):
        job = self.write("job.jsonl", dump(16, 5))
        self.assert_refused(self.analyze(job, "--hook", "true"), "--hook", "--act hook")
        self.assert_refused(self.analyze(job, "--act", "hook"), "--hook")
        self.assert_refused(self.analyze(job, "--act", "all"), "log or hook")
        self.assert_refused(self.analyze(job, "--audit", "a.jsonl"), "--audit")

    def drill(self, *args):
        return self.run_program("diag", "drill", *args)

    def test_drill(self):
        small = ("--data", "8", "--minutes", "40", "--fault", "gpu_hang@150:5")
        result = self.drill(*small, "--json", "out.json", "--html", "out.html", "--figures", "figures", "--audit", "audit.jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        out = json.loads((self.folder / "out.json").read_text())
        with_c4d, people = out["runs"]
        (fault,) = with_c4d["faults"]
        self.assertEqual((fault["kind"], fault["host"], fault["names_host"]), ("gpu_hang", 2, True))
        times = [fault[key] for key in ("acted_s", "symptom_s", "suspected_s", "confirmed_s", "action_s", "restarted_s")]
        self.assertEqual(times, sorted(times))
        self.assertIsNone(people["faults"][0]["confirmed_s"])
        self.assertLess(with_c4d["without_progress_s"], people["without_progress_s"])
        page = (self.folder / "out.html").read_text()
        self.assertEqual(set(check_figures(self.folder / "figures", page).values()), {"schedule"})
        self.assertIn("host 2: isolated", page)
        self.assertIn("host 2: faulty", page)
        self.assertIsNone(re.search(r'(src|href)="https?:', page), "the page must not fetch anything")
        self.assertGreater(len((self.folder / "audit.jsonl").read_text().splitlines()), 5)
        again = self.drill(*small, "--json", "-")
        self.assertEqual(json.loads(again.stdout), out)

    def test_drill_mistakes(self):
        for fault in ("nothing@5", "gpu_hang", "gpu_hang@x", "gpu_hang@5:99", "slow_gpu@5:1x0.5", "gpu_hang@5:1.5"):
            self.assert_refused(self.drill("--fault", fault), f"--fault {fault}")
        self.assert_refused(self.drill("--mode", "maybe"), "--mode", "observe")
        self.assert_refused(self.drill("--minutes", "0"), "--minutes")
        self.assert_refused(self.drill("--failing-actions", "2"), "failing_actions")
        self.assert_refused(self.drill("--json", "-", "--html", "-"), "stdout")
        self.assertIn("Example: ", self.drill("--help").stdout)

    def test_inspector(self):
        for late_rank, expected in ((None, []), (2, [("non_comm_slow", [(2, "worker-0")])])):
            files = [self.write(f"inspector_{rank}.log", inspector_file(rank, 8, late_rank)) for rank in range(8)]
            self.assertEqual(self.findings(*files), expected)

    def test_simulated_recordings(self):
        for fault, syndrome in (("none", None), ("process_crash", "dead"), ("gpu_hang", None), ("slow_gpu", "non_comm_slow")):
            with self.subTest(fault):
                result = self.simulate("--fault", fault, "--seed", "3", "-o", "out/job.jsonl")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("planted: " + ("nothing" if fault == "none" else fault), result.stdout)
                rank = re.search(r"rank (\d+)", result.stdout)
                found = self.findings("out/job.jsonl")
                if fault == "none":
                    self.assertEqual(found, [])
                    continue
                self.assertEqual(len(found), 1)
                self.assertIn(found[0][0], [syndrome] if syndrome else ["non_comm_hang", "comm_hang"])
                self.assertEqual([name for name, _ in found[0][1]], [int(rank.group(1))])
        for args, part in ((["--fault", "rust"], "slow_gpu"), (["--data", "0"], "data"), (["--data", "99999"], "16384"),
                           (["--fault", "checkpoint_stall"], "--checkpoint-every"), (["--seconds", "0"], "--seconds")):
            result = self.simulate("-o", "x", *args)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(part, result.stderr)
            self.assertFalse((self.folder / "x").exists())

    def test_recordings(self):
        for name, content, syndrome, culprit in (
                ("ok", dump(8, 60), None, None),
                ("hang", dump(8, 60, hang_at=20), "non_comm_hang", ("rank", 3)),
                ("slow", dump(8, 90, slow_from=31), "comm_slow", ("nic", 5))):
            with self.subTest(name):
                result = self.analyze(self.write(name, content), "--json", "-")
                self.assertEqual(result.returncode, 0 if syndrome is None else 1, result.stderr)
                findings = json.loads(result.stdout)["findings"]
                self.assertEqual([f["syndrome"] for f in findings], [] if syndrome is None else [syndrome])
                for finding in findings:
                    self.assertEqual([named[culprit[0]] for named in finding["culprits"]], [culprit[1]])
                    self.assertEqual(finding["state"], "confirmed")
        # With default limits a hang takes 18 s to be confirmed, and two looks.
        result = self.analyze("hang", "--json", "-")
        self.assertLessEqual(json.loads(result.stdout)["findings"][0]["confirmed_s"], 19 + 18 + 2)
        result = self.analyze("slow", "--html", "-")
        self.assertIn('class="outline"', result.stdout)
        # Ids of hosts are names, not counts.
        far = self.write("far", dump(8, 60, hang_at=20).replace('"host": 0', '"host": 4000000000'))
        self.assertIn("host 4000000000", self.analyze(far, "--html", "-").stdout)

    def test_cut_off_recording(self):
        text = dump(8, 60, hang_at=20)
        cut = self.write("cut", text[:-30])
        num_records = text.count("\n") - 2  # neither the layout nor the last one
        self.assert_refused(self.analyze(cut), "cut:", "ends within a record", f"The {num_records} records before it")
        result = self.analyze(cut, "--accept-cut-off")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("cut off", result.stdout)

    def test_bad_files(self):
        self.assert_refused(self.analyze("missing"), "missing: cannot be opened")
        self.assert_refused(self.analyze("."), "is a folder")
        self.assert_refused(self.analyze(self.write("empty", "")), "empty: is empty")
        self.assert_refused(self.analyze(self.write("text", "hello\n")), "text: expected a recording", "--input-format")
        self.assert_refused(self.analyze(self.write("pickled", pickle.dumps({"version": "2.5"}))),
                            "pickled: is a pickle, but not one of PyTorch's flight recorder")
        self.assert_refused(self.analyze(self.write("bytes", bytes(range(256)))), "bytes: is no text")
        for form in ("dump", "flight-recorder", "inspector", "ras"):
            self.assert_refused(self.analyze("text", "--input-format", form), "text:1: ")
        wrong = dump(8, 2).replace('"rank": 7, "number": 1', '"rank": 8, "number": 1')
        self.assert_refused(self.analyze(self.write("wrong", wrong)), "rank_report.rank: expected one of the layout's 8")

    def test_files_that_do_not_belong_together(self):
        one = self.write("a_0", flight_recorder_file(2, 5))
        other = self.write("b_1", flight_recorder_file(4, 5))
        again = self.write("c_0", flight_recorder_file(2, 5))
        recording = self.write("dump", dump(8, 2))
        self.assert_refused(self.analyze(one, other), "a_0 and b_1 are of different jobs")
        self.assert_refused(self.analyze(one, again), "a_0 and c_0 are both of rank 0")
        self.assert_refused(self.analyze(one, recording), "give files of one job in one format")
        self.assert_refused(self.analyze(recording, recording), "dump: a recording of fairlead is one file")

    def test_bad_usage(self):
        recording = self.write("dump", dump(8, 2))
        self.assertEqual(self.analyze().returncode, 2)
        self.assert_refused(self.analyze(recording, "--input-format", "xml"), "dump, flight-recorder, inspector, ras")
        self.assert_refused(self.analyze(recording, "--tick", "0"), "--tick: expected 0.001 to")
        self.assert_refused(self.analyze(recording, "--confirm-for", "nan"), "--confirm-for: expected")
        self.assert_refused(self.analyze(recording, "--json", "-", "--html", "-"), "only one output can be '-'")


if __name__ == "__main__":
    main()
