# SPDX-License-Identifier: Apache-2.0
"""baro export --format parquet: the file has the numbers of the CSV, and is there whole or not at all."""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess

import arrow_libraries
import pytest
from arrow_reader import kinds_of, same
from conftest import FULL, poll

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SMALL = SOURCE / "tests/tape/v1-small.baro"
LARGE = ("process", "job", "exit", "event", "host", "cpu")  # kinds of which each tape has rows
JOB = "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3'; done; sleep 0.3"

READ_BACK = """
import json, sys
import duckdb, pyarrow, pyarrow.parquet

read = {}
for path in sys.argv[1:]:
    table = pyarrow.parquet.read_table(path)
    assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(table.num_rows,)]
    columns = []
    for field, column in zip(table.schema, table.columns):
        form = "b" if field.type == "bool" else "g" if field.type == "double" else ""
        if pyarrow.types.is_timestamp(field.type):
            form, column = "tsn:UTC", column.cast("int64")
        meaning = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        columns.append((field.name, form, column.to_pylist(), meaning))
    read[path] = columns
print(json.dumps(read))
"""


@pytest.fixture(scope="module")
def python():
    return arrow_libraries.find_python()


def make_python(folder, python, *without):
    """A Python without some of the libraries."""
    made = folder / "python"
    hide = "".join(f"sys.modules['{name}'] = None; " for name in without)
    made.write_text(
        f"#!/bin/sh\nexec '{python}' -c \"import sys, runpy; {hide}runpy.run_path(sys.argv[1], run_name='__main__')\" "
        '"$@"\n'
    )
    made.chmod(0o755)
    return made


def read_back(python, *paths):
    done = subprocess.run([python, "-c", READ_BACK, *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(run, tape, kind, columns):
    """All rows of a kind, as CSV and as read from a file."""
    names, *rows = csv.reader(io.StringIO(run("export", "--entity", kind, tape, status=0).stdout))
    assert [name for name, *_ in columns] == names
    for i, (name, form, values, _) in enumerate(columns):
        assert len(values) == len(rows)
        for row, value in zip(rows, values):
            assert same(row[i], value, form), f"{kind}.{name}: {row[i]!r} and {value!r}"
    return len(rows)


def export(run, tape, to, *options, interpreter, status=0):
    env = {"BARO_PYTHON": str(interpreter)}
    return run("export", "--format", "parquet", "-o", to, *options, tape, status=status, env=env)


@pytest.mark.not_sanitized("test_arrow has the same rows, without a second of imports each time")
def test_every_kind(run, tape, work, python):
    run.record(tape, JOB, "--interval", "20ms", "--metrics", "all", status=0)
    files = {kind: str(work / f"{kind}.parquet") for kind in (kinds_of(run, tape) if FULL else LARGE)}
    for kind, path in files.items():
        assert export(run, tape, path, "--entity", kind, interpreter=python).stderr == ""
    read = read_back(python, *files.values())
    rows = {kind: compare(run, tape, kind, read[path]) for kind, path in files.items()}
    assert all(rows[kind] for kind in LARGE)
    meaning = {name: meaning for name, _, _, meaning in read[files["process"]]}
    assert meaning["cpu_ns"]["unit"] == "ns" and meaning["cpu_ns"]["semantics"] == "counter"
    assert meaning["rss_bytes"]["unit"] == "bytes" and meaning["rss_bytes"]["help"]


@pytest.mark.not_sanitized("test_arrow has the same rows, without a second of imports each time")
def test_polars_where_there_is_no_pyarrow(run, tape, work, python):
    run.record(tape, JOB, "--interval", "20ms")
    made = str(work / "process.parquet")
    export(run, tape, made, interpreter=make_python(work, python, "pyarrow"))
    compare(run, tape, "process", read_back(python, made)[made])


@pytest.mark.not_sanitized("test_arrow has the same rows, without a second of imports each time")
def test_columns_and_a_pipe(run, tape, work, python):
    run.record(tape, JOB, "--interval", "20ms")
    made = work / "job.parquet"
    options = ["--entity", "job", "--columns", "t_ns,cpu"]
    export(run, tape, made, *options, interpreter=python)
    done = run("export", "-F", "parquet", *options, tape, status=0, text=False, env={"BARO_PYTHON": str(python)})
    assert done.stdout[:4] == b"PAR1" and done.stdout == made.read_bytes()
    columns = read_back(python, str(made))[str(made)]
    assert [name for name, *_ in columns] == ["t_ns", "cpu_ns"]


def test_nobody_reads_the_output(run, work):
    """It ends by SIGPIPE, as other formats do."""
    interpreter = work / "python"
    interpreter.write_text("#!/bin/sh\ncat >/dev/null; kill -PIPE $$\n")
    interpreter.chmod(0o755)
    done = run("export", "-F", "parquet", SMALL, env={"BARO_PYTHON": str(interpreter)})
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
    made = work / "rows.parquet"
    none = make_python(work, python, "pyarrow", "polars")
    before = sorted(os.listdir(work))
    for interpreter, word in ((none, "pip install pyarrow"), (work / "no-python", "install Python 3")):
        done = export(run, SMALL, made, interpreter=interpreter, status=2)
        (line,) = done.stderr.splitlines()
        assert line.startswith("baro export: ") and "pyarrow" in line and "polars" in line and word in line
        assert done.stdout == "" and sorted(os.listdir(work)) == before
    assert "there is no python3" in run("export", "-F", "parquet", SMALL, status=2, env={"PATH": str(work)}).stderr


@pytest.mark.parametrize("ends", ["exit 3", "kill -9 $$", "head -c 100; kill -9 $$", "cat; exit 3"])
def test_no_file_if_the_program_fails(run, work, ends):
    """Whether it has read the rows or not, and whatever it has written; a file of that name stays as it was."""
    interpreter, made = work / "python", work / "rows.parquet"
    interpreter.write_text(f"#!/bin/sh\necho failed >&2\n{ends}\n")
    interpreter.chmod(0o755)
    made.write_text("old")
    before = sorted(os.listdir(work))
    done = export(run, SMALL, made, "--force", interpreter=interpreter, status=2)
    assert done.stderr.startswith("failed\n")
    assert sorted(os.listdir(work)) == before and made.read_text() == "old"


def test_no_file_if_the_export_is_killed(run, work):
    interpreter, made = work / "python", work / "rows.parquet"
    interpreter.write_text("#!/bin/sh\nhead -c 100\ntouch begun\nsleep 60\n")
    interpreter.chmod(0o755)
    before = sorted(os.listdir(work))
    export = run.popen("export", "-F", "parquet", "-o", made, SMALL, env={"BARO_PYTHON": str(interpreter)}, cwd=work)
    poll((work / "begun").exists, "the program's start")
    export.kill()
    export.wait()
    assert sorted(os.listdir(work)) == sorted([*before, "begun"])


def test_what_does_not_fit(run, work):
    made = work / "rows.parquet"
    made.write_text("old")
    assert "exists" in run("export", "-F", "parquet", "-o", made, SMALL, status=2).stderr
    assert made.read_text() == "old"
    for option in (["--follow"], ["--safe"], ["--dialect", "spare-cores"]):
        done = run("export", "-F", "parquet", *option, SMALL, status=2)
        assert option[0] in done.stderr and done.stdout == ""
