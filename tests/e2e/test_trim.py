# SPDX-License-Identifier: Apache-2.0
"""baro trim and baro anonymize: tapes from a tape."""

import csv
import io
import json
import os
import pwd
import re
import socket
import subprocess
import textwrap

import pytest
from conftest import SOURCE

import tapefile

import sys  # noqa: E402

sys.path.insert(0, str(SOURCE / "tests"))
import tape_reader  # noqa: E402

TAPES = sorted((SOURCE / "tests/tape").glob("*.baro"))
KINDS = ["process", "job", "exit", "event", "host", "cpu", "disk", "fs", "net", "cgroup", "directory"]
JOB = """
"$BARO" phase secretphase file=secretfile.csv -- sh -c 'sleep 0.4; exec ./secretprogram --secretoption=1 /secretpath/x 0.4'
"$BARO" mark secretmark loss=0.25 secretkey=secretword 'secretjson=[1,2]'
echo '{"mark": "other", "secretobject": {"secretmember": "secretleaf"}}' >> "$BARO_EVENTS"
"$BARO" phase second -- sh -c 'for i in 1 2 3 4 5; do sleep 0.1; true; done'
"""


def rows(run, tape, kind):
    return list(csv.DictReader(io.StringIO(run("export", "-e", kind, tape, status=0).stdout)))


def samples(run, tape):
    return [int(row["t_ns"]) for row in rows(run, tape, "job")]


@pytest.fixture(scope="module")
def recorded(baro, tmp_path_factory):
    """A tape full of words that begin with secret."""
    work = tmp_path_factory.mktemp("trim")
    program = work / "secretprogram"
    program.write_text('#!/bin/sh\nshift 2\nsleep "$1"\nexit 0\n')
    program.chmod(0o755)
    (work / "secretfolder").mkdir()
    argv = [baro, "run", "-q", "-i", "50ms", "--overhead", "off", "--du", "secretfolder", "-o", "run.baro", "--", "sh", "-c", JOB]
    subprocess.run(argv, cwd=work, env={**os.environ, "BARO": str(baro)}, check=True)
    return work / "run.baro"


# ---- trim ----


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_all_of_a_tape_is_the_same(run, work, tape):
    first = tape_reader.read(tape)
    if not any(isinstance(record, tape_reader.Sample) for record in first.records):
        assert "no sample" in run("trim", tape, "--from", "0", "-o", work / "c.baro", status=2).stderr
        assert not (work / "c.baro").exists()
        return
    run("trim", tape, "--from", "0", "-o", work / "c.baro", status=0)
    for kind in KINDS:
        assert rows(run, work / "c.baro", kind) == rows(run, tape, kind)
    one, other = (json.loads(run("summary", "--json", path, status=0).stdout) for path in (tape, work / "c.baro"))
    del one["tape"], other["tape"]
    assert one == other
    copy = tape_reader.read(work / "c.baro")
    assert [type(r) for r in copy.records] == [type(r) for r in first.records]


def test_a_stretch_of_time(run, work, recorded):
    all_of_it = samples(run, recorded)
    middle = all_of_it[len(all_of_it) // 2]
    part = work / "part.baro"
    run("trim", recorded, "--from", f"{middle / 1e9:.9f}s", "-o", part, status=0)
    assert samples(run, part) == [t for t in all_of_it if t >= middle]
    one, other = rows(run, part, "process"), rows(run, recorded, "process")
    for row in one + other:
        del row["cores"]  # of two samples: the first one of a tape has none
    assert one == [r for r in other if int(r["t_ns"]) >= middle]
    assert rows(run, part, "exit") == [r for r in rows(run, recorded, "exit") if int(r["t_ns"]) >= middle]
    summary = run("summary", "-v", part, status=0).stdout
    assert json.loads(run("summary", "--json", part, status=0).stdout)["is_stretch"]
    assert re.search(r"\d\d:\d\d:\d\d\.\d to \d\d:\d\d:\d\d\.\d, exit 0", summary)
    assert tape_reader.read(part).header[41] == [b"\2"]
    run("trim", recorded, "--to", f"{middle / 1e9:.9f}s", "-o", work / "front.baro", status=0)
    assert samples(run, work / "front.baro") == [t for t in all_of_it if t <= middle]
    assert 41 not in tape_reader.read(work / "front.baro").header
    assert re.search(r"\d\d:\d\d\.\d to \d\d:\d\d:\d\d\.\d ", run("summary", "-v", work / "front.baro", status=0).stdout)
    for command in (
        ["show"],
        ["report", "-o", work / "page.html"],
        ["export", "-F", "trace"],
        ["plot"],
        ["top", "--once"],
    ):
        run(*command, part, status=0)


def test_a_phase(run, work, recorded):
    run("trim", recorded, "--phase", "second", "-o", work / "second.baro", status=0)
    events = rows(run, work / "second.baro", "event")
    assert [e["text"] for e in events if e["event"].startswith("phase_")] == ["second", "second"]
    begin, end = (int(e["t_ns"]) for e in events if e["event"].startswith("phase_"))
    kept = samples(run, work / "second.baro")
    assert kept == [t for t in samples(run, recorded) if begin <= t <= end] and kept
    # The samples of the middle of a phase lie in it, though its beginning is before them.
    begin, end = (int(e["t_ns"]) for e in rows(run, recorded, "event") if e["text"] == "secretphase")
    inside = [i + 1 for i, t in enumerate(samples(run, recorded)) if begin < t < end]
    run("trim", recorded, "--samples", f"{inside[1]}:{inside[2]}", "-o", work / "s.baro", status=0)
    job = run("export", "-e", "job", "-c", "t_ns,phase", work / "s.baro", status=0).stdout.splitlines()[1:]
    assert [line.split(",")[1] for line in job] == ["secretphase"] * 2
    assert "no phase 'third'" in run("trim", recorded, "--phase", "third", "-o", work / "x.baro", status=2).stderr


def test_an_event_that_was_written_late_is_kept(run, work, tape):
    """Samples later than the event stand before it on the tape."""
    job = """
        import json, os, time
        t = time.monotonic_ns()
        time.sleep(0.4)
        with open(os.environ["BARO_EVENTS"], "a") as marks:
            marks.write(json.dumps({"mark": "late", "monotonic_ns": t}) + "\\n")
        time.sleep(0.2)
        """
    run("run", "-q", "-i", "50ms", "-o", tape, "--", sys.executable, "-S", "-c", textwrap.dedent(job), status=0)
    late = next(int(e["t_ns"]) for e in rows(run, tape, "event") if e["text"] == "late")
    assert len([t for t in samples(run, tape) if t > late]) > 2
    end = next(t for t in samples(run, tape) if t >= late)
    run("trim", tape, "--to", f"{end}ns", "-o", work / "begin.baro", status=0)
    assert "late" in [e["text"] for e in rows(run, work / "begin.baro", "event")]
    assert all(t <= end for t in samples(run, work / "begin.baro"))


def test_what_a_stretch_may_be(run, work, recorded):
    out = work / "x.baro"
    assert "which stretch" in run("trim", recorded, "-o", out, status=2).stderr
    assert "which stretch" in run("trim", recorded, "--from", "1s", "--samples", "1:2", "-o", out, status=2).stderr
    assert "-o FILE is missing" in run("trim", recorded, "--from", "1s", status=2).stderr
    for samples_ in ("0:3", "5:4", "x", "1", "1:2:3"):
        assert "invalid samples" in run("trim", recorded, "--samples", samples_, "-o", out, status=2).stderr
    assert "no edge" in run("trim", recorded, "--from", "peak", "-o", out, status=2).stderr
    assert "1h is after the end; the tape has +0.000s" in run("trim", recorded, "--from", "1h", "-o", out, status=2).stderr
    assert not out.exists()
    out.write_text("mine")
    assert "exists" in run("trim", recorded, "--from", "0", "-o", out, status=2).stderr
    assert out.read_text() == "mine"
    run("trim", recorded, "--from", "0", "--force", "-o", out, status=0)
    assert samples(run, out) == samples(run, recorded)


# ---- anonymize ----


def everything(path):
    """Header, schema and records of a tape, decompressed."""
    tape = tapefile.Tape(path.read_bytes())
    out, stream = b"", None
    for kind, _, payload in tape.frames:
        if kind == tapefile.SCHEMA:
            continue  # the library's own
        if kind == tapefile.BLOCK:
            stream, payload = tape_reader.Stream(), payload[8:]
        out += stream.decompress(payload) if kind in (tapefile.BLOCK, tapefile.TICK) else payload
    return out


def words_of(run, tape):
    """What the tape says of this machine and of the job."""
    words = {b"secret", socket.gethostname().encode(), b"checkpoint"}
    words |= {pwd.getpwuid(os.getuid()).pw_name.encode()} if os.getuid() else set()
    for row in rows(run, tape, "process") + rows(run, tape, "exit"):
        words |= {word.encode() for word in row["cmdline"].replace("/", " ").split() + [row["name"]]}
    for kind in ("fs", "cgroup", "directory"):
        for row in rows(run, tape, kind):
            words |= {word.encode() for word in (row["name"] + " " + row["label"]).replace("/", " ").split()}
    return {word for word in words if len(word) >= 4 and not word.isdigit()}


def test_no_text_is_left(run, work, recorded):
    before = everything(recorded)
    words = words_of(run, recorded)
    assert b"secret" in before and len(words) > 20 and b"secretprogram" in words
    run("anonymize", recorded, "-o", work / "a.baro", status=0)
    after = everything(work / "a.baro")
    left = {word for word in words if word in after}
    own = {b"memory", b"none", b"perf", b"scan"}  # words of baro's own
    own |= {row["name"].encode() for row in rows(run, recorded, "disk")}  # loop0 is loop0 everywhere
    roles = {b"path", b"group", b"mark", b"phase", b"value", b"host", b"label", b"message", b"entity"}
    assert left <= own | roles, left
    assert b"secret" not in after
    header = tape_reader.read(work / "a.baro").header
    for field in (3, 6, 18, 19):
        assert header[field] != tape_reader.read(recorded).header[field]


def test_values_stay(run, work, recorded):
    run("anonymize", recorded, "-o", work / "a.baro", status=0)
    text = {"name", "cmdline", "user", "uid", "text", "attributes", "label"}
    for kind in KINDS:
        one, other = rows(run, recorded, kind), rows(run, work / "a.baro", kind)
        strip = lambda table: [{k: v for k, v in row.items() if k not in text} for row in table]  # noqa: E731
        assert strip(one) == strip(other), kind
    one, other = rows(run, recorded, "process"), rows(run, work / "a.baro", "process")
    names = {}
    for a, b in zip(one, other):
        assert names.setdefault(a["name"], b["name"]) == b["name"]  # the same everywhere
        assert a["cmdline"].count("/") == b["cmdline"].count("/")
    assert len(set(names.values())) == len(names)
    exits = zip(rows(run, recorded, "exit"), rows(run, work / "a.baro", "exit"))
    assert all(names.get(a["name"], b["name"]) == b["name"] for a, b in exits)  # in exits as in processes
    summary = json.loads(run("summary", "--json", work / "a.baro", status=0).stdout)
    original = json.loads(run("summary", "--json", recorded, status=0).stdout)
    numbers = {k: v for k, v in original["job"].items() if isinstance(v, (int, float))}
    assert len(numbers) > 10 and all(summary["job"][k] == v for k, v in numbers.items())
    phases = [e for e in rows(run, work / "a.baro", "event") if e["event"] in ("phase_begin", "phase_end")]
    assert (phases[0]["text"] == phases[1]["text"]
            and "unmatched" not in run("summary", "-v", work / "a.baro", status=0).stdout)
    mark = [e for e in rows(run, work / "a.baro", "event") if e["event"] == "mark"][0]
    assert 0.25 in json.loads(mark["attributes"]).values()
    for command in (["show"], ["report", "-o", work / "page.html"], ["export", "-F", "trace"], ["top", "--once"]):
        run(*command, work / "a.baro", status=0)


def test_names_say_what_they_are(run, work, recorded):
    """Words are counted in each role."""
    run("anonymize", recorded, "-o", work / "a.baro", status=0)
    header = tape_reader.read(work / "a.baro").header
    assert header[3] == [b"host-1"]
    commands = {row["name"]: row["cmdline"] for row in rows(run, work / "a.baro", "process")}
    assert "cmd-1" in commands and all(name.startswith("cmd-") for name in commands)
    assert sorted(int(name[4:]) for name in {*commands, *(r["name"] for r in rows(run, work / "a.baro", "exit"))})[:2] == [1, 2]
    events = {e["event"]: e for e in rows(run, work / "a.baro", "event")}
    assert events["start"]["text"] == "cmd-1" and events["mark"]["text"].startswith("mark-")
    assert [e["text"] for e in rows(run, work / "a.baro", "event") if e["event"] == "phase_begin"] == ["phase-1", "phase-2"]
    assert all(row["name"] == "/" or row["name"].startswith("/path-") for row in rows(run, work / "a.baro", "fs"))


def test_a_key_on_two_tapes(run, work):
    """Whatever comes before a name, it has the same pseudonym."""
    (work / "key").write_bytes(os.urandom(16))
    found = {}
    for name, job in (("a", "sleep 0.3 & sh -c 'sleep 0.2; true'; cat /proc/self/stat; wait"), ("b", "cat /dev/null; sh -c 'sleep 0.2; true'")):
        run("run", "-q", "-i", "20ms", "--overhead", "off", "-o", work / name, "--", "sh", "-c", job, status=0, stdout=subprocess.DEVNULL)
        run("anonymize", work / name, "--key", work / "key", "-o", work / f"{name}.baro", status=0)
        found[name] = {a["name"]: b["name"] for a, b in zip(rows(run, work / name, "exit"), rows(run, work / f"{name}.baro", "exit"))}
    both = found["a"].keys() & found["b"].keys()
    assert {"sleep", "sh"} <= both and all(found["a"][name] == found["b"][name] for name in both)
    assert all(re.fullmatch("cmd-[a-z2-7]{6}", name) for name in found["a"].values())


def test_a_key(run, work, recorded):
    key = work / "key"
    key.write_bytes(os.urandom(32))
    made = []
    for i, options in enumerate((["--key", key], ["--key", key], [])):
        run("anonymize", recorded, *options, "-o", work / f"{i}.baro", status=0)
        made.append([row["name"] for row in rows(run, work / f"{i}.baro", "process")])
    assert made[0] == made[1] != made[2]
    key.write_bytes(b"short")
    assert "16" in run("anonymize", recorded, "--key", key, "-o", work / "x.baro", status=2).stderr
    assert not (work / "x.baro").exists()


# ---- tapes that are not whole ----


def test_damage_and_a_torn_end(run, work, recorded):
    data = recorded.read_bytes()
    at = [i for i in range(len(data)) if data.startswith(tapefile.SYNC, i)]
    torn = work / "torn.baro"
    torn.write_bytes(data[: at[-2] + 7])
    run("anonymize", torn, "-o", work / "t.baro", status=0)
    assert tape_reader.read(work / "t.baro").records
    assert samples(run, work / "t.baro") == samples(run, torn)
    middle = at[len(at) // 2]
    torn.write_bytes(data[: middle + 20] + b"\xff" * 4 + data[middle + 24 :])
    done = run("trim", torn, "--from", "0", "-o", work / "d.baro", status=0)
    assert "damaged" in done.stderr
    assert samples(run, work / "d.baro") == samples(run, torn)
    assert any("damaged" in e["text"] for e in rows(run, work / "d.baro", "event"))
    assert "damaged" not in run("anonymize", work / "d.baro", "-o", work / "e.baro", status=0).stderr


def test_a_folder_of_segments(run, work):
    folder = work / "k.baro"
    run("run", "-q", "-i", "20ms", "--keep", "1h", "-o", folder, "--", "sh", "-c", "sleep 0.5; true", status=0)
    if not folder.is_dir():
        pytest.skip("one file")
    run("trim", folder, "--from", "0", "-o", work / "one.baro", status=0)
    assert (work / "one.baro").is_file()
    assert samples(run, work / "one.baro") == samples(run, folder)
