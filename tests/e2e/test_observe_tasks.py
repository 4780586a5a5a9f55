# SPDX-License-Identifier: Apache-2.0
"""baro observe --tasks DIR: each task file in a folder is a job while it is there, with a tape of its own."""

import json
import os
import pathlib
import resource
import signal
import subprocess

import pytest
from conftest import needs_connector, tasks_by_name
from test_tasks import selector_of, tool  # noqa: F401 (a fixture)


@pytest.fixture
def observer(baro, run, work, wait_until):
    if not pathlib.Path(baro).with_name("baro-tasks").exists():
        pytest.skip("built without libyaml")

    class Observer:
        folder, files, errors = work / "jobs", work / "files", work / "errors"

        def start(self, *overhead):
            with self.errors.open("ab") as errors:
                self.p = run.popen("observe", "--dir", self.folder, "--tasks", self.files, "--no-host",
                                   *(overhead or ["--overhead", "off"]), stderr=errors)
            wait_until(self.folder.exists, "the folder of the tapes")
            return self

        def put(self, name, text):
            (self.files / f".{name}").write_text(text)
            os.replace(self.files / f".{name}", self.files / name)

        def tapes(self, job):
            return sorted(self.folder.glob(f"*Z-{job}-*.baro"))

        def tape(self, job, n=0):
            tape = wait_until(lambda: self.tapes(job)[n:], f"the tape of {job}")[0]
            wait_until(lambda: run.instants(tape), f"the first sample of {job}")
            return tape

        def await_end(self, tape):
            run.await_end(tape)
            return run.summary(tape)

        def tasks(self, tape):
            out = json.loads(run("summary", "--by", "task", "--json", tape, status=0).stdout)
            return tasks_by_name(out)

        def newest(self, tape, task):
            return [r for r in run.export(tape, "task") if r["name"] == task][-1]

        def stop(self):
            self.p.send_signal(signal.SIGTERM)
            assert self.p.wait(60) == 0, self.lines()
            return self.lines()

        def lines(self):
            return self.errors.read_text(encoding="utf-8").splitlines()

    o = Observer()
    o.files.mkdir()
    yield o
    if getattr(o, "p", None) and o.p.poll() is None:
        o.p.kill()
        o.p.communicate()


@pytest.fixture
def burn(tool):
    """burn(name): a program of a name of its own; run("0.1") burns 0.1 s of CPU time."""

    def make(name):
        path = tool(name)

        def run(*args, **kw):
            assert subprocess.run([path, *args], check=False, **kw).returncode == 0

        run.path, run.name = path, path.name
        return run

    return make


@pytest.fixture
def shell():
    """shell(script): a shell that reads a line first; it is ended after the test."""
    made = []

    def start(script, **kw):
        made.append(subprocess.Popen(["sh", "-c", f"read line; {script}"], stdin=subprocess.PIPE, **kw))
        return made[-1]

    yield start
    for p in made:
        p.kill()
        p.communicate()


def children_of(process):
    """Their pids; a child that has ended is one until it was reaped."""
    return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()


@needs_connector
def test_processes_and_groups(run, observer, shell, tool, groups, wait_until):
    """The task of a group has used what the kernel counted; that of a pid, what it started. Removing the file ends the
    tape."""
    group, gul = groups(), tool("gul")
    tree = shell(f"{gul} 0.1; {gul} 0.1 & wait; read line")
    observer.start()
    observer.put("a.yaml", f"name: nightly\ntasks:\n  tree: {{pid: {tree.pid}}}\n  web: {{cgroup: {group.path}}}\n")
    tape = observer.tape("nightly")
    tree.stdin.write(b"\n")
    tree.stdin.flush()
    for _ in range(2):
        assert subprocess.run([gul, "0.1"], preexec_fn=group.enter, check=False).returncode == 0
    inside = shell(f"{gul} 0.1; read line", preexec_fn=group.enter)
    wait_until(lambda: observer.newest(tape, "web")["processes"] == 1, "the process in the group")
    inside.stdin.write(b"\n")
    inside.stdin.flush()
    wait_until(lambda: group.usage_ns() > 0.3e9 and not children_of(inside), "the end of what it started")
    group_parent = group.path.parent / "cgroup.procs"
    wait_until(lambda: observer.newest(tape, "web")["processes"] == 1, "the same on the tape")
    group_parent.write_text(str(inside.pid))
    wait_until(lambda: observer.newest(tape, "web")["processes"] == 0, "it has left")
    kernel = group.usage_ns()
    wait_until(lambda: observer.newest(tape, "web")["cpu_ns"] == kernel, "the group's count")
    wait_until(
        lambda: observer.newest(tape, "tree")["processes_ended"] == 2 or run.lost_events(tape),
        "the ends of what it started",
    )
    (observer.files / "a.yaml").unlink()
    summary = observer.await_end(tape)
    assert summary["exit"]["is_detached"] and not summary["is_incomplete"]
    tasks = observer.tasks(tape)
    assert list(tasks) == ["tree", "web"]
    assert tasks["web"]["cpu_ns"] == kernel > 0.3e9
    tree_is_whole = tasks["tree"]["processes_started"] == 3 and tasks["tree"]["cpu_ns"] > 0.2e9
    assert tree_is_whole or run.lost_events(tape), tasks["tree"]
    assert {r["task"] for r in run.export(tape, "process") if r["pid"] == tree.pid} == {"tree"}
    assert observer.stop() == []


@needs_connector
@pytest.mark.parametrize("rules", ["", ", other: {match: no such program}"])
def test_a_process_that_leaves_its_group(run, observer, shell, tool, groups, wait_until, rules):
    """It leaves the job: what it used in the group stays, as the kernel counted it, and what it uses in another one is
    on no tape. It is the same whether the file has rules or not."""
    group, other, gul = groups(), groups(), tool("gul")
    observer.start()
    observer.put("n.yaml", f"tasks: {{web: {{cgroup: {group.path}}}{rules}}}\n")
    tape = observer.tape("n")
    inside = shell(f"{gul} 0.1; read line; {gul} 0.2; read line", preexec_fn=group.enter)
    wait_until(lambda: observer.newest(tape, "web")["processes"] == 1, "the process in the group")
    inside.stdin.write(b"\n")
    inside.stdin.flush()
    wait_until(lambda: group.usage_ns() > 0.1e9 and not children_of(inside), "the end of what it started")
    wait_until(lambda: observer.newest(tape, "web")["processes"] == 1, "the same on the tape")
    other.write("cgroup.procs", inside.pid)
    wait_until(lambda: observer.newest(tape, "web")["processes"] == 0, "it has left")
    kernel = group.usage_ns()
    inside.stdin.write(b"\n")
    inside.stdin.flush()
    wait_until(lambda: other.usage_ns() > 0.2e9, "what it uses in the other group")
    wait_until(lambda: observer.newest(tape, "web")["cpu_ns"] == kernel, "the group's count")
    assert run.export(tape, "job")[-1]["processes"] == 0
    (observer.files / "n.yaml").unlink()
    summary = observer.await_end(tape)
    assert group.usage_ns() == kernel == summary["job"]["cpu_ns"] == observer.tasks(tape)["web"]["cpu_ns"]
    assert observer.stop() == []


def test_a_changed_file_is_another_job(observer, shell):
    first, second = shell("exit"), shell("exit")
    observer.put("n.yml", f"tasks: {{a: {{pid: {first.pid}}}}}\n")
    observer.start()
    tape = observer.tape("n")
    observer.put("n.yml", f"tasks: {{a: {{pid: {first.pid}}}, b: {{pid: {second.pid}}}}}\n")
    assert observer.await_end(tape)["exit"]["is_detached"]
    other = observer.tape("n", 1)
    assert list(observer.tasks(tape)) == ["a"] and list(observer.tasks(other)) == ["a", "b"]
    for p in (first, second):
        p.communicate(b"\n", timeout=60)
    assert not observer.await_end(other)["exit"]["is_detached"]  # the processes that are named have ended
    assert observer.stop() == []
    assert len(observer.tapes("n")) == 2  # the file is still there


def test_the_nearer_of_two_named_processes_counts(run, observer, shell, wait_until):
    outer = shell("sh -c 'read line; sleep 1000; exit' & read line; kill $!; wait", process_group=0)
    try:
        outer.stdin.write(b"\n")
        outer.stdin.flush()
        inner = int(wait_until(lambda: children_of(outer), "the inner shell")[0])
        observer.start()
        observer.put("n.yaml", f"tasks: {{inner: {{pid: {inner}}}, outer: {{pid: {outer.pid}}}}}\n")
        tape = observer.tape("n")
        rows = {r["pid"]: r["task"] for r in run.export(tape, "process")}
        assert rows[inner] == "inner" and rows[outer.pid] == "outer"
    finally:
        os.killpg(outer.pid, signal.SIGKILL)
    observer.await_end(tape)
    assert observer.stop() == []


def test_each_error_is_reported_once(observer, shell, wait_until):
    sleeper = shell("exit")
    bad = {
        "key.yaml": ("tasks:\n  a:\n    pids: 1\n", "3:5: a task has no key pids; did you mean pid?"),
        "gone.yaml": ("tasks:\n  a: {pid: 4194304}\n", "2:12: no process has the pid 4194304; remove it, or "),
        "match.yaml": ("tasks:\n  a:\n    match: '('\n", "3:12: '(' is not a regular expression: "),
        "half.yaml": ("tasks:\n  a: {pid", "3:1: not YAML: "),
    }
    for name, (text, _) in bad.items():
        observer.put(name, text)
    secret = observer.files.parent / "secret"
    secret.write_text("password: hunter2\npassword: hunter3\n")
    (observer.files / "link.yaml").symlink_to(secret)
    os.link(secret, observer.files / "hard.yaml")
    observer.put("owner.yaml", "password: hunter2\n")
    if os.getuid() == 0:
        os.chown(observer.files / "owner.yaml", 65534, -1)
    (observer.files / "notes.txt").write_text("no task file")
    (observer.files / ".hidden.yaml").write_text("no task file")
    (observer.files / "dir.yaml").mkdir()
    os.mkfifo(observer.files / "fifo.yaml")
    observer.start()
    wait_until(lambda: len(observer.lines()) == len(bad) + 3, "all errors")
    observer.put("good.yaml", f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n")
    observer.tape("good")
    for name in ("half.yaml", "match.yaml"):  # each version is read
        observer.put(name, f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n")
        observer.tape(name.partition(".")[0])
    lines = observer.stop()
    for name, (_, text) in bad.items():
        (line,) = [one for one in lines if f"/{name}:" in one]
        assert line.startswith(f"baro observe: {observer.files}/{name}:{text}"), line
    assert len(lines) == len(bad) + 3 and not any("hunter" in line or "password" in line for line in lines)
    assert f"baro observe: {observer.files}/link.yaml is a link, which is not followed; put the file there" in lines
    if os.getuid() == 0:
        assert any(
            "owner.yaml is not read: it must be a regular file of root or of the owner of" in line for line in lines
        )
    assert len(list(observer.folder.iterdir())) == 3


def test_names_that_control_a_terminal(run, observer, shell, wait_until):
    """They are written escaped, also in front of what is said about a job."""
    sleeper = shell("exit")
    name = "a\u202eb"  # a file whose name has a control character is left out
    observer.start()
    observer.put(f"{name}.yaml", f"tasks: {{a: {{pid: {sleeper.pid}, sandbox: {observer.files}/none}}}}\n")
    wait_until(lambda: list(observer.folder.iterdir()), "the tape")
    sleeper.kill()
    wait_until(observer.lines, "a line about the sandbox")
    (line,) = observer.stop()
    assert line.startswith("baro observe: a\\xe2\\x80\\xaeb: disk of "), line


@needs_connector
def test_what_is_not_there_yet_is_waited_for(run, observer, shell, groups, wait_until):
    """A job begins when all that its file names is there. What is not there is reported once."""
    parent, sleeper = groups(), shell("exit")
    first, second = parent.path / "first", parent.path / "second"
    observer.put("n.yaml", f"tasks:\n  a: {{pid: {sleeper.pid}}}\n  b: {{cgroup: [{first}, {second}]}}\n")
    observer.start()
    wait_until(lambda: len(observer.lines()) == 1, "the line about the first group")
    first.mkdir()
    wait_until(lambda: len(observer.lines()) == 2, "the line about the second group")
    first.rmdir()
    second.mkdir()
    first.mkdir()
    try:
        tape = observer.tape("n")
        inside = shell("exit", preexec_fn=lambda: (second / "cgroup.procs").write_text(str(os.getpid())))
        wait_until(lambda: observer.newest(tape, "b")["processes"] == 1, "the process in the group")
        for p in (inside, sleeper):
            p.communicate(b"\n", timeout=60)
    finally:
        wait_until(lambda: not (second / "cgroup.procs").read_text(), "an empty group")
        first.rmdir()
        second.rmdir()
    lines = observer.stop()
    assert [line.partition("n.yaml:")[2].split(";")[0] for line in lines] == [
        f"3:16: there is no control group {first}",
        f"3:{18 + len(str(first))}: there is no control group {second}",
    ]


def mount_file(of, at):
    """A file of another file system in the folder. A link is not followed; what is no regular file is left out."""
    os.mkfifo(at)
    subprocess.run(["mount", "--bind", of, at], check=True)


@pytest.fixture
def unmount(observer):
    """What a test has mounted is unmounted before its folder is removed."""
    yield
    subprocess.run(["umount", "-l", observer.files / "hung.yaml"], check=False)


@pytest.mark.long
def test_a_file_that_cannot_be_read_to_its_end(run, observer, shell, hanging, unmount, wait_until):
    """It holds up neither samples nor other files, is reported once, and is read when its file server answers."""
    sleeper = shell("exit")
    text = f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n"
    (pathlib.Path(hanging.folder) / "there").write_text(text)
    observer.put("first.yaml", text)
    observer.start()
    first = observer.tape("first")
    hanging.hang_reads()
    mount_file(pathlib.Path(hanging.folder) / "there", observer.files / "hung.yaml")
    hanging.held()
    before = len(run.instants(first))
    wait_until(lambda: len(run.instants(first)) > before + 2, "samples of the first job")
    observer.put("second.yaml", text)
    observer.tape("second")
    assert observer.lines() == [f"baro observe: reading {observer.files}/hung.yaml hangs; it is tried again"]
    hanging.resume()
    observer.tape("hung")
    assert len(observer.stop()) == 1


@pytest.mark.long
def test_a_folder_that_cannot_be_listed(run, observer, shell, hanging, wait_until):
    """Jobs go on, one line says so, and what is new is found when the file server answers."""
    sleeper = shell("exit")
    text = f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n"
    observer.files = pathlib.Path(hanging.folder)
    observer.put("first.yaml", text)
    observer.start()
    first = observer.tape("first")
    hanging.hang()
    before = len(run.instants(first))
    wait_until(lambda: len(run.instants(first)) > before + 2, "samples of the first job")
    wait_until(observer.lines, "the line")
    assert observer.lines() == [f"baro observe: listing {observer.files} hangs: jobs go on, and it is tried again"]
    hanging.resume()
    observer.put("second.yaml", text)
    observer.tape("second")
    assert len(observer.tapes("first")) == 1
    assert len(observer.stop()) == 1


def test_more_jobs_than_descriptors(observer, shell, wait_until):
    """One line says so, and the other jobs begin when there are more."""
    sleeper = shell("exit")
    observer.start()
    observer.put("first.yaml", f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n")
    observer.tape("first")
    used = len(os.listdir(f"/proc/{observer.p.pid}/fd"))
    resource.prlimit(observer.p.pid, resource.RLIMIT_NOFILE, (used + 10, used + 4000))
    for i in range(20):
        observer.put(f"n{i}.yaml", f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n")
    wait_until(observer.lines, "the line")
    assert "no descriptor is left (ulimit -n)" in observer.lines()[0]
    assert len(list(observer.folder.iterdir())) < 21
    resource.prlimit(observer.p.pid, resource.RLIMIT_NOFILE, (used + 4000, used + 4000))
    wait_until(lambda: len(list(observer.folder.iterdir())) == 21, "all tapes")
    assert len(observer.stop()) == 1


@pytest.mark.alone  # it starts a process for each of many files
def test_more_files_than_can_be_recorded(observer, wait_until):
    for i in range(10_002):
        (observer.files / f"{i}.yaml").touch()
    observer.start()
    text = f"{observer.files} has more than 10000 task files: the others are not recorded until some are removed"
    wait_until(lambda: len(observer.lines()) > 20, "errors of some files")
    assert [line for line in observer.lines() if "more than" in line] == [f"baro observe: {text}"]


def test_files_that_are_no_job_are_paid_from_the_budget(observer, shell, wait_until):
    """Each takes a process. One line says when they are read more slowly; the files of another user do not wait."""
    sleeper, count = shell("exit"), 2000
    for i in range(count):
        (observer.files / f"{i}.yaml").touch()
        if os.getuid() == 0:
            os.chown(observer.files / f"{i}.yaml", 65534, -1)
    observer.start("--overhead", "1%")
    wait_until(lambda: any("read one after the other" in line for line in observer.lines()), "the line")
    if os.getuid() == 0:
        observer.put("good.yaml", f"tasks: {{a: {{pid: {sleeper.pid}}}}}\n")
        observer.tape("good")
    lines = observer.stop()
    assert len([line for line in lines if "one after the other" in line]) == 1 and len(lines) < count


def test_the_folder_must_exist(run, work):
    err = run("observe", "--dir", work / "jobs", "--tasks", work / "none", status=2).stderr
    assert err == f"baro observe: --tasks {work}/none: No such file or directory\n"
    assert not (work / "jobs").exists()


def newest(observer, tape, task):
    """Returns a function that returns a value of the task's newest row."""
    return lambda key: observer.newest(tape, task)[key]


@needs_connector
def test_commands_are_matched_for_all_jobs(run, observer, burn, groups, wait_until):
    """Processes that start later, from their first moment, as much as the kernel counted; one that fits rules of two
    jobs counts in both, and one that runs already is a member at once."""
    gul, fmp = burn("gul"), burn("fmp")
    before = subprocess.Popen([gul.path, "1000"])
    observer.put("one.yaml", f"tasks:\n  gul: {{match: {gul.name}}}\n  fmp: {{exact: {fmp.name}}}\n")
    observer.put("two.yaml", f"tasks:\n  mine: {{exact: {gul.name}}}\n"
                             f"  both: {{match: [{gul.name}, {fmp.name}]}}\n")
    observer.put("none.yaml", "tasks: {a: {exact: no such program}}\n")
    try:
        observer.start()
        one, two, none = (observer.tape(n) for n in ("one", "two", "none"))
        of_gul, of_fmp, mine = newest(observer, one, "gul"), newest(observer, one, "fmp"), newest(observer, two, "mine")
        wait_until(lambda: of_gul("processes") == 1, "the process that runs already")
        wait_until(lambda: mine("processes") == 1, "the same in the other job")
        base, kernel = of_gul("cpu_ns"), {}
    finally:
        before.kill()
        before.wait()
    wait_until(lambda: of_gul("processes") == 0 and mine("processes") == 0, "its end")
    base = of_gul("cpu_ns"), mine("cpu_ns")
    for tool_of in (gul, fmp):
        group = groups()
        for _ in range(3):
            tool_of("0.2", preexec_fn=group.enter)
        kernel[tool_of] = group.usage_ns()
    wait_until(lambda: of_fmp("processes_ended") == 3, "the ends of fmp")
    wait_until(lambda: of_gul("processes_ended") == mine("processes_ended") == 4, "the ends of gul")
    for got, n in ((of_gul("cpu_ns") - base[0], gul), (mine("cpu_ns") - base[1], gul), (of_fmp("cpu_ns"), fmp)):
        # The group does not count the fork before a process entered it, and taskstats not the end of a process.
        assert 0.96 * kernel[n] < got < kernel[n] + 3 * 30e6
    assert observer.stop() == []
    for tape in (one, two, none):
        assert not observer.await_end(tape)["is_incomplete"]
    tasks = observer.tasks(one)
    assert tasks["fmp"]["processes_started"] == 3 and not tasks["fmp"]["cpu_is_lower_bound"]
    assert {e["status"] for e in run.export(one, "exit") if e["task"] == "fmp"} == {0}
    assert observer.tasks(none)["a"]["processes_started"] == 0
    assert run.export(none, "job")[-1]["cpu_ns"] == 0


def test_a_file_with_rules_is_changed_and_removed(observer, shell, burn, wait_until):
    gul = burn("gul")
    sleeper = shell(f"exec {gul.path} 1000")
    observer.put("n.yaml", "tasks: {a: {exact: no such program}}\n")
    observer.start()
    first = observer.tape("n")
    observer.put("n.yaml", f"tasks: {{b: {{match: {gul.name}}}}}\n")
    assert observer.await_end(first)["exit"]["is_detached"]
    second = observer.tape("n", 1)
    sleeper.stdin.write(b"\n")
    sleeper.stdin.flush()
    wait_until(lambda: observer.newest(second, "b")["processes"] == 1, "the process")
    (observer.files / "n.yaml").unlink()
    assert observer.await_end(second)["exit"]["is_detached"]
    assert list(observer.tasks(first)) == ["a"] and observer.tasks(second)["b"]["processes_started"] == 1
    assert observer.stop() == []


def test_a_pid_file_that_appears_later_and_a_sandbox(run, observer, shell, work, wait_until):
    (work / "box").mkdir()
    (work / "box" / "file").write_bytes(b"x" * 100_000)
    observer.put("n.yaml", f"tasks:\n  d:\n    pidfile: {work}/d.pid\n    sandbox: {work}/box\n")
    observer.put("p.yaml", f"tasks: {{a: {{pid: {os.getpid()}, sandbox: {work}/box}}}}\n")
    observer.start()
    tape, other = observer.tape("n"), observer.tape("p")
    assert observer.newest(tape, "d")["processes_started"] == 0
    daemon = shell("exit")
    (work / "d.pid").write_text(f"{daemon.pid}\n")
    wait_until(lambda: observer.newest(tape, "d")["processes"] == 1, "the process of the PID file")
    for one in (tape, other):
        wait_until(lambda: [r for r in run.export(one, "directory") if r["files"] == 1], "the walk")
    daemon.communicate(b"\n", timeout=60)
    wait_until(lambda: observer.newest(tape, "d")["processes"] == 0, "its end")
    assert observer.stop() == []
    (box,) = observer.await_end(tape)["directories"]
    assert box["path"] == f"{work}/box" and box["task"] == "d"


def test_another_process_selects_when_the_first_is_killed(observer, shell, burn, wait_until):
    """Members stay what they are, and are not counted twice; jobs that come meanwhile are matched as well."""
    gul = burn("gul")
    sleepers = [shell(f"exec {gul.path} 1000") for _ in range(2)]
    for n in range(2):
        observer.put(f"n{n}.yaml", f"tasks: {{a: {{match: '^[^ ]*python[^ ]* [^ ]*{gul.name}'}}}}\n")
    observer.start()
    tapes = [observer.tape(f"n{n}") for n in range(2)]
    sleepers[0].stdin.write(b"\n")
    sleepers[0].stdin.flush()
    for tape in tapes:
        wait_until(lambda: observer.newest(tape, "a")["processes"] == 1, "the first one")
    first = wait_until(lambda: selector_of(observer.p.pid), "the process that selects")
    os.kill(first, signal.SIGKILL)
    observer.put("late.yaml", f"tasks: {{a: {{exact: {gul.name}}}}}\n")
    sleepers[1].stdin.write(b"\n")
    sleepers[1].stdin.flush()
    for tape in [*tapes, observer.tape("late")]:
        wait_until(lambda: observer.newest(tape, "a")["processes"] == 2, "the second one")
    (line,) = observer.stop()
    assert "the process that selects has ended or can't be started; it is tried again" in line
    for tape in tapes:
        observer.await_end(tape)
        assert observer.tasks(tape)["a"]["processes_started"] == 2


def test_rules_without_events(observer, burn, wait_until, monkeypatch):
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    gul = burn("gul")
    before = subprocess.Popen([gul.path, "1000"])
    observer.put("n.yaml", f"tasks: {{a: {{match: {gul.name}}}}}\n")
    observer.put("m.yaml", f"tasks: {{b: {{exact: {gul.name}}}}}\n")
    observer.start()
    tapes = [observer.tape("n"), observer.tape("m")]
    after = subprocess.Popen([gul.path, "1000"])
    try:
        for tape, task in zip(tapes, "ab", strict=True):
            wait_until(lambda: observer.newest(tape, task)["processes"] == 2, "both processes")
            wait_until(lambda: observer.newest(tape, task)["cpu_ns"] > 50e6, "CPU time of both")
    finally:
        used = {}
        for p in (before, after):
            p.kill()
            usage = os.wait4(p.pid, 0)[2]
            used[p] = usage.ru_utime + usage.ru_stime
    for tape, task in zip(tapes, "ab", strict=True):
        wait_until(lambda: observer.newest(tape, task)["processes"] == 0, "their ends")
    assert observer.stop() == []
    for tape, task in zip(tapes, "ab", strict=True):
        observer.await_end(tape)
        one = observer.tasks(tape)[task]
        assert one["processes_started"] == one["processes_ended"] == 2
        # A scan that finds both as zombies has all; what the first used before it was found is not the task's.
        assert one["cpu_ns"] < 1.05e9 * sum(used.values())
        assert one["cpu_is_lower_bound"] or one["cpu_ns"] > 0.95e9 * used[after]


@needs_connector
def test_a_job_that_is_watched_in_two_ways(run, observer, shell, burn, groups, wait_until):
    """Rules, a control group and a pid in one file."""
    gul, group = burn("gul"), groups()
    tree = shell("exit")
    observer.put("n.yaml", f"tasks:\n  web: {{cgroup: {group.path}}}\n  tree: {{pid: {tree.pid}}}\n"
                           f"  gul: {{match: {gul.name}}}\n")
    observer.start()
    tape = observer.tape("n")
    gul("0.1", preexec_fn=group.enter)
    gul("0.1")
    kernel = group.usage_ns()
    wait_until(lambda: observer.newest(tape, "web")["cpu_ns"] == kernel, "the group's count")
    wait_until(lambda: observer.newest(tape, "gul")["processes_ended"] >= 1, "the end of the other one")
    tree.communicate(b"\n", timeout=60)
    wait_until(lambda: observer.newest(tape, "tree")["processes_ended"] == 1, "the end of the named one")
    assert observer.stop() == []
    observer.await_end(tape)
    assert observer.tasks(tape)["gul"]["cpu_ns"] > 0.1e9
