# SPDX-License-Identifier: Apache-2.0
"""Columns and units of resource_tracker 0.5: readings, the trackers that block, and the rows of a tape."""

from __future__ import annotations

import bisect
import time
import warnings
from typing import Any

from ...tape import Tape
from .. import _base
from . import _gpu, _proc, _track
from .tiny_data_frame import TinyDataFrame

# ---- once ----


def _in_mib(gpu: dict[str, Any]) -> dict[str, Any]:
    return {"gpu_vram_mib" if name == "gpu_vram" else name: v for name, v in gpu.items()}


def get_process_stats(pid: int, children: bool = True) -> dict[str, Any]:
    """What a process and its children have used so far, in seconds, MiB and bytes."""
    return _stats_of(_proc.process_totals(pid, children))


def _stats_of(found: _proc.Totals) -> dict[str, Any]:
    return {
        "timestamp": found.time,
        "pid": found.pid,
        "children": found.children,
        "utime": found.user,
        "stime": found.system,
        "memory_mib": found.memory / _base.MIB,
        "disk_read_bytes": found.read_bytes,
        "disk_write_bytes": found.write_bytes,
        **_in_mib(found.gpu),
    }


def get_system_stats() -> dict[str, Any]:
    """The machine, in seconds, MiB and bytes."""
    now = time.time()
    user, system, _ = _proc.cpu_ticks()
    memory = _proc.meminfo()
    received, sent = _proc.network()
    return {
        "timestamp": now,
        "processes": _proc.pids_of_machine(),
        "utime": user / _proc.TICKS,
        "stime": system / _proc.TICKS,
        "memory_free_mib": memory.get("MemFree", 0) / 1024,
        "memory_used_mib": (memory.get("MemTotal", 0) - memory.get("MemAvailable", 0)) / 1024,
        "memory_buffers_mib": memory.get("Buffers", 0) / 1024,
        "memory_cached_mib": (memory.get("Cached", 0) + memory.get("SReclaimable", 0)) / 1024,
        "memory_active_mib": memory.get("Active", 0) / 1024,
        "memory_inactive_mib": memory.get("Inactive", 0) / 1024,
        "disk_stats": {
            name: {"read_bytes": d["read_sectors"] * 512, "write_bytes": d["write_sectors"] * 512}
            for name, d in _proc.disks().items()
        },
        "disk_spaces": _proc.spaces(),
        "net_recv_bytes": received,
        "net_sent_bytes": sent,
        **_in_mib(_gpu.now()),
    }


# ---- the trackers that block ----


class ProcessTracker(_track.OfProcess):
    """Writes what a process and its children use as CSV, every `interval` seconds, until it ends."""

    def __init__(
        self,
        pid: int | None = None,
        start_time: float | None = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.get_process_stats = get_process_stats
        self._begin(pid, interval, children, original, start_time, not autostart)
        if autostart:
            _track.wait_until(start_time)
            self.start_tracking(output_file)

    _stats_of = staticmethod(_stats_of)

    def diff_stats(self) -> dict[str, Any]:
        """What was used since the last call."""
        row = super().diff_stats()
        return {**row, "children": (row["children"] or None) if self._original else row["children"]}

    def _complete(self, row: dict[str, Any]) -> dict[str, Any]:
        if not self.children or (self._original and not row["children"]):
            row["children"] = None
        return super()._complete(row)


class PidTracker(ProcessTracker):
    """The old name of ProcessTracker. With the columns of 0.1: barograph.compat.resource_tracker.v0_1.PidTracker."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "PidTracker is deprecated and will be removed in a future release. Please use ProcessTracker instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class SystemTracker(_track.OfMachine):
    """Writes what the machine uses as CSV, every `interval` seconds, until it is ended."""

    def __init__(
        self,
        start_time: float | None = None,
        interval: float = 1,
        autostart: bool = True,
        output_file: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.get_system_stats = get_system_stats
        self._begin(interval, original, start_time)
        if autostart:
            _track.wait_until(start_time)
            self.start_tracking(output_file)

    _read = staticmethod(get_system_stats)

    def _complete(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**super()._complete(row), "processes": _proc.pids_of_machine()}


# ---- the rows of a tape ----

# Marks how many processes the machine has, which no tape knows by itself.
COUNT = _base.SETSID + r"""
IFS= read -r events && exec 4>>"$events"
$setsid sh -c 'while sleep "$interval"; do
    set -- /proc/[0-9]*
    echo "{\"mark\": \"machine\", \"processes\": $#}" >&4
done' >/dev/null &
helpers=$!
"""


def _counts(tape: Tape) -> list[tuple[float, int]]:
    """How many processes the machine had, and when."""
    start, marks = tape.header.start_ns, [e for e in tape.events if e.kind == "mark" and e.name == "machine"]
    return [((start + e.t_ns) / 1e9, e.attributes["processes"]) for e in marks if "processes" in e.attributes]


def table_of(tape: Tape, entity: str, *, children: bool = True, original: bool = False) -> TinyDataFrame:
    """The rows of a tape in the columns of 0.5."""
    lines = _base.export(tape, "spare-cores-0.5", entity).splitlines()
    if not lines:
        return TinyDataFrame(data=[])
    names = [str(name) for name in _track.cells(lines[0])]
    counts = _counts(tape) if entity == "host" else []
    rows = []
    for line in lines[1:]:
        values = _track.cells(line)
        if len(values) != len(names):
            continue
        row = _gpu.complete(dict(zip(names, values)))
        if entity == "host":
            at = bisect.bisect(counts, (values[0],)) - 1  # the newest one; before the first, the first
            row["processes"] = counts[max(0, at)][1] if counts else None
        elif not children or (original and not row["children"]):
            row["children"] = None
        rows.append(row)
    return TinyDataFrame(data=rows)
