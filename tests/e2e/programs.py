# SPDX-License-Identifier: Apache-2.0
"""Which programs a build has: baro, baro-read and each other baro-NAME, and libbaro, which they load from their own
folder. Whoever takes a build elsewhere (an ordinary user's folder, a virtual machine) asks here.

As a program: programs.py BARO FOLDER   copies the programs that lie beside BARO into FOLDER"""

import os
import pathlib
import shutil
import sys


def programs_of(binary):
    """Their paths, sorted. A tape may lie there, too (./demo), and folders that meson calls baro.p."""
    folder = pathlib.Path(binary).resolve().parent
    found = [path for path in folder.glob("baro*") if path.is_file() and os.access(path, os.X_OK)]
    return sorted(found) + [folder / "libbaro.so.0"]


def copy_programs(binary, folder):
    """Copies them into folder. Returns the path of baro there."""
    for path in programs_of(binary):
        if path.exists():
            shutil.copy(path, pathlib.Path(folder) / path.name)
            (pathlib.Path(folder) / path.name).chmod(0o755)
    return str(pathlib.Path(folder) / "baro")


if __name__ == "__main__":
    copy_programs(*sys.argv[1:])
