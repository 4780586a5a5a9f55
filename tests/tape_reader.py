# SPDX-License-Identifier: Apache-2.0
"""A reader of tapes that shares nothing with libbaro: written from src/libbaro/tape/FORMAT.md alone.

    tape = tape_reader.read(path)     # of one file
    tape.header[3]                    # field number: list of bytes
    for record in tape.records: ...   # Sample, Exit and Event, in order
"""

import ctypes
import ctypes.util
import struct
from dataclasses import dataclass, field

MAGIC = b"\x89BARO\r\n\n"
SYNC = b"\xb2\xe5\x9a\x0d"
HEADER, SCHEMA, BLOCK, TICK, FOOTER = 1, 2, 3, 4, 5
SAMPLE, ROWS, EXIT, EVENT, MACHINE, LIMITS, DECLARATION, ENTITIES = range(1, 9)
REASONS, EXACT, READ, INFO = 1, 2, 4, 8
FIRST_OWN_KIND, FIRST_DECLARED = 11, 64
WRAP = (1 << 64) - 1


class Damaged(Exception):
    """The file is not what FORMAT.md describes."""


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Bytes:
    """A position in some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def __bool__(self):
        return self.at < len(self.data)

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Damaged("ends too early")
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self, most=10):
        value = 0
        for i in range(most):
            byte = self.u8()
            value |= (byte & 127) << 7 * i
            if byte < 128:
                return value
        raise Damaged("a number does not end")

    def zigzag(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def part(self):
        return Bytes(self.take(self.varint()))

    def text(self):
        return self.take(self.varint())


class InBuffer(ctypes.Structure):
    _fields_ = (("at", ctypes.c_char_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t))


class OutBuffer(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t))


class Stream:
    """A zstd stream that is flushed from time to time."""

    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_createDStream.restype = ctypes.c_void_p
    lib.ZSTD_decompressStream.restype = ctypes.c_size_t

    def __init__(self):
        self.stream = ctypes.c_void_p(self.lib.ZSTD_createDStream())

    def __del__(self):
        self.lib.ZSTD_freeDStream(self.stream)

    def decompress(self, data):
        room, result = ctypes.create_string_buffer(1 << 16), b""
        source = InBuffer(data, len(data), 0)
        while True:
            to = OutBuffer(ctypes.addressof(room), len(room), 0)
            if self.lib.ZSTD_isError(ctypes.c_size_t(
                    self.lib.ZSTD_decompressStream(self.stream, ctypes.byref(to), ctypes.byref(source)))):
                raise Damaged("zstd")
            result += room.raw[:to.pos]
            if source.pos == source.size and to.pos < to.size:
                return result


@dataclass
class Column:
    stem: str
    name: str
    unit: int
    semantics: int
    scale: int
    plus: int  # 0, or 1 + the column that this one grows with
    minus: int


@dataclass
class Kind:
    name: str
    columns: list


class Row:
    """The values of one process, exit or entity, and the reasons of those that are absent."""

    def __init__(self, columns, old=None):
        self.columns = columns
        self.value = list(old.value) if old else [0] * len(columns)
        self.reason = list(old.reason) if old else [0] * len(columns)

    def __getitem__(self, name):
        """The value, or None."""
        i = next(i for i, c in enumerate(self.columns) if c.name == name)
        return None if self.reason[i] else self.value[i]

    def read(self, data):
        bits = data.varint(19)
        if bits & REASONS:
            for _ in range(data.varint()):
                column = data.u8()
                self.reason[column] = data.u8()
        change = [0] * len(self.columns)
        if bits >> 4 + len(change):
            raise Damaged("a column that does not exist")
        for i, c in enumerate(self.columns):
            if bits >> 4 + i & 1:
                unit = 1 if bits & EXACT else 1 << c.scale if c.scale <= 32 else 10 ** (c.scale - 64)
                change[i] = data.zigzag() * unit
            change[i] += change[c.plus - 1] if c.plus else 0
            change[i] -= change[c.minus - 1] if c.minus else 0
            self.value[i] = self.value[i] + change[i] & WRAP
        return bits


@dataclass
class Item:
    """A process or an entity."""

    row: Row
    id: int = 0
    pid: int = 0
    start: int = 0
    parent: tuple = (0, 0)
    uid: int = 0
    read_ns: int = 0
    version: int = 0
    name: bytes = b""
    label: bytes = b""
    cmdline: bytes = None
    owner: tuple = (0, b"")
    attributes: list = field(default_factory=list)


@dataclass
class Sample:
    t_ns: int
    lossy: bool
    job: Row
    recorder: Row
    processes: list
    entities: dict  # name of the kind: (time of the reading, list of Item)


@dataclass
class Exit:
    t_ns: int
    item: Item
    source: int
    status: int  # None: not known


@dataclass
class Event:
    t_ns: int
    kind: int
    pid: int
    start: int
    number: int
    text: bytes
    attributes: list


def read_attributes(data):
    return [(a.text(), a.u8(), a.data[a.at:]) for a in (data.part() for _ in range(data.varint()))]


def read_column(data):
    stem, name, _, _ = (data.text().decode() for _ in range(4))
    return Column(stem, name, *data.take(5))


def read_kind(data):
    return Kind(data.text().decode(), [read_column(data.part()) for _ in range(data.varint())])


class Block:
    """What the records of a block refer to."""

    def __init__(self, tape):
        self.tape, self.stream = tape, Stream()
        self.t_ns = self.step = self.id = self.pid = self.start = self.first_ns = 0
        columns = [k.columns for k in tape.kinds[:4]]
        self.fresh, self.job, self.exit, self.recorder = (Row(c) for c in columns)
        self.processes, self.entities, self.last_id, self.times = [], {}, {}, {}

    # ---- lists ----

    @staticmethod
    def drop_gone(data, items):
        at = 0
        while gap := data.varint():
            at += gap - 1
            del items[at]

    @staticmethod
    def positions(data, at=0):
        while gap := data.varint():
            at += gap
            yield at - 1

    # ---- identities ----

    def identity(self, data, item):
        self.id = item.id = self.id + data.zigzag() & 0xFFFFFFFF
        self.pid = item.pid = self.pid + data.zigzag()
        self.start = item.start = self.start + data.zigzag()
        parent, before = data.zigzag(), data.zigzag()
        item.parent = (parent, item.start - before)
        item.uid = data.varint() - 1 & 0xFFFFFFFF
        data.u8()  # origin

    def info(self, data, item, earlier):
        self.identity(data, item)
        self.first_ns += data.zigzag()
        item.version, item.name = data.varint(), data.text()
        data.u8()  # why there is no command line
        form = data.u8()
        item.cmdline = data.text() if form else None
        if form == 2:  # the whole one stands in an earlier block
            whole = earlier.get((item.id, item.version))
            item.cmdline = whole if whole else item.cmdline + b"..."
        earlier[item.id, item.version] = item.cmdline

    # ---- records ----

    def sample(self, data):
        self.step += data.zigzag()
        self.t_ns += self.step
        lossy = bool(data.u8() & 1)
        self.job, self.recorder = Row(self.job.columns, self.job), Row(self.recorder.columns, self.recorder)
        self.job.read(data)
        self.recorder.read(data)
        self.drop_gone(data, self.processes)
        self.next = 0
        return Sample(self.t_ns, lossy, self.job, self.recorder, [], {})

    def rows(self, data):
        for at in self.positions(data, self.next):
            fresh = at == len(self.processes)
            if fresh:
                self.fresh = Row(self.fresh.columns, self.fresh)
                self.processes.append(Item(self.fresh, read_ns=self.t_ns))
            old = self.processes[at]
            item = self.processes[at] = Item(
                **{**vars(old), "row": self.fresh if fresh else Row(old.row.columns, old.row)}
            )
            bits = item.row.read(data)
            item.read_ns = item.read_ns + data.zigzag() if bits & READ else self.t_ns
            if bits & INFO:
                self.info(data, item, self.tape.cmdlines)
            self.next = at + 1

    def kind(self, data, kind, whole, t_ns):
        items = list(self.entities.get(kind.name, ()))
        self.drop_gone(data, items)
        for at in self.positions(data):
            fresh = at == len(items)
            before = items[at - fresh].row if at - fresh >= 0 else None
            old = Item(None) if fresh else items[at]
            item = Item(**{**vars(old), "row": Row(kind.columns, before)})
            items[at:at + 1] = [item]
            if not item.row.read(data) & INFO:
                continue
            self.last_id[kind.name] = item.id = self.last_id.get(kind.name, 0) + data.zigzag()
            item.version, item.name, item.label = data.varint(), data.text(), data.text()
            if whole:
                item.owner, item.attributes = (data.u8(), data.text()), read_attributes(data)
        self.entities[kind.name], self.times[kind.name] = items, t_ns

    def machine(self, data):
        t_ns = self.t_ns + data.zigzag()
        changed = data.varint()
        for number, kind in enumerate(self.tape.kinds):
            if changed >> number & 1:
                self.kind(data, kind, False, t_ns)
            elif 4 <= number < FIRST_OWN_KIND:
                self.times[kind.name] = t_ns

    def other_entities(self, data):
        number = data.varint()
        kind = self.tape.kinds[number] if number < FIRST_DECLARED else self.tape.declared[number - FIRST_DECLARED]
        self.kind(data, kind, True, self.t_ns + data.zigzag())

    def declaration(self, data):
        number = data.varint()
        kind = self.tape.declared[number] = read_kind(data)
        self.entities[kind.name], self.last_id[kind.name] = [], 0

    def ended(self, data):
        t_ns = self.t_ns + data.zigzag()
        self.exit = Row(self.exit.columns, self.exit)
        item = Item(self.exit)
        self.identity(data, item)
        source, flags = data.u8(), data.u8()
        status = data.zigzag() if flags & 2 else None
        if flags & 4:
            living = next(p for p in self.processes if p.id == item.id)
            item.name, item.cmdline = living.name, living.cmdline
        else:
            item.name = data.text()
            item.cmdline = data.text() if data.u8() else None
        item.row.read(data)
        return Exit(t_ns, item, source, status)

    def event(self, data):
        t_ns = self.t_ns + data.zigzag()
        event = Event(t_ns, data.varint(), data.zigzag(), data.varint(), data.varint(), data.text(), [])
        event.attributes = read_attributes(data) if data else []
        return event

    def read(self, payload):
        records, data = [], Bytes(self.stream.decompress(payload))
        sample, part = None, {ROWS: self.rows, MACHINE: self.machine, DECLARATION: self.declaration,
                              ENTITIES: self.other_entities}
        while data:
            tag, body = data.u8(), data.part()
            if tag == SAMPLE:
                sample = self.sample(body)
                records.append(sample)
            elif tag in part:
                part[tag](body)
            elif tag in (EXIT, EVENT):
                records.append(self.ended(body) if tag == EXIT else self.event(body))
        if sample:  # there is at most one in a frame
            sample.processes = list(self.processes)
            sample.entities = {
                kind: (self.times[kind], items) for kind, items in self.entities.items() if kind in self.times
            }
        return records


class Tape:
    def __init__(self):
        self.header, self.kinds, self.declared, self.records, self.cmdlines = {}, [], {}, [], {}
        self.complete = False


def read(path):
    """Reads one file that is not damaged; a last frame that is not whole is left out."""
    with open(path, "rb") as f:
        data = Bytes(f.read())
    tape, block, preamble = Tape(), None, data.take(24)
    if preamble[:8] != MAGIC or struct.unpack("<HH", preamble[8:12])[1] > 1:
        raise Damaged("not a tape of version 1")
    if struct.unpack("<I", preamble[20:])[0] != crc32c(preamble[:20]):
        raise Damaged("preamble")
    seed = crc32c(preamble[12:20])
    while len(data.data) - data.at >= 14:
        head = data.take(14)
        sync, kind, seq, length, crc = struct.unpack("<4sBBII", head)
        if sync != SYNC or length > len(data.data) - data.at:
            break
        payload = data.take(length)
        if crc != crc32c(head[4:10] + payload, seed):
            raise Damaged("checksum")
        if kind == HEADER:
            fields = Bytes(payload)
            while fields:
                tape.header.setdefault(fields.varint(), []).append(fields.text())
        elif kind == SCHEMA:
            schema = Bytes(Stream().decompress(payload))
            tape.kinds = [read_kind(schema) for _ in range(schema.varint())]
        elif kind in (BLOCK, TICK):
            block = Block(tape) if kind == BLOCK else block
            tape.records += block.read(payload[8 if kind == BLOCK else 0:])
        elif kind == FOOTER:
            tape.complete = payload.endswith(b"BAROEND\n")
    return tape


def number(tape, field):
    return int.from_bytes(tape.header[field][0], "little") if field in tape.header else 0


def read_parts(folder):
    """Reads the segments of a tape: a list of parts, each a tuple of when it begins, since the first one, and the tapes
    of its segments."""
    parts = []
    for path in sorted(folder.iterdir()):
        tape = read(path)
        start = [tape.header[field] for field in (6, 7, 8)]
        if parts and start == [parts[-1][1][0].header[field] for field in (6, 7, 8)]:
            parts[-1][1].append(tape)
            continue
        first = parts[0][1][0] if parts else tape
        assert tape.header[48] == first.header[48]
        field = 9 if tape.header[6] == first.header[6] else 7
        least = parts[-1][0] + max(r.t_ns for t in parts[-1][1] for r in t.records if isinstance(r, Sample)) if parts else 0
        parts.append((max(number(tape, field) - number(first, field), least), [tape]))
    return parts
