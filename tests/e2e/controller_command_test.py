"""fairlead controller and fairlead cert as processes: starting, failing to start, HTTP, the page, stopping.

Usage: controller_command_test.py FAIRLEAD SOURCE_DIR
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

from patience import PATIENCE_S, fetch, wait_until
from two_hosts import ADDRESSES, FABRIC

FAIRLEAD = sys.argv[1]
SOURCE_DIR = pathlib.Path(sys.argv[2])


def question(job, destination):
    """shm/steering_messages.h: SteeringQuestion of a process that is about to connect."""
    address = b"\0" * 10 + b"\xff\xff" + socket.inet_aton(destination)
    return struct.pack("=IHHQ16s16sHHI64s", 0x534C4146, 1, 1, 4711, b"\0" * 16, address, 0, 5001, 0, job.encode())


class Controller:
    """A running controller; `http` is where its gateway is."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [FAIRLEAD, "controller", *Controller.inputs(folder), "--listen", f"unix:{folder}/agents.sock", "--http",
             "127.0.0.1:0", *arguments], stderr=subprocess.PIPE, text=True)
        self.log = ""
        self.http = None
        for line in self.process.stderr:
            self.log += line
            match = re.search(r"http://(\S+)/", line)
            if match:
                self.http = match.group(1)
                return
        raise AssertionError(f"the controller did not start: {self.log}")

    @staticmethod
    def inputs(folder):
        return ["--fabric", f"{folder}/fabric.yaml", "--addresses", f"{folder}/addresses.json"]

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.log += self.process.communicate(timeout=PATIENCE_S)[1]
        return self.process.returncode

    def ask(self, path, body=None, token=None):
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        return fetch(f"http://{self.http}{path}", body and json.dumps(body).encode(), headers)


class ControllerCommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fairlead.")
        self.addCleanup(shutil.rmtree, self.folder)
        pathlib.Path(self.folder, "fabric.yaml").write_text(FABRIC)
        pathlib.Path(self.folder, "addresses.json").write_text(json.dumps(ADDRESSES))

    def start(self, *arguments):
        controller = Controller(self.folder, *arguments)

        def kill():
            if controller.process.poll() is None:
                controller.stop(signal.SIGKILL)

        self.addCleanup(kill)
        return controller

    def fail_to_start(self, code, *arguments):
        done = subprocess.run([FAIRLEAD, "controller", *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, done.stderr)
        messages = [line for line in done.stderr.splitlines() if line.startswith("fairlead: ")]
        self.assertEqual(len(messages), 1, done.stderr)
        return messages[0]

    def test_starts_answers_and_stops(self):
        controller = self.start("--store", f"sqlite:{self.folder}/store.db")
        self.assertEqual(controller.ask("/healthz"), (200, '{"status":"ok"}\n'))
        code, hosts = controller.ask("/v1/hosts")
        self.assertEqual([host["name"] for host in json.loads(hosts)["hosts"]], ["h0", "h1"])
        self.assertEqual(controller.stop(), 0)
        self.assertIn("stopping", controller.log)
        self.assertFalse(controller.process.poll() is None)

    def test_takes_options_from_a_file_and_from_the_environment(self):
        config = pathlib.Path(self.folder, "controller.yaml")
        config.write_text(f"fabric: {self.folder}/fabric.yaml\naddresses: {self.folder}/addresses.json\n"
                          f"listen: unix:{self.folder}/agents.sock\nhttp: 127.0.0.1:1\npolicy: c4p\nlog-level: debug\n")
        process = subprocess.Popen(
            [FAIRLEAD, "controller", "--config", config], stderr=subprocess.PIPE, text=True,
            env=os.environ | {"FAIRLEAD_CONTROLLER_HTTP": "127.0.0.1:0", "FAIRLEAD_CONTROLLER_STEER": "recommend"})
        self.addCleanup(process.kill)
        log = ""
        for line in process.stderr:
            log += line
            if match := re.search(r"http://(\S+)/", line):
                self.assertEqual(fetch(f"http://{match.group(1)}/healthz")[0], 200)
            if "findings: mode" in line:
                break
        self.assertIn("findings: mode recommend", log)
        process.terminate()
        log += process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(process.returncode, 0, log)
        config.write_text("lisen: 127.0.0.1:1\n")
        self.assertIn("controller.yaml:1: unknown key 'lisen'; did you mean 'listen'?",
                      self.fail_to_start(2, "--config", str(config)))

    def test_takes_as_many_descriptors_as_it_may(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        controller = self.start()
        self.assertEqual(resource.prlimit(controller.process.pid, resource.RLIMIT_NOFILE), (before[1], before[1]))
        self.assertEqual(controller.stop(), 0)
        self.assertIn(f"may have {before[1]} descriptors open", controller.log)

    def test_goes_on_after_a_kill(self):
        arguments = ["--store", f"sqlite:{self.folder}/store.db"]
        self.start(*arguments).stop(signal.SIGKILL)
        self.assertEqual(self.start(*arguments).ask("/healthz")[0], 200)

    def test_says_why_it_does_not_start(self):
        inputs = Controller.inputs(self.folder)
        listen = ["--listen", f"unix:{self.folder}/other.sock"]
        self.assertIn("missing.yaml",
                      self.fail_to_start(2, "--fabric", "missing.yaml", "--addresses", inputs[3], *listen))
        self.assertIn("plaintext", self.fail_to_start(2, *inputs, "--listen", "0.0.0.0:0"))
        self.assertIn("token", self.fail_to_start(2, *inputs, *listen, "--http", "0.0.0.0:0"))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            message = self.fail_to_start(2, *inputs, "--listen", f"127.0.0.1:{port}")
            self.assertIn(f"127.0.0.1:{port}", message)
            message = self.fail_to_start(2, *inputs, *listen, "--http", f"127.0.0.1:{port}")
            self.assertIn(f"127.0.0.1:{port}", message)
        pathlib.Path(self.folder, "bad.db").write_bytes(b"x" * 8192)
        self.assertIn("bad.db", self.fail_to_start(2, *inputs, *listen, "--store", f"sqlite:{self.folder}/bad.db"))

    def test_metrics_are_those_of_the_documents(self):
        controller = self.start()
        code, text = controller.ask("/metrics")
        self.assertEqual(code, 200)
        given = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
        told = set(re.findall(r"^\| `([a-z_]+)", (SOURCE_DIR / "docs" / "reference" / "metrics.md").read_text(), re.MULTILINE))
        self.assertEqual(given, told)
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool (package prometheus) is not installed")
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_operators_change_and_are_audited(self):
        token_file = pathlib.Path(self.folder, "token")
        token_file.touch(mode=0o600)
        token_file.write_text("a-secret-of-the-operators\n")
        audit = pathlib.Path(self.folder, "audit")
        controller = self.start("--http-operator-token-file", str(token_file), "--audit", str(audit))
        self.assertEqual(controller.ask("/v1/links/leaf0->spine1".replace(">", "%3E"), {"health": 0})[0], 403)
        def reports():
            """Steering writes its start whenever it comes to it."""
            return [entry for entry in map(json.loads, audit.read_text().splitlines()) if entry.get("kind") != "start"]

        self.assertEqual(reports(), [])
        code, text = controller.ask("/v1/links/leaf0-%3Espine1", {"health": 0}, "a-secret-of-the-operators")
        self.assertEqual(code, 200, text)
        entry, = reports()
        self.assertEqual((entry["action"], entry["link"], entry["health"]), ("report link", "leaf0->spine1", 0))
        self.assertEqual(controller.stop(), 0)
        self.assertNotIn("a-secret", controller.log + audit.read_text())

    def start_job(self, job):
        """An agent of h0, and a process of the job that connects to h1, which stays as long as the test."""
        path = f"{self.folder}/agent.sock"
        agent = subprocess.Popen(
            [FAIRLEAD, "agent", "run", "--controller", f"unix:{self.folder}/agents.sock", "--host", "h0", "--nic",
             "127.0.0.1", "--socket", path, "--state", f"{self.folder}/state", "--keep-ports"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        said = ""
        while "listens at" not in said:
            line = agent.stderr.readline()
            self.assertTrue(line, said)
            said += line
        process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(process.close)
        process.connect(path)
        process.send(question(job, "127.0.1.1"))

    def jobs_of(self, controller):
        return json.loads(controller.ask("/v1/jobs")[1])["jobs"]

    def page_of(self, browser, address, shown):
        """As soon as it shows that: a page that could not ask for everything asks again, and so do we."""
        for _ in range(5):
            done = subprocess.run(
                [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--user-data-dir={self.folder}/browser", "--virtual-time-budget=5000", "--dump-dom",
                 f"http://{address}/"], capture_output=True, text=True, timeout=240)
            if shown in done.stdout:
                return done.stdout
        self.fail(f"no {shown} in: {done.stdout[:5000]} {done.stderr[-2000:]}")

    def test_the_page_shows_jobs(self):
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        if browser is None:
            self.skipTest("no Chromium is installed")
        controller = self.start()
        self.start_job("gpt-of-team-a")
        wait_until(lambda: self.jobs_of(controller), "the controller hears of no job")
        job = self.jobs_of(controller)[0]
        self.assertEqual((job["name"], job["hosts"], job["connections"]), ("gpt-of-team-a", 1, 1))
        page = self.page_of(browser, controller.http, "gpt-of-team-a")
        # Its level is the last of 8; what it loses is not measured yet.
        row = re.search(r"<tr[^>]*>(?:(?!</tr>).)*gpt-of-team-a.*?</tr>", page, re.DOTALL)
        self.assertIsNotNone(row, page[:5000])
        cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row.group(), re.DOTALL)]
        head = re.search(r'<table[^>]*id="jobs".*?</thead>', page, re.DOTALL).group()
        columns = [re.sub(r"<[^>]*>|[▲▼ ]+$", "", cell).strip() for cell in re.findall(r"<th[ >].*?</th>", head, re.DOTALL)]
        job = dict(zip(columns, cells))
        self.assertEqual((job["job"], job["level"], job["hosts"], job["connections"]), ("gpt-of-team-a", "7", "1", "1"))
        self.assertIn("1 of 2", page)
        self.assertNotIn("No job has a connection yet", page)

    def test_the_page_shows_the_fabric(self):
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        if browser is None:
            self.skipTest("no Chromium is installed")
        controller = self.start("--http-operator-open")
        self.assertEqual(controller.ask("/v1/links/leaf0-%3Espine1", {"health": 0})[0], 200)
        page = self.page_of(browser, controller.http, "leaf0-&gt;spine1")
        for shown in ("h0", "h1", "leaf0-&gt;spine1", "down", "0 of 2", "leaf1", "spine0", "2 links not up", "2 hosts without an agent"):
            self.assertIn(shown, page)
        self.assertIn("No job has a connection yet.", page)
        self.assertIn("nothing was found", page)

    def test_keys(self):
        keys = f"{self.folder}/keys"

        def cert(*arguments):
            return subprocess.run([FAIRLEAD, "cert", *arguments], capture_output=True, text=True, timeout=PATIENCE_S)

        self.assertEqual(cert("init", keys).returncode, 0)
        self.assertEqual(cert("init", keys).returncode, 2)
        made = cert("host", keys, "controller", "--address", "127.0.0.1", "--json", "-")
        self.assertEqual(json.loads(made.stdout)["certificate"], f"{keys}/controller.pem")
        for path in pathlib.Path(keys).iterdir():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600, path)
        self.start("--listen", "127.0.0.1:0", "--tls-ca", f"{keys}/ca.pem", "--tls-certificate",
                   f"{keys}/controller.pem", "--tls-key", f"{keys}/controller-key.pem")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
