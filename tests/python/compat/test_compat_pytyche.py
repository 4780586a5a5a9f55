# SPDX-License-Identifier: Apache-2.0
"""compat.pytyche beside the original."""

import dataclasses
import inspect
import json
import math
import os
import stat
from pathlib import Path

import originals
import pytest
from conftest import HANGS, hanging, poll

from barograph.compat import pytyche

SCRIPT = """
import json, os, resource, sys, threading, time
from pathlib import Path
log = RunLog()
monitor = HWMonitor()
out = Path("out")
used = resource.getrusage(resource.RUSAGE_SELF)
monitor.start(out, interval_sec=1)
print("begun", flush=True)
end = time.time() + 4.3
while time.time() < end: time.sleep(0.05)
paths = monitor.stop()
after = resource.getrusage(resource.RUSAGE_SELF)
log.log_phase("fit", 1.23456, chains=4, nested={"a": [1, None]})
log.log_event("start")
log.log_event("error", {"what": "caf\\u00e9", "at": Path("x")})
log.write(Path("log.jsonl"))
summary = build_resource_summary(*paths)
print(json.dumps({"paths": [None if p is None else str(p) for p in paths], "summary": summary.to_dict(),
    "cpu_csv": (out / "cpu_metrics.csv").read_text(), "log": Path("log.jsonl").read_text(), "jax": probe_jax_peak_memory_mb(),
    "gpu": (out / "hw_metrics.csv").read_text() if paths[0] else "", "dmon": (out / "hw_dmon.csv").read_text() if paths[2] else "",
    "cpu": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}))
"""
PATH = "pytyche/diagnostics/run_monitor.py"
OURS = "from barograph.compat.pytyche import *\n"


def _pair(tmp, folder):
    prelude = f"ORIGINAL = {str(folder)!r}\n" + originals.FILE.format(path=PATH)
    scripts = originals.start(tmp / "theirs", prelude, SCRIPT), originals.start(tmp / "ours", OURS, SCRIPT)
    originals.begun(*scripts)
    return originals.results(*scripts)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return _pair(tmp_path_factory.mktemp("pytyche"), originals.need("pytyche-0.2.1"))


def _cpu_rows(text):
    return [tuple(map(float, line.split(",")[1:])) for line in text.splitlines()[1:]]


def test_the_three_paths_and_the_cpu_file(both):
    theirs, ours = both
    assert ours["paths"] == theirs["paths"]
    lines = [text.splitlines() for text in (theirs["cpu_csv"], ours["cpu_csv"])]
    assert lines[1][0] == lines[0][0] == "timestamp,usr_pct,idle_pct"
    assert len(lines[1]) >= len(lines[0]) >= 3
    shape = [[len(cell) for cell in line.split(",")[:1]] for line in (lines[0][1], lines[1][1])]
    assert shape[0] == shape[1]  # of the time


def test_cpu_shares_agree(both):
    theirs, ours = both
    for column in (0, 1):
        means = [sum(row[column] for row in rows) / len(rows)
                 for rows in map(_cpu_rows, (theirs["cpu_csv"], ours["cpu_csv"]))]
        assert means[0] == pytest.approx(means[1], abs=15)  # the seconds are not the same ones
    assert all(0 <= value <= 100 for row in _cpu_rows(ours["cpu_csv"]) for value in row)


def test_lines_of_the_log_are_the_same(both):
    logs = [[{**json.loads(line), "ts": len(json.loads(line)["ts"])} for line in of["log"].splitlines()] for of in both]
    assert logs[0] == logs[1] and len(logs[0]) == 3
    assert [list(json.loads(line)) for line in both[0]["log"].splitlines()] == [list(json.loads(line))
                                                                                for line in both[1]["log"].splitlines()]
    assert both[0]["log"].split('"type"')[1:] and "\\u00e9" in both[1]["log"]


def test_summary(both):
    theirs, ours = both
    assert set(theirs["summary"]) >= set(ours["summary"]) and ours["jax"] == theirs["jax"] == 0.0
    if ours["paths"][0] is None:
        assert set(ours["summary"]) == {
            "cpu_usr_mean_pct",
            "cpu_idle_mean_pct",
        }  # where there is no GPU, it has no values
        assert theirs["summary"]["peak_vram_mb"] == 0.0


@pytest.fixture
def fake_gpus(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\ncase \"$1\" in\n-L) echo 'GPU 0: Fake'; exit ;;\n"
        "dmon) echo '# gpu     sm    mem    enc    dec    jpg    ofa     fb   bar1   ccpm'\necho '# Idx      %      %      %      %      %      %     MB     MB     MB'\n"
        "while :; do echo '    0     60     12      -      -      -      -   2048      0      0'; sleep 0.3; done ;;\n"
        "*) while :; do echo \"$(date '+%Y/%m/%d %H:%M:%S.%3N'), 60, 12, 2048, 81920, 301.50, 55, 1980, 2619\"; sleep 0.3; done ;;\nesac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_gpus(fake_gpus, tmp_path):
    theirs, ours = _pair(tmp_path, originals.need("pytyche-0.2.1"))
    assert ours["paths"] == theirs["paths"] and None not in ours["paths"]
    gpu = [{line.partition(", ")[2] for line in of["gpu"].splitlines()} for of in (theirs, ours)]
    assert gpu[0] == gpu[1] and len(gpu[0]) == 1
    assert set(ours["dmon"].splitlines()) == set(theirs["dmon"].splitlines())
    assert {k: v for k, v in ours["summary"].items() if "cpu" not in k} == {k: v for k, v in theirs["summary"].items()
                                                                            if "cpu" not in k}
    assert ours["summary"]["power_watts_max"] == 301.5 and ours["summary"]["mem_util_mean_pct"] == 12


def test_a_slow_nvidia_smi_blocks_nothing(fake_gpus, tmp_path):
    """Its first row comes when start() has long returned; one that never answers leaves no file, and a reason."""
    program = fake_gpus / "nvidia-smi"
    text = program.read_text()
    program.write_text(text.replace("#!/bin/sh", f"#!/bin/sh\nuntil [ -e {tmp_path}/go ]; do sleep 0.02; done"))
    first, second = pytyche.HWMonitor(), pytyche.HWMonitor()
    first.start(tmp_path / "first", 1)
    second.start(tmp_path / "second", 1)
    assert second.stop()[::2] == (None, None) and "printed nothing" in second.absent["gpu"]
    assert not (tmp_path / "second" / "hw_metrics.csv").exists()
    (tmp_path / "go").touch()
    files = [tmp_path / "first" / name for name in ("hw_metrics.csv", "hw_dmon.csv")]
    poll(lambda: all("60" in file.read_text() for file in files), "rows")
    assert list(first.stop()[::2]) == files and not {"gpu", "dmon"} & set(first.absent)


def test_no_nvidia_smi_is_left_when_the_interpreter_is_killed(fake_gpus, tmp_path, script):
    program = fake_gpus / "nvidia-smi"
    program.write_text(program.read_text().replace("sleep 0.3; done ;;\n*", HANGS + "; done ;;\n*"))
    running = script("""
        from barograph.compat.pytyche import HWMonitor
        import pathlib, time
        HWMonitor().start(pathlib.Path("out"), 1)
        print("x", flush=True)
        time.sleep(600)
    """, cwd=tmp_path)
    running.line()
    poll(lambda: (tmp_path / "out" / "cpu_metrics.csv").exists() and hanging(), "rows")
    running.process.kill()

    def left():
        return [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(fake_gpus).encode() in _bytes(p)]

    poll(lambda: not left() and not hanging(), "the end of nvidia-smi")
    assert (tmp_path / "out" / "cpu_metrics.csv").read_text().startswith("timestamp,usr_pct,idle_pct\n2")


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_log_is_there_after_a_kill(tmp_path, script):
    running = script("""
        import os, signal
        from barograph.compat.pytyche import RunLog
        log = RunLog()
        for i in range(100): log.log_event("step", {"i": i})
        print(log.spool, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    spool = Path(running.line())
    running.end(-9)
    assert [json.loads(line)["data"]["i"] for line in spool.read_text().splitlines()] == list(range(100))
    log = pytyche.RunLog(tmp_path / "direct.jsonl")
    log.log_phase("a", 1)
    assert json.loads((tmp_path / "direct.jsonl").read_text())["seconds"] == 1


def _events(path):
    return [json.loads(line)["event"] for line in path.read_text().splitlines()]


def test_write_does_to_a_path_what_open_does(tmp_path):
    """Links and modes stay, a pipe and a device are written to, and the folder need not be writable."""
    log = pytyche.RunLog()
    log.log_event("x")
    spool = log.spool
    (tmp_path / "file").write_text("old\n" * 99)
    (tmp_path / "file").chmod(0o600)
    os.link(tmp_path / "file", tmp_path / "second")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    child = os.fork()
    if child == 0:
        log.log_event("of a child")
        log.write(tmp_path / "child")
        os._exit(0)
    os.waitpid(child, 0)
    assert _events(tmp_path / "child") == ["x", "of a child"] and _events(spool) == ["x"]
    log.write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and _events(tmp_path / "second") == ["x"]
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600 and not spool.exists()
    log.log_event("y")  # what has been written stays as it is; what comes later is kept as well
    assert _events(tmp_path / "file") == ["x"] and _events(log.spool) == ["y"]
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    log.write(str(tmp_path / "pipe"))
    assert [json.loads(line)["event"] for line in os.read(reader, 4096).splitlines()] == ["x", "y"]
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and os.listdir(tmp_path / "runs") == []
    with pytest.raises(FileNotFoundError):
        log.write(tmp_path / "no" / "x")


def test_a_log_takes_any_data(tmp_path):
    class Bad:
        def __str__(self):
            raise OSError("no")

    log, data = pytyche.RunLog(tmp_path / "direct"), {}
    data["own"] = data
    for each in (data, {(1, 2): 3}, {"bad": Bad()}, {"nan": math.nan, "set": {1}}):
        log.log_event("e", each)
    log.log_phase("p", 1.5, own=data)
    log.write(tmp_path / "all")
    lines = [json.loads(line) for line in (tmp_path / "all").read_text().splitlines()]
    assert [line["type"] for line in lines] == ["event"] * 4 + ["phase"] and lines[4]["seconds"] == 1.5
    assert lines[0]["data"] == "{'own': {...}}" and lines[1]["data"] == "{(1, 2): 3}" and lines[3]["data"]["set"] == "{1}"
    assert (tmp_path / "direct").read_text() == (tmp_path / "all").read_text()


def test_in_a_recording_lines_are_marks():
    import barograph

    with barograph.record("t.baro") as rec:
        log = pytyche.RunLog()
        log.log_event("start", {"k": 1})
        log.log_phase("fit", 2.5)
    assert [(m.name, m.attributes) for m in rec.tape.marks] == [("start", {"k": 1}), ("fit", {"seconds": 2.5})]


def test_absent_has_a_reason_and_the_switch_gives_zeros(tmp_path):
    summary = pytyche.build_resource_summary(None, tmp_path / "no.csv")
    assert math.isnan(summary.peak_vram_mb) and summary.absent["peak_vram_mb"] == "there is no file"
    assert summary.absent["cpu_usr_mean_pct"].endswith("does not exist") and summary.to_dict() == {}
    zeros = pytyche.build_resource_summary(None, None, original=True)
    assert zeros == pytyche.ResourceSummary() and zeros.to_dict()["peak_vram_mb"] == 0.0
    monitor = pytyche.HWMonitor()
    assert monitor.stop() == (None, None, None)


def test_two_gpus_have_memory_together(tmp_path):
    row = "2026/01/01 00:00:0{}.00{}, 10, 1, {}, 100, 50, 40, 1, 1\n"
    (tmp_path / "g.csv").write_text("".join(row.format(t, g, 1000 + t + g) for t in range(3)
                                            for g in range(2)) + "x, [N/A], y\n")
    assert pytyche.build_resource_summary(tmp_path / "g.csv", None).peak_vram_mb == 2005
    assert pytyche.build_resource_summary(tmp_path / "g.csv", None, original=True).peak_vram_mb == 1003


def test_a_column_of_dmon_is_found_by_its_name(tmp_path):
    (tmp_path / "d").write_text(
        "# gpu     fb   bar1     sm    mem\n# Idx     MB     MB      %      %\n    0   2048      4     60     12\n    0      -      -      -      -\n"
    )
    assert pytyche.build_resource_summary(None, None, tmp_path / "d").mem_util_max_pct == 12
    assert pytyche.build_resource_summary(None, None, tmp_path / "d", original=True).mem_util_max_pct == 4
    (tmp_path / "d").write_text("    0     60     12   2048\n")  # no names: the third, as there
    assert pytyche.build_resource_summary(None, None, tmp_path / "d").mem_util_max_pct == 12


def test_signatures():
    folder = originals.need("pytyche-0.2.1")
    code = """[[list(inspect.signature(f).parameters) for f in (RunLog.log_phase, RunLog.log_event, RunLog.write, HWMonitor.start,
        HWMonitor.stop, build_resource_summary, probe_jax_peak_memory_mb)],
        [[f.name, f.default] for f in dataclasses.fields(ResourceSummary)]]"""
    functions, fields = originals.said(f"ORIGINAL = {str(folder)!r}\n" + originals.FILE.format(path=PATH), code)
    ours, of_ours = eval(code, {**vars(pytyche), "inspect": inspect, "dataclasses": dataclasses})
    assert [[n for n in f if n != "original"] for f in ours] == functions and of_ours[: len(fields)] == fields
