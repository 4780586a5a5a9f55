# SPDX-License-Identifier: Apache-2.0
"""Jobs that the tests record, and functions that read summaries."""

import textwrap

from conftest import unshared

PYTHON = "/usr/bin/python3"
BURN = "import time\nend = time.process_time() + {0}\nwhile time.process_time() < end: pass\n"


def burn(seconds):
    return [PYTHON, "-S", "-c", BURN.format(seconds)]


def script(text):
    return [PYTHON, "-S", "-c", textwrap.dedent(text)]


def commands(summary):
    return {c["name"]: c for c in summary["commands"]}


def names_of(exits):
    return [e["name"] for e in exits]


def after_mounts(script, *argv):
    """Returns argv in a mount namespace of its own, which a shell script changes first."""
    return [*unshared("-m", "--propagation", "private"), "sh", "-c", f'{script} && exec "$@"', "sh", *map(str, argv)]
