"""`fairlead doctor`: this machine as it is, with a tool taken away, with a controller, with keys.

usage: doctor_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import re
import socket
import subprocess
import unittest

from command_case import CommandCase, main
from patience import PATIENCE_S
from two_hosts import ADDRESSES, FABRIC


class DoctorTest(CommandCase):
    def doctor(self, *args, **how):
        result = self.run_program("doctor", *args, "--json", "-", **how)
        self.assertEqual(result.stderr, "")
        told = json.loads(result.stdout)
        missing = [c["check"] for c in told["checks"] if c["state"] == "missing"]
        self.assertEqual((result.returncode, told["ready"]), (1, False) if missing else (0, True))
        return {c["check"]: c for c in told["checks"]}

    def test_a_simulator_needs_little(self):
        checks = self.doctor("--for", "sim")
        self.assertEqual({c["state"] for c in checks.values()}, {"ok"})
        self.assertIn("fairlead", checks)
        self.assertNotIn("tc", checks)

    def test_every_check_is_made_and_what_is_not_well_has_a_way_out(self):
        checks = self.doctor()
        self.assertGreater(len(checks), 18)
        for name, check in checks.items():
            with self.subTest(name):
                self.assertEqual(check["state"] == "ok", check["to_do"] is None, check)
                self.assertTrue(check["found"])
                self.assertTrue(check["needed_for"])
        # Built beside this program, and really loaded.
        self.assertEqual(checks["steering library"]["state"], "ok", checks["steering library"])
        self.assertEqual(checks["profiler plugin"]["state"], "ok", checks["profiler plugin"])

    def test_the_table_fits(self):
        result = self.run_program("doctor")
        self.assertEqual(result.stderr, "")
        table = result.stdout.split("What to do")[0]
        self.assertLessEqual(max(map(len, table.splitlines())), 100)
        self.assertIn("needed for", table)

    def test_namespaces_are_really_tried(self):
        # As the lab does it: what doctor says is what `lab up` meets.
        checks = self.doctor("--for", "lab")
        scenario = str(self.source / "tests/e2e/two_jobs.yaml")
        up = self.run_program("lab", "up", scenario, "--bare", "--run-dir", str(self.folder / "run"))
        down = self.run_program("lab", "down", "--run-dir", str(self.folder / "run"))
        self.assertEqual(checks["network namespaces"]["state"] == "ok" and checks["ip"]["state"] == "ok"
                         and checks["tc"]["state"] == "ok", up.returncode == 0, up.stderr + down.stderr)

    def test_a_plugin_that_is_none(self):
        name = str(self.folder / self.write("not.so", "no library"))
        check = self.doctor("--for", "agent", env={**os.environ, "NCCL_PROFILER_PLUGIN": name})["NCCL_PROFILER_PLUGIN"]
        self.assertEqual((check["state"], check["found"]), ("missing", name))
        self.assertIn("export NCCL_PROFILER_PLUGIN=/", check["to_do"])

    def test_a_port_that_somebody_has(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = "127.0.0.1:%d" % server.getsockname()[1]
            check = self.doctor("--for", "controller", "--listen", address)["address " + address]
        self.assertEqual(check["state"], "missing")
        self.assertIn("another program has this port", check["to_do"])

    def keys(self, host):
        self.assertEqual(self.run_program("cert", "host", "keys", host, "--address", "127.0.0.1").returncode, 0)
        return ["--tls-ca", "keys/ca.pem", "--tls-cert", f"keys/{host}.pem", "--tls-key", f"keys/{host}-key.pem"]

    def test_keys(self):
        self.assertEqual(self.run_program("cert", "init", "keys").returncode, 0)
        words, others = self.keys("h0"), self.keys("h1")
        check = self.doctor("--for", "controller", *words)["TLS files"]
        self.assertEqual(check["state"], "ok", check)
        self.assertRegex(check["found"], r"^h0, valid until 20\d\d-\d\d-\d\d$")
        mixed = words[:4] + others[4:]
        self.assertEqual(self.doctor("--for", "controller", *mixed)["TLS files"]["state"], "missing")
        os.chmod(self.folder / "keys/h0-key.pem", 0o644)
        self.assertIn("chmod 600", self.doctor("--for", "controller", *words)["TLS files"]["to_do"])

    def test_a_controller_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = "127.0.0.1:%d" % server.getsockname()[1]
        check = self.doctor("--for", "agent", "--controller", address)["controller"]
        self.assertEqual((check["state"], check["found"]), ("missing", address + " does not answer"))

    def test_a_controller_that_answers_those_with_keys(self):
        self.write("fabric.yaml", FABRIC)
        self.write("addresses.json", json.dumps(ADDRESSES))
        self.assertEqual(self.run_program("cert", "init", "keys").returncode, 0)
        own, words = self.keys("controller"), self.keys("h0")
        own[2] = "--tls-certificate"
        process = subprocess.Popen(
            [self.program, "controller", "--fabric", "fabric.yaml", "--addresses", "addresses.json", "--listen",
             "127.0.0.1:0", *own], stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.terminate)
        address = next(m.group(1) for m in (re.search(r"listening to agents on ([^\s,]+)", line)
                                            for line in process.stderr) if m)
        check = self.doctor("--for", "agent", "--controller", address, *words)["controller"]
        self.assertEqual(check["state"], "ok")
        self.assertRegex(check["found"], re.escape(address) + " answers; its clock agrees within ")  # it is the same clock
        # A stranger: no keys.
        check = self.doctor("--for", "agent", "--controller", address)["controller"]
        self.assertEqual(check["state"], "missing", check)

    def test_mistyped_use(self):
        self.assert_refused(self.run_program("doctor", "--for", "agnet"), "agent")


if __name__ == "__main__":
    main()
