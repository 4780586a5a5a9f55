# SPDX-License-Identifier: Apache-2.0
"""The machine around the job, against what others say of it in the same seconds. Counters are bracketed: what another said before the recording
began is not more than the first sample, and what it says after the end not less than the last one."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

TICK = 10**9 // os.sysconf("SC_CLK_TCK")


def said(*argv):
    if not shutil.which(argv[0]):
        pytest.skip(f"no {argv[0]} here")
    return subprocess.run(argv, capture_output=True, text=True, check=True, env=dict(os.environ, LC_ALL="C")).stdout


def record(run, tape, *options, status=0):
    run("record", "--host", "-q", "-o", tape, *(options or ("--for", "400ms")), status=status)
    return run.export(tape, "host")


def vmstat():
    """`vmstat -s` as a dict from its words to numbers."""
    found = {}
    for line in said("vmstat", "-s").splitlines():
        number, words = line.split(maxsplit=1)
        found[words] = int(number)
    return found


def proc(name):
    with open(f"/proc/{name}", encoding="ascii", errors="replace") as f:
        return f.read()


def test_counters_lie_between_what_vmstat_says(run, tape):
    before, rows, after = vmstat(), record(run, tape), vmstat()
    pairs = {
        "interrupts": ("interrupts", 1), "switches": ("CPU context switches", 1), "forks": ("forks", 1),
        "swap_in_bytes": ("pages swapped in", os.sysconf("SC_PAGESIZE")), "swap_out_bytes": ("pages swapped out", os.sysconf("SC_PAGESIZE")),
        "cpu_idle_ns": ("idle cpu ticks", TICK), "cpu_system_ns": ("system cpu ticks", TICK), "cpu_softirq_ns": ("softirq cpu ticks", TICK),
        "cpu_steal_ns": ("stolen cpu ticks", TICK), "cpu_user_ns": ("non-nice user cpu ticks", TICK), "cpu_nice_ns": ("nice user cpu ticks", TICK),
    }
    assert len(rows) >= 2
    for name, (words, unit) in pairs.items():
        if words not in before:
            continue
        assert before[words] * unit <= rows[0][name] <= rows[-1][name] <= after[words] * unit, name


def test_memory_is_what_free_says(run, tape):
    def free():
        lines = said("free", "-b").splitlines()
        return dict(zip(lines[0].split(), map(int, lines[1].split()[1:]))), int(lines[2].split()[1])

    (memory, swap), row = free(), record(run, tape)[-1]
    assert row["memory_total_bytes"] == memory["total"] and row["swap_total_bytes"] == swap
    assert row["memory_used_bytes"] == row["memory_total_bytes"] - row["memory_available_bytes"]
    # Others use memory in the same seconds: the same to a fifth of the machine.
    assert abs(row["memory_available_bytes"] - memory["available"]) < memory["total"] / 5
    assert abs(row["memory_free_bytes"] - memory["free"]) < memory["total"] / 5


def test_cores_are_those_of_proc_stat_and_add_up(run, tape):
    rows = record(run, tape)
    cpus = run.export(tape, "cpu")
    names = {line.split()[0] for line in proc("stat").splitlines() if re.match(r"cpu\d", line)}
    assert {c["name"] for c in cpus} == names and rows[-1]["cpus"] == len(names)
    last = [c for c in cpus if c["t_ns"] == rows[-1]["t_ns"]]
    for mode in ("user", "system", "steal"):
        total, parts = rows[-1][f"cpu_{mode}_ns"], sum(c[f"{mode}_ns"] for c in last)
        assert abs(total - parts) <= (len(names) + 1) * TICK, mode  # each is cut to ticks by itself
    assert all(c["node"] is None or c["node"] >= 0 for c in last)


def test_disks_and_interfaces_lie_between_what_proc_says(run, tape):
    def disks():
        return {f[2]: (int(f[5]) * 512, int(f[9]) * 512) for f in map(str.split, proc("diskstats").splitlines())}

    def nets():
        found = {}
        for line in proc("net/dev").splitlines()[2:]:
            name, numbers = line.rsplit(":", 1)
            found[name.strip()] = tuple(int(numbers.split()[i]) for i in (0, 8))
        return found

    before = disks(), nets()
    rows = record(run, tape)
    after = disks(), nets()
    for which, (entity, columns) in enumerate((("disk", ("read_bytes", "write_bytes")), ("net", ("receive_bytes", "transmit_bytes")))):
        found = run.export(tape, entity)
        assert found or entity == "disk"
        counted = {}
        for row in found:
            for i, column in enumerate(columns):
                assert before[which][row["name"]][i] <= row[column] <= after[which][row["name"]][i]
            counted[row["name"]] = row
        for column in columns:
            total = rows[-1][f"{entity}_{column}"]
            if total is not None:
                assert total == sum(row[column] for row in counted.values() if row["counted"])


def test_filesystems_are_what_df_says(run, tape, work):
    record(run, tape)
    found = {row["name"]: row for row in run.export(tape, "fs") if row["total_bytes"] is not None}
    assert found, "no filesystem was read"
    checked = 0
    for point, row in found.items():
        if not os.path.ismount(point):
            continue
        size, inodes = said("df", "-B1", "--output=size,itotal", point).splitlines()[1].split()
        assert row["total_bytes"] == int(size) and (row["inodes"] or 0) == int(inodes.replace("-", "0"))
        assert 0 <= row["used_bytes"] <= row["total_bytes"] and row["available_bytes"] <= row["total_bytes"]
        checked += 1
    assert checked
    devices = [os.stat(point).st_dev for point, row in found.items() if "btrfs" not in row["label"] and "zfs" not in row["label"]]
    assert len(devices) == len(set(devices)), "one of them twice"


def test_pressure_and_uptime(run, tape):
    before = float(proc("uptime").split()[0])
    row = record(run, tape)[-1]
    assert int(before * 1e9) <= row["uptime_ns"] <= float(proc("uptime").split()[0]) * 1e9 + 1e7
    if os.path.exists("/proc/pressure/cpu"):
        total = int(re.search(r"some.*total=(\d+)", proc("pressure/cpu"))[1])
        assert 0 <= row["pressure_cpu_some_ns"] <= total * 1000
    else:
        assert row["pressure_cpu_some_ns"] is None


def test_what_a_job_writes_shows_on_the_disk(run, tape, work):
    device = os.stat(work).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
        pytest.skip("the folder is on no disk")
    run.record(tape, f"sleep 0.2; dd if=/dev/zero of={work}/file bs=1M count=64 conv=fsync 2>/dev/null; sleep 0.2")
    rows = run.export(tape, "host")
    if rows[-1]["disk_write_bytes"] is None:
        pytest.skip("no /sys")
    assert rows[-1]["disk_write_bytes"] - rows[0]["disk_write_bytes"] >= 64 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a loop device")
def test_what_goes_through_a_loop_device_counts_once(run, tape, work):
    image = work / "image"
    image.write_bytes(b"\0" * (16 << 20))
    made = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip("no loop device to be had")
    loop = made.stdout.strip()
    try:
        recorder = run.popen("record", "--host", "-q", "-o", tape)
        wait_for_size(tape)
        subprocess.run(["dd", "if=/dev/urandom", f"of={loop}", "bs=1M", "count=16", "conv=fsync"], check=True, capture_output=True)
        time.sleep(0.3)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=60) == 0
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
    rows = [row for row in run.export(tape, "disk") if row["name"] == os.path.basename(loop)]
    assert rows and rows[-1]["counted"] == 0 and str(image) in rows[-1]["label"] and rows[-1]["write_bytes"] >= 16 << 20
    host, disks = run.export(tape, "host")[-1], run.export(tape, "disk")
    last = {row["name"]: row for row in disks}
    if host["disk_write_bytes"] is not None:
        assert host["disk_write_bytes"] == sum(row["write_bytes"] for row in last.values() if row["counted"])


def wait_for_size(path):
    for _ in range(600):
        if path.exists() and path.stat().st_size > 0:
            return
        time.sleep(0.05)
    pytest.fail("no tape")


def test_loopback_is_no_traffic_of_the_machine(run, tape):
    listener = socket.create_server(("127.0.0.1", 0))

    def drain():
        connection, _ = listener.accept()
        while connection.recv(1 << 20):
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    recorder = run.popen("record", "--host", "-q", "-o", tape)
    wait_for_size(tape)
    with socket.create_connection(listener.getsockname()) as sender:
        sender.sendall(b"x" * (8 << 20))
    reader.join()
    time.sleep(0.3)
    recorder.send_signal(signal.SIGTERM)
    assert recorder.wait(timeout=60) == 0
    rows = [row for row in run.export(tape, "net") if row["name"] == "lo"]
    assert rows[-1]["counted"] == 0 and rows[-1]["receive_bytes"] - rows[0]["receive_bytes"] >= 8 << 20
    host = run.export(tape, "host")[-1]
    others = {row["name"]: row for row in run.export(tape, "net")}
    assert host["net_receive_bytes"] == sum(row["receive_bytes"] for row in others.values() if row["counted"])


# ---- when, and whether ----------------------------------------------------------------------------------------------


def test_a_job_has_its_machine_unless_it_is_short_or_asked_for_without(run_both, tape, work):
    run_both.record(tape, "sleep 0.4")
    rows = run_both.export(tape, "host")
    assert len(rows) >= 2 and rows[0]["t_ns"] >= 30_000_000
    last = run_both.export(tape, "job")[-1]["t_ns"]
    assert last - 10_000_000 < rows[-1]["t_ns"] <= last, "no look at the end, and none just before"
    ids = [row["t_ns"] for row in rows]
    assert all(b - a >= 90_000_000 for a, b in zip(ids, ids[1:-1])), "each 100 ms, less what a tick may come early"
    without = run_both.record(work / "without.baro", "sleep 0.2", "--no-host")
    assert run_both.export(without, "host") == [] and run_both.export(without, "cpu") == []


def test_attached_it_is_there_at_once_and_for_as_long_as_told(run, tape, started):
    sleeper = started(["sleep", "1000"])
    run("record", "--pid", sleeper.pid, "--for", "300ms", "-q", "-o", tape, status=0)
    assert sleeper.poll() is None, "what is recorded is not touched"
    samples = run.export(tape, "job")
    assert run.export(tape, "host")[0]["t_ns"] == samples[0]["t_ns"]
    assert samples[-1]["t_ns"] >= 300_000_000


def test_alone_there_is_no_job(run, tape):
    assert record(run, tape)
    assert run.export(tape, "process") == []
    assert all(row["cpu_ns"] is None and row["processes"] is None for row in run.export(tape, "job"))
    for reader in ("summary", "show"):
        run(reader, tape, status=0)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_alone_it_goes_on_until_told(run, tape, sig):
    recorder = run.popen("record", "--host", "-q", "-o", tape)
    wait_for_size(tape)
    time.sleep(0.3)
    assert recorder.poll() is None
    recorder.send_signal(sig)
    assert recorder.wait(timeout=60) == 0
    assert run.export(tape, "host")


@pytest.mark.parametrize("options, word", [
    ((), "--host"), (("--host", "--no-host"), "one of them"), (("--host", "--for", "0s"), "0s"), (("--host", "--for", "x"), "x"), (("--host", "--for", "5"), "5"),
])
def test_wrong_calls(run, tape, options, word):
    done = run("record", *options, "-o", tape, status=2)
    assert word in done.stderr and done.stderr.count("\n") == 1


def test_alone_the_block_tells_of_the_machine(run, tape):
    done = run("record", "--host", "-o", tape, "--for", "400ms")
    said = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    labels = [line.split()[0] for line in said.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    assert labels[:4] == ["cpu", "memory", "disks", "network"], said
    assert os.uname().nodename.split(".")[0] in said.splitlines()[0]
    assert "processes" not in said and "pid 0" not in said
    shown = run("show", tape).stdout
    shown = shown if isinstance(shown, str) else shown.decode()
    assert "processes" not in shown and "machine: " in shown
