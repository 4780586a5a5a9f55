# SPDX-License-Identifier: Apache-2.0
"""A late recorder: it is stopped while processes begin and end, so that events, messages of the wrapper and /proc come
in another order than they happened. Counts must not depend on that order.
"""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from jobs import script
from wrapping import recorder_of


@pytest.fixture
def late(run, tape, work, wait_until):
    """late(argv) records a command. From the moment when the job creates the file `ready` the recorder is stopped; then
    the job sees the file `go`, and when it creates `done`, or has ended, the recorder continues."""

    def record(argv, settle=0.0):
        p = run.popen("run", "-q", "-o", tape, "--", *argv, stderr=subprocess.PIPE, text=True)
        wait_until((work / "ready").exists, "the job")
        time.sleep(settle)
        recorder = recorder_of(p.pid)
        os.kill(recorder, signal.SIGSTOP)
        (work / "go").touch()
        wait_until((work / "done").exists, "the job's work")
        time.sleep(0.3)  # longer than a message of the wrapper is waited for
        with contextlib.suppress(ProcessLookupError):  # if the command has ended the wrapper has continued it already
            os.kill(recorder, signal.SIGCONT)
        err = p.communicate(timeout=120)[1]
        assert p.returncode == 0, err
        return run.summary(tape)

    return record


WAIT = """
        import os, pathlib, time
        def wait_for(name):
            while not os.path.exists(name): time.sleep(0.005)
        def say(name):
            pathlib.Path(name).touch()
"""


@pytest.mark.parametrize("n", [50, 400])
def test_many_orphans_end_at_once(late, run, tape, work, source, n):
    """There are more messages than the socket holds: each orphan is counted once, and messages that were dropped are
    corrected by the totals."""
    (work / "data").write_bytes(bytes(50_000))
    s = late(script(WAIT + f"""
        r, w = os.pipe()
        if os.fork() == 0:
            os.close(w)
            for i in range({n}):
                if os.fork() == 0:
                    os.read(r, 1)
                    open("data", "rb").read()
                    os._exit(0)
            say("ready")
            os._exit(0)
        os.wait()
        os.close(r)
        wait_for("go")
        os.close(w)
        # They are the wrapper's children now; when all have been reaped it has no child left but us and the recorder.
        wrapper = os.getppid()
        while len(open(f"/proc/{{wrapper}}/task/{{wrapper}}/children").read().split()) > 2: time.sleep(0.01)
        say("done")
        """))
    job = s["job"]
    assert job["processes_ended"] == job["processes_started"]
    exits = run.export(tape, "exit")
    assert len(exits) == job["processes_started"]
    if source == "events" and s["accounting"]["event_source"] == "connector" and not s["accounting"]["lossy_intervals"]:
        assert job["processes_started"] == n + 2
        assert len({e["pid"] for e in exits}) == n + 2
    else:
        assert job["processes_started"] <= n + 2
    assert s["accounting"]["cpu_counted_ns"] <= job["cpu_ns"]
    if os.geteuid() == 0:
        assert n * 50_000 <= job["io_rchar_bytes"] < n * 50_000 * 1.5 + 3_000_000


def test_children_that_nobody_reaps(late, truth, source):
    """They begin and end while the recorder is stopped, and the kernel adds what they used to no other process. What
    reports the ends of processes with their CPU time is opened at the first fork, which was too late."""
    if not truth.is_root:
        pytest.skip("once is enough")
    s = late([*truth.entering(), *script(WAIT + """
        import signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        say("ready")
        wait_for("go")
        for i in range(3):
            if os.fork() == 0:
                with open("/dev/zero", "rb", buffering=0) as f:
                    f.read(30 << 20)
                while time.process_time() < 0.2: pass
                os._exit(0)
        try:
            os.wait()  # returns when all of them have ended
        except ChildProcessError:
            say("done")
        """)])
    job = s["job"]
    if job["processes_started"] < 4:
        assert job["processes_started_is_lower_bound"]
    else:
        assert job["io_is_lower_bound"] or job["io_rchar_bytes"] >= 90 << 20
    if job["cpu_is_lower_bound"]:
        assert job["cpu_ns"] <= truth.most_ns() + truth.slack_ns
    else:
        truth.check(s)


@pytest.mark.parametrize("orphan", [False, True])
def test_all_end_while_the_recorder_is_stopped(late, truth, source, orphan):
    """A process that was seen alive, and is gone with its parents at the recorder's next scan, is in the wrapper's
    totals and nowhere else; so is one that moves to the wrapper between two scans, and ends there."""
    if not truth.is_root:
        pytest.skip("once is enough")
    s = late([*truth.entering(), *script(WAIT + f"""
        if os.fork() == 0:
            if os.fork() == 0:
                end = time.process_time() + 0.4
                while time.process_time() < end: pass
                say("ready")
                wait_for("{"orphan" if orphan else "go"}")
                say("done")
                os._exit(0)
            {'wait_for("go")' if orphan else "os.wait()"}
            os._exit(0)
        os.wait()
        say("orphan")
        time.sleep({1 if orphan else 0})
        """)], settle=0.2)
    truth.check(s)
    assert s["job"]["processes_ended"] == s["job"]["processes_started"]
    assert s["job"]["processes_started"] == 3
    assert s["accounting"]["cpu_counted_ns"] <= s["job"]["cpu_ns"]


# ---- attaching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["parent first", "child first"])
def test_two_targets_one_a_child_of_the_other(run, tape, work, started, wait_until, source, order):
    """The child ends and stays a zombie for a while: what it used is counted once, before and after its parent waits
    for it."""
    parent = started(script(WAIT + """
        child = os.fork()
        if child == 0:
            wait_for("go")
            end = time.process_time() + 0.5
            while time.process_time() < end: pass
            os._exit(0)
        (pathlib.Path("child.new")).write_text(str(child))
        os.rename("child.new", "child")
        wait_for("reap")
        os.wait()
        wait_for("end")
        """), cwd=work)
    wait_until((work / "child").exists, "the child")
    child = int((work / "child").read_text())
    pids = [parent.pid, child] if order == "parent first" else [child, parent.pid]
    r = run.popen("record", "--pid", pids[0], "--pid", pids[1], "-q", "-o", tape)
    run.await_samples(tape)
    (work / "go").touch()
    wait_until(lambda: open(f"/proc/{child}/stat").read().rpartition(")")[2].split()[0] == "Z", "the child's end")
    run.await_samples(tape, len(run.instants(tape)) + 1)
    (work / "reap").touch()
    run.await_samples(tape, len(run.instants(tape)) + 1)
    (work / "end").touch()
    assert r.wait(timeout=60) == 0
    s = run.summary(tape)
    assert 480_000_000 <= s["job"]["cpu_ns"] < 800_000_000
    cpu = [row["cpu_ns"] for row in run.export(tape, "job")]
    assert cpu == sorted(cpu)
    assert s["job"]["processes_started"] == s["job"]["processes_ended"] == 2


def test_values_of_a_process_whose_leader_has_exited(run_both, tape, compiled):
    """The exited leader has neither memory nor descriptors, and is in state Z: they are read from another thread."""
    program = compiled("leaderless", """
        #include <fcntl.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        void *held;
        static void *grow_after(void *leader)
        {
            char c;
            pthread_join(*(pthread_t *)leader, 0);
            memset(held = malloc(20 << 20), 1, 20 << 20);
            exit(read(open("gate", O_RDONLY), &c, 1) != 1);
        }
        int main(void)
        {
            static pthread_t self, t;
            self = pthread_self();
            pthread_create(&t, 0, grow_after, &self);
            pthread_exit(0);
        }
    """)
    columns = "state,threads,rss,pss,uss,rss_anon,rss_peak,virtual,fds,cpu,io_rchar,cmdline"

    def has_all(row):
        large = min(row[f"{name}_bytes"] or 0 for name in ("rss", "pss", "uss", "rss_anon", "rss_peak", "virtual"))
        there = row["cpu_ns"] and row["io_rchar_bytes"] and "leaderless" in (row["cmdline"] or "")
        return there and large > 20 << 20 and row["state"] in "RSD" and row["threads"] == 2 and (row["fds"] or 0) >= 3

    def is_read():
        """While it waits, a row has all of it. (While it grows, one that was read before goes with one read later.)"""
        done = run_both("export", "-F", "jsonl", "-c", columns, tape)  # there may be no tape yet
        return any(has_all(json.loads(line)) for line in done.stdout.splitlines())

    run_both.record_gated(tape, [program], is_read, "-i", "20ms", "--overhead", "off")
    assert run_both.summary(tape)["job"]["rss_peak_bytes"] > 20 << 20
