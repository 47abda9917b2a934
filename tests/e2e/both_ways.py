"""One TCP connection that carries data both ways for as long as it is let, as Gloo's do.

usage: both_ways.py listen|connect NAME    of the host that listens
"""
import socket
import sys
import threading
import time

PORT = 5001
PATIENCE_S = 30


def connection_of(role, name):
    if role == "listen":
        return socket.create_server((name, PORT)).accept()[0]
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((name, PORT))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def receive(connection):
    while connection.recv(1 << 20):
        pass


def main():
    connection = connection_of(*sys.argv[1:])
    threading.Thread(target=receive, args=[connection], daemon=True).start()
    while True:
        connection.sendall(b"x" * 65536)


if __name__ == "__main__":
    main()
