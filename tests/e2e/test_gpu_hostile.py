# SPDX-License-Identifier: Apache-2.0
"""A driver that says what cannot be, crashes or forks (fake_nvml.c): what is wrong is absent, and the job and all else go
on."""

import contextlib
import itertools
import os

import pytest
from conftest import FULL, PATIENCE
from nvidia import gpus  # noqa: F401
from nvidia import GIB, WAIT, poll, readings, rows, start, warnings


@contextlib.contextmanager
def recording(run, tape, gpus, env=None, job=":"):
    """Records while the test does what it does. The status is the job's, whatever the driver does."""
    p = start(run, tape, gpus, job=f"{job}; {WAIT}; exit 7", env=env)
    try:
        yield
    finally:
        (run.work / "go").touch()
        assert p.wait(timeout=PATIENCE) == 7
    assert run.summary(tape)["exit"]["status"] == 7


def record(run, tape, gpus, condition=readings, **kw):
    """Records until the rows of GPUs are as they should be."""
    with recording(run, tape, gpus, **kw):
        poll(lambda: condition(rows(run, tape)), "rows of gpu")
    return run.export(tape, "gpu")


def next_readings(run, tape, n):
    before = len(readings(rows(run, tape)))
    poll(lambda: len(readings(rows(run, tape))) >= before + n, "readings")


def record_good_then(run, tape, gpus, good, bad, devices=1):
    """Returns the rows: the first reading of a device is of the good script, the last of the bad one."""
    gpus.write(*good, devices=devices)
    with recording(run, tape, gpus):
        next_readings(run, tape, 1)
        gpus.write(*bad, devices=devices)
        next_readings(run, tape, 3)
    return run.export(tape, "gpu")


GAUGES = ["memory_used_bytes", "memory_total_bytes", "memory_reserved_bytes", "power_watts", "power_limit_watts",
          "temperature_celsius", "memory_temperature_celsius", "clock_hertz", "clock_most_hertz", "memory_clock_hertz",
          "memory_clock_most_hertz", "performance_state", "fan_ratio", "pcie_generation", "pcie_width", "retired_pages"]
KEYS = ["used", "total", "reserved", "power", "limit", "temp", "memtemp", "sm", "smmax", "mem", "memmax", "pstate",
        "fan", "pciegen", "pciewidth", "remapped"]


VALUES = "4294967295", "-1", "1e19"  # of the first devices
LEAPS = (0, "nan"), (0, "-1e18"), (3, "1e18"), (4, "-1e18")  # of the others: type of the field, and value
COUNTERS = ["pcietx", "pcierx", "nvtx", "nvrx", "pviol", "tviol", "sviol", "bviol", "rviol", "ecc", "ecc2", "energy"]


def test_what_no_device_can_have(run, tape, gpus):
    """Of gauges, what was said before stays as the peak. Counters that leap are neither bytes, joules and time of this
    job, nor do they fall."""
    good = [f"{n} fan 30" for n in range(3)] + [f"{n} fieldtype {kind}" for n, (kind, _) in enumerate(LEAPS, 3)]
    bad = [f"{n} {k} {value}" for n, value in enumerate(VALUES) for k in KEYS] + [f"{n} fieldtype 0" for n in range(3)]
    bad += [f"{n} fieldtype {kind}" for n, (kind, _) in enumerate(LEAPS, 3)]
    bad += [f"{n} {k} {value}" for n, (_, value) in enumerate(LEAPS, 3) for k in COUNTERS]
    found = record_good_then(run, tape, gpus, good, bad, devices=3 + len(LEAPS))
    for n, value in enumerate(VALUES):
        check_gauges(readings(found, f"gpu{n}"), value)
    for n in range(3, 3 + len(LEAPS)):
        check_counters(readings(found, f"gpu{n}"))


def check_gauges(found, value):
    first, last = found[0], found[-1]
    assert first["memory_used_bytes"] == GIB and first["fan_ratio"] == 0.3
    for column in GAUGES:
        if not (value == "4294967295" and column.startswith("memory_") and column.endswith("_bytes")):
            assert last[column] is None or last[column] <= first[column] * 2, (column, last[column])
    if value == "1e19":  # of 32 bits the driver has none of it
        assert last["memory_used_bytes"] is None and last["memory_total_bytes"] is None
    else:
        assert last["power_watts"] is last["temperature_celsius"] is last["performance_state"] is None
    assert (last["memory_used_peak_bytes"] or 0) <= 4 * GIB and (last["power_peak_watts"] or 0) <= 1000


def check_counters(found):
    seconds = found[-1]["read_at_ns"] / 1e9
    for column in found[0]:
        if column.endswith("_ns") and column not in ("read_at_ns", "t_ns"):
            assert (found[-1][column] or 0) <= 1e9 * (seconds + 1), column
            assert (found[-1][column] or 0) >= 0, column
    assert (found[-1]["energy_joules"] or 0) < 1e5 * (seconds + 1)
    for column in ("pcie_sent_bytes", "pcie_received_bytes", "nvlink_sent_bytes"):
        assert (found[-1][column] or 0) < 1e14 * (seconds + 1), column


def test_a_counter_that_was_absent_is_no_leap(run, tape, gpus):
    """What it grew by meanwhile counts."""
    good = ["0 pviol 1", "0 smactive 90"]

    def missing_ns(column):
        found = readings(rows(run, tape))
        return found[-1]["read_at_ns"] - max(r["read_at_ns"] for r in found if r[column] is not None)

    gpus.write(*good)
    with recording(run, tape, gpus):
        next_readings(run, tape, 2)
        gpus.write(*good, "error nvmlDeviceGetFieldValues 999", "error nvmlGpmSampleGet 999")
        poll(lambda: all(missing_ns(c) > 2.5e9 for c in ("throttled_power_ns", "sm_active_ns")), "a gap")
        gpus.write(*good)
        poll(lambda: not any(missing_ns(c) for c in ("throttled_power_ns", "sm_active_ns")), "both")
        next_readings(run, tape, 2)
    found = readings(rows(run, tape))
    assert any(r["throttled_power_ns"] is None for r in found)
    for column in "throttled_power_ns", "sm_active_ns":
        there = [r for r in found if r[column] is not None]
        gaps = [b["read_at_ns"] - a["read_at_ns"] for a, b in itertools.pairwise(there)]
        assert max(gaps) > 2.5e9, (column, gaps)
        assert there[-1][column] > 0.75 * (there[-1]["read_at_ns"] - there[0]["read_at_ns"]), column


def test_processes_that_cannot_be(run, tape, gpus):
    """More memory than the device has is not known, and neither is the sum of what others hold."""
    gpus.write(f"0 proc {os.getpid()} memory 1e18", "0 proc 4111222 memory 1e18", f"0 proc {os.getpid()} most 1e18",
               "0 accounting 1", f"0 proc {os.getpid()} ms 1e18")
    found = readings(record(run, tape, gpus, lambda found: len(readings(found)) >= 3))
    for column in "memory_others_bytes", "memory_unattributed_bytes":
        assert all((r[column] or 0) < 80 * GIB for r in found)
    assert found[-1]["memory_others_bytes"] is None


def test_memory_that_is_not_said_is_not_0(run, tape, gpus, work):
    """As under WSL: the process is the job's, and how much the job holds is absent."""
    gpus.write(f"0 proc {work}/pid memory unknown")
    is_there = lambda found: readings(found) and readings(found)[-1]["processes_job"] == 1  # noqa: E731
    found = readings(record(run, tape, gpus, is_there, job="echo $$ > pid"))
    assert found[-1]["memory_job_bytes"] is None and found[-1]["memory_job_peak_bytes"] is None
    assert found[-1]["memory_others_bytes"] == 0
    total, one = run.summary(tape)["gpu"], run.summary(tape)["gpus"][0]
    assert (total["used"], total["memory_job_peak_bytes"], one["memory_job_peak_bytes"]) == (1, None, None)


def held(run, tape, name):
    return [r for r in rows(run, tape, "gpu_process") if r["name"] == name]


def test_list_that_fails_is_no_empty_list(run, tape, gpus, work):
    """Processes have not let go of their memory because the driver does not say what they hold (gpu0), or its list
    grows faster than there is room made for it (gpu1)."""
    holds = [f"{n} proc {work}/pid memory 1000000" for n in range(2)]
    errors = [f"error nvmlDeviceGetComputeRunningProcesses_v3 {code} {n}" for n, code in enumerate((999, 7))]
    gpus.write(*holds, devices=2)
    with recording(run, tape, gpus, job="echo $$ > pid"):
        for name in "gpu0", "gpu1":
            poll(lambda: any(r["memory_bytes"] == 1000000 for r in held(run, tape, name)), "its memory")
        gpus.write(*holds, *errors, devices=2)
        for name in "gpu0", "gpu1":
            poll(lambda: [r["memory_bytes"] for r in held(run, tape, name)][-1:] == [None], "the error")
            poll(lambda: [r["memory_job_bytes"] for r in readings(rows(run, tape), name)][-1:] == [None], "the error")
    for name in "gpu0", "gpu1":
        mine, last = held(run, tape, name), readings(rows(run, tape), name)[-1]
        assert 0 not in {r["memory_bytes"] for r in mine}
        assert mine[-1]["memory_bytes"] is None and mine[-1]["memory_peak_bytes"] == 1000000
        assert last["memory_job_bytes"] is None and last["memory_job_peak_bytes"] in (None, 1000000)
        assert last["power_watts"] == 100


def test_count_of_devices(run, tape, gpus):
    gpus.write(devices=1)
    gpus.script.write_text(gpus.script.read_text().replace("devices 1", "devices -1"))
    with recording(run, tape, gpus):
        next_readings(run, tape, 1)
    found = rows(run, tape)
    assert readings(found)[-1]["power_watts"] == 100
    assert len({r["name"] for r in found}) <= 512


def test_text_that_has_no_end(run, tape, gpus):
    gpus.write("0 name " + "x" * 480, "0 uuid \x1b[31m;\x07", "0 bus ../../../../etc")
    found = record(run, tape, gpus)
    assert set(readings(found)[-1]["label"]) == {"x"}
    shown = run("summary", "-v", tape).stdout + run("show", tape).stdout
    assert "\x1b[31m" not in shown and "\x07" not in shown


CRASHES = [("nvmlInit_v2", 11), ("nvmlDeviceGetPowerUsage", 9)]
if FULL:
    CRASHES += [(f"nvmlDeviceGet{f}", 11) for f in ("Name", "PowerUsage", "ComputeRunningProcesses_v3")]


@pytest.mark.not_sanitized("the signal that the driver raises is reported")
@pytest.mark.parametrize("function, signal", CRASHES)
def test_call_that_crashes(run, tape, gpus, function, signal):
    """The helper ends, an event says so, and it is not begun again without a rest."""
    gpus.env["FAKE_NVML_CALLS"] = gpus.calls
    since = "@1.5 " if function == "nvmlDeviceGetPowerUsage" else ""
    gpus.write(f"{since}crash {function} {signal}")
    with recording(run, tape, gpus):
        poll(lambda: run.instants(tape) and any("baro-gpu ended" in w for w in warnings(run, tape)), "the event")
        run.await_samples(tape, len(run.instants(tape)) + 8)
    assert sum("baro-gpu ended" in w for w in warnings(run, tape)) == 1
    begun = sum("nvmlInit_v2" in line for line in gpus.calls.read_text().splitlines())
    assert 1 <= begun <= 8, begun


def test_call_that_forks(run, tape, gpus):
    """What it leaves behind holds up neither the job nor the recorder, and is no process of the job."""
    gpus.write("fork nvmlDeviceGetName 3")
    found = record(run, tape, gpus)
    assert readings(found)[-1]["power_watts"] == 100
    assert not [r for r in run.export(tape, "process") if "baro-gpu" in r.values()]


