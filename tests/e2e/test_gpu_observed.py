# SPDX-License-Identifier: Apache-2.0
"""GPUs and baro observe (driver: fake_nvml.c): one program reads them for all jobs, and each tape has what its job's
processes use."""

import os
import signal

import pytest
from nvidia import gpus  # noqa: F401
from nvidia import GIB, helpers_of, poll, readings, rows, warnings
from test_observe import jobs, observer  # noqa: F401

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")


def script(gpus, *processes):
    gpus.write("0 power 200", "0 buffer none", "0 util 80", "0 used 12884901888", *processes)


def test_each_job_has_its_own(run, gpus, observer, jobs):
    a = jobs("a", ["sleep", "1000"])
    script(gpus, f"0 proc {a.process.pid} memory {4 * GIB}", f"0 proc {a.process.pid} sm 50")
    observer.start("-i", "200ms", env=gpus.env)
    first = observer.tape(a)
    poll(lambda: len([r for r in readings(rows(run, first)) if r["memory_job_bytes"]]) >= 4, "readings of a")
    b = jobs("b", ["sleep", "1000"])
    script(gpus, f"0 proc {a.process.pid} memory {4 * GIB}", f"0 proc {a.process.pid} sm 50",
           f"0 proc {b.process.pid} memory {7 * GIB}", f"0 proc {b.process.pid} sm 20")
    second = observer.tape(b)
    poll(lambda: len([r for r in readings(rows(run, second)) if r["busy_job_ns"]]) >= 3, "readings of b")
    assert len(helpers_of(observer.p.pid)) == 1

    of_a, of_b = readings(rows(run, first))[-1], readings(rows(run, second))[-1]
    assert (of_a["memory_job_bytes"], of_a["memory_others_bytes"]) == (4 * GIB, 7 * GIB)
    assert (of_b["memory_job_bytes"], of_b["memory_others_bytes"]) == (7 * GIB, 4 * GIB)
    # what there was before it began is not the second job's
    begun = readings(rows(run, second))[0]
    assert begun["energy_joules"] == 0 == begun["busy_ns"] == begun["busy_others_ns"]
    assert of_b["energy_joules"] < of_a["energy_joules"] and of_b["busy_ns"] < of_a["busy_ns"]
    assert of_b["busy_others_ns"] > 1.5 * of_b["busy_job_ns"] > 0
    assert {r["owner_pid"] for r in rows(run, second, "gpu_process")} == {b.process.pid}
    assert {r["owner_pid"] for r in rows(run, first, "gpu_process")} == {a.process.pid}

    # the first job ends: the other one's goes on
    a.process.kill()
    a.process.wait()
    before = readings(rows(run, second))[-1]["read_at_ns"]
    poll(lambda: readings(rows(run, second))[-1]["read_at_ns"] > before + 3 * 10**9, "readings after the end of a")
    assert len(helpers_of(observer.p.pid)) == 1
    # the program is killed: another one goes on, and no counter falls
    os.kill(helpers_of(observer.p.pid)[0], signal.SIGKILL)
    before = readings(rows(run, second))[-1]["read_at_ns"]
    poll(lambda: readings(rows(run, second))[-1]["read_at_ns"] > before + 2 * 10**9, "readings of another program")
    energy = [r["energy_joules"] for r in readings(rows(run, second))]
    assert energy == sorted(energy)
    b.process.kill()
    b.process.wait()
    poll(lambda: run.summary(second)["gpu"]["memory_job_peak_bytes"] == 7 * GIB, "the summary")
    observer.stop()


def test_a_hang_is_told_to_all(run, gpus, observer, jobs):
    groups = [jobs("a", ["sleep", "1000"]), jobs("b", ["sleep", "1000"])]
    gpus.env["BARO_GPU_STUCK_MS"] = "700"
    gpus.write("0 power 200", "@3 hang nvmlDeviceGetPowerUsage 0")
    observer.start("-i", "200ms", "--no-host", env=gpus.env)
    tapes = [observer.tape(g) for g in groups]
    for tape in tapes:
        silent = "nvmlDeviceGetPowerUsage of gpu0"
        poll(lambda tape=tape: any(silent in w for w in warnings(run, tape)), "the event")
        poll(lambda tape=tape: rows(run, tape)[-1]["power_watts"] is None, "its end")
    for g in groups:
        g.process.kill()
        g.process.wait()
    observer.stop()


def test_off(run, gpus, observer, jobs):
    gpus.env["FAKE_NVML_CALLS"] = gpus.calls
    gpus.write()
    a = jobs("a", ["sleep", "1000"])
    observer.start("-i", "200ms", "--gpu", "off", env=gpus.env)
    poll(lambda: len(run.instants(observer.tape(a))) > 4, "samples")
    assert not gpus.calls.exists()
    a.process.kill()
    a.process.wait()
    observer.stop()
