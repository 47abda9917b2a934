#!/usr/bin/env python3
"""Does check_listed.py find the files that no CMakeLists.txt names, and only those?"""

import pathlib
import tempfile
import unittest

import check_listed

TREE = {
    "CMakeLists.txt": "project(x)\n",
    "src/base/CMakeLists.txt": "fairlead_library(base SOURCES a.cc deep/b.cc HEADERS a.h)\n# gone.cc\n",
    "src/base/a.cc": "",
    "src/base/a.h": "",
    "src/base/deep/b.cc": "",
    "src/base/testdata/sample.cc": "",
    "apps/CMakeLists.txt": "add_executable(x main.cc)",
    "apps/main.cc": "",
}


class CheckListedTest(unittest.TestCase):

    def unlisted(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return [line.split(":")[0] for line in check_listed.find_unlisted(folder)]

    def test_listed_tree_passes(self):
        self.assertEqual(self.unlisted({}), [])

    def test_file_that_is_not_named(self):
        self.assertEqual(self.unlisted({"src/base/new_test.cc": ""}), ["src/base/new_test.cc"])

    def test_name_in_a_comment_does_not_count(self):
        self.assertEqual(self.unlisted({"src/base/gone.cc": ""}), ["src/base/gone.cc"])

    def test_equal_name_in_another_folder_does_not_count(self):
        self.assertEqual(self.unlisted({"src/base/deep/a.cc": "", "apps/a.cc": ""}), ["src/base/deep/a.cc", "apps/a.cc"])

    def test_end_of_another_name_does_not_count(self):
        self.assertEqual(self.unlisted({"src/base/b.cc": ""}), ["src/base/b.cc"])

    def test_module_without_a_list(self):
        self.assertEqual(self.unlisted({"src/model/job.cc": ""}), ["src/model/job.cc"])


if __name__ == "__main__":
    unittest.main()
