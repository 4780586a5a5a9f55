# SPDX-License-Identifier: Apache-2.0
"""Programs of which it is known how many of their threads can run at a time: no verdict says otherwise, on a quiet
machine, beside neighbours, and in a PID namespace. And how long threads waited is what they know of themselves.

A rule need not make a verdict: on a busy machine it may not be known for how many cores there was work.
"""

import itertools
import os

import pytest
from conftest import FULL, unshared

pytestmark = pytest.mark.not_sanitized("a recorder with sanitizers is a neighbour of its own")

# spin THREADS SECONDS [ROUNDS]: threads that compute, in rounds of as many new threads. Its output is how long all of
# them waited for a core, in ns, by their own schedstat.
SPIN = """
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <time.h>
    static double seconds;
    static unsigned long long waited;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static double now(void)
    {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    }
    static void *work(void *arg)
    {
        unsigned long long ran = 0, delay = 0;
        for (double end = now() + seconds; now() < end;)
            for (volatile int i = 0; i < 100000; i++)
                ;
        FILE *f = fopen("/proc/thread-self/schedstat", "r");
        if (f && fscanf(f, "%llu %llu", &ran, &delay) == 2) {
            pthread_mutex_lock(&lock);
            waited += delay;
            pthread_mutex_unlock(&lock);
        }
        if (f)
            fclose(f);
        return arg;
    }
    int main(int argc, char **argv)
    {
        int threads = atoi(argv[1]), rounds = argc > 3 ? atoi(argv[3]) : 1;
        seconds = atof(argv[2]) / rounds;
        for (int round = 0; round < rounds; round++) {
            pthread_t thread[100];
            for (int i = 0; i < threads - 1; i++)
                pthread_create(&thread[i], NULL, work, NULL);
            if (threads == 1)
                work(NULL);
            else
                pthread_create(&thread[threads - 1], NULL, work, NULL);
            for (int i = 0; threads > 1 && i < threads; i++)
                pthread_join(thread[i], NULL);
        }
        printf("%llu\\n", waited);
        return 0;
    }
"""

LOOP = "import time\nend = time.monotonic() + 1.6\nwhile time.monotonic() < end: pass\n"
SHORT = 'end=$(($(date +%s) + 2)); while [ "$(date +%s)" -lt $end ]; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; done'

# name: command, the least and the most threads that can run at a time; None: not known
PROGRAMS = {
    "one-thread": ("SPIN 1 1.6", 1, 1),
    "two-threads": ("SPIN 2 1.6", 2, 2),
    "four-threads": ("SPIN 4 1.6", 4, 4),
    "eight-threads": ("SPIN 8 2", 8, 8),
    "100-threads": ("SPIN 100 2", 100, 100),
    "new-threads": ("SPIN 4 1.6 20", 1, 4),
    "two-processes": ("SPIN 1 1.6 & SPIN 1 1.6 & wait", 2, 2),
    "four-processes": ("for i in 1 2 3 4; do SPIN 1 1.6 & done; wait", 4, 4),
    "two-of-two": ("SPIN 2 1.6 & SPIN 2 1.6 & wait", 4, 4),
    "eight-of-four": ("for i in 1 2 3 4 5 6 7 8; do SPIN 4 2 & done; wait", 32, 32),
    "one-then-four": ("SPIN 1 1; SPIN 4 1", 1, 4),
    "four-then-one": ("SPIN 4 1; SPIN 1 1", 1, 4),
    "nice": ("exec nice -n 10 SPIN 1 1.6", 1, 1),
    "python": ("exec PYTHON -S -c \"$LOOP\"", 1, 1),
    "two-pythons": ("PYTHON -S -c \"$LOOP\" & PYTHON -S -c \"$LOOP\" & wait", 2, 2),
    "short-processes": (SHORT, 1, 1),
    "four-loops": (f"for k in 1 2 3 4; do ({SHORT}) & done; wait", 4, 4),
    "pipeline": ("head -c 3G /dev/zero | cat | tail -c 1", None, 3),
    "asleep": ("sleep 1.6", 0, 0),
    "asleep-threads": ("SPIN 4 .3; sleep 1.3", 0, 4),
}
PLACES = ("quiet", "busy", "container")
SOON = {("two-threads", "busy"), ("four-threads", "container"), ("one-thread", "busy"), ("two-processes", "container")}
TABLE = [case for case in itertools.product(PROGRAMS, PLACES) if FULL or case in SOON]


@pytest.fixture
def spin(compiled):
    return compiled("spin", SPIN)


def contradictions(verdicts, least, most, cores):
    """The verdicts that can't be true of a program of which `least` to `most` threads could run at a time."""
    found = {v["rule"]: v for v in verdicts}
    wrong = {"one-core": most > 1 and least != 1, "idle": least is not None and least > 0, "few-cores": most <= cores,
             "slow-start": least == most, "serial-tail": least == most, "lock-contention": True, "io-wait": True}
    said = [found[rule]["title"] for rule, is_wrong in wrong.items() if is_wrong and rule in found]
    asked = {e["name"]: e["value"] for e in found.get("right-size", {"evidence": []})["evidence"]}.get("ask_cores")
    if asked is not None and (asked > max(most, 1) or (least == most and asked < min(least, cores))):
        said.append(found["right-size"]["title"])
    return said


@pytest.mark.parametrize(("name", "place"), TABLE)
def test_no_verdict_contradicts_the_program(run, tape, spin, cores, started, name, place):
    command, least, most = PROGRAMS[name]
    if place == "container" and os.geteuid():
        pytest.skip("needs root")
    if place == "busy":
        started([spin, str(cores), "60"])
    text = command.replace("SPIN", spin).replace("PYTHON", "/usr/bin/python3")
    via = unshared("-fp", "--mount-proc") if place == "container" else ()
    run("run", "-q", "-o", tape, "--", "sh", "-c", text, via=via, env={"LOOP": LOOP}, status=0)
    run.await_end(tape)
    summary = run.summary(tape)
    said = contradictions(summary["verdicts"], least, most, cores)
    assert not said, said


@pytest.mark.parametrize("interval", ["auto", "1s"])
def test_threads_wait_as_long_as_they_say(run_both, tape, spin, interval):
    """The counter moves while they run, and has what they know of themselves; or it says of how much it was not read."""
    truth = int(run_both("run", "-q", "-i", interval, "-o", tape, "--", spin, "6", "1.5", status=0).stdout)
    job = run_both.summary(tape)["job"]
    read = 1 - job["run_delay_lag_ns"] / job["cpu_ns"]
    assert job["run_delay_is_lower_bound"] and read >= 0.2
    assert job["run_delay_ns"] >= 0.6 * read * truth
    rows = run_both.export(tape, "job")
    moved = {row["run_delay_ns"] for row in rows}
    assert len(moved) > 5 or len(rows) < 15
    assert all("run_delay_ns" in row["lower_bounds"] for row in rows if row["run_delay_lag_ns"])


def test_threads_that_end_take_nothing_with_them(run, tape, spin):
    """Rounds of new threads: what those before them had waited stays in the sum."""
    truth = int(run("run", "-q", "-o", tape, "--", spin, "6", "2.5", "5", status=0).stdout)
    job = run.summary(tape)["job"]
    assert job["run_delay_ns"] >= 0.5 * (1 - job["run_delay_lag_ns"] / job["cpu_ns"]) * truth
