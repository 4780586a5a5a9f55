#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small FUSE file system for tests: files in memory, in one folder. It can be made to hang, or to refuse fsync(2).

`fuse_files.py FOLDER [ERRNO]` mounts it (needs root) and prints "mounted". After SIGUSR1 it answers no request, and
prints "held" at the first one; after SIGHUP the same for reads of files alone; after SIGUSR2 it answers all of them. With ERRNO (EINVAL, EOPNOTSUPP) it prints "fsync"
at each FSYNC request, and answers with that error. When it is killed, each process that waits for an answer gets an
error. Structs: linux/fuse.h, protocol 7.31.
"""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys

ROOT = 1
NO_ANSWER = (2, 36, 42)  # FORGET, INTERRUPT, BATCH_FORGET
READ = 15


class Files:
    def __init__(self, folder, fsync_errno=0):
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        if libc.mount(b"baro-test", folder.encode(), b"fuse", 0, options.encode()) < 0:
            sys.exit(f"can't mount: {os.strerror(ctypes.get_errno())}")
        self.names, self.data, self.hangs, self.reads_hang, self.held = {}, {}, False, False, []
        self.fsync_errno = fsync_errno
        signal.signal(signal.SIGUSR1, self.hang)
        signal.signal(signal.SIGHUP, self.hang_reads)
        signal.signal(signal.SIGUSR2, self.resume)

    def hang(self, *_):
        self.hangs = True

    def hang_reads(self, *_):
        self.reads_hang = True

    def resume(self, *_):
        self.hangs = self.reads_hang = False
        while self.held:
            self.reply(*self.held.pop(0))

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o777 if node == ROOT else stat.S_IFREG | 0o644
        size = len(self.data.get(node, b""))
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + self.attributes(node)

    def create(self, name):
        node = self.names[name] = max(self.data, default=ROOT) + 1
        self.data[node] = b""
        return node

    def write(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        old = self.data[node].ljust(offset, b"\0")
        self.data[node] = old[:offset] + body[40 : 40 + size] + old[offset + size :]
        return struct.pack("<2I", size, 0)

    def entries(self, offset, size):
        body = b""
        for i, (name, node) in list(enumerate(self.names.items(), 1))[offset:]:
            one = struct.pack("<QQII", node, i, len(name), stat.S_IFREG >> 12) + name
            one += bytes(-len(one) % 8)
            if len(body) + len(one) > size:
                break
            body += one
        return body

    def answer(self, code, node, body):
        """The body of the answer, or a negative errno."""
        name = body.split(b"\0")[0]
        if code == 26:  # INIT
            return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0, *[0] * 8)
        if code == 1:  # LOOKUP
            return self.entry(self.names[name]) if name in self.names else -errno.ENOENT
        if code == 4:  # SETATTR
            valid, _, _, size = struct.unpack_from("<2I2Q", body)
            if valid & 8:
                self.data[node] = self.data[node][:size].ljust(size, b"\0")
        if code in (3, 4):
            return struct.pack("<Q2I", 0, 0, 0) + self.attributes(node)
        if code == 35:  # CREATE
            return self.entry(self.create(body[16:].split(b"\0")[0])) + struct.pack("<Q2I", 0, 0, 0)
        if code in (14, 27):  # OPEN, OPENDIR
            return struct.pack("<Q2I", 0, 0, 0)
        if code == 15:  # READ
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.data[node][offset : offset + size]
        if code == 28:  # READDIR
            return self.entries(*struct.unpack_from("<QI", body, 8))
        if code == 16:
            return self.write(node, body)
        if code == 17:  # STATFS
            return struct.pack("<5Q4I", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0) + bytes(24)
        if code == 10:  # UNLINK
            return b"" if self.names.pop(name, None) else -errno.ENOENT
        if code == 12:  # RENAME
            old, new = body[8:].split(b"\0")[:2]
            self.names[new] = self.names.pop(old)
            return b""
        if code == 20 and self.fsync_errno:  # FSYNC
            print("fsync", flush=True)
            return -self.fsync_errno
        # RELEASE, FSYNC, FLUSH, RELEASEDIR, ACCESS
        return b"" if code in (18, 20, 25, 29, 34) else -errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError as e:
                if e.errno == errno.ENODEV:  # unmounted
                    return
                continue
            _, code, unique, node = struct.unpack_from("<2I2Q", request)
            if code in NO_ANSWER:
                continue
            if self.hangs or (self.reads_hang and code == READ):
                if not self.held:
                    print("held", flush=True)
                self.held.append((code, unique, node, request[40:]))
                continue
            self.reply(code, unique, node, request[40:])

    def reply(self, code, unique, node, request):
        got = self.answer(code, node, request)
        error, body = (got, b"") if isinstance(got, int) else (0, got)
        try:
            os.write(self.fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        except OSError:
            pass  # the process that asked was interrupted


if __name__ == "__main__":
    files = Files(sys.argv[1], getattr(errno, sys.argv[2]) if len(sys.argv) > 2 else 0)
    print("mounted", flush=True)
    files.serve()
