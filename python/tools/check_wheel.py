#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a wheel into fresh virtual environments and runs the package's tests there, outside of the tree.

    check_wheel.py WHEEL [PYTHON ...]     e.g. python3.9 python3.13; default: this one

Beside the tests it checks the wheel itself: its record, what its files need, and that its tag says so.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE / "backend"))


def check_files(wheel, work):
    import barograph_backend

    shutil.unpack_archive(wheel, work / "unpacked", "zip")
    tag = wheel.stem.split("-", 2)[2]
    platform, why = barograph_backend.platform_of(work / "unpacked" / "barograph" / "_tree")
    assert tag == f"py3-none-{platform}", f"{tag} and not {platform}: {why}"
    assert not list((work / "unpacked").glob("*.libs")), "something was grafted"
    assert not barograph_backend.interpreter_of(work / "unpacked" / "barograph" / "_tree" / "bin" / "baro"), (
        "baro is not static"
    )
    print(f"ok - {tag}, {wheel.stat().st_size / 1e6:.1f} MB")


def check_python(wheel, python, work):
    place = work / pathlib.Path(python).parents[1].name
    subprocess.run([python, "-m", "venv", place], check=True)
    inside = place / "bin" / "python"
    subprocess.run([inside, "-m", "pip", "-q", "--disable-pip-version-check", "install", wheel, "pytest"], check=True)
    tests = work / "tests"
    if not tests.exists():
        shutil.copytree(PACKAGE.parent / "tests" / "python", tests, ignore=shutil.ignore_patterns("__pycache__"))
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "BAROGRAPH_BARO", "BAROGRAPH_LIBBARO")}
    env.update(BAROGRAPH_INSTALLED="1", PATH=f"{place / 'bin'}{os.pathsep}{env['PATH']}")
    said = subprocess.run([inside, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    command = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", str(tests)]
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, check=False)
    result = done.stdout.splitlines()[-1] if done.stdout else done.stderr
    print(f"{'not ok' if done.returncode else 'ok'} - {said}: {result}")
    if done.returncode:
        print(done.stdout)
    for name in ("baro", "barograph"):
        subprocess.run([place / "bin" / name, "--version"], check=True, stdout=subprocess.DEVNULL)
    return done.returncode


def main(arguments):
    wheel = pathlib.Path(arguments[0]).resolve()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="barograph-check-") as scratch:
        check_files(wheel, pathlib.Path(scratch))
        for python in arguments[1:] or [sys.executable]:
            failed += bool(check_python(wheel, shutil.which(python) or python, pathlib.Path(scratch)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
