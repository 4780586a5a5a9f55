# SPDX-License-Identifier: Apache-2.0
"""Drivers of GPUs that fail, hang, lose a device or are not there (fake_nvml.c): the job and all else go on, what is
not known is absent, and events say why."""

import json
import os
import re
import shutil
import signal

import pytest
from conftest import FULL
from nvidia import gpus  # noqa: F401
from nvidia import (HERE, JOB, SOURCE, WAIT, end, helpers_of, named, poll, readings, record_until, rows, start, warnings,
                    with_process)

# ---- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code, says", [(9, "not loaded"), (18, "library and kernel module differ"), (999, "999")])
def test_init_fails(run, tape, gpus, code, says):
    gpus.write(f"error nvmlInit_v2 {code}")
    p = start(run, tape, gpus)
    poll(lambda: any(says in w for w in warnings(run, tape)), "the warning")
    end(run, p)


def test_devices_that_are_not_given(run, tape, gpus):
    """Their values say why they are absent, and nobody is told that the job did not use them."""
    codes = {1: (4, "denied"), 2: (15, "gone"), 3: (999, "unknown")}
    found = with_process(run, tape, gpus, ["0 proc {pid} memory 2147483648", "0 proc {pid} sm 70", "0 util 70"],
                         lambda r: any(x["memory_bytes"] for x in r) and len(run.instants(tape)) > 12, devices=4,
                         always=[f"error nvmlDeviceGetHandleByIndex_v2 {c} {n}" for n, (c, _) in codes.items()])[0]
    text = run("export", "-e", "gpu", "--format", "jsonl", tape, status=0).stdout.splitlines()
    for n, (_, why) in codes.items():
        last = [row for row in map(json.loads, text) if row["name"] == f"gpu{n}"][-1]
        columns = "power_watts", "busy_ns", "memory_job_bytes", "busy_job_ns", "processes_job"
        assert {last["absent"][c] for c in columns} == {why}
    assert readings(found)[-1]["power_watts"] == 100
    assert "gpu-unused" not in {v["rule"] for v in run.summary(tape)["verdicts"]}
    assert [g["is_used"] for g in run.summary(tape)["gpus"]] == [True, None, None, None]
    total = run.summary(tape)["gpu"]
    assert (total["visible"], total["used"], total["memory_job_peak_bytes"]) == (4, 1, 2147483648)
    assert all(total[f"{f}_is_lower_bound"] for f in ("used", "busy_job", "memory_job", "energy", "job_energy")), total
    text = run("summary", "-v", tape).stdout
    said = (r"≥1 of 4 used .* ≥[\d.]+ GPU-seconds .* peak memory ≥2\.15 GB\s.*"
            r"\s≥[\d.]+ k?J")
    assert re.search(said, text, re.S), text


def test_lost_and_reset_in_mid_run(run, tape, gpus):
    """After a reset it is read again; its counters begin anew, and what there was counts; events say both. read_at says
    since when it was lost, and what processes had of it is not what they have."""
    gpus.env["BARO_GPU_AGAIN_MS"] = "300"
    gpus.write("0 power 200", devices=2)
    p = start(run, tape, gpus, job=JOB)
    try:
        poll(lambda: (run.work / "pid").exists() and (run.work / "pid").read_text().strip(), "the pid")
        process = f"1 proc {(run.work / 'pid').read_text().strip()} memory 1000000"
        gpus.write(process, devices=2)
        poll(lambda: any(r["memory_bytes"] for r in rows(run, tape, "gpu_process")), "the process")
        before = readings(rows(run, tape), "gpu1")[-1]
        gpus.write("error * 15 1", process, devices=2)
        poll(lambda: named(rows(run, tape), "gpu1")[-1]["power_watts"] is None, "its loss")
        lost = named(rows(run, tape), "gpu1")[-1]
        gone = rows(run, tape, "gpu_process")[-1]
        gpus.write("1 energy 7", process, devices=2)
        poll(lambda: named(rows(run, tape), "gpu1")[-1]["power_watts"] == 100, "its return")
        back = readings(rows(run, tape), "gpu1")[-1]["read_at_ns"]
        poll(lambda: readings(rows(run, tape), "gpu1")[-1]["read_at_ns"] > back, "another reading")
    finally:
        end(run, p)
    found = readings(rows(run, tape), "gpu1")
    assert lost["energy_joules"] is None and gone["memory_bytes"] is None
    energy = [r["energy_joules"] for r in found if r["energy_joules"] is not None]
    assert energy == sorted(energy) and energy[-1] >= before["energy_joules"]
    assert energy[-1] < 100 * found[-1]["read_at_ns"] / 1e9 + 1  # no leap
    assert any("not on the bus" in w for w in warnings(run, tape))
    said = [w.split(" (")[0] for w in warnings(run, tape) if w.startswith("GPU ")]
    assert said == ["GPU lost: gpu1", "GPU back: gpu1"]
    assert readings(rows(run, tape), "gpu0")[-1]["power_watts"] in (100, 200)


def test_library_vanishes(run, tape, gpus, work):
    """A helper that was killed starts without it: what was known of devices is absent, and an event says why."""
    library = work / "library"
    shutil.copytree(gpus.env["LD_LIBRARY_PATH"], library)
    (work / "empty").mkdir()
    gpus.env["LD_LIBRARY_PATH"] = library
    gpus.env["PATH"] = f"{work}/empty:/bin"
    gpus.write("0 power 200")
    p = start(run, tape, gpus)
    try:
        poll(lambda: len(readings(rows(run, tape))) >= 2, "readings")
        shutil.rmtree(library)
        for helper in helpers_of(p.pid):
            os.kill(helper, signal.SIGKILL)
        poll(lambda: named(rows(run, tape))[-1]["power_watts"] is None, "its end")
        poll(lambda: any("libnvidia-ml.so.1" in w for w in warnings(run, tape)), "the event")
    finally:
        end(run, p)
    assert run.summary(tape)["exit"]["status"] == 0


def test_xid(run, tape, gpus):
    gpus.write("@1 0 xid 79")
    found = record_until(run, tape, gpus, lambda r: r and r[-1]["xid_errors"])
    assert (found[-1]["xid_errors"], found[-1]["xid_last"]) == (1, 79)
    assert sum("Xid error 79" in w for w in warnings(run, tape)) == 1


def functions():
    text = (SOURCE / "src/programs/baro-gpu/nvml.h").read_text()
    fake = (HERE / "fake_nvml.c").read_text()
    names = re.findall(r'F\(\w+, \([^()]*\),[\s\\]*"(nvml\w+)"', text)  # the newest name of each
    return [n for n in names if re.search(rf'BEGIN\("{n}"|NUMBER\({n},', fake)]


HANGS = functions() if FULL else ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetPowerUsage",
                                  "nvmlDeviceGetSamples", "nvmlDeviceGetComputeRunningProcesses_v3",
                                  "nvmlEventSetWait_v2"]


@pytest.mark.parametrize("function", HANGS)
def test_hang(run, tape, gpus, function):
    """The job and all other samples go on; an event names the call."""
    gpus.write("0 smactive 5", "0 mig 1", "0.0 uuid MIG-a", "0 accounting 1", f"0 proc {os.getpid()} memory 1",
               f"hang {function}", devices=2)
    gpus.env["BARO_GPU_STUCK_MS"] = "700"
    p = start(run, tape, gpus)
    poll(lambda: any(f"{function}" in w for w in warnings(run, tape)), "the event")
    before = len(run.instants(tape))
    poll(lambda: len(run.instants(tape)) > before + 2, "more samples")
    end(run, p)
    assert any("has not answered for 0.7 s" in w for w in warnings(run, tape))


def test_hang_of_one_device(run, tape, gpus):
    """The other one is read on, by another process."""
    gpus.write("@1 hang nvmlDeviceGetPowerUsage 0", devices=2)
    gpus.env["BARO_GPU_STUCK_MS"] = "700"
    record_until(run, tape, gpus, lambda r: any(x["power_watts"] is None for x in named(r, "gpu0"))
                 and r[-1]["name"] == "gpu1" and r[-1]["power_watts"] == 100
                 and r[-1]["read_at_ns"] > max(x["read_at_ns"] or 0 for x in named(r, "gpu0")) + 10**9)
    assert any("nvmlDeviceGetPowerUsage of gpu0" in w for w in warnings(run, tape))


# ---- without the library ---------------------------------------------------------------------------------------------

def test_without_library(run, tape, gpus, work):
    (work / "empty").mkdir()
    p = start(run, tape, gpus, env={"LD_LIBRARY_PATH": None, "PATH": f"{work}/empty:/bin"}, job=WAIT)
    try:
        poll(lambda: any("libnvidia-ml.so.1 can't be loaded" in w for w in warnings(run, tape)),
             "the event")
    finally:
        end(run, p)
