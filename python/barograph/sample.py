# SPDX-License-Identifier: Apache-2.0
"""What a tape holds: samples, and what happened between them."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi
from ._lib import NEW, Handle, lib, make, present, text
from ._metrics import Registry, absent, attribute
from .values import Absent, Real, Value, Whole, plain

_PROCESS, _JOB = _abi.BARO_KIND_PROCESS, _abi.BARO_KIND_JOB
_HOST, _RECORDER = _abi.BARO_KIND_HOST, _abi.BARO_KIND_RECORDER
_NO_USER = 0xFFFFFFFF


class Values:
    """Metrics as attributes: `process.rss_bytes`. An absent one is an Absent, never 0."""

    _owner: Handle
    _registry: Registry
    _kind: int

    def _read(self, metric: int, ret: Any) -> int:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:  # a Value, as of a Row
        metric = None if name.startswith("_") else self._registry.of(self._kind).get(name)
        if metric is None:
            raise AttributeError(f"{type(self).__name__} has no metric {name}; metrics() lists them")
        stored = ctypes.c_uint64()
        with self._owner.lock:
            reason = self._read(metric.id, ctypes.byref(stored))
        return absent(reason, name) if reason else metric.value(stored.value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._registry.of(self._kind)]

    def metrics(self) -> list[str]:
        """The names that it may have."""
        return list(self._registry.of(self._kind))

    def get(self, name: str, default: Any = None) -> Any:
        """A metric, or the default where it is absent."""
        value = getattr(self, name)
        return default if isinstance(value, Absent) else value

    def to_dict(self) -> dict[str, Any]:
        """All metrics; None where one is absent."""
        return {name: plain(getattr(self, name)) for name in self.metrics()}


class _Row(Values):
    """A row of a kind that has several."""

    _pointer: int | None

    def _read(self, metric: int, ret: Any) -> int:
        return int(lib.baro_row_value(self._pointer, metric, ret))

    @property
    def id(self) -> int:
        """Tells it from all others of its kind on the tape."""
        return int(lib.baro_row_id(self._pointer))

    @property
    def name(self) -> str:
        return text(lib.baro_row_name(self._pointer))


class OfProcess(_Row):
    """Whose row it is."""

    @property
    def pid(self) -> int:
        return int(lib.baro_row_pid(self._pointer))

    @property
    def start_ticks(self) -> int:
        return int(lib.baro_row_start_ticks(self._pointer))

    @property
    def ppid(self) -> int:
        return int(lib.baro_row_ppid(self._pointer))

    @property
    def cmdline(self) -> str | None:
        """Its command line, quoted as a shell needs it and without secrets; None if it is not known."""
        line = present(lib.baro_row_cmdline, ctypes.c_char_p, self._pointer)
        return None if line is None else text(line)


class _OfSample(_Row):
    def __init__(self, sample: Sample, kind: int, pointer: int | None) -> None:
        self._sample, self._kind, self._pointer = sample, kind, pointer
        self._owner, self._registry = sample._handle, sample._registry


class Process(_OfSample, OfProcess):
    """A process at one instant."""

    def __init__(self, sample: Sample, pointer: int | None) -> None:
        super().__init__(sample, _PROCESS, pointer)

    @property
    def uid(self) -> int | None:
        uid = lib.baro_row_uid(self._pointer)
        return None if uid == _NO_USER else int(uid)

    @property
    def origin(self) -> str:
        return text(lib.baro_origin_name(present(lib.baro_row_origin, ctypes.c_int, self._pointer)))

    def __repr__(self) -> str:
        return f"<Process {self.pid} {self.name}>"


def _rate(kind: int, before: int | None, now: int | None, derived: str) -> Real | Absent:
    number = lib.baro_derived_find(kind, derived.encode())
    if number < 0:
        raise AttributeError(f"there is no derived metric {derived}")
    if before is None:
        return Absent("not yet", derived)
    value = ctypes.c_double()
    reason = lib.baro_row_derived(before, now, number, ctypes.byref(value))
    return absent(reason, derived) if reason else Real(value.value)


class Entity(_OfSample):
    """A CPU, disk, filesystem, interface, control group, task, ... at one instant."""

    @property
    def label(self) -> str:
        return text(lib.baro_row_label(self._pointer))

    @property
    def attributes(self) -> dict[str, Any]:
        row, found = _abi.baro_attribute(), {}
        for i in range(lib.baro_row_attribute_count(self._pointer)):
            if lib.baro_row_attribute(self._pointer, i, ctypes.byref(row)) == 0:
                found[text(row.name)] = attribute(row)
        return found

    def rate(self, derived: str, before: Sample) -> Real | Absent:
        """A derived metric since an earlier sample: busy_ratio of a GPU, read_bytes_per_second of a disk. Absent if it
        was not read since then."""
        for other in range(before._rows(self._kind)):
            row = before._row(self._kind, other)
            if lib.baro_row_id(row) == self.id:
                return _rate(self._kind, row, self._pointer, derived)
        return Absent("not yet", derived)

    def __repr__(self) -> str:
        return f"<Entity {self.name}>"


class _One(Values):
    """The job, the machine or the recorder at one instant."""

    def __init__(self, sample: Sample, kind: int) -> None:
        self._sample, self._kind = sample, kind
        self._owner, self._registry = sample._handle, sample._registry

    def _read(self, metric: int, ret: Any) -> int:
        return int(lib.baro_row_value(self._sample._row(self._kind), metric, ret))


class Sample:
    """All values at one instant: of the job, its processes, the machine and the recorder."""

    def __init__(self, pointer: int, registry: Registry, time_ns: int) -> None:
        self._handle = Handle(pointer, lib.baro_sample_free, "the sample")
        self._registry = registry
        self.time_ns = time_ns
        """Nanoseconds since 1970, UTC."""

    @classmethod
    def copy_of(cls, borrowed: int, registry: Registry, time_ns: int) -> Sample:
        return cls(make(lib.baro_sample_copy, borrowed, NEW), registry, time_ns)

    @property
    def t_ns(self) -> int:
        """Nanoseconds since the tape began."""
        return int(lib.baro_sample_t_ns(self._handle.pointer))

    @property
    def t(self) -> float:
        """Seconds since the tape began."""
        return self.t_ns / 1e9

    def _row(self, kind: int, i: int = 0) -> int | None:
        row: int | None = lib.baro_sample_row(self._handle.pointer, kind, i)
        return row

    def _rows(self, kind: int) -> int:
        return int(lib.baro_sample_rows(self._handle.pointer, kind))

    @property
    def job(self) -> Values:
        return _One(self, _JOB)

    @property
    def host(self) -> Values:
        return _One(self, _HOST)

    @property
    def recorder(self) -> Values:
        return _One(self, _RECORDER)

    @property
    def processes(self) -> list[Process]:
        """The living processes; parents before their children."""
        return [Process(self, self._row(_PROCESS, i)) for i in range(self._rows(_PROCESS))]

    def process(self, pid: int) -> Process | None:
        found = lib.baro_sample_find(self._handle.pointer, pid, 0)
        return Process(self, found) if found else None

    def entities(self, kind: str) -> list[Entity]:
        """Those of a kind: "cpu", "disk", "fs", "net", "cgroup", "task", ..."""
        number = self._registry.kind(kind)
        count = self._rows(number) if number > _HOST else 0
        return [Entity(self, number, self._row(number, i)) for i in range(count)]

    def sum(self, metric: str) -> Value:
        """Adds up a metric over the living processes: rss_bytes, pss_bytes, threads, ..."""
        row = self._registry.of(_PROCESS).get(metric)
        if row is None:
            raise AttributeError(f"processes have no metric {metric}")
        found, lacking = ctypes.c_uint64(), ctypes.c_size_t()
        reason = lib.baro_sample_sum(self._handle.pointer, row.id, ctypes.byref(found), ctypes.byref(lacking))
        if reason:
            return absent(reason, metric)
        value = row.value(found.value)
        if lacking.value and isinstance(value, (Whole, Real)):
            value.flags = _abi.BARO_VALUE_LOWER_BOUND
        return value

    def __repr__(self) -> str:
        return f"<Sample at {self.t:.3f} s, {self._rows(_PROCESS)} processes>"


class Now:
    """What a job uses at this moment: its newest sample, and rates since the one before."""

    def __init__(self, sample: Sample, before: Sample | None) -> None:
        self.sample, self.before = sample, before

    def rate(self, derived: str, kind: int = _JOB) -> Real | Absent:
        """A derived metric of the job, such as io_read_bytes_per_second."""
        return _rate(kind, self.before._row(kind) if self.before else None, self.sample._row(kind), derived)

    @property
    def t(self) -> float:
        return self.sample.t

    @property
    def cores(self) -> Real | Absent:
        """Cores in use."""
        return self.rate("cores")

    @property
    def rss_bytes(self) -> Value:
        """Memory of all its processes."""
        return self.sample.sum("rss_bytes")

    @property
    def cpu_ns(self) -> Any:
        return self.sample.job.cpu_ns

    @property
    def processes(self) -> list[Process]:
        return self.sample.processes

    def __repr__(self) -> str:
        cores, rss = self.cores, self.rss_bytes
        memory = f"{int(rss) / 1e6:.1f} MB" if isinstance(rss, int) else repr(rss)
        used = f"{float(cores):.2f} cores" if isinstance(cores, float) else f"cores {cores!r}"
        return f"<Now at {self.t:.2f} s: {used}, {memory} rss, {len(self.processes)} processes>"
