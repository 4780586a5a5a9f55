# SPDX-License-Identifier: Apache-2.0
"""`baro diff`: what changed between two runs, or two groups of runs, and what cannot be told."""

import json
import re
import subprocess

import pytest

from jobs import PYTHON

BURN = "import time\nwhile time.process_time() < {}: pass"


def differences(run, *args):
    told = json.loads(run("diff", "--json", *args, status=0).stdout)
    return told, {(d["scope"], d["name"], d["fact"]): d for d in told["differences"]}


@pytest.fixture
def pair(run, work):
    """Two tapes: the second one has a process more, and twice the CPU time."""
    one = [PYTHON, "-S", "-c", BURN.format(0.3)]
    a, b = work / "a.baro", work / "b.baro"
    run("run", "-q", "-o", a, "--", *one, status=0)
    run("run", "-q", "-o", b, "--", "sh", "-c", f"{PYTHON} -S -c '{BURN.format(0.8)}'; exit 3", status=3)
    return a, b


def test_two_runs(run, pair):
    told, found = differences(run, *pair)
    cpu = found["job", "", "cpu_ns"]
    assert cpu["answer"] == "changed" and cpu["shift"] > 0.4e9 and cpu["low"] is None
    assert found["job", "", "wait_status"]["answer"] == "changed"
    assert found["job", "", "processes_started"] | {"answer": "changed", "shift": 1} == found["job", "", "processes_started"]
    assert found["command", "sh", "processes"]["answer"] == "new"
    assert told["sentence"].startswith("It ended with exit 3 instead of exit 0. After started 1 ")
    assert re.search(r"[\d.]+ ms \(\d+ %\) more CPU: python3 \+[\d.]+ ms", told["sentence"])
    text = run("diff", *pair, status=0).stdout
    assert re.search(r"^cpu +[\d.]+ ms +[\d.]+ ms +\+[\d.]+ ms +\+\d+ % +changed$", text, re.M), text
    assert "Of one run only a large change can be told" in text
    markdown = run("diff", "--markdown", *pair, status=0).stdout
    assert re.search(r"^\| cpu \| .* \| \*\*changed\*\* \|$", markdown, re.M) and "<details>" in markdown


def test_the_same_run(run, pair):
    """Counts are the same; nothing is said to have changed."""
    told, found = differences(run, pair[0], pair[0])
    assert not [d for d in found.values() if d["answer"] in ("changed", "new", "gone")]
    assert found["job", "", "processes_started"]["answer"] == "same"
    assert found["job", "", "cpu_ns"]["answer"] == "unknown", "one run each"
    assert told["sentence"].startswith("No change is certain.")
    assert told["circumstances"] == []


def test_the_cause_of_memory_held_the_peak(run, work):
    """A larger command that ran after the peak is not the cause of it."""
    fill = "x = bytearray({} << 20)"
    for name in ("parser", "codegen"):
        (work / name).symlink_to(PYTHON)
    parser, codegen = ([f"{work}/{name} -S -c '{fill.format('{}')}'; " for name in ("parser", "codegen")])
    run("run", "-q", "-o", work / "a.baro", "--", "sh", "-c", parser.format(30) + "true", status=0)
    run("run", "-q", "-o", work / "b.baro", "--", "sh", "-c", parser.format(80) + codegen.format(60) + "true", status=0)
    told, found = differences(run, work / "a.baro", work / "b.baro")
    assert found["job", "", "rss_peak_bytes"]["answer"] == "changed"
    assert re.search(r" more memory: parser \+[45]\d\.\d MB", told["sentence"]), told["sentence"]
    assert re.search(r" more process(es)?: codegen \+1", told["sentence"]), told["sentence"]


@pytest.mark.not_sanitized("of processes this brief a slow recorder has no names")
def test_equal_causes_are_named_together(run, work):
    for name in ("one", "two", "three"):
        (work / name).symlink_to("/bin/sleep")
    for side, more in (("a", ""), ("b", f"{work}/one 0.1; {work}/two 0.1; {work}/three 0.1; ")):
        run("run", "-q", "-o", work / f"{side}.baro", "--", "sh", "-c", more + "true", status=0)
    told, _ = differences(run, work / "a.baro", work / "b.baro")
    named = re.search(r" 3 (?:\(.*?\) )?more processes: (\w+), (\w+) and (\w+) \+1 each", told["sentence"])
    assert named and set(named.groups()) == {"one", "two", "three"}, told["sentence"]


def test_what_was_written(run, work):
    """Bytes are named with the command that wrote them, and a few bytes have no word."""
    for name, size in (("a", 0), ("b", 9)):
        (work / name).mkdir()
        for i in range(4):
            run("run", "-q", "-o", work / name / f"{i}.baro", "--", "sh", "-c",
                f"head -c {size}000000 /dev/zero >{work}/x; sleep 0.01; printf %0{3 + size}d 1", status=0)
    told, found = differences(run, work / "a", work / "b")
    assert re.search(r"After wrote 9\.\d+ MB (\(.*?\) )?more", told["sentence"]), told["sentence"]
    assert ("command", "head", "io_write_bytes") in found
    narrow = subprocess.run(["script", "-qc", f"stty cols 80; {run.binary} diff {work}/a {work}/b", "/dev/null"],
                            capture_output=True, text=True, check=True).stdout
    assert max(map(len, narrow.replace("\r", "").splitlines())) <= 80 and re.search(r"^cpu .* [+-][\d.]+ .s ", narrow, re.M)


def test_groups(run, work):
    """Five runs on each side, as folders and as patterns; one command takes longer, and is the cause."""
    for side, seconds in (("before", 0.1), ("after", 0.3)):
        (work / side).mkdir()
        for i in range(5):
            run("run", "-q", "-o", work / side / f"{i}.baro", "--", "sh", "-c",
                f"{PYTHON} -S -c '{BURN.format(seconds)}'; sleep 0.01", status=0)
    told, found = differences(run, work / "before", work / "after")
    assert len(told["before"]) == len(told["after"]) == 5
    cpu = found["job", "", "cpu_ns"]
    assert cpu["answer"] == "changed" and 0.1e9 < cpu["low"] <= cpu["shift"] <= cpu["high"] < 0.3e9
    assert found["command", "python3", "cpu_ns"]["answer"] == "changed"
    assert found["job", "", "processes_started"]["answer"] == "same"
    assert "python3 +" in told["sentence"]
    again, _ = differences(run, "--before", f"{work}/before/*.baro", "--after", f"{work}/after/[0-4].baro")
    assert again["differences"] == told["differences"]
    null, same = differences(run, "--before", f"{work}/before/[0-2].baro", "--after", f"{work}/before/[34].baro")
    assert same["job", "", "cpu_ns"]["answer"] != "changed" and same["job", "", "cpu_ns"]["low"] is not None


def test_the_last_two_runs(run):
    run("run", "-q", "--", "sleep", "0", status=0)
    run("run", "-q", "--", "sh", "-c", "sleep 0; sleep 0", status=0)
    told, found = differences(run)
    assert told["before"] == ["@2"] and told["after"] == ["@1"]
    assert found["job", "", "processes_started"]["shift"] == 2 or found["job", "", "processes_started"]["shift"] == 1


@pytest.mark.parametrize("args, words", [
    (["--before", "a.baro"], "name two tapes, or some with --before and some with --after"),
    (["--before", "a.baro", "--after", "b.baro", "c.baro"], "name two tapes, or some"),
    (["nothing.baro", "none.baro"], "nothing.baro"),
])
def test_bad_input_is_one_line(run, work, args, words):
    done = run("diff", *args, cwd=work)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


def test_steps(run, work):
    """Steps that grew, are new or gone; the one that differs most first."""
    last = {"a": "sleep 0.3", "b": "timeout 0.3 tail -f burn.py"}  # arguments and names of short ones may be unknown
    for side, seconds in (("a", 0.1), ("b", 0.5)):
        (work / side).mkdir()
        (work / side / "burn.py").write_text(BURN.format(seconds))
        (work / side / "job.sh").write_text(f"{PYTHON} -S burn.py\n{last[side]}\n:\n")
        run("run", "-q", "-o", work / f"{side}.baro", "--", "sh", "job.sh", cwd=work / side, status=0)
    told = json.loads(run("diff", "--by", "step", "--json", work / "a.baro", work / "b.baro", status=0).stdout)["steps"]
    grown = next(s for s in told if "burn.py" in s["step"])
    assert grown["answer"] == "more" and grown["cpu_after_ns"] > grown["cpu_before_ns"] > 0
    assert {s["step"].split()[0] for s in told if s["answer"] == "new"} & {"timeout", "tail"}
    assert "sleep" in {s["step"].split()[0] for s in told if s["answer"] == "gone"}
    sizes = [abs((s["cpu_after_ns"] or 0) - (s["cpu_before_ns"] or 0)) for s in told]
    assert sizes == sorted(sizes, reverse=True)
    text = run("diff", "--by", "step", work / "a.baro", work / "b.baro", status=0).stdout
    assert re.search(r"^python.*burn.py +[\d.]+ \w+ +[\d.]+ \w+ +\+[\d.]+ \w+ +more$", text, re.M), text
    assert "one tape before" in run("diff", "--by", "step", "--before", work / "a.baro", "--before", work / "a.baro",
                                    "--after", work / "b.baro", status=2).stderr


def test_noise_is_named(run, work):
    """Beside a process that burns a core, and alone: the tapes tell the difference."""
    burn = subprocess.Popen([PYTHON, "-S", "-c", "while True: pass"])
    try:
        run("run", "-q", "-i", "50ms", "-o", work / "a.baro", "--", "sleep", "2", status=0)
    finally:
        burn.kill()
        burn.wait()
    run("run", "-q", "-i", "50ms", "-o", work / "b.baro", "--", "sleep", "2", status=0)
    cores = [run.summary(work / f"{side}.baro")["host"]["cpu_others_mean_cores"] for side in "ab"]
    noise = json.loads(run("diff", "--json", work / "a.baro", work / "b.baro", status=0).stdout)["noise"]
    assert ("other processes used" in noise) == (abs(cores[0] - cores[1]) >= 0.3), (cores, noise)


def test_a_process_that_executes_another_program_counts_once(run, work):
    """Processes of commands add up to the job's, whatever they were before."""
    loop = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; exec sleep 0.05"
    run("run", "-q", "-o", work / "t.baro", "--", "bash", "-c", f"sh -c '{loop}'; true", status=0)
    s = run.summary(work / "t.baro")
    found = {c["name"]: c for c in s["commands"]}
    assert sum(c["processes"] for c in s["commands"]) == s["job"]["processes_started"] == 2, found
    assert "sh" not in found or found["sh"]["processes"] == 0 < found["sh"]["cpu_ns"], found
