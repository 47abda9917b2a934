#!/usr/bin/env python3
"""check_commands.py on small pages, with programs that are shell scripts."""

import json
import pathlib
import tempfile
import unittest

import check_commands


def command(words, options=(), inner=()):
    return {"command": words, "options": [{"names": list(names)} for names in options], "commands": list(inner)}


TREE = command("fairlead", inner=[
    command("fairlead sim", inner=[command("fairlead sim run", [["--policy"], ["-o", "--output"]])]),
    command("fairlead check", [["--json"]])])
AGENT = command("fairlead", inner=[command("fairlead agent", inner=[command("fairlead agent run", [["--host"]])])])
CHAOS = command("fairlead", inner=[command("fairlead sim", inner=[command("fairlead sim chaos", [["--seed"]])])])


class CheckCommandsTest(unittest.TestCase):
    def wrong(self, text, num_programs=3):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "apps").mkdir()
            for program in ("agent", "sim_chaos"):
                (folder / f"apps/fairlead_{program}.cc").touch()
            for program, tree in [("fairlead", TREE), ("fairlead-agent", AGENT), ("fairlead-sim-chaos", CHAOS)][:num_programs]:
                (folder / program).write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(tree)}\nEND\n")
                (folder / program).chmod(0o755)
            page = folder / "page.md"
            page.write_text(text)
            commands = check_commands.Commands(folder / "fairlead")
            commands.note_not_built(folder / "apps")
            return list(check_commands.find_wrong(commands, page, "page.md"))

    def test_what_exists(self):
        self.assertEqual(self.wrong("`fairlead sim run` `sim run` `--policy` `fairlead COMMAND` `fairlead-hook --x`\n"
                                    "    ./run sim run my.yaml --policy a -o x && fairlead check --json -   # with --comments\n"
                                    "```console\n$ sudo fairlead agent run --host h0 | grep --count x\nfairlead output run\n```\n"), [])

    def test_a_command_that_does_not_exist(self):
        self.assertEqual(self.wrong("text\n`fairlead sim jump`\n"), ["page.md:2: no command `fairlead sim jump`"])
        self.assertEqual(self.wrong("    ./run simulate\n"), ["page.md:1: no command `fairlead simulate`"])
        self.assertEqual(self.wrong("see `sim jump`\n"), ["page.md:1: no command `fairlead sim jump`"])

    def test_an_option_that_does_not_exist(self):
        self.assertEqual(self.wrong("```\nfairlead sim run --json -\n```\n"), ["page.md:2: `fairlead sim run` has no option --json"])
        self.assertEqual(self.wrong("    fairlead-agent run --host a \\\n        --hosts b\n"),
                         ["page.md:1: `fairlead agent run` has no option --hosts"])
        self.assertEqual(self.wrong("`--fast`\n"), ["page.md:1: no command has an option --fast"])

    def test_the_second_call_of_a_line(self):
        self.assertEqual(self.wrong("    fairlead check a && fairlead check --fast\n"), ["page.md:1: `fairlead check` has no option --fast"])

    def test_names_that_are_no_calls(self):
        self.assertEqual(self.wrong("    podman run --name fairlead-agent --network host fairlead-agent\n    apt install --yes fairlead --fast\n"), [])
        self.assertEqual(self.wrong("    X=1 sudo fairlead check --fast\n"), ["page.md:1: `fairlead check` has no option --fast"])

    def test_a_program_that_is_not_built(self):
        self.assertEqual(self.wrong("    fairlead agent run --fast\n    fairlead check --fast\n`--faster`\n", num_programs=1),
                         ["page.md:2: `fairlead check` has no option --fast"])
        self.assertEqual(self.wrong("    fairlead sim chaos --fast\n    fairlead-sim-chaos --fast\n", num_programs=2), [])

    def test_a_program_of_two_words(self):
        self.assertEqual(self.wrong("    fairlead sim chaos --seed 1\n    fairlead sim chaos --fast\n    fairlead sim run -o x\n"),
                         ["page.md:2: `fairlead sim chaos` has no option --fast"])


if __name__ == "__main__":
    unittest.main()
