"""sim chaos as a user meets it: searches, repeats what a file says, and names what is wrong with it.

usage: chaos_command_test.py PROGRAM SOURCE_DIR
"""
import json

from command_case import CommandCase, main


class ChaosCommandTest(CommandCase):
    def chaos(self, *args):
        return self.run_program("sim", "chaos", *args)

    def result_of(self, *args):
        result = self.chaos(*args, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_same_seeds_give_the_same_result(self):
        first = self.result_of("--seeds", "4", "--threads", "1")
        self.assertEqual(first, self.result_of("--seeds", "4", "--threads", "2"))
        self.assertEqual((first["num_runs"], first["num_violated"]), (4, 0))
        self.assertGreater(sum(first["faults"].values()), 40)
        self.assertNotEqual(first["hash"], self.result_of("--seeds", "4", "--seed", "9")["hash"])

    def test_only_requested_faults_happen(self):
        faults = self.result_of("--seeds", "2", "--faults", "agent,cable")["faults"]
        self.assertGreater(faults["agent"] * faults["cable"], 0)
        self.assertEqual(sum(faults.values()), faults["agent"] + faults["cable"])

    def test_a_file_is_repeated_and_shown(self):
        self.write("run.yaml", "chaos:\n  seed: 5\n  faults:\n    - {at: 12 s, kind: agent, target: 1, lasts: 500ms}\n")
        result = self.chaos("--replay", "run.yaml", "--log")
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("fault: agent 1 for 0.500 s", "h1: the agent is killed", "All laws held."):
            self.assertIn(text, result.stdout)

    def test_tables_fit(self):
        result = self.chaos("--seeds", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)

    def test_mistakes_are_named(self):
        self.write("wrong.yaml", "chaos:\n  faults:\n    - {at: 12, kind: agnet}\n")
        for args, expected in [
            (("--replay", "wrong.yaml"), ("wrong.yaml:3", "agnet", "agent")),
            (("--replay", "none.yaml"), ("none.yaml",)),
            (("--faults", "agnet"), ("--faults", "agent")),
            (("--hosts", "1"), ("--hosts",)),
            (("--seeds", "2", "--log"), ("--log", "--seeds 1")),
        ]:
            with self.subTest(args=args):
                self.assert_refused(self.chaos(*args), *expected)


if __name__ == "__main__":
    main()
