# SPDX-License-Identifier: Apache-2.0
"""Peaks of memory and of counts: what is shown is right, or marked as a lower bound."""

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
        assert row["rss_peak_bytes"] >= max(r["rss_bytes"] for r in seen)
        assert mark_of(truth, row) or row["rss_peak_is_lower_bound"], (truth, row)
    assert s["job"]["process_rss_peak_bytes"] >= truth - MIB and not s["job"]["process_rss_peak_is_lower_bound"]
    if command["rss_peak_is_lower_bound"]:
        markdown = run_both("report", "-F", "markdown", "-o", "-", tape, status=0).stdout
        row = next(l for l in markdown.splitlines() if l.startswith(f"| `{command['name']}`"))
        assert "at\xa0least" in row.split("|")[5], row
        text = run_both("summary", tape, status=0).stdout
        row = next(l for l in text.splitlines() if command["name"] in l and "%" in l)
        assert row.split()[-2].startswith(">"), row
