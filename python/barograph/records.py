# SPDX-License-Identifier: Apache-2.0
"""What a tape has between its samples: exits, events, limits, and where it is damaged."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi
from ._lib import NEW, Handle, lib, make, present, text
from ._metrics import Registry, absent, attribute, returncode_of
from .sample import OfProcess
from .values import Absent


class Exit(OfProcess):
    """The end of a process, and what it had used."""

    _kind = _abi.BARO_KIND_EXIT

    def __init__(self, borrowed: int, registry: Registry) -> None:
        self._pointer = make(lib.baro_row_copy, borrowed, NEW)
        self._owner = Handle(self._pointer, lib.baro_row_free, "the exit")
        self._registry = registry

    @property
    def t_ns(self) -> int:
        return int(present(lib.baro_row_end_ns, ctypes.c_uint64, self._pointer))

    @property
    def t(self) -> float:
        return self.t_ns / 1e9

    @property
    def source(self) -> str:
        """Where the values come from: "wait4", "taskstats", "perf", "zombie", "event" or "last_sample"."""
        return text(lib.baro_exit_source_name(present(lib.baro_row_exit_source, ctypes.c_int, self._pointer)))

    @property
    def wait_status(self) -> int | Absent:
        """As wait4(2) gives it."""
        status = ctypes.c_int()
        reason = lib.baro_row_status(self._pointer, ctypes.byref(status))
        return absent(reason, "wait_status") if reason else status.value

    @property
    def returncode(self) -> int | Absent:
        """As subprocess has it: the exit status, or the negated number of the signal that ended the process."""
        status = self.wait_status
        return status if isinstance(status, Absent) else returncode_of(status)

    def __repr__(self) -> str:
        return f"<Exit of {self.pid} {self.name}: {self.returncode!r}>"


class Event:
    """Something that happened between samples: start, exec, mark, phase_begin, oom, gap, ..."""

    __slots__ = ("attributes", "kind", "number", "pid", "start_ticks", "t_ns", "text")

    def __init__(self, borrowed: int) -> None:
        self.kind = text(lib.baro_event_kind_name(lib.baro_event_kind_of(borrowed)))
        self.t_ns = int(lib.baro_event_t_ns(borrowed))
        self.pid = int(lib.baro_event_pid(borrowed))
        self.start_ticks = int(lib.baro_event_start_ticks(borrowed))
        self.number = int(lib.baro_event_number(borrowed))
        self.text = text(lib.baro_event_text(borrowed))
        self.attributes: dict[str, Any] = {}
        row = _abi.baro_attribute()
        for i in range(lib.baro_event_attribute_count(borrowed)):
            if lib.baro_event_attribute(borrowed, i, ctypes.byref(row)) == 0:
                self.attributes[text(row.name)] = attribute(row)

    @property
    def t(self) -> float:
        return self.t_ns / 1e9

    @property
    def name(self) -> str:
        """The name of a mark or phase, or of a process that began to execute another program."""
        return str(self.attributes.get("name", ""))

    def __repr__(self) -> str:
        return f"<Event {self.kind} at {self.t:.3f} s {self.attributes}>"


class Limits:
    """What the job may have, from this moment on. 0 where there is no limit below what the machine has."""

    __slots__ = ("cores", "cores_source", "memory_bytes", "memory_source", "pids", "pids_source", "t_ns")

    def __init__(self, borrowed: int, t_ns: int) -> None:
        self.t_ns = t_ns
        memory, self.memory_source = self._read(_abi.BARO_LIMIT_MEMORY, borrowed, "memory_bytes")
        cores, self.cores_source = self._read(_abi.BARO_LIMIT_CORES, borrowed, "cores")
        pids, self.pids_source = self._read(_abi.BARO_LIMIT_PIDS, borrowed, "pids")
        self.memory_bytes: int | Absent = memory
        self.cores: float | Absent = cores if isinstance(cores, Absent) else cores / 1e6
        self.pids: int | Absent = pids

    @staticmethod
    def _read(which: int, borrowed: int, name: str) -> tuple[int | Absent, str]:
        value, source = ctypes.c_uint64(), ctypes.c_char_p()
        reason = lib.baro_limits_get(borrowed, which, ctypes.byref(value), ctypes.byref(source))
        return (absent(reason, name) if reason else value.value), text(source.value)

    @property
    def t(self) -> float:
        return self.t_ns / 1e9

    def __repr__(self) -> str:
        return f"<Limits at {self.t:.3f} s: memory {self.memory_bytes!r}, cores {self.cores!r}, pids {self.pids!r}>"


class Damage:
    """Bytes of the tape that had to be stepped over."""

    __slots__ = ("t_ns",)

    def __init__(self, t_ns: int) -> None:
        self.t_ns = t_ns

    def __repr__(self) -> str:
        return f"<Damage at {self.t_ns / 1e9:.3f} s>"
