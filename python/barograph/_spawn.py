# SPDX-License-Identifier: Apache-2.0
"""Starting a program without a fork of the interpreter, which may be large: posix_spawn(3), also where the interpreter
has no os.posix_spawn() (PyPy)."""

from __future__ import annotations

import os
import signal
import sys

from . import _where
from .errors import LinuxOnlyError, NotInstalledError

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Action = tuple[Any, ...]

# gevent replaces functions of os: its waitpid() waits for ever for what ended before its loop began.
_system: Any = sys.modules.get("posix", os)
DUP, OPEN = "dup", "open"  # (DUP, descriptor, to) and (OPEN, to, path, flags): carried out in their order
_MODE = 0o600


def absolute(folders: str) -> list[str]:
    """Those of a search path that are not relative: the working directory may be anybody's, as /tmp is."""
    return [folder for folder in folders.split(os.pathsep) if os.path.isabs(folder)]


def environment() -> dict[str, str]:
    """This one, for a Python that we start: with the folders alone that are absolute. An empty one is the working
    directory, whose sitecustomize.py is executed before all else."""
    out = dict(os.environ)
    for name, default in ("PATH", os.defpath), ("PYTHONPATH", ""):
        out[name] = os.pathsep.join(absolute(out.get(name, default)))
    if not out["PYTHONPATH"]:
        del out["PYTHONPATH"]
    return out


def program(name: str) -> str:
    """The path of a helper program; "" if there is none."""
    for folder in absolute(os.environ.get("PATH", os.defpath)):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def baro() -> str:
    if not _where.is_linux():
        raise LinuxOnlyError("Linux only: barograph reads and records what Linux counts")
    path = _where.baro()
    if not path:
        raise NotInstalledError("the program baro is not installed: it is neither in this package nor in PATH")
    return path


def start(argv: Sequence[str], environment: Mapping[str, str], actions: Sequence[Action], setsid: bool = False) -> None:
    """Starts argv[0] and waits for it: it ends at once, and what it started is nobody's child."""
    spawn = _spawn if hasattr(_system, "posix_spawn") else _libc
    pid = spawn(argv, environment, actions, setsid)
    try:
        _reap(pid)
    except BaseException:  # an interrupt
        _reap(pid)
        raise


def write(fd: int, data: bytes) -> None:
    """To a pipe whose reader may have ended: SIGPIPE ends a program that has set it back to its default."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGPIPE,))
    try:
        os.write(fd, data)
    except OSError:
        signal.sigtimedwait((signal.SIGPIPE,), 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reap(pid: int) -> None:
    try:
        _system.waitpid(pid, 0)
    except ChildProcessError:
        pass  # somebody else waits for any child, or SIGCHLD is ignored


def _default() -> tuple[signal.Signals, ...]:
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD


def _spawn(argv: Sequence[str], environment: Mapping[str, str], actions: Sequence[Action], setsid: bool) -> int:
    given = [
        (_system.POSIX_SPAWN_DUP2, a[1], a[2])
        if a[0] == DUP
        else (_system.POSIX_SPAWN_OPEN, a[1], a[2], a[3], _MODE)
        for a in actions
    ]
    pid: int = _system.posix_spawn(
        argv[0], tuple(argv), environment, file_actions=given, setsid=setsid, setsigmask=(), setsigdef=_default()
    )
    return pid


def _libc(argv: Sequence[str], environment: Mapping[str, str], actions: Sequence[Action], setsid: bool) -> int:
    """The same by ctypes. The structs are smaller than these buffers in every C library of Linux."""
    import ctypes

    libc = ctypes.CDLL(None)

    def call(name: str, *arguments: object) -> None:
        code = getattr(libc, name)(*arguments)
        if code:
            raise OSError(code, os.strerror(code), argv[0])

    def strings(values: Sequence[str]) -> Any:
        return (ctypes.c_char_p * (len(values) + 1))(*map(os.fsencode, values), None)

    files, attributes, signals = (ctypes.create_string_buffer(1024) for _ in range(3))
    call("posix_spawn_file_actions_init", files)
    call("posix_spawnattr_init", attributes)
    try:
        for action in actions:
            if action[0] == DUP:
                call("posix_spawn_file_actions_adddup2", files, action[1], action[2])
            else:
                path = os.fsencode(action[2])
                call("posix_spawn_file_actions_addopen", files, action[1], path, action[3], _MODE)
        libc.sigemptyset(signals)
        call("posix_spawnattr_setsigmask", attributes, signals)
        for number in _default():
            libc.sigaddset(signals, int(number))
        call("posix_spawnattr_setsigdefault", attributes, signals)
        flags = 0x04 | 0x08 | (0x80 if setsid else 0)  # SETSIGDEF, SETSIGMASK, SETSID
        call("posix_spawnattr_setflags", attributes, flags)
        pid = ctypes.c_int()
        variables = strings([f"{name}={value}" for name, value in environment.items()])
        path = os.fsencode(argv[0])
        call("posix_spawn", ctypes.byref(pid), path, files, attributes, strings(argv), variables)
        return pid.value
    finally:
        libc.posix_spawn_file_actions_destroy(files)
        libc.posix_spawnattr_destroy(attributes)
