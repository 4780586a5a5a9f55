# SPDX-License-Identifier: Apache-2.0
"""Cgroups, medians, and the usage of other processes."""

import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

NOBODY = 65534
median = statistics.median


def quiet():
    """Waits until no other process uses the CPU, for half a minute at most."""
    for _ in range(30):
        before = busy_ticks()
        time.sleep(1)
        if busy_ticks() - before < 10:
            return


def busy_ticks():
    user, nice, system, _, _, irq, softirq, steal = map(int, open("/proc/stat").readline().split()[1:9])
    return user + nice + system + irq + softirq + steal


class Cgroup:
    """Two cgroups, one for the tool and one for the work, whose cpu.stat counts all processes that were ever in them.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def cpu_s(self):
        for line in (self.path / "cpu.stat").read_text().splitlines():
            if line.startswith("usage_usec"):
                return int(line.split()[1]) / 1e6
        raise OSError("no usage_usec")


def _mount():
    for line in open("/proc/mounts"):
        if line.split()[2] == "cgroup2":
            return line.split()[1]
    return None


@contextlib.contextmanager
def cgroup(for_everybody=False):
    """A cgroup with two children: .tool and .job. for_everybody: a process of another user that starts in .tool may
    move to .job."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="baro-bench-", dir=_mount()))
    groups = [top / "tool", top / "job"]
    for g in groups:
        g.mkdir()
    if for_everybody:
        for g in [top, *groups]:
            os.chmod(g, 0o755)
            os.chown(g / "cgroup.procs", NOBODY, NOBODY)
    pair = type("Pair", (), {"tool": Cgroup(groups[0]), "job": Cgroup(groups[1])})
    try:
        yield pair
    finally:
        for g in [*groups, top]:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    g.rmdir()
                    break
                time.sleep(0.05)


@contextlib.contextmanager
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="baro-bench-"))
    path.chmod(0o1777)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def children(pid):
    try:
        return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


def memory_kib(pid):
    """Memory of a process and its children, with shared memory counted once: PSS."""
    total = 0
    for p in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            for line in open(f"/proc/{p}/smaps_rollup"):
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total


def become(uid=None, group=None):
    """For preexec_fn."""

    def change():
        if group:
            group.enter()
        if uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)

    return change


def run(argv, uid=None, group=None, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([str(a) for a in argv], preexec_fn=become(uid, group), check=False, **kw)


def popen(argv, uid=None, group=None, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(a) for a in argv], preexec_fn=become(uid, group), **kw)
