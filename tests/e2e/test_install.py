# SPDX-License-Identifier: Apache-2.0
"""What `make install` installs can be used without the source tree."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <baro/baro.h>

void error_set(void);
void map_add(void);
unsigned crc32c(void);

int main(void)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = NULL;
    int code = baro_tape_open(&tape, "/dev/null", &err);
    printf("%s %s %d %d\n", baro_version(), BARO_VERSION, code < 0, err.text[0] != 0);
    baro_tape_close(tape);
    return 0;
}

/* Names that the library uses inside: those of the program are its own. */
void error_set(void) { abort(); }
void map_add(void) { abort(); }
unsigned crc32c(void) { abort(); }
"""


@pytest.fixture(scope="module")
def installed(baro, tmp_path_factory):
    build, root = pathlib.Path(baro).parent, tmp_path_factory.mktemp("install") / "root"
    if not (build / "meson-info").is_dir() or not shutil.which("meson"):
        pytest.skip("the binary does not lie in a meson build folder")
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root], check=True, stdout=subprocess.DEVNULL)
    return root


def find(root, name):
    found = [p for p in root.rglob(name)]
    assert found, f"{name} was not installed"
    return found[0]


def can_link_statically(work):
    """Are libc.a and libzstd.a there?"""
    (work / "empty.c").write_text("int main(void) { return 0; }")
    argv = ["gcc", "-static", "empty.c", "-o", "empty", "-lzstd"]
    return subprocess.run(argv, cwd=work, stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_examples(installed):
    """The queries, dashboards, alerts and manifests that the documents name."""
    folder = find(installed, "barograph.rules.yml").parent.parent
    assert folder.parts[-4:] == ("share", "doc", "barograph", "examples")
    for name in ("fleet/views.sql", "fleet/measure.py", "grafana/fleet.json", "kubernetes/daemonset.yaml"):
        assert (folder / name).is_file(), name


@pytest.mark.not_sanitized("a program linked with a sanitized library needs the sanitizer's own")
@pytest.mark.parametrize("static", [False, True])
def test_program_builds_with_pkg_config(installed, work, static):
    if static and not shutil.which("objcopy"):
        pytest.skip("names that libbaro.a uses inside are local where it was made with objcopy")
    if static and not can_link_statically(work):
        pytest.skip("there is no static libc or zstd")
    pc = find(installed, "libbaro.pc")
    source = work / "user.c"
    source.write_text(PROGRAM)
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(installed))
    asked = ["--cflags", "--libs", *["--static"][:static], "libbaro"]
    flags = subprocess.check_output(["pkg-config", *asked], env=env, text=True).split() + ["-static"][:static]
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", str(source), "-o",
                    str(work / "user"), *flags], check=True)
    env = dict(os.environ, LD_LIBRARY_PATH=str(find(installed, "libbaro.so").parent))
    version, header, refused, said = subprocess.check_output([str(work / "user")], env=env, text=True).split()
    assert version == header
    assert (refused, said) == ("1", "1")


@pytest.mark.parametrize("name", ["baro-machine", "baro-observe", "baro-serve"])
def test_a_unit_of_systemd(installed, baro, name):
    """It lies where systemd finds it, and starts what was installed with it."""
    if name == "baro-serve" and not pathlib.Path(baro).with_name("baro-serve").exists():
        pytest.skip("built without libmicrohttpd")
    unit = find(installed, f"{name}.service")
    assert unit.parent.parts[-3:] == ("lib", "systemd", "system")
    (program,) = re.findall(r"^ExecStart=(\S+)", unit.read_text(), flags=re.M)
    assert (installed / program.lstrip("/")).exists()


def test_installed_binary_runs(installed, run):
    binary = (
        find(installed, "baro") if not (installed / "usr/local/bin/baro").exists() else installed / "usr/local/bin/baro"
    )
    out = subprocess.check_output([str(binary), "--version"], text=True)
    assert out == run("--version", status=0).stdout
    # The program that reads tapes is found from there, and finds its library.
    assert "pss_bytes" in subprocess.check_output([str(binary), "metrics"], text=True)


def test_parquet_is_written_from_there(installed, run, work):
    """What Python executes lies beside the program that reads tapes."""
    binary = next(path for path in installed.rglob("bin/baro"))
    run.record(work / "t", "true")
    done = subprocess.run([binary, "export", "-F", "parquet", work / "t"], capture_output=True, text=True,
                          env=dict(os.environ, BARO_PYTHON="/no/python"))
    assert done.returncode == 2 and "there is no /no/python" in done.stderr
    wrapper = work / "python"
    wrapper.write_text('#!/bin/sh\nls "$1"; cat >/dev/null\n')
    wrapper.chmod(0o755)
    env = dict(os.environ, BARO_PYTHON=str(wrapper))
    out = subprocess.check_output([binary, "export", "-F", "parquet", work / "t"], text=True, env=env)
    assert pathlib.Path(out.strip()) == find(installed, "baro-parquet.py")


@pytest.mark.not_sanitized("sanitizers are shared objects")
def test_binary_needs_no_shared_object(baro):
    """Applies where a static libc is installed, which is so wherever ./check installs its packages. Each shared library
    costs time at each start."""
    folder = pathlib.Path(baro).parent
    if shutil.which("meson") and (folder / "meson-info").is_dir():
        options = json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions", folder]))
        if not next(o["value"] for o in options if o["name"] == "static"):
            pytest.skip("built with -Dstatic=false")
    text = subprocess.check_output(["readelf", "-d", baro], text=True)
    needed = [line for line in text.splitlines() if "(NEEDED)" in line]
    assert not needed, needed


def test_version_is_written_once():
    """The version is in one file; meson and the library read it there."""
    source = pathlib.Path(__file__).resolve().parents[2]
    places = [p for p in [*source.glob("include/**/*.h"), *source.glob("src/**/*.[ch]"), source / "meson.build"]
              if '"0.1.0"' in p.read_text() or "'0.1.0'" in p.read_text()]
    assert len(places) == 1, places
