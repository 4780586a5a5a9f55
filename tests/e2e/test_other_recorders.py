# SPDX-License-Identifier: Apache-2.0
"""Recordings inside of a job: their wrappers, recorders and helpers are no processes of the job.

The inner recorder samples every 10 ms and without a budget, so that what it costs is far more than what remains of a
wrapper that ended before it was read."""

import os
import shutil
import signal

import pytest
from conftest import unshared
from jobs import PYTHON, commands

# 300 processes to sample, and 0.3 s of CPU time of the job itself.
JOB = """
import subprocess, time
sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(150)]
end = time.process_time() + 0.3
while time.process_time() < end: pass
time.sleep(0.7)
[s.kill() for s in sleepers]
[s.wait() for s in sleepers]
"""
JOB_ARGV = [PYTHON, "-S", "-c", JOB]
COSTLY = ["-q", "-i", "10ms", "--overhead", "off"]


# What a process uses while it ends is in what the kernel has of its group, and can be read of none: 0.1 to 0.2 ms of each
# sleeper, 20 ms of a process with AddressSanitizer's memory.
UNREAD_NS = 40_000_000 if os.environ.get("BARO_SANITIZED") else 0


def check_outer(outer, inner, seen=True, unread_ns=UNREAD_NS):
    """The outer recording has what the inner one has, and none of what that cost. seen: it has seen the inner
    recorder. unread_ns: what one of them may not be able to read."""
    job, expected, cost = outer["job"], inner["job"], inner["recorder"]["cpu_ns"] * seen
    others = outer["recorder"]["others_cpu_ns"]
    # Without events what a recorder uses after its clock was last read, up to 0.2 s before its end, is not known: it is
    # the job's. Nothing is lost or counted twice.
    scans = outer["accounting"]["event_source"] == "scan"
    numbers = (job["cpu_ns"], expected["cpu_ns"], cost, others)
    assert abs(job["cpu_ns"] + others - expected["cpu_ns"] - cost) < 20_000_000 + unread_ns, numbers
    slack = (cost / 2 + 15_000_000 if scans else cost / 4 + 5_000_000) + unread_ns
    assert abs(job["cpu_ns"] - expected["cpu_ns"]) < slack, numbers
    assert not seen or abs(cost - others) < slack, numbers
    assert not seen or outer["recorder"]["others_rss_peak_bytes"] > 1_000_000
    assert inner["recorder"]["others_cpu_ns"] == 0
    # `baro record --background` ends at once and is not read; what it leaves behind is.
    assert not [name for name in commands(outer) if name.startswith("baro-")]


@pytest.mark.parametrize("place", ["host", "namespace"])
def test_a_run_in_a_run(run_both, work, source, place):
    via = unshared("-r", "-p", "-f", "--mount-proc") if place == "namespace" else []
    if via and os.geteuid() == 0:
        via.remove("-r")
    inside = [run_both.binary, "run", *COSTLY, "-o", work / "inner.baro", "--", *JOB_ARGV]
    run_both("run", "-q", "--overhead", "off", "-o", work / "outer.baro", "--", *inside, via=via, status=0)
    outer, inner = run_both.summary(work / "outer.baro"), run_both.summary(work / "inner.baro")
    check_outer(outer, inner)
    for count in ("processes_started", "processes_peak"):
        assert outer["job"][count] == inner["job"][count], count
    # Neither rows nor exits, nor events are of processes that are none of the job.
    assert not any(e["name"].startswith("baro") for e in run_both.export(work / "outer.baro", "exit"))
    assert not any(e["event"] == "exec" and "baro-" in e["text"] for e in run_both.export(work / "outer.baro", "event"))


@pytest.mark.parametrize("how", ["attached", "own group"])
def test_a_recording_that_the_job_attaches(run_both, work, how):
    """As barograph.record() does."""
    inner = f"{run_both.binary} record --background --pid $$ {' '.join(COSTLY)} -o inner.baro >begun"
    job = f"{inner}; {PYTHON} -S -c '{JOB}'"
    if how == "attached":
        outer = f"{run_both.binary} record --background --pid $$ -q -o outer.baro >first; {job}"
        run_both.popen("run", "-q", "-o", work / "all.baro", "--", "sh", "-c", outer).wait()
        run_both.await_end(work / "outer.baro")
    else:
        run_both.record(work / "outer.baro", job, "--cgroup", "own" if run_both.uid is None else "auto")
    run_both.await_end(work / "inner.baro")
    found = run_both.summary(work / "outer.baro")
    # A recorder that has just attached may miss the fork of a process whose parent ends at once.
    seen = how == "own group" or found["recorder"]["others_cpu_ns"] > 0
    check_outer(found, run_both.summary(work / "inner.baro"), seen, unread_ns=UNREAD_NS + 30_000_000)
    if how == "own group" and found["cgroup"] == "own" and found["limits"]["memory_peak_of"] == "cgroup":
        assert found["limits"].marks.get("limits.memory_peak_bytes")  # a busy machine: it may be a lower bound as well


def test_what_is_none(run_both, work, tape):
    """What a wrapper starts is the job's, whatever the wrapper is called. So is a program that is called like a recorder
    and is none, and a copy of baro."""
    shutil.copy("/bin/sh", work / "baro-recorder")
    (work / "baro-helper").symlink_to(run_both.binary)
    shutil.copy(run_both.binary, work / "baro-select")
    burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.1"
    inner = f"run -q -o inner.baro -- sh -c '{burn}'"
    job = f"./baro-recorder -c '{burn}'; ./baro-helper {inner}; rm inner.baro; ./baro-select {inner}"
    run_both.record(tape, job, cwd=str(work))
    s = run_both.summary(tape)
    found = commands(s)
    assert found["baro-recorder"]["cpu_ns"] > s["job"]["cpu_ns"] / 5 and found["sh"]["processes"] == 3
    assert found["sh"]["cpu_ns"] > s["job"]["cpu_ns"] / 2
    assert s["recorder"]["others_cpu_ns"] < s["job"]["cpu_ns"] / 5


def test_what_a_follower_starts(run_both, tape):
    run_both.record(tape, f"{run_both.binary} follow {PYTHON} -S -c '{JOB}' & wait; sleep 0.1")
    s = run_both.summary(tape)
    assert s["recorder"]["others_cpu_ns"] > 250_000_000 and s["job"]["cpu_ns"] < 150_000_000
    assert run_both("follow", "sh", "-c", "exit 7").returncode == 7
    ignoring = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    assert run_both("follow", "sh", "-c", "exit 7", before=ignoring).returncode == 7
    assert "execute no-such: " in run_both("follow", "no-such").stderr
