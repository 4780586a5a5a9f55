# SPDX-License-Identifier: Apache-2.0
"""The rows of any kind of a tape, through libbaro and ctypes: also of kinds that only the tape knows."""

import ctypes as c
import struct

SAMPLE = 1  # BARO_RECORD_SAMPLE
REAL = 9  # BARO_UNIT_REAL


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("text", c.c_char * 256)]


class Record(c.Structure):
    _fields_ = [("kind", c.c_int), ("t_ns", c.c_uint64), ("of", c.c_void_p)]


class Metric(c.Structure):
    _fields_ = [
        ("stem", c.c_char_p),
        ("name", c.c_char_p),
        ("help", c.c_char_p),
        ("file", c.c_char_p),
        ("unit", c.c_int),
        ("semantics", c.c_int),
    ]  # and more


class Attribute(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("type", c.c_int),
        ("u64", c.c_uint64),
        ("i64", c.c_int64),
        ("text", c.c_char_p),
        ("real", c.c_double),
    ]


class Tape:
    def __init__(self, library, path):
        self.lib, self.tape, self.err = c.CDLL(str(library)), c.c_void_p(), Error()
        self._declare()
        assert self.lib.baro_tape_open(c.byref(self.tape), str(path).encode(), c.byref(self.err)) >= 0, self.err.text
        assert self.lib.baro_tape_read_kinds(self.tape, c.byref(self.err)) >= 0, self.err.text

    def _declare(self):
        text = "tape_kind_name entity_name".split()
        for name in text:
            getattr(self.lib, "baro_" + name).restype = c.c_char_p
        self.lib.baro_tape_kind_name.argtypes = [c.c_void_p, c.c_int]
        self.lib.baro_entity_name.argtypes = [c.c_void_p]
        self.lib.baro_tape_kind_find.argtypes = [c.c_void_p, c.c_char_p]
        self.lib.baro_tape_metric.argtypes = [c.c_void_p, c.c_int, c.c_int]
        self.lib.baro_tape_metric.restype = c.POINTER(Metric)
        self.lib.baro_tape_metric_count.argtypes = [c.c_void_p, c.c_int]
        self.lib.baro_sample_entity_count.argtypes = [c.c_void_p, c.c_int]
        self.lib.baro_sample_entity_count.restype = c.c_size_t
        self.lib.baro_sample_entity.argtypes = [c.c_void_p, c.c_int, c.c_size_t]
        self.lib.baro_sample_entity.restype = c.c_void_p
        self.lib.baro_sample_entities_ns.argtypes = [c.c_void_p, c.c_int, c.POINTER(c.c_uint64)]
        self.lib.baro_entity_value.argtypes = [c.c_void_p, c.c_int, c.POINTER(c.c_uint64)]
        for name in ("owner", "owner_pid"):
            getattr(self.lib, "baro_entity_" + name).argtypes = [c.c_void_p]
        self.lib.baro_entity_owner_start_ticks.argtypes = [c.c_void_p]
        self.lib.baro_entity_owner_start_ticks.restype = c.c_uint64
        self.lib.baro_entity_attribute_count.argtypes = [c.c_void_p]
        self.lib.baro_entity_attribute_count.restype = c.c_size_t
        self.lib.baro_entity_attribute.argtypes = [c.c_void_p, c.c_size_t, c.POINTER(Attribute)]
        self.lib.baro_tape_next.argtypes = [c.c_void_p, c.POINTER(Record), c.POINTER(Error)]

    def metrics(self, kind):
        n = self.lib.baro_tape_metric_count(self.tape, kind)
        return [self.lib.baro_tape_metric(self.tape, kind, i).contents for i in range(n)]

    def rows(self, kind_name):
        """One list for each reading: {name: {column: value, "@label": text}}; absent values are left out."""
        kind = self.lib.baro_tape_kind_find(self.tape, kind_name.encode())
        readings, record, ns, last = [], Record(), c.c_uint64(), None
        while self.lib.baro_tape_next(self.tape, c.byref(record), c.byref(self.err)) > 0:
            if record.kind != SAMPLE or kind < 0:
                continue
            if self.lib.baro_sample_entities_ns(record.of, kind, c.byref(ns)) != 0 or ns.value == last:
                continue
            last = ns.value
            readings.append(self._reading(record.of, kind))
        return readings

    def _reading(self, sample, kind):
        rows, value, attribute = {}, c.c_uint64(), Attribute()
        columns = self.metrics(kind)
        for i in range(self.lib.baro_sample_entity_count(sample, kind)):
            e = self.lib.baro_sample_entity(sample, kind, i)
            row = rows[self.lib.baro_entity_name(e).decode()] = {}
            for k, m in enumerate(columns):
                if self.lib.baro_entity_value(e, k, c.byref(value)) != 0:
                    continue
                bits = struct.pack("Q", value.value)
                row[m.name.decode()] = struct.unpack("d", bits)[0] if m.unit == REAL else value.value
            for k in range(self.lib.baro_entity_attribute_count(e)):
                assert self.lib.baro_entity_attribute(e, k, c.byref(attribute)) == 0
                row["@" + attribute.name.decode()] = attribute.text.decode()
            if self.lib.baro_entity_owner(e):
                row["@owner"] = (self.lib.baro_entity_owner_pid(e), self.lib.baro_entity_owner_start_ticks(e))
        return rows
