"""Attacks on a running controller, from an unprivileged account of the same machine: none succeeds, and meanwhile an honest
client is answered within a second.

Usage: controller_attack_test.py FAIRLEAD SOURCE_DIR
"""

import http.client
import json
import socket
import subprocess
import sys
import threading
import unittest

from attacked_daemon import DESCRIPTORS, FAIRLEAD, AttackedDaemon, with_few_descriptors
from patience import wait_until


class ControllerAttackTest(AttackedDaemon):
    def setUp(self):
        super().setUp()
        self.token = "an operator's token"
        (self.folder / "token").write_text(self.token)
        (self.folder / "token").chmod(0o600)
        self.sockets = []
        self.addCleanup(lambda: [one.close() for one in self.sockets])
        self.process, agents, http = self.start_controller(
            "--listen", "127.0.0.1:0", "--http-operator-token-file", self.folder / "token",
            preexec_fn=with_few_descriptors)
        self.agents, self.http = self.address(agents), self.address(http)
        self.idle_mb = self.memory_mb()

    @staticmethod
    def address(text):
        host, port = text.rsplit(":", 1)
        return host, int(port)

    def connect(self, address, count, say=b""):
        for _ in range(count):
            one = socket.socket()
            self.sockets.append(one)
            one.settimeout(0.5 if say else 0)
            try:
                one.connect_ex(address)
                if say:
                    one.send(say)
            except OSError:
                pass
            one.setblocking(False)

    def get(self, path="/healthz", method="GET", body=None, headers=None):
        """Status and body; 0: the connection was closed, or nothing came in time."""
        client = http.client.HTTPConnection(*self.http, timeout=10)
        try:
            client.request(method, path, body=body, headers=headers or {})
            answer = client.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            client.close()

    def assert_answers(self, paths=("/healthz", "/metrics", "/v1/hosts", "/")):
        for path in paths:
            self.assert_answered(path, lambda path=path: self.get(path)[0], 200)

    def raw(self, request, wait=True):
        """What is answered to bytes."""
        with socket.create_connection(self.http, timeout=10) as client:
            try:
                client.sendall(request)
                return client.recv(65_536) if wait else b""
            except OSError:
                return b""

    def assert_agents_get_in(self):
        """A real agent has a stream within a few seconds of its start."""
        agent = subprocess.Popen(
            [FAIRLEAD, "agent", "run", "--controller", "%s:%d" % self.agents, "--host", "h0", "--nic", "127.0.0.1",
             "--socket", self.folder / "agent.sock", "--keep-ports", "--segments", self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: json.loads(self.get("/v1/hosts")[1] or "{}").get("hosts", [{}])[0].get("connected"),
                       "the agent is not let in", 30)
        finally:
            agent.kill()
            agent.wait()

    # ---- Connections ----

    def test_silent_connections_keep_no_agent_out(self):
        for _ in range(10):
            self.connect(self.agents, 1_000)
        self.assert_answers(["/healthz"])
        self.assert_agents_get_in()
        self.assertLess(self.descriptors(), DESCRIPTORS / 2)
        for one in self.sockets:
            one.close()
        self.assert_answers(["/healthz"])
        self.assert_agents_get_in()
        self.assert_small()

    def test_health_says_when_agents_cannot_get_in(self):
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
        self.connect(self.agents, 1_400, preface)
        wait_until(lambda: self.get("/healthz")[0] == 503, "1,400 clients had room in 1,024 descriptors", 30)
        self.assertIn(b"agents are not let in", self.get("/healthz")[1])
        for one in self.sockets:
            one.close()
        wait_until(lambda: self.get("/healthz")[0] == 200, lambda: self.get("/healthz"), 60)
        self.assert_agents_get_in()
        self.assert_small()

    def test_silent_and_dripping_clients_of_http_shut_nobody_out(self):
        self.connect(self.http, 2_000)
        self.assert_answers()
        self.connect(self.http, 500, b"GET /v1/hosts HTTP/1.1\r\nX: ")
        ends = threading.Event()

        def drip():
            while not ends.wait(0.2):
                for one in self.sockets[-300:]:
                    try:
                        one.send(b"x")
                    except OSError:
                        pass

        dripper = threading.Thread(target=drip)
        dripper.start()
        try:
            for _ in range(3):
                self.assert_answers()
            # A request has some seconds, however steadily it drips.
            wait_until(lambda: self.descriptors() < 100, lambda: f"{self.descriptors()} descriptors", 30)
        finally:
            ends.set()
            dripper.join()
        self.assert_small()

    def test_answers_that_nobody_takes_hold_nobody_up(self):
        self.connect(self.http, 400, b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assert_answers()
        self.assert_small()

    # ---- Requests ----

    def test_endless_requests_take_no_memory(self):
        begin = b"GET /v1/hosts HTTP/1.1\r\nHost: localhost\r\n"
        for beginning in (b"GET /" + b"a" * 100, begin + b"X: ", begin + b"X: y\r\n" * 50):
            with socket.create_connection(self.http, timeout=10) as client:
                client.sendall(beginning)
                sent = 0
                try:
                    while sent < 20 << 20:
                        sent += client.send(b"Y: " + b"z" * 65_530 + b"\r\n" if beginning.endswith(b"\n") else b"z" * 65_536)
                except OSError:
                    pass  # as it should be
                self.assertLess(sent, 20 << 20, beginning[:40])
        self.assert_answers()
        self.assert_small()

    def test_what_is_refused_is_refused_before_its_body(self):
        token = f"Authorization: Bearer {self.token}\r\n"
        post = "POST /v1/links/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for headers, code in (("Content-Length: 60000\r\n", 403), ("Authorization: Bearer wrong-wrong-wrong\r\nContent-Length: 9\r\n", 401),
                              (token + "Content-Length: 70000\r\n", 413), (token + "Content-Length: 1e3\r\n", 400),
                              (token + "Content-Length: -1\r\n", 400), (token + "Content-Length: 99999999999999999999\r\n", 413),
                              (token + "Transfer-Encoding: chunked\r\n", 411),
                              (token + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 411),
                              (token + "Content-Length: 5\r\nContent-Length: 6\r\n", 400),
                              (token + "Content-Encoding: gzip\r\nContent-Length: 100\r\n", 415),
                              (token + "Content-Length : 5\r\n", 400), (token + " folded: 5\r\n", 400)):
            answer = self.raw((post + headers + "\r\n").encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % code), (headers, answer[:200]))
        self.assertTrue(self.raw(b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 405 "))
        self.assertTrue(self.raw(b"GET / HTTP/2.0\r\n\r\n").startswith(b"HTTP/1.1 505 "))
        # And what is in order is answered, also byte by byte.
        body = b'{"health": 0.5}'
        request = (post + token + f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        with socket.create_connection(self.http, timeout=10) as client:
            for byte in request:
                client.send(bytes([byte]))
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 404 "), "no such link")

    def test_a_page_of_another_site_gets_nothing(self):
        """DNS rebinding: the name of a stranger's page leads to this address."""
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]", "10.0.0.1"):
            for path in ("/v1/hosts", "/", "/metrics", "/healthz"):
                code, body = self.get(path, headers={"Host": host})
                self.assertEqual(code, 421, (host, path))
                self.assertNotIn(b"h0", body)
        for host in ("localhost", "127.0.0.1:%d" % self.http[1], "[::1]:80", "LOCALHOST:1"):
            self.assertEqual(self.get("/v1/hosts", headers={"Host": host})[0], 200, host)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
