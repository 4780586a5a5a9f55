# SPDX-License-Identifier: Apache-2.0
"""A total is at least the sum of its parts, and marked as a lower bound where the kernel has not added up all of them.
The truth is what the processes themselves say: their own CPU clocks, and the bytes that they passed to write(2)."""

import json
import shutil
import subprocess
import textwrap

import pytest
from conftest import beside
from jobs import PYTHON, commands

# Each line of `said` is what one process has used: ns of CPU time, bytes written.
COMMON = """
    import ctypes, os, signal, sys, time
    CLONE_NEWPID, CLONE_NEWUSER = 0x20000000, 0x10000000
    said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def burn_and_write():
        while time.process_time() < 0.06: pass
        with open(f"written.{os.getpid()}.{os.getppid()}.{time.monotonic_ns()}", "wb") as f:
            f.write(bytes(1 << 20))
        os.write(said, b"[%d, %d]\\n" % (time.process_time_ns(), 1 << 20))
    """

# The first process of a PID namespace ends while the others live: the kernel kills and reaps them, and adds what they
# used to no process.
CONTAINERS = """
    for container in range(3):
        if os.fork() == 0:
            flags = CLONE_NEWPID | (CLONE_NEWUSER if os.getuid() else 0)
            if ctypes.CDLL(None).unshare(flags):
                os._exit(77)
            first = os.fork()
            if first == 0:
                done, tell = os.pipe()
                for i in range(2):
                    if os.fork() == 0:
                        burn_and_write()
                        os.write(tell, b".")
                        signal.pause()
                for i in range(2):
                    os.read(done, 1)
                os._exit(0)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
        status = os.waitstatus_to_exitcode(os.wait()[1])
        if status:
            sys.exit(status)
    """

IGNORED = """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for i in range(4):
        if os.fork() == 0:
            burn_and_write()
            os._exit(0)
    try:
        os.wait()  # returns when all of them have ended
    except ChildProcessError:
        pass
    """

REAPED = """
    for i in range(4):
        if os.fork() == 0:
            burn_and_write()
            os._exit(0)
    for i in range(4):
        os.wait()
    """

WAYS = {"containers": CONTAINERS, "ignored": IGNORED, "reaped": REAPED}


def near(value, truth):
    return value >= truth * 0.98 - 5_000_000


@pytest.mark.parametrize("interval", ["auto", "1s"])
@pytest.mark.parametrize("way", WAYS)
def test_a_total_is_not_below_its_parts(run_both, work, tape, source, way, interval):
    job = [PYTHON, "-S", "-c", textwrap.dedent(COMMON) + textwrap.dedent(WAYS[way])]
    done = run_both("run", "-q", "-o", tape, "-i", interval, "--cgroup", "none", "--", *job)
    if done.returncode == 77:
        pytest.skip("no PID namespaces here")
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in (work / "said").read_text(encoding="ascii").splitlines()]
    cpu, written = (sum(column) for column in zip(*said, strict=True))
    s = run_both.summary(tape)
    total, commands = s["job"], s["commands"]
    if source == "scan" and sum(c["processes"] for c in commands) < len(said):
        return  # they came and went between two scans: nobody knows of them
    assert sum(c["cpu_ns"] or 0 for c in commands) <= total["cpu_ns"], s
    assert near(total["cpu_ns"], cpu) or total["cpu_is_lower_bound"], (total, cpu)
    assert total["io_wchar_bytes"] >= written or total["io_is_lower_bound"], (total, written)
    if way != "reaped":
        assert total["faults_is_lower_bound"] or total["faults_minor"] >= written // 4096, total
        assert total["switches_is_lower_bound"] or source == "scan", total
    else:
        assert not (total["cpu_is_lower_bound"] or total["io_is_lower_bound"]), total
        assert not (total["faults_is_lower_bound"] or total["switches_is_lower_bound"]), total
    # As root each end is reported with all that the process has used.
    if s["accounting"]["exit_source"] == "taskstats" and not s["accounting"]["lossy_intervals"]:
        assert near(total["cpu_ns"], cpu) and total["io_wchar_bytes"] >= written - 1024 * len(said), (total, said)


@pytest.mark.parametrize("group", ["none", "auto"])
def test_a_total_is_not_below_its_parts(run_both, baro, work, tape, group):
    """User and system time are scaled from ticks for each process, and for all that was waited for, anew: wait4's
    split is the job's, and that of a process may be off by a tick for each part."""
    program = str(shutil.copy(beside(baro, "account"), work / "account"))
    steps = ["threads=4,15", "grow=60", "free"] * 3
    run_both.record(tape, [program, str(work), *steps], "--cgroup", group)
    s = run_both.summary(tape)
    exits = run_both.export(tape, "exit")
    for key in ("cpu_ns", "cpu_user_ns", "cpu_system_ns"):
        ticks = 0 if key == "cpu_ns" else 20_000_000
        assert sum(c[key] or 0 for c in s["commands"]) <= s["job"][key] + ticks, (key, s)
        slack = max(e["cpu_unsure_ns"] or 0 for e in exits) + ticks
        assert max(e[key] or 0 for e in exits) <= s["job"][key] + slack, (key, s)
    assert s["job"]["cpu_user_ns"] + s["job"]["cpu_system_ns"] == s["job"]["cpu_ns"], s


def test_io_by_command_is_their_own(run_both, tape, source, sanitized):
    """A shell that waits for what wrote 8 MB has not written them itself."""
    run_both.record(tape, """
        sh -c "dd if=/dev/zero of=written bs=1M count=8 conv=fsync 2>/dev/null; true"
        sleep 0.2
        true
        """, "-i", "50ms")
    s = run_both.summary(tape)
    commands = {c["name"]: c for c in s["commands"]}
    written = {name: c["io_write_bytes"] or 0 for name, c in commands.items()}
    assert sum(written.values()) <= s["job"]["io_write_bytes"], (s["job"], commands)
    assert written.get("sh", 0) < 1 << 20, commands
    assert written.get("dd", 0) >= 8 << 20 or commands.get("dd", {}).get("io_is_lower_bound", True) or not written["dd"]
    if not sanitized and s["accounting"]["exit_source"] == "taskstats" and not s["accounting"]["lossy_intervals"]:
        assert not any(c["io_is_lower_bound"] for c in commands.values()), commands


def test_without_children(run_both, work, tape, source, started):
    """`--no-children`: what a child used is not the job's when the process has waited for it."""
    uid = run_both.uid
    as_user = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    process = started([PYTHON, "-S", "-c", textwrap.dedent("""
        import os, sys, time
        print("ready", flush=True)
        sys.stdin.readline()
        if os.fork() == 0:
            while time.process_time() < 0.3: pass
            with open("of-child", "wb") as f:
                f.write(bytes(3 << 20))
            os._exit(0)
        os.wait()
        with open("own", "wb") as f:
            f.write(bytes(1 << 20))
        print(time.process_time_ns(), flush=True)
        sys.stdin.readline()
        """)], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **as_user)
    assert process.stdout.readline() == "ready\n"
    recording = run_both.popen("record", "-q", "-o", tape, "--pid", process.pid, "--no-children", "-i", "50ms")
    run_both.await_samples(tape)
    process.stdin.write("go\n")
    process.stdin.flush()
    used = int(process.stdout.readline())
    before = len(run_both.instants(tape))
    run_both.await_samples(tape, before + 2)
    process.stdin.close()
    assert process.wait() == 0 and recording.wait(timeout=60) == 0
    s = run_both.summary(tape)
    assert s["job"]["cpu_ns"] <= used + 100_000_000, s["job"]
    assert [c["processes"] for c in s["commands"]] == [1]
    assert s["job"]["io_wchar_bytes"] <= (1 << 20) + 4096, s["job"]
    assert s["job"]["io_wchar_bytes"] >= 1 << 20 or s["job"]["io_is_lower_bound"]


FREEING = """
    #include <signal.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        size_t n = 300 << 20;
        signal(SIGCHLD, argc > 1 ? SIG_IGN : SIG_DFL);
        for (int i = 0; i < 2; i++) {
            if (fork() == 0) {
                volatile char *at = malloc(n);
                for (size_t k = 0; k < n; k += 4096)
                    at[k] = 1;
                _exit(0);
            }
            while (wait(NULL) > 0)
                ;
        }
        return 0;
    }
    """


@pytest.mark.parametrize("argv", [[], ["ignores"]], ids=["waits", "ignores"])
def test_what_freeing_memory_takes(run_both, truth, compiled, tape, argv):
    """taskstats reports a process before its memory is freed, which takes a tenth of its CPU time here. Its parent takes
    that over, unless it ignores SIGCHLD."""
    truth.record(tape, [compiled("freeing", FREEING), *argv])
    s = run_both.summary(tape)
    job, command = s["job"], commands(s)["freeing"]
    if not job["cpu_is_lower_bound"]:
        truth.check(s, 0.01)
    assert job["cpu_ns"] <= truth.most_ns() * 1.01 + truth.slack_ns
    if not command["cpu_is_lower_bound"] and not command["cpu_is_estimate"]:
        assert command["cpu_ns"] >= truth.most_ns() * 0.97 - 10_000_000, (command, job)
