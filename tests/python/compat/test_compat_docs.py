# SPDX-License-Identifier: Apache-2.0
"""What docs/compat.md says to import is there, and importing it starts and imports little."""

import importlib
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "compat.md"
MODULES = ("stouputils", "oasislmf", "aurora", "resource_tracker", "resource_tracker.v0_1", "pytyche")


def test_each_import_of_the_page():
    if not PAGE.exists():
        pytest.skip("the page is in the checkout alone")
    lines = re.findall(r"`from (barograph\.compat\.[\w.]+) import ([\w, ]+)`", PAGE.read_text())
    assert len(lines) == 6
    for module, names in lines:
        for name in names.split(", "):
            assert hasattr(importlib.import_module(module), name), (module, name)


@pytest.mark.parametrize("module", MODULES)
def test_importing_needs_no_other_package_and_begins_nothing(module):
    code = (
        f"import sys, threading, barograph.compat.{module}\n"
        "assert threading.active_count() == 1\n"
        "print([m for m in ('psutil', 'mlflow', 'matplotlib', 'jax', 'numpy', 'requests', 'asyncio', 'multiprocessing') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_environment_is_a_switch(monkeypatch):
    from barograph.compat import _base

    assert not _base.as_original(None) and _base.as_original(True)
    monkeypatch.setenv("BAROGRAPH_COMPAT", "original")
    assert _base.as_original(None) and not _base.as_original(False)
