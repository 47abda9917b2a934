#!/usr/bin/env python3
"""check_links.py on small trees: what is dead is named, what stands is not."""

import pathlib
import tempfile
import unittest

import check_links


class CheckLinksTest(unittest.TestCase):
    def dead(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_links.find_dead(folder)

    def test_links_that_hold(self):
        self.assertEqual(self.dead({
            "README.md": "[a](docs/a.md) [b](docs/a.md#two-words-more) [c](https://example.org/x) [d](#here) [e](docs/)\n# Here\n",
            "docs/a.md": "## Two `words`, more\n[up](../README.md)\n```\n[not](a-link.md)\n```\n`[nor](this.md)`\n"}), [])

    def test_a_missing_file(self):
        self.assertEqual(self.dead({"docs/a.md": "one\n[b](b.md)\n"}), ["docs/a.md:2: b.md: no such file"])

    def test_a_missing_heading(self):
        self.assertEqual(self.dead({"docs/a.md": "[b](#there)\n# Here\n```\n# There\n```\n"}), ["docs/a.md:1: #there: no such heading"])

    def test_headings_with_one_name(self):
        self.assertEqual(self.dead({"docs/a.md": "[b](#x) [c](#x-1) [d](#x-2)\n# X\n# X\n"}), ["docs/a.md:1: #x-2: no such heading"])

    def test_names_of_files(self):
        self.assertEqual(self.dead({"docs/a.md": "`src/x/y.h` `x/y.h` `y.h` `z.h` `x.yaml`\n", "src/x/y.h": ""}),
                         ["docs/a.md:1: `z.h`: no such file"])

    def test_mentions_in_sources(self):
        self.assertEqual(self.dead({"src/x.h": "// See docs/gone.md and docs/a.md.\n", "docs/a.md": ""}),
                         ["src/x.h:1: docs/gone.md: no such file"])

    def test_sections_of_specifications(self):
        pages = {"docs/spec/c4.md": "# 4. Hang\n## 4.1 Rule\n# 6. Who waits\n"}
        self.assertEqual(self.dead({**pages, "src/x.h": "// Reference docs/spec/c4.md sections 4, 4.1 and\n//   6, steps 7 and 9.\n"}), [])
        self.assertEqual(self.dead({**pages, "src/x.h": "//\n// docs/spec/c4.md section 4.1, rule 3A; docs/spec/c4.md sections 4 to\n//   4.2.\n"}),
                         ["src/x.h:2: docs/spec/c4.md has no section 4.2"])


if __name__ == "__main__":
    unittest.main()
