# SPDX-License-Identifier: Apache-2.0
"""baro observe: many jobs in one process, each onto a tape of its own, against the count of their control groups."""

import os
import signal
import subprocess

import pytest
from conftest import Cgroup
from jobs import PYTHON
from readers import call, one_line

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")

# Waits for the file, then computes and starts twenty processes, most of them short, and ends.
WORKER = """
import os, subprocess, sys, time
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
end = time.process_time() + 0.2
while time.process_time() < end: pass
for i in range(20): subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"])
"""


@pytest.fixture
def jobs(cgroup, started):
    """jobs(name, argv): starts argv in a control group of this name below that of the test."""

    def start(name, argv):
        group = Cgroup(cgroup.path / name)
        group.path.mkdir()
        group.process = started(argv, preexec_fn=group.enter)
        return group

    return start


@pytest.fixture
def observer(run, work, cgroup, wait_until):
    """observer(): starts baro observe for the groups of the test; observer.tape(group) is the tape of one."""

    class Observer:
        folder = work / "jobs"

        def start(self, *args, **kw):
            self.p = run.popen("observe", "--dir", self.folder, "--cgroup", f"{cgroup.path}/*", "--overhead", "off",
                               *args, stderr=subprocess.PIPE, **kw)
            return self

        def tapes(self, group):
            return sorted(self.folder.glob(f"*-{group.path.name}-{group.path.stat().st_ino}.baro"))

        def tape(self, group):
            return wait_until(lambda: self.tapes(group), f"the tape of {group.path.name}")[0]

        def stop(self):
            self.p.send_signal(signal.SIGTERM)
            assert self.p.communicate(timeout=60)[1] == b""
            assert self.p.returncode == 0

    o = Observer()
    yield o
    if getattr(o, "p", None) and o.p.poll() is None:
        o.p.kill()
        o.p.communicate()


def await_end(run, tape):
    """Waits until the last segment of a tape is complete."""
    run.await_end(sorted(tape.iterdir())[-1])


def accounted(s):
    """All CPU time that the group had used at its end, by its summary."""
    return s["job"]["cpu_ns"] + s["before"]["cpu_ns"]


@needs_root
def test_each_group_has_its_own_tape(run, work, jobs, observer, wait_until):
    groups = [jobs(f"job{i}", [PYTHON, "-S", "-c", WORKER, work / "go"]) for i in range(8)]
    observer.start()
    tapes = [observer.tape(g) for g in groups]
    wait_until(lambda: all(run.instants(t) for t in tapes), "the first samples")
    (work / "go").touch()
    late = jobs("late", [PYTHON, "-S", "-c", WORKER, work / "go"])
    late_tape = observer.tape(late)
    for g in [*groups, late]:
        assert g.process.wait(60) == 0
    for g, tape in zip([*groups, late], [*tapes, late_tape]):
        await_end(run, tape)
        s = run.summary(tape)
        assert accounted(s) == g.usage_ns()
        if g is late:
            continue
        assert s["job"]["processes_started"] == 21  # the last one may be a zombie still when the group is over
        assert {c["name"]: c["processes"] for c in s["commands"]}["sh"] == 20, s["commands"]
    observer.stop()


@needs_root
def test_a_group_that_is_used_again_is_another_job(run, jobs, observer, started, wait_until):
    group = jobs("again", ["sleep", "1000"])
    observer.start()
    first = observer.tape(group)
    wait_until(lambda: run.instants(first), "its first sample")
    group.process.kill()
    group.process.wait()
    await_end(run, first)
    started(["sleep", "1000"], preexec_fn=group.enter)
    assert wait_until(lambda: [t for t in observer.tapes(group) if t != first], "the second tape")
    observer.stop()
    assert run.summary(first)["exit"]["is_detached"] is False


@needs_root
def test_the_machine_has_a_tape(run, jobs, observer, wait_until):
    observer.start()
    tape = wait_until(lambda: list(observer.folder.glob("*-host-0.baro")), "the tape of the machine")[0]
    wait_until(lambda: run.instants(tape), "its first sample")
    observer.stop()
    assert run.export(tape, "host")


def test_wrong_calls(baro, work):
    one_line(call(baro, "observe"), 2, "--cgroup")
    one_line(call(baro, "observe", "--cgroup", ""), 2, "PATTERN")
    (work / "file").touch()
    one_line(call(baro, "observe", "--cgroup", "x*", "--dir", work / "file"), 2, "can't open")


