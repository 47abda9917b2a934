"""Does the hook for Slurm touch the job that is meant, and no other? With stand-ins for Slurm's commands, which keep the state
of a small cluster in a file and write down what they are asked.

usage: slurm_hook_test.py SOURCE_DIR
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR = pathlib.Path(sys.argv[1])
HOOK = SOURCE_DIR / "integrations" / "slurm" / "fairlead-hook"
PATIENCE_S = 120

# One program under four names. Nodes: name -> [state, reason]; jobs: number -> [owner, state].
STAND_IN = r'''#!/usr/bin/env python3
import json, pathlib, sys
here = pathlib.Path(__file__).resolve().parent
name, words = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
with open(here / "asked", "a") as asked:
    asked.write(json.dumps([name, *words]) + "\n")
state = json.loads((here / "state").read_text())
def after(option):
    return words[words.index(option) + 1] if option in words else None
given = dict(word.split("=", 1) for word in words if "=" in word)
code = 0
if name == "sinfo":
    print("\n".join(node for node in state["nodes"] if after("-n") in (node, "ALL")))
elif name == "squeue":
    if after("-j"):
        jobs = [(n, job) for n, job in state["jobs"].items() if n.split("_")[0] == after("-j")]
        if not jobs:
            sys.exit("slurm_load_jobs error: Invalid job id specified")
        for number, (owner, job_state) in jobs:
            user_id = {"root": "0", "ann": "1001", "bob": "1002"}[owner]
            print(after("-o").replace("%i", number).replace("%u", owner).replace("%U", user_id).replace("%T", job_state))
elif name == "srun":
    node = after("-w")
    ready = not state["nodes"][node][0].endswith("DRAIN") and state["reserved"].get(words[0].split("=")[1]) == node
    code = 0 if ready and words[-1] == "/bin/true" else 1
elif words[0] == "show" and words[1] == "job":
    print(f"JobId={words[2]} JobName=x Requeue=1 NumNodes=2 NumCPUs=8 NumTasks=4")
elif words[0] == "show" and words[1] == "node":
    node_state, reason = state["nodes"][words[3]]
    print(f"NodeName={words[3]} State={node_state} ThreadsPerCore=1" + (f" Reason={reason}" if reason else ""))
elif words[0] == "show":
    code = 0 if words[-1] in state["reserved"] else 1
elif words[0] in ("hold", "requeuehold"):
    state["jobs"][words[1]][1] = "PENDING"
elif words[0] == "release":
    state["jobs"][words[1]][1] = "RUNNING"
elif words[0] == "create":
    state["reserved"][given["ReservationName"]] = given["Nodes"]
elif words[0] == "delete":
    state["reserved"].pop(given["ReservationName"], None)
elif words[0] == "update" and "NodeName" in given:
    is_drain = given["State"] == "DRAIN"
    state["nodes"][given["NodeName"]] = ["IDLE+DRAIN" if is_drain else "IDLE", given["Reason"] if is_drain else ""]
(here / "state").write_text(json.dumps(state))
sys.exit(code)
'''


class SlurmHookTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("sinfo", "squeue", "srun", "scontrol", "scancel", "sbatch"):
            (self.folder / name).write_text(STAND_IN)
            (self.folder / name).chmod(0o755)
        self.change(nodes={"h0": ["IDLE", ""], "h1": ["IDLE", ""], "h2": ["IDLE+DRAIN", "operator: disk"]},
                    jobs={"7": ["ann", "RUNNING"], "8": ["bob", "RUNNING"], "9": ["root", "RUNNING"],
                          "10_1": ["ann", "RUNNING"], "10_2": ["ann", "RUNNING"]}, reserved={})

    def change(self, **state):
        (self.folder / "state").write_text(json.dumps(state))

    @property
    def state(self):
        return json.loads((self.folder / "state").read_text())

    def call(self, text, **settings):
        """Exit code, last line of output, and what was asked of Slurm that changes something."""
        (self.folder / "asked").write_text("")
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **settings}
        done = subprocess.run([HOOK], input=text + "\n", capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
        asked = [json.loads(line) for line in (self.folder / "asked").read_text().splitlines()]
        changes = [words for words in asked if words[0] not in ("sinfo", "squeue") and words[1] != "show"]
        return done.returncode, (done.stdout.splitlines() or [""])[-1], changes

    def do(self, step, settings=None, **fields):
        action = {"fairlead_action": 1, "step": step, "job_owner": 1001, "slurm_job": None, **fields}
        return self.call(json.dumps(action), **(settings or {}))

    def test_a_job_is_touched_only_for_its_owner(self):
        for step in ("stop_job", "restart_job"):
            for fields in ({"job_name": "slurm-8"}, {"job_name": "slurm-7", "job_owner": 1002},
                           {"job_name": "slurm-7", "job_owner": None}, {"job_name": "slurm-7", "job_owner": "1001"},
                           {"job_name": "slurm-7", "slurm_job": 8}, {"job_name": "gpt", "slurm_job": 10}):
                code, said, changes = self.do(step, **fields, host_names=["h0", "h1"])
                self.assertEqual((code, changes), (2, []), f"{step} {fields}: {said}")

    def test_the_kernel_knows_the_number_better_than_the_job(self):
        for name in ("gpt", "slurm-8"):
            self.assertEqual(self.do("stop_job", job_name=name, slurm_job=7)[0], 0)
        self.assertEqual(self.state["jobs"]["7"], ["ann", "PENDING"])
        self.assertEqual(self.state["jobs"]["8"], ["bob", "RUNNING"])

    def test_hostile_names_of_jobs_change_nothing(self):
        names = ["a b;rm -rf /", "../../etc/passwd", "$(id)", "`id`", "gpt", "", None, 7, "7", "slurm-", "slurm-7,8",
                 "slurm-7 8", "slurm-7\nslurm-8", "slurm-07", "slurm--7", "slurm-7;id", "slurm-10", "slurm-9", "slurm-11",
                 "slurm-" + "9" * 40, "slurm-\u0667"]
        for step in ("stop_job", "restart_job"):
            for name in names:
                code, said, changes = self.do(step, job_name=name, host_names=["h0", "h1"])
                self.assertEqual((code, changes), (2, []), f"{step} {name!r}")
                self.assertTrue(said.startswith("refused: "), said)

    def test_missing_fields_and_other_input_change_nothing(self):
        for text in ("", "{}", "[]", "null", "garbage", '{"step": 5}', '{"step": "dance"}'):
            self.assertEqual(self.call(text)[::2], (2, []), text)
        for step in ("isolate_host", "stop_job", "take_spare", "restart_job", "test_host", "return_host"):
            self.assertEqual(self.do(step)[::2], (2, []), step)
        self.do("stop_job", job_name="slurm-7")
        for names in (None, [], [None, "h1"], ["h0,h1", "h1"], "h0"):
            self.assertEqual(self.do("restart_job", job_name="slurm-7", host_names=names)[::2], (2, []), names)

    def test_hosts_that_are_not_one_node_change_nothing(self):
        for host in ("ALL", "h[0-1]", "h0,h1", "h9", "-h", "h0 h1", "$(id)", "", "h0\nh1"):
            for step in ("isolate_host", "test_host", "return_host"):
                self.assertEqual(self.do(step, host_name=host)[::2], (2, []), f"{step} {host!r}")

    def test_a_job_is_stopped_and_restarted_by_its_number(self):
        self.assertEqual(self.do("stop_job", job_name="slurm-7")[::2], (0, [["scontrol", "requeuehold", "7"]]))
        self.assertEqual(self.state["jobs"]["7"], ["ann", "PENDING"])
        self.assertEqual(self.do("stop_job", job_name="slurm-7")[::2], (0, [["scontrol", "hold", "7"]]), "again")
        code, _, changes = self.do("restart_job", job_name="slurm-7", host_names=["h1", "h0", "h2"])
        # 2 nodes, 8 processors and 4 tasks before; 3 nodes now.
        self.assertEqual((code, changes),
                         (0, [["scontrol", "update", "JobId=7", "NumNodes=3-3", "NumTasks=6", "NumCPUs=12",
                               "ReqNodeList=h1,h0,h2", "ExcNodeList=", "StartTime=now+2"], ["scontrol", "release", "7"]]))
        self.assertEqual(self.do("restart_job", job_name="slurm-7", host_names=["h1", "h0"])[::2], (0, []), "again")
        self.assertEqual(self.state["jobs"]["8"], ["bob", "RUNNING"])

    def test_only_jobs_of_named_owners(self):
        only_ann = {"FAIRLEAD_SLURM_USERS": "ann carol"}
        self.assertEqual(self.do("stop_job", only_ann, job_name="slurm-8")[::2], (2, []))
        self.assertEqual(self.do("stop_job", only_ann, job_name="slurm-7")[0], 0)

    def test_a_drained_host_is_tested_in_a_reservation_and_drained_again(self):
        for program, healthy in (("/bin/false", False), ("/bin/true", True)):
            self.assertEqual(self.do("isolate_host", host_name="h1", reason="a\n$(b)")[0], 0)
            code, said, _ = self.do("test_host", {"FAIRLEAD_TEST_PROGRAM": program}, host_name="h1")
            self.assertEqual((code, json.loads(said)["healthy"]), (0, healthy))
            self.assertEqual(self.state["nodes"]["h1"][0], "IDLE+DRAIN")
            self.assertEqual(self.state["reserved"], {})
        self.assertEqual(self.do("test_host", host_name="h1")[::2], (2, []), "no program to test it with")
        self.assertEqual(self.do("return_host", host_name="h1")[0], 0)
        self.assertEqual(self.state["nodes"]["h1"], ["IDLE", ""])

    def test_what_others_drained_stays_theirs(self):
        self.assertEqual(self.do("isolate_host", host_name="h2")[::2], (0, []))
        self.assertEqual(self.do("test_host", {"FAIRLEAD_TEST_PROGRAM": "/bin/true"}, host_name="h2")[::2], (2, []))
        self.assertEqual(self.do("return_host", host_name="h2")[::2], (2, []))


if __name__ == "__main__":
    missing = [name for name in ("bash", "jq", "flock") if shutil.which(name) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
