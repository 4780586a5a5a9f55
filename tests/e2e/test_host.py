# SPDX-License-Identifier: Apache-2.0
"""The machine around the job, compared with what other tools report in the same seconds. Counters are bracketed: what
another tool reports before the recording is at most the first sample, and what it reports afterwards is at least the
last one.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

TICK = 10**9 // os.sysconf("SC_CLK_TCK")


def said(*argv):
    if not shutil.which(argv[0]):
        pytest.skip(f"no {argv[0]} here")
    return subprocess.run(argv, capture_output=True, text=True, check=True, env=dict(os.environ, LC_ALL="C")).stdout


def record(run, tape, *options, status=0):
    run("record", "--host", "-q", "-o", tape, *(options or ("--for", "400ms")), status=status)
    return run.export(tape, "host")


def proc(name):
    with open(f"/proc/{name}", encoding="ascii", errors="replace") as f:
        return f.read()


def test_cores_agree_with_proc_stat_and_add_up(run, tape):
    rows = record(run, tape)
    cpus = run.export(tape, "cpu")
    names = {line.split()[0] for line in proc("stat").splitlines() if re.match(r"cpu\d", line)}
    assert {c["name"] for c in cpus} == names and rows[-1]["cpus"] == len(names)
    last = [c for c in cpus if c["t_ns"] == rows[-1]["t_ns"]]
    for mode in ("user", "system", "steal"):
        total, parts = rows[-1][f"cpu_{mode}_ns"], sum(c[f"{mode}_ns"] for c in last)
        assert abs(total - parts) <= (len(names) + 1) * TICK, mode  # each is rounded down to ticks by itself
    assert all(c["node"] is None or c["node"] >= 0 for c in last)


def test_disks_and_interfaces_agree_with_proc(run, tape):
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
    for which, (entity, columns) in enumerate((("disk", ("read_bytes", "write_bytes")),
                                               ("net", ("receive_bytes", "transmit_bytes")))):
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


def psutil_values(psutil):
    """{(entity, name, metric): number}; CPU time in ticks."""
    cpu, stat, swap = psutil.cpu_times(), psutil.cpu_stats(), psutil.swap_memory()
    found = {("host", "", m): round(getattr(cpu, m) * 100) for m in ("user", "nice", "system", "idle", "softirq", "steal")}
    for i, c in enumerate(psutil.cpu_times(percpu=True)):
        found |= {("cpu", f"cpu{i}", m): round(getattr(c, m) * 100) for m in ("system", "steal")}
    found |= {("host", "", "switches"): stat.ctx_switches, ("host", "", "interrupts"): stat.interrupts,
              ("host", "", "swap_in_bytes"): swap.sin, ("host", "", "swap_out_bytes"): swap.sout,
              ("host", "", "forks"): int(re.search(r"^processes (\d+)", proc("stat"), re.M)[1])}
    for name, d in psutil.disk_io_counters(perdisk=True).items():
        found |= {("disk", name, "read_bytes"): d.read_bytes, ("disk", name, "write_bytes"): d.write_bytes,
                  ("disk", name, "reads"): d.read_count, ("disk", name, "writes"): d.write_count,
                  ("disk", name, "busy_ns"): d.busy_time * 10**6}
    for name, n in psutil.net_io_counters(pernic=True).items():
        found |= {("net", name, "receive_bytes"): n.bytes_recv, ("net", name, "transmit_bytes"): n.bytes_sent,
                  ("net", name, "receive_packets"): n.packets_recv, ("net", name, "transmit_packets"): n.packets_sent,
                  ("net", name, "receive_errors"): n.errin, ("net", name, "transmit_drops"): n.dropout}
    return found


def test_values_agree_with_psutil(run, tape):
    psutil = pytest.importorskip("psutil")
    before, hosts, after = psutil_values(psutil), record(run, tape), psutil_values(psutil)
    for row in hosts:  # the kernel's user time has that of virtual machines, which is a column of its own here
        row["cpu_user_ns"] += row["cpu_guest_ns"] or 0
        row["cpu_nice_ns"] += row["cpu_guest_nice_ns"] or 0
    rows = {("host", ""): hosts}
    for entity in ("cpu", "disk", "net"):
        for row in run.export(tape, entity):
            rows.setdefault((entity, row["name"]), []).append(row)
    checked = set()
    for (entity, name, metric), least in before.items():
        column, unit = metric, 1
        if metric in ("user", "nice", "system", "idle", "softirq", "steal"):
            column, unit = ("cpu_" if entity == "host" else "") + metric + "_ns", TICK
        for row in rows.get((entity, name), []):
            if row[column] is None or (entity, name, metric) not in after:
                continue
            assert least * unit <= row[column] <= after[entity, name, metric] * unit, (entity, name, metric)
            checked.add(entity)
    assert checked >= {"host", "cpu", "net"}
    memory, swap, last = psutil.virtual_memory(), psutil.swap_memory(), hosts[-1]
    assert (last["memory_total_bytes"], last["swap_total_bytes"], last["cpus"]) == (memory.total, swap.total, psutil.cpu_count())
    assert last["memory_used_bytes"] == last["memory_total_bytes"] - last["memory_available_bytes"]
    # Other processes use memory in the same seconds: equal to a fifth of the machine.
    assert abs(last["memory_available_bytes"] - memory.available) < memory.total / 5
    assert abs(last["memory_free_bytes"] - memory.free) < memory.total / 5
    for row in run.export(tape, "fs"):
        if row["total_bytes"] is not None and os.path.ismount(row["name"]):
            assert row["total_bytes"] == psutil.disk_usage(row["name"]).total


# A helper reads filesystems, and may wait for a CPU.
LONGER = "400ms", "4s", "40s"
needs_root_mount = pytest.mark.skipif(not os.path.ismount("/") or not any(line.split()[1] == "/" for line in open("/proc/self/mounts")),
                                      reason="the root is no mount, as in a chroot: there is no filesystem to be read")


@needs_root_mount
def test_filesystems_agree_with_df(run, tape, work):
    for how_long in LONGER:
        record(run, tape, "--force", "--for", how_long)
        found = {row["name"]: row for row in run.export(tape, "fs") if row["total_bytes"] is not None}
        if "/" in found:
            break
    sizes, devices = {}, {}
    for point, row in found.items():
        with contextlib.suppress(FileNotFoundError, subprocess.CalledProcessError):
            if os.path.ismount(point):
                sizes[point] = said("df", "-B1", "--output=size,itotal", point).splitlines()[1].split()
            if "btrfs" not in row["label"] and "zfs" not in row["label"]:
                devices[point] = os.stat(point).st_dev
    mounted = {line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()}
    sizes = {point: size for point, size in sizes.items() if point in mounted}  # other tests unmount theirs
    devices = [device for point, device in devices.items() if point in mounted]
    assert sizes, "no filesystem was read"
    for point, (size, inodes) in sizes.items():
        row = found[point]
        assert row["total_bytes"] == int(size) and (row["inodes"] or 0) == int(inodes.replace("-", "0"))
        assert 0 <= row["used_bytes"] <= row["total_bytes"] and row["available_bytes"] <= row["total_bytes"]
    assert len(devices) == len(set(devices)), "one of them twice"


LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags=0, data=None):
    source, target, kind, data = (s and os.fsencode(s) for s in (source, target, kind, data))
    if LIBC.mount(source, target, kind, ctypes.c_ulong(flags), data) < 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def own_mounts():
    """For preexec_fn: mounts from here on are visible to this process only."""
    new_namespace, recursive, private = 0x20000, 0x4000, 1 << 18
    if LIBC.unshare(new_namespace) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount(None, "/", None, recursive | private)


@pytest.fixture
def mounts():
    try:
        subprocess.run(["true"], preexec_fn=own_mounts, check=True)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("may not mount anything here")


def test_filesystem_exact_without_other_writers(run, tape, work, mounts):
    """Only the recorder and df access this filesystem."""
    point = work / "full"
    point.mkdir()
    (work / "df").write_text(
        f"#!/bin/sh\nhead -c 3000000 /dev/zero >{point}/file\ndf -B1 --output=size,used,avail,itotal,iavail {point} >{work}/said\n"
        f"exec {run.binary} record --host -q --force -o {tape} --for $1\n"
    )
    (work / "df").chmod(0o755)

    def prepare():
        own_mounts()
        mount("tmpfs", point, "tmpfs", 0, "size=8m,nr_inodes=100")

    for how_long in LONGER:
        subprocess.run([work / "df", how_long], preexec_fn=prepare, check=True, env=dict(os.environ, LC_ALL="C"))
        row = [row for row in run.export(tape, "fs") if row["name"] == str(point)][-1]
        if row["total_bytes"] is not None:
            break
    truth = [int(word) for word in (work / "said").read_text().splitlines()[1].split()]
    names = ("total_bytes", "used_bytes", "available_bytes", "inodes", "inodes_free")
    assert truth[1] >= 3000000 and [row[name] for name in names] == truth


@pytest.mark.skipif(not os.access("/dev/fuse", os.R_OK | os.W_OK), reason="no /dev/fuse")
def test_hanging_mount_is_absent_and_all_else_is_read(run, tape, work, mounts, wait_until):
    point = work / "silent"
    point.mkdir()
    server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)

    def prepare():
        own_mounts()
        mount("silent", point, "fuse.silent", 0, f"fd={server},rootmode=40000,user_id=0,group_id=0")

    def rows(entity, name=None):
        run.await_samples(tape)
        return [row for row in run.export(tape, entity) if name in (None, row.get("name"))]

    def why():
        reasons = {row["absent"]["total_bytes"] for row in rows("fs", str(point)) if row["total_bytes"] is None}
        return reasons - {"not yet"}

    recorder = run.popen("record", "--host", "-q", "-i", "100ms", "-o", tape, before=prepare)
    try:
        wait_until(why, "the mount to be given up")
        given_up = len(rows("host"))
        wait_until(lambda: len(rows("host")) > given_up + 3, "more readings of the machine")
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=60) == 0
    finally:
        os.close(server)  # from now on it answers: it is unmounted
        recorder.kill()
        recorder.wait()
    assert why() == {"timeout"}
    # Mounts of other tests hang as well.
    others = [row for row in rows("fs") if row["name"] != str(point) and "fuse" not in row["label"]]
    assert any(row["name"] == "/" and row["total_bytes"] for row in others)
    assert all("timeout" not in row.get("absent", {}).values() for row in others)


def test_pressure_and_uptime(run, tape):
    before = float(proc("uptime").split()[0])
    row = record(run, tape)[-1]
    assert int(before * 1e9) <= row["uptime_ns"] <= float(proc("uptime").split()[0]) * 1e9 + 1e7
    if os.path.exists("/proc/pressure/cpu"):
        total = int(re.search(r"some.*total=(\d+)", proc("pressure/cpu"))[1])
        assert 0 <= row["pressure_cpu_some_ns"] <= total * 1000
    else:
        assert row["pressure_cpu_some_ns"] is None


def test_writes_of_a_job_are_counted_on_the_disk(run, tape, work):
    device = os.stat(work).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
        pytest.skip("the folder is on no disk")
    run.record(tape, f"sleep 0.2; dd if=/dev/zero of={work}/file bs=1M count=64 conv=fsync 2>/dev/null; sleep 0.2")
    rows = run.export(tape, "host")
    if rows[-1]["disk_write_bytes"] is None:
        pytest.skip("no /sys")
    first = next(row for row in rows if row["disk_write_bytes"] is not None)
    assert rows[-1]["disk_write_bytes"] - first["disk_write_bytes"] >= 64 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a loop device")
def test_loop_device_is_counted_once(run, tape, work):
    image = work / "image"
    image.write_bytes(b"\0" * (16 << 20))
    made = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip("no loop device")
    loop = made.stdout.strip()
    try:
        recorder = run.popen("record", "--host", "-q", "-o", tape)
        run.await_samples(tape)
        dd = ["dd", "if=/dev/urandom", f"of={loop}", "bs=1M", "count=16", "conv=fsync"]
        subprocess.run(dd, check=True, capture_output=True)
        run.await_samples(tape, len(run.instants(tape)) + 1)
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


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a loop device")
def test_disks_behind_one_with_many_partitions(run, tape, work):
    """The kernel writes a disk and its partitions as one record, so a read of the file may end before a long record."""
    image = work / "image"
    image.write_bytes(b"\0" * (1 << 20))
    loops = [f"/dev/loop{i}" for i in range(7, 0, -1) if os.path.exists(f"/dev/loop{i}")]  # 0: a record precedes it
    loop = next((d for d in loops if not subprocess.run(["losetup", d, image], capture_output=True).returncode), None)
    if not loop:
        pytest.skip("no loop device")
    try:
        for number in range(1, 91):
            subprocess.run(["addpart", loop, str(number), str(8 * number), "8"], check=True)
        disks = {words[2] for words in map(str.split, proc("diskstats").splitlines())
                 if any(w != "0" for w in words[3:]) and not os.path.exists(f"/sys/class/block/{words[2]}/partition")}
        record(run, tape)
    finally:
        for number in range(1, 91):
            subprocess.run(["delpart", loop, str(number)], capture_output=True)
        subprocess.run(["losetup", "-d", loop], check=True)
    assert disks <= {row["name"] for row in run.export(tape, "disk")}


def test_loopback_is_not_counted_as_traffic(run, tape):
    listener = socket.create_server(("127.0.0.1", 0))

    def drain():
        connection, _ = listener.accept()
        while connection.recv(1 << 20):
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    recorder = run.popen("record", "--host", "-q", "-o", tape)
    run.await_samples(tape)
    with socket.create_connection(listener.getsockname()) as sender:
        sender.sendall(b"x" * (8 << 20))
    reader.join()
    run.await_samples(tape, len(run.instants(tape)) + 1)
    recorder.send_signal(signal.SIGTERM)
    assert recorder.wait(timeout=60) == 0
    rows = [row for row in run.export(tape, "net") if row["name"] == "lo"]
    assert rows[-1]["counted"] == 0 and rows[-1]["receive_bytes"] - rows[0]["receive_bytes"] >= 8 << 20
    host = run.export(tape, "host")[-1]
    others = {row["name"]: row for row in run.export(tape, "net")}
    assert host["net_receive_bytes"] == sum(row["receive_bytes"] for row in others.values() if row["counted"])


# ---- when the machine is recorded ------------------------------------------------------------------------------------


def test_machine_is_recorded_unless_job_is_short_or_option_is_off(run_both, tape, work):
    run_both.record(tape, "sleep 0.4")
    rows = run_both.export(tape, "host")
    assert len(rows) >= 2 and rows[0]["t_ns"] >= 30_000_000
    before, last = run_both.instants(tape)[-2:]
    assert min(before, last - 10_000_000) <= rows[-1]["t_ns"] <= last, "no reading at the end, and none just before"
    ids = [row["t_ns"] for row in rows]
    # Each 100 ms, and a tick may come early or late; the last one is at the end.
    assert len(ids) - 2 <= (ids[-2] - ids[0]) / 90e6 + 0.5, ids
    without = run_both.record(work / "without.baro", "sleep 0.2", "--no-host")
    assert run_both.export(without, "host") == [] and run_both.export(without, "cpu") == []


def test_attached_recording_has_the_machine_at_once(run, tape, started):
    sleeper = started(["sleep", "1000"])
    run("record", "--pid", sleeper.pid, "--for", "300ms", "-q", "-o", tape, status=0)
    assert sleeper.poll() is None, "what is recorded is not touched"
    samples = run.export(tape, "job")
    assert run.export(tape, "host")[0]["t_ns"] == samples[0]["t_ns"]
    assert samples[-1]["t_ns"] >= 300_000_000


@pytest.mark.parametrize("options", [("--exact", "no such program"), ("--pid", "SLEEPER"), ("--host",)])
def test_length_of_a_recording_that_is_stopped(run, tape, started, options):
    """The end is the time of the end, not of the sample before it."""
    sleeper = str(started(["sleep", "1000"]).pid)
    run("record", *(o.replace("SLEEPER", sleeper) for o in options), "--for", "1s", "-q", "-o", tape, status=0)
    ends = [e["t_ns"] for e in run.export(tape, "event") if e["event"] == "end"]
    assert len(ends) == 1 and ends[0] >= 1_000_000_000
    summary = json.loads(run("summary", "--json", tape, status=0).stdout)
    assert (summary["start_ns"] or 0) + summary["wall_ns"] == run.export(tape, "job")[-1]["t_ns"]


@needs_root_mount
def test_job_of_half_a_second_has_filesystems(run, tape):
    """They are read soon after the start, and once more at the end: what the job wrote is counted."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        run.record_gated(tape, f"sleep 0.3; head -c 30000000 /dev/zero >{folder}/x; read x <gate",
                         lambda: run.instants(tape) and any(r["read_at_ns"] for r in run.export(tape, "fs")))
    rows = [r for r in run.export(tape, "fs") if r["name"] == "/dev/shm"]
    if not rows:
        pytest.skip("no filesystem of its own at /dev/shm")
    read = [int(r["read_at_ns"]) for r in rows if r["read_at_ns"] is not None]
    assert read and sorted(read) == read
    last = [r for r in run.export(tape, "fs") if r["name"] == "/dev/shm"][-1]
    if read[-1] == last["t_ns"]:  # on a very busy machine the helper may come too late for the last reading
        assert int(last["used_bytes"]) >= 30000000
