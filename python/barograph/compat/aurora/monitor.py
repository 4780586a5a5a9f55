# SPDX-License-Identifier: Apache-2.0
"""The thread that asks which processes the task has, and the history of what they used."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _base
from .disk import AbstractDiskCollector, DiskCollectorProvider, DiskCollectorSettings
from .processes import ProcessSample, ProcessTreeCollector
from .quantity import Amount, Time, seconds

log = logging.getLogger("barograph.compat.aurora")


class AggregateResourceResult(NamedTuple):
    """What a task uses: processes, their sum, and the sandbox in bytes."""

    num_procs: int
    process_sample: ProcessSample
    disk_usage: int


class ProcResourceResult(NamedTuple):
    """What a process of a task uses with its children, and their number."""

    process_sample: ProcessSample
    num_procs: int


class FullResourceResult(NamedTuple):
    """{ProcessStatus: ProcResourceResult}, and the sandbox in bytes."""

    proc_usage: dict[Any, ProcResourceResult]
    disk_usage: int


class ResourceMonitorBase(ABC):
    """What the observer of tasks asks."""

    class Error(Exception):
        pass

    @abstractmethod
    def sample(self) -> tuple[float, AggregateResourceResult]:
        """(timestamp, what the task uses now)."""

    @abstractmethod
    def sample_at(self, timestamp: float) -> tuple[float, AggregateResourceResult]:
        """(timestamp, what the task used at a time)."""

    @abstractmethod
    def sample_by_process(self, process_name: str) -> ProcessSample:
        """What a process of the task uses now."""


# As the original has them, too.
for _result in (AggregateResourceResult, FullResourceResult, ProcResourceResult):
    setattr(ResourceMonitorBase, _result.__name__, _result)


class ResourceHistory:
    """The newest results with their times, a fixed number of them."""

    def __init__(self, maxlen: int, initialize: bool = True, *, original: bool | None = None) -> None:
        if not maxlen >= 1:
            raise ValueError("maxlen must be greater than 0")
        self._maxlen = maxlen
        self._original = _base.as_original(original)
        self._values: deque[tuple[float, Any]] = deque(maxlen=maxlen)
        if initialize:
            self.add(time.time(), FullResourceResult({}, 0))

    def add(self, timestamp: float, value: Any) -> None:
        """Adds the newest."""
        if self._values and not timestamp >= self._values[-1][0]:
            raise ValueError("Refusing to add timestamp in the past!")
        self._values.append((timestamp, value))

    def get(self, timestamp: float) -> tuple[float, Any]:
        """The one that is nearest to a time."""
        values = list(self._values)
        at = min(bisect_left([t for t, _ in values], timestamp), len(values) - 1)
        if at > 0 and not self._original and timestamp - values[at - 1][0] <= abs(values[at][0] - timestamp):
            at -= 1
        return values[at]

    def __iter__(self) -> Iterator[tuple[float, Any]]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ResourceHistory({', '.join(map(str, self._values))})"


class HistoryProvider:
    MAX_HISTORY = 10000

    def provides(self, history_time: Any, min_collection_interval: float) -> ResourceHistory:
        length = int(seconds(history_time) / min_collection_interval)
        if length > self.MAX_HISTORY:
            raise ValueError("Requested history length too large")
        return ResourceHistory(length)


class TaskResourceMonitor(ResourceMonitorBase, threading.Thread):
    """Records the processes of a task and measures its sandbox; start() begins, kill() ends.

    task_monitor: an object with get_active_processes(), which returns [(status, run), ...] where a status has `process`
    (its name) and `pid`, and get_sandbox(), which returns a path or None.
    """

    PROCESS_COLLECTION_INTERVAL = Amount(20, Time.SECONDS)
    HISTORY_TIME = Amount(1, Time.HOURS)

    def __init__(
        self,
        task_id: str,
        task_monitor: Any,
        disk_collector_provider: DiskCollectorProvider | type[AbstractDiskCollector] | None = None,
        process_collection_interval: Any = PROCESS_COLLECTION_INTERVAL,
        disk_collection_interval: Any = DiskCollectorSettings.DISK_COLLECTION_INTERVAL,
        history_time: Any = HISTORY_TIME,
        history_provider: Any = None,
        *,
        disk_collector: type[AbstractDiskCollector] | None = None,
    ) -> None:
        """disk_collector: a class, as older versions of the original take it, in the place of a provider, too."""
        self._task_monitor, self._task_id = task_monitor, task_id
        self._process_collectors: dict[Any, ProcessTreeCollector] = {}
        if isinstance(disk_collector_provider, type):
            disk_collector, disk_collector_provider = disk_collector_provider, None
        self._disk_collector_provider = disk_collector_provider or DiskCollectorProvider()
        self._disk_collector_class = disk_collector
        self._disk_collector: Any = None
        self._process_collection_interval = seconds(process_collection_interval)
        self._disk_collection_interval = seconds(disk_collection_interval)
        shortest = min(self._process_collection_interval, self._disk_collection_interval)
        self._history = (history_provider or HistoryProvider()).provides(history_time, shortest)
        self._kill_signal = threading.Event()
        threading.Thread.__init__(self, name=f"{type(self).__name__}[{task_id}]", daemon=True)

    def sample(self) -> tuple[float, AggregateResourceResult]:
        if not self.is_alive():
            log.warning("TaskResourceMonitor not running - sample may be inaccurate")
        return self.sample_at(time.time())

    def sample_at(self, timestamp: float) -> tuple[float, AggregateResourceResult]:
        timestamp, full = self._history.get(timestamp)
        results = full.proc_usage.values()
        samples = sum((result.process_sample for result in results), ProcessSample.empty())
        return timestamp, AggregateResourceResult(sum(r.num_procs for r in results), samples, full.disk_usage)

    def sample_by_process(self, process_name: str) -> ProcessSample:
        named = [process for process in self._get_active_processes() if process.process == process_name]
        if not named:
            raise ValueError(f'No active process found with name "{process_name}" in this task')
        process = named[-1]
        collector = self._collector(process)
        _, full = self._history.get(time.time())
        if process in full.proc_usage:
            result: ProcessSample = full.proc_usage[process].process_sample
            return result
        collector.sample()
        return collector.value

    def _collector(self, process: Any) -> ProcessTreeCollector:
        collector = self._process_collectors.get(process)
        if collector is None:
            interval = min(max(self._process_collection_interval / 10, 0.05), 1.0)
            collector = self._process_collectors[process] = ProcessTreeCollector(process.pid, interval=interval)
        return collector

    def _get_active_processes(self) -> list[Any]:
        return [process for process, _ in self._task_monitor.get_active_processes()]

    def kill(self) -> None:
        """Ends the thread and its recordings."""
        self._kill_signal.set()

    def run(self) -> None:
        # The clock may be set meanwhile; times of results go on as time does.
        offset = time.time() - time.monotonic()
        next_disk = 0.0
        try:
            while not self._kill_signal.is_set():
                begun = time.monotonic()
                try:
                    if begun >= next_disk:
                        next_disk = begun + self._disk_collection_interval
                        self._sample_disk()
                    self._collect(begun + offset)
                except Exception as error:
                    log.warning("Error recording resource sample: %s", error)
                self._wait(begun + self._process_collection_interval, next_disk)
        finally:
            for collector in self._process_collectors.values():
                collector.close()
            self._disk_collector = None

    def _wait(self, next_process: float, next_disk: float) -> None:
        """Until the next collection. A disk that is due sooner is begun in time."""
        while not self._kill_signal.is_set():
            now = time.monotonic()
            if now >= next_process:
                return
            if now >= next_disk:
                return
            self._kill_signal.wait(min(next_process, next_disk) - now)

    def _sample_disk(self) -> None:
        if self._disk_collector is None:
            sandbox = self._task_monitor.get_sandbox()
            if sandbox and self._disk_collector_class is not None:
                self._disk_collector = self._disk_collector_class(sandbox)
            elif sandbox:
                self._disk_collector = self._disk_collector_provider.provides(sandbox)
        if self._disk_collector is not None:
            self._disk_collector.sample()

    def _collect(self, timestamp: float) -> None:
        actives = self._get_active_processes()
        for process in set(self._process_collectors) - set(actives):
            self._process_collectors.pop(process).close()
        used = {}
        for process in actives:
            collector = self._collector(process)
            collector.sample()
            used[process] = ProcResourceResult(collector.value, collector.procs)
        disk = self._disk_collector.value if self._disk_collector is not None else 0
        last = self._history._values[-1][0] if len(self._history) else 0.0
        self._history.add(max(timestamp, last), FullResourceResult(used, disk))


class NullTaskResourceMonitor(ResourceMonitorBase):
    """Measures nothing."""

    def sample(self) -> tuple[float, AggregateResourceResult]:
        return self.sample_at(time.time())

    def sample_at(self, timestamp: float) -> tuple[float, AggregateResourceResult]:
        return timestamp, AggregateResourceResult(0, ProcessSample.empty(), 0)

    def sample_by_process(self, process_name: str) -> ProcessSample:
        return ProcessSample.empty()

    def start(self) -> None:
        pass

    def kill(self) -> None:
        pass
