"""`fairlead agent probe` on routers made of network namespaces: two hosts, two leaves, four spines.

    h1 -- l1 -- s1..s4 -- l2 -- h2          10.9.0.0/31    10.9.1i.0/31    10.9.2i.0/31    10.9.1.0/31

The oracle is the leaf's own kernel: `ip route get` with the ports says which spine it would take.

usage: agent_probe_test.py PROGRAM SOURCE_DIR
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
SPINES = (1, 2, 3, 4)
HOSTS = ("h1", "h2")
ROUTERS = ("l1", "l2", *(f"s{i}" for i in SPINES))
# icmp_ratemask=0: no limit counts any answer. Else a router gives 50 at once and 1,000 a second (icmp_msgs_burst,
# icmp_msgs_per_sec; before Linux 6.11 together with all others of the machine), and 128 ports need all three attempts.
ROUTER_SETTINGS = ("ip_forward=1", "fib_multipath_hash_policy=3", "fib_multipath_hash_fields=0x37", "icmp_ratemask=0",
                   "icmp_errors_use_inbound_ifaddr=1")
# Hops answer immediately, or when a busy machine lets the kernel: only silent hops are waited for.
PATIENCE_MS = "1000"


def why_not():
    """Why there can be no namespaces here, or None."""
    if shutil.which("ip") is None or shutil.which("sysctl") is None:
        return "needs the programs ip and sysctl (packages iproute2 and procps)"
    probe = subprocess.run(["ip", "netns", "add", f"fl{os.getpid()}t"], capture_output=True, text=True)
    if probe.returncode != 0:
        return "may not make network namespaces: " + probe.stderr.strip()
    subprocess.run(["ip", "netns", "del", f"fl{os.getpid()}t"], check=True)
    return None


class Fabric:
    """Names carry the process id: two runs at once don't meet."""

    def __init__(self):
        self.prefix = f"fl{os.getpid()}"
        self.made = []

    def name(self, node):
        return self.prefix + node

    def ip(self, node, *args):
        return subprocess.run(["ip", "-n", self.name(node), *args], check=True, capture_output=True, text=True).stdout

    def run(self, node, *args):
        return subprocess.run(["ip", "netns", "exec", self.name(node), *args], capture_output=True, text=True,
                              timeout=120)

    def join(self, a, b, address_a, address_b):
        self.ip(a, "link", "add", a + b, "type", "veth", "peer", "name", b + a, "netns", self.name(b))
        for node, interface, address in ((a, a + b, address_a), (b, b + a, address_b)):
            self.ip(node, "address", "add", address + "/31", "dev", interface)
            self.ip(node, "link", "set", interface, "up")

    def up(self):
        for node in (*HOSTS, *ROUTERS):
            subprocess.run(["ip", "netns", "add", self.name(node)], check=True)
            self.made.append(node)
            self.ip(node, "link", "set", "lo", "up")
        for node in ROUTERS:
            settings = [f"net.ipv4.{setting}" for setting in ROUTER_SETTINGS]
            result = self.run(node, "sysctl", "-qw", *settings)
            if result.returncode != 0:
                raise unittest.SkipTest("this kernel has not all settings of routers: " + result.stderr.strip())
        self.join("h1", "l1", "10.9.0.1", "10.9.0.0")
        self.join("h2", "l2", "10.9.1.1", "10.9.1.0")
        for i in SPINES:
            self.join("l1", f"s{i}", f"10.9.1{i}.0", f"10.9.1{i}.1")
            self.join("l2", f"s{i}", f"10.9.2{i}.0", f"10.9.2{i}.1")
            self.ip(f"s{i}", "route", "add", "10.9.0.0/31", "via", f"10.9.1{i}.0")
            self.ip(f"s{i}", "route", "add", "10.9.1.0/31", "via", f"10.9.2{i}.0")
        self.ip("h1", "route", "add", "default", "via", "10.9.0.0")
        self.ip("h2", "route", "add", "default", "via", "10.9.1.0")
        for leaf, network, side in (("l1", "10.9.1.0/31", 1), ("l2", "10.9.0.0/31", 2)):
            hops = [word for i in SPINES for word in ("nexthop", "via", f"10.9.{side}{i}.1")]
            self.ip(leaf, "route", "add", network, *hops)

    def down(self):
        for node in self.made:
            subprocess.run(["ip", "netns", "del", self.name(node)], check=False)

    def predict(self, source_port, port):
        """The spine that the leaf's kernel takes."""
        text = self.ip("l1", "route", "get", "10.9.1.1", "from", "10.9.0.1", "iif", "l1h1", "ipproto", "6",
                       "sport", str(source_port), "dport", str(port))
        return re.search(r"via (\S+)", text).group(1)


class AgentProbeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.fabric = Fabric()
        cls.addClassCleanup(cls.fabric.down)
        cls.fabric.up()

    def probe(self, *args):
        return self.fabric.run("h1", PROGRAM, "agent", "probe", "--timeout-ms", PATIENCE_MS, *args)

    def probe_json(self, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "probe.json"
            result = self.probe(*args, "--json", str(path))
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(path.read_text())

    def test_every_port_goes_where_the_leaf_says(self):
        paths = self.probe_json("10.9.1.1", "--port", "5001", "--source-ports", "40000-40127")["paths"]
        self.assertEqual(len(paths), 128)
        for path in paths:
            kinds = [hop["kind"] for hop in path["hops"]]
            addresses = [hop["address"] for hop in path["hops"]]
            self.assertEqual(kinds, ["router", "router", "router", "destination"], path)
            self.assertEqual(addresses[0], "10.9.0.0")
            self.assertEqual(addresses[1], self.fabric.predict(path["source_port"], 5001))
            spine = int(addresses[1].split(".")[2]) - 10
            self.assertEqual(addresses[2], f"10.9.2{spine}.0", "the way on from the spine")
            self.assertEqual(addresses[3], "10.9.1.1")
        self.assertEqual(len({path["hops"][1]["address"] for path in paths}), len(SPINES))

    def test_another_port_of_the_destination_is_hashed_anew(self):
        first, second = (self.probe_json("10.9.1.1", "--port", port, "--source-ports", "40000-40063", "--hops", "2")
                         for port in ("5001", "5002"))
        moved = sum(a["hops"][1]["address"] != b["hops"][1]["address"]
                    for a, b in zip(first["paths"], second["paths"]))
        self.assertGreater(moved, 0)

    def test_the_table_says_which_ports_share_a_path(self):
        os.environ["COLUMNS"] = "100"  # as on a narrow terminal
        result = self.probe("10.9.1.1", "--port", "5001", "--source-ports", "40000-40063")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("64 source ports to 10.9.1.1 port 5001: 4 paths", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)

    def test_a_destination_without_a_route_is_told_by_the_router(self):
        paths = self.probe_json("10.77.0.1", "--port", "1", "--source-ports", "40000")["paths"]
        self.assertEqual(paths[0]["hops"], [{"kind": "unreachable", "address": "10.9.0.0",
                                             "rtt_s": paths[0]["hops"][0]["rtt_s"]}])

    def test_a_silent_hop_is_told_as_such(self):
        """A spine that knows no way back to the host can't answer; the hops behind it can."""
        self.fabric.ip("s1", "route", "del", "10.9.0.0/31")
        self.addCleanup(self.fabric.ip, "s1", "route", "add", "10.9.0.0/31", "via", "10.9.11.0")
        paths = self.probe_json("10.9.1.1", "--port", "5001", "--source-ports", "40000-40015", "--hops", "2",
                                "--attempts", "2")["paths"]
        kinds = {path["source_port"]: path["hops"][1]["kind"] for path in paths}
        for port, kind in kinds.items():
            self.assertEqual(kind, "silent" if self.fabric.predict(port, 5001) == "10.9.11.1" else "router", port)
        self.assertIn("silent", kinds.values())

    def test_bad_input(self):
        for args, part in ((("10.9.1", "--port", "1"), "expected an IP address"),
                           (("10.9.1.1", "--port", "0"), "--port"),
                           (("10.9.1.1", "--port", "1", "--source-ports", "5-3"), "'5-3'"),
                           (("10.9.1.1", "--port", "1", "--source-ports", "0"), "'0'"),
                           (("10.9.1.1", "--port", "1", "--source-ports", "1-70000"), "'1-70000'"),
                           (("10.9.1.1", "--port", "1", "--source-ports", "x"), "'x'"),
                           (("10.9.1.1", "--port", "1", "--source", "::1"), "same version of IP")):
            result = self.probe(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stdout, "")
        self.assertEqual(self.probe("10.9.1.1", "--port", "1", "--source", "10.8.8.8").returncode, 3)


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=1)
