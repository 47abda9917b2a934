"""What commands print under --format csv, markdown and json, read as other programs read it.

usage: output_format_test.py PROGRAM SOURCE_DIR
"""
import csv
import io
import json
import re

from command_case import CommandCase, main

# Commas, quotes and pipes end fields somewhere; the rest is longer than any column of a narrow terminal.
JOB = 'a,"b"|c ' + "with a name that no table of a hundred columns shows whole beside its other columns"
SCENARIO = f"""title: "# two jobs under one spine"
seeds: 2
simulate_s: 20
fabric: {{kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1, oversubscription: 4}}
policies: [ecmp, crux]
jobs:
  - {{name: big, hosts: [h0, h2], gpus: 16, compute_s: 0.2, size_mb: 4000, collective: hierarchical-all-reduce}}
  - {{name: '{JOB}', hosts: [h1, h3], gpus: 16, compute_s: 0.2, size_mb: 4000, collective: hierarchical-all-reduce}}
"""
SPEEDS = "model,global_batch,num_ps,num_workers,step_time_s\n" + "".join(
    f"m,{batch},{servers},{workers},{0.1 + batch / workers / 100 + workers / servers / 50}\n"
    for batch in (32, 64, 128) for servers in (1, 2, 4) for workers in (1, 2, 4))


def tables_of(text):
    """The tables of CSV output: lists of rows, the first one headings."""
    tables = [[]]
    for row in csv.reader(io.StringIO(text), strict=True):
        if row:
            tables[-1].append(row)
        else:
            tables.append([])
    return tables


class OutputFormatTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.write("s.yaml", SCENARIO)

    def run_fine(self, *args, codes=(0,)):
        result = self.run_program(*args)
        self.assertIn(result.returncode, codes, result.stderr)
        return result

    def prepare_files(self):
        """What the commands below read."""
        self.write("speeds.csv", SPEEDS)
        self.run_fine("diag", "simulate", "--fault", "slow_gpu", "-o", "job.jsonl")
        self.run_fine("predict", "generate", "--jobs", "20", "-o", "jobs")
        self.run_fine("predict", "train", "--learner", "logistic", *self.job_files(), "-o", "model.json")
        self.run_fine("trace", "generate", "--days", "1", "-o", "trace.csv")

    @staticmethod
    def job_files():
        return "--jobs", "jobs/jobs.csv", "--curves", "jobs/curves.csv"

    def commands(self):
        """Words, how many tables, and the first headings of the first one."""
        return [
            (("sim", "run", "s.yaml"), 4, ["policy", "GPU utilization, %: busy"]),
            (("explain", "job", "0", "--scenario", "s.yaml", "--policy", "ecmp"), 2, ["why", "other job"]),
            (("explain", "job", "0", "--scenario", "s.yaml", "--policy", "ecmp", "--without", "1"), 3, ["why", "other job"]),
            (("explain", "job", "7", "--workload", "generated", "--allocation", "tiresias"), 2, ["place", "job"]),
            (("workload", "show", str(self.source / "workloads/moe-32.txt")), 1, ["group", "collective"]),
            (("experiment", "list"), 1, ["name", "what it shows"]),
            (("experiment", "run", "crux-examples"), 1, ["row", "unit"]),
            (("fabric", "show", str(self.source / "fabrics/crux-testbed.yaml")), 2, ["layer", "devices"]),
            (("doctor", "--for", "sim"), 1, ["check", "state"]),
            (("diag", "analyze", "job.jsonl"), 1, ["#", "syndrome"]),
            (("diag", "drill", "--fault", "gpu_hang@900:5", "--minutes", "40"), 2, ["fault", "host"]),
            (("trace", "generate", "--days", "1", "-o", "again.csv"), 1, ["marginal", "quantity"]),
            (("trace", "validate", "trace.csv", "--against", "lingjun-2023"), 1, ["marginal", "quantity"]),
            (("predict", "train", "--learner", "logistic", *self.job_files(), "-o", "m.json"), 2, ["learner", "accuracy"]),
            (("predict", "score", *self.job_files(), "--model", "model.json", "--job", "job-0000"), 2, ["job", "epochs"]),
            (("predict", "speed", "speeds.csv", "--ps", "2", "--workers", "2"), 2, ["model", "measurements: used"]),
            (("agent", "processes", "--segments", "."), 0, []),
        ]

    def test_csv_is_tables_and_nothing_else(self):
        self.prepare_files()
        for command, num_tables, headings in self.commands():
            with self.subTest(command[:2]):
                result = self.run_fine(*command, "--format", "csv", codes=(0, 1))
                if num_tables == 0:
                    self.assertEqual(result.stdout, "")
                    continue
                tables = tables_of(result.stdout)
                self.assertEqual(len(tables), num_tables)
                self.assertEqual(tables[0][0][:2], headings)
                for table in tables:
                    self.assertGreater(len(table), 1, "a row below the headings")
                    self.assertEqual({len(row) for row in table}, {len(table[0])})
                    self.assertEqual(len(set(table[0])), len(table[0]), "headings that tell columns apart")
                    for row in table:
                        self.assertEqual(row, [cell.strip() for cell in row])
                        self.assertNotIn("–", row, "unknown is empty")

    def test_markdown_has_tables_as_github_reads_them(self):
        self.prepare_files()
        for command, num_tables, headings in self.commands():
            with self.subTest(command[:2]):
                lines = self.run_fine(*command, "--format", "markdown", codes=(0, 1)).stdout.splitlines()
                rules = [i for i, line in enumerate(lines) if re.fullmatch(r"\|( -{3}:? \|)+", line)]
                self.assertEqual(len(rules), num_tables)
                for rule in rules:
                    self.assertTrue(rule == 1 or lines[rule - 2] == "", "a blank line before the table")
                    end = next((i for i in range(rule, len(lines)) if not lines[i].startswith("|")), len(lines))
                    self.assertTrue(end == len(lines) or lines[end] == "", "a blank line behind the table")
                    for line in lines[rule - 1:end]:
                        self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), lines[rule].count("|"), line)
                for before, line in zip(lines, lines[1:]):
                    if not line.startswith("|") and line:
                        self.assertEqual(before, "", f"{line}: a paragraph of its own")
                if rules:
                    self.assertTrue(lines[rules[0] - 1].startswith("| " + " | ".join(headings)))

    def test_format_json_is_json_to_stdout(self):
        self.prepare_files()
        for command, _, _ in self.commands():
            if command[:2] in (("sim", "run"), ("experiment", "run"), ("agent", "processes")):
                continue  # they tell how long they took, or what time it is
            with self.subTest(command[:2]):
                by_format = self.run_fine(*command, "--format", "json", codes=(0, 1))
                by_file = self.run_fine(*command, "--json", "-", codes=(0, 1))
                json.loads(by_format.stdout)
                self.assertEqual((by_format.stdout, by_format.stderr), (by_file.stdout, by_file.stderr))

    def test_a_hostile_name_survives_whole(self):
        explain = ("explain", "job", "big", "--scenario", "s.yaml", "--policy", "ecmp", "--format")
        rows = tables_of(self.run_fine(*explain, "csv").stdout)[0]
        self.assertIn(f"1 {JOB}", [row[rows[0].index("other job")] for row in rows])
        text = self.run_fine(*explain, "markdown").stdout
        self.assertIn(f"| 1 {JOB} |".replace('"|c', '"\\|c'), text)
        self.assertNotIn(JOB, self.run_fine(*explain, "table").stdout, "narrow terminals get less of it")

    def test_text_that_looks_like_markup_stays_text(self):
        text = self.run_fine("sim", "run", "s.yaml", "--format", "markdown").stdout
        self.assertTrue(text.startswith("\\# two jobs under one spine\n\n"), text[:80])

    def test_files_are_written_beside_and_notes_do_not_disturb(self):
        result = self.run_fine("sim", "run", "s.yaml", "--format", "csv", "--json", "r.json", "--html", "r.html")
        self.assertEqual(len(tables_of(result.stdout)), 4)
        self.assertNotIn("written", result.stdout)
        self.assertEqual(result.stderr, "JSON written to r.json\nPage written to r.html\n")
        self.assertEqual(len(json.loads((self.folder / "r.json").read_text())["runs"]), 4)
        self.assertIn("written to r.json", self.run_fine("sim", "run", "s.yaml", "--json", "r.json").stdout)

    def test_columns_are_explained_once_in_tables_but_not_in_csv(self):
        table = self.run_fine("sim", "run", "s.yaml").stdout
        self.assertEqual(table.count("vs ideal: "), 1)
        self.assertIn("vs ideal: useful work relative to every job alone.", table)
        self.assertIn("vs ideal: useful work", self.run_fine("sim", "run", "s.yaml", "--format", "markdown").stdout)
        self.assertNotIn("useful work", self.run_fine("sim", "run", "s.yaml", "--format", "csv").stdout)

    def test_two_results_on_stdout_are_refused(self):
        run = ("sim", "run", "s.yaml")
        self.assert_refused(self.run_program(*run, "--format", "json", "--json", "r.json"), "--format json", "--json r.json")
        self.assert_refused(self.run_program(*run, "--format", "csv", "--json", "-"), "--format csv", "name a file")
        self.assert_refused(self.run_program(*run, "--format", "markdown", "--html", "-"), "--format markdown")
        self.assert_refused(self.run_program(*run, "--format", "json", "--html", "-"), "only one output")
        self.assert_refused(self.run_program(*run, "--format", "cvs"), "expected one of table, json, csv, markdown", "'csv'?")
        self.assertFalse((self.folder / "r.json").exists())


if __name__ == "__main__":
    main()
