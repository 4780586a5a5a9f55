# SPDX-License-Identifier: Apache-2.0
"""ruff over all Python of the tree. It is not in Debian 12, so it comes from PyPI, in one version."""

import pathlib
import subprocess

import environments
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
_RUFF = "ruff==0.14.6"


def _scripts():
    """Those whose names do not say that they are Python."""
    for path in sorted((SOURCE / "tools").iterdir()):
        if path.is_file() and not path.suffix and b"python" in path.open("rb").readline():
            yield path


@pytest.mark.skipif(not (SOURCE / "ruff.toml").exists(), reason="outside of the tree")
def test_ruff(tmp_path):
    try:
        environments.make(tmp_path / "env", _RUFF)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"ruff can't be installed here: {environments.why(error)}")
    argv = [tmp_path / "env/bin/ruff", "check", "--no-cache", "--output-format=concise"]
    done = subprocess.run([*argv, SOURCE, *_scripts()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
