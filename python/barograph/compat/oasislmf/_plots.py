# SPDX-License-Identifier: Apache-2.0
"""The six pictures."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from importlib import import_module
from typing import Any

from ._rows import aggregate_by_tool_and_time, instance
from ._tools import TOOL_COLORS, Row

logger = logging.getLogger("barograph.compat.oasislmf")


PICTURES = {
    "agg_uss": "aggregate_uss.png",
    "agg_rss_vs_uss": "rss_vs_uss.png",
    "total": "total_footprint.png",
    "agg_cpu": "aggregate_cpu.png",
    "cpu_time": "cpu_time.png",
    "instances": "instance_count.png",
}


def generate_plots(
    rows: list[Row], report_dir: str, system_memory_mb: float | None = None, original: bool = False
) -> dict[str, str]:
    """Draws the six pictures with matplotlib; without it, nothing."""
    try:
        import_module("matplotlib").use("Agg")
        plt, ticker = import_module("matplotlib.pyplot"), import_module("matplotlib.ticker")
    except ImportError:
        logger.warning("matplotlib is not installed: pip install matplotlib draws the pictures in the tools' colours")
        return {}
    series = aggregate_by_tool_and_time(rows, original)
    return {
        "agg_uss": _plot_aggregate_uss(series, report_dir, plt, ticker),
        "agg_rss_vs_uss": _plot_aggregate_rss_vs_uss(series, report_dir, plt, ticker),
        "total": _plot_total_footprint(series, report_dir, plt, ticker, system_memory_mb),
        "agg_cpu": _plot_aggregate_cpu(series, report_dir, plt),
        "cpu_time": _plot_cpu_time(rows, report_dir, plt, ticker),
        "instances": _plot_instance_count(series, report_dir, plt, ticker),
    }


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.4g}"


class _Picture:
    """A figure with the axes, the legend and the file that all six have."""

    def __init__(self, plt: Any, title: str, y: str, ticker: Any = None, height: float = 5) -> None:
        self.plt = plt
        self.figure, self.axes = plt.subplots(figsize=(12, height))
        self.axes.set_xlabel("Time (s)")
        self.axes.set_ylabel(y)
        self.axes.set_title(title)
        self.axes.grid(True, alpha=0.3)
        if ticker is not None:
            self.axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _figure(value)))

    def save(self, folder: str, key: str, place: str = "upper right", size: int = 9, columns: int = 1) -> str:
        # In the free corner, as far as there is one: a legend must not hide the curve.
        self.axes.legend(loc=place, fontsize=size, ncol=columns, framealpha=0.6)
        self.figure.tight_layout()
        path = os.path.join(folder, PICTURES[key])
        self.figure.savefig(path, dpi=150)
        self.plt.close(self.figure)
        return path


def _in_order(series: dict[str, list[tuple[Any, ...]]]) -> list[str]:
    return sorted(series, key=lambda tool: series[tool][0][0] if series[tool] else 0)


def _curve(series: list[tuple[Any, ...]], index: int) -> tuple[list[float], list[float]]:
    return [point[0] for point in series], [point[index] for point in series]


def _plot_aggregate_uss(series: dict[str, Any], out_dir: str, plt: Any, ticker: Any) -> str:
    title = "Aggregate USS per Tool — Private Memory (summed across instances)"
    picture = _Picture(plt, title, "Aggregate USS (MB)", ticker)
    for tool in _in_order(series):
        t, uss = _curve(series[tool], 2)
        picture.axes.plot(t, uss, label=tool, color=TOOL_COLORS.get(tool), linewidth=1.5)
        picture.axes.fill_between(t, 0, uss, alpha=0.15, color=TOOL_COLORS.get(tool))
    return picture.save(out_dir, "agg_uss")


def _plot_aggregate_rss_vs_uss(series: dict[str, Any], out_dir: str, plt: Any, ticker: Any) -> str:
    picture = _Picture(plt, "RSS vs USS per Tool — gap shows shared/mmap memory", "Memory (MB)", ticker)
    for tool in _in_order(series):
        color = TOOL_COLORS.get(tool)
        t, rss = _curve(series[tool], 1)
        (line,) = picture.axes.plot(t, rss, label=f"{tool} RSS", color=color, linewidth=1.5, alpha=0.4, linestyle="--")
        t, uss = _curve(series[tool], 2)
        picture.axes.plot(t, uss, label=f"{tool} USS", color=color or line.get_color(), linewidth=1.5)
    return picture.save(out_dir, "agg_rss_vs_uss", size=8, columns=2)


def _plot_total_footprint(
    series: dict[str, Any], out_dir: str, plt: Any, ticker: Any, system_memory_mb: float | None = None
) -> str:
    times = sorted({point[0] for points in series.values() for point in points})
    picture = _Picture(plt, "Total Private Memory Footprint (stacked by tool)", "Total USS (MB)", ticker)
    below = [0.0] * len(times)
    for tool in _in_order(series):
        uss = {point[0]: point[2] for point in series[tool]}
        above = [b + uss.get(t, 0) for t, b in zip(times, below)]
        picture.axes.fill_between(times, below, above, label=tool, alpha=0.6, color=TOOL_COLORS.get(tool))
        below = above
    peak = max(below)
    picture.axes.axhline(y=peak, color="red", linestyle=":", linewidth=1, alpha=0.7)
    picture.axes.annotate(
        f"Peak: {peak:,.0f} MB",
        xy=(times[below.index(peak)], peak),
        xytext=(10, 8),
        textcoords="offset points",
        fontsize=9,
        color="red",
        arrowprops={"arrowstyle": "->", "color": "red", "lw": 0.8},
    )
    if system_memory_mb:
        words = f" System: {system_memory_mb:,.0f} MB"
        if system_memory_mb > 4 * peak:  # the curve would be a line at the bottom
            picture.axes.set_ylim(0, max(peak, 1) * 1.2)
            picture.axes.text(
                0.01, 0.97, words + " (above)", va="top", transform=picture.axes.transAxes, fontsize=9, alpha=0.7
            )
        else:
            picture.axes.axhline(y=system_memory_mb, color="black", linestyle="--", linewidth=1.2, alpha=0.5)
            picture.axes.text(times[0], system_memory_mb, words, va="bottom", ha="left", fontsize=9, alpha=0.7)
    return picture.save(out_dir, "total")


def _plot_aggregate_cpu(series: dict[str, Any], out_dir: str, plt: Any) -> str:
    picture = _Picture(plt, "Aggregate CPU% per Tool (summed across all instances)", "Aggregate CPU%")
    for tool in _in_order(series):
        picture.axes.plot(*_curve(series[tool], 3), label=tool, color=TOOL_COLORS.get(tool), linewidth=1.5)
    return picture.save(out_dir, "agg_cpu")


def _cumulative(rows: list[Row]) -> dict[str, list[tuple[float, float]]]:
    """{tool: CPU time until each moment}: what an instance that has ended had used stays in the sum."""
    begin = min(row["ts"] for row in rows)
    most: dict[str, dict[Any, float]] = defaultdict(dict)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    ordered = sorted(rows, key=lambda row: row["ts"])
    for i, row in enumerate(ordered):
        used, own = row["cpu_user"] + row["cpu_sys"], most[row["tool"]]
        if used > own.get(instance(row), 0):
            own[instance(row)] = used
        if i + 1 == len(ordered) or ordered[i + 1]["ts"] != row["ts"]:
            for tool, instances in most.items():
                found[tool].append((row["ts"] - begin, sum(instances.values())))
    return found


def _plot_cpu_time(rows: list[Row], out_dir: str, plt: Any, ticker: Any) -> str:
    title = "Cumulative CPU Time per Tool (user + system, summed across instances)"
    picture = _Picture(plt, title, "Cumulative CPU Time (s)", ticker)
    series = _cumulative(rows)
    for tool in _in_order(series):
        picture.axes.plot(*_curve(series[tool], 1), label=tool, color=TOOL_COLORS.get(tool), linewidth=1.5)
    return picture.save(out_dir, "cpu_time", "upper left")


def _plot_instance_count(series: dict[str, Any], out_dir: str, plt: Any, ticker: Any) -> str:
    picture = _Picture(plt, "Active Process Count per Tool", "Active Instances", height=4)
    for tool in _in_order(series):
        t, count = _curve(series[tool], 4)
        picture.axes.step(t, count, label=tool, color=TOOL_COLORS.get(tool), linewidth=1.5, where="post")
    picture.axes.yaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    return picture.save(out_dir, "instances")
