# SPDX-License-Identifier: Apache-2.0
"""`baro run --limit`: each limit with each action, jobs that try to escape, and who could not be ended."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
LIMIT = 124
GRACE = "term:300ms"

# It holds 150 MB, uses a core, or has many processes, until a signal ends it. It writes "up" when it does.
HOLDS = "x = bytearray(b'1') * 150_000_000; open('up', 'w').close(); import time; time.sleep(600)"
SPINS = "open('up', 'w').close()\nwhile True: pass"
SPREADS = "for i in $(seq 12); do sleep 600 & done; : >up; wait"
SLEEPS = ": >up; exec sleep 600"

JOBS = {
    "rss": ("rss=100MB", 100_000_000, [PYTHON, "-c", HOLDS]),
    "cpu": ("cpu=300ms", 300_000_000, [PYTHON, "-c", SPINS]),
    "wall": ("wall=400ms", 400_000_000, ["sh", "-c", SLEEPS]),
    "processes": ("processes=5", 5, ["sh", "-c", SPREADS]),
}

# A process in a session of its own whose parents have ended (twice forked), and that ignores SIGTERM; its child, too.
# Both write their pids.
ESCAPES = """(setsid sh -c 'trap "" TERM; sh -c "echo \\$\\$ >>escaped; sleep 600" & echo $$ >>escaped; sleep 600' &)
while [ "$(wc -l <escaped 2>/dev/null || echo 0)" -lt 2 ]; do sleep 0.01; done
"""


def is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def escaped(work):
    pids = [int(line) for line in (work / "escaped").read_text().split()]
    assert len(pids) == 2
    return pids


def limited(run, tape, argv, *options, status=LIMIT, **kw):
    """Records the job with these options; returns what baro wrote on standard error, and the summary."""
    done = run("run", "-q", "-o", tape, *options, "--", *argv, status=status, **kw)
    return done.stderr, run.summary(tape)


def row_of(summary):
    """The limit that was reached, which is the only one."""
    assert len(summary["limits_reached"]) == 1
    return summary["limits_reached"][0]


def verdict_of(summary, rule="limit"):
    return [v for v in summary["verdicts"] if v["rule"] == rule]


@pytest.mark.parametrize("action", [GRACE, "kill", "mark"])
@pytest.mark.parametrize("kind", list(JOBS))
def test_each(run_both, tape, source, kind, action):
    """A limit that is only noted leaves the job alone: the job is then ended by itself, with a status of its own."""
    text, most, argv = JOBS[kind]
    if action == "mark":
        script = {"rss": [PYTHON, "-c", "x = bytearray(b'1') * 150_000_000; exit(7)"],
                  "cpu": [PYTHON, "-c", "import time\nwhile time.process_time() < 0.6: pass\nexit(7)"],
                  "wall": ["sh", "-c", "sleep 0.6; exit 7"],
                  "processes": ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.6 & done; wait; exit 7"]}
        argv = script[kind]
    text_err, summary = limited(run_both, tape, argv, "--limit", text, "--on-limit", action,
                                status=7 if action == "mark" else LIMIT)
    row = row_of(summary)
    assert row["name"] == kind and row["limit"] == most
    assert row["value"] >= most
    assert row["largest"] in ("python3", "sleep", "sh", pathlib.Path(os.path.realpath(PYTHON)).name)
    verdict, = verdict_of(summary)
    assert f"The limit {kind}=" in verdict["title"]
    if action == "mark":
        assert row["action"] == "mark"
        assert summary["exit"]["ended_by"] is None and summary["exit"]["status"] == 7
        assert verdict["weight"] == "advice" and text_err == ""
        return
    assert row["action"] == ("SIGKILL" if action == "kill" else "SIGTERM")
    assert summary["exit"]["ended_by"] == kind
    assert summary["exit"]["signal"] in ("SIGKILL", "SIGTERM")
    assert verdict["weight"] == "problem"
    assert not verdict_of(summary, "killed") and not verdict_of(summary, "failed")
    assert text_err.startswith(f"baro run: limit {kind}=") and text_err.count("\n") == 1
    assert summary["job"]["survivors"] == 0
    assert f"limit {kind}, killed by" in run_both("ls", tape, status=0).stdout


def test_what_a_limit_of_memory_ended_needed_more(run, tape, work):
    """It has not failed, whatever status it ends with: `advise` asks for more memory than it had."""
    handled = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); " + HOLDS
    _, summary = limited(run, tape, [PYTHON, "-c", handled], "--limit", "rss=100MB", "--on-limit", "term:20s")
    assert summary["exit"]["status"] == 3 and summary["exit"]["ended_by"] == "rss"
    done = run("advise", "--json", tape)
    if "without SQLite" in done.stderr:
        pytest.skip("built without SQLite, and so without advise")
    advice = json.loads(done.stdout)
    assert (advice["failed"], advice["memory_bounds"]) == (0, 1), advice
    assert advice["ask"]["memory_bytes"] >= 150_000_000


@pytest.mark.parametrize("inside", ["plain", "namespace"])
def test_nothing_escapes(run_both, tape, work, source, inside):
    """Neither a session of its own, nor a parent that has ended, nor an ignored SIGTERM saves a process."""
    via = ()
    if inside == "namespace":
        via = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if subprocess.run([*via, "true"], capture_output=True).returncode:
            pytest.skip("no PID namespace may be made")
    if inside == "namespace" and run_both.uid is not None:
        pytest.skip("the namespace is made by root, whose baro it is")
    (work / "escaped").touch()
    os.chmod(work / "escaped", 0o666)
    _, summary = limited(run_both, tape, ["sh", "-c", ESCAPES + "sleep 600"], "--limit", "wall=1s", "--on-limit", GRACE,
                         via=via)
    row = row_of(summary)
    assert row["killed"] >= 2 and row["action"] == "SIGTERM"
    assert summary["job"]["survivors"] == 0
    if inside == "plain":
        assert not [pid for pid in escaped(work) if is_alive(pid)]


def test_the_rest_is_ended_where_the_command_has_ended(run, tape, work):
    """With --wait-all the job goes on after its command."""
    _, summary = limited(run, tape, ["sh", "-c", ESCAPES + "exit 3"], "--wait-all", "--limit", "wall=1s", "--on-limit",
                         GRACE)
    assert summary["exit"]["status"] == 3 and summary["exit"]["ended_by"] == "wall"
    assert not [pid for pid in escaped(work) if is_alive(pid)]


def test_fork_chains(run_both, tape):
    """Processes that live some milliseconds, each in a session of its own: there is always one more than was seen."""
    chain = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        end = time.monotonic() + 60
        while time.monotonic() < end and os.fork() == 0:
            os.setsid()
            time.sleep(0.005)
        os._exit(0)
time.sleep(600)
"""
    _, summary = limited(run_both, tape, [PYTHON, "-c", chain], "--limit", "wall=500ms", "--on-limit", GRACE)
    assert summary["exit"]["ended_by"] == "wall"
    assert summary["exit"]["signal"] == "SIGKILL"


def test_a_stopped_job_gets_the_signal(run, tape):
    _, summary = limited(run, tape, ["sh", "-c", "trap 'exit 9' TERM; kill -STOP $$; exit 1"], "--limit", "wall=300ms",
                         "--on-limit", "term:1h")
    assert summary["exit"]["status"] == 9


def test_another_signal(run, tape):
    _, summary = limited(run, tape, ["sh", "-c", "trap 'exit 8' USR1; while :; do sleep 0.01; done"], "--limit",
                         "wall=300ms", "--on-limit", "usr1:1h")
    assert summary["exit"]["status"] == 8 and row_of(summary)["action"] == "SIGUSR1"


def test_a_signal_ends_the_grace(run, tape, work, wait_until):
    """The command has ended by SIGTERM, and what it left behind ignores it for an hour: a second signal is enough."""
    job = run.popen("run", "-q", "-o", tape, "--limit", "wall=500ms", "--on-limit", "term:1h", "--", "sh", "-c",
                    ESCAPES + "echo $$ >command; exec sleep 600")
    wait_until(lambda: (work / "command").exists() and (work / "command").read_text().strip(), "the command")
    command = int((work / "command").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{command}"), "its end")
    pids = escaped(work)
    assert all(map(is_alive, pids))
    job.send_signal(signal.SIGINT)
    assert job.wait(120) == LIMIT
    assert not [pid for pid in pids if is_alive(pid)]
    assert row_of(run.summary(tape))["killed"] >= 2


def test_cpu_counts_what_has_ended(run, tape):
    """No single process uses as much as the limit."""
    one = f"{shlex.quote(PYTHON)} -c 'import time\nwhile time.process_time() < 0.15: pass'"
    _, summary = limited(run, tape, ["sh", "-c", f"while :; do {one}; done"], "--limit", "cpu=500ms", "--on-limit", "kill")
    assert row_of(summary)["value"] >= 500_000_000
    assert summary["job"]["processes_started"] >= 3


def test_rss_of_a_process_that_no_sample_saw(run, tape):
    """Its peak is known when it has ended; what is left of the job is ended then."""
    one = f"{shlex.quote(PYTHON)} -c 'bytearray(b\"1\") * 150_000_000'"
    _, summary = limited(run, tape, ["sh", "-c", f"{one}; sleep 600"], "--interval", "2s", "--limit", "rss=100MB",
                         "--on-limit", "kill")
    row = row_of(summary)
    assert row["by"] in ("exit", "sample") and row["value"] >= 100_000_000


def test_a_job_that_had_ended_is_not_ended(run, tape):
    """It is noted that it had more than the limit, and its status is its own."""
    _, summary = limited(run, tape, [PYTHON, "-c", "x = bytearray(b'1') * 150_000_000"], "--interval", "30s", "--limit",
                         "rss=100MB", status=None)
    row = row_of(summary)
    if row["by"] == "exit":
        assert row["action"] == "mark" and summary["exit"]["ended_by"] is None and summary["exit"]["status"] == 0


def test_a_limit_that_races_with_the_end(run, tape):
    """Whatever wins: 124, and a signal was sent while it was alive; or its own status, and no word of a signal."""
    for milliseconds in range(96, 104):
        done = run("run", "-q", "--force", "-o", tape, "--limit", "wall=100ms", "--", "sleep", f"0.{milliseconds:03}")
        ended = run.summary(tape)["exit"]
        if done.returncode == LIMIT:
            assert ended["ended_by"] == "wall" and "SIGTERM" in done.stderr, ended
        else:
            assert done.returncode == 0 and ended["status"] == 0 and ended["ended_by"] is None, ended
            assert "SIGTERM" not in done.stderr


def test_the_first_limit_acts(run, tape):
    """Others are noted."""
    _, summary = limited(run, tape, ["sh", "-c", "trap '' TERM; for i in 1 2 3 4 5; do sleep 600 & done; wait; wait"],
                         "--limit", "wall=1500ms", "--limit", "processes=3", "--on-limit", "term:3s")
    assert [(r["name"], r["action"]) for r in summary["limits_reached"]] == [("processes", "SIGTERM"), ("wall", "mark")]
    assert summary["exit"]["ended_by"] == "processes"


def test_what_was_there_before_is_left_alone(run, tape, work, wait_until):
    """The process that becomes baro has a child already: it is no process of the job."""
    job = run.popen("run", "-q", "-o", tape, "--limit", "wall=500ms", "--on-limit", GRACE, "--", "sh", "-c",
                    ESCAPES + "sleep 600", via=["sh", "-c", 'sleep 600 & echo $! >before; exec "$@"', "sh"])
    assert job.wait(120) == LIMIT
    before = int((work / "before").read_text())
    try:
        assert is_alive(before)
        assert not [pid for pid in escaped(work) if is_alive(pid)]
    finally:
        os.kill(before, signal.SIGKILL)


def test_a_recording_inside_ends_its_tape(run, tape, work, baro):
    inner = work / "inner.baro"
    limited(run, tape, [baro, "run", "-q", "-o", inner, "--", "sh", "-c", "trap '' TERM; sleep 600; sleep 600"],
            "--limit", "wall=700ms", "--on-limit", GRACE)
    run.await_end(inner)


def test_who_could_not_be_ended(run_ordinary, tape, work):
    """A program that becomes another user, as sudo does, is named, and baro does not wait for it."""
    if os.geteuid() != 0:
        pytest.skip("not root: no program of another user can be made")
    become = work / "become"
    shutil.copy(shutil.which("setpriv"), become)
    os.chmod(become, 0o4755)
    job = f"{become} --reuid=0 --regid=0 --clear-groups sh -c 'echo $$ >{work}/pid; exec sleep 600 >/dev/null 2>&1'"
    check = run_ordinary("run", "-q", "-o", work / "check.baro", "--", become, "--reuid=0", "--regid=0", "--clear-groups",
                         "id", "-u")
    if check.stdout.strip() != "0":
        pytest.skip("programs with the bit of set-user-ID do not work in this folder (nosuid)")
    try:
        err, summary = limited(run_ordinary, tape, ["sh", "-c", f"{job} & sleep 600"], "--limit", "wall=1s",
                               "--on-limit", GRACE)
        pid = int((work / "pid").read_text())
        assert is_alive(pid)
        assert f"could not be ended: sleep (pid {pid}, uid 0, of another user: not permitted)" in err
        assert summary["job"]["survivors"] == 1 and summary["job"]["survivor_name"] == "sleep"
        verdict, = verdict_of(summary)
        assert "1 could not be ended: sleep (of another user: not permitted)" in verdict["title"]
        # The same where it is the command itself.
        err, summary = limited(run_ordinary, work / "command.baro", ["sh", "-c", "exec " + job], "--limit", "wall=1s",
                               "--on-limit", "kill")
        assert "could not be ended: sleep" in err
        assert summary["exit"]["status"] is None and summary["exit"]["ended_by"] == "wall"
    finally:
        for line in subprocess.run(["pgrep", "-f", "-x", "sleep 600"], capture_output=True, text=True).stdout.split():
            if os.readlink(f"/proc/{line}/cwd") == str(work):
                os.kill(int(line), signal.SIGKILL)


# ---- memory: the kernel's ----


@pytest.fixture
def kernel(run, work):
    """Skips where the command can get no control group with a limit of memory."""
    done = run("run", "-q", "-o", work / "try.baro", "--limit", "memory=100MB", "--", "true")
    if done.returncode == 125 and "--limit memory:" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0


def test_memory(run, tape, work, kernel):
    """The kernel kills one process (v1) or all (v2); the rest of the job is ended in any case. Processes that share no
    more than a few MB with it are too small to be chosen."""
    _, summary = limited(run, tape, ["sh", "-c", ESCAPES + f"{PYTHON} -c {shlex.quote(HOLDS)}; sleep 600"], "--limit",
                         "memory=80MB")
    row = row_of(summary)
    assert row["name"] == "memory" and row["by"] == "kernel" and row["action"] == "SIGKILL"
    assert 0 < row["value"] <= 81_000_000 and row["limit"] == 80_000_000
    assert row["largest"].startswith("python3")
    assert summary["exit"]["ended_by"] == "memory"
    assert not verdict_of(summary, "oom") and verdict_of(summary)
    assert summary["limits"]["memory_bytes"] <= 80_000_000
    assert not [pid for pid in escaped(work) if is_alive(pid)]


def test_memory_of_the_command(run, tape, kernel):
    """The command itself is killed, and the recorder knows why before the wrapper ends."""
    _, summary = limited(run, tape, [PYTHON, "-c", HOLDS], "--limit", "memory=80MB")
    assert summary["exit"]["signal"] == "SIGKILL" and summary["exit"]["ended_by"] == "memory"


def test_memory_that_is_only_noted(run, tape, kernel):
    """The kernel's limit kills a process nevertheless; the job goes on."""
    _, summary = limited(run, tape, ["sh", "-c", f"{PYTHON} -c {shlex.quote(HOLDS)}; exit 5"], "--limit", "memory=80MB",
                         "--on-limit", "mark", status=5)
    row = row_of(summary)
    assert row["action"] == "mark" and row["by"] == "kernel"
    assert summary["exit"]["ended_by"] is None and verdict_of(summary, "oom")


def test_memory_without_a_group(run_ordinary, tape, work):
    """A user who may make no group is told so before anything runs."""
    done = run_ordinary("run", "-q", "-o", tape, "--limit", "memory=80MB", "--", "touch", "ran")
    if done.returncode == 0:
        pytest.skip("this user may make control groups")
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("baro run: --limit memory: ") and "--limit rss" in done.stderr
    assert not (work / "ran").exists() and not os.path.exists(tape)


# ---- wrong calls ----


@pytest.mark.parametrize("options, says", [
    (["--limit", "foo=3"], "is not memory=SIZE, rss=SIZE, cpu=TIME, wall=TIME or processes=N"),
    (["--limit", "rss"], "is not memory=SIZE"),
    (["--limit", "rss=4x"], "invalid size '4x'"),
    (["--limit", "rss=4000"], "rss=4000 has no unit, as in rss=4000MB"),
    (["--limit", "rss=0B"], "a limit is more than 0"),
    (["--limit", "cpu=30"], "has no unit of time"),
    (["--limit", "wall=1e99s"], "'1e99s': 'e' is no unit of time"),
    (["--limit", "processes=5.5"], "invalid number '5.5'"),
    (["--limit", "wall=1h", "--limit", "wall=2h"], "wall is given twice"),
    (["--limit", "wall=1h", "--on-limit", "stop"], "is not term, kill, mark or the name of a signal"),
    (["--limit", "wall=1h", "--on-limit", "kill:1s"], "there is a GRACE after a signal alone"),
    (["--limit", "wall=1h", "--on-limit", "term:x"], "invalid duration 'x'"),
    (["--on-limit", "kill"], "--on-limit is for --limit"),
    (["--limit", "wall=1h", "--no-subreaper"], "--limit and --no-subreaper: one of them"),
    (["--limit", "memory=1GB", "--cgroup", "none"], "--limit memory and --cgroup none: one of them"),
])
def test_wrong_calls(run, tape, work, options, says):
    done = run("run", "-q", "-o", tape, *options, "--", "touch", "ran", status=125)
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert not (work / "ran").exists() and not os.path.exists(tape)


def test_without_a_limit_nothing_is_told(run, tape):
    run.record(tape, ["true"])
    assert run.summary(tape)["limits_reached"] == []


def test_below_the_limits(run, tape):
    """A job that reaches none has its own status and its own signal."""
    wide = [x for kind in ("rss=1TB", "cpu=1h", "wall=1h", "processes=1000") for x in ("--limit", kind)]
    _, summary = limited(run, tape, ["sh", "-c", "exit 4"], *wide, status=4)
    assert summary["limits_reached"] == [] and summary["exit"]["ended_by"] is None
    limited(run, str(tape) + "2", ["sh", "-c", "kill -9 $$"], *wide, status=-signal.SIGKILL)


