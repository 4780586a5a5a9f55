# SPDX-License-Identifier: Apache-2.0
"""libbaro as it is called: each function gets its prototype when it is used first, and errors become exceptions."""

from __future__ import annotations

import ctypes
import errno
import threading
import weakref
from typing import Any, Callable

from . import _abi, _where
from .errors import (
    AccessError,
    ArgumentError,
    ClosedError,
    Error,
    LinuxOnlyError,
    NotATapeError,
    NotInstalledError,
    TapeNotFoundError,
    warn,
)

_NOT_TAPES = (_abi.BARO_E_NOT_TAPE, _abi.BARO_E_VERSION, _abi.BARO_E_CORRUPT, _abi.BARO_E_EMPTY)


def _load() -> ctypes.CDLL:
    if not _where.is_linux():
        raise LinuxOnlyError("Linux only: barograph reads what Linux counts")
    path = _where.library()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise NotInstalledError(
            f"libbaro can't be loaded: {error}. In a checkout, build it and set BAROGRAPH_LIBBARO=build/libbaro.so.0 "
            "and BAROGRAPH_BARO=build/baro"
        ) from None
    library.baro_version.restype = ctypes.c_char_p
    found = library.baro_version().decode()
    if found != _abi.BARO_VERSION:
        warn(f"{path} is libbaro {found}, this package is of {_abi.BARO_VERSION}", RuntimeWarning)
    return library


class _Library:
    """`lib.baro_tape_open(...)`"""

    def __init__(self) -> None:
        self._library: ctypes.CDLL | None = None

    def __getattr__(self, name: str) -> Any:
        if self._library is None:  # two threads may load it: it is the same one
            self._library = _load()
        result, arguments = _abi.PROTOTYPES[name]
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NotInstalledError(
                f"libbaro {self._library.baro_version().decode()} has no {name}(): it is older than this package "
                f"({_abi.BARO_VERSION})"
            ) from None
        function.restype, function.argtypes = result, list(arguments)
        setattr(self, name, function)
        return function


lib = _Library()


def text(value: bytes | None) -> str:
    """Bytes of a tape: they may be anything but NUL."""
    return "" if value is None else value.decode("utf-8", "surrogateescape")


def shown(value: str) -> str:
    """Text of a tape or of others, as everything shows it: without what controls a terminal or reorders text."""
    given = value.encode("utf-8", "surrogatepass")
    room = ctypes.create_string_buffer(4 * len(given) + 1)
    lib.baro_text_escape(given, len(given), room, len(room))
    return room.value.decode("utf-8", "replace")


def instant_ns(seconds: float) -> int:
    """As libbaro has instants: nanoseconds since the tape began, 64 bits without a sign."""
    try:
        return min(max(0, int(seconds * 1e9)), (1 << 64) - 1)
    except (OverflowError, ValueError):
        if seconds == seconds and abs(seconds) != float("inf"):  # finite, but not in nanoseconds
            return 0 if seconds < 0 else (1 << 64) - 1
        raise ArgumentError(f"{seconds!r} is no instant", _abi.BARO_E_RANGE) from None


def raw(value: str | bytes) -> bytes:
    """For C, where a NUL would end it."""
    try:
        given = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        given = b"\0"
    if b"\0" in given:
        raise ArgumentError(f"{value!r} is no name", _abi.BARO_E_SYNTAX)
    return given


def error_of(code: int, message: str) -> Error:
    kind: type[Error] = Error
    if code == -errno.ENOENT:
        kind = TapeNotFoundError
    elif code in (-errno.EACCES, -errno.EPERM):
        kind = AccessError
    elif code in _NOT_TAPES:
        kind = NotATapeError
    elif code in (_abi.BARO_E_SYNTAX, _abi.BARO_E_RANGE):
        kind = ArgumentError
    elif code == -errno.ENOMEM:
        message = message or "out of memory"
    return kind(message or f"error {code}", code)


def present(function: Any, kind: Any, *arguments: Any) -> Any:
    """What a function of libbaro puts into its last parameter; None if that is absent."""
    value = kind()
    return None if function(*arguments, ctypes.byref(value)) else value.value


def call(function: Any, *arguments: Any) -> int:
    """A function whose last argument is a struct baro_error."""
    err = _abi.baro_error()
    code: int = function(*arguments, ctypes.byref(err))
    if code < 0:
        raise error_of(code, text(err.text))
    return code


class Handle:
    """An object of libbaro, freed once nobody has it. libbaro's objects belong to one thread at a time: whoever uses it
    has the lock."""

    def __init__(self, pointer: int, free: Callable[[int], None], what: str) -> None:
        self._pointer: int | None = pointer
        self.lock = threading.RLock()
        self._what = what
        self._free = weakref.finalize(self, free, pointer)
        self._free.atexit = False

    @property
    def pointer(self) -> int:
        if self._pointer is None:
            raise ClosedError(f"{self._what} is closed")
        return self._pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        with self.lock:
            self._pointer = None
            self._free()


def make(function: Any, *arguments: Any) -> int:
    """A function whose first argument, or last before the error, is where the new object goes: pass `NEW` there."""
    new = ctypes.c_void_p()
    call(function, *[ctypes.byref(new) if a is NEW else a for a in arguments])
    assert new.value is not None
    return new.value


class _New:
    pass


NEW = _New()
