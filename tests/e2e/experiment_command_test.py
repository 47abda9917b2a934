"""fairlead experiment as a user meets it.

usage: experiment_command_test.py PROGRAM SOURCE_DIR
"""
import json
import re
import signal
import subprocess

import busy_process
from command_case import CommandCase, main
from figure_folder import check_figures

ROW_KEYS = ["name", "unit", "paper", "ours", "low", "high", "inside", "note"]


class ExperimentCommandTest(CommandCase):
    def experiment(self, *args):
        return self.run_program("experiment", *args)

    def names(self):
        return [line.split()[0] for line in self.experiment("list").stdout.splitlines()[2:]]

    def test_list_names_every_folder(self):
        result = self.experiment("list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        folders = sorted(p.parent.name for p in (self.source / "experiments").glob("*/paper.yaml"))
        self.assertEqual(sorted(self.names()), folders)

    def test_unknown_name_lists_the_known_ones(self):
        self.assert_refused(self.experiment("run", "crux"), "'crux'", "crux-examples", "all")

    def test_number_of_draws_only_where_there_are_draws(self):
        self.assert_refused(self.experiment("run", "crux-examples", "--seeds", "3"), "crux-examples", "--seeds",
                            "c4p-link-failure")

    def test_usage_errors(self):
        for args in (["run"], ["run", "crux-examples", "--threads", "0"], ["run", "crux-examples", "--nonsense"], []):
            result = self.experiment(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertEqual(result.stdout, "")

    def test_kept_results_are_not_computed_again(self):
        for is_kept in (False, True):
            result = self.experiment("run", "crux-examples", "--keep", "kept/here", "--html", "r.html")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("kept from an earlier run" in result.stdout, is_kept)
        self.assertTrue((self.folder / "kept/here/crux-examples.json").exists())
        (self.folder / "file").write_text("")
        self.assert_refused(self.experiment("run", "crux-examples", "--keep", "file"), "file")

    def test_table_json_and_page(self):
        result = self.experiment("run", "crux-examples", "--json", "out/r.json", "--html", "out/r.html", "--figures", "out/figures")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "", "no progress bar when stderr is no terminal")
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        self.assertIn("inside band?", result.stdout)
        report = json.loads((self.folder / "out/r.json").read_text())
        self.assertEqual(list(report), ["experiment", "seed", "reduced", "wall_s", "answer", "rows", "tables"])
        self.assertEqual(report["experiment"], "crux-examples")
        self.assertIs(report["reduced"], False)
        for row in report["rows"]:
            self.assertEqual(list(row), ROW_KEYS)
            self.assertIsNotNone(row["ours"], row)
            self.assertEqual(row["inside"] is None, row["low"] is None and row["high"] is None)
        page = (self.folder / "out/r.html").read_text()
        check_figures(self.folder / "out/figures", page)
        self.assertGreaterEqual(page.count("<svg"), 4)
        self.assertIsNone(re.search(r'(src|href)="https?:', page), "the page must not fetch anything")

    def test_json_to_stdout_prints_only_it(self):
        result = self.experiment("run", "crux-examples", "--seed", "7", "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["seed"], 7)

    def test_output_that_cannot_be_written_is_told_before_anything_runs(self):
        (self.folder / "file").write_text("")
        self.assert_refused(self.experiment("run", "crux-examples", "--json", "file/r.json"), "file/r.json")

    def test_interrupt_prints_what_is_done_and_exits_with_130(self):
        process = subprocess.Popen([self.program, "experiment", "run", "crux-near-optimality", "--json", "r.json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertTrue(busy_process.wait_until_busy(process), "the program does not start to work")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("PARTIAL", stdout)
        self.assertIn("stopped", stderr)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["experiment"], "crux-near-optimality")


if __name__ == "__main__":
    main()
