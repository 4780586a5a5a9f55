# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the recorder, the job's result is the same, and the tape is readable to the last acknowledged
sample.
"""

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import time

import pytest
from conftest import FULL, needs_strace, poll

from test_cgroup import v1  # noqa: F401 (a fixture)
from wrapping import children, comm, recorder_of, state

RESULT = "read x < /dev/null; echo out; exit 9"


# ---- killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moments", [12] + ([1000] if FULL else []))
def test_killed_at_random_moments(run, work, started, wait_until, moments):
    """What a follower of the tape has read was acknowledged; all of it can be read after kill -9."""
    dice = random.Random(moments)
    job = started(["sleep", "1000"])
    lost = seen = 0
    for i in range(moments):
        tape = work / f"{i}.baro"
        r = run.popen("record", "--pid", job.pid, "-q", "-i", "10ms", "-o", tape)
        wait_until(lambda: tape.exists() and tape.stat().st_size > 0, "a tape")
        follow = ("export", "-f", "--entity", "job", "--format", "jsonl", "-c", "t_ns", tape)
        follower = run.popen(*follow, stdout=subprocess.PIPE, text=True)
        time.sleep(dice.uniform(0.02, 0.12))
        r.send_signal(signal.SIGKILL)
        r.wait()
        time.sleep(0.02)
        follower.send_signal(signal.SIGINT)
        lines = follower.communicate(timeout=60)[0].splitlines()
        followed = {json.loads(line)["t_ns"] for line in lines if line.endswith("}")}
        kept = run.instants(tape)
        assert kept == sorted(kept)
        lost += len(followed - set(kept))
        seen += len(followed)
        tape.unlink()
    assert lost == 0
    assert seen > 0
    print(f"kill -9 at {moments} moments: {seen} acknowledged samples, {lost} lost")


def interrupt(strace):
    """The program that strace runs, which it may not have started yet on a busy machine."""
    while strace.poll() is None and subprocess.run(["pkill", "-INT", "-P", str(strace.pid)], check=False).returncode:
        time.sleep(0.05)


@needs_strace
@pytest.mark.not_sanitized("strace counts a sanitizer's calls too")
@pytest.mark.parametrize("nth", range(1, 40 if FULL else 8))
@pytest.mark.parametrize("call", ["write", "ftruncate", "fdatasync"])
def test_killed_at_each_call_of_the_writer(run, work, started, call, nth):
    tape = work / "t.baro"
    job = started(["sleep", "1000"])
    r = run.popen("record", "--pid", job.pid, "-q", "-i", "10ms", "-o", tape, stderr=subprocess.DEVNULL,
                  via=["strace", "-o", "/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={nth}"])
    try:
        r.wait(timeout=60 if call == "write" else 1.5)  # the number of writes grows
    except subprocess.TimeoutExpired:
        interrupt(r)
        r.wait(timeout=60)
    assert job.poll() is None
    if tape.exists() and tape.stat().st_size:
        kept = run.instants(tape)
        assert kept == sorted(kept)
        assert call != "write" or len(kept) >= nth - 3  # the header and a partial frame are no samples


# ---- calls that fail -------------------------------------------------------------------------------------------------

CALLS = {
    "openat": "EMFILE",
    "read": "EIO",
    "pread64": "EIO",
    "write": "ENOSPC",
    "clock_gettime": "EINVAL",
    "epoll_pwait2": "ENOSYS",
    "epoll_create1": "EMFILE",
    "epoll_ctl": "ENOMEM",
    "socket": "EMFILE",
    "recvmmsg": "ENOBUFS",
    "sendto": "ECONNREFUSED",
    "newfstatat": "EACCES",
    "fork": "EAGAIN",
    "clone": "EAGAIN",
    "mmap": "ENOMEM",
    "socketpair": "EMFILE",
    "perf_event_open": "EACCES",
    "pidfd_open": "ENOSYS",
    "flock": "ENOLCK",
}


@needs_strace
@pytest.mark.not_sanitized("a sanitizer does not survive it")
@pytest.mark.parametrize("when", ["1+", "8+"] + (["40+", *(str(n) for n in range(1, 60))] if FULL else ["2", "17"]))
@pytest.mark.parametrize("call", CALLS)
def test_a_call_fails(run, work, started, call, when):
    """Once or each time: the recorder continues or says in one line why it can't; it does not crash or hang, and the
    job lives."""
    tape = work / "t.baro"
    job = started(["sleep", "1000"])
    r = run.popen("record", "--pid", job.pid, "-q", "-i", "20ms", "-o", tape, stderr=subprocess.PIPE, text=True,
                  via=["strace", "-o", "/dev/null", "-e", f"inject={call}:error={CALLS[call]}:when={when}"])
    if call == "epoll_pwait2":  # before Linux 5.11 there is none
        run.await_samples(tape, 4)
    try:
        err = r.communicate(timeout=0.5)[1]
    except subprocess.TimeoutExpired:
        interrupt(r)
        try:
            err = r.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            subprocess.run(["pkill", "-KILL", "-P", str(r.pid)], check=False)
            err = r.communicate()[1]
            assert call in ("clock_gettime", "read"), "it hangs"  # without timer, clock or signals it sees no SIGINT
    assert r.returncode in (0, 2, -signal.SIGKILL, 128 + signal.SIGKILL, 127), (r.returncode, err)
    assert len([line for line in err.splitlines() if line.startswith("baro")]) <= 2, err
    assert job.poll() is None
    if tape.exists() and tape.stat().st_size:
        assert run("export", "--entity", "job", tape).returncode in (0, 2)


# ---- limits ----------------------------------------------------------------------------------------------------------


def limited(which, soft, hard=None):
    return lambda: resource.setrlimit(which, (soft, hard or soft))


LIMITS = {
    "16 descriptors": limited(resource.RLIMIT_NOFILE, 16),
    "8 descriptors": limited(resource.RLIMIT_NOFILE, 8),
    "48 MB of addresses": limited(resource.RLIMIT_AS, 48 << 20),
    "files of 8 KB": limited(resource.RLIMIT_FSIZE, 8192),
    "no core": limited(resource.RLIMIT_CORE, 0),
    "128 kB of stack": limited(resource.RLIMIT_STACK, 128 << 10),
    "1 second of CPU": limited(resource.RLIMIT_CPU, 1),
    "no locked memory": limited(resource.RLIMIT_MEMLOCK, 0),
}


@pytest.mark.not_sanitized("a sanitizer needs more")
@pytest.mark.parametrize("limit", LIMITS)
def test_limits(run, tape, limit):
    bare = subprocess.run(["sh", "-c", RESULT], preexec_fn=LIMITS[limit], capture_output=True, check=False)
    done = run("run", "-q", "-o", tape, "--", "sh", "-c", RESULT, before=LIMITS[limit])
    assert (done.returncode, done.stdout.encode()) == (bare.returncode, bare.stdout)
    ours = [line for line in done.stderr.splitlines() if line.startswith("baro")]
    assert len(ours) <= 1, done.stderr  # the shell prints the same message about its limit without us
    if tape.exists() and tape.stat().st_size:
        assert run.summary(tape)["exit"]["status"] in (9, None)


@pytest.mark.not_sanitized("a sanitizer needs more")
@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_12_mb_in_all(run, tape, v1):
    """For the recorder and the job together. (Few processes: test_refused.py.)"""
    group = v1("memory")
    group.write("memory.limit_in_bytes", 12 << 20)
    done = run("run", "-q", "-o", tape, "--", "sh", "-c", "echo out; exit 9", before=group.enter)
    assert (done.returncode, done.stdout) == (9, "out\n") and len(done.stderr.splitlines()) <= 1, done.stderr


# ---- stopped, and the clock set --------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["the job goes on", "the job has ended"])
def test_recorder_stopped(run, tape, work, wait_until, until):
    """SIGSTOP of the recorder leaves a gap of missed samples, which are counted, also if only the last sample follows;
    the job ends as usual."""
    goes_on = until == "the job goes on"
    job = "until [ -e go ]; do sleep 0.02; done; exit 6"
    env = {"BARO_NO_BUDGET": "1"}  # those left out for the budget are no gap
    p = run.popen("run", "-q", "-i", "20ms", "-o", tape, "--", "sh", "-c", job, env=env)
    run.await_samples(tape, 4)
    recorder = recorder_of(p.pid)
    os.kill(recorder, signal.SIGSTOP)
    time.sleep(0.4)
    if goes_on:
        before = len(run.instants(tape))
        os.kill(recorder, signal.SIGCONT)
        run.await_samples(tape, before + 1)
    (work / "go").touch()  # at the end of the job the wrapper continues the recorder
    assert p.wait(timeout=60) == 6
    run.await_end(tape)
    s = run.summary(tape)
    assert s["recorder"]["missed"] >= 18  # of 20, one was just taken, and one is taken late
    assert s["exit"]["status"] == 6


@pytest.mark.parametrize("name", ["baro-helper", "baro-select"])
def test_a_stopped_helper_ends_with_its_recorder(run, tape, wait_until, name):
    """Also where it was stopped, and the recorder killed: else it would be there for ever."""
    p = run.popen("record", "-q", "--match", "one=baro-e2e-nothing", "-i", "20ms", "-o", tape)
    run.await_samples(tape, 2)

    helper = wait_until(lambda: [c for c in children(p.pid) if comm(c) == name])[0]
    os.kill(helper, signal.SIGSTOP)
    p.kill()
    p.wait()

    try:
        wait_until(lambda: state(helper) in ("", "Z"), "its end")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(helper, signal.SIGKILL)


@pytest.mark.alone  # the clock is the whole machine's
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to set the clock")
def test_clock_is_set(run, tape):
    """A step of the wall clock is an event, and no duration changes. A small step, and back: others use the clock."""
    began = time.monotonic()
    wall_of_monotonic = time.time() - began

    def steps():
        return [round(e["number"] / 1e9) for e in run.export(tape, "event") if e["event"] == "clock_step"]

    def set_forth_and_back():
        if len(run.instants(tape)) < 4:
            return False
        try:
            time.clock_settime(time.CLOCK_REALTIME, time.time() + 2)
        except OSError:
            return True
        try:
            poll(steps, "the event of the step")
        finally:
            time.clock_settime(time.CLOCK_REALTIME, wall_of_monotonic + time.monotonic())
        return poll(lambda: len(steps()) == 2, "the event of the step back")

    run.record_gated(tape, "read -r line <gate", set_forth_and_back, "-i", "20ms")
    lived_ns = (time.monotonic() - began) * 1e9
    if not steps():
        pytest.skip("the clock can't be set here")
    assert steps() == [2, -2]
    assert run.summary(tape)["wall_ns"] < lived_ns
    assert max(e["t_ns"] for e in run.export(tape, "job")) < lived_ns
