# SPDX-License-Identifier: Apache-2.0
"""Stored values become Python's: by the unit of their metric."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from . import _abi
from ._lib import Handle, lib, text
from .values import Absent, Real, Text, Value, Whole

_WHOLE = (_abi.BARO_UNIT_NONE, _abi.BARO_UNIT_NS, _abi.BARO_UNIT_BYTES, _abi.BARO_UNIT_ENTITY)


class Metric:
    """What a recorded quantity is called and means."""

    __slots__ = ("help", "id", "kind", "name", "semantics", "unit", "unit_name")

    def __init__(self, kind: int, number: int, row: Any) -> None:
        self.kind, self.id = kind, number
        self.name, self.help = text(row.name), text(row.help)
        self.unit: int = row.unit
        self.unit_name = text(lib.baro_unit_name(row.unit))
        self.semantics = text(lib.baro_semantics_name(row.semantics))

    def __repr__(self) -> str:
        return f"<Metric {self.name}: {self.help}>"

    def value(self, stored: int) -> Value:
        if self.unit in _WHOLE:
            return Whole(stored)
        if self.unit == _abi.BARO_UNIT_SIGNED:
            return Whole(stored - (1 << 64) if stored >> 63 else stored)
        if self.unit == _abi.BARO_UNIT_CHAR:
            return Text(chr(stored & 0x7F))
        if self.unit == _abi.BARO_UNIT_REAL:
            return Real(struct.unpack("=d", struct.pack("=Q", stored))[0])
        row = _abi.baro_metric(unit=self.unit)
        return Real(lib.baro_metric_real(ctypes.byref(row), stored))


_library: dict[int, dict[str, Metric]] = {}  # the library's own, which most tapes have and no others


def _of_library(kind: int) -> dict[str, Metric]:
    if kind not in _library:
        rows = [lib.baro_metric_get(kind, i).contents for i in range(lib.baro_metric_count(kind))]
        _library[kind] = {m.name: m for m in (Metric(kind, i, row) for i, row in enumerate(rows))}
    return _library[kind]


class Registry:
    """The metrics that a tape has of each kind."""

    def __init__(self, tape: Handle) -> None:
        self._tape: Handle | None = tape
        self._metrics: dict[int, dict[str, Metric]] = {}
        self._kinds: list[str] = []

    def release(self) -> None:
        """Reads all that there is, so that the cursor can be closed."""
        for kind in range(len(self.kinds())):
            self.of(kind)
        self._tape = None

    def of(self, kind: int) -> dict[str, Metric]:
        known = self._metrics.get(kind, {})
        if self._tape is None:
            return known
        with self._tape.lock:
            count = lib.baro_tape_metric_count(self._tape.pointer, kind)
            if len(known) != count:
                known = _of_library(kind)
            if len(known) != count:
                rows = [lib.baro_tape_metric(self._tape.pointer, kind, i).contents for i in range(count)]
                known = {m.name: m for m in (Metric(kind, i, row) for i, row in enumerate(rows))}
        self._metrics[kind] = known
        return known

    def kind(self, name: str) -> int:
        kinds = self.kinds()
        return kinds.index(name) if name in kinds else -1

    def kinds(self) -> list[str]:
        if self._tape is not None:
            with self._tape.lock:
                count = lib.baro_tape_kind_count(self._tape.pointer)
                self._kinds = [text(lib.baro_tape_kind_name(self._tape.pointer, k)) for k in range(count)]
        return self._kinds


def absent(reason: int, name: str = "") -> Absent:
    if reason == _abi.BARO_ABSENT_NONE:
        return Absent("none", name)
    return Absent(text(lib.baro_absent_name(reason)), name)


def attribute(row: Any) -> Any:
    """The value of a struct baro_attribute."""
    if row.type == _abi.BARO_ATTRIBUTE_UNSIGNED:
        return int(row.u64)
    if row.type == _abi.BARO_ATTRIBUTE_SIGNED:
        return int(row.i64)
    if row.type == _abi.BARO_ATTRIBUTE_REAL:
        return float(row.real)
    if row.type == _abi.BARO_ATTRIBUTE_BOOLEAN:
        return bool(row.u64)
    if row.type == _abi.BARO_ATTRIBUTE_JSON:
        import json

        try:
            return json.loads(text(row.text))
        except (ValueError, RecursionError):
            return text(row.text)
    return text(row.text)


def returncode_of(wait_status: int) -> int:
    """As subprocess has it: the exit status, or the negated number of the signal that ended the process."""
    return -(wait_status & 0x7F) if wait_status & 0x7F else wait_status >> 8 & 0xFF
