# SPDX-License-Identifier: Apache-2.0
"""A position in a tape: records one after the other, and waiting for more."""

from __future__ import annotations

import ctypes
import time
from typing import Union
from collections.abc import AsyncIterator, Iterator

from . import _abi
from ._lib import Handle, call, lib
from ._metrics import Registry
from ._process import readable
from .records import Damage, Event, Exit, Limits
from .sample import Sample

Record = Union[Sample, Exit, Event, Limits, Damage]
_LOOK_EVERY = 1.0  # seconds: what inotify does not report, such as the death of a recorder


class Cursor:
    """A position in a tape."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.registry = Registry(handle)
        self._record = _abi.baro_record()

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        """What was taken from it needs it no longer."""
        self.registry.release()
        self.handle.close()

    def time_ns(self, t_ns: int) -> int:
        """The wall-clock time of an instant, as the recorder's machine had it."""
        time_ns = ctypes.c_int64()
        call(lib.baro_tape_realtime_ns, self.handle.pointer, t_ns, ctypes.byref(time_ns))
        return time_ns.value

    def next(self) -> Record | None:
        """None: nothing more for now."""
        with self.handle.lock:
            if not call(lib.baro_tape_next, self.handle.pointer, ctypes.byref(self._record)):
                return None
            return self._take()

    def _take(self) -> Record:
        kind, of = self._record.kind, self._record.u
        if kind == _abi.BARO_RECORD_SAMPLE:
            return Sample.copy_of(of.sample, self.registry, self.time_ns(int(self._record.t_ns)))
        if kind == _abi.BARO_RECORD_EXIT:
            return Exit(of.exit, self.registry)
        if kind == _abi.BARO_RECORD_EVENT:
            return Event(of.event)
        if kind == _abi.BARO_RECORD_LIMITS:
            return Limits(of.limits, int(self._record.t_ns))
        return Damage(int(self._record.t_ns))

    def seek(self, t_ns: int) -> Sample | None:
        with self.handle.lock:
            found = call(lib.baro_tape_seek, self.handle.pointer, t_ns, ctypes.byref(self._record))
            return self._sample() if found else None

    def previous(self) -> Sample | None:
        with self.handle.lock:
            found = call(lib.baro_tape_previous, self.handle.pointer, ctypes.byref(self._record))
            return self._sample() if found else None

    def _sample(self) -> Sample:
        taken = self._take()
        assert isinstance(taken, Sample)
        return taken

    def wait(self, timeout: float) -> bool:
        """False: nobody writes it any more, and all was read."""
        with self.handle.lock:
            err = _abi.baro_error()
            code = lib.baro_tape_wait(self.handle.pointer, int(timeout * 1000), ctypes.byref(err))
        if code == _abi.BARO_E_ENDED:
            return False
        if code < 0:
            call(lambda *_: code)
        return True

    def poll_fd(self) -> int:
        with self.handle.lock:
            return int(lib.baro_tape_poll_fd(self.handle.pointer))

    def records(self, follow: bool, timeout: float | None) -> Iterator[Record]:
        """follow: waits for more until nobody writes it, at most `timeout` seconds for the next record."""
        heard = time.monotonic()
        while True:
            record = self.next()
            if record is not None:
                yield record
                heard = time.monotonic()
                continue
            if not follow or not self.wait(0):
                return
            left = None if timeout is None else heard + timeout - time.monotonic()
            if left is not None and left <= 0:
                return
            fd = self.poll_fd()
            pause = _LOOK_EVERY if left is None else min(_LOOK_EVERY, left)
            if fd >= 0:  # without the lock, so that other threads may read meanwhile
                readable(fd, pause)
            else:
                time.sleep(min(pause, 0.1))

    async def arecords(self) -> AsyncIterator[Record]:
        """As records(follow=True), for asyncio."""
        while True:
            record = self.next()
            if record is not None:
                yield record
            elif self.wait(0):
                await _changed(self.poll_fd())
            else:
                return


async def _changed(fd: int) -> None:
    """Waits until the descriptor is readable, but not for long."""
    import asyncio

    if fd < 0:
        await asyncio.sleep(0.1)
        return
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), _LOOK_EVERY)
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(fd)
