# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of wrapping. They compare a command that runs alone with the same command in a wrapper: whatever
happens to the command, the result must be the same. BARO is the binary (build/baro); probe is in tests/e2e next to it,
or where PROBE says.
"""

import os
import pathlib
import re
import shlex
import subprocess
import time

import pytest
from conftest import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[2]
BARO = os.environ.get("BARO", str(ROOT / "build" / "baro"))
BESIDE = pathlib.Path(BARO).parent / "tests" / "e2e"
PROBE = os.environ.get("PROBE", str(BESIDE / "probe"))
QUIET = {"stderr": subprocess.DEVNULL}


@pytest.fixture
def wrap(tmp_path, monkeypatch):
    monkeypatch.setenv("BARO_DIR", str(tmp_path / "runs"))
    for name in ("BARO_TAPE", "BARO_PID", "BARO_EVENTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return [BARO, "run", "-q", "--"]


def run(argv, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE * 3, **kw)


def shell(text, prefix, **kw):
    """Runs a bash script. {W} is replaced by the wrapper, or by nothing; {P} by the probe."""
    return run(["bash", "-c", text.replace("{W}", shlex.join(prefix)).replace("{P}", shlex.quote(PROBE))], **kw)


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.01)
    pytest.fail("never came about: " + what)


def state(pid):
    try:
        text = pathlib.Path("/proc/%d/stat" % pid).read_bytes()
    except OSError:
        return ""
    return text[text.rindex(b")") + 2 :].split()[0].decode()


def children(pid):
    try:
        return [int(c) for c in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]
    except OSError:
        return []


def comm(pid):
    try:
        return pathlib.Path("/proc/%d/comm" % pid).read_text().strip()
    except OSError:
        return ""


def held(pid):
    """Returns the link targets of all descriptors of a process."""
    links = []
    for entry in os.scandir("/proc/%d/fd" % pid):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass  # closed in the meantime
    return links


def recorder_of(wrapper):
    return until("a recorder", lambda: next((c for c in children(wrapper) if comm(c) == "baro-recorder"), None))


def helpers(pid):
    """The helper processes of a recording."""
    found = []
    for child in children(pid):
        name = comm(child)
        found += [child] if name == "baro-helper" else helpers(child) if name.startswith("baro") else []
    return found


def read_when(path, pattern):
    def look():
        try:
            return re.search(pattern, pathlib.Path(path).read_text())
        except OSError:
            return None

    return until("%s in %s" % (pattern, path), look)


WAIT_FOR_STOP = "while [ ! -e stop ]; do sleep 0.02; done"


def stopped_by(pid):
    """Waits until our child stops, and returns the signal that stopped it, as a shell would see it."""

    def look():
        got, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if got and os.WIFSTOPPED(status):
            return os.WSTOPSIG(status)

    return until("a stop", look)


def own_group(argv):
    """Starts a command in a process group of its own, as a shell does: TSTP, TTIN and TTOU have no effect otherwise."""
    return subprocess.Popen(argv, preexec_fn=lambda: os.setpgid(0, 0))
