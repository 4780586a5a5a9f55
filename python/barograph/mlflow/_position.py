# SPDX-License-Identifier: Apache-2.0
"""How far a tape was sent: a file beside it, one for each run of MLflow that it goes to.

It has two lines of a fixed length, which are written in turn and flushed, so that one of them is whole whatever
happens; the one with the higher number counts. Whoever sends holds a lock on the file.
"""

from __future__ import annotations

import fcntl
import json
import os

from ._auto import _without_password

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

_LINE = 4096
# Locks of an open file, which can be asked for without being taken: F_OFD_GETLK, F_OFD_SETLK (Linux 3.15).
_GETLK, _SETLK, _FLOCK = 36, 37, "hhqqi4x"
_TEXT = 1000  # characters of the longest text


def _key(request: dict[str, Any]) -> str:
    """The name of a run's file: the same request finds the same one."""
    import hashlib

    of = request.get("session") or request.get("run_id")
    if not of:
        of = f"new {_without_password(request.get('uri') or os.environ.get('MLFLOW_TRACKING_URI') or '')}"
    return hashlib.sha256(of.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def path_of(request: dict[str, Any]) -> str:
    """Beside the tape; where that folder can't be written to, below the user's state."""
    if request.get("position"):
        return str(request["position"])
    tape = str(request.get("tape") or "")
    name = f"{tape}.mlflow-{_key(request)}"
    if os.path.exists(name) or os.access(os.path.dirname(tape) or ".", os.W_OK):
        return name
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    folder = os.path.join(state, "barograph", "mlflow")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, name.replace("/", "_")[-200:])


def going_on(request: dict[str, Any]) -> dict[str, Any]:
    """Without a run: the one to which the tape was sent before, if there is one."""
    import glob

    if request.get("run_id") or request.get("session"):
        return request
    found = glob.glob(glob.escape(os.path.abspath(request["tape"])) + ".mlflow-*")
    return {**request, "position": found[0]} if len(found) == 1 and not os.path.exists(path_of(request)) else request


def _newest(data: bytes) -> dict[str, Any]:
    newest: dict[str, Any] = {}
    for at in range(0, len(data), _LINE):
        try:
            found = json.loads(data[at : at + _LINE])
        except ValueError:
            continue  # torn
        if isinstance(found, dict) and found.get("number", 0) > newest.get("number", 0):
            newest = found
    return newest


def read(path: str) -> dict[str, Any]:
    """Empty where there is none."""
    try:
        with open(path, "rb") as file:
            return _newest(file.read(2 * _LINE))
    except OSError:
        return {}


def _lock(fd: int, command: int) -> int:
    import struct

    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    return int(struct.unpack(_FLOCK, fcntl.fcntl(fd, command, asked))[0])


def is_followed(path: str) -> bool:
    """Does a process send it at this moment?"""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _lock(fd, _GETLK) != fcntl.F_UNLCK
    finally:
        os.close(fd)


class Position:
    """The file, open and locked by the one that sends."""

    def __init__(self, path: str) -> None:
        """BlockingIOError: somebody else sends."""
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(self._fd, _SETLK)
        except OSError:
            os.close(self._fd)
            raise
        self.values: dict[str, Any] = _newest(os.pread(self._fd, 2 * _LINE, 0))

    def save(self, **values: Any) -> None:
        """What is None is removed. The disk has it when this returns."""
        number = int(self.values.get("number", 0)) + 1
        changed: dict[str, Any] = {**self.values, **values, "number": number}
        changed = {k: v[:_TEXT] if isinstance(v, str) else v for k, v in changed.items() if v is not None}
        for where in (changed, changed.get("request", {})):
            where.update({k: _without_password(where[k]) for k in ("uri", "found_uri") if where.get(k)})
        line = json.dumps(changed).encode()
        os.pwrite(self._fd, line.ljust(_LINE - 1) + b"\n", number % 2 * _LINE)
        os.fdatasync(self._fd)
        self.values = changed

    def close(self) -> None:
        os.close(self._fd)
