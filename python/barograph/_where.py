# SPDX-License-Identifier: Apache-2.0
"""Where libbaro and the programs are. A distribution that has them elsewhere replaces this file.

In this order: what $BAROGRAPH_LIBBARO and $BAROGRAPH_BARO name; the tree inside of this package, as a wheel has it;
what the system has, and only if the package has no tree. The last may be of another version, which is said.
"""

import os
import sys

_TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tree")
_BARO = os.path.join(_TREE, "bin", "baro")
_LIBRARY = os.path.join(_TREE, "lib", "libbaro.so.0")


def is_linux():
    # type: () -> bool
    return sys.platform.startswith("linux")


def baro():
    # type: () -> str
    """The path of the program `baro`; "" if there is none."""
    given = os.environ.get("BAROGRAPH_BARO")
    if given:
        return given
    if os.path.isdir(_TREE):
        return _BARO
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, "baro")
        # A script of this package in a folder of PATH would start itself for ever.
        if os.path.isabs(folder) and os.access(path, os.X_OK) and os.path.isfile(path) and not _is_script(path):
            return path
    return ""


def beside(argv):
    # type: (list[str]) -> list[str]
    """The same command as a child of `baro follow`: a recording in which it is begun knows by its parent that it is no
    process of the job."""
    return [baro(), "follow"] + argv if baro() else argv


def _is_script(path):
    # type: (str) -> bool
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def library():
    # type: () -> str
    """The path of libbaro, or its name where the system's is to be taken."""
    given = os.environ.get("BAROGRAPH_LIBBARO")
    if given:
        return given
    return _LIBRARY if os.path.isdir(_TREE) else "libbaro.so.0"
