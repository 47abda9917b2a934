"""fabric as a user meets it: reports of real LLDP daemons in, a fabric out that the simulator takes.

usage: fabric_command_test.py PROGRAM SOURCE_DIR
"""
import contextlib
import json
import os
import shutil
import subprocess
import time
import unittest

from command_case import CommandCase, main

SAMPLES = "src/topology/import/testdata"


class NamespaceFabric:
    """Namespaces with veths between them, and an lldpd in each."""

    def __init__(self, folder, stack):
        self.folder = folder
        self.stack = stack
        self.prefix = f"fl{os.getpid()}"
        self.daemons = {}
        folder.chmod(0o755)  # lldpcli reaches for the socket as a user of its own

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    def add_device(self, name):
        self.ip("netns", "add", f"{self.prefix}{name}")
        self.stack.callback(subprocess.run, ["ip", "netns", "del", f"{self.prefix}{name}"], capture_output=True)

    def add_cable(self, a, a_port, b, b_port):
        self.ip("link", "add", "name", a_port, "netns", f"{self.prefix}{a}", "type", "veth", "peer", "name", b_port, "netns",
                f"{self.prefix}{b}")
        for device, port in ((a, a_port), (b, b_port)):
            self.ip("-n", f"{self.prefix}{device}", "link", "set", port, "up")

    def start_daemon(self, name):
        """The daemon calls itself like the device: it has a UTS namespace of its own."""
        socket = self.folder / f"{name}.sock"
        script = f'echo {name}.test > /proc/sys/kernel/hostname; exec lldpd -d -u "$1"'
        daemon = subprocess.Popen(["ip", "netns", "exec", f"{self.prefix}{name}", "unshare", "--uts", "sh", "-c", script, "sh", socket],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(daemon.wait)
        self.stack.callback(daemon.terminate)
        self.daemons[name] = socket

    def ask(self, name, form, *words):
        return subprocess.run(["lldpcli", "-u", self.daemons[name], "-f", form, *words], capture_output=True, text=True)

    def wait_until_heard(self, neighbours):
        """Args: how many neighbours each device has. Daemons that are told to speak often speak each second. One of several
        that start at once may stay paused, as it was while it read its settings."""
        deadline = time.monotonic() + 60
        silent = set(neighbours)
        deaf = set(neighbours)
        while deaf and time.monotonic() < deadline:
            silent = {name for name in silent if self.ask(name, "json", "configure", "lldp", "tx-interval", "1").returncode != 0}
            for name in neighbours:
                self.ask(name, "json", "resume")
                self.ask(name, "json", "update")  # speak now
            deaf = {name for name in deaf if self.ask(name, "json0", "show", "neighbors").stdout.count('"via"') != neighbours[name]}
            time.sleep(1)
        return not deaf


class FabricCommandTest(CommandCase):
    def test_import_writes_a_fabric_that_others_read(self):
        result = self.run_program("fabric", "import", "ibnetdiscover", f"{SAMPLES}/ibnetdiscover.txt", "-o", "out/fabric.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "out/fabric.yaml written: 4 hosts, 2 leaves, 2 spines, 0 cores, 16 cables\n"
                                        "Next: fairlead fabric show out/fabric.yaml\n")
        self.assertIn("note: left out 1 aggregation node", result.stderr)
        checked = self.run_program("check", "out/fabric.yaml")
        self.assertEqual(checked.stdout, "out/fabric.yaml: fabric, 4 hosts, 32 GPUs, 216 links\n")
        printed = self.run_program("fabric", "import", "ibnetdiscover", f"{SAMPLES}/ibnetdiscover.txt")
        self.assertEqual(printed.stdout, (self.folder / "out/fabric.yaml").read_text())
        self.write("scenario.yaml", "title: imported\n" + printed.stdout + "jobs:\n  - {model: gpt-7b, gpus: 32, iterations: 2}\n"
                                    "policies: [ecmp]\nsimulate_s: 600\n")
        simulated = self.run_program("sim", "run", "scenario.yaml")
        self.assertEqual(simulated.returncode, 0, simulated.stderr)
        # The fabric of a scenario, in it or beside it.
        shown = self.run_program("fabric", "show", "out/fabric.yaml")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.write("beside.yaml", "fabric_file: out/fabric.yaml\njobs: []\n")
        for scenario in ("scenario.yaml", "beside.yaml"):
            of_scenario = self.run_program("fabric", "show", scenario)
            self.assertEqual(of_scenario.stdout.replace(scenario, "out/fabric.yaml"), shown.stdout, of_scenario.stderr)
        self.write("none.yaml", "jobs: []\n")
        self.assert_refused(self.run_program("fabric", "show", "none.yaml"), "none.yaml")

    def test_addresses_are_those_of_the_fabric(self):
        result = self.run_program("fabric", "import", "lldp", f"{SAMPLES}/lldp", "-o", "f.yaml", "--addresses", "a.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("a.json written: 5 addresses", result.stdout)
        self.assertEqual(json.loads((self.folder / "a.json").read_text())["nics"]["10.0.3.2"], "node2/nic0")
        checked = self.run_program("check", "f.yaml", "a.json")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assert_refused(self.run_program("fabric", "import", "lldp", f"{SAMPLES}/lldp", "--addresses", "-"), "both")

    def test_other_formats(self):
        self.write("topo.csv", "ip,DSW,PSW,ASW\na,G0,P0,S0\nb,G0,P0,S1\n")
        result = self.run_program("fabric", "import", "lingjun", "topo.csv", "-o", "l.yaml")
        self.assertIn("l.yaml written: 2 hosts, 2 leaves", result.stdout)
        self.assertEqual(self.run_program("check", "l.yaml").returncode, 0)
        self.write("graph.json", json.dumps({"links": [{"name": "e", "bandwidth": {"gigabits_per_second": 100}}],
                                             "connections": ["h.0.nic.0.e.leaf.0.port.0", "h.1.nic.0.e.leaf.0.port.1"]}))
        result = self.run_program("fabric", "import", "infragraph", "graph.json", "-o", "g.yaml")
        self.assertIn("g.yaml written: 2 hosts, 1 leaf", result.stdout)

    def test_refusals(self):
        self.assert_refused(self.run_program("fabric", "import", "lldp", "nowhere"), "nowhere")
        self.assert_refused(self.run_program("fabric", "import", "visio", "x"), "visio")
        self.assert_refused(self.run_program("fabric", "import", "lingjun", "x", "--layer", "a=top"), "NAME=leaf")
        self.write("x.txt", "nonsense\n")
        self.assert_refused(self.run_program("fabric", "import", "ibnetdiscover", "x.txt", "-o", "y.yaml"), "x.txt:1: expected a line")
        self.assertFalse((self.folder / "y.yaml").exists())

    def test_show(self):
        self.run_program("fabric", "import", "ibnetdiscover", f"{SAMPLES}/ibnetdiscover.txt", "-o", "f.yaml")
        result = self.run_program("fabric", "show", "f.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        # leaf2 has a cable of 100 instead of 200 Gb/s: 800 Gb/s of hosts over 700.
        self.assertRegex(result.stdout, r"leaves +2 +8 +7 x 200 Gb/s, 1 x 100 Gb/s .* 1.00:1 to 1.14:1 \(leaf2\)")
        self.assertRegex(result.stdout, r"leaf2->spine2#\d +100 Gb/s +200 Gb/s")
        self.assertIn("No single point of failure", result.stdout)
        self.write("topo.csv", "ip,DSW,PSW,ASW\na,G0,P0,S0\nb,G0,P0,S0\nc,G0,P0,S1\n")
        found = json.loads(self.run_program("fabric", "show", "topo.csv", "--json", "-").stdout)
        self.assertEqual([(p["name"], p["hosts_cut_off"]) for p in found["single_points"]], [("P0/S0", 2), ("P0/S1", 1)])
        self.assertEqual([layer["layer"] for layer in found["layers"]], ["hosts", "leaves", "spines", "cores"])
        self.assertIn("and 1 more", self.run_program("fabric", "show", "topo.csv", "--rows", "1").stdout)
        self.assert_refused(self.run_program("fabric", "show", "gone.yaml"), "gone.yaml")

    @unittest.skipIf(shutil.which("lldpd") is None, "lldpd is not installed")
    @unittest.skipIf(os.geteuid() != 0, "only root may make network namespaces")
    def test_reports_of_real_daemons(self):
        """Two hosts on two leaves below a spine; the leaves have two cables to it."""
        cables = [("h1", "eth0", "leaf1", "swp1"), ("h1", "eth1", "leaf2", "swp1"), ("h2", "eth0", "leaf1", "swp2"),
                  ("h2", "eth1", "leaf2", "swp2"), ("leaf1", "swp48", "spine1", "swp1"), ("leaf1", "swp49", "spine1", "swp2"),
                  ("leaf2", "swp48", "spine1", "swp3"), ("leaf2", "swp49", "spine1", "swp4")]
        devices = ["h1", "h2", "leaf1", "leaf2", "spine1"]
        with contextlib.ExitStack() as stack:
            fabric = NamespaceFabric(self.folder, stack)
            try:
                for device in devices:
                    fabric.add_device(device)
            except subprocess.CalledProcessError as error:
                self.skipTest(f"no network namespaces here: {error.stderr.strip()}")
            for cable in cables:
                fabric.add_cable(*cable)
            for host, number in (("h1", 1), ("h2", 2)):
                for rail in (0, 1):
                    fabric.ip("-n", f"{fabric.prefix}{host}", "addr", "add", f"10.0.{rail}.{number}/24", "dev", f"eth{rail}")
            for device in devices:
                fabric.start_daemon(device)
            heard = fabric.wait_until_heard({"h1": 2, "h2": 2, "leaf1": 4, "leaf2": 4, "spine1": 4})
            self.assertTrue(heard, "the daemons have not heard of each other")
            reports = self.folder / "reports"
            reports.mkdir()
            for number, device in enumerate(devices):
                form = ("json", "json0")[number % 2]
                (reports / f"{device}.json").write_text(fabric.ask(device, form, "show", "neighbors", "details").stdout)
            for host in ("h1", "h2"):
                addresses = subprocess.run(["ip", "-n", f"{fabric.prefix}{host}", "-json", "address"], capture_output=True, text=True)
                (reports / f"{host}.addresses.json").write_text(addresses.stdout)
        words = ["fabric", "import", "lldp", "reports", "--switches", "leaf*", "--switches", "spine*", "--addresses", "a.json", "-o"]
        result = self.run_program(*words, "all.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 hosts, 2 leaves, 1 spine, 0 cores, 8 cables", result.stdout)
        nics = json.loads((self.folder / "a.json").read_text())["nics"]
        self.assertEqual({address: name for address, name in nics.items() if ":" not in address},
                         {"10.0.0.1": "h1/nic0", "10.0.1.1": "h1/nic1", "10.0.0.2": "h2/nic0", "10.0.1.2": "h2/nic1"})
        self.assertEqual(self.run_program("check", "all.yaml", "a.json").returncode, 0)
        # One end of each cable is enough.
        (reports / "leaf1.json").unlink()
        self.assertEqual(self.run_program(*words, "half.yaml").returncode, 0)
        self.assertEqual((self.folder / "all.yaml").read_text(), (self.folder / "half.yaml").read_text())


if __name__ == "__main__":
    main()
