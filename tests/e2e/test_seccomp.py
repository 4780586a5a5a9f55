# SPDX-License-Identifier: Apache-2.0
"""seccomp(2) filters, as those of containers and services: what they refuse hangs nothing, and is refused to no option.
"""

import errno
import os
import re

import pytest
from conftest import needs_strace

from wrapping import BARO, BESIDE, run

FORBID = BESIDE / "forbid"
WRAP = [BARO, "run", "-q", "--"]

pytestmark = [pytest.mark.not_sanitized("a sanitizer makes system calls of its own"),
              pytest.mark.skipif(not os.access(FORBID, os.X_OK), reason="tests/e2e/forbid is not built"), needs_strace]


def traced(log, *command):
    """Returns {name: number} of the system calls that a command and all its descendants make."""
    done = run(["strace", "-f", "-n", "-o", str(log), *command])
    text = log.read_text(errors="replace") if log.exists() else ""
    found = {name: int(number) for number, name in re.findall(r"^\d+ +\[ *(\d+)\] (\w+)\(", text, re.M)}
    if not found:
        pytest.skip("strace can't do that here: " + done.stderr.decode(errors="replace")[:200])
    return found


@pytest.fixture(autouse=True)
def place(work, monkeypatch):
    monkeypatch.setenv("BARO_DIR", str(work / "runs"))
    monkeypatch.chdir(work)


def forbidding(number, *command):
    return [str(FORBID), str(number), *command]


@pytest.mark.parametrize("name, error", [("write", "EINTR"), ("sendto", "EINTR")])
def test_a_call_that_is_refused_hangs_nothing(work, name, error):
    number = {**traced(work / "bare", *WRAP, "true")}[name]
    command = ["sh", "-c", "exit 3"]
    refusing = forbidding(f"{number}={getattr(errno, error)}", *WRAP, *command)
    assert run(refusing).returncode == 3


def test_a_reader_whose_writes_are_refused_ends(work):
    """A filter may say EINTR each time: that is no signal."""
    assert run([BARO, "run", "-q", "-o", "t.baro", "--", "true"]).returncode == 0
    number = {**traced(work / "bare", BARO, "summary", "t.baro")}["write"]
    for command in (["summary"], ["show"], ["export"], ["export", "--format", "arrow"], ["report", "-o", "-"]):
        assert run(forbidding(f"{number}={errno.EINTR}", BARO, *command, "t.baro")).returncode in (1, 2), command


def test_a_refused_wait_does_not_keep_the_recorder(work):
    """It waited again and again, also when all had ended."""
    waits = f"441={errno.EINTR}"  # epoll_pwait2, whose number is the same everywhere
    command = ["sh", "-c", "sleep 0.2 & (exit 4); exit 3"]
    done = run(forbidding(waits, BARO, "run", "-q", "-o", str(work / "t.baro"), "--", *command))
    assert (done.returncode, done.stderr) == (3, b"")  # it says if the recorder has not finished


def test_filter_of_unused_calls_changes_nothing(work):
    """Every container has a filter. What is to be checked, sent or watched is so there, too."""
    tape = work / "t.baro"
    (work / "budget").write_text("processes<=1\n")
    options = ["-q", "-o", str(tape), "--check", str(work / "budget")]
    done = run(forbidding(999, BARO, "run", *options, "--", "sh", "-c", "exit 6"))
    if done.returncode == 77:
        pytest.skip("seccomp(2) filters are not available here")
    assert done.returncode == 6 and b"1 limit" in done.stderr
    assert run([BARO, "summary", str(tape)]).returncode == 0
