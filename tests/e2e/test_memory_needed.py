# SPDX-License-Identifier: Apache-2.0
"""The memory to ask for: about the smallest limit with which a job ends, whatever its processes share or do not map."""
import sys

import pytest

MIB = 1 << 20
FORK = """
import os, sys, time, mmap
def workers(n, work=lambda: None):
    kids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            work(); time.sleep(.8); os._exit(0)
        kids.append(pid)
    for pid in kids: os.waitpid(pid, 0)
"""
SCRIPTS = {
    "forks": "a = bytearray(120 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1\nworkers(4)",
    "shared": "m = mmap.mmap(-1, 120 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\n"
    "workers(4, lambda: [m[i] for i in range(0, len(m), 4096)])",
    "own": "workers(4, lambda: globals().update(b=bytearray(30 << 20)))",
    "tmpfs": "f = open('/dev/shm/baro-test-%d' % os.getpid(), 'wb')\nos.unlink(f.name)\n"
    "for i in range(120): f.write(b'x' * (1 << 20))\nf.flush()\ntime.sleep(.5)",
}


def needed(run, tape, body):
    run("run", "-q", "-o", tape, "--overhead", "off", "--", sys.executable, "-c", FORK + body, status=0)
    return run.summary(tape)


@pytest.mark.not_sanitized("what the sanitizers add to the recorder is not the job's, but it is slow")
@pytest.mark.parametrize("kind", SCRIPTS)
def test_what_a_limit_needs(run, tape, kind):
    """120 MB each time, whoever maps them, and up to 40 MB of five interpreters."""
    limits = needed(run, tape, SCRIPTS[kind])["limits"]
    assert 115 * MIB < limits["memory_peak_bytes"] < 165 * MIB, limits
    assert limits["memory_peak_at_most_bytes"] >= limits["memory_peak_bytes"]
    assert (limits["memory_peak_shared_bytes"] > 115 * MIB) == (kind in ("shared", "tmpfs")), limits


def test_zombies_hold_nothing(run, tape):
    body = "for _ in range(150):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(1.2)"
    summary = needed(run, tape, body)
    assert summary["limits"]["memory_peak_bytes"] < 64 * MIB, summary["limits"]
    advice = next(v for v in summary["verdicts"] if v["rule"] == "right-size")
    assert " needed " in advice["title"] and "--mem=" in advice["advice"], advice
