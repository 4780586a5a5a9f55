# SPDX-License-Identifier: Apache-2.0
"""What is printed at the end of `run` and `record`, and by `summary` to a pipe: verdicts, and phases as a table."""

import json
import re
import signal

import pytest

from jobs import PYTHON, burn, script

PHASED = """
    import json, os, time
    def event(**line):
        with open(os.environ["BARO_EVENTS"], "a") as f:
            f.write(json.dumps({**line, "monotonic_ns": time.monotonic_ns()}) + "\\n")
"""


def phased(text):
    return [PYTHON, "-S", "-c", script(PHASED)[-1] + script(text)[-1]]


def verdicts(text):
    """Returns the lines of verdicts, which are the last ones."""
    at = text.find("\n  verdict ")
    return text[at + 1 :] if at >= 0 else ""


def table(text):
    """Returns the rows of the table of phases, and the line below it."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("  phases ")), None)
    if at is None:
        return []
    rows = lines[at + 1 :]
    return [row.strip() for row in rows[: next(i for i, row in enumerate(rows) if not row.startswith(" " * 13))]]


@pytest.mark.parametrize("job, status, words",
                         [(burn(1.5), 0, ""),
                          (["sh", "-c", "kill -SEGV $$"], -signal.SIGSEGV, "SIGSEGV ended it after"),
                          (["sh", "-c", "sleep 1.2; kill -SEGV $$"], -signal.SIGSEGV, "SIGSEGV ended it after"),
                          (None, 0, "")], ids=["run", "killed at once", "killed", "attached"])
def test_verdicts_of_a_run_equal_those_of_its_tape(run, tape, started, job, status, words):
    if job:
        said = run("run", "-v", "-o", tape, "--", *job, status=status).stderr
    else:
        pid = started([PYTHON, "-S", "-c", "while True: pass"]).pid
        said = run("record", "-v", "--pid", pid, "--for", "2s", "-o", tape, status=0).stderr
        assert "  tape " in said
    again = run("summary", "-v", tape, status=0).stdout
    assert verdicts(said) == verdicts(again) and words in verdicts(said)
    assert "phases" not in said + again


def test_more_phases_than_are_kept(run, tape):
    said = run("run", "-v", "-o", tape, "--", *phased("""
        time.sleep(0.1)
        with open(os.environ["BARO_EVENTS"], "a") as f:
            for i in range(3000):
                f.write(json.dumps({"phase": f"p{i}", "seconds": 0.001}) + "\\n")
        time.sleep(1)
    """), status=0).stderr
    assert "baro summary" in verdicts(said)
    assert table(said) == []
    assert table(run("summary", "-v", tape, status=0).stdout)[-1].endswith(" more: baro summary --by phase")


def test_phases_as_a_table(run, tape):
    said = run("run", "-v", "-o", tape, "--", *phased("""
        event(begin="load"); time.sleep(0.1); event(end="load", rows=12)
        for i in range(3):
            event(begin="epoch", number=i); time.sleep(0.1); event(end="epoch")
        for i in "ab":
            event(begin="both", id=i)
        time.sleep(0.1)
        for i in "ab":
            event(end="both", id=i)
        event(begin="save")
        time.sleep(2.5)
    """), status=0).stderr
    for text in said, run("summary", "-v", tape, status=0).stdout:
        rows = table(text)
        assert [row.split("  ")[0] for row in rows[:4]] == ["load rows=12", "epoch ×3", "both ×2", "save"], text
        assert rows[2].split()[-3] == "-", "its CPU time would be counted twice"
        assert "≥ at least, or not ended" in rows[4]
        assert rows[4].endswith("each: baro summary --by phase")


def test_many_phase_names(run, tape):
    run("run", "-q", "-o", tape, "--", *phased("""
        for i in range(9):
            event(begin=f"p{i}"); time.sleep(0.3 if i in (1, 7) else 0.01); event(end=f"p{i}")
    """), status=0)
    rows = table(run("summary", "-v", tape, status=0).stdout)
    names = [row.split()[0] for row in rows[:-1]]
    assert len(names) == 5 and names == sorted(names) and {"p1", "p7"} <= set(names)
    assert rows[-1].endswith("4 more: baro summary --by phase")


def test_tape_path_is_the_shortest(run, tape, work):
    (work / "a" / "b").mkdir(parents=True)
    (work / "link").symlink_to(work / "a" / "b")
    for given, there in (("a/../x.baro", "x.baro"), ("link/../y.baro", "a/y.baro"), ("./a//b/./z.baro", "a/b/z.baro")):
        said = run("run", "-v", "-o", given, "--", "true", status=0, cwd=work).stderr
        assert f"  tape       {(work / there).resolve()}\n" in said
        assert (work / there).exists()


def test_phases_at_a_time(run, tape):
    run("run", "-q", "-o", tape, "--", *phased("""
        time.sleep(0.2)
        event(begin="outer")
        event(begin="inner", number=1); time.sleep(0.3); event(end="inner")
        time.sleep(0.2)
    """), status=0)
    outer, inner = json.loads(run("summary", "--by", "phase", "--json", tape, status=0).stdout)["phases"]
    times = sorted({row["t_ns"] for row in run.export(tape, "job")})
    for t_ns in times:
        at = f"+{t_ns}ns"
        got = json.loads(run("show", "--json", "--at", at, tape, status=0).stdout)
        inside = [p["name"] for p in (outer, inner)
                  if p["begin_ns"] <= got["t_ns"] and (p["is_open"] or got["t_ns"] < p["end_ns"])]
        assert [p["name"] for p in got["phases"]] == inside
        line = [x for x in run("show", "--at", at, tape, status=0).stdout.splitlines() if x.startswith("in ")]
        assert len(line) == 1 and re.findall(r"(\w+)(?: number=1)? since", line[0]) == inside
        if not inside:
            assert line == ["in no phase"]
    assert outer["begin_ns"] > times[0] and inner["end_ns"] <= times[-1], "samples before and after them"
