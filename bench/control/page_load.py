#!/usr/bin/env python3
"""What the controller's page costs in a large cluster: a real controller, simulated agents (control_load), headless Chromium.

Usage: page_load.py FAIRLEAD CONTROL_LOAD [HOSTS [JOBS [SECONDS [NICS]]]]

Prints the controller's CPU time with and without the page, for each refresh of it; how large each answer is and what it costs;
and what the browser holds. The page shows the overview first, then the network as a picture.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "web"))
from browser import Browser, find_browser  # noqa: E402

PATIENCE_S = 300


def cpu_s(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pids):
    return sum(int(line.split()[1]) for pid in pids for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
               if line.startswith("RssAnon:")) / 1000


def await_line(path, text):
    end = time.monotonic() + PATIENCE_S
    while text not in path.read_text():
        if time.monotonic() > end:
            raise SystemExit(f"page_load.py: no '{text}' in {path}:\n{path.read_text()[-2000:]}")
        time.sleep(0.1)


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    fairlead, load = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
    hosts, jobs, seconds, nics = (int(sys.argv[i]) if len(sys.argv) > i else default
                                  for i, default in ((3, 10_000), (4, 500), (5, 20), (6, 1)))
    if find_browser() is None:
        raise SystemExit("page_load.py: no Chromium is installed")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead."))
    log = folder / "log"
    subprocess.run([load, "write", folder, str(hosts), str(nics)], check=True)
    with open(log, "w") as output:
        controller = subprocess.Popen(
            [fairlead, "controller", "--fabric", folder / "fabric.yaml", "--addresses", folder / "addresses.json", "--listen",
             f"unix:{folder}/agents.sock", "--http", "127.0.0.1:0", "--probe-period", "600",
             "--store", f"sqlite:{folder}/store"], stdout=output, stderr=output)
    agents = browser = None
    try:
        await_line(log, "http://")
        url = next(word for word in log.read_text().split() if word.startswith("http://")).rstrip("/,")
        agents = subprocess.Popen([load, "run", f"unix:{folder}/agents.sock", str(controller.pid), str(hosts), "0", "100000", "8",
                                   "known", str(jobs)], stdout=subprocess.DEVNULL)

        def answer(path):
            with urllib.request.urlopen(url + path, timeout=PATIENCE_S) as found:
                return found.read()
        end = time.monotonic() + PATIENCE_S
        while json.loads(answer("/v1/hosts"))["all"]["connected"] < hosts and time.monotonic() < end:
            time.sleep(1)
        time.sleep(15)
        shown = len(json.loads(answer("/v1/jobs"))["jobs"])
        print(f"{hosts:,} hosts, {shown:,} jobs")
        before = cpu_s(controller)
        time.sleep(seconds)
        idle = (cpu_s(controller) - before) / seconds
        print(f"controller without the page: {1000 * idle:.0f} ms of CPU time a second")
        for path in ("jobs", "hosts", "hosts?state=needs_look&order=worst&limit=50", "links", "links?limit=50", "links/overview", "findings", "events", "topology", "history"):
            before, count = cpu_s(controller), 5
            for _ in range(count):
                size = len(answer(f"/v1/{path}"))
            print(f"  /v1/{path}: {size / 1000:,.1f} kB, {1000 * (cpu_s(controller) - before) / count:.0f} ms")
        browser = Browser()
        for view in ("", "#topology"):
            browser.open(f"{url}/{view}")
            browser.wait("document.documentElement.dataset.refreshes > 1", patience_s=PATIENCE_S)
            paint = browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null")
            if view:
                browser.wait("document.querySelector('svg#network')", patience_s=PATIENCE_S)
            refreshes = lambda: int(browser.evaluate("document.documentElement.dataset.refreshes"))
            before, first = cpu_s(controller), refreshes()
            time.sleep(seconds)
            count = refreshes() - first
            cost = cpu_s(controller) - before - idle * seconds
            browser.call("HeapProfiler.collectGarbage")
            heap = browser.evaluate("performance.memory.usedJSHeapSize") / 1e6
            print(f"{view or 'overview'}: {count} refreshes in {seconds} s, {1000 * cost / max(1, count):.0f} ms of the controller's CPU time each; "
                  f"first paint {paint or 0:.0f} ms, drawing {browser.evaluate('document.documentElement.dataset.renderMs')} ms, "
                  f"{browser.evaluate('document.querySelectorAll(`*`).length'):,} nodes, {heap:.1f} MB of JavaScript's heap, "
                  f"complaints: {browser.complaints or 'none'}")
        print(f"controller: {memory_mb([controller.pid]):.0f} MB")
    finally:
        if browser:
            browser.close()
        for process in (agents, controller):
            if process:
                process.kill()


if __name__ == "__main__":
    main()
