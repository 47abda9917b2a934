#!/usr/bin/env python3
"""Does check_layers.py find each kind of violation, and only those? Each case is a small source tree."""

import pathlib
import tempfile
import unittest

import check_layers

CLEAN = {
    "src/base/ids.h": "#pragma once\n#include <vector>\n",
    "src/model/flow.h": '#include "base/ids.h"\n',
    "src/traffic/policy.h": '#include "model/flow.h"\n',
    "src/traffic/registry.cc": '#include "traffic/crux/crux.h"\n#include "traffic/ecmp/ecmp.h"\n',
    "src/traffic/crux/crux.h": '#include "traffic/policy.h"\n',
    "src/traffic/crux/deep/part.h": '#include "traffic/crux/crux.h"\n',
    "src/traffic/ecmp/ecmp.h": '#include "traffic/policy.h"\n',
    "src/controller/core.cc": '#include "traffic/policy.h"\n#include "version.h"\n',
    "src/sim/engine.cc": '#include "traffic/crux/crux.h"\n',
    "src/testing/fake.h": '#include "sim/engine.h"\n',
    "src/sim/engine.h": '#include "model/flow.h"\n',
    "src/sim/engine_test.cc": '#include "testing/fake.h"\n',
    "experiments/all.cc": '#include "experiments/a-b/a_b.h"\n#include "sim/engine.h"\n',
    "experiments/common.h": "#pragma once\n",
    "experiments/a-b/a_b.h": '#include "experiments/common.h"\n#include "experiments/a-b/part.h"\n',
    "experiments/a-b/part.h": "",
    "apps/other.cc": '#include "experiments/common.h"\n',
    "apps/main.cc": '#include "sim/engine.h"\n#include "version.h"\n',
}


class CheckLayersTest(unittest.TestCase):

    def check(self, changes):
        """The violations of the clean tree with `changes` (file -> text) written over it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_layers.check_tree(folder)

    def assert_one(self, changes, start):
        found = self.check(changes)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(start), found[0])

    def test_clean_tree_passes(self):
        self.assertEqual(self.check({}), [])

    def test_arrow_to_a_later_module(self):
        self.assert_one({"src/base/late.cc": '// A.\n#include "model/flow.h"\n'}, "src/base/late.cc:2: order:")

    def test_order_holds_for_tests_too(self):
        self.assert_one({"src/base/late_test.cc": '#include "model/flow.h"\n'}, "src/base/late_test.cc:1: order:")

    def test_unknown_module(self):
        self.assert_one({"src/misc/thing.h": ""}, "src/misc/thing.h:1: order:")

    def test_neighbouring_experiment(self):
        self.assert_one({"experiments/c/c.cc": '#include "experiments/a-b/a_b.h"\n'},
                        "experiments/c/c.cc:1: siblings:")

    def test_experiment_includes_the_program(self):
        self.assert_one({"apps/main.h": "", "experiments/common.cc": '#include "apps/main.h"\n'},
                        "experiments/common.cc:1: order:")

    def test_module_includes_an_experiment(self):
        self.assert_one({"src/sim/engine.cc": '#include "experiments/common.h"\n'}, "src/sim/engine.cc:1: path:")

    def test_cycle_of_experiments(self):
        self.assert_one({"experiments/common.h": '#include "experiments/a-b/a_b.h"\n'}, "experiments/")

    def test_neighbouring_policy(self):
        self.assert_one({"src/traffic/crux/x.cc": '  #  include "traffic/ecmp/ecmp.h"\n'},
                        "src/traffic/crux/x.cc:1: siblings:")

    def test_neighbouring_policy_from_a_deeper_folder(self):
        self.assert_one({"src/traffic/crux/deep/x.cc": '#include "traffic/ecmp/ecmp.h"\n'},
                        "src/traffic/crux/deep/x.cc:1: siblings:")

    def test_controller_and_agent_know_no_policy(self):
        for module in ("controller", "agent"):
            self.assert_one({f"src/{module}/x.cc": '#include "traffic/crux/crux.h"\n'},
                            f"src/{module}/x.cc:1: interface:")

    def test_product_includes_testing(self):
        self.assert_one({"src/sim/x.cc": '#include "testing/fake.h"\n'}, "src/sim/x.cc:1: testing:")
        self.assert_one({"apps/x.cc": '#include "testing/fake.h"\n'}, "apps/x.cc:1: testing:")

    def test_file_whose_name_only_begins_like_a_test(self):
        self.assert_one({"src/sim/x_test_data.cc": '#include "testing/fake.h"\n'},
                        "src/sim/x_test_data.cc:1: testing:")

    def test_relative_missing_and_angle_includes(self):
        self.assert_one({"src/base/x.cc": '#include "ids.h"\n'}, "src/base/x.cc:1: path:")
        self.assert_one({"src/base/x.cc": '#include "base/../base/ids.h"\n'}, "src/base/x.cc:1: path:")
        self.assert_one({"src/base/x.cc": '#include "base/gone.h"\n'}, "src/base/x.cc:1: path:")
        self.assert_one({"src/base/x.cc": "#include <base/ids.h>\n"}, "src/base/x.cc:1: path:")

    def test_commented_include_is_no_include(self):
        self.assertEqual(self.check({"src/base/x.cc": '// #include "model/flow.h"\n'}), [])

    def test_cycle_is_named_with_its_line(self):
        self.assert_one({"src/base/a.h": '\n#include "base/b.h"\n', "src/base/b.h": '#include "base/a.h"\n'},
                        "src/base/a.h:2: cycle: base/a.h -> base/b.h -> base/a.h")

    def test_header_that_includes_itself(self):
        self.assert_one({"src/base/a.h": '#include "base/a.h"\n'}, "src/base/a.h:1: cycle: base/a.h -> base/a.h")

    def test_cycle_behind_a_shared_header(self):
        # top -> left -> bottom, top -> right -> bottom is a diamond, not a cycle; right -> top makes one.
        diamond = {
            "src/base/top.h": '#include "base/left.h"\n#include "base/right.h"\n',
            "src/base/left.h": '#include "base/bottom.h"\n',
            "src/base/right.h": '#include "base/bottom.h"\n',
            "src/base/bottom.h": "",
        }
        self.assertEqual(self.check(diamond), [])
        diamond["src/base/right.h"] += '#include "base/top.h"\n'
        self.assert_one(diamond, "src/base/right.h:2: cycle: base/right.h -> base/top.h -> base/right.h")


if __name__ == "__main__":
    unittest.main()
