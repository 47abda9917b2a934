"""job as a user meets it: does his batch script keep the contract of elastic jobs?

usage: job_command_test.py PROGRAM SOURCE_DIR
"""
import json

from command_case import CommandCase, main

GOOD = """#!/bin/bash
#SBATCH -N 2-8 --ntasks-per-node=4 --comment=fairlead
#SBATCH --open-mode=append --signal=B:USR1@60
exec train
"""


class JobCheckTest(CommandCase):
    def test_a_script_that_keeps_the_contract(self):
        done = self.run_program("job", "check", self.write("train.sh", GOOD))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("The job is elastic.", done.stdout)
        self.assertNotIn("What helps", done.stdout)

    def test_a_script_that_breaks_it_gets_the_line_that_helps(self):
        script = self.write("train.sh", GOOD.replace("-N 2-8", "-N 4"))
        done = self.run_program("job", "check", script)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("nodes (broken)\n    #SBATCH --nodes=2-8\n", done.stdout)
        self.assertIn("The job is not elastic.", done.stdout)
        told = json.loads(self.run_program("job", "check", script, "--json", "-").stdout)
        self.assertFalse(told["elastic"])
        [nodes] = [check for check in told["checks"] if check["contract"] == "nodes"]
        self.assertEqual(nodes, {"contract": "nodes", "state": "broken", "line": 2, "found": "no range: '4'",
                                 "helps": "#SBATCH --nodes=2-8"})

    def test_what_is_merely_better_breaks_nothing(self):
        done = self.run_program("job", "check", self.write("train.sh", GOOD.replace("--signal=B:USR1@60", "")))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("signal (better)\n    #SBATCH --signal=B:USR1@60\n", done.stdout)

    def test_what_is_no_script(self):
        self.assert_refused(self.run_program("job", "check", self.write("image", "\x7fELF")), "image", "no script")
        self.assert_refused(self.run_program("job", "check", "nowhere.sh"), "nowhere.sh")

    def test_a_terminal_gets_no_control_characters(self):
        done = self.run_program("job", "check", self.write("evil.sh", GOOD.replace("-N 2-8", "-N '\x1b[2J'")))
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("\x1b", done.stdout)

    def test_the_example_of_the_tests(self):
        done = self.run_program("job", "check", str(self.source / "tests/e2e/elastic_job.sh"))
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
