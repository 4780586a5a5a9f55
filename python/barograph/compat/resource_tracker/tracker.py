# SPDX-License-Identifier: Apache-2.0
"""ProcessTracker, SystemTracker and ResourceTracker with the columns of resource_tracker 0.5."""

from __future__ import annotations

import enum
import functools
import gzip
import json
import os
import tempfile
import time
import warnings
import weakref
from statistics import mean
from types import TracebackType
from typing import Any, Callable, Literal, TypeVar, cast

from ...recorder import Recording
from ...tape import Tape
from .. import _base
from . import _gpu, _proc, _track
from ._info import get_cloud_info, get_server_info
from .tiny_data_frame import StatSpec, TinyDataFrame

_F = TypeVar("_F", bound=Callable[..., Any])
_GPU = dict(zip(("gpu_usage", "gpu_vram_mib", "gpu_utilized"), range(3)))
_MIB = 1024 * 1024
_VERSION = "0.5.0"  # of the columns


# ---- once ----


def get_process_stats(pid: int, children: bool = True) -> dict[str, Any]:
    """What a process and its children have used so far, in seconds, MiB and bytes."""
    found = _proc.process_totals(pid, children)
    pids = {pid} | (_proc.children_of(pid) if children else set())
    return _stats_of(
        found["timestamp"],
        pid,
        found["children"],
        found["utime"] / _proc.TICKS,
        found["stime"] / _proc.TICKS,
        found["pss"] / 1024,
        found["read_bytes"],
        found["write_bytes"],
        _gpu.now(pids),
    )


def _stats_of(
    timestamp: float,
    pid: int,
    children: int | None,
    utime: float,
    stime: float,
    memory_mib: float,
    read: int,
    write: int,
    gpu: dict[str, Any],
) -> dict[str, Any]:
    gpu["gpu_vram_mib"] = gpu.pop("gpu_vram")
    return {
        "timestamp": timestamp,
        "pid": pid,
        "children": children,
        "utime": utime,
        "stime": stime,
        "memory_mib": memory_mib,
        "disk_read_bytes": read,
        "disk_write_bytes": write,
        **gpu,
    }


def get_system_stats() -> dict[str, Any]:
    """The machine, in seconds, MiB and bytes."""
    now = time.time()
    user, system, _ = _proc.cpu_ticks()
    memory = _proc.meminfo()
    received, sent = _proc.network()
    names = {"free": "MemFree", "buffers": "Buffers", "active": "Active", "inactive": "Inactive"}
    gpu = _gpu.now()
    gpu["gpu_vram_mib"] = gpu.pop("gpu_vram")
    return {
        "timestamp": now,
        "processes": _proc.pids_of_machine(),
        "utime": user / _proc.TICKS,
        "stime": system / _proc.TICKS,
        **{f"memory_{name}_mib": memory.get(key, 0) / 1024 for name, key in names.items()},
        "memory_used_mib": (memory.get("MemTotal", 0) - memory.get("MemAvailable", 0)) / 1024,
        "memory_cached_mib": (memory.get("Cached", 0) + memory.get("SReclaimable", 0)) / 1024,
        "disk_stats": {
            name: {"read_bytes": d["read_sectors"] * 512, "write_bytes": d["write_sectors"] * 512}
            for name, d in _proc.disks().items()
        },
        "disk_spaces": _proc.spaces(),
        "net_recv_bytes": received,
        "net_sent_bytes": sent,
        **gpu,
    }


def _grown(now: dict[str, Any], before: dict[str, Any], name: str) -> Any:
    return max(0, now[name] - before[name])


def _complete(names: list[str], values: list[Any], gpu: tuple[Any, Any, Any], **others: Any) -> list[Any]:
    """The columns that the tape's dialect leaves empty."""
    found = [gpu[_GPU[n]] if n in _GPU else others.get(n, v) for n, v in zip(names, values)]
    return [round(v, 4) if n in _GPU and isinstance(v, float) else v for n, v in zip(names, found)]


# ---- the trackers that block ----


class ProcessTracker(_track.OfProcess):
    """Writes what a process and its children use as CSV, every `interval` seconds, until it ends."""

    def __init__(
        self,
        pid: int | None = None,
        start_time: float | None = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.get_process_stats = get_process_stats
        self._begin(pid, interval, children, original, start_time)
        if autostart:
            _track.wait_until(start_time)
            self.start_tracking(output_file)
        elif not self._original:
            self._begin_probe()

    def _read(self) -> dict[str, Any]:
        return get_process_stats(self.pid, self.children)

    def _of(self, usage: _base.Usage, pss: float) -> dict[str, Any]:
        return _stats_of(
            usage.time,
            self.pid,
            usage.processes - 1 if self.children else None,
            usage.user,
            usage.system,
            pss / _MIB,
            int(usage.read_bytes),
            int(usage.write_bytes),
            _gpu.now({p.pid for p in usage.sample.processes}),
        )

    def diff_stats(self) -> dict[str, Any]:
        """What was used since the last call."""
        before, now = self._next()
        children = (now["children"] or None) if self._original else now["children"]
        return {
            "timestamp": round(now["timestamp"], 3),
            "pid": self.pid,
            "children": children,
            "utime": round(_grown(now, before, "utime"), 6),
            "stime": round(_grown(now, before, "stime"), 6),
            "cpu_usage": _track.cores(now, before),
            "memory_mib": round(now["memory_mib"], 4),
            "disk_read_bytes": _grown(now, before, "disk_read_bytes"),
            "disk_write_bytes": _grown(now, before, "disk_write_bytes"),
            "gpu_usage": round(now["gpu_usage"], 4),
            "gpu_vram_mib": round(now["gpu_vram_mib"], 4),
            "gpu_utilized": now["gpu_utilized"],
        }

    def _complete(self, names: list[str], values: list[Any]) -> list[Any]:
        assert self.recording is not None
        at = names.index("children")
        if not self.children or (self._original and not values[at]):
            values[at] = None
        return _complete(names, values, _gpu.Readings(self.recording.tape, _gpu.PROCESSES).at(values[0]))


class PidTracker(ProcessTracker):
    """The old name of ProcessTracker. With the columns of 0.1: barograph.compat.resource_tracker.v0_1.PidTracker."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "PidTracker is deprecated and will be removed in a future release. Please use ProcessTracker instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class SystemTracker(_track.OfMachine):
    """Writes what the machine uses as CSV, every `interval` seconds, until it is ended."""

    def __init__(
        self,
        start_time: float | None = None,
        interval: float = 1,
        autostart: bool = True,
        output_file: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.get_system_stats = get_system_stats
        self._begin(interval, original, start_time)
        self.stats = get_system_stats()
        if autostart:
            _track.wait_until(start_time)
            self.start_tracking(output_file)

    def diff_stats(self) -> dict[str, Any]:
        """What was used since the last call."""
        before, now = self._next(get_system_stats())
        memory = ("free", "used", "buffers", "cached", "active", "inactive")
        return {
            "timestamp": round(now["timestamp"], 3),
            "processes": now["processes"],
            "utime": round(_grown(now, before, "utime"), 6),
            "stime": round(_grown(now, before, "stime"), 6),
            "cpu_usage": _track.cores(now, before),
            **{f"memory_{name}_mib": round(now[f"memory_{name}_mib"], 4) for name in memory},
            **_track.moved(before, now, "bytes", lambda disk: 1),
            **_track.space(now, 1e9),
            "net_recv_bytes": _grown(now, before, "net_recv_bytes"),
            "net_sent_bytes": _grown(now, before, "net_sent_bytes"),
            "gpu_usage": round(now["gpu_usage"], 4),
            "gpu_vram_mib": round(now["gpu_vram_mib"], 4),
            "gpu_utilized": now["gpu_utilized"],
        }

    def _complete(self, names: list[str], values: list[Any]) -> list[Any]:
        assert self.recording is not None
        gpu = _gpu.Readings(self.recording.tape, _gpu.MACHINE).at(values[0])
        return _complete(names, values, gpu, processes=_proc.pids_of_machine())


# ---- the tracker in the background ----


class RunStatus(str, enum.Enum):
    """How the tracked program ended."""

    finished = "finished"
    failed = "failed"
    interrupted = "interrupted"


class Report(str):
    """A page of HTML."""

    def save(self, filepath: str) -> Report:
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> Report:
        import webbrowser

        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{file.name}")
        return self


def round_memory(mib: float) -> int:
    """A usual size of memory: 128 to 2048 MiB, then whole GiB."""
    for size in (128, 256, 512, 1024, 2048):
        if mib <= size:
            return size
    return -int(-mib // 1024) * 1024


def _duration(times: list[float]) -> float:
    return max(times) - min(times)


_P, _S = "process_", "system_"
_DEFAULT_STATS = [
    *(
        StatSpec(_P + name, agg, round=2)
        for name in ("cpu_usage", "memory_mib", "gpu_usage", "gpu_vram_mib", "gpu_utilized")
        for agg in (mean, max)
    ),
    StatSpec(_S + "disk_space_used_gb", max, round=2),
    StatSpec(_S + "net_recv_bytes", sum),
    StatSpec(_S + "net_sent_bytes", sum),
    StatSpec("timestamp", _duration, "duration"),
]
_HUMAN = {
    "timestamp": "Timestamp",
    "processes": "processes",
    "utime": "CPU time (user)",
    "stime": "CPU time (system)",
    "cpu_usage": "CPU usage",
    "memory_free_mib": "free memory",
    "memory_used_mib": "used memory",
    "memory_buffers_mib": "memory buffers",
    "memory_cached_mib": "memory page/file cached",
    "memory_active_mib": "active memory",
    "memory_inactive_mib": "inactive memory",
    "disk_read_bytes": "disk read",
    "disk_write_bytes": "disk write",
    "disk_space_total_gb": "disk space total",
    "disk_space_used_gb": "disk space used",
    "disk_space_free_gb": "disk space free",
    "net_recv_bytes": "inbound network traffic",
    "net_sent_bytes": "outbound network traffic",
    "gpu_usage": "GPU usage",
    "gpu_vram_mib": "VRAM used",
    "gpu_utilized": "GPUs in use",
    "pid": "PID",
    "children": "children",
    "memory_mib": "memory usage",
}
# A machine is shared where it uses so much more than the job: a factor, or an amount.
_SHARED = (("cpu_usage", "cpu_usage", 1.25, 0.25), ("memory_mib", "memory_used_mib", 1.5, 512))
_SHARED_GPU = (("gpu_usage", "gpu_usage", 1.25, 0.2), ("gpu_vram_mib", "gpu_vram_mib", 1.25, 512))


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
            warnings.warn("metrics are not streamed: barograph sends nothing anywhere", RuntimeWarning, stacklevel=2)
        self.recording: Recording | None = None
        self._server_info: dict[str, Any] | None = None
        self._cloud_info: dict[str, Any] | None = None
        self._loaded: dict[str, TinyDataFrame] = {}
        self._files: dict[str, str] = {}
        self._guard: _base.Companion | None = None
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
        if self.pid != os.getpid():
            self._guard = _base.Companion.guard()
        self.recording = self._begin()
        if self._guard is not None and self.recording.path is not None:
            self._guard.begin(self.recording.tape)
        self._finalizer = weakref.finalize(self, _base._stop, self.recording, self._guard)
        if self.discover_server:
            self._server_info = get_server_info()
        if self.discover_cloud:
            self._cloud_info = get_cloud_info()

    def _begin(self) -> Recording:
        if "process_tracker" not in self.trackers:
            return _track.machine_recording(self.interval, count=True)
        host = "system_tracker" in self.trackers
        return _base.record(
            self.pid, self.interval, children=self.children, host=host, collect=_gpu.collectors(machine=host)
        )

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
            try:
                os.unlink(path)
            except OSError:
                pass
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
        if tracker not in self.trackers or self.recording is None or self.recording.path is None:
            return TinyDataFrame(data=[])
        return table_of(self.recording.tape, entity, children=self.children, original=self._original)

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
            weakref.finalize(self, _unlink, self._files[tracker])
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
        """The machine, and whether the job has it for itself ("dedicated") or not ("shared")."""
        if self._server_info is None:
            return None
        self._server_info["allocation"] = self._allocation()
        return self._server_info

    def _allocation(self) -> str | None:
        process, system = self.process_metrics, self.system_metrics
        if not len(process) or not len(system):
            return None
        for own, whole, factor, amount in (*_SHARED, *_SHARED_GPU):
            used = [v for v in process[own] if v not in (None, "")]
            all_used = [v for v in system[whole] if v not in (None, "")]
            if used and all_used and (mean(all_used) > mean(used) * factor or mean(all_used) > mean(used) + amount):
                return "shared"
        return "dedicated"

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
        process, system = self.process_metrics, self.system_metrics
        rows = slice(offset or 0, min(len(process), len(system)))
        process, system = process[rows], system[rows]
        if not len(process):
            return TinyDataFrame(data=[])
        prefixes = (
            ("System " if human_names else "system_") if system_prefix is None else system_prefix,
            ("Process " if human_names else "process_") if process_prefix is None else process_prefix,
        )
        columns: dict[str, list[Any]] = {}
        for table, prefix in ((system, prefixes[0]), (process, prefixes[1])):
            for name in table.columns:
                if name == "timestamp" and table is process:
                    continue
                shown = _HUMAN.get(name, name) if human_names else name
                values = _in_bytes(name, table[name]) if bytes else table[name]
                columns[shown if name == "timestamp" else prefix + shown] = values
        return TinyDataFrame(data=columns)

    def stats(self, specs: list[StatSpec] = _DEFAULT_STATS) -> dict[str, dict[str, Any]]:
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
        stats = aggregate_stats([self.stats(), *historical_stats])

        def of(name: str, statistic: str) -> float:
            return float(stats[_P + name][statistic] or 0)

        memory = of("memory_mib", "max") * 1.2
        return {
            "cpu": max(1, round(of("cpu_usage", "mean"))),
            "memory": round_memory(memory / 1024 if self._original else memory),
            "gpu": max(1, round(of("gpu_usage", "max"))) if of("gpu_usage", "mean") > 0 else 0,
            "vram": round_memory(of("gpu_vram_mib", "max") * 1.2) if of("gpu_vram_mib", "max") > 0 else 0,
        }

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


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _in_bytes(name: str, values: list[Any]) -> list[Any]:
    factor = _MIB if name.endswith("_mib") else 10**9 if name.endswith("_gb") else 1
    return values if factor == 1 else [None if v in (None, "") else v * factor for v in values]


def table_of(tape: Tape, entity: str, *, children: bool = True, original: bool = False) -> TinyDataFrame:
    """The rows of a tape in the columns of 0.5."""
    lines = _base.export(tape, "spare-cores-0.5", entity).splitlines()
    if not lines:
        return TinyDataFrame(data=[])
    names = [str(name) for name in _track.cells(lines[0])]
    readings = _gpu.Readings(tape, _gpu.MACHINE if entity == "host" else _gpu.PROCESSES)
    counts = _gpu.processes_of(tape) if entity == "host" else []
    rows = []
    for line in lines[1:]:
        values = _track.cells(line)
        if len(values) != len(names):
            continue
        nearest = min(counts, key=lambda at: abs(at[0] - values[0]), default=(0.0, None))[1]
        row = dict(zip(names, _complete(names, values, readings.at(values[0]), processes=nearest)))
        if entity == "process" and (not children or (original and not row["children"])):
            row["children"] = None
        rows.append(row)
    return TinyDataFrame(data=rows)


def aggregate_stats(stats: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The mean of means and durations, the most of maxima and sums."""
    found: dict[str, dict[str, Any]] = {}
    for column in dict.fromkeys(name for one in stats for name in one):
        found[column] = {}
        for kind in dict.fromkeys(k for one in stats for k in one.get(column, {})):
            if kind not in ("mean", "duration", "max", "sum"):
                raise ValueError(f"Unsupported aggregation type: {kind}")
            values = [one[column][kind] for one in stats if one.get(column, {}).get(kind) is not None]
            found[column][kind] = None if not values else mean(values) if kind in ("mean", "duration") else max(values)
    return found


def track_resources(
    function: _F | None = None,
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
