#!/usr/bin/env python3
"""check_classes.py on small trees: what is large is named, unless it says why."""

import pathlib
import tempfile
import unittest

import check_classes


def members(number):
    return "".join(f"  int m{n}_ = 0;  // what\n" for n in range(number))


def function(name, number):
    return f"void {name}() {{\n" + "  Do();\n" * (number - 2) + "}\n"


class CheckClassesTest(unittest.TestCase):
    def bad(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return [line.split(" (at most")[0] for line in check_classes.find_bad(folder)]

    def test_members(self):
        self.assertEqual(self.bad({"x/a.h": "class A {\n private:\n" + members(15) + "};\n"}), [])
        self.assertEqual(self.bad({"x/a.h": "\nclass A {\n private:\n" + members(16) + "};\n"}),
                         ["src/x/a.h:2: A has 16 members and 0 lines of functions"])

    def test_those_of_a_nested_class_are_its_own(self):
        nested = "class A {\n  class B {\n" + members(9).replace("  int", "    int") + "  };\n" + members(9) + "};\n"
        self.assertEqual(self.bad({"x/a.h": nested}), [])

    def test_lines_in_all_files_of_the_folder(self):
        files = {"x/a.h": "class A {\n};\n", "x/a.cc": function("A::F", 200), "x/b.cc": function("A::G", 201),
                 "y/c.cc": function("A::H", 300)}
        self.assertEqual(self.bad(files), ["src/x/a.h:1: A has 0 members and 401 lines of functions"])
        files["x/b.cc"] = function("A::G", 200)
        self.assertEqual(self.bad(files), [])

    def test_functions_inside_the_class(self):
        inside = "class A {\n  void F() {\n" + "    Do();\n" * 400 + "  }\n};\n"
        self.assertEqual(self.bad({"x/a.cc": inside}), ["src/x/a.cc:1: A has 0 members and 402 lines of functions"])

    def test_a_reason(self):
        large = "class A {\n" + members(16) + "};\n"
        reason = "// Size        all of it is one table.\n"
        self.assertEqual(self.bad({"x/a.h": "// A table.\n" + reason + "\n" + large}), [])
        self.assertEqual(self.bad({"x/a.h": "// Files.\n\nint f();\n\n// A table.\n" + reason + large}), [])
        self.assertEqual(len(self.bad({"x/a.h": "// Files.\n\n" + reason + "int f();\n\n" + large})), 1)

    def test_fixtures_may_be_large(self):
        large = "class A {\n" + members(16) + "};\n"
        self.assertEqual(self.bad({"x/a_example.h": large, "x/a_test.cc": large, "testing/a.h": large}), [])


if __name__ == "__main__":
    unittest.main()
