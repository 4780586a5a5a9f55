# SPDX-License-Identifier: Apache-2.0
"""Reads a stream of Arrow IPC messages, by the specification (Message.fbs and Schema.fbs of Apache Arrow), as far as
`baro export --format arrow` writes it: a FlatBuffer for each message, and a body."""

import struct

SCHEMA, DICTIONARY, BATCH = 1, 2, 3
INT, FLOATING_POINT, UTF8, BOOL, TIMESTAMP = 2, 3, 5, 6, 10


class Table:
    """A table of a FlatBuffer. Members have the numbers of the schema."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        vtable = at - self.number("<i", at)
        self.members = [self.number("<H", vtable + i) for i in range(4, self.number("<H", vtable), 2)]

    def number(self, form, at):
        assert at % struct.calcsize(form) == 0, "not aligned"
        return struct.unpack_from(form, self.data, at)[0]

    def place(self, member):
        return self.at + self.members[member] if member < len(self.members) and self.members[member] else None

    def get(self, member, form, absent=0):
        at = self.place(member)
        return absent if at is None else self.number(form, at)

    def target(self, at):
        return at + self.number("<I", at)

    def table(self, member):
        at = self.place(member)
        return None if at is None else Table(self.data, self.target(at))

    def text(self, member):
        at = self.target(self.place(member))
        end = at + 4 + self.number("<I", at)
        assert self.data[end] == 0
        return self.data[at + 4:end].decode()

    def vector(self, member, size=4):
        """The places of the elements."""
        if self.place(member) is None:
            return []
        at = self.target(self.place(member))
        return range(at + 4, at + 4 + size * self.number("<I", at), size)

    def tables(self, member):
        return [Table(self.data, self.target(at)) for at in self.vector(member)]

    def pairs(self, member):
        """Vectors of structs of two 64-bit numbers."""
        return [(self.number("<q", at), self.number("<q", at + 8)) for at in self.vector(member, 16)]


def messages(data):
    """Yields the type, the table and the body of each."""
    at = 0
    while True:
        mark, size = struct.unpack_from("<II", data, at)
        assert mark == 0xFFFFFFFF
        if size == 0:
            assert at + 8 == len(data)
            return
        metadata = data[at + 8:at + 8 + size]
        message = Table(metadata, struct.unpack_from("<I", metadata)[0])
        assert message.get(0, "<h") == 4  # version 5
        end = at + 8 + size + message.get(3, "<q")
        assert (at + 8 + size) % 8 == 0 and end % 8 == 0
        yield message.get(1, "<B"), message.table(2), data[at + 8 + size:end]
        at = end


def form_of(field):
    kind, of = field.get(2, "<B"), field.table(3)
    if kind == INT:
        return {(32, 1): "i", (32, 0): "I", (64, 1): "q", (64, 0): "Q"}[of.get(0, "<i"), of.get(1, "<B")]
    if kind == TIMESTAMP:
        assert of.get(0, "<h") == 3 and of.text(1) == "UTC"
        return "q"
    if kind == FLOATING_POINT:
        assert of.get(0, "<h") == 2
        return "d"
    return {BOOL: "?", UTF8: "i"}[kind]


class Body:
    def __init__(self, batch, body):
        self.body, self.nodes, self.buffers = body, iter(batch.pairs(1)), iter(batch.pairs(2))

    def buffer(self):
        at, size = next(self.buffers)
        assert at % 8 == 0 and at + size <= len(self.body)
        return self.body[at:at + size]

    def bits(self, n):
        data = self.buffer()
        return [bool(data[i // 8] >> i % 8 & 1) for i in range(n)] if data else [True] * n

    def column(self, form):
        n, nulls = next(self.nodes)
        there = self.bits(n)
        assert there.count(False) == nulls
        values = self.bits(n) if form == "?" else struct.unpack(f"<{n}{form}", self.buffer())
        return [v if ok else None for v, ok in zip(values, there)]

    def texts(self):
        n, _ = next(self.nodes)
        self.buffer()
        ends = struct.unpack(f"<{n + 1}i", self.buffer())
        data = self.buffer()
        return [data[a:b].decode() for a, b in zip(ends, ends[1:])]


def read(data):
    """Returns the names of the columns, their metadata, and the rows."""
    names, forms, metadata, ids, words, rows = [], [], [], [], {}, []
    for kind, table, body in messages(data):
        if kind == SCHEMA:
            for field in table.tables(1):
                assert field.get(1, "<B") == 1  # nullable
                names.append(field.text(0))
                forms.append(form_of(field))
                metadata.append({pair.text(0): pair.text(1) for pair in field.tables(6)})
                ids.append(field.table(4).get(0, "<q") if field.table(4) else None)
        elif kind == DICTIONARY:
            words[table.get(0, "<q")] = Body(table.table(1), body).texts()
        else:
            batch, columns = Body(table, body), []
            for form, number in zip(forms, ids):
                column = batch.column(form)
                columns.append(column if number is None else [None if v is None else words[number][v] for v in column])
            rows += zip(*columns)
            assert len(columns[0]) == table.get(0, "<q")
    return names, metadata, rows
