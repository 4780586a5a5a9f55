# SPDX-License-Identifier: Apache-2.0
"""Marks without an object: the recording in which this process is."""

from __future__ import annotations

import errno
import os

from . import _marks

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    from .recorder import Recording

active: list[Recording] = []  # of this process, the innermost last
_outer: dict[str, int] = {}  # $BARO_EVENTS and its descriptor


def forget() -> None:
    """In a forked child: the recordings are the parent's. Marks go to its recorder all the same."""
    for recording in active:
        recording._in_child()
    active.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def put(line: bytes) -> None:
    if active:
        active[-1]._put(line)
        return
    path = os.environ.get("BARO_EVENTS")
    if not path:
        return
    fd = _outer.get(path, -1)
    if fd < 0:
        fd = _marks.open_events(path)
        if fd < 0:
            return
        for old in _outer.values():
            os.close(old)
        _outer.clear()
        _outer[path] = fd
    try:
        os.write(fd, line)
    except OSError as error:
        if error.errno == errno.EBADF:
            _outer.clear()


def mark(name: str, /, **attributes: Any) -> None:
    """Names this moment in the recording in which this process is: its own, or that of `baro run` or of a parent. Does
    nothing outside of one."""
    put(_marks.line_of("mark", name, attributes))


def task(name: str, /) -> None:
    """From now on this process and what it starts are the task `name` of the recording in which they are: with totals,
    a peak and a curve of their own. Several processes may be one task. Does nothing outside of a recording."""
    put(_marks.task_line(name))


def phase(name: str, /, **attributes: Any) -> _marks.Phase:
    """A phase of the recording in which this process is."""
    return _marks.Phase(put, name, attributes)
