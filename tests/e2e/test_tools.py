# SPDX-License-Identifier: Apache-2.0
"""The project's own scripts."""

import os
import shutil
import subprocess

from conftest import SOURCE


def test_build_folder_made_anew_keeps_its_tapes(work):
    """`./demo` records into build/, and `./check` makes that folder anew if packages were installed since."""
    source, folder, programs = work / "source", work / "build", work / "bin"
    (source / "tools").mkdir(parents=True)
    shutil.copy(SOURCE / "tools/build.sh", source / "tools")
    programs.mkdir()
    (folder / "old").mkdir(parents=True)
    (folder / ".made-for").write_text("other packages")
    (folder / "build.ninja").touch()
    (folder / "demo.baro").write_text("a tape")
    for name, text in (("meson", "mkdir $2/meson-info; echo '[]' >$2/meson-info/intro-targets.json; touch $2/build.ninja"), ("ninja", "exit 0")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    subprocess.run([source / "tools/build.sh", folder], env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
                   check=True)
    assert (folder / "demo.baro").read_text() == "a tape"
    assert not (folder / "old").exists() and (folder / ".made-for").read_text() != "other packages"
