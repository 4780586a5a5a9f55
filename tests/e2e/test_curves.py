# SPDX-License-Identifier: Apache-2.0
"""On a terminal the summary has small curves and the job's phases below them; elsewhere it has neither."""

import json
import re
import subprocess

import pytest

from readers import good

SCRIPT = "baro phase load -- sleep 0.6; baro phase '|ev`il*' -- sleep 0.7; baro mark half x=1; sleep 0.2"


ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "xterm"}


@pytest.fixture(scope="module")
def phased(baro, tmp_path_factory, ptys):
    work = tmp_path_factory.mktemp("phased")
    (work / "script").write_text(f'baro() {{ {baro} "$@"; }}; {SCRIPT}')
    done = subprocess.run(["script", "-qec", f"stty cols 100; {baro} run -v -o {work}/t.baro -- sh {work}/script",
                           "/dev/null"], capture_output=True, check=True, timeout=60,
                          env={**ENVIRONMENT, "HOME": str(work)})
    return work / "t.baro", plain(done.stdout)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r\n", "\n")


def on_terminal(baro, path, columns, locale="C.UTF-8"):
    command = f"stty cols {columns}; {baro} summary -v {path}"
    environment = {**ENVIRONMENT, "LC_ALL": locale}
    done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, timeout=60, env=environment)
    return plain(done.stdout)


def chart(text):
    """Returns the lines of the curves and of the phases."""
    lines = text.splitlines()[1:]
    return lines[: next(i for i, line in enumerate(lines) if re.match(r" +[╵']0", line)) + 1]


@pytest.mark.not_sanitized("the end of a run takes 30 ms of CPU time at most for its text")
def test_run_and_summary_draw_the_same(baro, phased, ptys):
    path, at_end = phased
    assert chart(at_end) == chart(on_terminal(baro, path, 100))


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_curves_and_phases(baro, phased, ptys, columns):
    lines = chart(on_terminal(baro, phased[0], columns))
    assert [line[:12].split()[0] for line in lines if line[2:3].strip()] >= ["cpu", "memory"]
    assert any("├ load ─" in line and "├ |ev`il*" in line for line in lines), lines
    assert all(len(line) <= columns for line in lines)


def test_ascii(baro, phased, ptys):
    text = on_terminal(baro, phased[0], 80, "C")
    text.encode("ascii")
    assert any("| load -" in line for line in chart(text))


def test_no_curves_without_a_terminal(baro, phased):
    text = good(baro, "summary", "-v", phased[0]).decode()
    assert not re.search("[▁▂▃▄▅▆▇█╵├]", text)
    narrow = on_terminal(baro, phased[0], 79)
    assert not re.search("[▁▂▃▄▅▆▇█╵├]", narrow)


def test_phases_in_trace_and_documents(baro, phased):
    events = json.loads(good(baro, "export", "-F", "trace", phased[0]))["traceEvents"]
    bars = {e["name"]: e for e in events if e.get("cat") == "phase"}
    assert set(bars) == {"load", "|ev`il*"} and bars["load"]["dur"] >= 0.5e6
    assert [e["name"] for e in events if e.get("cat") == "mark"] == ["half"]
    timeline = json.loads(good(baro, "report", "-F", "json", "-o", "-", phased[0]))["timeline"]
    for item in timeline:
        if item["kind"] == "phase":
            assert round(bars[item["name"]]["dur"] * 1000) == item["end_ns"] - item["begin_ns"]
            assert bars[item["name"]]["args"]["cpu_ns"] == item["used"]["cpu_ns"]
    markdown = good(baro, "report", "-F", "markdown", "-o", "-", phased[0]).decode()
    assert "| `load` |" in markdown and "``\\|ev`il*``" in markdown
