# SPDX-License-Identifier: Apache-2.0
"""Virtual environments that tests need, with packages of PyPI."""

import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

# Of other projects, for tests that import them; ruff and mypy are programs, and mypy has pytest for its types.
_OTHERS = "ruff==0.14.6 mypy pytest ipython joblib distributed pandas polars pyarrow duckdb matplotlib".split()
# What MLflow's server needs of all that `mlflow` requires: a fifth of its size.
_MLFLOW = "mlflow-skinny>=3 sqlalchemy alembic flask flask-cors aiohttp numpy pandas sqlparse".split()
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


def kept(name, *packages):
    """Makes one once, in the user's cache, and returns its folder. Skips where the packages can't be had."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "barograph"
    folder = cache / f"{name}-{sys.version_info[0]}.{sys.version_info[1]}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            try:
                make(folder, *packages)
            except (OSError, subprocess.SubprocessError) as error:
                pytest.skip(f"{' '.join(packages)} can't be installed here: {why(error)}")
            (folder / "ready").write_text(" ".join(packages))
    return folder


def others():
    """The folder of an environment with the libraries that tests import."""
    return kept("others", *_OTHERS)


def mlflow():
    return kept("mlflow", *_MLFLOW)


def packages_of(folder):
    return str(folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages")


def why(error):
    """Returns the last line that says what failed."""
    said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return said[-1] if said else str(error)
