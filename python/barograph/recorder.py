# SPDX-License-Identifier: Apache-2.0
"""Recording: `with record():`. The recorder is the program baro, a process that is no child of this one: nothing runs
in this interpreter, and nothing is lost when it is killed. Nothing large is imported here, and libbaro only to read."""

from __future__ import annotations

import _thread
import operator
import os
import sys
from collections.abc import Iterable, Mapping

from . import _current, _marks, _spawn, _where
from ._options import options_of
from ._process import Recorder, areadable, read_report
from .errors import ArgumentError, NotATapeError, NotInstalledError, RecordingError, TapeNotFoundError, warn

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from datetime import timedelta
    from types import TracebackType
    from typing import Any, Callable, Literal, TypeVar, overload

    from .sample import Now
    from .summary import Summary, Verdict
    from .tape import Tape

    _F = TypeVar("_F", bound=Callable[..., Any])

_BEGINS_WITHIN = 10.0  # seconds; only a machine that hangs takes so long
_ENDS_WITHIN = 30.0
_GIVES_UP_WITHIN = 1.0  # an interrupt is to end something
_LEFT_OUT = (
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_DEBUG",
    "PYTHON",
    "MALLOC_",
    "ASAN_",
    "BARO_EVENTS",
    "BARO_TAPE",
    "BARO_PID",
)  # not for the recorder


def available() -> bool:
    """Can anything be recorded here?"""
    return _where.is_linux() and bool(_where.baro())


class Recording:
    """What record() returns: a context manager (with, async with), a decorator, and a pair of start() and stop()."""

    def __init__(
        self,
        arguments: list[str],
        *,
        own: bool,
        strict: bool,
        again: Callable[[], Recording] | None,
        replaces: str | None = None,
    ) -> None:
        self._arguments, self._replaces = arguments, replaces
        self._own, self._strict, self._again = own, strict, again
        self._running: list[Recorder] = []  # at most one; whoever takes it out cleans up
        self._owner = 0
        self._is_elsewhere = False  # it records in the process that this one was forked from, or got it pickled from
        self._events = _marks.Events(None)  # where marks go
        self._depth = 0
        self._lock: tuple[int, Any] = (0, None)  # the process whose it is
        self._starts = False
        self._is_unread = False  # that now can't read the tape was said
        self.variables: tuple[str | None, ...] = ()
        """What the environment of processes has that this one starts: $BARO_EVENTS, $BARO_TAPE, $BARO_PID."""
        self._tape: Tape | None = None
        self._hooks: list[Any] = []  # before(), begun(path), ended()
        self.path: str | None = None
        """The tape; None if nothing is recorded."""

    # ---- start and stop ----

    @property
    def active(self) -> bool:
        """Is it recording?"""
        return any(not recorder.has_ended for recorder in self._running)

    def start(self) -> Recording:
        """Begins; the first sample is taken before it returns. Does nothing if it records already, be it in the process
        that this one was forked from or got the object pickled from."""
        with self._alone():
            if self._running or self._is_elsewhere or self._starts:
                return self
            self._starts, fd, said = True, -1, bytearray()
            try:
                fd = self._open()
                if fd >= 0:
                    read_report(fd, said, _BEGINS_WITHIN)
                    self._begun(said)
            except BaseException:
                self._give_up(fd, said)
                raise
            finally:
                self._starts = False
                if fd >= 0:
                    os.close(fd)
        return self

    def _alone(self) -> Any:
        """Of threads that start and stop it at the same time, one at a time. A thread of the process that this one was
        forked from may have had the lock."""
        with _marks.lock:
            if self._lock[0] != os.getpid():
                self._lock, self._starts = (os.getpid(), _thread.RLock()), False
            return self._lock[1]

    def _open(self) -> int:
        try:
            return self._spawn()
        except (OSError, ImportError, ValueError) as error:  # such as a path with a NUL
            self._failed(str(error))
            return -1

    def _give_up(self, fd: int, said: bytearray) -> None:
        """An interrupt while it starts: the caller has no recording, and the recorder ends."""
        for hook in self._hooks:
            hook.begun(None)
        if fd < 0:
            return
        try:
            self._end(fd, said, _GIVES_UP_WITHIN)
        except BaseException:  # another interrupt
            self._end(fd, said, 0)
            raise

    def _end(self, fd: int, said: bytearray, within: float) -> None:
        """Ends what has begun. A recorder that reports later ends then, as nobody reads it (SIGPIPE)."""
        if self._running:
            self.stop()
        elif not said.endswith(b"}\n"):
            read_report(fd, said, within)
        for line in said.splitlines():
            try:
                Recorder(bytes(line)).stop(-1)
            except (ValueError, TypeError, KeyError):
                pass  # a note, or a line that has not come whole

    def _spawn(self) -> int:
        """Returns the end of a pipe from which the recorder's report is read."""
        __import__("json")  # as long as there is a descriptor: what the recorder says is JSON
        program = _spawn.baro()
        self._end_replaced()
        for hook in self._hooks:
            hook.before()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_LEFT_OUT)}
        ours, theirs = os.pipe()
        try:
            # In this order: the pipe may be one of 0, 1 and 2 where the program has closed these.
            actions = [
                (_spawn.DUP, theirs, 1),
                (_spawn.DUP, theirs, 2),
                (_spawn.OPEN, 0, os.devnull, os.O_RDONLY),
            ]
            # The recorder is a child of what is started here, and waits until that was reaped.
            _spawn.start([program, "record", "--background", *self._arguments], environment, actions)
        except OSError as error:
            os.close(ours)
            os.close(theirs)
            raise NotInstalledError(f"can't execute {program}: {error.strerror}") from None
        except BaseException:
            os.close(theirs)
            try:
                self._give_up(ours, bytearray())
            finally:
                os.close(ours)
            raise
        os.close(theirs)
        return ours

    def _end_replaced(self) -> None:
        """A cell of a notebook that is run again has lost its first recording, which nobody else could stop."""
        replaced = os.path.abspath(self._replaces) if self._replaces else ""
        for other in [each for each in _current.active if each.path == replaced and each is not self]:
            text = f"{other.path} is recorded by this program: that recording ends, and its tape is replaced"
            warn(text)
            other.stop()

    def _begun(self, said: bytearray) -> None:
        lines = said.decode("utf-8", "replace").splitlines()
        notes = [line for line in lines if line.strip() and not line.startswith("{")]
        found = [line for line in lines if line.startswith("{")]
        if not found:
            self._failed(" ".join(notes) or "the recorder ended without a word")
            return
        recorder = Recorder(found[-1].encode())
        for note in notes:
            warn(note)
        self._owner = os.getpid()
        self.path = recorder.tape
        self._tape = None
        self._events = _marks.Events(recorder.events)
        self.variables = (recorder.events, self.path, str(self._owner)) if self._own else ()
        self._running.append(recorder)
        _current.begun(self)
        for hook in self._hooks:
            hook.begun(self.path)

    def _failed(self, why: str) -> None:
        for hook in self._hooks:
            hook.begun(None)
        if self._strict:
            raise RecordingError(f"nothing is recorded: {why}")
        warn(f"nothing is recorded: {why}")

    def stop(self) -> Recording:
        """Takes a last sample and ends the recording: `rec.stop().summary`. May be called again; in a forked child it
        does nothing."""
        with self._alone():
            recorder = self._own_recorder()
            if recorder is None:
                return self
            fd, in_time = -1, True
            try:
                self._mark_last()
                fd = recorder.open()
                in_time = recorder.stop(fd) and recorder.wait(fd, _ENDS_WITHIN)
            finally:
                self._ended(recorder, fd, in_time)
            return self

    def _own_recorder(self) -> Recorder | None:
        try:
            return self._running[0] if self._owner == os.getpid() else None
        except IndexError:
            return None

    def _mark_last(self) -> None:
        if "torch" in sys.modules or "jax" in sys.modules:
            try:
                self.mark_allocators()
            except (OSError, ImportError):
                pass  # no descriptor is left

    def _ended(self, recorder: Recorder, fd: int, in_time: bool) -> None:
        if fd >= 0:
            os.close(fd)
        may = recorder.stop(-1)  # once more: there may have been an interrupt before
        _current.ended(self)
        self._events.close()
        try:
            self._running.remove(recorder)
        except ValueError:
            return  # another thread, or the handler of a signal, has ended it meanwhile
        if not in_time:
            why = "" if may else ": this process, which has become another user, may not stop it"
            text = f"the recorder has not ended yet{why}; the tape is {self.path}"
            warn(text)
        for hook in self._hooks:
            hook.ended()

    def _in_child(self) -> None:
        """A fork: this recording is not the child's to stop."""
        self._is_elsewhere = self._is_elsewhere or self.active
        self._running = []  # marks stay open: rec.mark() in a worker goes to the same tape

    def __getstate__(self) -> dict[str, Any]:
        """Pickled it is the object of another process, as a forked child has it: it marks, and stops nothing."""
        is_elsewhere = self._is_elsewhere or self.active
        return {
            **self.__dict__,
            "_lock": (0, None),
            "_again": None,
            "_running": [],
            "_hooks": [],
            "_tape": None,
            "_is_elsewhere": is_elsewhere,
        }

    def __enter__(self) -> Recording:
        self.start()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.stop()

    async def __aenter__(self) -> Recording:
        await self.astart()
        self._depth += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            await self.astop()

    async def astart(self) -> Recording:
        """start() that lets other tasks run meanwhile."""
        with self._alone():
            if self._running or self._is_elsewhere or self._starts:
                return self
            self._starts = True
        fd, said = -1, bytearray()
        try:
            fd = self._open()
            if fd >= 0:
                await areadable(fd, _BEGINS_WITHIN)
                read_report(fd, said, _BEGINS_WITHIN)
                self._begun(said)
        except BaseException:
            self._give_up(fd, said)
            raise
        finally:
            self._starts = False
            if fd >= 0:
                os.close(fd)
        return self

    async def astop(self) -> Recording:
        """stop() that lets other tasks run meanwhile."""
        recorder = self._own_recorder()
        if recorder is None:
            return self
        fd, in_time = -1, True
        try:
            self._mark_last()
            fd = recorder.open()
            in_time = recorder.stop(fd)
            if in_time and fd >= 0:
                await areadable(fd, _ENDS_WITHIN)
            in_time = in_time and recorder.wait(fd, _ENDS_WITHIN)
        finally:
            self._ended(recorder, fd, in_time)
        return self

    def __call__(self, function: _F) -> _F:
        """As a decorator: each call is a recording of its own."""
        return _marks.decorated(function, self._again or (lambda: self))

    # ---- what the job says ----

    def mark(self, name: str, /, **attributes: Any) -> None:
        """Names this moment; attributes are numbers, texts, anything that JSON has. A few microseconds. (A name that a
        line of $BARO_EVENTS has itself, such as `time`, gets an underscore behind it.)"""
        if self._events.is_open:
            self._events.put(_marks.line_of("mark", name, attributes))

    def mark_allocators(self) -> dict[str, dict[str, int]]:
        """Marks what the allocators of PyTorch and JAX had of each GPU at most so far: marks `torch` and `jax` with
        gpu0_peak_bytes, ... The end of a recording does this, too. Returns what was marked; {} without a framework that
        has opened a GPU."""
        from ._allocators import peaks

        found = peaks()
        for name, values in found.items():
            self.mark(name, **values)
        return found

    def phase(self, name: str, /, **attributes: Any) -> _marks.Phase:
        """A phase: `with rec.phase("fit"):`, also `async with`, or as a decorator."""
        return _marks.Phase(self._put, name, attributes)

    def _put(self, line: bytes) -> None:
        self._events.put(line)

    # ---- what is on the tape by now ----

    @property
    def tape(self) -> Tape:
        """The tape, also while it is written."""
        if self._tape is None:
            from .tape import Tape

            if self.path is None:
                raise RecordingError("nothing is recorded: there is no tape")
            self._tape = Tape(self.path)
        return self._tape

    @property
    def now(self) -> Now | None:
        """What the job uses at this moment: `rec.now.cores`, `rec.now.rss_bytes`, its newest sample. None where nothing
        is recorded, or the tape can't be read here: a warning says why, once."""
        try:
            return self.tape.now() if self.path is not None else None
        except (TapeNotFoundError, NotATapeError):
            return None  # the disk is full, or somebody has removed it
        except (OSError, ImportError) as error:  # no libbaro, no ctypes, no descriptor is left: the job goes on
            if not self._is_unread:
                self._is_unread = True
                warn(f"{self.path} is recorded, and can't be read here: {error}")
            return None

    @property
    def summary(self) -> Summary:
        return self.tape.summary

    @property
    def verdicts(self) -> list[Verdict]:
        return self.tape.verdicts

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Writes a report: a page (.html), Markdown (.md) or data (.json)."""
        return self.tape.report(path, force=force)

    def _repr_html_(self) -> str | None:
        return self.tape._repr_html_() if self.path is not None else None

    def __repr__(self) -> str:
        state = "recording" if self.active else "stopped" if self.path else "not recording"
        return f"<Recording {self.path} {state}>" if self.path else f"<Recording {state}>"


def _record(
    path: str | os.PathLike[str] | Callable[..., Any] | None = None,
    *,
    interval: str | float | timedelta = "auto",
    tasks: Mapping[str, str] | None = None,
    children: bool = True,
    pid: int | Iterable[int] | None = None,
    until: Literal["target", "all"] = "target",
    metrics: str | Iterable[str] | None = None,
    du: Iterable[str | os.PathLike[str]] = (),
    keep: str | None = None,
    overhead: str | None = None,
    host: bool | Literal["only"] = True,
    gpu: bool | int | str | Iterable[int | str] = True,
    cmdline: bool = True,
    force: bool = False,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Any:
    """Records this process and what it starts, or other processes.

        with barograph.record() as rec: ...           async with as well
        @barograph.record                             each call; functions, coroutines, generators
        rec = barograph.record("run.baro").start(); ...; rec.stop()

    path: of the tape, which must not exist (force=True: is replaced); without it, it is among the kept runs.
    interval: between samples, in seconds or as "250ms"; "auto" begins densely. tasks: {name: regular expression of a
    command}. children: also what the process starts. pid: other processes instead. until: without stop(), it ends with
    these processes, or when what they started has ended, too ("all"). metrics: as `baro record --metrics`. du: folders
    whose size is recorded. keep: only the newest part, as "1h" or "512MB". overhead: the budget, as "1%" or "off".
    host: the machine as well; "only": nothing but the machine, until stop() or the end of this process. gpu: those that
    this process may use; False: none; numbers or UUIDs. cmdline: command lines as well.
    name: the title. tags: {key: text}, for lists: `baro ls --tag KEY=VALUE`, `tape.tags`.

    If nothing can be recorded, a RecordingWarning says why and the program goes on; strict=True makes it an error.
    """
    if callable(path):
        return _record()(path)
    tape = None if path is None else os.fsdecode(path)
    replaces = tape if force else None
    if host == "only" and (pid is not None or tasks or metrics is not None):
        raise ArgumentError('host="only" has no processes: pid, tasks and metrics do not go with it')

    def make(again: Callable[[], Recording] | None) -> Recording:
        if host == "only":
            options = ["--host", "--under", str(os.getpid())]
        else:
            pids = [os.getpid()] if pid is None else list(pid) if isinstance(pid, Iterable) else [pid]
            options = [o for number in pids for o in ("--pid", str(operator.index(number)))]
            options += ["--until", until] if until != "target" else []
            options += [] if children else ["--no-children"]
        options += options_of(tape, interval, tasks, metrics, du, keep, overhead, host, gpu, cmdline, force,
                              name, tags)
        return Recording(options, own=pid is None, strict=strict, again=again, replaces=replaces)

    return make(lambda: make(None))


if TYPE_CHECKING:

    @overload
    def record(path: _F, /) -> _F: ...
    @overload
    def record(
        path: str | os.PathLike[str] | None = ...,
        *,
        interval: str | float | timedelta = ...,
        tasks: Mapping[str, str] | None = ...,
        children: bool = ...,
        pid: int | Iterable[int] | None = ...,
        until: Literal["target", "all"] = ...,
        metrics: str | Iterable[str] | None = ...,
        du: Iterable[str | os.PathLike[str]] = ...,
        keep: str | None = ...,
        overhead: str | None = ...,
        host: bool | Literal["only"] = ...,
        gpu: bool | int | str | Iterable[int | str] = ...,
        cmdline: bool = ...,
        force: bool = ...,
        name: str | None = ...,
        tags: Mapping[str, str] | None = ...,
        strict: bool = ...,
    ) -> Recording: ...
    def record(path: Any = None, **options: Any) -> Any: ...

else:
    record = _record
    record.__name__ = record.__qualname__ = "record"
