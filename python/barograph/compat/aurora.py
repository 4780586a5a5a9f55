# SPDX-License-Identifier: Apache-2.0
"""In the place of apache.thermos.monitoring: what the processes of a task use, and its sandbox on the disk.

Each process of a task has a recording. A thread there is, as in the original: it asks the TaskMonitor, an object of the
caller, which processes the task has by now."""

from __future__ import annotations

import datetime
import json
import logging
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from . import _base

log = logging.getLogger(__name__)

_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "disk-sleep",
    "T": "stopped",
    "t": "tracing-stop",
    "Z": "zombie",
    "X": "dead",
    "I": "idle",
    "P": "parked",
}


# ---- quantities, as twitter.common.quantity has them; its own are taken as well, and numbers of seconds ----


class Time:
    """Units of time."""

    NANOSECONDS = 1e-9
    MICROSECONDS = 1e-6
    MILLISECONDS = 1e-3
    SECONDS = 1.0
    MINUTES = 60.0
    HOURS = 3600.0
    DAYS = 86400.0


class Amount:
    """So much of a unit."""

    def __init__(self, amount: float, unit: float) -> None:
        self._amount, self._unit = amount, unit

    def as_(self, unit: float) -> float:
        """In another unit."""
        return self._amount * self._unit / unit

    def __repr__(self) -> str:
        return f"Amount({self._amount} x {self._unit:g} s)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.as_(1.0) == other.as_(1.0)

    def __hash__(self) -> int:
        return hash(self.as_(1.0))


def _seconds(amount: Any) -> float:
    if isinstance(amount, Amount):
        return amount.as_(Time.SECONDS)
    if isinstance(amount, datetime.timedelta):
        return amount.total_seconds()
    if hasattr(amount, "as_"):
        theirs = import_module("twitter.common.quantity").Time
        return float(amount.as_(theirs.SECONDS))
    return float(amount)


# ---- samples ----


class ProcessSample(NamedTuple):
    """What a process, or several together, use: cores, seconds, bytes."""

    rate: float
    user: float
    system: float
    rss: int
    vms: int
    nice: int | None
    status: str | None
    threads: int

    @staticmethod
    def empty() -> ProcessSample:
        return ProcessSample(rate=0, user=0, system=0, rss=0, vms=0, nice=None, status=None, threads=0)

    def __add__(self, other: Any) -> ProcessSample:
        return ProcessSample(
            rate=self.rate + other.rate,
            user=self.user + other.user,
            system=self.system + other.system,
            rss=self.rss + other.rss,
            vms=self.vms + other.vms,
            nice=self.nice if other.nice is None else other.nice,
            status=self.status if other.status is None else other.status,
            threads=self.threads + other.threads,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "cpu": self.rate,
            "ram": self.rss,
            "user": self.user,
            "system": self.system,
            "rss": self.rss,
            "vms": self.vms,
            "nice": self.nice,
            "status": str(self.status),
            "threads": self.threads,
        }


class ProcessTreeCollector:
    """What a process and its children use, from a recording of its own that begins with the first sample()."""

    def __init__(self, pid: int, *, interval: float = 0.25) -> None:
        self._pid, self._interval = pid, interval
        self._probe: _base.Probe | None = None
        self._sample = ProcessSample.empty()
        self._before: _base.Usage | None = None
        self._rate = 0.0
        self._procs = 1

    def sample(self) -> None:
        """Takes the newest sample of the recording; the result is `value`."""
        if self._probe is None:
            self._probe = _base.Probe(self._pid, interval=self._interval)
        usage = self._probe.take(fresh=False)
        if usage is None or not usage.processes:
            self._ended()
            return
        before = self._before
        if before is None or usage.time > before.time:
            if before is not None:
                self._rate = (usage.cpu_ns - before.cpu_ns) / 1e9 / (usage.time - before.time)
            self._before = usage
        self._sample = self._of(usage)
        self._procs = usage.processes

    def _of(self, usage: _base.Usage) -> ProcessSample:
        first = usage.process(self._pid) or next(iter(usage.sample.processes), None)
        nice = None if first is None else _base.number(first.nice)
        return ProcessSample(
            rate=self._rate,
            user=usage.user,
            system=usage.system,
            rss=int(usage.total("rss_bytes") or 0),
            vms=int(usage.total("virtual_bytes") or 0),
            nice=None if nice is None else int(nice),
            status=None if first is None else _STATES.get(str(first.state), str(first.state)),
            threads=int(usage.total("threads") or 0),
        )

    def _ended(self) -> None:
        """Its CPU time stays; it has no memory and no threads any more."""
        usage = self._probe.last() if self._probe is not None else None
        self._rate, self._procs = 0.0, 0
        if usage is not None:
            self._sample = ProcessSample.empty()._replace(user=usage.user, system=usage.system, status="dead")

    @property
    def value(self) -> ProcessSample:
        return self._sample._replace(rate=self._rate)

    @property
    def procs(self) -> int:
        """Living processes."""
        return self._procs

    def close(self) -> None:
        if self._probe is not None:
            self._probe.close()


# ---- the sandbox on the disk ----


class _Completed:
    """Set as soon as a program has ended, without a thread that waits for it."""

    def __init__(self, ended: Any = None) -> None:
        self._ended = ended

    def is_set(self) -> bool:
        return self._ended is not None and bool(self._ended())

    def wait(self, timeout: float | None = None) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True


# The original's way: the blocks of files, as often as they have names, and no directories.
_DU_OF_ORIGINAL = """find "$1" -type f -printf '%b\\n' | awk '{ sum += $1 } END { printf "%.0f\\n", sum * 512 }'"""


class _Du:
    """One run of du(1): files with their blocks, each once, and directories."""

    def __init__(self, path: str) -> None:
        self.value: int | None = None
        self.event = _Completed(self.finished)
        argv = ["du", "-s", "-B1", "--", path]
        if _base.as_original(None):
            argv = ["sh", "-c", _DU_OF_ORIGINAL, "sh", path]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def finished(self) -> bool:
        if self.value is None and self._process.poll() is not None:
            assert self._process.stdout is not None
            words = self._process.stdout.read().split()
            self._process.stdout.close()
            self.value = int(words[0]) if words and words[0].isdigit() else 0
        return self.value is not None


class _Client(threading.Thread):
    """Asks a Mesos agent."""

    def __init__(self, path: str, settings: DiskCollectorSettings) -> None:
        super().__init__(daemon=True)
        self.value = MesosDiskCollector.DEFAULT_ERROR_VALUE
        self.event = threading.Event()
        self._path, self._settings = path, settings

    def run(self) -> None:
        try:
            found = [
                c for c in self._containers() if str(self._settings.executor_id_json_expression.search(c)) in self._path
            ]
            value = self._settings.disk_usage_json_expression.search(found[0]) if len(found) == 1 else None
            if value is None:
                log.warning(
                    "MesosDiskCollector: Didn't find disk usage stats for path %s in agent metrics.", self._path
                )
            else:
                self.value = value
        finally:
            self.event.set()

    def _containers(self) -> list[Any]:
        from urllib.request import urlopen

        try:
            with urlopen(
                self._settings.http_api_url, timeout=_seconds(self._settings.disk_collection_timeout)
            ) as answer:
                found = json.load(answer)
        except (OSError, ValueError) as error:
            log.warning("MesosDiskCollector: Unexpected error talking to agent api: %s", error)
            return []
        return found if isinstance(found, list) else []

    def finished(self) -> bool:
        return self.event.is_set()


class AbstractDiskCollector(ABC):
    def __init__(self, root: str, settings: DiskCollectorSettings | None = None) -> None:
        self._root, self._settings = root, settings or DiskCollectorSettings()
        self._thread: Any = None
        self._value = 0
        self.lock = threading.RLock()

    @abstractmethod
    def _begin(self) -> Any: ...

    def sample(self) -> None:
        """Begins to measure, if it does not measure already."""
        with self.lock:
            if self._thread is None:
                self._thread = self._begin()

    @property
    def value(self) -> int:
        """Bytes; 0 before the first measurement has ended."""
        with self.lock:
            if self._thread is not None and self._thread.finished():
                self._value, self._thread = self._thread.value, None
            return self._value

    @property
    def completed_event(self) -> Any:
        """Is set once what is being measured is there."""
        with self.lock:
            return _Completed() if self._thread is None else self._thread.event


class DuDiskCollector(AbstractDiskCollector):
    """What a directory takes, by du(1)."""

    def _begin(self) -> _Du:
        return _Du(self._root)


class MesosDiskCollector(AbstractDiskCollector):
    """What the Mesos agent says of a directory; -1 if it says nothing."""

    DEFAULT_ERROR_VALUE = -1

    def _begin(self) -> _Client:
        client = _Client(self._root, self._settings)
        client.start()
        return client


class _Path:
    """A path of names with dots between; jmespath, where it is installed, knows more."""

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def search(self, value: Any) -> Any:
        for name in self.expression.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value


def _compiled(expression: str) -> Any:
    try:
        return import_module("jmespath").compile(expression)
    except ImportError:
        return _Path(expression)


class DiskCollectorSettings:
    """How a Mesos agent is asked."""

    DEFAULT_AGENT_CONTAINERS_ENDPOINT = "http://localhost:5051/containers"
    DEFAULT_EXECUTOR_ID_PATH = "executor_id"
    DEFAULT_DISK_USAGE_PATH = "statistics.disk_used_bytes"
    DEFAULT_DISK_COLLECTION_TIMEOUT = Amount(5, Time.SECONDS)
    DISK_COLLECTION_INTERVAL = Amount(60, Time.SECONDS)

    def __init__(
        self,
        http_api_url: str = DEFAULT_AGENT_CONTAINERS_ENDPOINT,
        executor_id_json_path: str = DEFAULT_EXECUTOR_ID_PATH,
        disk_usage_json_path: str = DEFAULT_DISK_USAGE_PATH,
        disk_collection_timeout: Any = DEFAULT_DISK_COLLECTION_TIMEOUT,
        disk_collection_interval: Any = DISK_COLLECTION_INTERVAL,
    ) -> None:
        self.http_api_url = http_api_url
        self.executor_id_json_expression = _compiled(executor_id_json_path)
        self.disk_usage_json_expression = _compiled(disk_usage_json_path)
        self.disk_collection_timeout = disk_collection_timeout
        self.disk_collection_interval = disk_collection_interval


class DiskCollectorProvider:
    DEFAULT_DISK_COLLECTOR_CLASS = DuDiskCollector

    def __init__(
        self, enable_mesos_disk_collector: bool = False, settings: DiskCollectorSettings | None = None
    ) -> None:
        self.settings = settings or DiskCollectorSettings()
        self.disk_collector_class: type[AbstractDiskCollector] = self.DEFAULT_DISK_COLLECTOR_CLASS
        if enable_mesos_disk_collector:
            self.disk_collector_class = MesosDiskCollector

    def provides(self, sandbox: str) -> AbstractDiskCollector:
        return self.disk_collector_class(sandbox, settings=self.settings)


# ---- the task ----


class AggregateResourceResult(NamedTuple):
    """Of a task: processes, their sum, and the sandbox in bytes."""

    num_procs: int
    process_sample: ProcessSample
    disk_usage: int


class ProcResourceResult(NamedTuple):
    """Of a process of a task: its sample, with its children, and their number."""

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
    def sample_at(self, time: float) -> tuple[float, AggregateResourceResult]:
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
        length = int(_seconds(history_time) / min_collection_interval)
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
        disk_collector_provider: DiskCollectorProvider | None = None,
        process_collection_interval: Any = PROCESS_COLLECTION_INTERVAL,
        disk_collection_interval: Any = DiskCollectorSettings.DISK_COLLECTION_INTERVAL,
        history_time: Any = HISTORY_TIME,
        history_provider: Any = None,
        *,
        disk_collector: type[AbstractDiskCollector] | None = None,
    ) -> None:
        """disk_collector: a class, as older versions of the original take it."""
        self._task_monitor, self._task_id = task_monitor, task_id
        self._process_collectors: dict[Any, ProcessTreeCollector] = {}
        self._disk_collector_provider = disk_collector_provider or DiskCollectorProvider()
        self._disk_collector_class = disk_collector
        self._disk_collector: Any = None
        self._process_collection_interval = _seconds(process_collection_interval)
        self._disk_collection_interval = _seconds(disk_collection_interval)
        shortest = min(self._process_collection_interval, self._disk_collection_interval)
        self._history = (history_provider or HistoryProvider()).provides(history_time, shortest)
        self._kill_signal = threading.Event()
        threading.Thread.__init__(self, name=f"{type(self).__name__}[{task_id}]", daemon=True)

    def sample(self) -> tuple[float, AggregateResourceResult]:
        if not self.is_alive():
            log.warning("TaskResourceMonitor not running - sample may be inaccurate")
        return self.sample_at(time.time())

    def sample_at(self, time: float) -> tuple[float, AggregateResourceResult]:
        timestamp, full = self._history.get(time)
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

    def sample_at(self, time: float) -> tuple[float, AggregateResourceResult]:
        return time, AggregateResourceResult(0, ProcessSample.empty(), 0)

    def sample_by_process(self, process_name: str) -> ProcessSample:
        return ProcessSample.empty()

    def start(self) -> None:
        pass

    def kill(self) -> None:
        pass
