# SPDX-License-Identifier: Apache-2.0
"""Runs the tests in other places: in containers, on a machine that hides processes of other users, with other compilers,
on another architecture. All are slow; each is also a script.
"""

import os
import pathlib
import subprocess

import pytest

from conftest import SOURCE

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.not_sanitized("the plain binary is enough")]


def ran(argv):
    done = subprocess.run(list(map(str, argv)), cwd=SOURCE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout
    print(done.stdout[-2000:])


@pytest.fixture(autouse=True)
def once(baro):
    """Runs a script once; the scripts build and keep what they need, and ./check --full has several folders."""
    if pathlib.Path(baro).parent.name != "build":
        pytest.skip("once is enough")


@pytest.mark.parametrize("kind", ["bare", "full"])
def test_container(baro, kind):
    ran([SOURCE / "tools/container-check.sh", kind, baro])


def test_podman(baro):
    ran([SOURCE / "tools/podman-check.sh", baro])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount /proc")
def test_hidepid(baro):
    ran([SOURCE / "tools/hidepid-check.sh", baro])


def test_arm64(baro):
    ran([SOURCE / "tools/arm64-check.sh", baro])


@pytest.mark.parametrize("suite, compiler", [("trixie", "gcc"), ("trixie", "clang-19")])
def test_distro(suite, compiler):
    ran([SOURCE / "tools/distro-check.sh", suite, compiler])


def test_tidy(baro):
    ran([SOURCE / "tools/check-tidy", pathlib.Path(baro).parent])
