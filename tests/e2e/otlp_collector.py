"""A collector of OpenTelemetry (OTLP/HTTP, JSON) for tests: away until it is started, and with answers that it is told."""
import http.server
import json
import re
import threading

from patience import free_port


class Collector:
    def __init__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1/traces"
        self.answers = []  # [(status, headers)], before those that take what comes
        self.requests = []  # [(status of the answer, body)]
        self.server = None

    def start(self):
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers = collector.answers.pop(0) if collector.answers else (200, {})
                if (self.path, self.headers["Content-Type"]) != ("/v1/traces", "application/json"):
                    status = 404
                collector.requests.append((status, body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", int(self.port)), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()

    def taken(self):
        """[spans of each trace that was taken, by name]; raises an AssertionError where one is not as the protocol has it."""
        return [spans_of(json.loads(body)) for status, body in list(self.requests) if status == 200]


def attributes_of(owner):
    """{key: value}, of the kinds that we use; 64-bit integers are text."""
    found = {}
    for attribute in owner["attributes"]:
        assert attribute.keys() == {"key", "value"} and attribute["key"] not in found, attribute
        [(kind, value)] = attribute["value"].items()
        assert (kind, type(value)) in {("stringValue", str), ("doubleValue", float), ("doubleValue", int), ("intValue", str)}, attribute
        found[attribute["key"]] = value
    return found


def spans_of(request):
    """Of an ExportTraceServiceRequest with one trace."""
    assert request.keys() == {"resourceSpans"}, request.keys()
    spans = {}
    for resource in request["resourceSpans"]:
        assert attributes_of(resource["resource"])["service.name"] == "fairlead", resource["resource"]
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                attributes_of(span)
                for event in span.get("events", []):
                    assert event["timeUnixNano"].isdigit() and event["name"], event
                assert span["name"] not in spans, span
                spans[span["name"]] = span
    ids = {span["spanId"] for span in spans.values()}
    assert len(ids) == len(spans) > 0, spans
    for span in spans.values():
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and int(span["traceId"], 16), span
        assert re.fullmatch("[0-9a-f]{16}", span["spanId"]) and int(span["spanId"], 16), span
        assert span.get("parentSpanId") is None or span["parentSpanId"] in ids - {span["spanId"]}, span
        begin, end = span["startTimeUnixNano"], span["endTimeUnixNano"]
        assert begin.isdigit() and end.isdigit() and int(begin) <= int(end), span
    assert len({span["traceId"] for span in spans.values()}) == 1
    roots = [span["name"] for span in spans.values() if "parentSpanId" not in span]
    assert len(roots) == 1, roots
    return spans
