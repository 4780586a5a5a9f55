# SPDX-License-Identifier: Apache-2.0
"""baro run --task: commands of a job as tasks of its recording."""

import json
import os
import signal
import subprocess

import pytest
from conftest import needs_connector, tasks_by_name
from test_tasks import tool  # noqa: F401 (fixture)


def tasks_of(run, tape):
    run.await_end(tape)
    out = json.loads(run("summary", "--by", "task", "--json", tape, status=0).stdout)
    return tasks_by_name(out)


def test_tasks_of_a_job(run_both, tape, tool):
    run, gul = run_both, tool("gul")
    baro = run.binary
    run.record(tape, f"{baro} run --task a -- {gul} 0.2 && {baro} run --task b -- sh -c '{gul} 0.1; "
               f"{baro} run --task a -- {gul} 0.1; :' && {gul} 0.1")
    tasks = tasks_of(run, tape)
    assert list(tasks) == ["a", "b"]
    # a: the tool twice; b: the shell, the tool, and the wrapper that starts the inner task
    assert tasks["a"]["processes_started"] == tasks["a"]["processes_ended"] == 2
    assert tasks["b"]["processes_started"] == tasks["b"]["processes_ended"] == 3
    assert tasks["a"]["cpu_ns"] > 0.29e9 and tasks["b"]["cpu_ns"] > 0.09e9
    job = run.export(tape, "job")[-1]["cpu_ns"]
    assert tasks["a"]["cpu_ns"] + tasks["b"]["cpu_ns"] < job - 0.09e9
    counts = {}
    for e in run.export(tape, "exit"):
        counts[e["task"]] = counts.get(e["task"], 0) + 1
    assert counts["a"] == 2 and counts["b"] == 3 and set(counts) == {"a", "b", None}


def test_against_control_groups(run, tape, tool, groups):
    """The task of a name is what the kernel counted for the groups in which its commands ran."""
    if os.geteuid() != 0:
        pytest.skip("makes control groups")
    gul, made = tool("gul"), {name: groups() for name in ("a", "b")}
    lines = [
        f"{run.binary} run --task {name} -- sh -c 'echo 0 >{made[name].path}/cgroup.procs; {gul} 0.2; {gul} 0.2; :'"
        for name in ("a", "b", "a")
    ]
    run.record(tape, "; ".join(lines))
    tasks = tasks_of(run, tape)
    for name, group in made.items():
        kernel, mine = group.usage_ns(), tasks[name]["cpu_ns"]
        n = tasks[name]["processes_started"]
        assert n == 3 * (2 if name == "a" else 1)
        # The group lacks what the shell used before it entered, and taskstats the end of a process.
        assert 0.96 * kernel < mine < kernel + n * 30e6, (name, kernel, mine)


@needs_connector
def test_each_short_process_has_its_task(run, tape):
    n = 50
    run.record(tape, f"for i in $(seq {n}); do {run.binary} run --task t$((i % 5)) -- true; done")
    tasks = tasks_of(run, tape)
    lost = run.lost_events(tape)
    assert len(tasks) == 5 and {t["processes_started_is_lower_bound"] for t in tasks.values()} == {lost}
    assert lost or {t["processes_started"] for t in tasks.values()} == {n // 5}
    names = [e["task"] for e in run.export(tape, "exit") if e["task"]]
    assert lost or len(names) == n and set(names) == set(tasks)


def test_without_events(run, tape, wait_until, monkeypatch):
    monkeypatch.setenv("BARO_NO_EVENTS", "1")

    def reached():
        return run.instants(tape) and [t for t in run.export(tape, "task") if t["processes"] == 1]

    run.record_gated(tape, f"{run.binary} run --task a -- sh -c 'read line <gate; exit 0'", reached)
    task = tasks_of(run, tape)["a"]
    assert task["processes_started"] == 1 and task["processes_started_is_lower_bound"]


def test_outside_of_a_recording(run, tape, tool):
    """Then it makes one, whose one task it is."""
    run("run", "-q", "-o", tape, "--task", "solo", "--", "sh", "-c", f"{tool('gul')} 0.1; :", status=0)
    tasks = tasks_of(run, tape)
    assert list(tasks) == ["solo"] and tasks["solo"]["processes_started"] == 2
    job = run.export(tape, "job")[-1]["cpu_ns"]
    # perf's clock, which goes on while a hypervisor has the CPU, is in the task's sum; the job's is by wait4(2).
    assert 0.9 * job < tasks["solo"]["cpu_ns"] <= 1.05 * job + 10e6


@pytest.mark.parametrize("events", ["/nonexistent/file", "/dev/full", "/proc/self/comm"])
def test_the_recording_is_gone(run, work, events):
    """The command runs all the same, and ends as it ends."""
    out = run("run", "--task", "a", "--", "sh", "-c", "echo out; exit 3", env={"BARO_EVENTS": events})
    assert out.returncode == 3 and out.stdout == "out\n"
    assert out.stderr.startswith("baro run: a is no task: ") and out.stderr.count("\n") == 1
    assert list((work / "home").rglob("*.baro")) == []
    out = run("run", "-q", "--task", "a", "--", "sh", "-c", "kill -TERM $$", env={"BARO_EVENTS": events})
    assert out.returncode == -signal.SIGTERM and not out.stderr
    out = run("run", "--task", "a", "--", "no such program", env={"BARO_EVENTS": events})
    assert out.returncode == 127 and "baro run: no such program: No such file" in out.stderr


def test_names(run):
    for name in ("", "x" * 64):
        out = run("run", "--task", name, "--", "true")
        assert out.returncode == 125 and "the name of a task has 1 to 63 bytes" in out.stderr


def test_a_line_that_names_a_foreign_process_changes_nothing(run, tape, work):
    """The job can write what it wants to the file. A process that is no member stays none."""
    foreign = subprocess.Popen(["sleep", "1000"])
    try:
        start = open(f"/proc/{foreign.pid}/stat").read().rsplit(")", 1)[1].split()[19]
        line = json.dumps({"run_task": "stolen", "pid": foreign.pid, "start_ticks": int(start)})
        run.record(tape, f"echo '{line}' >>$BARO_EVENTS; echo '{{\"run_task\": \"half\"}}' >>$BARO_EVENTS; sleep 0.1")
    finally:
        foreign.kill()
        foreign.wait()
    assert {t["processes_started"] for t in tasks_of(run, tape).values()} <= {0}
    assert foreign.pid not in {e["pid"] for e in run.export(tape, "exit")}
    assert "half" in {e["text"] for e in run.export(tape, "event")}  # without a process it is a mark
