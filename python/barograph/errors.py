# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions with the library's text. All are OSErrors, so that code which handles files handles
tapes."""

from __future__ import annotations

import sys
import warnings


class Error(OSError):
    """An error of barograph. `code` is libbaro's: a negated errno value, or one of enum baro_code."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code
        if -4096 < code < 0:
            self.errno = -code

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class TapeNotFoundError(Error, FileNotFoundError):
    """There is no such tape, or no kept run of that number."""


class AccessError(Error, PermissionError):
    """This user may not read it."""


class NotATapeError(Error, ValueError):
    """The file is no tape, is damaged at its beginning, or needs a newer libbaro."""


class ArgumentError(Error, ValueError):
    """There is no such metric, time or kind."""


class ClosedError(Error, ValueError):
    """The tape was closed."""


class NotInstalledError(Error):
    """libbaro or the program baro is not there, or too old."""


class LinuxOnlyError(Error):
    """barograph records and reads on Linux alone."""


class RecordingError(Error):
    """Nothing could be recorded (strict=True)."""


class RecordingWarning(UserWarning):
    """Nothing is recorded, and why; the program goes on."""


def warn(text: str, category: type[Warning] = RecordingWarning) -> None:
    """A warning that names the line outside of this package which led to it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
