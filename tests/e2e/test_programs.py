# SPDX-License-Identifier: Apache-2.0
"""`baro NAME` executes the program that has the command: baro-read for commands that read tapes, baro-NAME for others.
"""

import os
import shutil
import subprocess

import pytest

from programs import copy_programs


def call(baro, *args, **kwargs):
    return subprocess.run([baro, *args], capture_output=True, text=True, timeout=60, **kwargs)


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def one_line(r, *words):
    assert r.returncode == 2 and r.stdout == "" and r.stderr.count("\n") == 1, r
    assert all(word in r.stderr for word in words), r.stderr


@pytest.mark.parametrize("folder", ["bin", "libexec/barograph"])
def test_programs_are_found_relative_to_baro(baro, work, folder):
    """As installed, and next to each other as in a build tree; also through a link, and from any working directory."""
    (work / "bin").mkdir()
    moved = copy_programs(baro, work / "bin")
    script(work / folder / "baro-read", 'echo "$0 $*"')
    if folder != "bin":
        (work / "bin" / "baro-read").unlink()
    (work / "link").symlink_to(moved)
    for name in (moved, str(work / "link")):
        r = call(name, "summary", "--json", "x y", cwd="/")
        assert (
            r.stdout == f"{work}/bin/{'' if folder == 'bin' else '../' + folder + '/'}baro-read summary --json x y\n"
        ), r


def test_recording_works_without_the_reader(baro, work):
    shutil.copy(baro, work / "baro")
    alone = str(work / "baro")
    assert call(alone, "run", "-q", "-o", str(work / "t"), "--", "sh", "-c", "exit 3").returncode == 3
    assert "summary" in call(alone, "help").stdout and "--json" in call(alone, "help", "summary").stdout
    # Its help is short: without the prose, which is a file beside the programs that read.
    short, whole = (call(program, "run", "--help").stdout for program in (alone, baro))
    assert "--wait-all" in short and "examples:" in short and "not disturbed" not in short and "not disturbed" in whole
    assert not set(short.splitlines()) - set(whole.splitlines())
    one_line(call(alone, "summary", str(work / "t")), "baro summary: ", "baro-read", "not installed")


def test_program_in_path(baro, work):
    script(work / "path" / "baro-foo", 'echo "$*"; exit 7')
    env = dict(os.environ, PATH=f"{work}/path:{os.environ['PATH']}")
    r = call(baro, "foo", "-x", "a b", "", env=env)
    assert (r.returncode, r.stdout, r.stderr) == (7, "-x a b \n", "")
    one_line(call(baro, "../path/foo", env=env), "there is no command ../path/foo")
    one_line(call(baro, "foo"), "there is no command foo")
    for folders in (":.", "path:"):  # the working directory may be anybody's
        one_line(call(baro, "foo", env=dict(os.environ, PATH=folders), cwd=work / "path"), "there is no command foo")
    # What is installed beside baro has precedence, and a command of baro's own is never another program.
    script(work / "path" / "baro-read", "echo foreign")
    script(work / "path" / "baro-run", "echo foreign")
    assert "foreign" not in call(baro, "summary", "--help", env=env).stdout
    assert call(baro, "run", "-q", "-o", str(work / "t"), "--", "true", env=env).stdout == ""
