# SPDX-License-Identifier: Apache-2.0
"""The page of `baro serve` in a browser: jobs and tasks, now and before, as they come and go; by mouse and keyboard, on
narrow and wide screens, in both colour schemes, with a token; without an error of a script or of the content security
policy."""

import json
import re
import signal
import subprocess

import pytest
from browser import CHROMIUM, Browser
from conftest import poll
from serving import TOKEN, kept, running, serve  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="no Chromium"),
              pytest.mark.xdist_group("browser")]

RUNNING = "[...document.querySelectorAll('#running .job')].map(e => e.querySelector('code').textContent)"
ENDED = "[...document.querySelectorAll('#before tbody tr')].map(e => e.cells[0].textContent)"
RESULTS = "[...document.querySelectorAll('#before tbody .pill:not(.warn)')].map(e => e.textContent)"


@pytest.fixture
def page(work):
    browser = Browser(work / "profile", "--hide-scrollbars")
    yield browser
    complaints = browser.complaints()
    browser.close()
    assert complaints == []


def show(page, server, width=1440, path="", scheme="light"):
    if page.session is None:
        page.open("about:blank", width)
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.call("Page.navigate", url=server.url + path)
    poll(lambda: page.run("document.readyState === 'complete' && !!document.querySelector('#link.live')"))


def texts(page, selector):
    return page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")


def test_jobs_come_and_go(serve, kept, running, page):
    s = serve()
    s.summed(3)
    show(page, s)
    poll(lambda: page.run(RUNNING) == [] and len(page.run(ENDED)) == 3)
    assert page.run(RESULTS) == ["exit 0", "exit 0", "exit 3"] and texts(page, "#before-count") == ["3"]
    assert "Nothing is being recorded" in texts(page, "#running")[0]
    page.run("window.same = true")
    job = running("cat")
    poll(lambda: page.run(RUNNING) == ["cat"])
    poll(lambda: texts(page, ".job .big")[2] == "1" and texts(page, ".job .big")[0] != "\u2013")
    poll(lambda: page.run("document.querySelectorAll('.job .curve path').length") == 2)
    poll(lambda: page.run("!document.querySelector('#machine').hidden"))
    job.stdin.close()
    job.wait()
    poll(lambda: page.run(RUNNING) == [] and page.run(ENDED)[0] == "cat")
    assert page.run("window.same"), "it was loaded again"


def test_a_removed_tape_and_a_lost_server(serve, kept, work, page):
    s = serve()
    s.summed(3)
    show(page, s)
    poll(lambda: len(page.run(ENDED)) == 3)
    sorted((work / "home").glob("**/*.baro"))[0].unlink()
    poll(lambda: len(page.run(ENDED)) == 2)
    s.process.send_signal(signal.SIGTERM)
    s.process.wait()
    poll(lambda: texts(page, "#link.lost") == ["no connection"])
    page.events.clear()  # the browser reports that it can't connect


def test_the_machine_by_day(serve, run, work, page):
    """A strip with the hours of a recording of the machine, each a link to its report, and the jobs as bars."""
    folder = work / "tapes"
    folder.mkdir()
    recorder = run.popen("record", "--host", "-i", "100ms", "-q", "-o", folder / "machine.baro")
    poll(lambda: (folder / "machine.baro").exists() and run.export(folder / "machine.baro", "host"))
    run("run", "-q", "-o", folder / "job.baro", "--", "sleep", "3", status=0)
    recorder.terminate()
    recorder.wait()
    server = serve(folder=folder)
    poll(lambda: [j for j in server.jobs() if j.get("has_machine") and j["state"] == "ended"])
    for width in (1280, 420):
        show(page, server, width)
        poll(lambda: page.run("document.querySelectorAll('.day .hours a').length"))
        hours = page.run("[...document.querySelectorAll('.day .hours a')].map(e => e.getAttribute('href'))")
        assert all(server.ask(href)[0] == 200 for href in hours)
        assert page.run("[...document.querySelectorAll('.day .bars a')].map(e => e.pathname)")[0] == "/jobs/job/report"
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert "/jobs/job/machine" in page.run("[...document.querySelectorAll('#before a')].map(e => e.pathname)")


def test_a_report_is_opened(serve, kept, running, page):
    running("cat")
    s = serve()
    s.summed(4)
    for link, path in (("#before tbody tr a", ""),
                       ("#report", "jobs/" + s.json("/api/v1/jobs?state=running")["jobs"][0]["id"])):
        show(page, s, path=path)
        poll(lambda: page.run(f"!!document.querySelector('{link}')"))
        page.run(f"document.querySelector('{link}').click()")
        poll(lambda: page.run("location.pathname.endsWith('/report') && document.readyState === 'complete'"))
        assert page.run("document.querySelectorAll('svg').length") > 0


def test_a_job_that_runs_is_watched(serve, running, page):
    """Curves and processes move; when the job ends, its result and the report are there."""
    job = running("sh", "-c", "while sleep 0.1; do :; done & cat; kill $!")
    s = serve()
    show(page, s)
    poll(lambda: page.run("!!document.querySelector('#running .job a')"))
    page.run("document.querySelector('#running .job a').click()")
    poll(lambda: page.run("location.pathname.startsWith('/jobs/') && !!document.querySelector('#link.live')"))
    poll(lambda: page.run("document.querySelectorAll('#curves .row:not([hidden]) .curve path').length") >= 4)
    poll(lambda: any("cat" in text for text in texts(page, "#tree tbody td:first-child")))
    poll(lambda: len(texts(page, "#curves .ticks span")) > 1)
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d", text) for text in texts(page, "#curves .ticks span"))
    drawn = page.run("document.querySelector('#curves .curve path').getAttribute('d')")
    poll(lambda: page.run("document.querySelector('#curves .curve path').getAttribute('d')") != drawn)
    job.stdin.close()
    job.wait()
    poll(lambda: texts(page, "#state") == ["exit 0"])
    assert texts(page, "#report") == ["Open the report"]


def test_the_tape_of_a_watched_job_is_removed(serve, running, work):
    """The page says so, and goes on when the recorder has written it anew."""
    page = Browser(work / "profile2", "--hide-scrollbars")
    try:
        job = running("cat")
        s = serve()
        show(page, s)
        poll(lambda: page.run("!!document.querySelector('#running .job a')"))
        page.run("document.querySelector('#running .job a').click()")
        poll(lambda: page.run("location.pathname.startsWith('/jobs/') && !!document.querySelector('#link.live')"))
        (tape,) = (work / "home").glob("**/*.baro")
        tape.unlink()
        poll(lambda: texts(page, "#state") == ["the tape was removed"])
        job.stdin.close()
        job.wait()
        poll(lambda: texts(page, "#state") == ["exit 0"])
    finally:
        page.close()


def test_tasks_and_the_machine(serve, running, baro, page):
    """Each thing has a name for screen readers."""
    running("sh", "-c", f"{baro} run --task alpha -- cat; :")
    s = serve()
    show(page, s)
    poll(lambda: texts(page, ".job .tasks tbody td:first-child") == ["alpha"])
    poll(lambda: texts(page, ".job .tasks tbody td")[1] != "\u2013")  # the cores, from two samples
    assert page.run("!document.querySelector('.job .tasks').hidden")
    poll(lambda: page.run("document.querySelectorAll('#figures .curve path').length") >= 6)
    poll(lambda: all(text.startswith("peak ") for text in texts(page, "#figures .past")))
    nameless = page.run(
        "[...document.querySelectorAll('button, section, svg[role=img], input')].filter(e => !e.ariaLabel "
        "&& !e.getAttribute('aria-labelledby') && !e.textContent.trim() && !e.labels?.length).map(e => e.outerHTML)")
    assert nameless == []
    assert all(re.search(r"[\d.]", text) for text in texts(page, ".boxed .most"))
    assert all(re.fullmatch("\u2212.*(s|min|ms)", text) for text in texts(page, ".boxed .span span:first-child"))


def test_a_recording_of_the_machine(serve, baro, work, page):
    """It has the machine's figures in the list and on its page, and no dashes."""
    (work / "tapes").mkdir()
    with subprocess.Popen([baro, "record", "--host", "-q", "-i", "200ms", "-o", work / "tapes/m.baro"]) as recorder:
        try:
            s = serve(folder=work / "tapes")
            show(page, s)
            seen = "[...document.querySelectorAll('.job .value:not(.none)')].map(e => e.textContent)"
            poll(lambda: page.run(RUNNING)[:1] and page.run(RUNNING)[0].startswith("the machine "))
            poll(lambda: len(page.run(seen)) == 3 and not any("\u2013" in text for text in page.run(seen)))
            now = s.jobs()[0]["now"]
            assert s.jobs()[0]["is_machine"] and now["memory_used_bytes"] > 1 << 20 and now["processes"] is None
            page.run("document.querySelector('#running .job a').click()")
            poll(lambda: page.run("location.pathname") == "/jobs/m" and len(texts(page, "#now .figure")) == 4)
            poll(lambda: not any("\u2013" in text for text in texts(page, "#now .big")))
            assert texts(page, "#now h3") == ["CPUs busy", "Memory in use", "Waiting for a CPU", "Disks"]
            assert page.run("document.querySelector('#tree').closest('section').hidden")
            poll(lambda: page.run("document.querySelectorAll('#curves .row:not([hidden])').length") >= 4)
        finally:
            recorder.terminate()


def test_a_list_names_verdicts_and_goes_on(serve, kept, running, page):
    """Of a job that failed the names of the rules; the time that a running one has taken grows without a sample."""
    running("cat", options=("--interval", "60s"))
    s = serve()
    s.summed(4)
    show(page, s)
    poll(lambda: "failed" in texts(page, "#before tbody .pill.warn"))
    since = "document.querySelector('.job .since').textContent.split('\u00b7')[1]"
    poll(lambda: page.run("!!document.querySelector('.job .since')"))
    first = page.run(since)
    poll(lambda: page.run(since) != first)


def test_token(serve, kept, work, page):
    (work / "token").write_text(TOKEN + "\n")
    s = serve("--token-file", str(work / "token"))
    show(page, s, path="?token=" + TOKEN)
    assert page.run("location.href") == s.url
    poll(lambda: len(page.run(ENDED)) == 3)


@pytest.mark.parametrize("width", (1440, 820, 390))
@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_widths_and_schemes(serve, kept, running, baro, page, width, scheme):
    running("sh", "-c", f"{baro} run --task 'a task with a long name' -- cat; : {'x' * 200} {'y ' * 100}")
    s = serve()
    show(page, s, width, scheme=scheme)
    poll(lambda: len(page.run(ENDED)) == 3 and texts(page, ".job .tasks tbody td:first-child"))
    assert page.run("document.documentElement.scrollWidth") <= width
    red, green, blue = page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue < 200) == (scheme == "dark")
    page.key("t")
    other = page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(other) < 200) != (scheme == "dark")


@pytest.mark.parametrize("width", (1440, 390))
def test_many_jobs_are_lines(serve, running, run, page, width):
    for _ in range(27):
        run("run", "-q", "--", "true")
    for i in range(10):
        running("sh", "-c", f"cat; : number {i}", options=("--interval", "1s"))
    s = serve()
    s.summed(37)
    show(page, s, width)
    poll(lambda: len(page.run(RUNNING)) == 10)
    poll(lambda: page.run("document.querySelector('#running').className") == "dense")
    assert page.run("document.documentElement.scrollWidth") <= width
    assert max(page.run("[...document.querySelectorAll('.job')].map(e => e.getBoundingClientRect().height)")) < 80
    poll(lambda: page.run(ENDED) == ["true27 jobs"] and "27 \u00d7 exit 0" in texts(page, "#before .pill"))
    page.run("document.querySelector('button.group').click()")
    poll(lambda: page.run(ENDED) == ["true27 jobs"] + 27 * ["true"])
    page.run("document.querySelector('#group').click()")
    poll(lambda: texts(page, "#page") == ["1\u201325 of 27"])
    page.run("document.querySelector('#older').click()")
    poll(lambda: texts(page, "#page") == ["26\u201327 of 27"] and len(page.run(ENDED)) == 2)


def test_columns_sort_and_jobs_group(serve, run, page):
    """By click and by keyboard, over all pages; jobs of one batch job, or of one command, are a row that opens."""
    for i in range(30):
        run("run", "-q", "--", "sh", "-c", f"exit {i % 2}; : {i:02}", env={"SLURM_JOB_ID": "77"} if i < 2 else {})
    s = serve()
    s.summed(30)
    show(page, s)
    names = [f"sh -c 'exit {i % 2}; : {i:02}'" for i in range(30)]
    poll(lambda: page.run(ENDED) == names[:4:-1] and not page.run("document.querySelector('.pager').hidden"))
    heads = "document.querySelectorAll('#before thead th')"
    page.run(heads + "[0].click()")
    poll(lambda: page.run(ENDED) == sorted(names)[:25])
    assert page.run(heads + "[0].getAttribute('aria-sort')") == "ascending"
    page.run("document.querySelector('#older').click()")
    poll(lambda: page.run(ENDED) == sorted(names)[25:])
    page.run(heads + "[0].focus()")
    page.key("Enter")
    poll(lambda: page.run(ENDED) == sorted(names)[:4:-1])
    page.run(heads + "[3].click()")
    took = [job["wall_ns"] for job in s.jobs(limit=100)]
    poll(lambda: page.run(heads + "[3].getAttribute('aria-sort')") == "descending" and texts(page, "#page") == ["1\u201325 of 30"])
    longest = next(job["title"] for job in s.jobs(limit=100) if job["wall_ns"] == max(took))
    poll(lambda: page.run(ENDED)[0] == longest)
    page.run("document.querySelector('#group').click()")
    page.run(heads + "[0].click()")
    poll(lambda: page.run(ENDED)[0] == "job 772 jobs" and texts(page, "#page") == ["1\u201325 of 29"])
    assert {"1 \u00d7 exit 0", "1 \u00d7 exit 1", "1 \u00d7 failed"} <= set(texts(page, "#before tr.group .pill"))
    page.run("document.querySelector('button.group').click()")
    poll(lambda: page.run(ENDED)[1:3] == sorted(names[:2], reverse=True))


def test_keyboard(serve, kept, running, page):
    running("cat")
    s = serve()
    s.summed(4)
    show(page, s)
    poll(lambda: len(page.run(ENDED)) == 3 and page.run(RUNNING) == ["cat"])
    for key in "/sleep":
        page.key(key)
    poll(lambda: page.run(ENDED) == ["sleep 0.3"] and page.run(RUNNING) == [])
    page.key("Escape")
    poll(lambda: len(page.run(ENDED)) == 3 and page.run(RUNNING) == ["cat"])
    seen = []
    for _ in range(30):
        page.key("Tab")
        seen.append(page.run("document.activeElement.textContent || document.activeElement.id"))
        assert page.run("document.activeElement === document.body || document.activeElement.matches(':focus-visible')")
        if seen[-1] == "sleep 0.3":
            break
    assert seen.index("cat") < seen.index("sleep 0.3")
    page.key("Enter")
    poll(lambda: page.run("location.pathname.endsWith('/report')"))
