# SPDX-License-Identifier: Apache-2.0
"""Rows of a tape by the Arrow PyCapsule interface: whoever takes Arrow reads them without a copy.

    pyarrow.table(tape.rows("process"))          polars.DataFrame(tape.rows("job", "t_ns,cpu,rss"))
    rows = tape.rows("exit"); duckdb.sql("select name, sum(cpu_ns) from rows group by 1")
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _abi
from ._lib import call, instant_ns, lib, raw, shown, text
from .errors import ArgumentError

if TYPE_CHECKING:
    from .tape import Tape

_NAME = b"arrow_array_stream"  # a capsule keeps the address alone


class _Arrow(ctypes.Structure):
    """struct ArrowArrayStream with functions that can be called."""

    _fields_ = [
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    ]


class Columns:
    """A table that all readers of Arrow take; `columns` has its names."""

    columns: list[str]

    def _fill(self, stream: Any) -> None:
        raise NotImplementedError

    def _stream(self) -> int:
        """A new stream; its memory is the capsule's from then on."""
        size = ctypes.sizeof(_abi.ArrowArrayStream)
        at = _libc().malloc(size)
        if not at:
            raise MemoryError
        ctypes.memset(at, 0, size)
        try:
            self._fill(ctypes.cast(at, ctypes.POINTER(_abi.ArrowArrayStream)))
        except BaseException:
            _libc().free(at)
            raise
        return int(at)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's PyCapsule interface."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        destructor = ctypes.cast(lib.baro_arrow_capsule_free, ctypes.c_void_p)
        return new(self._stream(), _NAME, destructor)

    # ---- without any Arrow library ----

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists, those that the tape has by now; None where a value is absent. For a few thousand rows; an
        Arrow library is faster."""
        return _read(self._stream())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Rows as dicts."""
        columns = self.to_dict()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]


class Made(Columns):
    """A table that is in memory."""

    _TYPES: dict[str, tuple[int, Any, Any]] = {
        "text": (_abi.BARO_FACT_TEXT, ctypes.c_char_p, b""),
        "real": (_abi.BARO_FACT_REAL, ctypes.c_double, 0.0),
        "whole": (_abi.BARO_FACT_SIGNED, ctypes.c_int64, 0),
        "time": (_abi.BARO_FACT_TIME, ctypes.c_int64, 0),
    }

    def __init__(self, types: dict[str, str], rows: list[tuple[Any, ...]]) -> None:
        """types: of each column "text", "real", "whole" or "time" (nanoseconds since 1970); rows: their values, None where
        there is none."""
        self._rows, self._types = rows, types
        self.columns = [shown(name) for name in types]

    def _fill(self, stream: Any) -> None:
        n = len(self._rows)
        columns = (_abi.baro_arrow_column * len(self._types))()
        kept = []  # what the columns point to
        for i, (name, kind) in enumerate(zip(self.columns, self._types.values())):
            number, of, nothing = self._TYPES[kind]
            given = [row[i] for row in self._rows]
            if kind == "text":
                words = {value: None if value is None else raw(value) for value in set(given)}
                given = [words[value] for value in given]
            values = (of * n)(*[nothing if value is None else value for value in given])
            absent = (ctypes.c_uint8 * n)(*[value is None for value in given])
            kept += [values, absent, given]
            columns[i] = _abi.baro_arrow_column(raw(name), number, ctypes.cast(values, ctypes.c_void_p), absent)
        call(lib.baro_arrow_table, columns, len(self._types), n, stream)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows: {', '.join(self.columns)}>"


class Rows(Columns):
    """A table; each use reads the tape anew."""

    def __init__(
        self,
        tape: Tape,
        kind: str,
        columns: str | Iterable[str] | None,
        start: float | None,
        end: float | None,
        batch_rows: int,
    ) -> None:
        self.tape, self.kind = tape, kind
        self._columns = None if columns is None else raw(columns if isinstance(columns, str) else ",".join(columns))
        self._options = _abi.baro_arrow_options(
            size=ctypes.sizeof(_abi.baro_arrow_options),
            from_ns=instant_ns(start or 0),
            to_ns=0 if end is None else max(1, instant_ns(end)),  # 0: to the end
            batch_rows=batch_rows,
        )
        with tape._cursor() as cursor:
            self._number(cursor.handle.pointer)
            self.columns = self._selected(cursor.handle.pointer)
            """Their names."""

    def _number(self, tape: int) -> int:
        call(lib.baro_tape_read_kinds, tape)
        number = int(lib.baro_rows_find(tape, raw(self.kind)))
        if number < 0:
            names = ", ".join(self.tape.row_kinds)
            raise ArgumentError(f"a tape has no rows of {self.kind!r}; it has: {names}", _abi.BARO_E_RANGE)
        return number

    def _all_columns(self, tape: int) -> list[str]:
        self._columns = None
        return self._selected(tape)

    def _selected(self, tape: int) -> list[str]:
        selection = ctypes.c_void_p()
        try:
            call(lib.baro_columns_new, ctypes.byref(selection), tape, self._number(tape), self._columns)
        except ArgumentError as error:
            if self._columns is None or "no column" not in str(error):
                raise
            there = ", ".join(self._all_columns(tape))
            raise ArgumentError(f"{str(error).replace(' in these rows', '')}; there are: {there}", error.code) from None
        try:
            count = lib.baro_columns_count(selection)
            return [text(lib.baro_columns_get(selection, i).contents.name) for i in range(count)]
        finally:
            lib.baro_columns_free(selection)

    def _fill(self, stream: Any) -> None:
        with self.tape._cursor() as cursor:
            number = self._number(cursor.handle.pointer)
            options = ctypes.byref(self._options)
            call(lib.baro_tape_arrow, cursor.handle.pointer, number, self._columns, options, stream)

    def __repr__(self) -> str:
        return f"<Rows of {self.kind} in {self.tape.path}: {', '.join(self.columns)}>"


if not hasattr(getattr(ctypes, "pythonapi", None), "PyCapsule_New"):
    del Columns.__arrow_c_stream__  # an interpreter without capsules: consumers are to see that


def _libc() -> Any:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    return libc


_FORMATS = {b"l": "q", b"L": "Q", b"i": "i", b"I": "I", b"g": "d", b"s": "h", b"S": "H", b"c": "b", b"C": "B"}


def _buffer(array: Any, i: int, size: int) -> Any:
    at = array.buffers[i]
    return memoryview((ctypes.c_char * size).from_address(at) if at and size else b"").cast("B")


def _texts(array: Any) -> list[str]:
    n = array.length + array.offset
    offsets = _buffer(array, 1, 4 * (n + 1)).cast("i")
    data = bytes(_buffer(array, 2, offsets[n]))
    return [data[offsets[i] : offsets[i + 1]].decode("utf-8", "replace") for i in range(array.offset, n)]


def _column(schema: Any, array: Any) -> list[Any]:
    """The values of an array, in the types that libbaro delivers (baro/arrow.h)."""
    n, skip = array.length, array.offset
    kind = schema.format
    if kind == b"u":
        values: list[Any] = _texts(array)
    elif kind == b"b":
        bits = _buffer(array, 1, (n + skip + 7) // 8)
        values = [bool(bits[i >> 3] >> (i & 7) & 1) for i in range(skip, n + skip)]
    else:
        code = _FORMATS[b"l" if kind.startswith(b"ts") else kind]
        width = struct.calcsize(code)
        values = _buffer(array, 1, (n + skip) * width).cast(code)[skip:].tolist()
    if schema.dictionary:
        words = _column(
            ctypes.cast(schema.dictionary, ctypes.POINTER(_abi.ArrowSchema)).contents,
            ctypes.cast(array.dictionary, ctypes.POINTER(_abi.ArrowArray)).contents,
        )
        values = [words[i] if 0 <= i < len(words) else None for i in values]
    if array.null_count and array.buffers[0]:
        valid = _buffer(array, 0, (n + skip + 7) // 8)
        values = [v if valid[(i + skip) >> 3] >> ((i + skip) & 7) & 1 else None for i, v in enumerate(values)]
    return values


def _children(row: Any, kind: Any) -> list[Any]:
    pointers = ctypes.cast(row.children, ctypes.POINTER(ctypes.POINTER(kind)))
    return [pointers[i].contents for i in range(row.n_children)]


def _read(at: int) -> dict[str, list[Any]]:
    stream = _Arrow.from_address(at)
    schema = _abi.ArrowSchema()
    columns: dict[str, list[Any]] = {}
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    try:
        _check(stream, at, stream.get_schema(at, ctypes.addressof(schema)))
        fields = _children(schema, _abi.ArrowSchema)
        names = [text(field.name) for field in fields]  # a growing tape may have got some since
        columns = {name: [] for name in names}
        while True:
            array = _abi.ArrowArray()
            _check(stream, at, stream.get_next(at, ctypes.addressof(array)))
            if not array.release:
                return columns
            try:
                pairs = zip(fields, _children(array, _abi.ArrowArray))
                for name, (field, child) in dict(zip(names, pairs)).items():  # one that is asked for twice is there once
                    columns[name].extend(_column(field, child))
            finally:
                release(array.release)(ctypes.addressof(array))
    finally:
        if schema.release:
            release(schema.release)(ctypes.addressof(schema))
        stream.release(at)
        _libc().free(at)


def _check(stream: Any, at: int, code: int) -> None:
    if code:
        raise ArgumentError(text(stream.get_last_error(at)) or f"error {code}", -code)
