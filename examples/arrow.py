#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SQL over a tape: its rows go to DuckDB as Arrow, without a copy and without text in between.

    arrow.py TAPE "select name, max(rss_bytes) from process group by name order by 2 desc" [LIBBARO]

Each kind of rows that the query names is a table: process, job, exit, event, host, cpu, disk, ... The class Rows is all
that other libraries need, too: pyarrow.table(Rows(...)), polars.DataFrame(Rows(...)),
pandas.DataFrame.from_arrow(Rows(...))."""

import ctypes as c
import re
import sys

CAPSULE = b"arrow_array_stream"  # its address is the capsule's: it has to stay


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 256)]


class Stream(c.Structure):
    _fields_ = [(n, c.c_void_p) for n in ("get_schema", "get_next", "get_last_error", "release", "private_data")]

    def __del__(self):
        if self.release:  # nobody has taken it
            c.CFUNCTYPE(None, c.c_void_p)(self.release)(c.addressof(self))


class Rows:
    """The rows of a kind; columns: names separated by commas, None: those of `baro export`."""

    def __init__(self, lib, path, kind, columns=None):
        self.lib, self.kind, self.columns, self.tape, self.streams = lib, kind, columns, c.c_void_p(), []
        self.call(lib.baro_tape_open, c.byref(self.tape), path.encode())
        self.call(lib.baro_tape_read_kinds, self.tape)
        self.rows = lib.baro_rows_find(self.tape, kind.encode())

    def call(self, function, *arguments):
        err = Error()
        if function(*arguments, c.byref(err)) < 0:
            raise ValueError(err.text.decode(errors="replace"))

    def __arrow_c_stream__(self, requested_schema=None):
        self.streams.append(Stream())
        columns = self.columns.encode() if self.columns else None
        self.call(self.lib.baro_tape_arrow, self.tape, self.rows, columns, None, c.byref(self.streams[-1]))
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, (c.c_void_p, c.c_char_p, c.c_void_p)
        return new(c.addressof(self.streams[-1]), CAPSULE, None)

    def __del__(self):
        self.lib.baro_tape_close(self.tape)


def load(path="libbaro.so.0"):
    lib = c.CDLL(path)
    lib.baro_tape_close.argtypes = [c.c_void_p]
    return lib


def main(path, query, library="libbaro.so.0"):
    import duckdb

    lib, db = load(library), duckdb.connect()
    for kind in set(re.findall(r"(?i)\b(?:from|join)\s+(\w+)", query)):
        db.register(kind, Rows(lib, path, kind))
    result = db.execute(query)
    print(",".join(column[0] for column in result.description))
    for row in result.fetchall():
        print(*row, sep=",")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
