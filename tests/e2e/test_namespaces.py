# SPDX-License-Identifier: Apache-2.0
"""Recordings where /proc or the clocks belong to another namespace than baro."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import SOURCE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="PID and time namespaces need root")


def unshared(run, flags, *args):
    done = subprocess.run(["unshare", *flags, run.binary, *map(str, args)], check=False, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=run.work)
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


def test_the_proc_of_another_pid_namespace_is_refused(run):
    done = unshared(run, ["-p", "-f"], "record", "--pid", "1")
    assert done.returncode == 2 and "another PID namespace" in done.stderr
    found = json.loads(unshared(run, ["-p", "-f"], "doctor", "--json").stdout)
    found = [f for f in found if f["topic"] == "own processes" or (f["topic"], f["what"]) == ("place", "namespaces")]
    assert len(found) > 5 and all(f["state"] == "no" and "mount -t proc" in f["grant"] for f in found)


@pytest.mark.parametrize("network", [[], ["-n"]], ids=["connector", "perf"])
@pytest.mark.parametrize("offset", ["1000", "-500"])
def test_time_namespace(run, tape, offset, network):
    """The kernel stamps events by the machine's clock; all else in the namespace uses its own clock."""
    if offset.startswith("-") and float(open("/proc/uptime", encoding="ascii").read().split()[0]) < 1000:
        pytest.skip("the machine has not been up for long enough")
    done = unshared(run, ["-T", "--monotonic", offset, "--boottime", offset, *network], "run", "-q", "-i", "10ms", "-o",
                    tape, "--", "sh", "-c", "sleep 0.2; sleep 0.2; true & sleep 0.1; exit 0")
    assert done.returncode == 0, done.stderr
    summary = run.summary(tape)
    end = next(e["t_ns"] for e in run.export(tape, "event") if e["event"] == "end")
    times = [e["t_ns"] for e in run.export(tape, "event") if e["event"] == "exec"]
    assert times and all(t <= end for t in times)
    assert sum(t > end // 4 for t in times) >= 2, (times, end)  # processes that live at the end are reported as alive
    assert all(e["elapsed_ns"] is None or e["elapsed_ns"] <= end for e in run.export(tape, "exit"))
    assert "sh" in {row["name"] for row in run.export(tape, "process")}
    assert summary["job"]["processes_started"] == 5 or summary["job"]["processes_started_is_lower_bound"]


def test_a_root_with_nothing_but_baro(run, work):
    """No /proc, no /sys, no shell, no library: what wait4(2) and the clocks say is recorded, and it is said why."""
    root = work / "root"
    (root / "tmp").mkdir(parents=True)
    shutil.copy(run.binary, root / "baro")
    if b"ld-linux" in (root / "baro").read_bytes()[:4096] or not shutil.which("gcc"):
        pytest.skip("baro is not static, or no gcc")
    source = work / "burn.c"
    source.write_text("#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 20) ; return 3; }\n")
    if subprocess.run(["gcc", "-static", "-o", root / "burn", source], check=False).returncode:
        pytest.skip("no static libc")

    def inside(*argv):
        return subprocess.run(
            [shutil.which("chroot"), root, *argv], check=False, capture_output=True, text=True, timeout=60, env={}
        )

    done = inside("/baro", "run", "-o", "/tmp/t.baro", "--", "/burn")
    assert done.returncode == 3 and "/proc is not mounted" in done.stderr and ": ," not in done.stderr, done
    job = run.summary(root / "tmp/t.baro")["job"]
    assert 40e6 < job["cpu_ns"] < 80e6 and job["rss_peak_bytes"] and job["processes_started"] == 1
    assert "/proc is not mounted" in inside("/baro", "doctor").stdout
    done = inside("/baro", "record", "--pid", "1", "-o", "/tmp/u.baro")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_mark_of_a_time_namespace_of_its_own(run, tape):
    """Its monotonic clock is one second behind the recorder's: a time that could be true."""
    there = "unshare -T --monotonic -1"
    if subprocess.run([*there.split(), "true"], check=False, capture_output=True).returncode:
        pytest.skip("no time namespaces")
    python = f"PYTHONPATH={SOURCE}/python {there} {sys.executable} -c 'import barograph; barograph.mark(\"2\")'"
    run.record(tape, f"sleep 1.1; {run.binary} mark 0; {there} {run.binary} mark 1; {python}; {run.binary} mark 3")
    marks = json.loads(run("summary", "--by", "phase", "--json", tape, status=0).stdout)["marks"]
    assert [m["name"] for m in sorted(marks, key=lambda m: m["begin_ns"])] == list("0123")
