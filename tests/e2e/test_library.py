# SPDX-License-Identifier: Apache-2.0
"""libbaro as a program outside the project uses it: the examples, built against the shared library, say what baro says.
"""

import csv
import json
import pathlib
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
                subprocess.run(
                    [
                        *compiler,
                        "-Wall",
                        "-Wextra",
                        "-Wpedantic",
                        "-Werror",
                        "-I",
                        str(SOURCE / "include"),
                        str(source),
                        "-o",
                        str(program),
                        str(library),
                        f"-Wl,-rpath,{library.parent}",
                    ],
                    check=True,
                )
            argv = [str(program), *map(str, args)]
        done = subprocess.run(argv, capture_output=True, text=True, errors="surrogateescape", timeout=60)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


@pytest.fixture
def recorded(run, tape):
    return run.record(tape, JOB)


def test_heaviest(run, recorded, example):
    lines = [line.split() for line in example("heaviest.c", recorded).splitlines()]
    commands = run.summary(recorded)["commands"]
    assert [(w[0], int(w[1]), float(w[3])) for w in lines] == [
        (c["name"], c["processes"], pytest.approx(c["cpu_ns"] / 1e9, abs=0.0006)) for c in commands]


def test_curve(run, recorded, example):
    lines = example("curve.c", recorded).splitlines()
    samples = run.export(recorded, "job")
    times, cores = zip(*((float(line.split()[0]), float(line.split()[2])) for line in lines))
    assert times[0] == 0 and list(times) == sorted(times)
    # What is under the curve is what the job used up to the last sample.
    width = samples[-1]["t_ns"] / 1e9 / len(lines)
    assert sum(cores) * width == pytest.approx(samples[-1]["cpu_ns"] / 1e9, abs=len(lines) * 0.005 * width + 0.001)


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


@pytest.mark.parametrize("name", ["heaviest.c", "curve.c", "dump.cc", "job_csv.py"])
def test_examples_say_what_is_wrong(example, work, name):
    assert "No such file" in example(name, work / "no.baro", status=1)
