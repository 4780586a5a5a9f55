# SPDX-License-Identifier: Apache-2.0
"""Another kernel than this one: Debian 12's 6.1 with control groups v2 alone, in a virtual machine."""

import pytest

from conftest import SOURCE
from test_elsewhere import ran


@pytest.mark.slow
@pytest.mark.not_sanitized("the binary is alone in the machine, without any library")
def test_debian_12(baro):
    ran([SOURCE / "tools/qemu-check.sh", baro])
