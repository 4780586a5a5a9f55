# SPDX-License-Identifier: Apache-2.0
"""In the place of pytyche.diagnostics.run_monitor: a log of phases and events, the machine's CPU and GPUs in three
files of CSV, and a summary of them. The files are written as things happen, by processes that stay when the interpreter
is killed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

from .. import _current, _spawn
from ..recorder import Recording
from . import _base

_GPU_COLUMNS = (
    "timestamp,utilization.gpu,utilization.memory,memory.used,memory.total,power.draw,temperature.gpu,"
    "clocks.current.sm,clocks.current.memory"
)
_GPU = _base.SETSID + r"""
$setsid nvidia-smi --query-gpu="$columns" --format=csv,nounits,noheader -l "$every" >"$gpu_file" 2>/dev/null &
helpers="$helpers $!"
$setsid nvidia-smi dmon -s mu -d "$every" >"$dmon_file" 2>/dev/null &
helpers="$helpers $!"
"""


def _now_iso() -> str:
    return datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")


class RunLog:
    """Phases and events as lines of JSON.

    Each line is in a file before the call returns: in `path`, if there is one, else in a file of its own (`spool`)
    until write() has written it. In a recording they are marks of it as well.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, original: bool | None = None) -> None:
        self._entries: list[dict[str, Any]] = []
        self._original = _base.as_original(original)
        self.path = None if path is None else Path(path)
        self._owner = os.getpid()  # of the spool
        self.spool: Path | None = self.path
        """Where the lines are by now; None before the first one, and once they were all written."""

    def log_phase(self, name: str, seconds: float, **extra: Any) -> None:
        """A phase that has ended, and how long it took."""
        entry: dict[str, Any] = {"ts": _now_iso(), "type": "phase", "name": name, "seconds": round(seconds, 3)}
        entry.update(extra)
        self._add(entry, name, {"seconds": seconds, **extra})

    def log_event(self, event_type: str, data: dict[str, Any] | None = None) -> None:
        """Something that happened."""
        entry: dict[str, Any] = {"ts": _now_iso(), "type": "event", "event": event_type}
        if data:
            entry["data"] = data
        self._add(entry, event_type, data or {})

    def _add(self, entry: dict[str, Any], name: str, attributes: dict[str, Any]) -> None:
        self._entries.append(entry)
        if self._original:
            return
        try:
            fd = os.open(self._file(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                os.write(fd, _line(entry).encode())
            finally:
                os.close(fd)
            _current.mark(str(name), **{str(key): value for key, value in attributes.items()})
        except Exception:
            pass  # a log does not stop the program

    def _file(self) -> Path:
        if self.spool is None or not self._is_ours():
            from .._runs import runs

            folder = Path(runs().folder)
            folder.mkdir(parents=True, exist_ok=True)
            stamp = datetime.now(tz=timezone.utc).strftime("%Y%m%dT%H%M%S.%fZ")
            self._owner = os.getpid()
            self.spool = folder / f"runlog-{stamp}-{self._owner}.jsonl"
        return self.spool

    def _is_ours(self) -> bool:
        """In a forked child the spool is the parent's."""
        return self.path is not None or self._owner == os.getpid()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes all lines to a file, as open(path, "w") does."""
        with open(path, "w") as file:
            file.writelines(map(_line, self._entries))
        if self.spool is not None and self.path is None and self._is_ours():
            spool, self.spool = self.spool, None
            with suppress(OSError):
                if not os.path.samefile(path, spool):
                    spool.unlink()


def _line(entry: dict[str, Any]) -> str:
    try:
        return json.dumps(entry, default=str) + "\n"
    except Exception:  # data that has itself in it, keys that JSON has not, an object that has no text
        return json.dumps({key: _plain(value) for key, value in entry.items()}, default=str) + "\n"


def _plain(value: Any) -> Any:
    """The value, or a text where JSON can't have it."""
    try:
        json.dumps(value, default=str)
        return value
    except Exception:
        pass
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


class HWMonitor:
    """CPU of the machine from a recording, GPUs from nvidia-smi, as three files: hw_metrics.csv, hw_dmon.csv and
    cpu_metrics.csv."""

    def __init__(self) -> None:
        self._gpu_path: Path | None = None
        self._dmon_path: Path | None = None
        self._cpu_path: Path | None = None
        self._companion: _base.Companion | None = None
        self.recording: Recording | None = None
        self.absent: dict[str, str] = {}
        """Why there is no file: {"gpu": "nvidia-smi is not installed", ...}."""

    def start(self, output_dir: str | os.PathLike[str], interval_sec: float = 2) -> None:
        """Begins, with a sample every interval_sec seconds."""
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        self._cpu_path = folder / "cpu_metrics.csv"
        self._gpu_path, self._dmon_path = folder / "hw_metrics.csv", folder / "hw_dmon.csv"
        self._cpu_path.unlink(missing_ok=True)
        self.absent = {}
        installed = _spawn.program("nvidia-smi")
        if not installed:
            self._gpu_path = self._dmon_path = None
            self.absent.update(dict.fromkeys(("gpu", "dmon"), "nvidia-smi is not installed"))
        self._companion = _base.Companion.csv(
            os.path.abspath(self._cpu_path),
            "pytyche-cpu",
            "host",
            before=_GPU if installed else "",
            columns=_GPU_COLUMNS,
            every=str(max(1, round(interval_sec))),
            gpu_file=os.path.abspath(folder / "hw_metrics.csv"),
            dmon_file=os.path.abspath(folder / "hw_dmon.csv"),
        )
        self.recording = _base.record_machine(interval_sec, "--host")
        _base.keep(self, self.recording, self._companion)
        if self.recording.path is None:
            self.absent["cpu"] = _base.NO_RECORDING
        else:
            self._companion.begin(self.recording.tape)

    def stop(self) -> tuple[Path | None, Path | None, Path | None]:
        """Ends; returns the paths for GPU, CPU and dmon, and None for one that is not there (`absent` says why)."""
        if self._companion is None or self.recording is None:
            return None, None, None
        _base.release(self)
        self.recording.stop()
        self._companion.end(5.0)
        self._companion = None
        cpu = self._cpu_path if self._cpu_path is not None and self._cpu_path.exists() else None
        if cpu is None:
            self.absent.setdefault("cpu", "it was stopped before there was a second sample")
        self._gpu_path, self._dmon_path = self._rows("gpu", self._gpu_path), self._rows("dmon", self._dmon_path)
        return self._gpu_path, cpu, self._dmon_path

    def _rows(self, what: str, path: Path | None) -> Path | None:
        """The file, if it has a row. nvidia-smi says there as well why it has none, after up to 10 s."""
        lines = [line.strip() for line in _lines(path) if line.strip() and line[0] != "#"]
        if path is None or any(line[0].isdigit() for line in lines):
            return path
        self.absent[what] = f"nvidia-smi: {lines[0]}" if lines else "nvidia-smi has printed nothing"
        path.unlink(missing_ok=True)
        return None


@dataclass
class ResourceSummary:
    """What build_resource_summary() found. A value that nothing is known of is nan, and `absent` says why; it is in no
    dict."""

    peak_vram_mb: float = 0.0
    jax_peak_bytes_mb: float = 0.0
    gpu_util_mean_pct: float = 0.0
    gpu_util_max_pct: float = 0.0
    mem_util_mean_pct: float = 0.0
    mem_util_max_pct: float = 0.0
    power_watts_mean: float = 0.0
    power_watts_max: float = 0.0
    cpu_usr_mean_pct: float = 0.0
    cpu_idle_mean_pct: float = 0.0
    absent: dict[str, str] = field(default_factory=dict, compare=False)

    def to_dict(self) -> dict[str, float]:
        """Rounded; without what is absent, and without JAX's peak and the memory controller's use where they are 0."""
        always = (
            "peak_vram_mb",
            "gpu_util_mean_pct",
            "gpu_util_max_pct",
            "power_watts_mean",
            "power_watts_max",
            "cpu_usr_mean_pct",
            "cpu_idle_mean_pct",
        )
        found = {name: round(getattr(self, name), 1) for name in always if name not in self.absent}
        if self.jax_peak_bytes_mb > 0:
            found["jax_peak_bytes_mb"] = round(self.jax_peak_bytes_mb, 1)
        if self.mem_util_mean_pct > 0:
            found["mem_util_mean_pct"] = round(self.mem_util_mean_pct, 1)
            found["mem_util_max_pct"] = round(self.mem_util_max_pct, 1)
        return found


def probe_jax_peak_memory_mb() -> float:
    """The most device memory that JAX's allocator had in use, in MiB, of the GPU with most; 0.0 without JAX or GPU."""
    try:
        jax = import_module("jax")
        gpus = [device for device in jax.local_devices() if device.platform in ("gpu", "cuda", "rocm")]
        peaks = [(device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in gpus]
    except Exception:
        return 0.0
    return max(peaks, default=0) / (1024 * 1024)


def build_resource_summary(
    gpu_csv_path: Path | None,
    cpu_csv_path: Path | None,
    dmon_csv_path: Path | None = None,
    *,
    original: bool | None = None,
) -> ResourceSummary:
    """Means and maxima of the three files."""
    zeros = _base.as_original(original)
    summary = ResourceSummary()
    gpu = _table(_lines(gpu_csv_path), ",")
    rows = [row for row in gpu if len(row) >= 9]
    _take(summary, zeros, _column(rows, 1), "gpu_util_mean_pct", "gpu_util_max_pct", _why(gpu_csv_path))
    # All GPUs of one moment have memory in use together; the original takes the largest of one.
    used = _column(rows, 3) if zeros else _by_time(rows, 3)
    _take(summary, zeros, used, None, "peak_vram_mb", _why(gpu_csv_path))
    _take(summary, zeros, _column(rows, 5), "power_watts_mean", "power_watts_max", _why(gpu_csv_path))
    memory = _dmon_column(_lines(dmon_csv_path), "mem", zeros)
    _take(summary, zeros, memory, "mem_util_mean_pct", "mem_util_max_pct", _why(dmon_csv_path))
    cpu = _table(_lines(cpu_csv_path)[1:], ",")
    _take(summary, zeros, _column(cpu, 1), "cpu_usr_mean_pct", None, _why(cpu_csv_path))
    _take(summary, zeros, _column(cpu, 2), "cpu_idle_mean_pct", None, _why(cpu_csv_path))
    return summary


def _why(path: Path | None) -> str:
    if path is None:
        return "there is no file"
    return f"{path} has no values" if os.path.exists(path) else f"{path} does not exist"


def _lines(path: Path | None) -> list[str]:
    if path is None or not os.path.exists(path):
        return []
    with open(path, errors="replace") as file:
        return file.read().splitlines()


def _table(lines: Iterable[str], separator: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(separator)] for line in lines]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None  # "-", "[N/A]"


def _column(rows: list[list[str]], index: int) -> list[float]:
    values = (_number(row[index]) for row in rows if len(row) > index)
    return [value for value in values if value is not None]


def _by_time(rows: list[list[str]], index: int) -> list[float]:
    """The GPUs of a machine together: nvidia-smi prints a row for each, within some milliseconds, and waits a second or
    more before the next ones."""
    sums: list[float] = []
    before: datetime | None = None
    for row in rows:
        value = _number(row[index])
        if value is None:
            continue
        try:
            now = datetime.strptime(row[0], "%Y/%m/%d %H:%M:%S.%f")
        except ValueError:
            now = None
        if now is not None and before is not None and abs((now - before).total_seconds()) < 0.2:
            sums[-1] += value
        else:
            sums.append(value)
        before = now
    return sums


def _dmon_column(lines: list[str], name: str, original: bool) -> list[float]:
    """A column of `nvidia-smi dmon`, by its name: its place differs between drivers. The third one, where the original
    takes it, if there are no names."""
    found: list[float] = []
    place: int | None = 2
    for line in lines:
        words = line.split()
        if line.startswith("#"):
            if not original and "gpu" in words:
                place = words.index(name) - 1 if name in words else None  # the # is a word of its own
            continue
        value = _number(words[place]) if place is not None and len(words) > max(place, 3) else None
        if value is not None:
            found.append(value)
    return found


def _take(
    summary: ResourceSummary, zeros: bool, values: list[float], mean: str | None, most: str | None, why: str
) -> None:
    found = {mean: sum(values) / len(values) if values else None, most: max(values, default=None)}
    for name, value in found.items():
        if name is None:
            continue
        if value is not None:
            setattr(summary, name, value)
        elif not zeros:
            setattr(summary, name, float("nan"))
            summary.absent[name] = why
