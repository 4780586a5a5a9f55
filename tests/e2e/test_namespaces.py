# SPDX-License-Identifier: Apache-2.0
"""Recordings where /proc or the clocks belong to another namespace than baro."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="PID and time namespaces need root")


def unshared(run, flags, *args):
    done = subprocess.run(
        ["unshare", *flags, run.binary, *map(str, args)],
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=run.work,
    )
    if "unshare: " in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


@pytest.mark.parametrize("events", ["", "1"])
def test_proc_of_another_pid_namespace(run, tape, monkeypatch, events):
    """There, the pid of a member belongs to another process, mostly a kernel thread. Only what wait4(2) and events
    report is recorded."""
    if events:
        monkeypatch.setenv("BARO_NO_EVENTS", "1")
    done = unshared(
        run, ["-p", "-f"], "run", "-o", tape, "--", "sh", "-c", "for i in 1 2 3; do sleep 0.1; done; exit 3"
    )
    assert done.returncode == 3 and "another PID namespace" in done.stderr
    summary = run.summary(tape)
    assert {c["name"] for c in summary["commands"]} <= {"sh", "sleep", ""}, summary["commands"]
    assert summary["job"]["processes_started"] <= 4 and summary["job"]["processes_started_is_lower_bound"]
    assert summary["job"]["cpu_ns"] > 0 and summary["accounting"]["kernel_source"] == "wait4"
    assert {e["uid"] for e in run.export(tape, "exit")} <= {None, 0}
    assert all(row["rss_bytes"] is None for row in run.export(tape, "process"))


def test_attach_refuses_the_proc_of_another_pid_namespace(run):
    done = unshared(run, ["-p", "-f"], "record", "--pid", "1")
    assert done.returncode == 2 and "another PID namespace" in done.stderr


@pytest.mark.parametrize("network", [[], ["-n"]], ids=["connector", "perf"])
@pytest.mark.parametrize("offset", ["1000", "-500"])
def test_time_namespace(run, tape, offset, network):
    """The kernel stamps events by the machine's clock; all else in the namespace uses its own clock."""
    if offset.startswith("-") and float(open("/proc/uptime", encoding="ascii").read().split()[0]) < 1000:
        pytest.skip("the machine has not been up for long enough")
    done = unshared(
        run,
        ["-T", "--monotonic", offset, "--boottime", offset, *network],
        "run",
        "-q",
        "-i",
        "10ms",
        "-o",
        tape,
        "--",
        "sh",
        "-c",
        "sleep 0.2; sleep 0.2; true & sleep 0.1; exit 0",
    )
    assert done.returncode == 0, done.stderr
    summary = run.summary(tape)
    end = next(e["t_ns"] for e in run.export(tape, "event") if e["event"] == "end")
    times = [e["t_ns"] for e in run.export(tape, "event") if e["event"] == "exec"]
    assert times and all(t <= end for t in times)
    assert sum(t > end // 4 for t in times) >= 2, (times, end)  # processes that live at the end are reported as alive
    assert all(e["elapsed_ns"] is None or e["elapsed_ns"] <= end for e in run.export(tape, "exit"))
    assert "sh" in {row["name"] for row in run.export(tape, "process")}
    assert summary["job"]["processes_started"] == 5 or summary["job"]["processes_started_is_lower_bound"]
