# SPDX-License-Identifier: Apache-2.0
"""Rows as Arrow are the rows of `baro export`: all kinds, all columns, all values."""

import csv
import io
import json
import os
import pathlib
import subprocess

import arrow_file
import arrow_libraries
import arrow_reader
import pytest
from arrow_reader import kinds_of, same

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TAPES = sorted((SOURCE / "tests/tape").glob("*.baro"))
JOB = (
    "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3'; done; "
    'echo \'{"mark": "half", "loss": 0.12, "words": "a\\"b"}\' >> $BARO_EVENTS; sleep 0.3 & kill -9 $!; sleep 0.3'
)

pytestmark = pytest.mark.not_sanitized("Python would have to be linked with the sanitizer's library")


@pytest.fixture(scope="module")
def library(baro):
    path = pathlib.Path(baro).parent / "libbaro.so.0"
    if not path.exists():
        pytest.skip("there is no shared library beside the binary")
    return path


def compare(run, library, tape, kind, columns=None, **options):
    """All rows of a kind, as CSV and as Arrow. Returns the table."""
    chosen = ["--columns", columns] if columns else []
    text = run("export", "--entity", kind, *chosen, tape, status=0).stdout
    names, *rows = csv.reader(io.StringIO(text))
    table = arrow_reader.Table(library, tape, kind, columns, **options)
    assert table.names == names
    assert table.about["kind"] == kind
    assert sum(table.batches) == len(rows)
    for name, form, column, i in zip(names, table.formats, table.columns, range(len(names))):
        for row, value in zip(rows, column):
            assert same(row[i], value, form), f"{kind}.{name}: {row[i]!r} and {value!r}"
    return table


def every_column(run, tape, kind):
    """The names of all columns that the rows may have, those included that nobody gets without asking."""
    names = run("export", "--entity", kind, tape, status=0).stdout.splitlines()[0].split(",")
    more = {"process": "age_ns,origin,phase,io_read_bytes_per_second,cpu_ns_absent,pss_bytes_absent",
            "job": "phase,io_read_bytes_per_second,cpu_ns_absent,pss_bytes_absent",
            "exit": "origin,phase,cpu_ns_absent", "event": "phase", "disk": "id,phase,read_bytes_per_second"}
    return ",".join([*names, *more.get(kind, "id,phase" if kind != "host" else "phase").split(",")])


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_tapes_of_every_version(run, library, tape):
    for kind in kinds_of(run, tape):
        compare(run, library, tape, kind)
        compare(run, library, tape, kind, every_column(run, tape, kind), batch_rows=7)


def test_recorded(run, library, tape, work):
    """A job with processes that end in all ways, marks, and the machine."""
    run.record(tape, JOB, "--metrics", "all", "--interval", "50ms", status=0)
    rows = {}
    for kind in kinds_of(run, tape):
        table = compare(run, library, tape, kind, every_column(run, tape, kind))
        rows[kind] = len(table.rows())
    assert all(rows[kind] for kind in ("process", "job", "exit", "event", "host", "cpu"))
    given = compare(run, library, tape, "event", "event,attributes").columns[1]
    marks = [json.loads(text) for text in given if text]
    assert any(mark.get("loss") == 0.12 and mark.get("words") == 'a"b' for mark in marks)


def test_declared_kinds_and_tasks(run, library, tape, work):
    tape = SOURCE / "tests/tape/v1-collect.baro"
    assert {"pulse", "task"} <= set(kinds_of(run, tape))
    for kind in kinds_of(run, tape):
        compare(run, library, tape, kind)


def test_segments(run, library, work):
    """A tape that is a folder."""
    folder = work / "kept.baro"
    run.record(folder, JOB, "--keep", "1h", "--interval", "20ms")
    for kind in ("process", "job", "exit", "event"):
        compare(run, library, folder, kind)


def test_ranges_are_parts_of_the_whole(run, library, tape):
    run.record(tape, JOB, "--interval", "20ms")
    for kind in ("process", "job", "exit", "event", "host", "cpu"):
        columns = "t_ns" + (",cores" if kind in ("process", "job", "host", "cpu") else "")
        whole = arrow_reader.Table(library, tape, kind, columns).rows()
        last = max([row[0] for row in whole], default=0)
        parts = []
        for from_ns, to_ns in ((0, last // 3), (last // 3 + 1, last // 2), (last // 2 + 1, 2**64 - 1)):
            part = arrow_reader.Table(library, tape, kind, columns, from_ns, to_ns).rows()
            assert part == [row for row in whole if from_ns <= row[0] <= to_ns]
            parts += part
        assert sorted(map(str, parts)) == sorted(map(str, whole))


def test_metadata(run, library, tape):
    run.record(tape, "sleep 0.1")
    table = arrow_reader.Table(library, tape, "process", "cpu,rss,t,tcp_sent,cores")
    cpu, rss, t, tcp, cores = table.metadata
    assert cpu["unit"] == "ns" and cpu["semantics"] == "counter" and cpu["help"] and cpu["source"]
    assert rss["unit"] == "bytes" and rss["semantics"] == "gauge" and "absent" not in rss
    assert t == {"unit": "ns"}
    assert tcp["absent"] == "not asked"
    assert cores["unit"] == "cores"


def test_users_are_numbers_without_a_function_that_names_them(run, library, tape):
    run.record(tape, "true", "--interval", "20ms")
    for uid, user in arrow_reader.Table(library, tape, "exit", "uid,user").rows():
        assert user == (None if uid is None else str(uid))


def test_unknown_column(library):
    with pytest.raises(ValueError, match="no column 'wrong'"):
        arrow_reader.Table(library, TAPES[0], "job", "t_ns,wrong")


# ---- baro export --format arrow ----------------------------------------------------------------------------------------


def test_file_has_what_the_stream_has(run, library, tape, work):
    run.record(tape, JOB, "--interval", "20ms")
    for path in [tape, *TAPES]:
        for kind in kinds_of(run, path):
            done = run("export", "--format", "arrow", "--entity", kind, path, status=0, text=False)
            names, metadata, rows = arrow_file.read(done.stdout)
            table = arrow_reader.Table(library, path, kind)
            assert names == table.names
            assert metadata == table.metadata
            assert rows == table.rows()


# ---- libraries that read Arrow ------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def python():
    return arrow_libraries.find_python()


READ_ALL = """
import importlib.util, json, sys
import duckdb, pandas, polars, pyarrow

source, library, tape = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("rows", source)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
lib = example.load(library)
columns = "time,t_ns,pid,name,rss,state,cores"


def rows(columns=columns):
    return example.Rows(lib, tape, "process", columns)


table = pyarrow.table(rows())
table.validate(full=True)
for kind in sys.stdin.read().split():
    pyarrow.table(example.Rows(lib, tape, kind)).validate(full=True)
unread = rows().__arrow_c_stream__()  # a stream that nobody reads
process = rows()
files = json.loads(sys.argv[4])
for path, kind in files:
    assert pyarrow.ipc.open_stream(path).read_all().equals(pyarrow.table(example.Rows(lib, tape, kind)), check_metadata=True)
by_sql = "select count(*), count(rss_bytes), sum(rss_bytes)::bigint, count(distinct name), count(distinct state) from process"
frame, polar = pandas.DataFrame.from_arrow(rows()), polars.DataFrame(rows())
print(json.dumps({
    "pyarrow": [table.num_rows, table["rss_bytes"].length() - table["rss_bytes"].null_count,
                pyarrow.compute.sum(table["rss_bytes"]).as_py(), len(set(table["name"].to_pylist())),
                len(set(table["state"].to_pylist()))],
    "pandas": [len(frame), int(frame["rss_bytes"].count()), int(frame["rss_bytes"].sum()), frame["name"].nunique(),
               frame["state"].nunique()],
    "polars": [polar.height, polar.height - polar["rss_bytes"].null_count(), polar["rss_bytes"].sum(),
               polar["name"].n_unique(), polar["state"].n_unique()],
    "duckdb": list(duckdb.sql(by_sql).fetchall()[0]),
    "time": str(table.schema.field("time").type),
}))
"""


def test_libraries(run, library, tape, python, work):
    run.record(tape, JOB, "--interval", "20ms")
    files = [(str(work / f"{kind}.arrows"), kind) for kind in ("process", "job", "exit", "event", "host")]
    for path, kind in files:
        run("export", "--format", "arrow", "-e", kind, "-o", path, tape, status=0)
    rows = run.export(tape)
    rss = [row["rss_bytes"] for row in rows if row["rss_bytes"] is not None]
    expected = [len(rows), len(rss), sum(rss), len({row["name"] for row in rows}), len({row["state"] for row in rows})]
    done = subprocess.run([python, "-c", READ_ALL, SOURCE / "examples/arrow.py", library, tape, json.dumps(files)],
                          input=" ".join(kinds_of(run, tape)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("time") == "timestamp[ns, tz=UTC]"
    assert found == {name: expected for name in ("pyarrow", "pandas", "polars", "duckdb")}


def test_example(run, library, tape, python):
    run.record(tape, JOB, "--interval", "20ms")
    query = "select count(*) as n, max(pid) as pid from process"
    done = subprocess.run([python, SOURCE / "examples/arrow.py", tape, query, library], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    rows = run.export(tape)
    assert done.stdout == f"n,pid\n{len(rows)},{max(row['pid'] for row in rows)}\n"


def test_example_with_the_package(baro, run, library, tape, python):
    run.record(tape, JOB, "--interval", "20ms")
    env = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "BAROGRAPH_LIBBARO": str(library),
           "BAROGRAPH_BARO": str(baro)}
    query = "select count(*)::varchar || ' rows' from process"
    done = subprocess.run([python, SOURCE / "examples/sql.py", tape, query], capture_output=True, text=True,
                          timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    assert f" {len(run.export(tape))} rows " in done.stdout
