"""A real Slurm on this machine, for tests: munged, slurmctld, a slurmd for each host and slurmrestd, everything in one folder
and on free ports of loopback. Two leaves; GPUs are plain files. Ends all that it started."""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmrestd", "sbatch", "scontrol", "squeue")
PATIENCE_S = 60
NUM_CPUS = 4


def missing():
    """Why there can be no cluster here; None: there can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)} not installed"
    return None if os.geteuid() == 0 else "a Slurm whose jobs are of several users needs root"


def free_ports(count):
    """Below those that the kernel gives to connections: a daemon that is killed and started again finds its own free."""
    ports = []
    while len(ports) < count:
        port = random.randrange(12_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        if port not in ports:
            ports.append(port)
    return ports


class SlurmCluster:
    def __init__(self, folder, num_hosts=4, num_gpus=4, options="", plugins="", topology="", kill_wait_s=5):
        """Args: options: further lines for slurm.conf; plugins: plugstack.conf; topology: topology.conf, else two leaves."""
        self.folder = pathlib.Path(folder)
        self.hosts = [f"h{i}" for i in range(num_hosts)]
        self.num_gpus = num_gpus
        self.daemons = []
        self.folder.chmod(0o755)  # users' jobs pass through
        for name in ("etc", "run", "log", "state", "spool", "gpus"):
            (self.folder / name).mkdir()
        self.conf = self.folder / "etc" / "slurm.conf"
        self.rest_socket = self.folder / "run" / "rest.sock"
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf), "LC_ALL": "C"}
        self.write_files(options, plugins, topology, kill_wait_s)

    def write_files(self, options, plugins, topology, kill_wait_s):
        name = socket.gethostname().split(".")[0]
        ports = free_ports(2 + len(self.hosts))
        etc, half = self.folder / "etc", len(self.hosts) // 2
        nodes = "\n".join(
            f"NodeName={host} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs={NUM_CPUS} CoresPerSocket={NUM_CPUS} "
            f"RealMemory=1000 Gres=gpu:{self.num_gpus} State=UNKNOWN" for host, port in zip(self.hosts, ports[2:]))
        self.conf.write_text(f"""ClusterName=test
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={self.folder}/run/munge.socket
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
SlurmctldPidFile={self.folder}/run/slurmctld.pid
SlurmdPidFile={self.folder}/run/slurmd-%n.pid
SlurmctldLogFile={self.folder}/log/slurmctld.log
SlurmdLogFile={self.folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait={kill_wait_s}
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=100000,requeue_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
GresTypes=gpu
PlugStackConfig={etc}/plugstack.conf
PrologFlags=Alloc
{options}
{nodes}
PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        (etc / "topology.conf").write_text(topology or f"""SwitchName=leaf0 Nodes={','.join(self.hosts[:half])}
SwitchName=leaf1 Nodes={','.join(self.hosts[half:])}
SwitchName=spine Switches=leaf[0-1]
""")
        for host in self.hosts:
            for gpu in range(self.num_gpus):
                (self.folder / "gpus" / f"{host}-{gpu}").touch()
        (etc / "gres.conf").write_text("".join(
            f"NodeName={host} Name=gpu File={self.folder}/gpus/{host}-[0-{self.num_gpus - 1}]\n" for host in self.hosts))
        (etc / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (etc / "plugstack.conf").write_text(plugins)
        key = etc / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def start(self):
        run = self.folder / "run"
        self.spawn("munged", "--foreground", "--force", f"--key-file={self.folder}/etc/munge.key",
                   f"--socket={run}/munge.socket", f"--pid-file={run}/munged.pid", f"--seed-file={run}/munge.seed",
                   f"--log-file={self.folder}/log/munged.log")
        self.wait_until(lambda: (run / "munge.socket").exists(), "munged")
        self.start_controller("-c")
        self.slurmds = [self.spawn("slurmd", "-D", "-f", str(self.conf), "-N", host) for host in self.hosts]
        self.spawn("slurmrestd", "-f", str(self.conf), "-a", "rest_auth/local", "-s", "openapi/v0.0.38",
                   f"unix:{self.rest_socket}", SLURMRESTD_SECURITY="disable_user_check")
        self.wait_until(lambda: self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split() == self.hosts, "hosts")
        self.wait_until(self.rest_socket.exists, "slurmrestd")

    def start_controller(self, *options):
        self.controller = self.spawn("slurmctld", "-D", "-f", str(self.conf), *options)

    def spawn(self, *command, **settings):
        with open(self.folder / "log" / "daemons", "a") as log:
            daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env={**self.environment, **settings})
        self.daemons.append(daemon)
        return daemon

    def run(self, *command, fails=False, **settings):
        """What it prints. Its error output too where it `fails`."""
        done = subprocess.run(command, capture_output=True, text=True, errors="backslashreplace", timeout=PATIENCE_S, check=False,
                              env={**self.environment, **settings})
        if not fails and done.returncode != 0 and command[0] not in ("sinfo", "squeue"):
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if fails else "")

    def submit(self, script, *options, **settings):
        """The number of the job."""
        path = self.folder / "script"
        path.write_text("#!/bin/bash\n" + script)
        return self.run("sbatch", "--parsable", "-o", "/dev/null", *options, str(path), **settings).strip()

    def state(self, job):
        return self.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()

    def value(self, job, key):
        """Of `scontrol show job`: the first one of that key."""
        words = self.run("scontrol", "show", "job", "-o", job).split()
        return next((word.split("=", 1)[1] for word in words if word.startswith(key + "=")), None)

    def wait_for(self, job, *states):
        self.wait_until(lambda: self.state(job) in states, f"job {job} to be {' or '.join(states)}", lambda: self.state(job))

    def wait_until_saved(self):
        """Until slurmctld, killed, would remember what has happened so far: it saves jobs some seconds after a change, later
        on a busy machine."""
        job = self.submit("true", "-N1", "--hold")
        self.run("scancel", job)
        changed = time.time()
        jobs = self.folder / "state" / "job_state"
        self.wait_until(lambda: jobs.exists() and jobs.stat().st_mtime > changed, "saved state")

    def wait_until(self, condition, what, shown=lambda: ""):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                log = (self.folder / "log" / "slurmctld.log")
                raise AssertionError(f"no {what}: {shown()}\n" + (log.read_text()[-3000:] if log.exists() else ""))
            time.sleep(0.05)

    def stop(self):
        if self.controller.poll() is None:
            self.run("scancel", "--signal=KILL", "--full", "-t", "RUNNING", fails=True)
            self.run("scancel", "-u", "root,nobody", fails=True)
            deadline = time.monotonic() + 10
            while self.run("squeue", "-h", "-o", "%i").strip() and time.monotonic() < deadline:
                time.sleep(0.1)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.end_steps()

    def end_steps(self):
        """A step that could not tell its end to slurmctld goes on trying for hours, and looks like a job of that number."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                is_ours = (process / "comm").read_text() == "slurmstepd\n" and any(
                    os.readlink(file).startswith(f"{self.folder}/") for file in (process / "fd").iterdir())
                if is_ours:
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue  # it has ended, or is another user's
