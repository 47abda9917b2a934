"""Timelines in Chrome's trace event format: whether a file is one, and what is in it. Perfetto's own reader is not
packaged."""
import collections
import json

try:
    import jsonschema
except ImportError:
    jsonschema = None

NAMES = ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]
TIME = {"type": "number", "minimum": 0}
# "ph": [what it needs beside ph, pid and name, its properties]
KINDS = {
    "M": [["args"], {"name": {"enum": NAMES}, "tid": {"type": "integer"}, "args": {"type": "object"}}],
    "X": [["tid", "ts", "dur"], {"tid": {"type": "integer"}, "ts": TIME, "dur": TIME, "args": {"type": "object"}}],
    "C": [["ts", "args"], {"ts": TIME, "args": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "number"}}}],
    "i": [["tid", "ts", "s"], {"tid": {"type": "integer"}, "ts": TIME, "s": {"enum": ["p", "t"]}, "args": {"type": "object"}}],
    "s": [["tid", "ts", "id", "cat"], {"tid": {"type": "integer"}, "ts": TIME, "id": {"type": "string"}, "cat": {"type": "string"}}],
    "f": [["tid", "ts", "id", "cat", "bp"], {"tid": {"type": "integer"}, "ts": TIME, "id": {"type": "string"},
                                             "cat": {"type": "string"}, "bp": {"const": "e"}}],
}
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "required": ["traceEvents", "displayTimeUnit"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {"type": "array", "items": {"oneOf": [
            {"type": "object", "required": ["ph", "pid", "name", *needs], "additionalProperties": False,
             "properties": {"ph": {"const": kind}, "pid": {"type": "integer"}, "name": {"type": "string", "minLength": 1},
                            **properties}}
            for kind, (needs, properties) in KINDS.items()]}},
    },
}
SLACK_US = 0.002


class TraceFile:
    """Raises an AssertionError where the text is no timeline, or one that a viewer would show otherwise than it is meant."""

    def __init__(self, text):
        self.json = json.loads(text)
        if jsonschema is not None:
            jsonschema.Draft7Validator(SCHEMA).validate(self.json)
        self.events = self.json["traceEvents"]
        self.processes = {e["pid"]: e["args"]["name"] for e in self.of("M") if e["name"] == "process_name"}
        self.tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.of("M") if e["name"] == "thread_name"}
        self._check_slices()
        self._check_arrows()

    def of(self, *kinds):
        return [event for event in self.events if event["ph"] in kinds]

    def slices(self, track, name=""):
        """Those whose "process / track" and name have these parts, by time."""
        return sorted((e for e in self.of("X") if track in self.place(e) and name in e["name"]), key=lambda e: e["ts"])

    def place(self, event):
        return f"{self.processes[event['pid']]} / {self.tracks[event['pid'], event['tid']]}"

    def arrows(self):
        """[(place of the begin, place of the end)]"""
        ends = {event["id"]: event for event in self.of("f")}
        return [(self.place(begin), self.place(ends[begin["id"]])) for begin in self.of("s")]

    def _check_slices(self):
        by_track = collections.defaultdict(list)
        for event in self.of("X", "i"):
            assert event["pid"] in self.processes, event
            if event["ph"] == "X":
                by_track[event["pid"], event["tid"]].append((event["ts"], -event["dur"]))
        assert by_track.keys() <= self.tracks.keys(), by_track.keys() - self.tracks.keys()
        for track, spans in by_track.items():
            around = []
            for begin, minus_length in sorted(spans):
                while around and around[-1] <= begin + SLACK_US:
                    around.pop()
                assert not around or begin - minus_length <= around[-1] + SLACK_US, f"{track}: slices overlap at {begin}"
                around.append(begin - minus_length)

    def _check_arrows(self):
        ends = {event["id"]: event for event in self.of("f")}
        begins = {event["id"]: event for event in self.of("s")}
        assert len(ends) == len(self.of("f")) and len(begins) == len(self.of("s")), "an arrow with two ends of one kind"
        assert ends.keys() == begins.keys(), ends.keys() ^ begins.keys()
        for arrow, begin in begins.items():
            assert begin["ts"] <= ends[arrow]["ts"], f"arrow {arrow} leads back in time"
            for end in (begin, ends[arrow]):
                assert any(s["ts"] - SLACK_US <= end["ts"] <= s["ts"] + s["dur"] + SLACK_US
                           for s in self.of("X") if (s["pid"], s["tid"]) == (end["pid"], end["tid"])), f"{end} is in no slice"
