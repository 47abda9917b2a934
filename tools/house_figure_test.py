#!/usr/bin/env python3
"""Tests of house_figure.py on small trees."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import house_figure

SCRIPT = pathlib.Path(house_figure.__file__).resolve()


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, *includes, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f'#include "{i}"\n' for i in includes) + text, encoding="utf-8")

    def run_script(self, *args):
        return subprocess.run([sys.executable, str(SCRIPT), str(self.root), *args], capture_output=True, text=True)

    def test_a_module_is_above_all_that_it_includes(self):
        self.write("src/base/a.h")
        self.write("src/model/a.h", "base/a.h")
        self.write("src/fluid/a.h", "base/a.h")
        self.write("src/sim/a.cc", "model/a.h", "fluid/a.h", "base/a.h")
        uses = house_figure.read_uses(self.root)
        self.assertEqual(house_figure.floors(uses), {"base": 0, "model": 1, "fluid": 1, "sim": 2})
        self.assertEqual(house_figure.draw(uses),
                         "     2  sim    model fluid\n     1  model  base\n        fluid  base\n     0  base\n")

    def test_files_of_tests_hold_nothing_up(self):
        self.write("src/base/a.h")
        self.write("src/model/a.h")
        self.write("src/fluid/a_test.cc", "model/a.h")
        self.write("src/fluid/a_example.h", "model/a.h")
        self.write("src/fluid/random_a.h", "model/a.h")
        self.write("src/fluid/a.cc", "base/a.h")
        self.assertEqual(house_figure.read_uses(self.root)["fluid"], {"base"})

    def test_the_page_is_drawn_anew_and_checked(self):
        self.write("src/base/a.h")
        self.write("src/model/a.h", "base/a.h")
        page = self.root / house_figure.PAGE
        self.write(house_figure.PAGE, text="before\n" + house_figure.BEGIN + "stale\n" + house_figure.END + "after\n")
        self.assertEqual(self.run_script("--check").returncode, 1)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.run_script("--check").returncode, 0)
        drawn = page.read_text(encoding="utf-8")
        self.assertTrue(drawn.startswith("before\n") and drawn.endswith("after\n"), drawn)
        self.assertNotIn("stale", drawn)
        self.write("src/fluid/a.h", "model/a.h")
        self.assertEqual(self.run_script("--check").returncode, 1, "another module")

    def test_a_page_without_its_marks_is_an_error(self):
        self.write("src/base/a.h")
        self.write(house_figure.PAGE, text="no marks\n")
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected the lines", result.stderr)


if __name__ == "__main__":
    unittest.main()
