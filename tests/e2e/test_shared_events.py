# SPDX-License-Identifier: Apache-2.0
"""An observer of root shares its event source with the recorders of the machine."""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys

import pytest
from conftest import ORDINARY, needs_connector
from jobs import PYTHON

pytestmark = needs_connector

# Waits for the file argv[3], starts argv[1] processes, one after the other, and waits for a byte from the FIFO argv[2].
STORM = """
import os, sys, time
while not os.path.exists(sys.argv[3]): time.sleep(0.02)
for i in range(int(sys.argv[1])):
    os.waitpid(os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]), 0)
open(sys.argv[2]).read(1)
"""


@pytest.fixture
def shared(run, work, monkeypatch, wait_until):
    """Starts an observer that shares its events; shared.start() starts it again."""

    class Shared:
        folder = work / "events"
        path = folder / "socket"

        def start(self, name="observed", *options, before=None):
            p = run.popen("observe", "--dir", work / name, "--cgroup", "/no such group", *options,
                          stderr=subprocess.PIPE, before=before)
            self.all.append(p)
            return p

        def is_used(self):
            d = run("doctor", "--json", status=0).stdout
            return '"what": "observer",\n    "state": "yes"' in d

        all = []

    s = Shared()
    s.all = []
    s.folder.mkdir(mode=0o755)
    monkeypatch.setenv("BARO_OBSERVER", str(s.path))
    s.p = s.start()
    wait_until(s.path.exists, "the observer's socket")
    yield s
    for p in s.all:
        if p.poll() is None:
            p.send_signal(signal.SIGCONT)
            p.terminate()
    assert [p.communicate(timeout=60)[1] or b"" for p in s.all] == [b""] * len(s.all)


def exits(run, tape, name="true"):
    """What is on a tape that may still grow."""
    done = run("export", "--format", "jsonl", "--entity", "exit", tape)
    rows = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return [r for r in rows if name in (None, r["name"])]


def source(run, tape):
    return run.summary(tape)["accounting"]["event_source"] if run.instants(tape) else None


def record_shared(run, tape, argv):
    """Records a job that begins when its recorder has the observer's events: on a busy machine that replies late."""
    run.record_gated(tape, f"read x <{run.work}/gate; {argv}", lambda: source(run, tape) == "observer")


def test_a_storm_is_counted_as_without(run_both, work, tape, shared):
    argv = [PYTHON, "-S", "-c", STORM, "300", work / "gate", work / "go"]

    def reached():
        if source(run_both, tape) == "observer":
            (work / "go").touch()
        return len(exits(run_both, tape)) >= 300 or (run_both.instants(tape) and run_both.lost_events(tape))

    run_both.record_gated(tape, argv, reached, "--overhead", "off")
    s, lost = run_both.summary(tape), run_both.lost_events(tape)
    assert s["accounting"]["event_source"] == "observer" and s["accounting"]["exit_source"] == "taskstats"
    assert s["job"]["processes_started"] == 301 or lost
    assert s["job"]["processes_started_is_lower_bound"] == (s["accounting"]["lossy_intervals"] > 0) == lost
    rows = exits(run_both, tape)
    assert len(rows) == 300 or lost
    for r in rows:
        assert r["source"] == "taskstats" and r["status"] == 0 and r["cpu_ns"] > 0, r
        assert r["io_rchar_bytes"] > 0 and r["io_is_lower_bound"] == 0, r


@pytest.mark.long
def test_an_ordinary_user_gets_the_io_of_what_ended(run_ordinary, work, tape, shared):
    """A shell reaps each dd at once: without taskstats its I/O is what the last sample saw of it."""
    argv = f"""while [ ! -e {work}/go ]; do sleep 0.05; done
for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=1000000 count=$i 2>/dev/null; done; read x <{work}/gate"""

    def reached():
        if source(run_ordinary, tape) == "observer":
            (work / "go").touch()
        return len(exits(run_ordinary, tape, "dd")) >= 3

    run_ordinary.record_gated(tape, argv, reached, "-i", "10s")
    read = sorted(r["io_wchar_bytes"] for r in exits(run_ordinary, tape, "dd"))
    # taskstats counts whole KiB
    assert [0 <= n * 1000000 - value < 1024 for n, value in zip([1, 2, 3], read)] == [True] * 3, read


def test_attached(run_both, work, tape, shared, started, wait_until):
    """A process that already runs, with children and grandchildren, is followed with all of them."""
    tree = f"sh -c 'sh -c \"until [ -e {work}/go ]; do sleep 0.02; done; true; /bin/true; :\" & wait' & wait"
    as_user = {} if run_both.uid is None else {"user": run_both.uid, "group": run_both.uid}
    root = started(["sh", "-c", tree], **as_user)
    wait_until(lambda: len(subprocess.run(["pgrep", "-g", str(os.getpgid(root.pid)), "-f", f"until .*{work}"],
                                          capture_output=True, check=False).stdout.split()) >= 3, "the tree")
    p = run_both.popen("record", "-q", "-o", tape, "--pid", root.pid)
    wait_until(lambda: source(run_both, tape) == "observer", "the observer's events")
    (work / "go").touch()
    assert root.wait(60) == 0
    assert p.wait(60) == 0
    s = run_both.summary(tape)
    lost = run_both.lost_events(tape)
    assert s["job"]["processes_started_is_lower_bound"] == lost
    rows = exits(run_both, tape)
    assert lost or len(rows) == 1 and rows[0]["source"] == "taskstats", rows


def test_in_another_time_namespace(run, work, tape, shared, started):
    """Processes have other start times there, by which the observer could not know them: it is not used."""
    namespace = ["unshare", "-T", "--boottime", "100000", "--monotonic", "5000", "--"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no time namespaces")
    job = started(["sh", "-c", f"until [ -e {work}/go ]; do sleep 0.02; done; /bin/true; /bin/true; :"])
    p = run.popen("record", "-q", "-o", tape, "--pid", job.pid, via=namespace)
    run.await_samples(tape)
    (work / "go").touch()
    assert job.wait(60) == 0 and p.wait(60) == 0
    assert run.summary(tape)["accounting"]["event_source"] == "connector"
    # Of what ends before the recorder listens to taskstats, no name is known.
    assert len([e for e in exits(run, tape, None) if e["name"] in ("true", "")]) >= 2


def test_the_observer_is_killed(run_both, work, tape, shared, wait_until):
    """The recorder goes on with its own source, and says that it may have missed some."""
    go, gate = work / "go", work / "gate"
    argv = f"""trap 'exit 1' TERM
/bin/true; while [ ! -e {go} ]; do sleep 0.05; done; /bin/true; /bin/true; read x <{gate}"""

    def reached():
        if shared.p.poll() is None:
            if source(run_both, tape) == "observer" and exits(run_both, tape, None):
                shared.p.kill()
            return False
        switched = [e["t_ns"] for e in run_both.export(tape, "event") if e["event"] == "source"]
        if switched:
            go.touch()
        return switched and len([r for r in exits(run_both, tape) if r["t_ns"] > switched[0]]) == 2

    run_both.record_gated(tape, argv, reached, "-i", "100ms")
    s = run_both.summary(tape)
    assert s["accounting"]["event_source"] != "observer"
    assert s["job"]["processes_started_is_lower_bound"] and s["accounting"]["lossy_intervals"] > 0
    assert [e["text"] for e in run_both.export(tape, "event") if e["event"] == "lossy"] == ["observer"]


def test_an_observer_that_does_not_reply(run, work, tape, shared):
    """It is stopped: the command is not kept waiting for it, and the connector is used."""
    shared.p.send_signal(signal.SIGSTOP)
    run.record(tape, "/bin/true; /bin/true")
    shared.p.send_signal(signal.SIGCONT)
    s = run.summary(tape)
    assert s["accounting"]["event_source"] == "connector"
    assert s["job"]["processes_started"] == 3 and not s["job"]["processes_started_is_lower_bound"]
    assert s["accounting"]["lossy_intervals"] == 0


def test_samples_while_the_observer_is_stopped(run_both, work, tape, shared, wait_until):
    """Samples go on, exits wait for the observer, and nothing is lost when it goes on."""
    instants = []

    def reached():
        done = len(exits(run_both, tape))
        if not instants and done >= 20 and source(run_both, tape) == "observer":
            shared.p.send_signal(signal.SIGSTOP)
            instants.append(len(run_both.instants(tape)))
        if len(instants) == 1 and len(run_both.instants(tape)) >= instants[0] + 10:
            shared.p.send_signal(signal.SIGCONT)
            instants.append(0)
            (work / "go").touch()
        return (work / "all").exists()

    argv = f"""n=1; while [ ! -e {work}/go ]; do /bin/true; n=$((n + 1)); done
for i in 1 2 3 4 5; do /bin/true; done; echo $((n + 5)) >{work}/all; read x <{work}/gate"""
    run_both.record_gated(tape, argv, reached, "-i", "20ms", "--overhead", "off")
    s = run_both.summary(tape)
    assert s["accounting"]["event_source"] == "observer"
    assert s["job"]["processes_started"] == int((work / "all").read_text())
    assert not s["job"]["processes_started_is_lower_bound"] and s["accounting"]["lossy_intervals"] == 0
    assert s["accounting"]["cpu_counted_ns"] <= s["accounting"]["cpu_kernel_ns"] * 1.001
    assert len(exits(run_both, tape, None)) == s["job"]["processes_started"]


def test_an_observer_that_replies_late(run_both, work, tape, shared):
    """Until it replies, the connector is used. What both report is counted once."""
    shared.p.send_signal(signal.SIGSTOP)

    def reached():
        if not (work / "first").exists():
            return False
        shared.p.send_signal(signal.SIGCONT)
        if "observer" in [e["text"] for e in run_both.export(tape, "event") if e["event"] == "source"]:
            (work / "go").touch()
        return (work / "all").exists()

    storm = "for i in $(seq 60); do /bin/true; n=$((n + 1)); done"
    argv = f"""n=2; {storm}; : >{work}/first; while [ ! -e {work}/go ]; do sleep 0.02; n=$((n + 1)); done; {storm}
echo $((n + 1)) >{work}/all; read x <{work}/gate"""
    run_both.record_gated(tape, argv, reached, "-i", "100ms", "--overhead", "off")
    s = run_both.summary(tape)
    assert s["accounting"]["event_source"] == "observer" and s["accounting"]["exit_source"] == "taskstats"
    lost = run_both.lost_events(tape)
    assert s["job"]["processes_started"] == int((work / "all").read_text()) or lost
    assert s["job"]["processes_started_is_lower_bound"] == (s["accounting"]["lossy_intervals"] > 0) == lost


def test_one_shares_and_the_next_takes_its_place(run, work, shared, wait_until):
    inode = shared.path.stat().st_ino
    second = shared.start("second")
    wait_until((work / "second").exists, "the second observer's folder")
    second.terminate()
    second.wait(60)
    assert shared.path.stat().st_ino == inode and shared.is_used()
    shared.p.kill()
    shared.p.wait()
    wait_until(lambda: not shared.is_used(), "the end of the first one's helper")
    assert shared.path.exists()
    third = shared.start("third")
    wait_until(lambda: shared.path.stat().st_ino != inode and shared.is_used(), "the third observer")
    third.terminate()
    third.wait(60)
    assert not shared.path.exists()


def nice_of(pid):
    return os.getpriority(os.PRIO_PROCESS, pid)


def set_nice(value):
    return lambda: os.setpriority(os.PRIO_PROCESS, 0, value)


def test_priority(shared, run, work, wait_until, started):
    """A saturated machine runs the observer in time, but not its helpers; unless somebody has chosen a priority."""
    sleeper = started(["sleep", "1000"])
    (work / "tasks").mkdir()
    (work / "tasks" / "a.yaml").write_text(f"tasks:\n  a:\n    pid: {sleeper.pid}\n")
    shared.p.terminate()
    shared.p.wait(60)
    p = shared.start("second", "--tasks", work / "tasks", before=set_nice(0))
    children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children")
    wait_until(lambda: list((work / "second").glob("*.baro")) and children.read_text(), "the observer's helper")
    assert nice_of(p.pid) == -10
    assert {nice_of(int(pid)) for pid in children.read_text().split()} == {0}
    p.terminate()
    p.wait(60)
    p = shared.start("third", before=set_nice(3))
    wait_until(shared.is_used, "the third observer")
    assert nice_of(p.pid) == 3


# ---- what a program that is no recorder can do ----


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="latin1") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


CLIENT = """
import os, socket, struct, sys
VERSION, FOLLOW, EVENTS, DONE = 2, 1, 2, 3
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["BARO_OBSERVER"])
s.settimeout(60)
def ask(number, *pids):
    text = struct.pack("=IIQII", VERSION | FOLLOW << 16, len(pids), number, 0, 0)
    s.send(text + b"".join(struct.pack("=iIQ", pid, 0, start) for pid, start in pids))
def read():
    text = s.recv(1 << 16)
    if not text: return None, 0, 0, b""
    what, count, number, flags, _ = struct.unpack_from("=IIQII", text)
    return what >> 16, count, number, text[24:]
def until_done(number):
    got = []
    while True:
        kind, count, n, rest = read()
        if kind is None: raise SystemExit("closed")
        if kind == EVENTS: got.append((count, rest))
        if kind == DONE and n == number: return count, got
def start_of(pid): return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19])
def events_of(rest, count):
    got, at = [], 0
    for _ in range(count):
        kind, flags, name = rest[at], rest[at + 1], rest[at + 2]
        got.append((kind, struct.unpack_from("=i", rest, at + 4)[0]))
        at += 32 + (8 if kind == 6 else 0) + (104 if flags & 2 else 0) + name
    return got
"""


def as_ordinary(script, *args, **kw):
    return subprocess.run([sys.executable, "-S", "-c", CLIENT + script, *map(str, args)], user=ORDINARY, group=ORDINARY,
                          extra_groups=[], capture_output=True, text=True, timeout=120, check=False, **kw)


def test_a_process_of_another_user_is_refused(shared, started):
    foreign = started(["sleep", "1000"])
    with open(f"/proc/{foreign.pid}/stat", encoding="utf-8") as f:  # with hidepid=2 that user can't read it
        start = f.read().rsplit(")", 1)[1].split()[19]
    done = as_ordinary(
        """
own, pid, start = os.getpid(), int(sys.argv[1]), int(sys.argv[2])
ask(1); print(until_done(1)[0])
ask(2, (own, start_of(own))); print(until_done(2)[0])
ask(3, (pid, start)); print(until_done(3)[0])
ask(4, (own, start_of(own) + 1)); print(until_done(4)[0])
""",
        foreign.pid,
        start,
    )
    assert done.stdout.split() == ["0", "0", "1", "0"], done


def test_only_events_of_what_is_followed(shared, started):
    done = as_ordinary(
        """
ask(1, (0, 0)); until_done(1)
if os.fork() == 0: os._exit(3)
pid, status = os.wait()
got = []
number = 1
while (3, pid) not in got:
    number += 1
    ask(number)
    for count, rest in until_done(number)[1]: got += events_of(rest, count)
print({p for _, p in got} <= {pid, os.getpid()})
"""
    )
    assert done.stdout == "True\n", done


def test_the_status_of_another_users_process(run_ordinary, work, tape, shared):
    """What a job starts by a set-user-ID program belongs to another user: /proc does not show its exit status."""
    program = work / "setpriv"
    shutil.copy(shutil.which("setpriv"), program)
    program.chmod(0o4755)
    other = f"{program} --reuid 0 --regid 0 --clear-groups sh -c '(sleep 0; exit 6) & wait; exit 7'"
    record_shared(run_ordinary, tape, f"sh -c 'sleep 0; exit 5'; {other}; /bin/true; exit 0")
    seen = {(r["uid"], r["name"], r["status"]) for r in exits(run_ordinary, tape, None)}
    if not any(uid == 0 for uid, _, _ in seen):
        pytest.skip("programs with a set-user-ID bit don't work here")
    assert (ORDINARY, "sh", 5) in seen and (ORDINARY, "true", 0) in seen, seen
    assert (0, "sleep", None) in seen and not [s for uid, _, s in seen if uid == 0 and s is not None], seen


def test_forty_follow_one(shared):
    """Each recorder that follows a process is told of its fork."""
    done = as_ordinary(
        """
all_, got = [s], []
for i in range(39):
    all_.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    all_[-1].connect(os.environ["BARO_OBSERVER"])
    all_[-1].settimeout(60)
for s in all_: ask(1, (0, 0)); until_done(1)
if os.fork() == 0: os._exit(0)
pid, status = os.wait()
for s in all_:
    ask(2)
    for count, rest in until_done(2)[1]: got += events_of(rest, count)
print(got.count((0, pid)))
"""
    )
    assert done.stdout == "40\n", done


def test_the_pid_that_connected_is_another_process(shared):
    """It handed its socket on and ended; the next one with its pid belongs to another user."""
    p = subprocess.Popen([sys.executable, "-S", "-c", CLIENT + """
if os.fork(): os._exit(0)
sys.stdin.readline()
try:
    ask(1, (0, 0)); print(until_done(1)[0])
except (OSError, SystemExit):  # the observer takes the connection only now, and closes it
    print(1)
"""], user=ORDINARY, group=ORDINARY, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    p.wait(60)
    for _ in range(1000):
        pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(p.pid - 1))
        other = subprocess.Popen(["sleep", "1000"])
        if other.pid == p.pid:
            break
        other.kill()
        other.wait()
    try:
        assert other.pid == p.pid
        p.stdin.write("\n")
        p.stdin.flush()
        assert p.stdout.read() == "1\n"
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("text", [b"", b"x", b"\0" * 24, b"\xff" * 24, struct.pack("=IIQII", 2 | 1 << 16, 99, 1, 0, 0),
                                  struct.pack("=IIQII", 2 | 3 << 16, 1, 1, 0, 0), b"\2\0\1\0" + b"\xff" * 8000])
def test_hostile_bytes(run, work, tape, shared, text):
    done = as_ordinary(
        """
s.send(bytes.fromhex(sys.argv[1]))
print(read()[0] in (None, DONE))
""",
        text.hex(),
    ) if text else as_ordinary("s.close(); print(True)")
    assert done.stdout == "True\n", done
    assert shared.p.poll() is None
    record_shared(run, tape, "/bin/true; /bin/true")


def test_many_that_leave_at_once(shared, wait_until):
    """More of them than the observer reads at once: it goes on, and has nothing to do then."""
    clients = []
    for _ in range(200):
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        c.connect(str(shared.path))
        c.send(struct.pack("=IIQII", 2 | 1 << 16, 0, 1, 0, 0))
        clients.append(c)
    for c in clients:
        assert len(c.recv(100)) == 24
    most = descriptors_of(shared.p.pid)
    shared.p.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_of(shared.p.pid) == "T", "the observer to stop")
    for c in clients:
        c.close()
    shared.p.send_signal(signal.SIGCONT)
    # It may have opened some for itself meanwhile.
    wait_until(lambda: descriptors_of(shared.p.pid) < most - 180, "the observer to have read that they left")
    wait_until(lambda: state_of(shared.p.pid) == "S", "an observer that sleeps")


def test_one_that_does_not_read(run, work, tape, shared):
    """Others get their events meanwhile. It is told that some were lost, and that it has to begin anew."""
    slow = subprocess.Popen(
        [sys.executable, "-S", "-c", CLIENT + """
ask(1, (0, 0)); until_done(1)
for i in range(12000):
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
print("done", flush=True)
sys.stdin.readline()
kinds = set()
while 6 not in kinds:
    kind, count, n, rest = read()
    if kind is None: raise SystemExit("closed")
    if kind == EVENTS: kinds.update(kind for kind, pid in events_of(rest, count))
print("lost")
"""], user=ORDINARY, group=ORDINARY, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert slow.stdout.readline() == "done\n"
        record_shared(run, tape, "/bin/true; /bin/true")
        assert slow.communicate("\n", timeout=120)[0] == "lost\n"
    finally:
        slow.kill()
        slow.wait()
