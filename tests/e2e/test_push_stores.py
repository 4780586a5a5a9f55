# SPDX-License-Identifier: Apache-2.0
"""baro push to a real Prometheus and a real VictoriaMetrics, through an outage, and with what is killed at any moment:
each point of a tape is once in the store, or counted."""

import json
import os
import random
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from conftest import poll
from pushing import built, counted, pusher_of, recorded, reference, rows, status, store  # noqa: F401 (fixtures)
from tapefile import copy_tape

OUTAGE = int(os.environ.get("BARO_OUTAGE", 3600))  # seconds
KILLS = int(os.environ.get("BARO_KILLS", 200))  # moments at which something is killed


# ---- much at once, for long, and killed -----------------------------------------------------------------------------


@pytest.mark.slow
def test_an_outage(run, store, work):
    """Of an hour in real time (BARO_OUTAGE: seconds): a server that does not answer for longer than a message may take
    (30 s), then 503, then no server, then 503. No memory grows meanwhile, and no point is lost."""
    interval = "1s" if OUTAGE > 300 else "50ms"
    stores = {protocol: store() for protocol in ("prometheus", "otlp")}
    jobs = [run.popen("run", "-q", "-o", work / f"{protocol}.baro", "-i", interval, "--push", s.url(protocol), "--",
                      "sleep", str(OUTAGE + 5)) for protocol, s in stores.items()]
    pushers = [poll(lambda: pusher_of(work / f"{protocol}.baro")) for protocol in stores]
    begun, resident = time.monotonic(), {pusher: [] for pusher in pushers}

    def passed():
        return (time.monotonic() - begun) / OUTAGE

    for s in stores.values():
        s.say = lambda n: "ok" if passed() > 1 else "sleep 40" if n == 3 else "503 2"
    while any(job.poll() is None for job in jobs):
        for s in stores.values():
            s.listen(not 1 / 3 < passed() < 2 / 3)
        for pusher, pages in resident.items():
            pages.append(int((pusher / "statm").read_text().split()[1]))
        time.sleep(1)
    assert [job.returncode for job in jobs] == [0, 0]
    poll(lambda: all(now["state"] == "sent" for now in status(run)))
    for protocol, s in stores.items():
        assert s.points == reference(run, store, work / f"{protocol}.baro", work, protocol)
    for now, s in zip(sorted(status(run), key=lambda now: now["tape"]), (stores["otlp"], stores["prometheus"])):
        assert counted(now) == now["sent"] == len(s.points)
    for pages in resident.values():
        assert max(pages[:OUTAGE - 5]) - pages[5] < 1000, "pages"
    print(f"outage of {OUTAGE} s:", {protocol: len(s.points) for protocol, s in stores.items()}, "points; pages of memory",
          [(pages[5], max(pages[:OUTAGE - 5]), max(pages)) for pages in resident.values()])


@pytest.mark.slow
def test_a_hundred_jobs_at_once(run, store, work):
    s = store()
    jobs = [run.popen("run", "-q", "-o", work / f"{i}.baro", "--push", s.url(), "--", "sleep", "8") for i in range(100)]
    assert all(job.wait() == 0 for job in jobs)
    poll(lambda: len(found := status(run)) == 100 and all(n["state"] == "sent" for n in found), least=1)
    assert sum(n["sent"] for n in status(run)) == len(s.points) and s.twice == 0
    assert len({dict(labels)["baro_job"] for labels, _ in s.points}) == 100


@pytest.mark.slow
def test_recorders_are_killed(run, store, work):
    """At 200 moments, some before there is a tape, or a pusher of it: then the next `baro push` sends it. What is on the
    tapes is in the store; all series have ended."""
    s = store()
    (work / "tapes").mkdir()
    for at in range(0, KILLS, 10):
        jobs = [run.popen("run", "-q", "-o", work / f"tapes/{i}.baro", "-i", "50ms", "--push", s.url(), "--", "sleep", "3")
                for i in range(at, min(at + 10, KILLS))]
        for job in jobs:
            time.sleep(random.random() / 5)
            job.kill()
            job.wait()
        poll(lambda: all(of["state"] == "sent" for of in many(run)), least=0.5)
    tapes = [tape for tape in sorted((work / "tapes").iterdir()) if run("ls", tape).returncode == 0]
    pushed = len(many(run))
    said = run("push", *tapes, "--to", s.url()).stderr
    assert all("nothing was recorded" in line for line in said.splitlines()), said
    expected = reference(run, store, work / "tapes", work)
    assert s.points == expected and sum(of["sent"] for of in many(run)) == len(expected)
    print(f"{KILLS} recorders killed: {len(tapes)} tapes, {pushed} with a pusher, {len(expected)} points, all in the store")


# ---- real stores ----------------------------------------------------------------------------------------------------


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def ask(url, path, **query):
    with urllib.request.urlopen(f"{url}{path}?{urllib.parse.urlencode(query)}", timeout=60) as answer:
        return json.load(answer)["data"]


def is_ready(url, path):
    try:
        with urllib.request.urlopen(url + path, timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def server(work):
    running = []

    def start(program, *args, ready):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
        port = free_port()
        folder = work / program
        folder.mkdir()
        argv = [program, *(a.format(port=port, folder=folder) for a in args)]
        running.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder))
        url = f"http://127.0.0.1:{port}"
        poll(lambda: is_ready(url, ready))
        return url

    yield start
    for process in running:
        process.terminate()
        process.wait()


def prometheus(server, work):
    (work / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    return server("prometheus", f"--config.file={work}/prometheus.yml", "--storage.tsdb.path={folder}",
                  "--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver", ready="/-/ready")


@pytest.mark.long
def test_prometheus_has_all_points(run, server, store, recorded, work):
    url = prometheus(server, work)
    run("push", recorded, "--to", f"prometheus+{url}", status=0)
    now = status(run)
    found = {}
    for series in ask(url, "/api/v1/query", query='{job="barograph"}[1h]')["result"]:
        labels = tuple(sorted(series["metric"].items()))
        for t, v in series["values"]:
            found[labels, round(t * 1000)] = float(v)
    expected = reference(run, store, recorded, work)
    assert found == {p: v for p, v in expected.items() if v != "end"}, "as float64"
    assert now["set_aside"] == 0 and now["sent"] == len(expected)
    assert ask(url, "/api/v1/query", query='{job="barograph"}')["result"] == [], "ended: no value lingers"


def many(run, **kw):
    found = status(run, **kw)
    return found if isinstance(found, list) else [found]


@pytest.mark.slow
def test_prometheus_is_killed_while_points_come(run, store, work, tape):
    """At 200 moments, and half of the times the pusher with it. Each time there is a tape of another host."""
    if not shutil.which("prometheus"):
        pytest.skip("there is no prometheus")
    run.record(tape, "sleep 0.5", "-i", "20ms")
    (work / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    (work / "tapes").mkdir()
    url = f"http://127.0.0.1:{free_port()}"
    argv = ["prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
            f"--web.listen-address={url[7:]}", "--web.enable-remote-write-receiver"]
    pushers, answered = [], 0
    for i in range(KILLS + 1):
        server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        poll(lambda: is_ready(url, "/-/ready"))
        if i == KILLS:
            break
        copy = work / f"tapes/{i}.baro"
        copy_tape(tape, copy, f"node-{i}", f"{i:032x}")
        pusher = run.popen("push", copy, "--to", f"prometheus+{url}", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.random() / 16)
        server.kill()
        server.wait()
        answered += pusher.poll() == 0
        if i % 2:
            pusher.kill()
            pusher.wait()
        else:
            pusher.terminate()
            pushers.append(pusher)
    try:
        for pusher in pushers:
            pusher.wait()
        run("push", work / "tapes", "--to", f"prometheus+{url}", status=0)
        found = {}
        for series in ask(url, "/api/v1/query", query='{job="barograph"}[1h]')["result"]:
            labels = tuple(sorted(series["metric"].items()))
            found.update({(labels, round(t * 1000)): float(v) for t, v in series["values"]})
        expected = reference(run, store, work / "tapes", work)
        assert found == {p: v for p, v in expected.items() if v != "end"}
        assert sum(of["sent"] for of in many(run)) == sum(counted(of) for of in many(run)) == len(expected)
        print(f"{KILLS} servers killed, {answered} after all was sent: {len(expected)} points, each once in the store")
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_prometheus_is_killed(run, store, work, tape):
    """It keeps what it has acknowledged, and what it had when it was killed before it answered is not counted as
    refused."""
    run.record(tape, "sleep 20", "-i", "10ms", "--overhead", "off")
    (work / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    url, kills = f"http://127.0.0.1:{free_port()}", 0
    if not shutil.which("prometheus"):
        pytest.skip("there is no prometheus")
    argv = ["prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
            f"--web.listen-address={url[7:]}", "--web.enable-remote-write-receiver"]
    pusher = None
    while True:
        server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        poll(lambda: is_ready(url, "/-/ready"))
        pusher = pusher or run.popen("push", tape, "--to", f"prometheus+{url}", stdout=subprocess.DEVNULL)
        if kills == 8:
            break
        time.sleep(random.random() / 2)
        server.kill()
        server.wait()
        kills += 1
    try:
        assert pusher.wait() == 0
        found = {}
        for series in ask(url, "/api/v1/query", query='{job="barograph"}[1h]')["result"]:
            labels = tuple(sorted(series["metric"].items()))
            found.update({(labels, round(t * 1000)): float(v) for t, v in series["values"]})
        expected = reference(run, store, tape, work)
        assert found == {p: v for p, v in expected.items() if v != "end"}
        assert status(run)["sent"] == len(expected)
    finally:
        server.kill()
        server.wait()


@pytest.mark.long
def test_prometheus_refuses_what_it_has(run, server, recorded, work):
    """Its position is lost: all is sent again. What Prometheus refuses is counted, and nothing is stored twice."""
    url = prometheus(server, work)
    run("push", recorded, "--to", f"prometheus+{url}", status=0)
    first = status(run)
    again = {"XDG_STATE_HOME": work / "other"}
    run("push", recorded, "--to", f"prometheus+{url}", env=again)
    second = status(run, env=again)
    assert counted(second) == first["sent"]
    assert ask(url, "/api/v1/query", query='count_over_time(baro_job_cpu_seconds_total[1h])')["result"][0]["value"][
        1] == str(len(rows(run, recorded, "job")))


def exported(url):
    """All points that it has. It takes a while until new series are found."""
    urllib.request.urlopen(f"{url}/internal/force_flush", timeout=60).read()
    query = urllib.parse.urlencode({"match[]": '{job="barograph"}', "reduce_mem_usage": "1"})
    found = {}
    with urllib.request.urlopen(f"{url}/api/v1/export?{query}", timeout=60) as answer:
        for line in answer:
            series = json.loads(line)
            labels = tuple(sorted(series["metric"].items()))
            found.update({(labels, t): v for t, v in zip(series["timestamps"], series["values"])})
    return found


@pytest.mark.long
def test_victoria_metrics_has_all_points(run, server, store, recorded, work):
    """To its 12 digits."""
    url = server("victoria-metrics", "-storageDataPath={folder}", "-httpListenAddr=127.0.0.1:{port}",
                 "-search.latencyOffset=0", ready="/health")
    run("push", recorded, "--to", f"prometheus+{url}", status=0)
    expected = reference(run, store, recorded, work)
    found = poll(lambda: len(found := exported(url)) == len(expected) and found, least=0.5)
    assert found.keys() == expected.keys() and status(run)["sent"] == len(found)
    for p, v in expected.items():
        assert v == "end" or found[p] == pytest.approx(v, rel=1e-11), p
