# SPDX-License-Identifier: Apache-2.0
"""A Python with the libraries that read Arrow and write Parquet."""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import environments

PACKAGES = ["pyarrow", "polars", "duckdb", "pandas"]


def find_python():
    """Returns a Python with the libraries: this one, or that of an environment that is made once, where PyPI can be
    reached, and kept."""
    check = f"import pyarrow.parquet, {', '.join(PACKAGES)}"
    if subprocess.run([sys.executable, "-c", check], capture_output=True).returncode == 0:
        return sys.executable
    made = environments.others() / "bin/python"
    # Importing the libraries compiles what is used of them, once, beside the sources: where pytest's own bytecode is, the
    # programs of the tests do not look, and pandas takes them 1.6 s of CPU time each time, in place of 0.5 s.
    compiled = made.parents[1] / "compiled"
    if not compiled.exists():
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
        subprocess.run([made, "-c", check], capture_output=True, text=True, check=True, env=environment)
        compiled.touch()
    return made
