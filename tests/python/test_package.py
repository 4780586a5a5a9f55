# SPDX-License-Identifier: Apache-2.0
"""The package itself: what is imported when, where things are found, and that its table is what the headers say."""

import os
import subprocess
import sys

import environments
import pytest
from conftest import INSTALLED, SOURCE

import barograph


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


def modules_of(code):
    done = python("-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; before = set(sys.modules); {code}; "
                  "print(*sorted(set(sys.modules) - before))")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_nothing_is_imported_before_it_is_used():
    assert modules_of("import barograph") == {"barograph", "__future__"}
    assert not {"subprocess", "asyncio", "inspect"} & modules_of("import barograph; barograph.Tape")
    assert not {"ctypes", "subprocess", "asyncio", "inspect", "typing"} & modules_of(
        "import barograph; barograph.record"
    )


def test_the_program_needs_os_and_sys_alone():
    """It stands in front of short commands."""
    assert modules_of("import barograph.__main__") - modules_of("import os, sys") == {"barograph", "barograph.__main__",
                                                                                      "barograph._where", "__future__"}


def test_python_dash_m_is_baro():
    done = python("-m", "barograph", "--version")
    assert done.stdout.split()[0] == "baro", done.stderr
    assert done.stdout.split()[1] == barograph.__version__
    assert python("-m", "barograph", "run", "-q", "-o", "t.baro", "--", "sh", "-c", "exit 7").returncode == 7
    assert barograph.open("t.baro").summary.exit.status == 7


def test_parquet_is_written_by_this_python():
    """Whichever python3 PATH has. Without a library the line names this one."""
    python("-m", "barograph", "run", "-q", "-o", "p.baro", "--", "true")
    done = python("-m", "barograph", "export", "-F", "parquet", "-o", "p.parquet", "p.baro")
    if done.returncode == 0:
        assert open("p.parquet", "rb").read(4) == b"PAR1"
    else:
        assert sys.executable in done.stderr and "pyarrow" in done.stderr and not os.path.exists("p.parquet")


def test_where():
    done = python("-m", "barograph", "--where")
    assert os.access(done.stdout.strip(), os.X_OK)


def test_all_names_are_there():
    for name in barograph.__all__:
        assert getattr(barograph, name) is not None
    with pytest.raises(AttributeError):
        barograph.nothing  # noqa: B018


@pytest.mark.skipif(INSTALLED, reason="needs the tree")
def test_the_table_of_prototypes_is_that_of_the_headers():
    done = python(str(SOURCE / "python" / "tools" / "make_abi.py"), "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(INSTALLED, reason="needs the tree")
def test_versions_agree():
    header = (SOURCE / "include" / "baro" / "version.h").read_text()
    assert f'"{barograph.__version__}"' in header


def test_an_override_that_is_not_there_is_said(monkeypatch):
    code = "import barograph\ntry:\n    barograph.open('x')\nexcept barograph.NotInstalledError as e:\n    print(e)"
    done = python("-c", code, env={**os.environ, "BAROGRAPH_LIBBARO": "/nonexistent/libbaro.so.0"})
    assert "can't be loaded" in done.stdout, done.stderr


def test_a_library_of_another_version_is_said(tmp_path):
    made = tmp_path / "other.c"
    made.write_text('const char *baro_version(void) { return "9.9.9"; }\n')
    library = tmp_path / "libbaro.so.0"
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, made], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no compiler")
    code = "import barograph\ntry:\n    barograph.open('x')\nexcept barograph.NotInstalledError as e:\n    print(e)"
    done = python("-W", "always", "-c", code, env={**os.environ, "BAROGRAPH_LIBBARO": str(library)})
    assert "is libbaro 9.9.9, this package is of" in done.stderr
    assert "has no baro_tape_open()" in done.stdout


WINDOWS = """
import os, select, subprocess, sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
for name in ("register_at_fork", "posix_spawn", "fork", "getuid", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "uname"):
    vars(os).pop(name, None)
del select.poll
"""


@pytest.mark.parametrize("platform, less", (("darwin", ""), ("win32", WINDOWS)), ids=("darwin", "win32"))
def test_elsewhere_it_imports_and_says_linux_only(platform, less):
    modules = ("mlflow", "pytest_plugin", "integrations.workers", "compat.stouputils", "compat.oasislmf", "compat.aurora")
    modules += ("compat.resource_tracker", "compat.resource_tracker.v0_1", "compat.pytyche")
    code = (
        f"{less}import sys; sys.platform = '{platform}'\n"
        "import barograph\n"
        "assert not barograph.available()\n"
        "for name in barograph.__all__: getattr(barograph, name)\n"
        f"for name in {modules}: __import__(f'barograph.{{name}}')\n"
        "barograph.mark('nothing')\n"
        "with barograph.record() as rec, rec.phase('nothing'): rec.mark('nothing')\n"
        "for f in (lambda: barograph.open('x'), lambda: barograph.record(strict=True).start()):\n"
        "    try: f()\n"
        "    except barograph.Error as e: print(type(e).__name__, e)\n"
    )
    done = python("-c", code)
    assert "LinuxOnlyError Linux only" in done.stdout, done.stderr
    assert "RecordingError nothing is recorded: Linux only" in done.stdout


def test_it_is_typed():
    folder = environments.others()
    argv = [folder / "bin/python", "-m", "mypy", "--strict", "--cache-dir", folder / "mypy"]
    done = subprocess.run([*argv, os.path.dirname(barograph.__file__)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
