"""A command of the program as a user meets it: real processes, real files, exit codes, messages."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


class CommandCase(unittest.TestCase):
    """Each test has a folder of its own, in which the program runs."""

    program = ""
    source = pathlib.Path()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def run_program(self, *args, **how):
        # As on a narrow terminal; in a pipe tables would be as wide as their names.
        how.setdefault("env", {**os.environ, "COLUMNS": "100"})
        return subprocess.run([self.program, *args], capture_output=True, text=True, cwd=self.folder, timeout=300, **how)

    def assert_refused(self, result, *parts):
        """One line that has these parts, and nothing else."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


def main():
    """Of a file with such tests; its arguments are PROGRAM and SOURCE_DIR."""
    CommandCase.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    CommandCase.source = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
