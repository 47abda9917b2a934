"""The trace commands as a user meets them: real processes, real files, exit codes, messages.

usage: trace_command_test.py PROGRAM SOURCE_DIR
"""
import csv
import json
import re

from command_case import CommandCase, main
from figure_folder import check_figures

HEADER = "job_id,submit_s,duration_s,gpus,gpus_per_host,model\n"
JOB_COLUMNS = ["id", "job_name", "model", "is_deleted", "gmt_job_submitted", "gmt_job_running", "gmt_job_stopped",
               "gmt_job_finished", "gmt_created"]
POD_COLUMNS = ["job_name", "host_ip", "gmt_created", "gmt_pod_running", "gmt_pod_finished", "RES"]


class TraceCommandTest(CommandCase):
    def read_csv(self, name):
        with open(self.folder / name, newline="") as file:
            return list(csv.DictReader(file))

    def test_help_has_an_example(self):
        for command in (["generate"], ["validate"], ["import", "lingjun"], ["export"]):
            result = self.run_program("trace", *command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example: ", result.stdout)
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 130)

    def test_generate_is_reproducible_and_fits(self):
        result = self.run_program("trace", "generate", "--seed", "3", "-o", "a.csv", "--json", "fit.json", "--html", "t.html",
                                  "--figures", "figures")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertIn("40 of 40 judged rows are inside", result.stdout)
        fit = json.loads((self.folder / "fit.json").read_text())
        self.assertEqual(fit["outside"], 0)
        self.assertTrue(all(row["inside"] for row in fit["rows"]))
        page = (self.folder / "t.html").read_text()
        check_figures(self.folder / "figures", page)
        self.assertEqual(page.count("<svg"), 5)
        self.assertIsNone(re.search(r'(src|href)="https?:', page), "the page must not fetch anything")
        again = self.run_program("trace", "generate", "--seed", "3", "-o", "-")
        self.assertEqual(again.stdout, (self.folder / "a.csv").read_text(), "same seed, same bytes; nothing else on stdout")
        other = self.run_program("trace", "generate", "--seed", "4", "-o", "-")
        self.assertNotEqual(other.stdout, again.stdout)

    def test_generate_options(self):
        result = self.run_program("trace", "generate", "--days", "2", "--gpu-jobs-only", "-o", "a.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Not judged: published for 16 days, the trace has 2", result.stdout)
        rows = self.read_csv("a.csv")
        # 82 + 74 jobs, 54 % of them with GPUs.
        self.assertAlmostEqual(len(rows), 0.537 * 156, delta=2)
        self.assertTrue(all(int(row["gpus"]) > 0 for row in rows))
        self.assert_refused(self.run_program("trace", "generate", "--load", "0", "-o", "b.csv"), "load: expected a number")
        self.assert_refused(self.run_program("trace", "generate", "--profile", "x", "-o", "b.csv"), "known: lingjun-2023")
        self.assert_refused(self.run_program("trace", "generate", "-o", "-", "--json", "-"), "only one output")
        self.assertFalse((self.folder / "b.csv").exists())

    def test_validate(self):
        self.run_program("trace", "generate", "-o", "a.csv")
        self.assertEqual(self.run_program("trace", "validate", "a.csv", "--against", "lingjun-2023").returncode, 0)
        path = self.write("bad.csv", HEADER + "a,0,60,8,8,m\nb,x,60,8,8,m\na,5,60,8,8,m\nc,0,60,4,8,m\nd,0,60,0,0,\n")
        result = self.run_program("trace", "validate", path, "--json", "v.json")
        self.assertEqual(result.returncode, 1, result.stderr)
        for part in ("bad.csv:3: submit_s: expected seconds, found 'x'", "bad.csv:4: job_id: 'a' appears twice",
                     "bad.csv:5: gpus_per_host: expected", "5 rows, 3 wrong"):
            self.assertIn(part, result.stdout)
        found = json.loads((self.folder / "v.json").read_text())
        self.assertEqual([f["line"] for f in found["findings"]], [3, 4, 5])
        self.assertEqual((found["rows"], found["jobs"], found["fit"]), (5, 2, None))
        # Two jobs are far from the published 5,180.
        good = self.write("few.csv", HEADER + "a,0,60,8,8,m\nb,9,60,0,0,m\n")
        self.assertEqual(self.run_program("trace", "validate", good).returncode, 0)
        self.assertEqual(self.run_program("trace", "validate", good, "--against", "lingjun-2023").returncode, 1)
        self.assert_refused(self.run_program("trace", "validate", "nowhere.csv"), "nowhere.csv")
        self.assert_refused(self.run_program("trace", "validate", self.write("x.csv", "a,b\n1,2\n")), "x.csv:1:", "job_id")

    def write_lingjun(self):
        jobs = [",".join(JOB_COLUMNS) + "," * 98]
        for name, ran, finished in (("1", "2023/7/15 10:00", "2023/7/15 12:00"), ("2", "", "2023/7/15 11:00")):
            jobs.append(f"{name},dlc{name},llama,1,2023/7/15 9:58,{ran},,{finished},2023/7/15 9:58" + "," * 98)
        pods = [",".join(POD_COLUMNS)]
        for _ in range(2):
            pods.append('dlc1,host,2023/7/15 9:58,,2023/7/15 12:00,"{""cpu"": ""500m"", ""nvidia.com/gpu"": ""8""}"')
        return (self.write("job.csv", "\n".join(jobs) + "\n"), self.write("worker.csv", "\n".join(pods) + "\n"))

    def test_import_lingjun(self):
        jobs, workers = self.write_lingjun()
        result = self.run_program("trace", "import", "lingjun", "--jobs", jobs, "--workers", workers, "-o", "t.csv",
                                  "--json", "c.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("never ran", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        self.assertEqual((self.folder / "t.csv").read_text(), HEADER + "1,35880,7200,16,8,llama\n")
        report = json.loads((self.folder / "c.json").read_text())
        self.assertEqual((report["job_rows"], report["worker_rows"], report["jobs"]), (2, 2, 1))
        self.assert_refused(self.run_program("trace", "import", "lingjun", "--jobs", workers, "--workers", workers, "-o",
                                             "u.csv"), "worker.csv:1: expected one column 'id'")
        self.assertFalse((self.folder / "u.csv").exists())

    def test_export_gives_a_scenario_that_runs(self):
        self.write("t.csv", HEADER + "a,0,500,16,8,llama\nb,150,100,16,8,x\nc,900,10,8,8,x\nd,120,10,0,0,x\n")
        fabric = self.source / "fabrics/crux-testbed.yaml"
        result = self.run_program("trace", "export", "t.csv", "--from-s", "100", "--to-s", "200", "--scenario", "s.yaml",
                                  "--fabric-file", str(fabric))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "s.csv").read_text(), HEADER + "a,0,400,16,8,llama\nb,50,100,16,8,x\n")
        run = self.run_program("sim", "run", "s.yaml", "--policy", "ecmp", "--json", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(json.loads(run.stdout)["runs"][0]["jobs"]), 2)
        self.assert_refused(self.run_program("trace", "export", "t.csv", "--scenario", "t.yaml"), "would be overwritten")
        # Without a fabric the one that came with Fairlead, from any folder.
        result = self.run_program("trace", "export", "t.csv", "--to-s", "200", "--scenario", "far/away.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.run_program("check", "far/away.yaml")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assert_refused(self.run_program("trace", "export", "t.csv", "--scenario", "u.yaml", "--fabric-file", "none.yaml"),
                            "--fabric-file", "none.yaml")
        self.assert_refused(self.run_program("trace", "export", "t.csv", "--from-s", "5000", "--to-s", "6000",
                                             "--scenario", "s.yaml"), "no GPU job is there")


if __name__ == "__main__":
    main()
