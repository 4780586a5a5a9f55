#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job's values at each sample as CSV, with ctypes alone: job_csv.py TAPE [LIBBARO]"""

import csv
import ctypes as c
import sys

JOB = 1  # BARO_KIND_JOB
SAMPLE = 1  # BARO_RECORD_SAMPLE


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 256)]


class Record(c.Structure):
    _fields_ = [("kind", c.c_int), ("t_ns", c.c_uint64), ("of", c.c_void_p)]


class Metric(c.Structure):
    _fields_ = [("stem", c.c_char_p), ("name", c.c_char_p)]  # and more


def load(path):
    lib = c.CDLL(path)
    lib.baro_tape_open.argtypes = [c.POINTER(c.c_void_p), c.c_char_p, c.POINTER(Error)]
    lib.baro_tape_next.argtypes = [c.c_void_p, c.POINTER(Record), c.POINTER(Error)]
    lib.baro_tape_metric_count.argtypes = [c.c_void_p, c.c_int]
    lib.baro_tape_metric.argtypes = [c.c_void_p, c.c_int, c.c_int]
    lib.baro_tape_metric.restype = c.POINTER(Metric)
    lib.baro_sample_row.argtypes = [c.c_void_p, c.c_int, c.c_size_t]
    lib.baro_sample_row.restype = c.c_void_p
    lib.baro_row_value.argtypes = [c.c_void_p, c.c_int, c.POINTER(c.c_uint64)]
    lib.baro_tape_close.argtypes = [c.c_void_p]
    lib.baro_tape_close.restype = None
    return lib


def main(path, library="libbaro.so.0"):
    lib, tape, record, err, value = load(library), c.c_void_p(), Record(), Error(), c.c_uint64()
    if lib.baro_tape_open(c.byref(tape), path.encode(), c.byref(err)) < 0:
        sys.exit(f"job_csv: {err.text.decode()}")
    n = lib.baro_tape_metric_count(tape, JOB)
    out = csv.writer(sys.stdout)
    out.writerow(["t_ns", *(lib.baro_tape_metric(tape, JOB, i).contents.name.decode() for i in range(n))])
    while lib.baro_tape_next(tape, c.byref(record), c.byref(err)) > 0:
        if record.kind == SAMPLE:  # a value that is absent is an empty cell
            job = lib.baro_sample_row(record.of, JOB, 0)
            cells = ("" if lib.baro_row_value(job, i, c.byref(value)) else value.value for i in range(n))
            out.writerow([record.t_ns, *cells])
    lib.baro_tape_close(tape)


if __name__ == "__main__":
    main(*sys.argv[1:])
