#!/usr/bin/env python3
"""Grafana dashboards of what the controller serves at /metrics.

Usage: tools/grafana_dashboards.py           writes deploy/grafana/*.json
       tools/grafana_dashboards.py --check   exit code 1: they are not what this writes, an expression names a metric or label
                                             that the controller does not have, or promtool can't read one

One panel is one line here. Whatever Grafana can be told by default is left out.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "deploy" / "grafana"
# Of other exporters, and of Prometheus itself.
FOREIGN = {"DCGM_FI_DEV_GPU_UTIL", "process_cpu_seconds_total", "up"}
JOB = 'hpc_job=~"$hpc_job"'

# (title, kind, unit, [(expression, legend)], width of 24)
DASHBOARDS = {
    "cluster": ("Fairlead: cluster", [], [
        ("GPUs lost now", "stat", "short", [("fairlead:lost_gpus:sum", "")], 6),
        ("Share of GPU time lost", "stat", "percentunit", [("fairlead:lost_gpus:share", "")], 6),
        ("Hosts without an agent", "stat", "short", [("fairlead_hosts - fairlead_hosts_connected", "")], 6),
        ("Findings", "stat", "short", [("sum(fairlead_findings)", "")], 6),
        ("GPUs lost, by job", "timeseries", "short", [("topk(10, fairlead_job_lost_gpus)", "{{hpc_job}}")], 24),
        ("How many times as long as its fastest iteration", "timeseries", "short",
         [("topk(10, fairlead:job_slowdown:ratio)", "{{hpc_job}}")], 12),
        ("GPUs of jobs", "timeseries", "short", [("fairlead:gpus:sum", "GPUs"), ("fairlead:lost_gpus:sum", "lost")], 12),
        ("Hosts in steering", "timeseries", "short", [("fairlead_steering_hosts", "{{condition}}")], 12),
        ("Actions a minute", "timeseries", "short",
         [("sum by (step) (rate(fairlead_steering_attempts_total[5m])) * 60", "{{step}}")], 12),
        ("Controller: processor time", "timeseries", "percentunit", [("rate(process_cpu_seconds_total[5m])", "{{instance}}")], 12),
        ("Controller: messages a second", "timeseries", "short",
         [("rate(fairlead_messages_received_total[5m])", "from agents"),
          ("rate(fairlead_messages_sent_total[5m])", "to agents")], 12),
    ]),
    "job": ("Fairlead: job", ["hpc_job"], [
        ("Iteration", "timeseries", "s", [(f"fairlead_job_iteration_seconds{{{JOB}}}", "{{hpc_job}} now"),
                                          (f"fairlead_job_fastest_iteration_seconds{{{JOB}}}", "{{hpc_job}} fastest")], 24),
        ("GPUs lost", "timeseries", "short", [(f"fairlead_job_lost_gpus{{{JOB}}}", "{{hpc_job}}")], 12),
        ("Level (0 goes first)", "timeseries", "short", [(f"fairlead_job_level{{{JOB}}}", "{{hpc_job}}")], 12),
        ("Connections", "timeseries", "short", [(f"fairlead_job_connections{{{JOB}}}", "{{hpc_job}}")], 12),
        ("Queue pairs without a path", "timeseries", "short",
         [(f"fairlead_job_unmanaged_queue_pairs{{{JOB}}}", "{{hpc_job}}")], 12),
        ("GPU utilization (DCGM exporter)", "timeseries", "percent",
         [(f"avg by (hpc_job) (DCGM_FI_DEV_GPU_UTIL{{{JOB}}})", "{{hpc_job}}")], 24),
    ]),
    "fabric": ("Fairlead: fabric", [], [
        ("Links", "timeseries", "short", [('fairlead_links{state!="up"}', "{{state}}")], 12),
        ("Links that have lost capacity", "timeseries", "percentunit", [("bottomk(20, fairlead_link_health)", "{{link}}")], 12),
        ("Moves of queue pairs a minute", "timeseries", "short",
         [("sum by (cause) (rate(fairlead_path_moves_total[5m])) * 60", "{{cause}}")], 12),
        ("Requests for paths a second", "timeseries", "short",
         [("rate(fairlead_path_requests_total[5m])", "all"),
          ("rate(fairlead_path_requests_refused_total[5m])", "refused")], 12),
        ("Leases that expired, a minute", "timeseries", "short", [("rate(fairlead_leases_expired_total[5m]) * 60", "")], 12),
        ("Agents", "timeseries", "short", [("fairlead_hosts_connected", "connected"), ("fairlead_hosts", "hosts")], 12),
    ]),
    "diagnosis": ("Fairlead: diagnosis", [], [
        ("Findings that hold", "timeseries", "short", [("fairlead_findings", "{{syndrome}}")], 12),
        ("New findings an hour", "timeseries", "short",
         [("sum by (syndrome) (increase(fairlead_findings_total[1h]))", "{{syndrome}}")], 12),
        ("Ranks under diagnosis", "timeseries", "short", [("fairlead_watched_ranks", "{{hpc_job}}")], 12),
        ("Jobs in steering", "timeseries", "short", [("fairlead_steering_jobs", "{{condition}}")], 12),
        ("Reports about processes a second", "timeseries", "short",
         [("rate(fairlead_looks_total[5m])", "read"), ("rate(fairlead_looks_dropped_total[5m])", "dropped")], 12),
        ("Time spent on diagnosing", "timeseries", "percentunit", [("rate(fairlead_diagnosis_seconds_total[5m])", "")], 12),
    ]),
}


def variables(names):
    chosen = [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]
    for name in names:
        chosen.append({"name": name, "type": "query", "label": "job", "multi": True, "includeAll": True, "refresh": 2,
                       "datasource": {"type": "prometheus", "uid": "${datasource}"},
                       "query": f"label_values(fairlead_job_level, {name})"})
    return {"list": chosen}


def dashboard(name):
    title, chosen, rows = DASHBOARDS[name]
    source = {"type": "prometheus", "uid": "${datasource}"}
    panels, x, y = [], 0, 0
    for number, (heading, kind, unit, queries, width) in enumerate(rows, 1):
        height = 4 if kind == "stat" else 8
        if x + width > 24:
            x, y = 0, y + panels[-1]["gridPos"]["h"]
        panels.append({
            "id": number, "title": heading, "type": kind, "datasource": source,
            "gridPos": {"x": x, "y": y, "w": width, "h": height},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "targets": [{"refId": chr(ord("A") + i), "datasource": source, "expr": expression, "legendFormat": legend}
                        for i, (expression, legend) in enumerate(queries)]})
        x += width
    return {"uid": f"fairlead-{name}", "title": title, "tags": ["fairlead"], "timezone": "utc", "schemaVersion": 38,
            "refresh": "30s", "time": {"from": "now-6h", "to": "now"}, "templating": variables(chosen), "panels": panels}


def text_of(name):
    return json.dumps(dashboard(name), indent=1) + "\n"


def expressions():
    return [(name, expression) for name, (_, _, rows) in DASHBOARDS.items() for row in rows for expression, _ in row[3]]


def known_metrics():
    """{name: labels} of the reference, and of what the rules record."""
    known = {}
    for name, labels in re.findall(r"^\| `([a-z_]+)(?:\{([a-z_, ]+)\})?`", (ROOT / "docs/reference/metrics.md").read_text(),
                                   re.MULTILINE):
        known[name] = set(filter(None, re.split(r"[, ]+", labels)))
    for name in re.findall(r"record: (\S+)", (ROOT / "deploy/prometheus/fairlead.rules.yml").read_text()):
        known[name] = {"hpc_job"}
    return known


def faults_of(expression, known):
    for name in re.findall(r"\b(?:fairlead[_:][\w:]+|DCGM_\w+|process_\w+)", expression):
        if name not in known and name not in FOREIGN:
            yield f"no metric {name}"
    for name, labels in re.findall(r"\b(fairlead[_:][\w:]+)\{([^}]*)\}", expression):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels):
            if label not in known.get(name, set()):
                yield f"{name} has no label {label}"


def rule_expressions():
    text = (ROOT / "deploy/prometheus/fairlead.rules.yml").read_text()
    joined = re.sub(r">-\n\s+(.*)\n\s+(or .*)", r"\1 \2", text)
    return [("rules", expression) for expression in re.findall(r"expr: (.*)", joined)]


def check():
    faults = []
    for name in DASHBOARDS:
        path = FOLDER / f"{name}.json"
        if not path.exists() or path.read_text() != text_of(name):
            faults.append(f"{path.relative_to(ROOT)}: not what tools/grafana_dashboards.py writes: run it")
    known = known_metrics()
    for name, expression in expressions() + rule_expressions():
        faults += [f"{name}: {expression}: {fault}" for fault in faults_of(expression, known)]
    if shutil.which("promtool"):
        faults += promtool_faults()
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def promtool_faults():
    folder = ROOT / "deploy" / "prometheus"
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as rules:
        json.dump({"groups": [{"name": "panels", "rules": [
            {"record": f"panel:{i}", "expr": expression.replace("$hpc_job", ".*")}
            for i, (_, expression) in enumerate(expressions())]}]}, rules)
        rules.flush()
        for args in (["check", "rules", rules.name], ["check", "rules", str(folder / "fairlead.rules.yml")],
                     ["test", "rules", str(folder / "fairlead.rules_test.yml")]):
            result = subprocess.run(["promtool", *args], capture_output=True, text=True)
            if result.returncode != 0:
                yield f"promtool {' '.join(args)}: {result.stdout}{result.stderr}"


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in DASHBOARDS:
        (FOLDER / f"{name}.json").write_text(text_of(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
