#!/usr/bin/env python3
"""What users and operators do to elastic jobs of a real Slurm: they release what waits, requeue and hold what runs, let a job
wait for another, and change its nodes while it runs. A second controller does not act beside the first one.

usage: slurm_users_test.py FAIRLEAD SOURCE_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import slurm_cluster

FAIRLEAD, SOURCE_DIR = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
INTEGRATION = SOURCE_DIR / "integrations" / "slurm"
NUM_HOSTS = 4
FABRIC = f"""fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: {NUM_HOSTS // 2}
  spines: 2
  uplink_gbps: 100
  host: {{gpus: 4, nics: 1, ports_per_nic: 1, port_gbps: 100}}
"""
AS_USER = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


class Test:
    def __init__(self, folder):
        self.folder = folder
        self.alive = folder / "alive"
        self.cluster = slurm_cluster.SlurmCluster(folder, NUM_HOSTS, 4, options="JobSubmitPlugins=lua\n", kill_wait_s=2)
        lua = (INTEGRATION / "job_submit.lua").read_text().replace("/usr/share/fairlead/integrations/slurm", str(INTEGRATION))
        (folder / "etc" / "job_submit.lua").write_text(
            lua.replace('-- fairlead.alive_file = "/run/fairlead-controller/alive"', f'fairlead.alive_file = "{self.alive}"'))
        (folder / "fabric.yaml").write_text(FABRIC)
        nics = {f"127.0.0.{i + 1}": f"h{i}/nic0" for i in range(NUM_HOSTS)}
        (folder / "addresses.json").write_text(json.dumps({"nics": nics, "interfaces": {}}))

    def start_controller(self, name):
        with open(self.folder / "log" / name, "wb") as log:
            return subprocess.Popen(
                [FAIRLEAD, "controller", "--fabric", f"{self.folder}/fabric.yaml", "--addresses", f"{self.folder}/addresses.json",
                 "--listen", f"unix:{self.folder}/{name}.sock", "--store", f"sqlite:{self.folder}/{name}.db", "--engine", "slurm",
                 "--slurm-period", "1", "--steer", "act", "--alive-file", str(self.alive), "--slurm-elastic", "train"],
                stdout=log, stderr=log, env=self.cluster.environment)

    def log(self, name="controller"):
        return (self.folder / "log" / name).read_text()

    def wait_for_words(self, words):
        self.cluster.wait_until(lambda: words in self.log(), f"words '{words}'", self.log)

    def user(self, *command, fails=False):
        return self.cluster.run(*AS_USER, *command, fails=fails)

    def submit(self, *options):
        return self.cluster.submit("exec sleep 1000", "--exclusive", "--chdir=/", *options)

    def elastic(self):
        return self.submit("--uid=nobody", "-N1-2", "--ntasks-per-node=4", "--comment=fairlead")

    def is_held(self, job):
        return (self.cluster.state(job), self.cluster.value(job, "Priority")) == ("PENDING", "0")

    def run(self):
        cluster = self.cluster
        cluster.start()
        self.alive.write_text(cluster.run("date", "+%s"))
        stranger, first = self.submit(f"-N{NUM_HOSTS - 1}"), self.submit("-N1")
        for one in (stranger, first):
            cluster.wait_for(one, "RUNNING")
        job = self.elastic()
        assert cluster.value(job, "Reason") == "JobHeldUser", "he could release it"
        controller = self.start_controller("controller")
        try:
            self.check(job, stranger, first)
        finally:
            controller.kill()
            controller.wait()

    def check(self, job, stranger, first):
        cluster = self.cluster
        show = lambda: cluster.run("scontrol", "show", "job", "-o", job) + self.log()
        # What waits is not its user's to release.
        cluster.wait_until(lambda: cluster.value(job, "Reason") == "JobHeldAdmin", "firm hold", show)
        assert "denied" in self.user("scontrol", "release", job, fails=True), show()
        assert self.is_held(job), show()

        # It waits for another one, as its user wishes.
        self.user("scontrol", "update", f"JobId={job}", f"Dependency=afterany:{first}")
        self.wait_for_words(f"job {job} begin: waits for other jobs")
        cluster.run("scancel", stranger)
        other = self.elastic()
        cluster.wait_for(other, "RUNNING")
        assert self.is_held(job), show()
        cluster.run("scancel", first)
        cluster.wait_for(job, "RUNNING")
        cluster.wait_until(lambda: cluster.value(job, "NumNodes") == "2", "nodes", show)

        # He requeues and holds it, and releases it: it is not to wait for the two minutes that Slurm has for that.
        self.user("scontrol", "requeuehold", job)
        cluster.wait_until(lambda: self.is_held(job), "hold", show)
        self.user("scontrol", "release", job)
        cluster.wait_for(job, "RUNNING")  # within a minute
        assert cluster.value(job, "Restarts") == "1", show()

        # A second controller, with a store of its own, would act on the same Slurm.
        second = self.start_controller("second")
        assert second.wait(slurm_cluster.PATIENCE_S) == 2, self.log("second")
        assert "another controller acts on this Slurm" in self.log("second"), self.log("second")
        assert cluster.state(other) == "RUNNING" and cluster.value(other, "Restarts") == "0", show()

        # He makes a job smaller while it runs, and has been seen to.
        subprocess.run([*AS_USER, "scontrol", "update", f"JobId={other}", "NumNodes=1"], check=True, cwd="/tmp", capture_output=True,
                       env=cluster.environment)
        self.wait_for_words(f"job {other}: was changed while it ran, by somebody else: from 2 nodes")


def main():
    if reason := slurm_cluster.missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="fl-slurm-", ignore_cleanup_errors=True) as temporary:
        test = Test(pathlib.Path(temporary))
        try:
            test.run()
        finally:
            test.cluster.stop()


if __name__ == "__main__":
    main()
