# SPDX-License-Identifier: Apache-2.0
"""What a tick costs, counted in system calls: a count does not depend on the machine."""

import collections
import os
import signal
import statistics
import subprocess

import pytest
from conftest import needs_strace

from jobs import script

pytestmark = [pytest.mark.slow, pytest.mark.not_sanitized("a sanitizer makes calls of its own"), needs_strace]

PROCESSES = """
    import os, signal, time
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for i in range({n}):
        if os.fork() == 0:
            while i < {busy}:
                time.sleep(0.02)
            signal.pause()
    print("ready", flush=True)
    signal.pause()
    """


@pytest.fixture
def processes(started):
    """processes(n, busy): the pid of a process with n children, some of which wake up every 20 ms."""

    def start(n, busy=0):
        p = started(script(PROCESSES.format(n=n, busy=busy)), stdout=subprocess.PIPE, text=True, start_new_session=True)
        p.stdout.readline()
        groups.append(p.pid)
        return p.pid

    groups = []
    yield start
    for g in groups:
        os.killpg(g, signal.SIGKILL)


def calls_per_tick(run, work, wait_until, pid, *options, machine=False, without_events=False):
    """Returns {system call: number}, medians over the ticks of a recorder that has settled, of the recorder itself
    without its helper. machine: only ticks that read the machine; not each tick does where a read is expensive, as it
    may be under strace."""
    log = work / f"strace-{pid}"
    tape = work / f"{pid}.baro"
    r = subprocess.Popen(
        ["strace", "-o", log, run.binary, "record", "--pid", str(pid), "-q", "-i", "100ms", "-o", tape, "--overhead",
         "off", *([] if machine else ["--no-host"]), *options],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **({"BARO_NO_EVENTS": "1"} if without_events else {})},
    )
    wait_until(
        lambda: log.exists() and log.read_text(errors="replace").count('"cpu ' if machine else "\nwrite(") > 20,
        "some ticks",
    )
    for child in open(f"/proc/{r.pid}/task/{r.pid}/children").read().split():
        os.kill(int(child), signal.SIGINT)
    r.wait(timeout=60)
    ticks, now, read_machine = [], collections.Counter(), False
    for line in log.read_text(errors="replace").splitlines():
        name = line.partition("(")[0]
        now[name] += 1
        read_machine |= '"cpu ' in line  # /proc/stat
        if name == "write" and "BARO" not in line:  # a tick ends with its frame on the tape
            if read_machine == machine:
                ticks.append(now)
            now, read_machine = collections.Counter(), False
    ticks = ticks[len(ticks) // 2 :]
    assert len(ticks) > 5
    names = set().union(*ticks)
    return {n: statistics.median(t[n] for t in ticks) for n in names}


def sum_of(calls, *without):
    return sum(v for n, v in calls.items() if n not in without)


def test_sleeping_process_costs_one_call(run, work, processes, wait_until):
    """The CPU clock of each process, and nothing else. Without events, because they report the forks of the whole
    machine."""
    few = calls_per_tick(run, work, wait_until, processes(10), without_events=True)
    many = calls_per_tick(run, work, wait_until, processes(60), without_events=True)
    assert many["clock_gettime"] - few["clock_gettime"] == 50
    assert sum_of(many, "clock_gettime") == sum_of(few, "clock_gettime")
    assert sum_of(few, "clock_gettime", "pread64") <= 3, few  # to wait for the time, to write the frame
    assert few["clock_gettime"] <= 11 + 4, few  # the recorder's own, before and after
    assert few.get("pread64", 0) <= 12, few  # control groups


@pytest.mark.parametrize("without_events", [False, True], ids=["events", "scan"])
def test_busy_process_costs_six_calls(run, work, processes, wait_until, without_events):
    """Its clock, stat, status and io from held descriptors, a count of its descriptors; once a second its run delay.
    Without events three more for the list of its children, which is not held open."""
    children = 20 if without_events else 0
    cheap = ("--metrics", "-pss,-uss")
    few = calls_per_tick(run, work, wait_until, processes(12, 2), *cheap, without_events=without_events)
    many = calls_per_tick(run, work, wait_until, processes(32, 22), *cheap, without_events=without_events)
    assert many["clock_gettime"] - few["clock_gettime"] == 20
    assert many.get("openat", 0) <= few.get("openat", 0) + 1 + children  # the files stay open
    assert sum_of(many) - sum_of(few) <= 20 * 6 + 3 * children


def test_machine_costs_one_read_of_each_file(run, work, processes, wait_until, monkeypatch):
    """Files stay open: nothing is opened, and nothing in /sys is read. Two clock calls: what the reading cost, and what
    its helper used."""
    monkeypatch.setenv("BARO_NO_EVENTS", "1")  # of processes that are not the job's
    without = calls_per_tick(run, work, wait_until, processes(5))
    with_ = calls_per_tick(run, work, wait_until, processes(5), machine=True)
    assert with_.get("openat", 0) == without.get("openat", 0)
    assert 5 <= with_["pread64"] - without.get("pread64", 0) <= 16 + 16, with_  # and the files of control groups
    assert sum_of(with_, "pread64") - sum_of(without, "pread64") <= 8, (with_, without)


def test_metrics_not_asked_for_are_not_read(run, work, processes, wait_until):
    all_ = calls_per_tick(run, work, wait_until, processes(20, 20), "--metrics", "-pss,-uss")
    cheap = calls_per_tick(run, work, wait_until, processes(20, 20), "--metrics", "cpu")
    assert sum_of(all_) - sum_of(cheap) >= 20 * 2
    assert cheap.get("pread64", 0) <= 21  # stat alone
