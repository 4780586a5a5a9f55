# SPDX-License-Identifier: Apache-2.0
"""The machine around a job, as readers print it: JSON, the dialects of other trackers, and the values of /proc in the
same seconds.
"""

import csv
import datetime
import io
import json
import math
import os
import re
import shutil
import subprocess

import pytest
from conftest import ORDINARY, SOURCE
from readers import call, one_line
from readers import good as good_bytes

JOB = "import time\nx = bytearray(30 << 20)\nt = time.monotonic()\nwhile time.monotonic() - t < 1.2: pass\ntime.sleep(1.2)\n"

LIMITS = """memory_bytes memory_source memory_at_most_bytes memory_at_most_source memory_peak_ratio memory_peak_bytes
    memory_peak_of memory_peak_shared_bytes memory_peak_at_most_bytes memory_peak_doubt
    memory_page_cache_bytes memory_group_ratio
    oom_kills oom_kills_at_least oom_kills_at_most oom_kills_in_group cores cores_source
    cores_at_most cores_at_most_source cores_peak_ratio throttled_ns pids pids_source
    pids_at_most pids_at_most_source forks_refused held_from_ns memory_is_hidden cores_is_hidden""".split()
HOST = """name kernel machine cpu_model numa_nodes watched_ns cores cpu_mean_cores cpu_peak_cores cpu_others_mean_cores
    ranks_beside cpu_user_ratio cpu_idle_ratio cpu_steal_ratio load_peak memory_total_bytes memory_used_peak_bytes memory_available_least_bytes swap_used_peak_bytes swap_in_bytes swap_out_bytes oom_kills disk_read_bytes
    disk_write_bytes net_receive_bytes net_transmit_bytes cpu_interrupts_ns cpu_steal_ns pressure""".split()
PROCESS_COLUMNS = (
    "timestamp pid children utime stime cpu_usage pss read_bytes write_bytes gpu_usage gpu_vram gpu_utilized".split()
)
HOST_COLUMNS = """timestamp processes utime stime cpu_usage memory_free memory_used memory_buffers memory_cached memory_active_anon
    memory_inactive_anon disk_read_bytes disk_write_bytes disk_space_total_gb disk_space_used_gb disk_space_free_gb net_recv_bytes
    net_sent_bytes gpu_usage gpu_vram gpu_utilized""".split()


def good(baro, *args):
    return good_bytes(baro, *args).decode()


def cpu_ticks():
    """Returns user with nice and guests, system with interrupts, and idle, as the first line of /proc/stat counts them.
    """
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    return {"user": v[0] + v[1], "system": v[2] + v[5] + v[6], "idle": v[3]}


def meminfo():
    with open("/proc/meminfo") as f:
        return {line.split(":")[0]: int(line.split()[1]) for line in f}


def forks():
    with open("/proc/stat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("processes"))


@pytest.fixture(scope="module")
def watched(baro, tmp_path_factory):
    """A tape, and the values of /proc right before and right after its recording."""
    path = tmp_path_factory.mktemp("watched") / "w.baro"
    before = {"cpu": cpu_ticks(), "forks": forks()}
    good(baro, "run", "-q", "-o", path, "--", "/usr/bin/python3", "-c", JOB)
    return path, before, {"cpu": cpu_ticks(), "forks": forks()}


def dialect(baro, path, *args):
    """Rows as Python's own reader parses them: quoted cells are text, all others numbers."""
    text = good(baro, "export", path, *args)
    rows = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC, strict=True))
    assert text.count("\r\n") == len(rows) and text.endswith("\r\n")
    return rows[0], [dict(zip(rows[0], r, strict=True)) for r in rows[1:]]


def test_json(baro, watched):
    path, _, _ = watched
    d = json.loads(good(baro, "summary", "--json", path))
    assert list(d["limits"]) == LIMITS
    assert list(d["host"]) == HOST
    for section in ("limits", "host", "host.pressure"):
        at = d
        for name in section.split("."):
            at = at[name]
        for name, value in at.items():
            if name != "memory_peak_doubt":  # null: there is no doubt
                assert (value is None) == (f"{section}.{name}" in d["absent"]), name
    host = d["host"]
    assert host["memory_total_bytes"] == meminfo()["MemTotal"] * 1024
    assert host["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert 0 < host["cpu_user_ratio"] <= 1 and 0 <= host["cpu_idle_ratio"] < 1
    assert host["cpu_user_ratio"] + host["cpu_idle_ratio"] <= 1.001
    assert host["cpu_user_ratio"] <= host["cpu_mean_cores"] / host["cores"] + 0.01
    assert 0 < host["cpu_mean_cores"] <= host["cores"] and 0 < host["cpu_peak_cores"] <= host["cores"]
    assert 0 < host["memory_available_least_bytes"] <= host["memory_total_bytes"]
    assert 0 < d["limits"]["cores"] <= host["cores"]
    if d["limits"]["memory_bytes"] is None:
        return  # control groups are hidden
    assert 0 < d["limits"]["memory_bytes"] <= host["memory_total_bytes"]
    assert d["limits"]["memory_peak_ratio"] == pytest.approx(
        d["limits"]["memory_peak_bytes"] / d["limits"]["memory_bytes"]
    )


def test_no_host(baro, work):
    path = work / "n.baro"
    assert call(baro, "run", "-q", "--no-host", "-o", path, "--", "sleep", "0.2").returncode == 0
    d = json.loads(good(baro, "summary", "--json", path))
    assert d["host"]["cpu_mean_cores"] is None and "host.cpu_mean_cores" in d["absent"]
    assert d["host"]["cores"] and d["limits"]["cores"]
    assert b"machine" not in call(baro, "summary", path).stdout
    r = call(baro, "export", path, "--dialect", "spare-cores", "--entity", "host")
    assert r.returncode == 0 and r.stdout.count(b"\n") == 1 and b"was read less than twice" in r.stderr
    assert "machine:" not in good(baro, "show", path)
    assert json.loads(good(baro, "show", path, "--json"))["host"] is None


def test_show(baro, watched):
    path, _, _ = watched
    line = next(x for x in good(baro, "show", path, "--at", "+2s").splitlines() if x.startswith("machine: "))
    assert "cores busy" in line and "memory used" in line
    host = json.loads(good(baro, "show", path, "--at", "+2s", "--json"))["host"]
    assert host["memory_total_bytes"] == meminfo()["MemTotal"] * 1024


@pytest.mark.parametrize("name", ["spare-cores", "spare-cores-mended"])
def test_process_rows(baro, watched, name):
    path, _, _ = watched
    columns, rows = dialect(baro, path, "--dialect", name)
    assert columns == PROCESS_COLUMNS
    job = json.loads(good(baro, "summary", "--json", path))["job"]
    tick = os.sysconf("SC_CLK_TCK")
    assert len({r["pid"] for r in rows}) == 1
    assert [r["timestamp"] for r in rows] == sorted(r["timestamp"] for r in rows)
    assert not [r for r in rows if "" in (r["pss"], r["read_bytes"], r["write_bytes"])]
    assert max(r["pss"] or 0 for r in rows) == job["pss_peak_bytes"] // 1024
    for column, total in (("utime", job["cpu_user_ns"]), ("stime", job["cpu_system_ns"])):
        ticks = total * tick // 10**9
        counted = sum(r[column] for r in rows)
        # The original has no row for the time after the last sample of a living process; mended, nothing is lost.
        assert counted == ticks if name.endswith("mended") else counted <= ticks
    if name.endswith("mended"):
        assert sum(r["read_bytes"] for r in rows) == job["io_read_bytes"]
        assert {r["gpu_usage"] for r in rows} == {""}
    else:
        assert all(math.isnan(r["gpu_usage"]) for r in rows)


@pytest.mark.parametrize("name", ["spare-cores", "spare-cores-mended"])
def test_host_rows(baro, watched, name):
    path, before, after = watched
    columns, rows = dialect(baro, path, "--dialect", name, "--entity", "host")
    assert columns == HOST_COLUMNS and rows
    for column, which in (("utime", "user"), ("stime", "system")):
        assert 0 <= sum(r[column] for r in rows) <= after["cpu"][which] - before["cpu"][which] + 1
    own = list(csv.DictReader(io.StringIO(good(baro, "export", path, "--entity", "host"))))
    # The first row is the difference to the first reading, and there is none while filesystems did not answer.
    assert len(own) >= len(rows) + 1
    for mine, row in zip(own[-len(rows):], rows):
        for theirs, ours in (("memory_free", "memory_free_bytes"), ("memory_buffers", "memory_buffers_bytes"),
                             ("memory_cached", "memory_cached_bytes"),
                             ("memory_active_anon", "memory_active_anon_bytes")):
            assert row[theirs] == int(mine[ours]) // 1024
        if name == "spare-cores":
            assert before["forks"] <= row["processes"] <= after["forks"]
            total = int(mine["memory_total_bytes"]) // 1024
            assert row["memory_used"] == total - row["memory_free"] - row["memory_buffers"] - row["memory_cached"]
        else:
            assert row["memory_used"] == int(mine["memory_used_bytes"]) // 1024
            assert row["processes"] == int(mine["threads_running"])


def test_release_0_5(baro, watched):
    """The columns of resource-tracker 0.5, with the totals of the others; no cell that was read is empty."""
    path, _, _ = watched
    for entity, gone in (("process", []), ("host", ["processes"])):
        text = good(baro, "export", path, "--dialect", "spare-cores-0.5", "--entity", entity)
        rows = list(csv.DictReader(io.StringIO(text)))
        _, mended = dialect(baro, path, "--dialect", "spare-cores-mended", "--entity", entity)
        assert len(rows) == len(mended) and "\r" not in text
        for row, other in zip(rows, mended):
            empty = [c for c, v in row.items() if v == "" and not c.startswith("disk_space")]
            assert empty == gone + ["gpu_usage", "gpu_vram_mib", "gpu_utilized"]
            assert abs(float(row["timestamp"]) - other["timestamp"]) <= 0.0006
            assert float(row["cpu_usage"]) == other["cpu_usage"]
            if entity == "process":
                assert abs(float(row["memory_mib"]) * 1024 - other["pss"]) <= 1
                assert int(row["disk_write_bytes"]) == other["write_bytes"]
            else:
                assert abs(float(row["memory_used_mib"]) * 1024 - other["memory_used"]) <= 1
                if row["disk_space_total_gb"]:
                    assert abs(float(row["disk_space_total_gb"]) * 1e9 / 2**30 - other["disk_space_total_gb"]) <= 0.02
        ticks = sum(float(r["utime"]) + float(r["stime"]) for r in rows) * os.sysconf("SC_CLK_TCK")
        assert abs(ticks - sum(r["utime"] + r["stime"] for r in mended)) <= 2


def test_pytyche(baro, watched):
    path, before, after = watched
    rows = list(csv.DictReader(io.StringIO(good(baro, "export", path, "--dialect", "pytyche-cpu"))))
    assert list(rows[0]) == ["timestamp", "usr_pct", "idle_pct"]
    for row in rows:
        at = datetime.datetime.fromisoformat(row["timestamp"])
        assert at.isoformat(timespec="milliseconds") == row["timestamp"] and at.utcoffset() == datetime.timedelta(0)
        assert 0 <= float(row["usr_pct"]) + float(row["idle_pct"]) <= 100.1


@pytest.mark.parametrize("args", ["-d spare-cores -e job", "-d pytyche-cpu -e process", "-d spare-cores -F jsonl",
                                  "-d spare-cores -c pid", "-d sparecores"])
def test_wrong_calls(baro, args):
    one_line(call(baro, "export", SOURCE / "tests/tape/v1-small.baro", *args.split()), 2)


def where(script, *arguments):
    """Runs a script in a namespace of mounts of its own. It hides files by mounts over them, as in a container."""
    if not shutil.which("unshare"):
        pytest.skip("no unshare here")
    r = subprocess.run(["unshare", "-m", "sh", "-ec", script, "sh", *map(str, arguments)], capture_output=True, timeout=60)
    if b"unshare: " in r.stderr or b"mount: " in r.stderr:
        pytest.skip("may not mount anything here")
    assert r.returncode == 0, r.stderr
    return r.stdout.decode()


def test_doctor(baro):
    """As root and as an ordinary user: what is read, and what each missing thing needs."""
    user = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"] if os.geteuid() == 0 else []
    for prefix in ([], user):
        r = subprocess.run([*prefix, baro, "doctor", "--json"], capture_output=True, timeout=60)
        assert r.returncode == 0, r.stderr
        found = {(f["topic"], f["what"]): f for f in json.loads(r.stdout)}
        assert {f["state"] for f in found.values()} <= {"yes", "partly", "no", "fact"}
        assert found["own processes", "stat"]["state"] == "yes"
        assert {("events", "connector"), ("events", "chosen"), ("control groups", "hierarchies")} <= set(found)
        machine = {what: f for (topic, what), f in found.items() if topic == "machine"}
        assert set("cpu frequency load memory paging pressure disks filesystems network temperatures GPUs energy".split()) <= set(machine)
        assert machine["cpu"]["state"] == machine["memory"]["state"] == "yes"
        for (topic, what), f in found.items():
            if topic in ("machine", "control groups"):
                assert f["text"] and (f["grant"] or f["state"] != "no" or what in ("frequency", "disks", "filesystems"))
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        assert "v2" in found["control groups", "hierarchies"]["text"]
    if user:
        assert found["events", "taskstats"]["state"] == "no"
        if ("other users", "hidepid") in found:
            assert found["other users", "hidepid"]["state"] == "partly"
        else:
            assert "io" in found["other users", "files"]["text"].split("; not ")[1]


def of_metrics(text):
    return {(f["topic"], f["what"]): f for f in json.loads(text)}


def test_doctor_lists_each_metric(baro, work):
    found = of_metrics(good(baro, "doctor", "--metrics", "--json"))
    served = ["process", "host", "cpu", "disk", "fs", "net", "sensor", "cgroup"]  # by the collectors
    listed = [m for m in json.loads(good(baro, "metrics", "--json"))
              if m["kind"] in served and m["semantics"] != "derived"]
    made_by_options = ("process", "task")
    assert list(found) == [(m["kind"], m["name"]) for m in listed if (m["kind"], m["name"]) != made_by_options]
    for f in found.values():
        assert f["text"] and f["state"] in ("yes", "no", "partly")
    path = work / "h.baro"
    good(baro, "record", "--host", "--for", "300ms", "-q", "-o", path)
    row = json.loads(good(baro, "export", "-e", "host", "-F", "jsonl", path).splitlines()[-1])
    for (kind, name), f in found.items():
        if (
            kind == "host" and row["absent"].get(name) != "not yet"
        ):  # what a recording has is what doctor promises, and the reverse
            assert (f["state"] == "yes") == (row[name] is not None), name
    text = good(baro, "doctor", "-m")
    assert all(name in text for _, name in found)


NONE = "mount --bind /dev/null /proc/"
# What hides a file; what doctor says then; the metrics that doctor says are not to be had; those of the machine that are
# absent, with that reason. Not net/dev, which each process has its own of: that of the recorder can't be hidden before
# the recorder exists.
HIDDEN = [
    (NONE + "diskstats", {"disks": "no"}, "", "disk_read_bytes disk_write_bytes disk_reads disk_writes"),
    (NONE + "meminfo", {"memory": "no"}, "host memory_used_bytes", "memory_total_bytes memory_used_bytes swap_total_bytes"),
    (NONE + "stat", {"cpu": "no"}, "host cpu_user_ns", "cpu_user_ns cpus forks interrupts"),
    (NONE + "loadavg", {}, "", "load_1m threads"),
    (NONE + "uptime", {}, "", "uptime_ns"),
    (NONE + "vmstat", {}, "", "faults_major oom_kills"),
    (NONE + "pressure/cpu", {"pressure": "partly"}, "", ""),
    (NONE + "pressure/io", {"pressure": "partly"}, "", ""),
    (NONE + "pressure/memory", {}, "", "pressure_memory_some_ns"),
    ("mount -t tmpfs none /proc/pressure", {"pressure": "no"}, "", ""),
    ("mount -t tmpfs none /sys", {"network": "partly", "disks": "partly"}, "host net_receive_bytes net counted", ""),
    ("umount -R /sys/fs/cgroup", {"hierarchies": "no"}, "cgroup memory_limit_bytes", ""),
]


@pytest.mark.parametrize("hide, says, lacks, columns", HIDDEN, ids=[row[0].split("/", 1)[1] for row in HIDDEN])
def test_hidden_file_is_absent_and_not_zero(baro, work, hide, says, lacks, columns):
    """Doctor says what is missing, and what to do; a recording has no 0 for it."""
    if "/pressure" in hide and not os.path.exists("/proc/pressure/cpu") or "diskstats" in hide and not os.listdir("/sys/block"):
        pytest.skip("nothing to hide")
    script = f"cd {work}; {hide}; $1 doctor --json >doctor; $1 doctor --metrics --json >metrics; $1 record --host --for 100ms -q -o h"
    where(script, baro)
    found = {(f["topic"], f["what"]): f for f in json.loads((work / "doctor").read_text())}
    for what, state in says.items():
        line = found["control groups" if what == "hierarchies" else "machine", what]
        assert line["state"] == state and (line["grant"] or what == "hierarchies")
    assert "hierarchies" not in says or ("control groups", "limits") not in found
    metrics, pairs = of_metrics((work / "metrics").read_text()), lacks.split()
    for kind, name in zip(pairs[::2], pairs[1::2]):
        assert metrics[kind, name]["state"] == "no" and metrics[kind, name]["text"] and metrics[kind, name]["grant"]
    row = json.loads(good(baro, "export", "-e", "host", "-F", "jsonl", work / "h").splitlines()[-1])
    for column in columns.split():
        assert row[column] is None and row["absent"][column] == "unknown", column
    if hide == NONE + "meminfo":
        lines = [line.split() for line in good(baro, "summary", "-v", work / "h").splitlines()]
        assert [line[:3] for line in lines if line[0] == "memory"] == [["memory", "not", "known:"]], "it is said once"


def test_control_group_of_the_job_is_named(baro, work):
    path = work / "g.baro"
    assert call(baro, "run", "-q", "--cgroup", "none", "-o", path, "sleep", "0.1").returncode == 0
    assert json.loads(good(baro, "summary", "--json", path))["cgroup"] == "none"
    r = call(baro, "run", "-v", "--cgroup", "own", "--force", "-o", path, "sleep", "0.1")
    refused = b"no control group of its own" in r.stderr
    assert json.loads(good(baro, "summary", "--json", path))["cgroup"] == ("none" if refused else "own")
    assert (b"in a control group of its own" in r.stderr) != refused


def test_a_tape_of_the_machine_alone_has_no_job(run, tape):
    """Nothing is known of processes then, for one reason: no curve, and no 0. The machine never has more cores than it
    has. Readers show the last sample."""
    done = run("record", "-v", "--host", "--for", "1s", "-i", "50ms", "-o", tape, status=0)
    labels = [line.split()[0] for line in done.stderr.splitlines() if re.match("  [^ ]", line)]
    assert labels[:4] == ["cpu", "memory", "disks", "network"], done.stderr
    assert os.uname().nodename.split(".")[0] in done.stderr.splitlines()[0]
    summary, job = run.summary(tape), run.export(tape, "job")
    assert {why for name, why in summary["absent"].items() if name.startswith("job.")} == {"not asked"}
    assert run.export(tape, "process") == []
    for name in ("cpu_ns", "rss_bytes", "threads", "processes"):
        assert all(row[name] is None and row["absent"][name] == "not asked" for row in job), name
    for metric in ("process.rss", "process.cores", "job.processes", "job.cores"):
        assert "no sample has the values" in run("plot", tape, metric, status=0).stdout, metric
    picture, cpus = run.work / "cpu.svg", summary["host"]["cores"]
    run("plot", "-o", picture, tape, "host_cpu", status=0)
    tops = [float(v) for v in re.findall('data-max="([0-9.]+)"', picture.read_text())]
    assert tops and max(tops) <= cpus >= max(r["cores"] or 0 for r in run.export(tape, "host", "-c", "t_ns,cores"))
    text = run("show", tape, status=0).stdout
    assert "machine: " in text
    for said in (done.stderr, text, run("top", "--once", tape, status=0).stdout):
        assert "rss 0 B" not in said and "processes  0" not in said and "pid 0" not in said, said
    shown, last = (json.loads(run("show", "--json", *at, tape, status=0).stdout)["t_ns"] for at in ((), ("--at=-0s",)))
    assert shown == last
    run("report", "-o", run.work / "page.html", tape, status=0)
    page = (run.work / "page.html").read_text()
    assert not re.search(r"peak 0(?![.\d])", page)  # "peak 0.33" of a quiet machine is right
    assert re.search(r"Not drawn: .*<b>Memory by command \(RSS\)</b>", page)
