# SPDX-License-Identifier: Apache-2.0
"""What events report, and when: of processes that end at once, of processes that are never reaped, and where few event
sources are available.
"""

import os
import shutil
import signal
import time

import pytest
from conftest import unshared

from jobs import names_of, script


def test_execs_have_their_time(run, tape):
    """Whether the process was read before it ended or not. The event source that reports names of ended processes is
    opened at the first fork, which is seen up to 50 ms late beside forks of other jobs."""
    run.record_gated(tape, "read x <gate; /usr/bin/sleep 0.2; for t in 0.01 0.3; do /usr/bin/sleep $t; date; done",
                     lambda: run.listens(tape), "-i", "1s")
    execs = sorted((e["t_ns"], e["text"]) for e in run.export(tape, "event") if e["event"] == "exec")
    assert [name for _, name in execs][-4:] == ["sleep", "date", "sleep", "date"]
    (short, _), (date, _), (long, _), (last, _) = execs[-4:]
    assert date - short > 10_000_000 and last - long > 300_000_000
    assert long - date < last - long


def test_exec_at_the_end(run, tape, work, started, wait_until):
    """An exec a moment before the last target ends is reported, and processes that go on have their new name."""
    target = started(script(f"""
        import os, time
        while not os.path.exists({str(work / "go")!r}):
            time.sleep(0.01)
        pid = os.fork()
        if pid == 0:
            os.execv("/bin/sh", ["sh", "-c", "echo >{work / "runs"}; sleep 5; :"])
        while not os.path.exists({str(work / "runs")!r}): # its name changes before the kernel sends the event
            pass
        os._exit(0)
        """))
    r = run.popen("record", "--pid", target.pid, "-q", "-i", "1s", "-o", tape)
    wait_until(lambda: run.listens(tape), "events")
    (work / "go").touch()
    assert target.wait(60) == 0 and r.wait(60) == 0
    events = [(e["event"], e["text"]) for e in run.export(tape, "event")]
    assert ("exec", "sh") in events and ("survivor", "sh") in events


def test_name_that_the_parents_name_begins_with(run, work, tape):
    """A name inherited from the parent is not a longer form of what was executed: only names of 15 bytes are truncated.
    """
    shutil.copy("/bin/sh", work / "trueness")
    run.record_gated(
        tape,
        [work / "trueness", "-c",
         "read x <gate; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true; done; exit 0"],
        lambda: run.listens(tape),
    )
    names = names_of(run.export(tape, "exit"))
    assert (
        len(names) == 21 and names.count("trueness") <= 6
    ), names  # itself, and processes that ended before a source could report their names


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
def test_forks_reported_by_perf(run, tape):
    """perf does not wake the recorder for a few events. In a network namespace of its own there is no connector."""
    alone = unshared("-n")
    kids = script("""
        import os, signal, time
        pids = []
        for i in range(3):
            pids.append(os.fork())
            if pids[-1] == 0:
                signal.pause()
            time.sleep(0.1)
        open("gate").read(1)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        """)

    def all_are_counted():
        return run.instants(tape) and 4 in [row["processes"] for row in run.export(tape, "job")]

    run.record_gated(tape, kids, all_are_counted, "-i", "100ms", via=alone)
    if not any(e["event"] == "source" and "perf" in e["text"] for e in run.export(tape, "event")):
        pytest.skip("perf_event_open(2) is refused")
    assert run.summary(tape)["job"]["processes_started"] == 4


@pytest.mark.long
@pytest.mark.long
@pytest.mark.not_sanitized("it is about waiting")
def test_time_goes_on_while_it_is_stopped(run, tape, started, wait_until):
    """Timers that expire while the recorder is stopped are due at once when it continues, and not after the remaining
    wait."""
    target = started(["sleep", "1000"])
    r = run.popen("record", "--pid", target.pid, "-q", "-i", "1h", "--for", "12s", "-o", tape,
                  env={**os.environ, "BARO_NO_EVENTS": "1"})
    run.await_samples(tape)
    time.sleep(0.3)  # the start has waits of its own
    os.kill(r.pid, signal.SIGSTOP)
    time.sleep(12.5)
    os.kill(r.pid, signal.SIGCONT)
    assert r.wait(10) == 0  # the wait that remained when it was stopped is longer


THREADS = """
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/prctl.h>
    #include <unistd.h>
    static void *work(void *name)
    {
        prctl(PR_SET_NAME, name);
        usleep(30000);
        if (*(char *)name == 'z')
            exit(0); /* ends the process as the last of its threads, or nearly */
        return NULL;
    }
    int main(int argc, char **argv)
    {
        pthread_t t;
        static char *names[] = {"bio_close_file", "ctrl-c", "zlast"};
        (void)argv;
        for (int i = 0; i < 3; i++)
            pthread_create(&t, NULL, work, names[i]);
        if (argc > 1)
            pthread_exit(NULL); /* the first thread ends before the others */
        for (;;)
            pause();
    }
    """


@pytest.mark.parametrize("source", ["taskstats", "perf", "connector", "scan"])
@pytest.mark.parametrize("first_ends", ["", "first"])
def test_threads_give_a_process_no_name(run, run_ordinary, work, tape, compiled, source, first_ends):
    """Whichever source reports the end: a process of several threads has the name of its program, not the name of one
    of its threads."""
    if source in ("taskstats", "perf") and os.geteuid() != 0:
        pytest.skip("taskstats, and a network of its own, need root")
    program = compiled("serverlike", THREADS)
    job = ["sh", "-c", f"for i in 1 2 3 4 5 6; do {program} {first_ends}; done; exit 0"]
    runner = run if source in ("taskstats", "perf") else run_ordinary
    without = {"BARO_NO_EVENTS": "1"} if source == "scan" else {}
    runner.record(tape, job, "-i", "20ms", env=without, via=unshared("-n") if source == "perf" else ())
    names = names_of(runner.export(tape, "exit"))
    known = {"sh", "serverlike"}
    if source == "taskstats":
        assert names.count("serverlike") == 6 and len(names) == 7, names
    else:  # a process that is not read in time has no name
        known.add("")
    assert set(names) <= known, names
    assert {e["text"] for e in runner.export(tape, "event") if e["event"] == "exec"} <= known
    assert {c["name"] for c in runner.summary(tape)["commands"]} <= known
    assert {p["name"] for p in runner.export(tape, "process")} <= known
