# SPDX-License-Identifier: Apache-2.0
"""What docs/compat.md says to import is there, and importing it starts and imports little."""

import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import poll

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "compat.md"
MODULES = ("stouputils", "oasislmf", "aurora", "resource_tracker", "resource_tracker.v0_1", "pytyche")


def test_each_import_of_the_page():
    if not PAGE.exists():
        pytest.skip("the page is in the checkout alone")
    lines = re.findall(r"`from (barograph\.compat\.[\w.]+) import ([\w, ]+)`", PAGE.read_text())
    assert len(lines) == 6
    for module, names in lines:
        for name in names.split(", "):
            assert hasattr(importlib.import_module(module), name), (module, name)


@pytest.mark.parametrize("module", MODULES)
def test_importing_needs_no_other_package_and_begins_nothing(module):
    code = (
        f"import sys, threading, barograph.compat.{module}\n"
        "assert threading.active_count() == 1\n"
        "print([m for m in ('psutil', 'mlflow', 'matplotlib', 'jax', 'numpy', 'requests', 'asyncio', 'multiprocessing') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_environment_is_a_switch(monkeypatch):
    from barograph.compat import _base

    assert not _base.as_original(None) and _base.as_original(True)
    monkeypatch.setenv("BAROGRAPH_COMPAT", "original")
    assert _base.as_original(None) and not _base.as_original(False)


KILLED = """
import glob, os, signal, sys, tempfile
from barograph.compat import _base
probe = _base.Probe(int(sys.argv[1]))
assert probe.take() is not None
print(probe._folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_probe_leaves_nothing_when_the_interpreter_is_killed(script):
    target = subprocess.Popen(["sleep", "300"])
    try:
        running = script(KILLED, target.pid)
        folder = pathlib.Path(running.line())
        running.end(-9)
        poll(lambda: not folder.exists(), "the end of the probe's folder")
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()


def test_without_baro_a_warning_says_so(monkeypatch):
    from barograph import RecordingWarning
    from barograph.compat.stouputils import ProcessMetricsMonitor

    monkeypatch.setenv("BAROGRAPH_BARO", "/nonexistent/baro")
    with pytest.warns(RecordingWarning, match="can't execute /nonexistent/baro"):
        assert set(ProcessMetricsMonitor().collect_once().values()) == {0.0}


@pytest.mark.parametrize("name", ["pytyche.HWMonitor", "oasislmf.ResourceMonitor"])
def test_an_interrupt_while_it_starts(tmp_path, monkeypatch, name):
    module = importlib.import_module(f"barograph.compat.{name.partition('.')[0]}")
    kind = getattr(module, name.partition(".")[2])
    monitor = kind() if name.startswith("pytyche") else kind(str(tmp_path), generate_report=False)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("barograph.compat._base.Companion.begin", interrupt)
        with pytest.raises(KeyboardInterrupt):
            monitor.start(tmp_path if name.startswith("pytyche") else os.getpid())
    monitor.stop()
    assert not monitor.recording.active


def test_hardly_any_descriptors(tmp_path, script):
    """A monitor that can't begin says so by warnings alone."""
    text = """
        import gc, os, pathlib, resource, warnings
        from barograph.compat.oasislmf import ResourceMonitor
        from barograph.compat.pytyche import HWMonitor
        warnings.simplefilter("ignore")
        def once():
            monitor = HWMonitor(); monitor.start(pathlib.Path("out"), 1); monitor.stop()
            monitor = ResourceMonitor("out", 0.1, False); monitor.start(os.getpid()); monitor.stop()
        once()
        gc.collect()
        before = os.listdir("/proc/self/fd")
        for more in range(8):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, before)) + more, 4096))
            once()
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        gc.collect()
        print(len(os.listdir("/proc/self/fd")) - len(before))
    """
    assert script(text, cwd=tmp_path).end() == "0\n"


def test_starting_and_stopping_leaves_nothing(tmp_path, script):
    text = """
        import gc, os, pathlib, subprocess, sys, threading
        from barograph.compat import _base
        from barograph.compat.pytyche import HWMonitor
        from barograph.compat.resource_tracker import ResourceTracker
        target = subprocess.Popen(["sleep", "300"])
        def once():
            with ResourceTracker(target.pid, discover_server=False): pass
            monitor = HWMonitor(); monitor.start(pathlib.Path("out"), 1); monitor.stop()
            probe = _base.Probe(target.pid); probe.take(); probe.close()
        once()
        gc.collect()  # of the first time as well: PyPy counts no references
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10): once()
        gc.collect()
        print(len(os.listdir("/proc/self/fd")) - before, threading.active_count())
        target.kill(); target.wait()
        try: os.waitpid(-1, os.WNOHANG)
        except ChildProcessError: print("no child")
    """
    assert script(text, cwd=tmp_path).end() == "0 1\nno child\n"
