# SPDX-License-Identifier: Apache-2.0
"""What the tests of wrapping share: bare against wrapped, whatever is done to a command, and whatever it does, must
come out the same.

A test runs with each wrapper there is: `wrapdummy` (with a recorder that only listens) and `baro run -q`. BARO names
the binary (build/baro); wrapdummy and probe lie in tests/e2e beside it, or are named by WRAPDUMMY and PROBE.
"""

import os
import pathlib
import re
import shlex
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BARO = os.environ.get("BARO", str(ROOT / "build" / "baro"))
BESIDE = pathlib.Path(BARO).parent / "tests" / "e2e"
DUMMY = os.environ.get("WRAPDUMMY", str(BESIDE / "wrapdummy"))
PROBE = os.environ.get("PROBE", str(BESIDE / "probe"))
QUIET = {"stderr": subprocess.DEVNULL}
PATIENCE = 20  # seconds until something that should happen is taken not to; nothing is measured by it

WRAPPERS = {}
if os.access(DUMMY, os.X_OK):
    WRAPPERS["dummy"] = [DUMMY, "--"]
if os.access(BARO, os.X_OK) and b"run" in subprocess.run([BARO, "--help"], capture_output=True).stdout:
    WRAPPERS["baro"] = [BARO, "run", "-q", "--"]
assert WRAPPERS, "build first: neither %s nor %s is there" % (DUMMY, BARO)


@pytest.fixture(params=sorted(WRAPPERS))
def wrap(request, tmp_path, monkeypatch):
    monkeypatch.setenv("BARO_DIR", str(tmp_path / "runs"))
    for name in ("BARO_TAPE", "BARO_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return WRAPPERS[request.param]


def run(argv, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE * 3, **kw)


def shell(text, prefix, **kw):
    """Runs a bash text in which {W} stands for the wrapper, or for nothing."""
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
    """What its descriptors point to."""
    links = []
    for entry in os.scandir("/proc/%d/fd" % pid):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass  # closed in the meantime
    return links


def recorder_of(wrapper):
    return until("a recorder", lambda: next((c for c in children(wrapper) if comm(c) == "baro-recorder"), None))


def read_when(path, pattern):
    def look():
        try:
            return re.search(pattern, pathlib.Path(path).read_text())
        except OSError:
            return None

    return until("%s in %s" % (pattern, path), look)


WAIT_FOR_STOP = "while [ ! -e stop ]; do sleep 0.02; done"


def stopped_by(pid):
    """The signal by which our child stopped, as a shell sees it."""

    def look():
        got, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if got and os.WIFSTOPPED(status):
            return os.WSTOPSIG(status)

    return until("a stop", look)


def own_group(argv):
    """In a group of its own, as a shell would start it: only then do TSTP, TTIN and TTOU stop anybody."""
    return subprocess.Popen(argv, preexec_fn=lambda: os.setpgid(0, 0))
