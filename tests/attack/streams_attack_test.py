"""Attacks on a running controller by agents of somebody else's making: gRPC clients that are not ours (grpcio), with
protobuf's own code for messages. They say all that the schema can hold, and what it can't: as hosts of the fabric, as
each other, without a hello, in batches of one byte and of eight MiB, and leave in the middle. Meanwhile the controller
answers over HTTP within a second; afterwards an honest client of the same kind gets its path.

Usage: streams_attack_test.py FAIRLEAD SOURCE_DIR
"""

import collections
import importlib
import json
import os
import pathlib
import queue
import random
import re
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

from attacked_daemon import FAIRLEAD, AttackedDaemon
from patience import PATIENCE_S, wait_until

try:
    import google.protobuf.descriptor
    import grpc
except ImportError as missing:
    print(f"skipped: {missing.name} is not there (Debian: python3-grpcio, python3-protobuf)")
    sys.exit(77)

SOURCE_DIR = pathlib.Path(sys.argv[2])
METHOD = "/fairlead.v1.AgentService/Attach"
PROTOCOL_VERSION = 4
HOSTS = {"h0": "127.0.0.1", "h1": "127.0.1.1"}
ATTACKERS = 6
ATTACK_S = 10.0
SEED = int(os.environ.get("FAIRLEAD_ATTACK_SEED", "1"))

GOOD_TEXTS = ["gpt", "gpt@1000", "gpt@1000.slurm-7", "bert"]
BAD_TEXTS = ["", "a" * 255, "b" * 256, "a\nb", "\0", "训练", "h9", "../x"]
GOOD_ADDRESSES = [socket.inet_aton(address) for address in HOSTS.values()]
BAD_ADDRESSES = [b"", b"\0" * 3, b"\0" * 4, b"\xff" * 16, socket.inet_aton("10.9.9.9")]
BAD_REALS = [0.0, -1.0, 1e-300, 1e308, float("inf"), float("nan")]


def fill(message, chance, is_wild, depth=0):
    """Values that another agent could say; where `is_wild`, borders and nonsense among them."""
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof is not None and len(field.containing_oneof.fields) > 1:
            continue
        if is_wild and chance.random() < 0.15:
            continue
        is_list = field.label == field.LABEL_REPEATED
        for _ in range(chance.choice([0, 1, 1, 2, 3]) if is_list else 1):
            if field.type == field.TYPE_MESSAGE:
                if depth < 4:
                    owner = getattr(message, field.name)
                    fill(owner.add() if is_list else owner, chance, is_wild, depth + 1)
                continue
            value = any_value(field, chance, is_wild and chance.random() < 0.3)
            if is_list:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)


def any_value(field, chance, is_bad):
    kind = field.cpp_type
    if kind == field.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if field.type == field.TYPE_BYTES:
        return chance.choice(BAD_ADDRESSES if is_bad else GOOD_ADDRESSES)
    if kind == field.CPPTYPE_STRING:
        return chance.choice(BAD_TEXTS if is_bad else GOOD_TEXTS)
    if kind in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        return chance.choice(BAD_REALS) if is_bad else chance.uniform(0.01, 0.99)
    if kind == field.CPPTYPE_ENUM:
        return chance.choice([one.number for one in field.enum_type.values if is_bad or one.number != 0])
    if not is_bad:
        return chance.choice([0, 0, 1, 1, 2])
    bits = 64 if kind in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64) else 32
    if kind in (field.CPPTYPE_INT32, field.CPPTYPE_INT64):
        return chance.choice([6, 17, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))])
    return chance.choice([3, 6, 17, 5000, 2 ** bits - 1])


class StreamsAttackTest(AttackedDaemon):
    def setUp(self):
        super().setUp()
        subprocess.run(["protoc", f"--python_out={self.folder}", "-I", SOURCE_DIR / "api", "fairlead/v1/agent.proto"],
                       check=True)
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        self.v1 = importlib.import_module("fairlead.v1.agent_pb2")
        self.process, self.agents, self.http = self.start_controller("--listen", "127.0.0.1:0")
        self.idle_mb = self.memory_mb()
        self.ends = collections.Counter()  # of streams, by what was said of them

    # ---- Messages ----

    def batch(self, *messages):
        batch = self.v1.AgentBatch()
        for kind, fields in messages:
            getattr(batch.messages.add(), kind).SetInParent()
            getattr(batch.messages[-1], kind).MergeFrom(fields)
        return batch.SerializeToString()

    def hello(self, host):
        return ("hello", self.v1.HostHello(protocol_version=PROTOCOL_VERSION, host=host, agent_version="1",
                                           nics=[socket.inet_aton(HOSTS[host])], can_test=True))

    def any_message(self, chance, host):
        """Mostly about a few connections and jobs, so that the liars meet in what they speak about."""
        message = self.v1.AgentMessage()
        field = chance.choice(message.DESCRIPTOR.oneofs_by_name["kind"].fields)
        if field.name == "hello" and chance.random() < 0.95:
            return "heartbeat", self.v1.Heartbeat(num_leases=chance.randrange(3))
        value = getattr(message, field.name)
        value.SetInParent()
        is_wild = chance.random() < 0.02
        fill(value, chance, is_wild)
        if not is_wild:
            self.make_plausible(value, chance, host)
        return field.name, value

    def make_plausible(self, value, chance, host):
        """Keeps the laws between fields that a reader insists on, and the host to its own NICs."""
        if isinstance(value, self.v1.PathsWanted):
            for wanted in value.connections:
                self.connect(wanted, chance, host)
        elif isinstance(value, self.v1.ConnectionsHeld):
            for held in value.connections:
                self.connect(held.wanted, chance, host)
                del held.queue_pairs[1:], held.socket_ports[:]
                held.socket_ports.extend(chance.randrange(1, 65_536) for _ in held.queue_pairs)
        elif isinstance(value, (self.v1.ConnectionOpened, self.v1.MoveRefused)):
            value.connection = chance.randrange(1, 30)
        elif isinstance(value, self.v1.JobMeasured):
            del value.connection_bytes[:]
            value.connection_bytes.extend(chance.randrange(1 << 30) for _ in value.connections)
        elif isinstance(value, self.v1.ProbesFinished):
            for scan in value.scans:
                scan.source = socket.inet_aton(HOSTS[host])
                for route in scan.routes:
                    route.lost = min(route.lost, route.sent)
        elif isinstance(value, self.v1.ProcessesSeen):
            for process in value.processes:  # without these there is no law to break
                del process.operations[:], process.progress[:], process.connections[:]

    @staticmethod
    def connect(wanted, chance, host):
        there = chance.choice([other for other in HOSTS if other != host])
        wanted.connection = chance.randrange(1, 30)
        wanted.source, wanted.destination = socket.inet_aton(HOSTS[host]), socket.inet_aton(HOSTS[there])
        wanted.num_queue_pairs, wanted.weight, wanted.protocol, wanted.destination_port = 1, 1, 6, 5001

    def any_batch(self, chance, host):
        draw = chance.random()
        if draw < 0.005:
            return chance.randbytes(chance.choice([0, 1, 7, 1000]))
        if draw < 0.008:
            return chance.randbytes(8 << 20)
        if draw < 0.01:  # four million empty messages
            return b"\x0a\0" * (4 << 20)
        bytes_ = self.batch(*(self.any_message(chance, host) for _ in range(chance.choice([1, 1, 2, 20]))))
        if draw < 0.02:
            bytes_ = bytearray(bytes_)
            bytes_[chance.randrange(len(bytes_))] = chance.randrange(256)
        return bytes(bytes_)

    # ---- Streams ----

    def attach(self, channel, batches):
        return channel.stream_stream(METHOD)(batches)

    def attack(self, number, until, counts):
        """The first two are the fabric's hosts; the others greet as one of them now and then, which ends its stream."""
        chance = random.Random(f"{SEED}/{number}")
        hosts = list(HOSTS)
        while time.monotonic() < until:
            host = hosts[number] if number < len(hosts) else chance.choice(hosts)
            greets = number < len(hosts) or chance.random() < 0.1
            listens = chance.random() < 0.7
            size = chance.choice([10, 300, 1000] if number < len(hosts) else [0, 1, 10])

            def batches(host=host, greets=greets, size=size):
                if greets:
                    yield self.batch(self.hello(host))
                for _ in range(size):
                    if time.monotonic() > until:
                        return
                    counts[number] += 1
                    yield self.any_batch(chance, host)

            with grpc.insecure_channel(self.agents) as channel:
                try:
                    call = self.attach(channel, batches())
                    if not listens:
                        time.sleep(chance.random())
                        call.cancel()
                    for answer in call if listens else ():
                        self.note_refusals(answer)
                except grpc.RpcError as error:
                    self.note_end(error.details() or str(error.code()))

    def note_refusals(self, answer):
        for message in self.v1.ControllerBatch.FromString(answer).messages:
            if message.WhichOneof("kind") == "refused":
                self.note_end(message.refused.reason)

    def note_end(self, why):
        self.ends[re.sub(r"\d+", "N", why)] += 1

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.http}{path}", timeout=10) as answer:
            return answer.status, answer.read()

    def ask_honestly(self):
        """What a client that keeps to the protocol is answered: the connection of a job that is in no lie."""
        said = queue.Queue()
        said.put(self.batch(self.hello("h0")))
        answer = None
        with grpc.insecure_channel(self.agents) as channel:
            call = self.attach(channel, iter(said.get, None))
            timer = threading.Timer(PATIENCE_S, call.cancel)
            timer.start()
            for bytes_ in call:
                for message in self.v1.ControllerBatch.FromString(bytes_).messages:
                    kind = message.WhichOneof("kind")
                    if kind == "announcement_wanted":
                        said.put(self.batch(("announcement_finished", self.v1.AnnouncementFinished())))
                    elif kind == "welcome":
                        wanted = self.v1.PathsWanted(request=77, job="honest")
                        self.connect(wanted.connections.add(), random.Random(SEED), "h0")
                        wanted.connections[0].connection = 2 ** 40 + 1
                        wanted.connections[0].pid = 4711
                        said.put(self.batch(("paths_wanted", wanted)))
                    elif kind == "paths_answered" and message.paths_answered.request == 77:
                        answer = message.paths_answered
                if answer is not None:
                    pids = {one["pid"] for one in json.loads(self.get("/v1/connections?job=honest")[1])["connections"]}
                    self.assertEqual(pids, {4711})
                    break
            timer.cancel()
            said.put(None)
            call.cancel()
        return answer

    def test_what_agents_say_ends_nothing(self):
        until = time.monotonic() + ATTACK_S
        counts = [0] * ATTACKERS
        attackers = [threading.Thread(target=self.attack, args=(number, until, counts)) for number in range(ATTACKERS)]
        for attacker in attackers:
            attacker.start()
        while time.monotonic() < until:
            self.assert_answered("/healthz", lambda: self.get("/healthz")[0], 200)
            time.sleep(0.5)
        for attacker in attackers:
            attacker.join()
        self.assertTrue(all(count > 0 for count in counts), counts)
        heard = int(re.search(rb"\nfairlead_messages_received_total (\d+)", self.get("/metrics")[1])[1])
        self.assertGreater(heard, 1_000, f"few messages could be read: {self.ends.most_common(9)}")
        self.assert_small()
        for path in ("/v1/jobs", "/v1/links", "/v1/hosts", "/v1/findings", "/v1/events", "/v1/connections", "/metrics"):
            self.assertEqual(self.get(path)[0], 200, path)
        # A liar's stream may be believed until it is seen to be gone.
        wait_until(self.ask_honestly, "an honest agent has no answer", 60)
        answer = self.ask_honestly()
        self.assertEqual(answer.connections[0].connection, 2 ** 40 + 1)
        self.assertEqual(answer.connections[0].reason, "")
        self.assertEqual(len(answer.connections[0].queue_pairs), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
