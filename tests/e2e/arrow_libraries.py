# SPDX-License-Identifier: Apache-2.0
"""A Python with the libraries that read Arrow and write Parquet."""

import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import environments

PACKAGES = ["pyarrow", "polars", "duckdb", "pandas"]


def find_python():
    """Returns a Python with the libraries: this one, or that of a virtual environment outside the repository, which is
    made where PyPI can be reached and stays for later runs."""
    check = f"import pyarrow.parquet, {', '.join(PACKAGES)}"
    if subprocess.run([sys.executable, "-c", check], capture_output=True).returncode == 0:
        return sys.executable
    name = f"barograph-arrow-{os.getuid()}-{sys.version_info[0]}.{sys.version_info[1]}"
    folder = pathlib.Path(tempfile.gettempdir()) / name
    made = folder / "bin/python"
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists() and subprocess.run([made, "-c", check], capture_output=True).returncode == 0:
            return made
        # Importing the libraries compiles what is used of them, once, beside the sources: where pytest's own bytecode is,
        # the programs of the tests do not look, and pandas takes them 1.6 s of CPU time each time, in place of 0.5 s.
        environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
        try:
            environments.make(folder, *PACKAGES)
            subprocess.run([made, "-c", check], capture_output=True, text=True, check=True, env={**os.environ, **environment})
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"no {', '.join(PACKAGES)}: {environments.why(error)}")
    return made
