# SPDX-License-Identifier: Apache-2.0
"""baro observe --tasks DIR, killed or stopped and started again: the tapes of unchanged files go on."""

import errno
import json
import os
import time

import pytest
from conftest import needs_connector
from test_observe_tasks import observer, shell  # noqa: F401 (fixtures)
from test_tasks import tool  # noqa: F401 (a fixture)

# Computes a little again and again until "stop" is there. Then it sleeps until somebody opens the FIFO "close".
BUSY = """#!{python}
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
there = lambda name: os.path.exists(os.path.join(sys.argv[1], name))
while not there("stop"):
    burn(0.002)
    time.sleep(0.02)
open(os.path.join(sys.argv[1], "stopped-%d" % os.getpid()), "w").close()
open(os.path.join(sys.argv[1], "close")).read()
"""


def cpu_ns(pid):
    """The CPU clock of a process, as the kernel has it."""
    return time.clock_gettime_ns((~pid << 3) | 2)


@pytest.fixture
def busy(work, tool, started, wait_until):
    """busy(name): a process that runs until stop(), and lives until close()."""

    os.mkfifo(work / "close")

    def open_fifo():
        try:
            os.close(os.open(work / "close", os.O_WRONLY | os.O_NONBLOCK))
        except OSError as e:
            assert e.errno == errno.ENXIO  # nobody reads it now

    class Busy:
        def __init__(self):
            self.all, self.word = [], f"{os.getpid()}x{id(self):x}-"  # no other test has such names

        def __call__(self, name):
            path = tool(name + self.word, BUSY)
            p = started([path, work])
            p.name = path.name
            self.all.append(p)
            return p

        def stop(self):
            (work / "stop").touch()
            for p in self.all:
                wait_until((work / f"stopped-{p.pid}").exists, "the end of its work")

        def close(self):
            for p in self.all:
                wait_until(lambda p=p: p.poll() is not None or open_fifo(), "its end")
                assert p.returncode == 0

    return Busy()


def kill_and_start(observer):
    observer.p.kill()
    observer.p.communicate()
    observer.start()


def newest(run, tape):
    """The row of the job in the last sample."""
    return run.export(tape, "job")[-1]


@needs_connector
def test_what_was_used_under_both_observers_adds_up(run, observer, busy, wait_until):
    """What a process used in between is missing, and marked."""
    observer.put("n.yaml", f"tasks:\n  new: {{match: new{busy.word}}}\n")
    observer.start()
    tape = observer.tape("n")
    process = busy("new")
    wait_until(lambda: newest(run, tape)["cpu_ns"] > 50e6, "some CPU time")
    observer.p.kill()
    observer.p.communicate()
    had = newest(run, tape)["cpu_ns"]
    observer.start()
    wait_until(lambda: newest(run, tape)["cpu_ns"] > had + 50e6, "more CPU time")
    busy.stop()
    used = cpu_ns(process.pid)
    busy.close()
    wait_until(lambda: newest(run, tape)["processes"] == 0, "its end")
    assert observer.stop() == []
    (e,) = (e for e in run.export(tape, "exit") if e["pid"] == process.pid)
    summary = run.summary(tape)
    command = next(c for c in summary["commands"] if c["name"] == process.name)
    assert had + 50e6 < command["cpu_ns"] < used + 50e6 and command["cpu_is_lower_bound"] and e["cpu_ns"] < used - had
    assert command["processes"] == summary["job"]["processes_started"] == 1 and command["processes_is_lower_bound"]
    assert command["cpu_ns"] <= summary["job"]["cpu_ns"] < used + 50e6 and summary["job"]["cpu_is_lower_bound"]


def test_a_file_that_has_changed_is_another_job(run, observer, busy, wait_until):
    """One of two processes ends in between; they count as two."""
    first, second = busy("gulp"), busy("gulp")
    observer.put("n.yaml", f"tasks:\n  gulp: {{match: gulp{busy.word}}}\n")
    observer.start()
    tape = observer.tape("n")
    wait_until(lambda: newest(run, tape)["processes"] == 2, "both")
    observer.p.kill()
    observer.p.communicate()
    first.kill()
    first.wait()
    busy.all.remove(first)
    observer.start()
    wait_until(lambda: newest(run, tape)["processes"] == 1, "the other one")
    assert newest(run, tape)["processes_started"] == 2 and newest(run, tape)["processes_ended"] == 1
    observer.p.kill()
    observer.p.communicate()
    observer.put("n.yaml", f"tasks: {{other: {{match: gulp{busy.word}}}}}\n")
    observer.start()
    other = observer.tape("n", 1)
    end = observer.await_end(tape)
    assert not end["is_incomplete"] and not end["exit"]["is_detached"]
    wait_until(lambda: observer.newest(other, "other")["processes"] == 1, "the same process in another job")
    assert second.poll() is None and len(observer.tapes("n")) == 2
    assert observer.stop() == []


def test_named_processes_that_end_in_between(run, observer, shell, wait_until):
    """The job goes on with those that live; when nothing is left, the tape gets its end."""
    first, second = shell("exit"), shell("exit")
    observer.put("n.yaml", f"tasks: {{a: {{pid: {first.pid}}}, b: {{pid: {second.pid}}}}}\n")
    observer.start()
    tape = observer.tape("n")
    wait_until(lambda: newest(run, tape)["processes"] == 2, "both processes")
    for p in (first, second):
        observer.p.kill()
        observer.p.communicate()
        p.kill()
        p.wait()
        observer.start()
        if p == first:
            wait_until(lambda: newest(run, tape)["processes"] == 1, "a sample of the second observer")
            rows = run.export(tape, "process")
            assert [r["pid"] for r in rows if r["t_ns"] == rows[-1]["t_ns"]] == [second.pid]
    wait_until(lambda: [e for e in run.export(tape, "event") if e["event"] == "end"], "the end of the tape")
    (line,) = observer.stop()
    assert line == f"baro observe: {observer.files}/n.yaml: all processes of its tasks have ended"
    assert observer.tapes("n") == [tape]


def test_stopped_and_started_again(run, observer, shell, wait_until):
    sleeper = shell(f"again{os.getpid()}=")
    observer.put("n.yaml", f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n")
    observer.put("m.yaml", f"tasks: {{a: {{match: 'again{os.getpid()}=$'}}}}\n")
    observer.start()
    tapes = [observer.tape(name) for name in "nm"]
    wait_until(lambda: observer.newest(tapes[1], "a")["processes"] == 1, "the process")
    observer.stop()
    before = [run.instants(tape) for tape in tapes]
    for tape in tapes:
        assert run.summary(tape)["exit"]["is_detached"]
    observer.start()
    for tape, had in zip(tapes, before):
        wait_until(lambda tape=tape, had=had: len(run.instants(tape)) > len(had), "a sample of the second observer")
        row = observer.newest(tape, "a")
        assert row["processes"] == row["processes_started"] == 1 and row["processes_unread"] == 0
        assert run.instants(tape)[: len(had)] == had
    observer.stop()


def test_readers(run, observer, busy, wait_until):
    """Each reader takes a tape with a gap."""
    busy("gulp")
    observer.put("n.yaml", f"tasks: {{gulp: {{match: gulp{busy.word}}}}}\n")
    observer.start()
    tape = observer.tape("n")
    wait_until(lambda: observer.newest(tape, "gulp")["cpu_ns"] > 10e6, "some CPU time")
    kill_and_start(observer)
    wait_until(lambda: [e for e in run.export(tape, "event") if e["event"] == "gap"], "the gap")
    (gap,) = [e for e in run.export(tape, "event") if e["event"] == "gap"]
    wait_until(lambda: run.instants(tape)[-1] > gap["t_ns"], "a sample after it")
    observer.stop()
    for command in (("summary",), ("summary", "--by", "task"), ("show", "--at", "50%"), ("show", "--at", "peak"),
                    ("plot", "cpu"), ("report", "-o", "-", "--format", "markdown"),
                    ("report", "-o", "-", "--format", "json")):
        done = run(*command, tape)
        assert done.returncode == 0 and "-nan" not in done.stdout, (command, done.stderr)
    middle = json.loads(run("show", "--json", "--at", f"+{gap['t_ns'] / 1e9 - 0.001}s", tape, status=0).stdout)
    assert middle
