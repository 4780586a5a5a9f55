# SPDX-License-Identifier: Apache-2.0
"""Helpers, under the names of 0.5."""

from __future__ import annotations

from typing import Any, Callable

from ._proc import is_partition, zfs_pools as get_zfs_pools_space
from ._results import aggregate_stats
from ._track import render
from .v0_5 import get_process_stats, get_system_stats

__all__ = [
    "aggregate_stats",
    "get_tracker_implementation",
    "get_zfs_pools_space",
    "is_partition",
    "render_csv_row",
]


def get_tracker_implementation() -> tuple[Callable[..., Any], Callable[..., Any]]:
    return get_process_stats, get_system_stats


def render_csv_row(row: Any) -> bytes:
    return render(list(row), "\n").encode()
