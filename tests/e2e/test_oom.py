# SPDX-License-Identifier: Apache-2.0
"""Which process an OOM kill that a control group counted hit: one of the job, another one, or not known. The kernel's
log says it where it can be read; each test runs without it as well.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import FULL, SANITIZED, poll
from jobs import after_mounts
from test_cgroup import v1  # noqa: F401 (a fixture)
from wrapping import comm

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")

# Baro is in the same control group, and with sanitizers larger than what the job holds of 48 MiB when that is full.
LIMIT = (256 if SANITIZED else 48) << 20
EAT = f"x = bytearray({4 * LIMIT})"
# A job that waits for the file "first" before a process of it is killed.
FIRST = "while ! [ -e first ]; do sleep 0.02; done"
OWN = ["sh", "-c", f'{FIRST}; exec "$@"', "sh", sys.executable, "-c", EAT]
OWN_TIMES = 50 if FULL else 3


@pytest.fixture(params=["log", "no log"])
def via(request):
    if request.param == "log":
        return []
    argv = after_mounts("mount --bind /dev/null /dev/kmsg")
    if subprocess.run([*argv, "true"], capture_output=True).returncode:
        pytest.skip("can't mount")
    return argv


@pytest.fixture
def group(v1):
    g = v1("memory")
    g.write("memory.limit_in_bytes", LIMIT)
    if "oom_kill " not in g.read("memory.oom_control"):
        pytest.skip("before Linux 4.13")
    return g


@pytest.fixture
def neighbour(group, work):
    """Waits for the file "go", is OOM-killed, and leaves the file "gone"."""
    go, gone = work / "go", work / "gone"
    script = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n{EAT}"
    eater = subprocess.Popen([sys.executable, "-c", script], preexec_fn=group.enter)

    def wait():
        eater.wait()
        gone.touch()

    thread = threading.Thread(target=wait)
    thread.start()
    yield f"{FIRST}; : > {go}; while ! [ -e {gone} ]; do sleep 0.05; done"
    if not gone.exists():
        eater.kill()
    thread.join()
    assert eater.returncode == -signal.SIGKILL


def ends_are_known(run, tape):
    """Are the exit statuses of all processes known? A scan and perf report that of the command alone; so it runs in a
    PID and network namespace of its own, as in most containers."""
    return all(e["status"] is not None or e["signal"] is not None for e in run.export(tape, "exit"))


def record(run, tape, group, via, argv, status):
    """The file "first" exists once a reading of the control group is on the tape: kills that were counted before it may
    be from before the job."""
    before = [*via, "sh", "-c", f'echo 0 > {group.path}/cgroup.procs && exec "$@"', "sh"]
    first = run.work / "first"
    first.unlink(missing_ok=True)
    done = run.popen("run", "-o", tape, "--", *argv, via=before, stderr=subprocess.PIPE, text=True)
    while done.poll() is None and not first.exists():
        if run.instants(tape) and any(r["oom_kills"] is not None for r in run.export(tape, "cgroup")):
            first.touch()
        time.sleep(0.01)
    said = done.communicate()[1]
    assert done.returncode == status
    run.await_end(tape)
    text = run("summary", "-v", tape, status=0).stdout + said
    # Other processes of the machine may be OOM-killed meanwhile; the lines on the machine count all of them.
    own = re.sub(r"^  machine .*\n(?:   .*\n)*", "", text, flags=re.M)
    return run.summary(tape)["limits"], own


def test_kill_in_the_job(run, work, group, via):
    """However busy the machine is: the last reading has the counters of kills, whatever the reading before it cost."""
    for i in range(OWN_TIMES):
        found, text = record(run, work / f"{i}.baro", group, via, OWN, -signal.SIGKILL)
        assert found["oom_kills"] == 1 and found["oom_kills_in_group"] == 1, (i, found)
        assert found["oom_kills_at_least"] in ([0] if via else [0, 1]) and found["oom_kills_at_most"] == 1, (i, found)
        assert "1 process OOM-killed" in text and "of others" not in text
        assert ("probably" in text) == (found["oom_kills_at_least"] == 0)


# What the job does after its neighbour's kill, its status, and how many kills its group counts, of which that many hit it.
BESIDE = {
    "nothing": (":", [], 0, 1, 0),
    "is killed, too": ('"$@"; sleep 0.1', OWN, 0, 2, 1),
    "sends SIGKILL itself": ("kill -9 $$", [], -signal.SIGKILL, 1, 0),
}


@pytest.mark.parametrize("does", BESIDE)
def test_kill_of_a_neighbour(run, tape, group, via, neighbour, does):
    """Without the kernel's log it can't always be known whom it hit, and the summary says so."""
    script, argv, status, in_group, own = BESIDE[does]
    found, text = record(run, tape, group, via, ["sh", "-c", f"{neighbour}; {script}", "sh", *argv], status)
    least, most = found["oom_kills_at_least"], found["oom_kills_at_most"]
    assert found["oom_kills_in_group"] == in_group and least <= own <= most <= in_group, found
    if most == own:
        assert "1 process of others in its control group OOM-killed" in text
    if status:
        assert most == 0 or least == 0 and ("probably 1 process OOM-killed" in text or "perhaps of the job" in text)
    elif ends_are_known(run, tape):
        assert found["oom_kills"] == own and (own or most == 0), found
        assert ("1 process OOM-killed" in text) == own
    else:
        assert most == in_group and (own or found["oom_kills"] == 0), found
        assert f"at most {most} process{'es' * own} OOM-killed" in text


def test_job_that_sends_sigkill_itself(run, tape, group, via):
    found, text = record(run, tape, group, via, ["sh", "-c", f"{FIRST}; kill -9 $$"], -signal.SIGKILL)
    assert found["oom_kills"] == found["oom_kills_at_most"] == found["oom_kills_in_group"] == 0, found
    assert "OOM-killed" not in text


# ---- what was in use -------------------------------------------------------------------------------------------------

TMPFS = pathlib.Path("/dev/shm")
ROOM = 128 << 20


@pytest.fixture
def big(run_both):
    """A file in a tmpfs. Its pages belong to the group that wrote it, and to no process."""
    if os.statvfs(TMPFS).f_bavail * os.statvfs(TMPFS).f_bsize < 2 * ROOM:
        pytest.skip(f"no room in {TMPFS}")
    path = TMPFS / f"baro-e2e-{os.getpid()}"
    path.touch()
    os.chown(path, -1 if run_both.uid is None else run_both.uid, -1)
    yield path
    path.unlink()


def filling(big):
    """Fills nine tenths of ROOM, waits, and goes on until it is killed: dd has 4 MiB itself, more than the recorder."""
    script = (
        f"dd if=/dev/zero of={big} bs=4M count=29 status=none || exit; read -r _ <gate; "
        f"exec dd if=/dev/zero of={big} bs=4M oflag=append conv=notrunc status=none"
    )
    return ["sh", "-c", script]


def verdict(run, tape):
    (found,) = [v for v in run.summary(tape)["verdicts"] if v["rule"] == "oom"]
    numbers = {e["name"]: e for e in found["evidence"]}
    assert "shared memory or tmpfs (/dev/shm), which no process maps" in found["title"]
    assert "held by" not in found["title"] and "128 MiB" in found["title"]
    assert "Ask for more than 128 MiB" in found["advice"] and "256 MiB" in found["advice"]
    assert 0.85 * ROOM < numbers["shared_bytes"]["value"] <= ROOM
    assert numbers["ask_memory_bytes"]["value"] == 2 * ROOM
    return found


def is_nearly_full(run, tape):
    groups = run.export(tape, "cgroup") if run.instants(tape) else []
    return any((r["memory_shmem_bytes"] or 0) > 0.85 * ROOM for r in groups)


@pytest.fixture
def full(v1):
    g = v1("memory")
    g.path.chmod(0o755)
    g.write("memory.limit_in_bytes", ROOM)
    return g


@pytest.mark.not_sanitized("larger than what the job leaves free")
def test_tmpfs_that_no_process_holds(run_both, work, full, big):
    """The processes hold some megabytes of a full group: who of them holds most says nothing."""
    tape = work / "t.baro"
    nearly = lambda: is_nearly_full(run_both, tape)
    run_both.record_gated(tape, filling(big), nearly, cgroup=full, status=-signal.SIGKILL)
    run_both.await_end(tape)
    assert "OOM-killed" in verdict(run_both, tape)["title"]


@pytest.mark.not_sanitized("larger than what the job leaves free")
def test_recorder_that_is_killed_with_the_job(run_both, work, full, big):
    """As the kernel does for memory.oom.group. A tape that goes on is not cut off."""
    tape = work / "t.baro"
    os.mkfifo(work / "gate")
    (work / "gate").chmod(0o666)
    process = run_both.popen("run", "-q", "-o", tape, "--", *filling(big), cgroup=full)
    held = os.open(work / "gate", os.O_RDWR)
    try:
        poll(lambda: is_nearly_full(run_both, tape) or process.poll() is not None, "a full group")
        assert "oom" not in [v["rule"] for v in run_both.summary(tape)["verdicts"]]
        for pid in sorted(full.pids(), key=lambda pid: comm(pid) != "baro-recorder"):  # else it may write the end
            with contextlib.suppress(ProcessLookupError):  # a helper ends with its recorder
                os.kill(pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
        os.close(held)
    poll(lambda: not full.pids(), "the end of the recorder")
    found = verdict(run_both, tape)
    assert found["title"].startswith("Memory probably ran out, and the recorder was killed as well: ")
    assert " % full in the last sample" in found["title"]
    text = run_both("summary", "-v", tape, status=0).stdout
    assert "cut off" in text and "probably ran out" in " ".join(text.split())
