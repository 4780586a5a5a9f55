# SPDX-License-Identifier: Apache-2.0
"""Runs that are announced on this machine: baro serve lists them wherever their tapes are."""

import http.client
import json
import os
import subprocess

import pytest
from conftest import poll
from serving import running, serve  # noqa: F401 (fixtures)


@pytest.fixture
def announced(work, monkeypatch):
    folder = work / "announced"
    monkeypatch.setenv("BARO_ANNOUNCED", str(folder))
    return folder


def ids(server, **filters):
    return {j["id"] for j in server.jobs(**filters)}


def test_a_run_whose_tape_is_elsewhere(serve, running, run, work, announced):
    """It is listed while it runs and after; a run whose tape is among the kept runs is listed once."""
    (work / "far").mkdir()
    tape = work / "far" / "x.baro"
    s = serve()
    job = running("cat", options=("-o", str(tape)))
    (name,) = poll(lambda: ids(s, state="running"))
    (link,) = announced.iterdir()
    assert link.name == f"{name}.baro" and os.readlink(link) == str(tape)
    assert "-cat-" in name
    assert poll(lambda: s.json(f"/api/v1/jobs/{name}/sample").get("job"))
    run("run", "-q", "--", "true")
    (kept,) = poll(lambda: ids(s) - {name})
    assert len(list(announced.iterdir())) == 2
    job.stdin.close()
    job.wait()
    poll(lambda: ids(s, state="ended") == {name, kept})
    again = serve()
    poll(lambda: ids(again, state="ended") == {name, kept})
    tape.unlink()
    poll(lambda: ids(s) == ids(again) == {kept})
    with_folder = serve(folder=work / "far")
    assert not ids(with_folder)


def test_announcing_is_refused(run, work, monkeypatch):
    """A folder that can't be made, or none, is no reason for a line."""
    for folder in ("", "/proc/none/here", "relative/none"):
        monkeypatch.setenv("BARO_ANNOUNCED", folder)
        r = run("run", "-q", "-o", work / f"{len(folder)}.baro", "--", "true", status=0)
        assert r.stderr == ""


def test_the_newest_stay(run, work, announced):
    """Links of runs that have ended are removed when there are many; that of one that lives is not."""
    announced.mkdir()
    lives = f"20200101T000000.000000Z-lives-{os.getpid()}.baro"
    (announced / lives).symlink_to("/nowhere")
    (announced / "other").symlink_to("/nowhere")
    ended = subprocess.Popen(["true"])
    ended.wait()
    for i in range(600):
        (announced / f"20200101T000000.{i:06}Z-x-{ended.pid}.baro").symlink_to("/nowhere")
    for _ in range(200):
        run("run", "-q", "-o", work / "t.baro", "--force", "--", "true", status=0)
        if len(list(announced.iterdir())) < 600:
            break
    left = {p.name for p in announced.iterdir()}
    assert len(left) <= 512 + 2 and {lives, "other"} < left
    assert f"20200101T000000.{599:06}Z-x-{ended.pid}.baro" in left


@pytest.mark.skipif(os.geteuid() != 0, reason="two users")
def test_each_user_sees_what_may_be_read(serve, run, run_ordinary, work, announced, baro):
    announced.mkdir()
    announced.chmod(0o1777)
    run("run", "-q", "-o", work / "root.baro", "--", "true", status=0)
    mine = work / "mine"
    mine.mkdir()
    mine.chmod(0o777)
    run_ordinary("run", "-q", "-o", mine / "ordinary.baro", "--", "false", status=1)
    names = {os.path.basename(os.readlink(p)): p.name[:-5] for p in announced.iterdir()}
    link = announced / "20300101T000000.000000Z-stolen-1.baro"
    link.symlink_to(work / "root.baro")
    os.lchown(link, run_ordinary.uid, -1)
    open_to_all = serve()
    poll(lambda: ids(open_to_all) == {names["root.baro"]})
    token = "0123456789abcdef" * 2
    (work / "token").write_text(token)
    (work / "token").chmod(0o600)
    guarded = serve("--token-file", str(work / "token"))

    def jobs_with_token():
        return {j["id"] for j in guarded.json("/api/v1/jobs", Authorization=f"Bearer {token}")["jobs"]}

    poll(lambda: jobs_with_token() == set(names.values()))
    p = run_ordinary.popen("serve", "--listen", "127.0.0.1:0", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env={"BARO_DIR": mine / "kept"})
    try:
        port = int(p.stdout.readline().decode().strip().rstrip("/").rsplit(":", 1)[1])

        def jobs():
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
            c.request("GET", "/api/v1/jobs")
            found = {j["id"] for j in json.loads(c.getresponse().read())["jobs"]}
            c.close()
            return found

        poll(lambda: jobs() == {names["ordinary.baro"]})
    finally:
        p.terminate()
        p.communicate(timeout=60)
