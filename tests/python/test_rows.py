# SPDX-License-Identifier: Apache-2.0
"""Rows as Arrow: the same as `baro export`, with every library that is at hand, and nothing is left behind."""

import csv
import ctypes
import gc
import io
import os
import pathlib
import subprocess
import sys
import time

import pytest
from conftest import INSTALLED

import barograph
from barograph import _where

TAPES = sorted((pathlib.Path(__file__).parents[1] / "tape").glob("*.baro"))
COLUMNS = "t_ns,pid,name,cpu_ns,rss_bytes,cores,state"


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    made = tmp_path_factory.mktemp("rows") / "t.baro"
    code = "import subprocess, time\nfor i in range(5): subprocess.run(['sleep', '0.03'])"
    barograph.run([sys.executable, "-c", code], tape=made, interval="10ms", overhead="off")
    return barograph.open(made)


def exported(path, kind, columns=None):
    chosen = ["-c", columns] if columns else []
    out = subprocess.run([_where.baro(), "export", "--entity", kind, *chosen, path], capture_output=True, text=True,
                         check=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def same(text, value, name):
    if value is None or value == "":
        return text == ""
    if name == "time":
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(value // 10**9))
        return text == f"{when}.{value % 10**9 // 10**6:03d}Z"
    if isinstance(value, float):
        return float(text) == pytest.approx(value, rel=1e-14)
    return text == str(int(value) if isinstance(value, bool) else value)


def check_rows(rows, wanted):
    assert len(rows) == len(wanted)
    for got, want in zip(rows, wanted):
        assert list(got) == list(want)
        for name, value in got.items():
            assert same(want[name], value, name), (name, value, want[name])


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_without_a_library(tape):
    rows = tape.rows("process", COLUMNS).to_dicts()
    assert len(rows) > 10
    check_rows(rows, exported(tape.path, "process", COLUMNS))
    assert tape.rows("process", COLUMNS, batch_rows=3).to_dicts() == rows
    assert tape.rows("process").columns[:3] == ["time", "t_ns", "pid"]
    for kind in ("job", "exit", "event", "host", "cpu"):
        assert tape.rows(kind).to_dicts()


@pytest.mark.skipif(INSTALLED, reason="needs the tree")
@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.stem)
def test_tapes_of_every_version(path):
    text = subprocess.run([_where.baro(), "export", "--list", path], capture_output=True, text=True, check=True).stdout
    for kind in (line.split()[0] for line in text.split("kinds of rows", 1)[1].splitlines()[1:]):
        check_rows(barograph.open(path).rows(kind, batch_rows=7).to_dicts(), exported(path, kind))


def test_users_are_numbers_without_a_function_that_names_them(tape):
    for row in tape.rows("process", "uid,user").to_dicts():
        assert row["user"] == (None if row["uid"] is None else str(row["uid"]))


def test_a_part(tape):
    times = tape.rows("job", "t_ns").to_dict()["t_ns"]  # a busy machine has no sample where one was wanted
    start, end = (sum(times[i : i + 2]) // 2 for i in (len(times) // 4, len(times) // 2))
    middle = tape.rows("job", ["t_ns", "cpu"], start=start / 1e9, end=end / 1e9).to_dict()
    assert middle["t_ns"] == [t for t in times if start <= t <= end] and len(middle["t_ns"]) < len(times)


def test_a_column_twice(tape):
    twice = tape.rows("process", "pid,name,pid")
    assert twice.columns == ["pid", "name", "pid"] and twice.to_dict() == tape.rows("process", "pid,name").to_dict()


def test_errors(tape):
    with pytest.raises(barograph.ArgumentError, match="nothing.*it has: process, .*, event, phase"):
        tape.rows("nothing")
    with pytest.raises(barograph.ArgumentError, match="no_column"):
        tape.rows("job", "no_column")


def test_phases(tmp_path):
    """Phases are rows, and each is a mapping: a data frame of a list of them has columns."""
    code = f"import subprocess\nsubprocess.run({[_where.baro(), 'phase', 'outer', '--', 'sh', '-c']!r} + [\"exit 3\"])"
    barograph.run([sys.executable, "-c", code], tape=tmp_path / "p.baro")
    tape = barograph.open(tmp_path / "p.baro")
    check_rows(tape.rows("phase").to_dicts(), exported(tape.path, "phase"))
    assert tape.rows("phase", "path,status", start=0, end=1e6).to_dicts() == [{"path": "outer", "status": 3}]
    (phase,) = tape.phases
    assert (phase.status, phase.signal, phase.is_failed) == (3, None, True)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(tape.phases)
    assert list(frame["path"]) == ["outer"] and list(frame["cpu_ns"]) == [phase.cpu_ns]


NO_CAPSULES = pytest.mark.skipif(not hasattr(ctypes, "pythonapi"), reason="an interpreter without capsules")


@NO_CAPSULES
def test_a_capsule_that_nobody_takes(tape):
    before = descriptors()
    for _ in range(20):
        capsule = tape.rows("process").__arrow_c_stream__()
        assert type(capsule).__name__ == "PyCapsule"
    cycle = [capsule]
    cycle.append(cycle)
    del capsule, cycle
    gc.collect()
    assert descriptors() == before


@NO_CAPSULES
def test_a_capsule_that_is_left_at_the_end(tape):
    code = f"import barograph, sys\nsys.kept = barograph.open({tape.path!r}).rows('job').__arrow_c_stream__()"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert subprocess.run([sys.executable, "-c", "import sys, builtins\n" + code.replace("sys.kept", "builtins.kept")],
                          check=False).returncode == 0


def test_libraries_that_take_arrow(tape, others):
    pyarrow, polars, duckdb, pandas = map(pytest.importorskip, ("pyarrow", "polars", "duckdb", "pandas"))
    want = sum(int(r["cpu_ns"] or 0) for r in exported(tape.path, "process", COLUMNS))
    rows, before = tape.rows("process", COLUMNS), descriptors()
    table = pyarrow.table(tape.rows("process", COLUMNS + ",tcp_sent"))
    table.validate(full=True)
    assert table.column("cpu_ns").to_pylist() == rows.to_dict()["cpu_ns"]
    assert pyarrow.RecordBatchReader.from_stream(rows).read_all().num_rows == len(rows.to_dicts())
    meaning = {f.name: {k.decode(): v.decode() for k, v in f.metadata.items()} for f in table.schema if f.metadata}
    assert meaning["cpu_ns"]["unit"] == "ns" and meaning["cpu_ns"]["semantics"] == "counter"
    assert meaning["tcp_sent_bytes"]["absent"] == "not asked" and "absent" not in meaning["rss_bytes"]
    assert polars.DataFrame(rows)["cpu_ns"].sum() == want
    assert duckdb.sql("select sum(cpu_ns) from rows").fetchall() == [(want,)]
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(rows)["cpu_ns"].sum() == want
    gc.collect()
    assert descriptors() <= before + 2  # libraries open their own


OUTLIVES = """
    import barograph, ctypes, gc, os, sys
    from barograph.rows import _read

    def opened(way, path):
        if way == "path":
            return barograph.open(path)
        if way == "bytes":
            return barograph.Tape.from_bytes(open(path, "rb").read())
        with open(path, "rb") as file:
            return barograph.Tape.from_fd(file.fileno())

    def made(tape):
        sample, records, iterator = tape.at("50%"), tape.records(), iter(tape)
        next(records), next(iterator)
        return {
            "header": lambda of=tape.header: vars(of),
            "sample": lambda of=sample: [p.to_dict() for p in of.processes],
            "process": lambda of=sample.processes[0]: (of.to_dict(), of.name, of.cmdline),
            "entity": lambda of=sample.entities("cpu")[0]: (of.to_dict(), of.label, of.attributes),
            "job": lambda of=sample.job: of.to_dict(),
            "now": lambda of=tape.now(): (repr(of), of.cpu_ns),
            "records": lambda of=records: [repr(record) for record in of],
            "samples": lambda of=iterator: [s.job.cpu_ns for s in of],
            "exit": lambda of=tape.exits[0]: (of.to_dict(), of.name, of.cmdline),
            "event": lambda of=tape.events[0]: repr(of),
            "summary": lambda of=tape.summary: {**of.to_dict(), "tape": ""},
            "verdicts": lambda of=tape.verdicts: [(str(v), v.evidence) for v in of],
            "timeline": lambda of=tape.timeline: [vars(i) for i in of.items],
            "series": lambda of=tape.series("cores", 20): of.to_dict(),
            "processes": lambda of=tape.processes: [p.to_dict() for p in of],
            "stream": lambda of=tape.rows("process", batch_rows=3)._stream(): _read(of),
        }

    kept = opened("path", sys.argv[1])
    expected = {name: repr(read()) for name, read in made(kept).items()}
    assert len(expected["stream"]) > 1000
    for way in ("path", "bytes", "fd"):
        for closes in (False, True):
            tape = opened(way, sys.argv[1])
            left = made(tape)
            if closes:
                tape.close()
            del tape
            gc.collect()
            other = [ctypes.create_string_buffer(b"\\xff" * size) for size in (1000, 10000, 100000)]
            for name, read in left.items():
                assert repr(read()) == expected[name], (way, closes, name)
"""


def test_what_is_made_from_a_tape_outlives_it(tape, script, monkeypatch):
    monkeypatch.setenv("MALLOC_PERTURB_", "165")  # glibc fills what is freed
    script(OUTLIVES, tape.path).end()


def test_the_structs_are_those_of_arrow():
    from barograph import _abi

    assert [ctypes.sizeof(s) for s in (_abi.ArrowSchema, _abi.ArrowArray, _abi.ArrowArrayStream)] == [72, 80, 40]


def test_columns_that_come_later(tmp_path):
    """A kind that gets a column as the recording goes on: the table has what the tape has by then."""
    made = pathlib.Path(__file__).parents[1] / "tape/v1-collect.baro"
    whole = barograph.open(made)
    names = whole.rows("pulse").columns
    assert {"rest_seconds", "late_ratio"} <= set(names)
    # The tape as it was when the program had printed one name.
    data, fewer = made.read_bytes(), None
    for end in range(len(data), 0, -1):
        if data[end : end + 4] != b"\xb2\xe5\x9a\x0d":
            continue
        (tmp_path / "grows.baro").write_bytes(data[:end])
        try:
            fewer = barograph.open(tmp_path / "grows.baro").rows("pulse")
        except barograph.Error:
            break
        if "late_ratio" not in fewer.columns and "rest_seconds" in fewer.columns:
            break
    assert "late_ratio" not in fewer.columns
    (tmp_path / "grows.baro").write_bytes(data)
    rows = fewer.to_dicts()
    assert list(rows[0]) == names and any(row["late_ratio"] for row in rows)
    assert rows == whole.rows("pulse").to_dicts()
