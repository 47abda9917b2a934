"""A lab with its controller and agents, as a user has it: real processes, real connections, a cable that is cut.

Two leaves, four spines, four hosts; two jobs of two hosts each, so four connections cross the spines, two each way.

usage: lab_services_test.py PROGRAM SOURCE_DIR
"""
import collections
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from lab import Lab
from patience import PATIENCE_S, wait_until, wait_until_gone
from trace_file import TraceFile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "web"))
from browser import Browser, find_browser  # noqa: E402

PROGRAM = ""
SCENARIO = pathlib.Path(__file__).with_name("two_jobs.yaml")


class LabServicesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fl-lab-")
        cls.addClassCleanup(folder.cleanup)
        cls.timeline = pathlib.Path(folder.name) / "run.json"
        cls.lab = Lab(PROGRAM, folder.name, SCENARIO)
        cls.addClassCleanup(cls.lab.down)

    def get(self, what):
        return self.lab.get(what)

    def wait_until(self, is_so, what):
        wait_until(is_so, lambda: what + ": " + self.lab.log())

    def are_spread(self, num_links):
        """All four connections have ports that lead over their paths, no two of them over one uplink."""
        connections = self.get("connections")
        uplinks = collections.Counter(c["links"][1] for c in connections if len(c["links"]) == 4)
        return (len(connections) == 4 and all(c["answer"] == "use" for c in connections)
                and sum(uplinks.values()) == 4 and len(uplinks) == num_links)

    def jobs_on(self, cable):
        """Either way: what two jobs send in opposite directions may share one."""
        ends = set(cable.split("-"))
        return {c["job"] for c in self.get("connections") if any(set(link.split("->")) == ends for link in c["links"])}

    def connections_over(self, spine):
        return [c for c in self.get("connections") if any(spine in link for link in c["links"])]

    def states_of(self, spine):
        return {link["state"] for link in self.get("links") if spine in (link["from"], link["to"])}

    def test_1_all_agents_are_there(self):
        self.wait_until(lambda: [h["name"] for h in self.get("hosts") if h["connected"]] == ["h0", "h1", "h2", "h3"],
                        "four agents")

    def test_2_jobs_are_spread_and_survive_a_lost_cable(self):
        run = self.lab.start("run", str(SCENARIO), "--seconds", "600", "--warm-up", "0", "--trace", str(self.timeline),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(run.kill)
        self.wait_until(lambda: self.are_spread(4), "four connections on four uplinks")
        self.assertEqual({job["name"] for job in self.get("jobs")}, {"a", "b"})
        self.client_reads_all_of_it()
        browser = self.open_page()
        live = self.iterations_as_measured()
        moved = self.get("connections")[0]
        cable = moved["links"][1].replace("->", "-")
        self.on_cable = self.jobs_on(cable)
        spine = cable.split("-")[1]
        self.assertEqual(self.lab.run("fault", cable).returncode, 0)
        self.wait_until(lambda: "down" in self.states_of(spine), "the lost cable is noticed")
        self.page_shows_what_is_down(browser, cable)
        self.wait_until(lambda: self.are_spread(4) and not self.connections_over(spine), "everybody has a path again")
        # No worker lost a connection: one that does ends, and with it the run.
        self.assertIsNone(run.poll())
        self.forget_what_an_agent_knows(moved["source"])
        self.wait_until(lambda: self.are_spread(4), "connections that their agent has forgotten are found")
        self.assertIsNone(run.poll())
        self.assertEqual(self.lab.run("fault", cable, "--health", "1").returncode, 0)
        self.wait_until(lambda: self.states_of(spine) == {"up"}, "the repaired cable is used again")
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 130)
        self.assertIn("Timeline written to", out)
        self.timeline_shows_all_of_it(cable, moved)
        self.iterations_are(live)
        self.wait_until(lambda: not self.get("connections"), "what the jobs held is given back")

    def iterations_as_measured(self):
        """[job] seconds of an iteration, by the counters that agents read, and the moment until which that was so."""
        self.wait_until(lambda: all(job["iteration_s"] for job in self.get("jobs")), "iterations are measured")
        return {job["name"]: job["iteration_s"] for job in self.get("jobs")}, time.time()

    def iterations_are(self, live):
        """As the workers say. Of iterations of 0.1 s, five samples, two may look like one; four must not."""
        live, until_s = live
        trace = TraceFile(self.timeline.read_text())
        until_us = 1e6 * (until_s - trace.json["otherData"]["origin_unix_s"])
        for job, seconds in live.items():
            lengths = [one["dur"] for one in trace.slices(f"job {job}, 2 workers / worker 0", "iteration ")
                       if until_us - 12e6 < one["ts"] and one["ts"] + one["dur"] < until_us]
            self.assertGreater(len(lengths), 5, job)
            lengths.sort()
            self.assertLess(seconds, 2.6e-6 * lengths[len(lengths) // 2], job)
            self.assertGreater(seconds, 0.7e-6 * lengths[len(lengths) // 2], job)

    def open_page(self):
        """The page of the real controller, which listens; None: no Chromium is installed."""
        if find_browser() is None:
            print("no Chromium: the page is not looked at")
            return None
        browser = Browser()
        self.addCleanup(browser.close)
        browser.set_size(1400, 1000)
        browser.open(self.lab.page + "/")
        browser.wait("document.querySelectorAll('#jobs tbody tr').length === 2", patience_s=PATIENCE_S)
        asked = "performance.getEntriesByType('resource').filter(one => one.name.split('?')[0].endsWith('/v1/{}')).length"
        browser.wait("document.documentElement.dataset.refreshes > 2", patience_s=PATIENCE_S)
        self.assertGreaterEqual(browser.evaluate(asked.format("hosts")), 1)
        before = {name: browser.evaluate(asked.format(name)) for name in ("hosts", "jobs")}
        refreshes = int(browser.evaluate("document.documentElement.dataset.refreshes"))
        browser.wait(f"document.documentElement.dataset.refreshes > {refreshes + 4}", patience_s=PATIENCE_S)
        hosts, jobs = (browser.evaluate(asked.format(name)) - before[name] for name in ("hosts", "jobs"))
        self.assertLessEqual(hosts, 1, "hosts stay as they are, and the controller says so")
        self.assertGreaterEqual(jobs, 1, "iterations take a little longer or shorter each time")
        return browser

    def page_shows_what_is_down(self, browser, cable):
        if browser is None:
            return
        leaf, spine = cable.split("-")
        links = {f"{leaf}->{spine}", f"{spine}->{leaf}"}
        browser.wait("document.querySelector('#links-down') && document.querySelector('#attention').innerText.includes('not up')", patience_s=PATIENCE_S)
        shown = "[...document.querySelectorAll('#links-down tbody tr')].map(row => row.cells[0].innerText)"
        # With two leaves each path over a spine crosses both of its cables: which of them it is, can't be told from end to end.
        wait_until(lambda: links <= set(browser.evaluate(shown)) and all(spine in name for name in browser.evaluate(shown)),
                   lambda: f"{cable} is shown as down: {browser.evaluate(shown)}")
        job = browser.evaluate("document.querySelector('#jobs tbody a').innerText")
        for view in ("", f"#job={job}", "#topology"):
            browser.evaluate(f"location.hash = '{view}'")
            time.sleep(0.5)
            for width in (1400, 390):
                for is_dark in (False, True):
                    browser.set_size(width)
                    browser.set_dark(is_dark)
                    self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width, view)
        browser.wait("document.querySelectorAll('#network .wire.down').length > 0", patience_s=PATIENCE_S)
        self.assertEqual(browser.complaints, [])

    def client_reads_all_of_it(self):
        """The commands that show a running cluster, of the real thing: its jobs have owners, paths and measurements."""
        shown = {}
        for words in ["get jobs", "get links", "get hosts", "get findings", "get connections", "get events",
                      "describe job a", "describe host h0"]:
            ran = subprocess.run([self.lab.program, *words.split(), "--server", self.lab.page], capture_output=True,
                                 text=True, timeout=PATIENCE_S)
            self.assertEqual(ran.returncode, 0, f"{words}: {ran.stderr}")
            shown[words] = ran.stdout
        self.assertRegex(shown["get jobs"], r"\nb .*leaf")
        self.assertIn(f"user {os.getuid()}", shown["describe job a"])

    def timeline_shows_all_of_it(self, cable, moved):
        """Also of a run that was stopped: both jobs, the links, the cut and what it delayed, the controller's events."""
        trace = TraceFile(self.timeline.read_text())
        jobs = {name for name in trace.processes.values() if name.startswith("job ")}
        self.assertEqual(jobs, {"job a, 2 workers", "job b, 2 workers"})
        for job in jobs:
            for track in ("worker 0 on h", "worker 1 on h"):
                iterations = trace.slices(f"{job} / {track}", "iteration ")
                self.assertGreater(len(iterations), 3, trace.tracks)
                self.assertTrue(trace.slices(f"{job} / {track}", "compute"))
                waits = trace.slices(f"{job} / {track}", "waits for ")
                self.assertTrue(all("all-reduce" in wait["name"] for wait in waits), waits)
                phases = trace.slices(f"{job} / {track}", "")
                self.assertTrue([p for p in phases if "communication" in trace.place(p)])
        # Of the compute clock: 50 ms, however long the iteration takes.
        first = trace.slices("job a, 2 workers / worker 0", "iteration ")[0]
        computes = [s for s in trace.slices("job a, 2 workers / worker 0", "compute")
                    if s["pid"] == first["pid"] and first["ts"] <= s["ts"] < first["ts"] + first["dur"]]
        self.assertAlmostEqual(sum(s["dur"] for s in computes) * 1e-6, 0.05, delta=0.02)
        cuts = [s for s in trace.slices("lab") if s["name"] == f"{cable} is cut"]
        self.assertEqual(len(cuts), 1)
        measured = trace.slices("lab", "measured")[0]
        self.assertLess(measured["ts"], cuts[0]["ts"])
        self.assertLess(cuts[0]["ts"] + cuts[0]["dur"], measured["ts"] + measured["dur"])
        delayed = {delay["job"] for delay in cuts[0]["args"]["delays"]}
        self.assertLessEqual(delayed, self.on_cable, "only jobs whose connections passed the cable")
        self.assertEqual(len(trace.arrows()), len(delayed))
        for begin, end in trace.arrows():
            self.assertIn(f"cable {cable}", begin)
            self.assertTrue(any(f"job {job}, " in end for job in self.on_cable), end)
        self.assertIn(moved["links"][1], {counter["name"] for counter in trace.of("C")})
        self.assertTrue([i for i in trace.of("i") if trace.place(i).endswith("controller")])

    def forget_what_an_agent_knows(self, nic):
        """That of the host with this NIC: killed, and started again without its state."""
        host = nic.split("/")[0]
        known = {c["connection"] for c in self.get("connections")}
        pid = self.lab.daemons()[host]
        os.kill(pid, signal.SIGKILL)
        state = self.lab.commands[host][self.lab.commands[host].index("--state") + 1]
        os.remove(state)
        self.lab.start_again(host)
        self.wait_until(lambda: not known <= {c["connection"] for c in self.get("connections")},
                        "the controller hears that they are forgotten")

    def test_3_hosts_have_their_names(self):
        named = self.lab.run("exec", "h1", "--", "sh", "-c", "hostname; getent hosts h2")
        self.assertEqual(named.returncode, 0, named.stderr)
        if os.geteuid() == 0:
            self.assertEqual(named.stdout.split()[:2], ["h1", "10.0.2.1"])

    def test_3_status_is_a_table_for_other_programs_too(self):
        rows = list(csv.DictReader(self.lab.run("status", "--interval", "0.01", "--format", "csv").stdout.splitlines()))
        self.assertEqual({row["cable"] for row in rows},
                         {cable["name"] for cable in json.loads(self.lab.run("status", "--format", "json").stdout)["cables"]
                          if cable["name"].startswith("leaf")})
        self.assertEqual({row["state"] for row in rows}, {"up"})
        self.assertTrue(all(float(row["MB sent: up"].replace(",", "")) >= 0 for row in rows))

    def test_4_nothing_is_left_after_down(self):
        self.assertEqual(self.lab.down().returncode, 0)
        wait_until_gone(str(self.lab.run_folder))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.argv.pop(1)
    unittest.main(verbosity=2)
