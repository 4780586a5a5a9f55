# SPDX-License-Identifier: Apache-2.0
"""Tasks: processes selected by their commands, compared with the counters of a control group for each tool."""

import json
import os
import pathlib
import resource
import secrets
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import needs_connector, tasks_by_name

BURN = """#!{python}
import sys, time
spent = time.process_time() + float(sys.argv[1])
while time.process_time() < spent:
    pass
"""


@pytest.fixture
def tool(work):
    """tool("gul") makes a program whose name begins so, which burns as many seconds of CPU time as its argument says.
    Tests that run at the same time have programs of other names."""

    def make(name, text=BURN):
        path = work / f"{name}-{secrets.token_hex(4)}"
        path.write_text(text.format(python=sys.executable))
        path.chmod(0o755)
        return path

    return make


class Recording:
    """baro record with rules, until stop()."""

    def __init__(self, run, tape, *options):
        self.run, self.tape = run, tape
        self.process = run.popen("record", "-q", "-o", tape, "--no-host", *options, stderr=subprocess.PIPE)
        run.await_samples(tape)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        self.run.await_end(self.tape)
        out = json.loads(self.run("summary", "--by", "task", "--json", self.tape, status=0).stdout)
        return tasks_by_name(out)

    def values(self, entity="task", *options):
        return self.run.export(self.tape, entity, *options)


@pytest.fixture
def recording(run, tape):
    made = []

    def start(*options):
        made.append(Recording(run, tape, *options))
        return made[-1]

    yield start
    for r in made:
        if r.process.poll() is None:
            r.process.kill()
            r.process.communicate()


def last(recording, name):
    """Returns the newest row of a task on a tape that is being written, or None."""
    rows = [r for r in recording.values() if r["name"] == name]
    return rows[-1] if rows else None


def started(recording, name):
    row = last(recording, name)
    return row["processes_started"] if row else 0


@needs_connector
def test_cpu_against_control_groups(recording, tool, groups):
    gul, fmp, other = tool("gul"), tool("fmp"), tool("other")
    made = {path.name: groups() for path in (gul, fmp, other)}
    r = recording("--task", f"gul={gul.name}", "--exact", fmp.name)
    started_all = [
        subprocess.Popen([path, "0.3"], preexec_fn=made[path.name].enter) for path in (gul, gul, gul, fmp, fmp, other)
    ]
    # It mentions the tool, and is none.
    mention = subprocess.Popen(["sh", "-c", f"sleep 0.1; : {fmp}"])
    assert [p.wait() for p in started_all] == [0] * 6
    mention.wait()
    tasks = r.stop()
    assert list(tasks) == ["gul", fmp.name]
    lost = r.run.lost_events(r.tape)
    for path, name, n in ((gul, "gul", 3), (fmp, fmp.name, 2)):
        kernel, mine = made[path.name].usage_ns(), tasks[name]["cpu_ns"]
        assert tasks[name]["processes_started"] == tasks[name]["processes_ended"] == n or lost
        assert not tasks[name]["cpu_is_lower_bound"] or lost
        # The group does not count the fork before a process entered it, and taskstats not the end of a process.
        assert (0.96 * kernel < mine or lost) and mine < kernel + n * 30e6, (name, kernel, mine)
        assert tasks[name]["cpu_user_ns"] + tasks[name]["cpu_system_ns"] == mine
    assert r.values("job")[-1]["cpu_ns"] == sum(t["cpu_ns"] for t in tasks.values())
    exits = r.values("exit")
    assert sorted(e["task"] for e in exits) == sorted([fmp.name] * 2 + ["gul"] * 3) or lost
    assert {e["status"] for e in exits} == {0} or lost
    assert {p["task"] for p in r.values("process")} <= {"gul", fmp.name}


def test_by_scans(recording, tool, monkeypatch, wait_until):
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    gul = tool("gul")
    before = subprocess.Popen([gul, "1000"])  # runs already
    r = recording("--match", gul.name)
    after = subprocess.Popen([gul, "1000"])
    try:
        wait_until(lambda: started(r, gul.name) == 2, "both processes")
        wait_until(lambda: last(r, gul.name)["cpu_ns"] > 50e6, "CPU time of both")
    finally:
        for p in (before, after):
            p.kill()
            p.wait()
    wait_until(lambda: last(r, gul.name)["processes"] == 0, "their ends")
    task = r.stop()[gul.name]
    assert task["processes_started"] == task["processes_ended"] == 2
    assert task["process_samples"] >= 2 and task["active_ns"] > 0
    assert task["processes_started_is_lower_bound"], "scans miss short processes"
    assert task["commands_unread"] is None
    assert task["io_is_lower_bound"] == any(e["io_is_lower_bound"] for e in r.values("exit"))
    assert task["cpu_is_lower_bound"] == (task["processes_unread"] > 0)
    if not task["cpu_is_lower_bound"]:
        return  # a sample saw both as zombies, with all that they used; else they were killed between two samples
    table, note = r.run("summary", "--by", "task", r.tape, status=0).stdout.splitlines()[1:]
    assert table.split()[0] == "≥2" and note.startswith("≥ at least")


BURNED = """#!{python}
import pathlib, sys, time
while time.process_time() < 0.5:
    pass
pathlib.Path(sys.argv[1]).touch()
time.sleep(1000)
"""


def test_cpu_time_from_before_the_recording_is_of_no_interval(recording, tool, work, started, wait_until):
    gul = tool("gul", BURNED)
    started([gul, work / "burned"])
    wait_until((work / "burned").exists, "its CPU time")
    r = recording("--match", gul.name)

    def has_interval():
        times = [t["t_ns"] for t in r.values() if t["process_samples"]]
        return times and times[-1] - times[0] > 200e6

    wait_until(has_interval, "an interval with it")
    task = r.stop()[gul.name]
    # Intervals are of 100 ms at least.
    assert task["process_cores_peak"] <= task["cores_peak"] <= task["cpu_ns"] / 100e6 + 1e-6, task


SPAWNS = """#!{python}
import os, subprocess, sys, time
for _ in range(4):
    subprocess.run(["true"])
if os.fork() == 0:
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    os._exit(3)
subprocess.run(["sleep", "0.2"])
os.wait()
"""


@needs_connector
@pytest.mark.parametrize("children", [False, True])
def test_children(recording, tool, work, wait_until, children):
    gul = tool("gul", SPAWNS)
    r = recording("--match", gul.name, *(["--children"] if children else []))
    p = subprocess.Popen([gul, work / "stop"])
    wait_until(lambda: started(r, gul.name) >= 2, "the worker")
    (work / "stop").touch()
    assert p.wait() == 0
    task = r.stop()[gul.name]
    exits = r.values("exit")
    names = [e["name"] for e in exits]
    # A worker has the same command and is a member; what it runs is a member with --children alone.
    if children and task["processes_started_is_lower_bound"]:  # a busy machine: one ended before a command was read
        assert 2 <= task["processes_started"] <= 7, names
    elif children:
        assert task["processes_started"] == 7 and names.count("true") == 4 and names.count("sleep") == 1, names
    else:
        # A child stays a member until it executes another program, if it lives longer than 200 ms without doing so
        # (baro help record). So each of the five that execute one may have been a member, but none ends as a member
        # under its own name.
        assert names.count(gul.name) == 2 and not {"true", "sleep"} & set(names), names
        assert task["processes_started"] - task["processes_ended"] == 0 and 2 <= task["processes_started"] <= 7, task
    assert 3 in {e["status"] for e in exits}


def test_what_records_a_job_is_not_the_job(recording, tool, run):
    """Wrapper, recorder and helper of another `baro run` have the command line of its job."""
    gul = tool("gul")
    r = recording("--task", f"it={gul.name}")
    p = run.popen("run", "-q", "-o", run.work / "job.baro", "--", gul, "0.5")
    assert p.wait(60) == 0
    task = r.stop()["it"]
    assert task["processes_started"] == 1, [(e["name"], e["cmdline"]) for e in r.values("exit")]


# Executes the command in its further arguments, under the name that comes first.
EXECUTES = """#!{python}
import os, sys, time
spent = time.process_time() + 0.1
while time.process_time() < spent:
    pass
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
os.execv(sys.argv[2], sys.argv[2:])
"""


@needs_connector
def test_a_process_changes_its_task_and_leaves(recording, tool, work, wait_until):
    first, second, foreign = tool("gul", EXECUTES), tool("fmp", EXECUTES), tool("other")
    r = recording("--exact", first.name, "--exact", second.name)
    p = subprocess.Popen([first, work / "go", second, work / "go2", foreign, "0.3"])
    wait_until(lambda: started(r, first.name) == 1, "the first program")
    wait_until(lambda: last(r, first.name)["cpu_ns"] > 90e6, "its CPU time in a sample, before it is another program")
    (work / "go").touch()
    wait_until(lambda: started(r, second.name) == 1, "the second program")
    wait_until(lambda: last(r, second.name)["cpu_ns"] > 90e6, "its CPU time")
    assert last(r, first.name)["processes"] == 0
    (work / "go2").touch()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0
    tasks = r.stop()
    # 0.1 s each, and the start of an interpreter. The exec of another program is known a little later, and until then
    # its CPU time is counted for its task: so a part of the foreign program's 0.3 s may be the second task's, but
    # nothing is counted twice.
    for t in tasks.values():
        assert t["processes_started"] == t["processes_ended"] == 1
        assert t["cpu_ns"] > 0.09e9, t
    assert sum(t["cpu_ns"] for t in tasks.values()) <= (usage.ru_utime + usage.ru_stime) * 1e9 + 1e6, tasks
    assert r.values("exit") == []


@needs_connector
def test_memory_of_processes_between_two_samples_is_not_known(recording, tool):
    """It is not 0. Their CPU time is known from their ends."""
    gul = tool("gul")
    r = recording("--exact", gul.name, "-i", "1h")
    subprocess.run([gul, "0.3"], check=True)
    task = r.stop()[gul.name]
    assert task["processes_started"] == 1 and task["cpu_ns"] > 0.25e9
    assert task["rss_peak_bytes"] is None and task["uss_peak_bytes"] is None and task["pss_peak_bytes"] is None


def test_below_a_process(recording, tool, wait_until):
    gul = tool("gul")
    outside = subprocess.Popen([gul, "1000"])
    shell = subprocess.Popen(["sh", "-c", '"$0" 1000 & read line; kill $!; wait', gul], stdin=subprocess.PIPE)
    rule = f"^[^ ]*python[^ ]* [^ ]*{gul.name} 1000"  # not the shell
    try:
        r = recording("--task", f"first={rule}", "--exact", gul.name, "--under", str(shell.pid))
        wait_until(lambda: started(r, "first") == 1, "the process below")
        shell.communicate(b"\n", timeout=60)
        assert r.process.wait(60) == 0  # the recording ends with it
        tasks = r.stop()
    finally:
        for p in (outside, shell):
            p.kill()
            p.wait()
    assert tasks["first"]["processes_started"] == 1
    assert tasks[gul.name]["processes_started"] == 0  # a process belongs to the first rule that fits


@needs_connector
def test_exact_name_of_more_than_15_bytes(recording, tool, wait_until):
    """The kernel keeps 15 bytes of the name of a script. One that begins in the same way is another one."""
    script, other = tool("nightly-build-all"), tool("nightly-build-all")
    r = recording("--exact", script.name)
    for path in (script, other):
        subprocess.run([path, "0.1"], check=True)
    after = subprocess.Popen([script, "1000"])
    try:
        wait_until(lambda: started(r, script.name) == 2, "both processes")
    finally:
        after.kill()
        after.wait()
    assert r.stop()[script.name]["processes_started"] == 2
    assert [e["name"][:15] for e in r.values("exit")] == [script.name[:15]] * 2


@needs_connector
def test_of_a_user(recording, tool, wait_until):
    gul = tool("gul")
    r = recording("--match", gul.name, "--user", "nobody")
    own = subprocess.Popen([gul, "0.1"])
    other = subprocess.Popen([gul, "1000"], user="nobody")
    try:
        assert own.wait() == 0
        wait_until(lambda: started(r, gul.name) == 1, "the process of nobody")
    finally:
        other.kill()
        other.wait()
    assert r.stop()[gul.name]["processes_started"] == 1
    assert len(r.values("exit")) == 1


def selector_of(recorder, but=()):
    """Returns the pid of the process that selects; None: there is none now."""
    for pid in pathlib.Path("/proc").iterdir():
        try:
            fields = (pid / "stat").read_text()
        except (OSError, ValueError):
            continue
        name, rest = fields.split("(", 1)[1].rsplit(")", 1)
        state, parent = rest.split()[:2]
        if name == "baro-select" and state != "Z" and int(parent) == recorder and pid.name not in but:
            return int(pid.name)
    return None


def test_another_process_selects_when_the_first_is_killed(recording, tool, run, tape, wait_until):
    gul = tool("gul")
    r = recording("--match", gul.name)
    processes = [subprocess.Popen([gul, "1000"])]
    try:
        wait_until(lambda: started(r, gul.name) == 1, "the first process")
        first = selector_of(r.process.pid)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: selector_of(r.process.pid, {str(first)}), "another one")
        processes.append(subprocess.Popen([gul, "1000"]))
        wait_until(lambda: started(r, gul.name) == 2, "the second process, and the first not twice")
    finally:
        for p in processes:
            p.kill()
            p.wait()
    task = r.stop()[gul.name]
    assert task["processes_started"] == 2 and task["processes_started_is_lower_bound"]
    assert task["commands_unread"] is None
    lines = [e for e in run.export(tape, "event") if "the process that selects has ended" in str(e)]
    assert len(lines) == 1, lines


@needs_connector
def test_programs_that_end_before_they_are_read(recording, tool, wait_until):
    """With a budget of hardly any CPU time, programs end before it is their turn. They are counted."""
    gul = tool("gul")
    r = recording("--match", gul.name, "--overhead", "0.001%")
    for _ in range(300):
        subprocess.run(["true"])
    wait_until(lambda: (last(r, gul.name) or {}).get("commands_unread"), "programs that were not read")
    task = r.stop()[gul.name]
    assert task["commands_unread"] > 0 and task["processes_started_is_lower_bound"]
    lines = r.run("summary", "--by", "task", r.tape, status=0).stdout.splitlines()
    assert lines[1].split()[0] == "≥0" and "ended before their command was read" in lines[-1]
    if task["commands_unread_cpu_ns"] is not None:  # taskstats reported the end of each
        assert 0 < task["commands_unread_cpu_ns"] and "; together they used " in lines[-1]


@needs_connector
@pytest.mark.long
def test_programs_that_can_not_have_fitted_are_not_counted(recording, tool, wait_until):
    """When a process ends before its command is read, the kernel says whose it was, and its parents are known."""
    gul = tool("gul")
    shell = subprocess.Popen(["sh", "-c", "read stop"], stdin=subprocess.PIPE)
    # A user whom no other test runs programs as.
    nobody = recording("--match", gul.name, "--user", "54321", "--overhead", "0.001%")
    seen = Recording(nobody.run, nobody.tape.with_suffix(".seen"), "--match", gul.name, "--overhead", "0.001%")
    below = Recording(nobody.run, nobody.tape.with_suffix(".below"), "--match", gul.name, "--overhead", "0.001%",
                      "--under", str(shell.pid))
    for _ in range(300):
        subprocess.run(["true"])
    wait_until(lambda: (last(seen, gul.name) or {}).get("commands_unread"), "programs that were not read")
    shell.communicate(b"\n")
    tasks = [r.stop()[gul.name] for r in (seen, nobody, below)]
    counts = [t["commands_unread"] for t in tasks]
    assert counts[0] > 0, counts
    # The report of an end, which says whose it was, may come too late.
    assert all(n is None or n < counts[0] / 2 for n in counts[1:]), counts


@pytest.mark.long
@needs_connector
@pytest.mark.long
def test_short_programs_are_known_by_their_name(recording, tool, groups, wait_until):
    """They end before their command is read: the kernel's report of their end has the name that --exact asks for."""
    gul, made = tool("gul", "#!/bin/sh\n"), groups()
    r = recording("--exact", gul.name, "--overhead", "0.01%")
    for _ in range(200):
        subprocess.run([gul], preexec_fn=made.enter, check=True)
    # What selects is a second behind, and on a busy machine many reports are lost.
    wait_until(lambda: started(r, gul.name) >= 100, "most of them")
    task = r.stop()[gul.name]
    kernel = made.usage_ns()
    known = task["processes_started"]
    assert known == task["processes_ended"] <= 200
    assert 0.7 * kernel * known / 200 < task["cpu_ns"] < kernel + known * 5e6, (task, kernel)


def test_text_at_the_end(run, tape, tool, wait_until):
    """The end of a recording has the tasks, the one with the most CPU time first."""
    idle, busy = tool("idle"), tool("busy")
    process = run.popen("record", "-v", "-o", tape, "--no-host", "--exact", idle.name, "--exact", busy.name,
                        stderr=subprocess.PIPE)
    run.await_samples(tape)
    p = subprocess.Popen([busy, "1000"])
    try:
        wait_until(lambda: [t for t in run.export(tape, "task") if t["name"] == busy.name and t["cpu_ns"]], "CPU time")
    finally:
        p.kill()
        p.wait()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    lines = err.decode().splitlines()
    head = [i for i, line in enumerate(lines) if line.split()[-1:] == ["task"]]
    assert len(head) == 1, err
    assert [line.split()[-1] for line in lines[head[0] + 1 : head[0] + 3]] == [busy.name, idle.name], err


def test_text_of_the_summary(recording, tool, run, tape, wait_until):
    gul = tool("gul")
    r = recording("--task", f"gul={gul.name}", "--task", "gul=no such program")
    p = subprocess.Popen([gul, "1000"])
    wait_until(lambda: started(r, "gul") == 1, "the process")
    p.kill()
    p.wait()
    assert list(r.stop()) == ["gul"]
    out = run("summary", "--by", "task", tape, status=0).stdout.splitlines()
    assert out[0].split()[0] == "procs" and out[0].split()[-1] == "task"
    assert out[1].split()[0] in ("1", "≥1") and out[1].split()[-1] == "gul"
    narrow = run("summary", "--by", "task", tape, status=0, env={**os.environ, "COLUMNS": "40"}).stdout.splitlines()
    assert max(map(len, narrow)) <= 40 and narrow[1].split()[-1] == "gul"
    assert {t["label"] for t in r.values()} == {f"{gul.name}, no such program"}
    assert "gul" in run("summary", "-v", tape, status=0).stdout.splitlines()[0]


@needs_connector
def test_one_after_the_other(recording, work, wait_until):
    """The exit of a process is known before the next one joins: never two at once."""
    nap = work / f"nap-{secrets.token_hex(4)}"
    shutil.copy("/bin/sleep", nap)
    r = recording("--exact", nap.name)
    for n in range(20):
        subprocess.run([nap, "0.02"], check=True)
        if n % 5 == 4:
            wait_until(lambda n=n: started(r, nap.name) == n + 1, "the processes")
    tasks = r.stop()
    assert tasks[nap.name]["processes_started"] == 20 and tasks[nap.name]["processes_peak"] == 1
    assert {j["processes_peak"] for j in r.values("job")} <= {0, 1}


@needs_connector
def test_a_peak_between_samples_is_marked(recording, work):
    """A task of a process that waits and of one that had 100 MB between two samples."""
    name = f"grow-{secrets.token_hex(4)}"
    shutil.copy(sys.executable, work / name)
    small = subprocess.Popen([work / name, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        r = recording("--exact", name, "-i", "1h")
        subprocess.run([work / name, "-S", "-c", "bytearray(100 << 20)"], check=True)
        task = r.stop()[name]
    finally:
        small.communicate()
    assert task["process_rss_peak_bytes"] > 100 << 20
    assert task["rss_is_lower_bound"] == (task["process_rss_peak_bytes"] > 1.05 * task["rss_peak_bytes"])
    out = r.run("summary", "--by", "task", r.tape, status=0, env={**os.environ, "COLUMNS": "200"}).stdout.splitlines()
    start = out[0].index(" rss ") - 9
    assert ("≥" in out[1][start : out[0].index(" rss ") + 4]) == task["rss_is_lower_bound"]


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@needs_connector
def test_cpu_of_commands_is_whole_or_marked(run_both, tape, wait_until):
    """An ordinary user loses what a process used after its last reading, where its parent reaps it at once."""
    name = f"burn-{secrets.token_hex(4)}"
    shutil.copy(sys.executable, tape.parent / name)
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    sleeper, user = f"sleep-{secrets.token_hex(4)}", {"user": run_both.uid} if run_both.uid is not None else {}
    shutil.copy("/bin/sleep", tape.parent / sleeper)
    other = subprocess.Popen([tape.parent / sleeper, "1000"], **user)
    recorder = run_both.popen("record", "-q", "-o", tape, "-i", "1h", "--no-host", "--exact", name, "--exact", sleeper)
    try:
        run_both.await_samples(tape)
        before = children_cpu()
        for _ in range(3):
            subprocess.run([tape.parent / name, "-S", "-c", burn], check=True, **user)
        truth = children_cpu() - before
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60)
        other.kill()
        other.wait()
    s = run_both.summary(tape)
    burned = next((c for c in s["commands"] if c["name"] == name[:15]), None)
    if not burned:  # a busy machine: each of them had ended before its name was read
        assert s["job"]["processes_started_is_lower_bound"]
        return
    assert burned["cpu_is_lower_bound"] or burned["cpu_ns"] >= (truth - 0.03 - 0.05 * truth) * 1e9
    line = next(text for text in run_both("summary", "-v", tape, status=0).stdout.splitlines() if f" {name[:15]} " in text)
    # "?": nothing is known of it; the count of processes and the peak of memory have their own marks
    marked = any(burned[f"{key}_is_lower_bound"] for key in ("processes", "cpu", "rss_peak"))
    assert ("≥" in line or "?" in line) == marked


def test_a_tape_without_tasks(run, tape):
    run.record(tape, ["true"])
    run.await_end(tape)
    assert run("summary", "--by", "task", tape, status=0).stdout.startswith("no tasks;")
    assert json.loads(run("summary", "--by", "task", "--json", tape, status=0).stdout)["tasks"] == []
    assert {p["task"] for p in run.export(tape)} == {None}


@pytest.mark.parametrize(
    "options, words",
    [
        (["--match", "a("], "'a(' is not a regular expression: Unmatched (\n"),
        (["--tasks", "a.yaml", "--tasks", "b.yaml"], "--tasks: given twice; put all tasks of a job into one file"),
        (["--match", ""], "an empty text fits every process"),
        (["--name", "gul"], "what is to be recorded?"),
        (["--match", "x", "--pid", "1", "--cgroup", "x"], "--pid and --cgroup: one of them"),
        (["--children", "--host"], "go with --match, --task or --exact"),
        (["--match", "x", "--user", "nobody of this name"], "has no user"),
        (["--match", "x", "--under", "4194304"], "no process has the pid 4194304"),
        (["--match", "x" * 70], "is longer than 63 bytes: give a name"),
    ],
)
def test_wrong_calls(run, tape, options, words):
    out = run("record", "-o", tape, *options)
    assert out.returncode == 2 or out.returncode == 1
    assert words in out.stderr and out.stderr.count("\n") == 1
    assert not tape.exists()
