#!/usr/bin/env python3
"""The libraries that are loaded into processes of others, on aarch64: they compile there without a warning, need no
newer C library than the first of that machine, show what they show here, and work in a process under qemu.

usage: aarch64_test.py SOURCE_DIR PROFILER_CLIENT LIBRARY SOURCES COMPILE_OPTIONS LINK_OPTIONS ...

The last four of each library: its file on this machine, and what CMake makes it of, with | between the members of a list.
Exit code 77: the compiler for aarch64 is not installed.
"""
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

SOURCE_DIR, PROFILER_CLIENT = map(pathlib.Path, sys.argv[1:3])
CCL = SOURCE_DIR / "src" / "ccl"
LIBRARIES = {pathlib.Path(file).name: (pathlib.Path(file), *(texts.split("|") for texts in lists))
             for file, *lists in (sys.argv[i:i + 4] for i in range(3, len(sys.argv), 4))}
STEER, PROFILER = LIBRARIES
PREFIX, SYSROOT = "aarch64-linux-gnu-", "/usr/aarch64-linux-gnu"
QEMU = shutil.which("qemu-aarch64")
CPLUSPLUS = [PREFIX + "g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
             "-I", SOURCE_DIR / "src"]
HIDDEN = ["-shared", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
PATIENCE_S = 120  # emulated, beside other tests

# shm/steering_messages.h
MAGIC, VERSION, CONNECT, USE = 0x534C4146, 1, 1, 1
QUESTION, OUTCOME, ANSWER = struct.Struct("<IHHQ16s16sHHI64s"), struct.Struct("<IHHiI"), struct.Struct("<IHHHBBBB18x")
# shm/profiler_segment.h: magic, version, bytes, process, rank, its start, the clock's offset, job; 4096: the first
# communicator: its state, its ranks, the own rank, its hosts, its number, its name
HEADER, COMMUNICATOR = struct.Struct("<QIIiiQq64s"), struct.Struct("<IiiiQ48s")
SEGMENT_MAGIC, COMMUNICATOR_AT, LIVE = b"FLAPROF1", 4096, 1


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


def exported(library, prefix=""):
    symbols = (line.split()[-1] for line in output_of(prefix + "nm", "-D", "--defined-only", library).splitlines())
    return sorted(symbol.split("@")[0] for symbol in symbols)


class FakeAgent:
    """Answers questions with a port and a class, and keeps what it was asked and told."""

    def __init__(self, path, port, traffic_class):
        self.questions, self.outcomes = [], []
        self.answer = ANSWER.pack(MAGIC, VERSION, USE, port, 1, traffic_class, 0, 0)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            while packet := client.recv(1024):
                if len(packet) == QUESTION.size:
                    self.questions.append(QUESTION.unpack(packet))
                    client.send(self.answer)
                else:
                    self.outcomes.append(OUTCOME.unpack(packet))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Aarch64Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead."))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # Side by side.
        compilers = [cls.begin(*CPLUSPLUS, *HIDDEN, *compile_options,
                               *(CCL / source for source in sources if source.endswith(".cc")),
                               *(option for option in link_options if not option.startswith("-fuse-ld")),
                               "-Wl,-z,defs", "-o", cls.folder / name)
                     for name, (_, sources, compile_options, link_options) in LIBRARIES.items()]
        compilers.append(cls.begin(*CPLUSPLUS, CCL / "steer" / "steer_test_client.cc", "-o", cls.folder / "connect"))
        compilers.append(cls.begin(*CPLUSPLUS, PROFILER_CLIENT, "-o", cls.folder / "profiled"))
        for compiler in compilers:
            _, errors = compiler.communicate(timeout=PATIENCE_S)
            assert compiler.returncode == 0, errors

    @staticmethod
    def begin(*command):
        return subprocess.Popen(list(map(str, filter(None, command))), stderr=subprocess.PIPE, text=True)

    def emulate(self, environment, program, *arguments):
        if QEMU is None:
            self.skipTest("qemu-aarch64 is not installed")
        settings = [text for name, value in environment.items() for text in ("-E", f"{name}={value}")]
        # The environment of this test has nothing to say to it, and the library is the program's, not qemu's.
        process = subprocess.Popen([QEMU, "-L", SYSROOT, *settings, self.folder / program, *map(str, arguments)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_they_are_of_that_machine_and_need_its_first_c_library_alone(self):
        for name in LIBRARIES:
            with self.subTest(name):
                library = self.folder / name
                self.assertIn("AArch64", output_of(PREFIX + "readelf", "-h", library))
                needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of(PREFIX + "readelf", "-d", library))
                self.assertEqual(needed, ["libc.so.6"])
                versions = set(re.findall(r"\b(GLIBC\w*_[\d.]+|GLIBC_\w+)", output_of(PREFIX + "objdump", "-p", library)))
                self.assertEqual(versions, {"GLIBC_2.17"}, "with which aarch64 begins")

    def test_they_show_what_they_show_here(self):
        for name, (here, *_) in LIBRARIES.items():
            with self.subTest(name):
                symbols = exported(here)
                self.assertTrue(symbols)
                self.assertEqual(exported(self.folder / name, PREFIX), symbols)

    def test_a_connection_gets_the_port_and_the_class_of_the_answer(self):
        port = free_port()
        agent = FakeAgent(self.folder / "agent.sock", port, 0xB8)
        with socket.create_server(("127.0.0.1", 0)) as peer:
            peer_port = peer.getsockname()[1]
            client = self.emulate({"LD_PRELOAD": self.folder / STEER, "FAIRLEAD_JOB": "gpt",
                                   "FAIRLEAD_AGENT_SOCKET": self.folder / "agent.sock",
                                   "FAIRLEAD_STEER_DEADLINE_MS": PATIENCE_S * 1000}, "connect", "connect", "127.0.0.1",
                                  peer_port)
            output, errors = client.communicate(timeout=PATIENCE_S)
            self.assertEqual(client.returncode, 0, errors)
            connection, (_, source_port) = peer.accept()
            connection.close()
        self.assertEqual(output.split()[:4], ["127.0.0.1", str(port), str(0xB8), "0"])
        self.assertEqual(source_port, port)
        (magic, version, kind, inode, _, destination, asked_port, to_port, _, job), = agent.questions
        self.assertEqual((magic, version, kind, asked_port, to_port), (MAGIC, VERSION, CONNECT, 0, peer_port))
        self.assertEqual((destination, job.rstrip(b"\0")), (bytes(10) + b"\xff\xff\x7f\0\0\1", b"gpt"))
        self.assertNotEqual(inode, 0, "struct stat is where the kernel writes it")

    def test_a_connection_without_an_agent_is_as_the_program_asked(self):
        with socket.create_server(("127.0.0.1", 0)) as peer:
            client = self.emulate({"LD_PRELOAD": self.folder / STEER, "FAIRLEAD_JOB": "gpt",
                                   "FAIRLEAD_AGENT_SOCKET": self.folder / "nobody.sock"}, "connect", "connect",
                                  "127.0.0.1", peer.getsockname()[1])
            output, errors = client.communicate(timeout=PATIENCE_S)
        self.assertEqual(client.returncode, 0, errors)
        self.assertEqual(output.split()[2:4], ["0", "0"])

    def test_the_profiler_writes_the_segment_that_the_agent_reads_here(self):
        folder = self.folder / "segments"
        folder.mkdir()
        client = self.emulate({"FAIRLEAD_JOB": "gpt", "FAIRLEAD_SHM_FOLDER": folder, "RANK": 3}, "profiled",
                              self.folder / PROFILER)
        self.assertEqual(client.stdout.readline(), "ready\n", client.poll() and client.stderr.read())
        segment = next(folder.iterdir()).read_bytes()
        magic, version, size, pid, rank, start, _, job = HEADER.unpack_from(segment)
        self.assertEqual((struct.pack("<Q", magic), version, size, rank), (SEGMENT_MAGIC, 1, len(segment), 3))
        self.assertEqual((pid, job.rstrip(b"\0")), (client.pid, b"gpt"))
        self.assertGreater(start, 0)
        state, num_ranks, own, num_hosts, number, name = COMMUNICATOR.unpack_from(segment, COMMUNICATOR_AT)
        self.assertEqual((state, num_ranks, own, num_hosts, number, name.rstrip(b"\0")), (LIVE, 8, 3, 2, 7, b"ring"))
        output, errors = client.communicate(timeout=PATIENCE_S)
        self.assertEqual((client.returncode, output), (0, "done\n"), errors)


if __name__ == "__main__":
    if shutil.which(PREFIX + "g++") is None:
        print(f"{PREFIX}g++ is not installed")
        sys.exit(77)
    os.environ["LC_ALL"] = "C"
    unittest.main(argv=sys.argv[:1])
