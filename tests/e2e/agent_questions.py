"""Asking the agent of a host about a connection, as a training process does (shm/steering_messages.h)."""
import socket
import struct

from patience import PATIENCE_S

MAGIC, VERSION = 0x534C4146, 1
CONNECT, USE, LEAVE = 1, 1, 2


def mapped(address):
    return b"\0" * 10 + b"\xff\xff" + socket.inet_aton(address)


def question(destination, job="gpt", version=VERSION):
    """SteeringQuestion, of a socket whose source is open."""
    return struct.pack("=IHHQ16s16sHHI64s", MAGIC, version, CONNECT, 4711, b"\0" * 16, mapped(destination), 0, 5001, 0,
                       job.encode())


def ask(path, packet, patience_s=PATIENCE_S):
    """The answer; b"": the agent has hung up. Raises OSError: its queue is full (at once), or nothing came in time."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(patience_s)
        client.connect(path)
        client.send(packet)
        return client.recv(100)


def kind_of(answer):
    """USE or LEAVE; None: it is none."""
    return struct.unpack_from("=IHH", answer)[2] if len(answer) >= 8 else None
