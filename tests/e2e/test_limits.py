# SPDX-License-Identifier: Apache-2.0
"""Limits of a job: when they are found, when they are found again, and that none is reported where it can't be seen.
And each name in the JSON is documented.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

from test_cgroup import v1  # noqa: F401 (a fixture)
from test_oom import ends_are_known

SOURCE = pathlib.Path(__file__).resolve().parents[2]
root = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups and namespaces")
EATER = "import sys, time; x = bytearray(int(sys.argv[1]) << 20); time.sleep(float(sys.argv[2]))"
EATER_UNTIL_OFF = """
import os, sys, time
x = bytearray(int(sys.argv[1]) << 20)
while not os.path.exists("off"): time.sleep(0.05)
"""


def limits(run, tape):
    d = run.summary(tape)
    return d["limits"], {k[len("limits."):]: v for k, v in d["absent"].items() if k.startswith("limits.")}


def limits_now(run, tape):
    """Returns the limits on a tape that is being written; none before it has a header."""
    r = run("summary", "--json", tape)
    return json.loads(r.stdout)["limits"] if r.returncode == 0 else {}


def named(group):
    return str(group.path.name)


@root
@pytest.mark.long
def test_moved_later(run, tape, v1, wait_until):
    """A job moves from one group to another: the limits and the peaks are those of the second group; OOM kills are of
    both."""
    first, second = v1("memory"), v1("memory")
    first.write("memory.limit_in_bytes", 400 << 20)
    second.write("memory.limit_in_bytes", 100 << 20)
    script = (
        f"import os, subprocess, sys, time\n"
        f"eat = [sys.executable, '-c', 'import time; time.sleep(0.2); x = bytearray(200 << 20); time.sleep(0.3)']\n"
        f"time.sleep(1.2); assert subprocess.run(eat).returncode == 0; time.sleep(1.2)\n"
        f"open('{second.path}/cgroup.procs', 'w').write('0')\n"
        f"while not os.path.exists('moved'): time.sleep(0.05)\n"
        f"assert subprocess.run(eat).returncode == -9; time.sleep(1.2)\n"
    )
    recorder = run.popen("run", "-q", "-o", tape, "--", sys.executable, "-c", script, before=first.enter)
    wait_until(lambda: tape.exists() and limits_now(run, tape).get("memory_bytes") == 100 << 20, "the second limits")
    (run.work / "moved").touch()
    assert recorder.wait(60) == 0
    run.await_end(tape)
    found, _ = limits(run, tape)
    assert found["memory_bytes"] == 100 << 20 and named(second) in found["memory_source"]
    assert found["held_from_ns"] > 10**9
    assert found["memory_peak_bytes"] <= 100 << 20 and found["memory_peak_ratio"] <= 1
    assert found["oom_kills_at_most"] == 1
    if ends_are_known(run, tape):
        assert found["oom_kills"] == 1
    assert run.summary(tape)["job"]["rss_peak_bytes"] > 200 << 20
    names = [r["name"] for r in run.export(tape, "cgroup")]
    assert names[0].endswith(named(first)) and names[-1].endswith(named(second))


@root
@pytest.mark.parametrize("whose", ["run", "record --cgroup"])
def test_limit_is_raised_meanwhile(run, tape, v1, wait_until, whose):
    """No process moves, and the limit of the group is raised, as `systemctl set-property` does it. The peak before that
    says nothing about the new limit."""
    group = v1("memory")
    group.write("memory.limit_in_bytes", 100 << 20)
    job = [sys.executable, "-c", EATER_UNTIL_OFF, "60"]
    if whose == "run":
        recorder = run.popen("run", "-q", "-o", tape, "--", *job, before=group.enter)
    else:
        target = subprocess.Popen(job, cwd=run.work, preexec_fn=group.enter)
        recorder = run.popen("record", "-q", "-o", tape, "--cgroup", group.path)
    wait_until(lambda: tape.exists() and limits_now(run, tape).get("memory_bytes") == 100 << 20, "the first limits")
    group.write("memory.limit_in_bytes", 200 << 20)

    def is_read():
        now = limits_now(run, tape)
        rows = [r["memory_limit_bytes"] for r in run.export(tape, "cgroup") if r["name"].endswith(named(group))]
        return now["memory_bytes"] == rows[-1] == 200 << 20 and (now["memory_group_ratio"] or 0) > 60 / 200

    wait_until(is_read, "the second limits, and what the group holds")
    (run.work / "off").touch()
    assert recorder.wait(60) == 0
    if whose != "run":
        target.wait()
    found, _ = limits(run, tape)
    assert found["memory_bytes"] == 200 << 20 and named(group) in found["memory_source"]
    assert found["held_from_ns"] > 0
    assert 60 / 200 < found["memory_group_ratio"] < 0.5
    assert [r["memory_limit_bytes"] for r in run.export(tape, "cgroup") if r["name"].endswith(named(group))][
        -1
    ] == 200 << 20


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_affinity_of_a_very_short_job(run, tape):
    one = min(os.sched_getaffinity(0))
    run.record(tape, ["true"], before=lambda: os.sched_setaffinity(0, [one]))
    assert limits(run, tape)[0]["cores_at_most"] <= 1


def test_address_space(run, tape):
    """Half a gigabyte of address space, of which a tenth is touched."""
    script = "import mmap; m = mmap.mmap(-1, 512 << 20); x = bytearray(50 << 20); open('gate').read(1)"
    argv = ["sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh", sys.executable, "-c", script]

    def reached():
        now = limits_now(run, tape)
        tighter = (now.get("memory_at_most_bytes") or 1 << 62) < 2_048_000_000
        hidden = now.get("memory_at_most_source") == "RLIMIT_AS" and not now["memory_bytes"]
        grown = now.get("memory_peak_of") == "address_space" and now["memory_peak_bytes"] > 562 << 20
        return tighter or hidden or grown

    run.record_gated(tape, argv, reached, cwd=run.work)
    found, _ = limits(run, tape)
    if found["memory_at_most_source"] != "RLIMIT_AS":
        pytest.skip(f"{found['memory_at_most_source']} is tighter")
    if found["memory_bytes"] is None:
        pytest.skip("control groups can't be seen here")
    assert found["memory_peak_of"] == "address_space"
    assert 562 << 20 < found["memory_peak_bytes"] < 2000000 << 10
    assert found["memory_peak_ratio"] == pytest.approx(found["memory_peak_bytes"] / (2000000 << 10))
    assert "of address space" in run("summary", "-v", tape, status=0).stdout


def test_data_size(run, tape):
    """A value that is in no sample is not compared with one that is."""
    run.record(tape, ["sh", "-c", "ulimit -d 1000000; sleep 0.3"])
    found, absent = limits(run, tape)
    if found["memory_at_most_source"] != "RLIMIT_DATA":
        pytest.skip(f"{found['memory_at_most_source']} is tighter")
    assert found["memory_peak_ratio"] is None and absent["memory_peak_ratio"] == "unsupported"


@root
@pytest.mark.parametrize(
    "how",
    [
        ["unshare", "-C"],
        ["unshare", "-m", "sh", "-c", 'umount -R -l /sys/fs/cgroup; exec "$@"', "sh"],
        ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup; exec "$@"', "sh"],
    ],
    ids=["another namespace", "not mounted", "mounted over"],
)
def test_hidden_limits(baro, tape, run, v1, how):
    group = v1("memory")
    group.write("memory.limit_in_bytes", 300 << 20)
    r = subprocess.run([*how, baro, "run", "-v", "-o", str(tape), "--", "sleep", "0.3"], preexec_fn=group.enter,
                       capture_output=True, text=True, timeout=60)
    if r.returncode and ("Operation not permitted" in r.stderr or "failed" in r.stderr):
        pytest.skip(r.stderr)
    assert r.returncode == 0, r.stderr
    found, absent = limits(run, tape)
    assert found["memory_bytes"] is None and found["memory_source"] is None and found["memory_peak_ratio"] is None
    assert absent["memory_bytes"] == "unknown" and absent["memory_peak_ratio"] == "unknown"
    assert found["memory_at_most_bytes"] and found["memory_at_most_source"]
    assert found["cores_at_most"]
    assert "memory not known" in r.stderr


# ---- docs/json.md --------------------------------------------------------------------------------------------------


def documented():
    """Returns the names in the first column, of members and of marks; one without a prefix has the prefix of the one
    before. Of marks "cpu_..." stands for all names that begin so."""
    text = (SOURCE / "docs" / "json.md").read_text().split("<!-- members -->")[1].split("\n## ")[0]
    before, _, text = text.partition("\n### marks\n")
    marks, _, after = text.partition("\n### ")
    return names_of(before + after), names_of(marks)


def names_of(text):
    names = set()
    for row in re.findall(r"^\| (`[^|]*) \|", text, re.M):
        prefix = ""
        for name in re.findall(r"`([^`]+)`", row):
            if "." in name:
                prefix = name[: name.rindex(".") + 1]
                name = name[len(prefix):]
            names.add((prefix + name).replace("rss_peak_held_by", "pss_peak_held_by"))  # one or the other is there
    return names


def members(value, path=""):
    """Returns all member names, without indices of lists, and without the names in objects whose keys are data."""
    if isinstance(value, list):
        for v in value:
            yield from members(v, path + "[]")
    elif isinstance(value, dict) and path not in ("absent", "marks"):
        for k, v in value.items():
            yield from members(v, f"{path}.{k}".lstrip("."))
    elif path:
        yield path.removesuffix("[]")


def test_every_name_is_documented(run, work):
    ran, attached, failed, tasks, limited = (work / f"{name}.baro"
                                             for name in ("ran", "attached", "failed", "tasks", "limited"))
    run("run", "-q", "-o", limited, "--limit", "wall=200ms", "--", "sleep", "5", status=124)
    run.record(failed, "echo '{\"begin\": \"p\"}' >>$BARO_EVENTS; sleep 0.2; exit 3", status=3)  # it has a verdict
    job = [sys.executable, "-c", EATER, "20", "0.6"]
    run.record(ran, job, "--du", work, env={"OMPI_COMM_WORLD_RANK": 0, "SLURM_JOB_ID": 1, "OMPI_COMM_WORLD_SIZE": 1})
    other = subprocess.Popen([sys.executable, "-c", EATER, "20", "60.125"])
    try:
        time.sleep(0.2)
        run("record", "-q", "-o", attached, "--for", "0.5s", "--pid", other.pid, status=0)
        run("record", "-q", "-o", tasks, "--for", "0.5s", "--match", "60[.]125", status=0)
    finally:
        other.kill()
        other.wait()
    found, (names, marks) = set(), documented()
    for tape in (ran, attached, failed, tasks, limited):
        d = json.loads(run("summary", "--json", tape, status=0).stdout)
        found |= {m.replace("rss_peak_held_by", "pss_peak_held_by") for m in members(d)}
        for name in ("before", "gpu", "energy", "carbon", "launched"):  # null where there is nothing
            if d[name] is None:
                found.discard(name)
        if not d["verdicts"]:
            found.discard("verdicts")
        paths = [re.sub(r"[.]\d+", "", path) for path in d["marks"]]
        begin = tuple(m.removesuffix("...") for m in marks if m.endswith("..."))
        assert paths and [path for path in paths if path not in marks and not path.startswith(begin)] == []
    found = {m for m in found if not m.startswith("phases[].") or m in names}  # the facts of phases are in a header
    assert sorted(found - names) == [], "in the JSON, and not in docs/json.md"
    lacking = {name for name in names - found if not re.match(r"(gpus?|energy|carbon)\b|phases\[\]\.(marks|absent|attributes)|tags", name)}
    assert sorted(lacking) == [], "in docs/json.md, and not in the JSON"
