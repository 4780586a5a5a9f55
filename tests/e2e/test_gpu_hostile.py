# SPDX-License-Identifier: Apache-2.0
"""A driver that says what cannot be, crashes or forks (fake_nvml.c), an nvidia-smi that prints rubbish, and fdinfo that
makes no sense: what is wrong is absent, and the job and all else go on."""

import contextlib
import itertools
import os
import pathlib

import pytest
from conftest import PATIENCE, poll
from nvidia import GIB, gpus, named, readings, rows, start, warnings  # noqa: F401


@contextlib.contextmanager
def recording(run, tape, gpus, env=None, job=":"):
    """Records while the test does what it does. The status is the job's, whatever the driver does."""
    p = start(run, tape, gpus, job=f"{job}; while test ! -e go; do sleep 0.02; done; exit 7", env=env)
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
    return rows(run, tape)


def next_readings(run, tape, n):
    before = len(readings(rows(run, tape)))
    poll(lambda: len(readings(rows(run, tape))) >= before + n, "readings")


def record_good_then(run, tape, gpus, good, bad):
    """Returns a row for each reading: the first is of the good script, the last of the bad one."""
    gpus.write(*good)
    with recording(run, tape, gpus):
        next_readings(run, tape, 1)
        gpus.write(*bad)
        next_readings(run, tape, 3)
    return readings(rows(run, tape))


GAUGES = ["memory_used_bytes", "memory_total_bytes", "memory_reserved_bytes", "power_watts", "power_limit_watts",
          "temperature_celsius", "memory_temperature_celsius", "clock_hertz", "clock_most_hertz", "memory_clock_hertz",
          "memory_clock_most_hertz", "performance_state", "fan_ratio", "pcie_generation", "pcie_width", "retired_pages"]
KEYS = ["used", "total", "reserved", "power", "limit", "temp", "memtemp", "sm", "smmax", "mem", "memmax", "pstate", "fan",
        "pciegen", "pciewidth", "remapped"]


@pytest.mark.parametrize("value", ["4294967295", "-1", "1e19"])
def test_gauges_beyond_what_a_device_can_have(run, tape, gpus, value):
    """What was said before stays as the peak."""
    found = record_good_then(run, tape, gpus, ["0 fan 30"], [*[f"0 {k} {value}" for k in KEYS], "0 fieldtype 0"])
    first, last = found[0], found[-1]
    assert first["memory_used_bytes"] == GIB and first["fan_ratio"] == 0.3
    for column in GAUGES:
        if not (value == "4294967295" and column in ("memory_used_bytes", "memory_total_bytes", "memory_reserved_bytes")):
            assert last[column] is None or last[column] <= first[column] * 2, (column, last[column])
    if value == "1e19":  # of 32 bits the driver has none of it
        assert last["memory_used_bytes"] is None and last["memory_total_bytes"] is None
    else:
        assert last["power_watts"] is last["temperature_celsius"] is last["performance_state"] is None
    assert (last["memory_used_peak_bytes"] or 0) <= 4 * GIB and (last["power_peak_watts"] or 0) <= 1000


@pytest.mark.parametrize("kind, value", [(0, "nan"), (0, "-1e18"), (3, "1e18"), (4, "-1e18")])
def test_counters_that_leap(run, tape, gpus, kind, value):
    """Neither are they bytes, joules and time of this job, nor do they fall."""
    keys = ["pcietx", "pcierx", "nvtx", "nvrx", "pviol", "tviol", "sviol", "bviol", "rviol", "ecc", "ecc2"]
    good = [f"0 fieldtype {kind}"]
    found = record_good_then(run, tape, gpus, good, [*good, *[f"0 {k} {value}" for k in [*keys, "energy"]]])
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


def test_use_of_a_buffer_with_rubbish(run, tape, gpus):
    """What was used in the interval after it counts."""
    gpus.write("0 util 100")
    with recording(run, tape, gpus):
        next_readings(run, tape, 2)
        gpus.write("0 util 4294967295")
        poll(lambda: readings(rows(run, tape))[-1]["busy_ns"] is None, "rubbish")
        gpus.write("0 util 100")
        poll(lambda: all(r["busy_ns"] for r in readings(rows(run, tape))[-3:]), "readings after it")
    found = readings(rows(run, tape))
    first, last = found[1], found[-1]
    assert last["busy_ns"] - first["busy_ns"] > last["read_at_ns"] - first["read_at_ns"] - 7e8


def test_processes_that_cannot_be(run, tape, gpus):
    """More memory than the device has is not known, and neither is the sum of what others hold."""
    gpus.write(f"0 proc {os.getpid()} memory 1e18", "0 proc 4111222 memory 1e18", f"0 proc {os.getpid()} most 1e18",
               "0 accounting 1", f"0 proc {os.getpid()} ms 1e18")
    found = readings(record(run, tape, gpus, lambda found: len(readings(found)) >= 3))
    assert all((r["memory_others_bytes"] or 0) < 80 * GIB and (r["memory_unattributed_bytes"] or 0) < 80 * GIB for r in found)
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


@pytest.mark.parametrize("code", [999, 7])
def test_list_that_fails_is_no_empty_list(run, tape, gpus, work, code):
    """Processes have not let go of their memory because the driver does not say what they hold, or its list grows faster
    than there is room made for it."""
    holds = f"0 proc {work}/pid memory 1000000"
    gpus.write(holds)
    with recording(run, tape, gpus, job="echo $$ > pid"):
        poll(lambda: any(r["memory_bytes"] == 1000000 for r in rows(run, tape, "gpu_process")), "its memory")
        gpus.write(holds, f"error nvmlDeviceGetComputeRunningProcesses_v3 {code}")
        poll(lambda: rows(run, tape, "gpu_process")[-1]["memory_bytes"] is None, "the error")
        poll(lambda: readings(rows(run, tape))[-1]["memory_job_bytes"] is None, "the error")
        next_readings(run, tape, 2)
    found, mine = readings(rows(run, tape)), run.export(tape, "gpu_process")
    assert 0 not in {r["memory_bytes"] for r in mine}
    assert mine[-1]["memory_bytes"] is None and mine[-1]["memory_peak_bytes"] == 1000000
    assert found[-1]["memory_job_bytes"] is None and found[-1]["memory_job_peak_bytes"] in (None, 1000000)
    assert found[-1]["power_watts"] == 100


@pytest.mark.parametrize("n", [1000000, -1])
def test_counts_of_devices(run, tape, gpus, n):
    gpus.write(devices=1)
    gpus.script.write_text(gpus.script.read_text().replace("devices 1", f"devices {n}"))
    found = record(run, tape, gpus)
    assert readings(found)[-1]["power_watts"] == 100
    assert len({r["name"] for r in found}) <= 512


def test_text_that_has_no_end(run, tape, gpus):
    gpus.write("0 name " + "x" * 480, "0 uuid \x1b[31m;\x07", "0 bus ../../../../etc")
    found = record(run, tape, gpus)
    assert set(readings(found)[-1]["label"]) == {"x"}
    shown = run("summary", tape).stdout + run("show", tape).stdout
    assert "\x1b[31m" not in shown and "\x07" not in shown


CALLS = ["nvmlInit_v2", "nvmlDeviceGetName", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetComputeRunningProcesses_v3"]


@pytest.mark.not_sanitized("the signal that the driver raises is reported")
@pytest.mark.parametrize("function, signal", [*((f, 11) for f in CALLS), ("nvmlDeviceGetPowerUsage", 9)])
def test_call_that_crashes(run, tape, gpus, function, signal):
    """The helper ends, an event says so, and it is not begun again without a rest."""
    gpus.env["FAKE_NVML_CALLS"] = gpus.calls
    gpus.write(f"@1.5 crash {function} {signal}" if function == "nvmlDeviceGetPowerUsage" else f"crash {function} {signal}")
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


# ---- nvidia-smi ------------------------------------------------------------------------------------------------------

ROWS = {
    "huge": "0, GPU-a, x, 00:03.0, 580, 4000 %, -5 %, 99999999999999 MiB, 1 MiB, 1e9 W, 999999, 1 MHz",
    "negative": "0, GPU-a, x, 00:03.0, 580, -1 %, -1 %, -1 MiB, -1 MiB, -1 W, -1, -1 MHz",
    "nan": "0, GPU-a, x, 00:03.0, 580, nan %, nan %, nan MiB, nan MiB, nan W, nan, nan MHz",
    "index": "99999999999, GPU-a, x, 00:03.0, 580, 1 %, 1 %, 1 MiB, 1 MiB, 1 W, 1, 1 MHz",
    "short": "0, GPU-a",
}
HEADER = ("index, uuid, name, pci.bus_id, driver_version, utilization.gpu [%], utilization.memory [%], memory.used [MiB], "
          "memory.total [MiB], power.draw [W], temperature.gpu, clocks.sm [MHz]")


def by_smi(run, tape, gpus, work, script):
    folder = work / "bin"
    folder.mkdir()
    (folder / "nvidia-smi").write_text("#!/bin/sh\n" + script)
    (folder / "nvidia-smi").chmod(0o755)
    with recording(run, tape, gpus, {"LD_LIBRARY_PATH": None, "PATH": f"{folder}:{os.environ['PATH']}"}):
        poll(lambda: run.instants(tape) and any("nvidia-smi" in w for w in warnings(run, tape)),
             "the event that says how GPUs are read, or why there is nothing")
        before = len(run.instants(tape))
        poll(lambda: len(run.instants(tape)) > before + 2, "more samples")
    return rows(run, tape)


@pytest.mark.parametrize("what", ROWS)
def test_nvidia_smi_says_what_cannot_be(run, tape, gpus, work, what):
    found = by_smi(run, tape, gpus, work, f"echo '{HEADER}'\necho '{ROWS[what]}'\n")
    assert any("GPUs are read by nvidia-smi" in w for w in warnings(run, tape))
    assert {r["name"] for r in found} == (set() if what in ("index", "short") else {"gpu0"})
    for row in found:
        for column in ("busy_ns", "memory_busy_ns", "power_watts", "temperature_celsius", "memory_used_bytes"):
            assert row[column] in (None, 0), (column, row[column])


@pytest.mark.parametrize("script", [
    "head -c 100000000 /dev/zero", "yes 'garbage, with, commas'", "head -c 5000000 /dev/urandom", "exit 0", "kill -SEGV $$",
    "trap '' TERM; sleep 1000 & exit 0"])
def test_nvidia_smi_that_prints_rubbish(run, tape, gpus, work, script):
    """It is read no further than a megabyte, and ends with its turn."""
    assert not by_smi(run, tape, gpus, work, script + "\n")
    assert not [w for w in warnings(run, tape) if "baro-gpu ended" in w]
    programs = pathlib.Path("/proc")
    poll(lambda: not any(str(work / "bin").encode() in read(p) for p in programs.glob("[0-9]*/cmdline")), "its end")


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


# ---- fdinfo ----------------------------------------------------------------------------------------------------------


def test_fdinfo_that_makes_no_sense(run, tape, gpus, work):
    """Of the made-up tree: numbers beyond all bounds are absent, whatever else a line is."""
    root = work / "root"
    (root / "dev" / "nvidiactl").unlink()
    (root / "sys" / "drivers" / "i915").mkdir(parents=True)
    device = root / "sys" / "class" / "drm" / "card0" / "device"
    device.mkdir(parents=True)
    (device / "driver").symlink_to("../../../../drivers/i915")
    text = ["drm-driver:\ti915", "drm-client-id:\t18446744073709551615", "drm-pdev:\t" + "9" * 3000,
            "drm-resident-system0:\t18446744073709551615", "drm-resident-local0:\t17179869183 GiB", "drm-engine-render:\t-5 ns",
            "drm-engine-\x1b[31m:\t18446744073709551615 ns", "drm-engine-capacity-render:\t0", "drm-total-cycles-x:\t0",
            "drm-cycles-x:\t18446744073709551615", ":::::", "drm-", "drm-engine-" + "e" * 5000 + ":\t1 ns"]
    job = (f"d={root}/proc/$$; mkdir -p $d/fd $d/fdinfo; ln -s /dev/dri/renderD128 $d/fd/5; cp fdinfo $d/fdinfo/5")
    (work / "fdinfo").write_text("\n".join(text) + "\n")
    found = record(run, tape, gpus, lambda found: len(named(found, "card0")) >= 3, job=job)
    row = named(found, "card0")[-1]
    assert (row["memory_job_bytes"] or 0) < 1 << 50 and (row["busy_job_ns"] or 0) <= 6e9
    mine = run.export(tape, "gpu_process")
    assert all((r["memory_bytes"] or 0) < 1 << 50 and (r["busy_ns"] or 0) <= 6e9 for r in mine)
