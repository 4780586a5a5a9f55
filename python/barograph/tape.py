# SPDX-License-Identifier: Apache-2.0
"""Reading tapes: at rest, torn, or while they grow."""

from __future__ import annotations

import ctypes
import datetime
import os
import select
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Union
from collections.abc import AsyncIterator, Iterable, Iterator

from . import _abi, series
from ._lib import NEW, Handle, call, lib, make, raw, text
from ._metrics import Registry
from .errors import ArgumentError, ClosedError
from .records import Damage, Event, Exit, Limits
from .sample import Now, Sample
from .summary import Row, Summary, Verdict, verdicts_of
from .timeline import Mark, Notable, Phase, Timeline
from .values import instant

if TYPE_CHECKING:
    from .processes import ProcessOfTape
    from .rows import Rows

Record = Union[Sample, Exit, Event, Limits, Damage]
Moment = Union[str, float, int, datetime.datetime]
_LOOK_EVERY = 1.0  # seconds: what inotify does not report, such as the death of a recorder
_SELECTION = {"before": 1, "after": 2, "nearest": 3, "exact": 0, "interpolate": 4}


class Header:
    """What was known when the recording began."""

    def __init__(self, pointer: int) -> None:
        def of(name: str) -> Any:
            value = getattr(lib, f"baro_header_{name}")(pointer)
            return text(value) if isinstance(value, bytes) else value

        argv = lib.baro_header_argv(pointer)
        count = 0
        while argv[count] is not None:
            count += 1
        self.argv = [text(argv[i]) for i in range(count)]
        self.mode = "attach" if of("mode") else "run"
        self.name: str = of("name")
        self.cwd: str = of("cwd")
        self.uid: int = of("uid")
        self.targets = [int(lib.baro_header_target(pointer, i)) for i in range(of("target_count"))]
        self.cgroup_mode: str = of("cgroup_mode")
        self.version: str = of("version")
        self.interval_ns: int = of("interval_ns")
        self.overhead = of("overhead_ppm") / 1e6
        self.recorder_pid: int = of("recorder_pid")
        self.recorder_start_ticks: int = of("recorder_start_ticks")
        self.has_start: bool = of("has_start")
        self.segment: int = of("segment")
        self.event_source: str = of("event_source")
        self.exit_source: str = of("exit_source")
        self.start_ns: int = of("start_realtime_ns")
        self.start = instant(self.start_ns)
        self.start_monotonic_ns: int = of("start_monotonic_ns")
        self.boot_id: str = of("boot_id")
        self.clock_ticks: int = of("clock_ticks")
        self.host: str = of("host")
        self.kernel: str = of("kernel")
        self.machine: str = of("machine")
        self.cpu_model: str = of("cpu_model")
        self.cpus: int = of("cpus")
        self.memory_bytes: int = of("memory_bytes")
        self.job_id: str = of("job_id")
        self.step_id: str = of("step_id")
        self.rank: str = of("rank")

    def __repr__(self) -> str:
        what = " ".join(self.argv) or self.name or f"pid {', '.join(map(str, self.targets))}"
        return f"<Header of {what!r} on {self.host}, {self.start:%Y-%m-%d %H:%M:%S}Z>"


class _Cursor:
    """A position in a tape."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.registry = Registry(handle)
        self._record = _abi.baro_record()

    def __enter__(self) -> _Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        """What was taken from it needs it no longer."""
        self.registry.release()
        self.handle.close()

    def time_ns(self, t_ns: int) -> int:
        """The wall-clock time of an instant, as the recorder's machine had it."""
        time_ns = ctypes.c_int64()
        call(lib.baro_tape_realtime_ns, self.handle.pointer, t_ns, ctypes.byref(time_ns))
        return time_ns.value

    def next(self) -> Record | None:
        """None: nothing more for now."""
        with self.handle.lock:
            if not call(lib.baro_tape_next, self.handle.pointer, ctypes.byref(self._record)):
                return None
            return self._take()

    def _take(self) -> Record:
        kind, of = self._record.kind, self._record.u
        if kind == _abi.BARO_RECORD_SAMPLE:
            return Sample.copy_of(of.sample, self.registry, self.time_ns(int(self._record.t_ns)))
        if kind == _abi.BARO_RECORD_EXIT:
            return Exit(of.exit, self.registry)
        if kind == _abi.BARO_RECORD_EVENT:
            return Event(of.event)
        if kind == _abi.BARO_RECORD_LIMITS:
            return Limits(of.limits, int(self._record.t_ns))
        return Damage(int(self._record.t_ns))

    def seek(self, t_ns: int) -> Sample | None:
        with self.handle.lock:
            found = call(lib.baro_tape_seek, self.handle.pointer, t_ns, ctypes.byref(self._record))
            return self._sample() if found else None

    def previous(self) -> Sample | None:
        with self.handle.lock:
            found = call(lib.baro_tape_previous, self.handle.pointer, ctypes.byref(self._record))
            return self._sample() if found else None

    def _sample(self) -> Sample:
        taken = self._take()
        assert isinstance(taken, Sample)
        return taken

    def wait(self, timeout: float) -> bool:
        """False: nobody writes it any more, and all was read."""
        with self.handle.lock:
            err = _abi.baro_error()
            code = lib.baro_tape_wait(self.handle.pointer, int(timeout * 1000), ctypes.byref(err))
        if code == _abi.BARO_E_ENDED:
            return False
        if code < 0:
            call(lambda *_: code)
        return True

    def poll_fd(self) -> int:
        with self.handle.lock:
            return int(lib.baro_tape_poll_fd(self.handle.pointer))


async def _changed(fd: int) -> None:
    """Waits until the descriptor is readable, but not for long."""
    import asyncio

    if fd < 0:
        await asyncio.sleep(0.1)
        return
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), _LOOK_EVERY)
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(fd)


class Tape:
    """A recording. Everything is read when it is asked for; a tape that is still written can be read as any other.

    Iterating gives its samples; `async for` those of a growing tape as they come, until its end.
    """

    def __init__(self, path: str | os.PathLike[str] = "@last") -> None:
        name = os.fspath(path)
        resolved = ctypes.create_string_buffer(4096)
        if name.startswith("@"):
            call(lib.baro_runs_resolve, raw(name), resolved, len(resolved))
            name = text(resolved.value)
        self._begin(name, lambda: make(lib.baro_tape_open, NEW, raw(name)))

    @classmethod
    def from_fd(cls, fd: int, name: str = "the tape") -> Tape:
        """A tape that is open; the descriptor may be closed afterwards."""
        tape = cls.__new__(cls)
        kept = os.dup(fd)
        weakref.finalize(tape, os.close, kept).atexit = False
        tape._begin(name, lambda: make(lib.baro_tape_open_fd, NEW, kept, raw(name)))
        return tape

    @classmethod
    def from_bytes(cls, data: bytes) -> Tape:
        """A tape in memory."""
        tape = cls.__new__(cls)
        kept = ctypes.create_string_buffer(data, len(data))
        tape._begin("<memory>", lambda: make(lib.baro_tape_open_memory, NEW, ctypes.addressof(kept), len(kept)), kept)
        return tape

    def _begin(self, path: str, opener: Callable[[], int], *keeps: object) -> None:
        self.path = path
        self._opener, self._keeps = opener, keeps
        self._closed = False
        self._cached: tuple[Any, ...] = ()
        self._made: dict[str, Any] = {}
        with self._cursor() as cursor:
            self.header = Header(lib.baro_tape_header(cursor.handle.pointer))

    def _cursor(self) -> _Cursor:
        if self._closed:
            raise ClosedError(f"{self.path} is closed")
        return _Cursor(Handle(self._opener(), lib.baro_tape_close, self.path, *self._keeps))

    def _of_all(self, name: str, function: Callable[[int], Any]) -> Any:
        """What is made from the whole tape is kept until the tape has grown."""
        stamp = self._stamp()
        if stamp != self._cached:
            self._made, self._cached = {}, stamp
        if name not in self._made:
            with self._cursor() as cursor:
                self._made[name] = function(cursor.handle.pointer)
        return self._made[name]

    def _stamp(self) -> tuple[Any, ...]:
        if self._closed:
            raise ClosedError(f"{self.path} is closed")
        try:
            status = os.stat(self.path)
        except OSError:
            return ()
        if not os.path.isdir(self.path):
            return (status.st_ino, status.st_size, status.st_mtime_ns)
        return tuple(sorted((e.name, e.stat().st_size) for e in os.scandir(self.path)))

    # ---- the recording as a whole ----

    @property
    def state(self) -> str:
        """ "running", "ended", or "cut off": nobody writes it any more, and it has no end."""
        end = _abi.baro_tape_end(size=ctypes.sizeof(_abi.baro_tape_end))
        with self._cursor() as cursor:
            call(lib.baro_tape_read_end, cursor.handle.pointer, ctypes.byref(end))
            state = _abi.BARO_TAPE_ENDED if end.complete else lib.baro_tape_state(cursor.handle.pointer)
        return text(lib.baro_tape_state_name(state))

    @property
    def summary(self) -> Summary:
        return self._of_all("summary", lambda at: Summary(lambda: make(lib.baro_summary_of_tape, at, NEW), self.path))  # type: ignore[no-any-return]

    @property
    def verdicts(self) -> list[Verdict]:
        """What held the job up or ended it, the heaviest first."""
        return self._of_all("verdicts", verdicts_of)  # type: ignore[no-any-return]

    @property
    def timeline(self) -> Timeline:
        return self._of_all("timeline", Timeline)  # type: ignore[no-any-return]

    @property
    def phases(self) -> list[Phase]:
        return self.timeline.phases

    @property
    def marks(self) -> list[Mark]:
        return self.timeline.marks

    @property
    def notable(self) -> list[Notable]:
        return self.timeline.notable

    @property
    def tasks(self) -> list[Row]:
        """What each task used: facts as attributes."""
        return self.summary["tasks"]  # type: ignore[no-any-return]

    @property
    def commands(self) -> list[Row]:
        """What all processes of a name used."""
        return self.summary["commands"]  # type: ignore[no-any-return]

    @property
    def exits(self) -> list[Exit]:
        return [r for r in self.records() if isinstance(r, Exit)]

    @property
    def events(self) -> list[Event]:
        return [r for r in self.records() if isinstance(r, Event)]

    @property
    def processes(self) -> list[ProcessOfTape]:
        """Every process of the recording with what it used, also those that no sample saw."""
        from .processes import processes_of

        return self._of_all("processes", lambda _: processes_of(self))  # type: ignore[no-any-return]

    # ---- instants and curves ----

    @property
    def range_ns(self) -> tuple[int, int]:
        """When the first and the last sample were."""
        first, last = ctypes.c_uint64(), ctypes.c_uint64()
        with self._cursor() as cursor:
            call(lib.baro_tape_range, cursor.handle.pointer, ctypes.byref(first), ctypes.byref(last))
        return first.value, last.value

    def time_ns(self, t: float) -> int:
        """The wall-clock time of an instant: nanoseconds since 1970, UTC. It knows when the clock was set and when the
        machine slept. t: seconds since the tape began."""
        with self._cursor() as cursor:
            return cursor.time_ns(int(t * 1e9))

    def _moment_ns(self, moment: Moment) -> int:
        first, last = self.range_ns
        if isinstance(moment, datetime.datetime):
            since = moment.timestamp() if moment.tzinfo else moment.astimezone().timestamp()
            return self._since_start(int(since * 1e9))
        if isinstance(moment, str):
            if moment == "peak":
                return int(self.summary.job.get("memory_peak_t_ns", last))
            if moment in ("start", "end"):
                return first if moment == "start" else last
            try:
                if moment.endswith("%"):
                    return first + int((last - first) * float(moment[:-1]) / 100)
                seconds = float(moment.rstrip("s"))
            except ValueError:
                raise ArgumentError(f"{moment!r} is no moment: 1.5, '50%', 'peak', 'start', 'end', '-10s'") from None
            return max(0, int(seconds * 1e9) + (last if moment.startswith("-") else 0))
        return int(moment * 1e9)

    def _since_start(self, time_ns: int) -> int:
        """The instant of a wall-clock time; where the clock was put back, the later one."""
        t_ns = time_ns - self.header.start_ns
        with self._cursor() as cursor:
            for _ in range(4):  # a step moves the instant, perhaps across another step
                ahead = cursor.time_ns(max(0, t_ns)) - self.header.start_ns - max(0, t_ns)
                if t_ns == time_ns - self.header.start_ns - ahead:
                    break
                t_ns = time_ns - self.header.start_ns - ahead
        return max(0, t_ns)

    def at(self, moment: Moment, how: str = "nearest") -> Sample | None:
        """The job, its processes and the machine at one moment.

        moment: seconds since the tape began, "peak" (of memory), "50%", "start", "end", "-10s" (before the end), or a
        datetime. how: "nearest", "before", "after", "exact" or "interpolate". None if there is no such instant.
        """
        if how not in _SELECTION:
            raise ArgumentError(f"{how!r} is not one of {', '.join(_SELECTION)}")
        t_ns, found = self._moment_ns(moment), ctypes.c_void_p()
        with self._cursor() as cursor:
            call(lib.baro_tape_at, cursor.handle.pointer, t_ns, _SELECTION[how], ctypes.byref(found))
            if not found.value:
                return None
            return Sample(found.value, cursor.registry, cursor.time_ns(int(lib.baro_sample_t_ns(found.value))))

    def now(self) -> Now | None:
        """The newest sample, and rates since the one before; None if there is none yet."""
        with self._cursor() as cursor:
            newest = cursor.seek((1 << 64) - 1)
            return None if newest is None else Now(newest, cursor.previous())

    def series(
        self, metric: str, buckets: int = 300, *, start: float | None = None, end: float | None = None
    ) -> series.Series:
        """A curve: "cores", "rss", "process.rss@cc1", "disk.busy_ratio@sda", "host.memory_used", "process.count".
        Of a counter its growth per second. start and end are seconds since the tape began."""
        stop = _abi.baro_tape_end(size=ctypes.sizeof(_abi.baro_tape_end))
        with self._cursor() as cursor:
            call(lib.baro_tape_read_end, cursor.handle.pointer, ctypes.byref(stop))
            stretch = (int((start or 0) * 1e9), stop.end_ns if end is None else int(end * 1e9))
            call(lib.baro_tape_read_kinds, cursor.handle.pointer)
            return series.read(cursor.handle.pointer, cursor.registry, metric, buckets, stretch)

    # ---- record by record ----

    def __iter__(self) -> Iterator[Sample]:
        return (r for r in self.records() if isinstance(r, Sample))

    def records(self, *, follow: bool = False, timeout: float | None = None) -> Iterator[Record]:
        """Samples, exits, events, limits and damage in the order in which they were written.

        follow: waits for more until the recording ends, at most `timeout` seconds for the next record.
        """
        with self._cursor() as cursor:
            yield from self._records(cursor, follow, timeout)

    @staticmethod
    def _records(cursor: _Cursor, follow: bool, timeout: float | None) -> Iterator[Record]:
        heard = time.monotonic()
        while True:
            record = cursor.next()
            if record is not None:
                yield record
                heard = time.monotonic()
                continue
            if not follow or not cursor.wait(0):
                return
            left = None if timeout is None else heard + timeout - time.monotonic()
            if left is not None and left <= 0:
                return
            fd = cursor.poll_fd()
            pause = _LOOK_EVERY if left is None else min(_LOOK_EVERY, left)
            if fd >= 0:  # without the lock, so that other threads may read meanwhile
                poll = select.poll()
                poll.register(fd, select.POLLIN)
                poll.poll(pause * 1000)
            else:
                time.sleep(min(pause, 0.1))

    def follow(self, timeout: float | None = None) -> Iterator[Sample]:
        """The samples of a growing tape as they come, until its end."""
        return (r for r in self.records(follow=True, timeout=timeout) if isinstance(r, Sample))

    async def arecords(self) -> AsyncIterator[Record]:
        """As records(follow=True), for asyncio."""
        with self._cursor() as cursor:
            while True:
                record = cursor.next()
                if record is not None:
                    yield record
                elif cursor.wait(0):
                    await _changed(cursor.poll_fd())
                else:
                    return

    async def __aiter__(self) -> AsyncIterator[Sample]:
        async for record in self.arecords():
            if isinstance(record, Sample):
                yield record

    # ---- rows ----

    def rows(
        self,
        kind: str,
        columns: str | Iterable[str] | None = None,
        *,
        start: float | None = None,
        end: float | None = None,
        batch_rows: int = 0,
    ) -> Rows:
        """The rows that `baro export` writes, as Arrow: for pyarrow.table(), polars.DataFrame(), DuckDB, ...

        kind: "process", "job", "exit", "event", "host", "cpu", "disk", ... columns: names, or names separated by commas;
        without them those of `baro export`. start and end are seconds since the tape began.
        """
        from .rows import Rows

        return Rows(self, kind, columns, start, end, batch_rows)

    # ---- the rest ----

    @property
    def kinds(self) -> list[str]:
        """Kinds of rows that it may hold, also those that only this tape has (--collect)."""
        with self._cursor() as cursor:
            call(lib.baro_tape_read_kinds, cursor.handle.pointer)
            return cursor.registry.kinds()

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Writes a report: a page (.html), Markdown (.md) or data (.json)."""
        from ._programs import write_report

        return write_report(self.path, os.fspath(path), force)

    def plot(self, figure: str = "cpu", *, width: int = 760, height: int = 240) -> str:
        """A chart of the report as SVG; `baro plot --list` has the figures. A metric will do as well."""
        from ._programs import plot

        return plot(self.path, figure, width, height)

    def _repr_html_(self) -> str:
        from .html import tape_html

        return tape_html(self)

    def close(self) -> None:
        """What was taken from the tape stays; nothing more can be read."""
        self._closed = True
        self._made = {}

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Tape {self.path}>"
