#!/usr/bin/env python3
"""How pages look, at three widths, light and dark: against pictures of before, and by the rules of accessibility (axe-core).

Usage: look_test.py FAIRLEAD SOURCE_DIR CACHE_DIR    exit code 77: no Chromium is installed

A picture is kept as text: one character a block of pixels, from black (0) to white (z). FAIRLEAD_UPDATE_GOLDEN=1 writes them anew.
axe-core comes from npm's registry, is checked by its hash and kept in CACHE_DIR; without a network its tests are skipped.
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request

from browser import Browser, find_browser
from mock_controller import Cluster, MockController

FAIRLEAD, SOURCE_DIR, CACHE_DIR = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PICTURES = SOURCE_DIR / "tests" / "web" / "pictures"
AXE_VERSION = "4.14.1"
AXE_SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
WIDTHS = (390, 800, 1400)
HEIGHT = 1200
BLOCK = 15  # pixels
LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"
# A block may be that many levels off, and this share of all blocks more: clocks and ages differ, letters may move by a pixel.
OFF_MAX = 3
SHARE_MAX = 0.03
# Views of the controller's page: what the address names, and what has to be there before it is looked at.
VIEWS = {"overview": ("", "#jobs"), "job": ("#job=job0", "#paths"), "host": ("#host=h1", "#facts"), "link": ("#link=leaf0-%3Espine1", "#link-jobs"),
         "finding": ("#finding=1", "#waits"), "network": ("#topology&paths=job0", "svg#network .wire.on")}
LOOK = """async (png, block, levels) => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + png;
  await image.decode();
  const [columns, rows] = [Math.floor(image.width / block), Math.floor(image.height / block)];
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
  const lines = [];
  for (let row = 0; row < rows; ++row) {
    let line = '';
    for (let column = 0; column < columns; ++column) {
      let sum = 0;
      for (let y = row * block; y < (row + 1) * block; ++y) {
        for (let x = column * block; x < (column + 1) * block; ++x) {
          const at = 4 * (y * canvas.width + x);
          sum += 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
        }
      }
      line += levels[Math.round(sum / (block * block) / 255 * (levels.length - 1))];
    }
    lines.push(line);
  }
  return lines.join('\\n') + '\\n';
}"""


def find_axe():
    """Its source; None: it can't be had."""
    path = CACHE_DIR / f"axe-core-{AXE_VERSION}.tgz"
    if not path.exists():
        try:
            with urllib.request.urlopen(f"https://registry.npmjs.org/axe-core/-/axe-core-{AXE_VERSION}.tgz", timeout=20) as answer:
                packed = answer.read()
        except OSError:
            return None
        CACHE_DIR.mkdir(parents=True, exist_ok=True)
        path.write_bytes(packed)
    packed = path.read_bytes()
    if base64.b64encode(hashlib.sha512(packed).digest()).decode() != AXE_SHA512:
        path.unlink()
        raise AssertionError(f"{path} is not axe-core {AXE_VERSION}: it has been removed")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def differ(kept, seen):
    """What is not alike, in words; empty: nothing."""
    kept_lines, seen_lines = kept.splitlines(), seen.splitlines()
    size = lambda lines: (len(lines[0]) if lines else 0, len(lines))
    if size(kept_lines) != size(seen_lines):
        return f"{size(seen_lines)} blocks instead of {size(kept_lines)}"
    off = [(row, column) for row, (a, b) in enumerate(zip(kept_lines, seen_lines)) for column, (c, d) in enumerate(zip(a, b))
           if abs(LEVELS.index(c) - LEVELS.index(d)) > OFF_MAX]
    if len(off) <= SHARE_MAX * len(kept_lines) * len(kept_lines[0]):
        return ""
    rows = sorted({row for row, _ in off})
    return f"{len(off)} blocks of {len(kept_lines) * len(kept_lines[0])} differ, in rows {rows[0] * BLOCK} to {(rows[-1] + 1) * BLOCK} px"


class LookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        # Its own page: that which is looked at forbids pictures in text.
        cls.canvas = Browser()
        cls.addClassCleanup(cls.canvas.close)
        folder = tempfile.TemporaryDirectory(prefix="fairlead.")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.cluster = Cluster()
        cls.cluster.be_troubled()
        cls.cluster.remember()
        cls.mock = MockController(SOURCE_DIR / "web", cls.cluster)
        cls.addClassCleanup(cls.mock.close)
        cls.run_command("sim", "run", SOURCE_DIR / "scenarios/uplink-failure.yaml", "--policy", "ecmp,crux", "--simulate-s", "60", "--html", "simulation.html")
        speeds = "1:1 2:0.55 4:0.3 8:0.18"
        rows = [f"job{j},{600 * j},{1 << j % 3},{2000 + 500 * j},{speeds}" for j in range(12)]
        (cls.path / "jobs.csv").write_text("\n".join(["job,submit,gpus,steps,speeds", *rows]) + "\n")
        cls.run_command("sched", "run", "jobs.csv", "--cluster", "2x4", "--policy", "aiturbo,tiresias", "--known", "oracle", "--html", "schedule.html")

    @classmethod
    def run_command(cls, *arguments):
        done = subprocess.run([FAIRLEAD, *arguments], cwd=cls.path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    def pages(self):
        """(name, how to open it) of all."""
        def open_view(hash, selector):
            self.browser.open(f"http://127.0.0.1:{self.mock.port}/{hash}")
            self.browser.wait("document.documentElement.dataset.refreshes > 1")
            self.browser.wait(f"document.querySelector({json.dumps(selector)})")
            if not hash:
                self.browser.wait("document.querySelector('#history-chart')")

        def open_report(name):
            self.browser.open(f"file://{self.path}/{name}.html")
            self.browser.wait("document.documentElement.dataset.ready === 'yes'")
        for name, view in VIEWS.items():
            yield name, lambda view=view: open_view(*view)
        for name in ("simulation", "schedule"):
            yield name, lambda name=name: open_report(name)

    def picture(self):
        # Not the browser's own width: a bar for scrolling takes some of it.
        png = self.browser.call("Page.captureScreenshot", format="png")["data"]
        return self.canvas.evaluate(f"({LOOK})({json.dumps(png)}, {BLOCK}, {json.dumps(LEVELS)})")

    def test_pages_look_as_before(self):
        for name, open_page in self.pages():
            self.browser.set_dark(False)
            self.browser.set_size(WIDTHS[-1], HEIGHT)
            open_page()
            for width in WIDTHS:
                for theme in ("light", "dark"):
                    with self.subTest(page=name, width=width, theme=theme):
                        self.browser.set_size(width, HEIGHT)
                        self.browser.set_dark(theme == "dark")
                        self.browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                        self.compare(PICTURES / f"{name}-{width}-{theme}.txt")

    def compare(self, path):
        if os.environ.get("FAIRLEAD_UPDATE_GOLDEN"):
            PICTURES.mkdir(exist_ok=True)
            path.write_text(self.picture())
            return
        difference, end = "", time.monotonic() + 5
        while True:
            seen = self.picture()
            difference = differ(path.read_text(), seen)
            if not difference or time.monotonic() > end:
                break
            time.sleep(0.2)
        if difference:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead.look."))
            (folder / path.name).write_text(seen)
            self.browser.screenshot(folder / path.with_suffix(".png").name)
            self.fail(f"{path.name}: {difference}; what was seen is in {folder}. As intended? FAIRLEAD_UPDATE_GOLDEN=1")

    def test_pictures_that_differ_are_told_apart(self):
        self.browser.set_dark(False)
        self.browser.set_size(800, HEIGHT)
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/")
        self.browser.wait("document.querySelector('#history-chart')")
        before = self.picture()
        self.assertEqual(differ(before, before), "")
        self.browser.evaluate("document.querySelector('#section-jobs, main section').style.display = 'none'")
        self.assertIn("blocks", differ(before, self.picture()))

    def test_nothing_serious_by_the_rules_of_accessibility(self):
        axe = find_axe()
        if axe is None:
            self.skipTest("axe-core can't be fetched from registry.npmjs.org")
        self.browser.set_size(1200, HEIGHT)
        for name, open_page in self.pages():
            open_page()
            self.browser.evaluate(axe + "; 0")
            for theme in ("light", "dark"):
                with self.subTest(page=name, theme=theme):
                    self.browser.set_dark(theme == "dark")
                    found = self.browser.evaluate(
                        "axe.run().then(found => found.violations.filter(one => ['serious', 'critical'].includes(one.impact))"
                        ".map(one => `${one.id}: ${one.help}: ${one.nodes.length} times, such as ${one.nodes[0].html.slice(0, 200)}"
                        " (${one.nodes[0].failureSummary.slice(0, 300)})`))")
                    self.assertEqual(found, [])


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: no Chromium is installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
