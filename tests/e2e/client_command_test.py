"""fairlead top, get, describe, watch, pause, undo and spare: against a real controller, and against a gateway that answers
what it is told to.

Usage: client_command_test.py FAIRLEAD SOURCE_DIR
"""

import fcntl
import http.server
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest
import urllib.parse

from command_case import CommandCase, main
from figure_folder import check_figures
from patience import PATIENCE_S, wait_until
from two_hosts import ADDRESSES, FABRIC

JOBS = {"jobs": [
    {"name": "small", "owner": None, "level": 3, "reason": "rank 2 of 2", "hosts": 1, "connections": 1,
     "unmanaged_queue_pairs": 0, "gpus": 8, "iteration_s": 0.5, "fastest_iteration_s": 0.5, "lost_gpus": 0.0,
     "intensity_flop_per_s": None, "fullest_link": "leaf0->spine0", "shares_with": ["big"], "a_later_key": 1},
    {"name": "big", "owner": 1001, "level": 7, "reason": "rank 1 of 2", "hosts": 2, "connections": 2,
     "unmanaged_queue_pairs": 0, "gpus": 64, "iteration_s": 1.25, "fastest_iteration_s": 1.0, "lost_gpus": 12.8,
     "intensity_flop_per_s": 1e15, "fullest_link": "leaf0->spine0", "shares_with": ["small"]}]}
ANSWERS = {
    "/v1/jobs": JOBS,
    "/v1/hosts": {"total": 2, "next": None, "all": {"hosts": 2, "connected": 1, "states": {"connected": 1, "isolated": 1}}, "hosts": [
        {"name": "h0", "connected": True, "agent_version": "1", "last_message_s": 1.7e9, "state": "connected", "findings": 1},
        {"name": "h1", "connected": False, "agent_version": "", "last_message_s": None, "state": "isolated", "findings": 0}]},
    "/v1/links": {"links": [
        {"name": "leaf0->spine0", "from": "leaf0", "to": "spine0", "tier": "leaf-spine", "state": "up", "health": 1.0,
         "capacity_bytes_per_s": 25e9, "queue_pairs": 3, "load": 1.5},
        {"name": "leaf0->spine1", "from": "leaf0", "to": "spine1", "tier": "leaf-spine", "state": "down", "health": 0.0,
         "capacity_bytes_per_s": 25e9, "queue_pairs": 0, "load": 0}]},
    "/v1/findings": {"findings": [
        {"job": "big", "id": 4, "syndrome": "non_comm_slow", "culprits": ["rank 3 on h0"], "hosts": ["h0"], "ranks": [3],
         "suspected_at_s": 1.7e9, "confirmed_at_s": 1.7e9, "cleared_at_s": None, "confidence": 0.93, "action": "watch",
         "sub_cause": "none", "text": "rank 3 computes 1.2 times as long as the others", "evidence": ["12 windows"]}]},
    "/v1/events": {"events": [{"number": 1, "time_s": 1.7e9, "severity": "info", "subject": "h0", "text": "before"}]},
    "/v1/connections": {"total": 1, "connections": [
        {"job": "big", "connection": 1, "queue_pair": 0, "pid": 4711, "source": "h0/nic0", "destination": "h1/nic0",
         "answer": "port", "plane": 0, "source_port": 50000, "wire_port": 50000, "links": ["leaf0->spine0", "spine0->leaf1"]}]},
    "/v1/findings/4": {
        "finding": {"job": "big", "id": 4, "syndrome": "non_comm_slow", "culprits": ["rank 3 on h0"], "hosts": ["h0"],
                    "suspected_at_s": 1.7e9, "confirmed_at_s": 1.7e9 + 20, "cleared_at_s": None, "confidence": 0.93,
                    "cost_share": 0.2, "action": "watch", "text": "rank 3 is slow", "evidence": ["12 windows"]},
        "seen_at_s": 1.7e9 + 20,
        "blocks": [{"at_s": 1.7e9 - 10, "seconds": 1.0}, {"at_s": 1.7e9 + 10, "seconds": 1.25, "own_seconds": 1.2}],
        "wait_nodes": [{"label": "rank 0"}, {"label": "rank 3", "is_culprit": True}], "waits": [{"from": 0, "to": 1}],
        "history": [{"id": 2, "job": "small", "text": "hung", "confirmed_at_s": 1.6e9, "cleared_at_s": 1.6e9 + 60}],
        "next": [{"command": "fairlead describe host h0", "shows": "more"}]},
    "/v1/steering": {"mode": "act", "isolated": ["h1"], "hosts": [], "jobs": [], "open_actions": [], "log": []},
}


class Gateway:
    """Answers as a controller would; `answers` may be changed while it runs."""

    def __init__(self, token=None):
        self.answers = dict(ANSWERS)
        self.orders = []
        self.is_stopped = False
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, code, body):
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def refused(self):
                if token is None or self.headers.get("Authorization") == f"Bearer {token}":
                    return False
                self.answer(401, {"error": "needs a token"})
                return True

            def do_GET(self):
                path = self.path.split("?")[0]
                if gateway.is_stopped:  # a thread goes on with connections that are kept open
                    self.close_connection = True
                    return
                if self.refused():
                    return
                if path in gateway.answers:
                    answer = gateway.answers[path]
                    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                    self.answer(200, answer(query) if callable(answer) else answer)
                else:
                    self.answer(404, {"error": "no such page"})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.refused():
                    return
                gateway.orders.append((self.path, body))
                self.answer(200, {})

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = "127.0.0.1:%d" % self.server.server_address[1]

    def stop(self):
        self.is_stopped = True
        self.server.shutdown()
        self.server.server_close()


class ClientCommandTest(CommandCase):
    def gateway(self, **how):
        gateway = Gateway(**how)
        self.addCleanup(gateway.stop)
        return gateway

    def ask(self, gateway, *args):
        return self.run_program(*args, "--server", gateway.address)

    def test_jobs_that_lose_most_come_first(self):
        result = self.ask(self.gateway(), "get", "jobs")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line for line in result.stdout.splitlines() if "leaf0->spine0" in line]
        self.assertEqual(rows[0].split()[:4], ["big", "64", "12.8", "1.25x"])
        self.assertEqual(rows[1].split()[:4], ["small", "8", "0.0", "1.00x"])
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)

    def test_every_list_in_every_format(self):
        gateway = self.gateway()
        for what in ("jobs", "links", "hosts", "findings", "connections", "events"):
            for form in ("table", "json", "csv", "markdown"):
                with self.subTest(what=what, form=form):
                    result = self.ask(gateway, "get", what, "--format", form)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    if form == "json":
                        self.assertEqual(json.loads(result.stdout), gateway.answers[f"/v1/{what}"])

    def test_links_come_in_pages(self):
        gateway = self.gateway()
        like, asked = gateway.answers["/v1/links"]["links"][0], []

        def page(query):
            asked.append(query)
            begin, end = int(query.get("after", 0)), int(query.get("after", 0)) + int(query["limit"])
            links = [dict(like, name=f"link{i}") for i in range(begin, min(end, 25_000))]
            return {"total": 25_000, "next": str(end) if end < 25_000 else None, "links": links}
        gateway.answers["/v1/links"] = page
        few = self.ask(gateway, "get", "links")
        self.assertEqual(asked, [{"limit": "1000", "idle": "false"}], "not more than what is shown")
        self.assertIn("The first 1,000 of 25,000 links", few.stdout)
        asked.clear()
        everything = self.ask(gateway, "get", "links", "--all", "--limit", "1000000", "--json", "-")
        self.assertEqual(everything.returncode, 0, everything.stderr)
        self.assertEqual([query.get("after") for query in asked], [None, "10000", "20000"])
        read = json.loads(everything.stdout)
        self.assertEqual([link["name"] for link in read["links"]], [f"link{i}" for i in range(25_000)])
        self.assertIsNone(read["next"])
        asked.clear()
        self.ask(gateway, "get", "links", "--state", "not_up", "--endpoint", "leaf0", "--text", "spine", "--job", "gpt", "--limit", "5")
        self.assertEqual(asked, [{"limit": "5", "idle": "false", "state": "not_up", "endpoint": "leaf0", "text": "spine", "job": "gpt"}])
        self.assert_refused(self.ask(gateway, "get", "hosts", "--endpoint", "leaf0"), "--endpoint is for links, not for hosts")
        self.assert_refused(self.ask(gateway, "get", "jobs", "--state", "up"), "are for links and hosts, not for jobs")

    def test_hosts_come_in_pages(self):
        gateway = self.gateway()
        like, asked = gateway.answers["/v1/hosts"]["hosts"][0], []

        def page(query):
            asked.append(query)
            begin, end = int(query.get("after", 0)), int(query.get("after", 0)) + int(query["limit"])
            return {"total": 12_000, "next": str(end) if end < 12_000 else None, "all": {"hosts": 12_000, "connected": 12_000, "states": {}},
                    "hosts": [dict(like, name=f"h{i}") for i in range(begin, min(end, 12_000))]}
        gateway.answers["/v1/hosts"] = page
        few = self.ask(gateway, "get", "hosts", "--state", "needs_look", "--text", "h", "--limit", "7")
        self.assertEqual(asked, [{"limit": "7", "order": "worst", "state": "needs_look", "text": "h"}])
        self.assertIn("The first 7 of 12,000 hosts", few.stdout)
        asked.clear()
        read = json.loads(self.ask(gateway, "get", "hosts", "--limit", "1000000", "--json", "-").stdout)
        self.assertEqual([query.get("after") for query in asked], [None, "10000"])
        self.assertEqual([host["name"] for host in read["hosts"]], [f"h{i}" for i in range(12_000)])
        asked.clear()
        self.ask(gateway, "top", "--once")
        self.assertEqual([query["limit"] for query in asked], ["1"], "hosts are only counted")

    def test_everything_can_be_described(self):
        gateway = self.gateway()
        for args, parts in {("job", "big"): ["rank 1 of 2", "12.8 GPUs", "small", "rank 3 computes", "50000"],
                            ("link", "leaf0->spine0"): ["200 Gb/s", "big (1 queue pair)"],
                            ("host", "h0"): ["connected", "big", "rank 3 computes"],
                            ("host", "h1"): ["isolated"],
                            ("finding", "4"): ["93.0 %", "it holds", "12 windows", "1.25 times as long", "rank 0 -> rank 3",
                                               "finding 2 of small: hung", "fairlead describe host h0"]}.items():
            with self.subTest(args=args):
                result = self.ask(gateway, "describe", *args)
                self.assertEqual(result.returncode, 0, result.stderr)
                for part in parts:
                    self.assertIn(part, result.stdout)
        self.assert_refused(self.ask(gateway, "describe", "job", "bog"), "no job 'bog'", "fairlead get jobs")

    def test_a_finding_is_a_page_to_send_on(self):
        gateway = self.gateway()
        page, answer, figures = (os.path.join(self.folder, name) for name in ("deep/finding.html", "finding.json", "figures"))
        result = self.ask(gateway, "describe", "finding", "4", "--html", page, "--json", answer, "--figures", figures)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Page written to", result.stdout)
        with open(page) as file:
            text = file.read()
        for part in ("rank 3 is slow", "<svg", "Who waits for whom", "2023-11-14 22:13:40", "finding 2 of small"):
            self.assertIn(part, text)
        self.assertEqual(check_figures(figures, text)["who-waits-for-whom"], "waits")
        with open(answer) as file:
            self.assertEqual(json.load(file), gateway.answers["/v1/findings/4"])
        self.assert_refused(self.ask(gateway, "describe", "finding", "x"), "no finding 'x'", "findings --all")
        self.assert_refused(self.ask(gateway, "describe", "job", "big", "--html", page), "are for findings")
        self.assert_refused(self.ask(gateway, "describe", "job", "big", "--figures", figures), "are for findings")
        gateway.answers["/v1/findings/4"] = dict(gateway.answers["/v1/findings/4"], waits=[{"from": 0, "to": 7}])
        result = self.ask(gateway, "describe", "finding", "4")
        self.assertEqual(result.returncode, 3)
        self.assertIn("can't be read", result.stderr)

    def test_orders_reach_the_controller(self):
        gateway = self.gateway()
        self.assertEqual(self.ask(gateway, "undo", "h1").returncode, 0)
        self.assertEqual(self.ask(gateway, "spare", "h2").returncode, 0)
        self.assertEqual(self.ask(gateway, "pause", "big", "--for", "2min", "--reason", "evaluation").returncode, 0)
        self.assertEqual(gateway.orders, [("/v1/steering/undo", {"host": "h1"}), ("/v1/steering/spare", {"host": "h2"}),
                                          ("/v1/steering/pause", {"job": "big", "for_s": 120.0, "reason": "evaluation"})])
        self.assert_refused(self.ask(gateway, "pause", "big", "--for", "soon", "--reason", "x"), "--for soon", "10min")

    def test_a_token_is_shown_where_one_is_wanted(self):
        gateway = self.gateway(token="secret-of-the-readers")
        self.assert_refused(self.ask(gateway, "get", "jobs"), "needs a token", "--token-file")
        self.write("token", "secret-of-the-readers\n")
        self.assertEqual(self.ask(gateway, "get", "jobs", "--token-file", "token").returncode, 0)
        self.write("two", "a\nb\n")
        self.assert_refused(self.ask(gateway, "get", "jobs", "--token-file", "two"), "two: expected a token in one line")

    def test_what_is_no_controller_is_one_line(self):
        gateway = self.gateway()
        for body, part in ((b"<html>", "not JSON"), ({"jobs": 7}, "jobs: expected a list"),
                           ({"jobs": [{"level": 1}]}, "name: is missing"), ([], "expected an object")):
            gateway.answers["/v1/jobs"] = body
            result = self.ask(gateway, "get", "jobs")
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1)
            self.assertIn(part, result.stderr)
        del gateway.answers["/v1/jobs"]
        self.assert_refused(self.ask(gateway, "get", "jobs"), "no such page")
        result = self.run_program("get", "jobs", "--server", "127.0.0.1:9")
        self.assertEqual(result.returncode, 3)
        self.assertIn("FAIRLEAD_SERVER", result.stderr)
        self.assert_refused(self.run_program("get", "jobs", "--server", "ftp://x"), "--server ftp://x")

    def test_names_can_not_write_to_the_terminal(self):
        gateway = self.gateway()
        evil = dict(JOBS["jobs"][0], name="a\x1b[2Jb\nc")
        gateway.answers["/v1/jobs"] = {"jobs": [evil]}
        gateway.answers["/v1/events"] = {"events": []}
        for args in (["get", "jobs"], ["top", "--once"], ["describe", "job", "a\x1b[2Jb\nc"]):
            result = self.ask(gateway, *args)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("\x1b", result.stdout)

    def test_top_prints_one_picture(self):
        result = self.ask(self.gateway(), "top", "--once")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 on 72 GPUs, losing 12.8 (17.8 %); 1 finding; steering: act", result.stdout)
        shown = json.loads(self.ask(self.gateway(), "top", "--json", "-").stdout)
        self.assertEqual((shown["gpus"], shown["lost_gpus"], shown["isolated_hosts"]), (72, 12.8, 1))
        self.assert_refused(self.ask(self.gateway(), "top"), "needs a terminal", "--once")

    def test_watch_prints_what_is_new_and_survives_a_restart(self):
        gateway = self.gateway()
        watch = subprocess.Popen([self.program, "watch", "--period", "0.1", "--server", gateway.address],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(watch.kill)
        self.assertIn("finding 4 big", watch.stdout.readline())
        news = [{"number": 2, "time_s": 1.7e9, "severity": "warning", "subject": "h1", "text": "is silent"}]
        gateway.answers["/v1/events"] = {"events": ANSWERS["/v1/events"]["events"] + news}
        self.assertIn("warning h1: is silent", watch.stdout.readline())
        gateway.answers["/v1/events"] = {"events": [dict(news[0], number=1, text="after a restart")]}
        self.assertIn("after a restart", watch.stdout.readline())
        over = dict(ANSWERS["/v1/findings"]["findings"][0], cleared_at_s=1.7e9 + 60)
        gateway.answers["/v1/findings"] = {"findings": [over]}
        self.assertIn("finding 4 is over", watch.stdout.readline())
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(PATIENCE_S), 130)

    def test_a_real_controller_is_understood(self):
        self.write("fabric.yaml", FABRIC)
        self.write("addresses.json", json.dumps(ADDRESSES))
        controller = subprocess.Popen(
            [self.program, "controller", "--fabric", "fabric.yaml", "--addresses", "addresses.json", "--listen",
             f"unix:{self.folder}/agents.sock", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True,
            cwd=self.folder)
        self.addCleanup(controller.kill)
        for line in controller.stderr:
            found = re.search(r"http://(\S+)/", line)
            if found:
                break
        threading.Thread(target=controller.stderr.read, daemon=True).start()
        for args in (["get", "jobs"], ["get", "links", "--all"], ["get", "hosts"], ["get", "findings"], ["get", "events"],
                     ["get", "connections"], ["top", "--once"], ["describe", "host", "h0"]):
            result = self.run_program(*args, "--server", found.group(1))
            self.assertEqual(result.returncode, 0, f"{args}: {result.stderr}")
        self.assertIn("no agent", self.run_program("get", "hosts", "--server", found.group(1)).stdout)
        self.assert_refused(self.run_program("get", "links", "--state", "dwon", "--server", found.group(1)), "up, not_up")
        self.assert_refused(self.run_program("get", "hosts", "--state", "up", "--server", found.group(1)), "needs_look")
        self.assert_refused(self.run_program("describe", "host", "h99", "--server", found.group(1)), "no host 'h99'")
        result = self.run_program("undo", "h0", "--server", found.group(1))
        self.assert_refused(result, "token")


class Terminal:
    """`fairlead top` on a terminal of 100 columns."""

    def __init__(self, program, address):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execv(program, [program, "top", "--period", "0.2", "--server", address])
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.text = ""

    def shows(self, part, seconds=PATIENCE_S):
        """Whether the part comes, from now on."""
        self.text = ""
        until = time.monotonic() + seconds
        while part not in self.text and time.monotonic() < until:
            if select.select([self.end], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.end, 65536).decode(errors="replace")
                except OSError:  # the program is gone
                    break
        return part in self.text

    def press(self, keys):
        os.write(self.end, keys.encode())

    def wait(self):
        while self.shows("there is no such text", 0.5):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class TopOnATerminalTest(CommandCase):
    def test_keys_change_what_is_shown(self):
        gateway = Gateway()
        self.addCleanup(gateway.stop)
        top = Terminal(self.program, gateway.address)
        self.assertTrue(top.shows("> big"), top.text)
        top.press("n")
        self.assertTrue(top.shows("  small"), top.text)
        top.press("f")
        self.assertTrue(top.shows("rank 3 computes"), top.text)
        top.press("l")
        self.assertTrue(top.shows("leaf0->spine1"), top.text)
        top.press("h")
        self.assertTrue(top.shows("isolated"), top.text)
        top.press("jo\r")
        self.assertTrue(top.shows("rank 1 of 2"), top.text)
        top.press("q")
        self.assertEqual(top.wait(), 0)

    def test_a_controller_that_goes_away_is_said_and_waited_for(self):
        gateway = Gateway()
        top = Terminal(self.program, gateway.address)
        self.assertTrue(top.shows("> big"), top.text)
        gateway.stop()
        self.assertTrue(top.shows("does a controller run there"), top.text)
        os.kill(top.pid, signal.SIGINT)
        self.assertEqual(top.wait(), 130)


if __name__ == "__main__":
    main()
