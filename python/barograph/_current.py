# SPDX-License-Identifier: Apache-2.0
"""Marks without an object: the recording in which this process is."""

from __future__ import annotations

import os

from . import _marks

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .recorder import Recording

active: list[Recording] = []  # of this process, the innermost last
VARIABLES = ("BARO_EVENTS", "BARO_TAPE", "BARO_PID")
_outside: list[str | None] | None = None  # what the variables were before the first of them began
_outer: _marks.Events | None = None  # of $BARO_EVENTS


def begun(recording: Recording) -> None:
    """What the program starts from now on finds this recording in its environment, if it is one of this process."""
    global _outside
    active.append(recording)
    if recording.variables:
        if _outside is None:
            _outside = [os.environ.get(name) for name in VARIABLES]
        _set(recording.variables)


def ended(recording: Recording) -> None:
    """Recordings may end in any order: the environment is that of the innermost which is left. May be called again,
    after an interrupt."""
    global _outside
    left = [r.variables for r in active if r.variables and r is not recording]
    if recording in active and recording.variables and _outside is not None:
        _set(left[-1] if left else _outside)
        _outside = _outside if left else None
    try:
        active.remove(recording)
    except ValueError:
        pass


def _set(values: Sequence[str | None]) -> None:
    for name, value in zip(VARIABLES, values):
        if value is None:
            try:
                del os.environ[name]
            except KeyError:
                pass  # pop() with a default raises it too, where two threads take the same
        else:
            os.environ[name] = value


def forget() -> None:
    """In a forked child: the recordings are the parent's. Marks go to its recorder all the same."""
    global _outside
    for recording in active:
        recording._in_child()
    active.clear()
    _outside = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def put(line: bytes) -> None:
    global _outer
    try:
        innermost = active[-1]
    except IndexError:
        pass
    else:
        innermost._put(line)
        return
    path = os.environ.get("BARO_EVENTS")
    if not path:
        return
    events = _outer
    if events is None or events.path != path or not events.is_open:
        with _marks.lock:  # another thread may have opened it meanwhile
            events = _outer
            if events is None or events.path != path or not events.is_open:
                if events is not None:
                    events.close()
                events = _outer = _marks.Events(path)
    events.put(line)


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
