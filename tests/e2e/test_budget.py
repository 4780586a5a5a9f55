# SPDX-License-Identifier: Apache-2.0
"""The overhead budget: CPU time of the recorder and its helpers, as the kernel counts it, against what the budget
allows.
"""

import os
import subprocess
import time

import pytest

from jobs import script

pytestmark = [pytest.mark.slow, pytest.mark.not_sanitized("a sanitizer costs more than the budget")]

START_S = 0.012
SLACK = 1.5  # a busy machine makes the same work cost more: cold caches; a virtual machine is charged for others
SLACK_S = 0.008

PROCESSES = """
    import os, time
    until = time.monotonic() + {seconds}
    for i in range({n}):
        if os.fork() == 0:
            while time.monotonic() < until:
                time.sleep(0.02)
            os._exit(0)
    while time.monotonic() < until:
        time.sleep(0.02)
    """
THREADS = """
    import threading, time
    until = time.monotonic() + {seconds}
    def work():
        while time.monotonic() < until:
            time.sleep(0.005)
    for i in range({n}):
        threading.Thread(target=work).start()
    """


def own_processes(pid):
    """Returns {pid: CPU seconds} of the wrapper and of those of its descendants that are barograph's own."""
    found, todo = {}, [pid]
    while todo:
        p = todo.pop()
        try:
            name = open(f"/proc/{p}/comm").read().strip()
            if name.startswith("baro"):
                found[p] = int(open(f"/proc/{p}/schedstat").read().split()[0]) / 1e9
                todo += [int(c) for c in open(f"/proc/{p}/task/{p}/children").read().split()]
        except (OSError, IndexError):
            pass
    return found


def used(run, tape, command, *options, env=()):
    """Runs it. Returns (CPU seconds of barograph's own processes, of these what the wrapper needed beyond START_S, wall
    seconds, summary)."""
    began, cpu = time.monotonic(), {}
    p = subprocess.Popen([run.binary, "run", "-q", "-o", tape, *options, "--", *command], stdin=subprocess.DEVNULL,
                         env={**os.environ, **dict(env)})
    while p.poll() is None:
        for pid, s in own_processes(p.pid).items():
            cpu[pid] = max(s, cpu.get(pid, 0))
        time.sleep(0.005)
    return sum(cpu.values()), max(0, cpu.get(p.pid, 0) - START_S), time.monotonic() - began, run.summary(tape)


@pytest.mark.parametrize("env", [(), (("BARO_NO_EVENTS", "1"),)], ids=["events", "scan"])
@pytest.mark.parametrize(
    "share, options, source",
    [
        (0.01, [], PROCESSES.format(n=100, seconds=3)),
        (0.01, ["-i", "10ms"], PROCESSES.format(n=40, seconds=2)),
        (0.001, ["--overhead", "0.1%"], THREADS.format(n=40, seconds=3)),
    ],
    ids=["processes", "fixed", "threads"],
)
def test_budget_is_kept(run, tape, share, options, source, env):
    """CPU time that the kernel charges the wrapper for reaping does not count: when the threads of a process end while
    the machine is busy, wait4(2) waits without sleeping until each has released its files in /proc (d_invalidate())."""
    cpu, reaping, wall, s = used(run, tape, script(source), *options, env=env)
    most = SLACK * (START_S + share * wall) + SLACK_S
    if max(cpu, s["recorder"]["cpu_ns"] / 1e9) > most:  # the start costs more beside other work: how much now?
        start, _, _, _ = used(run, tape.with_name("start.baro"), script(source), "-i", "1h", env=env)
        most = SLACK * (max(START_S, start) + share * wall) + SLACK_S
    assert cpu - reaping <= most, (cpu, reaping, wall, s["recorder"])
    assert s["recorder"]["cpu_ns"] / 1e9 - reaping <= most, (reaping, s["recorder"])
    assert s["recorder"]["left_out"] > 0  # and the summary says so
    assert s["recorder"]["samples"] >= 3


@pytest.mark.parametrize("env", [(), (("BARO_NO_EVENTS", "1"),)], ids=["events", "scan"])
def test_job_that_wakes_up_is_sampled_at_once(run, tape, env, monkeypatch):
    """The job sleeps for a second, then works until it has used 400 ms of CPU time: the curve has that work, and none
    of it before. The sleep begins after the recorder has begun to sample."""
    for name, value in env:
        monkeypatch.setenv(name, value)
    job = script("""
        import time
        open("gate").read(1)
        time.sleep(1)
        begin = time.process_time()
        while time.process_time() < begin + 0.4:
            pass
        """)
    run.record_gated(tape, job, lambda: len(run.instants(tape)) >= 3, "--overhead", "off")
    rows = run.export(tape, "job")
    cpu = [r["cpu_ns"] for r in rows]
    last = cpu[-1]
    asleep = [c for c in cpu if c < last - 380_000_000]
    at_work = [c for c in cpu if last - 380_000_000 <= c < last - 20_000_000]
    assert asleep
    assert len(at_work) + run.summary(tape)["recorder"]["missed"] >= 3  # missed ones count, too
    # Nothing is spread over the time asleep: the first sample at work is taken after an eighth of that time at most,
    # and its value is bounded by the CPU time that the job could use until then. The CPU time was read before the next
    # sample began.
    first = next(i for i, c in enumerate(cpu) if c >= last - 380_000_000)
    until = min(first + 1, len(rows) - 1)
    assert cpu[first] - cpu[first - 1] <= rows[until]["t_ns"] - rows[first - 1]["t_ns"] + 20_000_000
