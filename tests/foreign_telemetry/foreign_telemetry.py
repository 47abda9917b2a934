"""An independent generator of telemetry, to judge the diagnosis by jobs that its own simulator does not know.

Nothing here is shared with src/execution. A rank is a host program (a Python generator) that enqueues kernels,
collectives, sends and receives on CUDA-like streams, possibly iterations ahead of the GPU; streams are queues; the
network is a table of slowness per NIC side and connection. Messages have NCCL's sizes. Only the format of the recording
(docs/internals/modules/diagnosis.md) is common ground.
"""

import heapq
import json
import math
import random
from collections import defaultdict, deque

SECOND = 1_000_000_000
KINDS = {"all_reduce": 0, "all_gather": 1, "reduce_scatter": 2, "all_to_all": 5, "send": 6, "receive": 7, "barrier": 8}
WAITS_FOR_GPU, WAITS_FOR_PEER, ON_WIRE, POSTED, RECEIVER_WAITS_FOR_GPU = 1, 2, 3, 4, 6
NUM_BINS = 20


class Network:
    """How long bytes take from one rank to another, and what makes them slow."""

    def __init__(self, job, rng):
        self.job, self.rng = job, rng
        self.gbps = job.get("gbps", 400)
        self.cv = job.get("wire_cv", 0.05)
        self.pareto = job.get("pareto", 0)
        self.neighbours = {}  # (source, destination) -> intervals with a factor
        self.jitter = {}

    def neighbour_factor(self, key, now):
        options = self.job.get("neighbours")
        if not options:
            return 1.0
        spans = self.neighbours.setdefault(key, [0.0, 0.0, 1.0])
        while spans[1] <= now:
            begin = spans[1] + self.rng.expovariate(1 / options["off_s"])
            spans[0], spans[1] = begin, begin + self.rng.expovariate(1 / options["on_s"])
            spans[2] = self.rng.uniform(1.3, options.get("factor", 2.5))
        return spans[2] if now >= spans[0] else 1.0

    def nic_jitter(self, rank, now):
        sigma = self.job.get("nic_jitter", 0)
        if not sigma:
            return 1.0
        state = self.jitter.get(rank)
        step = int(now / 2)
        if state is None or state[0] != step:
            before = state[1] if state else 0.0
            state = (step, 0.6 * before + 0.8 * self.rng.gauss(0, sigma))
            self.jitter[rank] = state
        return math.exp(state[1])

    def factor(self, source, destination, now):
        value = self.neighbour_factor((source, destination), now)
        value *= self.nic_jitter(source, now)
        for fault in self.job["faults"]:
            if not fault_acts(fault, now):
                continue
            kind = fault["kind"]
            if (kind == "slow_nic_send" and fault["rank"] == source) or (
                kind == "slow_nic_receive" and fault["rank"] == destination) or (
                kind == "slow_nic" and fault["rank"] in (source, destination)) or (
                kind == "slow_connection" and (fault["rank"], fault["peer"]) == (source, destination)):
                value *= fault["x"]
        return value

    def is_down(self, source, destination, now):
        return any(f["kind"] == "nic_down" and fault_acts(f, now) and f["rank"] in (source, destination)
                   for f in self.job["faults"])

    def seconds(self, source, destination, size, now):
        return size * 8 / (self.gbps * 1e9) * self.factor(source, destination, now)

    def noise(self):
        if self.pareto:
            return (self.rng.paretovariate(self.pareto)) * (self.pareto - 1) / self.pareto
        return max(0.3, self.rng.gauss(1, self.cv))


def fault_acts(fault, now):
    if now < fault["begin"] or now >= fault.get("end", 1e18):
        return False
    duty = fault.get("duty")
    return duty is None or (now - fault["begin"]) % duty[1] < duty[0]


class Operation:
    __slots__ = ("comm", "kind", "seq", "index", "size", "enqueued", "started", "finished", "peer", "told", "group")

    def __init__(self, comm, kind, seq, index, size, enqueued, peer=None):
        self.comm, self.kind, self.seq, self.index, self.size = comm, kind, seq, index, size
        self.enqueued, self.started, self.finished, self.peer = enqueued, None, None, peer
        self.group = None


class Meeting:
    """A collective, or a send with its receive: what ranks have to come to."""

    def __init__(self, members):
        self.members = members
        self.operations = {}  # rank -> (operation, stream)
        self.posted = {}
        self.begun = None
        self.stuck_edges = ()


class Rank:
    def __init__(self, number):
        self.number = number
        self.streams = defaultdict(deque)
        self.busy = set()
        self.events = set()
        self.waiting = defaultdict(list)
        self.operations = []  # that are not finished, or finished lately
        self.counts = defaultdict(int)
        self.sequences = defaultdict(int)
        self.traffic = defaultdict(list)  # connection key -> [begin, end, messages, bytes, mean]
        self.progress = defaultdict(lambda: [0, 0, 0])
        self.frozen = False
        self.dead = False
        self.stopped = False  # its GPU
        self.host_blocked = None
        self.program = None


class Job:
    """job: layout (hosts, communicators), program(rank, job) and options; see families.py."""

    def __init__(self, job, seed):
        self.job = job
        self.rng = random.Random(seed)
        self.network = Network(job, self.rng)
        self.ranks = [Rank(r) for r in range(job["num_ranks"])]
        self.heap = []
        self.ticket = 0
        self.now = 0.0
        self.meetings = {}
        self.dead_hosts = set()
        hosts = {self.host(r) for r in range(job["num_ranks"])}
        skew = job.get("clock_skew_s", 0.02)
        self.clock = {h: self.rng.uniform(-skew, skew) + 100 for h in hosts}
        self.speed = [1 + self.rng.uniform(-1, 1) * job.get("gpu_spread", 0.01) for _ in self.ranks]

    def host(self, rank):
        return rank // self.job["gpus_per_host"]

    def at(self, time, what, *args):
        self.ticket += 1
        heapq.heappush(self.heap, (time, self.ticket, what, args))

    # What a compute kernel takes.
    def compute_seconds(self, rank, seconds):
        value = seconds * self.speed[rank] * max(0.2, self.rng.gauss(1, self.job.get("compute_cv", 0.01)))
        if "drift" in self.job:
            value *= self.job["drift"](self.now)
        bimodal = self.job.get("bimodal")
        if bimodal and self.rng.random() < bimodal[0]:
            value *= bimodal[1]
        for fault in self.job["faults"]:
            if fault_acts(fault, self.now):
                is_struck = rank == fault["rank"] or (fault["kind"] == "slow_host" and
                                                      self.host(rank) == self.host(fault["rank"]))
                if is_struck and fault["kind"] in ("slow_gpu", "slow_host"):
                    value *= fault["x"]
                elif is_struck and fault["kind"] == "fading_gpu":  # gets slower within fault["ramp"] seconds
                    value *= 1 + (fault["x"] - 1) * min(1.0, (self.now - fault["begin"]) / fault["ramp"])
        return value

    # How long the host thread is busy: what the program says, stalls of all ranks and those of a fault.
    def host_seconds(self, rank, seconds):
        if "stall" in self.job:
            probability, mean = self.job["stall"]
            if self.rng.random() < probability:
                seconds += self.rng.expovariate(1 / mean)
        for fault in self.job["faults"]:
            if fault["kind"] == "slow_loader" and fault["rank"] == rank and fault_acts(fault, self.now):
                seconds += fault["x"] * self.rng.uniform(0.7, 1.3)
        return seconds

    # Host programs.
    def advance(self, rank):
        state = self.ranks[rank]
        while not (state.frozen or state.dead):
            try:
                action = next(state.program)
            except StopIteration:
                return
            what = action[0]
            if what == "host":
                self.at(self.now + self.host_seconds(rank, action[1]), self.advance, rank)
                return
            if what == "sync":
                if any(state.streams[s] or s in state.busy for s in list(state.streams)):
                    state.host_blocked = ("drain",)
                    return
            elif what == "sync_event":
                if action[1] not in state.events:
                    state.host_blocked = ("event", action[1])
                    return
            else:
                stream = action[1]
                item = list(action)
                if what in ("coll", "send", "recv"):
                    item.append(self.enqueue(rank, action))
                state.streams[stream].append(item)
                self.pump(rank, stream)

    def unblock(self, rank):
        state = self.ranks[rank]
        if state.host_blocked is None or state.frozen or state.dead:
            return
        if state.host_blocked[0] == "drain":
            if any(state.streams[s] or s in state.busy for s in list(state.streams)):
                return
        elif state.host_blocked[1] not in state.events:
            return
        state.host_blocked = None
        self.at(self.now + 20e-6, self.advance, rank)

    def enqueue(self, rank, action):
        state = self.ranks[rank]
        what, _, comm = action[:3]
        if what == "coll":
            kind, size, peer, lane = action[3], action[4], None, (comm, 9, None)
            seq_key = (comm, kind)
        else:
            kind = "send" if what == "send" else "receive"
            size, peer, lane = action[4], action[3], (comm, KINDS[kind], action[3])
            seq_key = lane
        operation = Operation(comm, KINDS[kind], state.sequences[seq_key], state.counts[comm], size, self.now, peer)
        state.sequences[seq_key] += 1
        state.counts[comm] += 1
        state.progress[lane][0] += 1
        state.operations.append(operation)
        # The proxy is told at once: a receiver posts its buffers before its kernel runs.
        meeting = self.meeting_of(rank, what, comm, kind, peer, operation.seq)
        meeting.posted[rank] = self.now
        self.check(meeting)
        return operation

    def meeting_of(self, rank, what, comm, kind, peer, seq):
        if what == "coll":
            key, members = (comm, kind, seq), self.job["comms"][comm]["ranks"]
        else:
            pair = (rank, peer) if what == "send" else (peer, rank)
            key, members = (comm, pair, seq), list(pair)
        meeting = self.meetings.get(key)
        if meeting is None:
            meeting = self.meetings[key] = Meeting(members)
            meeting.key, meeting.is_pair = key, what != "coll"
        return meeting

    # Streams.
    def pump(self, rank, stream):
        state = self.ranks[rank]
        queue = state.streams[stream]
        while queue and stream not in state.busy and not state.stopped:
            item = queue[0]
            what = item[0]
            if what == "record":
                queue.popleft()
                state.events.add(item[2])
                for waiter in state.waiting.pop(item[2], []):
                    self.pump(rank, waiter)
                self.unblock(rank)
            elif what == "wait":
                if item[2] not in state.events:
                    if stream not in state.waiting[item[2]]:
                        state.waiting[item[2]].append(stream)
                    return
                queue.popleft()
            elif what == "compute":
                state.busy.add(stream)
                queue.popleft()
                self.at(self.now + self.compute_seconds(rank, item[2]), self.end_compute, rank, stream)
            else:
                state.busy.add(stream)
                queue.popleft()
                self.start(rank, stream, item)
        self.unblock(rank)

    def end_compute(self, rank, stream):
        state = self.ranks[rank]
        if state.stopped:
            return
        state.busy.discard(stream)
        self.pump(rank, stream)

    def start(self, rank, stream, item):
        operation = item[-1]
        operation.started = self.now
        lane = (operation.comm, 9, None) if operation.peer is None else (operation.comm, operation.kind, operation.peer)
        self.ranks[rank].progress[lane][1] += 1
        kind = item[3] if item[0] == "coll" else ("send" if item[0] == "send" else "receive")
        meeting = self.meeting_of(rank, item[0], operation.comm, kind, operation.peer, operation.seq)
        operation.group = meeting
        meeting.operations[rank] = (operation, stream)
        self.check(meeting)

    def check(self, meeting):
        if meeting.begun is not None:
            return
        if meeting.is_pair:
            sender, receiver = meeting.members
            if sender not in meeting.operations or receiver not in meeting.posted:
                return
            self.run_pair(meeting, sender, receiver)
        elif len(meeting.operations) == len(meeting.members):
            self.run_collective(meeting)

    def run_pair(self, meeting, sender, receiver):
        meeting.begun = self.now
        operation = meeting.operations[sender][0]
        if self.network.is_down(sender, receiver, self.now):
            meeting.stuck_edges = [(sender, receiver)]
            return
        size = operation.size
        seconds = self.carry(meeting, sender, receiver, size, 131072, self.now) if self.crosses(sender, receiver) \
            else size / 200e9
        meeting.done_at = self.now + seconds
        # Up to eight steps leave the sender before the receiver's kernel runs.
        if size <= 8 * 131072 * self.job.get("channels", 2):
            self.at(meeting.done_at, self.finish, meeting, sender)
        self.at(meeting.done_at, self.finish_pair, meeting)

    def finish_pair(self, meeting):
        sender, receiver = meeting.members
        if receiver not in meeting.operations:
            self.at(self.now + 1e-3, self.finish_pair, meeting)
            return
        self.finish(meeting, receiver)
        self.finish(meeting, sender)

    def crosses(self, a, b):
        return self.host(a) != self.host(b)

    def edges_of(self, meeting):
        members = meeting.members
        n = len(members)
        kind = meeting.key[1]
        size = next(iter(meeting.operations.values()))[0].size
        if kind == "all_to_all":
            weights = self.job.get("moe_weights")
            for a in members:
                for b in members:
                    if a == b:
                        continue
                    share = weights(self, b, meeting.key[2]) if weights else 1
                    yield a, b, size / n * share, 131072
            return
        if kind == "barrier":
            return
        factor = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1}[kind]
        for i, a in enumerate(members):
            yield a, members[(i + 1) % n], factor * (n - 1) / n * size, self.job.get("ring_message", 524288)

    def run_collective(self, meeting):
        meeting.begun = self.now
        longest = 30e-6
        busy_out, busy_in, stuck = defaultdict(float), defaultdict(float), []
        is_exchange = meeting.key[1] == "all_to_all"
        for a, b, size, message in self.edges_of(meeting):
            if not self.crosses(a, b):
                longest = max(longest, size / 200e9)
                continue
            if self.network.is_down(a, b, self.now):
                stuck.append((a, b))
                continue
            seconds = self.carry(meeting, a, b, size, message, self.now)
            busy_out[a] += seconds
            busy_in[b] += seconds
        if stuck:
            meeting.stuck_edges = stuck
            return
        for busy in (busy_out, busy_in):
            longest = max([longest] + list(busy.values()))
        tail = self.network.noise() if self.network.pareto else 1
        for rank in meeting.members:
            self.at(self.now + longest * max(1, tail * 0.7) + self.rng.uniform(0, 20e-6), self.finish, meeting, rank)

    # Counts the messages, and returns the seconds that they take.
    def carry(self, meeting, a, b, size, message, now):
        channels = self.job.get("channels", 2)
        total = self.network.seconds(a, b, size, now)
        num = max(1, round(size / message / channels))
        per_message = self.network.seconds(a, b, message, now)
        comm = meeting.key[0]
        for channel in range(channels):
            if self.job.get("fifo"):
                share = (channel + 1) * (1 + self.overlap(now) * (1 if channel == 0 else 0.2))
            else:
                share = channels
            mean = per_message * share + 4e-6
            self.ranks[a].traffic[(comm, channel, 0, b)].append([now, now + total, num, num * message, mean])
            self.ranks[b].traffic[(comm, channel, 1, a)].append([now, now + total, num, num * message, mean])
        return total * max(0.9, self.rng.gauss(1, 0.02))

    # Messages of other micro-batches are in a FIFO's queue; how many varies slowly.
    def overlap(self, now):
        step = int(now / 7)
        if getattr(self, "overlap_state", (None, 0))[0] != step:
            self.overlap_state = (step, 0 if now < 25 else self.rng.choice([0, 0.4, 0.8]))
        return self.overlap_state[1]

    def finish(self, meeting, rank):
        operation, stream = meeting.operations[rank]
        state = self.ranks[rank]
        if operation.finished is not None or state.stopped or any(self.ranks[m].stopped for m in meeting.members):
            return
        operation.finished = self.now
        lane = (operation.comm, 9, None) if operation.peer is None else (operation.comm, operation.kind, operation.peer)
        state.progress[lane][2] += 1
        if all(m in meeting.operations and meeting.operations[m][0].finished is not None for m in meeting.members):
            self.meetings.pop(meeting.key, None)
        if operation.group is meeting and stream in state.busy:
            state.busy.discard(stream)
            self.pump(rank, stream)

    # Faults that stop something.
    def strike(self, fault):
        kind = fault["kind"]
        if kind == "frozen":
            self.ranks[fault["rank"]].frozen = True
        elif kind == "gpu_hang":
            self.ranks[fault["rank"]].stopped = True
        elif kind == "crash":
            state = self.ranks[fault["rank"]]
            state.frozen = state.dead = state.stopped = True
        elif kind == "dead_host":  # no agent, either
            for state in self.ranks:
                if self.host(state.number) == self.host(fault["rank"]):
                    state.frozen = state.dead = state.stopped = True
            self.dead_hosts.add(self.host(fault["rank"]))

    # Reports.
    def ns(self, rank, time):
        return int((time + self.clock[self.host(rank)] + self.step(self.host(rank), time)) * SECOND)

    def step(self, host, time):
        """What an adjustment has added to the clock of a host: job["clock_step"] = host, at, seconds."""
        wanted, at, seconds = self.job.get("clock_step", (None, 0, 0))
        return seconds if host == wanted and time >= at else 0.0

    def phases(self, rank):
        """Messages under way, by what the open operations of the rank wait for."""
        channels = self.job.get("channels", 2)
        busy = {}
        for operation in self.ranks[rank].operations:
            meeting = operation.group
            if operation.finished is not None or meeting is None:
                continue
            for a, b in self.neighbours_of(meeting, rank):
                if not self.crosses(a, b):
                    continue
                direction, peer = (0, b) if a == rank else (1, a)
                since = operation.started
                if self.ranks[rank].stopped:
                    phase = WAITS_FOR_GPU if direction == 0 else RECEIVER_WAITS_FOR_GPU
                elif meeting.stuck_edges:
                    is_stuck = (a, b) in meeting.stuck_edges
                    phase = POSTED if direction == 1 else ON_WIRE if is_stuck else WAITS_FOR_GPU
                elif direction == 1:
                    phase = POSTED
                else:
                    has_come = peer in meeting.operations and not self.ranks[peer].stopped
                    phase = WAITS_FOR_GPU if has_come else WAITS_FOR_PEER
                for channel in range(channels):
                    busy[(operation.comm, channel, direction, peer)] = (phase, since)
        return busy

    def neighbours_of(self, meeting, rank):
        if meeting.is_pair:
            return [tuple(meeting.members)]
        members = meeting.members
        if meeting.key[1] == "all_to_all":
            return [(rank, m) for m in members if m != rank] + [(m, rank) for m in members if m != rank]
        if meeting.key[1] == "barrier":
            return []
        i, n = members.index(rank), len(members)
        return [(rank, members[(i + 1) % n]), (members[(i - 1) % n], rank)]

    def connections(self, rank, begin, end):
        state = self.ranks[rank]
        busy = self.phases(rank)
        records = {}
        for key, entries in list(state.traffic.items()):
            messages = size = 0
            wire = longest = 0.0
            last = 0.0
            bins = [0] * NUM_BINS
            kept = []
            for entry in entries:
                first, until, num, total, mean = entry
                if until > end:
                    kept.append(entry)
                part = min(until, end) - max(first, begin)
                if part <= 0 and not begin < until <= end:
                    continue
                share = max(0.0, part) / (until - first) if until > first else 1.0
                count = round(num * share)
                if count <= 0:
                    continue
                taken = [mean * self.network.noise() for _ in range(min(count, 6))]
                wire += count * sum(taken) / len(taken)
                tail = mean * (count ** (1 / self.network.pareto) if self.network.pareto else
                               1 + self.network.cv * math.sqrt(2 * math.log(count + 1)))
                longest = max([longest, tail] + taken)
                messages += count
                size += round(total * share)
                last = max(last, min(until, end))
                for seconds in taken:
                    bins[max(0, min(NUM_BINS - 1, int(math.log2(max(1.0, seconds * 1e6)))))] += count // len(taken)
                bins[max(0, min(NUM_BINS - 1, int(math.log2(max(1.0, mean * 1e6)))))] += count % len(taken)
            state.traffic[key] = kept
            if not kept:
                del state.traffic[key]
            if messages:
                records[key] = {"messages": messages, "bytes": size,
                                "wire_time": int(max(wire, longest) * SECOND), "wire_time_max": int(longest * SECOND),
                                "wire_time_bins": bins, "last_progress": self.ns(rank, last)}
        for key, (phase, since) in busy.items():
            record = records.setdefault(key, {})
            record.update(in_flight=1, phase=phase, phase_since=self.ns(rank, since))
        out = []
        for (comm, channel, direction, peer), record in sorted(records.items()):
            key = {"communicator": comm, "channel": channel, "direction": direction, "peer": peer}
            out.append({"key": key, **record})
        return out, len(busy)

    def report(self, rank, number, before, now):
        state = self.ranks[rank]
        since = max(0.0, before - 1)
        operations = []
        kept = []
        for operation in state.operations:
            if operation.finished is not None and operation.finished <= since:
                continue
            kept.append(operation)
            record = {"communicator": operation.comm, "kind": operation.kind, "sequence": operation.seq,
                      "index": operation.index, "bytes": int(operation.size), "root": -1,
                      "enqueued": self.ns(rank, operation.enqueued)}
            if operation.peer is not None:
                record["peer"] = operation.peer
            if operation.started is not None:
                record["started"] = self.ns(rank, operation.started)
            if operation.finished is not None:
                record["finished"] = self.ns(rank, operation.finished)
            operations.append(record)
        state.operations = kept
        progress = []
        comms = [c for c in range(len(self.job["comms"])) if rank in self.job["comms"][c]["ranks"]]
        for comm in comms:
            enqueued, started, finished = state.progress[(comm, 9, None)]
            progress.append({"communicator": comm, "kind": 9, "enqueued": enqueued, "started": started,
                             "finished": finished})
        for (comm, kind, peer), (enqueued, started, finished) in sorted(
                (k, v) for k, v in state.progress.items() if k[2] is not None):
            progress.append({"communicator": comm, "kind": kind, "peer": peer, "enqueued": enqueued,
                             "started": started, "finished": finished})
        connections, num_busy = self.connections(rank, before, now)
        return {"rank_report": {"job": 1, "rank": rank, "number": number, "at": self.ns(rank, now),
                                "operations": operations, "operations_since": self.ns(rank, since),
                                "progress": progress, "connections": connections, "busy_connections": num_busy}}

    def layout(self):
        ranks = [{"host": self.host(r), "gpu": r % self.job["gpus_per_host"], "nic": r,
                  "leaves": [self.host(r) // self.job.get("hosts_per_leaf", 4)]} for r in range(len(self.ranks))]
        return {"fairlead_telemetry": 2, "layout": {"job": 1, "ranks": ranks, "communicators": self.job["comms"]}}

    def run(self, seconds, out):
        out.write(json.dumps(self.layout()) + "\n")
        for fault in self.job["faults"]:
            if fault["begin"] < seconds:
                self.at(fault["begin"], self.strike, fault)
        for rank, state in enumerate(self.ranks):
            state.program = self.job["program"](self, rank)
            self.at(0.01 + self.rng.uniform(0, 0.01), self.advance, rank)
        phase = [self.rng.uniform(0, 1) for _ in self.ranks]
        hosts = sorted({self.host(r) for r in range(len(self.ranks))})
        reports = [(phase[r] + i, 0, r, i) for r in range(len(self.ranks)) for i in range(int(seconds))]
        reports += [(0.5 + i, 1, h, i) for h in hosts for i in range(int(seconds))]
        silent = set(self.job.get("silent", ()))
        for time, is_host, who, number in sorted(reports):
            while self.heap and self.heap[0][0] <= time:
                self.now, _, what, args = heapq.heappop(self.heap)
                what(*args)
            self.now = time
            if "lost_reports" in self.job and self.rng.random() < self.job["lost_reports"]:
                continue
            if is_host:
                if who in self.dead_hosts:
                    continue
                ranks = []
                for r in range(len(self.ranks)):
                    if self.host(r) == who and r not in silent:
                        ranks.append({"rank": r, "state": 1 if self.ranks[r].dead else 0})
                out.write(json.dumps({"host_report": {"job": 1, "host": who, "number": number, "at":
                                                      int((time + self.clock[who] + self.step(who, time)) * SECOND),
                                                      "ranks": ranks}}) + "\n")
            elif who not in silent and not self.ranks[who].dead:
                out.write(json.dumps(self.report(who, number, max(0.0, time - 1), time)) + "\n")
