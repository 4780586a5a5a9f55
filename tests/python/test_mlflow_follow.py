# SPDX-License-Identifier: Apache-2.0
"""The follower with a client that stands in for MLflow's (fake_mlflow): what is killed, lost or refused at which moment
is under control here. test_mlflow.py has a real server."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import types

import pytest
from conftest import PATIENCE, poll

import barograph
import barograph.mlflow
from barograph.mlflow import _names, _points, _position, _server

FAKE = pathlib.Path(__file__).resolve().parent / "fake_mlflow"
FULL = os.environ.get("BARO_FULL") == "1"
BARO = os.environ.get("BAROGRAPH_BARO", "baro")


@pytest.fixture
def store(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    folder.mkdir()
    monkeypatch.setenv("FAKE_MLFLOW", str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{FAKE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(FAKE))
    for name in ("MLFLOW_RUN_ID", "MLFLOW_TRACKING_URI", "BAROGRAPH_MLFLOW"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    (folder / "plan").write_text("", encoding="ascii")  # followers of a test that failed end


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("mlflow") / "made.baro"
    barograph.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.04; done"], tape=path, interval="10ms",
                  overhead="off")
    return path


@pytest.fixture
def tape(made, tmp_path):
    copy = tmp_path / "made.baro"
    copy.write_bytes(made.read_bytes())
    return copy


def send(tape, *arguments, status=0, **environment):
    done = subprocess.run([sys.executable, "-m", "barograph.mlflow", "log", str(tape), *arguments],
                          env={**os.environ, **environment}, capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def rows_of(store, kind):
    text = (store / "store").read_text(encoding="utf-8") if (store / "store").exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()  # the last one may be written at present
    return [row for row in map(json.loads, lines) if row[0] == kind]


def expected(tape, names="system"):
    """What MLflow has to have: (key, value, time, step)."""
    opened = barograph.open(tape)
    limit = opened.summary["limits"].get("memory_bytes")
    namer, before, points = _names.Namer(names, float(limit) if limit else None), None, []
    for number, sample in enumerate(opened):
        points += [(k, v, sample.time_ns // 1_000_000, number) for k, v in namer.point(sample, before).items()]
        before = sample
    return points


def check_all_once(store, tape, names="system", run="r"):
    found = collections.Counter((r[2], r[3], r[4], r[5]) for r in rows_of(store, "metric") if r[1] == run)
    assert max(found.values()) == 1, "a point is there twice"
    points = {p for p in found if not p[0].startswith("summary/")}
    assert points == set(expected(tape, names))
    assert {p[0] for p in found if p[0].startswith("summary/")} >= {"summary/cpu_seconds", "summary/wall_seconds"}


@pytest.mark.parametrize("names", barograph.mlflow.NAMES)
def test_every_point_arrives_once(store, tape, names):
    send(tape, "--run-id", "r", "--names", names)
    check_all_once(store, tape, names)
    summary = barograph.open(tape).summary
    facts = {r[2]: r[3] for r in rows_of(store, "metric")}
    assert facts["summary/cpu_seconds"] == summary.job.cpu_ns / 1e9
    assert facts["summary/memory_peak_mb"] == summary.job.rss_peak_bytes / 1e6
    assert sum(key.startswith("summary/") for key in facts) <= 12
    tags = {r[2]: r[3] for r in rows_of(store, "tag")}
    assert tags["baro.state"] == "ended" and tags["baro.host"] == summary.host.name
    assert {r[2]: r[3] for r in rows_of(store, "param")}["baro.cpus"] == str(summary.cpus)
    assert {r[2] for r in rows_of(store, "file")} == {"verdicts.json", "summary.json", "report.html", "made.baro"}
    assert not rows_of(store, "end"), "the run is not ours to end"
    assert "sent before" in send(tape, "--run-id", "r", "--names", names)
    check_all_once(store, tape, names)


def test_what_may_be_off_both_ways_is_no_lower_bound(tape, monkeypatch):
    from barograph.mlflow import _summary
    from barograph.values import ESTIMATE, LOWER_BOUND, UPPER_BOUND, Whole

    flags = {"exact": 0, "low": LOWER_BOUND, "both": LOWER_BOUND | UPPER_BOUND, "guess": ESTIMATE, "most": UPPER_BOUND}
    monkeypatch.setattr(_summary, "facts_of", lambda *_: [(name, Whole(7, f), 1.0) for name, f in flags.items()])
    tags = _summary.tags_of(barograph.open(tape))
    assert tags["baro.lower_bounds"] == "low" and tags["baro.estimates"] == "both guess"


@pytest.mark.parametrize("how", ["argument", "command line", "environment"])
def test_the_user_chooses_what_the_summary_has(store, tape, monkeypatch, how):
    """Names of the dozen or of facts; "all" is every fact of the job in its own unit."""
    job = barograph.open(tape).summary.job
    own = {"wall_ns", *(n for n, v in job if isinstance(v, (int, float)) and not isinstance(v, bool))}
    for i, (wish, expects) in enumerate({"all": own, "cpu_seconds,rss_peak_bytes,limits.cores_at_most":
                                         {"cpu_seconds", "rss_peak_bytes", "limits.cores_at_most"}}.items()):
        if how == "argument":
            given = wish if wish == "all" else wish.split(",")
            assert barograph.mlflow.log(tape, f"r{i}", wait=PATIENCE, artifacts=False, summary=given).done
        elif how == "command line":
            send(tape, "--run-id", f"r{i}", "--no-artifacts", "--summary", wish)
        else:
            monkeypatch.setenv("BAROGRAPH_MLFLOW_SUMMARY", wish)
            from barograph.mlflow import _auto, _facts

            found = _facts.facts_of(barograph.open(tape), _auto._from_environment()["summary"])
            assert {name for name, _, _ in found} == expects
            continue
        found = {r[2]: r[3] for r in rows_of(store, "metric") if r[1] == f"r{i}" and r[2].startswith("summary/")}
        assert {key.partition("/")[2] for key in found} == expects
        assert found["summary/rss_peak_bytes"] == job.rss_peak_bytes
    with pytest.raises(ValueError, match="there is no fact 'cpus_used'; there are wall_seconds, cpu_seconds"):
        barograph.mlflow.log(tape, "r", summary="cpus_used")
    with pytest.raises(ValueError, match="no fact"):
        barograph.mlflow.autolog(summary=["command.argument"])


def test_a_tape_has_one_position_by_whatever_name(store, tape):
    os.symlink(tape, "link.baro")
    send(tape, "--run-id", "r", "--no-artifacts")
    assert "sent before" in send("link.baro", "--run-id", "r") and "sent before" in send("link.baro")
    check_all_once(store, tape)
    status = subprocess.run([sys.executable, "-m", "barograph.mlflow", "status", "link.baro"], capture_output=True, check=True)
    assert b"run r: done" in status.stdout


def test_a_run_of_its_own_has_the_times_of_the_tape(store, tape):
    send(tape, "--no-artifacts")
    check_all_once(store, tape, run="made")
    header = barograph.open(tape).header
    assert rows_of(store, "run") == [["run", "made", header.start_ns // 1_000_000]]
    (end,) = rows_of(store, "end")
    assert end[2] == "FINISHED" and end[3] >= header.start_ns // 1_000_000
    assert rows_of(store, "file") == []


def test_a_command_and_a_tape_whose_names_are_not_utf_8(store):
    barograph.run(["sh", "-c", ":", b"\xff"], tape=b"t\xff.baro")
    out = send(os.fsdecode(b"t\xff.baro"), "--patience", "0")
    assert "run made has" in out
    tags = {r[2]: r[3] for r in rows_of(store, "tag")}
    assert tags["baro.command"] == tags["mlflow.source.name"] == "sh -c : \ufffd"
    assert {r[2] for r in rows_of(store, "file")} == {"verdicts.json", "summary.json", "report.html"} and rows_of(store, "end")


FAULTS = ("kill", "kill-half", "kill-after", "lost", "half-lost", "error")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("at", range(25) if FULL else (0, 3))
def test_nothing_is_lost_or_doubled(store, tape, fault, at):
    (store / "plan").write_text("\n".join(["ok"] * at + [fault, fault]), encoding="ascii")
    for _ in range(2 if fault.startswith("kill") else 0):
        send(tape, "--run-id", "r", "--no-artifacts", status=-signal.SIGKILL, BAROGRAPH_MLFLOW_BATCH="20")
    send(tape, "--run-id", "r", "--no-artifacts", BAROGRAPH_MLFLOW_BATCH="20")
    check_all_once(store, tape)


def test_fewer_points(store, tape):
    send(tape, "--run-id", "r", "--no-artifacts", "--every", "0.05", "--names", "baro")
    rows = [r for r in rows_of(store, "metric") if r[2] == "job/rss_bytes"]
    samples = list(barograph.open(tape))
    assert 3 <= len(rows) < len(samples) / 2
    assert [r[5] for r in rows] == list(range(len(rows)))
    assert max(r[3] for r in rows) == max(s.sum("rss_bytes") for s in samples), "no peak is lost"
    assert rows[-1][4] == samples[-1].time_ns // 1_000_000


def test_another_sender_of_the_same_keys_does_not_confuse_it(store, tape):
    newer = barograph.open(tape).header.start_ns // 1_000_000 + 3_600_000
    with open(store / "store", "w", encoding="utf-8") as file:
        for key in {p[0] for p in expected(tape)}:
            file.write(json.dumps(["metric", "r", key, 1.0, newer, 99999]) + "\n")
    (store / "plan").write_text("ok\nlost\nhalf-lost", encoding="ascii")
    send(tape, "--run-id", "r", "--no-artifacts", BAROGRAPH_MLFLOW_BATCH="100")
    found = collections.Counter((r[2], r[3], r[4], r[5]) for r in rows_of(store, "metric") if r[5] != 99999)
    assert {p for p in found if not p[0].startswith("summary/")} == set(expected(tape))
    assert max(found.values()) == 1


def test_what_is_refused_for_good_is_not_asked_again(store, tape):
    (store / "plan").write_text("refused", encoding="ascii")
    out = send(tape, "--run-id", "r", status=1)
    assert "no such run" in out
    assert rows_of(store, "metric") == []
    upload = barograph.mlflow.log(tape, "r", wait=PATIENCE)  # and goes on if somebody wants it
    assert upload.done and upload.run_id == "r" and upload.error is None
    check_all_once(store, tape)


def test_an_absent_server_is_given_up_after_some_time(store, tape):
    (store / "plan").write_text("error\n" * 50, encoding="ascii")
    out = send(tape, "--run-id", "r", "--patience", "0", status=1)
    assert "nobody is there" in out
    status = subprocess.run([sys.executable, "-m", "barograph.mlflow", "status", tape], capture_output=True, text=True,
                            check=True)
    assert "run r: metrics, 0 points: metrics: ConnectionError: nobody is there" in status.stdout


@pytest.mark.parametrize("uri", ["http://me:s3cr3t@127.0.0.1:1", "http://me:s3c%72et@h/s3cr3t@"])
def test_what_a_server_says_has_no_password_and_controls_no_terminal(store, tape, uri):
    """Nor has the position, though the URI is in both."""
    (store / "plan").write_text("hostile", encoding="ascii")
    out = send(tape, "--run-id", "r", "--patience", "0", "--no-artifacts", status=1, MLFLOW_TRACKING_URI=uri)
    status = subprocess.run([sys.executable, "-m", "barograph.mlflow", "status", tape], capture_output=True, check=True)
    upload = barograph.mlflow.Upload({"tape": str(tape), "run_id": "r"})
    files = b"".join(f.read_bytes() for f in tape.parent.glob("*.mlflow-*"))
    for said in (out, status.stdout.decode(), upload.error, files.decode()):
        assert "no answer of http://***@" in said
        assert not [bad for bad in ("s3cr3t", "s3c%72et", "bWU6czNjcjN0", "\x1b", "\u202e") if bad in said]


LIVE = """
    import os, sys, time
    import barograph, barograph.mlflow
    with barograph.mlflow.record("live.baro", run_id="r", wait={wait}, interval="10ms", overhead="off", artifacts=False) as rec:
        begun = time.monotonic()
        while time.monotonic() - begun < 0.6:
            pass
        {inside}
    assert not os.system("true")
    try:
        os.waitpid(-1, os.WNOHANG)
        print("a child")
    except ChildProcessError:
        print("no child")
    print(rec.tape.path)
"""


def test_while_it_grows(store, tmp_path, script, monkeypatch):
    monkeypatch.setenv("BAROGRAPH_MLFLOW_FLUSH", "0.05")
    program = script(LIVE.format(wait=PATIENCE, inside="sys.stdin.readline()"))
    poll(lambda: len(rows_of(store, "metric")) > 100, "points of a recording that goes on")
    assert barograph.open("live.baro").state == "running"
    assert "no child" in program.end()
    check_all_once(store, "live.baro")
    tape = barograph.open("live.baro")
    senders = {int(line.split()[0]) for line in (store / "clients").read_text(encoding="ascii").splitlines()}
    assert senders and not senders & {p.pid for p in tape.processes}, "the follower is no process of the job"
    assert len(tape.processes) <= 3, tape.processes  # the program, sh and true


def test_the_program_is_killed(store, script, monkeypatch):
    monkeypatch.setenv("BAROGRAPH_MLFLOW_FLUSH", "0.05")
    program = script(LIVE.format(wait=1, inside="os.kill(os.getpid(), 9)"))
    program.end(-signal.SIGKILL)
    upload = barograph.mlflow.log("live.baro", "r", names="system", artifacts=False, wait=PATIENCE)
    assert upload.done
    check_all_once(store, "live.baro")
    tags = {r[2]: r[3] for r in rows_of(store, "tag")}
    assert tags["baro.state"] == "ended"


def test_the_follower_is_killed_and_comes_back(store, script, monkeypatch):
    monkeypatch.setenv("BAROGRAPH_MLFLOW_FLUSH", "0.05")
    (store / "plan").write_text("ok\nok\nkill-half", encoding="ascii")
    program = script(LIVE.format(wait=PATIENCE, inside=""))
    program.end()
    assert len((store / "clients").read_text(encoding="ascii").splitlines()) == 2
    check_all_once(store, "live.baro")


def test_nobody_waits_for_a_server_that_is_not_there(store, script):
    (store / "plan").write_text("error\n" * 10000, encoding="ascii")
    program = script(LIVE.format(wait=None, inside=""))
    program.end()
    (sender,) = {
        int(line.split()[0])
        for line in poll(
            lambda: (store / "clients").exists() and (store / "clients").read_text(encoding="ascii"), "it"
        ).splitlines()
    }
    assert rows_of(store, "metric") == []
    (store / "plan").write_text("", encoding="ascii")
    assert barograph.mlflow.log("live.baro", "r", artifacts=False).wait(PATIENCE)
    check_all_once(store, "live.baro")
    poll(lambda: not os.path.exists(f"/proc/{sender}"), "the end of the follower")


@pytest.mark.parametrize("interpreter", ["/nonexistent/python", "", None])
def test_a_follower_that_cannot_start_ends_no_program(script, interpreter):
    """A program that has set SIGPIPE back, as tools for a shell do, and an interpreter without an executable."""
    script(f"""
        import barograph.mlflow, signal, sys, warnings
        from barograph.compat import _base
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        sys.executable = {interpreter!r}
        warnings.simplefilter("ignore")
        for _ in range(5):
            with barograph.mlflow.record("t.baro", force=True) as rec:
                pass
            assert rec.tape.state == "ended"
        other = _base.Companion(["/bin/false"])
        while not other.has_ended:
            pass
        other.write("x")
    """).end()


@pytest.mark.parametrize("where", ["barograph._spawn.start", "barograph.recorder.read_report"])
def test_an_interrupt_while_it_starts_leaves_no_follower(store, monkeypatch, where):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    before = set(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(where, interrupt)
        with pytest.raises(KeyboardInterrupt):
            barograph.mlflow.record("t.baro", run_id="r").start()
    assert set(os.listdir("/proc/self/fd")) == before, "its pipe is open, and the follower waits"


def test_a_recording_that_runs_already(store, script, monkeypatch):
    monkeypatch.setenv("BAROGRAPH_MLFLOW_FLUSH", "0.05")
    script(
        """
        import barograph, barograph.mlflow, sys
        with barograph.record("live.baro", interval="10ms") as rec:
            upload = barograph.mlflow.log(rec, "r", names="process", artifacts=False, wait=120)
            while not upload.points:
                pass
        assert upload.done
        own = [e for e in rec.tape.exits if "python" in e.name]
        assert not own, own
        """
    ).end()
    check_all_once(store, "live.baro", "process")


BESIDE = """
import os, sys, time, types
import mlflow, barograph.mlflow
from barograph.mlflow._auto import RunContext
mlflow.active_run, mlflow.get_tracking_uri = lambda: None, lambda: "fake"
fluent = types.ModuleType("mlflow.tracking.fluent")
exec("def start_run(log_system_metrics=None): return provider.tags()", fluent.__dict__)
fluent.provider = RunContext()
if sys.argv[1] == "autolog": barograph.mlflow.autolog(interval="10ms", wait=120, artifacts=False)
tags = fluent.start_run(**eval(sys.argv[2]))
assert len(tags) == 1
mlflow.MlflowClient().create_run("0", 1, tags)
time.sleep(0.2)
"""


@pytest.mark.parametrize("how, given, variable, theirs",
                         [("autolog", "{'log_system_metrics': True}", "", True),
                          ("autolog", "{'log_system_metrics': False}", "true", False),
                          ("baro run", "{}", "true", True)])
def test_where_mlflow_logs_the_machine_itself(store, monkeypatch, how, given, variable, theirs):
    """With log_system_metrics a key of the machine has one writer: it is MLflow's own monitor."""
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", variable)
    monkeypatch.setenv("BAROGRAPH_PYTHON", sys.executable)
    program = [sys.executable, "-c", BESIDE, how, given]
    subprocess.run([BARO, "run", "-q", "--mlflow", "--", *program] if how == "baro run" else program, check=True)
    poll(lambda: [row for row in rows_of(store, "tag") if row[2] == "baro.state"], "the end")
    sections = {row[2].rpartition("/")[0] for row in rows_of(store, "metric")}
    assert sections == ({"system/job", "summary"} if theirs else {"system", "system/job", "summary"})


def test_recording_in_a_run_whose_machine_mlflow_logs(monkeypatch):
    fluent = types.SimpleNamespace(run_id_to_system_metrics_monitor={"a": object()})
    monkeypatch.setitem(sys.modules, "mlflow.tracking.fluent", fluent)
    machine = [barograph.mlflow._request(run, "system", True, None, False, None).get("machine", True) for run in "ab"]
    assert machine == [False, True]


def test_only_one_sends(store, tape):
    request = {"tape": str(tape), "run_id": "r"}
    held = _position.Position(_position.path_of(request))
    assert "sent already" in send(tape, "--run-id", "r")
    held.close()
    assert rows_of(store, "metric") == []


def test_position_survives_a_torn_write(tmp_path):
    at = _position.Position(str(tmp_path / "p"))
    at.save(next=1)
    at.save(next=2, error="x" * 9000)
    at.close()
    data = bytearray((tmp_path / "p").read_bytes())
    assert _position.read(str(tmp_path / "p"))["next"] == 2
    data[:100] = bytes(100)  # the newer of the two lines
    (tmp_path / "p").write_bytes(data)
    assert _position.read(str(tmp_path / "p"))["next"] == 1
    assert _position.read(str(tmp_path / "nothing")) == {}


    at = _position.Position(str(tmp_path / "p"))
    for number in (3, 4):
        at.save(next=number, error="\U0001f642 错误网关" * 400)  # 12 bytes of JSON for a character
    with pytest.raises(_position.Refused, match="run_id"):
        at.save(run_id="é" * 900)
    at.close()
    at = _position.read(str(tmp_path / "p"))
    assert at["next"] == 4 and at["error"].startswith("\U0001f642 错") and "run_id" not in at
    assert all(json.loads(line) for line in (tmp_path / "p").read_bytes().splitlines())


def test_a_tape_that_replaces_another_is_sent_as_well(store, tape, made):
    for number in (1, 2):
        with barograph.mlflow.record("t.baro", run_id="r", force=True, wait=PATIENCE, artifacts=False):
            pass
        ends = [row for row in rows_of(store, "metric") if row[1:3] == ["r", "summary/wall_seconds"]]
        assert len(ends) == number
    os.rename("t.baro", tape)
    send(tape, "--no-artifacts")
    assert barograph.mlflow.log(tape, "q", wait=PATIENCE, artifacts=False).done
    tape.write_bytes(made.read_bytes())
    assert barograph.mlflow.log(tape, "q", wait=PATIENCE, artifacts=False).done
    assert len([row for row in rows_of(store, "metric") if row[1:3] == ["q", "summary/wall_seconds"]]) == 2
    assert "sent before" not in send(tape, "--no-artifacts")
    assert "sent before" in send(tape, "--no-artifacts")
    (store / "plan").write_text("error\n" * 10000, encoding="ascii")  # while the first one is tried again and again
    first = barograph.mlflow.log(tape, "s", artifacts=False)
    poll(lambda: first.error, "the first try")
    barograph.run(["sleep", "0.2"], tape=tape, interval="10ms", overhead="off", force=True)
    second = barograph.mlflow.log(tape, "s", artifacts=False)
    (store / "plan").write_text("", encoding="ascii")
    poll(lambda: second.done, "the second tape")
    check_all_once(store, tape, run="s")


def place(tape, of="new "):
    return f"{tape}.mlflow-{_position._hash(of)}"


@pytest.mark.parametrize("how", ["link", "second name", "folder", "of another user"])
def test_a_position_that_is_not_the_users(store, tape, tmp_path, monkeypatch, how):
    """Whoever may write beside the tape makes a name for another file of the user's."""
    if how == "of another user" and os.geteuid():
        pytest.skip("only root can make one")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    precious = tmp_path / "precious"
    precious.write_text("precious")
    if how == "folder":
        os.mkdir(place(tape))
    elif how == "link":
        os.symlink(precious, place(tape))
    else:
        os.link(precious, place(tape))
    if how == "of another user":
        precious.unlink()
        os.chown(place(tape), 65534, 65534)
    send(tape, "--no-artifacts")
    check_all_once(store, tape, run="made")
    assert "sent before" in send(tape, "--no-artifacts")
    assert not precious.exists() or precious.read_text() == "precious"
    (made,) = (tmp_path / "state" / "barograph" / "mlflow").iterdir()
    with pytest.raises(OSError):
        _position.Position(place(tape))
    assert _position.read(str(made))["stage"] == "done"
    monkeypatch.setenv("XDG_STATE_HOME", str(made))
    with pytest.raises(PermissionError, match="can't be kept: .*made.baro.* is not for this user to write"):
        barograph.mlflow.log(tape)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_position_names_no_destination(store, tape, elsewhere):
    """It may have come with the tape; the user's token goes with what is sent."""
    at = {"number": 1, "run_id": "r", "stage": "metrics", "session": "s", "request": {"uri": "http://evil", "or_new": True}}
    at.update({"found_uri": "http://evil"} if elsewhere else {})
    pathlib.Path(place(tape, "else")).write_bytes(json.dumps(at).encode().ljust(4095) + b"\n")
    out = send(tape, "--no-artifacts", status=int(elsewhere))
    assert ("is damaged" if elsewhere else "run r has") in out
    clients = (store / "clients").read_text().splitlines() if (store / "clients").exists() else []
    assert [line.split()[1] for line in clients] == ["None"] * (not elsewhere)


def test_another_server_is_another_run(store, tape):
    """What was sent to one is not with the other."""
    send(tape, "--no-artifacts", "--run-id", "r", MLFLOW_TRACKING_URI="http://me:a@one")
    assert "sent before" in send(tape, "--no-artifacts", MLFLOW_TRACKING_URI="http://me:b@one")
    assert "run made has" in send(tape, "--no-artifacts", MLFLOW_TRACKING_URI="http://two")
    assert "sent before" in send(tape, "--no-artifacts", MLFLOW_TRACKING_URI="http://two")


def test_a_relative_state_folder_is_none(store, tape, tmp_path, monkeypatch):
    """The follower stands elsewhere than the program."""
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    os.mkdir(place(tape, "r"))
    assert barograph.mlflow.log(tape, "r", artifacts=False, wait=PATIENCE).done
    assert not (tmp_path / "state").exists() and (tmp_path / ".local" / "state").exists()


def test_what_can_never_be_sent_is_not_waited_for(store, tape):
    """A tape that is no file, and one that was removed."""
    for other in (barograph.Tape.from_bytes(tape.read_bytes()), barograph.Tape.from_fd(os.open(tape, os.O_RDONLY))):
        with pytest.raises(barograph.ArgumentError, match="is no file"):
            barograph.mlflow.log(other, "r")
    # Each follower: wait() starts another one if the first has not said yet that it is there.
    (store / "plan").write_text("refused\n" * 10000, encoding="ascii")
    upload = barograph.mlflow.log(tape, "r")
    assert not upload.wait(PATIENCE)
    upload._since = 99
    tape.unlink()
    assert not upload.wait(PATIENCE)


def test_where_no_position_can_be_written(store, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/proc/none")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    os.mkdir(place(tmp_path / "t.baro", "r"))
    with pytest.warns(barograph.RecordingWarning, match="/proc/none"):
        with barograph.mlflow.record("t.baro", run_id="r", wait=0.1):
            pass


@pytest.mark.parametrize("data", [b"x", b"\0" * 8192, b'{"number": "1"}'.ljust(4095) + b"\n", b"[" * 4000], ids=["short", "zeros", "types", "deep"])
def test_a_damaged_position_is_no_beginning(store, tape, data):
    pathlib.Path(place(tape)).write_bytes(data)
    assert "is damaged" in send(tape, status=1)
    upload = barograph.mlflow.log(tape, wait=PATIENCE)
    assert upload.state == "refused" and "is damaged" in upload.error
    assert pathlib.Path(place(tape)).read_bytes() == data and not (store / "store").exists()


@pytest.mark.parametrize("fault", ["hang", "endless"])
def test_a_server_that_does_not_come_to_an_end(store, tape, fault):
    (store / ("plan" if fault == "hang" else "endless")).write_text("hang")
    code = (
        "from barograph.mlflow import __main__, _run, _server; _server._WITHIN, _run._MOST_PAGES = 0.1, 1 << 60; "
        "import sys; sys.exit(__main__.main())"
    )
    run = ["--run-id", "r"] if fault == "hang" else []
    done = subprocess.run([sys.executable, "-c", code, "log", tape, "--no-artifacts", "--patience", "0", *run],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "no whole answer in time" in done.stdout, done


@pytest.mark.parametrize("how", ["record", "baro run"])
def test_nothing_of_the_working_directory_is_executed(store, tmp_path, monkeypatch, how):
    """Root in /tmp: python -m and -c have it first in sys.path, and an empty folder of a search path means it."""
    here, executed, tape = tmp_path / "here", tmp_path / "executed", tmp_path / "t.baro"
    here.mkdir(), executed.mkdir()
    for name in ("mlflow", "argparse", "hashlib", "json", "barograph"):
        (here / f"{name}.py").write_text(f"open({str(executed / name)!r}, 'w')")
    for name in ("python3", "git", "uname"):
        (here / name).write_text(f"#!/bin/sh\n: >{executed}/{name}")
        (here / name).chmod(0o755)
    code = f"import barograph.mlflow\nwith barograph.mlflow.record({str(tape)!r}, run_id='r', artifacts=False): pass"
    (tmp_path / "program.py").write_text(code)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    if how == "baro run":
        monkeypatch.setenv("PYTHONPATH", f":.:{os.environ['PYTHONPATH']}")
        monkeypatch.setenv("MLFLOW_RUN_ID", "r")
        subprocess.run([BARO, "run", "-q", "--mlflow", "-o", tape, "--", "/bin/sleep", "0.1"], check=True)
    else:
        subprocess.run([sys.executable, tmp_path / "program.py"], check=True)
    poll(lambda: [row for row in rows_of(store, "tag") if row[2] == "baro.state"], "the end")
    assert os.listdir(executed) == []


def test_the_follower_is_not_in_the_folder_of_the_tape(store, tape):
    """An empty folder in $LD_LIBRARY_PATH is the working directory: libraries that somebody has put beside the tape."""
    code = "import os, sys; from barograph.mlflow._follow import follow; follow({'tape': sys.argv[1], 'run_id': 'r', "
    code += "'uri': 'http://x', 'artifacts': False}); print(os.getcwd())"
    assert subprocess.run([sys.executable, "-c", code, tape], capture_output=True, text=True, check=True).stdout == "/\n"


def test_a_token_with_a_newline_is_not_repeated(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken\n")
    assert _server.harmless(r"in header value: 'Bearer t0ken\n'") == r"in header value: 'Bearer ***\\n'"


def test_merged_points():
    """Shares and cores have a mean, what is held its highest value."""
    merged = _points.merged([{"system/job/cores": 1.0, "system/gpu_0_utilization_percentage": 20.0, "rss": 5.0},
                             {"system/job/cores": 2.0, "system/gpu_0_utilization_percentage": 40.0, "rss": 3.0, "pss": 1.0}])
    assert merged == {"system/job/cores": 1.5, "system/gpu_0_utilization_percentage": 30.0, "rss": 5.0, "pss": 1.0}


def test_wrong_names():
    with pytest.raises(ValueError, match="one of system, process, baro"):
        barograph.mlflow.record(names="else")
    for given in ({"every": float("nan")}, {"patience": float("nan")}, {"patience": -1}):
        with pytest.raises(ValueError, match="no number of seconds"):
            barograph.mlflow.record(**given)


def test_a_recorder_that_the_tape_does_not_name_is_not_ended():
    """kill(2) of 0 would end all processes of the caller's group; of 1 the start time is known, and is another one."""
    code = "from barograph.mlflow._follow import end_recorder\nfor pid in (0, 1): end_recorder(pid, 0)"
    assert subprocess.run([sys.executable, "-c", code], start_new_session=True, check=False).returncode == 0
