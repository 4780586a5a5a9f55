# SPDX-License-Identifier: Apache-2.0
"""Bare against wrapped: the recorder hangs, orphans and survivors, what the kernel refuses. (Where one of the two is
killed: test_recorder.py.)"""
import os
import pathlib
import signal
import subprocess
import time

import pytest
from conftest import needs_strace

from wrapping import (  # noqa: F401 (wrap is a fixture)
    PATIENCE, QUIET, WAIT_FOR_STOP, children, comm, held, own_group, read_when, recorder_of, run, state, stopped_by,
    until, wrap,
)


def test_recorder_hangs_while_many_are_reaped(wrap):
    text = "echo up > up; %s; for i in $(seq 600); do (true &); done; exit 15" % WAIT_FOR_STOP
    job = subprocess.Popen(wrap + ["bash", "-c", text], **QUIET)
    read_when("up", "up")
    recorder = recorder_of(job.pid)
    os.kill(recorder, signal.SIGSTOP)
    open("stop", "w").close()
    assert job.wait(PATIENCE * 2) == 15
    until("the recorder's end", lambda: state(recorder) in ("", "Z"))


def test_recorder_gets_no_signals_of_the_group(wrap):
    """Neither keys nor kills of the group reach it, and it holds none of the job's files."""
    command = ["sh", "-c", "echo up > up; %s" % WAIT_FOR_STOP]
    job = subprocess.Popen(wrap + command, stdout=subprocess.PIPE, start_new_session=True)
    read_when("up", "up")
    recorder = recorder_of(job.pid)
    until("a process group", lambda: os.getpgid(recorder) == recorder)
    assert os.getsid(recorder) == os.getsid(job.pid), "in a session of its own it would have an autogroup of its own"
    ours = os.readlink("/proc/self/fd/%d" % job.stdout.fileno())
    until("letting go", lambda: ours not in held(recorder))
    until("letting go", lambda: ours not in held(job.pid))
    for number in (1, 2, 3, 10, 12, 13, 14, 15, 20, 24, 25):
        os.kill(recorder, number)
    time.sleep(0.05)
    assert state(recorder) in ("S", "R", "D")
    open("stop", "w").close()
    assert job.wait(PATIENCE) == 0
    job.stdout.close()


# ---- descendants ----


def test_orphans_are_reaped_with_their_status(wrap, tmp_path, monkeypatch, run):
    """The wrapper reports each with what wait4(2) returns, and that the command stopped and went on."""
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    text = """
        for i in 1 2 3; do (setsid sh -c "echo \\$\\$ >>pids; exit 4$i" &); done
        until [ "$(cat pids | wc -l)" = 3 ]; do sleep 0.01; done
        for pid in $(cat pids); do while kill -0 $pid; do sleep 0.01; done; done # until it was reaped
        trap got=1 USR1; kill -TSTP $$; until [ $got ]; do sleep 0.02; done
        exit 3"""
    tape = tmp_path / "t.baro"
    job = own_group([*wrap[:-1], "-o", str(tape), "--", "sh", "-c", text])
    assert stopped_by(job.pid) == signal.SIGTSTP
    job.send_signal(signal.SIGCONT)
    until("going on", lambda: state(job.pid) == "S")
    job.send_signal(signal.SIGUSR1)
    assert job.wait(PATIENCE) == 3
    reaped = [e for e in run.export(tape, "exit") if e["source"] == "wait4"]
    assert sorted(e["status"] for e in reaped) == [3, 41, 42, 43]
    events = [(e["event"], e["number"]) for e in run.export(tape, "event")]
    assert ("stop", signal.SIGTSTP) in events and ("signal", signal.SIGUSR1) in events


def test_orphans_are_not_reaped_if_asked(tmp_path, monkeypatch, run):
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    tape = tmp_path / "t.baro"
    run.record(tape, "(sh -c 'sleep 0.1; exit 41' &); sleep 0.3; exit 3", "--no-subreaper", status=3)
    assert [e["status"] for e in run.export(tape, "exit") if e["source"] == "wait4"] == [3]


def test_stopped_orphan_does_not_delay_the_end(wrap):
    done = run(wrap + ["sh", "-c", "(sh -c 'kill -STOP $$' >/dev/null 2>&1 & echo $! > pid); sleep 0.2; exit 20"])
    assert done.returncode == 20
    os.kill(int(pathlib.Path("pid").read_text()), signal.SIGKILL)


# ---- the kernel refuses ----

REFUSALS = [
    ["inject=close_range:error=ENOSYS"],  # before Linux 5.9
    ["inject=socketpair:error=EMFILE"],
    ["inject=clone:error=EAGAIN:when=1"],
    ["inject=clone:error=EAGAIN:when=2"],
    ["inject=clone:error=EAGAIN"],
    ["inject=mmap:error=ENOMEM:when=200+"],
    ["inject=sendto:error=EAGAIN:when=1"],
    ["inject=sendto:error=ENOBUFS"],
    ["inject=prctl:error=EINVAL"],
    ["inject=getitimer:error=EINVAL"],
    ["inject=shutdown:error=ENOTCONN"],
    ["inject=rt_sigtimedwait:error=EINTR:when=1..3"],
    ["inject=waitid:error=EPERM"],
    ["inject=wait4:error=ENOSYS"],
    ["inject=waitid,wait4:error=EPERM"],
    ["inject=getpid:error=EPERM"],
    ["inject=getppid:error=EPERM"],
    ["inject=wait4:error=EINTR:when=1"],
    ["inject=openat:error=ENFILE", "-P", "/dev/null"],
    ["inject=openat:error=ENFILE", "-P", "/proc/self/status"],
    ["inject=setrlimit,prlimit64:error=EPERM"],
]


@needs_strace
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda r: " ".join(r))
def test_calls_refused_by_the_kernel(wrap, refusal):
    """Whichever system call of the wrapper (and of it alone) fails, the job runs and its end is reported correctly."""
    if os.environ.get("BARO_SANITIZED") == "1":
        pytest.skip("the sanitizer's own calls would be refused too")
    strace = ["strace", "-o", "/dev/null", "-e", refusal[0], *refusal[1:]]
    if run(strace + ["true"]).returncode != 0:
        pytest.skip("strace can't do that here")
    done = run(strace + wrap + ["sh", "-c", "echo out; kill -USR1 $$"])
    assert done.stdout == b"out\n"
    assert done.returncode == -signal.SIGUSR1


@needs_strace
def test_close_descriptors_without_close_range(wrap):
    strace = ["strace", "-o", "/dev/null", "-e", "inject=close_range:error=ENOSYS"]
    read, write = os.pipe()
    job = subprocess.Popen(strace + wrap + ["bash", "-c", "exec %d>&-; %s" % (write, WAIT_FOR_STOP)], pass_fds=[write])
    # strace tries things out on children of its own first.
    wrapper = until("the wrapper", lambda: next((c for c in children(job.pid) if comm(c) not in ("", "strace")), None))
    os.close(write)
    try:
        ours = "pipe:[%d]" % os.fstat(read).st_ino
        until("letting go", lambda: ours not in held(wrapper))
    finally:
        open("stop", "w").close()
        assert job.wait(PATIENCE) == 0
        os.close(read)
