# SPDX-License-Identifier: Apache-2.0
"""ruff over all Python of the tree. It is not in Debian 12, so it comes from PyPI, in one version (environments.py)."""

import pathlib
import subprocess

import environments
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def _scripts():
    """Those whose names do not say that they are Python."""
    for path in sorted((SOURCE / "tools").iterdir()):
        if path.is_file() and not path.suffix and b"python" in path.open("rb").readline():
            yield path


@pytest.mark.skipif(not (SOURCE / "ruff.toml").exists(), reason="outside of the tree")
def test_ruff():
    argv = [environments.others() / "bin/ruff", "check", "--no-cache", "--output-format=concise"]
    done = subprocess.run([*argv, SOURCE, *_scripts()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
