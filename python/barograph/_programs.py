# SPDX-License-Identifier: Apache-2.0
"""What the programs make: reports and charts."""

from __future__ import annotations

import os
import tempfile

from . import _spawn
from .errors import Error, NotInstalledError


def execute(*arguments: str) -> str:
    """Runs baro to its end and returns what it printed."""
    import subprocess

    try:
        done = subprocess.run([_spawn.baro(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise NotInstalledError(f"can't execute {_spawn.baro()}: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise Error(said or f"baro {arguments[0]} ended with status {done.returncode}")
    return done.stdout.decode("utf-8", "surrogateescape")


def write_report(tape: str, path: str, force: bool) -> str:
    execute("report", *(["--force"] if force else []), "-o", path, "--", tape)
    return path


def plot(tape: str, figure: str, width: int, height: int) -> str:
    """A picture is written to a file: what goes to a terminal is text."""
    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        path = os.path.join(folder, "plot.svg")
        execute("plot", "--width", str(width), "--height", str(height), "-o", path, "--", tape, figure)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
