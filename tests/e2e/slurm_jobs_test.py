"""Do jobs of a real Slurm get what Fairlead's integration promises: their environment by whatever way they come, an end that
is told before processes end, elastic jobs that are held only while Fairlead lives?

usage: slurm_jobs_test.py SOURCE_DIR SPANK_PLUGIN STEER_LIBRARY PROFILER_LIBRARY
"""
import http.server
import json
import os
import pathlib
import pwd
import re
import shutil
import sys
import tempfile
import threading
import time
import unittest

import slurm_cluster

SOURCE_DIR, PLUGIN, STEER, PROFILER = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
INTEGRATION = SOURCE_DIR / "integrations" / "slurm"
NOBODY = pwd.getpwnam("nobody").pw_uid
# Writes what a task has of Fairlead into the file "NAME.TASK".
TELL = "env | grep -E '^(FAIRLEAD|LD_PRELOAD|NCCL_PROFILER)' >$1.$SLURM_PROCID.part; mv $1.$SLURM_PROCID.part $1.$SLURM_PROCID"


class Controller(http.server.BaseHTTPRequestHandler):
    """Fairlead's, as far as the end of a job needs it."""
    jobs, pauses, tokens = [], [], []

    def answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self):
        self.tokens.append(self.headers["Authorization"])
        self.answer({"jobs": self.jobs} if self.path == "/v1/steering" else {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.pauses.append((self.path, body))
        self.answer(body)

    def log_message(self, *_):
        pass


def setUpModule():
    global cluster, folder, segments, alive
    temporary = tempfile.TemporaryDirectory(prefix="fl-slurm-")
    unittest.addModuleCleanup(temporary.cleanup)
    folder = pathlib.Path(temporary.name)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Controller)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    unittest.addModuleCleanup(server.server_close)
    unittest.addModuleCleanup(server.shutdown)
    segments, alive = folder / "segments", folder / "alive"
    (folder / "out").mkdir()
    (folder / "out").chmod(0o777)
    for script in ("fairlead-prolog", "fairlead-epilog", "fairlead-job-end"):
        path = folder / script
        path.write_text(f"#!/bin/bash\nexport FAIRLEAD_SHM_FOLDER={segments} FAIRLEAD_SLURM_SETTINGS={folder}/settings "
                        f"PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin SLURM_CONF={folder}/etc/slurm.conf\nexec {INTEGRATION}/{script}\n")
        path.chmod(0o755)
    (folder / "token").write_text("secret")
    (folder / "settings").write_text(f"FAIRLEAD_CONTROLLER=http://127.0.0.1:{server.server_port}\n"
                                     f"FAIRLEAD_TOKEN_FILE={folder}/token\n")
    cluster = slurm_cluster.SlurmCluster(
        folder, num_hosts=4, kill_wait_s=30,
        options=f"Prolog={folder}/fairlead-prolog\nEpilog={folder}/fairlead-epilog\nEpilogSlurmctld={folder}/fairlead-job-end\n"
                "JobSubmitPlugins=lua\n",
        # A plugin that a host lacks harms nothing where it is optional.
        plugins=f"optional /missing/spank.so\noptional {PLUGIN} folder={segments} steer={STEER} profiler={PROFILER}\n")
    lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
    (folder / "etc" / "job_submit.lua").write_text(
        lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{alive}"'))
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()


class SlurmJobsTest(unittest.TestCase):
    def told(self, name):
        path = folder / "out" / name
        cluster.wait_until(path.exists, f"task {name}")
        return dict(line.split("=", 1) for line in path.read_text().splitlines())

    def submit(self, script, *options, **settings):
        return cluster.submit(f"cd {folder}/out\ntell() {{ {TELL}; }}; export -f tell\n" + script, "--chdir=/", *options, **settings)

    def expected(self, job, mode="on"):
        if mode == "off":
            return {"FAIRLEAD_MODE": "off"}
        steered = {"LD_PRELOAD": str(STEER)} if mode == "on" else {}
        return {"FAIRLEAD_JOB": f"slurm-{job}", "FAIRLEAD_MODE": mode, "FAIRLEAD_SHM_FOLDER": str(segments),
                "NCCL_PROFILER_PLUGIN": str(PROFILER), **steered}

    def test_scripts_and_steps_get_the_environment_once(self):
        job = self.submit("tell batch; srun bash -c 'tell step'; srun --fairlead=off bash -c 'tell off'\n"
                          "srun -n1 -N1 bash -c 'tell last'", "-N2", "--ntasks-per-node=1", "--uid=nobody")
        for name in ("batch.0", "step.0", "step.1", "last.0"):
            self.assertEqual(self.told(name), self.expected(job), name)
        self.assertEqual(self.told("off.1"), self.expected(job, "off"))

    def test_a_jobs_option_holds_for_its_steps(self):
        for mode in ("observe", "off"):
            job = self.submit(f"srun bash -c 'tell {mode}-step'; srun --fairlead=on bash -c 'tell {mode}-on'", f"--fairlead={mode}")
            self.assertEqual(self.told(f"{mode}-step.0"), self.expected(job, mode))
            self.assertEqual(self.told(f"{mode}-on.0"), self.expected(job))
        self.assertIn("expected on, off or observe, found 'maybe'",
                      cluster.run("sbatch", "--fairlead=maybe", "--wrap=true", fails=True))

    def test_jobs_that_come_over_rest(self):
        job = {"job": {"name": "rest", "nodes": 1, "current_working_directory": "/", "standard_output": "/dev/null",
                       "environment": {"PATH": "/usr/bin:/bin", "FAIRLEAD_MODE": "observe"}},
               "script": f"#!/bin/bash\ncd {folder}/out; tell() {{ {TELL}; }}\ntell rest"}
        answer = json.loads(cluster.run("curl", "-sS", "--unix-socket", str(cluster.rest_socket), "-H", "Content-Type: application/json",
                                        "--data-binary", json.dumps(job), "http://localhost/slurm/v0.0.38/job/submit"))
        self.assertEqual(self.told("rest.0"), self.expected(answer["job_id"], "observe"))

    def test_folder_of_segments(self):
        old, young, others, living = (segments / name for name in
                                      ("fairlead-4194001.ab", "fairlead-4194002", "fairlead-4194003", f"fairlead-{os.getpid()}"))
        job = self.submit("sleep 1000", "--uid=nobody")
        cluster.wait_for(job, "RUNNING")
        self.assertEqual(segments.stat().st_mode & 0o7777, 0o1777)
        for path in (old, young, others, living):
            path.touch()
            os.chown(path, 0 if path == others else NOBODY, -1)
            os.utime(path, (0, time.time() + 3600 if path == young else 1))  # young however long the end of the job takes
        cluster.run("scancel", job)
        cluster.wait_until(lambda: not old.exists(), "sweep")
        self.assertEqual([path for path in (young, others, living) if not path.exists()], [])

    def test_the_end_of_a_job_is_told_before_its_processes_end(self):
        # Once it is asked to end, it does so when the test has heard of it; killed after KillWait, 30 s, it leaves no `gone`.
        job = self.submit("trap 'until [ -e heard ]; do sleep 0.1; done; echo >gone; exit' TERM\n"
                          "echo >runs; while :; do sleep 0.1; done", "--uid=nobody", "--requeue")
        cluster.wait_until((folder / "out" / "runs").exists, "script")
        key, ended_already = f"gpt@{NOBODY}.slurm-{job}", f"gpt2@{NOBODY}.slurm-{job}"
        Controller.jobs[:] = [
            {"name": key, "paused_until_s": None}, {"name": f"slurm-{job}@{NOBODY}", "paused_until_s": time.time() + 3},
            {"name": ended_already, "paused_until_s": time.time() + 3600}, {"name": f"gpt@{NOBODY}.slurm-{job}0"},
            {"name": f"slurm-{job}"}, {"name": f"slurm-{job}@{NOBODY - 1}"}, {"name": f"gpt@{NOBODY}"}]
        Controller.pauses.clear()
        cluster.run("scancel", "--full", job)  # the script, too
        cluster.wait_until(lambda: len(Controller.pauses) >= 2, "pauses")
        (folder / "out" / "heard").touch()
        cluster.wait_until((folder / "out" / "gone").exists, "end of the script by itself")
        self.assertEqual([(path, body["job"], body["for_s"]) for path, body in Controller.pauses],
                         [("/v1/steering/pause", key, 60), ("/v1/steering/pause", f"slurm-{job}@{NOBODY}", 60)])
        self.assertEqual(set(Controller.tokens), {"Bearer secret"})

    def submit_elastic(self, *options):
        return self.submit("sleep 1000", *(options or ("-N1-3", "--ntasks-per-node=2", "--comment=fairlead")))

    def test_elastic_jobs_are_held_only_while_fairlead_lives(self):
        alive.write_text(f"{int(time.time())}\n")
        held = self.submit_elastic()
        users = self.submit_elastic("-N1-3", "--ntasks-per-node=2", "--comment=fairlead", "--hold")
        watchdog = lambda: cluster.run(str(INTEGRATION / "fairlead-watchdog"), FAIRLEAD_ALIVE_FILE=str(alive))
        self.assertEqual((cluster.state(held), cluster.value(held, "Priority")), ("PENDING", "0"))
        record = cluster.run("scontrol", "show", "job", "-o", held)
        self.assertIn(" AdminComment=fairlead:v1 nodes=1-3 tasks-per-node=2 held ", record)
        self.assertIn(" Requeue=1 ", record)
        self.assertEqual(watchdog(), "", "it lives")
        self.assertEqual(cluster.value(held, "Priority"), "0")
        alive.write_text("1000\n")
        # A comment of several lines is no job's but its own.
        other = self.submit("sleep 1000", "-N1", "--hold")
        cluster.run("scontrol", "update", f"JobId={other}",
                    f"AdminComment=x\n{users}|0|1||job requeued in held state|fairlead:v1 nodes=1-3 tasks-per-node=2 held")
        self.assertIn(f"job {held} released", watchdog())
        cluster.run("scancel", other)
        cluster.wait_for(held, "RUNNING")
        self.assertEqual(cluster.value(users, "Priority"), "0", "its user holds it")
        cluster.run("scontrol", "requeuehold", held)
        cluster.wait_for(held, "PENDING")
        self.assertIn(f"job {held} released", watchdog(), "it was stopped to get another size")
        # As the controller marks any job that it stops to give it other hosts.
        stopped = self.submit("sleep 1000", "-N1", "--requeue")
        cluster.wait_for(stopped, "RUNNING")
        cluster.run("scontrol", "update", f"JobId={stopped}", "AdminComment=fairlead:v1 stopped")
        cluster.run("scontrol", "requeuehold", stopped)
        cluster.wait_for(stopped, "PENDING")
        self.assertIn(f"job {stopped} released", watchdog())
        cluster.run("scancel", stopped)
        for dead in ("garbage", "-5", ""):
            alive.write_text(dead)
            job = self.submit_elastic()
            self.assertNotEqual(cluster.value(job, "Priority"), "0", dead)
            cluster.run("scancel", job)
        cluster.run("scancel", held, users)

    def test_a_job_without_contract_is_slurms(self):
        alive.write_text(f"{int(time.time())}\n")
        for options, why in ((("-N2", "--ntasks-per-node=1", "--comment=fairlead"), "no range of nodes"),
                             (("-N1-2", "--comment={\"fairlead\": {}}"), "how many tasks a node has"),
                             (("-N1-2", "--ntasks-per-node=1", "--array=1-2", "--comment=fairlead"), "an array"),
                             *((("-N1-2", "--ntasks-per-node=1", "--comment=fairlead", option), option.split("=")[0])
                               for option in ("--nodelist=h1", "--exclude=h0", "--dependency=singleton", "--begin=now+1hour", "--contiguous",
                                              "--switches=1", "--spread-job", "--oversubscribe")),
                             (("-N1-2", "--ntasks-per-node=1", "--comment=fairlead", "--exclusive=user"), "--exclusive=user"),
                             (("-N1-2", "--ntasks-per-node=1", "--comment=fairlead", "--gpus-per-socket=1", "--sockets-per-node=1"), "--gpus-per-socket"),
                             (("-N1-2", "--ntasks-per-node=1", "--comment=fairlead", ":", "-N1", "--hold"), "a heterogeneous job"),
                             (("-N1-2", "--ntasks-per-node=1", "--comment=fairleads"), None)):
            said = cluster.run("sbatch", "--hold", *options, "-o", "/dev/null", "--wrap=true", fails=True)
            if why is None:
                self.assertNotIn("fairlead:", said)
            else:
                self.assertIn(why, said)
            job = re.search(r"Submitted batch job (\d+)", said)[1]
            self.assertIsNone(cluster.value(job, "AdminComment"))
            cluster.run("scancel", job)


if __name__ == "__main__":
    reason = slurm_cluster.missing() or next(
        (f"{name} not installed" for name in ("jq", "curl", "bash") if shutil.which(name) is None), None)
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
