# SPDX-License-Identifier: Apache-2.0
"""Recordings in a container: neither the process connector nor taskstats are there. `perf`: in a PID namespace, with
perf; `scan`: there without it; `container`: a default container (contain.c)."""

import os
import subprocess
import sys

import pytest
from conftest import ENGINE, PATIENCE, contained, unshared

NAMESPACE = ("-fp", "--mount-proc")


@pytest.fixture
def inside(run, tape, baro, work):
    """Runs a command in a recording in a container, and returns the summary."""

    def record(*argv, options=(), where="perf", status=0):
        via = contained(baro, work) if where == "container" else unshared(*NAMESPACE)
        env = {"BARO_NO_EVENTS": "1"} if where == "scan" else None
        run("run", "--force", "-o", tape, *options, "--", *argv, via=via, env=env, status=status)
        return run.summary(tape)

    return record


def was_held_up(run, tape):
    """Was there a pause in which others may have been given all pids (births.c), or were events lost?"""
    times = [0, *run.instants(tape), run.summary(tape)["wall_ns"]]
    return max(b - a for a, b in zip(times, times[1:])) > 0.5e9 or run.lost_events(tape)


SOURCES = pytest.mark.parametrize("where", ["container"] if ENGINE else ["perf", "scan", "container"])


@SOURCES
@pytest.mark.parametrize("forks", [0, 5, 150])
def test_the_pids_that_were_given_out_bound_how_many_began(run, inside, tape, where, forks):
    job = inside("sh", "-c", f"i=0; while [ $i -lt {forks} ]; do /bin/true; i=$((i+1)); done", where=where)["job"]
    began = forks + 1
    if was_held_up(run, tape):
        assert job["processes_started"] <= began <= (job["processes_started_at_most"] or began), job
        return
    assert job["processes_started"] <= began <= job["processes_started_at_most"] <= began + 5, job
    if not job["processes_started_is_lower_bound"]:
        assert job["processes_started"] == began == job["processes_started_at_most"]
    if not job["processes_peak_is_lower_bound"]:
        assert job["processes_peak"] == (2 if forks else 1)


@SOURCES
def test_where_no_pid_is_missing_the_count_is_exact(run, inside, tape, where):
    threads = "import threading, time\nt = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(8)]\n"
    threads += "for x in t: x.start()\nfor x in t: x.join()\n"
    exact = 0
    for argv in (["true"], ["sleep", "0.3"], [sys.executable, "-S", "-c", threads]):
        job = inside(*argv, where=where)["job"]
        if was_held_up(run, tape):
            assert job["processes_started"] <= 1 <= (job["processes_started_at_most"] or 1), job
            continue
        exact += 1
        assert job["processes_started"] == job["processes_started_at_most"] == job["processes_peak"] == 1, job
        assert not job["processes_started_is_lower_bound"] and not job["processes_peak_is_lower_bound"], job
    if not exact:
        pytest.skip("each of the jobs was held up")


@SOURCES
@pytest.mark.parametrize("interval", ["auto", "1s"])
def test_the_peak_has_those_who_were_there_before_perf(inside, where, interval):
    """Four processes live at once until the end, and no sample is taken while they do: a list finds them, when perf
    begins."""
    job = inside("sh", "-c", "sleep 0.4 & sleep 0.4 & sleep 0.4 & wait", options=["-i", interval], where=where)["job"]
    assert job["processes_started"] == 4 or job["processes_started_is_lower_bound"], job
    assert job["processes_peak"] == 4 or job["processes_peak_is_lower_bound"], job
    assert job["processes_peak"] <= 4, job


# Each child says so and waits for the others. `follow`: one after the other, and all are zombies until the end.
TOGETHER = """
import os, sys, time
n, pause = int(sys.argv[1]), float(sys.argv[2])
time.sleep(pause)
here, go = os.pipe(), os.pipe()
for i in range(n):
    if os.fork() == 0:
        os.close(go[1]); os.write(here[1], b'x'); os.read(go[0], 1); os._exit(0)
for i in range(n): os.read(here[0], 1)
os.close(go[1])
time.sleep(.2)
"""
FOLLOW = """
import os, sys, time
n, pause = int(sys.argv[1]), float(sys.argv[2])
time.sleep(pause)
for i in range(n):
    pid = os.fork()
    if pid == 0:
        time.sleep(.001); os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
time.sleep(.1)
"""


# vfork(2): a child forks while perf is attached to its parent, and no event reports its end.
VFORK = "import os\nfor _ in range(300):\n    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\n"


@SOURCES
@pytest.mark.parametrize("text, pause, interval, most", [
    (TOGETHER, 0, "auto", 46), (TOGETHER, 0.02, "auto", 46),
    (FOLLOW, 0, "auto", 2), (FOLLOW, 0.02, "auto", 2), (VFORK, 0, "1s", 2),
], ids=["together", "together, late", "follow", "follow, late", "vfork"])
def test_the_peak_is_never_more_than_there_were(inside, where, text, pause, interval, most):
    """Some have ended when perf is attached, or when a list finds them: what is known of the peak is a lower bound."""
    for _ in range(3):
        job = inside(sys.executable, "-S", "-c", text, 45, pause, options=["-i", interval], where=where)["job"]
        assert job["processes_peak"] == most or job["processes_peak_is_lower_bound"], job
        assert job["processes_peak"] <= most, job
        assert job["threads_peak"] <= most, job


@SOURCES
@pytest.mark.parametrize("first", [["env"], ["sh", "-c", 'sleep 0.01; exec "$@"', "sh"]], ids=["env", "sh"])
def test_a_name_is_of_the_program_that_was_executed_last(inside, first, where):
    """The program is executed before perf reports that, and forks when nobody has looked since."""
    work = "import os, time\ntime.sleep(0.2)\nfor _ in range(3):\n"
    work += "    if os.fork() == 0:\n        end = time.process_time() + 0.05\n"
    work += "        while time.process_time() < end: pass\n        os._exit(0)\n"
    work += "for _ in range(3): os.wait()\n"
    commands = inside(*first, sys.executable, "-S", "-c", work, options=["-i", "1s"], where=where)["commands"]
    cpu = {c["name"]: c["cpu_ns"] or 0 for c in commands}
    known = sum(v for name, v in cpu.items() if name.startswith("python"))
    assert sum(cpu.values()) - known < 0.05 * 1e9, cpu


ATTACHED = """
import os, subprocess, sys, time
baro, tape = sys.argv[1:]
job = subprocess.Popen(["sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE)
recorder = subprocess.Popen([baro, "record", "--pid", str(job.pid), "-o", tape, "--force"])
while not os.path.exists(tape) or not os.path.getsize(tape):
    time.sleep(0.01)
job.stdin.close()
os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)
time.sleep(0.02)  # a parent that is not at once there
job.wait()
sys.exit(recorder.wait())
"""


def test_the_status_of_a_target_whose_parent_reaps_it_a_little_later(run, tape):
    argv = [*unshared(*NAMESPACE), sys.executable, "-c", ATTACHED, run.binary, tape]
    for _ in range(4):  # a recorder that gets no CPU meanwhile does not see it
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        if done.returncode and not tape.exists():
            pytest.skip("there is no PID namespace")
        status = run.summary(tape)["exit"]["status"]
        if status is not None:
            break
        if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (6, 15):
            pytest.skip("this kernel has no exit status for others than the parent")
    assert status == 7


@SOURCES
def test_an_exit_says_whether_a_sample_has_the_process(run, inside, tape, where):
    """Some end after they were read, and before the sample is written."""
    work = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.02 & /bin/true; done; wait"
    for _ in range(4):
        inside("sh", "-c", f"{work}; {work}; {work}", options=["-i", "20ms"], where=where)
        rows = {r["pid"] for r in run.export(tape, "process") if r["cpu_ns"] is not None}
        exits = run.export(tape, "exit")
        assert exits and {e["pid"] for e in exits if e["sampled"]} == {e["pid"] for e in exits} & rows
