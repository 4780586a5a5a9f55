# SPDX-License-Identifier: Apache-2.0
"""compat.resource_tracker beside releases 0.1.1 and 0.5.0 of the original."""

import csv
import gc
import inspect
import io
import json
import os
import stat
import subprocess
import sys
import threading
import time

import originals
import pytest
from conftest import HANGS, PATIENCE, hanging, poll

from barograph.compat import resource_tracker as now
from barograph.compat.resource_tracker import _gpu, v0_1

BLOCKING = """
import json, os, resource, sys, threading, time
print("begun", flush=True)
sys.stdin.readline()
before = resource.getrusage(resource.RUSAGE_SELF)
tracker, error = {tracker}(int(sys.argv[1]), interval=0.25, autostart=False), ""
try:
    tracker.start_tracking("rows.csv")
except Exception as raised:
    error = type(raised).__name__
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{"status": tracker.status, "error": error, "cycle": tracker.cycle, "attributes": sorted(n for n in vars(tracker) if n[0] != "_"),
    "cpu": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime}}))
"""


def _rows(path):
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""))) if path.exists() else []


class Pair:
    def __init__(self, tmp, folder, tracker, theirs, ours):
        self.job = originals.Job(tmp)
        text = BLOCKING.format(tracker=tracker)
        scripts = (originals.start(tmp / "theirs", f"import sys; sys.path.insert(0, {str(folder)!r})\n{theirs}\n", text,
                                   self.job.pid), originals.start(tmp / "ours", ours + "\n", text, self.job.pid))
        originals.begun(*scripts)
        for each in scripts:
            each.stdin.write("go\n")
            each.stdin.flush()
        time.sleep(0.5)
        self.job.go()
        # Read to its end, and reap it: both trackers end with it.
        lines = self.job.process.stdout.read().split()
        self.job.still, self.job.moves = float(lines[1]), float(lines[3])
        _, _, used = os.wait4(self.job.pid, 0)
        self.job.process.returncode = 0
        self.job.cpu = used.ru_utime + used.ru_stime - self.job._before
        self.results = originals.results(*scripts)
        self.files = [(tmp / side / "rows.csv").read_bytes() for side in ("theirs", "ours")]
        self.rows = [_rows(tmp / side / "rows.csv") for side in ("theirs", "ours")]

    def still(self, side, column):
        rows = [r for r in self.rows[side] if self.job.still + 0.3 < float(r["timestamp"]) < self.job.moves]
        assert rows
        return max(float(r[column]) for r in rows)

    def sum(self, side, *columns):
        return sum(float(row[column]) for row in self.rows[side] for column in columns)


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    folder = originals.need("resource_tracker-0.1.1")
    tmp = tmp_path_factory.mktemp("old")
    return Pair(tmp, folder, "PidTracker", "from resource_tracker import PidTracker",
                "from barograph.compat.resource_tracker.v0_1 import PidTracker")


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    folder = originals.need("resource_tracker-0.5.0")
    tmp = tmp_path_factory.mktemp("new")
    return Pair(tmp, folder, "ProcessTracker", "from resource_tracker import ProcessTracker",
                "from barograph.compat.resource_tracker import ProcessTracker")


@pytest.mark.parametrize("pair", ["old", "new"])
def test_status_attributes_and_header(pair, request):
    pair = request.getfixturevalue(pair)
    theirs, ours = pair.results
    assert ours["status"] == "exited" and not ours["error"]
    # 0.5 with psutil fails when the process has been reaped.
    assert theirs["status"] == "exited" or theirs["error"] == "NoSuchProcess"
    assert set(theirs["attributes"]) <= set(ours["attributes"])
    lines = [file.split(b"\n") for file in pair.files]
    assert lines[0][0] == lines[1][0]  # with its line end
    assert [len(line.split(b",")) for line in lines[1][1:-1]] == [12] * (len(lines[1]) - 2)
    assert b'"' not in lines[1][1]  # numbers have no quotes


@pytest.mark.parametrize("pair, memory", [("old", "pss"), ("new", "memory_mib")])
def test_where_the_job_stands_still_columns_agree(pair, memory, request):
    """PSS changes with each other process that maps the same files, so it agrees less well."""
    pair = request.getfixturevalue(pair)
    for column, exact in ((memory, 0.06), ("pid", 0), ("gpu_usage", 0), ("gpu_utilized", 0)):
        assert pair.still(1, column) == pytest.approx(pair.still(0, column), rel=exact), column
    assert pair.still(1, "cpu_usage") < 0.1


@pytest.mark.parametrize("pair, unit", [("old", os.sysconf("SC_CLK_TCK")), ("new", 1)])
def test_cpu_time_is_what_the_kernel_says(pair, unit, request):
    """The rows' sum; what the job used in its last interval has no row, in either."""
    pair = request.getfixturevalue(pair)
    assert pair.sum(1, "utime", "stime") / unit == pytest.approx(pair.job.cpu, rel=0.15)


@pytest.mark.parametrize("pair, column", [("old", "write_bytes"), ("new", "disk_write_bytes")])
def test_bytes_that_were_written(pair, column, request):
    pair = request.getfixturevalue(pair)
    assert 8 << 20 <= pair.sum(1, column) < 9 << 20


def test_0_1_has_the_first_row_that_the_original_loses(old, tmp_path):
    assert old.results[1]["cycle"] == len(old.rows[1])
    process = subprocess.Popen(["sleep", "1"])
    v0_1.PidTracker(process.pid, interval=0.2, output_file="a.csv", original=True)
    process.wait()
    process = subprocess.Popen(["sleep", "1"])
    v0_1.PidTracker(process.pid, interval=0.2, output_file="b.csv")
    process.wait()
    first, second = (_rows(tmp_path / name) for name in ("a.csv", "b.csv"))
    assert float(first[0]["timestamp"]) and float(second[0]["timestamp"])
    assert abs(len(first) + 1 - len(second)) <= 1


SYSTEM = """
import json, sys, threading, time
def stop():
    sys.stdin.readline(); import os, signal; os.kill(os.getpid(), signal.SIGINT)
print("begun", flush=True)
threading.Thread(target=stop, daemon=True).start()
try:
    SystemTracker(interval=0.5, output_file="rows.csv")
except KeyboardInterrupt:
    pass
print(json.dumps("done"))
"""


@pytest.mark.parametrize("release, module",
                         [("0.1.1", "barograph.compat.resource_tracker.v0_1"),
                          ("0.5.0", "barograph.compat.resource_tracker")])
def test_the_machine(release, module, tmp_path):
    folder = originals.need(f"resource_tracker-{release}")
    scripts = (
        originals.start(tmp_path / "theirs", f"import sys; sys.path.insert(0, {str(folder)!r})\nfrom resource_tracker import SystemTracker\n", SYSTEM),
        originals.start(tmp_path / "ours", f"from {module} import SystemTracker\n", SYSTEM),
    )
    originals.begun(*scripts)
    poll(lambda: all(len(_rows(tmp_path / side / "rows.csv")) > 3 for side in ("theirs", "ours")), "rows")
    originals.results(*scripts)
    theirs, ours = (_rows(tmp_path / side / "rows.csv") for side in ("theirs", "ours"))
    assert list(ours[0]) == list(theirs[0])
    same = [n for n in ours[0] if n.startswith(("memory_free", "memory_used", "memory_buffers", "memory_cached", "memory_active",
                                                "memory_inactive"))]
    assert len(same) == 6
    for name in same:
        # Other programs go on meanwhile: the two need only overlap, widened by a tenth of the machine's memory.
        mine, other = ([float(row[name]) for row in rows] for rows in (ours, theirs))
        slack = (
            0.1 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1024 if release == "0.1.1" else 1 << 20)
        )
        assert min(mine) - slack < max(other) and max(mine) + slack > min(other), name
    # A single row of some ms may have more than all CPUs: the kernel counts in ticks.
    ticks = os.sysconf("SC_CLK_TCK") if release == "0.1.1" else 1
    used = sum(float(row["utime"]) + float(row["stime"]) for row in ours[1:]) / ticks
    assert 0 <= used <= os.cpu_count() * (float(ours[-1]["timestamp"]) - float(ours[0]["timestamp"]) + 0.2)
    for row in ours:
        assert float(row["cpu_usage"]) >= 0
        assert float(row["disk_space_total_gb"]) > 0 and float(row["processes"]) > 0


BACKGROUND = """
import json, resource, sys, threading
tracker = ResourceTracker(interval=0.5, discover_cloud=False)
print("begun", flush=True)
with tracker as entered:
    sys.stdin.readline()
    end = __import__("time").process_time() + 1.0
    while __import__("time").process_time() < end: pass
    tracker.wait_for_samples(2)
    running = tracker.running
combined = tracker.get_combined_metrics(human_names=True, bytes=True)
snapshot = tracker.snapshot()
print(json.dumps({"same": entered is tracker, "running": [running, tracker.running], "n": tracker.n_samples,
    "process": tracker.process_metrics.columns, "system": tracker.system_metrics.columns, "combined": combined.columns,
    "stats": {k: sorted(v) for k, v in tracker.stats().items()}, "recommended": sorted(tracker.recommend_resources()),
    "types": {k: type(v).__name__ for k, v in tracker.process_metrics[-1].items()}, "threads": threading.active_count(),
    "snapshot": {k: sorted(v) if isinstance(v, dict) else type(v).__name__ for k, v in snapshot.items()},
    "metadata": sorted(snapshot["metadata"]), "dump": tracker.dumps(),
    "cpu": max(tracker.process_metrics["cpu_usage"])}))
"""


def test_resource_tracker_in_the_background(tmp_path):
    folder = originals.need("resource_tracker-0.5.0")
    scripts = (
        originals.start(tmp_path / "theirs", f"import sys; sys.path.insert(0, {str(folder)!r})\nfrom resource_tracker import ResourceTracker\n", BACKGROUND),
        originals.start(tmp_path / "ours", "from barograph.compat.resource_tracker import ResourceTracker\n", BACKGROUND),
    )
    originals.begun(*scripts)
    theirs, ours = originals.results(*scripts)
    for key in ("same", "running", "process", "system", "combined", "stats", "recommended", "snapshot", "metadata"):
        assert ours[key] == theirs[key], key
    assert {k for k, v in ours["types"].items() if v != theirs["types"][k]} <= {"children", "utime", "stime",
                                                                                "cpu_usage", "gpu_usage",
                                                                                "gpu_vram_mib"}
    assert ours["n"] >= 2 and ours["threads"] == 1 and ours["cpu"] > 0.1
    # Each reads what the other wrote.
    loaded = now.ResourceTracker.loads(theirs["dump"])
    assert loaded.process_metrics.columns == theirs["process"] and loaded.n_samples == theirs["n"]
    read = f"import sys; sys.path.insert(0, {str(folder)!r}); from resource_tracker import ResourceTracker as R; t = R.loads(sys.stdin.read()); print(t.n_samples, t.stats()['process_cpu_usage']['max'])"
    done = subprocess.run([sys.executable, "-c", read], input=ours["dump"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == str(ours["n"]) and float(done.stdout.split()[1]) > 0.1


@pytest.mark.parametrize("release, module", [("0.1.1", v0_1), ("0.5.0", now)])
def test_signatures(release, module):
    folder = originals.need(f"resource_tracker-{release}")
    found = originals.said(f"import sys; sys.path.insert(0, {str(folder)!r}); import resource_tracker as r",
                           "{n: list(inspect.signature(getattr(r, n).__init__).parameters) for n in r.__all__ if isinstance(getattr(r, n), type)}")
    assert found
    for name, parameters in found.items():
        ours = [n for n in inspect.signature(getattr(module, name).__init__).parameters if n != "original"]
        assert ours[: len(parameters)] == parameters and (ours == parameters or name == "TinyDataFrame"), name


def test_functions_agree_with_the_original(tmp_path):
    folder = originals.need("resource_tracker-0.1.1")
    job = originals.Job(tmp_path)
    try:
        names = ("get_pid_children", "get_pid_rss", "get_pid_pss_rollup", "get_pid_proc_times", "get_pid_proc_io",
                 "get_pid_stats")
        call = (
            "import json, sys; print(json.dumps([sorted(v) if isinstance(v, set) else v for v in [getattr(m, n)(int(sys.argv[1])) for n in %r]], default=list))"
            % (names,)
        )
        outs = []
        for prelude in (f"import sys; sys.path.insert(0, {str(folder)!r}); import resource_tracker.tracker as m\n",
                        "import barograph.compat.resource_tracker.v0_1 as m\n"):
            done = subprocess.run([sys.executable, "-c", prelude + call, str(job.pid)], capture_output=True, text=True,
                                  check=True)
            outs.append(json.loads(done.stdout))
        # PSS changes with each process that maps the same files: the two interpreters of this test.
        pss = [out.pop(2) for out in outs]
        assert pss[0] == pytest.approx(pss[1], rel=0.02) and outs[0][4].pop("pss") == pytest.approx(
            outs[1][4].pop("pss"), rel=0.02
        )
        assert outs[0][:4] == outs[1][:4]
        assert list(outs[0][4]) == list(outs[1][4])
        assert {k: v for k, v in outs[0][4].items() if k != "timestamp"} == {k: v for k, v in outs[1][4].items()
                                                                             if k != "timestamp"}
    finally:
        job.process.kill()
        job.process.communicate()
    assert v0_1.get_pid_rss(2**22 + 1) == 0 and v0_1.get_pid_children(2**22 + 1) == set()
    assert v0_1.get_pid_proc_times(2**22 + 1) == {"utime": 0, "stime": 0}
    assert not v0_1.is_partition("loop0") and set(v0_1.get_system_stats()) >= {"disk_stats", "disk_spaces", "gpu_usage",
                                                                               "memory_free"}


def test_a_name_with_blanks_and_a_child_of_a_thread():
    """Both are mistaken in the original."""
    text = (
        "import ctypes, subprocess, sys, threading, time\n"
        "ctypes.CDLL(None).prctl(15, b'a ) b (c', 0, 0, 0)\n"
        "def child():\n    subprocess.Popen(['sleep', '60']); print('x', flush=True); time.sleep(60)\n"
        "threading.Thread(target=child).start(); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, start_new_session=True)
    try:
        process.stdout.readline()
        assert v0_1.get_pid_proc_times(process.pid)["utime"] < 1000
        assert len(poll(lambda: v0_1.get_pid_children(process.pid), "the child")) == 1
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        process.stdout.close()


def test_a_process_that_ends_while_it_is_tracked():
    """Its row after the end is no row without memory, and the machine is tracked until stop()."""
    code, pipe = "b = bytearray(30 << 20); print(flush=True); input()", subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-S", "-c", code], stdin=pipe, stdout=pipe)
    process.stdout.readline()
    with now.ResourceTracker(pid=process.pid, interval=0.1) as tracker:
        poll(lambda: len(tracker.process_metrics) >= 3, "rows")
        process.communicate(b"\n")
        poll(lambda: tracker.recording.tape.state == "ended", "the end of the recording")
        count = len(tracker.system_metrics)
        poll(lambda: len(tracker.system_metrics) > count + 1, "rows of the machine")
    memory = tracker.process_metrics["memory_mib"]
    assert min(memory) > 30 and tracker.stats()["process_memory_mib"]["mean"] > 30
    assert tracker.system_metrics["timestamp"][-1] > tracker.process_metrics["timestamp"][-1]


@pytest.mark.parametrize("module, tracker", [(now, "ProcessTracker"), (v0_1, "PidTracker")])
def test_a_subclass_that_replaces_diff_stats(module, tracker):
    """As in the original, its rows are those of the file."""

    class Mine(getattr(module, tracker)):
        def diff_stats(self):
            return {**super().diff_stats(), "extra": self.cycle}

    process = subprocess.Popen(["sleep", "0.5"])
    threading.Thread(target=process.wait, daemon=True).start()
    mine = Mine(process.pid, interval=0.1, autostart=False)
    mine.start_tracking("mine.csv")
    with open("mine.csv", newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    assert mine.status == "exited" and rows and [int(r["extra"]) for r in rows] == list(range(2, mine.cycle))
    assert isinstance(mine.stats["utime"], int if module is v0_1 else float)


@pytest.fixture
def fake_gpus(tmp_path, monkeypatch):
    """nvidia-smi of a machine with two GPUs, on one of which this process works."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\ncase \"$*\" in\n"
        "pmon*) echo '# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command'\n"
        "echo '# Idx           #    C/G      %      %      %      %      %      %     MB     MB    name'\n"
        f"echo '    0      {os.getpid()}     C     60      5      -      -      -      -   2048      0    python'\n"
        "echo '    1          1     C     25      5      -      -      -      -     72      0    another'\n"
        "echo '    1          -     -      -      -      -      -      -      -      -      -    -' ;;\n"
        "*gpu_name*) printf 'Fake A, 81920\\nFake A, 81920\\n' ;;\n"
        "*index*) printf '0, 60, 3000\\n1, 25, 72\\n' ;;\nesac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_gpus(fake_gpus, driver, monkeypatch):
    """nvidia-smi is asked for one reading; what is tracked is the driver's, also where this process sees one GPU."""
    driver.write("0 buffer none", "0 util 60", "0 used 3145728000", f"0 proc {os.getpid()} memory 2147483648",
                 f"0 proc {os.getpid()} sm 60", "1 buffer none", "1 util 25", "1 used 75497472", devices=2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert (now.get_server_info()["gpu_names"] == ["Fake A", "Fake A"]
            and now.get_server_info()["gpu_memory_mib"] == 163840)
    own = v0_1.get_pid_stats(os.getpid())
    assert (own["gpu_usage"], own["gpu_vram"], own["gpu_utilized"], own["gpu_utilized_indexes"]) == (0.6, 2048, 1, {0})
    machine = now.get_system_stats()
    assert (machine["gpu_usage"], machine["gpu_vram_mib"], machine["gpu_utilized"]) == (0.85, 3072, 2)
    with now.ResourceTracker(interval=0.2) as tracker:
        poll(lambda: [v for v in tracker.process_metrics["gpu_usage"] if v] if tracker.n_samples else None, "a reading")
        poll(lambda: [v for v in tracker.system_metrics["gpu_usage"] if v], "a reading")
        poll(lambda: any(tracker.system_metrics["processes"]), "a count of processes")
    last = tracker.process_metrics[-1]
    assert (last["gpu_vram_mib"], last["gpu_utilized"]) == (2048, 1)
    assert last["gpu_usage"] == pytest.approx(0.6, abs=0.01)
    last = tracker.system_metrics[-1]
    assert (last["gpu_vram_mib"], last["gpu_utilized"]) == (3072, 2)
    assert last["gpu_usage"] == pytest.approx(0.85, abs=0.01) and last["processes"] > 1
    assert tracker.recommend_resources()["gpu"] == 1


def test_a_slow_nvidia_smi_is_not_waited_for(fake_gpus, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "nvidia-smi"
    text = program.read_text()
    monkeypatch.setattr(_gpu, "_ANSWERS_WITHIN", 0.01)
    program.write_text(text.replace("#!/bin/sh", f"#!/bin/sh\nuntil [ -e {tmp_path}/go ]; do sleep 0.02; done"))
    assert now.ProcessTracker(autostart=False).diff_stats()["gpu_usage"] == 0
    with now.ResourceTracker() as tracker:
        assert tracker.server_info is None and tracker.snapshot()["server_info"] is None
        (tmp_path / "go").touch()
        poll(lambda: tracker.server_info, "its answer")
    assert tracker.server_info["gpu_names"] == ["Fake A", "Fake A"]
    monkeypatch.setattr(_gpu, "_ANSWERS_WITHIN", PATIENCE)
    for bad in (r"\377\n0, nan, inf\n", r"# gpu pid sm fb\n x %d 5 \377\n" % os.getpid()):
        program.write_text(f"#!/bin/sh\nprintf '{bad}'\n")
        assert _gpu.now()["gpu_usage"] == 0 and _gpu.now({os.getpid()})["gpu_vram"] == 0
    monkeypatch.setattr(_gpu, "_ANSWERS_WITHIN", 0.01)
    program.write_text(f"#!/bin/sh\n{HANGS}; :")
    assert now.get_system_stats()["gpu_usage"] == 0
    with now.ResourceTracker() as tracker:
        assert tracker.server_info is None
        poll(hanging, "its question")
    del tracker
    gc.collect()
    poll(lambda: not hanging(), "the end of what they started")
    program.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed, since there is no driver'; exit 9\n")
    with now.ResourceTracker() as tracker:
        assert poll(lambda: tracker.server_info, "its answer")["gpu_count"] == 0


def test_diff_stats_and_the_default_pid():
    """The default is this process, also in a forked child."""
    tracker = v0_1.PidTracker(autostart=False)
    assert tracker.pid == os.getpid() and tracker() is None and tracker.cycle == 0
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    found = tracker.diff_stats()
    assert list(found) == ["timestamp", "pid", "children", "utime", "stime", "cpu_usage", "pss", "read_bytes", "write_bytes",
                           "gpu_usage", "gpu_vram", "gpu_utilized"]
    assert found["pss"] > 0 and tracker.cycle == 1
    # On a busy machine the newest sample may be older than the call: what it lacks is in the next ones.
    used = [found]
    poll(lambda: sum(f["utime"] + f["stime"] for f in used) >= 25 or used.append(tracker.diff_stats()), "its CPU time")
    with pytest.warns(DeprecationWarning):
        assert now.PidTracker(autostart=False).diff_stats()["memory_mib"] > 0


def test_what_is_not_there_yet_or_any_more():
    tracker = now.ResourceTracker(interval=0.1, track_system=False)
    with pytest.raises(AttributeError):
        tracker.stop_time  # noqa: B018
    with tracker:
        with pytest.raises(RuntimeError, match="already running"):
            tracker.start()
        tracker.wait_for_samples(2, timeout=100)
        assert len(tracker.system_metrics) == 0
    with pytest.raises(RuntimeError, match="already stopped"):
        tracker.start()
    assert os.path.exists(tracker.process_tracker_filepath) and len(tracker.report()) > 10_000
    path = tracker.process_tracker_filepath
    tracker.cleanup()
    assert not os.path.exists(path)


def test_recommendation_and_the_switch():
    table = {"metadata": dict.fromkeys(("pid", "method")) | {"children": True, "interval": 1, "track_processes": True, "track_system": True,
             "discover_server": True, "discover_cloud": True, "start_time": 0, "stop_time": 9, "pid": 1}, "server_info": {}, "cloud_info": None}
    row = {"timestamp": 1.0, "cpu_usage": 3.4, "memory_mib": 3000.0, "gpu_usage": 0, "gpu_vram_mib": 0,
           "gpu_utilized": 0}
    host = {"timestamp": 1.0, "cpu_usage": 3.5, "memory_used_mib": 3100.0, "gpu_usage": 0, "gpu_vram_mib": 0,
            "disk_space_used_gb": 1, "net_recv_bytes": 0, "net_sent_bytes": 0}
    tracker = now.ResourceTracker.from_snapshot({**table, "process_metrics": [row], "system_metrics": [host]})
    assert tracker.recommend_resources() == {"cpu": 3, "memory": 4096, "gpu": 0, "vram": 0}
    assert tracker.server_info["allocation"] == "dedicated"
    tracker._original = True
    assert tracker.recommend_resources()["memory"] == 128


def test_the_decorator():
    @now.track_resources(interval=0.1)
    def work():
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        return 7

    assert work() == 7
    data = work.resource_tracker_data
    assert data["step_failed"] is False and data["tracker"]["metadata"]["interval"] == 0.1
    assert sum(row["utime"] + row["stime"] for row in data["tracker"]["process_metrics"]) > 0.2


def test_a_tracker_that_is_killed_leaves_its_rows_and_no_recorder(tmp_path, script):
    target = subprocess.Popen(["sleep", "300"])
    try:
        running = script("""
            import os, sys
            from barograph.compat.resource_tracker import ProcessTracker
            print("x", flush=True)
            ProcessTracker(int(sys.argv[1]), interval=0.1, output_file="rows.csv")
        """, target.pid, cwd=tmp_path)
        running.line()
        poll(lambda: len(_rows(tmp_path / "rows.csv")) > 3, "rows")
        running.process.kill()
        from barograph import runs

        poll(lambda: runs()[0].tape.state == "ended", "the end of the recording")
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()


SHIM = """
import sys, time, types
import importlib
import barograph.compat.resource_tracker as whole
def cpu_single(duration=1):
    end = time.time() + duration
    while time.time() < end: pass
sys.modules["resource_tracker"] = whole
for name in ("tracker", "tiny_data_frame", "helpers", "report", "server_info", "cloud_info", "tracker_procfs", "tracker_psutil"):
    sys.modules["resource_tracker." + name] = importlib.import_module("barograph.compat.resource_tracker." + name)
sys.modules["resource_tracker.dummy_workloads"] = types.ModuleType("dummy_workloads")
sys.modules["resource_tracker.dummy_workloads"].cpu_single = cpu_single
"""


def test_their_own_tests_pass_with_it(tmp_path):
    folder = originals.need("resource-tracker", "psutil")
    (tmp_path / "conftest.py").write_text(SHIM)
    for path in (folder / "tests").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    files = sorted(path.name for path in tmp_path.glob("test_*.py"))
    without = ["-k", "not test_resource_tracker_report"]  # it looks for a heading of its own page
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path,
                           *without, *files], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout


@pytest.mark.parametrize("says, expected",
                         [("printf 'tank\\t1000\\t600\\t400\\nb\\t10\\t1\\t9\\n'",
                           {"zfs:tank": (1000, 600, 400), "zfs:b": (10, 1, 9)}), (f"{HANGS}; :", {}),
                          ("echo rubbish; printf 'a\\tb\\tc\\td\\n'", {}), ("exit 1", {})],
                         ids=["pools", "hangs", "rubbish", "fails"])
def test_pools_of_zfs_count_once(tmp_path, monkeypatch, says, expected):
    """As in the original: by zpool, and not by the datasets, of which each has the free space of the pool."""
    from barograph.compat.resource_tracker import _proc

    monkeypatch.setattr(_proc, "_ANSWERS_WITHIN", 0.05 if "sleep" in says else 60)
    program = tmp_path / "zpool"
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    mounts = tmp_path / "mounts"
    mounts.write_text("tank / zfs rw 0 0\ntank/home /tmp zfs rw 0 0\ntank/@s /run/s zfs rw 0 0\n")
    found = _proc.spaces(str(mounts))
    poll(lambda: not hanging(), "the end of what it started")
    assert {k: (v["total"], v["used"], v["free"]) for k, v in found.items()} == expected
    assert not any(k.startswith("zfs:") for k in _proc.spaces())
