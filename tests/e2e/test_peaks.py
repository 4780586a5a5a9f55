# SPDX-License-Identifier: Apache-2.0
"""Peaks of memory and of counts: what is shown is right, or marked as a lower bound."""

import subprocess

import pytest

from jobs import script

MIB = 1 << 20

GROWING = "import time\nx = []\nfor i in range(12):\n x.append(b'x' * (4 << 20)); time.sleep(.04)"


def mark_of(largest, exit):
    """True: the exit has the mark of that process to the end."""
    return exit["rss_peak_bytes"] >= largest - MIB


def test_peak_of_a_command(run_both, work, tape):
    """A process that grows until it ends: its peak is the one that it says itself, or a lower bound in all outputs, and
    never below what a sample saw."""
    own = work / "own"
    growing = script(GROWING + f"\nopen('{own}', 'w').write(open('/proc/self/status').read())")
    run_both.record(tape, ["sh", "-c", '"$@"; true', "sh", *growing])
    truth = int(own.read_text().split("VmHWM:")[1].split()[0]) << 10
    s = run_both.summary(tape)
    command = max(s["commands"], key=lambda c: c["rss_peak_bytes"] or 0)
    seen = [r for r in run_both.export(tape, "process") if r["rss_bytes"] is not None]
    ended = max(run_both.export(tape, "exit"), key=lambda e: e["rss_peak_bytes"] or 0)
    assert all(r["rss_peak_bytes"] >= r["rss_bytes"] for r in seen if r["rss_peak_bytes"] is not None)
    for row in (command, ended):
        # The kernel counts rss in lots for each CPU: a sample may show some kB more than its mark.
        assert row["rss_peak_bytes"] >= max(r["rss_bytes"] for r in seen) - MIB // 4
        assert mark_of(truth, row) or row["rss_peak_is_lower_bound"], (truth, row)
    assert s["job"]["process_rss_peak_bytes"] >= truth - MIB and not s["job"]["process_rss_peak_is_lower_bound"]
    if command["rss_peak_is_lower_bound"]:
        markdown = run_both("report", "-F", "markdown", "-o", "-", tape, status=0).stdout
        row = next(l for l in markdown.splitlines() if l.startswith(f"| `{command['name']}`"))
        assert "≥" in row.split("|")[5], row
        text = run_both("summary", "-v", tape, status=0).stdout
        row = next(l for l in text.splitlines() if l.split()[:2] == [command["name"], str(command["processes"])])
        assert row.split()[-2].startswith("≥"), row


def test_peak_of_a_short_process(run_both, tape):
    """It was read once, when it had hardly begun: that is not its peak."""
    run_both.record(tape, ["true"])
    job = run_both.summary(tape)["job"]
    if job["rss_peak_bytes"] is not None and job["rss_peak_bytes"] < MIB:
        assert job["rss_peak_is_lower_bound"]


@pytest.mark.not_sanitized("until it executes true, a process has the memory of a sanitized baro")
def test_many_that_followed_each_other(run_both, tape):
    """A hundred processes that never lived together are no hundred at once."""
    run_both.record(tape, "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done", "-i", "10s")
    job = run_both.summary(tape)["job"]
    most = job["rss_peak_at_most_bytes"] or job["rss_peak_bytes"]
    if not job["processes_started_is_lower_bound"]:
        assert most <= 16 * MIB, job


def test_end_of_a_process_of_others(run, tape):
    """Without taskstats nobody reads the last mark of a process that another one began: seconds after the last sample
    are no size."""
    with subprocess.Popen(["sleep", "1.5"]) as job:
        run("record", "-q", "-i", "1s", "-o", tape, "--pid", job.pid, env={"BARO_NO_EVENTS": "1"})
    s = run.summary(tape)
    most = s["job"]["rss_peak_at_most_bytes"]
    assert most is None or most <= 2 * s["job"]["rss_peak_bytes"], most
    assert s["job"]["rss_peak_is_lower_bound"]
    assert s["limits"]["memory_peak_is_lower_bound"]
    for verdict in s["verdicts"]:
        assert verdict["rule"] != "right-size" or "needed at least" in verdict["title"], verdict


@pytest.mark.parametrize("source", ["scan"], indirect=True)
def test_a_list_of_children_does_not_add_those_before(run, tape, source):
    """One child after the other: a list has the next one before it is known that the last one has ended."""
    run.record(tape, "for i in 1 2 3 4 5 6; do sleep 0.07; done", "-i", "50ms")
    job = run.summary(tape)["job"]
    assert job["processes_started"] > 2
    assert job["processes_peak"] == 2
