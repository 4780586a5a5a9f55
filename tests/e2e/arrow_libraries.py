# SPDX-License-Identifier: Apache-2.0
"""A Python with the libraries that read Arrow and write Parquet."""

import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

PACKAGES = ["pyarrow", "polars", "duckdb", "pandas"]


def find_python():
    """Returns a Python with the libraries: this one, or that of a virtual environment outside the repository, which is
    made where PyPI can be reached and stays for later runs."""
    check = f"import {', '.join(PACKAGES)}"
    if subprocess.run([sys.executable, "-c", check], capture_output=True).returncode == 0:
        return sys.executable
    name = f"barograph-arrow-{os.getuid()}-{sys.version_info[0]}.{sys.version_info[1]}"
    folder = pathlib.Path(tempfile.gettempdir()) / name
    made = folder / "bin/python"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists() and subprocess.run([made, "-c", check], capture_output=True).returncode == 0:
            return made
        install = [made, "-m", "pip", "install", "-q", "--no-compile", "--retries", "0", "--timeout", "10", *PACKAGES]
        # Importing the libraries compiles what is used of them, once.
        for argv in ([sys.executable, "-m", "venv", "--clear", folder], install, [made, "-c", check]):
            try:
                done = subprocess.run(argv, capture_output=True, text=True, timeout=300, env=env)
            except subprocess.TimeoutExpired:
                pytest.skip("PyPI is too slow")
            if done.returncode != 0:
                pytest.skip(f"no {', '.join(PACKAGES)}: {done.stderr.strip()[-200:]}")
    return made
