"""A controller for the page alone: serves web/ with the gateway's headers, and answers of the real ones' shape
(docs/internals/modules/service.md) about a cluster of any size. Orders are carried out on it, and counted.

Usage: mock_controller.py WEB_DIR [--hosts N] [--jobs N] [--port N]    serves until it is killed
"""

import argparse
import contextlib
import http.server
import json
import pathlib
import socket
import threading
import time
import urllib.parse

READER, OPERATOR = "a-token-of-readers", "a-token-of-operators"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
REASON = ("intensity {:.3g} FLOP/s (1.2e+15 FLOP per 0.31 s on {}), correction factor 1.3 (d_r 0.02 s, d_j 0.05 s against job 0); "
          "rank {} of {}, level {} of 8; 4 new paths")
GPUS_PER_HOST = 8


class Cluster:
    """`num_nics` for each host, 16 hosts below a leaf, every leaf joined to each spine. Jobs lose less the higher their number."""

    def __init__(self, num_hosts=8, num_jobs=8, num_spines=4, num_nics=1):
        self.now = time.time()
        self.num_leaves = max(2, (num_hosts + 15) // 16)
        self.num_spines = num_spines
        below = max(1, num_hosts // self.num_leaves)
        self.hosts = [{"name": f"h{i}", "connected": True, "agent_version": "0.1.0", "last_message_s": self.now}
                      for i in range(num_hosts)]
        self.leaf_of = [min(i // below, self.num_leaves - 1) for i in range(num_hosts)]
        per_job = max(1, num_hosts // max(1, num_jobs))
        self.hosts_of_job = [[f"h{(j * per_job + i) % num_hosts}" for i in range(per_job)] for j in range(num_jobs)]
        self.jobs = [self._job(j, num_jobs) for j in range(num_jobs)]
        self.links = []
        for i in range(num_hosts):
            for n in range(num_nics):
                self._cable(f"h{i}/nic{n}", f"leaf{self.leaf_of[i]}", "host-leaf", i % 4)
        for leaf in range(self.num_leaves):
            for spine in range(num_spines):
                self._cable(f"leaf{leaf}", f"spine{spine}", "leaf-spine", (leaf * 3 + spine * 2) % 9)
        self.link = {link["name"]: link for link in self.links}
        self.findings = []
        self.past = {}  # [begin of a period]: what of links, by name, was not as usual
        self.history = {"period_s": 60, "columns": ["at_s", "jobs", "gpus", "lost_sharing", "lost_findings", "isolated_gpus", "findings", "isolated_hosts",
                                                    "links_not_up", "hosts_connected", "path_changes", "actions"], "rows": []}
        self.events = [{"number": 1, "time_s": self.now - 60, "severity": "info", "subject": "steering", "text": "mode act"}]
        self.steering = {"mode": "act", "back_end": "hook", "isolated": [], "hosts": [], "jobs": [
            {"name": job["name"], "condition": "running", "hosts": hosts, "paused_until_s": None, "isolated_last_day": 0}
            for job, hosts in zip(self.jobs, self.hosts_of_job)], "open_actions": [], "log": [], "error": None,
            "health_events": None}

    def _job(self, j, num_jobs):
        hosts = len(self.hosts_of_job[j])
        fastest, lost = 0.4, max(0.0, 0.25 - 0.03 * j) if j > 0 else 0.4
        link = f"leaf0->spine{j % self.num_spines}"
        level = min(7, j * 8 // num_jobs)
        return {"name": f"job{j}", "owner": 1000, "level": level, "reason": REASON.format(3e15 / (j + 1), link, j, num_jobs, level),
                "hosts": hosts, "connections": 4 * hosts, "unmanaged_queue_pairs": 0, "gpus": GPUS_PER_HOST * hosts,
                "iteration_s": fastest / (1 - lost), "fastest_iteration_s": fastest, "lost_gpus": GPUS_PER_HOST * hosts * lost,
                "fullest_link": link, "shares_with": [f"job{k}" for k in range(j % self.num_spines, num_jobs, self.num_spines) if k != j][:6],
                "intensity_flop_per_s": 3e15 / (j + 1)}

    def _cable(self, below, above, tier, load):
        for start, end in ((below, above), (above, below)):
            self.links.append({"name": f"{start}->{end}", "from": start, "to": end, "tier": tier, "state": "up", "health": 1,
                               "capacity_bytes_per_s": 25e9, "queue_pairs": load, "load": load})

    def connections(self, job, limit):
        views = []
        for j, hosts in enumerate(self.hosts_of_job):
            name = self.jobs[j]["name"] if j < len(self.jobs) else None
            if name is None or (job and name != job):
                continue
            for i, host in enumerate(hosts):
                other = hosts[(i + 1) % len(hosts)]
                leaf, end = (self.leaf_of[int(h[1:])] for h in (host, other))
                spine = j % self.num_spines
                for pair in range(4):
                    views.append({"job": name, "connection": 4711 + i, "queue_pair": pair, "source": f"{host}/nic0",
                                  "destination": f"{other}/nic0", "answer": "use", "plane": 0, "source_port": 61000 + pair,
                                  "wire_port": 61000 + pair,
                                  "links": [f"{host}/nic0->leaf{leaf}", f"leaf{leaf}->spine{spine}", f"spine{spine}->leaf{end}",
                                            f"leaf{end}->{other}/nic0"]})
        return {"total": len(views), "connections": views[:limit]}

    @staticmethod
    def _place(link):
        """As src/service/controller/link_routes.h: what is down first, then what is not up otherwise, then the fullest."""
        is_dead, is_up = link["state"] == "down" or link["health"] <= 0, link["state"] == "up" and link["health"] >= 1
        left = link["capacity_bytes_per_s"] * link["health"]
        fullness = 0 if link["load"] == 0 else link["load"] / left if left > 0 else float("inf")
        return 0 if is_dead else 2 if is_up else 1, -fullness

    def _all_links(self):
        fullness = [-self._place(link)[1] for link in self.links]
        return {"links": len(self.links), "not_up": sum(self._place(link)[0] < 2 for link in self.links),
                "in_use": sum(link["queue_pairs"] > 0 for link in self.links),
                "fullest": max((one for one in fullness if one < float("inf")), default=0)}

    def links_page(self, query):
        wanted = {name: values[0] for name, values in query.items()}
        links = list(self.links)
        if "job" in wanted:
            on = {name for path in self.connections(wanted["job"], 10_000)["connections"] for name in path["links"]}
            links = [link for link in links if link["name"] in on]
        if "beside" in wanted:
            it = self.link.get(wanted["beside"])
            if it is None:
                return None
            links = [link for link in links if {link["from"], link["to"]} == {it["from"], it["to"]}]
        if "endpoint" in wanted:
            links = [link for link in links if wanted["endpoint"] in (link["from"].split("/")[0], link["to"].split("/")[0])]
        if "tier" in wanted:
            links = [link for link in links if link["tier"] == wanted["tier"]]
        if wanted.get("order") != "fabric":
            links.sort(key=self._place)
        limit = int(wanted.get("limit", 1000))
        return {"total": len(links), "next": "0:0:0" if len(links) > limit else None, "all": self._all_links(), "links": links[:limit]}

    def _state(self, host):
        """As src/service/controller/host_routes.h."""
        condition = next((one["condition"] for one in (self.steering or {"hosts": []})["hosts"] if one["name"] == host["name"]), "")
        if condition in ("isolated", "isolating", "in_doubt"):
            return condition
        if not host["connected"]:
            return "silent" if host["last_message_s"] else "no_agent"
        return condition or "connected"

    def hosts_page(self, query):
        wanted = {name: values[0] for name, values in query.items()}
        ranks = {state: rank for rank, state in enumerate(("isolated", "isolating", "in_doubt", "silent", "no_agent"))}
        rows = []
        for host in self.hosts:
            findings = sum(host["name"] in one["hosts"] for one in self.findings if one["cleared_at_s"] is None)
            rows.append(dict(host, state=self._state(host), findings=findings))
        rank = {row["name"]: ranks.get(row["state"], 5 if row["findings"] else 6) for row in rows}
        states = {}
        for row in rows:
            states[row["state"]] = states.get(row["state"], 0) + 1
        every = {"hosts": len(rows), "connected": sum(row["connected"] for row in rows), "need_look": sum(one < 6 for one in rank.values()),
                 "states": dict(sorted(states.items()))}
        if "name" in wanted:
            rows = [row for row in rows if row["name"] == wanted["name"]]
            if not rows:
                return None
        if wanted.get("state") == "needs_look":
            rows = [row for row in rows if rank[row["name"]] < 6]
        if "text" in wanted:
            rows = [row for row in rows if wanted["text"].lower() in row["name"].lower() or wanted["text"].lower() in row["state"]]
        if wanted.get("order") == "worst":
            rows.sort(key=lambda row: rank[row["name"]])
        limit = int(wanted.get("limit", 1000))
        return {"total": len(rows), "next": "6:0" if len(rows) > limit else None, "all": every, "hosts": rows[:limit]}

    def links_overview(self):
        order = sorted(self.links, key=self._place)
        cells = {}
        for link in (link for link in order if link["tier"] == "leaf-spine"):
            cells.setdefault((min(link["from"], link["to"]), max(link["from"], link["to"])), []).append(link)  # "leaf" is before "spine"
        rows, columns = (list(dict.fromkeys(cell[side] for cell in cells)) for side in (0, 1))
        shown = {cell: links for cell, links in cells.items() if cell[0] in rows[:24] and cell[1] in columns[:32]}
        return {"all": self._all_links(), "not_up": [link for link in order if self._place(link)[0] < 2][:50],
                "fullest": [link for link in order if self._place(link)[0] == 2 and link["load"] > 0][:10],
                "matrices": [{"tier": "leaf-spine", "rows": len(rows), "columns": len(columns),
                              "cells": [{"below": below, "above": above, "links": links} for (below, above), links in shown.items()]}]}

    def topology_at(self, at, open_node):
        """As it was in that period; None: it is not kept."""
        begin = next((begin for begin in self.past if begin <= at < begin + 300), None)
        if begin is None:
            return None
        now = [dict(link) for link in self.links]
        for link in self.links:
            link.update({"state": "up", "health": 1, **self.past[begin].get(link["name"], {})})
        answer = self.topology(open_node, "")
        for link, before in zip(self.links, now):
            link.update(before)
        return answer and {**answer, "jobs": [], "at_s": at}

    def topology(self, open_node, job):
        """As src/report/topology_picture.h, in little: leaves as runs of 16 where there are more than 64, None where there is no such node."""
        leaves = [f"leaf{i}" for i in range(self.num_leaves)]
        spines = [f"spine{i}" for i in range(self.num_spines)]
        length = 1 if self.num_leaves <= 64 else 16
        first, _, last = open_node.partition("..")
        if open_node and (first not in leaves or (last and last not in leaves)):
            return None
        if open_node:
            leaves = leaves[leaves.index(first):leaves.index(last or first) + 1]
            length = 1
        below = [i for i, leaf in enumerate(self.leaf_of) if f"leaf{leaf}" in leaves]
        hosts = below if len(below) <= 64 else []
        nodes = [{"name": f"h{i}", "tier": "host"} for i in hosts]
        place = {f"h{i}": n for n, i in enumerate(hosts)}
        for begin in range(0, len(leaves), length):
            run = leaves[begin:begin + length]
            place.update((leaf, len(nodes)) for leaf in run)
            node = {"name": run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}", "tier": "leaf", "hosts": sum(f"leaf{leaf}" in run for leaf in self.leaf_of)}
            if len(run) > 1:
                node["members"] = len(run)
            if len(run) > 1 or (not hosts and node["name"] != open_node):
                node["opens"] = True
            nodes.append(node)
        for spine in spines:
            place[spine] = len(nodes)
            nodes.append({"name": spine, "tier": "spine"})
        most = max((link["load"] for link in self.links), default=0) or 1
        lines, of_link = {}, {}
        for link in self.links:
            ends = sorted((place.get(link["from"].split("/")[0]), place.get(link["to"].split("/")[0])), key=lambda p: -1 if p is None else p)
            if None in ends:
                continue
            line = lines.setdefault(tuple(ends), {"below": ends[0], "above": ends[1], "name": link["name"], "capacity_bytes_per_s": 0, "load": 0,
                                                  "number": len(lines), "cables": 0})
            of_link[link["name"]] = line["number"]
            line["cables"] += 0.5
            line["capacity_bytes_per_s"] += link["capacity_bytes_per_s"] / 2
            if link["load"] / most > line["load"]:
                line.update(load=link["load"] / most, name=link["name"])
            if link["health"] < 1:
                kind = "down" if link["state"] == "down" else "degraded"
                line.update({kind: line.get(kind, 0) + 1, "name": link["name"]})
        shown = [{key: value for key, value in line.items() if key != "number"} for line in lines.values()]
        paths = {one["name"]: {name for path in self.connections(one["name"], 10_000)["connections"] for name in path["links"]} for one in self.jobs[:60]}
        if job and job not in paths:
            return None
        jobs = [{"name": name, "links": sorted({of_link[link] for link in links if link in of_link}),
                 "meets": [other for other in paths if other != name and paths[other] & links][:12]} for name, links in paths.items()]
        return {"open": open_node or None, "nodes": nodes, "links": shown, "jobs": jobs, "jobs_count": len(self.jobs),
                "tiers": [{"tier": "host", "name": "hosts", "count": len(self.hosts)}, {"tier": "leaf", "name": "leaves", "count": self.num_leaves},
                          {"tier": "spine", "name": "spines", "count": self.num_spines}]}

    def find(self, number, job, host, text, cleared_at_s=None, syndrome="comm_slow"):
        self.findings.append({"job": job, "id": number, "syndrome": syndrome, "culprits": [f"rank 3 on {host}"], "hosts": [host],
                              "ranks": [3], "suspected_at_s": self.now - 40, "confirmed_at_s": self.now - 20,
                              "cleared_at_s": cleared_at_s, "confidence": 0.9, "cost_share": None, "cost_gpu_hours": None,
                              "action": "isolate and restart", "sub_cause": "none", "text": text, "evidence": []})

    def prove(self, number):
        """What a controller gives out of one finding: it has been slow for 20 s."""
        finding = next((one for one in self.findings if one["id"] == number), None)
        if finding is None:
            return None
        blocks = [{"at_s": self.now - 60 + 2 * i, "seconds": 1 if i < 10 else 1.5, "own_seconds": 0.9 if i < 10 else 1.4,
                   "like_low_seconds": 0.8, "like_median_seconds": 0.9, "like_high_seconds": 1.0} for i in range(25)]
        if finding["syndrome"] == "comm_hang":
            finding = {**finding, "candidates": [{"culprit": "rank 4 on h1", "host": "h1", "why": "its GPU <b>stands</b>", "evidence": ["time since its last report: 2 s"]},
                                                 {"culprit": "rank 0 on h0", "host": "h0", "why": "its GPU stands"}]}
        return {"finding": finding, "seen_at_s": self.now - 20, "blocks": blocks,
                "wait_nodes": [{"label": "7 ranks: 0–2, 4–7"}, {"label": "all_reduce 17 on world", "is_operation": True},
                               {"label": "rank 3", "is_culprit": True}],
                "waits": [{"from": 0, "to": 1}, {"from": 1, "to": 2}],
                "delays": [{"source": 0, "destination": 1, "ratio": 1.02}, {"source": 1, "destination": 0, "ratio": 4.2, "is_accused": True}],
                "delays_left_out": 100, "rank_hosts": ["h0", "h1"],
                "history": [{"id": 2, "job": "job1", "text": "hung for 20 s", "confirmed_at_s": self.now - 900, "cleared_at_s": self.now - 800}],
                "next": [{"command": "fairlead describe host h1", "shows": "what else is known of the host"}]}

    def isolate(self, host):
        self.steering["isolated"].append(host)
        self.steering["hosts"].append({"name": host, "condition": "isolated"})
        self.steering["log"].append({"at_s": self.now - 10, "kind": "action", "action": 1, "host": 0, "host_name": host,
                                     "description": f"isolate host {host}", "reason": "rank 3 is slow"})

    def remember(self, minutes=24 * 60):
        """A day as src/service/controller/cluster_history.h keeps it: busy, with half an hour in which something was found."""
        begin = int(self.now) // 60 * 60 - 60 * minutes
        gpus = sum(job["gpus"] for job in self.jobs)
        for minute in range(minutes + 1):
            found = 700 <= minute < 730
            wave = 0.6 + 0.4 * ((minute // 180) % 2)
            self.history["rows"].append([begin + 60 * minute, len(self.jobs), round(gpus * wave, 3), round(gpus * 0.05 * wave, 3), gpus * 0.3 if found else 0, 8 if found else 0,
                                         1 if found else 0, 1 if found else 0, 0, len(self.hosts), 12 if minute in (700, 731) else 0, 1 if found and minute == 700 else 0])

    def be_troubled(self):
        """A bit of everything that is bad."""
        self.find(1, "job0", "h1", "rank 3 is late in every all-reduce")
        self.find(2, "job1", "h2", "hung for 20 s", cleared_at_s=self.now - 5, syndrome="comm_hang")
        self.isolate("h1")
        self.steering["hosts"].append({"name": "h7", "condition": "spare"})
        self.steering["open_actions"].append({"action": 4, "attempt": 2, "description": "restart job job0 on h0, h7",
                                              "waits_for": "answer", "until_s": self.now + 60})
        self.steering["jobs"][2]["paused_until_s"] = self.now + 3600
        self.hosts[5].update(connected=False, last_message_s=self.now - 300)
        self.hosts[6].update(connected=False, last_message_s=None, agent_version="")
        self.link["leaf0->spine1"].update(state="down", health=0)
        self.link["leaf1->spine2"].update(state="suspect", health=0.5)
        self.events.append({"number": 2, "time_s": self.now - 30, "severity": "warning", "subject": "link leaf0->spine1", "text": "down"})

    def tick(self):
        """A moment of a busy cluster: all iterations and loads change a little."""
        for i, job in enumerate(self.jobs):
            job["iteration_s"] *= 1.01 if i % 2 else 0.99
            job["lost_gpus"] = job["gpus"] * max(0.0, 1 - job["fastest_iteration_s"] / job["iteration_s"])
        for link in self.links[::7]:
            link["load"] = (link["load"] + 1) % 9
        for host in self.hosts:
            host["last_message_s"] += 2


class MockController:
    """Serves a cluster. `asked` counts the requests by path; `orders` are those that were carried out."""

    def __init__(self, web, cluster, reader=False, operator=False, port=0):
        self.web, self.cluster = pathlib.Path(web), cluster
        self.needs_reader, self.needs_operator = reader, operator
        self.order_delay_s = 0
        self.asked, self.orders, self.posts = {}, [], 0
        self.ticks = False
        self.streams = False
        self.news = []  # lists that have changed, for those who listen
        handler = type("Handler", (Handler,), {"mock": self})
        self.sockets = set()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        # Browsers keep connections, and would be answered over them.
        for connection in list(self.sockets):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def show(self, path, query):
        cluster = self.cluster
        if path == "/v1/connections":
            return cluster.connections(query.get("job", [""])[0], min(10_000, int(query.get("limit", ["10000"])[0])))
        if path == "/v1/steering":
            return cluster.steering
        if path == "/v1/links":
            return cluster.links_page(query)
        if path == "/v1/hosts":
            return cluster.hosts_page(query)
        if path == "/v1/links/overview":
            return cluster.links_overview()
        if path.startswith("/v1/jobs/") and path.endswith("/trace"):
            name = urllib.parse.unquote(path.removeprefix("/v1/jobs/").removesuffix("/trace"))
            return {"otherData": {"job": name}, "traceEvents": []} if any(job["name"] == name for job in cluster.jobs) else None
        if path == "/v1/history":
            return cluster.history
        if path == "/v1/topology":
            open_node, at = query.get("open", [""])[0], query.get("at", [""])[0]
            answer = cluster.topology_at(int(at), open_node) if at else cluster.topology(open_node, query.get("job", [""])[0])
            return answer and {**answer, "period_s": 300, "moments": sorted(cluster.past)}
        if path.startswith("/v1/findings/"):
            return cluster.prove(int(path.removeprefix("/v1/findings/")))
        name = path.removeprefix("/v1/")
        if name == "jobs" and self.ticks:
            cluster.tick()
        return {name: getattr(cluster, name)} if name in ("jobs", "findings", "events") else None

    def carry_out(self, path, body):
        """As src/service/steering/operator_orders.cc: (status, answer)."""
        steering = self.cluster.steering
        host = body.get("host")
        if path == "/v1/steering/undo":
            if host not in steering["isolated"]:
                return 400, {"error": f"host {host} is not isolated"}
            steering["isolated"].remove(host)
            steering["hosts"] = [entry for entry in steering["hosts"] if entry["name"] != host]
        elif path == "/v1/steering/spare":
            steering["hosts"].append({"name": host, "condition": "spare"})
        elif path == "/v1/steering/pause":
            job = next((job for job in steering["jobs"] if job["name"] == body["job"]), None)
            if job is None:
                return 404, {"error": f"no job '{body['job']}' runs under the diagnosis"}
            job["paused_until_s"] = time.time() + body["for_s"] if body["for_s"] > 0 else None
        else:
            return 404, {"error": f"there is no {path}"}
        self.orders.append((path, body))
        return 200, body


class Handler(http.server.BaseHTTPRequestHandler):
    mock = None
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.mock.sockets.add(self.connection)

    def finish(self):
        self.mock.sockets.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def role(self):
        """0: nobody, 1: reader, 2: operator (src/service/http/http_roles.cc)."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer":
            return 0 if self.mock.needs_reader else 1 if self.mock.needs_operator else 2
        return {OPERATOR: 2, READER: 1}.get(token, 0)

    def refuse(self):
        code = 401 if self.role() == 0 else 403
        return self.answer(code, {"error": "this needs a token: send Authorization: Bearer TOKEN" if code == 401
                                  else "this needs the token of an operator"})

    def answer(self, code, json_body=None, text=None, kind="application/json"):
        body = (json.dumps(json_body) + "\n").encode() if text is None else text
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if text is not None:
            self.send_header("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        self.mock.asked[address.path] = self.mock.asked.get(address.path, 0) + 1
        file = self.mock.web / (address.path.lstrip("/") or "index.html")
        if "/" not in address.path[1:] and file.is_file():
            return self.answer(200, text=file.read_bytes(), kind=TYPES[file.suffix])
        if self.role() < 1:
            return self.refuse()
        if self.mock.streams and address.path == "/v1/events" and "text/event-stream" in self.headers.get("Accept", ""):
            return self.stream()
        shown = self.mock.show(address.path, urllib.parse.parse_qs(address.query))
        if shown is None:
            return self.answer(404, {"error": f"there is no {address.path}"})
        return self.answer(200, shown)

    def stream(self):
        """As src/service/controller/list_watch.h, every 0.2 s."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        told = 0
        with contextlib.suppress(OSError):
            while self.connection in self.mock.sockets and self.mock.streams:
                names, told = self.mock.news[told:], len(self.mock.news)
                self.wfile.write(f"event: changed\ndata: {json.dumps(names)}\n\n".encode())
                self.wfile.flush()
                time.sleep(0.2)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.mock.posts += 1
        if self.role() < 2:
            return self.refuse()
        time.sleep(self.mock.order_delay_s)
        return self.answer(*self.mock.carry_out(self.path, body))

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="A controller for the page alone.")
    parser.add_argument("web")
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    cluster = Cluster(options.hosts, options.jobs)
    cluster.be_troubled()
    mock = MockController(options.web, cluster, port=options.port)
    print(f"http://127.0.0.1:{mock.port}/")
    threading.Event().wait()


if __name__ == "__main__":
    main()
