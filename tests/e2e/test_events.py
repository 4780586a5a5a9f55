# SPDX-License-Identifier: Apache-2.0
"""What events tell, and when: of those who end at once, of those whom nobody waits for, and where few events are to be had."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from jobs import names_of, script


def test_execs_are_told_with_their_time(run, tape):
    """Whenever somebody looked, and whether that was before they ended or after."""
    run.record(tape, "for t in 0.01 0.3; do (exec /usr/bin/env /usr/bin/sleep $t); date; done", "-i", "1s")
    told = sorted((e["t_ns"], e["text"]) for e in run.export(tape, "event") if e["event"] == "exec")
    assert [name for _, name in told][-4:] == ["sleep", "date", "sleep", "date"]
    (short, _), (date, _), (long, _), (last, _) = told[-4:]
    assert date - short > 10_000_000 and last - long > 300_000_000
    assert long - date < last - long


def test_exec_at_the_end(run, tape, started):
    """What was executed a moment before the last target ends is told all the same, and what goes on is called by its new name."""
    target = started(["sh", "-c", "sleep 0.5; (exec sleep 3) & sleep 0.01"])
    run("record", "--pid", target.pid, "-q", "-i", "1s", "-o", tape, status=0)
    events = [(e["event"], e["text"]) for e in run.export(tape, "event")]
    assert events.count(("exec", "sleep")) >= 2 and ("survivor", "sleep") in events


def test_name_that_its_parents_begins_with(run, work, tape):
    """An inherited name is no longer form of what was executed: only names of 15 bytes are cut."""
    shutil.copy("/bin/sh", work / "trueness")
    run.record(tape, [work / "trueness", "-c", "for i in 1 2 3 4 5; do /bin/true; done; exit 0"])
    assert names_of(run.export(tape, "exit")).count("true") == 5


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
def test_forks_told_by_perf(run, tape):
    """It wakes nobody for a few events. In a network of its own there is no connector."""
    kids = script("""
        import os, time
        for i in range(3):
            if os.fork() == 0:
                time.sleep(1.2)
                os._exit(0)
            time.sleep(0.1)
        time.sleep(1)
        os._exit(0)
        """)
    done = subprocess.run(["unshare", "-n", run.binary, "run", "-q", "-i", "100ms", "-o", tape, "--", *kids], check=False, timeout=60)
    assert done.returncode == 0
    counts = [row["processes"] for row in run.export(tape, "job")]
    assert counts[len(counts) // 2] == 4, counts


def test_time_goes_on_while_it_is_stopped(run, tape, started):
    """What was due meanwhile is due at once when it goes on, and not after what was left to wait for."""
    target = started(["sleep", "1000"])
    r = run.popen("record", "--pid", target.pid, "-q", "-i", "3s", "--for", "3s", "-o", tape, env={**os.environ, "BARO_NO_EVENTS": "1"})
    time.sleep(0.5)
    os.kill(r.pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(r.pid, signal.SIGCONT)
    assert r.wait(1.5) == 0
