# SPDX-License-Identifier: Apache-2.0
"""baro serve as root, of a recording with the processes of all users: what another user of the machine is shown."""

import json
import os
import subprocess

import pytest
from conftest import needs_connector, poll
from serving import serve  # noqa: F401 (fixtures)

NOBODY = 65534
SECRET, OWN = "secret-of-root", "own-of-nobody"

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="serves as root to others"), needs_connector]


def as_nobody(ask):
    """What ask() returns, called by nobody."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with os.fdopen(writing, "wb") as pipe:
                for answer in ask():
                    pipe.write(json.dumps(answer).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answers = [json.loads(line) for line in pipe]
    os.waitpid(pid, 0)
    return answers


@pytest.fixture
def served(run, serve, work):
    sleep = ["bash", "-c", 'exec -a "$0" sleep 1000']
    sleeping = [subprocess.Popen([*sleep, SECRET]), subprocess.Popen([*sleep, OWN], user=NOBODY, group=NOBODY)]
    tape = work / "tapes" / "machine.baro"
    tape.parent.mkdir()
    recorder = run.popen("record", "--all", "--keep", "1h", "-i", "200ms", "-q", "-o", tape)
    try:
        poll(lambda: run.instants(tape) and any(SECRET in (row["cmdline"] or "") for row in run.export(tape, "process")))
        s = serve("--metrics-processes", "1000", folder=tape.parent)
        poll(lambda: s.jobs() and "title" in s.jobs()[0])
        yield s
    finally:
        for p in (recorder, *sleeping):
            p.terminate()
            p.wait()


def test_the_machine_of_a_job_is_for_those_who_may_see_it(served, run, work):
    """An ordinary job while the machine was recorded: root has a link to the machine then; nobody has neither."""
    run("run", "-q", "-o", work / "tapes" / "job.baro", "--", "sleep", "0.5", status=0)
    job = poll(lambda: [j for j in served.jobs() if j["id"] == "job" and j.get("state") == "ended"])[0]
    assert not job["has_machine"]
    poll(lambda: served.ask("/jobs/job/machine")[0] == 200, "the machine's recording of that time")
    assert b'href="machine"' in served.ask("/jobs/job/report")[2]
    assert b'href="machine"' not in served.ask("/jobs/machine/report")[2]
    refused, reported = as_nobody(lambda: [(served.ask(path)[0], b'href="machine"' in served.ask(path)[2])
                                           for path in ("/jobs/job/machine", "/jobs/job/report")])
    assert refused == [404, False] and reported == [200, False]
    _, first, _ = served.ask("/jobs/job/report")
    status, again, _ = served.ask("/jobs/job/report", if_none_match=first["ETag"])
    assert status == 304 and again["Content-Security-Policy"] == first["Content-Security-Policy"]


def test_others_see_their_own_processes_and_the_totals(served):
    job = served.jobs()[0]["id"]
    paths = [p.replace("{id}", job) for p in served.json("/api/v1")["paths"]]
    paths = [p for p in paths if "/live" not in p and "{kind}" not in p]
    kinds = ("process", "exit", "event", "brief", "cgroup", "fs", "host", "cpu", "job", "task")
    paths += [f"/api/v1/jobs/{job}/{rows}/{kind}" for rows in ("rows", "entities") for kind in kinds]
    paths += [f"/api/v1/jobs/{job}/processes?from=0&limit=1000", f"/api/v1/jobs/{job}/exits?limit=1000",
              f"/api/v1/jobs/{job}/processes?sort=rss_bytes&limit=1000", f"/api/v1/jobs/{job}/live"]
    seen = served.json(f"/api/v1/jobs/{job}/processes?limit=1000")["processes"]
    assert any(SECRET in (p["cmdline"] or "") for p in seen) and len({p["uid"] for p in seen}) > 1

    def ask_all():
        for path in paths:
            status, _, body = served.ask(path)
            yield path, status, body.decode(errors="replace")

    answers = {path: (status, body) for path, status, body in as_nobody(ask_all)}
    assert len(answers) == len(paths)
    for path, (status, body) in answers.items():
        assert SECRET not in body, path
        for rows in ("processes", "exits", "rows"):
            if status == 200 and ("/process" in path or "/exit" in path) and "metrics" not in path:
                assert all(row["uid"] == NOBODY for row in json.loads(body).get(rows, [])), path
    own = json.loads(answers[f"/api/v1/jobs/{job}/processes?from=0&limit=1000"][1])["processes"]
    assert any(OWN in (p["cmdline"] or "") for p in own)
    assert json.loads(answers[f"/api/v1/jobs/{job}/rows/host"][1])["rows"]
    for path in ("", "/report", "/verdicts", "/sample", "/live"):
        prefix = "" if path == "/report" else "/api/v1"
        assert answers[f"{prefix}/jobs/{job}{path}"][0] == (200 if prefix + path == "" else 403), path
    assert json.loads(answers["/api/v1/jobs"][1])["jobs"] == [{"id": job, "is_private": True}]
    assert f'baro_job="{job}"' not in answers["/metrics"][1]
