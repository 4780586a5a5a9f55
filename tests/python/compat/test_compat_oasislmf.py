# SPDX-License-Identifier: Apache-2.0
"""compat.oasislmf beside the original, under a script like the ones that it monitors."""

import csv
import inspect
import json
import math
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import originals
import pytest

from barograph.compat import oasislmf
from barograph.compat.oasislmf import _plots, _rows, _tools

PATH = "oasislmf/execution/resource_monitor.py"
SCRIPT = """
import json, logging, resource, subprocess, sys, threading
monitor = ResourceMonitor("log", poll_interval=0.2)
used = resource.getrusage(resource.RUSAGE_SELF)
monitor.start(int(sys.argv[1]))
threads = threading.active_count()
print("begun", flush=True)
sys.stdin.readline()
after = resource.getrusage(resource.RUSAGE_SELF)
monitor.stop()
print(json.dumps({"threads": threads, "interval": monitor.poll_interval, "attributes": sorted(vars(monitor)),
    "cpu": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}))
"""
TOOL = """#!{python} -S
import os, resource, sys, time
held = bytearray(int(float(sys.argv[1]) * 1e6))
end = time.process_time() + float(sys.argv[2])
while time.process_time() < end: pass
time.sleep(float(sys.argv[3]))
used = resource.getrusage(resource.RUSAGE_SELF)
fd = os.open(sys.argv[4], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, ("%s %f\\n" % (os.path.basename(sys.argv[0]), used.ru_utime + used.ru_stime)).encode())
"""
KERNEL = """read go
rm -R -f theirs/log/* ours/log/*
evepy 20 .1 3 judge | cat &
gulpy 60 .3 2 judge & fmpy 40 .2 2.5 judge &
( for i in 1 2 3 4 5 6 7 8; do summarypy 5 .06 0 judge; done ) &
wait
"""


class Both:
    def __init__(self, tmp, folder):
        self.tmp = tmp
        (tmp / "bin").mkdir()
        for name in ("evepy", "gulpy", "fmpy", "summarypy"):
            path = tmp / "bin" / name
            path.write_text(TOOL.format(python=sys.executable))
            path.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp}/bin:{os.environ['PATH']}"}
        (tmp / "kernel.sh").write_text(KERNEL)
        kernel = subprocess.Popen(["bash", "kernel.sh"], stdin=subprocess.PIPE, cwd=tmp, env=environment)
        prelude = f"ORIGINAL = {str(folder)!r}\n" + originals.FILE.format(path=PATH)
        scripts = (originals.start(tmp / "theirs", prelude, SCRIPT, kernel.pid),
                   originals.start(tmp / "ours", "from barograph.compat.oasislmf import *\n", SCRIPT, kernel.pid))
        originals.begun(*scripts)
        kernel.communicate(b"go\n", timeout=120)
        self.results = originals.results(*scripts)
        self.judge = {}
        for line in (tmp / "judge").read_text().splitlines():
            name, used = line.split()
            self.judge.setdefault(name, []).append(float(used))
        self.files = [tmp / side / "log" / "resource_monitor.csv" for side in ("theirs", "ours")]
        # Others' processes on this machine may mention a tool, and the original takes them.
        self.stats = [_rows.compute_stats(_rows.load_csv(str(self.files[0])), original=True),
                      _rows.compute_stats(_rows.load_csv(str(self.files[1])))]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = originals.need("oasislmf-2.5.8", "psutil", "matplotlib")
    return Both(tmp_path_factory.mktemp("oasislmf"), folder)


@pytest.fixture(scope="module")
def module():
    """The original, in this interpreter."""
    folder = originals.need("oasislmf-2.5.8", "psutil")
    names = {"ORIGINAL": str(folder)}
    exec(originals.FILE.format(path=PATH), names)
    return names["module"]


def test_attributes_and_no_thread(both):
    theirs, ours = both.results
    assert ours["interval"] == theirs["interval"] == 0.2
    public = [{n for n in of["attributes"] if not n.startswith("_")} for of in (theirs, ours)]
    assert public[0] <= public[1]
    assert ours["threads"] == 1 and theirs["threads"] == 2


def test_the_csv_has_the_same_form(both):
    for path in both.files:
        data = path.read_bytes()
        assert data.startswith(",".join(oasislmf.CSV_HEADER).encode() + b"\r\n") and data.count(b"\r\n") == data.count(
            b"\n"
        )
    for row in csv.DictReader(both.files[1].open()):
        assert re.fullmatch(r"\d+\.\d+", row["timestamp"]) and re.fullmatch(r"\d+\.\d", row["cpu_pct"])
        assert all(re.fullmatch(r"-?\d+", row[n]) for n in ("pid", "rss_kb", "uss_kb", "pss_kb"))


def test_the_original_reads_our_rows(both, module):
    rows = module._load_csv(str(both.files[1]))
    assert len(rows) == sum(1 for _ in both.files[1].open()) - 1
    assert {tool: set(of) for tool, of in module._compute_stats(rows).items()} == {
        tool: set(of) for tool, of in both.stats[1].items()
    }


def test_tools_instances_and_cpu_time(both):
    """Each tool says itself what it used."""
    theirs, ours = both.stats
    assert set(ours) == set(both.judge) == {"evepy", "gulpy", "fmpy", "summarypy"}
    for tool, used in both.judge.items():
        assert ours[tool]["n_instances"] == len(used), tool
        assert ours[tool]["total_cpu_time_s"] == pytest.approx(sum(used), rel=0.15, abs=0.11), tool
    assert theirs["summarypy"]["n_instances"] <= ours["summarypy"]["n_instances"]
    assert theirs["summarypy"]["total_cpu_time_s"] < ours["summarypy"]["total_cpu_time_s"]


def test_memory_of_what_lives_agrees(both):
    theirs, ours = both.stats
    for tool in ("gulpy", "fmpy"):
        for name in ("single_peak_uss_mb", "agg_peak_rss_mb", "agg_peak_pss_mb"):
            assert ours[tool][name] == pytest.approx(theirs[tool][name], rel=0.05), (tool, name)


def _png(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def test_report_has_the_same_files_and_headings(both):
    folders = [both.tmp / side / "log" / "resource_report" for side in ("theirs", "ours")]
    names = [sorted(p.name for p in folder.iterdir()) for folder in folders]
    assert names[0] == names[1] and len(names[1]) == 7
    for name in names[1]:
        if name.endswith(".png"):
            assert _png(folders[1] / name) == _png(folders[0] / name)
    texts = [(folder / "resource_report.md").read_text().splitlines() for folder in folders]

    def frame(lines):
        """What is the same in every report."""
        return [re.sub(r"[\d:., /%-]+", "#", line) for line in lines if not re.match(r"\| (\w+) \||\*Source", line)]

    assert frame(texts[1]) == frame(texts[0])
    rows = [[re.sub(r"[\d.]+", "#", line) for line in lines if line.startswith("| gulpy |")] for lines in texts]
    assert rows[1] == rows[0] and len(rows[1]) == 1


def test_statistics_of_the_switch_are_the_original_s(both, module):
    for path in both.files:
        rows = module._load_csv(str(path))
        assert _rows.load_csv(str(path)) == rows
        assert _rows.compute_stats(rows, original=True) == module._compute_stats(rows)
        assert _rows.compute_peak_total_uss(rows, original=True) == module._compute_peak_total_uss(rows)
        series = [dict(m._aggregate_by_tool_and_time(rows, *a)) for m, a in ((module, ()), (oasislmf, (True,)))]
        assert set(series[0]) == set(series[1])
        for tool, points in series[0].items():
            assert [p[:1] + p[3:] for p in points] == [p[:1] + p[3:] for p in series[1][tool]]


def test_signature_and_constants(module):
    assert module.MONITORED_TOOLS == oasislmf.MONITORED_TOOLS and module.TOOL_COLORS == oasislmf.TOOL_COLORS
    assert module.CSV_HEADER == oasislmf.CSV_HEADER
    for name in ("__init__", "start", "stop"):
        pair = [inspect.signature(getattr(m.ResourceMonitor, name)).parameters for m in (module, oasislmf)]
        assert {n: p.default for n, p in pair[0].items()} == {n: p.default for n, p in pair[1].items()
                                                              if n != "original"}
    functions = [n for n in vars(module)
                 if n.startswith("_") and inspect.isfunction(getattr(module, n)) and n != "_in_order"]
    assert {n for n in functions if getattr(module, n).__module__ == "original"} <= set(vars(oasislmf))


def test_cumulative_cpu_time_never_falls(both):
    series = _plots._cumulative(_rows.load_csv(str(both.files[1])))
    for tool, points in series.items():
        values = [value for _, value in points]
        assert values == sorted(values)
        assert values[-1] == pytest.approx(sum(both.judge[tool]), rel=0.15, abs=0.05)


def _row(ts, tool, pid, uss, cpu=1.0, **more):
    return {"ts": ts, "tool": tool, "pid": pid, "cpu": 50.0, "cpu_user": cpu, "cpu_sys": 0.0, "rss": uss, "uss": uss,
            "pss": uss, **more}


def test_two_files_are_added_up_in_time_and_pids_do_not_mix():
    """Worked out by hand: 100 and 200 MB side by side, at moments that the two files do not share."""
    rows = [_row(t, "gulpy", 7, 102400, source=0) for t in (0.0, 1.0, 2.0)] + [_row(t, "gulpy", 7, 204800, source=1)
                                                                               for t in (0.5, 1.5)]
    stats = _rows.compute_stats(rows)["gulpy"]
    assert (stats["n_instances"], stats["agg_peak_uss_mb"], stats["total_cpu_time_s"]) == (2, 300.0, 2.0)
    assert _rows.compute_peak_total_uss(rows) == 300.0
    theirs = _rows.compute_stats(rows, original=True)["gulpy"]
    assert (theirs["n_instances"], theirs["agg_peak_uss_mb"], theirs["total_cpu_time_s"]) == (1, 200.0, 1.0)


def test_the_row_of_an_ended_process_is_no_memory_and_no_instance():
    rows = [_row(0.0, "fmpy", 1, 1024), _row(1.0, "fmpy", 1, 0, cpu=2.0), _row(1.0, "fmpy", 2, 3072),
            _row(2.0, "fmpy", 2, -1)]
    stats = _rows.compute_stats(rows)["fmpy"]
    assert (stats["n_instances"], stats["n_samples"], stats["avg_uss_mb"]) == (2, 3, 2.0)
    assert [point[4] for point in _rows.aggregate_by_tool_and_time(rows)["fmpy"]] == [1, 1, 1]


def test_reports_of_several_folders(tmp_path):
    for number in range(2):
        folder = tmp_path / "log" / f"chunk{number}"
        folder.mkdir(parents=True)
        with open(folder / "resource_monitor.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(oasislmf.CSV_HEADER)
            writer.writerows([100.0 + number / 2 + t, "gulpy", 7, 50.0, t, 0, 102400, 102400, 102400] for t in range(3))
            file.write("100,torn")
    monitor = oasislmf.ResourceMonitor(str(tmp_path / "none"), log_root=str(tmp_path / "log"))
    monitor._generate_report()
    text = (tmp_path / "log" / "resource_report" / "resource_report.md").read_text()
    assert "**Total samples:** 6" in text and "**Peak total USS:** 200 MB" in text
    assert re.search(r"\| gulpy \| 2 \| 6 \| \*\*100.0\*\* \| \*\*200.0\*\*", text)


def test_without_matplotlib_the_pictures_come_from_the_tape(tmp_path, script):
    text = """
        import os, subprocess, sys
        sys.modules["matplotlib"] = None
        from barograph.compat.oasislmf import ResourceMonitor
        work = subprocess.Popen(["bash", "-c", "read go; exec -a gulpy sleep 1"], stdin=subprocess.PIPE)
        monitor = ResourceMonitor("log", 0.1)
        monitor.start(work.pid)
        work.communicate(b"go\\n")
        monitor.stop()
        print(sorted(os.listdir("log/resource_report")))
    """
    found = script(text, cwd=tmp_path).end()
    assert "resource_report.md" in found
    if "png" in found:  # baro was built with cairo
        assert _png(tmp_path / "log" / "resource_report" / "cpu_time.png") == (1800, 750)


def test_the_csv_is_complete_when_the_interpreter_is_killed(tmp_path, script):
    running = script("""
        import subprocess
        from barograph.compat.oasislmf import ResourceMonitor
        work = subprocess.Popen(["bash", "-c", "read go; bash -c 'exec -a lecpy sleep 1'; bash -c 'exec -a pltpy sleep 0.3'"],
                                stdin=subprocess.PIPE, start_new_session=True)
        ResourceMonitor("log", 0.1).start(work.pid)
        print(work.pid, flush=True)
        work.stdin.write(b"go\\n"); work.stdin.flush()
        import os, signal, time
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    """, cwd=tmp_path)
    running.line()
    running.end(-9)
    from conftest import ended

    from barograph import runs

    ended(runs()[0].path)
    path = Path(tmp_path / "log" / "resource_monitor.csv")
    originals_rows = _rows.load_csv(str(path))
    assert {row["tool"] for row in originals_rows} >= {"lecpy"}


def test_who_mentions_a_tool_is_none():
    program = {tool: re.compile(_tools.PROGRAM % tool) for tool in oasislmf.MONITORED_TOOLS}
    for line in ("gulpy -a1", "/usr/bin/gulpy", "python3 /usr/local/bin/gulpy -b", "python3.11 -u -X dev gulpy.py",
                 "./gulpy.py x", "/a/My Models/bin/python /a/My Models/bin/gulpy 1",
                 "/usr/bin/python3 -u ./My  old Models/bin/gulpy.py", "/a/My Models/bin/gulpy"):
        assert program["gulpy"].search(line), line
    for line in ("vim gulpy.log", "bash -c evepy | gulpy", "tee gulpy", "python3 -m pytest gulpy", "gulpyx", "mygulpy",
                 "/usr/bin/python3 /usr/bin/run --as /a/bin/gulpy", "/usr/bin/vim a/gulpy", "/a/My Models/bin/mygulpy"):
        assert not program["gulpy"].search(line), line


def test_plots_of_one_row(tmp_path, others):
    made = _plots.generate_plots([_row(0.0, "unknown", 1, 1024)], str(tmp_path), 24000.0)
    assert sorted(Path(p).name for p in made.values()) == sorted(_plots.PICTURES.values())
    assert math.isclose(_png(tmp_path / "total_footprint.png")[0], 1800) and json.dumps(made)
