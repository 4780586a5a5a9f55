# SPDX-License-Identifier: Apache-2.0
"""Samples as points of MLflow, and which of them a server lacks."""

from __future__ import annotations

from typing import Any

from ._names import Point, is_rate

Metric = tuple[str, float, int, int]  # key, value, milliseconds since 1970, step


class Step:
    """A sample on its way."""

    __slots__ = ("number", "point", "t_ns", "time_ms")

    def __init__(self, number: int, t_ns: int, time_ms: int, point: Point) -> None:
        self.number, self.t_ns, self.time_ms, self.point = number, t_ns, time_ms, point


def merged(points: list[Point]) -> Point:
    """One point for several samples: the highest of what is a level, the mean of what is a rate."""
    if len(points) == 1:
        return points[0]
    keys: dict[str, list[float]] = {}
    for point in points:
        for key, value in point.items():
            keys.setdefault(key, []).append(value)
    return {k: sum(v) / len(v) if is_rate(k) else max(v) for k, v in keys.items()}


def missing(client: Any, run_id: str, points: list[Metric]) -> list[Metric]:
    """Those that the server does not have."""
    newest: dict[str, tuple[int, int]] = {}
    for metric in getattr(client.get_run(run_id).data, "_metric_objs", ()):
        newest[metric.key] = (metric.step, metric.timestamp)
    ours: dict[str, list[tuple[int, int]]] = {}
    for key, _, time_ms, step in points:
        ours.setdefault(key, []).append((step, time_ms))
    there: dict[str, set[tuple[int, int]]] = {}
    for key, of_key in ours.items():
        last = newest.get(key)
        if last is None:
            there[key] = set()
        elif last in of_key:
            there[key] = {p for p in of_key if p <= last}
        elif last < of_key[0] and last[1] <= of_key[0][1]:
            there[key] = set()
        else:  # somebody else sends this key as well
            history = client.get_metric_history(run_id, key)
            there[key] = {(m.step, m.timestamp) for m in history}
    return [p for p in points if (p[3], p[2]) not in there[p[0]]]
