# SPDX-License-Identifier: Apache-2.0
"""What is made of the values of GPUs (by the driver of fake_nvml.c): rows as other programs write them, and top."""

import csv
import io
import itertools
import os
import re

import pytest
from nvidia import gpus  # noqa: F401
from nvidia import SOURCE, readings, record_until, with_process

# ---- as other programs write it ------------------------------------------------------------------------------------


def test_pytyche(run, tape, gpus):
    """As nvidia-smi writes them, so that what reads those reads these."""
    gpus.write("0 util 70", "0 memutil 30", "0 buffer none", "0 power 340.5", "error nvmlDeviceGetTemperature 3 1",
               devices=2)
    record_until(run, tape, gpus, lambda r: len(readings(r, "gpu1")) >= 4)
    rows = run("export", "--dialect", "pytyche-hw", tape, status=0).stdout.splitlines()
    assert len(rows) >= 6
    date, values = rows[0].split(", ", 1)
    assert re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}", date)
    assert re.fullmatch(r"(69|70|71), (29|30|31), 1024, 81920, 340\.50, 41, 1980, 2619", values)
    assert any(", [N/A], 1980" in row for row in rows)
    rows = run("export", "--dialect", "pytyche-dmon", tape, status=0).stdout.splitlines()
    assert rows[0].split() == ["#", "gpu", "sm", "mem", "enc", "dec", "fb"]
    assert [row.split()[0] for row in rows[2:4]] == ["0", "1"]
    assert abs(int(rows[2].split()[2]) - 30) <= 1 and rows[2].split()[5] == "1024"


def test_each_device_has_its_own_time(run, tape, gpus):
    """A driver that is slow now and then reads the second device later: its use is over the time between its
    readings."""
    slow = [f"@{t} slow nvmlDeviceGetPowerUsage {450 * (t % 2)} 0" for t in range(1, 40)]
    gpus.write("0 util 50", "0 buffer none", "1 util 100", "1 buffer none", *slow, devices=2)
    found = record_until(run, tape, gpus, lambda r: len(readings(r, "gpu1")) >= 6)
    apart = [b["read_at_ns"] - a["read_at_ns"] for a, b in itertools.pairwise(readings(found, "gpu1"))]
    assert max(apart) > 1.2 * min(apart), "the driver was not slow"
    text = run("export", "-e", "gpu", "-c", "name,busy_ratio", tape, status=0).stdout
    ratios = [(r["name"], float(r["busy_ratio"])) for r in csv.DictReader(io.StringIO(text)) if r["busy_ratio"]]
    assert {name for name, _ in ratios} == {"gpu0", "gpu1"}
    assert all(ratio == pytest.approx(0.5 if name == "gpu0" else 1, rel=0.001) for name, ratio in ratios), ratios
    for dialect in "spare-cores", "spare-cores-mended", "spare-cores-0.5":
        rows = csv.DictReader(io.StringIO(run("export", "--dialect", dialect, "-e", "host", tape, status=0).stdout))
        shares = {float(r["gpu_usage"]) for r in rows if r["gpu_usage"] not in ("", "nan")}
        assert shares and shares <= {1.5, 0.5, 1}, (dialect, shares)  # while one was read once, it has none


def test_spare_cores(run, tape, gpus):
    """--smi-rounding: whole percents and whole MiB of each device, as a program that reads nvidia-smi has them."""
    part = (1 << 20) // 4
    gpus.write("0 util 33", "1 util 33", "0 buffer none", "1 buffer none", f"0 used {(7 << 20) + 3 * part}",
               f"1 used {(9 << 20) + 3 * part}", devices=2)
    record_until(run, tape, gpus, lambda r: len(readings(r, "gpu1")) >= 5)
    for more, vram in ([], 17.5), (["--smi-rounding"], 16):
        text = run("export", "--dialect", "spare-cores-mended", "-e", "host", *more, tape, status=0).stdout
        last = list(csv.DictReader(io.StringIO(text)))[-1]
        assert last["gpu_utilized"] == "2" and float(last["gpu_vram"]) == vram
        assert float(last["gpu_usage"]) == pytest.approx(0.66, rel=0.001)
        whole = abs(float(last["gpu_usage"]) * 100 - round(float(last["gpu_usage"]) * 100)) < 1e-9
        assert whole or not more
    assert "--dialect" in run("export", "--smi-rounding", tape, status=2).stderr


def test_top(run, tape, gpus):
    """Devices, and below each what the job's processes use of it: the same numbers as the export has."""
    gpus.write("0 buffer none", "0 util 80")
    lines = ["0 buffer none", "0 util 80", "0 power 250.4", "0 used 4294967296", "0 proc {pid} memory 2147483648",
             "0 proc {pid} sm 70", "1 buffer none", "1 proc {pid} memory 1073741824"]
    devices, mine = with_process(run, tape, gpus, lines,
                                 lambda r: len([x for x in readings(r) if x["busy_job_ns"]]) >= 3,
                                 entity="gpu", devices=2)
    for dialect in "spare-cores", "spare-cores-0.5":  # memory alone is no use of the second one
        rows = csv.DictReader(io.StringIO(run("export", "--dialect", dialect, tape, status=0).stdout))
        assert {r["gpu_utilized"] for r in rows} - {"", "nan", "0"} == {"1"}
    pid = int((run.work / "pid").read_text())
    at = [r for r in readings(devices) if r["memory_job_bytes"]][-2]["t_ns"] / 1e9
    text = run("top", "--once", "--at", f"+{at + 0.1:.3f}s", tape, status=0, env={"COLUMNS": "110"}).stdout
    shown = [" ".join(line.split()) for line in text.splitlines()]
    heading = [i for i, line in enumerate(shown) if line.endswith("GPU, PROCESS")]
    assert len(heading) == 1, text
    device, process = shown[heading[0] + 1:heading[0] + 3]
    assert device.endswith("gpu0 NVIDIA H100 80GB HBM3") and device.startswith("80% "), text
    assert "4.29 GB" in device and "250 W" in device and "1980 MHz" in device
    assert process.endswith(f"{pid} sh") and "2.15 GB" in process
    run("plot", tape, "gpu.energy@gpu0", "-o", run.work / "power.svg", status=0)  # its rate is power, in watts
    assert 100 < float(re.search('data-max="([^"]*)"', (run.work / "power.svg").read_text())[1]) < 1000


# ---- allocators ------------------------------------------------------------------------------------------------------


def test_allocators_peak_beside_the_devices(run, tape, gpus, baro):
    """The largest of one device that PyTorch or JAX had by its marks; what it reserved, and other marks, are none."""
    gpus.write()
    marks = ["torch gpu0_peak_bytes=61000000000 gpu0_reserved_peak_bytes=70000000000", "jax gpu1_peak_bytes=7000",
             "other gpu0_peak_bytes=99000000000", "torch gpu0_peak_bytes=-1 gpu_peak_bytes=98000000000"]
    job = "".join(f"{baro} mark {mark}; " for mark in marks) + "sleep 2"
    done = run("run", "-q", "-i", "200ms", "-o", tape, "--", "sh", "-c", job, env=gpus.env)
    assert done.returncode == 0 and run.summary(tape)["gpu"]["allocator_peak_bytes"] == 61000000000
    assert "allocator's peak 61.0 GB" in run("summary", "-v", tape).stdout
    run("run", "-q", "-i", "200ms", "-o", tape, "--force", "--", "sleep", "2", env=gpus.env)
    assert run.summary(tape)["gpu"]["allocator_peak_bytes"] is None and "allocator" not in run("summary", "-v", tape).stdout


# ---- other accelerators ----------------------------------------------------------------------------------------------


def test_recipes_of_the_documentation(run, tape, work):
    """The scripts of docs/gpu.md as they stand there, with an NPU in a folder and a program hl-smi."""
    text = (SOURCE / "docs" / "gpu.md").read_text()
    for name in "npu.sh", "gaudi.sh":
        block = re.search(rf"`{name}`:\n\n((?:    .*\n)+)", text)[1]
        script = re.sub("^    ", "", block, flags=re.M)
        (work / name).write_text(script.replace("/sys/class/accel", str(work / "accel")))
    for n, us in (0, 1500000), (1, 7):
        (work / "accel" / f"accel{n}" / "device").mkdir(parents=True)
        (work / "accel" / f"accel{n}" / "device" / "npu_busy_time_us").write_text(f"{us}\n")
    (work / "hl-smi").write_text("#!/bin/sh\necho '0, 62, 1024, 310'\necho '1, 0, 768, 95'\n")
    (work / "hl-smi").chmod(0o755)
    path = f"{work}:{os.path.dirname(run.built)}:{os.environ['PATH']}"
    job = "sh npu.sh & one=$!; sh gaudi.sh & sleep 2; kill $one $!"
    run("run", "-q", "-i", "200ms", "-o", tape, "--", "sh", "-c", job, env={"PATH": path}, status=0)
    marks = {r["text"]: r["attributes"] for r in run.export(tape, "event") if r["event"] == "mark"}
    assert marks["accel0"] == {"busy_seconds": 1.5} and marks["accel1"] == {"busy_seconds": 7e-06}
    assert marks["gaudi0"] == {"busy_ratio": 0.62, "memory_used_bytes": 1 << 30, "power_watts": 310}
