"""The program as a user meets it: real processes, real files, exit codes, messages.

usage: command_line_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import re
import shutil
import signal
import subprocess

import busy_process
from command_case import CommandCase, main
from patience import PATIENCE_S


SCENARIO = """title: two jobs on one pair of uplinks
seeds: 2
simulate_s: 20
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, oversubscription: 2}
placement: random
jobs:
  - {name: big, gpus: 16, compute_s: 0.2, size_mb: 4000, start_fraction: 0.5, collective: hierarchical-all-reduce}
  - {name: small, gpus: 16, model: bert-large}
"""

FWL = """fwl 1
linkcaps 2 100
jobs 1
job 0 0 1 2 0 2
f 100 1 0
f 100 2 0 1
"""


class CommandLineTest(CommandCase):
    def test_names_are_whole_in_a_pipe(self):
        name = "a-job-with-a-name-that-no-terminal-of-a-hundred-columns-shows-whole-in-a-table-with-other-columns"
        self.write("s.yaml", f"title: t\nfabric: {{kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 1}}\nseeds: 1\nsimulate_s: 1\n"
                             f"jobs:\n  - {{name: {name}, gpus: 16, compute_s: 0.1, size_mb: 100}}\n")
        free = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        self.assertIn(name, self.run_program("sim", "run", "s.yaml", env=free).stdout)
        narrow = self.run_program("sim", "run", "s.yaml").stdout
        self.assertNotIn(name, narrow)
        self.assertLessEqual(max(map(len, narrow.splitlines())), 100)

    def test_version_and_help_with_example(self):
        result = self.run_program("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^fairlead \d+\.\d+\.\d+")
        for command in (["--help"], ["sim", "run", "--help"], ["sim", "fwl", "--help"], ["explain", "job", "--help"]):
            result = self.run_program(*command)
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example: ", result.stdout)
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 120)

    def test_without_words_it_helps(self):
        result = self.run_program()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, self.run_program("--help").stdout)

    def test_a_sibling_that_is_a_link_back_is_refused(self):
        program = self.folder / "fairlead"
        shutil.copy(self.program, program)
        (self.folder / "fairlead-trace").symlink_to(program)
        result = subprocess.run([program, "trace", "--help"], capture_output=True, text=True, timeout=30)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("is a link to", result.stderr)

    def test_a_mistyped_word_is_named(self):
        for args, meant in ((["simm", "run"], "sim"), (["lab", "donw"], "down"),
                            (["sim", "run", "x.yaml", "--polcy", "crux"], "--policy")):
            result = self.run_program(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(f"did you mean '{meant}'?", result.stderr)

    def test_usage_errors_exit_with_2(self):
        for args in (["sim"], ["lab"], ["sim", "run"], ["sim", "rnu"], ["nonsense"], ["sim", "run", "x.yaml", "--seeds", "0"],
                     ["sim", "run", "x.yaml", "--unknown"], ["sim", "fwl", "x", "--detail", "magic"]):
            result = self.run_program(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertEqual(result.stdout, "")
            self.assertNotEqual(result.stderr, "")

    def test_run_prints_a_table_and_writes_json_and_page(self):
        scenario = self.write("s.yaml", SCENARIO)
        result = self.run_program("sim", "run", scenario, "--json", "out/r.json", "--html", "out/r.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "", "no progress bar when stderr is no terminal")
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100 + len(str(self.folder)))
        self.assertIn("GPU utilization", result.stdout)
        self.check_json(json.loads((self.folder / "out/r.json").read_text()))
        page = (self.folder / "out/r.html").read_text()
        self.assertGreater(page.count("<svg"), 3)
        self.assertIsNone(re.search(r'(src|href)="https?:', page), "the page must not fetch anything")

    def check_json(self, report):
        self.assertEqual(report["scenario"], "two jobs on one pair of uplinks")
        self.assertTrue(report["version"])
        self.assertEqual([(r["policy"], r["seed"]) for r in report["runs"]],
                         [("ecmp", 1), ("ecmp", 2), ("crux", 1), ("crux", 2)])
        for run in report["runs"]:
            self.assertRegex(run["event_hash"], r"^[0-9a-f]{16}$")
            self.assertIs(run["partial"], False)
            self.assertAlmostEqual(run["simulated_s"], 20)
            for key in ("wall_s", "peak_rss_mb", "fast_forward_fraction"):
                self.assertGreaterEqual(run[key], 0)
            for key in ("busy", "flop_weighted", "vs_ideal"):
                self.assertTrue(0 < run["gpu_utilization"][key] <= 1.000001, run["gpu_utilization"])
            self.assertEqual(len(run["jobs"]), 2)
            for job in run["jobs"]:
                self.assertEqual(job["gpus"], 16)
                for key in ("id", "iterations", "iteration_s", "slowdown", "jct_s", "level", "bounding_link"):
                    self.assertIn(key, job)
            for link in run["links"]:
                self.assertTrue(0 <= link["utilization"] <= 1)
                self.assertIn("tier", link)

    def test_same_input_gives_the_same_hashes(self):
        scenario = self.write("s.yaml", SCENARIO)
        hashes = []
        for threads in ("1", "2"):
            self.assertEqual(self.run_program("sim", "run", scenario, "--threads", threads, "--json", "r.json").returncode, 0)
            runs = json.loads((self.folder / "r.json").read_text())["runs"]
            hashes.append([run["event_hash"] for run in runs])
        self.assertEqual(hashes[0], hashes[1])

    def test_exact_and_fast_forward_agree(self):
        scenario = self.write("s.yaml", SCENARIO)
        slowdowns = []
        for flags in ([], ["--exact"]):
            self.run_program("sim", "run", scenario, "--json", "r.json", *flags)
            runs = json.loads((self.folder / "r.json").read_text())["runs"]
            slowdowns.append([job["slowdown"] for run in runs for job in run["jobs"]])
        for a, b in zip(*slowdowns):
            self.assertAlmostEqual(a, b, delta=0.005 * b)

    def test_bad_scenarios_name_the_place_and_write_nothing(self):
        cases = [
            ("seeds: 2", "seedz: 2", "s.yaml:2:"),
            ("leaves: 2", "leaves: -1", "s.yaml:4: fabric.leaves"),
            ("oversubscription: 2", "oversubscription: .nan", "s.yaml:4:"),
            ("gpus: 16, compute", "gpus: 1000, compute", "at most the 32 GPUs"),
            (SCENARIO, "", "the file is empty"),
            (SCENARIO, "\x00\x01\x02", "NUL"),
            (SCENARIO, "[" * 100000, "nested deeper"),
        ]
        for old, new, message in cases:
            path = self.write("s.yaml", SCENARIO.replace(old, new))
            self.assert_refused(self.run_program("sim", "run", path, "--json", "r.json", "--html", "r.html"), message)
            self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["s.yaml"])

    def test_bad_topologies(self):
        scenario = self.write("s.yaml", SCENARIO)
        cases = [
            ("ip,DSW,PSW,ASW\na,G,P,S\na,G,P,S2\n", "t.csv:3:"),
            ("ip,DSW,PSW\na,G,P\n", "ASW"),
            ("", "t.csv"),
            ("ip,DSW,PSW,ASW\n" + "x" * 40_000_000, "t.csv:2:"),
        ]
        for text, message in cases:
            path = self.write("t.csv", text)
            self.assert_refused(self.run_program("sim", "run", scenario, "--topology", path), message)
        self.assert_refused(self.run_program("sim", "run", scenario, "--topology", "nowhere.csv"), "nowhere.csv")

    def test_real_lingjun_topology(self):
        topology = self.source.parent / "shared/data/lingjun-2023/topo.csv"
        if not topology.exists():
            self.skipTest(f"{topology} is not here")
        result = self.run_program("sim", "run", "scenarios/lingjun-snapshot.yaml", "--topology", str(topology),
                                  "--seeds", "1", "--simulate-s", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("847 hosts, 6776 GPUs", result.stdout)

    def test_unwritable_output_is_told_before_the_work(self):
        scenario = self.write("s.yaml", SCENARIO)
        self.assert_refused(self.run_program("sim", "run", scenario, "--json", str(self.folder)), "is a folder")
        self.write("file", "")
        self.assert_refused(self.run_program("sim", "run", scenario, "--json", "file/r.json"), "file/r.json")

    def test_one_result_to_stdout_and_nothing_else(self):
        scenario = self.write("s.yaml", SCENARIO)
        page = self.run_program("sim", "run", scenario, "--seeds", "1", "--html", "-", "--json", "out.json")
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        self.assertTrue(page.stdout.startswith("<!DOCTYPE html>"), page.stdout[:100])
        self.assertTrue(page.stdout.rstrip().endswith("</html>"), page.stdout[-100:])
        self.assertTrue(json.loads((self.folder / "out.json").read_text()))
        for command in (["sim", "run", scenario], ["experiment", "run", "c4p-eight-jobs"], ["lab", "diagnose"],
                        ["diag", "drill"]):
            self.assert_refused(self.run_program(*command, "--json", "-", "--html", "-"),
                                "only one output can be '-' (stdout)")

    def test_full_disk_keeps_the_old_file_and_prints_the_result(self):
        scenario = self.write("s.yaml", SCENARIO)
        self.write("r.json", "old")
        command = f"ulimit -f 1; trap '' XFSZ; exec {self.program} sim run {scenario} --json r.json"
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=self.folder, timeout=300)
        self.assertEqual(result.returncode, 2)
        self.assertIn("r.json", result.stderr)
        self.assertIn("GPU utilization", result.stdout)
        self.assertEqual((self.folder / "r.json").read_text(), "old")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["r.json", "s.yaml"])

    def test_interrupt_writes_what_was_computed(self):
        text = SCENARIO.replace("simulate_s: 20", "simulate_s: 100000000")
        scenario = self.write("s.yaml", text)
        for signal_number, exit_code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal_number):
                (self.folder / "r.json").unlink(missing_ok=True)
                process = subprocess.Popen(
                    [self.program, "sim", "run", scenario, "--exact", "--seeds", "1", "--json", "r.json"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
                self.assertTrue(busy_process.wait_until_busy(process), "the program does not start to work")
                process.send_signal(signal_number)
                stdout, stderr = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, exit_code, stderr)
                self.assertIn("stopped before the end", stderr)
                self.assertIn("PARTIAL", stdout)
                runs = json.loads((self.folder / "r.json").read_text())["runs"]
                self.assertTrue(runs and all(run["partial"] for run in runs))
                self.assertGreater(runs[0]["simulated_s"], 0)

    def test_explain(self):
        scenario = self.write("s.yaml", SCENARIO)
        result = self.run_program("explain", "job", "big", "--scenario", scenario, "--policy", "ecmp", "--json", "e.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Bounding link", result.stdout)
        explanation = json.loads((self.folder / "e.json").read_text())[0]
        self.assertEqual(explanation["name"], "big")
        self.assertEqual(explanation["policy"], "ecmp")
        self.assertIn("lost_gpu_hours", explanation)
        for without, message in (("nobody", "'nobody'"), ("big", "the job to be explained"), ("link:x", "no such link event"),
                                 ("link-event:7", "no such link event")):
            self.assert_refused(self.run_program("explain", "job", "big", "--scenario", scenario, "--without", without), message)
        other = self.run_program("explain", "job", "big", "--scenario", scenario, "--policy", "ecmp", "--without", "1",
                                 "--json", "e.json")
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertIn("Without job 1", other.stdout)
        self.assertEqual(len(json.loads((self.folder / "e.json").read_text())[0]["without"]["removed"]), 1)
        self.assert_refused(self.run_program("explain", "job", "nobody", "--scenario", scenario), "'nobody'")
        self.assert_refused(self.run_program("explain", "job", "big", "--scenario", scenario, "--policy", "curx"), "expected one of ecmp, ", "did you mean 'crux'?")

    def test_fwl(self):
        path = self.write("w.fwl", FWL)
        # Both flows cross link 0 (100 byte/s): 2 s of transfer and 1 s of compute, twice.
        result = self.run_program("sim", "fwl", path, "--json", "r.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        numbers = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(set(numbers), {"end_s", "mean_iteration_s", "completions", "cpu_s", "peak_rss_mb"})
        self.assertAlmostEqual(numbers["end_s"], 6, places=6)
        self.assertAlmostEqual(numbers["mean_iteration_s"], 3, places=6)
        self.assertEqual(numbers["completions"], 4)
        result = self.run_program("sim", "fwl", path, "--detail", "edge", "--json", "-")
        self.assertEqual(json.loads(result.stdout)["completions"], 4)
        bad = self.write("bad.fwl", FWL.replace("f 100 2 0 1", "f 100 2 0 7"))
        self.assert_refused(self.run_program("sim", "fwl", bad), "bad.fwl:6:")


if __name__ == "__main__":
    main()
