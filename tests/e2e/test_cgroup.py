# SPDX-License-Identifier: Apache-2.0
"""Control groups: those that a job is in, with limits that apply; and a control group as the job, compared with the
group's own counters.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest
from conftest import PATIENCE, unshared
from control_group import Cgroup
from jobs import after_mounts, script
from wrapping import comm

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")


def mount_of(controller):
    """Returns where the v1 hierarchy of a controller is mounted."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        if after.split()[0] == "cgroup" and controller in after.split()[-1].split(","):
            return pathlib.Path(before.split()[4])
    pytest.skip(f"no v1 hierarchy has {controller}")


@pytest.fixture
def v1():
    """v1("memory") makes a group of that controller; it is removed at the end with all processes in it."""
    made = []

    def make(controller, name=None):
        top = mount_of(controller)
        path = top / name if name else pathlib.Path(tempfile.mkdtemp(prefix="baro-e2e-", dir=top))
        path.mkdir(exist_ok=True)
        made.append(Cgroup(path))
        return made[-1]

    yield make
    for group in made:
        group.remove()


def rows_of(run, tape, group):
    """Returns the rows of a group; its path in the hierarchy is the end of its path in the file system."""
    return [r for r in run.export(tape, "cgroup") if str(group.path).endswith(r["name"]) and r["name"] != "/"]


def number(row, name):
    assert row[name] not in (None, ""), f"{name} is absent"
    return float(row[name])


def test_cpu_quota_throttles(run, tape, v1):
    group = v1("cpu")
    group.write("cpu.cfs_period_us", 10000)
    group.write("cpu.cfs_quota_us", 2000)
    # On a busy machine the others may leave it less than its quota for a while, so that it is not throttled.
    throttled = lambda: run.instants(tape) and any(r["cpu_throttled_ns"] for r in rows_of(run, tape, group))
    run.record_gated(tape, "while :; do :; done & read -r _ <gate; kill $!", throttled, before=group.enter)
    run.await_end(tape)
    rows = rows_of(run, tape, group)
    assert number(rows[-1], "cpu_limit") == 0.2
    assert number(rows[-1], "cpu_throttled_ns") > 0
    assert 0 < number(rows[-1], "cpu_throttled_periods") <= number(rows[-1], "cpu_periods")
    stat = dict(line.split() for line in group.read("cpu.stat").splitlines())
    assert number(rows[-1], "cpu_throttled_ns") <= int(stat["throttled_time"])


def test_limit_of_a_parent(run, tape, v1):
    """The pod has the limit, its container has none."""
    pod = v1("memory")
    pod.write("memory.limit_in_bytes", 512 << 20)
    inner = pod.path / "container"
    inner.mkdir()
    run.record(tape, ["sleep", "0.2"], before=lambda: (inner / "cgroup.procs").write_text("0"))
    rows = {r["name"]: r for r in run.export(tape, "cgroup")}
    names = [n for n in rows if n.endswith(pod.path.name) or n.endswith("container")]
    assert [n.endswith("container") for n in names] == [True, False], "its own first, then what limits it"
    assert rows[names[0]]["memory_limit_bytes"] in (None, "")
    assert number(rows[names[1]], "memory_limit_bytes") == 512 << 20


def waiting(cgroup, work, script):
    """Starts a shell in the group that does nothing until go() is called."""
    fifo = work / "go"
    os.mkfifo(fifo)
    argv = ["timeout", str(5 * PATIENCE), "sh", "-c", f"read x < {fifo}; {script}"]
    job = subprocess.Popen(argv, preexec_fn=cgroup.enter)
    return job, lambda: fifo.write_text("\n")


def attach(run, tape, path, wait_until, **kw):
    p = run.popen("record", "--cgroup", str(path), "-o", str(tape), "-q", stderr=subprocess.PIPE, text=True, **kw)
    wait_until(lambda: p.poll() is not None or run.instants(tape), "the first sample")
    return p


@pytest.mark.parametrize("whose", ["path", "proc"])
def test_record_a_group(run, tape, work, cgroup, wait_until, whose):
    job, go = waiting(cgroup, work, "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; "
                      "(setsid sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' &); /bin/true")
    lines = pathlib.Path(f"/proc/{job.pid}/cgroup").read_text().splitlines()
    inside = next(line.split(":", 2)[2] for line in lines if line.startswith("0::"))
    recorder = attach(run, tape, cgroup.path if whose == "path" else inside, wait_until)
    before = cgroup.usage_ns()
    go()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    assert not cgroup.pids(), "it ended before its group was empty"
    job.wait()
    summary = run.summary(tape)
    assert summary["accounting"]["kernel_source"] == "cgroup"
    title = run("summary", tape, status=0).stdout.splitlines()[0]
    assert title.startswith("cgroup /") and cgroup.path.name in title
    happened = run("summary", "--by", "phase", "--json", tape, status=0).stdout
    assert "attached to cgroup /" in happened and "process 0" not in happened
    truth = cgroup.usage_ns() - before
    # Between attaching and here the shell did little but wait.
    assert abs(summary["job"]["cpu_ns"] - truth) <= 5_000_000 + truth // 1000
    assert summary["job"]["processes_started"] >= 13


def test_record_a_group_that_processes_leave(run, tape, work, cgroup, groups, wait_until):
    """What is moved to another group, and what it starts there, is no part of the job any more, as with containers."""
    other = groups()
    job, go = waiting(cgroup, work, f"(sh -c 'echo $$ > {other.path}/cgroup.procs; sleep 1001 & sleep 1002 & wait') & "
                      f"while [ ! -e {work}/end ]; do sleep 0.1; done")
    recorder = attach(run, tape, cgroup.path, wait_until)
    go()
    wait_until(lambda: len(other.pids()) == 3, "those that leave")
    moved = set(other.pids())
    wait_until(lambda: moved & {r["pid"] for r in run.export(tape)}, "one of them as a member")

    def members():
        last = max(r["t_ns"] for r in run.export(tape, "job"))
        return {r["pid"] for r in run.export(tape) if r["t_ns"] == last}

    wait_until(lambda: not moved & members(), "the end of their membership")
    (work / "end").touch()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    assert len(other.pids()) == 3, "it ended before those that had left"
    assert not moved & {e["pid"] for e in run.export(tape, "exit")}
    job.wait()


def test_name_that_is_a_group_of_two_hierarchies(run, tape, work, cgroup, v1, wait_until):
    """The name is looked up in every hierarchy, as in /proc/PID/cgroup; processes and usage must come from the same
    group."""
    memory = v1("memory", cgroup.path.name)
    name = "/" + cgroup.path.name
    job, go = waiting(cgroup, work, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    other = subprocess.Popen(["sleep", "1000"], preexec_fn=memory.enter)
    done = run("record", "--cgroup", name, "-o", str(tape), status=2)
    assert "two groups with different processes" in done.stderr and len(done.stderr.splitlines()) == 1
    assert str(cgroup.path) in done.stderr and str(memory.path) in done.stderr
    other.kill()
    other.wait()
    # No process is left in the memory controller's group, so it has no values.
    recorder = attach(run, tape, name, wait_until)
    before = cgroup.usage_ns()
    go()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    job.wait()
    truth = cgroup.usage_ns() - before
    assert source_of(run, tape) == "cgroup"
    assert abs(run.summary(tape)["job"]["cpu_ns"] - truth) <= 2_000_000 + truth // 1000
    assert all(r["memory_bytes"] in (None, "") for r in run.export(tape, "cgroup"))


USES_BEFORE = """
import pathlib, time
pathlib.Path("data").write_bytes(bytes(4_000_000))
pathlib.Path("data").read_bytes()
while time.process_time() < 0.5:
    pass
print("done", flush=True)
input()
"""


@pytest.mark.parametrize("ends", [True, False])
def test_what_a_process_used_before_it_came(run, tape, work, cgroup, wait_until, ends):
    """A process that is moved into the group brings nothing along."""
    job, go = waiting(cgroup, work, "true")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    other = subprocess.Popen([sys.executable, "-c", USES_BEFORE], cwd=work, **pipes)
    assert other.stdout.readline() == b"done\n"
    recorder = attach(run, tape, cgroup.path, wait_until)
    cgroup.write("cgroup.procs", other.pid)
    wait_until(lambda: [p for p in run.export(tape) if p["pid"] == other.pid], "the process in the group")
    if ends:
        other.communicate(b"\n")
        wait_until(lambda: [e for e in run.export(tape, "exit") if e["pid"] == other.pid], "its end")
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(60) == 0, recorder.stderr.read()
    assert job.poll() is None, "the recorded process continues"
    if not ends:
        other.communicate(b"\n")
    go()
    job.wait()
    summary = run.summary(tape)
    assert len(summary["commands"]) == 3, "timeout, sh and Python"
    assert all(used["cpu_ns"] < 0.25e9 for used in [summary["job"], *summary["commands"]])
    assert summary["job"]["io_rchar_bytes"] < 4e6 and summary["job"]["io_wchar_bytes"] < 4e6


def test_errors_of_record_cgroup(run, tape, cgroup):
    for path, words in (
        ("/sys/fs/cgroup/no/such", "no such control group"),
        (str(cgroup.path), "no process"),
        (str(cgroup.path.parent), "root of its hierarchy"),
    ):
        done = run("record", "--cgroup", path, "-o", str(tape), status=2)
        assert words in done.stderr and len(done.stderr.splitlines()) == 1
        assert not tape.exists()
    assert "one of them" in run("record", "--cgroup", "/x", "--pid", "1", status=2).stderr


# ---- a group made for the job ----------------------------------------------------------------------------------------


def left(cgroup):
    return [group.path.name for group in cgroup.below()]


def source_of(run, tape):
    return run.summary(tape)["accounting"]["kernel_source"]


def test_own_group_counts_all(run, tape, work, cgroup):
    """Processes that are never reaped, and processes that left the tree, are counted as well."""
    script = (
        f"sed -n s/^0:://p /proc/self/cgroup > {work}/seen; trap '' CHLD; i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done; "
        "setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' & wait; exit 7"
    )
    before = cgroup.usage_ns()
    run.record(tape, script, "--cgroup", "own", cgroup=cgroup, status=7)
    seen = (work / "seen").read_text().strip()
    assert seen.rsplit("/", 1)[1].startswith("baro-") and seen.rsplit("/", 2)[1] == cgroup.path.name
    assert left(cgroup) == []
    assert source_of(run, tape) == "cgroup"
    summary = run.summary(tape)
    cpu = summary["job"]["cpu_ns"]
    assert 0.5 * cpu < summary["accounting"]["cpu_counted_ns"] <= cpu + 20_000_000
    assert cpu <= cgroup.usage_ns() - before, "which has baro's own CPU time as well"


def test_own_group_that_the_job_leaves(run, tape, cgroup):
    """As podman does: processes go into another group, and what they use there is the job's all the same."""
    other = cgroup.path / "other"
    other.mkdir()
    code = f"""
        import os, time
        open("{other}/cgroup.procs", "w").write("0")
        end = time.process_time() + 0.3
        while time.process_time() < end: pass
    """
    try:
        run.record(tape, script(code), "--cgroup", "own", cgroup=cgroup)
    finally:
        other.rmdir()
    assert run.summary(tape)["job"]["cpu_ns"] >= 300_000_000


def test_auto_only_in_a_delegated_group(run_both, tape, cgroup):
    mine = cgroup.path / "mine"
    mine.mkdir()
    cgroup.path.chmod(0o755)
    try:
        if run_both.uid is not None:
            for path in (mine, mine / "cgroup.procs"):
                os.chown(path, run_both.uid, run_both.uid)

        def enter():
            (mine / "cgroup.procs").write_text("0")

        class Mine:
            pass

        inside = Mine()
        inside.enter = enter
        run_both.record(tape, "true; true", cgroup=inside)
        assert source_of(run_both, tape) == "wait4", "the group is not delegated"
        tape.unlink()
        try:
            os.setxattr(mine, "user.delegate", b"1")
        except OSError:
            pytest.skip("control groups have no extended attributes of users here")
        run_both.record(tape, "true; true", cgroup=inside)
        assert source_of(run_both, tape) == "cgroup"
        tape.unlink()
        run_both.record(tape, "true; true", "--cgroup", "none", cgroup=inside)
        assert source_of(run_both, tape) == "wait4"
        assert [p for p in mine.iterdir() if p.is_dir()] == []
    finally:
        mine.rmdir()


def test_own_group_not_permitted(run_ordinary, tape, cgroup):
    done = run_ordinary("run", "-q", "-o", tape, "--cgroup", "own", "--", "sh", "-c", "exit 3", cgroup=cgroup, status=3)
    assert "no control group of its own" in done.stderr and len(done.stderr.splitlines()) == 1
    assert source_of(run_ordinary, tape) == "wait4"
    assert left(cgroup) == []


def test_own_group_below_a_threaded_group(run, tape, cgroup):
    """Below a threaded group only threads can be added: a group can be made there, but no process can enter it."""
    mine = cgroup.path / "mine"
    mine.mkdir()
    (mine / "cgroup.type").write_text("threaded")

    class Threaded:
        @staticmethod
        def enter():
            cgroup.enter()
            (mine / "cgroup.procs").write_text("0")

    try:
        run("run", "-q", "-o", str(tape), "--cgroup", "own", "--", "sh", "-c", "exit 3", cgroup=Threaded, status=3)
        assert source_of(run, tape) == "wait4", "the tape says that it is in there"
        assert [e["text"] for e in run.export(tape, "event") if e["event"] == "warning"] == [
            "the command could not be put into its own control group"
        ]
        assert [p for p in mine.iterdir() if p.is_dir()] == []
    finally:
        mine.rmdir()


def without_v2(run, *argv):
    """Hides v2, as on a machine that has v1 alone."""
    lines = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    return after_mounts(f'umount {" ".join(words[1] for words in lines if words[2] == "cgroup2")}', run.binary, *argv)


MEMORY = [sys.executable, "-c",
          "import time; x = bytearray(60 << 20); print(open('/proc/self/cgroup').read()); time.sleep(0.2)"]


@pytest.mark.parametrize("v2", [True, False], ids=["with v2", "alone"])
def test_own_group_of_v1(run, tape, v1, v2):
    """v2 counts CPU time where it is mounted, else v1 does; memory and threads come from v1 where v1 has these
    controllers. The groups are made below the ones that baro is in, and removed at the end."""
    above = {c: v1(c) for c in ("cpuacct", "memory", "pids")}
    argv = ["run", "-q", "-o", str(tape), "--cgroup", "own", "--", *MEMORY]
    argv = [str(run.binary), *argv] if v2 else without_v2(run, *argv)

    def enter():
        for group in above.values():
            group.enter()

    done = subprocess.run(argv, preexec_fn=enter, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    where = {line.split(":")[1]: line.split(":", 2)[2] for line in done.stdout.splitlines() if line}
    assert where["memory"].rsplit("/", 2)[1:] == [above["memory"].path.name, pathlib.Path(where["memory"]).name]
    for controller in ("memory", "pids", "" if v2 else "cpuacct"):
        assert pathlib.Path(where[controller]).name.startswith("baro-")
    assert (pathlib.Path(where["cpuacct"]).name == above["cpuacct"].path.name) == v2
    assert "baro-" not in where["cpu"], "it would change how CPU time is shared"
    summary = run.summary(tape)
    assert summary["accounting"]["kernel_source"] == "cgroup"
    assert 60 << 20 <= summary["limits"]["memory_peak_bytes"] <= 80 << 20
    assert summary["job"]["cpu_ns"] > 0
    rows = run.export(tape, "cgroup")
    assert rows[0]["name"] == where["memory"], "the one that counts memory is the first"
    assert all(not group.below() for group in above.values())


def test_own_group_of_v1_counts_cpu_time_of_all(run, tape, v1):
    """Processes that are never reaped and processes that left the tree are counted by cpuacct."""
    above = v1("cpuacct")
    script = "trap '' CHLD; /bin/true; setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' & wait"
    argv = without_v2(run, "run", "-q", "-o", str(tape), "--cgroup", "own", "--", "sh", "-c", script)
    subprocess.run(argv, preexec_fn=above.enter, timeout=60, check=True)
    summary, truth = run.summary(tape), int(above.read("cpuacct.usage"))
    assert summary["accounting"]["kernel_source"] == "cgroup"
    assert 0.5 * summary["job"]["cpu_ns"] < summary["accounting"]["cpu_counted_ns"] <= summary["job"]["cpu_ns"] + 20_000_000
    assert summary["job"]["cpu_ns"] <= truth


def test_own_group_without_hierarchies(run, tape, work):
    """Control groups are hidden, as in some containers: the job runs all the same, and no values are invented."""
    hide = 'if grep -q " /sys/fs/cgroup" /proc/mounts; then umount -R /sys/fs/cgroup; fi'
    for argv, status, says in ((["run", "--cgroup", "own", "--", "sh", "-c", "exit 3"], 3, "no control group of its own"),
                               (["record", "--force", "--cgroup", "/x"], 2, "no such control group")):
        argv = after_mounts(hide, run.binary, argv[0], "-q", "-o", tape, *argv[1:])
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        assert done.returncode == status and says in done.stderr and len(done.stderr.splitlines()) == 1
    summary = run.summary(tape)
    assert summary["accounting"]["kernel_source"] == "wait4" and run.export(tape, "cgroup") == []
    assert not str(summary["limits"]["memory_source"]).startswith("cgroup")


def test_own_group_with_groups_made_by_the_job(run, tape, work, cgroup, wait_until):
    """Processes in groups that the job makes belong to the job. These groups are removed at the end, except where a
    process outlives the job."""
    script = (f"here=$(ls -d {cgroup.path}/baro-* | grep -v self$); mkdir $here/a $here/a/b $here/c; "
              "(echo 0 > $here/a/b/cgroup.procs; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); ")
    run.record(tape, script, "--cgroup", "own", cgroup=cgroup)
    summary = run.summary(tape)
    assert summary["accounting"]["kernel_source"] == "cgroup"
    assert summary["accounting"]["cpu_counted_ns"] > 0.5 * summary["job"]["cpu_ns"]
    assert left(cgroup) == []
    lives = (f"sh -c 'echo 0 > '$here'/c/cgroup.procs; exec sleep 1000' > {work}/none 2>&1 & echo $! > {work}/pid; "
             "until grep -q . $here/c/cgroup.procs; do sleep 0.01; done")
    run.record(tape, script + lives, "--cgroup", "own", "--force", cgroup=cgroup)
    assert sorted(name for name in left(cgroup) if not name.startswith("baro-")) == ["a", "b", "c"]
    run.record(tape, "true", "--force", "--cgroup", "own", cgroup=cgroup)
    assert len(left(cgroup)) == 4
    os.kill(int((work / "pid").read_text()), signal.SIGKILL)
    wait_until(lambda: "populated 0" in cgroup.read("cgroup.events"), "the end of the survivor")
    run.record(tape, "true", "--force", "--cgroup", "own", cgroup=cgroup)
    assert left(cgroup) == [], "the next recording removes what is empty"


def test_only_groups_without_recorder_are_removed(run, tape, work, cgroup, wait_until):
    """A recorder holds a lock on its group: also where the command has left the group, and in another PID namespace,
    where the recorder's pid does not exist or belongs to another process."""
    (cgroup.path / "baro-1-00000000").mkdir()  # a name with the pid of another process, which is alive
    run.record(tape, "true", "--cgroup", "own", cgroup=cgroup)
    assert left(cgroup) == []
    leaves = f"echo 0 > {cgroup.path}/cgroup.procs; echo x > {work}/on; while [ ! -e {work}/off ]; do sleep 0.05; done"
    p = run.popen("run", "-q", "-o", work / "out.baro", "--cgroup", "own", "--", "sh", "-c", leaves, cgroup=cgroup)
    wait_until(lambda: (work / "on").exists(), "the command, outside of its group")
    if (cgroup.path / "cgroup.subtree_control").read_text().strip():
        pytest.skip("controllers are enabled here: the group itself can have no process")
    group = cgroup.path / left(cgroup)[0]
    argv = [*unshared("-pf", "--mount-proc"), run.binary, "run", "-q", "-o", tape, "--force", "--cgroup", "own", "true"]
    for _ in range(2):
        subprocess.run(argv, preexec_fn=cgroup.enter, timeout=60, check=True)
        assert left(cgroup) == [group.name]
        p.kill()  # the recorder goes on, and keeps its lock
        p.wait()
    while cgroup.pids():
        for pid in cgroup.pids():
            with contextlib.suppress(ProcessLookupError):  # a sleep that has ended in the meantime
                os.kill(pid, signal.SIGKILL)
    assert left(cgroup) == [group.name], "no recorder could remove it"
    subprocess.run(argv, preexec_fn=cgroup.enter, timeout=60, check=True)
    assert left(cgroup) == []


def processes_of(group):
    """Returns processes by name; those of baro that record are called otherwise."""
    return {comm(pid): pid for g in [group, *group.below()] for pid in g.pids()}


@pytest.mark.parametrize(
    "killed", [["baro-recorder"], ["baro"], ["baro", "baro-recorder"]], ids=["recorder", "wrapper", "both"]
)
def test_killed_in_a_delegated_group(run_ordinary, tape, work, cgroup, wait_until, killed):
    """An ordinary user, with a delegated group, and one of wrapper and recorder is killed: the other one removes the
    command's group, else the next recording does."""
    cgroup.path.chmod(0o755)
    mine = Cgroup(cgroup.path / "mine")
    mine.path.mkdir()
    for name in ("", "cgroup.procs", "cgroup.subtree_control"):
        os.chown(mine.path / name, run_ordinary.uid, run_ordinary.uid)
    argv = ["--cgroup", "own", "--", "sh", "-c", f"echo $$ > {work}/on; while [ ! -e {work}/off ]; do sleep 0.05; done"]
    p = run_ordinary.popen("run", "-q", "-o", str(tape), *argv, cgroup=mine, stderr=subprocess.DEVNULL)
    wait_until((work / "on").exists, "the command")
    run_ordinary.await_samples(tape)
    (own,) = mine.below()
    assert (own.path / "cgroup.procs").stat().st_uid == run_ordinary.uid
    there = processes_of(mine)
    for name in killed:
        os.kill(there[name], signal.SIGKILL)
    if "baro" in killed:
        p.wait()
    run_ordinary("run", "-q", "-o", str(work / "b.baro"), "--cgroup", "own", "--", "true", cgroup=mine, status=0)
    assert [g.path for g in mine.below()] == [own.path], "swept while the command is in it"
    (work / "off").touch()
    wait_until(lambda: not mine.pids() and not (own.path.exists() and own.pids()), "the end of all")
    p.wait()
    if len(killed) == 1:
        wait_until(lambda: mine.below() == [], "who is left to remove it")
        return
    assert [g.path for g in mine.below()] == [own.path]
    run_ordinary("run", "-q", "-o", str(work / "c.baro"), "--cgroup", "own", "--", "true", cgroup=mine, status=0)
    assert mine.below() == []
