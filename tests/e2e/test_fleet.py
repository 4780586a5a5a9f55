# SPDX-License-Identifier: Apache-2.0
"""baro export --fleet: the rows of whole jobs are those of `baro summary --json`, each tape is there once, and the queries
of examples/fleet have the answers that the summaries have."""

import collections
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

import pytest
from conftest import FULL, SOURCE
from nvidia import gpus, readings, record_until  # noqa: F401 (a fixture)
from tapefile import HEADER, Tape

sys.path.append(str(SOURCE / "tests" / "python"))
import environments  # noqa: E402

FLEET = SOURCE / "examples/fleet"
TABLES = ("job", "command", "phase", "device", "tag")
EMPTY = "date=1970-01-01/host=_/part.parquet"
NEEDED = "import duckdb, pyarrow.parquet"
# Columns of `job` that are elsewhere in the summary: in which section, and under which name.
ELSEWHERE = {
    "exit_status": "exit.status", "exit_signal": "exit.signal", "ended_by": "exit.ended_by", "is_detached": "exit.is_detached",
    "cores_allowed": "limits.cores_at_most", "throttled_ns": "limits.throttled_ns", "oom_kills": "limits.oom_kills",
    "memory_needed_bytes": "limits.memory_peak_bytes", "memory_needed_at_most_bytes": "limits.memory_peak_at_most_bytes",
    "memory_limit_bytes": "limits.memory_at_most_bytes", "memory_limit_source": "limits.memory_at_most_source",
    "wall_ns": "wall_ns", "damaged_bytes": "recorder.damaged_bytes", "recorder_cpu_ns": "recorder.cpu_ns",
    "pressure_io_some_ratio": "host.pressure.io_some_ratio",
}
OF_JOB = ("cpu_ns", "cpu_user_ns", "cores_peak", "run_delay_ns", "rss_peak_bytes", "pss_peak_bytes", "io_write_bytes", "io_rchar_bytes",
          "threads_peak", "processes_started", "tcp_sent_bytes", "faults_major")
# Prints {table: [rows]} of the folder, or the rows of a query with views.sql before it.
READ = """
import json, pathlib, sys
import duckdb
db = duckdb.connect()
db.sql("set timezone = 'UTC'")
views, queries = sys.argv[1], sys.argv[2:]
db.sql(pathlib.Path(views).read_text())
for query in queries:
    found = db.sql(query)
    print(json.dumps([dict(zip(found.columns, row)) for row in found.fetchall()], default=str))
"""
pytestmark = pytest.mark.xdist_group("formats")


@pytest.fixture(scope="module")
def python():
    """A Python with pyarrow and duckdb: this one, or that of an environment that is made once, where PyPI can be reached."""
    if subprocess.run([sys.executable, "-c", NEEDED], capture_output=True).returncode == 0:
        return sys.executable
    return environments.others() / "bin/python"


@pytest.fixture
def export(run, python, work):
    """export(tapes...): the line that baro export --fleet prints."""
    def to(*tapes, status=0):
        done = run("export", "--fleet", work / "fleet", *tapes, env={"BARO_PYTHON": python}, status=status)
        return done.stdout.strip() if status == 0 else (done.stdout.strip(), done.stderr.strip())

    return to


@pytest.fixture
def ask(python, work):
    """ask(query...): the rows of each, in DuckDB."""
    def rows(*queries):
        done = subprocess.run([python, "-c", READ, FLEET / "views.sql", *queries], cwd=work / "fleet", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return found[0] if len(queries) == 1 else found

    return rows


@pytest.fixture
def jobs(run, work):
    """A small fleet: real recordings of different users of the machine."""
    tapes = work / "tapes"
    tapes.mkdir()
    burn = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
    run.record(tapes / "burns.baro", burn, "--name", "burns", "--tag", "partition=long", "--tag", "git.commit=0123abcd")
    run.record(tapes / "fails.baro", "sort /etc/services >/dev/null; exit 3", "--name", "fails", status=3)
    run.record(tapes / "phases.baro", f"{run.binary} phase load -- sh -c '{burn}'; {run.binary} phase fit -- true", "--name", "phases")
    hog = [sys.executable, "-c", "x = bytearray(300_000_000); import time; time.sleep(100)"]
    run.record(tapes / "hog.baro", hog, "--limit", "rss=100MB", "--name", "hog", status=124)
    slurm = {"SLURM_JOB_ID": "77", "SLURM_MEM_PER_NODE": "900", "SLURM_CPUS_ON_NODE": "1"}
    run.record(tapes / "slurm.baro", burn, "--name", "wasteful", env=slurm)
    return tapes


def fact(summary, name):
    """A value of the summary by its path; "host.pressure" is one section."""
    for part in name.split("."):
        summary = (summary or {}).get(part)
    return summary


def test_rows_are_those_of_the_summary(run, export, ask, jobs):
    assert export(jobs) == "5 jobs written"
    found = {row["name"]: row for row in ask("select * from job")}
    for path in sorted(jobs.iterdir()):
        s = run.summary(path)
        row = found[s["name"]]
        assert row["tape"] == str(path) and row["schema"] == 1 and row["state"] == "ended"
        for column, name in {**ELSEWHERE, **{name: f"job.{name}" for name in OF_JOB}}.items():
            want = fact(s, name)
            assert row[column] == (pytest.approx(want, rel=1e-12) if isinstance(want, float) else want), (path, column)
            mark = s["marks"].get(name)
            for kind in ("lower_bound", "upper_bound", "estimate"):
                assert (column in (row[f"{kind}s"] or "").split(",")) == (mark == kind and want is not None), (path, column, mark)
        assert row["kernel"] == os.uname().release and row["host"] == os.uname().nodename
        assert datetime.datetime.fromisoformat(row["start"]).date() == datetime.date.fromisoformat(row["date"])
    assert found["burns"]["partition"] == "long" and found["burns"]["git_commit"] == "0123abcd" and found["fails"]["partition"] is None
    assert found["hog"]["ended_by"] == "rss" and found["hog"]["is_failed"] and found["fails"]["is_failed"] and not found["burns"]["is_failed"]


def test_commands_phases_and_tags(run, export, ask, jobs):
    export(jobs)
    commands, phases, tags = ask("select * from command", "select * from phase", "select * from tag")
    want = collections.Counter()
    for path in jobs.iterdir():
        s = run.summary(path)
        for c in s["commands"]:
            row = next(r for r in commands if r["name"] == s["name"] and r["command"] == c["name"])
            assert all(row[k] == c[k] for k in ("processes", "cpu_ns", "cpu_user_ns", "rss_peak_bytes", "io_read_bytes")), (row, c)
            want[c["name"]] += 1
    assert want == collections.Counter(r["command"] for r in commands)
    assert {(r["name"], r["phase"]) for r in phases} == {("phases", "load"), ("phases", "fit")}
    by_phase = {p["path"]: p for p in json.loads(run("summary", "--by", "phase", "--json", jobs / "phases.baro", status=0).stdout)["phases"]}
    for row in phases:
        assert row["wall_ns"] == by_phase[row["phase"]]["wall_ns"] and row["cpu_ns"] == by_phase[row["phase"]]["cpu_ns"]
    assert {(r["name"], r["key"], r["value"]) for r in tags} >= {("burns", "partition", "long"), ("burns", "git.commit", "0123abcd")}


def test_what_was_set_aside_and_not_used(run, export, ask, jobs):
    """900 MB for the whole time, of which some were needed. Where nothing was set aside, nothing is wasted."""
    export(jobs)
    found = {row["name"]: row for row in ask("select * from job")}
    s = run.summary(jobs / "slurm.baro")
    wall_s, limits = s["wall_ns"] / 1e9, s["limits"]
    assert limits["memory_at_most_source"] == "SLURM_MEM_PER_NODE"
    want = (limits["memory_at_most_bytes"] - limits["memory_peak_bytes"]) * wall_s
    row = found["wasteful"]
    assert row["memory_unused_byte_seconds"] == pytest.approx(want)
    is_bound = "memory_needed_bytes" in (row["lower_bounds"] or "").split(",")
    assert ("memory_unused_byte_seconds" in (row["upper_bounds"] or "").split(",")) == is_bound
    if limits["cores_at_most_source"] != "machine":
        assert row["cpu_unused_core_seconds"] == pytest.approx(max(0, limits["cores_at_most"] * wall_s - s["job"]["cpu_ns"] / 1e9))
    if run.summary(jobs / "burns.baro")["limits"]["memory_at_most_source"] == "machine":
        assert found["burns"]["memory_unused_byte_seconds"] is None


def test_each_tape_is_there_once(run, export, ask, jobs, work):
    assert export(jobs / "burns.baro") == "1 job written"
    assert export(jobs) == "4 jobs written, 1 was there already"
    shutil.copy(jobs / "burns.baro", work / "copy.baro")
    assert export(jobs, work / "copy.baro") == "0 jobs written, 5 were there already, 1 a copy of another"
    assert ask("select count(*) n, count(distinct id) ids from job") == [{"n": 5, "ids": 5}]
    files = [p.relative_to(work / "fleet").as_posix() for p in (work / "fleet").rglob("*") if p.is_file()]
    host = os.uname().nodename
    assert all(re.fullmatch(rf"(\.tapes|{'|'.join(TABLES)})/date=[\d-]+/host=({host}|_)(/part\.parquet)?", f) for f in files), files


def test_an_export_that_was_killed_is_done_again(export, ask, jobs, work):
    """Before the tapes are written down, rows of them may be there already: they are replaced."""
    export(jobs / "burns.baro", jobs / "phases.baro")
    (index,) = (p for p in (work / "fleet/.tapes").rglob("*") if p.is_file())
    index.write_text(index.read_text()[:36])  # a line that was cut off
    assert export(jobs) == "5 jobs written"
    assert ask("select count(*) n, count(distinct id) ids from job") == [{"n": 5, "ids": 5}]
    assert ask("select count(*) n from phase") == [{"n": 2}]
    assert export(jobs) == "0 jobs written, 5 were there already"


def test_a_tape_that_was_continued_replaces_its_rows(export, ask, jobs, work):
    """A tape that was cut off has an end later (here: a copy with and without its last bytes)."""
    whole = (jobs / "burns.baro").read_bytes()
    one = work / "one.baro"
    one.write_bytes(whole[:-200])
    assert export(one) == "1 job written, 1 of a tape without its end"
    assert [r["state"] for r in ask("select state from job")] == ["cut off"]
    one.write_bytes(whole)
    assert export(one) == "1 job written"
    assert [r["state"] for r in ask("select state from job")] == ["ended"]


def test_what_is_not_written_is_named(run, export, ask, jobs, work):
    (jobs / "broken.baro").write_bytes(b"no tape at all")
    running = run.popen("run", "-q", "-o", jobs / "runs.baro", "--", "sleep", "100")
    try:
        run.await_samples(jobs / "runs.baro")
        out, err = export(jobs, status=2)
        assert out == "5 jobs written, 1 still runs, 1 can't be read"
        assert err.count("\n") == 0 and "broken.baro" in err and err.startswith("baro export: not written: ")
    finally:
        running.terminate()
        running.wait()
    run.await_end(jobs / "runs.baro")
    assert export(jobs, status=2)[0] == "1 job written, 5 were there already, 1 can't be read"


def test_damage_is_counted(export, ask, jobs, work):
    data = bytearray((jobs / "burns.baro").read_bytes())
    front = len(Tape(bytes(data)).front())
    middle = front + (len(data) - front) // 2
    data[middle:middle + 8] = b"\0" * 8
    damaged = work / "damaged.baro"
    damaged.write_bytes(data)
    said = export(damaged)
    (row,) = ask("select * from job")
    assert said.startswith("1 job written") and ("damaged" in said) == (row["damaged_bytes"] > 0)
    assert row["damaged_bytes"] > 0 or row["state"] != "ended"


def test_hostile_names(run, export, ask, hostile_tape, work):
    """A host's name is a part of a path, but no path."""
    tape = Tape(hostile_tape.read_bytes())
    host = os.uname().nodename.encode()
    evil = (b"../../../" + b"x'\"%" * len(host))[:len(host)]
    (header,) = (f for f in tape.frames if f[0] == HEADER)
    assert header[2].count(host)
    header[2] = header[2].replace(host, evil)
    (work / "evil.baro").write_bytes(bytes(tape))
    assert export(work / "evil.baro") == "1 job written"
    (row,) = ask("select * from job")
    assert row["host"] == evil.decode()
    assert all(p.parent.name != ".." and p.is_relative_to(work / "fleet") for p in (work / "fleet").rglob("*.parquet"))
    assert len(list((work / "fleet/job").iterdir())) == 2
    assert all("\x1b" not in r["command"] and "\n" not in r["command"] for r in ask("select command from command"))


def test_without_pyarrow_it_says_so(run, jobs, work):
    (work / "pyarrow.py").write_text("raise ImportError('not here')")
    done = run("export", "--fleet", work / "fleet", jobs, env={"BARO_PYTHON": sys.executable, "PYTHONPATH": work}, status=2)
    assert done.stderr.count("\n") == 1 and "pip install pyarrow" in done.stderr and done.stdout == ""
    done = run("export", "--fleet", work / "fleet", jobs, env={"BARO_PYTHON": "/nowhere/python3"}, status=2)
    assert done.stderr.count("\n") == 1 and "/nowhere/python3" in done.stderr


@pytest.mark.parametrize("wrong, said", [
    (("--fleet", "F", "-o", "x"), "--output and --fleet"), (("--fleet", "F", "-e", "job"), "--entity and --fleet"),
    (("--fleet", "F", "--all", "a.baro"), "--all and a tape"), (("--all",), "--all is for --fleet"),
    (("--since", "1d"), "--since is for --fleet"), (("a.baro", "b.baro"), "one tape at a time"),
    (("--fleet", "F", "--since", "soon"), "--since"),
])
def test_wrong_calls(run, wrong, said):
    done = run("export", *wrong, status=2)
    assert done.stderr.count("\n") == 1 and said in done.stderr


def test_since_and_all(run, export, work, monkeypatch):
    """--all has what `baro push --all` sends: also runs that were announced, whose tapes are elsewhere."""
    announced = work / "announced"
    announced.mkdir()
    run("run", "-q", "--", "true", status=0)
    job = run.popen("run", "-q", "-o", work / "elsewhere.baro", "--", "sleep", "100", env={"BARO_ANNOUNCED": announced})
    try:
        run.await_samples(work / "elsewhere.baro")
        monkeypatch.setenv("BARO_ANNOUNCED", str(announced))
        assert export("--all", "--since", "1d") == "1 job written, 1 still runs"
        assert export() == "0 jobs written, 1 was there already"
    finally:
        job.terminate()
        job.wait()


# ---- the queries ---------------------------------------------------------------------------------------------------


@pytest.fixture
def many(run, work):
    """Jobs enough for medians, half of them under another kernel's name."""
    tapes = work / "many"
    tapes.mkdir()
    kernel = os.uname().release.encode()
    for i in range(20):
        run.record(tapes / f"a{i}.baro", "sort /etc/services >/dev/null; true", "--name", "sorts")
        run.record(tapes / f"b{i}.baro", "for i in 1 2 3 4; do sort /etc/services; done >/dev/null; true", "--name", "sorts")
    for path in tapes.glob("b*.baro"):
        tape = Tape(path.read_bytes())
        (header,) = (f for f in tape.frames if f[0] == HEADER)
        header[2] = header[2].replace(kernel, b"9" + kernel[1:])
        path.write_bytes(bytes(tape))
    return tapes


def slower(summaries):
    """Medians of the CPU time of a process, by command and kernel, of values that are no lower bounds."""
    ms = collections.defaultdict(list)
    for s in summaries:
        for i, c in enumerate(s["commands"]):
            if s["marks"].get(f"commands.{i}.cpu_ns") != "lower_bound" and c["cpu_ns"] is not None:
                ms[c["name"], s["host"]["kernel"][0] == "9"].append(c["cpu_ns"] / c["processes"] / 1e6)
    return {
        name: (statistics.median(of), statistics.median(ms[name, True]))
        for (name, is_new), of in ms.items()
        if not is_new and len(of) >= 20 and len(ms[name, True]) >= 20 and statistics.median(ms[name, True]) > 1.05 * statistics.median(of)
    }


def expected(summaries):
    """The answers of the queries, from the summaries alone."""
    hours = collections.Counter()
    for s in summaries:
        hours[s["name"]] += s["job"]["cpu_ns"] / 3.6e12
    wasteful = [s for s in summaries if s["limits"]["memory_at_most_source"] != "machine" and not s["exit"]["ended_by"]]
    waste = sum((s["limits"]["memory_at_most_bytes"] - s["limits"]["memory_peak_bytes"]) * s["wall_ns"] / 3.6e21 for s in wasteful)
    failed = [s for s in summaries if s["exit"]["status"] or s["exit"]["signal"] or s["exit"]["ended_by"]]
    return {
        "core_hours": {name: round(v, 3) for name, v in hours.items()},
        "memory_waste": (len(wasteful), round(waste, 3)),
        "top_users": (len(summaries), round(sum(hours.values()), 3), round(100 * len(failed) / len(summaries), 1)),
        "kills": {s["name"] for s in summaries if s["limits"]["oom_kills"] or s["exit"]["ended_by"]},
        "slower_commands": {name: (round(a, 3), round(b, 3)) for name, (a, b) in slower(summaries).items()},
    }


def check_answers(rows, want):
    """rows: those of each query by its name."""
    assert {r["title"]: pytest.approx(float(r["used_core_hours"]), abs=2e-3) for r in rows["core_hours"]} == want["core_hours"]
    assert sum(int(r["jobs"]) for r in rows["memory_waste"]) == want["memory_waste"][0]
    assert sum(float(r["wasted_gb_hours"]) for r in rows["memory_waste"]) == pytest.approx(want["memory_waste"][1], abs=2e-3)
    (user,) = rows["top_users"]
    assert (int(user["jobs"]), float(user["percent_failed"])) == (want["top_users"][0], pytest.approx(want["top_users"][2], abs=0.11))
    assert float(user["used_core_hours"]) == pytest.approx(want["top_users"][1], abs=2e-3)
    assert {r["title"] for r in rows["kills"]} == want["kills"]
    found = {r["command"]: (pytest.approx(float(r["ms_before"]), rel=0.02), pytest.approx(float(r["ms_after"]), rel=0.02)) for r in rows["slower_commands"]}
    assert found == want["slower_commands"]
    assert rows["silent_nodes"] == [] and (rows["idle_gpus"] == [])


QUERIES = sorted(p for p in FLEET.glob("*.sql") if not p.name.startswith("views"))
IN_CHDB = """
import json, pathlib, sys
from chdb import session
db = session.Session()
for statement in pathlib.Path(sys.argv[1]).read_text().split(";\\n"):
    if statement.strip():
        db.query(statement)
for query in sys.argv[2:]:
    print(json.dumps([json.loads(line) for line in str(db.query(query, "JSONEachRow")).splitlines()]))
"""


def test_the_views_of_both_engines_are_the_same():
    duckdb, clickhouse = ((FLEET / name).read_text().split("\n", 1)[1] for name in ("views.sql", "views.clickhouse.sql"))
    assert re.sub(r"read_parquet\(('.*?'), hive_partitioning = true\)", r"file(\1, Parquet)", duckdb) == clickhouse


@pytest.mark.not_sanitized("a limit of the address space is too little for a sanitizer")
def test_ranks_are_one_job(run, export, ask, work):
    """And share what was set aside on their machine. A job that ran out of memory has wasted none, and ulimit sets
    nothing aside."""
    slurm = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_MEM_PER_NODE": "900", "SLURM_JOB_PARTITION": "long"}
    for rank in range(3):
        run("run", "-q", "-o", work / "%r.baro", "--name", "ranked", "--", "sort", "/etc/services", stdout=subprocess.DEVNULL, status=0,
            env={**slurm, "SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "3", "SLURM_LOCALID": str(rank)})
    hog = [sys.executable, "-c", "x = bytearray(300_000_000); import time; time.sleep(100)"]
    run.record(work / "hog.baro", hog, "--limit", "rss=100MB", "--name", "hog", status=124, env={"SLURM_MEM_PER_NODE": "900"})
    bounded = ["bash", "-c", "ulimit -v 900000; exec " + run.binary + f" run -q -o {work}/bounded.baro -- true"]
    subprocess.run(bounded, check=True)
    tapes = sorted(work.glob("*.baro"))
    assert export(*tapes) == "5 jobs written"
    jobs, shares, waste, hours, (user,) = ask("select * from job", "select * from share", *(
        (FLEET / f"{name}.sql").read_text() for name in ("memory_waste", "core_hours", "top_users")))
    assert {j["partition"] for j in jobs if j["name"] == "ranked"} == {"long"} and len(shares) == 3
    (ranked,) = (s for s in shares if s["title"] == "ranked")
    of_ranks = [run.summary(tape) for tape in tapes[:3]]
    allowed = max(s["wall_ns"] / 3.6e12 * s["limits"]["memory_at_most_bytes"] / 1e9 for s in of_ranks)
    used = sum(s["wall_ns"] / 3.6e12 * s["limits"]["memory_peak_bytes"] / 1e9 for s in of_ranks)
    assert ranked["ranks"] == 3 and ranked["gb_hours_unused"] == pytest.approx(allowed - used)
    assert [w["jobs"] for w in waste] == [1]
    assert {h["title"]: h["jobs"] for h in hours}["ranked"] == 1 and user["jobs"] == 3


@pytest.mark.long
def test_queries(run, export, ask, jobs, many, python, work):
    export(jobs, many)
    summaries = [run.summary(path) for folder in (jobs, many) for path in sorted(folder.iterdir())]
    want = expected(summaries)
    texts = [path.read_text() for path in QUERIES]
    check_answers(dict(zip((p.stem for p in QUERIES), ask(*texts))), want)
    # A folder that is packed has the same rows.
    before = ask("select count(*) n, sum(cpu_ns)::bigint cpu from job", "select count(*) n from command", "select count(*) n from device")
    for _ in range(2):
        subprocess.run([python, FLEET / "pack.py", "fleet", "packed"], cwd=work, check=True, capture_output=True)
        shutil.move(work / "fleet", work / "unpacked")
        (work / "packed").rename(work / "fleet")
        assert ask("select count(*) n, sum(cpu_ns)::bigint cpu from job", "select count(*) n from command", "select count(*) n from device") == before
        (work / "fleet").rename(work / "packed")
        shutil.move(work / "unpacked", work / "fleet")


@pytest.mark.long
@pytest.mark.skipif(not FULL, reason="chDB is 140 MB to fetch: ./check --full")
def test_queries_in_chdb(run, export, jobs, many, work):
    chdb = environments.kept("chdb", "chdb") / "bin/python"
    export(jobs, many)
    want = expected([run.summary(path) for folder in (jobs, many) for path in sorted(folder.iterdir())])
    texts = [path.read_text() for path in QUERIES]
    done = subprocess.run([chdb, "-c", IN_CHDB, FLEET / "views.clickhouse.sql", *texts], cwd=work / "fleet", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_answers(dict(zip((p.stem for p in QUERIES), map(json.loads, done.stdout.splitlines()))), want)


@pytest.mark.long
def test_a_large_fleet_by_replay(export, jobs, python, work):
    """Jobs are copied with all that belongs to them."""
    export(jobs)
    subprocess.run([python, FLEET / "replay.py", "fleet", "large", "5000"], cwd=work, check=True, capture_output=True)
    done = subprocess.run([python, FLEET / "measure.py", work / "large", "duckdb"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == [p.stem for p in QUERIES]


# ---- the documents -------------------------------------------------------------------------------------------------


def test_the_columns_are_documented(export, ask, jobs):
    """docs/fleet.md names each column of each table, and no other."""
    export(jobs)
    text = (SOURCE / "docs/fleet.md").read_text()
    common = None
    for table in TABLES:
        (part,) = re.findall(rf"^### {table}\n(.*?)(?=^##|\Z)", text, re.M | re.S)
        named = [name for row in re.findall(r"^\| (`.*?) \|", part, re.M) for name in re.findall(r"`(\w+)`", row)]
        common = named[:8] if common is None else common
        columns = [r["column_name"] for r in ask(f"describe select * from read_parquet('{table}/{EMPTY}', hive_partitioning = false)")]
        assert sorted(named if table == "job" else [*common, *named]) == sorted(columns), table


def test_devices(run, export, ask, gpus, work):
    """Each GPU that the job could see, and who held it without using it."""
    gpus.write("0 util 50", "0 buffer none", "1 util 0", "1 buffer none", devices=2)
    record_until(run, work / "gpu.baro", gpus, lambda r: len(readings(r, "gpu1")) >= 4, "--name", "trains")
    export(work / "gpu.baro")
    s = run.summary(work / "gpu.baro")
    found = ask("select * from device order by device")
    assert [r["device"] for r in found] == ["gpu0", "gpu1"] == [g["name"] for g in s["gpus"]]
    for row, gpu in zip(found, s["gpus"]):
        for name in ("model", "is_used", "watched_ns", "busy_ns", "busy_job_ns", "memory_total_bytes", "power_mean_watts"):
            assert row[name] == (pytest.approx(gpu[name]) if isinstance(gpu[name], float) else gpu[name]), name
    (job,) = ask("select gpus_visible, gpus_used, gpu_busy_ns from job")
    assert (job["gpus_visible"], job["gpus_used"], job["gpu_busy_ns"]) == tuple(s["gpu"][k] for k in ("visible", "used", "busy_job_ns"))
    (idle,) = ask((FLEET / "idle_gpus.sql").read_text())
    held = sum(g["watched_ns"] - (g["busy_job_ns"] or 0) for g in s["gpus"])
    assert idle["name"] == "trains" and idle["jobs"] == 1 and idle["gpu_hours_idle"] == pytest.approx(held / 3.6e12, abs=1e-3)
