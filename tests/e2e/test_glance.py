# SPDX-License-Identifier: Apache-2.0
"""The short block at the end of a run and of `baro summary`: the answer first, in at most 15 lines."""

import re
import unicodedata

import pytest

from jobs import PYTHON, burn, script

MARKS = "≥≤≈~><="
CI = """
set -e
baro phase build -- baro phase link -- {python} -S -c 'sum(range(6000000))'
baro phase test -- sh -c 'baro phase flaky -- sh -c "sleep 0.01; exit 1"'
"""


def test_names_are_whole_where_no_terminal_is(baro, run, tape):
    """In a pipe no name is cut, unless COLUMNS says how wide it is; the same in all tables."""
    phase, task = "phase-" + "x" * 120 + "-end", "task-" + "y" * 50 + "-end"
    script = f"{baro} phase {phase} -- sleep 0.2; {baro} run --task {task} -- sleep 0.31{'0' * 90}1; sleep 0.1"
    run("run", "-q", "-o", tape, "--", "sh", "-c", script, status=0)
    cases = {("summary",): (phase, task), ("summary", "-v"): (phase, task), ("summary", "--by", "phase"): (phase,),
             ("summary", "--by", "task"): (task,), ("summary", "--by", "step"): (f"sleep 0.31{'0' * 90}1",),
             ("show", "--at", "0.4s"): (f" {task} ",), ("ls",): (task,)}  # fmt: skip
    for command, names in cases.items():
        whole = run(*command, tape, status=0).stdout
        narrow = run(*command, tape, status=0, env={"COLUMNS": "80"}).stdout
        for name in names:
            assert name in whole, (command, whole)
            assert name not in narrow, (command, narrow)


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.fixture
def red(run, tape, baro, work, monkeypatch):
    """The tape of a job that failed in a phase, and what `run` said."""
    (work / "ci.sh").write_text(CI.format(python=PYTHON).replace("baro ", f"{baro} "))
    return run("run", "-o", tape, "--", "sh", work / "ci.sh", status=1).stderr


def test_next_to_nothing_is_one_line(run, tape):
    said = run("run", "-o", tape, "--", "sleep", "1", status=0).stderr
    assert re.fullmatch(r"sleep 1   exit 0 · 1\.\d+ s · cpu [\d.]+ [mµ]s · [\d.]+ [kM]B · t\.baro\n|"
                        rf"sleep 1   exit 0 · 1\.\d+ s · cpu [\d.]+ [mµ]s · [\d.]+ [kM]B · {tape}\n", said), said
    assert run("summary", tape, status=0).stdout == said
    assert run("run", "-q", "--", "sleep", "0", status=0).stderr == ""
    said = run("run", "--", "sleep", "0", status=0).stderr
    assert said.endswith(" · @1\n") and said.count("\n") == 1
    assert "  accounted " in run("run", "-v", "--", "sleep", "0", status=0).stderr
    assert "  accounted " in run("summary", "-v", tape, status=0).stdout


def test_the_failed_phase_is_named_first(run, tape, red):
    lines = red.splitlines()
    assert re.search(r"^sh .*exit 1 · ", lines[0]), red
    assert re.match(r" ✗ failed +in phase test/flaky: ", lines[1]) and "status 1" in lines[1], red
    phases = [line for line in lines if re.match(r" (✗ )?(build|test)\b", line)]
    assert len(phases) == 3 and phases[-1].startswith(" ✗ test/flaky "), red
    assert sum("✗" in line for line in phases) == 2 and "exit 1" in phases[-1]
    verdict = next(v for v in run.summary(tape)["verdicts"] if v["rule"] == "failed")
    assert verdict["brief"] in lines[1] and "in phase test/flaky" in verdict["title"]


def test_lines_and_columns(run, tape, red, monkeypatch):
    for width in (40, 57, 80, 120, 200):
        for locale in ("C.UTF-8", "C"):
            monkeypatch.setenv("COLUMNS", str(width))
            monkeypatch.setenv("LC_ALL", locale)
            lines = run("summary", tape, status=0).stdout.splitlines()
            assert 5 < len(lines) <= 15, lines
            assert all(columns(line) <= width for line in lines), (width, lines)
            assert locale != "C" or all(line.isascii() for line in lines)
            assert not any(word in line for line in lines for word in ("at least", "about ", "at most"))


def test_wide_names(run, tape, work, monkeypatch):
    """A character of Chinese takes two columns."""
    (work / "编译程序的一个很长的名字.sh").write_text("sleep 0.2; dd if=/dev/zero bs=1M count=50 2>/dev/null | cat >/dev/null\nexit 3\n")
    run("run", "-q", "-o", tape, "--name", "编译" * 60, "--", "sh", work / "编译程序的一个很长的名字.sh", status=3)
    for width in (40, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("summary", tape, status=0).stdout.splitlines()
        assert all(columns(line) <= width for line in lines), lines


def test_what_to_ask_a_batch_system_for(run, tape, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1024")
    said = run("run", "-o", tape, "--", *burn(2.2), status=0).stderr
    assert re.search(r"^ efficiency +cpu [\d.]+ %( · memory [\d.]+ %)?$", said, re.M), said
    assert re.search(r"^ next time +#SBATCH (--cpus-per-task=\d+ )?--mem=\d+M --time=1$", said, re.M), said
    assert re.search(r"^ memory .*[\d.]+ MB(, [\d.]+ %)? of 1 GiB", said, re.M), said


def test_no_percentage_of_what_is_not_exact(run, tape):
    run("run", "-q", "-o", tape, "--", *script("""
        import subprocess
        for i in range(30): subprocess.run(["sh", "-c", "exit 0"])
    """), status=0)
    for line in run("summary", tape, status=0).stdout.splitlines():
        of_verdict = line.strip()[:1] in ("!", "~")
        assert of_verdict or not ("%" in line and any(mark in line.split("%")[0].split("  ")[-1] for mark in MARKS)), line
