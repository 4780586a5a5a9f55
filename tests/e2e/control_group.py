# SPDX-License-Identifier: Apache-2.0
"""A control group that a test makes, with the kernel's count of CPU time."""

import os
import pathlib
import signal
import time


def cgroup2_mounts():
    with open("/proc/mounts", encoding="utf-8") as mounts:
        return [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]


class Cgroup:
    """A new cgroup v2. A recording is compared with its cpu.stat, which counts the CPU time of all processes that ever
    ran in it, to the last instruction, whether they were reaped or not. usage_usec needs no controller."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def enter(self):
        """Moves the calling process into the group; for preexec_fn, before privileges are dropped."""
        with open(self.path / "cgroup.procs", "w", encoding="ascii") as procs:
            procs.write("0")

    def usage_ns(self):
        for line in (self.path / "cpu.stat").read_text().splitlines():
            key, value = line.split()
            if key == "usage_usec":
                return int(value) * 1000
        raise AssertionError(f"{self.path}/cpu.stat has no usage_usec")

    def pids(self):
        return [int(p) for p in (self.path / "cgroup.procs").read_text().split()]

    def write(self, name, text):
        (self.path / name).write_text(str(text))

    def read(self, name):
        return (self.path / name).read_text()

    def below(self):
        """The groups below this one, the deepest first."""
        return sorted((Cgroup(path) for path, _, _ in os.walk(self.path)), key=lambda g: -len(g.path.parts))[:-1]

    def remove(self):
        """Removes the group with all groups below it; kills their processes."""
        for _ in range(500):
            for group in [*self.below(), self]:
                for pid in group.pids():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                try:
                    group.path.rmdir()
                except OSError:
                    time.sleep(0.01)  # its processes have not ended yet
            if not self.path.exists():
                return
