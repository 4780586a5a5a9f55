# SPDX-License-Identifier: Apache-2.0
"""A reader that was written from FORMAT.md alone (tests/tape_reader.py) reads from each tape what `baro export` does."""

import csv
import io
import json
import struct
import sys

import pytest
from conftest import SOURCE
from readers import unescape

sys.path.insert(0, str(SOURCE / "tests"))
import tape_reader  # noqa: E402

TAPES = SOURCE / "tests" / "tape"
GOLDEN = sorted(p.name for p in TAPES.glob("v1-*.baro"))
REASONS = (None, "not asked", "unsupported", "denied", "gone", "not yet", "thinned", "timeout", "unknown", "shared")
SOURCES = ("last_sample", "event", "perf", "taskstats", "zombie", "wait4")
MILLIONTHS = {3: 1e6, 7: 1e3, 8: 1e6}
ENTITY = 10


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def shown(column, v):
    """A value as `export` has it in JSON."""
    if column.unit == 4:
        return chr(v) if 32 < v < 127 else None
    if column.unit == 5:
        return signed(v)
    if column.unit == 9:
        return struct.unpack("<d", struct.pack("<Q", v))[0]
    if column.unit in MILLIONTHS:
        return (signed(v) if column.unit == 7 else v) / MILLIONTHS[column.unit]
    return v


def same_row(row, values):
    """Compares all values and reasons of a row that `export` gives, and says how many."""
    compared = 0
    for i, column in enumerate(values.columns):
        if column.name not in row or column.unit == ENTITY:
            continue
        reason = REASONS[values.reason[i]]
        assert row.get("absent", {}).get(column.name) == reason, column.name
        want = None if reason else shown(column, values.value[i])
        if column.unit != 4 or want is not None:
            assert row[column.name] == (pytest.approx(want, rel=1e-12) if isinstance(want,
                                                                                     float) else want), (column.name)
        compared += 1
    return compared


def same_text(text, raw):
    assert (None if text is None else unescape(text)) == raw


def same_processes(rows, samples):
    at = compared = 0
    for s in samples:
        for p in s.processes:
            row = rows[at]
            at += 1
            assert (row["t_ns"], row["pid"], row["start_ticks"]) == (s.t_ns, p.pid, p.start)
            assert (row["ppid"] or 0, row["uid"]) == (p.parent[0], None if p.uid == 0xFFFFFFFF else p.uid)
            same_text(row["name"], p.name)
            same_text(row["cmdline"], p.cmdline)
            compared += same_row(row, p.row)
    assert at == len(rows)
    return compared


def same_exits(rows, exits):
    assert len(rows) == len(exits)
    for row, e in zip(rows, exits):
        assert (row["t_ns"], row["pid"], row["start_ticks"] or 0) == (e.t_ns, e.item.pid, e.item.start)
        assert row["source"] == SOURCES[e.source]
        if e.status is not None:
            assert row["signal"] == (e.status & 127 or None)
            assert row["status"] == (None if e.status & 127 else e.status >> 8)
        same_text(row["name"], e.item.name)
        same_text(row["cmdline"], e.item.cmdline)
        same_row(row, e.item.row)


def same_machine(rows, samples, kind):
    """One row for each entity of each reading."""
    at, before = 0, None
    for s in samples:
        t_ns, items = s.entities.get(kind, (None, ()))
        if t_ns == before:
            continue
        before = t_ns
        for item in items:
            assert rows[at]["t_ns"] == t_ns
            if kind != "host":
                same_text(rows[at]["name"], item.name)
            same_row(rows[at], item.row)
            at += 1
    assert at == len(rows)


def compare(run, path):
    tape = tape_reader.read(path)
    samples = [r for r in tape.records if isinstance(r, tape_reader.Sample)]
    exits = [r for r in tape.records if isinstance(r, tape_reader.Exit)]
    events = [r for r in tape.records if isinstance(r, tape_reader.Event)]
    compared = same_processes(run.export(path, "process"), samples)
    same_exits(run.export(path, "exit"), exits)
    jobs = run.export(path, "job")
    assert [(row["t_ns"], row["lossy"]) for row in jobs] == [(s.t_ns, s.lossy) for s in samples]
    for row, s in zip(jobs, samples):
        compared += same_row(row, s.job)
    for kind in ("host", "cpu", "disk", "cgroup"):
        same_machine(run.export(path, kind), samples, kind)
    rows = run.export(path, "event")
    assert [(row["t_ns"], unescape(row["text"])) for row in rows if "text" in row] == [(e.t_ns, e.text) for e in events]
    return tape, samples, exits, compared


@pytest.mark.parametrize("name", GOLDEN)
def test_tapes_of_version_1(run, name):
    tape, samples, _, compared = compare(run, SOURCE / "tests" / "tape" / name)
    assert tape.complete
    assert compared > 0 or not samples


def test_totals_that_a_recorder_resumed(run):
    """A tape of version 1, of an observer that was killed twice: each segment goes on with times, ids and totals."""
    (begins, segments), = tape_reader.read_parts(TAPES / "v1-resumed")
    assert begins == 0 and len(segments) == 3
    samples = [r for t in segments for r in t.records if isinstance(r, tape_reader.Sample)]
    rows = run.export(TAPES / "v1-resumed", "job")
    assert [(r["t_ns"], r["cpu_ns"]) for r in rows] == [(s.t_ns, s.job["cpu_ns"]) for s in samples]
    summary = run.summary(TAPES / "v1-resumed")
    assert summary["job"]["cpu_ns"] == 218_842_698 and summary["job"]["cpu_is_lower_bound"]
    assert {c["name"]: c["processes"] for c in summary["commands"]} == {"sh": 42, "sleep": 42}
    assert {t["name"]: t["cpu_ns"] for t in summary["tasks"]} == {"left": 85_574_089, "right": 81_118_310}


def test_parts_are_joined(run):
    """A tape of version 2, of an observer that was killed once: counts of the parts add up, times go on."""
    folder = TAPES / "v2-series"
    (_, (first,)), (begins, (second,)) = tape_reader.read_parts(folder)
    samples = [[r for r in t.records if isinstance(r, tape_reader.Sample)] for t in (first, second)]
    last = samples[0][-1]
    again = {(p.pid, p.start) for p in last.processes} & {(p.pid, p.start) for p in samples[1][0].processes}
    assert again
    want = [(s.t_ns, s.job["cpu_ns"], s.job["faults_minor"], s.job["processes_started"]) for s in samples[0]]
    want += [(begins + s.t_ns, last.job["cpu_ns"] + s.job["cpu_ns"], last.job["faults_minor"] + s.job["faults_minor"],
              last.job["processes_started"] + s.job["processes_started"] - len(again)) for s in samples[1]]
    rows = run.export(folder, "job")
    assert [(r["t_ns"], r["cpu_ns"], r["faults_minor"], r["processes_started"]) for r in rows] == want
    for at in (0, len(samples[0]), len(rows) - 1):  # also after seeking
        shown = json.loads(run("show", "--json", "--at", f"+{rows[at]['t_ns'] / 1e9:.9f}s", folder, status=0).stdout)
        assert (shown["t_ns"], shown["job"]["cpu_ns"]) == want[at][:2]
    summary = run.summary(folder)
    assert (summary["job"]["cpu_ns"], summary["job"]["processes_started"]) == (want[-1][1], want[-1][3])
    assert summary["job"]["cpu_is_lower_bound"] and summary["job"]["rss_peak_bytes"] == max(
        sum(p.row["rss_bytes"] for p in s.processes) for part in samples for s in part)
    commands = {c["name"]: c for c in summary["commands"]}
    execs = [e for e in first.records if isinstance(e, tape_reader.Event) and e.kind == 1 and e.attributes]
    cpu_ns = next(v for name, kind, v in execs[0].attributes if name == b"cpu_ns")
    assert commands["perl"]["cpu_ns"] == tape_reader.Bytes(cpu_ns).varint()
    assert sum(c["processes"] for c in commands.values()) == want[-1][3]  # the shell that became perl is one


def test_a_recording(run, work):
    """Processes that come and go, and the machine; also as CSV, in which what is absent is empty."""
    path = run.record(work / "t.baro", ["sh", "-c", "i=0; while [ $i -lt 20 ]; do true; sh -c 'sleep 0.3; exit 3' & "
                                        "sleep 0.05; i=$((i+1)); done; wait"], "-i", "100ms", "--overhead", "off")
    _, samples, exits, compared = compare(run, path)
    assert len(samples) > 5 and len(exits) > 20 and compared > 1000
    text = run("export", "--columns", "t_ns,pid,cpu,rss", path, status=0).stdout
    rows = list(csv.reader(io.StringIO(text)))[1:]
    cell = lambda v: "" if v is None else str(v)  # noqa: E731
    assert rows == [[str(s.t_ns), str(p.pid), cell(p.row["cpu_ns"]), cell(p.row["rss_bytes"])]
                    for s in samples for p in s.processes]


def test_older_tapes_say_what_they_are(run, work):
    tape = work / "old.baro"
    data = bytearray((SOURCE / "tests" / "tape" / GOLDEN[0]).read_bytes())
    data[7] = 0x1A
    tape.write_bytes(data)
    done = run("export", tape, status=2)
    assert done.stderr.splitlines() == [
        f"baro export: {tape} was written by a development version before 0.1, whose tapes can't be read"]
