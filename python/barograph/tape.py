# SPDX-License-Identifier: Apache-2.0
"""Reading tapes: at rest, torn, or while they grow."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import json
import os
import weakref
from typing import TYPE_CHECKING, Any, Callable, Union
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

from . import _abi, series
from ._cursor import Cursor, Record
from ._lib import NEW, Handle, call, instant_ns, lib, make, raw, text
from ._tables import Table
from .errors import ArgumentError, ClosedError
from .header import Header
from .records import Event, Exit
from .sample import Now, Sample
from .steps import Steps
from .summary import Row, Summary, Verdict, verdicts_of
from .timeline import Mark, Notable, Phase, Timeline

if TYPE_CHECKING:
    from .chart import Chart
    from .processes import ProcessOfTape
    from .rows import Rows

Moment = Union[str, float, int, datetime.datetime]
_SELECTION = {"before": 1, "after": 2, "nearest": 3, "exact": 0, "interpolate": 4}


def rules_of(tasks: Mapping[str, str]) -> bytes:
    """For baro_tape_set_tasks()."""
    lines = [
        line
        for name, pattern in tasks.items()
        for line in ({"task": name, "on": "either", "children": True}, {"match": pattern})
    ]
    return raw("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))


class Tape:
    """A recording. Everything is read when it is asked for; a tape that is still written can be read as any other.

    Iterating gives its samples; `async for` those of a growing tape as they come, until its end. tasks: {name: regular
    expression}, by name and command line of processes, instead of the tasks that were recorded (`baro summary --task`).
    """

    _rules: bytes | None = None

    def __init__(self, path: str | os.PathLike[str] = "@last", *, tasks: Mapping[str, str] | None = None) -> None:
        self._rules = rules_of(tasks) if tasks is not None else None
        name = os.fsdecode(path)
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
        kept = bytes(data)  # each cursor has a copy of its own
        tape._begin("<memory>", lambda: make(lib.baro_tape_open_memory, NEW, ctypes.c_char_p(kept), len(kept)))
        return tape

    def _begin(self, path: str, opener: Callable[[], int]) -> None:
        self.path = path
        self._opener = opener
        self._closed = False
        self._made: tuple[Any, dict[str, Any]] = ((), {})  # what the file was like, and what was made from it
        with self._cursor() as cursor:
            self.header = Header(lib.baro_tape_header(cursor.handle.pointer))

    def _cursor(self) -> Cursor:
        if self._closed:
            raise ClosedError(f"{self.path} is closed")
        handle = Handle(self._opener(), lib.baro_tape_close, self.path)
        if self._rules is not None:
            call(lib.baro_tape_set_tasks, handle.pointer, self._rules)
        return Cursor(handle)

    def _of_all(self, name: str, function: Callable[[int], Any]) -> Any:
        """What is made from the whole tape is kept until the tape has grown."""
        stamp = self._stamp()
        cached, made = self._made  # as one, for threads
        if stamp != cached:
            made = {}
            self._made = (stamp, made)
        if name not in made:
            with self._cursor() as cursor:
                made[name] = function(cursor.handle.pointer)
        return made[name]

    def _stamp(self) -> tuple[Any, ...]:
        if self._closed:
            raise ClosedError(f"{self.path} is closed")
        try:
            status = os.stat(self.path)
        except OSError:
            return ()
        if not os.path.isdir(self.path):
            return (status.st_ino, status.st_size, status.st_mtime_ns)
        sizes = {}
        for segment in os.scandir(self.path):
            with contextlib.suppress(FileNotFoundError):  # its recorder has removed it meanwhile (--keep)
                sizes[segment.name] = segment.stat().st_size
        return tuple(sorted(sizes.items()))

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
    def tags(self) -> dict[str, str]:
        """What the user gave with `--tag KEY=VALUE`."""
        return dict(self.header.tags)

    @property
    def summary(self) -> Summary:
        return self._of_all("summary", lambda at: Summary(at, self.path))  # type: ignore[no-any-return]

    @property
    def verdicts(self) -> Table[Verdict]:
        """What held the job up or ended it, the heaviest first."""
        return self._of_all("verdicts", lambda at: Table(verdicts_of(at), "verdicts"))  # type: ignore[no-any-return]

    @property
    def timeline(self) -> Timeline:
        return self._of_all("timeline", Timeline)  # type: ignore[no-any-return]

    @property
    def steps(self) -> Steps:
        """What held the job up, step by step: each compile of make, each command of a script; and the chain."""
        return self._of_all("steps", Steps)  # type: ignore[no-any-return]

    @property
    def phases(self) -> Table[Phase]:
        return Table(self.timeline.phases, "phases")

    @property
    def marks(self) -> list[Mark]:
        return self.timeline.marks

    @property
    def notable(self) -> list[Notable]:
        return self.timeline.notable

    @property
    def tasks(self) -> Table[Row]:
        """What each task used: facts as attributes."""
        return Table(self.summary["tasks"], "tasks")

    @property
    def commands(self) -> Table[Row]:
        """What all processes of a name used."""
        return Table(self.summary["commands"], "commands")

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
            return cursor.time_ns(instant_ns(t))

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
                    return first + instant_ns((last - first) * float(moment[:-1]) / 100e9)
                seconds = float(moment.rstrip("s"))
                return max(0, last - instant_ns(-seconds)) if moment.startswith("-") else instant_ns(seconds)
            except ValueError:
                raise ArgumentError(f"{moment!r} is no moment: 1.5, '50%', 'peak', 'start', 'end', '-10s'") from None
        return instant_ns(moment)

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
            stretch = (instant_ns(start or 0), stop.end_ns if end is None else instant_ns(end))
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
            yield from cursor.records(follow, timeout)

    def follow(self, timeout: float | None = None) -> Iterator[Sample]:
        """The samples of a growing tape as they come, until its end."""
        return (r for r in self.records(follow=True, timeout=timeout) if isinstance(r, Sample))

    async def arecords(self) -> AsyncIterator[Record]:
        """As records(follow=True), for asyncio."""
        with self._cursor() as cursor:
            async for record in cursor.arecords():
                yield record

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

        kind: "process", "job", "exit", "event", "phase", "step", "host", "cpu", "disk", ... columns: names, or names separated by
        commas; without them those of `baro export`. start and end are seconds since the tape began.
        """
        from .rows import Rows

        return Rows(self, kind, columns, start, end, batch_rows)

    # ---- the rest ----

    @property
    def kinds(self) -> list[str]:
        """Kinds of rows that it may hold, also those that only this tape has."""
        with self._cursor() as cursor:
            call(lib.baro_tape_read_kinds, cursor.handle.pointer)
            return cursor.registry.kinds()

    @property
    def row_kinds(self) -> list[str]:
        """What rows() takes."""
        with self._cursor() as cursor:
            call(lib.baro_tape_read_kinds, cursor.handle.pointer)
            names = [*cursor.registry.kinds(), "event", "phase", "step"]
            return [name for name in names if lib.baro_rows_find(cursor.handle.pointer, raw(name)) >= 0]

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Writes a report: a page (.html), Markdown (.md) or data (.json)."""
        from ._programs import write_report

        return write_report(self.path, os.fspath(path), force)

    def plot(self, figure: str = "cpu", *, width: int = 760, height: int = 240) -> Chart:
        """A chart of the report; `baro plot --list` has the figures. A metric will do as well. A notebook draws it;
        its text is SVG, and `.save("memory.png")` writes a file."""
        from ._programs import plot
        from .chart import Chart

        return Chart(plot(self.path, figure, width, height), self.path, figure, width, height)

    def _repr_html_(self) -> str:
        from .html import tape_html

        return tape_html(self)

    def close(self) -> None:
        """What was taken from the tape stays; nothing more can be read."""
        self._closed = True
        self._made = ((), {})

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Tape {self.path}>"
