# SPDX-License-Identifier: Apache-2.0
"""baro export --format sqlite: a database whose tables are the rows of the CSV."""

import csv
import io
import math
import pathlib
import sqlite3
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RENAMED = {"sqlite_x": "_sqlite_x", "baro_tape": "baro_tape_2", "baro_columns": "baro_columns_2"}
TAPES = sorted((SOURCE / "tests/tape").glob("*.baro"))
JOB = "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3'; done; sleep 0.2"
OWN = {"baro_columns", "baro_tape"}


@pytest.fixture(autouse=True)
def has_program(baro):
    if not pathlib.Path(baro).with_name("baro-sqlite").exists():
        pytest.skip("built without libsqlite3")


def tables_of(database):
    return {row[0] for row in database.execute("select name from sqlite_master where type = 'table'")}


def same(text, value):
    if value is None or value == "":
        return text == ""
    if isinstance(value, float):
        return math.isclose(float(text), value, rel_tol=1e-14, abs_tol=0)
    return text == str(value)


def compare(run, database, tape, kind, *columns, table=None):
    text = run("export", "--entity", kind, *columns, tape, status=0).stdout
    names, *rows = csv.reader(io.StringIO(text))
    cursor = database.execute(f'select * from "{table or kind}"')
    assert [column[0] for column in cursor.description] == names
    found = cursor.fetchall()
    assert len(found) == len(rows)
    for expected, row in zip(rows, found):
        for name, cell, value in zip(names, expected, row):
            assert same(cell, value), f"{kind}.{name}: {cell!r} and {value!r}"
    return found


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_tapes_of_every_version(run, tape, work):
    made = work / "made.db"
    run("export", "--format", "sqlite", "-o", made, tape, status=0)
    database = sqlite3.connect(made)
    kinds = {table: kind for kind, table in RENAMED.items()}
    for table in tables_of(database) - OWN:
        compare(run, database, tape, kinds.get(table, table), table=table)


def test_a_table_for_each_kind(run_both, tape, work):
    run = run_both
    run.record(tape, JOB, "--interval", "20ms")
    made = run.work / "made.db"
    run("export", "--format", "sqlite", "-o", made, tape, status=0)
    database = sqlite3.connect(made)
    assert tables_of(database) >= {"process", "job", "exit", "event", "host", "cpu"} | OWN
    for kind in tables_of(database) - OWN:
        compare(run, database, tape, kind)
    assert database.execute("select count(*) from exit where status = 3").fetchone() == (3,)
    unit = "select unit, semantics from baro_columns where kind = 'process' and name = 'cpu_ns'"
    assert database.execute(unit).fetchone() == ("ns", "counter")
    facts = dict(database.execute("select name, value from baro_tape"))
    assert len(facts["id"]) == 32 and "command" in facts and "argument" not in facts
    start = database.execute("select value from baro_tape where name = 'start'").fetchone()[0]
    assert (database.execute("select julianday(?) - (select min(julianday(time)) from job)",
                             [start]).fetchone()[0] < 1e-3)


def test_names_that_sqlite_keeps_or_can_not_tell_apart(run, tape, work):
    kinds = {**RENAMED, "app": "app"}
    tape = SOURCE / "tests/tape/v1-collect.baro"
    made = work / "made.db"
    run("export", "--format", "sqlite", "-o", made, tape, status=0)
    database = sqlite3.connect(made)
    assert tables_of(database) >= set(kinds.values()) | OWN
    for kind, table in kinds.items():
        compare(run, database, tape, kind, table=table)
        assert database.execute(f"select Foo, foo_2, time_2, name_2 from {table}").fetchone() == (1, 2, 4, 3)


def test_columns_of_one_kind(run, tape, work):
    run.record(tape, JOB, "--interval", "20ms")
    made = work / "made.db"
    columns = "t_ns,pid,name,rss,pss_absent,cores,user"
    run("export", "--format", "sqlite", "-c", columns, "-o", made, tape, status=0)
    database = sqlite3.connect(made)
    assert tables_of(database) == {"process"} | OWN
    compare(run, database, tape, "process", "--columns", columns)


def test_file_is_there_whole_or_not_at_all(run, tape, work):
    run.record(tape, "true", "--interval", "20ms")
    made = work / "made.db"
    made.write_text("mine")
    done = run("export", "--format", "sqlite", "-o", made, tape, status=2)
    assert "exists; --force replaces it" in done.stderr and made.read_text() == "mine"
    run("export", "--format", "sqlite", "--force", "-o", made, tape, status=0)
    assert "process" in tables_of(sqlite3.connect(made))
    before = sorted(path.name for path in work.iterdir())
    done = run("export", "--format", "sqlite", "-c", "pid,pid", "-o", work / "twice.db", tape, status=2)
    assert "duplicate column" in done.stderr
    assert sorted(path.name for path in work.iterdir()) == before
    limited = [  # a limit of the size of files is an error, not the signal SIGXFSZ
        ["export", "--format", "sqlite"], ["export"], ["export", "--format", "trace"], ["report", "-F", "html"],
        ["trim", "--to", "1h"],
    ]  # fmt: skip
    for command in limited:
        shell = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", run.binary]
        done = subprocess.run([*shell, *command, "-o", work / "large", tape], capture_output=True, text=True)
        assert done.returncode == 2 and "File too large" in done.stderr, (command, done)
        assert sorted(path.name for path in work.iterdir()) == before
    for wrong in (["-c", "no_such"], ["--safe"], ["--follow"], ["--dialect", "spare-cores"], ["-e", "nothing"]):
        run("export", "--format", "sqlite", *wrong, "-o", work / "wrong.db", tape, status=2)
    assert "-o FILE" in run("export", "--format", "sqlite", tape, status=2).stderr
    assert sorted(path.name for path in work.iterdir()) == before
