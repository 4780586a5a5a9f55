# SPDX-License-Identifier: Apache-2.0
"""Lists the programs of a build: baro, baro-read, each other baro-NAME, and libbaro, which they load from their own
folder. Tests that copy a build (to an ordinary user's folder, to a virtual machine) use it.

As a program: programs.py BARO FOLDER   copies the programs that lie beside BARO into FOLDER
"""

import os
import pathlib
import shutil
import sys


def programs_of(binary):
    """Returns their paths, sorted, and those of what Python executes and help reads. A tape may lie in that folder, too (./demo), and folders that meson calls baro.p."""
    folder = pathlib.Path(binary).resolve().parent
    found = [path for path in folder.glob("baro*") if path.is_file() and (os.access(path, os.X_OK) or path.suffix in (".py", ".md"))]
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
