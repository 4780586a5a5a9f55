# SPDX-License-Identifier: Apache-2.0
"""The five programs that barograph.compat replaces, for tests that run both at once. Nothing of them is in this
repository:

    python3 tests/python/compat/originals.py FOLDER [NAME=CLONE...]

downloads them with pip into FOLDER (NAME=CLONE: aurora, of which there is no package, and resource-tracker, whose tests
are in no package: a clone of each), and BAROGRAPH_ORIGINALS=FOLDER lets the tests find them. They need psutil,
mlflow-skinny and matplotlib; aurora's own tests need mock, httpretty, jmespath and requests.
"""

import fcntl
import functools
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

RELEASES = ("stouputils==1.28.0", "oasislmf==2.5.8", "resource-tracker==0.1.1", "resource-tracker==0.5.0",
            "pytyche==0.2.1")
CLONES = {"resource-tracker": tuple(f"tests/test_{n}.py"
                                    for n in ("helpers", "report", "server_info", "tiny_dataframe", "tracker")),
          "aurora": ("src/main/python/apache/thermos/monitoring/resource.py",
                     "src/main/python/apache/thermos/monitoring/process.py",
                     "src/main/python/apache/thermos/monitoring/process_collector_psutil.py",
                     "src/main/python/apache/thermos/monitoring/disk.py",
                     "src/test/python/apache/thermos/monitoring/test_resource.py",
                     "src/test/python/apache/thermos/monitoring/test_disk.py")}


@functools.cache
def fetched():
    """A folder in the user's cache with the releases, for the full check; None: they can't be had."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "barograph" / "originals"
    cache.mkdir(parents=True, exist_ok=True)
    with open(f"{cache}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            get_releases(cache)
        except (OSError, subprocess.CalledProcessError):
            return None
    return cache


def need(release, *modules):
    """The folder of an original; skips where it is not there."""
    folder = os.environ.get("BAROGRAPH_ORIGINALS")
    if not folder and os.environ.get("BARO_FULL") != "1":
        pytest.skip("the originals run in the full check: BARO_FULL=1, or BAROGRAPH_ORIGINALS names their folder")
    folder = folder or fetched()
    if not folder:
        pytest.skip("the originals can't be downloaded here")
    path = pathlib.Path(folder) / release
    if not path.is_dir():
        pytest.skip(f"{path} is not there")
    for module in modules:
        pytest.importorskip(module)
    return path


# Before a script that is written for an original: what the original imports besides, as far as it is needed.
STOUPUTILS = """
import importlib.util, sys, types
class _Both:
    def __class_getitem__(cls, item): return cls
def _module(name, **names):
    sys.modules[name] = types.ModuleType(name); sys.modules[name].__dict__.update(names); sys.modules[name].__path__ = []
say = lambda *a, **k: print(*a, file=sys.stderr)
for name in ("stouputils", "stouputils.ctx", "stouputils.print", "stouputils.mlflow"): _module(name)
_module("stouputils.ctx.common", AbstractBothContextManager=_Both)
_module("stouputils.print.message", debug=say, info=say, warning=say)
_spec = importlib.util.spec_from_file_location(
    "stouputils.mlflow.process_metrics_monitor", ORIGINAL + "/stouputils/mlflow/process_metrics_monitor.py")
_it = importlib.util.module_from_spec(_spec); sys.modules[_spec.name] = _it; _spec.loader.exec_module(_it)
from stouputils.mlflow.process_metrics_monitor import ProcessMetricsMonitor
"""
FILE = """
import importlib.util, sys
_spec = importlib.util.spec_from_file_location("original", ORIGINAL + "/{path}")
_it = importlib.util.module_from_spec(_spec); sys.modules["original"] = _it; _spec.loader.exec_module(_it)
from original import *
import original as module
"""
# twitter.common is for Python 2; what of it is used here is small.
TWITTER = """
import collections, logging, sys, threading, types
def _module(name, **names):
    sys.modules[name] = types.ModuleType(name); sys.modules[name].__dict__.update(names); sys.modules[name].__path__ = []
class _Amount:
    def __init__(self, n, unit): self.n, self.unit = n, unit
    def as_(self, unit): return self.n * self.unit / unit
    def __add__(self, other): return _Amount(self.n + other.as_(self.unit), self.unit)
class _Time: SECONDS, MINUTES, HOURS, DAYS, MILLISECONDS = 1.0, 60.0, 3600.0, 86400.0, 0.001
class _Data: BYTES, KB, MB = 1, 1 << 10, 1 << 20
class _Ring(list):
    def __init__(self, size, rest): self.size = size
    def append(self, item):
        list.append(self, item)
        del self[:-self.size]
class _Muxer:
    def __init__(self, *events): self.events = events
    def wait(self, timeout):
        import time
        end = time.time() + timeout
        while time.time() < end and not any(e.is_set() for e in self.events): time.sleep(0.01)
class _Lockable:
    def __init__(self, *a, **k): self.lock = threading.RLock()
    @staticmethod
    def sync(method):
        def locked(self, *a, **k):
            with self.lock: return method(self, *a, **k)
        return locked
def _du(path):
    import os
    return sum(os.lstat(os.path.join(d, f)).st_blocks * 512 for d, _, fs in os.walk(path) for f in fs)
_log = logging.getLogger("twitter")
_log.warn = _log.warning
for name in ("twitter", "apache", "apache.thermos", "gen", "gen.apache", "gen.apache.thermos"): _module(name)
_module("twitter.common", log=_log)
_module("twitter.common.collections", RingBuffer=_Ring)
_module("twitter.common.concurrent", EventMuxer=_Muxer)
_module("twitter.common.exceptions", ExceptionalThread=threading.Thread)
_module("twitter.common.lang", Interface=object, AbstractClass=object, Lockable=_Lockable)
_module("twitter.common.quantity", Amount=_Amount, Time=_Time, Data=_Data)
_module("twitter.common.dirutil", du=_du)
try:
    import jmespath, requests
except ImportError:
    _module("requests", exceptions=types.SimpleNamespace(RequestException=OSError))
    _module("jmespath", compile=lambda text: text)
_Status = collections.namedtuple("ProcessStatus", "process pid")
_Status.__new__.__defaults__ = (None, None)
_module("gen.apache.thermos.ttypes", ProcessStatus=_Status)
class _TaskMonitor:
    def __init__(self, path=".", task_id=None): pass
    def get_active_processes(self): return []
    def get_sandbox(self): return None
"""
AURORA_ORIGINAL = (
    TWITTER
    + """
sys.modules["apache.thermos"].__path__ = [ORIGINAL + "/src/main/python/apache/thermos"]
_module("apache.thermos.monitoring")
sys.modules["apache.thermos.monitoring"].__path__ = [ORIGINAL + "/src/main/python/apache/thermos/monitoring"]
from apache.thermos.monitoring.resource import *
from apache.thermos.monitoring.process import ProcessSample
from twitter.common.quantity import Amount, Time
"""
)


def said(prelude, code):
    """What an expression is with the names of an original, by way of JSON."""
    text = f"{prelude}\nimport dataclasses, inspect, json\nprint(json.dumps({code}))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# ---- the same script twice, on the same work at the same time ----

JOB = """
import os, subprocess, sys, threading, time
held = bytearray(40_000_000)
descriptors = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
stop = threading.Event()
threads = [threading.Thread(target=stop.wait, daemon=True) for _ in range(3)]
for thread in threads: thread.start()
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
print("ready", time.process_time(), flush=True)
sys.stdin.readline()
time.sleep(1.5)                                   # what stands still: values are to agree here
print("still", time.time(), flush=True)
time.sleep(1.5)
print("moves", time.time(), flush=True)
with open("written", "wb") as file:
    file.write(os.urandom(1 << 20) * 8); file.flush(); os.fsync(file.fileno())
burn = "import time; e = time.process_time() + 0.06\\nwhile time.process_time() < e: pass"
for _ in range(12): subprocess.run([sys.executable, "-S", "-c", burn], stdin=subprocess.DEVNULL)
busy(0.3)
time.sleep(1.2)
"""


class Job:
    """The work. `cpu` is what the kernel says of it and its children from go() to its end."""

    def __init__(self, folder):
        self.process = subprocess.Popen([sys.executable, "-c", JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=folder)
        self.pid = self.process.pid
        self._before = float(self.process.stdout.readline().split()[1])
        self.cpu = None

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def wait(self):
        lines = self.process.stdout.read().split()
        self.still, self.moves = float(lines[1]), float(lines[3])
        _, status, used = os.wait4(self.pid, 0)
        self.process.returncode = status
        self.cpu = used.ru_utime + used.ru_stime - self._before


def start(folder, prelude, text, *arguments):
    """A script in an interpreter of its own. It prints "begun", and JSON in its last line."""
    folder.mkdir()
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", prelude + text, *map(str, arguments)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)


def begun(*scripts):
    for script in scripts:
        line = script.stdout.readline()
        assert line == "begun\n", line


def results(*scripts):
    found = []
    for script in scripts:
        out, _ = script.communicate("end\n", timeout=120)
        assert script.returncode == 0, out
        found.append(json.loads(out.splitlines()[-1]))
    return found


def get_releases(folder):
    for release in RELEASES:
        name, _, version = release.partition("==")
        target = folder / f"{name.replace('-', '_')}-{version}"
        if target.is_dir():
            continue
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--ignore-requires-python",
                        "--only-binary", ":all:", "-d", str(folder), release], check=True)
        (wheel,) = folder.glob(f"{name.replace('-', '_')}-{version}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    get_releases(folder)
    for name, _, clone in (argument.partition("=") for argument in sys.argv[2:]):
        for path in CLONES[name]:
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            show = ["git", "--git-dir", clone, "show", f"HEAD:{path}"]
            target.write_bytes(subprocess.run(show, check=True, capture_output=True).stdout)


if __name__ == "__main__":
    main()
