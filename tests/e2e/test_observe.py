# SPDX-License-Identifier: Apache-2.0
"""baro observe: many jobs in one process, each onto a tape of its own, against the count of their control groups."""

import ctypes
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import subprocess

import pytest
from conftest import FULL, needs_connector
from control_group import Cgroup
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


@needs_root
def test_the_folder_is_replaced(run, observer, jobs, cgroup, wait_until):
    """Jobs go on in the folder that is there then; a link that has taken its place is not followed."""
    group = jobs("a", ["sleep", "1000"])
    observer.start("--no-host")
    first = observer.tape(group)
    away, other, link = (observer.folder.with_name(name) for name in ("away", "other", "link"))
    other.mkdir()
    link.symlink_to(other)
    wait_until(lambda: run.instants(first), "a sample")

    def says(words):  # a job that was to begin a tape at that moment has a line of its own before
        return any(words in line.decode() for line in iter(observer.p.stderr.readline, b""))

    def remove():  # the observer may write there meanwhile
        wait_until(lambda: shutil.rmtree(away, ignore_errors=True) or not away.exists(), "its end")

    for is_removed in (False, True):
        observer.folder.rename(away)
        if is_removed:
            remove()
        assert observer.tape(group).name != first.name
        assert says("each job begins a new tape in the folder that is there now")
        remove()
    # At once: a folder that is not there is made again.
    assert ctypes.CDLL(None).renameat2(-100, bytes(link), -100, bytes(observer.folder), 2) == 0  # RENAME_EXCHANGE
    link.rename(away)
    remove()
    assert says("no new job is recorded, and it is tried again (a link")
    assert not list(other.iterdir())
    observer.folder.unlink()
    group.process.kill()
    group.process.wait()


@needs_root
def test_groups_that_were_missed_are_counted(observer, jobs, cgroup, wait_until):
    group = jobs("a", ["sleep", "1000"])
    observer.start("--no-host")
    observer.tape(group)
    for i in range(7):
        (cgroup.path / f"short{i}").mkdir()
        (cgroup.path / f"short{i}").rmdir()
    group.process.kill()
    group.process.wait()
    text = observer.stop(says=None)  # a busy machine: once with less
    assert "removed before they could be recorded, so far: 7; what ran in them is on no tape" in text


@needs_root
def test_containers_that_are_removed_at_once(run, observer, jobs, cgroup, wait_until):
    """As an engine does it. Each is on a tape, or counted as missed; its CPU time is all of it, or marked."""
    ready = jobs("ready", ["sleep", "1000"])
    observer.start("--no-host")
    observer.tape(ready)
    used, burn = {}, "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 3"
    for name in [f"libpod-{i}" + "0a" * 31 + "0" for i in range(5)]:
        group = jobs(name, ["sh", "-c", burn])
        assert group.process.wait() == 3
        used[name] = group.usage_ns()
        group.path.rmdir()
    ready.process.kill()
    ready.process.wait()
    for tape in (found := [t for name in used for t in observer.folder.glob(f"*-{name}-*.baro")]):
        run.await_end(tape)
    text = observer.stop(says=len(found) < len(used))
    assert found and (len(found) == len(used) or f"so far: {len(used) - len(found)}; " in text)
    for tape in found:
        s = run.summary(tape)
        (name,) = [n for n in used if n in tape.name]
        assert accounted(s) <= 1.02 * used[name]
        assert accounted(s) >= 0.98 * used[name] or s["job"]["cpu_is_lower_bound"]
        assert s["exit"]["status"] in (3, None) and s["name"] == name[7:19]


@needs_root
def test_forms_of_a_path(run, work, jobs, cgroup, wait_until):
    """As in /proc/PID/cgroup with or without the slash, or behind the name of a hierarchy: one group, for both commands;
    its name is that of the container."""
    name = "docker-" + "0a" * 32 + ".scope"
    group, root = jobs(name, ["sleep", "1000"]), pathlib.Path("/sys/fs/cgroup")
    below = group.path.relative_to(root)
    is_hybrid = (root / "unified/cgroup.procs").exists()
    forms = [str(below), str(group.path), *([str(below)[7:], str(below)[8:]] if is_hybrid else [f"/{below}"])]
    for i, form in enumerate(forms):
        p = run.popen("observe", "--no-host", "--dir", work / f"{i}", "--cgroup", form,
                      *(["--name-from", "off"] if i == 1 else []), stderr=subprocess.PIPE)
        wait_until(lambda: any(s.stat().st_size for s in (work / f"{i}").glob("*/*")), form)
        p.send_signal(signal.SIGTERM)
        assert p.communicate(timeout=60)[1] == b""
        (tape,) = (work / f"{i}").iterdir()
        run("record", "--cgroup", form, "--for", "10ms", "-q", "-o", work / f"{i}.baro")
        assert run.summary(work / f"{i}.baro")["name"] == "0a" * 6
        assert run.summary(tape)["name"] == (None if i == 1 else "0a" * 6)


# An ordinary user makes many groups below one that is his own, and moves himself into the last one.
MANY = """
import os, sys, time
os.setgroups([]), os.setgid(65534), os.setuid(65534)
for i in range(int(sys.argv[2])): os.mkdir(f"{sys.argv[1]}/h{i}")
os.mkdir(f"{sys.argv[1]}/hx")
open(f"{sys.argv[1]}/hx/cgroup.procs", "w").write("0")
time.sleep(1000)
"""


@needs_root
def test_groups_that_a_user_has_made(run, observer, jobs, cgroup, started, wait_until):
    """A folder with more groups than a search reads at once: what is in it is found, and what is elsewhere as well."""
    user = Cgroup(cgroup.path / "user")
    cgroup.path.chmod(0o755)
    user.path.mkdir()
    for name in ("", "cgroup.procs"):
        os.chown(user.path / name, 65534, 65534)
    observer.start("--cgroup", f"{cgroup.path}/*/h*", "--no-host")
    started([PYTHON, "-S", "-c", MANY, user.path, "20000" if FULL else "600"], preexec_fn=user.enter)
    last = Cgroup(user.path / "hx")
    wait_until(lambda: last.path.exists() and last.pids(), "the user's groups")
    (cgroup.path / "other").mkdir()
    other = jobs("other/h", ["sleep", "1000"])
    assert observer.tape(other)
    assert observer.tape(last)
    observer.p.send_signal(signal.SIGTERM)
    said = observer.p.communicate(timeout=60)[1].decode().splitlines()
    late, none = "takes more than 10 s of what --overhead allows", "no control group with processes matches so far"
    assert all(late in line or none in line for line in said) and len(said) < 9, said


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))


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
            """Its first tape, a folder, of which the first segment has a header."""
            return wait_until(
                lambda: [t for t in self.tapes(group) if any(s.stat().st_size for s in t.iterdir())],
                f"the tape of {group.path.name}",
            )[0]

        def stop(self, says=0):
            """Returns what it has said, which is so many lines; None: any number."""
            self.p.send_signal(signal.SIGTERM)
            text = self.p.communicate(timeout=60)[1].decode()
            assert says is None or text.count("\n") == says, text
            assert self.p.returncode == 0
            return text

    o = Observer()
    yield o
    if getattr(o, "p", None) and o.p.poll() is None:
        o.p.kill()
        o.p.communicate()


def accounted(s):
    """All CPU time that the group had used at its end, by its summary."""
    return s["job"]["cpu_ns"] + s["before"]["cpu_ns"]


@needs_connector
def test_each_group_has_its_own_tape(run, work, jobs, observer, wait_until):
    groups = [jobs(f"job{i}", [PYTHON, "-S", "-c", WORKER, work / "go"]) for i in range(5)]
    observer.start()
    tapes = [observer.tape(g) for g in groups]
    wait_until(lambda: all(run.instants(t) for t in tapes), "the first samples")
    (work / "go").touch()
    late = jobs("late", [PYTHON, "-S", "-c", WORKER, work / "go later"])
    late_tape = observer.tape(late)
    (work / "go later").touch()
    for g in [*groups, late]:
        assert g.process.wait(60) == 0
    for g, tape in zip([*groups, late], [*tapes, late_tape]):
        run.await_end(tape)
        s = run.summary(tape)
        assert accounted(s) == g.usage_ns()
        if g is late:
            continue
        assert s["job"]["processes_started"] == 21  # the last one may be a zombie still when the group is over
        assert {c["name"]: c["processes"] for c in s["commands"]}["sh"] == 20, s["commands"]
    observer.stop()


@needs_connector
def test_a_process_of_seventeen_jobs(run, work, cgroup, observer, started, wait_until):
    """Each of the groups within another is a job, and each counts what the process in the innermost one starts."""
    group, patterns = cgroup, []
    for i in range(17):
        group = Cgroup(group.path / f"l{i}")
        group.path.mkdir()
        patterns += ["--cgroup", f"{group.path.parent}/l*"]
    group.process = started([PYTHON, "-S", "-c", WORKER, work / "go"], preexec_fn=group.enter)
    observer.start(*patterns)
    tapes = wait_until(lambda: (t := list(observer.folder.glob("*-l*.baro")))[16:] and t, "the tapes")
    wait_until(lambda: all(run.instants(t) for t in tapes), "the first samples")
    (work / "go").touch()
    assert group.process.wait(60) == 0
    for tape in tapes:
        run.await_end(tape)
        assert run.summary(tape)["job"]["processes_started"] == 21
    observer.stop()


@needs_root
def test_a_group_that_is_used_again_is_another_job(run, jobs, observer, started, wait_until):
    group = jobs("again", ["sleep", "1000"])
    observer.start()
    first = observer.tape(group)
    wait_until(lambda: run.instants(first), "its first sample")
    group.process.kill()
    group.process.wait()
    run.await_end(first)
    started(["sleep", "1000"], preexec_fn=group.enter)
    assert wait_until(lambda: [t for t in observer.tapes(group) if t != first], "the second tape")
    observer.stop()
    assert run.summary(first)["exit"]["is_detached"] is False


@needs_root
def test_the_machine_has_a_tape(run, jobs, observer, wait_until):
    observer.start()
    tape = wait_until(lambda: list(observer.folder.glob("*-host-0.baro")), "the tape of the machine")[0]
    wait_until(lambda: run.instants(tape), "its first sample")
    assert "--cgroup" in (line := observer.stop(says=1)) and "no control group with processes matches so far; a pattern is" in line
    assert run.export(tape, "host")


# Computes and starts short processes until the file is there.
LOAD = """
import os, subprocess, sys
while not os.path.exists(sys.argv[1]):
    subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 500 ]; do i=$((i+1)); done"])
    sum(range(20000))
"""


@needs_root
@pytest.mark.long
def test_killed_again_and_again(run, work, jobs, observer, wait_until):
    """An observer that is killed and started again loses no sample that it has written, counts nothing twice, and does
    not disturb the jobs: the totals are those of the control groups. A job that ends meanwhile gets an end."""
    groups = [jobs(f"job{i}", [PYTHON, "-S", "-c", LOAD, work / "stop"]) for i in range(3)]
    brief = jobs("brief", [PYTHON, "-S", "-c", LOAD, work / "stop-brief"])
    observer.start()
    tapes = [observer.tape(g) for g in groups]
    brief_tape = observer.tape(brief)
    seen = {t: [] for t in [*tapes, brief_tape]}
    for turn in range(3):
        for t in seen:
            if t != brief_tape or turn == 0:
                wait_until(lambda t=t: len(run.instants(t)) > len(seen[t]) + 2, "more samples")
        observer.p.kill()
        assert observer.p.communicate()[1] == b""
        for t in seen:
            instants = run.instants(t)
            assert instants[: len(seen[t])] == seen[t]
            seen[t] = instants
        if turn == 0:
            (work / "stop-brief").touch()
            assert brief.process.wait(60) == 0
        observer.start()
    for t in tapes:
        wait_until(lambda t=t: len(run.instants(t)) > len(seen[t]) + 2, "more samples")
    (work / "stop").touch()
    for g in groups:
        assert g.process.wait(60) == 0
    for g, tape in zip(groups, tapes):
        run.await_end(tape)
        assert observer.tapes(g) == [tape]
        s = run.summary(tape)
        assert accounted(s) == g.usage_ns()
        rows = run.export(tape, "job")
        assert [r["t_ns"] for r in rows][: len(seen[tape])] == seen[tape]
        assert all(a["t_ns"] < b["t_ns"] and a["cpu_ns"] <= b["cpu_ns"] for a, b in zip(rows, rows[1:]))
        assert s["job"]["cpu_ns"] >= s["accounting"]["cpu_counted_ns"]
        assert sum(e["event"] == "gap" for e in run.export(tape, "event")) == 3
        first = [r for r in run.export(tape, "process") if r["pid"] == g.process.pid]
        assert len({r["start_ticks"] for r in first}) == 1
        assert all(a["cpu_ns"] <= b["cpu_ns"] for a, b in zip(first, first[1:]))
    s = run.summary(brief_tape)
    assert s["is_incomplete"] is False and run.instants(brief_tape) == seen[brief_tape]
    observer.stop()


# Blocks until something is written to the FIFO, then computes, with or without another process, and blocks again.
SLEEPER = """
import subprocess, sys, time
open(sys.argv[1]).read()
end = time.process_time() + 0.2
while time.process_time() < end: pass
if sys.argv[2:]: subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; true"])
open(sys.argv[1]).read()
"""


def rests(run, tape):
    """Was the job idle for so long that samples are a second apart?"""
    at = run.instants(tape)
    return len(at) > 1 and at[-1] - at[-2] > 10**9


def used_ns(run, tape, pid):
    """The CPU time of a process by the last sample that has it."""
    return max([r["cpu_ns"] or 0 for r in run.export(tape, "process") if r["pid"] == pid], default=0)


# Sends 1,000 bytes to its child again and again until "stop" is there, and writes how much to "sent"; both end when
# "close" is there.
TALKER = """
import os, pathlib, socket, sys, time
l = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    a, _ = l.accept()
    l.close()
    while a.recv(1 << 20):
        pass
    os._exit(0)
c = socket.create_connection(l.getsockname())
l.close()
sent = 0
there = pathlib.Path(sys.argv[1])
while not (there / "stop").exists():
    c.sendall(b"x" * 1000)
    sent += 1000
    time.sleep(0.005)
(there / "part").write_text(str(sent))
(there / "part").rename(there / "sent")
while not (there / "close").exists():
    time.sleep(0.02)
c.close()
os.wait()
"""


@needs_root
def test_tcp_goes_on(run, work, jobs, observer, wait_until):
    """What was counted before the observer was killed stays; what was sent meanwhile is missing, and marked."""
    job = jobs("talker", [PYTHON, "-S", "-c", TALKER, work])
    observer.start("-m", "default,tcp", "-i", "50ms")
    tape = observer.tape(job)

    def sent(entity):
        rows = run.export(tape, entity)
        return [(r.get("pid"), r["tcp_sent_bytes"]) for r in rows if r["tcp_sent_bytes"] is not None]

    wait_until(lambda: sent("job") and sent("job")[-1][1] > 20_000, "bytes on the tape")
    for _ in range(2):
        observer.p.kill()
        observer.p.communicate()
        before = sent("job")[-1][1]
        observer.start("-m", "default,tcp", "-i", "50ms")
        wait_until(lambda b=before: sent("job")[-1][1] > b + 20_000, "more bytes on the tape")
    (work / "stop").touch()
    truth = int(wait_until(lambda: (work / "sent").exists() and (work / "sent").read_text(), "the end of the transfer"))
    rows = len(run.instants(tape))
    wait_until(lambda: len(run.instants(tape)) > rows + 5, "more samples")
    (work / "close").touch()
    assert job.process.wait(60) == 0
    run.await_end(tape)
    summary = run.summary(tape)["job"]
    assert summary["tcp_is_lower_bound"] and summary["tcp_sent_bytes"] == sent("job")[-1][1]
    values = [v for _, v in sent("job")]
    assert values == sorted(values) and before + 20_000 < values[-1] <= truth
    for e in run.export(tape, "exit"):  # one that was not reaped yet when its group was empty has none
        assert 0 < e["tcp_sent_bytes"] < values[-1] if e["pid"] == job.process.pid else e["tcp_sent_bytes"] == 0


@needs_root
@pytest.mark.parametrize("interval", ["auto", "100ms"])
@pytest.mark.parametrize("wakes", ["computes", "forks", "joined"])
def test_idle_groups_rest(run, work, jobs, observer, started, wait_until, wakes, interval):
    """An idle group has few samples. One that wakes up has them again, and all that it used is counted."""
    fifo = work / "fifo"
    os.mkfifo(fifo)
    sleeper = [PYTHON, "-S", "-c", SLEEPER, fifo, *(["forks"] if wakes == "forks" else [])]
    group = jobs("idle", ["sleep", "1000"] if wakes == "joined" else sleeper)
    if wakes == "joined":
        group.process, before = started(sleeper), group.process
    observer.start("-i", interval)
    tape = observer.tape(group)
    wait_until(lambda: rests(run, tape), "a pause of a second")
    pid = group.process.pid
    if wakes == "joined":
        group.write("cgroup.procs", pid)
    fifo.write_text("go")
    wait_until(lambda: used_ns(run, tape, pid) >= 2 * 10**8, "what it computed")
    fifo.write_text("end")
    assert group.process.wait(60) == 0
    if wakes == "joined":
        before.kill()
        before.wait()
    run.await_end(tape)
    observer.stop()
    assert accounted(run.summary(tape)) == group.usage_ns()


def listed(run, tape):
    """How a tape ended, as baro ls has it."""
    said = run("ls", "--json", env={"BARO_DIR": str(tape.parent)})
    return [(r["state"], r["result"], r["complete"]) for r in json.loads(said.stdout) if r["name"] == tape.name][0]


@needs_root
def test_stopped_and_started_again(run, jobs, observer, wait_until):
    """A job that lives on is continued on the same tape, which has no end in between."""
    group = jobs("sleeps", ["sleep", "1000"])
    observer.start()
    tape = observer.tape(group)
    wait_until(lambda: run.instants(tape), "its first sample")
    observer.stop()
    before = run.instants(tape)
    assert run.summary(tape)["exit"] == {"status": None, "signal": None, "is_core_dumped": None, "is_detached": True,
                                         "ended_by": None}
    assert "recording stopped, the job was running" in run("summary", "-v", tape).stdout
    assert listed(run, tape) == ("ended", "detached", True)
    observer.start()
    wait_until(lambda: len(run.instants(tape)) > len(before), "a sample of the second observer")
    assert run.summary(tape)["exit"]["is_detached"] is False
    assert listed(run, tape) == ("running", "no end", False)
    observer.p.kill()
    observer.p.communicate()
    assert run.summary(tape)["exit"]["is_detached"] is False
    assert "cut off" in run("summary", "-v", tape).stdout
    assert listed(run, tape) == ("cut off", "no end", False)
    observer.start()
    wait_until(lambda: listed(run, tape)[0] == "running", "the third observer")
    group.process.kill()
    group.process.wait()
    wait_until(lambda: any(e["event"] == "end" for e in run.export(tape, "event")), "the end")
    observer.stop()
    assert len([e for e in run.export(tape, "event") if e["event"] == "end"]) == 1
    assert observer.tapes(group) == [tape]


@needs_root
def test_the_budget_of_all_tapes(run, work, jobs, observer, wait_until):
    """The oldest tapes of jobs that are over go, those of jobs that live stay."""
    old = observer.folder / "20200101T000000.000000Z-old-1.baro"
    new = observer.folder / "20200102T000000.000000Z-new-2.baro"
    for folder in (old, new):
        run("run", "-q", "--keep", "1MB", "-o", work / "made", "true", status=0)
        observer.folder.mkdir(exist_ok=True)
        (work / "made").rename(folder)
        with open(folder / "000001.baro", "ab") as f:
            f.truncate(10_000_000)
    group = jobs("lives", ["sleep", "1000"])
    observer.start("--total", "16MB")
    tape = observer.tape(group)
    wait_until(lambda: not old.exists(), "the oldest tape to go")
    wait_until(lambda: run.instants(tape), "a sample")
    assert new.exists()
    observer.stop()


def test_wrong_calls(baro, work):
    one_line(call(baro, "observe"), 2, "--cgroup")
    one_line(call(baro, "observe", "--cgroup", ""), 2, "PATTERN")
    one_line(call(baro, "observe", "--cgroup", "x", "--total", "1MB"), 2, "--total", "16MB")
    (work / "file").touch()
    one_line(call(baro, "observe", "--cgroup", "x*", "--dir", work / "file"), 2, "can't open")


@needs_root
def test_an_observer_in_an_observed_group(run, cgroup, jobs, observer, wait_until):
    """As a service that matches its own pattern: none of its processes is on the tape of its group."""
    group = jobs("a", ["sleep", "1000"])
    observer.start("--no-host", "--interval", "100ms", before=group.enter)
    tape = observer.tape(group)
    wait_until(lambda: len(run.instants(tape)) > 3, "samples")
    observer.stop()
    assert {row["name"] for row in run.export(tape)} == {"sleep"}


@needs_root
def test_few_descriptors(run, work, cgroup, jobs):
    """The limit is raised where that is allowed; else one line says why jobs are left out."""
    for i in range(30):
        jobs(f"job-{i}", ["sleep", "1000"])
    folder = work / "jobs"
    p = run.popen("observe", "--dir", folder, "--cgroup", f"{cgroup.path}/*", "--no-host", stderr=subprocess.PIPE,
                  before=few_descriptors)
    said = ""
    while not said and len(list(folder.glob("*.baro"))) < 30:
        said = p.stderr.readline().decode() if select.select([p.stderr], [], [], 0.1)[0] else ""
    assert not said or "no descriptor is left (ulimit -n)" in said, said
    p.send_signal(signal.SIGTERM)
    assert p.communicate(timeout=60)[1] == b"" and p.returncode == 0
