# SPDX-License-Identifier: Apache-2.0
"""baro serve: the answers of a real server to real clients (http.client, curl, promtool, a JSON schema validator), about
real recordings; who may ask; and what hostile clients cannot do."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "correct-horse-battery-staple"


def eventually(what, seconds=60):
    until = time.monotonic() + seconds
    while True:
        result = what()
        if result or time.monotonic() > until:
            assert result, "it did not happen"
            return result
        time.sleep(0.05)


class Server:
    def __init__(self, baro, *options, folder=None, env=None):
        if not pathlib.Path(baro).with_name("baro-serve").exists():
            pytest.skip("built without libmicrohttpd")
        where = () if "--listen" in options else ("--listen", "127.0.0.1:0")
        self.process = subprocess.Popen(
            [baro, "serve", *where, *options, *([str(folder)] if folder else [])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url, self.process.stderr.read().decode()
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1]) if self.url.startswith("http") else 0

    def ask(self, path, method="GET", **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, dict(r.getheaders()), r.read()
        finally:
            c.close()

    def json(self, path, status=200, **headers):
        got, _, body = self.ask(path, **headers)
        assert got == status, (path, got, body)
        return json.loads(body)

    def jobs(self, **filters):
        query = "&".join(f"{k}={v}" for k, v in filters.items())
        return self.json(f"/api/v1/jobs?{query}")["jobs"]

    def summed(self, n):
        """The jobs, once all tapes were read."""
        return eventually(
            lambda: len(j := self.jobs()) >= n
            and all("cpu_ns" in job or job["state"] == "unreadable" for job in j)
            and j
        )

    def raw(self, data, timeout=60):
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            answer = b""
            try:
                s.sendall(data)
                while more := s.recv(65536):
                    answer += more
                    head, end, body = answer.partition(b"\r\n\r\n")
                    length = re.search(rb"Content-Length: (\d+)", head)
                    if end and length and len(body) >= int(length[1]):
                        break
            except (ConnectionResetError, BrokenPipeError):
                pass
            return answer

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=90)
        text = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return status, text


@pytest.fixture
def serve(baro):
    servers = []

    def start(*options, **more):
        servers.append(Server(baro, *options, **more))
        return servers[-1]

    yield start
    for s in servers:
        if s.process.poll() is None:
            status, text = s.stop()
            assert status == 0, text


@pytest.fixture
def kept(run):
    """Three recordings among the kept runs."""
    for command in (
        ["sh", "-c", "for i in 1 2 3 4 5; do cat /proc/self/stat; done >/dev/null; exit 3"],
        ["true"],
        ["sleep", "0.3"],
    ):
        run("run", "-q", "--overhead", "off", "--", *command)


@pytest.fixture
def running(baro):
    """A job that runs until the test ends."""
    jobs = []

    def start(*command, options=()):
        jobs.append(
            subprocess.Popen(
                [baro, "run", "-q", "--interval", "100ms", "--overhead", "off", *options, "--", *command],
                stdin=subprocess.PIPE,
            )
        )
        return jobs[-1]

    yield start
    for job in jobs:
        job.stdin.close()
        job.terminate()  # the wrapper passes it on; killed, it would leave the command behind
        job.wait()


# ---- the list and one job -------------------------------------------------------------------------------------------


def test_jobs_and_their_summary(serve, kept, baro):
    s = serve()
    jobs = s.summed(3)
    assert [j["command"][0] for j in jobs] == ["sleep", "true", "sh"]
    assert [j["exit_status"] for j in jobs] == [0, 0, 3]
    assert {j["state"] for j in jobs} == {"ended"}
    told = json.loads(subprocess.run([baro, "summary", "--json", "@3"], capture_output=True, check=True).stdout)
    got = s.json(f"/api/v1/jobs/{jobs[2]['id']}")
    assert got["summary"]["job"] == told["job"]
    assert got["summary"]["verdicts"] == told["verdicts"]
    assert got["job"]["cpu_ns"] == told["job"]["cpu_ns"]
    assert s.json("/healthz")["jobs"]["ended"] == 3


def test_pages_and_filters(serve, kept):
    s = serve()
    all_of = s.summed(3)
    first = s.json("/api/v1/jobs?limit=2")
    rest = s.json("/api/v1/jobs?limit=2&offset=2")
    assert first["total"] == rest["total"] == 3
    assert [j["id"] for j in first["jobs"] + rest["jobs"]] == [j["id"] for j in all_of]
    assert [j["command"][0] for j in s.jobs(search="slee")] == ["sleep"]
    assert s.jobs(state="running") == [] and len(s.jobs(state="over")) == 3


def test_rows_are_those_of_export(serve, run, baro):
    run("run", "-q", "--interval", "50ms", "--overhead", "off", "--", "sleep", "0.5")
    s = serve()
    job = s.summed(1)[0]["id"]
    exported = [
        json.loads(line)
        for line in subprocess.run(
            [baro, "export", "-F", "jsonl", "-c", "t_ns,pid,name,rss,cpu,cores", "@1"], capture_output=True, check=True
        ).stdout.splitlines()
    ]
    for row in exported[1:]:
        page = s.json(f"/api/v1/jobs/{job}/processes?at={row['t_ns']}&pick=exact&columns=t_ns,pid,name,rss,cpu,cores")
        assert page["processes"] == [row]
    events = [
        json.loads(line)
        for line in subprocess.run(
            [baro, "export", "-F", "jsonl", "-e", "event", "@1"], capture_output=True, check=True
        ).stdout.splitlines()
    ]
    assert s.json(f"/api/v1/jobs/{job}/events")["events"] == events
    exits = [
        json.loads(line)
        for line in subprocess.run(
            [baro, "export", "-F", "jsonl", "-e", "exit", "@1"], capture_output=True, check=True
        ).stdout.splitlines()
    ]
    assert s.json(f"/api/v1/jobs/{job}/exits")["exits"] == exits
    ends = s.json(f"/api/v1/jobs/{job}/events?kind=end")
    assert ends["total"] == 1 and ends["events"][0]["event"] == "end"


def test_sorted_processes(serve, run):
    run(
        "run",
        "-q",
        "--interval",
        "50ms",
        "--overhead",
        "off",
        "--",
        "sh",
        "-c",
        "sleep 1 & sleep 1 & sleep 1 & sleep 1",
    )
    s = serve()
    job = s.summed(1)[0]["id"]
    down = s.json(f"/api/v1/jobs/{job}/processes?at=50%25&sort=pid&columns=pid")
    up = s.json(f"/api/v1/jobs/{job}/processes?at=50%25&sort=pid&order=up&columns=pid")
    pids = [p["pid"] for p in down["processes"]]
    assert len(pids) >= 4 and pids == sorted(pids, reverse=True) == [p["pid"] for p in up["processes"]][::-1]
    page = s.json(f"/api/v1/jobs/{job}/processes?at=50%25&sort=pid&columns=pid&offset=1&limit=2")
    assert [p["pid"] for p in page["processes"]] == pids[1:3] and page["total"] == len(pids)


def test_range_adds_up_to_the_job(serve, run):
    run(
        "run",
        "-q",
        "--interval",
        "50ms",
        "--overhead",
        "off",
        "--",
        "sh",
        "-c",
        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
    )
    s = serve()
    job = s.summed(1)[0]
    r = s.json(f"/api/v1/jobs/{job['id']}/range?metric=job.cores&metric=job.processes&from=0&buckets=20")
    assert [x["unit"] for x in r["series"]] == ["cores", ""]
    cores = [v or 0 for v in r["series"][0]["mean"]]
    assert len(cores) == 20
    used = sum(cores) * (r["to_ns"] - r["from_ns"]) / 20
    assert used == pytest.approx(job["cpu_ns"], rel=0.1)


def test_a_folder_of_tapes(serve, run, work):
    folder = work / "tapes"
    folder.mkdir()
    run("run", "-q", "-o", str(folder / "any name.baro"), "--", "true")
    run("run", "-q", "--keep", "1h", "-o", str(folder / "segments.baro"), "--", "true")
    (folder / "no tape.baro").write_bytes(b"nothing of the kind")
    s = serve(folder=folder)
    jobs = {j["id"]: j["state"] for j in s.summed(3)}
    assert jobs == {"any name": "ended", "segments": "ended", "no tape": "unreadable"}
    assert s.json("/api/v1/jobs/any%20name")["job"]["result"] == "exit 0"
    assert s.json("/api/v1/jobs/segments/sample")["job"]["processes_started"] == 1


def test_damaged_and_vanished_tapes(serve, run, work):
    folder = work / "tapes"
    folder.mkdir()
    for name in ("whole", "damaged", "vanishing"):
        run("run", "-q", "-o", str(folder / f"{name}.baro"), "--", "true")
    data = (folder / "damaged.baro").read_bytes()
    (folder / "damaged.baro").write_bytes(data[:20] + bytes(60) + data[80:])
    s = serve(folder=folder)
    s.summed(3)
    (folder / "vanishing.baro").unlink()
    got, _, _ = s.ask("/api/v1/jobs/vanishing")
    assert got == 404
    got, _, body = s.ask("/api/v1/jobs/damaged")
    assert got in (200, 500) and json.loads(body)
    assert s.json("/api/v1/jobs/whole")["job"]["result"] == "exit 0"
    eventually(lambda: {j["id"] for j in s.jobs()} == {"whole", "damaged"})


def test_a_job_that_runs(serve, running):
    job = running("cat")
    s = serve()
    found = eventually(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]
    assert found["now"]["processes"] == 1 and found["now"]["rss_bytes"] > 0
    host = eventually(lambda: (h := s.json("/api/v1/host"))["sample"] and h)
    assert host["cpus"] == os.cpu_count() and host["job"] == found["id"]
    later = eventually(lambda: (w := s.jobs(state="running")[0]["wall_ns"]) > found["wall_ns"] and w)
    job.stdin.close()
    job.wait()
    ended = eventually(lambda: s.jobs(state="ended"))[0]
    assert (
        ended["id"] == found["id"] and ended["exit_status"] == 0 and ended["wall_ns"] >= later and ended["now"] is None
    )


def test_answers_fit_openapi(serve, kept, run):
    jsonschema = pytest.importorskip("jsonschema")
    run("run", "-q", "--interval", "50ms", "--overhead", "off", "--", "sleep", "0.3")
    s = serve()
    job = s.summed(4)[0]["id"]
    document = s.json("/api/v1/openapi.json")
    assert document == json.loads((SOURCE / "docs/openapi.json").read_text())
    assert sorted(document["paths"]) == sorted(s.json("/api/v1")["paths"])

    def plain(schema):
        """OpenAPI 3.0 as JSON schema: nullable is a type there."""
        if isinstance(schema, list):
            return [plain(x) for x in schema]
        if not isinstance(schema, dict):
            return schema
        made = {k: plain(v) for k, v in schema.items() if k not in ("nullable", "format")}
        return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") is True else made

    components = plain(document["components"])
    parts = {
        "id": job,
        "kind": "cpu",
        "which": "all",
        "offset": "0",
        "number": "5",
        "task": job,
        "process": "sleep 0.3",
        "run": "0",
    }
    asked = 0
    for path, operations in document["paths"].items():
        for status, answer in operations["get"]["responses"].items():
            if status != "200" or "application/json" not in answer["content"]:
                continue
            url = re.sub(r"\{(\w+)\}", lambda m: parts[m[1]].replace(" ", "%20"), path)
            given = {"metric": "job.cores", "task_id": job, "task_ids": job}
            query = "&".join(
                f"{p['name']}={given[p['name']]}"
                for p in operations["get"]["parameters"]
                if p["in"] == "query" and p["name"] in given
            )
            schema = dict(plain(answer["content"]["application/json"]["schema"]), components=components)
            jsonschema.validate(s.json(f"{url}?{query}" if query else url), schema)
            asked += 1
    assert asked > 20
    jsonschema.validate(
        s.json("/nothing", status=404), dict(plain({"$ref": "#/components/schemas/Error"}), components=components)
    )


def test_bad_parameters(serve, kept):
    s = serve()
    job = f"/api/v1/jobs/{s.summed(3)[0]['id']}"
    for path in (
        "/api/v1/jobs?limit=x",
        "/api/v1/jobs?state=odd",
        "/api/v1/jobs?no=1",
        job + "/processes?columns=nix",
        job + "/sample?at=never",
        job + "/sample?pick=some",
        job + "/range",
        job + "/range?metric=nix",
        job + "/range?metric=job.cores&buckets=0",
        job + "/processes?order=sideways",
        job + "/processes?sort=a,b",
    ):
        error = s.json(path, status=400)["error"]
        assert error["code"] == "bad_parameter" and error["message"], path


def test_etag(serve, kept):
    s = serve()
    job = s.summed(3)[0]["id"]
    for path in (f"/api/v1/jobs/{job}", "/", "/host.js", f"/jobs/{job}/report"):
        status, headers, body = s.ask(path)
        assert status == 200 and body
        status, _, body = s.ask(path, If_None_Match=headers["ETag"])
        assert (status, body) == (304, b"")


def test_report_and_page(serve, kept, baro):
    s = serve()
    job = s.summed(3)[0]["id"]
    status, headers, body = s.ask(f"/jobs/{job}/report")
    assert status == 200 and headers["Content-Type"].startswith("text/html") and b"</html>" in body[-20:]
    status, headers, body = s.ask("/")
    assert status == 200 and b"host.js" in body
    assert "script-src 'self'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    assert not re.search(rb"https?://(?!www.w3.org/2000/svg)", body + s.ask("/host.js")[2] + s.ask("/host.css")[2])


# ---- /metrics -------------------------------------------------------------------------------------------------------


def test_metrics(serve, running):
    running("sh", "-c", "while :; do :; done")
    s = serve("--metrics-processes", "2")
    body = eventually(
        lambda: b"baro_job_cpu_seconds_total{" in (b := s.ask("/metrics")[2]) and b"baro_host_" in b and b
    )
    if shutil.which("promtool"):
        check = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
        assert check.returncode == 0 and not check.stdout + check.stderr, check.stdout + check.stderr
    text = body.decode()
    job = s.jobs(state="running")[0]["id"]
    assert re.search(rf'^baro_job_processes{{job="{job}"}} 1$', text, re.M)
    assert len(re.findall(r"^baro_process_cpu_seconds_total\{.*pid=", text, re.M)) == 1
    assert len(re.findall(r"^# EOF$", text, re.M)) == 0
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series)), "a series twice"
    status, headers, body = s.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0") and body.endswith(
        b"# EOF\n"
    )
    assert b"# TYPE baro_job_cpu_seconds counter\n# UNIT baro_job_cpu_seconds seconds\n" in body
    assert all(" " in line for line in body.decode().splitlines())


def test_metrics_without_processes(serve, running):
    running("cat")
    s = serve()
    body = eventually(lambda: b"baro_job_cpu_seconds_total{" in (b := s.ask("/metrics")[2]) and b)
    assert b"pid=" not in body


def test_hostile_names_in_metrics(serve, running, work):
    name = work / 'a"b\\c\n{x="1"} 5'
    shutil.copy("/bin/cat", name)
    running(str(name))
    s = serve("--metrics-processes", "5")
    body = eventually(lambda: b"baro_process_cpu_seconds_total{" in (b := s.ask("/metrics")[2]) and b)
    for line in body.decode().splitlines():
        assert line.startswith("#") or re.fullmatch(
            r'[a-z_0-9]+(\{[a-z_]+="(?:[^"\\]|\\.)*"(,[a-z_]+="(?:[^"\\]|\\.)*")*\})? \S+', line
        ), line


@pytest.mark.slow
def test_prometheus_scrapes(serve, running, work):
    if not shutil.which("prometheus"):
        pytest.skip("no prometheus")
    running("sh", "-c", "while :; do :; done")
    s = serve()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (work / "prometheus.yml").write_text(
        f"scrape_configs: [{{job_name: baro, scrape_interval: 2s, static_configs: [{{targets: ['127.0.0.1:{s.port}']}}]}}]\n"
    )
    p = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={work}/prometheus.yml",
            f"--storage.tsdb.path={work}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def query(text):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            c.request("GET", "/api/v1/query?query=" + urllib.parse.quote(text))
            return json.loads(c.getresponse().read())["data"]["result"]
        except (OSError, http.client.HTTPException, ValueError):  # it is not ready
            return []
        finally:
            c.close()

    try:
        eventually(lambda: (r := query("count_over_time(up[5m])")) and int(r[0]["value"][1]) >= 20, seconds=300)
        assert query("min_over_time(up[5m])")[0]["value"][1] == "1", "a scrape failed"
        assert float(query("rate(baro_job_cpu_seconds_total[1m])")[0]["value"][1]) > 0
    finally:
        p.terminate()
        p.wait()


# ---- events ---------------------------------------------------------------------------------------------------------


class Stream:
    def __init__(self, server, path, **headers):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=90)
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        self.response = http.client.HTTPResponse(self.socket)
        self.response.begin()

    def events(self):
        event = {}
        while line := self.response.readline():
            line = line.decode().rstrip("\n")
            if not line and "data" in event:
                yield event
                event = {}
            elif not line:
                event = {}
            elif not line.startswith(":"):
                key, _, value = line.partition(": ")
                event[key] = value

    def close(self):
        self.response.close()
        self.socket.close()


def test_live_events_are_the_tape(serve, running, baro):
    job = running("cat")
    s = serve()
    found = eventually(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stream = Stream(s, f"/api/v1/jobs/{found}/live")
    assert stream.response.getheader("Content-Type").startswith("text/event-stream")
    events = stream.events()
    got = [next(events) for _ in range(5)]
    stream.close()
    # It comes back with the last id that it has, and misses nothing.
    stream = Stream(s, f"/api/v1/jobs/{found}/live", Last_Event_ID=got[-1]["id"])
    events = stream.events()
    got.append(next(events))
    job.stdin.close()
    got += list(events)
    assert got[-1]["event"] == "end" and json.loads(got[-1]["data"])["id"] == found
    stream.close()
    ids = [e["id"] for e in got[:-1]]
    assert len(ids) == len(set(ids))
    times = [json.loads(e["data"])["t_ns"] for e in got if e["event"] == "sample"]
    rows = subprocess.run(
        [baro, "export", "-F", "jsonl", "-e", "job", "-c", "t_ns", "@1"], capture_output=True, check=True
    ).stdout
    taped = [json.loads(line)["t_ns"] for line in rows.splitlines()]
    assert times == taped[taped.index(times[0]) :]


def test_live_list(serve, running):
    s = serve()
    stream = Stream(s, "/api/v1/live")
    job = running("cat")
    seen = []
    for event in stream.events():
        seen.append((event["event"], json.loads(event["data"])["state"]))
        if seen[-1] == ("job", "running"):
            job.stdin.close()
        if seen[-1] == ("job", "ended"):
            break
    stream.close()


def test_many_streams_and_one_that_stops_reading(serve, running):
    running("cat", options=("--interval", "20ms"))
    s = serve()
    job = eventually(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stuck = Stream(s, f"/api/v1/jobs/{job}/live?exits=1")  # and it reads nothing more
    streams = [Stream(s, f"/api/v1/jobs/{job}/live") for _ in range(63)]
    assert all(next(x.events())["event"] == "sample" for x in streams)
    assert s.json(f"/api/v1/jobs/{job}/live", status=503)["error"]["code"] == "too_many"
    for x in streams:
        x.close()
    stuck.close()
    eventually(lambda: b"\nbaro_serve_streams 0\n" in s.ask("/metrics")[2])


# ---- the observer's JSON --------------------------------------------------------------------------------------------


def test_thermos_clients(serve, running, kept):
    running("sh", "-c", "while :; do :; done")
    s = serve()
    active = eventually(lambda: [j for j in s.jobs(state="running") if j.get("now") and j["now"]["cores"]])[0]["id"]
    s.summed(4)
    assert s.json("/j/task_id_count") == {"active": 1, "finished": 3, "all": 4}
    assert s.json("/j/task_ids/active")["task_ids"] == [active]
    page = s.json("/j/task_ids/finished/1/1")
    assert len(page["task_ids"]) == 1 and page["task_count"] == 3
    task = s.json(f"/j/task/{active}")[active]
    assert (
        task["state"] == "ACTIVE"
        and task["resource_consumption"]["cpu"] > 0
        and task["resource_consumption"]["ram"] > 0
    )
    failed = s.jobs(search="exit")[0]["id"]
    both = s.json(f"/j/task?task_id={active},{failed},nothing")
    assert set(both) == {active, failed} and both[failed]["state"] == "FAILED"
    processes = s.json(f"/j/processes?task_ids={active}")[active]
    ((name, process),) = processes.items()
    assert process["state"] == "RUNNING" and process["used"]["rss"] > 0 and process["process_name"] == name
    assert s.json("/j/process/nothing/at/0") == {}
    ended = s.json(f"/j/process/{failed}")
    assert ended["return_code"] == 3 and "used" not in ended


# ---- who may ask ----------------------------------------------------------------------------------------------------


def test_host(serve):
    s = serve("--allow-host", "build7")
    for host in ("localhost", "127.0.0.1:80", "[::1]:2276", "10.1.2.3", "build7", "BUILD7:99"):
        assert s.ask("/healthz", Host=host)[0] == 200, host
    for host in (
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost:x",
        "[::1",
        "build7@evil",
        "[::1]x",
        "localhost:123456",
    ):
        assert s.ask("/healthz", Host=host)[0] == 421, host


def test_no_host(serve):
    s = serve()
    assert s.raw(b"GET /healthz HTTP/1.1\r\n\r\n").split()[1] == b"400"


def test_token(serve, work):
    (work / "token").write_text(TOKEN + "\n")
    s = serve("--token-file", str(work / "token"))
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": f"baro_session={TOKEN}"},
    ):
        for path in ("/", "/healthz", "/metrics", "/api/v1/jobs", "/j/task_ids", "/?token=wrong", "/nothing"):
            status, got, _ = s.ask(path, **headers)
            assert status == 401 and got["WWW-Authenticate"].startswith("Bearer"), path
    assert s.ask("/healthz", Authorization=f"Bearer {TOKEN}")[0] == 200
    status, got, _ = s.ask(f"/?token={TOKEN}")
    assert status == 303 and got["Location"] == "/" and TOKEN not in str(got)
    assert "HttpOnly" in got["Set-Cookie"] and "SameSite=Strict" in got["Set-Cookie"]
    assert s.ask("/", Cookie="a=b; " + got["Set-Cookie"].split(";")[0])[0] == 200
    status, got, _ = s.ask(f"//evil.example/?token={TOKEN}")
    assert got["Location"] == "/evil.example/"


def test_a_token_is_required_where_others_can_connect(baro, work):
    r = subprocess.run([baro, "serve", "--listen", "*:0"], capture_output=True, text=True)
    if "not installed" in r.stderr:
        pytest.skip("built without libmicrohttpd")
    assert r.returncode == 2 and "--token-file" in r.stderr
    (work / "short").write_text("abc\n")
    r = subprocess.run([baro, "serve", "--token-file", str(work / "short")], capture_output=True, text=True)
    assert r.returncode == 2 and "16" in r.stderr


def test_wrong_addresses(baro):
    for where in ("nowhere", "127.0.0.1:99999", "example.org:80", "unix:", "unix:" + "x" * 200, "256.0.0.1:1"):
        r = subprocess.run([baro, "serve", "--listen", where], capture_output=True, text=True)
        assert r.returncode == 2 and len(r.stderr.splitlines()) == 1, where


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_unix_socket(serve, work):
    path = work / "s"
    s = serve("--listen", f"unix:{path}")
    assert path.stat().st_mode & 0o777 == 0o600
    r = subprocess.run(["curl", "-s", "--unix-socket", str(path), "http://localhost/healthz"], capture_output=True)
    assert json.loads(r.stdout)["status"] == "ok"
    s.process.kill()  # leaves the socket
    s.process.wait()
    s = serve("--listen", f"unix:{path}")
    assert s.stop()[0] == 0 and not path.exists()


def test_methods(serve):
    s = serve()
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        status, headers, _ = s.ask("/api/v1/jobs", method=method)
        assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, headers, body = s.ask("/healthz", method="HEAD")
    assert status == 200 and not body and int(headers["Content-Length"]) > 10


def test_no_way_out_of_the_folder(serve, kept):
    s = serve()
    s.summed(3)
    for path in (
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/jobs/..%2f..%2fetc%2fpasswd/report",
        "/api/v1/jobs/..",
        "/api/v1/jobs/%00",
        "/jobs//etc/passwd/report",
        "/api/v1/jobs/" + "x" * 3000,
        "/host.js/../x",
        "/api/v1/jobs/a%0d%0ab",
    ):
        status, _, body = s.ask(path)
        assert status == 404 and json.loads(body)["error"], path


# ---- attacks --------------------------------------------------------------------------------------------------------


def rss_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def test_malformed_requests(serve):
    s = serve()
    requests = (
        b"\0" * 1000,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"A" * 100000,
        b"GET /" + b"a" * 50000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"b" * 50000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(5000)) + b"\r\n",
        b"GET /?" + b"a=b&" * 500 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\nxx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /%zz%f HTTP/1.1\r\nHost: localhost\r\n\r\n",
        bytes(range(256)) * 20,
    )
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        for data, answer in zip(requests, pool.map(s.raw, requests)):
            assert not answer.startswith(b"HTTP/1.1 2"), (data[:60], answer[:200])
    assert s.ask("/healthz")[0] == 200


def test_slow_and_many_connections(serve, kept):
    """1,000 connections that send a byte of a header now and then: others are served, and memory stays bounded."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 3000:
        pytest.skip("too few descriptors are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    s = serve("--clients", "128")
    job = s.summed(3)[0]["id"]
    before = rss_kib(s.process.pid)
    slow = []
    for _ in range(1000):
        c = socket.socket()
        c.setblocking(False)
        c.connect_ex(("127.0.0.1", s.port))
        slow.append(c)
    try:
        for _ in range(20):
            for c in slow:
                try:
                    c.send(b"G")
                except OSError:
                    pass
            assert s.ask("/healthz")[0] == 200
            assert s.ask(f"/api/v1/jobs/{job}")[0] == 200
    finally:
        for c in slow:
            c.close()
    assert rss_kib(s.process.pid) - before < 16 * 1024 or os.environ.get("BARO_SANITIZED") == "1"


def test_a_client_that_takes_its_answer_slowly(serve, kept):
    s = serve()
    job = s.summed(3)[0]["id"]
    slow = []
    for _ in range(8):
        c = socket.create_connection(("127.0.0.1", s.port))
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.sendall(f"GET /jobs/{job}/report HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        slow.append(c)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: s.ask("/api/v1/jobs")[0], range(40)))
    assert set(answers) == {200}
    for c in slow:
        c.close()


def test_it_ends_with_clients(serve, running):
    running("cat")
    s = serve()
    job = eventually(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stream = Stream(s, f"/api/v1/jobs/{job}/live")
    events = stream.events()
    next(events)
    idle = socket.create_connection(("127.0.0.1", s.port))
    status, text = s.stop()
    assert status == 0 and "Sanitizer" not in text
    list(events)  # the stream has an end
    idle.close()
    stream.close()


def test_the_address_is_taken(baro, serve):
    s = serve()
    r = subprocess.run([baro, "serve", "--listen", f"127.0.0.1:{s.port}"], capture_output=True, text=True)
    assert r.returncode == 2 and "--listen" in r.stderr and len(r.stderr.splitlines()) == 1


# ---- baro serve --cgroup --------------------------------------------------------------------------------------------


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid):
    """Also where nobody reaps what has lost its parent."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_it_records_control_groups(serve, run, baro, work, cgroup, started):
    """The observer is started, again where it was killed, and ended; a job stays on one tape. A server that is killed
    takes its observer with it, and the next one goes on."""
    folder = work / "tapes"
    group = cgroup.path / "job"
    group.mkdir()
    started(["sh", "-c", "while :; do :; done"], preexec_fn=type(cgroup)(group).enter)
    options = ["--cgroup", f"{cgroup.path}/*", "--interval", "100ms", "--keep", "64MB", "--total", "1GB"]
    s = serve(*options, folder=folder, env=dict(os.environ, BARO_NO_BUDGET="1"))

    def used(server, more_than):
        """The job in the list, once it has used that much more CPU time."""

        def look():
            for j in server.jobs(state="running"):
                if "-job-" in j["id"] and j.get("now"):
                    cpu_ns = server.json(f"/api/v1/jobs/{j['id']}/sample")["job"]["cpu_ns"]
                    return cpu_ns > more_than and j["now"]["cores"] and (j["id"], cpu_ns)
            return None

        return eventually(look)

    job, cpu_ns = used(s, 0)
    (observer,) = children(s.process.pid)
    assert s.json("/healthz")["observer"] == {"is_running": True, "starts": 1}
    os.kill(observer, signal.SIGKILL)
    eventually(lambda: s.json("/healthz")["observer"] == {"is_running": True, "starts": 2})
    assert used(s, cpu_ns)[0] == job
    metrics = s.ask("/metrics")[2]
    assert b"\nbaro_observer_up 1\n" in metrics and b"\nbaro_observer_starts_total 2\n" in metrics
    (second,) = children(s.process.pid)
    r = subprocess.run([baro, "observe", "--dir", folder, "--cgroup", "none"], capture_output=True, text=True)
    assert r.returncode == 2 and "another baro observe records into" in r.stderr and len(r.stderr.splitlines()) == 1
    status, text = s.stop()
    assert status == 0 and is_gone(second)
    assert re.findall("baro observe ended.*", text) == [
        "baro observe ended unexpectedly (signal 9); it is started again in 1 s"
    ]

    s = serve(*options, folder=folder)
    job_again, cpu_ns = used(s, cpu_ns)
    assert job_again == job
    (observer,) = children(s.process.pid)
    s.process.kill()
    s.process.wait()
    eventually(lambda: is_gone(observer))
    s = serve(*options, folder=folder)
    assert used(s, cpu_ns)[0] == job
    assert len(list(folder.glob("*-job-*.baro"))) == 1
    gaps = [e for e in run.export(folder / f"{job}.baro", "event") if e["event"] == "gap"]
    assert len(gaps) == 3


def test_wrong_options_of_the_observer(baro, work):
    if not pathlib.Path(baro).with_name("baro-serve").exists():
        pytest.skip("built without libmicrohttpd")
    for options, says in (
        (["--cgroup", "x"], "name the folder"),
        (["--keep", "1d", work], "--keep is about"),
        (["--cgroup", "", work], "PATTERN is empty"),
        (["--cgroup", "x", "--keep", "1s", work], "less than 10s"),
        (["--cgroup", "x", "--total", "1MB", work], "less than 16MB"),
        (["--cgroup", "x", "--interval", "1ms", work], "10ms to 1h"),
    ):
        r = subprocess.run([baro, "serve", *options], capture_output=True, text=True, timeout=60)
        assert r.returncode == 2 and says in r.stderr and len(r.stderr.splitlines()) == 1, (options, r)
