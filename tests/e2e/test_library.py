# SPDX-License-Identifier: Apache-2.0
"""libbaro as a program outside the project uses it: the examples are built against the shared library, and print the
same values as baro.
"""

import csv
import ctypes
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = SOURCE / "examples"
JOB = "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done; sleep 0.3 & wait"

pytestmark = pytest.mark.not_sanitized("a program linked with a sanitized library needs the sanitizer's own")


@pytest.fixture(scope="module")
def library(baro):
    path = pathlib.Path(baro).parent / "libbaro.so.0"
    if not path.exists():
        pytest.skip("there is no shared library beside the binary")
    return path


@pytest.fixture(scope="module")
def example(library, tmp_path_factory):
    """Builds an example and returns how to run it."""
    where = tmp_path_factory.mktemp("examples")

    def run(name, *args, status=0):
        source = EXAMPLES / name
        if source.suffix == ".py":
            argv = [sys.executable, str(source), *map(str, args), str(library)]
        else:
            program = where / source.stem
            if not program.exists():
                compiler = ["g++", "-std=c++11"] if source.suffix == ".cc" else ["gcc", "-std=c11"]
                if not shutil.which(compiler[0]):
                    pytest.skip(f"no {compiler[0]}")
                subprocess.run([*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(SOURCE / "include"),
                                str(source), "-o", str(program), str(library), f"-Wl,-rpath,{library.parent}"],
                               check=True)
            argv = [str(program), *map(str, args)]
        done = subprocess.run(argv, capture_output=True, text=True, errors="surrogateescape", timeout=60)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    run.where = where
    return run


@pytest.fixture
def recorded(run, tape):
    return run.record(tape, JOB)


def test_heaviest(run, recorded, example):
    lines = [line.split() for line in example("heaviest.c", recorded).splitlines()]
    commands = run.summary(recorded)["commands"]
    assert [(w[0], int(w[1]), float(w[3])) for w in lines] == [
        (c["name"], c["processes"], pytest.approx(c["cpu_ns"] / 1e9, abs=0.0006)) for c in commands]


def flat(value, path=""):
    """{"job.cpu_ns": 5, "commands.0.name": "sh", ...}"""
    if isinstance(value, (dict, list)) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for name, part in pairs for k, v in flat(part, f"{path}.{name}" if path else str(name)).items()}
    return {path: value}


def test_facts(run, recorded, example):
    """Each value of the JSON is a fact of that name, and an absent one has the same reason."""
    summary = run.summary(recorded)
    absent = summary.pop("absent")
    facts = dict(line.split(" ", 1) for line in example("facts.c", recorded).splitlines())
    for path, value in flat({k: v for k, v in summary.items()
                             if k not in ("tape", "command", "before", "verdicts")}).items():
        if value == []:
            assert not any(name.startswith(path + ".") for name in facts)
            continue
        if value is None and path in ("gpu", "energy", "carbon"):  # nothing of that kind was recorded
            assert {words for name, words in facts.items() if name.startswith(path + ".")} <= {"none", "false"}
            continue
        words = facts[path].replace(" (at least)", "").replace(" (estimate)", "")
        if path == "start":
            assert len(words) == 19  # nanoseconds since 1970
        elif value is None:
            assert words == (f"absent: {absent[path]}" if path in absent else "none"), path
        elif isinstance(value, bool):
            assert words == str(value).lower(), path
        elif isinstance(value, float):
            assert float(words) == pytest.approx(value, rel=1e-5), path
        else:
            assert words == str(value), path
    assert [facts[f"command.{i}.argument"] for i in range(len(summary["command"]))] == summary["command"]
    assert facts["exit.wait_status"] == "0"
    assert facts["before.cpu_ns"] == "none"


def test_names_of_facts_that_sources_use(run, recorded, example, work):
    """src/output/text and src/libbaro/verdict read facts by name: each of these exists."""
    tasks = work / "tasks.baro"
    run("record", "-q", "-o", tasks, "--for", "0.2s", "--exact", "no-such-program", "--du", work, status=0)
    there = {re.sub(r"\.\d+\.", ".", line.split(" ", 1)[0]) for tape in (recorded, tasks)
             for line in example("facts.c", tape).splitlines()}
    sections = {name.rpartition(".")[0] for name in there} | {"targets"}
    there |= {"targets.pid", "targets.name", "pss_peak_held_by.name", "rss_peak_held_by.name"}
    read = re.compile(r'report_(?:fact|has_u64|has_real|u64|is|text|text_is|row)\(s, "([a-z_.]*)",\s*"([a-z0-9_]+)"')
    count = 0
    for path in sorted((SOURCE / "src/output/text").glob("*.c")):
        for section, name in read.findall(path.read_text()):
            assert (f"{section}.{name}" if section else name) in there, f"{path.name}: {section}, {name}"
            assert section in sections
            count += 1
    assert count > 60
    evidence = (SOURCE / "src/libbaro/verdict/evidence.h").read_text()
    of_rules = re.findall(r'(?:FACT|TEXT)\(\w+, "([a-z_.]*)", "([a-z0-9_]+)"\)', evidence)
    assert {f"{section}.{name}" if section else name for section, name in of_rules} <= there
    assert len(of_rules) > 40


def test_curve(run, recorded, example):
    lines = example("curve.c", recorded).splitlines()
    samples = run.export(recorded, "job")
    times, cores = zip(*((float(line.split()[0]), float(line.split()[2])) for line in lines))
    assert times[0] == 0 and list(times) == sorted(times)
    # The area under the curve is what the job used up to the last sample.
    width = samples[-1]["t_ns"] / 1e9 / len(lines)
    assert sum(cores) * width == pytest.approx(samples[-1]["cpu_ns"] / 1e9, abs=len(lines) * 0.005 * width + 0.001)


def test_derived(run, recorded, example):
    """Derived metrics are the growth of the recorded ones that the library says they are made from."""
    samples = run.export(recorded, "job")
    rows = list(csv.DictReader(example("derived.c", recorded, "job").splitlines()))
    assert len(rows) == len(samples) - 1 > 0
    cpus = run.summary(recorded)["cpus"]
    for row, before, now in zip(rows, samples, samples[1:]):
        seconds = (now["t_ns"] - before["t_ns"]) / 1e9
        assert int(row["t_ns"]) == now["t_ns"]
        cores = (now["cpu_ns"] - before["cpu_ns"]) / 1e9 / seconds
        assert float(row["cores"]) == pytest.approx(cores)
        assert now["cores"] == pytest.approx(min(cores, cpus))
        if None not in (before["io_write_bytes"], now["io_write_bytes"]):
            growth = now["io_write_bytes"] - before["io_write_bytes"]
            assert float(row["io_write_bytes_per_second"]) == pytest.approx(growth / seconds)
    header = example("derived.c", recorded, "host").splitlines()[0].split(",")
    listed = [m for m in json.loads(run("metrics", "--json", status=0).stdout) if m["semantics"] == "derived"]
    assert header[1:] == [m["name"] for m in listed if m["kind"] == "host"]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 256)]


class Record(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("t_ns", ctypes.c_uint64), ("of", ctypes.c_void_p)]


def functions(library):
    """libbaro with the types of what derived_rows() calls."""
    lib, p, i, size = ctypes.CDLL(str(library)), ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    u64, real = ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_double)
    for name, result, *arguments in (
        ("baro_tape_open", i, ctypes.POINTER(p), ctypes.c_char_p, p),
        ("baro_tape_next", i, p, ctypes.POINTER(Record), p),
        ("baro_tape_close", None, p),
        ("baro_kind_find", i, ctypes.c_char_p),
        ("baro_derived_find", i, i, ctypes.c_char_p),
        ("baro_absent_name", ctypes.c_char_p, i),
        ("baro_sample_copy", i, p, ctypes.POINTER(p), p),
        ("baro_sample_free", None, p),
        ("baro_sample_t_ns", ctypes.c_uint64, p),
        ("baro_sample_read_ns", i, p, i, u64),
        ("baro_sample_rows", size, p, i),
        ("baro_sample_row", p, p, i, size),
        ("baro_sample_find_id", p, p, i, ctypes.c_uint32),
        ("baro_row_id", ctypes.c_uint32, p),
        ("baro_row_pid", i, p),
        ("baro_row_derived", i, p, p, i, real),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def derived_of(lib, kind, number, before, now):
    """Yields (time, names, how to call for derived metric i, or None in the first row) for each row of a sample."""
    read_ns = ctypes.c_uint64()
    if lib.baro_sample_read_ns(now, number, read_ns) != 0:
        return
    for row in (lib.baro_sample_row(now, number, i) for i in range(lib.baro_sample_rows(now, number))):
        who = {"process": lib.baro_row_pid, "job": lambda row: None, "host": lambda row: None}.get(kind,
                                                                                                   lib.baro_row_id)(row)
        if kind in ("job", "host"):
            old = before and lib.baro_sample_row(before, number, 0)
        else:
            old = before and lib.baro_sample_find_id(before, number, lib.baro_row_id(row))
        yield read_ns.value, who, old and (lambda i, v, old=old, row=row: lib.baro_row_derived(old, row, i, v))


def derived_rows(lib, path, kind, names):
    """Returns the rows that export has to write, each as [time, names, {name: value, or the reason why it is absent}].
    """
    tape, record, before, rows, v = ctypes.c_void_p(), Record(), None, [], ctypes.c_double()
    number = lib.baro_kind_find(kind.encode())
    which = {name: lib.baro_derived_find(number, name.encode()) for name in names}
    assert lib.baro_tape_open(ctypes.byref(tape), str(path).encode(), None) == 0
    while lib.baro_tape_next(tape, ctypes.byref(record), None) > 0:
        if record.kind != 1:
            continue
        new = list(derived_of(lib, kind, number, before, record.of))
        if kind not in ("process", "job") and (not new or rows and new[0][0] == rows[-1][0]):
            continue  # the machine was not read since the sample before
        for t_ns, who, call in new:
            values = {}
            for name, i in which.items():
                absent = call(i, ctypes.byref(v)) if call else 5  # BARO_ABSENT_NOT_YET
                values[name] = lib.baro_absent_name(absent).decode() if absent else v.value
            rows.append([t_ns, who, values])
        copy = ctypes.c_void_p()
        assert lib.baro_sample_copy(record.of, ctypes.byref(copy), None) == 0
        lib.baro_sample_free(before)
        before = copy
    lib.baro_sample_free(before)
    lib.baro_tape_close(tape)
    return rows


def is_number(cell, v):
    """A number in CSV: 15 significant digits, or 17 where 15 would be read as another number."""
    return cell == str(v) if isinstance(v, int) else float(cell) == v and cell in (f"{v:.15g}", f"{v:.17g}")


@pytest.mark.parametrize("path", [None, "v1-machine.baro", "v1-small.baro"])
def test_export_of_derived_metrics(run, tape, library, path):
    """Each derived metric is a column by its name, and its cells are what libbaro computes, to the last digit."""
    path = SOURCE / "tests" / "tape" / path if path else run.record(tape, JOB)
    lib, present, count = functions(library), set(), 0
    listed = [m for m in json.loads(run("metrics", "--json", status=0).stdout) if m["semantics"] == "derived"]
    for kind in sorted({m["kind"] for m in listed} - {"recorder"}):
        names = [m["name"] for m in listed if m["kind"] == kind and m["name"] != "cores"]
        count += len(names)
        who = {"process": ["pid"], "job": [], "host": []}.get(kind, ["id"])
        argv = ["export", "-e", kind, "-c", ",".join(["t_ns", *who, *names]), path]
        objects = [json.loads(line) for line in run(*argv, "-F", "jsonl", status=0).stdout.splitlines()]
        cells = list(csv.reader(run(*argv, status=0).stdout.splitlines()))
        assert cells[0] == ["t_ns", *who, *names]
        rows = derived_rows(lib, path, kind, names)
        assert len(objects) == len(rows) == len(cells) - 1
        for (t_ns, identity, values), got, line in zip(rows, objects, cells[1:]):
            expected = {"t_ns": t_ns} | {key: identity for key in who}
            expected |= {name: None if isinstance(v, str) else v for name, v in values.items()}
            absent = {name: v for name, v in values.items() if isinstance(v, str)}
            assert got == expected | ({"absent": absent} if absent else {})
            assert all(not cell if v is None else is_number(cell, v) for cell, v in zip(line, expected.values()))
            present |= {(kind, name) for name in values if name not in absent}
    assert count == len([m for m in listed if m["name"] != "cores" and m["kind"] != "recorder"]) > 30
    assert present


def test_tree(run, recorded, example):
    seconds = run.export(recorded, "process")[-1]["t_ns"] / 1e9
    lines = example("tree.c", recorded, f"{seconds:.9f}").splitlines()
    shown = json.loads(run("show", "--json", "--at", f"+{seconds:.9f}s", recorded, status=0).stdout)
    assert sorted(int(line.split()[0]) for line in lines[1:]) == sorted(p["pid"] for p in shown["processes"])
    assert lines[1].startswith(str(shown["processes"][0]["pid"]))


def test_dump(run, recorded, example):
    lines = [line.split(" ") for line in example("dump.cc", recorded).splitlines()]
    last = run.export(recorded, "job")[-1]
    dumped = {words[2]: words for words in lines if words[0] == "job"}
    assert dumped["cpu_ns"][3:] == ["counter", str(last["cpu_ns"])]
    absent = {name for name, words in dumped.items() if words[4] == "absent:"}
    assert absent == {name for name in last.get("absent", {}) if name in dumped}
    assert {"host", "recorder", "cpu"} <= {words[0] for words in lines}


def test_python(run, recorded, example):
    rows = list(csv.DictReader(example("job_csv.py", recorded).splitlines()))
    samples = run.export(recorded, "job")
    assert len(rows) == len(samples)
    for row, sample in zip(rows, samples):
        for name, cell in row.items():
            want = sample[name]
            if name.endswith("_ratio") or not isinstance(want, (int, type(None))):
                continue  # stored as millionths
            assert cell == ("" if want is None else str(want)), name


@pytest.mark.parametrize("name", ["heaviest.c", "facts.c", "curve.c", "dump.cc", "job_csv.py"])
def test_error_messages_of_examples(example, work, name):
    assert "No such file" in example(name, work / "no.baro", status=1)


def test_push_resumes(run, recorded, example, tmp_path):
    """Stopped anywhere and started anew, the pusher prints what it would have printed in one go."""
    whole = example("push.c", recorded, tmp_path / "whole").splitlines()
    position = (tmp_path / "whole").read_text()
    assert example("push.c", recorded, tmp_path / "whole") == ""  # nothing is new
    assert (tmp_path / "whole").read_text() == position
    samples = len(run.export(recorded, "job"))
    assert len([line for line in whole if " job " in line]) == samples
    block = position.rsplit(":", 1)[0]
    for behind in (0, 1, int(position.rsplit(":", 1)[1]) // 2):
        (tmp_path / "part").write_text(f"{block}:{behind}")
        rest = example("push.c", recorded, tmp_path / "part").splitlines()
        assert rest == whole[len(whole) - len(rest):] and (tmp_path / "part").read_text() == position
    (tmp_path / "part").write_text("nonsense")
    example("push.c", recorded, tmp_path / "part", status=1)


def test_push_resumes_in_segments(run, tape, example, tmp_path):
    """Positions say in which segment they are: from each of them to the end, and from one that was removed."""
    folder = tape.with_name("kept")
    job = "for i in 1 2 3 4 5 6; do sleep 0.4; done"
    run("run", "-q", "-o", folder, "--keep", "10s", "-i", "20ms", "--", "sh", "-c", job, status=0)
    segments = sorted(folder.glob("*.baro"))
    assert len(segments) > 1
    whole = example("push.c", folder, tmp_path / "whole").splitlines()
    position = (tmp_path / "whole").read_text()
    recording, *numbers = position.split(":")
    segment, block, count = map(int, numbers)
    assert segment == len(segments) and len(whole) > 10
    for behind in {0, count // 2, count}:
        (tmp_path / "part").write_text(f"{recording}:{segment}:{block}:{behind}")
        rest = example("push.c", folder, tmp_path / "part").splitlines()
        assert rest == whole[len(whole) - len(rest):] and (tmp_path / "part").read_text() == position
    segments[0].unlink()  # all that is left follows
    left = example("push.c", folder, tmp_path / "left").splitlines()
    (tmp_path / "part").write_text(f"{recording}:1:500:3")
    assert example("push.c", folder, tmp_path / "part").splitlines() == left
    assert 0 < len(left) < len(whole) and left == whole[len(whole) - len(left):]


def test_follow(run, recorded, example):
    lines = example("follow.c", recorded).splitlines()
    rows = run.export(recorded, "job")
    assert len(lines) == len(rows)
    assert [line.split()[0] for line in lines] == [f"{row['t_ns'] / 1e9:.2f}" for row in rows]
    assert any("cores" in line for line in lines) and any("MB" in line for line in lines)


def test_diff(recorded, tape, run, example):
    assert example("diff.c", recorded, recorded) == ""
    other = run.record(tape.with_name("other.baro"), "true")
    names = [line.split()[0] for line in example("diff.c", recorded, other).splitlines()]
    assert {"job.cpu_ns", "commands[sh].processes", "commands[sleep]"} <= set(names), names


def test_marks_from_c(run, tape, example):
    """In a real recorded job: the phases with their attributes, and nothing outside of one."""
    example("marks.c")  # not within a recording: nothing happens
    path = run.record(tape, [str(example.where / "marks")])
    argv = ["export", "-e", "event", "-F", "jsonl", "-c", "event,attributes", path]
    events = [json.loads(line) for line in run(*argv, status=0).stdout.splitlines()]
    told = [e["event"] for e in events if e["event"] in ("mark", "phase_begin", "phase_end")]
    assert told == ["mark"] + 3 * ["phase_begin", "phase_end"]
    given = [e["attributes"] if isinstance(e["attributes"], dict) else json.loads(e["attributes"] or "{}")
             for e in events]
    assert [g["epoch"] for g in given if "epoch" in g] == [1, 2, 3]
    assert [g["loss"] for g in given if "loss" in g] == [0.5, 0.25, 0.125]


def test_marks_write_to_no_other_file(example, tmp_path, monkeypatch):
    """The variable may name anything: a file that no recorder reads stays as it is."""
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for value in (str(mine), str(tmp_path), "/dev/null", "", str(tmp_path / "none")):
        monkeypatch.setenv("BARO_EVENTS", value)
        example("marks.c")
    assert mine.read_text() == "mine" and sorted(tmp_path.iterdir()) == [mine]
