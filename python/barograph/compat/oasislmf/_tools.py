# SPDX-License-Identifier: Apache-2.0
"""The tools that are recorded, their colours and the columns of a row."""

from __future__ import annotations

from typing import Any

MONITORED_TOOLS = frozenset("evepy modelpy gulpy fmpy gulmc summarypy plapy katpy eltpy pltpy aalpy lecpy".split())
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
# The program itself, or the script that an interpreter executes: not whoever mentions it. A command line is matched as
# arguments with blanks between them, so a folder that has blanks itself is known by its end: "My Models/bin/evepy".
_FOLDER = r"([^ ]*/|\.*/[^ ]*( +[^-/ ][^ ]*)*/bin/)?"
PROGRAM = rf"^({_FOLDER}(python|pypy)[0-9.]* +(-[XW] +[^ ]+ +|-[^ ]+ +)*)?{_FOLDER}%s(\.py)?( |$)"

Row = dict[str, Any]
Moment = tuple[float, list[Row]]
