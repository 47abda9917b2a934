"""Telemetry of a training process, written by hand as the profiler plugin does (shm/profiler_segment.h)."""
import os
import pathlib
import struct
import time

MAGIC, VERSION = b"FLAPROF1", 1
HEADER = struct.Struct("=8sIIiiQq64sIIQ")  # up to num_operations
COMMUNICATOR = struct.Struct("=IiiiQ48sQqqq")
OPERATION = struct.Struct("=QQQQHBBi16s8s8sqqQqQIIq")
CONNECTION = struct.Struct("=QIIQQqqqqqq20IIIqq")
NUM_COMMUNICATORS, NUM_OPERATIONS, NUM_CONNECTIONS = 512, 8192, 8192
COMMUNICATORS_AT = 4096
OPERATIONS_AT = COMMUNICATORS_AT + NUM_COMMUNICATORS * COMMUNICATOR.size
CONNECTIONS_AT = OPERATIONS_AT + NUM_OPERATIONS * OPERATION.size
BYTES = CONNECTIONS_AT + NUM_CONNECTIONS * CONNECTION.size
assert (COMMUNICATOR.size, OPERATION.size, CONNECTION.size) == (104, 128, 184)

NUM_RANKS = 1 << 16
NO_OFFSET = (1 << 63) - 1
LIVE, SEND_ON_WIRE = 1, 3


def segment(job, is_full=False):
    """Of this process, on one communicator. Full: with as many operations and connections as fit, all under way."""
    start = int(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    now = time.monotonic_ns()
    written = bytearray(BYTES)
    HEADER.pack_into(written, 0, MAGIC, VERSION, BYTES, os.getpid(), -1, start, time.time_ns() - now, job.encode(), 0,
                     1, NUM_OPERATIONS if is_full else 0)
    COMMUNICATOR.pack_into(written, COMMUNICATORS_AT, LIVE, NUM_RANKS, 0, 1, os.getpid(), b"world", 0, NO_OFFSET,
                           NO_OFFSET, 0)
    for i in range(NUM_OPERATIONS if is_full else 0):
        OPERATION.pack_into(written, OPERATIONS_AT + i * OPERATION.size, i + 1, i, i, 250, 0, 0, 1, -1, b"ncclFloat32",
                            b"", b"", now, 0, 0, 0, 0, 0, 0, 0)
    for i in range(NUM_CONNECTIONS if is_full else 0):
        CONNECTION.pack_into(written, CONNECTIONS_AT + i * CONNECTION.size, 1 << 63 | 1 << 32 | i, 0, 1, 5, 1000, 1000,
                             0, 0, 1, 1, 0, *[1] * 20, SEND_ON_WIRE, 0, now, now)
    return bytes(written)
