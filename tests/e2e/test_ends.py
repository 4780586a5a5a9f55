# SPDX-License-Identifier: Apache-2.0
"""What is recorded of processes that have ended: their peak memory, the parts of their CPU time, and their I/O."""

import os
import signal
import time

import pytest
from conftest import unshared

from jobs import script

TICK = 10_000_000


def test_peak_between_samples(run_both, tape):
    """A process that grows and ends between two samples is in no sum of samples; the job's peak is at least that
    process's peak."""
    big = script("b = b'x' * (200 << 20)")
    run_both.record(tape, ["sh", "-c", 'sleep 0.1; "$@"; sleep 0.1', "sh", *big], "-i", "10s")
    s = run_both.summary(tape)
    job = s["job"]
    assert job["process_rss_peak_bytes"] >= 200 << 20
    assert job["rss_peak_bytes"] >= job["process_rss_peak_bytes"]
    assert job["rss_peak_is_unsampled"]
    assert job["rss_peak_is_lower_bound"] == bool(job["rss_peak_at_most_bytes"])
    assert job["pss_peak_bytes"] is None or job["pss_peak_is_lower_bound"]
    text = run_both("summary", "-v", tape, status=0).stdout
    line = next(l for l in text.splitlines() if l.lstrip().startswith("memory"))
    assert ("peak ≥2" if job["rss_peak_is_lower_bound"] else "peak 2") in line and "between samples" in line, (
        line
    )
    largest = max(run_both.export(tape, "exit"), key=lambda e: e["rss_peak_bytes"] or 0)
    if (largest["rss_peak_bytes"] or 0) >= job["process_rss_peak_bytes"] * 0.96:
        assert job["process_rss_peak_name"] == largest["name"] and largest["name"] in line, line
    else:  # wait4(2) reports it of a process and of all descendants that it had reaped
        assert job["process_rss_peak_name"] is None and s["absent"]["job.process_rss_peak_name"] == "unknown"


MIB = 1 << 20
SLACK = 4 * MIB  # programs, libraries and the shell's own files


@pytest.mark.parametrize("interval", ["auto", "10s"])
def test_io_of_a_job_is_complete(run_both, work, tape, interval):
    """Whatever the lifetime of its processes, whether or not they were read, and whoever may read a zombie's counters.
    """
    (work / "big").write_bytes(bytes(20 * MIB))
    (work / "big").chmod(0o644)
    job = ("cat big > /dev/null; dd if=/dev/zero of=/dev/null bs=1M count=50 2>/dev/null; (cat big big | cat > /dev/null)& "
           "wait; head -c 10M /dev/zero > /dev/null; exit 0")
    run_both.record(tape, job, "-i", interval)
    s = run_both.summary(tape)
    # No source reports the parts of the CPU time of a process that ends before it is read.
    for e in [*s["commands"], *run_both.export(tape, "exit")]:
        if e["cpu_user_ns"] is None or e["cpu_ns"] is None:
            assert e["cpu_user_ns"] is None and e["cpu_system_ns"] is None, e
        else:
            assert e["cpu_user_ns"] + e["cpu_system_ns"] == e["cpu_ns"], e
    job = s["job"]
    assert job["io_is_lower_bound"] is False
    assert all(160 * MIB <= job[f"io_{way}_bytes"] < 160 * MIB + SLACK for way in ("rchar", "wchar"))
    shell = next(e for e in run_both.export(tape, "exit") if e["source"] == "wait4" and e["io_rchar_bytes"])
    assert shell["io_rchar_bytes"] == job["io_rchar_bytes"] and shell["io_wchar_bytes"] == job["io_wchar_bytes"]
    assert shell["io_is_lower_bound"] == 0
    assert "i/o        read() 1" in run_both("summary", "-v", tape, status=0).stdout


def test_io_is_attributed_to_the_only_child(run_ordinary, work, tape):
    """If only one child of a shell ended between two readings of the shell, the growth of the shell's counters is that
    child's I/O, to the byte: also for a child that lived between two readings only, and for the shell's last child."""
    (work / "big").write_bytes(bytes(100 * MIB))
    (work / "big").chmod(0o644)

    def dd_is_reported():
        if not run_ordinary.instants(tape):
            return False
        if run_ordinary.summary(tape)["accounting"]["event_source"] != "connector":
            return True  # it may have begun and ended between two scans
        return run_ordinary.export(tape, "exit")

    job = "dd if=/dev/zero of=/dev/null bs=1M count=100 2> /dev/null; read x < gate; cat big > /dev/null; exit 0"
    run_ordinary.record_gated(tape, job, dd_is_reported)
    s = run_ordinary.summary(tape)
    if s["job"]["processes_started_is_lower_bound"] or s["accounting"]["event_source"] != "connector":
        pytest.skip("not all forks were reported, or too late: other children may have ended since the last reading")
    dd, cat, shell = run_ordinary.export(tape, "exit")  # its name is not always seen
    for e in (dd, cat):
        assert e["io_is_lower_bound"] == 0, e
        assert all(100 * MIB <= e[what] < 100 * MIB + MIB // 8 for what in ("io_rchar_bytes", "io_wchar_bytes")), e
    assert shell["io_rchar_bytes"] >= dd["io_rchar_bytes"] + cat["io_rchar_bytes"]
    assert not any(c["io_is_lower_bound"] for c in s["commands"])


def test_io_is_never_more_than_it_was(run_ordinary, tape):
    """Several children end at once, also beside threads that end: a complete value is complete, and a lower bound is
    one."""
    run_ordinary.record(tape, script("""
        import os, threading, time
        def read(n):
            with open("/dev/zero", "rb", buffering=0) as f:
                f.read(n << 20)
        for i in range(12):
            if i > 6:
                thread = threading.Thread(target=read, args=(40,))
                thread.start()
                thread.join()
            for size in (10, 10, 10)[: 1 + i % 3]:
                if os.fork() == 0:
                    read(size)
                    os._exit(0)
                os.wait()
            time.sleep(0.02)
        """))
    exits = run_ordinary.export(tape, "exit")
    for e in [e for e in exits if e["source"] != "wait4" and e["io_rchar_bytes"] is not None]:
        assert e["io_rchar_bytes"] < 10 * MIB + MIB // 8, e
        assert e["io_is_lower_bound"] == 1 or e["io_rchar_bytes"] >= 10 * MIB, e


def test_io_beside_threads_is_to_the_byte(run_both, compiled, work, tape):
    """An ordinary user can't read the io of a zombie; that of a process with threads is what the wrapper's own counters
    gained when it was reaped, less the text that the wrapper read to see them."""
    program = compiled("threads", r"""
        #include <fcntl.h>
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static char bytes[12345];
        static void *read_zeros(void *unused)
        {
            int fd = open("/dev/zero", O_RDONLY);
            return read(fd, bytes, sizeof bytes) == sizeof bytes ? unused : NULL;
        }
        int main(void)
        {
            char text[512] = "", line[64];
            pthread_t thread;
            pthread_create(&thread, NULL, read_zeros, NULL);
            pthread_join(thread, NULL);
            int fd = open("/proc/self/io", O_RDONLY), out = open("rchar", O_WRONLY);
            long n = read(fd, text, sizeof text - 1); /* these bytes are read, too, and not yet counted in the text */
            n += atol(strstr(text, "rchar: ") + 7);
            return write(out, line, snprintf(line, sizeof line, "%ld", n)) <= 0;
        }
        """)
    (work / "rchar").touch()
    (work / "rchar").chmod(0o666)
    run_both.record(tape, f"exec {program}")
    job = run_both.summary(tape)["job"]
    assert job["io_is_lower_bound"] is False
    # the shell's own reads, before it executed the program, are in both
    assert job["io_rchar_bytes"] == int((work / "rchar").read_text())


@pytest.mark.parametrize("where", ["here", "pid namespace"])
def test_io_not_reported_is_marked_as_lower_bound(run_both, tape, where):
    """If a process is not waited for by its parent, the kernel passes on nothing of it. What it read after its last
    sample is missing, or it is not known whether anything is missing. (As root, taskstats may have reported all of it.)
    """
    run_both.record(tape, script("""
        import os, signal, time
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for i in range(3):
            if os.fork() == 0:
                with open("/dev/zero", "rb", buffering=0) as f:
                    f.read(30 << 20)
                os._exit(0)
        try:
            os.wait()  # returns when all of them have ended
        except ChildProcessError:
            time.sleep(0.1)
        """), "-i", "10s", via=unshared("-fp", "--mount-proc") if where == "pid namespace" else ())
    s = run_both.summary(tape)
    if s["job"]["processes_started"] < 4:
        pytest.skip("no source reports forks here")
    if not s["job"]["io_is_lower_bound"]:
        assert s["job"]["io_rchar_bytes"] >= 90 * MIB and run_both.uid is None
        return
    line = next(l for l in run_both("summary", "-v", tape, status=0).stdout.splitlines() if l.lstrip().startswith("i/o"))
    assert "read() ≥" in line and ("write() ≥" in line or "write() not known" in line), line


def test_last_sample_is_a_lower_bound(run_ordinary, tape, started, wait_until):
    """When baro is attached without privileges, no source reports what a process did after its last sample."""
    who = (
        {"user": run_ordinary.uid, "group": run_ordinary.uid, "extra_groups": []}
        if run_ordinary.uid is not None
        else {}
    )
    target = started(script("""
        import time
        time.sleep(1)
        open("/dev/zero", "rb", buffering=0).read(20 << 20)
        """), **who)
    run_ordinary("record", "--pid", target.pid, "-q", "-i", "10s", "-o", tape, status=0)
    s = run_ordinary.summary(tape)
    ends = [e for e in run_ordinary.export(tape, "exit") if e["io_rchar_bytes"] is not None]
    assert s["job"]["io_is_lower_bound"] in (True, None)
    assert all(e["io_is_lower_bound"] == 1 for e in ends)
    assert all(c["io_is_lower_bound"] for c in s["commands"] if c["io_read_bytes"] is not None)


def test_zombie_of_a_group_that_is_over(run, tape, cgroup, wait_until):
    """The recording of a group ends when all that is left in it are zombies. Their parent, outside, waits for them
    later: each has an exit record with what wait4(2) returns then."""
    if os.geteuid() != 0:
        pytest.skip("not root")
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        cgroup.enter()
        begin = time.process_time_ns()
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        while time.process_time_ns() < begin + 300_000_000:
            pass
        os._exit(7)
    try:
        os.read(ready[0], 1)
        recording = run.popen("record", "-q", "-o", tape, "--cgroup", cgroup.path)
        run.await_samples(tape)
        os.write(go[1], b"x")
        assert recording.wait(timeout=120) == 0
    finally:
        os.kill(child, signal.SIGKILL)
        usage = os.wait4(child, 0)[2]
        for fd in (*ready, *go):
            os.close(fd)
    [e] = [e for e in run.export(tape, "exit") if e["pid"] == child]
    # It waited for `go`, and had begun to count before: wait4(2) has a little from before the recording as well.
    assert 300_000_000 - TICK <= e["cpu_ns"] <= (usage.ru_utime + usage.ru_stime) * 1e9 + TICK
    job = run.summary(tape)["job"]
    assert job["processes_started"] == job["processes_ended"] == 1
