"""Headless Chromium, driven over its debugging protocol: a WebSocket client of what that needs (RFC 6455)."""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

PATIENCE_S = 30


def find_browser():
    return shutil.which("chromium") or shutil.which("google-chrome")


class WebSocket:
    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=PATIENCE_S)
        self.stream = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        status = self.stream.readline()
        assert b" 101 " in status, status
        while self.stream.readline() not in (b"\r\n", b""):
            pass

    def send(self, text):
        payload = text.encode()
        size = len(payload)
        head = bytes([0x81, 0x80 | size]) if size < 126 else struct.pack("!BBH", 0x81, 0xFE, size) if size < 65536 else \
            struct.pack("!BBQ", 0x81, 0xFF, size)
        # A mask of zeros is one, too.
        self.socket.sendall(head + b"\0\0\0\0" + payload)

    def receive(self):
        text = b""
        while True:
            first, second = self.stream.read(2)
            size = second & 0x7F
            if size >= 126:
                size = struct.unpack("!H" if size == 126 else "!Q", self.stream.read(2 if size == 126 else 8))[0]
            payload = self.stream.read(size)
            if first & 0x0F in (0, 1):
                text += payload
                if first & 0x80:
                    return text.decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class Browser:
    """One Chromium with one page. `complaints`: what it wrote to its console as errors or warnings, and exceptions."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fairlead.")
        self.process = subprocess.Popen(
            [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-port=0", "--enable-precise-memory-info",
             "--remote-allow-origins=*", f"--user-data-dir={self.folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "TMPDIR": self.folder})
        port_file = pathlib.Path(self.folder, "DevToolsActivePort")
        end = time.monotonic() + PATIENCE_S
        while not port_file.exists() or "\n" not in port_file.read_text():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("Chromium does not start")
            time.sleep(0.05)
        port = port_file.read_text().splitlines()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE_S) as answer:
            pages = json.load(answer)
        self.socket = WebSocket(next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"))
        self.number = 0
        self.complaints = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        # Its children may outlive it, and write.
        end = time.monotonic() + PATIENCE_S
        while os.path.exists(self.folder) and time.monotonic() < end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            shutil.rmtree(self.folder, ignore_errors=True)
            time.sleep(0.03)

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                assert "error" not in message, (method, message)
                return message["result"]
            self._note(message)

    def _note(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif message.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([argument.get("value") for argument in parameters["args"]]))
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, patience_s=PATIENCE_S):
        end = time.monotonic() + patience_s
        while not self.evaluate(f"Boolean({expression})"):  # a node itself would come as {}
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}\n{self.evaluate('document.body.innerText')[:4000]}")
            time.sleep(0.03)


    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def set_size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def press(self, key):
        codes = {"Enter": (13, "\r"), "Tab": (9, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "ArrowLeft": (37, ""), "Escape": (27, "")}
        code, text = codes[key]
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, code=key, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector, times=1):
        """With the mouse, where the element is. `times`: as one double click has it."""
        place = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
                              "e.scrollIntoView({block: 'center'}); const b = e.getClientRects()[0];"
                              "return [b.x + Math.min(b.width, 40) / 2, b.y + b.height / 2]; })()")
        if place is None:
            raise AssertionError(f"there is no {selector}\n{self.evaluate('document.body.innerText')[:3000]}")
        for number in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=number)

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))
