# SPDX-License-Identifier: Apache-2.0
"""Task files: processes by pid, PID file, control group and command as tasks; what is wrong in a file, with its
place.
"""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import needs_connector
from test_tasks import last, recording, started, tool  # noqa: F401 (fixtures)

BURNS_TWICE = """#!{python}
import os, subprocess, sys
subprocess.run([sys.argv[1], "0.1"], check=True)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def reader(baro):
    if not pathlib.Path(baro).with_name("baro-tasks").exists():
        pytest.skip("built without libyaml")


@pytest.fixture
def task_file(work):
    def write(text):
        path = work / "job.yaml"
        path.write_text(text)
        return path

    return write


@needs_connector
def test_pids_files_groups_and_commands(recording, tool, groups, task_file, work, wait_until):
    gul, fmp, web = tool("gul"), tool("fmp"), tool("web")
    two = tool("two", BURNS_TWICE)
    group = groups()
    tree = subprocess.Popen(["sh", "-c", f"read line; {gul} 0.2; {gul} 0.2 & wait"], stdin=subprocess.PIPE)
    path = task_file(
        f"name: nightly\ntasks:\n  tree:\n    pid: {tree.pid}\n  file:\n    pidfile: two.pid\n"
        f"  web:\n    cgroup: {group.path}\n  fmp:\n    exact: [{fmp.name}]\n"
    )
    r = recording("--tasks", path)
    tree.communicate(b"\n", timeout=60)
    # The PID file appears when the process runs already.
    follower = subprocess.Popen(["sh", "-c", f'read line; exec {two} {gul} "0.1"'], stdin=subprocess.PIPE)
    (work / "two.pid").write_text(f"{follower.pid}\n")
    wait_until(lambda: started(r, "file") == 1, "the process of the PID file")
    follower.communicate(b"\n", timeout=60)
    subprocess.run([fmp, "0.2"], check=True)
    burned = [subprocess.Popen([web, "0.2"], preexec_fn=group.enter) for _ in range(2)]
    assert [p.wait() for p in burned] == [0, 0]
    kernel = group.usage_ns()
    wait_until(lambda: last(r, "web")["cpu_ns"] == kernel, "the group's count")
    tasks = r.stop()
    assert list(tasks) == ["tree", "file", "web", "fmp"]
    # A busy machine: where events were lost, what ended before the next scan is missing.
    lost = r.run.lost_events(r.tape)
    assert tasks["tree"]["processes_started_is_lower_bound"] == lost
    for name, n, cpu_ns in (("tree", 3, 0.4e9), ("file", 2, 0.2e9), ("fmp", 1, 0.2e9)):
        task = tasks[name]
        all_started = task["processes_started"] == n and cpu_ns < task["cpu_ns"]
        assert all_started or (lost and task["processes_started"] <= n), task
        assert lost or task["processes_ended"] == n, task
    assert tasks["web"]["cpu_ns"] == kernel and not tasks["web"]["cpu_is_lower_bound"]
    assert tasks["web"]["cpu_user_ns"] + tasks["web"]["cpu_system_ns"] == kernel
    total = r.values("job")[-1]["cpu_ns"]
    assert abs(total - sum(t["cpu_ns"] for t in tasks.values())) < 1000
    assert {e["task"] for e in r.values("exit")} <= set(tasks)
    labels = {t["name"]: t["label"] for t in r.values()}
    assert labels["tree"] == f"pid {tree.pid}" and labels["file"] == str(work / "two.pid")
    assert labels["web"] == f"cgroup {group.path}" and labels["fmp"] == fmp.name


def test_ends_with_the_processes_that_are_named(run, tape, task_file):
    shell = subprocess.Popen(["sh", "-c", "read line; sleep 0.1"], stdin=subprocess.PIPE)
    path = task_file(f"tasks: {{a: {{pid: {shell.pid}}}}}")
    process = run.popen("record", "-q", "--no-host", "-o", tape, "--tasks", path)
    run.await_samples(tape)
    shell.communicate(b"\n", timeout=60)
    assert process.wait(60) == 0
    tasks = json.loads(run("summary", "--by", "task", "--json", tape, status=0).stdout)["tasks"]
    assert [t["name"] for t in tasks] == ["a"] and tasks[0]["processes_started"] >= 1


def test_sandboxes_are_directories(recording, task_file, work, wait_until):
    (work / "box").mkdir()
    (work / "box" / "file").write_bytes(b"x" * 100_000)
    r = recording("--tasks", task_file("tasks: {a: {match: no such program, sandbox: box}}"))
    rows = wait_until(lambda: [d for d in r.values("directory") if d["files"] == 1], "the walk")
    assert rows[0]["name"] == str(work / "box") and rows[0]["apparent_bytes"] >= 100_000
    assert list(r.stop()) == ["a"]


def test_a_sandbox_is_shown_with_its_task(run, tape, task_file, work, started):
    """Also: an idle process is checked between samples, and the last check is a row of it that counts."""
    (work / "box").mkdir()
    p = started(["sleep", "2"])
    run("record", "-q", "-o", tape, "--tasks", task_file(f"tasks: {{a: {{pid: {p.pid}, sandbox: box}}}}"), status=0)
    summary = run.summary(tape)
    assert [(d["path"], d["task"]) for d in summary["directories"]] == [(str(work / "box"), "a")]
    assert f"{work}/box (a): " in run("summary", "-v", tape).stdout
    rows = [r for r in run.export(tape, "process") if r["task"] == "a"]
    assert summary["tasks"][0]["process_samples"] == len(rows) > 0


@needs_connector
def test_a_pid_file_changes(recording, task_file, work, wait_until):
    """The next process joins, and the one before stays in the task until it ends."""
    path = task_file("tasks:\n  daemon:\n    pidfile: d.pid\n")
    r = recording("--tasks", path)
    assert last(r, "daemon")["processes_started"] == 0
    first, second, stale = (subprocess.Popen(["sleep", "1000"]) for _ in range(3))
    try:
        for n, process in enumerate((first, second), 1):
            (work / "d.pid").write_text(f"{process.pid}\n")
            wait_until(lambda: started(r, "daemon") == n, f"process {n}")
        assert last(r, "daemon")["processes"] == 2
        # Written long before that process was started: another one had the pid then.
        (work / "d.new").write_text(f"{stale.pid}\n")
        os.utime(work / "d.new", (1e9, 1e9))
        os.replace(work / "d.new", work / "d.pid")
        first.kill()
        first.wait()
        wait_until(lambda: last(r, "daemon")["processes"] == 1, "its end")
    finally:
        for p in (first, second, stale):
            p.kill()
            p.wait()
    assert r.stop()["daemon"]["processes_started"] == 2


@needs_connector
def test_a_process_enters_a_group_and_leaves_it(recording, groups, task_file, tool, work, wait_until):
    group = groups()
    r = recording("--tasks", task_file(f"tasks: {{web: {{cgroup: {group.path}}}}}"))
    process = subprocess.Popen([tool("gul"), "1000"])
    try:
        group.write("cgroup.procs", process.pid)
        wait_until(lambda: last(r, "web")["processes"] == 1, "the process in the group")
        wait_until(lambda: last(r, "web")["cpu_ns"] > 30e6, "its CPU time")
        (group.path.parent / "cgroup.procs").write_text(str(process.pid))
        wait_until(lambda: last(r, "web")["processes"] == 0, "it has left")
        kernel = group.usage_ns()
    finally:
        process.kill()
        process.wait()
    assert r.stop()["web"]["cpu_ns"] == kernel


def test_an_earlier_task_takes_what_it_fits(recording, tool, task_file, work, wait_until):
    gul = tool("gul")
    shell = subprocess.Popen(["sh", "-c", f"read line; {gul} 1000 & read line; kill $!; wait"], stdin=subprocess.PIPE)
    r = recording("--tasks", task_file(f"tasks: {{gul: {{exact: {gul.name}}}, rest: {{pid: {shell.pid}}}}}"))
    try:
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        wait_until(lambda: (last(r, "gul") or {}).get("processes") == 1, "the tool")
        assert last(r, "rest")["processes"] == 1
    finally:
        shell.communicate(b"\n", timeout=60)
    assert r.stop()["gul"]["processes_started"] == 1


WRONG = [
    ("", "1:1: the file is empty; write tasks: and name a task"),
    ("tasks:", "1:7: tasks is nothing; write each task as NAME: with its keys below"),
    ("tasks: {}", "1:8: tasks is empty; name a task"),
    ("task: {a: {pid: 1}}", "1:1: a task file has no key task; did you mean tasks?"),
    ("name: x", "1:1: there is no key tasks; write tasks: and name a task"),
    ("tasks:\n  a:\n    pids: 1", "3:5: a task has no key pids; did you mean pid?"),
    ("tasks:\n  a:\n    pid: x", "3:10: pid is x; give the number of a process in digits, without quotes"),
    ('tasks:\n  a:\n    pid: "1"', "3:10: pid is 1; give the number of a process in digits, without quotes"),
    ("tasks:\n  a: {}\n", "2:3: task a has no processes; give it pid, pidfile, cgroup, match or exact"),
    ("tasks:\n  a:\n    sandbox: /tmp", "2:3: task a has no processes; give it pid, pidfile, cgroup, match or exact"),
    ("tasks:\n  a: {pid: 1}\n  a: {pid: 2}", "3:3: this key is in tasks twice, first in line 2; put them together"),
    ("tasks:\n  a: {pid: 1}\n  b: {pid: 1}",
     "3:12: pid 1: line 2 has it already, of task a; a process belongs to one task"),
    ("tasks:\n  a: {pid: []}", "2:12: pid is an empty list; give it a value or remove it"),
    ("tasks:\n  a: {match: 'a('}", "2:14: 'a(' is not a regular expression: Unmatched (; write it as for grep -E"),
    ("tasks:\n  a: {match: 'a\\.('}", "2:14: 'a\\\\.(' is not a regular expression"),
    ("tasks:\n  a: {match: a, children: maybe}", "2:27: children is neither true nor false; write one of them"),
    ("tasks:\n  a: {match: a, match-on: all}", "2:27: match-on is none of cmdline, exe and comm"),
    ("tasks:\n  a: {pid: 1, children: true}", "2:15: children goes with match or exact; remove it"),
    ("tasks:\n  a: {cgroup: x, pid: 1}", "2:7: task a has a cgroup and other processes; make them two tasks"),
    ("tasks:\n  a: {cgroup: x}\n  b: {cgroup: x/y}", "3:15: cgroup x/y: line 2 has x already, of task a"),
    ("tasks:\n  a: {match: a, user: nobody of this name}", "2:23: there is no user nobody of this name"),
    ("tasks:\n\ta: 1", "2:1: not YAML: while scanning for the next token"),
    ("tasks: " + "[" * 200_000, "1:23: more than 16 lists and maps within each other"),
    ("root:x:0: 0\n", "1:1: a task file has no such key; it has name and tasks"),  # another file: nothing is quoted
    ("x: " + "[" + ", ".join(f"&a{i} b" for i in range(9_000)) + "]", "1:2199: more than 256 anchors and aliases"),
    ("tasks: {" + ", ".join(f"a{i}" for i in range(90_000)) + "}", "1:2971: more than 512 keys in tasks"),
    ("tasks: {a: {pid: [" + ", ".join(f"{i + 1}" for i in range(90_000)) + "]}}", "1:5056: more than 1024 of pid, "),
    ("{a: " * 100_000, "1:65: more than 16 lists and maps within each other"),
    ("tasks: {a: {pid: 1}}\n---\nb: 1", "3:1: a second document"),
    ("tasks:\n  a: {pid: 4194303}", "2:12: no process has the pid 4194303; remove it, or give a pidfile"),
    ("tasks:\n  a: {cgroup: no/such}", "2:15: no/such: no such control group"),
]


@pytest.mark.parametrize("text, words", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_has_its_place(run, tape, task_file, text, words):
    path = task_file(text)
    out = run("record", "-o", tape, "--tasks", path)
    assert out.returncode == 2 and out.stderr.startswith(f"baro record: {path}:{words}"), out.stderr
    assert out.stderr.count("\n") == 1 and not tape.exists()


def test_check_alone(run, task_file, work):
    path = task_file(
        "name: n\ntasks:\n  a:\n    match: ['\\bgul', b]\n    match-on: exe\n    sandbox: data\n"
        "  b: {pidfile: /x.pid}\n"
    )
    lines = run("tasks", path, status=0).stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["processes", "\\\\bgul", "b", str(work / "data"), "/x.pid"]
    rows = [json.loads(line) for line in run("tasks", "--json", path, status=0).stdout.splitlines()]
    assert rows[0] == {"job": "n"} and rows[1] == {"task": "a", "line": 3, "column": 3, "on": "exe"}
    assert rows[2] == {"match": "\\bgul", "line": 4, "column": 13}
    wrong = run("tasks", task_file("tasks: 1"))
    assert wrong.returncode == 2 and wrong.stderr.startswith(f"baro tasks: {path}:1:8: tasks is text"), wrong.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--match", "x"], "--tasks and --match: one of them"),
        (["--under", "1"], "--tasks and --under: one of them"),
        (["--pid", "1"], "--tasks and --pid: one of them"),
    ],
)
def test_options_that_do_not_go_together(run, tape, task_file, options, words):
    out = run("record", "-o", tape, "--tasks", task_file("tasks: {a: {match: x}}"), *options)
    assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1
