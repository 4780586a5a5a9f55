# SPDX-License-Identifier: Apache-2.0
"""compat.aurora beside the original, which is for Python 2: it runs with a few lines in the place of twitter.common."""

import collections
import importlib.util
import inspect
import os
import subprocess
import sys
import time
import types

import originals
import pytest
from conftest import HANGS, hanging, poll

from barograph.compat import aurora

SCRIPT = """
import collections, json, resource, sys, threading, time
Status = collections.namedtuple("Status", "process pid")
class Monitor:
    def get_active_processes(self): return [(Status("work", int(sys.argv[1])), 1), (Status("wait", int(sys.argv[2])), 1)]
    def get_sandbox(self): return sys.argv[3]
monitor = TaskResourceMonitor("job-1", Monitor(), process_collection_interval=Amount(500, Time.MILLISECONDS),
                              disk_collection_interval=Amount(1, Time.SECONDS), history_time=Amount(1, Time.MINUTES))
before = monitor.sample()[1]
used = resource.getrusage(resource.RUSAGE_SELF)
begun = time.time()
monitor.start()
time.sleep(0.3)
print("begun", flush=True)
sys.stdin.readline()
after = resource.getrusage(resource.RUSAGE_SELF)
stamp, now = monitor.sample()
at_begin = monitor.sample_at(begun)[1]
one = monitor.sample_by_process("wait")
try: monitor.sample_by_process("nobody"); missing = ""
except ValueError as error: missing = str(error)
history = [(t, len(full.proc_usage), full.disk_usage) for t, full in monitor._history]
rows = []
for t, full in monitor._history:
    for status, result in full.proc_usage.items():
        if status.process == "work":
            rows.append([t, result.num_procs] + list(result.process_sample))
print(json.dumps({"name": monitor.name, "alive": monitor.is_alive(), "daemon": monitor.daemon, "missing": missing, "stamp": stamp,
    "procs": now.num_procs, "fields": list(now._fields), "sample": dict(now.process_sample._asdict()), "disk": now.disk_usage,
    "dict": sorted(now.process_sample.to_dict()), "one": list(one), "rows": rows, "before": list(before.process_sample), "procs0": before.num_procs,
    "types": [type(v).__name__ for v in now.process_sample], "history": history, "maxlen": monitor._history._maxlen,
    "cpu": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}))
monitor.kill()
monitor.join(10)
"""
OURS = "from barograph.compat.aurora import *\n"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = originals.need("aurora", "psutil")
    tmp = tmp_path_factory.mktemp("aurora")
    sandbox = tmp / "sandbox"
    sandbox.mkdir()
    (sandbox / "a").write_bytes(b"x" * 3_000_000)
    os.link(sandbox / "a", sandbox / "b")
    job = originals.Job(tmp)
    other = subprocess.Popen(["sleep", "100"])
    arguments = (job.pid, other.pid, sandbox)
    scripts = (originals.start(tmp / "theirs", f"ORIGINAL = {str(folder)!r}\n" + originals.AURORA_ORIGINAL, SCRIPT,
                               *arguments), originals.start(tmp / "ours", OURS, SCRIPT, *arguments))
    try:
        originals.begun(*scripts)
        job.go()
        lines = [job.process.stdout.readline() for _ in range(2)]
        job.still, job.moves = (float(line.split()[1]) for line in lines)
        # The job is to be there when the results are taken: it has one more second after its work.
        burnt = poll(lambda: _cpu(job.pid) - job._before if _cpu(job.pid) - job._before > 0.9 else None, "the work")
        time.sleep(0.7)
        found = originals.results(*scripts)
    finally:
        other.kill()
        other.wait()
    job.process.communicate()
    job.cpu, job.burnt = _cpu, burnt
    return job, sandbox, *found


def _cpu(pid):
    """CPU time of a process and of the children that it has waited for."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def test_results_have_the_same_form(both):
    _, _, theirs, ours = both
    for key in ("name", "alive", "daemon", "missing", "fields", "dict", "before", "procs0", "maxlen"):
        assert ours[key] == theirs[key], key
    assert ours["procs"] == theirs["procs"] == 2
    kinds = [("float" if kind == "int" and i < 3 else kind) for i, kind in enumerate(ours["types"])]
    assert kinds == theirs["types"]


def test_where_the_job_stands_still_values_agree(both):
    job, _, theirs, ours = both
    found = [[row for row in of["rows"] if job.still + 0.6 < row[0] < job.moves] for of in (theirs, ours)]
    assert found[0] and found[1]
    # number of processes; rss, vms, nice, status, threads
    for column in (1, 5, 6, 7, 9):
        assert found[1][-1][column] == pytest.approx(found[0][-1][column], rel=0.01), column
    assert found[1][-1][8] == found[0][-1][8] == "sleeping"


def test_cpu_time_keeps_what_children_used_that_have_ended(both):
    job, _, theirs, ours = both
    grown = [of["rows"][-1][3] + of["rows"][-1][4] - of["rows"][0][3] - of["rows"][0][4] for of in (theirs, ours)]
    assert grown[1] > 0.75 and grown[0] < grown[1]
    summed = sum(row[2] * (row[0] - before[0]) for before, row in zip(ours["rows"], ours["rows"][1:]))
    assert summed == pytest.approx(grown[1], rel=0.35)
    times = [row[3] + row[4] for row in ours["rows"]]
    assert times == sorted(times)


def test_the_sandbox_is_what_du_says(both):
    """The original counts a file once for each of its names, and no directories."""
    _, sandbox, theirs, ours = both
    said = int(subprocess.run(["du", "-s", "-B1", sandbox], capture_output=True, check=True).stdout.split()[0])
    assert ours["disk"] == said
    assert theirs["disk"] > 1.9 * 3_000_000


def test_signatures():
    folder = originals.need("aurora", "psutil")
    names = ["ResourceHistory", "HistoryProvider", "DiskCollectorProvider", "TaskResourceMonitor", "NullTaskResourceMonitor"]
    methods = "{m: list(inspect.signature(f).parameters) for m, f in vars(globals()[n]).items() if inspect.isfunction(f)}"
    found = originals.said(f"ORIGINAL = {str(folder)!r}\n" + originals.AURORA_ORIGINAL, f"[{methods} for n in {names}]")
    for name, methods in zip(names, found):
        for method, parameters in methods.items():
            ours = list(inspect.signature(getattr(getattr(aurora, name), method)).parameters)
            assert [n for n in ours if n not in ("original", "disk_collector")] == parameters, (name, method)


def test_their_own_tests_pass_with_it(tmp_path):
    """The project's tests of the monitor and of the disk collectors, with these names in the place of its modules."""
    folder = originals.need("aurora", "mock")
    (tmp_path / "conftest.py").write_text(
        originals.TWITTER
        + """
import barograph.compat.aurora as it, os, tempfile, unittest
unittest.TestCase.assertEquals = unittest.TestCase.assertEqual
_module("apache.thermos.monitoring")
for name in ("disk", "process", "resource", "process_collector_psutil"):
    sys.modules["apache.thermos.monitoring." + name] = it
    setattr(sys.modules["apache.thermos.monitoring"], name, it)
_module("apache.thermos.monitoring.monitor", TaskMonitor=_TaskMonitor)
sys.modules["apache"].thermos = sys.modules["apache.thermos"]
sys.modules["apache.thermos"].monitoring = sys.modules["apache.thermos.monitoring"]
sys.modules["apache.thermos.monitoring"].monitor = sys.modules["apache.thermos.monitoring.monitor"]
sys.modules["twitter.common.quantity"].Amount = type("Amount", (_Amount,), {})
sys.modules["twitter.common.dirutil"].safe_mkdtemp = tempfile.mkdtemp
sys.modules["twitter.common.dirutil"].safe_size = os.path.getsize
sys.modules["twitter.common"].dirutil = sys.modules["twitter.common.dirutil"]
"""
    )
    for name in ("test_resource.py", "test_disk.py"):
        source = folder / "src/test/python/apache/thermos/monitoring" / name
        (tmp_path / name).write_bytes(source.read_bytes())
    files = ["test_resource.py"]
    if all(importlib.util.find_spec(name) for name in ("httpretty", "requests")):
        files.append("test_disk.py")  # it wants an empty directory to take nothing: the original's way
    for file in files:
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path,
                               file], cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "BAROGRAPH_COMPAT": "original" if file == "test_disk.py" else ""})
        assert done.returncode == 0, done.stdout[-4000:]
        assert "passed" in done.stdout and "skipped" not in done.stdout


def test_history():
    history = aurora.ResourceHistory(3, initialize=False)
    for stamp in (10.0, 20.0, 30.0, 40.0):
        history.add(stamp, stamp)
    assert [t for t, _ in history] == [20.0, 30.0, 40.0] and len(history) == 3
    assert [history.get(t)[0] for t in (0, 24, 25, 26, 99)] == [20.0, 20.0, 20.0, 30.0, 40.0]
    with pytest.raises(ValueError, match="in the past"):
        history.add(39.0, 0)
    with pytest.raises(ValueError, match="greater than 0"):
        aurora.ResourceHistory(0)
    next_one = aurora.ResourceHistory(3, initialize=False, original=True)
    for stamp in (20.0, 30.0):
        next_one.add(stamp, stamp)
    assert [next_one.get(t)[0] for t in (0, 21, 99)] == [20.0, 30.0, 30.0]
    assert repr(next_one) == "ResourceHistory((20.0, 20.0), (30.0, 30.0))"
    assert len(aurora.HistoryProvider().provides(aurora.Amount(1, aurora.Time.HOURS), 20)) == 1
    with pytest.raises(ValueError, match="too large"):
        aurora.HistoryProvider().provides(aurora.Amount(1, aurora.Time.DAYS), 1)


def test_samples_are_added_up():
    a = aurora.ProcessSample(0.5, 1.0, 2.0, 100, 200, 0, "running", 1)
    b = a._replace(nice=None, status=None)
    assert sum([a, b], aurora.ProcessSample.empty()) == aurora.ProcessSample(1.0, 2.0, 4.0, 200, 400, 0, "running", 2)
    assert a.to_dict() == {"cpu": 0.5, "ram": 100, "user": 1.0, "system": 2.0, "rss": 100, "vms": 200, "nice": 0,
                           "status": "running", "threads": 1}
    base = aurora.ResourceMonitorBase
    assert base.FullResourceResult({}, 0) == ({}, 0) and base.ProcResourceResult(a, 1).num_procs == 1
    null = aurora.NullTaskResourceMonitor()
    assert null.sample_at(timestamp=5.0)[1] == null.sample()[1] == (0, aurora.ProcessSample.empty(), 0)


def test_a_task_with_a_process_that_has_no_pid(tmp_path):
    """The others have a history. The third argument is a class of collectors in older versions of the original."""
    status = collections.namedtuple("Status", "process pid")
    active = [(status("own", os.getpid()), 1), (status("waits", None), 1)]
    task = types.SimpleNamespace(get_active_processes=lambda: active, get_sandbox=lambda: str(tmp_path))
    second = aurora.Amount(1, aurora.Time.SECONDS)
    monitor = aurora.TaskResourceMonitor("t", task, aurora.DiskCollector, aurora.Amount(50, aurora.Time.MILLISECONDS),
                                         second * 30, second * 60)
    monitor.start()
    try:
        poll(lambda: monitor.sample_at(timestamp=time.time())[1].process_sample.rss, "a sample")
        assert monitor.sample()[1].num_procs >= 1 and isinstance(monitor._disk_collector, aurora.DuDiskCollector)
        assert monitor.sample_by_process("waits") == aurora.ProcessSample.empty()
    finally:
        monitor.kill()
        monitor.join()


def test_a_collector_of_a_process_that_ends():
    process = subprocess.Popen([sys.executable, "-S", "-c",
                                "import time\nwhile time.process_time() < .2: pass\ninput()"], stdin=subprocess.PIPE)
    collector = aurora.ProcessTreeCollector(process.pid, interval=0.05)
    try:
        poll(lambda: collector.sample() or collector.value.user + collector.value.system > 0.15, "its CPU time")
        assert (collector.procs == 1 and collector.value.rss > 0
                and collector.value.nice == os.getpriority(os.PRIO_PROCESS, 0))
        child = os.fork()
        if child == 0:
            collector.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert os.path.isdir(collector._probe._folder), "it is not the child's"
        process.communicate(b"\n")
        poll(lambda: collector.sample() or collector.procs == 0, "its end")
        assert (collector.value.rss == 0 and collector.value.user + collector.value.system > 0.15
                and collector.value.status == "dead")
    finally:
        collector.close()
    assert aurora.ProcessTreeCollector(2**22 + 1).value == aurora.ProcessSample.empty()


def test_du(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    collector = aurora.DiskCollectorProvider().provides(str(tmp_path))
    assert (isinstance(collector, aurora.DuDiskCollector) and collector.value == 0
            and not collector.completed_event.is_set())
    collector.sample()
    assert collector.completed_event.wait(60)
    said = subprocess.run(["du", "-s", "-B1", tmp_path], capture_output=True, check=True).stdout.split()[0]
    assert collector.value == int(said)
    (tmp_path / "du").write_text(f"#!/bin/sh\n{HANGS}; :")
    (tmp_path / "du").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    collector.sample()
    poll(hanging, "one that hangs")
    assert collector.value == int(said)
    del collector
    poll(lambda: not hanging(), "its end")
    assert isinstance(aurora.DiskCollectorProvider(True).provides("x"), aurora.MesosDiskCollector)
    assert aurora.DiskCollectorSettings().disk_usage_json_expression.search({"statistics": {"disk_used_bytes": 5}}) == 5


def test_amounts():
    """Worked out by the original: an amount has the largest unit of which it is a whole number."""
    amount, unit = aurora.Amount, aurora.Time
    minute = amount(1, unit.MINUTES)
    assert minute == amount(60, unit.SECONDS) != amount(1, unit.HOURS) and minute != 60
    assert (minute + amount(1, unit.SECONDS)).as_(unit.SECONDS) == 61 and minute - amount(1, unit.SECONDS) < minute
    assert minute * 2 == 2 * minute == amount(2, unit.MINUTES) > minute >= amount(1, unit.NANOSECONDS)
    sixty = amount(90, unit.SECONDS) + amount(30, unit.SECONDS)
    assert (sixty.amount(), sixty.unit(), str(sixty)) == (2, unit.MINUTES, "2 mins")
    assert amount(1.5, unit.SECONDS).as_(unit.MILLISECONDS) == 1500 and len({minute, amount(60, unit.SECONDS)}) == 1
    with pytest.raises(TypeError):
        minute + 1
