"""Attacks on a running agent, by another user of its host: meanwhile a process that asks for a path is answered within
a second, the controller hears the agent, and nobody who lives is taken for dead.

Usage: agent_attack_test.py FAIRLEAD SOURCE_DIR
"""

import collections
import json
import multiprocessing
import os
import re
import resource
import signal
import socket
import sys
import time
import unittest

from attacked_daemon import DESCRIPTORS, AttackedDaemon, with_few_descriptors
from agent_questions import USE, ask, kind_of, question
from hand_made_segment import segment
from patience import PATIENCE_S, fetch, wait_until

FORK = multiprocessing.get_context("fork")
ATTACKER, HONEST = 65_534, 61_234  # users
HELD = 1_000  # connections of each attacker; the agent has places for 512 of a process, and 1,024 of a user
NUM_FILES = 6_000  # of one user; the agent looks at 512
ELSEWHERE = "127.0.1.1"
QUESTION = question(ELSEWHERE, "theirs")
# What each of eight attackers says on its connections, in turn. Who has asked keeps his place for longest.
SAID = ([b""], [b""], [QUESTION], [QUESTION], [QUESTION], [QUESTION, b""], [QUESTION[:60], QUESTION + b"more"],
        [os.urandom(len(QUESTION)), question(ELSEWHERE, version=9), question(ELSEWHERE, "../no name")])


# ---- What other processes do ----


def hold_connections(path, said, niceness, is_full):
    """As many as it may have; then new ones take the place of the oldest."""
    os.nice(niceness)
    held = collections.deque()
    for number in range(1 << 62):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.setblocking(False)
        held.append(one)
        try:
            one.connect(path)
            if packet := said[number % len(said)]:
                one.send(packet)
        except OSError:
            held.pop().close()  # the agent's queue is full, or it has hung up
        if len(held) == HELD:
            is_full.release()
            held.popleft().close()


def train(folder):
    unnamed = folder / f"unnamed-{os.getpid()}"
    unnamed.write_bytes(segment("gpt"))
    unnamed.rename(folder / f"fairlead-{os.getpid()}")
    signal.pause()


def repeat_segment(folder, is_full):
    """One file, and as many names of it."""
    path = folder / f"fairlead-{os.getpid()}"
    path.write_bytes(segment("theirs", is_full))
    for i in range(NUM_FILES // 10):
        os.link(path, f"{path}.{i:x}0")
    signal.pause()


def link_often(path):
    for i in range(NUM_FILES):
        os.link(path, path.with_name(f"fairlead-{4_000_000 + i}"))
    signal.pause()


def litter(folder, victim, secret, careless):
    """With all that a name can stand for, a file that changes all the time, and a job and a process of a victim."""
    own = segment("gpt")
    mine = folder / f"fairlead-{os.getpid()}"
    mine.touch()
    for i in range(0, NUM_FILES, 8):
        os.link(mine, f"{mine}.{i:x}a")
        os.symlink(secret, f"{mine}.{i:x}b")
        os.link(careless, f"{mine}.{i:x}c")
        os.mkfifo(f"{mine}.{i:x}d")
        os.mkdir(f"{mine}.{i:x}e")
        with open(f"{mine}.{i:x}f", "wb") as huge:
            huge.truncate(1 << 40)
        with open(folder / f"fairlead-{victim}.{i:x}", "wb") as other:
            other.write(own[:4096])
            other.truncate(len(own))
        with open(folder / f"fairlead-{4_000_000 + i}", "wb") as nobodys:
            nobodys.write(os.urandom(100))
    (folder / "littered").touch()
    while True:
        for size in (len(own), len(own) // 2, 0):
            with open(mine, "wb") as changing:
                changing.write(own[:size])


# ---- The attacks ----


@unittest.skipIf(os.geteuid() != 0, "only root can start processes of several users")
class AgentAttackTest(AttackedDaemon):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o711)
        self.segments = self.folder / "segments"
        self.segments.mkdir()
        self.segments.chmod(0o1777)
        self.socket = str(self.folder / "agent.sock")
        self.start_controller()

    def start_controller(self):
        self.controller, _, page = super().start_controller("--listen", f"unix:{self.folder}/controller.sock")
        self.page = "http://" + page

    def start_agent(self, **how):
        self.process, connected, self.log = self.start_daemon(
            "connected to the controller", "agent", "run", "--controller", f"unix:{self.folder}/controller.sock",
            "--host", "h0", "--nic", "127.0.0.1", "--socket", self.socket, "--keep-ports", "--segments", self.segments,
            **how)
        self.assertTrue(connected, self.log.read_text())
        self.idle_mb = self.memory_mb()
        self.num_descriptors = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)[0]

    def start_as(self, user, do, *args):
        def run():
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            do(*args)

        process = FORK.Process(target=run)
        process.start()
        self.addCleanup(process.join)
        self.addCleanup(process.kill)
        return process

    def hold_connections(self, niceness=19):
        """Returns when each attacker has had all of its connections. They are nice: how the kernel shares processors is
        not for the agent to prevent."""
        are_full = [FORK.Semaphore(0) for _ in SAID]
        for said, is_full in zip(SAID, are_full):
            self.start_as(ATTACKER, hold_connections, self.socket, said, niceness, is_full)
        for is_full in are_full:
            self.assertTrue(is_full.acquire(timeout=PATIENCE_S), "an attacker gets no connections")

    def segment_of(self, process):
        return self.segments / f"fairlead-{process.pid}"

    def start_training(self, user, count=1):
        processes = [self.start_as(user, train, self.segments) for _ in range(count)]
        wait_until(lambda: all(self.segment_of(one).exists() for one in processes), "no segments are written")
        return processes

    def host(self):
        return json.loads(fetch(self.page + "/v1/hosts")[1])["hosts"][0]

    def num_streams(self):
        return int(re.search(r"^fairlead_streams_opened_total (\d+)$", fetch(self.page + "/metrics")[1], re.M)[1])

    def assert_paths_are_given(self, count=20):
        """As often as that, one after the other."""
        def kind():
            try:
                return kind_of(ask(self.socket, question(ELSEWHERE), 3))
            except OSError as error:
                time.sleep(0.05)
                return str(error)

        for _ in range(count):
            self.assert_answered("a path", kind, USE)

    def assert_is_heard(self):
        """By the controller, from now on."""
        now = time.time()
        wait_until(lambda: self.host()["connected"] and self.host()["last_message_s"] > now, self.log.read_text)

    def assert_deaths_are_seen(self, processes):
        """Of an agent that looks at all segments: it takes away those of the dead, and has all it needs meanwhile."""
        for process in processes:
            process.kill()
            process.join()

        def are_seen():
            self.assert_small()
            self.assertLess(self.descriptors(), self.num_descriptors - 16, "none are left for the rest of the agent")
            self.assertNotIn(f"user {HONEST} has more", self.log.read_text())
            return not any(self.segment_of(process).exists() for process in processes)

        wait_until(are_seen, self.log.read_text)

    def assert_lives(self, processes):
        for process in processes:
            self.assertTrue(self.segment_of(process).exists(), "taken for dead")
        self.assertEqual(json.loads(fetch(self.page + "/v1/findings")[1])["findings"], [])

    def test_held_connections_keep_nobody_from_the_socket(self):
        self.start_agent()
        living = self.start_training(HONEST)
        self.hold_connections()
        self.assert_paths_are_given(50)
        self.assert_is_heard()
        self.assertEqual(self.num_streams(), 1)
        self.assert_lives(living)
        self.assert_small()

    def test_with_few_descriptors_it_keeps_its_stream_and_all_that_live(self):
        self.start_agent(preexec_fn=with_few_descriptors)
        living = self.start_training(HONEST) + self.start_training(0)
        self.hold_connections()
        self.assert_paths_are_given()
        self.assert_is_heard()
        self.assertEqual(self.num_streams(), 1)
        # What a stream needs anew is there, too.
        self.controller.kill()
        self.controller.wait()
        self.start_controller()
        self.assert_is_heard()
        self.assert_paths_are_given()
        self.assert_deaths_are_seen(self.start_training(HONEST))
        self.assert_lives(living)

    def test_a_folder_full_of_anything_hides_nothing_and_leads_nowhere(self):
        self.start_agent()
        living = self.start_training(HONEST)
        secret, careless = self.folder / "secret", self.folder / "careless"
        for path, mode in ((secret, 0o600), (careless, 0o666)):
            path.write_text("root's")
            path.chmod(mode)
        before = [path.stat() for path in (secret, careless)]
        attacker = self.start_as(ATTACKER, litter, self.segments, living[0].pid, secret, careless)
        wait_until((self.segments / "littered").exists, "the attacker does not litter")
        for _ in range(2):
            self.assert_deaths_are_seen(self.start_training(HONEST, 4))
            attacker.kill()  # then it has to do with files of a dead process
            attacker.join()
        self.assert_paths_are_given(1)
        self.assert_lives(living)
        for path, was in zip((secret, careless), before):
            self.assertEqual(path.read_text(), "root's")
            self.assertEqual((path.stat().st_mtime_ns, path.stat().st_mode), (was.st_mtime_ns, was.st_mode))

    def test_segments_that_are_full_take_no_memory(self):
        self.start_agent()
        self.start_as(ATTACKER, repeat_segment, self.segments, True)
        self.assert_deaths_are_seen(self.start_training(HONEST))
        self.assert_paths_are_given(1)

    def test_segments_of_one_user_take_no_descriptors_of_others(self):
        self.start_agent(preexec_fn=with_few_descriptors)
        living = self.start_training(HONEST)
        self.start_as(ATTACKER, repeat_segment, self.segments, False)
        self.hold_connections()
        for _ in range(3):
            self.assert_deaths_are_seen(self.start_training(HONEST))
        self.assert_paths_are_given()
        self.assert_is_heard()
        self.assert_lives(living)

    def test_links_to_a_file_of_a_user_hide_none_of_his(self):
        self.start_agent()
        careless = self.segments / "careless"
        careless.touch(0o666)
        careless.chmod(0o666)
        os.chown(careless, HONEST, HONEST)
        self.start_as(ATTACKER, link_often, careless)
        wait_until(lambda: careless.stat().st_nlink > 1_000, "the attacker makes no links")
        self.assert_deaths_are_seen(self.start_training(HONEST, 4))

    def test_a_flood_of_connections_leaves_time_for_the_rest(self):
        """Which the agent shows by telling the service manager that it is alive."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.setblocking(False)
            environment = {**os.environ, "NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "900000"}
            self.start_agent(env=environment)
            self.hold_connections(niceness=0)
            beats = []

            def is_alive():
                try:
                    beats.append(manager.recv(100))
                except BlockingIOError:
                    return len(beats) >= 20
                return False

            wait_until(is_alive, lambda: f"{len(beats)} signs of life", 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
