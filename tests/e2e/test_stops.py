# SPDX-License-Identifier: Apache-2.0
"""Whoever stops and continues the command alone, and whatever becomes of the recorder: the wrapper ends as the command
ended, and when it did."""

import os
import random
import select
import signal
import subprocess
import time

import pytest

from wrapping import PATIENCE, recorder_of, WRAPPERS, wrap  # noqa: F401 (wrap is a fixture)

FULL = os.environ.get("BARO_FULL") == "1"
TIMES = [8] + ([1000] if FULL else [])
JOB = ["sh", "-c", "echo $$; read x; exit 7"]


def readable(fd, seconds):
    return bool(select.select([fd], [], [], seconds)[0])


def send(job, number):
    try:
        signal.pidfd_send_signal(job, number)
    except ProcessLookupError:
        pass  # it has ended, and was reaped


def one_run(wrapper, dice, spoil):
    """Starts a job, stops and continues it at random moments, ends it, and returns what came of it: how its end was
    told, and how
    many seconds after it. A pidfd is what is signalled, so that no other process can be met."""
    run = subprocess.Popen(wrapper + JOB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pid = int(run.stdout.readline())
    job = os.pidfd_open(pid)
    spoil(run.pid)
    killed = dice.random() < 0.3
    for _ in range(dice.randint(1, 6)):
        time.sleep(dice.choice([0, dice.uniform(0, 0.003), dice.uniform(0, 0.03)]))
        send(job, signal.SIGSTOP)
        time.sleep(dice.choice([0, dice.uniform(0, 0.003), dice.uniform(0, 0.05)]))
        send(job, signal.SIGCONT)
    if dice.random() < 0.5:
        send(job, signal.SIGSTOP)
    time.sleep(dice.choice([0, dice.uniform(0, 0.03)]))
    if killed:
        send(job, signal.SIGKILL)
    else:
        run.stdin.write(b"\n")
        run.stdin.flush()
        send(job, signal.SIGCONT)
    assert readable(job, PATIENCE), "the job itself has not ended"
    ended, end = time.monotonic(), os.pidfd_open(run.pid)
    told = readable(end, PATIENCE)
    late = time.monotonic() - ended
    os.close(job)
    os.close(end)
    if not told:
        run.kill()
    status = run.wait()
    run.stdin.close()
    run.stdout.close()
    return (status == (-signal.SIGKILL if killed else 7)) if told else None, late


def many_runs(times, run):
    dice = random.Random(times)
    results = [run(dice, i) for i in range(times)]
    late = sorted(seconds * 1000 for _, seconds in results)
    print(f"{times} jobs stopped and continued: {sum(r is True for r, _ in results)} statuses right, "
          f"{sum(r is None for r, _ in results)} hung; late by ms: median {late[times // 2]:.1f}, "
          f"99 % {late[times * 99 // 100]:.1f}, most {late[-1]:.1f}; {sum(ms > 50 for ms in late)} above 50")
    assert all(r is True for r, _ in results)


def signal_recorder(number):
    def spoil(wrapper):
        recorder = os.pidfd_open(recorder_of(wrapper))
        signal.pidfd_send_signal(recorder, number)
        os.close(recorder)

    return spoil


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("recorder", [None, signal.SIGSTOP, signal.SIGKILL], ids=["alive", "stopped", "killed"])
def test_stopped_and_continued_at_random_moments(wrap, recorder, times):
    spoil = signal_recorder(recorder) if recorder else lambda wrapper: None
    many_runs(times, lambda dice, i: one_run(wrap, dice, spoil))


@pytest.mark.parametrize("times", [3] + ([1000] if FULL else []))
def test_stopped_and_continued_while_the_recorder_hangs(wrap, hanging, times):
    """It sits in a write that is not answered."""
    if wrap != WRAPPERS.get("baro"):
        pytest.skip("only baro writes a tape")

    def run(dice, i):
        got = one_run(
            [*wrap[:-1], "-i", "10ms", "-o", f"{hanging.folder}/{i}", "--"], dice, lambda wrapper: hanging.hang()
        )
        hanging.resume()
        return got

    many_runs(times, run)
