# SPDX-License-Identifier: Apache-2.0
"""The formats of `baro export`: each has the rows of the CSV, all kinds, all columns, all values; and a file is there
whole or not at all. Arrow and Parquet are read by the libraries of other projects."""

import csv
import datetime
import io
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from conftest import FULL, SOURCE, poll
from readers import sibling

sys.path.append(str(SOURCE / "tests" / "python"))
import environments  # noqa: E402

TAPES = sorted((SOURCE / "tests/tape").glob("*.baro"))
SMALL = SOURCE / "tests/tape/v1-small.baro"
LARGE = ("process", "job", "exit", "event", "host", "cpu")  # kinds of which each recording has rows
JOB = (
    "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3'; done; "
    'echo \'{"mark": "half", "loss": 0.12, "words": "a\\"b"}\' >> $BARO_EVENTS; sleep 0.3 & kill -9 $!; sleep 0.3'
)
# Names of kinds that SQLite keeps for itself, or that are those of tables of ours.
RENAMED = {"sqlite_x": "_sqlite_x", "baro_tape": "baro_tape_2", "baro_columns": "baro_columns_2"}
OWN = {"baro_columns", "baro_tape"}

# For each line with a list of paths prints {path: [[name, is it a time, values, metadata] of each column]}.
READ_BACK = """
import json, sys
import pyarrow, pyarrow.parquet

def table_of(path):
    if path.endswith(".parquet"):
        import duckdb
        table = pyarrow.parquet.read_table(path)
        assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(table.num_rows,)]
        return table
    with open(path, "rb") as file:
        table = pyarrow.ipc.open_stream(file).read_all()
        assert not file.read()
    table.validate(full=True)
    return table

for line in sys.stdin:
    read = {}
    for path in json.loads(line):
        read[path] = []
        table = table_of(path)
        for field, column in zip(table.schema, table.columns):
            is_time = pyarrow.types.is_timestamp(field.type)
            meaning = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
            read[path].append((field.name, is_time, (column.cast("int64") if is_time else column).to_pylist(), meaning))
    print(json.dumps(read), flush=True)
"""
pytestmark = [pytest.mark.xdist_group("formats"), pytest.mark.long]  # the libraries are imported once


@pytest.fixture(scope="module")
def found_python():
    """A Python with the libraries: this one, or that of an environment that is made once, where PyPI can be reached."""
    check = "import pyarrow.parquet, pyarrow, polars, duckdb, pandas"
    if subprocess.run([sys.executable, "-c", check], capture_output=True).returncode == 0:
        return sys.executable
    try:
        made = environments.others() / "bin/python"
    except pytest.skip.Exception:
        return None
    # Importing the libraries compiles what is used of them, once, beside the sources: where pytest's own bytecode is,
    # the programs of the tests do not look, and pandas takes them 1.6 s of CPU time each time, in place of 0.5 s.
    compiled = made.parents[1] / "compiled"
    if not compiled.exists():
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
        subprocess.run([made, "-c", check], capture_output=True, text=True, check=True, env=environment)
        compiled.touch()
    return made


@pytest.fixture
def python(found_python):
    return found_python or pytest.skip("no Python has pyarrow")


@pytest.fixture(scope="module")
def recorded(baro, tmp_path_factory):
    """A job with processes that end in all ways, marks, and the machine."""
    tape = tmp_path_factory.mktemp("formats") / "t.baro"
    subprocess.run([baro, "run", "-q", "-i", "20ms", "--metrics", "all", "-o", tape, "--", "sh", "-c", JOB], check=True)
    return tape


def kinds_of(run, tape):
    text = run("export", "--list", tape, status=0).stdout
    return [line.split()[0] for line in text.split("kinds of rows", 1)[1].splitlines()[1:]]


@pytest.fixture(scope="module")
def reader(found_python):
    """reader(paths): what a file has, as other projects read it; None without their libraries."""
    if not found_python:
        yield None
        return
    process = subprocess.Popen([found_python, "-c", READ_BACK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(*paths):
        process.stdin.write(json.dumps([*map(str, paths)]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "it ended"
        return json.loads(line)

    yield read
    process.communicate()


def same(text, value, is_time=False):
    """Does a cell of CSV have this value?"""
    if value is None or value == "":
        return text == ""
    if is_time:
        when = datetime.datetime.fromtimestamp(value // 10**9, datetime.UTC)
        return text == f"{when:%Y-%m-%dT%H:%M:%S}.{value % 10**9 // 10**6:03d}Z"
    if isinstance(value, dict):
        return json.loads(text) == value
    if isinstance(value, float):
        return math.isclose(float(text), value, rel_tol=1e-14, abs_tol=0)
    return text == (str(int(value)) if isinstance(value, bool) else str(value))


def check_columns(rows, columns):
    assert [name for name, *_ in columns] == rows[0]
    for i, (name, is_time, values, _) in enumerate(columns):
        assert len(values) == len(rows) - 1
        for row, value in zip(rows[1:], values):
            assert same(row[i], value, is_time), f"{name}: {row[i]!r} and {value!r}"


def check_objects(rows, objects, more=()):
    """JSON lines: the same members in the same order, and null where a reason is given."""
    assert len(objects) == len(rows) - 1
    for row, each in zip(rows[1:], objects):
        reasons = each.pop("absent", {})
        nulls = {name for name, value in each.items() if value is None}
        assert list(each) == rows[0] and nulls - {"phase", "attributes", "status", "signal", "parent", "driver_pid", "driver_start_ticks", *more} <= set(reasons) <= nulls
        assert all(map(same, row, each.values())), (row, each)


def more_columns(kind):
    """Columns that nobody gets without asking."""
    more = {"process": ["age_ns", "origin", "io_read_bytes_per_second", "cpu_ns_absent", "pss_bytes_absent"],
            "job": ["io_read_bytes_per_second", "cpu_ns_absent", "pss_bytes_absent"], "exit": ["origin", "cpu_ns_absent"],
            "event": [], "host": [], "disk": ["id", "read_bytes_per_second"], "step": ["rss_peak_bytes_absent"]}
    return ["cpu_ns_absent"] if kind == "phase" else ["phase", *more.get(kind, ["id"])]


def tables_of(database):
    return {row[0] for row in database.execute("select name from sqlite_master where type = 'table'")}


def check_tables(database, rows):
    for kind, (head, *lines) in rows.items():
        cursor = database.execute(f'select * from "{RENAMED.get(kind, kind)}"')
        assert [column[0] for column in cursor.description] == head, kind
        found = cursor.fetchall()
        assert len(found) == len(lines)
        for expected, row in zip(lines, found):
            assert all(map(same, expected, row)), (kind, expected, row)


@pytest.mark.parametrize("tape", [None, *TAPES], ids=lambda tape: tape.stem if tape else "recorded")
def test_every_kind(run, work, reader, recorded, tape):
    """As CSV, JSON lines, SQLite and Arrow; tapes of every version, and one of today."""
    tape, rows = tape or recorded, {}
    for kind in kinds_of(run, tape):
        rows[kind] = list(csv.reader(io.StringIO(run("export", "-e", kind, tape, status=0).stdout), strict=True))
        assert len({len(row) for row in rows[kind]}) == 1
        chosen = ",".join([*rows[kind][0], *more_columns(kind)])
        text = run("export", "-e", kind, "-c", chosen, tape, status=0).stdout
        check_objects(list(csv.reader(io.StringIO(text))), run.export(tape, kind, "-c", chosen), more_columns(kind))
        run("export", "-F", "arrow", "-e", kind, "-o", work / kind, tape, status=0)
    if sibling(run.built, "baro-sqlite").exists():
        run("export", "-F", "sqlite", "-o", work / "made.db", tape, status=0)
        database = sqlite3.connect(work / "made.db")
        check_tables(database, {kind: of for kind, of in rows.items() if RENAMED.get(kind, kind) in tables_of(database)})
        assert tables_of(database) >= OWN | ({*LARGE} if tape == recorded else set())
    for of, columns in zip(rows.values(), reader(*(work / kind for kind in rows)).values() if reader else ()):
        check_columns(of, columns)
    assert tape != recorded or all(len(rows[kind]) > 1 for kind in LARGE)


def test_marks_have_their_attributes(run, recorded):
    marks = [e["attributes"] for e in run.export(recorded, "event") if e["event"] == "mark"]
    assert [(m["loss"], m["words"]) for m in marks] == [(0.12, 'a"b')]


def test_arrow_of_a_folder_with_many_batches(run, work, python, reader):
    """A tape in segments, with mostly more rows than a batch has: texts are numbered anew in each."""
    tape, columns = work / "kept.baro", ["--columns", "t_ns,pid,name,state,user"]
    job = "for i in $(seq 300); do sleep 3 & done; wait"
    run("run", "-q", "--keep", "1h", "-i", "10ms", "--overhead", "off", "-o", tape, "--", "sh", "-c", job, status=0)
    run("export", "-F", "arrow", *columns, "-o", work / "t.arrows", tape, status=0)
    rows = list(csv.reader(io.StringIO(run("export", *columns, tape, status=0).stdout)))
    assert tape.is_dir()
    check_columns(rows, reader(work / "t.arrows")[str(work / "t.arrows")])


def test_damage_is_told(run, recorded, tape):
    data = bytearray(recorded.read_bytes())
    late = len(data) // 8 * 7  # behind the header, which is half of a short tape
    data[late:late + 300] = bytes(300)
    tape.write_bytes(data)
    told = [run("export", "--format", form, tape, status=0, text=False).stderr for form in ("csv", "arrow")]
    assert told[0] == told[1] and told[0]


def test_every_row_of_a_tape_without_samples(run):
    """Rows with a phase are looked for from the beginning, also where no sample gives the tape a range."""
    tape = SOURCE / "tests/tape/v1-attributes.baro"
    rows = run.export(tape, "event")
    assert rows and len(run.export(tape, "event", "--columns", "t_ns,phase")) == len(rows)


# ---- SQLite ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sqlite(baro):
    if not sibling(baro, "baro-sqlite").exists():
        pytest.skip("built without libsqlite3")


def test_what_a_database_says_of_the_tape(run, recorded, work, sqlite):
    run("export", "-F", "sqlite", "-o", work / "made.db", recorded, status=0)
    database = sqlite3.connect(work / "made.db")
    statuses = [(e["status"],) for e in run.export(recorded, "exit")]  # not known in a container
    assert statuses and database.execute("select status from exit").fetchall() == statuses
    unit = "select unit, semantics from baro_columns where kind = 'process' and name = 'cpu_ns'"
    assert database.execute(unit).fetchone() == ("ns", "counter")
    facts = dict(database.execute("select name, value from baro_tape"))
    assert len(facts["id"]) == 32 and "command" in facts and "argument" not in facts
    late = "select julianday(value) - (select min(julianday(time)) from job) from baro_tape where name = 'start'"
    assert database.execute(late).fetchone()[0] < 1e-3


def test_names_that_sqlite_keeps_or_can_not_tell_apart(run, work, sqlite):
    run("export", "-F", "sqlite", "-o", work / "made.db", SOURCE / "tests/tape/v1-collect.baro", status=0)
    database = sqlite3.connect(work / "made.db")
    for table in (*RENAMED.values(), "app"):
        assert database.execute(f"select Foo, foo_2, time_2, name_2 from {table}").fetchone() == (1, 2, 4, 3)


def test_columns_of_one_kind(run, recorded, work, sqlite):
    columns = "t_ns,pid,name,rss_bytes,pss_bytes_absent,cores,user"
    run("export", "-F", "sqlite", "-c", columns, "-o", work / "made.db", recorded, status=0)
    database = sqlite3.connect(work / "made.db")
    assert tables_of(database) == {"process"} | OWN
    rows = list(csv.reader(io.StringIO(run("export", "--columns", columns, recorded, status=0).stdout)))[1:]
    found = database.execute(f"select {columns} from process").fetchall()
    assert len(found) == len(rows) and all(all(map(same, row, other)) for row, other in zip(rows, found))


# ---- Parquet ---------------------------------------------------------------------------------------------------------


def make_python(folder, text):
    made = folder / "python"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


def without(folder, python, *names):
    """A Python without some of the libraries."""
    hide = "".join(f"sys.modules['{name}'] = None; " for name in names)
    code = f"import sys, runpy; {hide}runpy.run_path(sys.argv[1], run_name='__main__')"
    return make_python(folder, f"exec '{python}' -c \"{code}\" \"$@\"")


def parquet(run, tape, *options, interpreter, status=0, **more):
    return run("export", "-F", "parquet", *options, tape, status=status, env={"BARO_PYTHON": str(interpreter)}, **more)


@pytest.mark.not_sanitized("test_every_kind has the same rows, without a second of imports each time")
def test_parquet_has_the_rows(run, recorded, work, python, reader):
    """By pyarrow, or by polars where that is not there; to a file or a pipe; columns keep what they mean."""
    files = {kind: work / f"{kind}.parquet" for kind in (kinds_of(run, recorded) if FULL else ("process", "job", "event"))}
    for kind, path in files.items():
        assert parquet(run, recorded, "-o", path, "--entity", kind, interpreter=python).stderr == ""
    polars, piped = work / "polars.parquet", work / "piped.parquet"
    parquet(run, recorded, "-o", polars, interpreter=without(work, python, "pyarrow"))
    done = parquet(run, recorded, "-e", "job", interpreter=python, text=False)
    piped.write_bytes(done.stdout)
    assert done.stdout[:4] == b"PAR1" and done.stdout == files["job"].read_bytes()
    read = reader(*files.values(), polars, piped)
    for kind, path in [*files.items(), ("process", polars)]:
        text = run("export", "--entity", kind, recorded, status=0).stdout
        check_columns(list(csv.reader(io.StringIO(text))), read[str(path)])
    meaning = {name: meaning for name, _, _, meaning in read[str(files["process"])]}
    assert meaning["cpu_ns"]["unit"] == "ns" and meaning["cpu_ns"]["semantics"] == "counter"
    assert meaning["rss_bytes"]["unit"] == "bytes" and meaning["rss_bytes"]["help"]


def test_nobody_reads_the_output(run, work):
    """It ends by SIGPIPE, as other formats do."""
    done = parquet(run, SMALL, interpreter=make_python(work, "cat >/dev/null; kill -PIPE $$"), status=None)
    assert done.returncode == -signal.SIGPIPE and done.stderr == ""


def test_nothing_of_the_working_directory_is_executed(baro, work, python):
    """An empty folder of PATH or PYTHONPATH means it."""
    for name, text in (("python3", f"#!/bin/sh\n: >{work}/executed"), ("pyarrow.py", f"open('{work}/executed', 'w')")):
        (work / name).write_text(text)
        (work / name).chmod(0o755)
    for path, interpreter in ((":.:", ""), (os.environ["PATH"], python)):
        env = {**os.environ, "PATH": path, "PYTHONPATH": ":.", "BARO_PYTHON": str(interpreter)}
        done = subprocess.run([baro, "export", "-F", "parquet", SMALL], env=env, cwd=work, capture_output=True, check=False)
        assert (done.returncode == 0 or b"install Python 3" in done.stderr) and not (work / "executed").exists(), done


def test_nothing_to_write_with(run, work, python):
    """One line says what to install, and there is no file."""
    none = without(work, python, "pyarrow", "polars")
    before = sorted(os.listdir(work))
    for interpreter, word in ((none, "pip install pyarrow"), (work / "no-python", "install Python 3")):
        done = parquet(run, SMALL, "-o", work / "rows.parquet", interpreter=interpreter, status=2)
        (line,) = done.stderr.splitlines()
        assert line.startswith("baro export: ") and "pyarrow" in line and "polars" in line and word in line
        assert done.stdout == "" and sorted(os.listdir(work)) == before
    assert "there is no python3" in run("export", "-F", "parquet", SMALL, status=2, env={"PATH": str(work)}).stderr


@pytest.mark.parametrize("ends", ["exit 3", "kill -9 $$", "head -c 100; kill -9 $$", "cat; exit 3"])
def test_no_file_if_the_program_fails(run, work, ends):
    """Whether it has read the rows or not, and whatever it has written; a file of that name stays as it was."""
    interpreter, made = make_python(work, f"echo failed >&2\n{ends}"), work / "rows.parquet"
    made.write_text("old")
    before = sorted(os.listdir(work))
    done = parquet(run, SMALL, "-o", made, "--force", interpreter=interpreter, status=2)
    assert done.stderr.startswith("failed\n")
    assert sorted(os.listdir(work)) == before and made.read_text() == "old"


def test_no_file_if_the_export_is_killed(run, work):
    interpreter = make_python(work, "head -c 100\ntouch begun\nsleep 60")
    before = sorted(os.listdir(work))
    export = run.popen("export", "-F", "parquet", "-o", work / "rows.parquet", SMALL, env={"BARO_PYTHON": str(interpreter)}, cwd=work)
    poll((work / "begun").exists, "the program's start")
    export.kill()
    export.wait()
    assert sorted(os.listdir(work)) == sorted([*before, "begun"])


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_file_is_there_whole_or_not_at_all(run, work, recorded, sqlite):
    """None is replaced without --force; a limit of the size of files is an error, not the signal SIGXFSZ; and what a
    format can't do leaves nothing."""
    made = work / "made"
    for form in ("csv", "jsonl", "trace", "arrow", "sqlite", "parquet"):
        made.write_text("mine")
        assert "exists; --force replaces it" in run("export", "-F", form, "-o", made, recorded, status=2).stderr
        assert made.read_text() == "mine"
        if form != "parquet":
            run("export", "-F", form, "--force", "-o", made, recorded, status=0)
            whole = run("export", "-F", form, recorded, text=False).stdout
            assert made.read_bytes() == whole or form == "sqlite" and tables_of(sqlite3.connect(made)) > {"process"}
    before = sorted(path.name for path in work.iterdir())
    limited = [["export", "-F", form] for form in ("csv", "sqlite", "trace")] + [["report", "-F", "html"], ["trim", "--to", "1h"]]
    for command in limited:
        shell = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", run.binary]
        done = subprocess.run([*shell, *command, "-o", work / "large", recorded], capture_output=True, text=True)
        assert done.returncode == 2 and "File too large" in done.stderr, (command, done)
    for form in ("sqlite", "arrow", "parquet"):
        for option in (["--follow"], ["--safe"], ["--dialect", "spare-cores"]):
            done = run("export", "-F", form, *option, "-o", work / "wrong", recorded, status=2)
            assert option[0] in done.stderr and done.stdout == ""
    for wrong in (["-c", "no_such"], ["-e", "nothing"]):
        run("export", "-F", "sqlite", *wrong, "-o", work / "wrong", recorded, status=2)
    done = run("export", "-F", "sqlite", "-c", "pid,pid", "-o", work / "twice.db", recorded, status=2)
    assert "duplicate column" in done.stderr and "-o FILE" in run("export", "-F", "sqlite", recorded, status=2).stderr
    assert sorted(path.name for path in work.iterdir()) == before


# ---- examples --------------------------------------------------------------------------------------------------------


@pytest.mark.not_sanitized("Python would have to be linked with the sanitizer's library")
def test_examples(baro, run, recorded, python):
    """SQL over a tape, by libbaro alone and by the package."""
    library, rows = sibling(baro, "libbaro.so.0"), run.export(recorded)
    if not library.exists():
        pytest.skip("there is no shared library beside the binary")
    env = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "BAROGRAPH_LIBBARO": str(library), "BAROGRAPH_BARO": baro}
    for example, query, expected in (
        ("arrow.py", "select count(*) as n, max(pid) as pid from process", f"n,pid\n{len(rows)},{max(r['pid'] for r in rows)}\n"),
        ("sql.py", "select count(*)::varchar || ' rows' from process", f" {len(rows)} rows "),
    ):
        argv = [python, SOURCE / "examples" / example, recorded, query, *[library] * (example == "arrow.py")]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, env=env)
        assert done.returncode == 0 and expected in done.stdout, done
