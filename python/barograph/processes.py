# SPDX-License-Identifier: Apache-2.0
"""All processes of a recording."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from . import _abi
from ._lib import call, lib, present, text
from ._metrics import absent, returncode_of
from .values import LOWER_BOUND, Absent, Whole

if TYPE_CHECKING:
    from .tape import Tape

_METRICS = ("cpu_ns", "rss_bytes", "rss_peak_bytes", "io_read_bytes", "io_write_bytes")
_AT_EXIT = ("cpu_ns", "rss_peak_bytes", "io_read_bytes", "io_write_bytes")
_BOUNDS = (_abi.BARO_EXIT_LAST_SAMPLE, _abi.BARO_EXIT_EVENT)


class ProcessOfTape:
    """A process of the recording: who it was, when it lived, and what it used in all."""

    def __init__(self) -> None:
        self.id = self.pid = self.ppid = self.start_ticks = 0
        self.name = ""
        self.cmdline: str | None = None
        self.begin_ns = 0
        self.end_ns: int | None = None  # None: it had not ended
        self.returncode: int | None | Absent = None  # None: it had not ended
        self.cpu_ns: Whole | Absent = Absent("not yet", "cpu_ns")
        self.rss_peak_bytes: Whole | Absent = Absent("not yet", "rss_peak_bytes")
        self.io_read_bytes: Whole | Absent = Absent("not yet", "io_read_bytes")
        self.io_write_bytes: Whole | Absent = Absent("not yet", "io_write_bytes")

    @property
    def is_alive(self) -> bool:
        return self.end_ns is None

    def to_dict(self) -> dict[str, Any]:
        return {
            n: None if isinstance(v, Absent) else int(v) if isinstance(v, Whole) else v for n, v in vars(self).items()
        }

    def __repr__(self) -> str:
        return f"<Process {self.pid} {self.name}: cpu {self.cpu_ns!r} ns>"


class _Reader:
    """Reads the same metrics of many processes, in one call for each."""

    def __init__(self, kind: int, names: tuple[str, ...]) -> None:
        self._names = names
        found = [lib.baro_metric_find(kind, n.encode()) for n in names]
        self._ids = (ctypes.c_int * len(names))(*found)
        self._values = (ctypes.c_uint64 * len(names))()
        self._absent = (ctypes.c_uint8 * len(names))()

    def __call__(self, pointer: int) -> dict[str, Whole | Absent]:
        lib.baro_row_values(pointer, self._ids, len(self._names), self._values, self._absent)
        return {
            n: absent(self._absent[i], n) if self._absent[i] else Whole(self._values[i])
            for i, n in enumerate(self._names)
        }


def _take_sample(sample: int, header: int, found: dict[int, ProcessOfTape], read: _Reader) -> None:
    i, count = 0, lib.baro_sample_rows(sample, _abi.BARO_KIND_PROCESS)
    while True:
        i = lib.baro_sample_next_changed(sample, i)
        if i >= count:
            return
        p = lib.baro_sample_row(sample, _abi.BARO_KIND_PROCESS, i)
        i += 1
        number = lib.baro_row_id(p)
        one = found.get(number)
        if one is None:
            one = found[number] = ProcessOfTape()
            one.id, one.pid = number, lib.baro_row_pid(p)
            one.start_ticks = lib.baro_row_start_ticks(p)
            one.begin_ns = present(lib.baro_row_begin_ns, ctypes.c_uint64, header, p)
        one.ppid, one.name = lib.baro_row_ppid(p), text(lib.baro_row_name(p))
        line = present(lib.baro_row_cmdline, ctypes.c_char_p, p)
        one.cmdline = None if line is None else text(line)
        values = read(p)
        # A fork begins with its parent's peak; otherwise the kernel's mark of a living process is the higher one.
        one.cpu_ns, one.io_read_bytes = values["cpu_ns"], values["io_read_bytes"]
        one.io_write_bytes = values["io_write_bytes"]
        peaks = [v for v in (values["rss_peak_bytes"], values["rss_bytes"], one.rss_peak_bytes) if isinstance(v, Whole)]
        one.rss_peak_bytes = max(peaks) if peaks else values["rss_bytes"]


def _take_exit(e: int, header: int, found: dict[int, ProcessOfTape], read: _Reader) -> None:
    number = lib.baro_row_id(e)
    one = found.get(number)
    if one is None:
        one = found[number] = ProcessOfTape()
        one.id, one.pid = number, lib.baro_row_pid(e)
        one.start_ticks = lib.baro_row_start_ticks(e)
    one.end_ns = present(lib.baro_row_end_ns, ctypes.c_uint64, e)
    if not one.begin_ns:
        one.begin_ns = present(lib.baro_row_begin_ns, ctypes.c_uint64, header, e)
    one.ppid, one.name = lib.baro_row_ppid(e), text(lib.baro_row_name(e))
    line = present(lib.baro_row_cmdline, ctypes.c_char_p, e)
    one.cmdline = one.cmdline if line is None else text(line)
    bounded = present(lib.baro_row_exit_source, ctypes.c_int, e) in _BOUNDS
    for name, value in read(e).items():
        if isinstance(value, Whole):
            value.flags = LOWER_BOUND if bounded else 0
            setattr(one, name, value)
        elif isinstance(getattr(one, name), Absent):
            setattr(one, name, value)
        else:
            getattr(one, name).flags = LOWER_BOUND
    status = ctypes.c_int()
    reason = lib.baro_row_status(e, ctypes.byref(status))
    one.returncode = absent(reason, "returncode") if reason else returncode_of(status.value)


def processes_of(tape: Tape) -> list[ProcessOfTape]:
    cursor = tape._cursor()
    record = _abi.baro_record()
    found: dict[int, ProcessOfTape] = {}
    of_process = _Reader(_abi.BARO_KIND_PROCESS, _METRICS)
    of_exit = _Reader(_abi.BARO_KIND_EXIT, _AT_EXIT)
    with cursor.handle.lock:
        pointer = cursor.handle.pointer
        header = lib.baro_tape_header(pointer)
        while call(lib.baro_tape_next, pointer, ctypes.byref(record)):
            if record.kind == _abi.BARO_RECORD_SAMPLE:
                _take_sample(record.u.sample, header, found, of_process)
            elif record.kind == _abi.BARO_RECORD_EXIT:
                _take_exit(record.u.exit, header, found, of_exit)
    return sorted(found.values(), key=lambda p: (p.begin_ns, p.id))
