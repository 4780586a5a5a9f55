# SPDX-License-Identifier: Apache-2.0
"""`report` as Markdown and JSON. The Markdown is rendered by GitHub's own parser (cmark-gfm): names from a job stay
text.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from jobs import BURN, PYTHON
from readers import Page, call, good, one_line, tape, unescape  # noqa: F401

# Text that would be markup: Markdown, HTML, table cells, links, mentions, references, emoji, mathematics.
NAMES = [
    "a|b",
    "\\|x",
    "`code`",
    "``",
    "*bold*",
    "[l](http://x)",
    "<b>x</b>",
    "&lt;",
    "www.a.org",
    "http://a.b",
    "@root #1",
    ":smile: $x$",
    "~~x~~",
    "<!-- x -->",
    "# h",
    "1. x",
    "![i](u)",
    "a@b.org",
]
ALLOWED = set("h2 h3 p strong code pre table thead tbody tr th td br ul li details summary sub".split())


def rendered(markdown):
    if not shutil.which("cmark-gfm"):
        pytest.skip("cmark-gfm is not installed")
    extensions = [x for e in ("table", "autolink", "strikethrough", "tagfilter", "tasklist") for x in ("-e", e)]
    done = subprocess.run(["cmark-gfm", "--unsafe", *extensions], input=markdown, capture_output=True, check=True)
    page = Page(done.stdout.decode())
    page.rows = [[cell["text"] for cell in cells] for _, cells in page.rows]
    return page


def report(baro, path, form):
    return good(baro, "report", "-F", form, "-o", "-", path)


@pytest.fixture(scope="module")
def named(baro, tmp_path_factory):
    """Programs whose names are markup, started by a command with such arguments."""
    work = tmp_path_factory.mktemp("named")
    for i, name in enumerate(NAMES):
        path = work / f"{i}"
        path.mkdir()
        shutil.copy(shutil.which("sleep"), path / name.replace("/", "_")[:15])
    script = "; ".join(f"./{i}/* 0.05" for i in range(len(NAMES)))
    path = work / "t.baro"
    argv = [baro, "run", "-q", "-i", "10ms", "-o", path, "--", "sh", "-c", script, *NAMES]
    subprocess.run(argv, cwd=work, check=True, timeout=60)
    return path


def test_markdown_is_whole(baro, tape):
    page = rendered(report(baro, tape, "markdown"))
    assert set(page.tags) <= ALLOWED
    summary = json.loads(good(baro, "summary", "--json", tape))
    assert ["command", "processes", "cpu", "share", "peak rss", "storage read", "storage wrote"] in page.rows
    assert {row[0] for row in page.rows} >= {"cpu", "memory", "i/o", "processes"}
    assert "exit 3" in "".join(page.text)
    commands = [row for row in page.rows if len(row) == 7][1:]
    assert len(commands) == min(10, len(summary["commands"]))
    for row, command in zip(commands, summary["commands"]):
        assert unescape(row[0]) == unescape(command["name"]) and row[1] == f"{command['processes']:,}"


def test_names_that_are_markup(baro, named):
    markdown = report(baro, named, "markdown")
    page = rendered(markdown)
    assert set(page.tags) <= ALLOWED
    assert {name for _, name, _ in page.attributes} <= {"align", "class"}, "a link or a handler"
    widths = {len(row) for row in page.rows}
    assert widths <= {2, 3, 5, 7, 8}, page.rows
    summary = json.loads(good(baro, "summary", "--json", named))
    shown = [row[0] for row in page.rows if len(row) == 7][1:]
    for command, cell in zip(summary["commands"][:10], shown):
        assert cell == command["name"], (cell, command["name"])
    title = next(row[1] for row in page.rows if row[0] == "command" and len(row) == 2)
    for name in NAMES:
        assert name.replace("\\", "\\\\") in title


@pytest.fixture
def phased(run, work):
    """A job that works, and whose last phase fails after three that do nothing."""
    (work / "burn.py").write_text(BURN.format(2))
    idle = "".join(f"{run.binary} phase nap{i} -- sleep 1; " for i in range(3))
    path = work / "phased.baro"
    run.record(path, ["sh", "-c", f"{PYTHON} {work}/burn.py; {idle}{run.binary} phase test -- sh -c '{run.binary} phase flaky -- false'"],
               "-i", "20ms", "--overhead", "off", status=1)
    return path


def test_result_first_and_the_rest_folded(baro, phased):
    """A reader of a pull request sees the result in one line, verdicts, what was used, and phases with status."""
    markdown = report(baro, phased, "markdown").decode().replace("\u00a0", " ")
    verdicts = json.loads(good(baro, "summary", "--json", phased))["verdicts"]
    shown, _, folded = markdown.partition("<details>")
    head, *rest = shown.splitlines()
    assert head.startswith("## ✗ `sh -c ") and " · exit 1 · " in head and "in phase test/flaky: " in head
    bullets = [line for line in rest if line.startswith("- ")]
    assert bullets[0].startswith("- **failed**: in phase test/flaky")
    assert len(bullets) <= sum(v["weight"] != "note" for v in verdicts) and all(len(b) < 200 for b in bullets)
    assert [line.split(" | ")[0] for line in rest if line.startswith("| ")][:3] == ["| resource", "| cpu", "| memory"]
    status = {r[0]: r[4] for r in rendered(markdown.encode()).rows if len(r) == 5}
    assert status["test"] == status["test/flaky"] == "✗ exit 1" and status["nap0"] == ""
    assert "| | |" not in shown and "at least" not in shown
    # Notes of one rule on several phases are one bullet, with all names.
    idle = [line for line in folded.splitlines() if line.startswith("- **idle**")]
    assert len(idle) <= 1, folded  # one bullet for all of them; on a busy machine it is not known that they were idle
    assert not idle or "`nap" in idle[0]
    assert not idle or set(re.findall(r"^\| idle in `(nap\d)` \| `cpu_ns`", folded, re.M)) == set(re.findall(r"nap\d", idle[0]))
    assert folded.count("<details>") == 1 and folded.rstrip().endswith("</sub>")


def test_json_has_all_facts(baro, tape):
    whole = json.loads(report(baro, tape, "json"))
    assert whole["format"] == 2
    summary = json.loads(good(baro, "summary", "--json", tape))
    assert whole["summary"] == summary
    cpu = next(f for f in whole["figures"] if f["id"] == "cpu")
    assert all(len(c["mean"]) == cpu["buckets"] for c in cpu["curves"]) and cpu["unit"] == "cores"
    kinds = {item["kind"] for item in whole["timeline"]}
    assert kinds <= {"phase", "mark", "event"} and "event" in kinds
    assert [i for i in whole["timeline"] if i["name"] == "start"][0]["begin_ns"] <= whole["timeline"][-1]["end_ns"]


def test_format_is_chosen_by_file_name(baro, tape, work):
    good(baro, "report", "-o", work / "a.md", tape)
    good(baro, "report", "-o", work / "a.json", tape)
    assert (work / "a.md").read_text().startswith("## ✗ `sh -c")
    json.loads((work / "a.json").read_text())
    one_line(call(baro, "report", "-o", work / "a.md", tape), 2, "a.md")
    one_line(call(baro, "report", "-o", work / "a.txt", tape), 2, ".md", "--format")


def test_github_job_summary(baro, tape, hostile_tape, work):
    """Output of earlier steps stays in the job summary."""
    path = work / "summary.md"
    path.write_text("before\n")
    env = {**os.environ, "GITHUB_STEP_SUMMARY": str(path)}
    good(baro, "report", "--github", tape, env=env)
    text = path.read_text()
    assert text.startswith("before\n## ✗ `sh -c")
    assert text.endswith(report(baro, tape, "markdown").decode())
    good(baro, "report", tape, tape.with_name("t.baro"), hostile_tape, "--github", env=env)
    assert "\n# ✗ 2 tapes, 2 failed\n" in path.read_text()
    one_line(call(baro, "report", "--github", "-o", "x.md", tape, env=env), 2, "--github")
    bare = {k: v for k, v in os.environ.items() if k != "GITHUB_STEP_SUMMARY"}
    one_line(call(baro, "report", "--github", tape, env=bare), 2, "GITHUB_STEP_SUMMARY")
