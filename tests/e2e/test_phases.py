# SPDX-License-Identifier: Apache-2.0
"""Phases and marks: lines of $BARO_EVENTS, `baro mark`, `baro phase`, and how readers show them."""

import fcntl
import json
import os
import re
import signal
import struct
import subprocess

import pytest

from jobs import script
from wrapping import recorder_of


def phases(run, tape):
    return json.loads(run("summary", "--by", "phase", "--json", tape, status=0).stdout)


def named(items, name):
    found = [i for i in items if i["name"] == name]
    assert len(found) == 1, (name, items)
    return found[0]


def test_lines_of_a_shell_are_on_the_tape(run_both, tape):
    run_both.record(
        tape,
        """test "$(stat -c '%F %a' "$(dirname "$BARO_EVENTS")")" = "directory 700" || exit 3
        test -f "$BARO_EVENTS" || exit 4
        echo "epoch 1" >>"$BARO_EVENTS"
        echo '{"begin": "load", "rows": 1000}' >>"$BARO_EVENTS"
        echo '{"mark": "checkpoint", "loss": 0.12, "step": -3, "ok": true, "word": "true", "by": {"host": "a b"}}' >>"$BARO_EVENTS"
        echo '{"mark": "past", "monotonic_ns": 5}' >>"$BARO_EVENTS"
        echo '{"mark": "future", "monotonic": 1e9}' >>"$BARO_EVENTS"
        echo '{"end": "load", "rows": 2000}' >>"$BARO_EVENTS"
        printf 'without newline' >>"$BARO_EVENTS\"""",
    )
    got = phases(run_both, tape)
    assert [m["name"] for m in got["marks"]] == ["epoch 1", "checkpoint", "past", "future", "without newline"]
    assert got["marks"][1]["attributes"] == {"loss": 0.12, "step": -3, "ok": True, "word": "true",
                                             "by": {"host": "a b"}}
    load = named(got["phases"], "load")
    assert load["attributes"] == {"rows": 2000} and not load["is_open"]
    inside = [m["begin_ns"] for m in got["marks"][1:4]]  # two are of other time namespaces: they count as they come
    assert load["begin_ns"] <= inside[0] <= inside[1] <= inside[2] <= load["end_ns"]


def test_python_without_a_library(run, tape):
    run.record(tape, script("""
        import json, os, time
        def event(**line):
            with open(os.environ["BARO_EVENTS"], "a") as f:
                f.write(json.dumps({**line, "monotonic_ns": time.monotonic_ns()}) + "\\n")
        event(begin="train")
        for epoch in range(3):
            event(begin="epoch", id=str(epoch))
            sum(range(300000))
            event(end="epoch", id=str(epoch), loss=1 / (epoch + 1))
        began = time.monotonic()
        sum(range(300000))
        event(phase="score", seconds=time.monotonic() - began)
        event(begin="never ended")
    """))
    got = phases(run, tape)
    names = [p["name"] for p in got["phases"]]
    assert sorted(names) == ["epoch"] * 3 + ["never ended", "score", "train"]
    epochs = [p for p in got["phases"] if p["name"] == "epoch"]
    assert [p["attributes"]["loss"] for p in epochs] == [1, 0.5, 1 / 3]
    assert [p["depth"] for p in epochs] == [1, 1, 1]
    assert all(a["end_ns"] <= b["begin_ns"] for a, b in zip(epochs, epochs[1:]))
    assert named(got["phases"], "never ended")["is_open"] and named(got["phases"], "train")["is_open"]
    whole = run.summary(tape)["job"]["cpu_ns"]
    train = named(got["phases"], "train")
    assert 0 < train["cpu_ns"] <= whole


def test_lines_of_a_runlog(run, tape):
    """Lines as RunLog writes them at the end of a job: phases and marks have their own times and attributes."""
    run.record(tape, script("""
        import datetime, json, os, time
        def now():
            return datetime.datetime.now(tz=datetime.timezone.utc).isoformat(timespec="milliseconds")
        time.sleep(0.2)
        lines = [{"ts": now(), "type": "phase", "name": "before the recording", "seconds": 5000.0},
                 {"ts": now(), "type": "phase", "name": "fit", "seconds": 0.15, "ok": True, "rows": 7},
                 {"ts": now(), "type": "event", "event": "saved", "data": {"step": 3, "last": False, "at": "a b"}}]
        time.sleep(0.4)
        with open(os.environ["BARO_EVENTS"], "w") as f:
            for line in lines:
                f.write(json.dumps(line) + "\\n")
    """), cwd=str(tape.parent))
    got = phases(run, tape)
    before, fit, (saved,) = named(got["phases"], "before the recording"), named(got["phases"], "fit"), got["marks"]
    assert before["begin_ns"] == 0 and before["end_ns"] - before["begin_ns"] < 2e9
    assert fit["end_ns"] - fit["begin_ns"] == pytest.approx(0.15e9, abs=2e6)
    assert fit["attributes"] == {"ok": True, "rows": 7}
    assert saved["name"] == "saved" and saved["attributes"] == {"step": 3, "last": False, "at": "a b"}
    assert saved["begin_ns"] < run.summary(tape)["wall_ns"] - 0.3e9


def test_phase_is_transparent_to_its_caller(run, baro, tape, work):
    (work / "job.sh").write_text(f"""
        B={baro}
        $B phase outer corpus=news -- sh -c "$B phase inner -- true; $B mark half way x=0.5 y=z"
        $B phase fails -- sh -c 'exit 7'; test $? = 7 || exit 1
        $B phase fails -- sh -c 'kill -TERM $$'; test $? = 143 || exit 2
        $B phase missing -- ./no-such-program 2>/dev/null; test $? = 127 || exit 3
        $B phase piped -- cat <job.sh | cmp - job.sh || exit 4
        $B mark --begin by hand; $B mark --end by hand
        $B phase tricky -- env -u A FOO=1 sh -c 'test "$FOO" = 1' || exit 5
    """)
    run.record(tape, ["sh", "job.sh"], cwd=str(work))
    got = phases(run, tape)
    outer, inner = named(got["phases"], "outer"), named(got["phases"], "inner")
    assert outer["attributes"] == {"corpus": "news", "status": 0}
    assert outer["begin_ns"] <= inner["begin_ns"] <= inner["end_ns"] <= outer["end_ns"]
    assert [p["attributes"] for p in got["phases"] if p["name"] == "fails"] == [{"status": 7}, {"signal": "TERM"}]
    assert named(got["phases"], "missing")["attributes"] == {"status": 127}
    table = run("summary", "--by", "phase", tape, status=0).stdout
    for line in (r"0 +outer corpus=news", r"✗ 7 +fails", r"✗ SIGTERM +fails", r" by hand"):
        assert re.search(line + "$", table, re.M), (line, table)
    assert got["marks"][0]["name"] == "half way" and got["marks"][0]["attributes"] == {"x": 0.5, "y": "z"}
    assert not any(p["is_open"] for p in got["phases"])


def test_phases_as_data(run, baro, tape):
    """The rows of phases, and the member `phases` of the summary: paths, how commands ended, what they used."""
    run.record(tape, f"""B={baro}
        $B phase test a={"b" * 200} -- sh -c "$B phase 'fla,ky' -- sh -c 'exit 7'; $B phase killed -- sh -c 'kill -9 \\$\\$'"
        $B mark --begin open""")
    rows = run.export(tape, "phase")
    assert [(r["path"], r["parent"], r["status"], r["signal"], r["is_open"]) for r in rows] == [
        ("test", None, 137, None, False), ("test/fla,ky", "test", 7, None, False),
        ("test/killed", "test", None, 9, False), ("open", None, None, None, True)]
    whole = json.loads(run("summary", "--json", tape, status=0).stdout)
    assert whole["phases"] == phases(run, tape)["phases"]
    for row, phase in zip(rows, whole["phases"], strict=True):
        assert row["t_ns"] == phase["begin_ns"] and row["end_ns"] == phase["end_ns"]
        assert row["attributes"] == (phase["attributes"] or None)
        for name in ("name", "path", "parent", "depth", "status", "wall_ns", "cpu_ns", "rss_peak_bytes"):
            assert row[name] == phase[name], name
        assert row["lower_bounds"].split() == [n for n, m in phase["marks"].items() if m == "lower_bound"]
        assert row["estimates"].split() == [n for n, m in phase["marks"].items() if m == "estimate"]
    assert [p["signal"] for p in whole["phases"]] == [None, None, "SIGKILL", None]
    run("export", "-f", "-e", "phase", tape, status=2)
    table = run("summary", "--by", "phase", tape, env={"COLUMNS": "80"}, status=0).stdout
    assert re.search(r"✗ 137 +test a=b+…$", table, re.M) and re.search(r"✗ 7 +fla,ky$", table, re.M), table


def test_a_phase_is_within_phases_of_ancestors_alone(run, tape):
    """The main process loads while its worker trains; the worker's epochs are in its training, and all are in the
    command's phase. Lines without a process nest by time."""
    run.record(tape, script("""
        import json, os, time
        def event(kind, name, known=True):  # with its time: a busy recorder reads several lines at once
            stat = open("/proc/self/stat").read()
            who = {"pid": os.getpid(), "start_ticks": int(stat.rpartition(")")[2].split()[19])} if known else {}
            with open(os.environ["BARO_EVENTS"], "a") as f:
                f.write(json.dumps({kind: name, "monotonic_ns": time.monotonic_ns(), **who}) + "\\n")
        def meet(fds, mine):  # the two processes take turns
            os.write(fds[mine][1], b"x")
            os.read(fds[1 - mine][0], 1)
        fds = os.pipe(), os.pipe()
        event("begin", "job")
        worker = os.fork() == 0
        if worker:
            event("begin", "train")
        meet(fds, worker)
        event("begin", "epoch" if worker else "load")
        meet(fds, worker)
        if not worker:
            event("begin", "shell", known=False)
            event("end", "shell")
        meet(fds, worker)
        event("end", "epoch" if worker else "load")
        meet(fds, worker)
        if worker:
            event("end", "train")
            os._exit(0)
        os.wait()
        event("end", "job")
    """))
    paths = {p["name"]: p["path"] for p in phases(run, tape)["phases"]}
    rows = run("summary", "--by", "phase", tape, status=0).stdout.splitlines()
    columns = {name: row.rindex(name) for name in ("train", "load") for row in rows if row.split()[-1] == name}
    assert columns["train"] == columns["load"], rows
    assert paths.pop("shell") in ("job/load/shell", "job/train/epoch/shell")
    assert paths == {"job": "job", "train": "job/train", "load": "job/load", "epoch": "job/train/epoch"}


def test_bytes_of_a_command_that_ends_with_its_phase(run_both, tape, work):
    """A process that has ended has its bytes in a later sample, if its I/O could not be read at its end."""
    size = 40 << 20
    run_both.record(
        tape,
        f"""for i in 1 2 3 4 5 6 7 8; do
                "$0" phase wait -- sleep 0.0$i
                "$0" phase link -- dd if=/dev/zero of={work}/linked bs=1M count=40 2>/dev/null
            done""".replace("$0", str(run_both.binary)),
    )
    for phase in phases(run_both, tape)["phases"]:
        wrote = size if phase["name"] == "link" else 0
        is_right = abs(phase["io_wchar_bytes"] - wrote) <= size / 50
        assert is_right or "io_wchar_bytes" in phase["marks"], phase


def test_without_a_recording(run, work):
    env = {"BARO_EVENTS": None}
    done = run("mark", "epoch", env=env, status=0)
    assert "not within a recording" in done.stderr and not done.stdout
    assert run("mark", "-q", "epoch", env=env, status=0).stderr == ""
    done = run("phase", "load", "--", "sh", "-c", "echo out; exit 5", env=env, status=5)
    assert done.stdout == "out\n" and "not within a recording" in done.stderr
    assert run("phase", "-q", "load", "true", env=env, status=0).stderr == ""
    assert run("mark", "x", env={"BARO_EVENTS": work / "gone" / "events"}, status=0).stderr.count("\n") == 1
    os.mkfifo(work / "fifo")
    assert run("mark", "x", env={"BARO_EVENTS": work / "fifo"}, status=0).stderr.count("\n") == 1
    run("phase", "load", status=125)
    run("mark", status=2)


def test_only_a_file_that_a_recorder_reads_is_written_to(run, baro, tape, work, started):
    """Whatever BARO_EVENTS names: a file of the user, a link to it, or one that a process which may only read it has
    locked, stays as it is."""
    plain, shared = work / "passwd", work / "shared"
    (work / "link").symlink_to(plain)
    for path in (plain, shared):
        path.write_text("root:x:0:0\n")
    held = shared.open("rb")
    fcntl.flock(held, fcntl.LOCK_SH)
    fcntl.fcntl(held, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK, all of it
    for name in ("passwd", "link", "shared"):
        env = {"BARO_EVENTS": work / name}
        done = run("mark", "x", env=env, status=0)
        assert "no recorder reads the file" in done.stderr and "--events" in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1 and not run("mark", "-q", "x", env=env, status=0).stderr
        assert run("phase", "load", "--", "sh", "-c", "exit 5", env=env, status=5).stderr.count("\n") == 1
        assert "no recorder reads" in run("run", "--task", "a", "--", "true", env=env, status=0).stderr
    assert plain.read_text() == shared.read_text() == "root:x:0:0\n"
    held.close()
    # Two recorders that read one file: when one has ended, the other one reads it still.
    target = started(["sleep", "1000"])
    readers = [run.popen("record", "-q", "-o", work / f"{i}.baro", "--pid", target.pid, "--events", plain)
               for i in range(2)]
    for i in range(2):
        run.await_samples(work / f"{i}.baro")
    for i, reader in enumerate(readers):
        assert run("mark", f"m{i}", env={"BARO_EVENTS": plain}, status=0).stderr == ""
        reader.send_signal(signal.SIGINT)
        reader.wait(timeout=60)
    assert "no recorder" in run("mark", "late", env={"BARO_EVENTS": plain}, status=0).stderr
    assert [m["name"] for m in phases(run, work / "1.baro")["marks"]] == ["m0", "m1"]
    assert plain.read_text().count("\n") == 3


def test_another_user_cannot_write_to_the_file(run, tape, work):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    run.record(
        tape,
        script("""
        import os, subprocess
        path = os.environ["BARO_EVENTS"]
        for command in (f"echo foreign >>{path}", f": >{path}", f"rm -f {path}", f"mv {path} {path}2", f"cat {path}"):
            done = subprocess.run(["sh", "-c", command], user=65534, group=65534, extra_groups=[], stderr=subprocess.DEVNULL)
            assert done.returncode, command
        with open(path, "a") as f:
            f.write("own\\n")
    """),
    )
    assert [m["name"] for m in phases(run, tape)["marks"]] == ["own"]


def test_phase_that_is_killed_ends_with_its_process(run, baro, tape, work):
    run.record(
        tape,
        f"""{baro} phase lost -- sh -c 'echo $$ >pid; exec sleep 1000' &
        until test -s pid; do :; done; kill -9 $!; wait
        {baro} phase next -- true
        kill -9 $(cat pid)""",
        cwd=str(work),
    )
    got = phases(run, tape)
    lost, after = named(got["phases"], "lost"), named(got["phases"], "next")
    assert not lost["is_open"]
    if run.summary(tape)["accounting"]["event_source"] == "connector":  # else a later sample finds that it has ended
        assert lost["end_ns"] < after["end_ns"]


def test_nested_runs_have_separate_files(run, baro, work, tape):
    inner = work / "inner.baro"
    run.record(tape, f"echo outer >>$BARO_EVENTS; {baro} run -q -o {inner} -- sh -c 'echo inner >>$BARO_EVENTS'")
    assert [m["name"] for m in phases(run, tape)["marks"]] == ["outer"]
    assert [m["name"] for m in phases(run, inner)["marks"]] == ["inner"]


HOSTILE = b"\xff\xfe\x1b]0;x\x07,\"'=cmd|' /C calc'!A0\\<script>\xe2\x80\xae"


def test_hostile_lines(run, tape, work):
    """Whatever is written to the file, the tape stays readable, and no output has a raw control byte."""
    (work / "name").write_bytes(HOSTILE)
    run.record(
        tape,
        script("""
        import os
        hostile = open("name", "rb").read()
        with open(os.environ["BARO_EVENTS"], "ab", 0) as f:
            f.write(hostile + b"\\n")
            f.write(b'{"begin": "' + hostile.replace(b"\\\\", b"\\\\\\\\").replace(b'"', b'\\\\"').replace(b"\\x1b", b"\\\\u001b")
                    .replace(b"\\x07", b"\\\\u0007") + b'", "k\\\\n": "v\\\\u0000"}\\n')
            f.write(b'{"begin": "cut in the mid\\n')
            f.write(b"{" * 100000 + b"\\n")
            f.write(b"x" * 200000 + b"\\n")
            f.write(b"\\0" * 5000 + b"after NULs\\n")
            f.write(os.urandom(50000).replace(b"\\n", b" ").replace(b"{", b"(") + b"\\n")
            f.write(b"\\n\\n   \\n")
            f.write(b'{"mark": "last"}\\n')
    """),
        cwd=str(work),
    )
    outputs = [("export", "--entity", "event"), ("export", "--entity", "event", "--format", "jsonl"),
               ("summary", "--by", "phase"), ("summary", "--by", "phase", "--json"), ("summary",)]
    for args in outputs:
        out = run(*args, tape, status=0, text=False).stdout
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", out), args
        out.decode("utf-8")
    marks = [m["name"] for m in phases(run, tape)["marks"]]
    assert marks[-1] == "last" and "after NULs" in marks
    assert any("too long or no JSON" in e["text"] for e in run.export(tape, "event") if e["event"] == "warning")


def test_flood_loses_lines_only(run, tape):
    run.record(tape, script("""
        import os
        with open(os.environ["BARO_EVENTS"], "ab", 0) as f:
            for i in range(300):
                f.write(b"flood\\n" * 10000)
            f.write(b"the end\\n")
    """))
    events = run.export(tape, "event")
    assert any("came too fast" in e["text"] for e in events if e["event"] == "warning")
    assert len([e for e in events if e["event"] == "mark"]) < 200_000
    assert os.path.getsize(tape) < 10_000_000


def test_rows_have_their_phase(run, baro, tape):
    run.record(tape, f"{baro} phase 'a,b' -- sleep 0.3; sleep 0.05", "-i", "10ms", "--overhead", "off")
    rows = run.export(tape, "job", "-c", "t_ns,phase")
    assert {r["phase"] for r in rows} >= {None, "a,b"}
    inside = named(phases(run, tape)["phases"], "a,b")
    assert all((r["phase"] == "a,b") == (inside["begin_ns"] <= r["t_ns"] < inside["end_ns"]) for r in rows)


def test_live(run, tape, work, wait_until):
    """A line is on the tape soon, also of a job that sleeps; export -f writes the end of a phase when it comes."""
    process = run.popen("run", "-q", "-o", tape, "--", "sh", "-c", f"echo $BARO_EVENTS >{work}/path; exec sleep 1000")
    try:
        note = work / "path"
        wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
        run.await_samples(tape, 3)
        with open(note.read_text().strip(), "a", encoding="utf-8") as f:
            f.write('{"begin": "asleep"}\n')
        wait_until(lambda: any(e["event"] == "phase_begin" for e in run.export(tape, "event")))
        log = work / "log"
        with open(log, "wb") as out:
            follower = run.popen("export", "-e", "event", "-F", "jsonl", "-f", tape, stdout=out)
        with open(note.read_text().strip(), "a", encoding="utf-8") as f:
            f.write('{"end": "asleep", "n": 1}\n')
        wait_until(lambda: b"phase_end" in log.read_bytes() and log.read_bytes().endswith(b"}\n"))
        line = json.loads(log.read_text().splitlines()[-1])
        assert (line["event"], line["text"], line["attributes"]) == ("phase_end", "asleep", {"n": 1})
    finally:
        process.terminate()
        process.wait()
    assert follower.wait(timeout=60) == 0
    assert log.read_text().count("phase_end") == 1


# ---- the file itself -----------------------------------------------------------------------------------------------


def events_in(folder):
    return sorted(folder.glob("baro-*/*.events"))


def started_run(run, tape, work, wait_until, text):
    """Starts a run and waits until its command has begun; its $BARO_EVENTS is in work. Returns it and its recorder's
    pid."""
    job = f"touch {work}/begun; until test -e {work}/go || test ! -e {work}/begun; do sleep 0.02; done; {text}"
    process = run.popen("run", "-q", "-o", tape, "--", "sh", "-c", job, env={"TMPDIR": work})
    wait_until((work / "begun").exists)
    run.await_samples(tape)
    assert len(events_in(work)) == 1
    return process, recorder_of(process.pid)


def test_file_is_removed_after_the_wrapper_was_killed(run, tape, work, wait_until):
    """The recorder continues, and marks are still recorded."""
    process, _ = started_run(run, tape, work, wait_until, "echo later >>$BARO_EVENTS")
    process.kill()
    process.wait()
    (work / "go").touch()
    wait_until(lambda: not events_in(work))
    run.await_end(tape)
    assert [m["name"] for m in phases(run, tape)["marks"]] == ["later"]


def test_file_is_removed_after_the_recorder_was_killed(run, tape, work, wait_until):
    """While the wrapper lives no other process removes it, and writing still works."""
    process, recorder = started_run(run, tape, work, wait_until, "echo more >>$BARO_EVENTS && exit 6")
    os.kill(recorder, signal.SIGKILL)
    run("run", "-q", "-o", work / "other.baro", "--", "sleep", "0.3", env={"TMPDIR": work}, status=0)
    assert len(events_in(work)) == 1
    (work / "go").touch()
    assert process.wait(timeout=60) == 6
    assert not events_in(work)


def test_later_run_removes_files_of_killed_runs(run, tape, work, wait_until):
    lost, recorder = started_run(run, tape, work, wait_until, "exit 0")
    os.kill(recorder, signal.SIGKILL)
    lost.kill()
    lost.wait()
    left = events_in(work)
    assert len(left) == 1
    beside = left[0].parent / "notes.txt"
    beside.touch()
    (left[0].parent / "link.events").symlink_to(beside)

    def is_removed():  # a helper of the killed recorder may hold the lock for a moment
        run("run", "-q", "--force", "-o", work / "other.baro", "--", "sleep", "0.3", env={"TMPDIR": work}, status=0)
        return not left[0].exists()

    wait_until(is_removed)
    assert beside.exists()
    (work / "go").touch()


def test_truncated_and_removed_while_it_is_recorded(run, tape, work, wait_until):
    """A file that was truncated and written again is read from its beginning; a removed one is reported on the tape."""
    def marked(name):
        return lambda: any(e["text"] == name for e in run.export(tape, "event") if e["event"] == "mark")

    process, _ = started_run(run, tape, work, wait_until, "echo lost >$BARO_EVENTS; exit 3")
    events = events_in(work)[0]
    events.write_text("a first line\n")
    wait_until(marked("a first line"))
    events.write_text("")
    events.write_text("anew\n")
    wait_until(marked("anew"))
    events.write_bytes(b"\0" * 100 + b"after a hole\n")
    wait_until(marked("after a hole"))
    events.unlink()
    run.await_samples(tape, len(run.instants(tape)) + 3)  # not the end, when the wrapper removes it
    (work / "go").touch()
    assert process.wait(timeout=60) == 3
    run.await_end(tape)
    assert [m["name"] for m in phases(run, tape)["marks"]] == ["a first line", "anew", "after a hole"]
    [warning] = [e["text"] for e in run.export(tape, "event") if e["event"] == "warning"]
    assert "was removed" in warning and "lines that were not read before the file was truncated" in warning
    assert "$BARO_EVENTS: left out: lines that were not read" in run("summary", "-v", tape, status=0).stdout
    wait_until(lambda: not events_in(work))


def test_file_is_overwritten_at_the_same_length(run, tape, work, wait_until):
    """`echo tick >FILE` in a loop: the same length, and often the same bytes. What is lost is on the tape. A file that
    only got another time (touch) has lost nothing, and a line in two parts is one."""
    def marks():
        return [m["name"] for m in phases(run, tape)["marks"]] if run.instants(tape) else []

    def after(n):
        run.await_samples(tape, len(run.instants(tape)) + n)

    def overwrite(text):  # without a moment at which it is empty
        with open(events, "r+", encoding="utf-8") as f:
            f.write(text)

    process, _ = started_run(run, tape, work, wait_until, "exit 3")
    events = events_in(work)[0]
    with open(events, "a", buffering=1) as f:
        f.write("in two ")
        after(3)
        f.write("parts\n")
    wait_until(lambda: marks() == ["in two parts"])
    os.utime(events)
    after(3)
    assert [e for e in run.export(tape, "event") if e["event"] == "warning"] == []
    overwrite("in three part\n")  # as long, and another one
    wait_until(lambda: marks()[1:] == ["in three part"])
    overwrite("in three part\n")
    after(3)
    overwrite("a longer line than before\n")
    wait_until(lambda: marks()[2:] == ["a longer line than before"])
    os.truncate(events, 1 << 40)
    after(3)
    with open(events, "a") as f:
        f.write("\nthe end\n")
    wait_until(lambda: marks()[-1] == "the end")
    events.rename(work / "elsewhere")
    after(3)
    (work / "go").touch()
    assert process.wait(timeout=60) == 3
    run.await_end(tape)
    [warning] = [e["text"] for e in run.export(tape, "event") if e["event"] == "warning"]
    assert "overwritten (3 x)" in warning and "bytes came too fast" in warning and "renamed" in warning, warning


def test_file_of_an_attached_recording(run, baro, tape, work, wait_until, started):
    """record --events FILE: what is appended to it meanwhile is recorded, and the file is not changed."""
    events = work / "events"
    events.write_text("before the recording\n")
    target = started(["sleep", "1000"])
    recorder = run.popen("record", "-q", "-o", tape, "--pid", target.pid, "--events", "events", cwd=str(work))
    run.await_samples(tape, 2)
    environment = {**os.environ, "BARO_EVENTS": str(events)}
    subprocess.run([baro, "phase", "load", "--", "true"], env=environment, check=True)
    subprocess.run([baro, "mark", "ready", "n=1"], env=environment, check=True)
    wait_until(lambda: any(e["event"] == "mark" for e in run.export(tape, "event")))
    target.kill()
    assert recorder.wait(timeout=60) == 0
    got = phases(run, tape)
    assert [p["name"] for p in got["phases"]] == ["load"] and [m["name"] for m in got["marks"]] == ["ready"]
    assert events.read_text().startswith("before the recording\n") and events.read_text().count("\n") == 4


@pytest.mark.parametrize("make, says", [(os.mkfifo, "regular"), (os.mkdir, "directory")])
def test_file_of_an_attached_recording_must_be_regular(run, tape, work, started, make, says):
    make(work / "events")
    done = run("record", "-o", tape, "--pid", started(["sleep", "1000"]).pid, "--events", work / "events", status=2)
    assert len(done.stderr.splitlines()) == 1 and says in done.stderr and not tape.exists()
