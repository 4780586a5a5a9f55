# SPDX-License-Identifier: Apache-2.0
"""Runs each command of docs/guide.md on new recordings, and checks that the page has the questions and commands of
tools/make-guide. It takes 15 s of CPU time, and other tests run each of these readers.
"""

import pathlib
import re
import subprocess

import pytest
from conftest import PATIENCE, SOURCE


def commands(path):
    text = path.read_text()
    questions = re.findall(r"^## (.+)$", text, re.M)
    return list(zip(questions, re.findall(r"^```\n\$ (.+)$", text, re.M), strict=True))


@pytest.mark.slow
def test_each_command_of_the_guide_works(baro, work):
    done = subprocess.run([SOURCE / "tools" / "make-guide", pathlib.Path(baro).parent, work / "guide.md"],
                          capture_output=True, timeout=5 * PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    assert commands(work / "guide.md") == commands(SOURCE / "docs" / "guide.md")
    assert len(commands(work / "guide.md")) >= 15
