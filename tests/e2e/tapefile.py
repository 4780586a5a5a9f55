# SPDX-License-Identifier: Apache-2.0
"""Reads and writes frames of a tape as bytes (src/libbaro/tape/FORMAT.md), for tests that need malformed tapes."""

import struct

SYNC = b"\xb2\xe5\x9a\x0d"
PREAMBLE = 24
HEAD = 14
HEADER, SCHEMA, BLOCK, TICK, FOOTER = 1, 2, 3, 4, 5


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Tape:
    """A tape divided into preamble and frames; bytes() joins them again, with correct checksums."""

    def __init__(self, data):
        self.preamble = data[:PREAMBLE]
        self.seed = crc32c(self.preamble[12:20])
        self.frames = []  # [type, seq, payload]
        at = PREAMBLE
        while at + HEAD <= len(data) and data[at:at + 4] == SYNC:
            kind, seq, length = struct.unpack_from("<BBI", data, at + 4)
            self.frames.append([kind, seq, data[at + HEAD:at + HEAD + length]])
            at += HEAD + length

    def front(self):
        """Preamble, header and schema."""
        return self.preamble + b"".join(self.frame(*f) for f in self.frames[:2])

    def frame(self, kind, seq, payload):
        head = struct.pack("<BBI", kind, seq, len(payload))
        return SYNC + head + struct.pack("<I", crc32c(payload, crc32c(head, self.seed))) + payload

    def __bytes__(self):
        return self.preamble + b"".join(self.frame(*f) for f in self.frames)


def _varint(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def _scan_varint(data, at):
    v = shift = 0
    while True:
        byte = data[at]
        at += 1
        v |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return v, at


def with_field(payload, field, number):
    """Returns a header's payload with one field set to another number."""
    out, at = b"", 0
    while at < len(payload):
        key, at = _scan_varint(payload, at)
        length, at = _scan_varint(payload, at)
        value = payload[at:at + length]
        at += length
        if key == field:
            value = number.to_bytes((number.bit_length() + 7) // 8, "little")
        out += _varint(key) + _varint(len(value)) + value
    return out


HOST, ID = 3, 48  # fields of a header


def copy_tape(tape, to, host, name):
    """Copies a tape that is a file, as one of another host. name: its id, 32 hexadecimal digits."""
    data = tape.read_bytes()
    length, = struct.unpack_from("<I", data, PREAMBLE + 6)
    end = PREAMBLE + HEAD + length
    front = Tape(data[:end])
    (frame,) = front.frames
    assert frame[0] == HEADER
    for field, text in ((HOST, host), (ID, name)):
        frame[2] = with_field(frame[2], field, int.from_bytes(text.encode(), "little"))
    to.write_bytes(bytes(front) + data[end:])
