# SPDX-License-Identifier: Apache-2.0
"""Control groups and mounts where something is missing, or where there are unusually many."""

import os
import pathlib
import resource
import subprocess

import pytest
from conftest import unshared
from control_group import Cgroup
from test_cgroup import attach, mount_of, v1, waiting  # noqa: F401 (v1 is a fixture)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")


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
    argv = [*unshared("-m", "--propagation", "private"), "sh", "-c", OVERLAY, "sh", str(work)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    if done.returncode == 77:
        pytest.skip("no overlay can be mounted here: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    rows = run.export(work / "up/t.baro", "fs")
    assert rows and rows[-1]["total_bytes"] not in (None, "")
    last = [r for r in rows if r["time"] == rows[-1]["time"]]
    assert [r["name"] for r in last] == ["/"], done.stdout


@pytest.mark.parametrize("over", ["a group", "a tmpfs"])
def test_mount_over_another_mount(run, tape, v1, over):
    """The newest mount on a directory is the visible one: the limit of the group that it shows is found, and no limit
    is invented where it shows none."""
    group = v1("memory")
    group.write("memory.limit_in_bytes", 64 << 20)
    mount = f"mount {f'--bind {group.path}' if over == 'a group' else '-t tmpfs none'} {mount_of('memory')}"
    via = [*unshared("-m"), "sh", "-c", f'echo 0 >{group.path}/cgroup.procs && {mount} && exec "$@"', "sh"]
    run.record(tape, ["true"], via=via)
    found = run.summary(tape)
    if over == "a group":
        assert found["limits"]["memory_bytes"] == 64 << 20
        assert found["limits"]["memory_source"].endswith("memory.limit_in_bytes")
    else:
        assert found["limits"]["memory_bytes"] is None and found["absent"]["limits.memory_bytes"] == "unknown"
