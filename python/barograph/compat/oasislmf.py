# SPDX-License-Identifier: Apache-2.0
"""In the place of oasislmf.execution.resource_monitor: a CSV of the tools that a kernel script runs, and a report of it
with a table and six pictures.

The CSV is written by a process of its own as the tape grows, also when the interpreter is killed. It appears with its
first row, so that a script which empties its folder when it begins does not remove it."""

from __future__ import annotations

import csv
import logging
import os
import re
import shutil
import tempfile
import warnings
import weakref
from collections import defaultdict
from datetime import datetime
from typing import Any

from ..errors import Error, RecordingWarning
from ..recorder import Recording
from . import _base

logger = logging.getLogger(__name__)

MONITORED_TOOLS = frozenset(
    "evepy modelpy gulpy fmpy gulmc summarypy plapy katpy eltpy pltpy aalpy lecpy".split()
)
_TOOL_RE = re.compile(r"\b(" + "|".join(sorted(MONITORED_TOOLS)) + r")\b")
CSV_HEADER = ["timestamp", "tool", "pid", "cpu_pct", "cpu_user_s", "cpu_sys_s", "rss_kb", "uss_kb", "pss_kb"]
TOOL_COLORS = {
    "evepy": "#17becf",
    "modelpy": "#bcbd22",
    "gulpy": "#7f7f7f",
    "fmpy": "#aec7e8",
    "gulmc": "#ffbb78",
    "summarypy": "#1f77b4",
    "pltpy": "#ff7f0e",
    "eltpy": "#2ca02c",
    "katpy": "#d62728",
    "aalpy": "#9467bd",
    "lecpy": "#8c564b",
    "plapy": "#e377c2",
}
# The program itself, or the script that an interpreter executes: not whoever mentions it.
_PROGRAM = r"^([^ ]*/)?((python|pypy)[0-9.]* +(-[XW] +[^ ]+ +|-[^ ]+ +)*)?([^ ]*/)?%s(\.py)?( |$)"

Row = dict[str, Any]
Moment = tuple[float, list[Row]]


class ResourceMonitor:
    """Records the tools that a script runs.

    output_dir: where resource_monitor.csv and resource_report/ are written. poll_interval: seconds between samples, at
    least 0.1. generate_report: whether stop() makes the report. log_root: of a report of all
    log_root/*/resource_monitor.csv together. original=True: all processes of the machine whose command mentions a tool,
    as the original takes them.
    """

    def __init__(
        self,
        output_dir: str,
        poll_interval: float = 1.0,
        generate_report: bool = True,
        log_root: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.output_dir = output_dir
        self.poll_interval = max(0.1, float(poll_interval))
        self.generate_report = generate_report
        self.log_root = log_root
        self._original = _base.as_original(original)
        self._csv_path = os.path.join(output_dir, "resource_monitor.csv")
        self._bash_pid: int | None = None
        self._companion: _base.Companion | None = None
        self.recording: Recording | None = None
        """The recording: `monitor.recording.summary`, `.verdicts`, `.tape.tasks`."""

    def start(self, bash_pid: int) -> None:
        """Begins to record what this script runs."""
        self._bash_pid = bash_pid
        self._companion = _base.Companion.csv(os.path.abspath(self._csv_path), "oasislmf", "process", append=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RecordingWarning)
            self.recording = self._record(bash_pid)
        for warning in caught:
            logger.warning("Resource monitor: %s", warning.message)
        if self.recording.path is not None:
            self._companion.begin(self.recording.tape)
        self._finalizer = weakref.finalize(self, _base._stop, self.recording, self._companion)
        _base.running.add(self)
        logger.info(
            "Resource monitor started (pid=%s, interval=%.1fs, csv=%s)", bash_pid, self.poll_interval, self._csv_path
        )

    def _record(self, bash_pid: int) -> Recording:
        if self._original:
            rules = [f"{tool}=\\b{tool}\\b" for tool in sorted(MONITORED_TOOLS)]
            return _base.record_machine(self.poll_interval, *(part for rule in rules for part in ("--name", rule)))
        rules_of = {tool: _PROGRAM % tool for tool in sorted(MONITORED_TOOLS)}
        return _base.record(bash_pid, self.poll_interval, tasks=rules_of)

    def stop(self) -> None:
        """Ends the recording and makes the report."""
        if self._companion is None or self.recording is None:
            return
        self._finalizer.detach()
        _base.running.discard(self)
        self.recording.stop()
        if not self._companion.end(self.poll_interval + 5.0):
            logger.warning("Resource monitor: %s is not complete yet", self._csv_path)
        self._companion = None
        logger.info("Resource monitor stopped, csv=%s", self._csv_path)
        if self.generate_report:
            self._generate_report()

    # ---- the report ----

    def _find_all_csvs(self) -> list[str]:
        """The CSVs in the folders of log_root."""
        if not self.log_root or not os.path.isdir(self.log_root):
            logger.info("Resource monitor: log_root '%s' is no directory", self.log_root)
            return []
        paths = [
            os.path.join(self.log_root, name, "resource_monitor.csv") for name in sorted(os.listdir(self.log_root))
        ]
        found = [path for path in paths if os.path.isfile(path)]
        logger.info("Resource monitor: %d CSV(s) found to combine", len(found))
        return found

    def _generate_report(self) -> None:
        """Makes resource_report/: the table, and the pictures."""
        root = self.log_root or self.output_dir
        paths = self._find_all_csvs() if self.log_root else [self._csv_path] * os.path.isfile(self._csv_path)
        rows: list[Row] = []
        for number, path in enumerate(paths):
            rows.extend({**row, "source": number} for row in _load_csv(path))
        if not rows:
            logger.info("No rows in a resource monitor CSV under %s, skipping report", root)
            return
        folder = os.path.join(root, "resource_report")
        os.makedirs(folder, exist_ok=True)
        memory = self._memory_mb()
        plots = _generate_plots(rows, folder, memory, self._original) or self._plots_of_tape(folder)
        text = _write_markdown(
            os.path.join(root, "resource_monitor.csv"),
            folder,
            _compute_stats(rows, self._original),
            plots,
            len(rows),
            memory,
            _compute_peak_total_uss(rows, self._original),
        )
        logger.info("Resource monitor report: %s (%d samples, %d plots)", text, len(rows), len(plots))

    def _memory_mb(self) -> float:
        """What the machine has, or what the script may have, where that is less."""
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _base.MIB
        if self._original or self.recording is None or self.recording.path is None:
            return float(total)
        records: list[Any] = [r for r in self.recording.tape.records() if type(r).__name__ == "Limits"]
        return min([total, *(int(r.memory_bytes) / _base.MIB for r in records if r.memory_bytes)])

    def _plots_of_tape(self, folder: str) -> dict[str, str]:
        """Without matplotlib: the figures of `baro report`, of this monitor's own tape."""
        if self._original or self.log_root or self.recording is None or self.recording.path is None:
            return {}
        from .._programs import execute

        found = {}
        with tempfile.TemporaryDirectory(prefix="barograph-") as made:
            try:
                execute("report", "--force", "-o", made + "/report/", self.recording.path)
            except Error as error:
                logger.warning("Resource monitor: no pictures: %s", error)
                return {}
            for key, name in _PICTURES.items():
                if os.path.exists(os.path.join(made, "report", name)):
                    found[key] = shutil.copy(os.path.join(made, "report", name), os.path.join(folder, name))
        return found


# ---- rows ----


def _load_csv(path: str) -> list[Row]:
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


def _instance(row: Row) -> tuple[int, int]:
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


def _compute_stats(rows: list[Row], original: bool = False) -> dict[str, dict[str, Any]]:
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
    key = (lambda row: row["pid"]) if original else _instance
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


def _compute_peak_total_uss(rows: list[Row], original: bool = False) -> float:
    """The most private memory that all tools had at one moment, in MB."""
    return max(_sums(_moments(rows, original), "uss"), default=0) / 1024


def _aggregate_by_tool_and_time(rows: list[Row], original: bool = False) -> dict[str, list[tuple[Any, ...]]]:
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


# ---- pictures ----

_PICTURES = {
    "agg_uss": "aggregate_uss.png",
    "agg_rss_vs_uss": "rss_vs_uss.png",
    "total": "total_footprint.png",
    "agg_cpu": "aggregate_cpu.png",
    "cpu_time": "cpu_time.png",
    "instances": "instance_count.png",
}


def _generate_plots(
    rows: list[Row], report_dir: str, system_memory_mb: float | None = None, original: bool = False
) -> dict[str, str]:
    """Draws the six pictures with matplotlib; without it, nothing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib import ticker
    except ImportError:
        logger.warning("matplotlib is not installed: pip install matplotlib draws the pictures in the tools' colours")
        return {}
    series = _aggregate_by_tool_and_time(rows, original)
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
        path = os.path.join(folder, _PICTURES[key])
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
        if used > own.get(_instance(row), 0):
            own[_instance(row)] = used
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


# ---- the text ----

_SECTIONS = (
    ("agg_uss", "Aggregate USS — Private Memory per Tool", "Aggregate USS"),
    ("agg_rss_vs_uss", "RSS vs USS — Shared Memory Overhead", "RSS vs USS"),
    ("total", "Total Private Memory Footprint (stacked)", "Total Footprint"),
    ("agg_cpu", "Aggregate CPU%", "Aggregate CPU"),
    ("cpu_time", "Cumulative CPU Time (user + system)", "CPU Time"),
    ("instances", "Active Instance Count", "Instance Count"),
)


def _table_of(stats: dict[str, dict[str, Any]]) -> list[str]:
    """A column each: its title, its rule, and how a value is written."""
    columns = [
        ("Tool", "------", "{tool}"),
        ("Instances", "-----------", "{n_instances}"),
        ("Samples", "---------", "{n_samples}"),
        ("**Peak USS/inst (MB)**", "----------------------:", "**{single_peak_uss_mb:.1f}**"),
        ("**Aggr Peak USS (MB)**", "-----------------------:", "**{agg_peak_uss_mb:.1f}**"),
        ("Aggr Peak RSS (MB)", "--------------------:", "{agg_peak_rss_mb:.1f}"),
        ("Aggr Peak PSS (MB)", "--------------------:", "{agg_peak_pss_mb:.1f}"),
        ("Peak CPU%", "----------:", "{peak_cpu:.1f}%"),
        ("CPU User (s)", "-------------:", "{total_cpu_user_s:.1f}"),
        ("CPU Sys (s)", "------------:", "{total_cpu_sys_s:.1f}"),
        ("**CPU Total (s)**", "------------------:", "**{total_cpu_time_s:.1f}**"),
        ("Avg USS (MB)", "-------------:", "{avg_uss_mb:.1f}"),
        ("Avg CPU%", "---------:", "{avg_cpu:.1f}%"),
        ("Duration (s)", "-------------:", "{duration_s:.1f}"),
    ]
    if not any("agg_peak_pss_mb" in of for of in stats.values()):
        columns = [column for column in columns if "pss" not in column[2]]
    lines = ["| " + " | ".join(c[0] for c in columns) + " |", "|" + "|".join(c[1] for c in columns) + "|"]
    for tool in sorted(stats):
        values = {"agg_peak_pss_mb": 0, **stats[tool], "tool": tool}
        lines.append("| " + " | ".join(c[2].format(**values) for c in columns) + " |")
    return lines


def _write_markdown(
    csv_path: str,
    report_dir: str,
    stats: dict[str, dict[str, Any]],
    plots: dict[str, str],
    total_samples: int,
    system_memory_mb: float | None = None,
    peak_total_uss_mb: float | None = None,
) -> str:
    """Writes resource_report.md and returns its path."""
    lines = ["# Resource Monitor Report", ""]
    lines.append(f"**Generated:** {datetime.now():%Y-%m-%d %H:%M:%S}")
    lines.append(f"**Total samples:** {total_samples:,}")
    lines.append(f"**Source:** `{os.path.basename(csv_path)}`")
    if system_memory_mb:
        lines.append(f"**System memory:** {system_memory_mb:,.0f} MB")
    if peak_total_uss_mb is not None:
        share = f" ({peak_total_uss_mb / system_memory_mb * 100:.1f}% of system memory)" if system_memory_mb else ""
        lines.append(f"**Peak total USS:** {peak_total_uss_mb:,.0f} MB{share}")
    lines += [
        "",
        "> **USS** (Unique Set Size) = private memory per process.  ",
        "> **RSS** includes shared/mmap pages counted in every process — USS avoids this double-counting.",
        "",
        "## Summary Statistics",
        "",
        *_table_of(stats),
        "",
    ]
    for key, title, words in _SECTIONS:
        if plots.get(key):
            lines += [f"## {title}", "", f"![{words}]({os.path.basename(plots[key])})", ""]
    lines += ["---", f"*Source: `{csv_path}`*"]
    path = os.path.join(report_dir, "resource_report.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return path
