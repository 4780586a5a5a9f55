# SPDX-License-Identifier: Apache-2.0
"""Programs that are run to their end, and what those of barograph make: reports and charts."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import TYPE_CHECKING

from . import _spawn
from .errors import Error, NotInstalledError

if TYPE_CHECKING:
    import subprocess


def start(*argv: str, errors: bool = False) -> subprocess.Popen[bytes]:
    """Starts a program whose output is read, in a session of its own."""
    import subprocess

    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=null, stdout=pipe, stderr=pipe if errors else null, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started: of a script the shell alone would end."""
    import subprocess

    if process.returncode is None:  # else its number may be another's
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        try:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(1.0)
        except (OSError, subprocess.TimeoutExpired):
            pass  # it hangs in a driver or a file system, which may be for ever


def output(*argv: str, timeout: float | None = None) -> tuple[int, bytes, bytes]:
    """Runs a program to its end: its status, what it printed, and its errors. TimeoutError: it took longer."""
    import subprocess

    process = start(*argv, errors=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"no answer after {timeout} s") from None
    finally:  # an interrupt, too
        kill(process)
    return process.returncode, out, err


def execute(*arguments: str) -> str:
    """Runs baro to its end and returns what it printed."""
    try:
        status, out, err = output(_spawn.baro(), *arguments)
    except OSError as error:
        raise NotInstalledError(f"can't execute {_spawn.baro()}: {error.strerror}") from None
    if status:
        said = err.decode("utf-8", "replace").strip()
        raise Error(said or f"baro {arguments[0]} ended with status {status}")
    return out.decode("utf-8", "surrogateescape")


def write_report(tape: str, path: str, force: bool) -> str:
    execute("report", *(["--force"] if force else []), "-o", path, "--", tape)
    return path


def save_plot(path: str, tape: str, figure: str, width: int, height: int) -> None:
    size = ("--width", str(width), "--height", str(height))
    execute("plot", "--force", *size, "-o", path, "--", tape, figure)


def plot(tape: str, figure: str, width: int, height: int) -> str:
    """A picture is written to a file: what goes to a terminal is text."""
    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        path = os.path.join(folder, "plot.svg")
        save_plot(path, tape, figure, width, height)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
