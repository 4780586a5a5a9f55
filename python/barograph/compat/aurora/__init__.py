# SPDX-License-Identifier: Apache-2.0
"""In the place of apache.thermos.monitoring: what the processes of a task use, and its sandbox on the disk.

Each process of a task has a recording. A thread there is, as in the original: it asks the TaskMonitor, an object of the
caller, which processes the task has by now."""

from __future__ import annotations

from .disk import (
    AbstractDiskCollector,
    DiskCollector,
    DiskCollectorProvider,
    DiskCollectorSettings,
    DuDiskCollector,
    MesosDiskCollector,
)
from .monitor import (
    AggregateResourceResult,
    FullResourceResult,
    HistoryProvider,
    NullTaskResourceMonitor,
    ProcResourceResult,
    ResourceHistory,
    ResourceMonitorBase,
    TaskResourceMonitor,
)
from .processes import (
    ProcessSample,
    ProcessTreeCollector,
)
from .quantity import (
    Amount,
    Time,
)

__all__ = [
    "AbstractDiskCollector",
    "AggregateResourceResult",
    "Amount",
    "DiskCollector",
    "DiskCollectorProvider",
    "DiskCollectorSettings",
    "DuDiskCollector",
    "FullResourceResult",
    "HistoryProvider",
    "MesosDiskCollector",
    "NullTaskResourceMonitor",
    "ProcResourceResult",
    "ProcessSample",
    "ProcessTreeCollector",
    "ResourceHistory",
    "ResourceMonitorBase",
    "TaskResourceMonitor",
    "Time",
]
