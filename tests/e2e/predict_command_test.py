"""The predict commands as a user meets them: real processes, real files, exit codes, messages.

usage: predict_command_test.py PROGRAM SOURCE_DIR
"""
import json

from command_case import CommandCase, main

SPEEDS = """model,global_batch,num_ps,num_workers,step_time_s
net,64,1,1,2.1
net,64,1,2,3.1
net,64,2,1,1.6
net,64,2,2,2.1
net,64,4,1,1.35
net,64,4,4,2.1
net,64,1,4,5.1
net,64,3,3,
"""


class PredictCommandTest(CommandCase):
    def predict(self, *args):
        return self.run_program("predict", *args)

    def assert_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertLessEqual(max(map(len, result.stdout.splitlines()), default=0), 100)

    def train(self, *args):
        return self.predict("train", "--jobs", "jobs/jobs.csv", "--curves", "jobs/curves.csv", "-o", "m.json",
                                "--learner", "logistic", *args)

    def score(self, *args, jobs="jobs/jobs.csv", curves="jobs/curves.csv"):
        return self.predict("score", "--model", "m.json", "--jobs", jobs, "--curves", curves, *args)

    def test_help_has_an_example(self):
        for command in ("generate", "train", "score", "speed"):
            result = self.predict(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example: fairlead predict " + command, result.stdout)

    def test_generate_train_score(self):
        self.assert_done(self.predict("generate", "--jobs", "30", "--seed", "4", "-o", "jobs"))
        self.assert_done(self.predict("generate", "--jobs", "30", "--seed", "4", "-o", "again"))
        self.assertEqual((self.folder / "jobs/curves.csv").read_text(), (self.folder / "again/curves.csv").read_text())

        trained = self.train("--json", "t.json")
        self.assert_done(trained)
        self.assertIn("saved logistic as m.json", trained.stdout)
        report = json.loads((self.folder / "t.json").read_text())
        self.assertEqual(report["chosen"], "logistic")
        self.assertEqual(report["jobs"], 30)
        self.assertGreater(report["learners"][0]["accuracy"], report["majority"])
        self.assertEqual(len(report["learners"][0]["calibration"]), 10)
        for feature in report["features"]:
            self.assertEqual(feature["kept"], feature["reason"] is None, feature)

        self.assert_done(self.score())
        one = self.score("--job", "job-0003", "--json", "s.json")
        self.assert_done(one)
        self.assertIn("moved the score by", one.stdout)
        scored = json.loads((self.folder / "s.json").read_text())
        self.assertEqual([entry["job"] for entry in scored], ["job-0003"])
        only_json = self.score("--json", "-")
        self.assertEqual(len(json.loads(only_json.stdout)), 30)

    def test_bad_curves_are_unpredictable_and_nothing_is_lost(self):
        self.predict("generate", "--jobs", "12", "-o", "jobs")
        self.assert_done(self.train())
        self.write("jobs.csv", "job,target_loss,total_iterations\nnan,0.1,\nrising,0.1,\nempty,0.1,\nfixed,,1000\n")
        lines = ["job,iteration,loss"]
        for epoch in range(1, 9):
            lines.append(f"nan,{epoch},{'nan' if epoch == 5 else 1 / epoch}")
            lines.append(f"rising,{epoch},{epoch}")
            lines.append(f"fixed,{epoch * 10},{1 / epoch}")
        self.write("curves.csv", "\n".join(lines) + "\n")
        result = self.score("--json", "-", jobs="jobs.csv", curves="curves.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        scored = {entry["job"]: entry for entry in json.loads(result.stdout)}
        self.assertEqual([scored[name]["fit"] for name in ("nan", "rising", "empty")],
                         ["not finite", "rising", "no observations"])
        for name in ("nan", "rising", "empty"):
            self.assertFalse(scored[name]["predictable"])
            self.assertIsNone(scored[name]["remaining_iterations"])
        self.assertTrue(scored["fixed"]["predictable"])
        self.assertEqual(scored["fixed"]["remaining_iterations"]["expected"], 920)

    def test_wrong_input_is_refused_with_one_line(self):
        self.predict("generate", "--jobs", "12", "-o", "jobs")
        self.assert_refused(self.score(), "m.json: cannot be read", "predict train")
        self.write("m.json", "{}")
        self.assert_refused(self.score(), "is no predictability model")
        self.assert_done(self.train())
        self.assert_refused(self.score("--job", "nobody"), "there is no job 'nobody'", "12 jobs")
        model = (self.folder / "m.json").read_text()
        self.write("m.json", model.replace("logistic", "svm"))
        self.assert_refused(self.score(), "checksum")
        twice = self.write("twice.csv", "job\na\na\n")
        self.write("m.json", model)
        self.assert_refused(self.score(jobs=twice), "twice.csv:3", "second time")
        self.write("no_end.csv", "job\njob-0000\n")
        result = self.predict("train", "--jobs", "no_end.csv", "--curves", "jobs/curves.csv", "-o", "x.json")
        self.assertEqual(result.returncode, 2)
        self.assertFalse((self.folder / "x.json").exists())

    def test_speed(self):
        self.write("s.csv", SPEEDS)
        result = self.predict("speed", "s.csv", "--ps", "8", "--workers", "2", "--json", "f.json")
        self.assert_done(result)
        self.assertIn("net", result.stdout)
        fitted = json.loads((self.folder / "f.json").read_text())[0]
        self.assertEqual((fitted["used"], fitted["skipped"]), (7, 1))
        # The seven rows are 1.1 + workers / servers: 1.35 at 8 servers and 2 workers.
        self.assertLess(fitted["error"]["max"], 1e-6)
        self.assertAlmostEqual(fitted["iteration_s"], 1.35, places=6)
        self.assertIsNone(fitted["terms"][3]["coefficient_s"], "update and transfer are one column without CPU curves")

    def test_speed_refuses_what_it_cannot_read(self):
        self.assert_refused(self.predict("speed", "none.csv"), "none.csv")
        self.write("s.csv", SPEEDS.replace(",1,1,", ",0,1,"))
        self.assert_refused(self.predict("speed", "s.csv"), "s.csv:2", "at least 1 worker")
        self.write("s.csv", "model,global_batch,num_ps,num_workers,step_time_s\nnet,64,1,1,\n")
        self.assert_refused(self.predict("speed", "s.csv"), "none of 1 observations")
        self.assertEqual(self.predict("speed", "s.csv", "--ps", "2").returncode, 2)


if __name__ == "__main__":
    main()
