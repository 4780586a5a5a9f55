# SPDX-License-Identifier: Apache-2.0
"""Every example of docs/python.md and python/README.md runs, in a folder with a tape called build.baro."""

import os
import re
import subprocess
import sys

import pytest
from conftest import INSTALLED, PATIENCE, SOURCE

import barograph


def examples():
    page = SOURCE / "docs" / "python.md"
    if INSTALLED or not page.exists():
        return []
    text = page.read_text(encoding="utf-8")
    return [pytest.param(m[1], id=f"line{text[: m.start()].count(chr(10)) + 2}")
            for m in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    made = tmp_path_factory.mktemp("docs") / "build.baro"
    barograph.run(["sh", "-c", "for i in 1 2 3; do sleep 0.02; done; exit 0"], tape=made, interval="10ms",
                  overhead="off")
    return made


@pytest.mark.skipif(INSTALLED, reason="the page is in the tree")
@pytest.mark.parametrize("code", examples())
def test_example(code, tape, tmp_path, others):
    (tmp_path / "build.baro").symlink_to(tape)
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    environment = dict(os.environ)
    if "barograph.mlflow" in code:  # with a client that stands in for MLflow's
        environment["PYTHONPATH"] = f"{SOURCE}/tests/python/fake_mlflow{os.pathsep}{environment.get('PYTHONPATH', '')}"
        environment["FAKE_MLFLOW"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-W", "error", "example.py"], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example prints something"


@pytest.mark.skipif(INSTALLED, reason="the page is in the tree")
def test_all_names_are_documented():
    text = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
    types = {"CompletedRun", "Event", "Exit", "Header", "Mark", "Now", "Phase", "Process", "Recording", "Run", "Runs",
             "Sample"}
    types |= {"Comparison", "Difference", "Absent", "Series", "Summary", "Tape", "Verdict", "__version__", "available"}
    assert [name for name in barograph.__all__ if name not in text and name not in types] == []
