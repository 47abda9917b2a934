#!/usr/bin/env python3
"""The controller's page in headless Chromium, before a controller of the test's own.

Usage: page_test.py SOURCE_DIR    exit code 77: no Chromium is installed
"""

import pathlib
import sys
import time
import unittest

from browser import Browser, find_browser
from mock_controller import OPERATOR, READER, Cluster, MockController

SOURCE_DIR = pathlib.Path(sys.argv[1])
TEXT = "document.body.innerText"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def start(self, cluster=None, hash="", **options):
        self.cluster = cluster or Cluster()
        self.mock = MockController(SOURCE_DIR / "web", self.cluster, **options)
        self.addCleanup(self.mock.close)
        self.browser.set_size(1400, 1000)
        self.browser.set_dark(False)
        self.browser.complaints.clear()
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/{hash}")
        self.browser.wait("document.documentElement.dataset.refreshes > 0")

    def refresh(self):
        """Until the page shows a newer answer of each list. Where a list is slow to come, it asks for it less often."""
        view = self.browser.evaluate("location.hash").lstrip("#").split("=")[0]
        is_one = view in ("job", "link", "host")
        is_shown = {"/v1/history": False, "/v1/links/overview": view in ("", "filter", "hosts", "sort", "told"), "/v1/links": is_one,
                    "/v1/hosts": view not in ("job", "link", "finding") and not view.startswith("topology"), "/v1/connections": is_one,
                    "/v1/topology": view.startswith("topology")}
        asked = {path: count for path, count in self.mock.asked.items() if path.startswith("/v1/") and is_shown.get(path, True)}
        end = time.monotonic() + 30
        while any(self.mock.asked[path] == count for path, count in asked.items()) and time.monotonic() < end:
            time.sleep(0.03)
        before = int(self.browser.evaluate("document.documentElement.dataset.refreshes"))
        self.browser.wait(f"document.documentElement.dataset.refreshes > {before}")

    def refresh_of(self, path):
        asked = self.mock.asked[path]
        end = time.monotonic() + 10
        while self.mock.asked[path] < asked + 2 and time.monotonic() < end:
            time.sleep(0.03)

    def text(self, selector="body"):
        return self.browser.evaluate(f"document.querySelector({selector!r})?.innerText ?? null")

    def names(self, table="jobs"):
        return self.browser.evaluate(f"[...document.querySelectorAll('#{table} tbody tr')].map(r => r.cells[0].innerText)")

    def eventually(self, read, expected):
        """What a view shows follows an input, a little later."""
        end = time.monotonic() + 10
        while (found := read()) != expected and time.monotonic() < end:
            time.sleep(0.03)
        self.assertEqual(found, expected)

    def calm(self):
        """Nothing was complained of; but for what the page before asked of its controller, which is gone."""
        own = f"127.0.0.1:{self.mock.port}/"
        self.assertEqual([text for text in self.browser.complaints if "127.0.0.1:" not in text or own in text], [])

    def test_the_first_sentence_is_the_answer(self):
        cluster = Cluster(num_jobs=3)
        for job, lost in zip(cluster.jobs, (6.0, 1.0, 0.0)):
            job["lost_gpus"] = lost
        cluster.jobs[0]["name"] = "gpt"
        self.start(cluster)
        # 2 hosts of 8 GPUs for each of the three jobs.
        self.assertEqual(self.text("#answer"), "2 of 3 jobs lose 7.0 of 48 GPUs, most of it gpt on leaf0->spine0.")
        self.assertEqual(self.text("#attention-none"), "✓ Nothing needs you.")
        self.assertEqual(self.text("#findings-none"), "✓ nothing was found")
        self.assertIn("7.0 of 48 GPUs lost", self.text("#totals"))
        for job in cluster.jobs:
            job["lost_gpus"] = 0
        self.refresh()
        self.assertIn("none loses time", self.text("#answer"))
        for job in cluster.jobs:
            job.update(lost_gpus=None, iteration_s=None, fastest_iteration_s=None)
        self.refresh()
        self.assertIn("not known", self.text("#answer"))
        cluster.jobs.clear()
        self.refresh()
        self.assertEqual(self.text("#answer"), "No job has a connection yet.")
        self.calm()

    def test_what_is_bad_looks_bad_without_its_colour(self):
        cluster = Cluster()
        cluster.be_troubled()
        self.start(cluster)
        for said in ("1 finding holds", "1 host isolated", "2 links not up", "1 agent silent", "1 host without an agent"):
            self.assertIn(f"⚠ {said}", self.text("#attention"))
        self.assertEqual(self.names("hosts"), ["h1", "h5", "h6"])
        self.assertEqual(self.names("findings"), ["⚠ holds"])
        self.assertEqual(self.names("links-down"), ["leaf0->spine1", "leaf1->spine2"])
        self.assertIn("h7", self.text("main"))
        self.assertEqual(self.text("#open-actions"), "• restart job job0 on h0, h7: attempt 2, waits for answer")
        signs = self.browser.evaluate("[...document.querySelectorAll('.matrix .not-up')].map(e => e.innerText)")
        self.assertEqual(sorted(signs), ["!", "✕"])
        self.calm()

    def test_names_of_strangers_stay_text(self):
        cluster = Cluster(num_jobs=2)
        evil = "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\">"
        cluster.jobs[0]["name"] = evil
        cluster.jobs[0]["reason"] = evil
        cluster.find(1, evil, "h0", evil)
        cluster.events.append({"number": 9, "time_s": 1, "severity": "warning", "subject": f"job {evil}", "text": evil})
        self.start(cluster)
        self.assertIn(evil, self.names())
        self.browser.click("#jobs tbody tr a")
        self.browser.wait("document.querySelector('#reason')")
        self.assertEqual(self.text("#view-title"), f"Job {evil}")
        self.assertEqual(self.text("#reason"), evil)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('main script, main img').length"), 0)
        self.assertNotEqual(self.browser.evaluate("document.title"), "gone")
        self.calm()

    def test_jobs_are_sorted_and_filtered(self):
        self.start(Cluster(num_jobs=12, num_hosts=12))
        by_loss = [job["name"] for job in sorted(self.cluster.jobs, key=lambda job: -job["lost_gpus"])]
        self.assertEqual(self.names()[:9], by_loss[:9])
        self.assertEqual(self.browser.evaluate("document.querySelector('#jobs th[aria-sort=descending]').innerText"), "GPUs lost ▼")
        self.browser.click("#jobs th:first-child button")
        self.eventually(self.names, [f"job{i}" for i in range(12)])
        self.browser.evaluate("document.querySelector('#jobs th:first-child button').focus()")
        self.browser.press("Enter")
        self.eventually(self.names, [f"job{i}" for i in reversed(range(12))])
        self.assertEqual(self.browser.evaluate("document.querySelector('#jobs th:first-child').ariaSort"), "descending")
        self.browser.evaluate("document.querySelector('#filter').focus()")
        self.browser.type("job1")
        self.assertIn("job11", self.names())
        self.assertNotIn("job2", self.names())
        self.assertIn("filter=job1", self.browser.evaluate("location.hash"))
        self.refresh()
        self.assertEqual(self.browser.evaluate("[document.activeElement.id, document.activeElement.value].join()"), "filter,job1")
        link = self.browser.evaluate("location.hash")
        shown = self.names()
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/{link}")
        self.browser.wait("document.querySelector('#jobs')")
        self.assertEqual(self.names(), shown)
        self.calm()

    def test_what_has_not_changed_stays_the_same_node(self):
        self.start()
        self.browser.evaluate("window.row = document.querySelector('#jobs tbody tr'); row.querySelector('a').focus();"
                              "window.changes = 0; new MutationObserver(c => changes += c.length).observe("
                              "document.querySelector('#jobs'), {subtree: true, childList: true, attributes: true, characterData: true})")
        self.refresh()
        self.assertEqual(self.browser.evaluate("changes"), 0)
        # It moves from the first place to the last, and keeps the focus.
        self.cluster.jobs[0]["lost_gpus"] = 0
        self.refresh()
        self.assertTrue(self.browser.evaluate("row.isConnected && row.contains(document.activeElement)"))
        self.assertEqual(self.names()[-1], "job0")

    def test_from_idle_gpus_to_the_culprit_and_the_undo(self):
        cluster = Cluster()
        cluster.be_troubled()
        self.start(cluster)
        self.browser.click("#answer a")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Job job0'")
        self.browser.wait("document.querySelector('#paths')")
        self.assertNotIn("d_r", self.text("#reason"))
        self.assertIn("number 1 in importance", self.text("#reason"))
        self.browser.click("#findings a[href='#host=h1']")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Host h1'")
        self.assertIn("⚠ isolated", self.text("#facts"))
        self.mock.order_delay_s = 0.3
        self.browser.click("#facts button")
        self.assertTrue(self.browser.evaluate("document.querySelector('#order').open"))
        self.assertEqual(self.mock.posts, 0)
        self.browser.click("#order-send", times=2)
        self.browser.wait("document.querySelector('#order-answer').innerText.startsWith('✓ Done')")
        self.assertEqual(self.mock.orders, [("/v1/steering/undo", {"host": "h1"})])
        self.assertEqual(self.mock.posts, 1)
        self.browser.click("#order-close")
        self.browser.wait("document.querySelector('#facts').innerText.includes('✓ connected')")
        self.calm()

    def test_a_finding_shows_what_it_was_made_from(self):
        cluster = Cluster()
        cluster.be_troubled()
        self.start(cluster)
        self.browser.click("#findings a[href='#finding=1']")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Finding 1'")
        self.browser.wait("document.querySelector('#waits')")
        self.assertEqual(self.text("#finding-text"), "⚠ rank 3 is late in every all-reduce")
        self.assertIn("A block of iterations took 1 s before it was suspected, and 1.5 s since: 1.50×.", self.text("main"))
        self.assertIn("all_reduce 17 on world waits for ⚠ rank 3", self.text("#waits"))
        self.assertEqual(self.names("delays"), ["rank 1 on h1", "rank 0 on h0"])
        self.assertIn("102 pairs of ranks were measured", self.text("main"))
        curves = self.browser.evaluate("[...document.querySelectorAll('svg .curve')].map(e => e.getBoundingClientRect().width > 100)")
        self.assertEqual(curves, [True, True, True])
        self.assertEqual(self.browser.evaluate("document.querySelector('svg').namespaceURI"), "http://www.w3.org/2000/svg")
        self.browser.click("#history a[href='#finding=2']")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Finding 2'")
        self.calm()

    def test_a_hang_that_accuses_nobody_shows_who_it_may_be(self):
        cluster = Cluster()
        cluster.find(5, "job1", "h1", "One of two ranks is stuck, and it is not known which", syndrome="comm_hang")
        self.start(cluster, hash="#finding=5")
        self.browser.wait("document.querySelector('#candidates')")
        self.assertIn("rank 4 on h1: its GPU <b>stands</b>; time since its last report: 2 s (h1)", self.text("#candidates"))
        self.assertIn("rank 0 on h0: its GPU stands (h0)", self.text("#candidates"))
        self.calm()

    def test_a_finding_that_is_not_there_is_said_to_be(self):
        self.start(hash="#finding=99")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Finding 99'")
        self.assertIn("knows no finding of this number", self.text("main"))

    def test_links_lead_to_jobs_and_hosts(self):
        self.start(hash="#link=leaf0-%3Espine1")
        self.browser.wait("document.querySelector('#link-jobs')")
        self.assertEqual(set(self.names("link-jobs")), {"job1", "job5"})
        self.browser.wait("document.querySelector('#paths a[href^=\"#host=\"]')")
        self.calm()  # browsers note each 404 by themselves
        self.browser.evaluate("location.hash = '#host=nobody'")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Host nobody'")
        self.assertIn("knows no host of this name", self.text("main"))

    def test_views_ask_for_the_links_that_they_show(self):
        self.start(Cluster(num_hosts=64, num_nics=8))
        self.assertNotIn("/v1/links", self.mock.asked, "never all of them")
        self.browser.evaluate("location.hash = '#host=h3'")
        self.browser.wait("document.querySelector('#host-links')")
        self.assertEqual(sorted(self.names("host-links")), sorted(way for i in range(8) for way in (f"h3/nic{i}->leaf0", f"leaf0->h3/nic{i}")))
        self.browser.evaluate("location.hash = '#job=job1'")
        self.browser.wait("document.querySelector('#job-links')")
        self.assertEqual(len(self.names("job-links")), 10)
        self.browser.evaluate("location.hash = '#link=leaf0-%3Espine1'")
        self.browser.wait("document.querySelector('#other-links')")
        self.assertEqual(self.names("other-links"), ["spine1->leaf0"])
        self.browser.evaluate("location.hash = '#link=leaf0-%3Espine9'")
        self.browser.wait("document.body.innerText.includes('knows no link')")
        self.browser.complaints.clear()  # 404
        self.browser.evaluate("location.hash = ''")
        self.browser.wait("document.querySelector('.matrix')")
        self.calm()

    def test_pauses_ask_for_a_reason(self):
        self.start(hash="#job=job0")
        self.browser.wait("document.querySelector('#facts button')")
        self.browser.click("#facts button")
        self.browser.click("#order-send")
        self.assertEqual(self.mock.posts, 0)
        self.browser.evaluate("document.querySelector('#order-reason').focus()")
        self.browser.type("an evaluation")
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('#order-answer').innerText.startsWith('✓ Done')")
        self.assertEqual(self.mock.orders, [("/v1/steering/pause", {"job": "job0", "for_s": 600, "reason": "an evaluation"})])
        self.browser.wait("document.querySelector('#facts').innerText.includes('paused until')")

    def test_tokens(self):
        cluster = Cluster()
        cluster.be_troubled()
        self.start(cluster, reader=True, operator=True)
        self.browser.wait("!document.querySelector('#token-form').hidden")
        self.assertIn("a token is needed", self.text("#state"))
        self.browser.evaluate("document.querySelector('#token').focus()")
        self.browser.type(READER)
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('#isolated button')")
        self.assertTrue(self.browser.evaluate("document.querySelector('#token-form').hidden"))
        self.browser.click("#isolated button")
        self.browser.click("#order-send")
        self.browser.wait("document.querySelector('#order-answer').innerText.includes('your token may only look')")
        self.assertEqual(self.mock.orders, [])
        self.browser.wait("document.activeElement.id === 'order-token'")
        self.browser.type(OPERATOR)
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('#order-answer').innerText.startsWith('✓ Done')")
        self.assertEqual(self.mock.orders, [("/v1/steering/undo", {"host": "h1"})])

    def test_a_refused_order_says_why(self):
        cluster = Cluster()
        cluster.be_troubled()
        self.start(cluster)
        self.browser.click("#isolated button")
        cluster.steering["isolated"].clear()
        self.browser.click("#order-send")
        self.browser.wait("document.querySelector('#order-answer').innerText === '⚠ Not done: host h1 is not isolated'")

    def test_the_controller_goes_and_comes_back(self):
        self.start()
        port = self.mock.port
        self.mock.close()
        self.browser.wait("document.querySelector('#state').className === 'bad'")
        self.assertIn("no answer from the controller", self.text("#state"))
        self.browser.wait("document.body.classList.contains('old')")
        self.assertIn("⚠ OLD", self.text("#age"))
        self.assertEqual(len(self.names()), 8)
        self.mock = MockController(SOURCE_DIR / "web", self.cluster, port=port)
        self.addCleanup(self.mock.close)
        self.browser.wait("document.querySelector('#state').innerText === 'connected to the controller'")
        self.assertFalse(self.browser.evaluate("document.body.classList.contains('old')"))

    def test_without_steering(self):
        self.start()
        self.cluster.steering = None
        self.mock.show = lambda path, query, show=self.mock.show: None if path == "/v1/steering" else show(path, query)
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/")
        self.browser.wait("document.querySelector('#jobs')")
        self.assertIn("off: this controller does not diagnose jobs", self.text("main"))

    def test_the_last_day(self):
        cluster = Cluster()
        cluster.be_troubled()
        cluster.remember()
        self.start(cluster)
        self.browser.wait("document.querySelector('#history-chart')")
        # 64 GPUs: half an hour of 8 isolated GPUs is 4 GPU-hours; 30 % of 64 GPUs for as long 9.6.
        self.assertIn("In the last 24 hours", self.text("#history-answer"))
        self.assertIn("9.6 to what was found; 4.0 were on isolated hosts", self.text("#history-answer"))
        self.assertGreaterEqual(self.browser.evaluate("document.querySelectorAll('#history-chart .area').length"), 4)
        for sign in ("⚠", "●", "↻"):
            self.assertIn(sign, self.browser.evaluate("document.querySelector('#history-chart').textContent"))
        self.browser.evaluate("document.querySelector('#history-chart').focus()")
        self.browser.press("ArrowLeft")
        self.assertIn("8 jobs on", self.text("#history-text"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#history-table tbody tr').length") in (24, 25), True)
        self.calm()

    def test_a_timeline_is_saved(self):
        self.start(hash="#job=job0")
        self.browser.wait("document.querySelector('#timeline-answer')")
        self.browser.evaluate("window.saved = ''; HTMLAnchorElement.prototype.click = function () { saved = this.download; }")
        self.browser.evaluate("[...document.querySelectorAll('#facts button')].find(e => e.innerText === 'Save for Perfetto').click()")
        self.browser.wait("saved === 'job0.trace.json'")
        self.browser.wait("document.querySelector('#timeline-answer').innerText.startsWith('Saved')")
        self.assertEqual(self.mock.asked["/v1/jobs/job0/trace"], 1)
        self.refresh_of("/v1/jobs")
        self.assertIn("Saved", self.text("#timeline-answer"))

    def test_a_history_that_has_just_begun(self):
        cluster = Cluster()
        self.start(cluster)
        self.assertIn("The history begins now", self.text("main"))
        cluster.remember(minutes=0)
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/")
        self.browser.wait("document.body.innerText.includes('The history has just begun')")
        self.calm()

    def test_what_the_controller_tells_is_not_asked_for(self):
        self.start()
        self.mock.streams = True
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/#told")
        self.browser.wait("document.documentElement.dataset.refreshes > 3")
        before = dict(self.mock.asked)
        self.cluster.jobs[0]["name"] = "renamed"
        time.sleep(2.3)
        self.assertEqual(self.mock.asked["/v1/links/overview"], before["/v1/links/overview"])
        self.assertNotIn("renamed", self.names())
        self.mock.news.append("jobs")
        self.browser.wait("document.querySelector('#jobs').innerText.includes('renamed')", patience_s=1.5)
        self.assertEqual(self.mock.asked["/v1/links/overview"], before["/v1/links/overview"])
        # Where the stream ends, it asks as before.
        self.mock.streams = False
        self.cluster.jobs[1]["name"] = "again"
        self.browser.wait("document.querySelector('#jobs').innerText.includes('again')", patience_s=15)
        self.calm()

    def test_the_network_is_a_picture(self):
        cluster = Cluster()
        cluster.be_troubled()
        self.start(cluster)
        self.browser.click("#to-topology")
        self.browser.wait("document.querySelector('svg#network')")
        self.assertIn("1 cable down, 1 cable degraded.", self.text("#topology-answer"))
        count = lambda selector: self.browser.evaluate(f"document.querySelectorAll('{selector}').length")
        # 8 hosts on 2 leaves, each leaf to 4 spines.
        self.assertEqual((count("#network .place"), count("#network .wire")), (14, 16))
        self.assertEqual((count("#network .wire.down"), count("#network .wire.degraded")), (1, 1))
        # A job's paths, and whom it meets: jobs 0 and 4 use the same spine.
        self.browser.evaluate("document.querySelector('.jobs-of-picture .chip').focus()")
        self.assertIn("job0 uses", self.text("#network-text"))
        self.assertGreater(count("#network .wire.on"), 0)
        self.browser.evaluate("document.activeElement.blur()")
        self.assertEqual(count("#network .wire.on"), 0)
        # From node to node by keyboard, with what it is said aloud.
        self.browser.evaluate("document.querySelector('#network .place[tabindex=\"0\"]').focus()")
        self.assertIn("h0", self.text("#network-text"))
        self.browser.press("ArrowRight")
        self.assertIn("h1", self.text("#network-text"))
        self.browser.press("ArrowUp")
        self.assertIn("leaf0, 4 hosts", self.text("#network-text"))
        self.assertEqual(self.browser.evaluate("document.activeElement.closest('.place') !== null"), True)
        # The accessible form has the same.
        self.assertEqual(self.browser.evaluate("document.querySelector('#network-table tbody tr').cells[2].textContent"), "⚠ 1 down")
        self.browser.evaluate("location.hash = '#topology&paths=job1'")
        self.browser.wait("document.querySelector('#network .wire.on')")
        self.assertEqual(self.browser.evaluate("document.querySelector('#network-job').value"), "job1")
        self.browser.evaluate("location.hash = '#topology=leaf9'")
        self.browser.wait("document.querySelector('main .mark.bad')?.innerText.includes('knows no leaf9')")
        self.browser.complaints = [text for text in self.browser.complaints if "404" not in text]
        self.calm()

    def test_the_network_of_an_hour_ago(self):
        cluster = Cluster()
        begin = int(cluster.now) // 300 * 300 - 3600
        cluster.past = {begin: {}, begin + 300: {"leaf0->spine2": {"state": "down", "health": 0}}, begin + 900: {}}
        self.start(cluster, hash="#topology&paths=job1")
        self.browser.wait("document.querySelector('svg#network .wire.on')")
        count = lambda selector: self.browser.evaluate(f"document.querySelectorAll('{selector}').length")
        slider = lambda: self.browser.evaluate("(({min, max, value, ariaValueText: text}) => [min, max, value, text].join())(document.querySelector('#network-time'))")
        self.assertEqual(slider(), "0,3,3,now")
        self.assertEqual(count("#network .wire.down"), 0)
        self.browser.evaluate("document.querySelector('#network-time').focus()")
        self.browser.press("ArrowLeft")
        self.browser.press("ArrowLeft")
        self.browser.wait("document.querySelectorAll('#network .wire.down').length === 1")
        self.assertTrue(slider().startswith("0,3,1,"))
        self.assertEqual(self.browser.evaluate("location.hash"), f"#topology&paths=job1&at={begin + 300}")
        self.assertRegex(self.text("#topology-answer"), r"^From .* to .*, with the worst that was seen: ⚠ 1 cable down\.")
        self.assertIn("is not kept", self.text("main"))
        # What is opened is of that moment, too; and the way back to now.
        self.browser.open(f"http://127.0.0.1:{self.mock.port}/#topology=leaf0&at={begin + 400}")
        self.browser.wait("document.querySelectorAll('#network .wire.down').length === 1")
        self.browser.evaluate("[...document.querySelectorAll('button')].find(e => e.innerText === 'Now').click()")
        self.browser.wait("document.querySelectorAll('#network .wire.down').length === 0")
        self.assertEqual(self.browser.evaluate("location.hash"), "#topology=leaf0")
        self.calm()
        # A moment that is not kept.
        self.browser.evaluate(f"location.hash = '#topology&at={begin + 600}'")
        self.browser.wait("document.querySelector('main .mark.bad')?.innerText.includes('Nothing is kept')")
        self.browser.click("main a[href='#topology']")
        self.browser.wait("document.querySelector('#network-time-text')?.innerText === 'now'")

    def test_runs_of_leaves_open(self):
        self.start(Cluster(num_hosts=2000, num_jobs=20, num_spines=8), hash="#topology")
        self.browser.wait("document.querySelector('svg#network')")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#network .place.opens').length"), 8)
        self.browser.click("#network .place.opens")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Network at leaf0..leaf15'")
        self.browser.wait("document.querySelectorAll('#network .place.opens').length === 16")
        self.browser.evaluate("document.querySelector('#network .place.opens').focus()")
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('#view-title')?.innerText === 'Network at leaf0'")
        self.browser.wait("document.querySelectorAll('#network .place').length === 16 + 1 + 8")
        self.calm()

    def test_narrow_screens_do_not_scroll_sideways(self):
        cluster = Cluster(num_hosts=64, num_jobs=40, num_spines=32)
        cluster.be_troubled()
        self.start(cluster)
        for hash in ("", "#job=job0", "#link=leaf0-%3Espine1", "#host=h1", "#topology"):
            self.browser.set_size(390)
            self.browser.evaluate(f"location.hash = '{hash}'")
            self.refresh()
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 390, hash)
        self.calm()

    def test_large_fabrics_show_what_matters(self):
        cluster = Cluster(num_hosts=2000, num_jobs=200, num_spines=8)
        cluster.be_troubled()
        self.start(cluster)
        self.assertEqual(len(self.names()), 50)
        self.assertEqual(self.text("#jobs-count"), "50 of 200 jobs shown")
        self.assertEqual(self.text("#hosts-count"), "3 of 2,000 hosts need a look")
        self.browser.evaluate("const it = document.querySelector('#hosts-filter'); it.value = 'H19'; it.dispatchEvent(new Event('input'))")
        self.browser.wait("document.querySelector('#hosts-count').innerText === '111 of 2,000 hosts found'")
        self.assertEqual(len(self.names("hosts")), 50)
        self.browser.click("#section-hosts ~ button")
        self.browser.wait("document.querySelectorAll('#hosts tbody tr').length === 100")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.matrix tbody tr').length"), 24)
        self.assertLess(self.browser.evaluate("document.querySelectorAll('*').length"), 5000)
        self.browser.evaluate("document.querySelector('.matrix [tabindex=\"0\"].cell').focus()")
        before = self.text(".value")
        self.browser.press("ArrowRight")
        self.assertNotEqual(self.text(".value"), before)
        self.assertIn("queue pairs", self.text(".value"))


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: no Chromium is installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
