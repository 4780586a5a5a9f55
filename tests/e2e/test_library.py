# SPDX-License-Identifier: Apache-2.0
"""libbaro as a program outside the project uses it: the examples are built against the shared library, and print the
same values as baro.
"""

import collections
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from conftest import SOURCE

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


@pytest.fixture(scope="module")
def recorded(baro, tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "t.baro"
    subprocess.run([baro, "run", "-q", "-o", path, "--", "sh", "-c", JOB], check=True)
    return path


def test_small_examples(run, recorded, example, tape):
    commands, samples = run.summary(recorded)["commands"], run.export(recorded, "job")
    lines = [line.split() for line in example("heaviest.c", recorded).splitlines()]
    assert [(w[0], int(w[1]), float(w[3])) for w in lines] == [
        (c["name"], c["processes"], pytest.approx(c["cpu_ns"] / 1e9, abs=0.0006)) for c in commands]
    lines = example("follow.c", recorded).splitlines()
    assert [line.split()[0] for line in lines] == [f"{row['t_ns'] / 1e9:.2f}" for row in samples]
    assert any("cores" in line for line in lines) and any("MB" in line for line in lines)
    lines = [line.split() for line in example("samples.c", recorded).splitlines()]
    processes = collections.Counter(row["t_ns"] for row in run.export(recorded, "process"))
    assert [(w[0], int(w[2])) for w in lines] == [(f"{row['t_ns'] / 1e9:.3f}", processes[row["t_ns"]]) for row in samples]
    lines = [line.split() for line in example("curve.c", recorded).splitlines()]
    times, cores = [float(w[0]) for w in lines], [float(w[2]) for w in lines]
    assert times[0] == 0 and times == sorted(times)
    # The area under the curve is what the job used up to the last sample.
    width = samples[-1]["t_ns"] / 1e9 / len(lines)
    assert sum(cores) * width == pytest.approx(samples[-1]["cpu_ns"] / 1e9, abs=len(lines) * 0.005 * width + 0.001)
    seconds = run.export(recorded, "process")[-1]["t_ns"] / 1e9
    lines = example("tree.c", recorded, f"{seconds:.9f}").splitlines()
    shown = json.loads(run("show", "--json", "--at", f"+{seconds:.9f}s", recorded, status=0).stdout)
    assert sorted(int(line.split()[0]) for line in lines[1:]) == sorted(p["pid"] for p in shown["processes"])
    assert lines[1].startswith(str(shown["processes"][0]["pid"])) and example("diff.c", recorded, recorded) == ""
    names = [line.split()[0] for line in example("diff.c", recorded, run.record(tape, "true")).splitlines()]
    assert {"job.cpu_ns", "commands[sh].processes", "commands[sleep]"} <= set(names), names
    for name in ("heaviest.c", "facts.c", "curve.c", "dump.cc", "job_csv.py"):
        assert "No such file" in example(name, tape.with_name("no.baro"), status=1)


def test_the_manual_page_has_an_example_and_all_headers(baro):
    page = pathlib.Path(baro).parent / "docs" / "libbaro.3"
    if not page.exists() or not shutil.which("mandoc"):
        pytest.skip("no scdoc, or no mandoc")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-mandoc", "-ww", "-Tascii", page], check=True, capture_output=True, text=True)
        assert done.stderr == ""
    text = subprocess.check_output(["mandoc", "-Tascii", "-Owidth=160", page], text=True)
    text = re.sub(".\b", "", text)
    code = (EXAMPLES / "samples.c").read_text().split("*/\n", 2)[2]
    assert textwrap.indent(code, " ").split() == text.split("at each sample:")[1].split("More are in")[0].split()
    assert len(code.splitlines()) <= 30
    named = set(re.findall(r"<(baro/\w+\.h)>", text))
    assert named == {f"baro/{path.name}" for path in (SOURCE / "include/baro").glob("*.h")}


def flat(value, path=""):
    """{"job.cpu_ns": 5, "commands.0.name": "sh", ...}"""
    if isinstance(value, (dict, list)) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for name, part in pairs for k, v in flat(part, f"{path}.{name}" if path else str(name)).items()}
    return {path: value}


def test_facts(run, recorded, example):
    """Each value of the JSON is a fact of that name, and an absent one has the same reason."""
    summary = run.summary(recorded)
    absent, marks = summary.pop("absent"), summary.pop("marks")
    assert summary.pop("format") == 2
    facts = dict(line.split(" ", 1) for line in example("facts.c", recorded).splitlines())
    for path, value in flat({k: v for k, v in summary.items()
                             if k not in ("tape", "command", "before", "verdicts", "phases", "tags")}).items():
        if value == []:
            assert not any(name.startswith(path + ".") for name in facts)
            continue
        if value is None and path in ("gpu", "energy", "carbon", "launched"):  # nothing of that kind was recorded
            assert {words for name, words in facts.items() if name.startswith(path + ".")} <= {"none", "false"}
            continue
        assert (" (at least)" in facts[path]) <= (marks.get(path) in ("lower_bound", "estimate")), path
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


def test_derived(run, recorded, example):
    """Derived metrics are the growth of the recorded ones that the library says they are made from."""
    samples = run.export(recorded, "job")
    rows = list(csv.DictReader(example("derived.c", recorded, "job").splitlines()))
    assert len(rows) == len(samples) - 1 > 0
    cpus = run.summary(recorded)["cpus"]
    for row, before, now in zip(rows, samples, samples[1:]):
        seconds = (now["t_ns"] - before["t_ns"]) / 1e9
        cores = (now["cpu_ns"] - before["cpu_ns"]) / 1e9 / seconds
        assert int(row["t_ns"]) == now["t_ns"] and float(row["cores"]) == pytest.approx(cores)
        assert now["cores"] == pytest.approx(min(cores, cpus))


@pytest.mark.parametrize("path", [None, "v1-machine.baro", "v1-small.baro"])
def test_export_of_derived_metrics(run, recorded, path):
    """Each derived metric is a column by its name; a rate is the growth of what `baro metrics` says it is made from."""
    path, compared = SOURCE / "tests" / "tape" / path if path else recorded, 0
    listed = [m for m in json.loads(run("metrics", "--json", status=0).stdout) if m["semantics"] == "derived"]
    for kind in sorted({m["kind"] for m in listed} - {"recorder"}):
        of = [m for m in listed if m["kind"] == kind and m["name"] != "cores"]
        who = {"process": ["pid"], "job": [], "host": []}.get(kind, ["id"])
        columns = ["t_ns", *who, *{name for m in of for name in m["from"]}, *(m["name"] for m in of)]
        before = {}
        for row in run.export(path, kind, "-c", ",".join(dict.fromkeys(columns))):
            old, before[row[who[0]] if who else None] = before.get(row[who[0]] if who else None), row
            for m in of:
                parts = [(old[name], row[name]) for name in m["from"]] if old else []
                if m["name"].endswith("_per_second") and row[m["name"]] is not None:
                    growth = sum(b - a for a, b in parts)
                    assert row[m["name"]] == pytest.approx(growth / (row["t_ns"] - old["t_ns"]) * 1e9), (kind, m, row)
                    compared += 1
                assert row[m["name"]] is not None or row["absent"][m["name"]], (kind, m, row)
    assert compared > 0 and len(listed) > 30


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
