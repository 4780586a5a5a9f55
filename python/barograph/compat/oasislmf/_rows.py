# SPDX-License-Identifier: Apache-2.0
"""Rows of the CSV, and the statistics of them."""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import Any

from ._tools import Moment, Row


def load_csv(path: str) -> list[Row]:
    """The rows of a CSV; one that is not complete is left out."""
    rows = []
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            try:
                rows.append(
                    {
                        "ts": float(row["timestamp"]),
                        "tool": row["tool"],
                        "pid": int(row["pid"]),
                        "cpu": float(row["cpu_pct"]),
                        "cpu_user": float(row["cpu_user_s"]),
                        "cpu_sys": float(row["cpu_sys_s"]),
                        "rss": int(row["rss_kb"]),
                        "uss": int(row["uss_kb"]),
                        "pss": int(row["pss_kb"]),
                    }
                )
            except (ValueError, KeyError, TypeError):
                continue
    return rows


def instance(row: Row) -> tuple[int, int]:
    """Two files may have the same pid: they are of two scripts, or of two machines."""
    return row.get("source", 0), row["pid"]


def _lives(row: Row) -> bool:
    """The last row of a process that has ended has no memory."""
    return bool(row["rss"] != 0)


def _kib(row: Row, name: str) -> int:
    return max(0, int(row[name]))  # -1: it could not be read


def _moments(rows: list[Row], original: bool = False) -> list[Moment]:
    """The rows that hold at each moment. Files that were written side by side have no moment in common: a row holds
    until the next one of its file."""
    by_source: dict[int, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_source[0 if original else row.get("source", 0)][row["ts"]].append(row)
    if len(by_source) == 1:
        (only,) = by_source.values()
        return sorted(only.items(), key=lambda item: item[0])
    events: list[tuple[float, int, list[Row]]] = []
    for source, groups in by_source.items():
        times = sorted(groups)
        events.extend((t, source, groups[t]) for t in times)
        steps = sorted(b - a for a, b in zip(times, times[1:]))
        events.append((times[-1] + (steps[len(steps) // 2] if steps else 0.0), source, []))
    holds: dict[int, list[Row]] = {}
    found: dict[float, list[Row]] = {}
    for t, source, group in sorted(events, key=lambda event: event[0]):
        holds[source] = group
        found[t] = [row for group in holds.values() for row in group]
    return list(found.items())


def _sums(moments: list[Moment], name: str, tool: str | None = None) -> list[int]:
    return [sum(_kib(r, name) for r in rows if tool in (None, r["tool"])) for _, rows in moments]


def compute_stats(rows: list[Row], original: bool = False) -> dict[str, dict[str, Any]]:
    """{tool: what its row of the table has}."""
    has_pss = any(row["pss"] >= 0 for row in rows)
    moments = _moments(rows, original)
    tools: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        tools[row["tool"]].append(row)
    return {tool: _stats_of(tool, own, moments, has_pss, original) for tool, own in tools.items()}


def _most(rows: list[Row], name: str, key: Any) -> dict[Any, float]:
    most: dict[Any, float] = {}
    for row in rows:
        most[key(row)] = max(most.get(key(row), 0), row[name])
    return most


def _stats_of(tool: str, rows: list[Row], moments: list[Moment], has_pss: bool, original: bool) -> dict[str, Any]:
    key = (lambda row: row["pid"]) if original else instance
    living = rows if original else [row for row in rows if _lives(row) and row["uss"] >= 0]
    user, system = (sum(_most(rows, name, key).values()) for name in ("cpu_user", "cpu_sys"))
    times = [row["ts"] for row in rows]
    found = {
        "n_instances": len({key(row) for row in rows}),
        "n_samples": len(rows if original else [row for row in rows if _lives(row)]),
        "single_peak_uss_mb": max(_most(rows, "uss", key).values()) / 1024,
        "agg_peak_rss_mb": max(_sums(moments, "rss", tool)) / 1024,
        "agg_peak_uss_mb": max(_sums(moments, "uss", tool)) / 1024,
        "peak_cpu": max(row["cpu"] for row in rows),
        "avg_uss_mb": sum(row["uss"] for row in living) / len(living) / 1024 if living else 0.0,
        "avg_cpu": sum(row["cpu"] for row in rows) / len(rows),
        "duration_s": max(times) - min(times),
        "total_cpu_user_s": round(user, 1),
        "total_cpu_sys_s": round(system, 1),
        "total_cpu_time_s": round(user + system, 1),
    }
    if has_pss:
        found["agg_peak_pss_mb"] = max(_sums(moments, "pss", tool)) / 1024
    return found


def compute_peak_total_uss(rows: list[Row], original: bool = False) -> float:
    """The most private memory that all tools had at one moment, in MB."""
    return max(_sums(_moments(rows, original), "uss"), default=0) / 1024


def aggregate_by_tool_and_time(rows: list[Row], original: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    """{tool: [(seconds, RSS, USS, CPU%, living processes, CPU user, CPU system), ...]}."""
    moments = _moments(rows, original)
    begin = moments[0][0]
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for t, group in moments:
        for tool in dict.fromkeys(row["tool"] for row in group):
            own = [row for row in group if row["tool"] == tool]
            found[tool].append(
                (
                    t - begin,
                    sum(_kib(row, "rss") for row in own) / 1024,
                    sum(_kib(row, "uss") for row in own) / 1024,
                    sum(row["cpu"] for row in own),
                    len(own) if original else sum(map(_lives, own)),
                    sum(row["cpu_user"] for row in own),
                    sum(row["cpu_sys"] for row in own),
                )
            )
    return found
