# SPDX-License-Identifier: Apache-2.0
"""GPUs by a made-up driver (fake_nvml.c), which does what a script says: each value's way from the driver's call to the
export; hangs and errors of each call; whose processes they are. tests/e2e/test_gpu_real.py is for a real one."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from conftest import PATIENCE, poll

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
GIB = 1 << 30

DEVICE = """
{n} name NVIDIA H100 80GB HBM3
{n} uuid GPU-0000000{n}-1111-2222-3333-444444444444
{n} bus 00000000:1{n}:00.0
{n} total 85899345920
{n} reserved 600000000
{n} used 1073741824
{n} power 100
{n} limit 700
{n} energy 5000
{n} temp 41
{n} memtemp 50
{n} sm 1980
{n} mem 2619
{n} smmax 1980
{n} memmax 2619
{n} util 0
{n} memutil 0
{n} enc 0
{n} dec 0
{n} reasons 0
{n} pstate 0
{n} ecc 0
{n} ecc2 0
{n} replays 0
{n} remapped 0
{n} pviol 0
{n} tviol 0
{n} sviol 0
{n} bviol 0
{n} rviol 0
{n} pcietx 0
{n} pcierx 0
{n} pciegen 5
{n} pciewidth 16
"""


class Gpus:
    """A driver of a test: its script, and the environment in which baro finds it."""

    def __init__(self, work, library):
        self.script = work / "gpus.txt"
        self.calls = work / "calls"
        self.root = work / "root"
        (self.root / "dev").mkdir(parents=True)
        (self.root / "dev" / "nvidiactl").touch()
        self.env = {
            "LD_LIBRARY_PATH": library,
            "FAKE_NVML": self.script,
            "BARO_GPU_ROOT": self.root,
            "BARO_HOST_PROC": "/proc",
            "CUDA_VISIBLE_DEVICES": None,
        }

    def write(self, *lines, devices=1):
        text = f"devices {devices}\n" + "".join(DEVICE.format(n=n) for n in range(devices))
        fresh = self.script.with_suffix(".new")
        fresh.write_text(text + "\n".join(lines) + "\n")
        fresh.rename(self.script)


_BUILT = {}


def fake_library(factory, *flags, without=()):
    """The folder of a libnvidia-ml.so.1; without: functions that an old driver does not have."""
    key = (flags, tuple(without))
    if key not in _BUILT:
        if not shutil.which("gcc"):
            pytest.skip("no gcc")
        folder = factory.mktemp("nvml")
        script = folder / "map"
        script.write_text("{ " + (f"local: {'; '.join(without)}; " if without else "") + "};\n")
        hide = [f"-Wl,--version-script={script}"] if without else []
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", f"-I{SOURCE}/src", *flags, *hide,
             "-o", folder / "libnvidia-ml.so.1", HERE / "fake_nvml.c"],
            check=True,
        )
        folder.chmod(0o755)
        _BUILT[key] = str(folder)
    return _BUILT[key]


@pytest.fixture
def gpus(work, tmp_path_factory, baro):
    if not pathlib.Path(baro).with_name("baro-gpu").exists():
        pytest.skip("baro-gpu is not built")
    return Gpus(work, fake_library(tmp_path_factory))


def start(run, tape, gpus, *options, job="while test ! -e go; do sleep 0.02; done", env=None):
    return run.popen("run", "-q", "-i", "200ms", "-o", tape, *options, "--", "sh", "-c", job,
                     env={**gpus.env, **(env or {})})


def end(run, p):
    (run.work / "go").touch()
    assert p.wait(timeout=PATIENCE) == 0


def rows(run, tape, entity="gpu"):
    return run.export(tape, entity) if run.instants(tape) else []


def record_until(run, tape, gpus, condition, *options, env=None, entity="gpu"):
    """Records until the rows of that kind are as they should be. Returns those of the whole recording."""
    p = start(run, tape, gpus, *options, env=env)
    try:
        poll(lambda: condition(rows(run, tape, entity)), f"rows of {entity}")
    finally:
        end(run, p)
    return rows(run, tape, entity)


def named(found, name="gpu0"):
    return [r for r in found if r["name"] == name]


def rate(found, column):
    """The growth of a counter over the time between two readings, the last ones that differ from the first."""
    first, last = found[0], found[-1]
    return (last[column] - first[column]) / (last["read_at_ns"] - first["read_at_ns"])


def readings(found, name="gpu0"):
    """One row for each reading."""
    by = {}
    for r in named(found, name):
        if r["read_at_ns"]:
            by[r["read_at_ns"]] = r
    return [by[t] for t in sorted(by)]


def warnings(run, tape):
    return [e["text"] for e in run.export(tape, "event") if e["event"] == "warning"]


# ---- devices -------------------------------------------------------------------------------------------------------


def test_gauges(run, tape, gpus):
    """What the driver says comes out in base units; what it lacks is absent."""
    gpus.write("0 power 300.5", "0 used 3221225472", "0 pstate 2")
    found = record_until(run, tape, gpus, lambda r: len(readings(r)) >= 2)
    row = readings(found)[-1]
    assert row["label"] == "NVIDIA H100 80GB HBM3"
    expected = {
        "memory_used_bytes": 3 * GIB,
        "memory_used_peak_bytes": 3 * GIB,
        "memory_total_bytes": 80 * GIB,
        "memory_reserved_bytes": 600000000,
        "power_watts": 300.5,
        "power_peak_watts": 300.5,
        "power_limit_watts": 700,
        "temperature_celsius": 41,
        "memory_temperature_celsius": 50,
        "clock_hertz": 1980e6,
        "memory_clock_hertz": 2619e6,
        "clock_most_hertz": 1980e6,
        "performance_state": 2,
        "pcie_generation": 5,
        "pcie_width": 16,
        "fan_ratio": None,
        "nvlink_sent_bytes": None,
        "sm_active_ns": None,
        "energy_estimated": 0,
        "memory_job_bytes": 0,
        "xid_errors": 0,
    }
    assert {k: row[k] for k in expected} == expected


def test_of_the_machine_alone_there_is_no_job(run, tape, gpus):
    """baro record --host: the device is watched, and nothing says that no job used it."""
    gpus.write("0 used 3221225472")
    done = run("record", "-q", "--host", "--for", "4s", "-i", "200ms", "-o", tape, env=gpus.env)
    assert done.returncode == 0, done.stderr
    row = readings(rows(run, tape))[-1]
    assert row["memory_used_bytes"] == 3 * GIB
    assert {row[k] for k in ("memory_job_bytes", "busy_job_ns", "processes_job")} == {None}
    summary = run("summary", tape).stdout
    assert "gpu" in summary and " used" not in summary.split("gpu", 1)[1].split("\n")[0], summary


def test_counters_are_the_drivers_growth(run, tape, gpus):
    """Energy, throttling and bytes are differenced counters; what there was before the recording does not count."""
    gpus.write("0 power 250", "0 pviol 0.5", "0 pcierx 1000000", "0 nvrx 2000000", "0 reasons 8")
    found = readings(record_until(run, tape, gpus, lambda r: len(readings(r)) >= 4))
    assert found[0]["energy_joules"] == 0
    assert rate(found, "energy_joules") * 1e9 == pytest.approx(250, rel=0.05)
    assert rate(found, "throttled_power_ns") == pytest.approx(0.5, rel=0.05)
    assert rate(found, "pcie_received_bytes") * 1e9 == pytest.approx(1e6, rel=0.05)
    assert rate(found, "nvlink_received_bytes") * 1e9 == pytest.approx(2e6, rel=0.05)
    assert rate(found, "throttled_hardware_ns") == pytest.approx(1, rel=0.05)
    assert rate(found, "throttled_thermal_ns") == 0


def test_energy_without_a_counter_is_an_estimate(run, tape, gpus):
    gpus.write("error nvmlDeviceGetTotalEnergyConsumption 3 0", "0 power 200")
    found = readings(record_until(run, tape, gpus, lambda r: len(readings(r)) >= 3))
    assert found[-1]["energy_estimated"] == 1
    assert rate(found, "energy_joules") * 1e9 == pytest.approx(200, rel=0.05)


def test_what_lies_between_two_readings_is_found(run, tape, gpus):
    """A burst of 0.5 s: its time is in the counter and its height in the peak, though no reading was in it."""
    bursts = []
    for i in range(2, 40):
        bursts += [f"@{i + 0.3} 0 util 90", f"@{i + 0.3} 0 power 600", f"@{i + 0.8} 0 util 0", f"@{i + 0.8} 0 power 80"]
    gpus.write(*bursts)
    found = readings(record_until(run, tape, gpus, lambda r: len(readings(r)) >= 8))
    busy = [r for r in found if r["busy_peak_ratio"] == 0.9]
    assert busy and max(r["power_peak_watts"] for r in found) == 600
    # 0.5 s of 90 % each second, by values that are 1/6 s apart
    assert rate(found[3:], "busy_ns") == pytest.approx(0.45, abs=0.16)


def test_without_a_buffer_the_reading_counts(run, tape, gpus):
    gpus.write("0 buffer none", "0 util 60", "0 memutil 30")
    found = readings(record_until(run, tape, gpus, lambda r: len(readings(r)) >= 3))
    assert rate(found, "busy_ns") == pytest.approx(0.6, rel=0.02)
    assert rate(found, "memory_busy_ns") == pytest.approx(0.3, rel=0.02)
    assert found[-1]["busy_peak_ratio"] == 0.6


def test_gpm(run, tape, gpus):
    gpus.write("0 smactive 80", "0 smoccupancy 25", "0 tensor 40", "0 dram 55")
    found = readings(record_until(run, tape, gpus, lambda r: len(readings(r)) >= 4))
    assert rate(found[1:], "sm_active_ns") == pytest.approx(0.8, rel=0.05)
    assert rate(found[1:], "sm_occupied_ns") == pytest.approx(0.25, rel=0.05)
    assert rate(found[1:], "tensor_active_ns") == pytest.approx(0.4, rel=0.05)
    assert rate(found[1:], "dram_active_ns") == pytest.approx(0.55, rel=0.05)


def test_mig_instances_have_a_parent(run, tape, gpus):
    gpus.write("0 mig 7", "error nvmlDeviceGetUtilizationRates 3 0", "error nvmlDeviceGetSamples 3 0",
               "0.0 name NVIDIA H100 MIG 1g.10gb", "0.0 uuid MIG-a", "0.0 instance 9", "0.0 total 10000",
               "0.0 used 123",
               "0.3 name NVIDIA H100 MIG 2g.20gb", "0.3 uuid MIG-b", "0.3 instance 5", "0.3 total 20000",
               "0.3 used 456")
    found = record_until(run, tape, gpus, lambda r: readings(r, "gpu0/mig5"))
    parent, one, two = (readings(found, n)[-1] for n in ("gpu0", "gpu0/mig9", "gpu0/mig5"))
    assert parent["busy_ns"] is None and parent["power_watts"] == 100
    assert (one["memory_used_bytes"], two["memory_used_bytes"]) == (123, 456)
    assert one["power_watts"] is None
    attributes = run("export", "-e", "gpu", "--format", "jsonl", tape, status=0).stdout
    assert "MIG-b" in attributes


def test_old_driver(run, tape, gpus, tmp_path_factory):
    """Functions that it does not have leave their values absent, or older ones give them."""
    gpus.env["LD_LIBRARY_PATH"] = fake_library(
        tmp_path_factory,
        without=("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetFieldValues",
                 "nvmlDeviceGetSamples", "nvmlGpmQueryDeviceSupport", "nvmlDeviceGetMigMode", "nvmlEventSetCreate"))
    gpus.write("0 reasons 4", "0 util 50")
    found = readings(record_until(run, tape, gpus, lambda r: len(readings(r)) >= 3))
    row = found[-1]
    assert row["memory_used_bytes"] == GIB + 600000000 and row["memory_reserved_bytes"] is None
    assert rate(found, "throttled_power_ns") == pytest.approx(1, rel=0.05)
    assert rate(found, "busy_ns") == pytest.approx(0.5, rel=0.05)
    assert row["pcie_sent_bytes"] is None


# ---- processes -----------------------------------------------------------------------------------------------------

JOB = "echo $$ > pid; while test ! -e go; do sleep 0.02; done"


def with_process(run, tape, gpus, lines, condition, *options, entity="gpu_process", env=None):
    p = start(run, tape, gpus, *options, job=JOB, env=env)
    try:
        poll(lambda: (run.work / "pid").exists() and (run.work / "pid").read_text().strip(), "the pid")
        gpus.write(*[line.format(pid=(run.work / "pid").read_text().strip(), other=os.getpid()) for line in lines])
        poll(lambda: condition(rows(run, tape, entity)), f"rows of {entity}")
    finally:
        end(run, p)
    return rows(run, tape), rows(run, tape, "gpu_process")


@pytest.mark.parametrize("layout", ["24", "32"])
def test_whose_it_is(run, tape, gpus, tmp_path_factory, layout):
    """Of the job, of others, and not to be found: each has its own sum. Rubbish of the driver is left out."""
    if layout == "32":
        gpus.env["LD_LIBRARY_PATH"] = fake_library(tmp_path_factory, "-DLAYOUT_32")
    gpus.write()
    lines = ["junk", "0 util 90", "0 proc {pid} memory 2147483648", "0 proc {pid} sm 70",
             "0 proc {pid} graphics 1000000", "0 proc {other} memory 500000000", "0 proc {other} sm 10",
             "0 proc 4111222 memory 300000000", "0 proc 4111222 sm 5", "0 proc 4111333 memory unknown"]
    devices, mine = with_process(run, tape, gpus, lines, lambda r: len({x["read_at_ns"] for x in r}) >= 3)
    row = [r for r in readings(devices) if r["memory_job_bytes"]][-1]
    assert row["memory_job_bytes"] == row["memory_job_peak_bytes"] == 2 * GIB
    assert row["memory_others_bytes"] == 500000000
    assert row["memory_unattributed_bytes"] == 300000000
    assert (row["processes_job"], row["processes_others"]) == (1, 3)
    some = [r for r in readings(devices) if r["busy_job_ns"]]
    assert rate(some, "busy_job_ns") == pytest.approx(0.7, rel=0.3)
    assert some[-1]["busy_job_ns"] > 3 * some[-1]["busy_others_ns"] > 0 < some[-1]["busy_unattributed_ns"]
    pid = int((run.work / "pid").read_text())
    assert {(r["owner_pid"], r["name"], r["host_pid"]) for r in mine} == {(pid, "gpu0", pid)}
    assert mine[-1]["memory_peak_bytes"] == 2 * GIB


def test_accounting_of_processes_that_ended(run, tape, gpus):
    gpus.write()
    lines = ["0 accounting 1", "0 proc {pid} memory 1000000", "@4 0 proc {pid} memory end",
             "0 proc {pid} most 7777777", "0 proc {pid} ms 4200"]
    _, mine = with_process(run, tape, gpus, lines, lambda r: any(x["accounted_ns"] for x in r))
    last = [r for r in mine if r["accounted_ns"]][-1]
    assert (last["memory_peak_bytes"], last["accounted_ns"]) == (7777777, 4200000000)
    assert last["accounted_busy_ratio"] == 0.77


def test_pids_of_the_host_are_translated(run, tape, gpus, work):
    """In another PID namespace: NSpid of the host's /proc, and the start time, say which process it is."""
    gpus.write()
    host = work / "hostproc"

    def make():
        pid = (work / "pid").read_text().strip()
        (host / "70001").mkdir(parents=True, exist_ok=True)
        (host / "70001" / "stat").write_text(pathlib.Path(f"/proc/{pid}/stat").read_text())
        (host / "70001" / "status").write_text(f"Name:\tsh\nNSpid:\t70001\t3\t{pid}\n")
        (host / "70002").mkdir(exist_ok=True)
        other = pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()
        other[19] = "1"
        (host / "70002" / "stat").write_text("70002 (sh) " + " ".join(other) + "\n")
        (host / "70002" / "status").write_text(f"NSpid:\t70002\t{pid}\n")

    p = start(run, tape, gpus, job=JOB, env={"BARO_HOST_PROC": host})
    try:
        poll(lambda: (work / "pid").exists() and (work / "pid").read_text().strip(), "the pid")
        make()
        gpus.write("0 proc 70001 memory 4096", "0 proc 70002 memory 512")
        poll(lambda: rows(run, tape, "gpu_process"), "the process")
        poll(lambda: any(r["memory_unattributed_bytes"] for r in rows(run, tape)), "the other")
    finally:
        end(run, p)
    mine = rows(run, tape, "gpu_process")
    assert {(r["owner_pid"], r["host_pid"]) for r in mine} == {(int((work / "pid").read_text()), 70001)}


# ---- which devices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, env, expected", [
    ([], {}, ["gpu0", "gpu1", "gpu2"]),
    (["--gpu", "1"], {}, ["gpu1"]),
    (["--gpu", "2,GPU-00000000"], {}, ["gpu0", "gpu2"]),
    ([], {"CUDA_VISIBLE_DEVICES": "2"}, ["gpu2"]),
    ([], {"CUDA_VISIBLE_DEVICES": "GPU-00000001-1111"}, ["gpu1"]),
    ([], {"CUDA_VISIBLE_DEVICES": "1,7,0"}, ["gpu1"]),
])
def test_chosen(run, tape, gpus, options, env, expected):
    gpus.write(devices=3)
    found = record_until(run, tape, gpus, lambda r: len({x["name"] for x in r}) >= len(expected), *options, env=env)
    assert sorted({r["name"] for r in found}) == expected


def test_other_order_of_cuda_is_said(run, tape, gpus):
    """Its numbers mean other devices than the driver's if these differ: all are read, and a warning says why."""
    gpus.write("1 name NVIDIA T4", devices=2)
    found = record_until(run, tape, gpus, lambda r: len(r) >= 2, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert {r["name"] for r in found} == {"gpu0", "gpu1"}
    assert any("CUDA_DEVICE_ORDER" in w for w in warnings(run, tape))


def test_nothing_is_started_where_there_is_no_gpu(run, tape, gpus):
    (gpus.root / "dev" / "nvidiactl").unlink()
    gpus.env["FAKE_NVML_CALLS"] = gpus.calls
    gpus.write()
    run.record(tape, "sleep 0.5", env=gpus.env)
    assert not gpus.calls.exists() and not rows(run, tape)


def test_off(run, tape, gpus):
    gpus.env["FAKE_NVML_CALLS"] = gpus.calls
    gpus.write()
    run.record(tape, "sleep 0.5", "--gpu", "off", env=gpus.env)
    assert not gpus.calls.exists() and not rows(run, tape)


@pytest.mark.parametrize("text", ["", "a b", "0;1"])
def test_wrong_list(run, tape, text):
    done = run("run", "--gpu", text, "-o", tape, "--", "true", status=125)
    assert "numbers and UUIDs" in done.stderr


# ---- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code, says", [(9, "not loaded"), (18, "library and kernel module differ"), (999, "999")])
def test_init_fails(run, tape, gpus, code, says):
    gpus.write(f"error nvmlInit_v2 {code}")
    p = start(run, tape, gpus)
    poll(lambda: run.instants(tape) and any(says in w for w in warnings(run, tape)), "the warning")
    end(run, p)


def test_lost_in_mid_run(run, tape, gpus):
    """Its values are absent from then on; an event says so; the other one goes on."""
    gpus.write("@2 error * 15 1", devices=2)
    found = record_until(run, tape, gpus, lambda r: any(x["power_watts"] is None for x in readings(r, "gpu1"))
                         and len(readings(r, "gpu0")) >= 5)
    assert readings(found, "gpu1")[0]["power_watts"] == 100 and readings(found, "gpu1")[-1]["power_watts"] is None
    assert readings(found, "gpu0")[-1]["power_watts"] == 100
    lost = [w for w in warnings(run, tape) if w.startswith("GPU lost: gpu1")]
    assert len(lost) == 1 and "not on the bus" in lost[0]


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


HANGS = functions() if os.environ.get("BARO_FULL") else ["nvmlInit_v2", "nvmlDeviceGetCount_v2",
                                                         "nvmlDeviceGetPowerUsage", "nvmlDeviceGetSamples",
                                                         "nvmlDeviceGetComputeRunningProcesses_v3",
                                                         "nvmlEventSetWait_v2"]


@pytest.mark.parametrize("function", HANGS)
def test_hang(run, tape, gpus, function):
    """The job and all other samples go on; an event names the call."""
    gpus.write("0 smactive 5", "0 mig 1", "0.0 uuid MIG-a", "0 accounting 1", f"0 proc {os.getpid()} memory 1",
               f"hang {function}", devices=2)
    gpus.env["BARO_GPU_STUCK_MS"] = "700"
    p = start(run, tape, gpus)
    poll(lambda: run.instants(tape) and any(f"{function}" in w for w in warnings(run, tape)), "the event")
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


def test_killed_helper_is_replaced(run, tape, gpus):
    """Counters go on from where they were."""
    gpus.write("0 power 100")
    p = start(run, tape, gpus)
    poll(lambda: len(readings(rows(run, tape))) >= 3, "readings")
    before = readings(rows(run, tape))[-1]
    for helper in helpers_of(p.pid):
        os.kill(helper, signal.SIGKILL)
    poll(lambda: readings(rows(run, tape))[-1]["read_at_ns"] > before["read_at_ns"] + 2 * 10**9, "more readings")
    end(run, p)
    energy = [r["energy_joules"] for r in readings(rows(run, tape))]
    assert energy == sorted(energy) and energy[-1] > before["energy_joules"]


def helpers_of(pid):
    """Processes baro-gpu below the recorder, which is the wrapper's child or its parent's."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
            if "(baro-gpu)" in text and str(pid) in ancestors(int(path.parent.name)):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def ancestors(pid):
    out = []
    while pid > 1:
        out.append(str(pid))
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return out


def test_many(run, tape, gpus):
    """16 devices with 7 instances each, and 1,000 processes."""
    lines = []
    for n in range(16):
        lines += [f"{n} mig 7"]
        for i in range(7):
            lines += [f"{n}.{i} uuid MIG-{n}-{i}", f"{n}.{i} name slice", f"{n}.{i} instance {i}", f"{n}.{i} total 100",
                      f"{n}.{i} used {n}{i}"]
    lines += [f"0 proc {4000000 + i} memory 1000" for i in range(1000)]
    gpus.write(*lines, devices=16)
    found = record_until(run, tape, gpus, lambda r: r and any(x["memory_unattributed_bytes"] for x in named(r)))
    assert len({r["name"] for r in found}) == 16 * 8
    assert max(r["memory_unattributed_bytes"] or 0 for r in found) == 1000000


# ---- AMD -------------------------------------------------------------------------------------------------------------


def test_amd(run, tape, work):
    """Files of /sys: shares and power by time, no processes; a card that sleeps is left asleep."""
    root = work / "root"
    for n, status in ((0, "active"), (1, "suspended")):
        device = root / "sys" / "class" / "drm" / f"card{n}" / "device"
        (device / "hwmon" / "hwmon4").mkdir(parents=True)
        (device / "power").mkdir()
        (root / "sys" / "amdgpu").mkdir(exist_ok=True)
        (device / "driver").symlink_to(root / "sys" / "amdgpu")
        files = {"gpu_busy_percent": 75, "mem_busy_percent": 20, "mem_info_vram_used": 3 * GIB,
                 "mem_info_vram_total": 16 * GIB, "product_name": "Radeon RX 7800", "power/runtime_status": status,
                 "hwmon/hwmon4/power1_average": 150000000, "hwmon/hwmon4/power1_cap": 263000000,
                 "hwmon/hwmon4/temp1_input": 61000, "hwmon/hwmon4/freq1_input": 2400000000}
        for name, value in files.items():
            (device / name).write_text(f"{value}\n")
    (root / "sys" / "class" / "drm" / "version").write_text("drm 1.1.0 20060810\n")
    p = run.popen("run", "-q", "-i", "200ms", "-o", tape, "--", "sh", "-c", "while test ! -e go; do sleep 0.02; done",
                  env={"BARO_GPU_ROOT": root})
    try:
        poll(lambda: len(readings(rows(run, tape), "card0")) >= 3, "readings")
    finally:
        end(run, p)
    found = readings(rows(run, tape), "card0")
    row = found[-1]
    assert row["label"] == "Radeon RX 7800"
    assert (row["memory_used_bytes"], row["memory_total_bytes"]) == (3 * GIB, 16 * GIB)
    assert (row["power_watts"], row["power_limit_watts"], row["temperature_celsius"]) == (150, 263, 61)
    assert (row["clock_hertz"], row["busy_peak_ratio"], row["energy_estimated"]) == (2.4e9, 0.75, 1)
    assert rate(found, "busy_ns") == pytest.approx(0.75, rel=0.02)
    assert rate(found, "energy_joules") * 1e9 == pytest.approx(150, rel=0.02)
    assert row["memory_job_bytes"] == row["busy_job_ns"] == 0 and row["memory_others_bytes"] is None
    asleep = readings(rows(run, tape), "card1")[-1]
    assert asleep["busy_ns"] is None and asleep["power_watts"] is None


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


def test_spare_cores(run, tape, gpus):
    gpus.write("0 util 50", "0 buffer none", "1 util 100", "1 buffer none", devices=2)
    record_until(run, tape, gpus, lambda r: len(readings(r, "gpu1")) >= 5)
    rows = run("export", "--dialect", "spare-cores-mended", "-e", "host", tape, status=0).stdout.splitlines()
    names = [n.strip('"') for n in rows[0].split(",")]
    last = dict(zip(names, rows[-1].split(",")))
    assert last["gpu_utilized"] == "2" and float(last["gpu_vram"]) == 2048
    assert float(last["gpu_usage"]) == pytest.approx(1.5, rel=0.05)


def test_top(run, tape, gpus):
    """Devices, and below each what the job's processes use of it: the same numbers as the export has."""
    gpus.write("0 buffer none", "0 util 80")
    lines = ["0 buffer none", "0 util 80", "0 power 250.4", "0 used 4294967296", "0 proc {pid} memory 2147483648",
             "0 proc {pid} sm 70"]
    devices, mine = with_process(run, tape, gpus, lines, lambda r: len([x for x in readings(r) if x["busy_job_ns"]]) >= 3,
                                 entity="gpu")
    pid = int((run.work / "pid").read_text())
    at = [r for r in readings(devices) if r["memory_job_bytes"]][-1]["t_ns"] / 1e9
    text = run("top", "--once", "--at", f"+{at + 0.1:.3f}s", tape, status=0, env={"COLUMNS": "110"}).stdout
    shown = [" ".join(line.split()) for line in text.splitlines()]
    heading = [i for i, line in enumerate(shown) if line.endswith("GPU, PROCESS")]
    assert len(heading) == 1, text
    device, process = shown[heading[0] + 1:heading[0] + 3]
    assert device.endswith("gpu0 NVIDIA H100 80GB HBM3") and device.startswith("80% "), text
    assert "4.29 GB" in device and "250 W" in device and "1980 MHz" in device
    assert process.endswith(f"{pid} sh") and "2.15 GB" in process


# ---- the binary interface -------------------------------------------------------------------------------------------


def header():
    for folder in (os.environ.get("NVML_HEADER"), "/usr/include", "/usr/local/cuda/include"):
        if folder and (pathlib.Path(folder) / "nvml.h").exists():
            return folder
    return None


def test_binary_interface(compiled, work):
    """Sizes and numbers are those of NVIDIA's header."""
    folder = header()
    if not folder:
        pytest.skip("no nvml.h: NVML_HEADER is the folder that has it (PyPI: nvidia-nvml-dev)")
    pairs = {"nvml_utilization": "nvmlUtilization_t", "nvml_memory_v1": "nvmlMemory_t",
             "nvml_memory_v2": "nvmlMemory_v2_t",
             "nvml_process_24": "nvmlProcessInfo_v2_t", "nvml_process_use": "nvmlProcessUtilizationSample_t",
             "nvml_sample": "nvmlSample_t", "nvml_field": "nvmlFieldValue_t",
             "nvml_accounting": "nvmlAccountingStats_t",
             "nvml_event": "nvmlEventData_t", "nvml_pci": "nvmlPciInfo_t", "nvml_gpm_metric": "nvmlGpmMetric_t",
             "nvml_gpm_support": "nvmlGpmSupport_t", "nvml_attributes": "nvmlDeviceAttributes_t"}
    numbers = {"NVML_NOT_SUPPORTED": "NVML_ERROR_NOT_SUPPORTED", "NVML_NO_PERMISSION": "NVML_ERROR_NO_PERMISSION",
               "NVML_NOT_FOUND": "NVML_ERROR_NOT_FOUND", "NVML_INSUFFICIENT_SIZE": "NVML_ERROR_INSUFFICIENT_SIZE",
               "NVML_DRIVER_NOT_LOADED": "NVML_ERROR_DRIVER_NOT_LOADED", "NVML_TIMEOUT": "NVML_ERROR_TIMEOUT",
               "NVML_GPU_IS_LOST": "NVML_ERROR_GPU_IS_LOST", "NVML_RESET_REQUIRED": "NVML_ERROR_RESET_REQUIRED",
               "NVML_VERSION_MISMATCH": "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVML_NO_DATA": "NVML_ERROR_NO_DATA",
               "NVML_ARGUMENT_VERSION": "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
               "NVML_SAMPLES_POWER": "NVML_TOTAL_POWER_SAMPLES", "NVML_SAMPLES_GPU": "NVML_GPU_UTILIZATION_SAMPLES",
               "NVML_SAMPLES_MEMORY": "NVML_MEMORY_UTILIZATION_SAMPLES",
               "NVML_SAMPLES_ENCODER": "NVML_ENC_UTILIZATION_SAMPLES",
               "NVML_SAMPLES_DECODER": "NVML_DEC_UTILIZATION_SAMPLES", "NVML_CLOCK_SM": "NVML_CLOCK_SM + 0",
               "NVML_CLOCK_MEMORY": "NVML_CLOCK_MEM", "NVML_FIELD_MEMORY_TEMPERATURE": "NVML_FI_DEV_MEMORY_TEMP",
               "NVML_FIELD_ECC_CORRECTED": "NVML_FI_DEV_ECC_SBE_VOL_TOTAL",
               "NVML_FIELD_ECC_UNCORRECTED": "NVML_FI_DEV_ECC_DBE_VOL_TOTAL",
               "NVML_FIELD_THROTTLED_POWER": "NVML_FI_DEV_PERF_POLICY_POWER",
               "NVML_FIELD_THROTTLED_THERMAL": "NVML_FI_DEV_PERF_POLICY_THERMAL",
               "NVML_FIELD_THROTTLED_SYNC": "NVML_FI_DEV_PERF_POLICY_SYNC_BOOST",
               "NVML_FIELD_THROTTLED_BOARD": "NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT",
               "NVML_FIELD_THROTTLED_RELIABILITY": "NVML_FI_DEV_PERF_POLICY_RELIABILITY",
               "NVML_FIELD_PCIE_REPLAYS": "NVML_FI_DEV_PCIE_REPLAY_COUNTER",
               "NVML_FIELD_NVLINK_SENT": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
               "NVML_FIELD_NVLINK_RECEIVED": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
               "NVML_FIELD_REMAPPED_UNCORRECTABLE": "NVML_FI_DEV_REMAPPED_UNC",
               "NVML_FIELD_PCIE_SENT": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
               "NVML_FIELD_PCIE_RECEIVED": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
               "NVML_TYPE_U64": "NVML_VALUE_TYPE_UNSIGNED_LONG_LONG", "NVML_TYPE_U16": "NVML_VALUE_TYPE_UNSIGNED_SHORT",
               "NVML_GPM_SM_ACTIVE": "NVML_GPM_METRIC_SM_UTIL", "NVML_GPM_SM_OCCUPANCY": "NVML_GPM_METRIC_SM_OCCUPANCY",
               "NVML_GPM_TENSOR": "NVML_GPM_METRIC_ANY_TENSOR_UTIL", "NVML_GPM_DRAM": "NVML_GPM_METRIC_DRAM_BW_UTIL"}
    clashing = {"NVML_CLOCK_SM"}
    ours = 'struct size { int s; };\n#include <stdio.h>\n#include "programs/baro-gpu/nvml.h"\nint main(void) {\n'
    ours += "".join(f'printf("{a} %zu\\n", sizeof(struct {a}));\n' for a in pairs)
    ours += "".join(f'printf("{a} %lld\\n", (long long)({a}));\n' for a in numbers if a not in clashing)
    theirs = "#include <stdio.h>\n#include <nvml.h>\nint main(void) {\n"
    theirs += "".join(f'printf("{a} %zu\\n", sizeof({b}));\n' for a, b in pairs.items())
    theirs += "".join(f'printf("{a} %lld\\n", (long long)({b}));\n' for a, b in numbers.items() if a not in clashing)
    out = []
    for name, source, include in (("ours", ours, f"{SOURCE}/src"), ("theirs", theirs, folder)):
        (work / f"{name}.c").write_text(source + "return 0; }\n")
        subprocess.run(["gcc", "-D_GNU_SOURCE", f"-I{include}", "-o", work / name, work / f"{name}.c"], check=True)
        out.append(subprocess.check_output([work / name], text=True).splitlines())
    assert out[0] == out[1]


# ---- without the library ---------------------------------------------------------------------------------------------

SMI = r"""#!/bin/sh
echo "$@" >> "$SMI_CALLS"
case "$1" in *utilization.decoder*) echo 'Field "utilization.decoder" is not a valid field to query.'; exit 2;; esac
{hang}
echo 'index, uuid, name, pci.bus_id, driver_version, utilization.gpu [%], utilization.memory [%], memory.used [MiB],' \
    'memory.total [MiB], power.draw [W], temperature.gpu, clocks.sm [MHz], pstate, fan.speed [%]'
echo '0, GPU-a, NVIDIA L4, 00000000:00:03.0, 580.173.02, 70 %, 12 %, 7532 MiB, 23034 MiB, 34.39 W, 61, 1455 MHz, P2, 0 %'
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
    return rows(run, tape)


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
    p = start(run, tape, gpus, env={"LD_LIBRARY_PATH": None, "PATH": f"{work}/empty:/bin"},
              job="while ! test -e go; do sleep 0.02; done")
    try:
        poll(lambda: run.instants(tape) and any("there is no nvidia-smi" in w for w in warnings(run, tape)), "the event")
    finally:
        end(run, p)
