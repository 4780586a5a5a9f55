# SPDX-License-Identifier: Apache-2.0
"""How far a tape was sent: a file beside it, one for each run of MLflow that it goes to.

It has two lines of a fixed length, which are written in turn and flushed, so that one of them is whole whatever
happens; the one with the higher number counts. Whoever sends holds a lock on the file. The folder of a tape may be
others', and so may a tape that came with a file: the file is no link and the user's own, and where a tape is sent to is
never read from it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat

from ..errors import AccessError
from ._auto import _without_password

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    from ..tape import Tape

_LINE = 4096  # bytes
# Locks of an open file, which can be asked for without being taken: F_OFD_GETLK, F_OFD_SETLK (Linux 3.15).
_GETLK, _SETLK, _FLOCK = 36, 37, "hhqqi4x"
_ERROR = 1000  # bytes of the longest error, as JSON
_TYPES: dict[str, type] = {
    "number": int, "next": int, "t_ns": int, "points": int, "pending": int, "run_id": str, "stage": str,
    "session": str, "tape": str, "error": str, "to": str, "refused": bool, "created": bool, "request": dict,
}  # fmt: skip


class Refused(Exception):
    """The server, MLflow or the file will never take it."""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def destination(uri: str | None) -> str:
    """Tells servers apart, and names none."""
    return _hash(_without_password(uri or os.environ.get("MLFLOW_TRACKING_URI") or ""))


def _key(request: dict[str, Any]) -> str:
    """The name of a run's file: the same request finds the same one."""
    of = request.get("session") or request.get("run_id")
    if not of:
        of = f"new {_without_password(request.get('uri') or os.environ.get('MLFLOW_TRACKING_URI') or '')}"
    return _hash(of)


def _is_own(status: os.stat_result) -> bool:
    """Another name of the file may be a link to any other file of the user's."""
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1


def _is_usable(path: str) -> bool:
    try:
        return _is_own(os.lstat(path))
    except FileNotFoundError:
        return os.access(os.path.dirname(path) or ".", os.W_OK)
    except OSError:
        return False


def _open(path: str, flags: int) -> int:
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    if _is_own(os.fstat(fd)):
        return fd
    os.close(fd)
    raise PermissionError(f"{path} is not a file of this user's alone")


def beside(tape: str) -> str:
    """What the names of a tape's positions begin with: of the file itself, where the tape is a link to it."""
    return f"{os.path.realpath(tape)}.mlflow-"


def path_of(request: dict[str, Any]) -> str:
    """Beside the tape; where that can't be, below the user's state."""
    if request.get("position"):
        return str(request["position"])
    name = f"{beside(str(request.get('tape') or ''))}{_key(request)}"
    if _is_usable(name):
        return name
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    folder = os.path.join(state, "barograph", "mlflow")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        why = f"{name} is not for this user to write, and {folder} can't be made ({error.strerror})"
        raise AccessError(f"how far it was sent can't be kept: {why}", -(error.errno or 0)) from None
    return os.path.join(folder, f"{os.path.basename(name)[-200:]}-{_hash(name)}")


def identity(tape: Tape) -> str:
    return f"{tape.header.start_ns}-{tape.header.recorder_pid or 0}"


def going_on(request: dict[str, Any]) -> dict[str, Any]:
    """Without a run: the one of this server to which the tape was sent before, if there is one."""
    import glob

    if request.get("run_id") or request.get("session"):
        return request
    to = destination(request.get("uri"))
    found = [p for p in glob.glob(glob.escape(beside(request["tape"])) + "*") if _is_usable(p)]
    found = [p for p in found if read(p).get("to", to) == to]
    return {**request, "position": found[0]} if len(found) == 1 and not os.path.exists(path_of(request)) else request


def _newest(data: bytes) -> dict[str, Any]:
    newest: dict[str, Any] = {}
    for at in range(0, len(data), _LINE):
        try:
            found = json.loads(data[at : at + _LINE])
        except (ValueError, RecursionError):
            continue  # torn, or not ours
        if not isinstance(found, dict) or any(type(v) is not _TYPES.get(k) for k, v in found.items()):
            continue
        if found.get("number", 0) > newest.get("number", 0):
            newest = found
    return newest


def _damaged(path: str) -> str:
    return f"{path} is damaged: how much was sent is not known. Without that file all is sent again"


def read(path: str) -> dict[str, Any]:
    """Empty where there is none."""
    try:
        fd = _open(path, os.O_RDONLY)
    except OSError:
        return {}
    try:
        data = os.pread(fd, 2 * _LINE, 0)
    finally:
        os.close(fd)
    # Before its first line was written, the file was not in use.
    return _newest(data) or ({"error": _damaged(path), "refused": True} if data else {})


def _lock(fd: int, command: int) -> int:
    import struct

    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    return int(struct.unpack(_FLOCK, fcntl.fcntl(fd, command, asked))[0])


def is_followed(path: str) -> bool:
    """Does a process send it at this moment?"""
    try:
        fd = _open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return _lock(fd, _GETLK) != fcntl.F_UNLCK
    finally:
        os.close(fd)


def _cut(text: str) -> str:
    """The beginning of a text: as JSON, a character may have 12 bytes."""
    while len(json.dumps(text)) > _ERROR:
        text = text[: len(text) * _ERROR // len(json.dumps(text))]
    return text


class Position:
    """The file, open and locked by the one that sends."""

    def __init__(self, path: str) -> None:
        """BlockingIOError: somebody else sends. Other OSErrors and Refused: it can't be used."""
        self.path = path
        self._fd = _open(path, os.O_RDWR | os.O_CREAT)
        try:
            _lock(self._fd, _SETLK)
            data = os.pread(self._fd, 2 * _LINE, 0)
            self.values: dict[str, Any] = _newest(data)
            if data and not self.values:
                raise Refused(_damaged(path))
        except BaseException:
            os.close(self._fd)
            raise

    def belongs_to(self, tape: str) -> None:
        """A tape that has replaced another at its path has a beginning of its own."""
        if self.values.get("tape", tape) != tape:
            self.values = {"number": self.values["number"]}
        if "tape" not in self.values:
            self.save(tape=tape)

    def save(self, **values: Any) -> None:
        """What is None is removed. The disk has it when this returns. Refused: it does not fit."""
        number = int(self.values.get("number", 0)) + 1
        changed: dict[str, Any] = {**self.values, **values, "number": number}
        changed = {k: v for k, v in changed.items() if v is not None}
        if "error" in changed:
            changed["error"] = _cut(changed["error"])
        line = json.dumps(changed).encode()
        if len(line) >= _LINE:
            raise Refused(f"{self.path}: {', '.join(values)}: {len(line)} bytes are more than a line has")
        os.pwrite(self._fd, line.ljust(_LINE - 1) + b"\n", number % 2 * _LINE)
        os.fdatasync(self._fd)
        self.values = changed

    def close(self) -> None:
        os.close(self._fd)
