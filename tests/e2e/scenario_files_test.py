"""init, check and schema as a user meets them; and the reference, which has to be what the reader says.

usage: scenario_files_test.py PROGRAM SOURCE_DIR
"""
import copy
import json
import unittest

import yaml
from command_case import CommandCase, main

try:
    import jsonschema
except ImportError:
    jsonschema = None

GENERATED = {
    "schemas/scenario.json": ["schema", "scenario"],
    "schemas/fabric.json": ["schema", "fabric"],
    "schemas/addresses.json": ["schema", "addresses"],
    "docs/reference/scenario.md": ["schema", "scenario", "--page"],
    "docs/reference/addresses.md": ["schema", "addresses", "--page"],
    "docs/reference/commands.md": ["reference"],
}


class ScenarioFilesTest(CommandCase):
    def test_committed_references_are_what_the_program_prints(self):
        for path, words in GENERATED.items():
            result = self.run_program(*words)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((self.source / path).read_text(), result.stdout,
                             f"stale; run: build/release/apps/fairlead {' '.join(words)} > {path}")

    def test_shipped_files_name_their_schema(self):
        for folder, schema in (("scenarios", "scenario"), ("fabrics", "fabric")):
            files = sorted((self.source / folder).glob("*.yaml"))
            self.assertGreater(len(files), 3)
            for file in files:
                self.assertEqual(file.read_text().splitlines()[0], f"# yaml-language-server: $schema=../schemas/{schema}.json")

    def test_init_check_run(self):
        for kind in ("clos", "rail", "lab"):
            name = f"{kind}.yaml"
            result = self.run_program("init", kind, "-o", name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"fairlead check {name}", result.stdout)
            self.assertEqual(self.run_program("init", kind).stdout, (self.folder / name).read_text())
            self.assertRegex(self.run_program("check", name).stdout, rf"^{name}: scenario, \d+ jobs ")
            result = self.run_program("sim", "run", name, "--seeds", "1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("c4p", result.stdout)

    def test_init_replaces_nothing_unasked(self):
        self.write("mine.yaml", "title: mine\n")
        self.assert_refused(self.run_program("init", "clos", "-o", "mine.yaml"), "mine.yaml: exists already", "--force")
        self.assertEqual((self.folder / "mine.yaml").read_text(), "title: mine\n")
        self.assertEqual(self.run_program("init", "clos", "-o", "mine.yaml", "--force").returncode, 0)
        self.assert_refused(self.run_program("init", "ring"), "ring")

    def test_check_goes_through_all_files(self):
        self.write("bad.yaml", "title: t\nfabric: {kind: clos2, leafs: 3}\njobs: []\n")
        self.write("odd.yaml", "colour: red\n")
        result = self.run_program("check", "bad.yaml", "scenarios/two-jobs.yaml", "odd.yaml", "gone.yaml", "--json", "c.json")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "scenarios/two-jobs.yaml: scenario, 2 jobs (32 GPUs) on 4 hosts, 32 GPUs, 296 links; "
                                        "10 draws under ecmp, crux\n")
        errors = result.stderr.splitlines()
        self.assertEqual(len(errors), 3, result.stderr)
        self.assertIn("bad.yaml:2: fabric: unknown key 'leafs'; did you mean 'leaves'?", errors[0])
        self.assertIn("odd.yaml: expected a scenario", errors[1])
        self.assertIn("gone.yaml: there is no such file", errors[2])
        files = json.loads((self.folder / "c.json").read_text())["files"]
        self.assertEqual([file["valid"] for file in files], [False, True, False, False])

    def test_check_knows_every_kind_of_file(self):
        self.write("jobs.csv", "job_id,submit_s,duration_s,gpus,gpus_per_host,model\na,0,10,8,8,m\n")
        self.write("topo.csv", "ip,DSW,PSW,ASW\na,G0,P0,S0\nb,G0,P0,S1\n")
        self.write("addresses.json", json.dumps({"nics": {"10.0.0.1": "a/nic0"}, "interfaces": {}}))
        self.assert_refused(self.run_program("check", "addresses.json"), "name its file before this one")
        result = self.run_program("check", "fabrics/crux-testbed.yaml", "profiles/gpt-7b.yaml", "trace_profiles/lingjun-2023.yaml",
                                  "workloads/moe-32.txt", "jobs.csv", "topo.csv", "addresses.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        kinds = [line.split(": ")[1].split(",")[0] for line in result.stdout.splitlines()]
        self.assertEqual(kinds, ["fabric", "model profile", "trace profile", "workload", "trace", "topology", "addresses"])
        self.assert_refused(self.run_program("check", "workloads/sharded-16.et"), "--gpus")
        self.assertEqual(self.run_program("check", "workloads/sharded-16.et", "--gpus", "16").returncode, 0)

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_the_schema_of_addresses_takes_and_refuses_what_the_reader_does(self):
        schema = json.loads((self.source / "schemas/addresses.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
        self.write("fabric.yaml", "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 1, host: {gpus: 8, nics: 1}}\n")
        files = [
            ({}, True),
            ({"nics": {"10.0.0.1": "h0/nic0", "fd00::1": "h0/nic0"}}, True),
            ({"nics": {}, "interfaces": {"10.128.4.1": "leaf0->spine0"}}, True),
            ({"nic": {"10.0.0.1": "h0/nic0"}}, False),
            ({"nics": {"10.0.0": "h0/nic0"}}, False),
            ({"nics": {"10.0.0.1": 7}}, False),
            ({"nics": ["10.0.0.1"]}, False),
            ([], False),
        ]
        for content, is_good in files:
            self.write("addresses.json", json.dumps(content))
            result = self.run_program("check", "fabric.yaml", "addresses.json")
            self.assertEqual(result.returncode, 0 if is_good else 2, (content, result.stderr))
            self.assertEqual(validator.is_valid(content), is_good, content)

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_the_schema_takes_and_refuses_what_the_reader_does(self):
        schema = json.loads((self.source / "schemas/scenario.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        fabrics = jsonschema.Draft7Validator(json.loads((self.source / "schemas/fabric.json").read_text()))
        for file in (self.source / "scenarios").glob("*.yaml"):
            self.assertEqual([e.message for e in validator.iter_errors(yaml.safe_load(file.read_text()))], [], file)
        for file in (self.source / "fabrics").glob("*.yaml"):
            self.assertEqual([e.message for e in fabrics.iter_errors(yaml.safe_load(file.read_text()))], [], file)
        good = yaml.safe_load((self.source / "scenarios/two-jobs.yaml").read_text())

        def without(document, key):
            del document[key]

        def put(*path):
            def change(document):
                *outer, key, value = path
                for step in outer:
                    document = document[step]
                document[key] = value
            return change

        changes = {
            "an unknown key": put("titel", "t"),
            "no title": lambda document: without(document, "title"),
            "jobs and a trace": put("trace", {"file": "jobs.csv", "spread": [{"models": ["nmt"]}]}),
            "no fabric": lambda document: without(document, "fabric"),
            "an unknown kind": put("fabric", "kind", "ring"),
            "a key of another kind": put("fabric", "pods", 2),
            "a required key of the kind": lambda document: without(document["fabric"], "leaves"),
            "out of range": put("seeds", 0),
            "a wrong type": put("jobs", 0, "gpus", "many"),
            "a wrong unit": put("jobs", 1, "compute_s", "ms 5"),
            "no choice": put("placement", "best"),
            "an unknown policy": put("policies", ["ecmp", "magic"]),
            "two kinds of work": put("jobs", 0, "compute_s", 1),
            "a key without the one it needs": put("jobs", 1, "parallelism", {"tensor": 8}),
            "an unknown key of a job": put("jobs", 0, "size", 4),
        }
        for what, change in changes.items():
            bad = copy.deepcopy(good)
            change(bad)
            self.assertNotEqual(list(validator.iter_errors(bad)), [], what)
            self.write("bad.yaml", yaml.safe_dump(bad))
            self.assertEqual(self.run_program("check", "bad.yaml").returncode, 2, what)
        units = copy.deepcopy(good)
        units["simulate_s"] = "1min"
        units["jobs"][1]["size_mb"] = "16GB"
        units["jobs"][1]["compute_s"] = "250 ms"
        self.assertEqual([e.message for e in validator.iter_errors(units)], [])
        self.write("units.yaml", yaml.safe_dump(units))
        self.write("plain.yaml", yaml.safe_dump(good))
        runs = []
        for name in ("units.yaml", "plain.yaml"):
            result = self.run_program("sim", "run", name, "--seeds", "1", "--json", "-")
            self.assertEqual(result.returncode, 0, result.stderr)
            runs.append(json.loads(result.stdout)["runs"])
        self.assertEqual([run["event_hash"] for run in runs[0]], [run["event_hash"] for run in runs[1]])


if __name__ == "__main__":
    main()
