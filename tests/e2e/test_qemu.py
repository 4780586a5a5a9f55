# SPDX-License-Identifier: Apache-2.0
"""Another kernel than this one: Debian 12's 6.1 with control groups v2 alone, in a virtual machine."""

import subprocess

import pytest

from conftest import SOURCE


@pytest.mark.slow
@pytest.mark.not_sanitized("the binary is alone in the machine, without any library")
def test_debian_12(baro):
    done = subprocess.run(
        [SOURCE / "tools/qemu-check.sh", baro],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout
