# SPDX-License-Identifier: Apache-2.0
"""In the place of resource_tracker 0.5. That of 0.1, with its columns, is barograph.compat.resource_tracker.v0_1.

from barograph.compat.resource_tracker import ProcessTracker, ResourceTracker, SystemTracker
"""

from __future__ import annotations

from ._results import Report
from .cloud_info import get_cloud_info
from .server_info import get_server_info
from .tiny_data_frame import StatSpec, TinyDataFrame
from .tracker import ResourceTracker, RunStatus, track_resources
from .v0_1 import (
    get_pid_children,
    get_pid_proc_io,
    get_pid_proc_times,
    get_pid_pss_rollup,
    get_pid_rss,
    get_pid_stats,
    is_partition,
)
from .v0_5 import PidTracker, ProcessTracker, SystemTracker, get_process_stats, get_system_stats

__all__ = [
    "PidTracker",
    "ProcessTracker",
    "Report",
    "ResourceTracker",
    "RunStatus",
    "StatSpec",
    "SystemTracker",
    "TinyDataFrame",
    "get_cloud_info",
    "get_pid_children",
    "get_pid_proc_io",
    "get_pid_proc_times",
    "get_pid_pss_rollup",
    "get_pid_rss",
    "get_pid_stats",
    "get_process_stats",
    "get_server_info",
    "get_system_stats",
    "is_partition",
    "track_resources",
]
