"""Nothing is lost without a word, and no number that is none gets in: of every command of the program.

The commands and their options are read from --help, so that a new one is tested, too.

usage: lost_output_test.py PROGRAM SOURCE_DIR
"""
import functools
import re
import subprocess

from command_case import CommandCase, main

SCENARIO = """
title: t
seeds: 1
simulate_s: 5
policies: [ecmp, crux]
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 1}
jobs:
  - {name: a, gpus: 16, compute_s: 0.1, size_mb: 800, iterations: 20}
"""

# What prints without network, root or minutes.
PRINTING = [
    ["sim", "run", "s.yaml"],
    ["sim", "run", "s.yaml", "--json", "-"],
    ["sim", "run", "s.yaml", "--html", "-"],
    ["explain", "job", "a", "--scenario", "s.yaml"],
    ["explain", "job", "a", "--scenario", "s.yaml", "--json", "-"],
    ["experiment", "list"],
    ["experiment", "run", "crux-examples"],
    ["experiment", "run", "crux-examples", "--json", "-"],
    ["diag", "simulate", "--seconds", "70", "-o", "-"],
    ["trace", "generate", "--profile", "lingjun-2023", "-o", "-"],
    ["predict", "generate", "--jobs", "3", "-o", "jobs"],
    ["workload", "show", "SOURCE/workloads/moe-32.txt"],
]


@functools.lru_cache(maxsize=None)
def help_of(program, words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


def commands_of(program, words=()):
    """Every command, each as a tuple of words."""
    found = [words]
    _, _, subcommands = help_of(program, words).partition("\nSubcommands:\n")
    for line in subcommands.split("\n\n")[0].splitlines():
        match = re.match(r"  ([a-z0-9-]+)(\s|$)", line)
        if match:
            found += commands_of(program, (*words, match[1]))
    return found


class LostOutputTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.write("s.yaml", SCENARIO)

    def exit_of(self, redirection, words):
        """Exit code, and what stands in stderr, when the shell sends stdout elsewhere."""
        words = [word.replace("SOURCE", str(self.source)) for word in words]
        result = subprocess.run(["bash", "-c", f'"$0" "$@" {redirection}', self.program, *words], text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder, timeout=300)
        return result.returncode, result.stderr

    def test_commands_that_print(self):
        for words in PRINTING:
            with self.subTest(words):
                code, error = self.exit_of("", words)
                self.assertEqual(code, 0, error)
                for redirection in (">/dev/full", ">&-"):
                    code, error = self.exit_of(redirection, words)
                    self.assertEqual(code, 3, (redirection, error))
                    self.assertEqual(error.count("\n"), 1, (redirection, error))
                    self.assertIn("cannot write to stdout: ", error)

    def test_help_of_every_command_and_the_version(self):
        commands = commands_of(self.program)
        self.assertGreater(len(commands), 20)
        for words in [(*command, "--help") for command in commands] + [("--version",)]:
            with self.subTest(words):
                self.assertEqual(self.exit_of("", words), (0, ""))
                code, error = self.exit_of(">/dev/full", words)
                self.assertEqual((code, error.count("\n")), (3, 1), error)
                self.assertEqual(self.exit_of(">&-", words)[0], 3)

    def test_files_are_written_all_the_same(self):
        code, _ = self.exit_of(">/dev/full", ["sim", "run", "s.yaml", "--json", "r.json", "--html", "r.html"])
        self.assertEqual(code, 3)
        self.assertIn("</html>", (self.folder / "r.html").read_text())
        self.assertIn('"runs"', (self.folder / "r.json").read_text())

    def test_a_closed_stdout_is_no_file_of_the_program(self):
        # Its number must not go to the next file that is opened, which would get the table.
        code, _ = self.exit_of(">&-", ["sim", "run", "s.yaml", "--json", "r.json"])
        self.assertEqual(code, 3)
        self.assertTrue((self.folder / "r.json").read_text().startswith("{"))

    def test_a_reader_that_has_gone_is_no_news(self):
        # More than the pipe holds, to a reader that never reads.
        command = '{ "$0" sim run s.yaml --html - --json r.json; echo $? >code; } 2>errors | true'
        subprocess.run(["bash", "-c", command, self.program], cwd=self.folder, timeout=300, check=True)
        self.assertEqual((self.folder / "code").read_text(), "3\n")
        self.assertEqual((self.folder / "errors").read_text(), "")
        self.assertTrue((self.folder / "r.json").exists())

    def test_errors_keep_their_code(self):
        self.assertEqual(self.exit_of(">/dev/full", ["sim", "run", "missing.yaml"])[0], 2)
        self.assertEqual(self.exit_of(">/dev/full 2>/dev/full", ["sim", "run", "missing.yaml"])[0], 2)
        self.assertEqual(self.exit_of(">&- 2>&-", ["sim", "run", "missing.yaml"])[0], 2)
        self.assertEqual(self.exit_of(">&- 2>&-", ["sim", "run", "s.yaml"])[0], 3)

    def test_numbers_that_are_none_are_refused_by_every_option(self):
        num_options = 0
        for command in commands_of(self.program):
            for option in re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+) X\b", help_of(self.program, command), re.MULTILINE):
                num_options += 1
                for number in ("nan", "-nan", "inf", "-inf", "1e308", "-1e308", "1e999"):
                    with self.subTest((command, option, number)):
                        # Whatever else the command needs is missing: the number is looked at first.
                        result = self.run_program(*command, f"{option}={number}")
                        self.assert_refused(result, option, "expected a finite number", number)
        self.assertGreater(num_options, 30)

    def test_minus_zero_is_zero(self):
        self.assert_refused(self.run_program("sim", "run", "s.yaml", "--simulate-s=-0"), "--simulate-s", "from 0.001 to 1000000000, found '0'")


if __name__ == "__main__":
    main()
