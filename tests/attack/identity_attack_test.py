"""Attacks on who somebody is, against a real controller with TLS: a revoked certificate, a map of jobs that others can
write, an order without a name in the audit log, files that others can read.

Usage: identity_attack_test.py FAIRLEAD SOURCE_DIR
"""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

FAIRLEAD = sys.argv[1]
sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "tests" / "e2e"))
from patience import PATIENCE_S, wait_until  # noqa: E402
from two_hosts import ADDRESSES, FABRIC  # noqa: E402


def run(*command):
    return subprocess.run([FAIRLEAD, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S)


class IdentityAttackTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead."))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "fabric.yaml").write_text(FABRIC)
        (self.folder / "addresses.json").write_text(json.dumps(ADDRESSES))
        self.write("tokens", "anna: 0123456789abcdef\nbob: fedcba9876543210\n", 0o600)
        self.keys = self.folder / "keys"
        self.assertEqual(run("cert", "init", self.keys).returncode, 0)
        for host in ("controller", "h0", "h1"):
            self.assertEqual(run("cert", "host", self.keys, host, "--address", "127.0.0.1").returncode, 0)
        # A list that is there from the start, of a host that is gone.
        self.assertEqual(run("cert", "revoke", self.keys, "h1").returncode, 0)

    def write(self, name, text, mode):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(mode)
        return self.folder / name

    def command(self, *more):
        return [FAIRLEAD, "controller", "--fabric", self.folder / "fabric.yaml", "--addresses",
                self.folder / "addresses.json", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                "--http-operator-token-file", self.folder / "tokens", "--audit", self.folder / "audit.jsonl",
                "--store", f"sqlite:{self.folder}/store.db", "--tls-ca", self.keys / "ca.pem", "--tls-certificate",
                self.keys / "controller.pem", "--tls-key", self.keys / "controller-key.pem", "--tls-revoked",
                self.keys / "ca.crl", *more]

    def start(self):
        process = subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True, umask=0)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if found := re.search(r"listening to agents on (\S+)", line):
                self.agents = found.group(1).rstrip(",")
            if found := re.search(r"(http://\S+)/", line):
                self.http = found.group(1)
                break
        threading.Thread(target=process.stderr.read, daemon=True).start()

    def ask(self, path, body=None, token=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.http + path, data, headers), timeout=10) as answer:
            return json.loads(answer.read())

    def is_connected(self, host):
        return {one["name"]: one["connected"] for one in self.ask("/v1/hosts")["hosts"]}[host]

    def test_a_revoked_certificate_is_put_out_and_stays_out(self):
        self.start()
        stolen = self.folder / "stolen"
        shutil.copytree(self.keys, stolen)
        agent = subprocess.Popen(
            [FAIRLEAD, "agent", "run", "--controller", self.agents, "--host", "h0", "--nic", "127.0.0.1",
             "--keep-ports",
             "--socket", self.folder / "agent.sock", "--segments", self.folder, "--tls-ca", stolen / "ca.pem",
             "--tls-certificate", stolen / "h0.pem", "--tls-key", stolen / "h0-key.pem"], stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        refused = lambda: self.metric("fairlead_streams_refused_total")  # noqa: E731
        opened = lambda: self.metric("fairlead_streams_opened_total")  # noqa: E731
        wait_until(lambda: opened() >= 1, "the agent got in")
        before = refused()
        self.assertEqual(run("cert", "revoke", self.keys, "h0").returncode, 0)
        wait_until(lambda: refused() > before and self.metric("fairlead_streams") == 0, "it was put out")
        seen = refused()
        wait_until(lambda: refused() > seen, "it tried again, and was refused")
        self.assertFalse(self.is_connected("h0"))

    def test_an_agent_leaves_a_controller_whose_certificate_is_revoked(self):
        stolen = self.folder / "stolen"
        shutil.copytree(self.keys, stolen)
        own = self.keys
        self.keys = stolen
        self.start()
        agent = subprocess.Popen(
            [FAIRLEAD, "agent", "run", "--controller", self.agents, "--host", "h0", "--nic", "127.0.0.1",
             "--keep-ports", "--socket", self.folder / "agent.sock", "--segments", self.folder, "--tls-ca",
             own / "ca.pem", "--tls-certificate", own / "h0.pem", "--tls-key", own / "h0-key.pem", "--tls-revoked",
             own / "ca.crl"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        wait_until(lambda: self.is_connected("h0"), "the agent takes it for the controller")
        self.assertEqual(run("cert", "revoke", own, "controller").returncode, 0)
        wait_until(lambda: not self.is_connected("h0"), "it has left")
        opened = self.metric("fairlead_streams_opened_total")
        wait_until(lambda: self.metric("fairlead_streams_opened_total") > opened, "it looks for the right one")
        self.assertFalse(self.is_connected("h0"))
        agent.terminate()
        self.assertIn("has been revoked", agent.stderr.read())

    def metric(self, name):
        with urllib.request.urlopen(self.http + "/metrics", timeout=10) as answer:
            return float(re.search(rf"^{name} (\S+)$", answer.read().decode(), re.M).group(1))

    def test_an_order_is_a_persons_and_files_are_the_owners(self):
        self.start()
        link = self.ask("/v1/links")["links"][0]["name"]
        for token in ("0123456789abcdef", "fedcba9876543210"):
            self.ask(f"/v1/links/{link}", {"health": 0.5}, token)
        lines = [json.loads(line) for line in (self.folder / "audit.jsonl").read_text().splitlines()]
        who = [line["who"] for line in lines if line.get("action") == "report link"]
        self.assertEqual(who, ["anna@127.0.0.1", "bob@127.0.0.1"])
        for path in [*self.folder.glob("audit*"), *self.folder.glob("store.db*")]:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)

    def test_a_map_of_jobs_that_others_can_write_is_refused(self):
        owners = self.write("owners", "* *\n", 0o666)
        refused = subprocess.run(self.command("--job-owners", owners), capture_output=True, text=True,
                                 timeout=PATIENCE_S)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("others than its owner may write", refused.stderr)
        if os.geteuid() == 0:
            owners.chmod(0o644)
            os.chown(owners, 61_234, 61_234)
            refused = subprocess.run(self.command("--job-owners", owners), capture_output=True, text=True,
                                     timeout=PATIENCE_S)
            self.assertIn("belongs to user 61234", refused.stderr)

    def test_a_list_that_the_authority_did_not_sign_is_refused(self):
        other = self.folder / "other"
        run("cert", "init", other)
        run("cert", "host", other, "h0")
        self.assertEqual(run("cert", "revoke", other, "h0").returncode, 0)
        shutil.copy(other / "ca.crl", self.keys / "ca.crl")
        refused = subprocess.run(self.command(), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("not signed by the cluster's authority", refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
