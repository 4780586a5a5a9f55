# SPDX-License-Identifier: Apache-2.0
"""Reads Arrow streams of libbaro with ctypes alone, by the specification of the C data and stream interfaces."""

import ctypes as c
import datetime
import math

P = c.c_void_p


class Schema(c.Structure):
    pass


Schema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", P),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(Schema))),
    ("dictionary", c.POINTER(Schema)),
    ("release", c.CFUNCTYPE(None, P)),
    ("private_data", P),
]


class Array(c.Structure):
    pass


Array._fields_ = [*[(name, c.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")],
                  ("buffers", c.POINTER(P)), ("children", c.POINTER(c.POINTER(Array))),
                  ("dictionary", c.POINTER(Array)), ("release", c.CFUNCTYPE(None, P)), ("private_data", P)]


class Stream(c.Structure):
    _fields_ = [
        ("get_schema", c.CFUNCTYPE(c.c_int, P, c.POINTER(Schema))),
        ("get_next", c.CFUNCTYPE(c.c_int, P, c.POINTER(Array))),
        ("get_last_error", c.CFUNCTYPE(c.c_char_p, P)),
        ("release", c.CFUNCTYPE(None, P)),
        ("private_data", P),
    ]


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 256)]


class Options(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("from_ns", c.c_uint64),
        ("to_ns", c.c_uint64),
        ("batch_rows", c.c_size_t),
        ("user", P),
        ("user_context", P),
    ]


NUMBERS = {b"i": c.c_int32, b"I": c.c_uint32, b"l": c.c_int64, b"L": c.c_uint64, b"g": c.c_double,
           b"tsn:UTC": c.c_int64}


def metadata_of(schema):
    """{name: text} of a field."""
    at, found = schema.metadata, {}

    def take(n):
        nonlocal at
        at += n
        return c.string_at(at - n, n)

    def number():
        return int.from_bytes(take(4), "little", signed=True)

    for _ in range(number() if at else 0):
        key = take(number()).decode()
        found[key] = take(number()).decode()
    return found


def bits(address, n):
    data = c.string_at(address, (n + 7) // 8)
    return [bool(data[i // 8] >> i % 8 & 1) for i in range(n)]


def words_of(array):
    ends = (c.c_int32 * (array.length + 1)).from_address(array.buffers[1])
    data = c.string_at(array.buffers[2], ends[array.length])
    return [data[ends[i]:ends[i + 1]].decode() for i in range(array.length)]


def values_of(schema, array):
    """The values of a column; null is None."""
    n = array.length
    assert array.offset == 0 and array.n_buffers == 2
    there = bits(array.buffers[0], n) if array.buffers[0] else [True] * n
    assert there.count(False) == array.null_count
    if schema.format == b"b":
        values = bits(array.buffers[1], n)
    else:
        values = list((NUMBERS[schema.format] * n).from_address(array.buffers[1]))
    if schema.dictionary:
        assert schema.dictionary.contents.format == b"u"
        words = words_of(array.dictionary.contents)
        values = [words[v] if ok else None for v, ok in zip(values, there)]
    return [v if ok else None for v, ok in zip(values, there)]


class Table:
    """Rows of a tape: names, formats and metadata of the columns, the columns, and how many rows each batch had."""

    def __init__(self, library, path, kind, columns=None, from_ns=0, to_ns=2**64 - 1, batch_rows=0):
        lib, tape, err, stream = c.CDLL(str(library)), P(), Error(), Stream()
        lib.baro_tape_close.argtypes = [P]

        def call(function, *arguments):
            if function(*arguments, c.byref(err)) < 0:
                raise ValueError(err.text.decode(errors="replace"))

        options = Options(c.sizeof(Options), from_ns, to_ns, batch_rows, None, None)
        call(lib.baro_tape_open, c.byref(tape), str(path).encode())
        call(lib.baro_tape_read_kinds, tape)
        rows = lib.baro_rows_find(tape, kind.encode())
        call(lib.baro_tape_arrow, tape, rows, columns.encode() if columns else None, c.byref(options), c.byref(stream))
        lib.baro_tape_close(tape)
        self._take(stream)

    def _take(self, stream):
        schema = Schema()
        at = c.addressof(stream)
        assert stream.get_schema(at, c.byref(schema)) == 0
        assert schema.format == b"+s"
        fields = [schema.children[i].contents for i in range(schema.n_children)]
        self.names = [field.name.decode() for field in fields]
        self.formats = [field.format.decode() for field in fields]
        self.metadata = [metadata_of(field) for field in fields]
        self.about = metadata_of(schema)
        self.columns, self.batches = [[] for _ in fields], []
        while True:
            array = Array()
            assert stream.get_next(at, c.byref(array)) == 0, stream.get_last_error(at)
            if not array.release:
                break
            self.batches.append(array.length)
            for column, field, i in zip(self.columns, fields, range(len(fields))):
                column += values_of(field, array.children[i].contents)
            array.release(c.addressof(array))
        schema.release(c.addressof(schema))
        stream.release(at)

    def rows(self):
        return list(zip(*self.columns))


def utc(ns):
    when = datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{ns % 10**9 // 10**6:03d}Z"


def same(text, value, form):
    """Does a cell of CSV have this value?"""
    if value is None or value == "":
        return text == ""
    if form == "tsn:UTC":
        return text == utc(value)
    if form == "b":
        return text == str(int(value))
    if form == "g":
        return math.isclose(float(text), value, rel_tol=1e-14, abs_tol=0)
    return text == str(value)


def kinds_of(run, tape):
    text = run("export", "--list", tape, status=0).stdout
    return [line.split()[0] for line in text.split("kinds of rows", 1)[1].splitlines()[1:]]
