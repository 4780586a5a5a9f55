# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package: the one of this checkout with the build that $BARO names, or, with
BAROGRAPH_INSTALLED=1, the one that is installed (python/tools/check_wheel.py runs them so, outside of the tree).

Nothing here asserts a duration. What is to be seen from outside of an interpreter runs in one of its own: script()."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time

import environments
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
INSTALLED = os.environ.get("BAROGRAPH_INSTALLED") == "1"
PATIENCE = 120  # seconds for what is sure to come

if not INSTALLED:
    _build = pathlib.Path(os.environ.get("BARO", SOURCE / "build" / "baro")).resolve().parent
    os.environ["BAROGRAPH_BARO"] = str(_build / "baro")
    os.environ["BAROGRAPH_LIBBARO"] = str(_build / "libbaro.so.0")
    os.environ["PYTHONPATH"] = str(SOURCE / "python")
    sys.path.insert(0, str(SOURCE / "python"))

if not sys.platform.startswith("linux"):
    collect_ignore_glob = ["test_*.py"]


def pytest_report_header(config):
    import barograph

    return f"barograph of {os.path.dirname(barograph.__file__)}"


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """The runs of tests are not the user's."""
    for name in ("BARO_EVENTS", "BARO_TAPE", "BARO_PID", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BARO_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("BARO_ANNOUNCED", "")
    monkeypatch.chdir(tmp_path)


def _take_in(monkeypatch, folder):
    """What is installed in an environment can be imported, here and by children."""
    packages = environments.packages_of(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, packages])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), packages))))


@pytest.fixture
def driver(tmp_path, tmp_path_factory, monkeypatch):
    """A made-up driver of NVIDIA."""
    from barograph import _where

    if INSTALLED or not os.path.exists(os.path.join(os.path.dirname(_where.baro()), "baro-gpu")):
        pytest.skip("needs the tree, and baro-gpu in its build")
    spec = importlib.util.spec_from_file_location("e2e_gpu", SOURCE / "tests" / "e2e" / "nvidia.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    gpus = made.Gpus(tmp_path, made.fake_library(tmp_path_factory))
    for name, value in gpus.env.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, str(value))
    return gpus


@pytest.fixture
def others(monkeypatch):
    """Libraries of other projects: those that are installed, else those of an environment."""
    _take_in(monkeypatch, environments.others())


@pytest.fixture
def mlflow_library(monkeypatch):
    _take_in(monkeypatch, environments.mlflow())


def poll(condition, what="the condition"):
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            pytest.fail(f"waited {PATIENCE} s for {what}")
        time.sleep(0.01)


def in_threads(functions, meanwhile=lambda: None):
    """Calls each in a thread of its own, at the same time; returns when all have returned."""
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join()


HANGS = f"sleep 4711.{os.getpid()}"  # what a program starts that does not answer


def hanging():
    """Is there a process of that command?"""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_text(errors="replace").split("\0") == [*HANGS.split(), ""]:
                return True
        except OSError:
            pass
    return False


class Script:
    """A program in an interpreter of its own."""

    def __init__(self, text, *arguments, **options):
        options.setdefault("stdin", subprocess.PIPE)
        self.process = subprocess.Popen([sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(text),
                                         *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, **options)

    def line(self):
        got = self.process.stdout.readline()
        if not got:
            pytest.fail(f"it ended: {self.process.stderr.read()}")
        return got.rstrip("\n")

    def end(self, status=0):
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == status, err
        return out


@pytest.fixture
def script():
    begun = []

    def begin(text, *arguments, **options):
        begun.append(Script(text, *arguments, **options))
        return begun[-1]

    yield begin
    for each in begun:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()


def ended(path):
    """Waits until a tape is complete, and opens it."""
    import barograph

    def look():
        try:
            tape = barograph.open(path)
        except barograph.NotATapeError:
            return None
        return tape if tape.state == "ended" else None

    return poll(look, f"the end of {path}")
