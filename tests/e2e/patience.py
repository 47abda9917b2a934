"""Waiting for what other processes do, as long as a busy machine may need."""
import http.client
import os
import pathlib
import socket
import time
import urllib.error
import urllib.request

PATIENCE_S = 120


def wait_until(is_so, tell, patience_s=PATIENCE_S):
    """Polls. Fails with what `tell` returns, or is."""
    end = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(tell() if callable(tell) else tell)
        time.sleep(0.1)


def fetch(url, data=None, headers=None):
    """Status and text of the answer. Asks until there is one: the controller gives up whoever says nothing for a second
    after connecting, and on a busy machine that may be somebody who was about to ask. So only for what may be done twice."""
    request = urllib.request.Request(url, data=data, headers=headers or {})
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def wait_until_gone(text):
    """Until no process has it in its command."""
    def commands():
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
                except OSError:
                    pass  # it has just ended
        return [command for command in found if text in command]

    wait_until(lambda: not commands(), lambda: f"live on: {commands()}")


def free_port():
    """Free on all addresses, and none of those that the kernel gives to whoever asks for none: nobody takes it by chance
    before it is used. Each process begins elsewhere."""
    first, last = 10_000, 32_767
    for i in range(last - first + 1):
        port = first + (os.getpid() * 64 + free_port.num_given + i) % (last - first + 1)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        free_port.num_given += i + 1
        return str(port)
    raise AssertionError("there is no free port")


free_port.num_given = 0
