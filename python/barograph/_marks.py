# SPDX-License-Identifier: Apache-2.0
"""Marks and phases: lines that are appended to the file which a recorder reads (baro-mark(1)). A line is one write(2),
which neither blocks nor fails, whatever became of the recorder."""

from __future__ import annotations

import _thread
import itertools
import os
import stat
import time

try:
    import fcntl
except ImportError:  # Windows, where no file is ever opened
    fcntl = None  # type: ignore[assignment]
try:
    from _json import encode_basestring_ascii as quoted  # json takes 3 ms to import
except ImportError:
    from json.encoder import encode_basestring_ascii as quoted

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])
_RESERVED = frozenset(
    ("mark", "begin", "end", "phase", "id", "time", "monotonic", "monotonic_ns", "pid", "start_ticks", "ts", "type",
     "run_task", "task_end")
)  # fmt: skip
_INFINITY = float("inf")
_LARGE = 1 << 64
_numbers = itertools.count(1)
_now_ns = time.monotonic_ns


def _has_other_clock() -> bool:
    """In a time namespace CLOCK_MONOTONIC may differ from the recorder's; the time of day is the same."""
    try:
        with open("/proc/self/timens_offsets", encoding="ascii") as offsets:
            return any(digit in "123456789" for digit in offsets.read())
    except OSError:
        return False


_OTHER_CLOCK = _has_other_clock()


def _time() -> str:
    return f'"time": {time.time()!r}' if _OTHER_CLOCK else f'"monotonic_ns": {_now_ns()}'


def stat_of(pid: int | str, index: int) -> int:
    """A number of /proc/PID/stat, 0 if it is not known. 1: the parent; 19: when it began, with the pid its identity."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[index])
    except (OSError, IndexError, ValueError):
        return 0


def start_ticks(pid: int | str = "self") -> int:
    return stat_of(pid, 19)


class _Self:
    """Which process this is, as members of a line."""

    def __init__(self) -> None:
        self.line = ""
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self.line = ""

    def get(self) -> str:
        ticks = start_ticks()
        self.line = f', "pid": {os.getpid()}, "start_ticks": {ticks}}}\n' if ticks else "}\n"
        return self.line


_self = _Self() if hasattr(os, "register_at_fork") else None


def _json(value: Any) -> str:
    """Anything: what JSON has no word for is written as text."""
    def other(given: Any) -> Any:
        plain = getattr(given, "tolist", None)  # of numpy, and of tensors
        return plain() if plain is not None else str(given)

    try:
        import json

        return json.dumps(value, default=other)
    except Exception:
        return quoted(_text(value))


def _text(value: Any) -> str:
    """A mark never fails, whatever the program gives: an integer of more digits than the interpreter prints, an object
    that has no text."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _attributes(given: dict[str, Any]) -> str:
    parts = []
    for name, value in given.items():
        kind = type(value)
        if kind is float:
            if value - value == 0.0:
                text = float.__repr__(value)
            else:
                text = "NaN" if value != value else "Infinity" if value == _INFINITY else "-Infinity"
        elif kind is int and -_LARGE < value < _LARGE:
            text = int.__repr__(value)
        elif kind is str:
            text = quoted(value)
        elif kind is bool:
            text = "true" if value else "false"
        else:
            text = _json(value)
        # These names have a meaning of their own in a line.
        parts.append(f", {quoted(name + '_' if name in _RESERVED else name)}: {text}")
    return "".join(parts)


def line_of(edge: str, name: str, attributes: dict[str, Any]) -> bytes:
    more = _attributes(attributes) if attributes else ""
    own = (_self.line or _self.get()) if _self else "}\n"
    said = quoted(name if type(name) is str else _text(name))
    return f'{{"{edge}": {said}, {_time()}{more}{own}'.encode("ascii")


def task_line(name: str) -> bytes:
    own = (_self.line or _self.get()) if _self else "}\n"
    return f'{{"run_task": {quoted(_text(name))}, "itself": true, {_time()}{own}'.encode("ascii")


class Events:
    """The file of $BARO_EVENTS, which is there as long as a recorder reads it.

    The program may close our descriptor (a daemon closes all), and its next file gets the number: before each line it
    is asked whether that is ours, by flags that no file of the program is opened with (0.2 us; fstat() takes 3), and by
    who of us had the number last. None is ever 0, 1 or 2, which programs close and write to. The lock is against a
    thread that closes it meanwhile; a handler of a signal may mark inside of a mark."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._fd = -1
        with lock:
            self._open()

    def __reduce__(self) -> tuple[Callable[..., Events], tuple[str | None]]:
        return _of_another_process, (self.path,)

    def _open(self) -> None:
        self._fd = -1
        if not self.path:
            return
        low = []
        try:
            fd = os.open(self.path, _FLAGS | os.O_CLOEXEC | os.O_NOCTTY)
            while fd <= 2:
                low.append(fd)
                fd = os.open(self.path, _FLAGS | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError:
            return
        finally:
            for other in low:
                os.close(other)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            self._fd = fd
            _last[fd] = self
        else:
            os.close(fd)

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def put(self, line: bytes) -> None:
        with lock:
            if self._fd < 0:
                return
            if not self._is_ours():
                self._open()
            try:
                _write(self._fd, line)
            except OSError:
                pass

    def close(self) -> None:
        with lock:
            fd, ours = self._fd, self._is_ours()
            self._fd = -1
            # The handler of a signal may have closed it since the line before: who takes it out of the table closes it.
            if _last.get(fd) is self and _last.pop(fd, None) is self and ours:
                os.close(fd)

    def _is_ours(self) -> bool:
        fd = self._fd
        try:
            return _last.get(fd) is self and _fcntl(fd, _GETFL) & _MASK == _FLAGS
        except OSError:
            return False


def _of_another_process(path: str | None) -> Events:
    """One for all objects that were pickled there, as a worker gets one with each call."""
    with lock:
        for other in [known for known in _pickled if not (known and os.path.exists(known))]:
            _pickled.pop(other).close()
        if path not in _pickled:
            _pickled[path] = Events(path)
        return _pickled[path]


_pickled: dict[str | None, Events] = {}
lock = _thread.RLock()  # of all Events
_last: dict[int, Events] = {}  # who opened a descriptor of that number last
_write, _GETFL = os.write, getattr(fcntl, "F_GETFL", 0)
_fcntl: Any = getattr(fcntl, "fcntl", None)
_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
_MASK = _FLAGS | os.O_RDWR


def _in_child() -> None:
    """A fork: a thread that is not in this process may have had the lock."""
    global lock
    lock = _thread.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def decorated(function: _F, context: Callable[[], Any]) -> _F:
    """Each call of the function runs in a context of its own. Where no descriptor is left to import what does it, the
    function is itself."""
    try:
        from ._decorate import decorated as made
    except (OSError, ImportError):
        return function
    return made(function, context)


class Phase:
    """A phase of the job: `with rec.phase("fit"):`, `async with`, or `@rec.phase("fit")`."""

    def __init__(self, put: Callable[[bytes], None], name: str, attributes: dict[str, Any]) -> None:
        self._put, self.name, self.attributes = put, _text(name), attributes
        self._ids: list[str] = []

    def begin(self) -> Phase:
        self._ids.append(f"{os.getpid()}-{next(_numbers)}")
        # "id" tells it from others of its name, which may run at the same time.
        self._put(self._with_id(line_of("begin", self.name, self.attributes), self._ids[-1]))
        return self

    def end(self, **attributes: Any) -> None:
        if self._ids:
            self._put(self._with_id(line_of("end", self.name, attributes), self._ids.pop()))

    @staticmethod
    def _with_id(line: bytes, number: str) -> bytes:
        return b'{"id": "%s", %s' % (number.encode(), line[1:])

    def __enter__(self) -> Phase:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.end()
        else:
            self.end(error=kind.__name__)

    async def __aenter__(self) -> Phase:
        return self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: _F) -> _F:
        return decorated(function, lambda: Phase(self._put, self.name, self.attributes))
