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


def test_install_takes_what_was_built(work):
    """`make && sudo make install`: with another environment and another prefix nothing is set up again, and ldconfig(8)
    is run where the library is for this machine."""
    source, folder, programs, calls = work / "source", work / "build", work / "bin", work / "calls"
    (source / "tools").mkdir(parents=True)
    for name in ("build.sh", "install.sh"):
        shutil.copy(SOURCE / "tools" / name, source / "tools")
    programs.mkdir()
    options = """printf '[{"name":"prefix","value":"%s"},{"name":"libdir","value":"lib"}]' "$P" >"$F/meson-info/intro-buildoptions.json\""""
    for name, text in {
        "meson": f"""case $1 in
setup) F=$2 P=/usr/local; mkdir -p "$F/meson-info" "$F/meson-logs"; touch "$F/build.ninja"
    echo '[]' >"$F/meson-info/intro-targets.json"; {options} ;;
configure) F=$2 P=${{3#-Dprefix=}}; {options} ;;
esac""",
        "ninja": "",
        "ldconfig": '[ -z "$1" ] || echo "libbaro.so.0 (libc6) => /usr/local/lib/libbaro.so.0"',
    }.items():
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $1" >>{calls}\n{text}\n')
        (programs / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def ran(*argv, **more):
        calls.write_text("")
        out = subprocess.check_output([source / "tools" / argv[0], folder, *argv[1:]], env={**env, **more}, text=True)
        return calls.read_text().split("\n")[:-1], out

    assert ran("build.sh")[0] == ["meson setup", "ninja -C"]
    found, out = ran("install.sh", "/usr/local", CC="another")
    as_root = ["ldconfig "] if os.geteuid() == 0 else []
    assert found == ["ninja -C", "meson install", *as_root, "ldconfig -p"]
    assert out == "install: /usr/local/bin/baro, /usr/local/lib/libbaro.so\n"
    assert ran("install.sh", "/usr", DESTDIR=f"{work}/stage") == (
        ["ninja -C", "meson configure", "ninja -C", "meson install"],
        f"install: {work}/stage/usr/bin/baro, {work}/stage/usr/lib/libbaro.so\n")
    found, out = ran("install.sh", "/opt/b")
    assert "meson setup" not in found and out.splitlines()[1] == (
        "install: the loader does not search /opt/b/lib: link your programs with -Wl,-rpath,/opt/b/lib")
