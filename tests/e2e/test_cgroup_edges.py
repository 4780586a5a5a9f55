# SPDX-License-Identifier: Apache-2.0
"""Control groups and mounts where something is missing, or where there are unusually many."""

import os
import pathlib
import resource
import subprocess

import pytest
from conftest import Cgroup, unshared
from jobs import after_mounts
from test_cgroup import any_sample, attach, mount_of, source_of, v1, waiting  # noqa: F401 (v1 is a fixture)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")


def test_v1_without_cpu_time(run, tape, work, v1, wait_until):
    """The hierarchy does not count CPU time, but lists processes and their memory; the job's CPU time is the sum over
    its processes."""
    group = v1("memory")
    job, go = waiting(group, work, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    recorder = attach(run, tape, group.path, wait_until)
    go()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    job.wait()
    assert source_of(run, tape) != "cgroup"
    assert run.summary(tape)["job"]["cpu_ns"] > 0
    rows = run.export(tape, "cgroup")
    assert rows and all(r["label"] == "v1 memory" and r["cpu_ns"] in (None, "") for r in rows)
    assert any(r["memory_bytes"] not in (None, "", "0", 0) for r in rows)


def test_few_descriptors(run, tape, work, cgroup, wait_until):
    """There are more groups than descriptors for them: no process is missing, also one that comes later."""
    groups = [Cgroup(cgroup.path / f"g{i}") for i in range(60)]
    for group in groups:
        group.path.mkdir()
    job, go = waiting(cgroup, work, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    sleepers = [subprocess.Popen(["sleep", "1000"], preexec_fn=groups[i].enter) for i in (0, 30, 59)]
    recorder = attach(
        run, tape, cgroup.path, wait_until, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    )
    before = cgroup.usage_ns()
    assert {p.pid for p in sleepers} < {r["pid"] for r in run.export(tape)}
    sleepers.append(subprocess.Popen(["sleep", "1000"]))
    (groups[45].path / "cgroup.procs").write_text(str(sleepers[-1].pid))
    wait_until(lambda: sleepers[-1].pid in {r["pid"] for r in run.export(tape)}, "the one that was moved into a group")
    go()
    job.wait()
    for process in sleepers:
        process.kill()
        process.wait()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    truth = cgroup.usage_ns() - before
    assert abs(run.summary(tape)["job"]["cpu_ns"] - truth) <= 2_000_000 + truth // 1000


def test_a_thousand_groups(run, tape, cgroup, wait_until):
    """A process in the last of them is found, and so is one that moves to a group that is made during the recording."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 16384:
        pytest.skip("so many descriptors are not allowed")
    for i in range(1100):
        (cgroup.path / f"g{i}").mkdir()
    sleepers = [
        subprocess.Popen(["sleep", "1000"], preexec_fn=lambda i=i: (cgroup.path / f"g{i}/cgroup.procs").write_text("0"))
        for i in (0, 1099)
    ]

    def all_descriptors():
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    recorder = attach(run, tape, cgroup.path, wait_until, before=all_descriptors)
    assert {r["pid"] for r in run.export(tape)} == {p.pid for p in sleepers}
    (cgroup.path / "late").mkdir()
    (cgroup.path / "g500").rmdir()
    late = subprocess.Popen(["sleep", "1000"])
    (cgroup.path / "late/cgroup.procs").write_text(str(late.pid))
    wait_until(lambda: late.pid in {r["pid"] for r in run.export(tape)}, "the one that is in a new group")
    for process in (*sleepers, late):
        process.kill()
        process.wait()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    assert not [e for e in run.export(tape, "event") if "are not read" in e["text"]]


HIDE = "umount -R /sys/fs/cgroup"


def test_hidden_control_groups(run, tape, cgroup):
    """/proc names the control group, but no mount shows it: the job is recorded, and no values are invented."""
    subprocess.run(
        [*after_mounts(HIDE), run.binary, "run", "-q", "-o", str(tape), "--", "sh", "-c", "true; true"],
        check=True,
        timeout=60,
        cwd="/",
    )
    summary = run.summary(tape)
    assert summary["accounting"]["kernel_source"] == "wait4"
    assert run.export(tape, "cgroup") == []
    assert not str(summary["limits"]["memory_source"]).startswith("cgroup")
    done = subprocess.run(
        [*after_mounts(HIDE), run.binary, "record", "-q", "-o", str(tape), "--force", "--cgroup", str(cgroup.path)],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "no such control group" in done.stderr and len(done.stderr.splitlines()) == 1


OVERLAY = """set -e
mount -t overlay overlay -o lowerdir=$1/low,upperdir=$1/up,workdir=$1/work $1/root || exit 77
mount -t proc proc $1/root/proc; mount --bind $1/hosts $1/root/hosts
stat -f -c %i $1/root; stat -f -c %i $1/hosts
exec chroot $1/root /baro record --host --for 3s -q -o /t.baro
"""


@pytest.mark.not_sanitized("the binary is alone in its root, without any library")
def test_root_is_an_overlay(run, tape, work):
    """As in a container. The overlay has an id of its own (6.6), and the filesystem below it is also visible, as for
    /etc/hosts: that is one filesystem."""
    if subprocess.run(["ldd", run.binary], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        pytest.skip("not linked statically")
    for name in ("low/proc", "up", "work", "root"):
        (work / name).mkdir(parents=True)
    (work / "low/baro").write_bytes(pathlib.Path(run.binary).read_bytes())
    (work / "low/baro").chmod(0o755)
    for name in ("low/hosts", "hosts"):
        (work / name).touch()
    done = subprocess.run(
        [*unshared("-m", "--propagation", "private"), "sh", "-c", OVERLAY, "sh", str(work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    if done.returncode == 77:
        pytest.skip("no overlay can be mounted here: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    rows = run.export(work / "up/t.baro", "fs")
    assert rows and rows[-1]["total_bytes"] not in (None, "")
    last = [r for r in rows if r["time"] == rows[-1]["time"]]
    assert [r["name"] for r in last] == ["/"], done.stdout


def test_missing_group_and_mount(run, tape):
    for path in (mount_of("memory") / "no" / "such", pathlib.Path("/nowhere")):
        done = run("record", "--cgroup", path, "-o", str(tape), status=2)
        assert "no such control group" in done.stderr and not tape.exists()


@pytest.mark.parametrize("over", ["a group", "a tmpfs"])
def test_mount_over_another_mount(run, tape, v1, over):
    """The newest mount on a directory is the visible one: the limit of the group that it shows is found, and no limit
    is invented where it shows none."""
    group = v1("memory")
    group.write("memory.limit_in_bytes", 64 << 20)
    mount = (
        f"mount --bind {group.path} {mount_of('memory')}"
        if over == "a group"
        else f"mount -t tmpfs none {mount_of('memory')}"
    )
    via = [*unshared("-m"), "sh", "-c", f'echo 0 >{group.path}/cgroup.procs && {mount} && exec "$@"', "sh"]
    run.record(tape, ["true"], via=via)
    found = run.summary(tape)
    if over == "a group":
        assert found["limits"]["memory_bytes"] == 64 << 20 and found["limits"]["memory_source"].endswith(
            "memory.limit_in_bytes"
        )
    else:
        assert found["limits"]["memory_bytes"] is None and found["absent"]["limits.memory_bytes"] == "unknown"
