# SPDX-License-Identifier: Apache-2.0
"""Tasks of a job whose members were named otherwise: --match and its like beside --pid or --cgroup."""

import json
import signal
import subprocess

import pytest
from conftest import needs_connector, tasks_by_name
from test_tasks import BURN, EXECUTES, tool  # noqa: F401 (a fixture)


class Labelled:
    """A recorder that is attached, and ends with its job or by stop()."""

    def __init__(self, run, tape, *options):
        self.run, self.tape = run, tape
        self.process = run.popen("record", "-q", "-o", tape, "--no-host", *options, stderr=subprocess.PIPE)
        run.await_samples(tape)

    def tasks(self):
        _, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        out = json.loads(self.run("summary", "--by", "task", "--json", self.tape, status=0).stdout)
        return tasks_by_name(out)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.tasks()

    def last(self, name):
        rows = [t for t in self.run.export(self.tape, "task") if t["name"] == name]
        return rows[-1] if rows else None


@pytest.fixture
def labelled(run, tape):
    made = []

    def start(*options):
        made.append(Labelled(run, tape, *options))
        return made[-1]

    yield start
    for r in made:
        if r.process.poll() is None:
            r.process.terminate()
            r.process.communicate()


@pytest.fixture
def waiting(work):
    """waiting(script, **options) starts a shell that executes the script when go() is called."""
    shells = []

    def start(script, **options):
        argv = ["sh", "-c", f"read go; {script}"]
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True, **options)
        shells.append(p)
        return p

    yield start
    for p in shells:
        if p.poll() is None:
            p.kill()
        p.communicate()


def go(p):
    p.stdin.write(b"\n")
    p.stdin.flush()


@needs_connector
@pytest.mark.parametrize("events", [True, False])
def test_members_of_a_group_that_fit_are_tasks(
    labelled, tool, cgroup, waiting, wait_until, monkeypatch, events
):
    if not events:
        monkeypatch.setenv("BARO_NO_EVENTS", "1")
    gul, other = tool("gul", BURN), tool("other", BURN)
    rule = f"^[^ ]*python[^ ]* [^ ]*{gul.name} 1000"  # not the shell
    shell = waiting(f"{gul} 1000 & {other} 0.2; read stop; kill $!; wait", preexec_fn=cgroup.enter)
    outside = subprocess.Popen([gul, "1000"])
    try:
        r = labelled("--cgroup", cgroup.path, "--task", f"gul={rule}")
        go(shell)
        wait_until(lambda: (r.last("gul") or {}).get("processes") == 1, "the member that fits")
        wait_until(lambda: r.last("gul")["cpu_ns"] > 100e6, "its CPU time")
        go(shell)
        shell.wait()
        tasks = r.tasks()  # it ends with the group
    finally:
        outside.kill()
        outside.wait()
    job = r.run.export(r.tape, "job")[-1]
    assert tasks["gul"]["processes_started"] == 1
    assert 100e6 < tasks["gul"]["cpu_ns"] < job["cpu_ns"]
    assert job["processes_started"] >= (3 if events else 2)  # a scan may miss the other one, which lives for 0.2 s
    of = {e["name"]: e["task"] for e in r.run.export(r.tape, "exit")}
    assert of[gul.name] == "gul" and of.get(other.name) is None
    assert other.name in of or not events
    assert outside.pid not in {p["pid"] for p in r.run.export(r.tape)}


@needs_connector
def test_short_processes_against_a_group(labelled, tool, groups, waiting):
    """All are labelled: those that end between two samples as well."""
    gul, made = tool("gul", "#!/bin/sh\ni=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"), groups()
    shell = waiting(f"for i in $(seq 100); do /bin/true; sh -c 'echo 0 >{made.path}/cgroup.procs; exec {gul}'; done")
    r = labelled("--pid", str(shell.pid), "--exact", gul.name)
    go(shell)
    shell.wait()
    task, job = r.tasks()[gul.name], r.run.export(r.tape, "job")[-1]
    # Those whose command could not be read in time are known by the name that the kernel reported at their end.
    exits = [e for e in r.run.export(r.tape, "exit") if e["task"] == gul.name]
    bound = task["processes_started_is_lower_bound"] or task["cpu_is_lower_bound"]
    assert task["processes_started"] == 100 or bound, task
    assert len(exits) == 100 or bound
    kernel = made.usage_ns()
    assert task["cpu_ns"] > 0.96 * kernel or bound, (task["cpu_ns"], kernel)
    assert task["cpu_ns"] < kernel + 100 * 5e6 and task["cpu_ns"] < job["cpu_ns"]
    assert job["processes_started"] >= 200


@needs_connector
def test_a_member_changes_its_task_and_leaves(labelled, tool, work, wait_until):
    first, second, foreign = tool("gul", EXECUTES), tool("fmp", EXECUTES), tool("other", BURN)
    p = subprocess.Popen([first, work / "go", second, work / "go2", foreign, "0.3"])
    try:
        r = labelled("--pid", str(p.pid), "--exact", first.name, "--exact", second.name)
        wait_until(lambda: (r.last(first.name) or {}).get("processes_started") == 1, "the first program")
        (work / "go").touch()
        wait_until(lambda: r.last(second.name)["processes_started"] == 1, "the second program")
        wait_until(lambda: r.last(second.name)["cpu_ns"] > 90e6, "its CPU time")
        (work / "go2").touch()
    finally:
        p.wait(60)
    tasks, job = r.tasks(), r.run.export(r.tape, "job")[-1]
    for t in tasks.values():
        assert t["processes_started"] == t["processes_ended"] == 1, t
    assert tasks[second.name]["cpu_ns"] > 0.09e9
    # A part of what the third program used may be the second task's: that it was executed is known a little later.
    assert sum(t["cpu_ns"] for t in tasks.values()) <= job["cpu_ns"], (tasks, job)
    assert job["processes_started"] == 1


def test_of_a_task_file_there_are_no_labels(run, tape, work):
    (work / "job.yaml").write_text("tasks: {a: {match: x}}\n")
    out = run("record", "-o", tape, "--tasks", work / "job.yaml", "--pid", "1")
    assert out.returncode == 2 and "--tasks and --pid: one of them" in out.stderr
