# SPDX-License-Identifier: Apache-2.0
"""The recorder's process, which is not our child."""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False  # without importing typing


class Recorder:
    """The process, which is not our child."""

    def __init__(self, line: bytes) -> None:
        import json

        begun = json.loads(line)
        self.pid: int = begun["pid"]
        self._ticks: int = begun["start_ticks"]
        self.tape: str | None = begun["tape"]
        self.events: str | None = begun["events"]
        self.fd = -1
        if hasattr(os, "pidfd_open"):
            try:
                self.fd = os.pidfd_open(self.pid)  # since Linux 5.3
            except OSError:
                pass
            if self.fd >= 0 and self._is_gone():
                self.close()

    def _is_gone(self) -> bool:
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return True
        return int(fields[19]) != self._ticks or fields[0] == b"Z"

    @property
    def has_ended(self) -> bool:
        if self.fd < 0:
            return self._is_gone()
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(0))

    def stop(self) -> None:
        """Tells it to end; it takes a last sample and ends by itself."""
        try:
            if self.fd >= 0:
                signal.pidfd_send_signal(self.fd, signal.SIGTERM)
            elif not self._is_gone():
                os.kill(self.pid, signal.SIGTERM)
        except OSError:
            pass

    def wait(self, seconds: float) -> bool:
        if self.fd >= 0:
            poll = select.poll()
            poll.register(self.fd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        end = time.monotonic() + seconds
        while not self._is_gone():
            if time.monotonic() > end:
                return False
            time.sleep(0.001)
        return True

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


async def readable(fd: int, seconds: float) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), seconds)
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(fd)
