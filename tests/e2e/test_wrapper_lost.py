# SPDX-License-Identifier: Apache-2.0
"""Bare against wrapped: the recorder or the wrapper is killed or hangs, orphans and survivors, what the kernel refuses.
"""
import os
import pathlib
import signal
import subprocess
import time

import pytest
from conftest import needs_strace, poll

from wrapping import (
    children,
    comm,
    DUMMY,
    held,
    own_group,
    PATIENCE,
    QUIET,
    read_when,
    recorder_of,
    run,
    shell,
    state,
    stopped_by,
    until,
    WAIT_FOR_STOP,
    wrap,  # noqa: F401 (a fixture)
    WRAPPERS,
)

# ---- the recorder and the wrapper are killed or hang -----------------------------------------------------------------


def test_recorder_is_killed(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; %s; kill -USR2 $$" % WAIT_FOR_STOP], **QUIET)
    read_when("up", "up")
    os.kill(recorder_of(job.pid), signal.SIGKILL)
    time.sleep(0.05)
    assert job.poll() is None
    open("stop", "w").close()
    assert job.wait(PATIENCE) == -signal.SIGUSR2


def test_recorder_hangs(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; %s; exit 14" % WAIT_FOR_STOP], **QUIET)
    read_when("up", "up")
    recorder = recorder_of(job.pid)
    os.kill(recorder, signal.SIGSTOP)
    open("stop", "w").close()
    assert job.wait(PATIENCE) == 14
    until("the recorder's end", lambda: state(recorder) in ("", "Z"))


def test_recorder_hangs_while_many_are_reaped(wrap):
    text = "echo up > up; %s; for i in $(seq 600); do (true &); done; exit 15" % WAIT_FOR_STOP
    job = subprocess.Popen(wrap + ["bash", "-c", text], **QUIET)
    read_when("up", "up")
    os.kill(recorder_of(job.pid), signal.SIGSTOP)
    open("stop", "w").close()
    assert job.wait(PATIENCE * 2) == 15


def test_wrapper_is_killed(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo $$ > up; %s; echo done > done" % WAIT_FOR_STOP], **QUIET)
    pid = int(read_when("up", r"(\d+)\n").group(1))
    recorder = recorder_of(job.pid)
    job.kill()
    job.wait()
    time.sleep(0.05)
    assert state(pid) in ("S", "R", "D")
    open("stop", "w").close()
    read_when("done", "done")
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


def test_no_process_can_be_made(wrap, tmp_path):
    tmp_path.chmod(0o777)
    text = "setpriv --reuid 64123 --clear-groups prlimit --nproc=1 {W} sh -c 'echo on; exit 17'"
    done = shell(text, wrap)
    assert (done.returncode, done.stdout) == (17, b"on\n")


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 8])
def test_no_descriptor_can_be_opened(wrap, limit):
    # The loader of a dynamic program needs one more than three.
    text = "prlimit --nofile=%d:20000 {W} sh -c 'kill -USR1 $$' 2>/dev/null" % max(limit, 4)
    bare, wrapped = shell(text, []), shell(text, wrap)
    assert wrapped.returncode == bare.returncode


# ---- descendants ----

needs_dummy = pytest.mark.skipif("dummy" not in WRAPPERS, reason="wrapdummy is not built")


def logged(tmp_path, command, *options):
    log = tmp_path / "log"
    env = {**os.environ, "BARO_DIR": str(tmp_path)}
    done = run([DUMMY, *options, "--log", str(log), "--"] + command, env=env, cwd=tmp_path)
    lines = [line.split() for line in log.read_text().splitlines()]
    return done, [dict([("kind", words[0])] + [w.split("=") for w in words[1:]]) for words in lines]


@needs_dummy
def test_orphans_are_reaped_with_their_status(tmp_path):
    text = """
        for i in 1 2 3; do (setsid sh -c "echo \\$\\$ >>pids; exit 4$i" &); done
        until [ "$(cat pids | wc -l)" = 3 ]; do sleep 0.01; done
        for pid in $(cat pids); do while kill -0 $pid; do sleep 0.01; done; done # until it was reaped
        exit 3"""
    done, facts = logged(tmp_path, ["sh", "-c", text])
    assert done.returncode == 3
    reaped = [f for f in facts if f["kind"] == "reaped"]
    assert sorted(os.waitstatus_to_exitcode(int(f["status"])) for f in reaped) == [3, 41, 42, 43]
    assert all(int(f["stat"]) > 50 for f in reaped)
    assert [f["kind"] for f in facts][0] == "started" and facts[-1]["kind"] == "ended" and facts[-1]["reaped"] == "4"


@needs_dummy
def test_orphans_are_not_reaped_if_asked(tmp_path):
    done, facts = logged(tmp_path, ["sh", "-c", "(sh -c 'sleep 0.1; exit 41' &); sleep 0.3; exit 3"], "--no-subreaper")
    assert done.returncode == 3 and facts[-1]["reaped"] == "1"


@needs_dummy
def test_recorder_is_no_child_of_the_job(tmp_path):
    _, facts = logged(tmp_path, ["true"])
    assert [f["kind"] for f in facts] == ["started", "reaped", "ended"]
    assert int(facts[1]["cpu_ns"]) > 0
    assert 0 < int(facts[0]["floor"])
    assert int(facts[1]["maxrss"]) >= int(facts[1]["total_maxrss"]) > 0


@needs_dummy
def test_stops_and_signals_are_reported(tmp_path):
    log = tmp_path / "log"
    text = "trap got=1 USR1; kill -TSTP $$; until [ $got ]; do sleep 0.02; done; exit 2"
    job = own_group([DUMMY, "--log", str(log), "sh", "-c", text])
    assert stopped_by(job.pid) == signal.SIGTSTP
    job.send_signal(signal.SIGCONT)
    # If it ended first, wait4(2) would report its end alone.
    poll(lambda: "continued pid" in log.read_text(), "the report that it goes on")
    job.send_signal(signal.SIGUSR1)
    assert job.wait(PATIENCE) == 2
    text = log.read_text()
    assert "stopped pid" in text and "number=10" in text


@needs_dummy
def test_failed_exec_is_reported(tmp_path):
    done, facts = logged(tmp_path, ["./nonexistent"])
    assert done.returncode == 127 and [(f["kind"], f["number"]) for f in facts] == [("failed", "2")]


def test_survivors_are_not_ended(wrap):
    survivor = "(setsid sh -c 'echo $$ > pid; sleep 0.3; echo lived > lived' >/dev/null 2>&1 &)"
    done = run(wrap + ["sh", "-c", survivor + "; while [ ! -s pid ]; do sleep 0.01; done"])
    assert done.returncode == 0
    read_when("lived", "lived")


def test_hundred_orphans(wrap):
    text = "for i in $(seq 100); do (sleep 0.0$((i % 9)) &); done; exit 19"
    assert run(wrap + ["bash", "-c", text]).returncode == 19


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
