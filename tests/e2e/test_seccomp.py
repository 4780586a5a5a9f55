# SPDX-License-Identifier: Apache-2.0
"""seccomp(2) filters that kill at one system call: the job ends as it ends without baro, whichever call it is.

The reference is always the command alone under the same filter. A call that the command makes itself is left out.
"""

import errno
import os
import pathlib
import re
import signal
import subprocess

import pytest
from conftest import needs_strace

from wrapping import BARO, BESIDE, PATIENCE, ROOT, own_group, run, stopped_by

FORBID = BESIDE / "forbid"
WRAP = [BARO, "run", "-q", "--"]
# The calls that start a command can't be tested: whether the filter kills at them can only be found out by making them.
CANT_BE_PROBED = {"clone"}

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


@pytest.fixture
def profiles(work):
    """Returns the calls that baro and its processes make and /bin/true does not."""
    if run([str(FORBID), "999", "true"]).returncode != 0:
        pytest.skip("seccomp(2) filters are not available here")
    ours = {
        **traced(work / "kept", *WRAP, "sh", "-c", "sleep 0.05 & kill -USR1 $PPID; exit 3"),
        **traced(work / "named", BARO, "run", "-q", "--cgroup", "own", "-o", "traced.baro", "--", "true"),
    }
    bare = traced(work / "bare", "true")
    assert len(ours) > len(bare) > 5
    return {name: number for name, number in ours.items() if name not in bare}


def forbidding(number, *command):
    return [str(FORBID), str(number), *command]


@pytest.mark.parametrize("command", ["exit 0", "exit 3", "kill -TERM $$", "echo out; exit 4"])
@pytest.mark.parametrize("options", [["-q"], ["--cgroup", "own", "-o", "named.baro"]], ids=["kept", "named"])
def test_job_ends_as_the_command_alone(profiles, command, options):
    command = ["sh", "-c", command]
    plain, wrong, compared = run(command), [], 0
    for name, number in sorted(profiles.items()):
        bare = run(forbidding(number, *command))
        if (bare.returncode, bare.stdout) != (plain.returncode, plain.stdout):
            continue  # the command needs it
        compared += 1
        pathlib.Path("named.baro").unlink(missing_ok=True)
        wrapped = run(forbidding(number, BARO, "run", *options, "--", *command))
        if (wrapped.returncode, wrapped.stdout) != (bare.returncode, bare.stdout) and name not in CANT_BE_PROBED:
            wrong.append((name, wrapped.returncode, wrapped.stderr))
    assert compared > 20
    assert not wrong


@pytest.mark.parametrize("name, error", [("write", "EINTR"), ("sendto", "EINTR"), ("rt_sigprocmask", "EPERM")])
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


def stop_and_go(argv):
    """Returns what a shell sees: the signal that it stops by, and how it ends after it was continued."""
    job = own_group(argv)
    try:
        return stopped_by(job.pid), os.kill(job.pid, signal.SIGCONT), job.wait(PATIENCE)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def test_job_stops_as_the_command_alone(profiles):
    """The filters kill at the calls that the wrapper and its watcher make when the job stops."""
    concerned = ["getppid", "getsid", "ioctl", "prctl", "setpgid", "pidfd_open", "clock_gettime", "readlinkat",
                 "close_range", "socket", "waitid", "kill"]
    known = {**profiles, "pidfd_open": 434}
    command = ["sh", "-c", "kill -TSTP $$; exit 5"]
    for name in concerned:
        bare = ["sh", "-c", "kill -USR1 $$; exit 5"]
        if name not in known or run(forbidding(known[name], *bare)).returncode != -signal.SIGUSR1:
            continue
        argv = forbidding(known[name], *WRAP, *command)
        assert stop_and_go(argv) == (signal.SIGTSTP, None, 5), name


def test_filter_of_unused_calls_changes_nothing(work):
    tape = work / "t.baro"
    done = run(forbidding(999, BARO, "run", "-q", "-o", str(tape), "--", "sh", "-c", "exit 6"))
    if done.returncode == 77:
        pytest.skip("seccomp(2) filters are not available here")
    assert (done.returncode, done.stderr) == (6, b"")
    assert run([BARO, "summary", str(tape)]).returncode == 0


def test_old_tape_without_an_end(profiles, work):
    """Whether it is still being written depends on its file system: another machine may hold the lock."""
    tape = work / "t.baro"
    assert run([BARO, "run", "-q", "-o", str(tape), "--", "true"]).returncode == 0
    tape.write_bytes(tape.read_bytes()[:-1])
    argv = [BARO, "run", "-q", "--force", "-o", str(tape), "--", "sh", "-c", "exit 3"]
    assert run(forbidding(profiles["fstatfs"], *argv)).returncode == 3


def test_nothing_is_recorded_where_a_call_kills(profiles, work):
    """Whichever call the filter kills at, the message names it, and no tape is made."""
    assert run(forbidding(profiles["socketpair"], *WRAP, "./nothing-here")).returncode == 127
    for name in ("bind", "close_range", "getxattr", "getsid", "getitimer", "socketpair"):
        tape = work / (name + ".baro")
        done = run(forbidding(profiles.get(name, 999), BARO, "run", "-o", str(tape), "--", "sh", "-c", "exit 8"))
        assert done.returncode == 8, name
        assert tape.exists() == (name not in profiles), name
        if name in profiles:
            assert b"nothing was recorded" in done.stderr and b"(%s)" % name.encode() in done.stderr, name
            assert done.stderr.count(b"\n") == 1


def test_the_wrappers_own_calls_are_listed(work):
    """src/recorder/wrapper/README.md names each system call that the wrapper's process makes."""
    readme = (pathlib.Path(ROOT) / "src/recorder/wrapper/README.md").read_text()
    listed = set(re.findall(r"\w+", re.search(r"## Its system calls\n.*?```\n(.*?)```", readme, re.S).group(1)))
    made = set()
    for i, command in enumerate((
        [*WRAP, "true"],
        [BARO, "run", "-q", "--cgroup", "own", "-o", "a.baro", "--", "sh", "-c", "sleep 0.05 & kill -USR1 $$"],
        [BARO, "run", "-q", "--force", "-o", "a.baro", "--", "./nothing-here"],
    )):
        log = work / str(i)
        subprocess.run(
            ["strace", "-o", str(log), *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
        )
        text = log.read_text(errors="replace") if log.exists() else ""
        made |= set(re.findall(r"^(\w+)\(", text, re.M))
    if not made:
        pytest.skip("strace can't do that here")
    assert made - listed == set()
