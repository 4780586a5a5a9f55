# SPDX-License-Identifier: Apache-2.0
"""Readings of /proc for a caller who wants one number now; their public names are of 0.1. Trackers do not use these:
they read a tape."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from ... import _programs, _spawn
from . import _gpu

_ANSWERS_WITHIN = 2.0  # seconds; zpool, on a machine that is busy
TICKS = os.sysconf("SC_CLK_TCK")
_VIRTUAL = ("/proc", "/sys", "/dev", "/run")
_GONE = (ProcessLookupError, FileNotFoundError)


@functools.cache
def is_partition(disk_name: str) -> bool:
    """Is it a partition? Asks the kernel, which knows it of any disk."""
    return os.path.exists(f"/sys/class/block/{disk_name}/partition")


def _lies_over_others(disk_name: str) -> bool:
    if disk_name.startswith(("loop", "ram", "zram")):
        return True
    try:
        return bool(os.listdir(f"/sys/class/block/{disk_name}/slaves"))
    except OSError:
        return False


def get_pid_children(pid: int) -> set[int]:
    """All descendants: also those that another thread than the first has started."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{parent}/task/{thread}/children") as file:
                    new = {int(word) for word in file.read().split()} - found - {pid}
            except OSError:
                continue
            found |= new
            waiting.extend(new)
    return found


def get_pid_rss(pid: int) -> int:
    """The resident set in KiB; 0 if there is no such process."""
    return _line(f"/proc/{pid}/status", "VmRSS:")


def get_pid_pss_rollup(pid: int) -> int:
    """The proportional set in KiB; 0 if there is no such process."""
    return _line(f"/proc/{pid}/smaps_rollup", "Pss:")


def _line(path: str, key: str) -> int:
    """A line of a file of /proc in KiB; 0 where there is no such process, or it has no memory any more."""
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(key):
                    return int(line.split()[1])
    except _GONE:
        pass
    return 0


def get_pid_proc_times(pid: int, children: bool = True) -> dict[str, int]:
    """CPU time in ticks, with that of children that were waited for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # a name may have blanks and brackets
    except _GONE:
        return {"utime": 0, "stime": 0}
    own_user, own_system, user, system = (int(f) for f in fields[11:15])
    return {"utime": own_user + children * user, "stime": own_system + children * system}


def get_pid_proc_io(pid: int) -> dict[str, int]:
    """What /proc/PID/io has."""
    try:
        with open(f"/proc/{pid}/io") as file:
            return {name: int(value) for name, _, value in (line.partition(": ") for line in file)}
    except (*_GONE, PermissionError):
        return {"read_bytes": 0, "write_bytes": 0}


def pids_of_machine() -> int:
    return sum(name.isdigit() for name in os.listdir("/proc"))


class Totals(NamedTuple):
    """What a process and its children have used so far, in seconds and bytes; children: their number, if they count."""

    time: float
    pid: int
    children: int | None
    user: float
    system: float
    memory: float
    read_bytes: int
    write_bytes: int
    gpu: dict[str, Any]


def process_totals(pid: int, children: bool) -> Totals:
    """As /proc has it."""
    now = time.time()
    below = get_pid_children(pid)
    pids = [pid, *sorted(below)] if children else [pid]
    times = [get_pid_proc_times(p, children) for p in pids]
    io = [get_pid_proc_io(p) for p in pids]
    return Totals(
        now,
        pid,
        len(below) if children else None,
        sum(t["utime"] for t in times) / TICKS,
        sum(t["stime"] for t in times) / TICKS,
        sum(_memory(p) for p in pids) * 1024,
        sum(i["read_bytes"] for i in io),
        sum(i["write_bytes"] for i in io),
        _gpu.now(set(pids)),
    )


def _memory(pid: int) -> int:
    try:
        return get_pid_pss_rollup(pid)
    except PermissionError:
        return get_pid_rss(pid)


def _words(path: str) -> Iterator[list[str]]:
    try:
        with open(path) as file:
            for line in file:
                yield line.split()
    except FileNotFoundError:
        return


def meminfo() -> dict[str, int]:
    return {words[0].rstrip(":"): int(words[1]) for words in _words("/proc/meminfo")}


def disks() -> dict[str, dict[str, int]]:
    """Sectors of 512 bytes, whatever the disk has, of each disk that lies over no other."""
    found = {}
    for words in _words("/proc/diskstats"):
        if len(words) >= 14 and not is_partition(words[2]) and not _lies_over_others(words[2]):
            found[words[2]] = {"read_sectors": int(words[5]), "write_sectors": int(words[9])}
    return found


def zfs_pools() -> dict[str, dict[str, int]]:
    """Pools by what ZFS says, as its datasets share their free space. One that does not answer is left out."""
    try:
        asked = [_spawn.program("zpool") or "/sbin/zpool", "list", "-Hp", "-o", "name,size,allocated,free"]
        _, out, _ = _programs.output(*asked, timeout=_ANSWERS_WITHIN)
        lines = [line.split("\t") for line in os.fsdecode(out).splitlines()]
        return {
            f"zfs:{words[0]}": dict(zip(("total", "used", "free"), map(int, words[1:4])))
            for words in lines
            if len(words) >= 4
        }
    except (OSError, ValueError):
        return {}


def spaces(mounts: str = "/proc/self/mounts") -> dict[str, dict[str, int]]:
    """Each file system once, by the first place where it is mounted; of ZFS each pool."""
    found: dict[str, dict[str, int]] = {}
    seen, has_zfs = set(), False
    for words in _words(mounts):
        if words[2] == "zfs":
            has_zfs = True
            continue
        place = words[1].encode().decode("unicode_escape") if "\\" in words[1] else words[1]
        if any(place == v or place.startswith(v + "/") for v in _VIRTUAL):
            continue
        try:
            device, status = os.stat(place).st_dev, os.statvfs(place)
        except OSError:
            continue
        if status.f_blocks == 0 or device in seen:
            continue
        seen.add(device)
        total, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
        found[place] = {"total": total, "used": total - free, "free": free}
    return found | zfs_pools() if has_zfs else found


def network() -> tuple[int, int]:
    received = sent = 0
    for words in _words("/proc/net/dev"):
        name, _, first = " ".join(words).partition(":")
        if first and name != "lo" and not os.path.isdir(f"/sys/class/net/{name}/bridge"):
            values = first.split()
            received, sent = received + int(values[0]), sent + int(values[8])
    return received, sent


def cpu_ticks() -> tuple[int, int, int]:
    """User and nice; system with interrupts; forks since boot."""
    user = system = forks = 0
    for words in _words("/proc/stat"):
        if words[0] == "cpu":
            user = int(words[1]) + int(words[2])
            system = int(words[3]) + int(words[6]) + int(words[7])
        elif words[0] == "processes":
            forks = int(words[1])
    return user, system, forks
