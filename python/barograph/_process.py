# SPDX-License-Identifier: Apache-2.0
"""The recorder's process, which is not our child."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from io import FileIO

from ._marks import start_ticks

TYPE_CHECKING = False  # without importing typing


def _unescaped(text: str | None) -> str | None:
    """A path as it is: the recorder's report has it escaped (baro/text.h)."""
    if text is None or "\\" not in text:
        return text
    raw, i = bytearray(), 0
    while i < len(text):
        if text[i] != "\\":
            raw += text[i].encode()
            i += 1
        elif text[i + 1 : i + 2] == "x":
            raw.append(int(text[i + 2 : i + 4], 16))
            i += 4
        else:
            raw += text[i + 1].encode()
            i += 2
    return os.fsdecode(bytes(raw))


class Recorder:
    """The process, which is not our child."""

    def __init__(self, line: bytes) -> None:
        import json

        begun = json.loads(line)
        self.pid: int = begun["pid"]
        # What the recorder itself reads is wrong under qemu-user, which makes up /proc/self.
        self._ticks: int = start_ticks(self.pid) or begun["start_ticks"]
        self.tape = _unescaped(begun["tape"])
        self.events = _unescaped(begun["events"])

    def open(self) -> int:
        """A pidfd; -1 if there is none, or the process has ended. It is not kept: a program may close all descriptors
        and have a file of its own of that number."""
        fd = -1
        if hasattr(os, "pidfd_open"):
            try:
                fd = os.pidfd_open(self.pid)  # since Linux 5.3
            except OSError:
                pass
            try:
                ended = self.has_ended
            except BaseException:  # an interrupt
                if fd >= 0:
                    os.close(fd)
                raise
            if fd >= 0 and ended:
                os.close(fd)
                return -1
        return fd

    @property
    def has_ended(self) -> bool:
        try:  # not by open(): a generator may be closed when the interpreter has no builtins any more
            with FileIO(f"/proc/{self.pid}/stat") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError as error:
            return error.errno not in (errno.EMFILE, errno.ENFILE) or not self._executes_baro()
        return int(fields[19]) != self._ticks or fields[0] == b"Z"

    def _executes_baro(self) -> bool:
        """What is to be known without a descriptor."""
        try:
            return os.path.basename(os.readlink(f"/proc/{self.pid}/exe")).startswith("baro")
        except OSError:
            return False

    def stop(self, fd: int) -> bool:
        """Tells it to end; it takes a last sample and ends by itself. fd: what open() returned. False: this process may
        not, because it has become another user."""
        try:
            if fd >= 0:
                signal.pidfd_send_signal(fd, signal.SIGTERM)
            elif not self.has_ended:
                os.kill(self.pid, signal.SIGTERM)
        except PermissionError:
            return False
        except OSError:
            pass
        return True

    def wait(self, fd: int, seconds: float) -> bool:
        if fd >= 0:
            return readable(fd, seconds)
        end = time.monotonic() + seconds
        while not self.has_ended:
            if time.monotonic() > end:
                return False
            time.sleep(0.001)
        return True


def readable(fd: int, seconds: float) -> bool:
    """Waits until the descriptor is readable, or has ended."""
    if not hasattr(select, "poll"):  # eventlet removes it
        return bool(select.select([fd], [], [], seconds)[0])
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def read_report(fd: int, said: bytearray, within: float) -> None:
    """Adds what the recorder says until it has begun or failed."""
    end = time.monotonic() + within
    while True:
        if not readable(fd, max(end - time.monotonic(), 0)):
            said += b"baro record: it has not begun after %.0f s\n" % within
            return
        got = os.read(fd, 65536)
        said += got
        if not got or (b"\n{" in b"\n" + said and said.endswith(b"}\n")):
            return


async def areadable(fd: int, seconds: float) -> None:
    """readable() that lets other tasks of asyncio run meanwhile. Without a loop of asyncio, as under trio, it returns at
    once."""
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), seconds)
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(fd)
