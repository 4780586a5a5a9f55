# SPDX-License-Identifier: Apache-2.0
"""What is told of those that have ended: how much memory they had at most, how their CPU time splits, what they read and wrote."""

from jobs import script


def test_peak_between_samples(run_both, tape):
    """A process that grows and ends between two samples is in no sum; the job had at least what that process had."""
    big = script("b = b'x' * (200 << 20)")
    run_both.record(tape, ["sh", "-c", 'sleep 0.1; "$@"; sleep 0.1', "sh", *big], "-i", "10s")
    s = run_both.summary(tape)
    job = s["job"]
    assert job["process_rss_peak_bytes"] >= 200 << 20
    assert job["rss_peak_bytes"] >= job["process_rss_peak_bytes"]
    assert job["rss_peak_is_lower_bound"]
    assert job["pss_peak_bytes"] is None or job["pss_peak_is_lower_bound"]
    text = run_both("summary", tape, status=0).stdout
    line = next(l for l in text.splitlines() if l.lstrip().startswith("memory"))
    assert "peak at least 2" in line and "rss" in line, line
    largest = max(run_both.export(tape, "exit"), key=lambda e: e["rss_peak_bytes"] or 0)
    if (largest["rss_peak_bytes"] or 0) >= job["process_rss_peak_bytes"] * 0.96:
        assert job["process_rss_peak_name"] == largest["name"] and largest["name"] in line, line
    else:  # wait4(2) told it of a process and of all that it had waited for
        assert job["process_rss_peak_name"] is None and s["absent"]["job.process_rss_peak_name"] == "unknown"


def test_cpu_is_the_sum_of_its_parts(run_both, tape):
    """Of whoever lives too short to be looked at nobody tells how its CPU time splits."""
    run_both.record(tape, "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (true); ls / >/dev/null; done; sleep 0.2; for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (true); ls / >/dev/null; done; exit 0")
    s = run_both.summary(tape)
    for c in s["commands"]:
        if c["cpu_user_ns"] is None or c["cpu_ns"] is None:
            assert c["cpu_user_ns"] is None and c["cpu_system_ns"] is None and not c["cpu_split_is_estimate"], c
        else:
            assert c["cpu_user_ns"] + c["cpu_system_ns"] == c["cpu_ns"], c
    for e in run_both.export(tape, "exit"):
        if e["cpu_user_ns"] is None:
            assert e["cpu_system_ns"] is None
        else:
            assert e["cpu_user_ns"] + e["cpu_system_ns"] == e["cpu_ns"], e
