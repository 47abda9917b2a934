"""Two faults in a job of real processes: the right rank is named, and the job goes on.

usage: lab_diagnose_test.py PROGRAM SOURCE_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from figure_folder import check_figures
from patience import PATIENCE_S, wait_until_gone

PROGRAM = ""
SOURCE_DIR = ""


class LabDiagnoseTest(unittest.TestCase):
    def test_a_crash_is_restarted_and_a_frozen_process_is_named(self):
        with tempfile.TemporaryDirectory(prefix="fl-diag-") as folder:
            scenario = pathlib.Path(SOURCE_DIR) / "scenarios/lab-diagnosis.yaml"
            json_file = pathlib.Path(folder) / "tour.json"
            page = pathlib.Path(folder) / "tour.html"
            run = subprocess.run(
                [PROGRAM, "lab", "diagnose", str(scenario), "--faults", "killed_rank,frozen_rank", "--run-dir",
                 f"{folder}/run", "--json", str(json_file), "--html", str(page), "--figures", f"{folder}/figures"],
                capture_output=True, text=True, timeout=500)
            if run.returncode == 2 and "namespace" in run.stderr:
                self.skipTest(run.stderr.strip())
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            tour = json.loads(json_file.read_text())
            killed, frozen = tour["stops"]
            self.assertEqual((killed["fault"], killed["syndrome"]), ("killed_rank", "dead"))
            self.assertTrue(killed["restarted"])
            # People know hosts by their names.
            self.assertIn(f"(host {killed['host']}, ", killed["text"])
            self.assertEqual(frozen["fault"], "frozen_rank")
            self.assertIn(frozen["syndrome"], ("non_comm_hang", "comm_hang"))
            self.assertEqual((tour["right"], tour["of"], tour["unexpected"]), (2, 2, []))
            self.assertIn("killed_rank", page.read_text())
            self.assertEqual(list(check_figures(f"{folder}/figures", page.read_text()).values()), ["bar"])
            wait_until_gone(folder)

    def test_a_fault_that_nobody_knows_is_refused(self):
        run = subprocess.run([PROGRAM, "lab", "diagnose", "--faults", "power_cut"], capture_output=True, text=True,
                             timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 2)
        self.assertIn("frozen_rank", run.stderr)

    def test_a_job_that_does_not_say_where_it_is_is_refused(self):
        with tempfile.NamedTemporaryFile(prefix="fl-diag-", suffix=".yaml", mode="w") as scenario:
            text = (pathlib.Path(SOURCE_DIR) / "scenarios/lab-diagnosis.yaml").read_text()
            scenario.write("".join(line for line in text.splitlines(keepends=True) if "hosts: [" not in line)
                           .replace("../workloads", f"{SOURCE_DIR}/workloads"))
            scenario.flush()
            run = subprocess.run([PROGRAM, "lab", "diagnose", scenario.name], capture_output=True, text=True,
                                 timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("hosts: [h0, h1, ..]", run.stderr)

    def test_a_hook_without_a_tour_says_so(self):
        with tempfile.TemporaryDirectory(prefix="fl-diag-") as folder:
            run = subprocess.run([PROGRAM, "lab", "hook", "--run-dir", folder], input="{}", capture_output=True,
                                 text=True, timeout=PATIENCE_S)
            self.assertEqual(run.returncode, 3)
            self.assertIn("fairlead lab diagnose", run.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    SOURCE_DIR = sys.argv.pop(1)
    unittest.main(verbosity=2)
