# SPDX-License-Identifier: Apache-2.0
"""Virtual environments that tests need, with packages of PyPI."""

import subprocess
import sys
import tempfile

_PIP = ("-m", "pip", "install", "-q", "--timeout", "10", "--retries", "1", "--disable-pip-version-check")
_PIP += ("--no-compile", "--only-binary", ":all:")  # of thousands of modules a few are used
_WITHIN = 300  # seconds


def make(folder, *packages):
    """Makes one with these packages. Raises OSError or a subprocess.SubprocessError where they can't be had."""
    try:
        _by_uv(str(folder), packages)
    except (OSError, subprocess.SubprocessError):  # no uv for this machine, or an index that only pip is told of
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([f"{folder}/bin/python", *_PIP, *packages])


def _by_uv(folder, packages):
    """MLflow takes 5 s of CPU time, uv itself included; by pip it takes 26 s."""
    _run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder])
    with tempfile.TemporaryDirectory() as tools:
        _run([sys.executable, *_PIP, "--no-deps", "--target", tools, "uv"])
        uv = [f"{tools}/bin/uv", "pip", "install", "-q", "--no-cache", "--only-binary", ":all:"]
        _run([*uv, "--python", f"{folder}/bin/python", *packages], within=_WITHIN / 3)


def _run(command, within=_WITHIN):
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=within)


def why(error):
    """Returns the last line that says what failed."""
    said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return said[-1] if said else str(error)
