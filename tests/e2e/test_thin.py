# SPDX-License-Identifier: Apache-2.0
"""`baro thin`, --thin-after and --reserve: what is old has fewer samples, a full disk does not end the recorder."""

import json
import os
import pathlib
import subprocess
import time

import pytest

HOUR = 3600


@pytest.fixture(scope="module")
def source(baro, tmp_path_factory):
    """Twenty seconds of a job in which a peak of memory and one of CPU time last a second each."""
    path = tmp_path_factory.mktemp("source") / "s.baro"
    lines = ["process 10 main rss_bytes=1000000 cpu_ns=0"]
    cpu = 0
    for s in range(61):
        rss = 90_000_000 if s == 17 else 1_000_000
        cpu += 900_000_000 if s == 33 else 10_000_000
        lines.append(f"process 10 main rss_bytes={rss} cpu_ns={cpu}")
        lines.append(f"sample {s * 1000} cpu_ns={cpu} processes=1 processes_started={s + 1}")
        lines.append(f"exit {s * 1000 + 500} {100 + s} short cpu_ns=1000000")
    tool = pathlib.Path(baro).parent / "tests/e2e/write_tape"
    subprocess.run([tool, path], input="\n".join(lines) + "\n", text=True, check=True)
    return path


@pytest.fixture
def folder(baro, source, work):
    """Four segments of five minutes; the newest is new, the others are two days old."""
    path = work / "days"
    tool = pathlib.Path(baro).parent / "tests/e2e/replay_tape"
    subprocess.run([tool, source, path, "1200", "300"], check=True)
    for p in sorted(path.iterdir())[:-1]:
        os.utime(p, (time.time() - 48 * HOUR,) * 2)
    return path


def sizes(folder):
    return {p.name: p.stat().st_size for p in folder.iterdir()}


def test_counters_exits_and_peaks_stay(run, folder):
    before, was = run.export(folder, "job"), sizes(folder)
    exits = len(run.export(folder, "exit"))
    summary = run.summary(folder)
    run("thin", folder, status=0)
    after, now = run.export(folder, "job"), sizes(folder)
    newest = max(was)
    assert all((now[name] < was[name] / 2) == (name != newest) for name in was)
    assert len(after) < len(before) / 2
    known = {row["t_ns"]: row for row in before}
    assert all(row["cpu_ns"] == known[row["t_ns"]]["cpu_ns"] for row in after)
    assert len(run.export(folder, "exit")) == exits
    thinned = run.summary(folder)
    assert summary["thinned_to"] is None and thinned["thinned_to"] == 10
    for name in ("cpu_ns", "rss_peak_bytes", "processes_started"):
        assert thinned["job"][name] == summary["job"][name]
    assert thinned["job"]["rss_peak_bytes"] == 90_000_000
    # The second with 0.9 cores is still one of its own in each minute.
    rates = [(b["cpu_ns"] - a["cpu_ns"]) / (b["t_ns"] - a["t_ns"]) for a, b in zip(after, after[1:])]
    assert max(rates[:len(rates) // 2]) > 0.85
    assert "thinned" in " ".join(run("summary", "-v", folder, status=0).stdout.split())
    # Thinned once, it stays.
    run("thin", folder, status=0)
    assert sizes(folder) == now


def test_age_and_what_is_no_folder_of_segments(run, folder, source):
    was = sizes(folder)
    run("thin", folder, "--after", "3d", status=0)
    assert sizes(folder) == was
    r = run("thin", source)
    assert r.returncode and "segments" in r.stderr
    assert "--keep" in run("record", "--host", "--thin-after", "1d", "-o", folder.with_name("x")).stderr


def test_an_open_reader_goes_on(run, folder):
    """It reads the old file to its end, then the next segment, without a gap."""
    whole = len(run.export(folder, "exit"))
    first = open(sorted(folder.iterdir())[0], "rb")
    run("thin", folder, status=0)
    assert os.fstat(first.fileno()).st_nlink == 0 and len(first.read()) > 1000
    assert len(run.export(folder, "exit")) == whole


def test_a_damaged_segment_is_left_as_it_is(run, folder):
    second = sorted(folder.iterdir())[1]
    second.write_bytes(b"no tape" * 1000)
    os.utime(second, (time.time() - 48 * HOUR,) * 2)
    r = run("thin", folder)
    assert r.returncode == 0 and "000002" in r.stderr
    assert second.read_bytes().startswith(b"no tape")
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def test_the_recorder_thins(run, baro, work, wait_until):
    tape = work / "m"

    def is_thinned():
        r = subprocess.run([baro, "summary", "--json", tape], capture_output=True, text=True)
        return r.returncode == 0 and json.loads(r.stdout)["thinned_to"] == 10

    p = run.popen("record", "--host", "--keep", "1h", "--thin-after", "10s", "-i", "50ms", "-q", "-o", tape)
    try:
        wait_until(is_thinned, "a segment to be thinned", 120)
    finally:
        p.terminate()
        p.wait()
    assert run.export(tape, "host")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_full_disk(run, work, wait_until):
    """The reserve is kept, the oldest segments go, the recorder goes on and says so."""
    disk = work / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk]).returncode:
        pytest.skip("no file system can be mounted")
    try:
        tape = disk / "t"
        p = run.popen("run", "--keep", "1h", "--reserve", "2MB", "-i", "100ms", "--overhead", "off", "-q", "-o", tape, "--",
                      "python3", "-c", BUSY, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: tape.is_dir() and min(n.name for n in tape.iterdir()) > "000001.baro", "a segment to go", 120)
        (disk / "fill").write_bytes(b"x" * 500_000)
        time.sleep(2)
        assert p.poll() is None
        p.terminate()
        err = p.communicate(timeout=60)[1]
        assert err.count("nearly full") == 1
        assert any(e["event"] == "warning" and "nearly full" in e["text"] for e in run.export(tape, "event"))
    finally:
        subprocess.run(["umount", "-l", disk])


BUSY = """
import os, secrets, time
while True:
    with open(os.environ["BARO_EVENTS"], "a") as marks:
        marks.writelines('{"mark": "noise", "text": "%s"}\\n' % secrets.token_hex(400) for _ in range(40))
    time.sleep(0.05)
"""


@pytest.mark.skipif("BARO_NO_BUDGET" in os.environ, reason="a sanitizer's memory grows")
def test_a_machine_for_a_while(baro):
    """The soak of `make soak`, in short: killed and started again, no gap but these, the folder within its bound."""
    tool = pathlib.Path(__file__).resolve().parents[2] / "tools/soak_machine.py"
    r = subprocess.run([tool, baro, "20", "2MB"], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr
