#!/usr/bin/env python3
"""Pages of commands in headless Chromium: with their script, without it, light, dark, narrow and on paper.

Usage: report_test.py FAIRLEAD SOURCE_DIR    exit code 77: no Chromium is installed
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_browser

FAIRLEAD, SOURCE_DIR = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
EVIL = "<script>document.title='gone'</script>"


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.folder = tempfile.TemporaryDirectory(prefix="fairlead.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        scenario = (SOURCE_DIR / "scenarios/uplink-failure.yaml").read_text()
        scenario = scenario.replace("fabric_file: ..", f"fabric_file: {SOURCE_DIR}").replace("title: ", f"title: {EVIL} ").replace("name: late", f'name: "{EVIL}"')
        (cls.path / "evil.yaml").write_text(scenario)
        # At its end one cable is down, and one degraded.
        cls.run_command("sim", "run", "evil.yaml", "--policy", "ecmp,crux", "--seeds", "2", "--simulate-s", "100", "--html", "sim.html", "--figures", "figures")
        cls.run_command("sim", "run", SOURCE_DIR / "scenarios/lingjun-snapshot.yaml", "--policy", "ecmp,crux", "--simulate-s", "20", "--html", "heat.html")
        speeds = "1:1 2:0.55 4:0.3 8:0.18"
        rows = [f"{EVIL if j == 3 else f'job{j}'},{600 * j},{1 << j % 3},{2000 + 500 * j},{speeds}" for j in range(12)]
        (cls.path / "jobs.csv").write_text("\n".join(["job,submit,gpus,steps,speeds", *rows]) + "\n")
        cls.run_command("sched", "run", "jobs.csv", "--cluster", "2x4", "--policy", "aiturbo,tiresias", "--known", "oracle", "--html", "sched.html")

    @classmethod
    def run_command(cls, *arguments):
        done = subprocess.run([FAIRLEAD, *arguments], cwd=cls.path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    def open(self, page="sim.html", hash="", script=True):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.browser.set_size(1200, 1000)
        self.browser.set_dark(False)
        self.browser.complaints.clear()
        self.browser.call("Emulation.setEmulatedMedia", media="")
        if not script:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(f"file://{self.path / page}{hash}")
        if script:
            self.browser.wait("document.documentElement.dataset.ready === 'yes'")

    def count(self, selector):
        return self.browser.evaluate(f"document.querySelectorAll({selector!r}).length")

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({selector!r})?.innerText ?? null")

    def calm(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertNotEqual(self.browser.evaluate("document.title"), "gone")

    def test_tables_are_sorted_and_filtered(self):
        self.open()
        table = "[...document.querySelectorAll('table')].find(t => t.querySelector('tr[data-link]'))"
        first = f"{table}.tBodies[0].rows[0].cells[0].innerText"
        self.assertEqual(self.browser.evaluate(f"{table}.tBodies[0].rows.length"), 60, "as many as are read at once")
        self.browser.evaluate(f"[...{table}.closest('section').querySelectorAll('.tools button')].find(b => b.innerText.startsWith('Show all')).click()")
        self.browser.evaluate(f"{table}.tHead.rows[0].cells[0].querySelector('button').focus()")
        self.browser.press("Enter")
        names = self.browser.evaluate(f"[...{table}.tBodies[0].rows].map(r => r.cells[0].innerText)")
        self.assertEqual(self.browser.evaluate(f"{table}.tHead.rows[0].cells[0].ariaSort"), "ascending")
        self.browser.press("Enter")
        self.assertEqual(self.browser.evaluate(f"[...{table}.tBodies[0].rows].map(r => r.cells[0].innerText)"), names[::-1])
        # By load: the greatest first, whatever digits it begins with.
        self.browser.evaluate(f"{table}.tHead.rows[0].cells[2].querySelector('button').click()")
        loads = self.browser.evaluate(f"[...{table}.tBodies[0].rows].map(r => parseFloat(r.cells[2].innerText)).filter(Number.isFinite)")
        self.assertEqual(loads, sorted(loads, reverse=True))
        self.browser.evaluate(f"{table}.closest('section').querySelector('input[type=search]').focus()")
        self.browser.type("leaf1->spine")
        self.assertTrue(self.browser.evaluate(f"[...{table}.tBodies[0].rows].every(r => r.innerText.includes('leaf1->spine'))"))
        self.assertIn("leaf1->spine", self.browser.evaluate(first))
        self.calm()

    def test_figures_tell_their_values_and_zoom_together(self):
        self.open()
        self.browser.evaluate("document.querySelector('svg.zooms').focus()")
        self.browser.press("ArrowRight")
        self.assertRegex(self.text("#tip"), r"s\necmp: [\d.]+ %\ncrux: [\d.]+ %")
        ticks = "[...document.querySelectorAll('svg.zooms')].map(s => [...s.querySelectorAll('.tick.middle')].filter(t => !t.classList.contains('off')).map(t => t.textContent).join())"
        before = self.browser.evaluate(ticks)
        self.browser.evaluate("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}))")
        after = self.browser.evaluate(ticks)
        self.assertEqual(len(set(after)), 1, "all show the same stretch")
        self.assertNotEqual(before[0], after[0])
        # What happened then has moved with the curves: each event is where the axis has its time.
        places = self.browser.evaluate("[...document.querySelector('svg.zooms').querySelectorAll('.event')].map(e => { const b = e.getBoundingClientRect(); return b.x + b.width / 2; })")
        axis = self.browser.evaluate("(() => { const t = [...document.querySelector('svg.zooms').querySelectorAll('.tick.middle')].filter(t => !t.classList.contains('off'))"
                                     ".map(t => { const b = t.getBoundingClientRect(); return [parseFloat(t.textContent), b.x + b.width / 2]; }); return [t[0], t[t.length - 1]]; })()")
        (low, x_low), (high, x_high) = axis
        times = [low + (place - x_low) / (x_high - x_low) * (high - low) for place in places]
        self.assertTrue(any(abs(time - 60) < 0.5 for time in times), times)
        self.assertIn("t=", self.browser.evaluate("location.hash"))
        hash = self.browser.evaluate("location.hash")
        self.open(hash=hash)
        self.assertEqual(self.browser.evaluate(ticks), after, "the address holds the moment")
        self.browser.evaluate("document.querySelector('svg.zooms').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
        self.assertEqual(self.browser.evaluate(ticks), before)
        self.browser.evaluate("document.querySelector('svg.zooms .curve-label').focus()")
        self.browser.press("Enter")
        self.assertEqual(self.browser.evaluate("document.activeElement.getAttribute('aria-pressed')"), "false")
        self.assertGreater(self.count("svg.zooms .curve.off"), 0)
        self.calm()

    def test_durations_do_not_zoom_with_moments(self):
        self.open("sched.html")
        figures = self.browser.evaluate("[...document.querySelectorAll('svg[data-figure]')].map(s => [JSON.parse(s.dataset.figure), s.classList.contains('zooms')])")
        shares = [zooms for figure, zooms in figures if figure["kind"] == "line" and figure["y"]["label"] == "share of jobs"]
        self.assertTrue(shares and not any(shares))
        self.assertTrue(any(zooms for _, zooms in figures))

    def test_what_a_finger_has_asked_for_stays(self):
        self.open()
        place = self.browser.evaluate("(() => { const svg = document.querySelector('svg.zooms'); svg.scrollIntoView({block: 'center'});"
                                      "const b = svg.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        touch = lambda kind, points: self.browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        touch("touchStart", [{"x": place[0], "y": place[1]}])
        touch("touchEnd", [])
        self.browser.wait("document.querySelector('#tip')?.hidden === false")
        self.assertRegex(self.text("#tip"), r"s\necmp: [\d.]+ %\ncrux: [\d.]+ %")
        touch("touchStart", [{"x": 5, "y": 5}])
        touch("touchEnd", [])
        self.browser.wait("document.querySelector('#tip').hidden")
        self.calm()

    def test_many_cells_tell_their_values(self):
        self.open("heat.html")
        self.assertLess((self.path / "heat.html").stat().st_size, 1_500_000)
        self.browser.evaluate("window.heat = [...document.querySelectorAll('svg[data-figure]')].find(s => JSON.parse(s.dataset.figure).kind === 'heat' && !s.querySelector('[data-tip]'));"
                              "window.figure = JSON.parse(heat.dataset.figure); heat.scrollIntoView({block: 'center'}); heat.focus(); 0")
        self.browser.press("ArrowRight")
        self.assertRegex(self.text("#tip"), r"^ecmp: leaf\d+, .*: (utilization )?(none|[\d.]+ %)$")
        # At the middle of a cell of the second panel: what the data has of it.
        place, expected = self.browser.evaluate(
            "(() => { const panel = figure.panels[1]; const [row, column, share] = panel.cells.find(c => c[2] > 0.01 && c[0] > 3); const [x, y, w, h] = panel.frame;"
            "const at = new DOMPoint(x + (column + 0.5) * w, y + (row + 0.5) * h).matrixTransform(heat.getScreenCTM());"
            "return [[at.x, at.y], [panel.heading, figure.rows[row], share]]; })()")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        self.browser.wait(f"document.querySelector('#tip').innerText.startsWith({expected[0] + ': ' + expected[1] + ', '!r})")
        self.assertAlmostEqual(float(self.text("#tip").split()[-2]), 100 * expected[2], delta=0.006 * 100 * expected[2])
        self.calm()

    def test_the_network_shows_paths_and_what_is_down(self):
        self.open()
        self.assertEqual(self.count("svg#network-0"), 1)
        self.assertGreater(self.count("#network-0 .wire.down"), 0)
        job = self.browser.evaluate("document.querySelector('tr[data-job]').dataset.job")
        self.open(hash="#job=" + self.browser.evaluate(f"encodeURIComponent({job!r})"))
        self.assertEqual(self.count("tr.here[data-job]"), 1)
        self.assertGreater(self.count("#network-0 .wire.on"), 0)
        self.assertIn(job, self.text("#network-0-text"))
        self.calm()

    def test_without_script_the_drawings_are_there(self):
        self.open(script=False)
        # The debugger may still evaluate.
        self.assertGreater(self.count(".still svg"), 0)
        self.assertEqual(self.count("button"), 0)
        self.assertTrue(self.browser.evaluate("document.querySelector('.still').getBoundingClientRect().height > 100"))
        self.calm()

    def test_on_paper_the_drawing_is_shown_instead_of_the_tools(self):
        self.open()
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.assertTrue(self.browser.evaluate("document.querySelector('.still').getBoundingClientRect().height > 100"))
        self.assertEqual(self.browser.evaluate("document.querySelector('[data-picture]').getBoundingClientRect().height"), 0)

    def test_narrow_and_dark(self):
        self.open()
        self.browser.set_dark(True)
        self.browser.set_size(390)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 390)
        self.calm()

    def test_figures_are_files_that_can_be_shown(self):
        names = sorted(path.name for path in (self.path / "figures").iterdir())
        self.assertIn("01-gpu-utilization-over-time.svg", names)
        self.assertIn("01-gpu-utilization-over-time.csv", names)
        self.assertEqual((self.path / "figures/01-gpu-utilization-over-time.csv").read_text().splitlines()[0],
                         "series,simulated time,GPU utilization (busy),low,high")
        self.browser.complaints.clear()
        self.browser.open(f"file://{self.path}/figures/01-gpu-utilization-over-time.svg")
        self.assertGreater(self.browser.evaluate("document.documentElement.getBBox().width"), 100)
        self.assertEqual(self.browser.complaints, [])

    def test_sizes_over_time(self):
        self.open("sched.html")
        self.assertRegex(self.text(".answer"), r"Under (aiturbo|tiresias) a job takes .* on average, \d+ % less than the .* under (aiturbo|tiresias)\.")
        figures = self.browser.evaluate("[...document.querySelectorAll('svg[data-figure]')].map(s => JSON.parse(s.dataset.figure)).filter(f => f.kind === 'schedule')")
        self.assertEqual([len(figure["lanes"]) for figure in figures], [12, 12], "a lane for each job, a figure for each policy")
        # The second policy's figure is on the same axis, and is zoomed with the first.
        self.assertEqual(figures[0]["x"]["high"], figures[1]["x"]["high"])
        self.open("sched.html", hash="#t=600,3000")
        self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('svg.zooms')].every(s => s.querySelector('[transform^=matrix]'))"), True)
        self.browser.evaluate("document.querySelector('svg.zooms').focus()")
        self.browser.press("ArrowRight")
        self.assertIn("job0", self.text("#tip"))
        self.assertIn(EVIL, self.browser.evaluate("document.body.innerText"))
        self.calm()


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: no Chromium is installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
