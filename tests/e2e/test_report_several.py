# SPDX-License-Identifier: Apache-2.0
"""baro report of several tapes: a table, what they used together, and the report of each."""

import json
import os
import re
import signal
import subprocess

import pytest

from jobs import BURN, PYTHON, burn
from readers import HOSTILE_NAME, call, good, one_line, tape  # noqa: F401


def cells(page):
    """The rows of the table of tapes."""
    table = next(part for part in page.split("\n\n") if part.startswith("| # |")).splitlines()[2:]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table]


@pytest.fixture
def three(run, work):
    """Two whole tapes of the same name in folders of their own, and a damaged one."""
    paths = [work / "log" / name / "job.baro" for name in ("a", "b", "c")]
    for path, status in zip(paths, (0, 3)):
        path.parent.mkdir(parents=True)
        run.record(path, [PYTHON, "-c", f"{BURN.format(0.1)}exit({status})"], status=status)
    paths[2].parent.mkdir()
    paths[2].write_bytes(paths[0].read_bytes()[:100])
    return paths


@pytest.fixture
def running(run, work):
    path = work / "log" / "running.baro"
    path.parent.mkdir(exist_ok=True)
    p = run.popen("run", "-q", "-o", path, "--", "sleep", "600")
    run.await_samples(path)
    yield path
    p.send_signal(signal.SIGTERM)
    p.wait()


def test_markdown(baro, run, work, three, running):
    r = call(baro, "report", *three, running, "-o", work / "all.md")
    one_line(r, 2, "not in the report", "c/job.baro")
    page = (work / "all.md").read_text().replace("\u00a0", " ")
    rows = cells(page)
    assert page.startswith("# ✗ 4 tapes, 1 failed\n")
    assert [row[1] for row in rows] == ["`a/job.baro`", "`b/job.baro`", "`c/job.baro`", "`running.baro`"]
    assert [row[2] for row in rows[:2] + rows[3:]] == ["✓ exit 0", "✗ exit 3", "running"]
    assert rows[2][2].startswith("not read: ") and "c/job.baro" in rows[2][2]
    assert [("**failed**" in row[6]) for row in rows] == [False, True, False, False]
    assert "1 of 4 tapes could not be read, and the sums are without it. 1 is still being recorded." in page
    # Only one that failed has a section: that of one tape without what is folded away, with a number in its heading.
    assert re.findall(r"^## (\d)\. ", page, re.M) == ["2"]
    alone = good(baro, "report", three[1], "-F", "markdown", "-o", "-").decode().replace("\u00a0", " ")
    heading, rest = re.sub(r"(?s)<details>.*</details>\n\n", "", alone).split("\n", 1)
    assert heading.replace("## ", "## 2. ", 1) + "\n" + rest.replace("`job.baro`", "`b/job.baro`") in page


def test_folder_of_many_tapes(baro, run, work):
    """A line for each tape, in the order of numbers; what all have in common is said once; sections of those that
    failed, all but five folded away."""
    runs = work / "runs"
    runs.mkdir()
    for i in range(1, 13):
        run.record(runs / f"task-{i}.baro", ["sh", "-c", "exit $N"], status=i % 2, env={**os.environ, "N": str(i % 2)})
    page = good(baro, "report", runs, "-F", "markdown", "-o", "-").decode().replace("\u00a0", " ")
    assert page.startswith("# ✗ 12 tapes, 6 failed\n\nEach: `sh -c 'exit $N'`\n\n")
    table = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [row[1] for row in table] == [f"`task-{i}.baro`" for i in range(1, 13)]
    assert [row[2] for row in table] == ["✗ exit 1", "✓ exit 0"] * 6
    assert re.findall(r"^## (\d+)\. ", page, re.M) == ["1", "3", "5", "7", "9", "11"]
    assert page.index("## 9. ") < page.index("<details>") < page.index("## 11. ")


def test_json(baro, run, three, running):
    r = call(baro, "report", *three, running, "-F", "json", "-o", "-")
    assert r.returncode == 2 and r.stderr.count(b"\n") == 1
    report = json.loads(r.stdout)
    tapes, totals = report["tapes"], report["totals"]
    assert [t["path"] for t in tapes] == [str(p) for p in (*three, running)]
    assert ([t["report"] is None for t in tapes] == [t["error"] is not None for t in tapes] == [False, False, True,
                                                                                                False])
    # Each is the report of that tape alone.
    for t, path in list(zip(tapes, three))[:2]:
        assert t["report"] == json.loads(good(baro, "report", path, "-F", "json", "-o", "-"))
    jobs = [t["report"]["summary"]["job"] for t in tapes if t["report"]]
    assert (totals["tapes"], totals["tapes_read"], totals["tapes_running"]) == (4, 3, 1)
    assert totals["cpu_ns"] == sum(j["cpu_ns"] for j in jobs) and totals["cpu_ns"] >= 2e8
    assert totals["processes_started"] == sum(j["processes_started"] for j in jobs)
    assert totals["rss_peak_most_bytes"] == max(j["rss_peak_bytes"] for j in jobs)
    marks = [t["report"]["summary"]["marks"] for t in tapes if t["report"]]
    for name in ("cpu_ns", "processes_started"):
        assert (name in totals["marks"]) == any(f"job.{name}" in m for m in marks)
    assert report["format"] == 2 and not [name for name in totals if "_is_" in name]


def test_folder_of_tapes(baro, run, work, three):
    """All that a folder has, in the order of names, each once, with a few pictures of each."""
    runs = work / "runs"
    runs.mkdir()
    for name, path in zip(("x.baro", "y.baro", "z.baro"), three):
        (runs / name).write_bytes(path.read_bytes())
    one_line(call(baro, "report", f"{runs}/", runs / "x.baro", "-o", f"{work}/d/"), 2, "z.baro")
    page = (work / "d" / "report.md").read_text()
    assert [row[1] for row in cells(page)] == ["`x.baro`", "`y.baro`", "`z.baro`"]
    files = {p.name for p in (work / "d").iterdir()}
    assert files == {"report.md", *re.findall(r"\]\(([0-9a-z_]+\.(?:png|svg))\)", page)}
    first, second = ({n[2:] for n in files if n.startswith(f"{i}_")} for i in (1, 2))
    assert {n.split(".")[0] for n in first & second} >= {"cpu", "memory"}, "few of each, not all that one tape has"
    assert {n.split(".")[0] for n in first | second} <= {"cpu", "memory", "io"}
    (runs / "z.baro").unlink()
    good(baro, "report", runs, "-o", work / "two.md")
    assert len(cells((work / "two.md").read_text())) == 2
    # A folder with one tape is still a report of several.
    (runs / "y.baro").unlink()
    assert len(json.loads(good(baro, "report", runs, "-F", "json", "-o", "-"))["tapes"]) == 1


def test_segments_are_one_tape(baro, run, work):
    tape_folder = work / "kept.baro"
    run.record(tape_folder, burn(0.1), "--keep", "1h")
    assert (tape_folder / "000001.baro").exists()
    assert "summary" in json.loads(good(baro, "report", tape_folder, "-F", "json", "-o", "-"))
    both = json.loads(good(baro, "report", tape_folder, f"{tape_folder}/", work, "-F", "json", "-o", "-"))
    assert [t["path"] for t in both["tapes"]] == [str(tape_folder)]
    assert b"wrote kept.html" in call(baro, "report", f"{tape_folder}/", cwd=work).stderr


def test_nothing_to_report(baro, work, three):
    (work / "empty").mkdir()
    for output in ("all.md", "all.json", "all/"):
        r = call(baro, "report", three[2], work / "missing.baro", "@99", work / "empty", "-o", f"{work}/{output}")
        one_line(r, 2, "none of the 4 tapes can be read")
    one_line(call(baro, "report", work / "empty"), 2, "no tapes in ", "empty")
    assert call(baro, "report", three[2], work / "empty", "-F", "json", "-o", "-").stdout == b""
    one_line(call(baro, "report", *three[:2]), 2, "-o FILE.md")
    one_line(call(baro, "report", *three[:2], "-o", work / "all.html"), 2, "a page has one tape")
    assert sorted(p.name for p in work.iterdir() if p.name.startswith("all")) == []


def test_hostile_names(baro, work, tape):
    name = b"a|`b`\n\x1b[31m.baro"
    other = bytes(work) + b"/" + name
    with open(other, "wb") as f:
        f.write(tape.read_bytes())
    r = subprocess.run([baro, "report", str(tape), other, "-F", "markdown", "-o", "-"], capture_output=True, timeout=60)
    assert r.returncode == 0 and b"\x1b" not in r.stdout and HOSTILE_NAME not in r.stdout
    assert len(cells(r.stdout.decode())) == 2 and all(len(row) == 7 for row in cells(r.stdout.decode()))
