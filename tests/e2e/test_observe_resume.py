# SPDX-License-Identifier: Apache-2.0
"""baro observe --tasks DIR, killed or stopped and started again: the tapes of unchanged files go on."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import needs_connector
from test_observe_tasks import burn, observer, shell  # noqa: F401 (fixtures)
from test_tasks import tool  # noqa: F401 (a fixture)

TURNS = 3  # how often the observer is killed and started again

# Computes a little again and again until "stop" is there; with "forks" in children, too, which it waits for. Then it
# sleeps until somebody opens the FIFO "close".
BUSY = """#!{python}
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
there = lambda name: os.path.exists(os.path.join(sys.argv[1], name))
while not there("stop"):
    if sys.argv[2] == "forks":
        pid = os.fork()
        if not pid:
            burn(0.01)
            os._exit(0)
        os.waitpid(pid, 0)
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
    """busy(name, how, group): a process that runs until stop(), and lives until close()."""

    os.mkfifo(work / "close")

    def open_fifo():
        try:
            os.close(os.open(work / "close", os.O_WRONLY | os.O_NONBLOCK))
        except OSError as e:
            assert e.errno == errno.ENXIO  # nobody reads it now

    class Busy:
        def __init__(self):
            self.all, self.word = [], f"{os.getpid()}x{id(self):x}-"  # no other test has such names

        def __call__(self, name, how="alone", group=None):
            path = tool(name + self.word, BUSY)
            p = started([path, work, how], preexec_fn=group and group.enter)
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


def samples_after_gap(run, tape, n):
    """How many samples there are after the n-th gap."""
    gaps = [e["t_ns"] for e in run.export(tape, "event") if e["event"] == "gap"]
    return sum(row["t_ns"] > gaps[n - 1] for row in run.export(tape, "job")) if len(gaps) >= n else 0


def assert_continuous(run, tape, gaps):
    """Sums never fall, and a process is the same one before and after."""
    rows = run.export(tape, "task")
    for name in {r["name"] for r in rows}:
        mine = [r for r in rows if r["name"] == name]
        for key in ("cpu_ns", "io_rchar_bytes", "processes_started", "processes_ended", "active_ns",
                    "process_samples", "processes_peak", "processes_unread"):
            assert all(a[key] <= b[key] for a, b in zip(mine, mine[1:])), (name, key, [r[key] for r in mine])
    jobs = run.export(tape, "job")
    for key in ("cpu_ns", "processes_started", "processes_ended", "cpu_counted_ns"):
        assert all(a[key] <= b[key] for a, b in zip(jobs, jobs[1:])), (key, [r[key] for r in jobs])
    assert [e["event"] for e in run.export(tape, "event")].count("gap") == gaps
    assert all(a["t_ns"] < b["t_ns"] for a, b in zip(jobs, jobs[1:]))


@needs_connector
@pytest.mark.long
def test_killed_again_and_again(run, observer, busy, work, groups, wait_until):
    """What lives through it counts to the last nanosecond, a control group as the kernel counts it, and what ended
    between two observers is never counted twice, and is marked as missing."""
    group, inside = groups(), groups()
    tree = busy("tree", "forks", inside)
    pidfile = busy("daemon")
    (work / "d.pid").write_text(f"{pidfile.pid}\n")
    before = {p.pid: cpu_ns(p.pid) for p in (pidfile,)}
    observer.put("named.yaml", f"tasks:\n  tree: {{pid: {tree.pid}}}\n")
    observer.put("rules.yaml", f"tasks:\n  alone: {{match: alone{busy.word}}}\n  forks: {{match: forks{busy.word}}}\n"
                               f"  daemon: {{pidfile: {work}/d.pid}}\n  web: {{cgroup: {group.path}}}\n")
    observer.start()
    named, rules = observer.tape("named"), observer.tape("rules")
    wait_until(lambda: observer.newest(rules, "daemon")["processes"] == 1, "the process of the PID file")
    kernel = groups()
    alone, forks, _ = busy("alone"), busy("forks", "forks", kernel), busy("web", "forks", group)
    for task in ("alone", "forks"):
        wait_until(lambda task=task: observer.newest(rules, task)["processes"] > 0, task)
    for n in range(TURNS):
        kill_and_start(observer)
        for tape in (named, rules):
            wait_until(lambda tape=tape, n=n: samples_after_gap(run, tape, n + 1) > 2, "more samples")
    busy.stop()
    used = inside.usage_ns()
    wait_until(lambda: observer.newest(rules, "web")["cpu_ns"] == group.usage_ns(), "the group's count")
    wait_until(lambda: observer.newest(rules, "alone")["cpu_ns"] == cpu_ns(alone.pid), "its CPU time")
    assert observer.newest(rules, "daemon")["cpu_ns"] <= cpu_ns(pidfile.pid)
    assert observer.newest(rules, "daemon")["cpu_ns"] >= cpu_ns(pidfile.pid) - before[pidfile.pid] - 0.5e9
    mine = observer.tasks(rules)
    assert not mine["alone"]["cpu_is_lower_bound"] and mine["alone"]["processes_started"] == 1
    assert not mine["daemon"]["cpu_is_lower_bound"] and mine["daemon"]["processes_started"] == 1
    assert mine["web"]["cpu_ns"] == group.usage_ns() and not mine["web"]["cpu_is_lower_bound"]
    assert 0.3 * kernel.usage_ns() < mine["forks"]["cpu_ns"] <= kernel.usage_ns() + 50e6  # its fork was outside
    assert observer.newest(named, "tree")["cpu_ns"] <= used
    # What children used that have ended, their parent shows in ticks.
    assert run.export(named, "job")[-1]["cpu_ns"] <= used + (TURNS + 1) * 20e6
    for tape, name in ((named, "named"), (rules, "rules")):
        assert observer.tapes(name) == [tape]
        assert_continuous(run, tape, TURNS)
    busy.close()
    for task in ("alone", "forks", "daemon", "web"):
        wait_until(lambda task=task: observer.newest(rules, task)["processes"] == 0, "their ends")
    assert observer.stop() == []
    for p in (alone, pidfile, forks):
        rows = [r for r in run.export(rules, "process") if r["pid"] == p.pid]
        assert len({r["start_ticks"] for r in rows}) == 1
        assert all(a["cpu_ns"] <= b["cpu_ns"] for a, b in zip(rows, rows[1:]))


@needs_connector
def test_an_exit_has_what_was_used_under_both_observers(run, observer, busy, wait_until):
    """What one used that ran before the recording began is known since the restart alone, and marked."""
    earlier = busy("old")
    observer.put("n.yaml", f"tasks:\n  old: {{match: old{busy.word}}}\n  new: {{match: new{busy.word}}}\n")
    observer.start()
    tape = observer.tape("n")
    wait_until(lambda: observer.newest(tape, "old")["cpu_ns"], "a recording that has begun")
    later = busy("new")
    for task in ("old", "new"):
        wait_until(lambda task=task: observer.newest(tape, task)["cpu_ns"] > 50e6, "some CPU time")
    kill_and_start(observer)
    wait_until(lambda: samples_after_gap(run, tape, 1) > 2, "more samples")
    busy.stop()
    used = cpu_ns(later.pid)
    busy.close()
    for task in ("old", "new"):
        wait_until(lambda task=task: observer.newest(tape, task)["processes"] == 0, "the ends")
    assert observer.stop() == []
    exits = {e["pid"]: e for e in run.export(tape, "exit")}
    commands = {c["name"]: c for c in run.summary(tape)["commands"]}
    assert used <= exits[later.pid]["cpu_ns"] == commands[later.name]["cpu_ns"] < used + 50e6
    assert commands[later.name]["cpu_ns"] == observer.newest(tape, "new")["cpu_ns"]
    assert commands[earlier.name]["cpu_is_lower_bound"]
    assert commands[later.name]["processes_is_lower_bound"]  # others of its name may have come and gone in between


def test_what_ends_in_between_is_marked(run, observer, busy, wait_until):
    """Its CPU time by the last sample stays, and the task's is a lower bound. A file that has changed is another job.
    """
    first, second = busy("gulp"), busy("gulp")
    observer.put("n.yaml", f"tasks:\n  gulp: {{match: gulp{busy.word}}}\n  none: {{match: no such program}}\n")
    observer.start()
    tape = observer.tape("n")
    wait_until(lambda: observer.newest(tape, "gulp")["processes"] == 2, "both")
    wait_until(lambda: observer.newest(tape, "gulp")["cpu_ns"] > 20e6, "some CPU time")
    observer.p.kill()
    observer.p.communicate()
    had = observer.newest(tape, "gulp")["cpu_ns"]
    first.kill()
    first.wait()
    busy.all.remove(first)
    observer.start()
    wait_until(lambda: observer.newest(tape, "gulp")["processes"] == 1, "the other one")
    rows = [r for r in run.export(tape, "task") if r["name"] == "gulp"]
    assert all(r["processes_started"] == 2 for r in rows[-2:]) and rows[-1]["processes_ended"] == 1
    assert rows[-1]["processes_unread"] == 1 and rows[-1]["cpu_ns"] >= had
    tasks = observer.tasks(tape)
    assert tasks["gulp"]["cpu_is_lower_bound"] and tasks["gulp"]["io_is_lower_bound"]
    assert not tasks["none"]["cpu_is_lower_bound"] and tasks["none"]["processes_started"] == 0
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
    """What they had started goes on, although nothing leads to it; when nothing is left, the tape gets its end."""
    outer = shell("sleep 1000 & echo $!; read line", stdout=subprocess.PIPE, text=True)
    other = shell("exit")
    outer.stdin.write("\n")
    outer.stdin.flush()
    inner = int(outer.stdout.readline())
    try:
        observer.put("n.yaml", f"tasks: {{a: {{pid: {outer.pid}}}, b: {{pid: {other.pid}}}}}\n")
        observer.start()
        tape = observer.tape("n")
        wait_until(lambda: observer.newest(tape, "a")["processes"] == 2, "both processes")
        observer.p.kill()
        observer.p.communicate()
        for p in (outer, other):
            p.kill()
            p.wait()
        n = len(run.instants(tape))
        observer.start()
        wait_until(lambda: len(run.instants(tape)) > n, "a sample of the second observer")
        a, b = (observer.newest(tape, name) for name in "ab")
        assert a["processes"] == 1 and a["processes_started"] == 2 and a["processes_ended"] == 1
        assert b["processes"] == 0 and b["processes_ended"] == 1
        rows = run.export(tape, "process")
        assert [r["pid"] for r in rows if r["t_ns"] == rows[-1]["t_ns"]] == [inner]
    finally:
        observer.p.kill()
        observer.p.communicate()
        os.kill(inner, signal.SIGKILL)
    for _ in range(1000):
        if not os.path.exists(f"/proc/{inner}"):
            break
        time.sleep(0.01)
    else:
        pytest.skip("nobody waits for orphans here, as in a container")
    observer.start()
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


def test_a_control_group_of_the_same_name(run, observer, shell, groups, wait_until):
    """What both groups used counts, and the sum is a lower bound."""
    parent = groups()
    path = parent.path / "web"

    def burn_in_it():
        path.mkdir()
        code = "import time\nwhile time.process_time() < 0.1: pass"
        enter = lambda: (path / "cgroup.procs").write_text("0")
        assert subprocess.run([sys.executable, "-S", "-c", code], preexec_fn=enter, check=False).returncode == 0
        stat = dict(line.split() for line in (path / "cpu.stat").read_text().splitlines())
        return int(stat["usage_usec"]) * 1000

    observer.put("n.yaml", f"tasks: {{web: {{cgroup: {path}}}}}\n")
    path.mkdir()
    observer.start()
    tape = observer.tape("n")
    path.rmdir()
    observer.p.kill()
    observer.p.communicate()
    had = observer.newest(tape, "web")["cpu_ns"]
    used = burn_in_it()
    observer.start()
    wait_until(lambda: observer.newest(tape, "web")["cpu_ns"] == had + used, "the count of the second group")
    assert observer.tasks(tape)["web"]["cpu_is_lower_bound"]
    kill_and_start(observer)
    n = len(run.instants(tape))
    wait_until(lambda: len(run.instants(tape)) > n, "a sample of the third observer")
    assert observer.newest(tape, "web")["cpu_ns"] == had + used
    assert observer.tasks(tape)["web"]["cpu_is_lower_bound"]
    observer.stop()
    path.rmdir()


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
