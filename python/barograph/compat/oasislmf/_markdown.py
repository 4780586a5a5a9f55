# SPDX-License-Identifier: Apache-2.0
"""The report as text."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any


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


def write_markdown(
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
