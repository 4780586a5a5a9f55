# SPDX-License-Identifier: Apache-2.0
"""GPUs by a made-up driver (fake_nvml.c), which does what a script says: each value's way from the driver's call to the
export; whose processes they are; which devices are read. test_gpu_wrong.py has hangs and errors of each call,
test_gpu_shown.py what is made of the values."""

import pathlib

import pytest
from nvidia import gpus  # noqa: F401
from nvidia import (GIB, JOB, end, fake_library, named, poll, rate, readings, record_until, rows, start, warnings,
                    with_process)

# ---- devices -------------------------------------------------------------------------------------------------------


def bursts():
    """0.5 s of each second: none of them need be seen at a reading."""
    for i in range(2, 40):
        for after, util, power in (0.3, 90, 600), (0.8, 0, 80):
            yield from (f"@{i + after} 3 util {util}", f"@{i + after} 3 power {power}")


def test_values(run, tape, gpus):
    """Four devices. gpu0: what the driver says comes out in base units, and what it lacks is absent. gpu1: counters.
    gpu2: no counter of energy, no buffer, and GPM. gpu3: what lies between two readings."""
    gpus.write(
        "0 power 300.5", "0 used 3221225472", "0 pstate 2",
        "1 power 250", "1 pviol 0.5", "1 pcierx 1000000", "1 nvrx 2000000", "1 reasons 8", "1 util 50",
        "error nvmlDeviceGetTotalEnergyConsumption 3 2", "2 power 200", "2 buffer none", "2 util 60", "2 memutil 30",
        "2 smactive 80", "2 smoccupancy 25", "2 tensor 40", "2 dram 55", *bursts(), devices=4)
    found = record_until(run, tape, gpus, lambda r: len(readings(r, "gpu3")) >= 8)
    check_gauges(readings(found)[-1])
    check_counters(readings(found, "gpu1"))
    check_estimates(readings(found, "gpu2"))
    check_bursts(readings(found, "gpu3"))


def check_gauges(row):
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


def check_counters(found):
    """Energy, throttling and bytes are differenced counters; what there was before the recording does not count. The
    buffer of utilisation was empty at the first reading: all that is in it later counts."""
    assert found[0]["energy_joules"] == 0
    assert rate(found, "energy_joules") * 1e9 == pytest.approx(250, rel=0.05)
    assert rate(found, "throttled_power_ns") == pytest.approx(0.5, rel=0.05)
    assert rate(found, "pcie_received_bytes") * 1e9 == pytest.approx(1e6, rel=0.05)
    assert rate(found, "nvlink_received_bytes") * 1e9 == pytest.approx(2e6, rel=0.05)
    assert rate(found, "throttled_hardware_ns") == pytest.approx(1, rel=0.05)
    assert rate(found, "throttled_thermal_ns") == 0
    assert rate(found, "busy_ns") == pytest.approx(0.5, abs=0.03)


def check_estimates(found):
    assert found[-1]["energy_estimated"] == 1
    assert rate(found, "energy_joules") * 1e9 == pytest.approx(200, rel=0.05)
    assert rate(found, "busy_ns") == pytest.approx(0.6, rel=0.02)
    assert rate(found, "memory_busy_ns") == pytest.approx(0.3, rel=0.02)
    assert found[-1]["busy_peak_ratio"] == 0.6
    assert rate(found[1:], "sm_active_ns") == pytest.approx(0.8, rel=0.05)
    assert rate(found[1:], "sm_occupied_ns") == pytest.approx(0.25, rel=0.05)
    assert rate(found[1:], "tensor_active_ns") == pytest.approx(0.4, rel=0.05)
    assert rate(found[1:], "dram_active_ns") == pytest.approx(0.55, rel=0.05)


def check_bursts(found):
    """A burst's time is in the counter and its height in the peak, though no reading was in it."""
    assert [r for r in found if r["busy_peak_ratio"] == 0.9]
    assert max(r["power_peak_watts"] for r in found) == 600
    # 0.5 s of 90 % each second, by values that are 1/6 s apart
    assert rate(found[3:], "busy_ns") == pytest.approx(0.45, abs=0.16)


def test_of_the_machine_alone_there_is_no_job(run, tape, gpus):
    """baro record --host: the device is watched, and nothing says that no job used it."""
    gpus.write("0 used 3221225472")
    done = run("record", "-q", "--host", "--for", "4s", "-i", "200ms", "-o", tape, env=gpus.env)
    assert done.returncode == 0, done.stderr
    row = readings(rows(run, tape))[-1]
    assert row["memory_used_bytes"] == 3 * GIB
    assert {row[k] for k in ("memory_job_bytes", "busy_job_ns", "processes_job")} == {None}
    summary = run("summary", "-v", tape).stdout
    assert "gpu" in summary and " used" not in summary.split("gpu", 1)[1].split("\n")[0], summary


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


def test_whose_it_is(run, tape, gpus, tmp_path_factory):
    """Of the job, of others, and not to be found: each has its own sum. Rubbish of the driver is left out. This driver
    has the longer entries of 535."""
    gpus.env["LD_LIBRARY_PATH"] = fake_library(tmp_path_factory, "-DLAYOUT_32")
    gpus.write()
    lines = ["junk", "0 util 90", "0 proc {pid} memory 2147483648", "0 proc {pid} sm 70",
             "0 proc {pid} graphics 1000000", "0 proc {other} memory 500000000", "0 proc {other} sm 10",
             "0 proc 4111222 memory 300000000", "0 proc 4111222 sm 5", "0 proc 4111333 memory unknown"]
    devices, mine = with_process(run, tape, gpus, lines, lambda r: len({x["read_at_ns"] for x in r}) >= 3)
    row = [r for r in readings(devices) if r["memory_job_bytes"]][-1]
    assert row["memory_job_bytes"] == row["memory_job_peak_bytes"] == 2 * GIB
    assert row["memory_others_bytes"] == 500000000
    assert row["memory_unattributed_bytes"] is None  # one of them does not say how much it has
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
    (["--gpu", "7,2,card5,GPU-00000000"], {}, ["gpu0", "gpu2"]),
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


@pytest.mark.parametrize("options", [(), ("--gpu", "off")])
def test_nothing_is_started_where_there_is_no_gpu(run, tape, gpus, options):
    if not options:
        (gpus.root / "dev" / "nvidiactl").unlink()
    gpus.env["FAKE_NVML_CALLS"] = gpus.calls
    gpus.write()
    run.record(tape, "sleep 0.5", *options, env=gpus.env)
    assert not gpus.calls.exists() and not run.export(tape, "gpu")


def test_no_driver_for_a_gpu_that_was_named(run, tape, gpus):
    """One line says so at the start, also with -q. The job runs."""
    (gpus.root / "dev" / "nvidiactl").unlink()
    for gpu in ("0", "auto", "off"):
        given = ["-q", "--force", "-o", tape, "--gpu", gpu]
        for argv in (["run", *given, "--", "true"], ["record", *given, "--host", "--for", "1ms"]):
            done = run(*argv, status=0, env=gpus.env)
            assert done.stderr == (f"baro {argv[0]}: --gpu 0: no GPU is recorded: there is no driver of NVIDIA, AMD, "
                                   "Intel or others here\n" if gpu == "0" else "")


def test_a_gpu_that_is_not_among_those_there(run, tape, gpus):
    gpus.write()
    p = start(run, tape, gpus, "--gpu", "7")
    try:
        poll(lambda: warnings(run, tape), "a warning")
    finally:
        end(run, p)
    assert warnings(run, tape) == ["no GPU is read: --gpu names none of those that are here"]


WRONG = ["", "a b", "0;1", "nope", "0,nope", "0,,1", "0,", "-1", "card", "cardX", "gpu0", "GPU-a;b", "auto,0",
         "GPU-" + "0" * 400]


def test_wrong_lists(run, tape):
    for text in WRONG:
        done = run("run", "--gpu", text, "-o", tape, "--", "true", status=125)
        assert "numbers, UUIDs" in done.stderr and done.stderr.count("\n") == 1, text


def test_right_lists(run, tape, work):
    for text in "all", "0,17", "MIG-GPU-8932f937/1/0,GPU-8932f937", "card0,MIG-8932f937,card12", "5f1c2ab34dd70b3e":
        run.record(tape, "true", "--gpu", text, env={"BARO_GPU_ROOT": work})
        tape.unlink()


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
