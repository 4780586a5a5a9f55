# SPDX-License-Identifier: Apache-2.0
"""What the drop-ins have in common: a recording, what its samples say, and a process beside it."""

from __future__ import annotations

import os
import select
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Callable

from .. import _programs, _spawn, _where
from .._lib import lib
from ..errors import Error, RecordingWarning, warn
from ..recorder import Recording
from ..recorder import record as _record
from ..records import Limits
from ..sample import Process, Sample
from ..tape import Tape
from ..values import Absent

MIB = 1024 * 1024
NO_RECORDING = "nothing is recorded"


def as_original(switch: bool | None) -> bool:
    """The switch, or what the environment says."""
    return os.environ.get("BAROGRAPH_COMPAT") == "original" if switch is None else switch


def within_limits(seconds: float) -> float:
    """An interval that a recorder takes: 10 ms to 1 h."""
    return min(max(float(seconds), 0.01), 3600.0)


def record(pid: int | Iterable[int], interval: float, **options: Any) -> Recording:
    """Begins a recording of processes with a sample at each interval, as the originals have it. If nothing can be
    recorded, a warning says why."""
    options.setdefault("overhead", "off")
    recording: Recording = _record(pid=pid, interval=within_limits(interval), **options)
    return _started(recording)


def _started(recording: Recording) -> Recording:
    """Monitors read while they record. Where libbaro can't be loaded nothing is recorded, and what they measure goes
    on."""
    try:
        _ = lib.baro_version
    except (OSError, ImportError) as error:
        warn(f"nothing is recorded: {error}")
        return recording
    return recording.start()


def record_machine(interval: float, *arguments: str) -> Recording:
    """Begins a recording that has no process, but the machine (--host) or what matches (--task)."""
    options = [*arguments, "--interval", f"{int(within_limits(interval) * 1e9)}ns", "--overhead", "off"]
    return _started(Recording(options, own=False, strict=False, again=None))


# ---- what samples say ----


def number(value: Any) -> float | None:
    """None where it is absent."""
    return None if isinstance(value, Absent) else float(value)


def total(sample: Sample, metric: str, instead: str | None = None) -> float | None:
    """A metric, added up over living processes. `instead` counts for one that does not have it; where none has it, it
    is absent: no value is no zero."""
    found: float | None = None
    rest = 0.0
    for process in sample.processes:
        value = number(getattr(process, metric))
        if value is not None:
            found = (found or 0.0) + value
        elif instead is not None:
            rest += number(getattr(process, instead)) or 0.0
    return None if found is None else found + rest


def memory_mib(tape: Tape | None) -> float:
    """What the machine has, or what the job may have, where that is less."""
    least = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for record in tape.records() if tape is not None else ():
        if isinstance(record, Limits) and not isinstance(record.memory_bytes, Absent) and record.memory_bytes:
            least = min(least, record.memory_bytes)
    return least / MIB


class Usage:
    """What a process and its children used: cumulative values since these processes began, which never fall, and what
    they have at this moment."""

    def __init__(self, sample: Sample, base: dict[str, float]) -> None:
        self.sample = sample
        self.time = sample.time_ns / 1e9
        job = sample.job
        self.cpu_ns = (number(job.cpu_ns) or 0.0) + base["cpu_ns"]
        self.user = ((number(job.cpu_user_ns) or 0.0) + base["cpu_user_ns"]) / 1e9
        self.system = ((number(job.cpu_system_ns) or 0.0) + base["cpu_system_ns"]) / 1e9
        self.read_bytes = (number(job.io_read_bytes) or 0.0) + base["io_read_bytes"]
        self.write_bytes = (number(job.io_write_bytes) or 0.0) + base["io_write_bytes"]
        self.processes = len(sample.processes)

    @staticmethod
    def base_of(first: Sample) -> dict[str, float]:
        """What was used before the recording: it is not in the job's totals."""
        names = ("cpu_ns", "cpu_user_ns", "cpu_system_ns", "io_read_bytes", "io_write_bytes")
        job = first.job
        return {n: (total(first, n) or 0.0) - (number(getattr(job, n)) or 0.0) for n in names}

    def total(self, metric: str, instead: str | None = None) -> float | None:
        return total(self.sample, metric, instead)

    def process(self, pid: int) -> Process | None:
        return self.sample.process(pid)


class Probe:
    """Asks for what a process and its children use, whenever it is wanted, from a recording of its own."""

    def __init__(self, pid: int, children: bool = True, interval: float = 0.05, **options: Any) -> None:
        self.pid = pid
        self._folder = tempfile.mkdtemp(prefix="barograph-")
        self._remove = at_end(self, shutil.rmtree, self._folder, True)
        options.setdefault("host", False)
        self._guard = Companion.guard(self._folder)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RecordingWarning)
            self.recording = record(
                pid,
                interval,
                path=os.path.join(self._folder, "probe.baro"),
                children=children,
                overhead="1%",
                **options,
            )
        if self.recording.path is not None:
            self._guard.begin(self.recording.tape)
        elif os.path.exists(f"/proc/{pid}"):  # of a process that is not there take() says so
            for warning in caught:
                warn(str(warning.message))
        self._stop = weakref.finalize(self, _stop, self.recording, self._guard)
        self._interval = interval
        self._base: dict[str, float] | None = None

    @property
    def alive(self) -> bool:
        return self.recording.active

    def take(self, fresh: bool = True) -> Usage | None:
        """The newest sample; fresh: one that is taken from now on, for which it waits one interval. None if there is no
        such process (any more)."""
        if self.recording.path is None:
            return None
        now = time.time_ns()
        tape = self.recording.tape
        if self._base is None:
            first = next(iter(tape), None)
            if first is None:
                return None
            self._base = Usage.base_of(first)
        end = time.monotonic() + max(4 * self._interval, 0.2)
        while True:
            active = self.recording.active
            taken = tape.now()
            if taken is None:
                return None
            if not active:
                return None
            if not fresh or taken.sample.time_ns >= now or time.monotonic() > end:
                return Usage(taken.sample, self._base)
            time.sleep(min(self._interval / 4, 0.01))

    def last(self) -> Usage | None:
        """The newest sample, also of a process that has ended; None if there is none."""
        taken = self.recording.now if self.recording.path is not None else None
        return None if taken is None or self._base is None else Usage(taken.sample, self._base)

    def close(self) -> None:
        self._stop()
        self._remove()


_running: dict[Any, weakref.finalize[Any, Any]] = {}
"""Monitors that were started and not stopped: as with the thread of an original, nobody else needs to hold them."""


def keep(monitor: object, recording: Recording, companion: Companion) -> None:
    """At the end of the interpreter its recording ends."""
    _running[monitor] = weakref.finalize(monitor, _stop, recording, companion)


def release(monitor: object) -> None:
    """It ends its recording itself."""
    _running.pop(monitor).detach()


def at_end(owner: object, function: Callable[..., Any], *arguments: Any) -> weakref.finalize[Any, Any]:
    """Calls a function at the end of an object, or of the process that made it: not in a forked child."""
    return weakref.finalize(owner, _in_process, os.getpid(), function, *arguments)


def _in_process(pid: int, function: Callable[..., Any], *arguments: Any) -> None:
    if pid == os.getpid():
        function(*arguments)


def _stop(recording: Recording, companion: Companion | None) -> None:
    recording.stop()
    if companion is not None:
        companion.end(0)


# ---- a process beside the recording ----

# Ends a child of this shell with what it has started.
_END = r"""
end_with_all() {
    read -r line <"/proc/$1/stat" || return 0
    set -- "$1" ${line##*) }
    [ "$3" != $$ ] || kill -s TERM -- "-$1" || kill -s TERM "$1"
} 2>/dev/null
"""
_SCRIPT = _END + r"""
helpers=
IFS= read -r tape && IFS= read -r recorder && IFS= read -r ticks || {
    [ -z "$folder" ] || rm -r -f -- "$folder"
    exit 0
}
%s
while IFS= read -r rest; do :; done
if read -r line <"/proc/$recorder/stat"; then
    set -- ${line##*) }
    [ "${20}" = "$ticks" ] && kill -TERM "$recorder"
fi 2>/dev/null
for helper in $helpers; do end_with_all "$helper"; done
wait
[ -z "$folder" ] || rm -r -f -- "$folder"
"""
# Makes the program behind it the first of a group, which can be ended as one; setsid(1) may not be there.
SETSID = r"""
setsid=$(command -v setsid)
"""
# Another program: it ends once nobody wants its answer any more.
ANSWER = _END + SETSID + r"""
$setsid "$@" </dev/null &
exec >/dev/null
while IFS= read -r rest; do :; done
end_with_all $!
"""
# A file that is written as the tape grows. It appears with its first row: programs that empty their folder when they
# begin do not remove it.
_CSV = r"""
"$baro" export --follow --dialect "$dialect" --entity "$entity" "$tape" | {
    IFS= read -r header && IFS= read -r row || exit 0
    mkdir -p "$(dirname "$file")" || exit 1
    { [ -n "$append" ] && [ -s "$file" ] || printf '%s\n' "$header"; printf '%s\n' "$row"; } >>"$file"
    exec cat >>"$file"
} &
"""


class Companion:
    """A process that stays when the interpreter is killed. It is no child of the interpreter, and has to begin before
    the recording, so that it does not belong to the job. It ends a recording that would go on without the program that
    wanted it."""

    def __init__(self, argv: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self.pid: int | None = None
        shell = ["/bin/sh", "-c", 'exec 3<&0; { "$@" <&3 3<&- & }; echo $! ', "sh", *_where.beside([*argv])]
        pipes: list[int] = []
        own: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            actions = [
                (_spawn.DUP, pipes[0], 0),
                (_spawn.DUP, pipes[3], 1),
                (_spawn.OPEN, 2, os.devnull, os.O_WRONLY),
            ]
            _spawn.start(shell, {**_spawn.environment(), "folder": "", **(environment or {})}, actions, setsid=True)
            own = pipes[1:3]
        except (OSError, NotImplementedError) as error:
            warn(f"there is no process beside the recording: {error}")
        finally:
            _close(*(set(pipes) - set(own)))
        self._to, self._from = own or (-1, -1)
        self._close = weakref.finalize(self, _close, *own)
        if not own:
            self._close()  # it has ended
        self._input_is_closed = False
        self.said = b""
        _companions.add(self)

    @classmethod
    def guard(cls, folder: str = "", before: str = "", **more: str) -> Companion:
        """One that ends the recording when this interpreter has ended, and removes a folder; `before` is lines of
        shell, `more` what they need."""
        return cls(["/bin/sh", "-c", _SCRIPT % before], {"folder": folder, **more})

    @classmethod
    def csv(
        cls, file: str, dialect: str, entity: str, *, append: bool = False, before: str = "", **more: str
    ) -> Companion:
        """One that writes a file in a dialect of `baro export`; `before` is lines of shell, `more` what they need."""
        values = {"baro": _where.baro(), "file": file, "dialect": dialect, "entity": entity}
        return cls(["/bin/sh", "-c", _SCRIPT % (before + _CSV)], {**values, **more, "append": "1" if append else ""})

    def begin(self, tape: Tape) -> None:
        header = tape.header
        self.write(f"{tape.path}\n{header.recorder_pid or 0}\n{header.recorder_start_ticks or 0}\n")

    def write(self, text: str) -> None:
        _spawn.write(self._to, text.encode())

    def read(self, timeout: float) -> bytes | None:
        """What it says; b"" once it has ended, None if it says nothing for so long."""
        if not self._close.alive:
            return b""
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        return os.read(self._from, 65536) if poll.poll(max(0.0, timeout) * 1000) else None

    def close_input(self) -> None:
        """Tells it to end."""
        if self._close.alive and not self._input_is_closed:
            self._input_is_closed = True
            os.close(self._to)
            self._close.detach()
            self._close = weakref.finalize(self, _close, self._from)

    @property
    def has_ended(self) -> bool:
        while self._close.alive:
            got = self.read(0)
            if got is None:
                return False
            if not got:
                self._close()
            self.said += got
        return True

    def wait(self, timeout: float) -> bool:
        """Waits until it has ended; False: it has not."""
        until = time.monotonic() + timeout
        while not self.has_ended and time.monotonic() < until:
            poll = select.poll()
            poll.register(self._from, select.POLLIN)
            poll.poll(max(0.0, until - time.monotonic()) * 1000)
        return not self._close.alive

    def end(self, timeout: float) -> bool:
        """Tells it to end and waits until it has; False: it goes on by itself."""
        self.close_input()
        ended = self.wait(timeout)
        self._close()
        return ended

    def _in_child(self) -> None:
        """A forked child has no part in it."""
        if self._close.alive:
            self._close()


def _close(*descriptors: int) -> None:
    for each in descriptors:
        try:
            os.close(each)
        except OSError:
            pass


_companions: weakref.WeakSet[Companion] = weakref.WeakSet()


def _forget() -> None:
    for companion in list(_companions):
        companion._in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def export(tape: Tape | str, dialect: str, entity: str = "process") -> str:
    """A tape in the format of another program."""
    path = tape if isinstance(tape, str) else tape.path
    try:
        return _programs.execute("export", "--dialect", dialect, "--entity", entity, path)
    except Error as error:
        warn(str(error))
        return ""


# ---- GPUs, as nvidia-smi has them ----


def nvidia_smi(*arguments: str, timeout: float = 10.0) -> tuple[str | None, str]:
    """What it prints, and why it prints nothing."""
    path = _spawn.program("nvidia-smi")
    if not path:
        return None, "nvidia-smi is not installed"
    try:
        status, out, err = _programs.output(path, *arguments, timeout=timeout)
    except OSError as error:
        return None, f"nvidia-smi: {error}"
    if status:
        said = (out + err).decode(errors="replace").strip().splitlines()
        return None, f"nvidia-smi: {said[0] if said else f'status {status}'}"
    return out.decode(errors="replace"), ""
