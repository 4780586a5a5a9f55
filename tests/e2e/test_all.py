# SPDX-License-Identifier: Apache-2.0
"""record --all: each process of the machine, as sums where it was brief; the machine's CPU time, and what closes it."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from conftest import has_connector, poll, unshared
from jobs import PYTHON
from test_cgroup import v1  # noqa: F401 (a fixture)

BRIEF = 40


def busy_ns():
    """What the kernel counts as work in /proc/stat: all but idle, iowait and steal. Guests are in user."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq = (int(n) for n in f.readline().split()[1:8])
    return (user + nice + system + irq + softirq) * 10**9 // os.sysconf("SC_CLK_TCK")


def begin(run, tape, *options):
    recorder = run.popen("record", "--all", "-q", "-o", tape, *options)
    poll(lambda: os.path.exists(tape) and run.instants(tape), "the first sample")
    return recorder


def end(recorder):
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(timeout=60) == 0


def named(work, name, program="true"):
    copy = work / name
    shutil.copy(shutil.which(program), copy)
    copy.chmod(0o755)
    return str(copy)


def tasks_by(run, tape, by, *options):
    """What each had used by the last sample: `baro summary --by`."""
    found = json.loads(run("summary", "--json", "--by", by, tape, *options, status=0).stdout)
    return {t["name"]: t for t in found["tasks"]}


def command(summary, name):
    return next((c for c in summary["commands"] if c["name"] == name), None)


def test_each_process_is_counted_and_the_total_closes(run, tape, work, cgroup):
    if not has_connector():
        pytest.skip("needs the process connector")
    lived = subprocess.Popen([named(work, "lived-before", "sleep"), "100"])
    before = busy_ns()
    recorder = begin(run, tape)
    for _ in range(BRIEF):
        subprocess.run([named(work, "was-brief")], check=True)
    burn = "import os, time\nwhile time.process_time() < 0.2: pass\nos.kill(os.getpid(), 9)"
    subprocess.run([named(work, "burner", PYTHON), "-c", burn], preexec_fn=cgroup.enter, check=False)
    n = len(run.instants(tape))
    run.await_samples(tape, n + 2)
    lived.kill()
    lived.wait()
    end(recorder)
    after = busy_ns()
    s = run.summary(tape)
    exits, briefs = run.export(tape, "exit"), run.export(tape, "brief")
    assert s["cgroup"] == "machine" and s["name"] == os.uname().nodename
    assert s["accounting"]["kernel_source"] == "machine"
    assert 0 < s["accounting"]["cpu_counted_ns"] <= s["job"]["cpu_ns"] <= after - before
    kernel = command(s, "kernel threads")
    assert kernel["processes"] == 1 and kernel["cpu_ns"] >= 0
    assert sum(r["name"] == "kernel threads" for r in run.export(tape, "process")) == len(run.instants(tape))
    assert any(r["name"] == "kernel threads" for r in run.export(tape, "task", "--by", "service"))
    if run.lost_events(tape):
        return
    # What is no record of its own is a part of a sum.
    last = {b["name"] + b["label"] + str(b["cgroup"]): b["processes"] for b in briefs if b["name"] == "was-brief"}
    assert sum(last.values()) + sum(e["name"] == "was-brief" for e in exits) == BRIEF
    assert command(s, "was-brief")["processes"] == BRIEF and command(s, "lived-before")["processes"] == 1
    text = run("show", tape, status=0).stdout
    assert re.search(r"^brief lives so far, those with most CPU time first:\n +[\d,]+× \S+ of \S+: ", text, re.M), text
    assert "io_read_bytes" not in text
    # So it is in stretches that follow each other.
    two = run.instants(tape)[len(run.instants(tape)) // 2 - 1 :][:2]
    edge = f"+{(two[0] * 0.4 + two[1] * 0.6) / 1e9:.9f}s"
    both = (("--to", edge), ("--from", edge))
    parts = [tasks_by(run, tape, "command", *at) for at in both]
    assert sum(p["was-brief"]["processes_started"] for p in parts if "was-brief" in p) == BRIEF
    by_user = [run("summary", "--by", "user", tape, *at, status=0, env={"COLUMNS": "100"}).stdout for at in both]
    heads = [text.splitlines()[1] for text in by_user]
    assert heads[0].split() == heads[1].split()
    assert heads[0].split() == "procs rss cpu read write active cores peak task".split()
    burnt = sum(p["burner"]["cpu_ns"] for p in parts if "burner" in p)
    assert burnt == tasks_by(run, tape, "command")["burner"]["cpu_ns"]
    burner = next(e for e in exits if e["name"] == "burner")
    assert burner["signal"] == signal.SIGKILL and burner["cpu_ns"] >= 200_000_000 and burner["cgroup"].startswith("/")


def test_io_of_brief_lives_counts_once(run, tape, work):
    """A shell waits for a brief one, and that for one that writes: by the counters of /proc the first did it, too."""
    if not has_connector():
        pytest.skip("needs the process connector")
    writer = named(work, "some-dd", "dd")
    inner = f"{writer} if=/dev/zero of={work}/data bs=1M count=20 2>/dev/null; :"
    recorder = begin(run, tape)
    script = f"read x; sh -c '{inner}'; read y"
    outer = subprocess.Popen([named(work, "outer", "sh"), "-c", script], stdin=subprocess.PIPE)
    run.await_samples(tape, len(run.instants(tape)) + 2)
    outer.stdin.write(b"\n")
    outer.stdin.flush()
    run.await_samples(tape, len(run.instants(tape)) + 3)
    end(recorder)
    outer.communicate(b"\n")
    if run.lost_events(tape):
        return
    rows = run.export(tape, "task", "--by", "command")
    tasks = {r["name"]: r for r in rows}
    assert tasks["some-dd"]["io_wchar_bytes"] >= 20 << 20
    assert tasks["outer"]["io_wchar_bytes"] < 1 << 20


def test_a_process_has_its_control_group(run, tape, cgroup):
    child = subprocess.Popen(["sleep", "100"], preexec_fn=cgroup.enter)
    recorder = begin(run, tape)
    run.await_samples(tape, 2)
    end(recorder)
    child.kill()
    child.wait()
    assert next(r for r in run.export(tape, "process") if r["pid"] == child.pid)["cgroup"].endswith(cgroup.path.name)
    groups = run.export(tape, "cgroup")
    mine = [g for g in groups if g["name"].endswith("/" + cgroup.path.name)]
    assert groups[0]["name"] == "/" and mine and mine[0]["cpu_ns"] is not None


def test_a_folder_is_gone_on_with(run, work):
    folder = work / "machine"
    for _ in range(2):
        done = run("record", "--all", "--keep", "7d", "-o", folder, "--for", "1500ms", status=0)
        assert "recorded" in done.stderr.split("\n")[0], "it was ended, and not cut off"
    assert [p.name for p in sorted(folder.iterdir())] == ["000001.baro", "000002.baro"]
    assert [e["text"] for e in run.export(folder, "event") if e["event"] == "gap"] == ["no recorder was running"]
    assert command(run.summary(folder), "kernel threads")["processes"] == 1
    assert "recorded" in run("top", "--once", folder, status=0).stdout.split("\n")[0]
    # The tape of a job is none of a machine.
    other = work / "other"
    run("record", "--host", "-q", "--keep", "1h", "-o", other, "--for", "300ms", status=0)
    r = run("record", "--all", "--keep", "7d", "-o", other)
    assert r.returncode == 2 and "not the tape of a machine" in r.stderr


def test_an_ordinary_user_records_what_proc_shows(run_ordinary, tape):
    run_ordinary("record", "--all", "-q", "-o", tape, "--for", "1500ms", status=0)
    s = run_ordinary.summary(tape)
    assert s["accounting"]["kernel_source"] == "machine"
    assert {os.getpid(), 1} <= {r["pid"] for r in run_ordinary.export(tape, "process")}


def test_a_pid_namespace_is_recorded_as_what_can_be_seen(run, tape):
    via = unshared("--pid", "--fork", "--mount-proc")
    run("record", "--all", "-q", "-o", tape, "--for", "1200ms", via=via, status=0)
    s = run.summary(tape)
    assert s["cgroup"] == "visible" and s["accounting"]["kernel_source"] == "ledger"
    assert not any(r["name"] == "kernel threads" for r in run.export(tape, "process"))


def test_what_it_does_not_go_with(run):
    for options, word in ((["--pid", "1"], "--pid"), (["--host"], "--host"), (["--cgroup", "/x"], "--cgroup")):
        r = run("record", "--all", *options)
        assert r.returncode == 2 and f"--all and {word}" in r.stderr
    r = run("record", "--cgroup", "/")
    assert r.returncode == 2 and "--all" in r.stderr


def test_what_brief_lives_wrote_counts_once(run, tape, work):
    """They write as another user than those that wait for their parent."""
    if not has_connector() or os.geteuid() != 0:
        pytest.skip("needs the process connector, and another user")
    work.chmod(0o777)
    recorder = begin(run, tape, "-i", "500ms")
    writes = f"for i in 1 2 3 4 5 6 7 8; do {named(work, 'brief-dd', 'dd')} if=/dev/zero of={work}/$i bs=1M count=4 2>&-; done"
    outer = named(work, "outer-sh", "sh")
    subprocess.run([outer, "-c", f"setpriv --reuid 54321 --clear-groups {outer} -c '{writes}'; sleep 1.5"], check=True)
    run.await_samples(tape, len(run.instants(tape)) + 2)
    end(recorder)

    def rows(by):
        return {t["name"]: t for t in json.loads(run("summary", "--by", by, "--json", tape, status=0).stdout)["tasks"]}

    if run.lost_events(tape) or not run.export(tape, "brief"):
        return
    assert rows("user")["54321"]["io_write_bytes"] == pytest.approx(32 << 20, rel=0.02)
    assert rows("command")["brief-dd"]["io_write_bytes"] == pytest.approx(32 << 20, rel=0.02)
    assert rows("command")["outer-sh"]["io_write_bytes"] < 1 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_an_oom_kill_is_of_the_process_that_the_kernel_names(run, tape, work, v1):  # noqa: F811
    recorder = begin(run, tape, "-i", "500ms")
    group = v1("memory")
    group.write("memory.limit_in_bytes", 40 << 20)
    eater = named(work, "eater", PYTHON)
    bystander = named(work, "bystander", "sleep")
    others = [subprocess.Popen([bystander, "100"]) for _ in range(3)]
    died = subprocess.run([eater, "-c", "x = bytearray(100 << 20)"], preexec_fn=group.enter, check=False)
    for p in others:
        p.kill()
        p.wait()
    run.await_samples(tape, len(run.instants(tape)) + 6)
    end(recorder)
    assert died.returncode == -signal.SIGKILL
    items = json.loads(run("report", "-F", "json", "-o", "-", tape, status=0).stdout)["timeline"]
    if not os.access("/dev/kmsg", os.R_OK) or not has_connector():
        return
    said = [i["text"] for i in items if i["name"] == "oom_kill" and " eater " in i["text"]]  # others may be killed, too
    if not said:  # the log was not read in time, or other tests kill more processes than are kept
        killed = sum(i["name"] == "killed" for i in items)
        assert killed > 60 or any("OOM-killed" in i["text"] for i in items), items
        return
    (text,) = said
    assert re.fullmatch(rf"OOM kill of eater \(pid \d+\) in \S*/{group.path.name}, limit 40 MiB", text), items
    assert re.search("out of memory: killed .*eater", run("summary", tape, status=0).stdout)
    assert text.removeprefix("OOM kill of ") in " ".join(run("summary", "-v", tape, status=0).stdout.split())
