"""What is made from the tree of all commands: help, completion, manual and reference pages.

usage: command_tree_test.py PROGRAM SOURCE_DIR
"""
import json
import pathlib
import shutil
import subprocess
import unittest

from command_case import CommandCase, main


def walk(command):
    yield command
    for inner in command["commands"]:
        yield from walk(inner)


class CommandTreeTest(CommandCase):
    def trees(self):
        """The commands of each program."""
        folder = pathlib.Path(self.program).parent
        programs = [self.program] + sorted(str(p) for p in folder.glob("fairlead-*")
                                           if p.is_file() and p.suffix == "" and p.name != "fairlead-trainer")
        self.assertGreater(len(programs), 8)
        for program in programs:
            result = subprocess.run([program, "--print-commands"], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            yield json.loads(result.stdout)

    def test_every_command_has_an_example_of_its_own(self):
        num_commands = 0
        for tree in self.trees():
            is_dispatcher = len(tree["commands"]) > 1
            for top in tree["commands"]:
                for command in walk(top):
                    # `fairlead` knows the summary of a command of another program, and nothing else.
                    if is_dispatcher and not command["commands"] and not command["options"][1:]:
                        continue
                    num_commands += 1
                    with self.subTest(command["command"]):
                        self.assertIn(f"{command['command']}", command["footer"])
                        self.assertIn("Example: ", command["footer"])
                        self.assertTrue(command["summary"].endswith("."), command["summary"])
                        for option in command["options"]:
                            self.assertTrue(option["help"], option)
        self.assertGreater(num_commands, 45)

    def test_commands_with_json_have_other_formats_too(self):
        without_tables = {
            "fairlead agent check": "says yes or no in a sentence",
            "fairlead agent run": "runs until it is stopped; JSON is a summary at its end",
            "fairlead cert host": "names the files that it wrote",
            "fairlead cert init": "names the files that it wrote",
            "fairlead check": "a line for each file",
            "fairlead sim fwl": "five numbers, one a line",
        }
        with_both, without = set(), set()
        for tree in self.trees():
            for command in walk(tree):
                options = {name: option for option in command["options"] for name in option["names"]}
                if "--json" not in options:
                    self.assertNotEqual(options.get("--format", {}).get("choices", [None])[0], "table", command["command"])
                elif "--format" in options:
                    self.assertEqual(options["--format"]["choices"], ["table", "json", "csv", "markdown"])
                    with_both.add(command["command"])
                else:
                    without.add(command["command"])
        self.assertEqual(without, set(without_tables))
        self.assertGreater(len(with_both), 18)

    def test_help_fits_the_terminal(self):
        for tree in self.trees():
            for command in walk(tree):
                words = command["command"].split()[1:]
                result = self.run_program(*words, "--help")
                with self.subTest(command["command"]):
                    self.assertEqual(result.returncode, 0)
                    self.assertLessEqual(max(map(len, result.stdout.splitlines())), 120)

    def complete(self, line):
        """What bash offers for the last word of the line."""
        script = self.folder / "completion.bash"
        if not script.exists():
            result = self.run_program("completion", "bash")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            script.write_text(result.stdout)
        ask = """
            source "$1"; shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _fairlead
            printf '%s\\n' "${COMPREPLY[@]}"
        """
        result = subprocess.run(["bash", "-c", ask, "bash", str(script), *line], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.stderr, "")
        return [word for word in result.stdout.splitlines() if word]

    def test_bash_completes(self):
        self.write("cluster.yaml", "")
        self.assertIn("lab", self.complete(["fairlead", ""]))
        self.assertEqual(self.complete(["fairlead", "exp"]), ["explain", "experiment"])
        self.assertEqual(self.complete(["fairlead", "lab", "de"]), ["demo"])
        self.assertEqual(self.complete(["/usr/bin/fairlead-lab", "de"]), ["demo"])
        self.assertIn("--policy", self.complete(["fairlead", "sim", "run", "--p"]))
        self.assertEqual(self.complete(["fairlead", "sim", "run", "--detail", ""]), ["coupled", "edge", "agents"])
        self.assertEqual(self.complete(["fairlead", "sim", "run", "--detail", "=", "e"]), ["edge"])
        self.assertEqual(self.complete(["fairlead", "sim", "run", "--policy", "ecmp,crux+c"]), ["ecmp,crux+c4p"])
        self.assertEqual(self.complete(["fairlead", "init", ""]), ["clos", "rail", "lab"])
        self.assertEqual(self.complete(["fairlead", "sim", "run", "clu"]), ["cluster.yaml"])
        self.assertEqual(self.complete(["fairlead", "sim", "run", "--json", "clu"]), ["cluster.yaml"])
        self.assertEqual(self.complete(["fairlead", "sim", "run", "cluster.yaml", "--se"]), ["--seeds", "--seed", "--set"])

    def test_other_shells_can_read_their_scripts(self):
        checked = []
        for shell in ("bash", "zsh", "fish"):
            result = self.run_program("completion", shell)
            self.assertEqual(result.returncode, 0, result.stderr)
            if shutil.which(shell) is None:
                continue
            checked.append(shell)
            self.write(f"script.{shell}", result.stdout)
            syntax = subprocess.run([shell, "-n", f"script.{shell}"], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((syntax.returncode, syntax.stderr), (0, ""), shell)
        self.assertIn("bash", checked)
        self.assert_refused(self.run_program("completion", "tcsh"), "expected one of bash, zsh, fish")

    @unittest.skipIf(shutil.which("fish") is None, "fish is not installed")
    def test_fish_completes(self):
        self.write("script.fish", self.run_program("completion", "fish").stdout)

        def complete(line):
            result = subprocess.run(["fish", "--no-config", "-c", f"source script.fish; complete -C '{line}'"], cwd=self.folder,
                                    capture_output=True, text=True)
            return [text.split("\t")[0] for text in result.stdout.splitlines()]

        self.assertEqual(complete("fairlead lab de"), ["demo"])
        self.assertEqual(complete("fairlead-lab de"), ["demo"])
        self.assertEqual(complete("fairlead sim run --detail "), ["coupled", "edge"])
        self.assertIn("--policy", complete("fairlead sim run --p"))

    def test_manual_pages(self):
        self.assertEqual(self.run_program("man", "man1").returncode, 0)
        pages = sorted((self.folder / "man1").iterdir())
        self.assertGreater(len(pages), 12)
        self.assertIn("fairlead.1", [page.name for page in pages])
        lab = (self.folder / "man1/fairlead-lab.1").read_text()
        self.assertIn(".SS fairlead lab demo", lab)
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        for page in pages:
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True)
            self.assertEqual([line for line in lint.stdout.splitlines() if "missing date" not in line], [], page)


if __name__ == "__main__":
    main()
