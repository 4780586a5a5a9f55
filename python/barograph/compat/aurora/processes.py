# SPDX-License-Identifier: Apache-2.0
"""What a process of a task and all below it use."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _base

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
    """What a process and its children use, from a recording of its own that begins with the first sample(). pid: None
    of one that has not begun."""

    def __init__(self, pid: int | None, *, interval: float = 0.25) -> None:
        self._pid, self._interval = pid, interval
        self._probe: _base.Probe | None = None
        self._sample = ProcessSample.empty()
        self._before: _base.Usage | None = None
        self._rate = 0.0
        self._procs = 1

    def sample(self) -> None:
        """Takes the newest sample of the recording; the result is `value`."""
        if self._probe is None and self._pid is not None:
            self._probe = _base.Probe(self._pid, interval=self._interval)
        usage = self._probe.take(fresh=False) if self._probe is not None else None
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
        first = usage.process(self._pid or 0) or next(iter(usage.sample.processes), None)
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
