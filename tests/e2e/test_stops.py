# SPDX-License-Identifier: Apache-2.0
"""Other processes stop and continue the command alone, and the recorder is killed or stopped: the wrapper ends as the
command ended, and at that time.
"""

import os
import random
import select
import signal
import subprocess
import time

import pytest

from conftest import FULL
from wrapping import (  # noqa: F401 (wrap is a fixture)
    PATIENCE, children, comm, own_group, recorder_of, state, stopped_by, until, wrap,
)

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
    """Starts a job, stops and continues it at random moments, ends it, and returns how its end was reported, and how
    many seconds after it. A pidfd is signalled, so that no other process can be hit."""
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
    has_ended = readable(end, PATIENCE)
    late = time.monotonic() - ended
    os.close(job)
    os.close(end)
    if not has_ended:
        run.kill()
    status = run.wait()
    run.stdin.close()
    run.stdout.close()
    return (status == (-signal.SIGKILL if killed else 7)) if has_ended else None, late


def signal_recorder(number):
    def spoil(wrapper):
        recorder = os.pidfd_open(recorder_of(wrapper))
        signal.pidfd_send_signal(recorder, number)
        os.close(recorder)

    return spoil


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("recorder", [None, signal.SIGSTOP, signal.SIGKILL], ids=["alive", "stopped", "killed"])
def test_stopped_and_continued_at_random_moments(wrap, recorder, times):
    spoil, dice = signal_recorder(recorder) if recorder else lambda wrapper: None, random.Random(times)
    results = [one_run(wrap, dice, spoil) for _ in range(times)]
    late = sorted(seconds * 1000 for _, seconds in results)
    print(f"{times} jobs stopped and continued: {sum(r is True for r, _ in results)} statuses right, "
          f"{sum(r is None for r, _ in results)} hung; late by ms: median {late[times // 2]:.1f}, "
          f"99 % {late[times * 99 // 100]:.1f}, most {late[-1]:.1f}; {sum(ms > 50 for ms in late)} above 50")
    assert all(r is True for r, _ in results)


def command_of(run, name):
    """Returns the pid of the command below the wrapper."""
    return until("the command", lambda: [c for c in children(run.pid) if comm(c) == name])[0]


def ends_within_patience(run):
    end = os.pidfd_open(run.pid)
    has_ended = readable(end, PATIENCE)
    os.close(end)
    if not has_ended:
        run.kill()
    return run.wait() if has_ended else None


LEADERLESS = """
    #include <pthread.h>
    #include <unistd.h>
    static void *work(void *nothing)
    {
        for (;;)
            usleep(10000);
        return nothing;
    }
    int main(void)
    {
        pthread_t t;
        pthread_create(&t, NULL, work, NULL);
        pthread_exit(NULL);
    }
    """


def test_command_whose_first_thread_has_ended(wrap, compiled):
    """The state of such a command is 'Z', whether its other threads are stopped or not."""
    run = own_group(wrap + [compiled("leaderless", LEADERLESS)])
    pid = command_of(run, "leaderless")
    until("the end of the first thread", lambda: state(pid) == "Z")
    for _ in range(2):
        os.kill(pid, signal.SIGSTOP)
        assert stopped_by(run.pid) == signal.SIGSTOP
        os.kill(pid, signal.SIGCONT)
        until("going on", lambda: state(run.pid) != "T")
    os.kill(pid, signal.SIGKILL)
    assert ends_within_patience(run) == -signal.SIGKILL


@pytest.mark.parametrize("then", [signal.SIGKILL, signal.SIGCONT])
def test_stopped_again_before_the_wrapper_has_run(wrap, cgroup, then):
    """The command is continued with its group and stopped with it again, as by `fg` and Ctrl-Z on a busy machine; in
    between the wrapper gets no CPU. The wrapper sees all that happens to the command alone after that."""
    if not (cgroup.path / "cgroup.freeze").exists():
        pytest.skip("the kernel can't freeze a control group (Linux 5.2)")
    run = own_group(wrap + ["sleep", "1000"])
    pid = command_of(run, "sleep")
    os.killpg(run.pid, signal.SIGTSTP)
    assert stopped_by(run.pid) == signal.SIGTSTP
    cgroup.write("cgroup.procs", run.pid)
    cgroup.write("cgroup.freeze", 1)
    until("a frozen wrapper", lambda: "frozen 1" in cgroup.read("cgroup.events"))
    os.killpg(run.pid, signal.SIGCONT)
    until("the command going on", lambda: state(pid) == "S")
    time.sleep(0.1)  # the watcher checks every 20 ms
    os.killpg(run.pid, signal.SIGTSTP)
    until("the second stop", lambda: state(pid) == "T")
    cgroup.write("cgroup.freeze", 0)
    assert stopped_by(run.pid) == signal.SIGTSTP
    assert state(pid) == "T"
    os.kill(pid, then)
    if then == signal.SIGCONT:
        until("the wrapper going on", lambda: state(run.pid) == "S")
        os.killpg(run.pid, signal.SIGTSTP)
        assert stopped_by(run.pid) == signal.SIGTSTP
        os.kill(pid, signal.SIGKILL)
    assert ends_within_patience(run) == -signal.SIGKILL


def test_stopped_as_soon_as_it_is_continued(wrap):
    """It is continued and stopped with its group over and over: a process that waits for the wrapper, as a shell does,
    sees it stop once each time, and never sees it continue by itself."""
    run = own_group(wrap + ["sleep", "1000"])
    pid = command_of(run, "sleep")
    for _ in range(60):
        os.killpg(run.pid, signal.SIGTSTP)
        assert stopped_by(run.pid) == signal.SIGTSTP
        until("the command's stop", lambda: state(pid) == "T")
        time.sleep(0.01)  # to see that it does not come
        assert os.waitpid(run.pid, os.WNOHANG | os.WCONTINUED) == (0, 0)
        os.killpg(run.pid, signal.SIGCONT)
        assert os.WIFCONTINUED(os.waitpid(run.pid, os.WCONTINUED)[1])
        until("the command going on", lambda: state(pid) == "S")
    os.kill(pid, signal.SIGKILL)
    assert ends_within_patience(run) == -signal.SIGKILL
