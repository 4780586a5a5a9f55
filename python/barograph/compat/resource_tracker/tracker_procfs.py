# SPDX-License-Identifier: Apache-2.0
"""Readings of /proc, under the names of 0.5."""

from __future__ import annotations

from ._proc import (
    get_pid_children as get_process_children,
    get_pid_proc_io as get_process_proc_io,
    get_pid_proc_times as get_process_proc_times,
    get_pid_pss_rollup as get_process_pss_rollup,
    get_pid_rss as get_process_rss,
)
from .v0_5 import get_process_stats, get_system_stats

__all__ = [
    "get_process_children",
    "get_process_proc_io",
    "get_process_proc_times",
    "get_process_pss_rollup",
    "get_process_rss",
    "get_process_stats",
    "get_system_stats",
]
