# SPDX-License-Identifier: Apache-2.0
"""What the trackers of all versions have in common: they record, and pass on the rows of `baro export` as they come."""

from __future__ import annotations

import csv
import io
import os
import sys
import time
import weakref
from collections.abc import Iterator
from typing import IO, Any, Callable

from ... import _where
from ...recorder import Recording
from .. import _base
from . import _gpu, _proc

# The shell lets go of standard output, so that it ends with the rows.
_EXPORT = '"$baro" export --follow --dialect "$dialect" --entity "$entity" "$tape" &\nexec >&-'


_DIGITS = {"timestamp": 3, "utime": 6, "stime": 6}


def cells(line: str) -> list[Any]:
    """A line of CSV whose texts are in quotes and whose numbers are not."""
    values: list[Any] = []
    for text, quoted in _split(line):
        if quoted:
            values.append(text if text else None)
        else:
            values.append(number(text))
    return values


def _split(line: str) -> Iterator[tuple[str, bool]]:
    for word in next(csv.reader([line], quoting=csv.QUOTE_NONE)):
        quoted = word.startswith('"')
        yield (word[1:-1], True) if quoted else (word, False)


def number(text: str) -> int | float | None:
    if text == "nan":
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def render(values: list[Any], end: str) -> str:
    """A line as the original's csv module writes it: texts, and None, in quotes."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator=end).writerow(values)
    return out.getvalue()


class Live:
    """A recording whose rows are passed on until it ends. It ends with the interpreter, too."""

    def __init__(self, dialect: str, entity: str) -> None:
        environment = {"baro": _where.baro(), "dialect": dialect, "entity": entity}
        # Before the recording: it is no part of the job.
        self._companion = _base.Companion(["/bin/sh", "-c", _base._SCRIPT % _EXPORT], environment)
        self.recording: Recording | None = None
        self._stop: Callable[[], object] = bool

    def begin(self, recording: Recording) -> bool:
        self.recording = recording
        self._stop = weakref.finalize(self, _base._stop, recording, self._companion)
        if recording.path is None:
            self._companion.end(0)
            return False
        self._companion.begin(recording.tape)
        return True

    def lines(self) -> Iterator[str]:
        """Lines of CSV as they come, until the recording ends."""
        rest = b""
        while True:
            try:
                got = self._companion.read(3600)
            except OSError:
                return  # the interpreter ends, and this is a thread of it
            if got == b"":
                return
            *whole, rest = (rest + (got or b"")).split(b"\n")
            for line in whole:
                if line.startswith((b'"', b"1", b"2", b"3", b"4")) and b"," in line:
                    yield line.decode().rstrip("\r")

    def close(self) -> None:
        self._stop()


class Tracker:
    """The part of ProcessTracker, SystemTracker and PidTracker that they share."""

    DIALECT, ENTITY, END = "spare-cores-0.5", "process", "\n"
    MEMORY = "memory_mib"  # the name of the column of its pss
    CPU_UNIT: float = 1  # of utime and stime, in a second
    SPACE_UNIT: float = 1e9  # of disks, in bytes
    ROUNDED = True
    pid: int
    children: bool
    interval: float
    cycle: int
    status: str
    stats: dict[str, Any]
    _original: bool
    recording: Recording | None

    def __call__(self) -> None:
        """The original's do nothing, either."""

    def _record(self) -> Recording:
        raise NotImplementedError

    def _complete(self, row: dict[str, Any]) -> dict[str, Any]:
        """Fills in what the tape's dialect has no value for."""
        return _gpu.complete(row)

    def _rendered(self, values: list[Any]) -> str:
        return render(list(self._complete(dict(zip(self._names, values))).values()), self.END)

    def _kept(self, values: list[Any]) -> bool:
        return True

    def _next(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What was used at the last call, and now."""
        raise NotImplementedError

    def diff_stats(self) -> dict[str, Any]:
        """What was used since the last call."""
        before, now = self._next()
        row: dict[str, Any] = {}
        for name, value in now.items():
            if name in ("utime", "stime") or name.endswith("_bytes"):
                # The sum of several processes falls where one of them has gone.
                row[name] = max(0, value - before[name])
            elif name == "disk_stats":
                row.update(self._moved(before[name], value))
            elif name == "disk_spaces":
                sums = {key: sum(s[key] for s in value.values()) for key in ("total", "used", "free")}
                row.update({f"disk_space_{key}_gb": round(n / self.SPACE_UNIT, 2) for key, n in sums.items()})
            elif name != "gpu_utilized_indexes":
                row[name] = value
            if name == "stime":
                row["cpu_usage"] = cores(now, before, self.CPU_UNIT)
        if not self.ROUNDED:
            return row
        return {n: round(v, _DIGITS.get(n, 4)) if isinstance(v, float) else v for n, v in row.items()}

    def _moved(self, before: dict[str, Any], now: dict[str, Any]) -> dict[str, int]:
        """What disks that are in both have read and written."""
        total = {}
        for way in ("read", "write"):
            grown = (self._bytes_of(d, now[d], way) - self._bytes_of(d, before[d], way) for d in set(before) & set(now))
            total[f"disk_{way}_bytes"] = sum(max(0, n) for n in grown)
        return total

    def _bytes_of(self, disk: str, moved: dict[str, int], way: str) -> int:
        return moved[f"{way}_bytes"]

    def _calls_back(self) -> bool:
        """Is diff_stats(), which the original calls for each row, that of a subclass or a caller?"""
        return "diff_stats" in vars(self) or not type(self).diff_stats.__module__.startswith(__package__)

    def _track_by_calls(self, output_file: str | None, print_header: bool) -> None:
        """As the original: the first row is the difference to the beginning, and the header is in its place."""
        out: IO[str] = open(output_file, "w", newline="") if output_file else sys.stdout
        begun, calls = time.monotonic(), 0
        try:
            while True:
                row = self.diff_stats()
                if self.ENTITY == "process" and not row[self.MEMORY]:
                    self.status = "exited"
                    return
                if calls or print_header:
                    out.write(render(list(row.values() if calls else row), self.END))
                    out.flush()
                calls += 1
                time.sleep(max(0.0, begun + self.interval * calls - time.monotonic()))
        finally:
            if output_file:
                out.close()

    def _track(self, output_file: str | None, print_header: bool) -> None:
        if self._calls_back():
            return self._track_by_calls(output_file, print_header)
        live = Live(self.DIALECT, self.ENTITY)
        recording = self._record()
        self.recording = recording
        out: IO[str] = open(output_file, "w", newline="") if output_file else sys.stdout
        try:
            if not live.begin(recording):
                self.status = "exited"
                return
            self._pass_on(live, out, print_header)
            self.status = "exited" if self.ENTITY == "process" else self.status
        except BaseException:
            recording.stop()  # ^C, or the end of whoever reads: what was recorded until now is still written
            self._rest(live, out)
            raise
        finally:
            live.close()
            if output_file:
                out.close()

    def _pass_on(self, live: Live, out: IO[str], print_header: bool) -> None:
        self._names = []
        for line in live.lines():
            if not self._names:
                self._names = [str(name) for name in cells(line)]
                if print_header:
                    out.write(render(self._names, self.END))
                continue
            values = cells(line)
            if not self._kept(values):
                continue
            self.cycle += 1
            out.write(self._rendered(values))
            out.flush()

    _names: list[str] = []

    def _rest(self, live: Live, out: IO[str]) -> None:
        try:
            for line in live.lines():
                if self._names and not line.startswith('"'):
                    out.write(self._rendered(cells(line)))
            out.flush()
        except (OSError, ValueError):
            pass


class OfProcess(Tracker):
    """What the trackers of a process have in common in all versions."""

    _probe: _base.Probe | None = None

    def _begin(
        self,
        pid: int | None,
        interval: float,
        children: bool,
        original: bool | None,
        start: float | None,
        probe: bool,
    ) -> None:
        """probe: the first diff_stats() is the difference to now."""
        self._original = _base.as_original(original)
        self.pid = own_pid(pid)
        self.status = "running"
        self.interval = interval
        self.cycle = 0
        self.children = children
        self.start_time = time.time() if start is None else start
        self.recording = None
        self._probe = None
        self.stats = {}
        if probe and not self._original:
            self._begin_probe()
        self.stats = self.stats or self._read()

    _stats_of: Callable[[_proc.Totals], dict[str, Any]]

    def _read(self) -> dict[str, Any]:
        """What /proc has, as the original reads it."""
        return self._stats_of(_proc.process_totals(self.pid, self.children))

    def _take(self) -> dict[str, Any] | None:
        usage = self._probe.take() if self._probe is not None else None
        if usage is None:
            return None
        pss = usage.total("pss_bytes", "rss_bytes")
        if pss is None:
            pss = usage.total("rss_bytes")
        return self._stats_of(
            _proc.Totals(
                usage.time,
                self.pid,
                usage.processes - 1 if self.children else None,
                usage.user,
                usage.system,
                pss or 0,
                int(usage.read_bytes),
                int(usage.write_bytes),
                _gpu.now({p.pid for p in usage.sample.processes}),
            )
        )

    def _begin_probe(self) -> None:
        self._probe = _base.Probe(self.pid, self.children)
        self.stats = self._take() or self.stats

    def _next(self) -> tuple[dict[str, Any], dict[str, Any]]:
        before = self.stats
        if self._probe is None and not self._original:
            self._begin_probe()
        taken = self._take()
        if taken is not None:
            self.stats = taken
        elif self._original:
            self.stats = self._read()
        else:
            self.stats = {**before, self.MEMORY: 0, "children": 0 if self.children else None}
        self.cycle += 1
        return before, self.stats

    def _record(self) -> Recording:
        return process_recording(self.pid, self.interval, self.children)

    def start_tracking(self, output_file: str | None = None, print_header: bool = True) -> None:
        """Writes CSV to the file, or to standard output, until the process has ended."""
        self._track(output_file, print_header)


class OfMachine(Tracker):
    """What the trackers of the machine have in common in all versions."""

    ENTITY = "host"

    def _begin(self, interval: float, original: bool | None, start: float | None) -> None:
        self._original = _base.as_original(original)
        self.status = "running"
        self.interval = interval
        self.cycle = 0
        self.start_time = time.time() if start is None else start
        self.recording = None
        self.stats = self._read()

    _read: Callable[[], dict[str, Any]]

    def _next(self) -> tuple[dict[str, Any], dict[str, Any]]:
        before, self.stats = self.stats, self._read()
        self.cycle += 1
        return before, self.stats

    def _record(self) -> Recording:
        return machine_recording(self.interval)

    def start_tracking(self, output_file: str | None = None, print_header: bool = True) -> None:
        """Writes CSV to the file, or to standard output, for ever."""
        self._track(output_file, print_header)


def cores(now: dict[str, Any], before: dict[str, Any], unit: float = 1) -> float:
    """Cores between two readings; unit: of their CPU times, in a second."""
    seconds = now["timestamp"] - before["timestamp"]
    used = now["utime"] + now["stime"] - before["utime"] - before["stime"]
    return round(max(0.0, used / unit / seconds), 4) if seconds > 0 else 0.0


def process_recording(pid: int, interval: float, children: bool) -> Recording:
    return _base.record(pid, interval, children=children, host=False, gpu="all")


def machine_recording(interval: float) -> Recording:
    """It ends with the interpreter."""
    return _base.record_machine(interval, "--host", "--gpu", "all", "--under", str(os.getpid()))


def own_pid(pid: int | None) -> int:
    """The default is the process that calls, not the one that imported the module."""
    return os.getpid() if pid is None else pid


def wait_until(when: float | None) -> float:
    now = time.time()
    if when is not None and when > now:
        time.sleep(when - now)
    return now if when is None else when
