#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The entities of one kind (cpu, disk, ...) over time as CSV, with ctypes alone, also of kinds that
only the tape knows: entities_csv.py TAPE KIND [LIBBARO]"""

import csv
import ctypes as c
import sys

SAMPLE = 1  # BARO_RECORD_SAMPLE
WHOLE = (0, 1, 2)  # BARO_UNIT_NONE, _NS and _BYTES: exact as they are; the others have fractions


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 256)]


class Record(c.Structure):
    _fields_ = [("kind", c.c_int), ("t_ns", c.c_uint64), ("of", c.c_void_p)]


class Metric(c.Structure):
    _fields_ = [(n, c.c_char_p) for n in ("stem", "name", "help", "file")] + [("unit", c.c_int)]  # and more


def load(path):
    lib = c.CDLL(path)
    p, i, u64 = c.c_void_p, c.c_int, c.POINTER(c.c_uint64)
    for name, result, *arguments in (
        ("baro_tape_open", i, c.POINTER(p), c.c_char_p, c.POINTER(Error)),
        ("baro_tape_close", None, p),
        ("baro_tape_read_kinds", i, p, c.POINTER(Error)),
        ("baro_tape_kind_find", i, p, c.c_char_p),
        ("baro_tape_metric_count", i, p, i),
        ("baro_tape_metric", c.POINTER(Metric), p, i, i),
        ("baro_tape_next", i, p, c.POINTER(Record), c.POINTER(Error)),
        ("baro_sample_rows", c.c_size_t, p, i),
        ("baro_sample_row", p, p, i, c.c_size_t),
        ("baro_row_name", c.c_char_p, p),
        ("baro_row_read_ns", i, p, u64),
        ("baro_row_value", i, p, i, u64),
        ("baro_metric_real", c.c_double, c.POINTER(Metric), c.c_uint64),
        ("baro_text_escape", c.c_size_t, c.c_char_p, c.c_size_t, c.c_char_p, c.c_size_t),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def harmless(lib, text):
    """Bytes of a tape as text that a terminal may be given."""
    room = c.create_string_buffer(4 * len(text) + 1)
    lib.baro_text_escape(text, len(text), room, len(room))
    return room.value.decode()


def main(path, kind_name, library="libbaro.so.0"):
    lib, tape, record, err = load(library), c.c_void_p(), Record(), Error()
    value, read_ns, last = c.c_uint64(), c.c_uint64(), None
    if lib.baro_tape_open(c.byref(tape), path.encode(), c.byref(err)) < 0:
        sys.exit(f"entities_csv: {err.text.decode()}")
    if lib.baro_tape_read_kinds(tape, c.byref(err)) < 0:
        sys.exit(f"entities_csv: {err.text.decode()}")
    kind = lib.baro_tape_kind_find(tape, kind_name.encode())
    if kind < 0:
        sys.exit(f"entities_csv: no kind {kind_name} in {path}")
    metrics = [lib.baro_tape_metric(tape, kind, i) for i in range(lib.baro_tape_metric_count(tape, kind))]
    out = csv.writer(sys.stdout)
    out.writerow(["read_ns", "name", *(m.contents.name.decode() for m in metrics)])
    while lib.baro_tape_next(tape, c.byref(record), c.byref(err)) > 0:
        for i in range(lib.baro_sample_rows(record.of, kind) if record.kind == SAMPLE else 0):
            entity = lib.baro_sample_row(record.of, kind, i)
            if lib.baro_row_read_ns(entity, c.byref(read_ns)) or (i == 0 and read_ns.value == last):
                break  # not read since the sample before
            last = read_ns.value if i == 0 else last
            cells = []
            for m, metric in enumerate(metrics):
                if lib.baro_row_value(entity, m, c.byref(value)):
                    cells.append("")
                elif metric.contents.unit in WHOLE:
                    cells.append(value.value)
                else:
                    cells.append(f"{lib.baro_metric_real(metric, value):.15g}")
            out.writerow([read_ns.value, harmless(lib, lib.baro_row_name(entity)), *cells])
    lib.baro_tape_close(tape)


if __name__ == "__main__":
    main(*sys.argv[1:])
