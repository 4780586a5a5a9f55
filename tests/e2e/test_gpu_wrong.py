# SPDX-License-Identifier: Apache-2.0
"""Drivers of GPUs that fail, hang, lose a device or are not there (fake_nvml.c): the job and all else go on, what is
not known is absent, and events say why. Without the library: nvidia-smi."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from conftest import FULL
from nvidia import gpus  # noqa: F401
from nvidia import (HERE, JOB, SOURCE, WAIT, end, helpers_of, named, poll, rate, readings, record_until, rows, start,
                    warnings, with_process)

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
    text = run("summary", tape).stdout
    said = (r"at least 1 of 4 used .* at least [\d.]+ GPU-seconds .* peak memory at least 2\.15 GB\s.*"
            r"\sat least \d+ J")
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

SMI = r"""#!/bin/sh
echo "$@" >> "$SMI_CALLS"
case "$1" in *utilization.decoder*) echo 'Field "utilization.decoder" is not a valid field to query.'; exit 2;; esac
{hang}
echo 'index, uuid, name, pci.bus_id, driver_version, utilization.gpu [%], utilization.memory [%], memory.used [MiB],' \
    'memory.total [MiB], power.draw [W], temperature.gpu, clocks.sm [MHz], pstate, fan.speed [%]'
echo '0, GPU-a, NVIDIA L4, 00000000:00:03.0, 580.173.02, 70 %, 12 %, 7532 MiB, 23034 MiB,' \
    '34.39 W, 61, 1455 MHz, P2, 0 %'
echo '1, GPU-b, NVIDIA GB10, 00000000:00:04.0, 580.173.02, 0 %, [N/A], [N/A], [N/A], 4.05 W, 38, 208 MHz, P8, [N/A]'
"""


def smi_tape(run, tape, gpus, work, condition, hang="", options=()):
    """Records with a program nvidia-smi in the place of the library."""
    folder = work / "bin"
    folder.mkdir()
    (folder / "nvidia-smi").write_text(SMI.format(hang=hang))
    (folder / "nvidia-smi").chmod(0o755)
    env = {"LD_LIBRARY_PATH": None, "PATH": f"{folder}:{os.environ['PATH']}", "SMI_CALLS": work / "smi-calls"}
    p = start(run, tape, gpus, *options, env=env)
    try:
        poll(lambda: condition(rows(run, tape)), "rows")
    finally:
        end(run, p)
    return run.export(tape, "gpu")


def test_nvidia_smi_in_the_place_of_the_library(run, tape, gpus, work):
    """By its headers; a field that it does not know is left out; the source is named."""
    found = smi_tape(run, tape, gpus, work, lambda r: len(readings(r)) >= 2)
    row, other = readings(found)[-1], readings(found, "gpu1")[-1]
    assert row["label"] == "NVIDIA L4"
    assert (row["memory_used_bytes"], row["memory_total_bytes"]) == (7532 << 20, 23034 << 20)
    assert (row["power_watts"], row["temperature_celsius"], row["clock_hertz"]) == (34.39, 61, 1455e6)
    assert (row["performance_state"], row["fan_ratio"], row["energy_estimated"]) == (2, 0, 1)
    assert rate(readings(found), "busy_ns") == pytest.approx(0.7, rel=0.02)
    assert rate(readings(found), "energy_joules") * 1e9 == pytest.approx(34.39, rel=0.05)
    assert other["memory_used_bytes"] is None and other["fan_ratio"] is None and other["power_watts"] == 4.05
    assert row["memory_job_bytes"] is None and row["decoder_busy_ns"] is None and row["throttled_power_ns"] is None
    assert "nvidia-smi" in run("export", "-e", "gpu", "--format", "jsonl", tape, status=0).stdout
    assert any("read by nvidia-smi" in w for w in warnings(run, tape))
    calls = (work / "smi-calls").read_text().splitlines()
    assert [c for c in calls if "utilization.decoder" in c] == calls[:1]


# poll() whose caller is slow after a time that ran out.
SLOW_POLL = r"""
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
int poll(struct pollfd *at, nfds_t n, int ms)
{
    struct { long s, ns; } t = {ms / 1000, ms % 1000 * 1000000L};
    int got = (int)syscall(SYS_ppoll, at, n, ms < 0 ? 0 : &t, 0, 0);
    if (!got && n == 1 && ms == 100)
        usleep(500000);
    return got;
}
"""


def test_nvidia_smi_that_prints_and_ends_at_once(run, tape, gpus, work):
    """What it prints after the pipe was found empty, and before it is found to have ended, is read."""
    (work / "poll.c").write_text(SLOW_POLL)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", work / "poll.so", work / "poll.c"], check=True)
    asan = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"
    gpus.env.update({"LD_PRELOAD": work / "poll.so", "ASAN_OPTIONS": asan})
    found = smi_tape(run, tape, gpus, work, lambda r: readings(r) or warnings(run, tape), hang="sleep 0.3")
    assert readings(found) and readings(found)[-1]["power_watts"] == 34.39, warnings(run, tape)


@pytest.mark.long
def test_nvidia_smi_that_hangs_is_killed(run, tape, gpus, work):
    """Values are absent from then on, an event says so, and it is not run again for a while."""
    found = smi_tape(run, tape, gpus, work, lambda r: any(x["power_watts"] is None for x in named(r)),
                     hang='test $(wc -l < "$SMI_CALLS") -lt 3 || { echo $$ > "$SMI_CALLS.pid"; exec sleep 1000; }')
    assert any(x["power_watts"] for x in named(found))
    assert any("did not answer" in w for w in warnings(run, tape))
    pid = int((work / "smi-calls.pid").read_text())
    poll(lambda: not os.path.exists(f"/proc/{pid}"), "its end")


def test_without_library_and_nvidia_smi(run, tape, gpus, work):
    (work / "empty").mkdir()
    p = start(run, tape, gpus, env={"LD_LIBRARY_PATH": None, "PATH": f"{work}/empty:/bin"}, job=WAIT)
    try:
        poll(lambda: any("there is no nvidia-smi" in w for w in warnings(run, tape)), "the event")
    finally:
        end(run, p)
