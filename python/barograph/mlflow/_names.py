# SPDX-License-Identifier: Apache-2.0
"""What a sample is in MLflow: values by their keys. What is absent in the sample has no value here."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ..sample import Entity, Sample, Values
from ..values import Absent

MEGA, MEBI = 1e6, float(1 << 20)
Point = dict[str, float]
Before = Optional[Sample]


def _number(value: Any) -> float | None:
    return None if isinstance(value, (Absent, str)) or value is None else float(value)


def _get(of: Values, name: str) -> float | None:
    try:
        return _number(getattr(of, name))
    except AttributeError:
        return None  # a metric that this tape does not have


def _sum(sample: Sample, name: str) -> float | None:
    try:
        return _number(sample.sum(name))
    except AttributeError:
        return None


class _Made:
    """A point that is being made."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.values: Point = {}

    def put(self, name: str, value: float | None, scale: float = 1.0) -> None:
        if value is not None and value - value == 0.0:  # neither NaN nor infinite
            self.values[self.prefix + name] = value / scale


def _grown(of: Values, before: Values, names: tuple[str, ...]) -> float | None:
    found = [(_get(of, n), _get(before, n)) for n in names]
    known = [now - then for now, then in found if now is not None and then is not None]
    return max(0.0, sum(known)) if known else None


def cores(sample: Sample, before: Before) -> float | None:
    """What the job used since the sample before."""
    if before is None or sample.t_ns <= before.t_ns:
        return None
    used = _grown(sample.job, before.job, ("cpu_ns",))
    return None if used is None else used / (sample.t_ns - before.t_ns)


_BUSY = ("cpu_user_ns", "cpu_nice_ns", "cpu_system_ns", "cpu_irq_ns", "cpu_softirq_ns", "cpu_steal_ns")
_IDLE = ("cpu_idle_ns", "cpu_iowait_ns")


def _host_busy(sample: Sample, before: Before) -> float | None:
    """The part of the machine's CPU time that was used."""
    if before is None:
        return None
    busy, idle = _grown(sample.host, before.host, _BUSY), _grown(sample.host, before.host, _IDLE)
    return busy / (busy + idle) if busy is not None and idle is not None and busy + idle > 0 else None


def _disk(made: _Made, root: Entity) -> None:
    used, available = _get(root, "used_bytes"), _get(root, "available_bytes")
    if used is None or available is None:
        return
    made.put("disk_usage_megabytes", used, MEGA)
    made.put("disk_available_megabytes", available, MEGA)
    if used + available > 0:
        made.put("disk_usage_percentage", 100 * used / (used + available))


def _gpus(made: _Made, sample: Sample, before: Before) -> None:
    """gpu0 is gpu_0. Their memory in use has what the driver reserves for itself, as NVML's first call for it does."""
    for i, gpu in enumerate(sample.entities("gpu")):
        if "/" in gpu.name:
            continue  # a MIG instance, of which MLflow knows nothing
        number = gpu.name.removeprefix("gpu") if gpu.name.removeprefix("gpu").isdigit() else str(i)
        busy = None if before is None else _number(gpu.rate("busy_ratio", before))
        used, total = _get(gpu, "memory_used_bytes"), _get(gpu, "memory_total_bytes")
        if used is not None:
            used += _get(gpu, "memory_reserved_bytes") or 0.0
        power, limit = _get(gpu, "power_watts"), _get(gpu, "power_limit_watts")
        made.put(f"gpu_{number}_utilization_percentage", None if busy is None else min(100.0, 100 * busy))
        made.put(f"gpu_{number}_memory_usage_megabytes", used, MEGA)
        made.put(f"gpu_{number}_memory_usage_percentage", 100 * used / total if used is not None and total else None)
        made.put(f"gpu_{number}_power_usage_watts", power)
        made.put(f"gpu_{number}_power_usage_percentage", 100 * power / limit if power is not None and limit else None)


def _job(made: _Made, sample: Sample, before: Before) -> None:
    made.put("cores", cores(sample, before))
    for name in ("rss", "pss", "uss", "swap"):
        made.put(f"{name}_megabytes", _sum(sample, f"{name}_bytes"), MEGA)
    made.put("processes", _get(sample.job, "processes"))
    made.put("threads", _sum(sample, "threads"))
    made.put("fds", _sum(sample, "fds"))
    for name in ("io_read", "io_write"):
        made.put(f"{name}_megabytes", _get(sample.job, f"{name}_bytes"), MEGA)


class Namer:
    """Makes points of the samples of one tape, in order. machine: those of "system" have the machine as well."""

    def __init__(
        self, names: str, memory_bytes: float | None, first: Sample | None = None, machine: bool = True
    ) -> None:
        self._make: Callable[[Sample, Before], Point] = {
            "system": self._system if machine else self._system_job,
            "process": self._process,
            "baro": self._baro,
        }[names]
        self._memory = memory_bytes
        self._first = first  # what MLflow's names count from

    def point(self, sample: Sample, before: Before) -> Point:
        if self._first is None:
            self._first = sample
        return self._make(sample, before)

    def _system(self, sample: Sample, before: Before) -> Point:
        """The machine as MLflow's own monitor names it, and the job in a section of its own."""
        made, host = _Made("system/"), sample.host
        busy = _host_busy(sample, before)
        made.put("cpu_utilization_percentage", None if busy is None else 100 * busy)
        used, total = _get(host, "memory_used_bytes"), _get(host, "memory_total_bytes")
        made.put("system_memory_usage_megabytes", used, MEGA)
        made.put("system_memory_usage_percentage", 100 * used / total if used is not None and total else None)
        for root in sample.entities("fs"):
            if root.name == "/":
                _disk(made, root)
        assert self._first is not None
        for name in ("receive", "transmit"):
            grown = _grown(host, self._first.host, (f"net_{name}_bytes",))
            made.put(f"network_{name}_megabytes", grown, MEGA)
        _gpus(made, sample, before)
        return {**made.values, **self._system_job(sample, before)}

    def _system_job(self, sample: Sample, before: Before) -> Point:
        made = _Made("system/job/")
        _job(made, sample, before)
        return made.values

    def _process(self, sample: Sample, before: Before) -> Point:
        """As stouputils' ProcessMetricsMonitor has them: megabytes of 2^20."""
        made = _Made("process/")
        used = cores(sample, before)
        made.put("cpu_usage_percentage", None if used is None else 100 * used)
        rss = _sum(sample, "rss_bytes")
        made.put("memory_rss_megabytes", rss, MEBI)
        made.put("memory_vms_megabytes", _sum(sample, "virtual_bytes"), MEBI)
        made.put("memory_uss_megabytes", _sum(sample, "uss_bytes"), MEBI)
        made.put("memory_usage_percentage", 100 * rss / self._memory if rss is not None and self._memory else None)
        made.put("num_threads", _sum(sample, "threads"))
        made.put("num_fds", _sum(sample, "fds"))
        made.put("io_read_megabytes", _get(sample.job, "io_read_bytes"), MEBI)
        made.put("io_write_megabytes", _get(sample.job, "io_write_bytes"), MEBI)
        return made.values

    def _baro(self, sample: Sample, before: Before) -> Point:
        made, job, host = _Made("job/"), sample.job, sample.host
        made.put("cores", cores(sample, before))
        for name in ("rss_bytes", "pss_bytes", "uss_bytes", "swap_bytes", "threads", "fds"):
            made.put(name, _sum(sample, name))
        for name in ("cpu_ns", "io_read_bytes", "io_write_bytes", "processes", "processes_started", "faults_major"):
            made.put(name, _get(job, name))
        made.prefix = "host/"
        busy, cpus = _host_busy(sample, before), _get(host, "cpus")
        made.put("cores", busy * cpus if busy is not None and cpus is not None else None)
        for name in ("memory_used_bytes", "memory_available_bytes", "swap_used_bytes", "load_1m"):
            made.put(name, _get(host, name))
        return made.values


def is_rate(key: str) -> bool:
    """Its mean is meant, not its highest value."""
    return key.endswith(("cores", "_utilization_percentage", "cpu_usage_percentage"))
