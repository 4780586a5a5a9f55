# SPDX-License-Identifier: Apache-2.0
"""In the place of resource_tracker 0.1 and its module tracker: columns and units of that version.

from barograph.compat.resource_tracker.v0_1 import PidTracker, SystemTracker
"""

from __future__ import annotations

from typing import Any

from . import _gpu, _proc, _track
from ._proc import (
    get_pid_children,
    get_pid_proc_io,
    get_pid_proc_times,
    get_pid_pss_rollup,
    get_pid_rss,
    is_partition,
)
from .cloud_info import get_cloud_info
from .server_info import get_server_info as _server_info
from .tiny_data_frame import TinyDataFrame

__all__ = [
    "PidTracker",
    "SystemTracker",
    "TinyDataFrame",
    "get_cloud_info",
    "get_pid_children",
    "get_pid_proc_io",
    "get_pid_proc_times",
    "get_pid_pss_rollup",
    "get_pid_rss",
    "get_pid_stats",
    "get_server_info",
    "get_system_stats",
    "is_partition",
]


def get_pid_stats(pid: int, children: bool = True) -> dict[str, Any]:
    """What a process and its children have used so far, in ticks, KiB and bytes."""
    return _stats_of(_proc.process_totals(pid, children))


def _stats_of(found: _proc.Totals) -> dict[str, Any]:
    return {
        "timestamp": found.time,
        "pid": found.pid,
        "children": found.children,
        "utime": round(found.user * _proc.TICKS),
        "stime": round(found.system * _proc.TICKS),
        "pss": round(found.memory / 1024),
        "read_bytes": found.read_bytes,
        "write_bytes": found.write_bytes,
        **found.gpu,
    }


def get_system_stats() -> dict[str, Any]:
    """The machine, in ticks, KiB, sectors and bytes."""
    import time

    now = time.time()
    user, system, forks = _proc.cpu_ticks()
    memory = _proc.meminfo()
    received, sent = _proc.network()
    free, buffers, cached = memory.get("MemFree", 0), memory.get("Buffers", 0), memory.get("Cached", 0)
    return {
        "timestamp": now,
        "processes": forks,
        "utime": user,
        "stime": system,
        "memory_free": free,
        "memory_used": memory.get("MemTotal", 0) - free - buffers - cached,
        "memory_buffers": buffers,
        "memory_cached": cached,
        "memory_active_anon": memory.get("Active(anon)", 0),
        "memory_inactive_anon": memory.get("Inactive(anon)", 0),
        "disk_stats": _proc.disks(),
        "disk_spaces": _proc.spaces(),
        "net_recv_bytes": received,
        "net_sent_bytes": sent,
        **_gpu.now(),
    }


def get_server_info() -> dict[str, Any]:
    """CPUs, memory and GPUs of this machine, with the names of that version."""
    info = _server_info()
    return {
        "vcpus": info["vcpus"],
        "memory_mb": info["memory_mib"],
        "gpu_count": info["gpu_count"],
        "gpu_names": info["gpu_names"],
        "gpu_memory_mb": info["gpu_memory_mib"],
    }


class _Header(_track.Tracker):
    """Rows with the ends of lines of 0.1, whose header takes the place of its first row."""

    DIALECT, END = "spare-cores", "\r\n"
    MEMORY, CPU_UNIT, SPACE_UNIT, ROUNDED = "pss", _proc.TICKS, 1024**3, False

    def _kept(self, values: list[Any]) -> bool:
        self._seen = getattr(self, "_seen", 0) + 1
        return not (self._original and self._seen == 1)


class PidTracker(_Header, _track.OfProcess):
    """Writes what a process and its children use as CSV, every `interval` seconds, until it ends."""

    def __init__(
        self,
        pid: int | None = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self._begin(pid, interval, children, original, None, not autostart)
        if autostart:
            self.start_tracking(output_file)

    _stats_of = staticmethod(_stats_of)

    def _complete(self, row: dict[str, Any]) -> dict[str, Any]:
        if not self.children:
            row["children"] = None
        return super()._complete(row)


class SystemTracker(_Header, _track.OfMachine):
    """Writes what the machine uses as CSV, every `interval` seconds, until it is ended."""

    def __init__(
        self,
        interval: float = 1,
        autostart: bool = True,
        output_file: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self._begin(interval, original, None)
        self.sector_sizes = {name: 512 for name in _proc.disks()}
        if self._original:
            self.sector_sizes = {name: _sector(name) for name in self.sector_sizes}
        if autostart:
            self.start_tracking(output_file)

    _read = staticmethod(get_system_stats)

    def _bytes_of(self, disk: str, moved: dict[str, int], way: str) -> int:
        return moved[f"{way}_sectors"] * self.sector_sizes.get(disk, 512)


def _sector(disk: str) -> int:
    try:
        with open(f"/sys/class/block/{disk}/queue/hw_sector_size") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 512
