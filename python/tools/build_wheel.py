#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel that is published: for glibc 2.28 and later, with zstd inside.

    build_wheel.py [FOLDER]            into FOLDER (default: python/dist)
    build_wheel.py --system [FOLDER]   with the system's compiler and libzstd.a, for the glibc of this system
    build_wheel.py --target=aarch64-linux-gnu [--root=DEBIAN] [FOLDER]    for another machine; the archives of ncurses,
                                       libyaml and SQLite are looked for below DEBIAN
    build_wheel.py --sdist [FOLDER]    the source, with that of zstd

It makes a virtual environment with meson, ninja, ziglang and the source of zstandard, all from PyPI.
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def zstd_of(python, work):
    """The amalgamated zstd.c of PyPI's zstandard."""
    sources = work / "zstandard"
    command = [python, "-m", "pip", "-q", "download", "--no-binary", ":all:", "--no-deps", "-d", sources]
    subprocess.run([*command, "zstandard==0.25.0"], check=True)
    (archive,) = sources.glob("zstandard-*.tar.gz")
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            name = pathlib.PurePath(member.name)
            if member.isfile() and name.parent.name == "zstd" and name.suffix in (".c", ".h"):
                (work / "zstd").mkdir(exist_ok=True)
                (work / "zstd" / name.name).write_bytes(opened.extractfile(member).read())
    return work / "zstd"


def main(arguments):
    system, sdist = "--system" in arguments, "--sdist" in arguments
    given = dict(a[2:].split("=", 1) for a in arguments if a.startswith("--") and "=" in a)
    folder = pathlib.Path(next((a for a in arguments if not a.startswith("-")), PACKAGE / "dist")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="barograph-wheel-") as scratch:
        work = pathlib.Path(scratch)
        venv.create(work / "venv", with_pip=True)
        python = work / "venv" / "bin" / "python"
        wanted = ["meson>=1.4", "ninja", *([] if system else ["ziglang==0.17.*"])]
        subprocess.run([python, "-m", "pip", "-q", "install", *wanted], check=True)
        settings = {} if system else {"zig": "1", "zstd": str(zstd_of(python, work)), **given}
        code = f"import sys; sys.path.insert(0, {str(PACKAGE / 'backend')!r}); import barograph_backend as b; "
        code += f"print(b.{'build_sdist' if sdist else 'build_wheel'}({str(folder)!r}, {settings!r}))"
        env = {**os.environ, "PATH": f"{work / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run([python, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    print(folder / done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
