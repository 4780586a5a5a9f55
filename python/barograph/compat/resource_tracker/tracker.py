# SPDX-License-Identifier: Apache-2.0
"""The tracker in the background of resource_tracker 0.5, and its decorator."""

from __future__ import annotations

import enum
import functools
import gzip
import json
import os
import tempfile
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Literal, cast

from ... import _spawn
from ...errors import warn
from ...recorder import Recording
from .. import _base
from . import _proc, _track
from ._results import DEFAULT_STATS, Report, aggregate_stats, allocation, combined, recommended
from .cloud_info import get_cloud_info
from .server_info import GPUS, info_of
from .tiny_data_frame import StatSpec, TinyDataFrame
from .v0_5 import COUNT, PidTracker, ProcessTracker, SystemTracker, get_process_stats, get_system_stats, table_of

__all__ = [
    "PidTracker",
    "ProcessTracker",
    "ResourceTracker",
    "RunStatus",
    "SystemTracker",
    "get_process_stats",
    "get_system_stats",
    "track_resources",
]

_VERSION = "0.5.0"  # of the columns
_ANSWERS_WITHIN = 0.5  # seconds; nvidia-smi, if it is asked for in the first moment


class RunStatus(str, enum.Enum):
    """How the tracked program ended."""

    finished = "finished"
    failed = "failed"
    interrupted = "interrupted"


class ResourceTracker:
    """Tracks a process, its children and the machine in the background. There is no process of the interpreter and no
    thread: both tables are read from the tape when they are asked for."""

    def __init__(
        self,
        pid: int | None = None,
        children: bool = True,
        interval: float = 1,
        method: str | None = None,
        autostart: bool = False,
        track_processes: bool = True,
        track_system: bool = True,
        discover_server: bool = True,
        discover_cloud: bool = True,
        sentinel_token: str | None = None,
        upload_interval: int = 60,
        streaming_metadata: dict[str, Any] | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self._original = _base.as_original(original)
        self.pid = _track.own_pid(pid)
        self.children = children
        self.interval = interval
        self.method = method
        self.autostart = autostart
        self.trackers = ["process_tracker"] * track_processes + ["system_tracker"] * track_system
        self.discover_server = discover_server
        self.discover_cloud = discover_cloud
        if sentinel_token or os.environ.get("SENTINEL_API_TOKEN"):
            warn("metrics are not streamed: barograph sends nothing anywhere", RuntimeWarning)
        self.recording: Recording | None = None
        self._server_info: dict[str, Any] | None = None
        self._cloud_info: dict[str, Any] | None = None
        self._loaded: dict[str, TinyDataFrame] = {}
        self._files: dict[str, str] = {}
        self._guard: _base.Companion | None = None
        self._machine: Recording | None = None
        self._asked: _base.Companion | None = None
        if autostart:
            self.start()

    # ---- start and stop ----

    def start(self) -> None:
        """Begins; the first sample is taken before it returns."""
        if self.running:
            raise RuntimeError("Resource tracker already running, cannot start again.")
        if hasattr(self, "stop_time"):
            raise RuntimeError(
                "Resource tracker already stopped. Create a new instance instead of trying to restart it."
            )
        self.start_time = time.time()
        self.stop_time: float | None = None
        if "system_tracker" in self.trackers:
            interval = _base.within_limits(self.interval)
            self._guard = _base.Companion.guard(before=COUNT, interval=f"{interval:.3f}")
        elif self.pid != os.getpid():
            self._guard = _base.Companion.guard()
        if self.discover_server and _spawn.program("nvidia-smi"):
            # It may take seconds, and nobody waits for it. Before the recording: it is no part of the job.
            self._asked = _base.Companion(["/bin/sh", "-c", _base.ANSWER, "sh", "nvidia-smi", *GPUS])
        self.recording, self._machine = self._begin()
        if self._guard is not None and self.recording.path is not None:
            self._guard.begin(self.recording.tape)
            if self._machine is not None and self._machine.path is not None:
                self._guard.write(f"{self._machine._events.path}\n")
                self._machine.mark("machine", processes=_proc.pids_of_machine())
        self._finalizer = weakref.finalize(self, _stop, self.recording, self._machine, self._guard)
        if self.discover_cloud:
            self._cloud_info = get_cloud_info()

    def _begin(self) -> tuple[Recording, Recording | None]:
        """That of the process, and that of the machine; it is one for this process, which ends with it. The machine is
        tracked until stop(), also when another process has ended."""
        if "process_tracker" not in self.trackers:
            machine = _track.machine_recording(self.interval)
            return machine, machine
        host = "system_tracker" in self.trackers
        own = host and self.pid == os.getpid()
        process = _base.record(self.pid, self.interval, children=self.children, host=host, gpu="all")
        if own or not host:
            return process, process
        return process, _track.machine_recording(self.interval)

    def stop(self, exit_code: int = 0, run_status: RunStatus = RunStatus.finished) -> None:
        """Takes a last sample and ends the recording."""
        self.stop_time = time.time()
        if self.recording is not None:
            self._finalizer()

    def cleanup(self) -> None:
        """Stops, and removes temporary files."""
        if self.running:
            self.stop()
        for path in self._files.values():
            _unlink(path)
        self._files = {}

    def __enter__(self) -> ResourceTracker:
        self.autostart = True
        self.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> Literal[False]:
        if self.running:
            failed = exc_type is not None
            self.stop(exit_code=int(failed), run_status=RunStatus.failed if failed else RunStatus.finished)
        return False

    @property
    def running(self) -> bool:
        return hasattr(self, "stop_time") and self.stop_time is None

    # ---- what was measured ----

    def _table(self, entity: str, tracker: str) -> TinyDataFrame:
        if tracker in self._loaded:
            return self._loaded[tracker]
        recording = self.recording if entity == "process" else self._machine
        if tracker not in self.trackers or recording is None or recording.path is None:
            return TinyDataFrame(data=[])
        return table_of(recording.tape, entity, children=self.children, original=self._original)

    @property
    def process_metrics(self) -> TinyDataFrame:
        """A row for each sample of the process and its children."""
        return self._table("process", "process_tracker")

    @property
    def system_metrics(self) -> TinyDataFrame:
        """A row for each sample of the machine."""
        return self._table("host", "system_tracker")

    def _file(self, tracker: str, table: TinyDataFrame) -> str:
        if tracker not in self._files:
            handle, self._files[tracker] = tempfile.mkstemp(prefix="barograph-", suffix=".csv")
            os.close(handle)
            _base.at_end(self, _unlink, self._files[tracker])
        table.to_csv(self._files[tracker])
        return self._files[tracker]

    @property
    def process_tracker_filepath(self) -> str:
        """A file of CSV with the rows until now."""
        return self._file("process_tracker", self.process_metrics)

    @property
    def system_tracker_filepath(self) -> str:
        """A file of CSV with the rows until now."""
        return self._file("system_tracker", self.system_metrics)

    @property
    def n_samples(self) -> int:
        """How many samples there are of what is tracked."""
        tables = {"process_tracker": self.process_metrics, "system_tracker": self.system_metrics}
        if self._original:
            return min(map(len, tables.values()))
        return min((len(tables[name]) for name in self.trackers), default=0)

    def wait_for_samples(self, n: int = 1, timeout: float = 5) -> None:
        """Waits until there are n samples."""
        while self.n_samples < n:
            if not self.running:
                raise RuntimeError(
                    f"Resource tracker has been already stopped with {self.n_samples} sample(s), "
                    f"cannot wait to collect the requested {n} sample(s)."
                )
            time.sleep(self.interval / 10)
            if time.time() - self.start_time > timeout and self.n_samples < n:
                raise RuntimeError(f"Timed out waiting for resource tracker to collect {n} samples")

    @property
    def server_info(self) -> dict[str, Any] | None:
        """The machine, and whether the job has it for itself ("dedicated") or not ("shared"). None as long as
        nvidia-smi has not answered."""
        if self._server_info is None and self.discover_server and self.recording is not None:
            if self._asked is None:
                self._server_info = info_of("")
            elif self._asked.wait(_ANSWERS_WITHIN):
                self._server_info = info_of(self._asked.said.decode(errors="replace"))
        if self._server_info is None:
            return None
        self._server_info["allocation"] = allocation(self.process_metrics, self.system_metrics)
        return self._server_info

    @property
    def cloud_info(self) -> dict[str, Any] | None:
        return self._cloud_info

    @property
    def sentinel_result(self) -> dict[str, Any] | None:
        return None

    def get_combined_metrics(
        self,
        bytes: bool = False,
        human_names: bool = False,
        system_prefix: str | None = None,
        process_prefix: str | None = None,
        offset: int | None = None,
    ) -> TinyDataFrame:
        """Both tables side by side."""
        return combined(
            self.process_metrics,
            self.system_metrics,
            bytes=bytes,
            human_names=human_names,
            prefixes=(system_prefix, process_prefix),
            offset=offset or 0,
        )

    def stats(self, specs: list[StatSpec] = DEFAULT_STATS) -> dict[str, dict[str, Any]]:
        """Means, maxima and sums."""
        if not self.n_samples:
            raise RuntimeError("No metrics collected (yet)")
        found = self.get_combined_metrics().stats(specs)
        if "duration" in found.get("timestamp", {}):
            found["timestamp"]["duration"] += self.interval
        return found

    # ---- what to ask for next time ----

    def recommend_resources(self, historical_stats: list[dict[str, Any]] = []) -> dict[str, int]:  # noqa: B006
        """CPUs, MiB of memory, GPUs and MiB of their memory for the next run of this kind."""
        self.wait_for_samples(n=1, timeout=self.interval * 5)
        return recommended(aggregate_stats([self.stats(), *historical_stats]), self._original)

    def recommend_server(self, **kwargs: Any) -> dict[str, Any]:
        """The original asks a server for prices; barograph asks nobody."""
        raise RuntimeError("there is no list of servers and prices here; recommend_resources() says what is needed")

    def report(
        self,
        integration: str = "standalone",
        historical_stats: list[dict[str, Any]] = [],  # noqa: B006
        status_failed: bool = False,
        integration_version: str | None = None,
    ) -> Report:
        """The page of `baro report`, as text with save() and browse()."""
        self.wait_for_samples(n=1, timeout=self.interval * 5)
        if self.recording is None or self.recording.path is None:
            raise RuntimeError("there is no tape to report on")
        with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
            path = self.recording.report(os.path.join(folder, "report.html"))
            with open(path, encoding="utf-8") as file:
                return Report(file.read())

    # ---- to a file and back ----

    def snapshot(self) -> dict[str, Any]:
        """All of it as JSON has it; the original can read it."""
        stopped = self.stop_time or time.time()
        return {
            "metadata": {
                "version": 1,
                "resource_tracker": {"version": _VERSION, "implementation": "barograph"},
                "pid": self.pid,
                "children": self.children,
                "interval": self.interval,
                "method": self.method,
                "autostart": self.autostart,
                "track_processes": "process_tracker" in self.trackers,
                "track_system": "system_tracker" in self.trackers,
                "discover_server": self.discover_server,
                "discover_cloud": self.discover_cloud,
                "start_time": self.start_time,
                "stop_time": stopped,
                "duration": round(stopped - self.start_time + self.interval, 2),
            },
            "server_info": self.server_info,
            "cloud_info": self.cloud_info,
            "process_metrics": self.process_metrics.to_dict(),
            "system_metrics": self.system_metrics.to_dict(),
        }

    @classmethod
    def from_snapshot(cls, snapshot: dict[str, Any]) -> ResourceTracker:
        """From what snapshot() returned, also the original's."""
        data = snapshot["metadata"]
        names = ("pid", "children", "interval", "method", "track_processes", "track_system")
        tracker = cls(**{n: data[n] for n in (*names, "discover_server", "discover_cloud")}, autostart=False)
        tracker.start_time, tracker.stop_time = data["start_time"], data["stop_time"]
        tracker._server_info, tracker._cloud_info = snapshot["server_info"], snapshot["cloud_info"]
        for name in ("process", "system"):
            tracker._loaded[f"{name}_tracker"] = TinyDataFrame(data=snapshot[f"{name}_metrics"])
        return tracker

    def dumps(self) -> str:
        return json.dumps(self.snapshot())

    @classmethod
    def loads(cls, s: str) -> ResourceTracker:
        return cls.from_snapshot(json.loads(s))

    def dump(self, file: str) -> None:
        """To a compressed file."""
        with gzip.open(file, "wb") as out:
            out.write(self.dumps().encode())

    @classmethod
    def load(cls, file: str) -> ResourceTracker:
        with gzip.open(file, "rb") as source:
            return cls.loads(source.read().decode())


def _stop(process: Recording, machine: Recording | None, guard: _base.Companion | None) -> None:
    _base._stop(process, guard)
    if machine is not None:
        machine.stop()


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def track_resources(
    function: Callable[..., Any] | None = None,
    *,
    interval: float = 1.0,
    artifact_name: str = "resource_tracker_data",
    create_card: bool = True,
) -> Any:
    """A decorator: the call is tracked, and what was found becomes an attribute of the object whose method it is (as a
    Metaflow step has it), or of the function."""
    if function is None:
        return functools.partial(track_resources, interval=interval, artifact_name=artifact_name)

    @functools.wraps(function)
    def tracked(*args: Any, **kwargs: Any) -> Any:
        tracker = ResourceTracker(interval=interval)
        failed = True
        tracker.start()
        try:
            result = function(*args, **kwargs)
            failed = False
            return result
        finally:
            tracker.stop(int(failed))
            data = {"step_failed": failed, "tracker": tracker.snapshot(), "historical_stats": []}
            setattr(args[0] if args and hasattr(args[0], function.__name__) else tracked, artifact_name, data)

    return cast(Any, tracked)
