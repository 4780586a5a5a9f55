# SPDX-License-Identifier: Apache-2.0
"""baro serve: jobs, rows, ranges and errors, compared with other readers of the same tapes and with openapi.json."""

import json
import os
import re
import signal
import subprocess
import urllib.parse

import pytest
from conftest import poll
from readers import Page
from serving import SOURCE, Document, Server, running, serve  # noqa: F401 (fixtures)
from test_report_page import check_safe


# Four processes that live for a second, one that computes, and the peak of memory.
BUILD = "sleep 1 & sleep 1 & sleep 1 & sleep 1 & i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sort -S 1M /bin/sh | wc; wait"


@pytest.fixture(scope="module")
def folder(baro, tmp_path_factory):
    """Recordings called fails, true and build, in that order."""
    folder = tmp_path_factory.mktemp("serve") / "tapes"
    folder.mkdir()
    for name, script, status in (("fails", "for i in 1 2 3 4 5; do cat /proc/self/stat; done; exit 3", 3), ("true", "true", 0),
                                 ("build", BUILD, 0)):
        argv = [baro, "run", "-q", "-i", "50ms", "--overhead", "off", "-o", folder / f"{name}.baro", "--", "sh", "-c", script]
        assert subprocess.run(argv, stdout=subprocess.DEVNULL).returncode == status
    return folder


@pytest.fixture(scope="module")
def s(baro, folder):
    """A server of that folder, for tests that only ask."""
    server = Server(baro, folder=folder)
    server.summed(3)
    yield server
    assert server.stop()[0] == 0


def test_jobs_and_their_summary(s, run, folder):
    jobs = s.jobs()
    assert [j["id"] for j in jobs] == ["build", "true", "fails"] and [j["exit_status"] for j in jobs] == [0, 0, 3]
    assert {j["state"] for j in jobs} == {"ended"} and s.json("/healthz")["jobs"]["ended"] == 3
    told, got = run.summary(folder / "fails.baro"), s.json("/api/v1/jobs/fails")
    assert got["summary"]["job"] == told["job"] and got["job"]["cpu_ns"] == told["job"]["cpu_ns"]
    marks = {name.removeprefix("job."): mark for name, mark in told["marks"].items() if name.startswith("job.")}
    assert got["job"]["marks"] == {name: mark for name, mark in marks.items() if name in got["job"]}
    assert got["summary"]["verdicts"] == told["verdicts"] != []
    assert got["job"]["verdicts"][0] == "failed" and "verdicts" in jobs[0]
    assert set(got["job"]["verdicts"]) == {v["rule"] for v in told["verdicts"] if v["weight"] in ("problem", "advice")}
    assert got["job"]["problems"] == sum(v["weight"] == "problem" for v in told["verdicts"])
    assert {e["mark"] for v in told["verdicts"] for e in v["evidence"]} <= {None, "lower_bound", "upper_bound", "estimate"}
    assert s.json("/api/v1/jobs/fails/verdicts") == {"verdicts": told["verdicts"]}
    first, rest = s.json("/api/v1/jobs?limit=2"), s.json("/api/v1/jobs?limit=2&offset=2")
    assert first["total"] == rest["total"] == 3 and first["jobs"] + rest["jobs"] == jobs
    assert [j["id"] for j in s.jobs(search="cat")] == ["fails"]
    assert s.jobs(state="running") == [] and len(s.jobs(state="over")) == 3


def test_rows_are_those_of_export(s, run, folder):
    job, tape = "/api/v1/jobs/build", folder / "build.baro"
    for kind, columns in (("process", "t_ns,pid,name,rss,cpu,cores,io_read_bytes_per_second"), ("job", "t_ns,rss,cores"),
                          ("host", "t_ns,cores"), ("cpu", "t_ns,name,cores,busy_ratio"), ("disk", "t_ns,name,read_bytes"),
                          ("exit", ""), ("event", "")):
        rows = run.export(tape, kind, *(("-c", columns) if columns else ()))
        page = s.json(f"{job}/rows/{kind}?from=0&limit=10000&columns={columns}")
        assert rows and page == {"offset": 0, "rows": rows, "total": len(rows)}, kind
        last = rows[-1]["t_ns"]
        page = s.json(f"{job}/rows/{kind}?from={last}&to={last}&columns={columns}")
        assert page["rows"] == [row for row in rows if row["t_ns"] == last], kind
    columns = "t_ns,pid,name,rss,cpu,cores"
    rows = run.export(tape, "process", "-c", columns)
    at = rows[len(rows) // 2]["t_ns"]
    page = s.json(f"{job}/processes?at={at}&pick=exact&columns={columns}")
    assert sorted(page["processes"], key=str) == sorted((row for row in rows if row["t_ns"] == at), key=str)
    assert s.json(f"{job}/events")["events"] == run.export(tape, "event")
    assert s.json(f"{job}/exits")["exits"] == run.export(tape, "exit")
    ends = s.json(f"{job}/events?kind=end")
    assert ends["total"] == 1 and ends["events"][0]["event"] == "end"


def test_a_moment(s, run, folder):
    job = "/api/v1/jobs/build"
    peak_ns = s.json(job)["summary"]["job"]["memory_peak_t_ns"]
    assert s.json(f"{job}/sample?at=peak") == s.json(f"{job}/sample?at={peak_ns}")
    assert s.json(f"{job}/sample?at=peak&pick=exact")["t_ns"] == peak_ns
    times = [row["t_ns"] for row in run.export(folder / "build.baro", "process", "-c", "t_ns")]
    most = f"{job}/processes?at={max(times, key=times.count)}&sort=pid&columns=pid"
    down, up = (s.json(most + order) for order in ("", "&order=up"))
    pids = [p["pid"] for p in down["processes"]]
    assert len(pids) >= 4 and pids == sorted(pids, reverse=True) == [p["pid"] for p in up["processes"]][::-1]
    page = s.json(most + "&offset=1&limit=2")
    assert [p["pid"] for p in page["processes"]] == pids[1:3] and page["total"] == len(pids)
    # Behind the last sample there is none to interpolate with. Once the server read a sample there that it had freed.
    for what in ("sample", "processes", "tasks", "entities/cpu"):
        for _ in range(3):
            error = s.json(f"{job}/{what}?at=%2B90s&pick=interpolate", status=404)["error"]
            assert error["code"] == "no_sample", what
        assert s.ask(f"{job}/{what}?at=%2B90s&pick=nearest")[0] == 200
    assert s.ask("/healthz")[0] == 200


def test_range_adds_up_to_the_job(s):
    r = s.json("/api/v1/jobs/build/range?metric=job.cores&metric=job.processes&from=0&buckets=20")
    assert [x["unit"] for x in r["series"]] == ["cores", ""]
    cores = [v or 0 for v in r["series"][0]["mean"]]
    assert len(cores) == 20
    used = sum(cores) * (r["to_ns"] - r["from_ns"]) / 20
    assert used == pytest.approx(s.json("/api/v1/jobs/build")["job"]["cpu_ns"], rel=0.1)


def test_rows_without_a_value_come_last(serve, run, work):
    for name, size in (("small", 100_000), ("large", 300_000)):
        (work / name).mkdir()
        (work / name / "file").write_bytes(bytes(size))
    where = [str(work / name) for name in ("small", "missing", "large")]
    p = run.popen("run", "-q", *(word for path in where for word in ("--du", path)), "--",
                  "sh", "-c", "until [ -e walked ]; do sleep 0.05; done")
    s = serve()
    (job,) = poll(lambda: s.jobs(state="running"))
    walked = f"/api/v1/jobs/{job['id']}/entities/directory?at=100%25&columns=used"
    poll(lambda: len([row for row in s.json(walked)["entities"] if row["used_bytes"] is not None]) == 2)
    (work / "walked").touch()
    assert p.wait(timeout=60) == 0
    job = s.summed(1)[0]["id"]
    rows = f"/api/v1/jobs/{job}/entities/directory?at=100%25&columns=name,used&sort=used"
    down, up = (s.json(rows + order)["entities"] for order in ("", "&order=up"))
    assert [row["used_bytes"] is None for row in down] == [row["used_bytes"] is None for row in up] == [False, False, True], down
    assert [row["name"] for row in down] == [where[2], where[0], where[1]]
    assert [row["name"] for row in up] == [where[0], where[2], where[1]]


def test_a_folder_of_tapes(serve, run, work):
    """Of any names, in segments, damaged, vanishing and of no kind."""
    folder = work / "tapes"
    folder.mkdir()
    for name in ("any name", "damaged", "vanishing"):
        run("run", "-q", "-o", folder / f"{name}.baro", "--", "true")
    run("run", "-q", "--keep", "1h", "-o", folder / "segments.baro", "--", "true")
    (folder / "no tape.baro").write_bytes(b"nothing of the kind")
    data = (folder / "damaged.baro").read_bytes()
    (folder / "damaged.baro").write_bytes(data[:20] + bytes(60) + data[80:])
    s = serve(folder=folder)
    jobs = {j["id"]: j["state"] for j in s.summed(5)}
    del jobs["damaged"]
    assert jobs == {"any name": "ended", "vanishing": "ended", "segments": "ended", "no tape": "unreadable"}
    assert s.json("/api/v1/jobs/any%20name")["job"]["result"] == "exit 0"
    assert s.json("/api/v1/jobs/segments/sample")["job"]["processes_started"] == 1
    (folder / "vanishing.baro").unlink()
    assert s.ask("/api/v1/jobs/vanishing")[0] == 404
    got, _, body = s.ask("/api/v1/jobs/damaged")
    assert got in (200, 500) and json.loads(body)
    poll(lambda: {j["id"] for j in s.jobs()} == {*jobs, "damaged"} - {"vanishing"})


def test_a_report_that_fails_where_standard_error_is_closed(serve, run, work):
    """What the reporter had to say can't be written; the answer is an error all the same, and no part of a page."""
    folder = work / "tapes"
    folder.mkdir()
    run.record(folder / "t.baro", ["true"])
    s = serve(folder=folder, before=lambda: os.close(2))
    s.summed(1)
    with open(folder / "t.baro", "r+b") as f:
        f.truncate(40)  # within the head
    assert s.json("/jobs/t/report", status=500)["error"]["code"] == "unreadable"


def test_a_job_that_runs(serve, running):
    job = running("cat")
    s = serve()
    found = poll(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]
    assert found["now"]["processes"] == 1 and found["now"]["rss_bytes"] > 0
    host = poll(lambda: (h := s.json("/api/v1/host"))["sample"] and h)
    assert host["cpus"] == os.cpu_count() and host["job"] == found["id"]
    later = poll(lambda: (w := s.jobs(state="running")[0]["wall_ns"]) > found["wall_ns"] and w)
    job.stdin.close()
    job.wait()
    ended = poll(lambda: s.jobs(state="ended"))[0]
    assert (ended["id"] == found["id"] and ended["exit_status"] == 0 and ended["wall_ns"] >= later
            and ended["now"] is None)


def test_answers_fit_openapi(s):
    document = Document(s)
    assert document.all == json.loads((SOURCE / "docs/openapi.json").read_text())
    assert sorted(document.all["paths"]) == sorted(s.json("/api/v1")["paths"])
    given = {"id": "build", "kind": "cpu", "metric": "job.cores"}
    asked = 0
    for path, operations in document.all["paths"].items():
        if "application/json" not in operations["get"]["responses"].get("200", {}).get("content", {}):
            continue
        url = re.sub(r"\{(\w+)\}", lambda m: given[m[1]], path)
        document.check(path, url + ("?metric=job.cores" if "metric" in document.parameters(path) else ""))
        asked += 1
    assert asked > 15
    error = dict(document.plain({"$ref": "#/components/schemas/Error"}), components=document.components)
    document.jsonschema.validate(s.json("/nothing", status=404), error)


def test_bad_parameters(s):
    job = "/api/v1/jobs/true"
    for path in ("/api/v1/jobs?limit=x", "/api/v1/jobs?limit=1001", "/api/v1/jobs?offset=-1",
                 job + "/processes?limit=10001", job + "/range?metric=job.cores&buckets=100000000",
                 "/api/v1/jobs?state=odd", "/api/v1/jobs?no=1", job + "/processes?columns=nix",
                 job + "/sample?at=never", job + "/sample?pick=some", job + "/range", job + "/range?metric=nix",
                 job + "/range?metric=job.cores&buckets=0", job + "/processes?order=sideways",
                 job + "/processes?sort=a,b", job + "/processes?from=0&sort=pid", job + "/rows/process?kind=end",
                 job + "/rows/event?at=0"):
        error = s.json(path, status=400)["error"]
        assert error["code"] == "bad_parameter" and error["message"], path


def test_range_of_a_job_that_has_just_begun(serve, running):
    running("cat", options=("--interval", "1h"))  # one sample
    s = serve()
    (job,) = poll(lambda: [j for j in s.jobs(state="running") if j.get("now")])
    path = f"/api/v1/jobs/{job['id']}/range?metric=job.cores&buckets=60"
    assert s.json(path)["series"][0]["max"] == [None] * 60


def test_etag(s):
    job = "true"
    for path in (f"/api/v1/jobs/{job}", "/", "/host.js", f"/jobs/{job}", "/job.js", "/shared.js",
                 f"/jobs/{job}/report"):
        status, headers, body = s.ask(path)
        assert status == 200 and body
        status, _, body = s.ask(path, If_None_Match=headers["ETag"])
        assert (status, body) == (304, b"")
        status, _, again = s.ask(path, If_None_Match='"of another version"')
        assert status == 200 and again


def test_report_and_page(s):
    status, headers, body = s.ask("/jobs/true/report")
    assert status == 200 and headers["Content-Type"].startswith("text/html") and b"</html>" in body[-20:]
    status, headers, page = s.ask("/jobs/true")
    assert status == 200 and headers["Content-Type"].startswith("text/html") and b"job.js" in page
    assert s.ask("/jobs/nothing")[0] == 404
    status, headers, body = s.ask("/")
    assert status == 200 and b"host.js" in body
    body += page + s.ask("/job.js")[2] + s.ask("/shared.js")[2]
    assert "script-src 'self'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    assert not re.search(rb"https?://(?!www.w3.org/2000/svg)", body + s.ask("/host.js")[2] + s.ask("/host.css")[2])


def test_trend_of_the_command(serve, run, work):
    """A job's page has the jobs of its command and no others; the fact names no file."""
    folder = work / "folder"
    folder.mkdir()
    for i in range(3):
        run("run", "-q", "-o", folder / f"job{i}.baro", "--name", "job", "--", "sh", "-c", "sleep 0.1", status=0)
    run("run", "-q", "-o", folder / "other.baro", "--", "true", status=0)
    run("run", "-q", "-o", work / "secret.baro", "--name", "secret", "--", "true", status=0)
    s = serve(folder=folder)
    s.summed(4)
    for fact, words in (("", "wall time"), ("?fact=cpu", "CPU time"), ("?fact=command:sleep%20rss_peak", "peak memory (rss) of command sleep")):
        status, headers, body = s.ask("/jobs/job0/trend" + fact)
        assert status == 200 and headers["Content-Type"].startswith("text/html"), body
        text = body.decode()
        page = Page(text)
        check_safe(page, text)
        assert f"{words}, job: 3 runs" in "".join(page.text)
        assert {c[6]["text"] for c in page.table_rows("runs")[1:]} == {f"job{i}.baro" for i in range(3)}
    for fact in (f"{work}/secret.baro", "@1", "../secret.baro", "phase:../secret.baro", "-h", "", "cpu%0a", "CPU"):
        assert s.json("/jobs/job0/trend?fact=" + fact, status=400)["error"]["code"] == "bad_parameter", fact
    assert s.json("/jobs/job0/trend?fact=phase:none%20cpu", status=404)["error"]["code"] == "no_value"
    assert s.ask("/jobs/nothing/trend")[0] == 404


def test_ids_with_any_bytes(serve, run, work):
    """A job is found by the id that the list has, whatever bytes are in the name of its tape, and by no other one's:
    that of b"a\\xff" is written as a name that another tape may have."""
    folder = work / "folder"
    folder.mkdir()
    run.record(folder / "plain.baro", "exit 0")
    tape = (folder / "plain.baro").read_bytes()
    names = [b"a\xff", b"a\\xff", b"a\\\\xff", "a�".encode(), b"new\nline", b"tab\t", b"esc\x1b[31m", b"c1\xc2\x9b",
             b"del\x7f", "bidi‮".encode(), b"50%41%2f", b"q\"<s>&'", b"-dash", b"@1", b" ", b"\xff" * 250]
    for name in names:
        with open(os.path.join(os.fsencode(folder), name + b".baro"), "wb") as f:
            f.write(tape)
    s = serve(folder=folder)
    ids = [j["id"] for j in s.summed(len(names) + 1)]
    assert len(set(ids)) == len(ids) and {"a\\xff", "a\\\\xff", "new\\x0aline", "esc\\x1b[31m"} <= set(ids)
    assert not any(re.search(r"[\x00-\x1f\x7f-\x9f‮]", i) for i in ids)
    for i in ids:
        path = "/api/v1/jobs/" + urllib.parse.quote(i, safe="")
        assert s.json(path)["job"]["id"] == i
    assert s.ask("/api/v1/jobs/a%FF")[0] == 404
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", s.ask("/metrics")[2])


def test_a_file_system_that_hangs_before_the_start(baro, hanging):
    """A signal ends the server while the folder is listed for the first time. (The kernel can't end a process that
    waits for FUSE until that answers.)"""
    hanging.send_signal(signal.SIGUSR1)
    try:
        argv = [baro, "serve", "--listen", "127.0.0.1:0", hanging.folder]
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        hanging.held()
        p.terminate()
    finally:
        hanging.resume()
    assert p.communicate(timeout=60) == (b"", b"")
    assert p.returncode == -signal.SIGTERM


@pytest.mark.long
def test_a_file_system_that_hangs(serve, hanging, running):
    """Other requests are answered, it is said, and the server ends."""
    running("sleep", "600", options=("-o", f"{hanging.folder}/t.baro"))
    poll(lambda: "t.baro" in os.listdir(hanging.folder))
    s = serve(folder=hanging.folder)
    poll(lambda: (j := s.jobs(state="running")) and j[0]["now"])
    hanging.hang()
    try:
        assert "does not answer" in poll(lambda: json.loads(s.ask("/healthz")[2])["error"])
        for _ in range(6):  # more than there are workers
            status, _, body = s.ask("/api/v1/jobs/t")
            assert status == 200 or (status == 503 and json.loads(body)["error"]["code"] == "hangs")
        assert s.ask("/metrics")[0] == 200 and s.json("/healthz", 503)["status"] == "failing"
        s.process.terminate()
        # The kernel can't end a thread that waits for FUSE, so the process is there until that answers.
        poll(lambda: open(f"/proc/{s.process.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0] == "Z")
    finally:
        hanging.resume()
    assert s.process.wait(60) == 0
