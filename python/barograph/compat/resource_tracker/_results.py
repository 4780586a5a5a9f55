# SPDX-License-Identifier: Apache-2.0
"""What the tracker in the background makes of its two tables: one table, statistics, and what to ask for next time."""

from __future__ import annotations

import tempfile
from statistics import mean
from typing import Any

from .tiny_data_frame import StatSpec, TinyDataFrame

_MIB = 1024 * 1024


class Report(str):
    """A page of HTML."""

    def save(self, filepath: str) -> Report:
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> Report:
        import webbrowser

        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{file.name}")
        return self


def round_memory(mib: float) -> int:
    """A usual size of memory: 128 to 2048 MiB, then whole GiB."""
    for size in (128, 256, 512, 1024, 2048):
        if mib <= size:
            return size
    return -int(-mib // 1024) * 1024


def _duration(times: list[float]) -> float:
    return max(times) - min(times)


_P, _S = "process_", "system_"
DEFAULT_STATS = [
    *(
        StatSpec(_P + name, agg, round=2)
        for name in ("cpu_usage", "memory_mib", "gpu_usage", "gpu_vram_mib", "gpu_utilized")
        for agg in (mean, max)
    ),
    StatSpec(_S + "disk_space_used_gb", max, round=2),
    StatSpec(_S + "net_recv_bytes", sum),
    StatSpec(_S + "net_sent_bytes", sum),
    StatSpec("timestamp", _duration, "duration"),
]
_HUMAN = {
    "timestamp": "Timestamp",
    "processes": "processes",
    "utime": "CPU time (user)",
    "stime": "CPU time (system)",
    "cpu_usage": "CPU usage",
    "memory_free_mib": "free memory",
    "memory_used_mib": "used memory",
    "memory_buffers_mib": "memory buffers",
    "memory_cached_mib": "memory page/file cached",
    "memory_active_mib": "active memory",
    "memory_inactive_mib": "inactive memory",
    "disk_read_bytes": "disk read",
    "disk_write_bytes": "disk write",
    "disk_space_total_gb": "disk space total",
    "disk_space_used_gb": "disk space used",
    "disk_space_free_gb": "disk space free",
    "net_recv_bytes": "inbound network traffic",
    "net_sent_bytes": "outbound network traffic",
    "gpu_usage": "GPU usage",
    "gpu_vram_mib": "VRAM used",
    "gpu_utilized": "GPUs in use",
    "pid": "PID",
    "children": "children",
    "memory_mib": "memory usage",
}
# A machine is shared where it uses so much more than the job: a factor, or an amount.
_SHARED = (("cpu_usage", "cpu_usage", 1.25, 0.25), ("memory_mib", "memory_used_mib", 1.5, 512))
_SHARED_GPU = (("gpu_usage", "gpu_usage", 1.25, 0.2), ("gpu_vram_mib", "gpu_vram_mib", 1.25, 512))


def allocation(process: TinyDataFrame, system: TinyDataFrame) -> str | None:
    """Has the job the machine for itself ("dedicated"), or not ("shared")?"""
    if not len(process) or not len(system):
        return None
    for own, whole, factor, amount in (*_SHARED, *_SHARED_GPU):
        used = [v for v in process[own] if v not in (None, "")]
        all_used = [v for v in system[whole] if v not in (None, "")]
        if used and all_used and (mean(all_used) > mean(used) * factor or mean(all_used) > mean(used) + amount):
            return "shared"
    return "dedicated"


def combined(
    process: TinyDataFrame,
    system: TinyDataFrame,
    *,
    bytes: bool,
    human_names: bool,
    prefixes: tuple[str | None, str | None],
    offset: int,
) -> TinyDataFrame:
    """Both tables side by side. prefixes: of the machine's columns and of those of the process."""
    rows = slice(offset, min(len(process), len(system)))
    process, system = process[rows], system[rows]
    if not len(process):
        return TinyDataFrame(data=[])
    usual = ("System ", "Process ") if human_names else ("system_", "process_")
    shown_as = [default if given is None else given for given, default in zip(prefixes, usual)]
    columns: dict[str, list[Any]] = {}
    for table, prefix in ((system, shown_as[0]), (process, shown_as[1])):
        for name in table.columns:
            if name == "timestamp" and table is process:
                continue
            shown = _HUMAN.get(name, name) if human_names else name
            values = _in_bytes(name, table[name]) if bytes else table[name]
            columns[shown if name == "timestamp" else prefix + shown] = values
    return TinyDataFrame(data=columns)


def _in_bytes(name: str, values: list[Any]) -> list[Any]:
    factor = _MIB if name.endswith("_mib") else 10**9 if name.endswith("_gb") else 1
    return values if factor == 1 else [None if v in (None, "") else v * factor for v in values]


def aggregate_stats(stats: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The mean of means and durations, the most of maxima and sums."""
    found: dict[str, dict[str, Any]] = {}
    for column in dict.fromkeys(name for one in stats for name in one):
        found[column] = {}
        for kind in dict.fromkeys(k for one in stats for k in one.get(column, {})):
            if kind not in ("mean", "duration", "max", "sum"):
                raise ValueError(f"Unsupported aggregation type: {kind}")
            values = [one[column][kind] for one in stats if one.get(column, {}).get(kind) is not None]
            found[column][kind] = None if not values else mean(values) if kind in ("mean", "duration") else max(values)
    return found


def recommended(stats: dict[str, dict[str, Any]], original: bool) -> dict[str, int]:
    """CPUs, MiB of memory, GPUs and MiB of their memory for the next run of this kind."""

    def of(name: str, statistic: str) -> float:
        return float(stats[_P + name][statistic] or 0)

    memory = of("memory_mib", "max") * 1.2
    return {
        "cpu": max(1, round(of("cpu_usage", "mean"))),
        "memory": round_memory(memory / 1024 if original else memory),
        "gpu": max(1, round(of("gpu_usage", "max"))) if of("gpu_usage", "mean") > 0 else 0,
        "vram": round_memory(of("gpu_vram_mib", "max") * 1.2) if of("gpu_vram_mib", "max") > 0 else 0,
    }
