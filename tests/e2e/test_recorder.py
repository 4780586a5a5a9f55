# SPDX-License-Identifier: Apache-2.0
"""What the recorder counts, against what the kernel says of the same processes."""

import os
import resource
import signal
import subprocess
import time

import pytest

from conftest import PATIENCE
from jobs import BURN, PYTHON, burn, commands, script
from wrapping import children, comm, recorder_of

UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"  # a file that the test makes

# ---- totals ----------------------------------------------------------------------------------------------------------


def test_compile(run_both, work, truth, tape, source):
    src = work / "src"
    src.mkdir()
    src.chmod(0o1777)
    for i in range(24):
        (src / f"f{i}.c").write_text(f"#include <stdio.h>\nint f{i}(int x) {{ return printf(\"%d\", x * {i}); }}\n")
    (src / "Makefile").write_text("OBJ := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJ)\n")
    # ccache, if it precedes gcc, would run cc1 twice for each file.
    truth.record(tape, ["make", "-s", "-j4", "-C", str(src), "all"], env={"CCACHE_DISABLE": "1"})
    s = run_both.summary(tape)
    assert s["exit"].items() >= {"status": 0, "signal": None}.items()
    truth.check(s)
    assert s["accounting"]["cpu_kernel_ns"] == s["job"]["cpu_ns"]
    if (
        source == "events"
        and s["accounting"]["event_source"] == "connector"
        and s["accounting"]["lossy_intervals"] == 0
    ):
        assert s["job"]["processes_started"] >= 24 * 2 + 1
        exits = run_both.export(tape, "exit")
        assert len(exits) == s["job"]["processes_started"]
    if source == "events" and os.geteuid() == 0 and run_both.uid is None:
        # The source that reports names of ended processes is opened at the first fork; the first batch may be faster.
        assert 24 - 4 <= commands(s)["cc1"]["processes"] <= 24
        assert s["accounting"]["cpu_counted_ns"] > 0.9 * s["accounting"]["cpu_kernel_ns"]


def test_many_short_processes(run_both, truth, tape, source):
    truth.record(tape, "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done")
    s = run_both.summary(tape)
    truth.check(s)
    job, told_of_all = s["job"], source == "events" and s["accounting"]["event_source"] == "connector"
    if told_of_all or job["processes_unsampled"] is not None:  # perf may have begun before the first fork, or not
        assert job["processes_started"] == 301 and 0 <= job["processes_unsampled"] <= 301
    else:
        assert job["processes_started"] <= 301 and job["processes_started_is_lower_bound"]
        assert "job.processes_unsampled" in s["absent"]


def test_survivor_is_left_and_reported(run, tape, wait_until):
    done = run("run", "-o", tape, "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!", status=0)
    pid = int(done.stdout)
    try:
        os.kill(pid, 0)
        assert "outlives" in done.stderr
        assert any(e["event"] == "survivor" and e["pid"] == pid for e in run.export(tape, "event")), done.stderr
    finally:
        os.kill(pid, signal.SIGKILL)


def test_wait_all(run_both, tape, work):
    """The exit status is the command's, and the end of the recording that of what it left behind."""
    (work / "out").touch()
    (work / "out").chmod(0o666)
    line = "setsid sh -c '(sleep 0.2; echo done >out; exit 4) &' & exit 3"
    done = run_both("run", "--wait-all", "-o", tape, "--", "sh", "-c", line, status=3)
    assert (work / "out").read_text() == "done\n"
    s = run_both.summary(tape)
    assert s["exit"]["status"] == 3 and "outlive" not in done.stderr
    assert s["wall_ns"] >= 200_000_000 and s["job"]["processes_ended"] == s["job"]["processes_started"]


def test_signal_ends_the_wait(run, tape):
    r = run.popen(
        "run", "--wait-all", "-o", tape, "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pid = int(r.stdout.read())  # the command has ended, or is about to
    end = time.monotonic() + PATIENCE
    while r.poll() is None and time.monotonic() < end:
        r.send_signal(signal.SIGINT)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    assert r.wait(timeout=60) == 0 and "outlives" in r.stderr.read()


def test_descriptors_of_short_processes(run, tape, work):
    """Exit events do not have them: they are read while the process lives, also where all else is left to the exit
    event. On a busy machine it takes more processes until one is read in time."""
    short = "import time; f = [open('/dev/null') for i in range(300)]; time.sleep(0.06)"
    job = f'until [ -e done ]; do /usr/bin/python3 -S -E -c "{short}"; done; read x < gate'

    def seen():
        if run.instants(tape) and (run.summary(tape)["job"]["fds_peak"] or 0) >= 300:
            (work / "done").touch()
        return (work / "done").exists()

    run.record_gated(tape, job, seen)
    assert run.summary(tape)["job"]["fds_peak"] >= 300


def cpu_shown(pid):
    """Returns utime, stime, cutime and cstime of a process, as the kernel shows them now, in ns."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return sum(int(f) for f in fields[11:15]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def test_total_in_the_middle(run, tape, wait_until):
    """While the job runs, its total lies between what the kernel shows before and after, within the error bound on the
    tape; and no total falls."""
    p = run.popen("run", "-q", "-o", tape, "--interval", "20ms", "--", "bash", "-c",
                  "until [ -e go ]; do " + PYTHON + " -S -c 'sum(range(1000000))'; done; :")
    try:
        run.await_samples(tape)
        shell = next(c for c in children(p.pid) if comm(c) == "bash")
        for _ in range(5):
            before = cpu_shown(shell)
            run.await_samples(tape, len(run.instants(tape)) + 2)  # one that was begun after that
            row = run.export(tape, "job")[-1]
            after = cpu_shown(shell)
            live = 200_000_000  # CPU time of the one child that runs and is not in the shell's counters yet
            assert before - 40_000_000 <= row["cpu_ns"] + row["cpu_bound_ns"], (before, row)
            assert row["cpu_ns"] <= after + live, (row, after)
            time.sleep(0.1)
        assert "bash" in run("show", "--at", "-0s", tape, status=0).stdout
    finally:
        (run.work / "go").touch()
        assert p.wait(timeout=120) == 0
    rows = run.export(tape, "job")
    for key in ("cpu_ns", "cpu_user_ns", "cpu_system_ns", "io_rchar_bytes", "faults_minor", "processes_started"):
        values = [r[key] for r in rows if r[key] is not None]
        assert values == sorted(values), key


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_peak_memory(run_both, tape):
    def seen():
        return run_both.instants(tape) and (run_both.summary(tape)["job"]["uss_peak_bytes"] or 0) > 294_000_000

    run_both.record_gated(tape, script("""
        b = bytearray(300 * 1000 * 1000)
        for i in range(0, len(b), 4096): b[i] = 1
        open("gate").read(1)
        """), seen, "--overhead", "off")  # where reading all maps takes long, the budget would delay it
    s = run_both.summary(tape)
    assert 300_000_000 < s["job"]["process_rss_peak_bytes"] < 330_000_000
    for key in ("rss_peak_bytes", "pss_peak_bytes", "uss_peak_bytes"):
        assert 294_000_000 < s["job"][key] < 330_000_000, key  # pss is read again at steps of 2 %
    assert s["job"]["pss_peak_age_ns"] is not None


def test_memory_of_the_starting_process_is_not_counted(run, tape):
    """A large process starts baro; the recorded `true` is small all the same."""
    ballast = bytearray(400 * 1000 * 1000)
    for i in range(0, len(ballast), 4096):
        ballast[i] = 1
    run.record(tape, ["true"])
    s = run.summary(tape)
    assert (s["job"]["process_rss_peak_bytes"] or 0) < 20_000_000
    del ballast


# ---- names -----------------------------------------------------------------------------------------------------------


def test_long_name_is_not_truncated(run, work, tape):
    long = work / "a-program-with-a-rather-long-name"
    long.write_bytes(open("/bin/sleep", "rb").read())
    long.chmod(0o755)
    run.record(tape, [str(long), "0.4"])
    assert "a-program-with-a-rather-long-name" in commands(run.summary(tape))


def test_no_cmdline(run, tape):
    run.record(tape, ["sh", "-c", "sleep 0.2; : a-private-argument"], "--no-cmdline")
    text = run("export", "--format", "jsonl", tape).stdout + run("summary", "--json", tape).stdout
    assert "a-private-argument" not in text


# ---- how jobs and recordings end -------------------------------------------------------------------------------------


def test_exit_records(run_both, tape, source):
    run_both.record(tape, "sleep 0.2; (sleep 0.2; exit 7); sh -c 'sleep 0.2; kill -9 $$'; exit 3", status=3)
    s = run_both.summary(tape)
    assert s["exit"].items() >= {"status": 3, "signal": None}.items()
    exits = run_both.export(tape, "exit")
    if source == "events" and s["accounting"]["event_source"] == "connector":  # perf reports no exit statuses
        ends = {(e["status"], e["signal"]) for e in exits}
        assert (7, None) in ends and (None, 9) in ends and (3, None) in ends


def test_recorder_killed(run, tape, wait_until):
    """SIGKILL of the recorder: the job continues, its status is returned, the tape is readable."""
    job = f"{UNTIL_GO}; kill -USR2 $$"
    p = run.popen("run", "-o", tape, "--", "sh", "-c", job, stderr=subprocess.PIPE, text=True)
    run.await_samples(tape)
    os.kill(recorder_of(p.pid), signal.SIGKILL)
    (run.work / "go").touch()
    err = p.communicate(timeout=60)[1]
    assert p.returncode == -signal.SIGUSR2
    assert len([line for line in err.splitlines() if line.strip()]) == 1, err
    assert run.summary(tape)["recorder"]["samples"] > 0


def test_wrapper_killed(run, tape, work, wait_until):
    """SIGKILL of the wrapper: the job continues, and so does the recorder, to the job's end."""
    p = run.popen("run", "-q", "-o", tape, "--", "sh", "-c", f"{UNTIL_GO}; echo done > survived")
    run.await_samples(tape)
    p.kill()
    p.wait()
    (work / "go").touch()
    wait_until(lambda: (work / "survived").exists(), "the job's end")

    def over():
        done = run("export", "--format", "jsonl", "--entity", "event", tape)
        return '"end"' in done.stdout

    wait_until(over, "the recorder's end")
    assert any(e["event"] == "wrapper_lost" for e in run.export(tape, "event"))


# ---- attaching -------------------------------------------------------------------------------------------------------


def test_attach(run, tape, started, wait_until):
    p = started(script(f"""
        import subprocess, time
        {BURN.format(0.5).replace(chr(10), chr(10) + ' ' * 8)}
        print("ready", flush=True)
        input()
        subprocess.run({burn(0.3)!r})
        time.sleep(0.2)
        raise SystemExit(9)
        """), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    r = run.popen("record", "-v", "--pid", p.pid, "-o", tape, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: run.listens(tape), "the event source")
    p.stdin.write("\n")
    p.stdin.flush()
    err = r.communicate(timeout=60)[1]
    assert r.returncode == 0, err
    s = run.summary(tape)
    assert 300_000_000 <= s["job"]["cpu_ns"] < 480_000_000  # the half second before is not in it
    assert s["exit"]["status"] in (9, None)
    assert "before" in err


def test_until_all(run_both, tape, started, wait_until):
    """A descendant outlives the target: the recording ends with it."""
    p = started(["sh", "-c", "read x; setsid sh -c '(sleep 0.3; exit 4) &' & exit 7"], stdin=subprocess.PIPE)
    r = run_both.popen("record", "--pid", p.pid, "--until", "all", "-o", tape, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: run_both.listens(tape), "the event source")
    p.communicate(b"\n")
    err = r.communicate(timeout=60)[1]
    assert r.returncode == 0 and p.returncode == 7, err
    assert "outlive" not in err and "sleep" in {e["name"] for e in run_both.export(tape, "exit")}


def test_detach(run, tape, started, wait_until):
    p = started(["sleep", "300"])
    r = run.popen("record", "--pid", p.pid, "-q", "-o", tape)
    run.await_samples(tape)
    r.send_signal(signal.SIGTERM)
    assert r.wait(timeout=60) == 0
    assert p.poll() is None
    s = run.summary(tape)
    assert s["exit"].items() >= {"status": None, "signal": None}.items()
    assert s["job"]["processes_started"] == 1


def test_recorder_below_its_target_is_not_counted(run, work, tape, started):
    """As `baro record --pid $$ &` from a shell."""
    line = f"{run.binary} record --pid $$ -q -o {tape} & {UNTIL_GO}; kill $!; wait $!; exit 0"
    p = started(["bash", "-c", line], cwd=work)
    run.await_samples(tape, 2)
    (work / "go").touch()
    assert p.wait(PATIENCE) == 0
    rows = run.export(tape)
    assert rows
    assert "baro" not in {r["name"] for r in rows}


def test_process_of_another_user(run, run_ordinary, tape, started):
    """What anybody may read of it is recorded, as with --match; the rest is absent, and not 0."""
    if os.geteuid() != 0:
        pytest.skip("needs root to have another user's process")
    p = started(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 300"])
    run_ordinary("record", "-q", "-i", "100ms", "--for", "2s", "--pid", p.pid, "-o", tape, status=0)
    s = run.summary(tape)
    row = next(r for r in run.export(tape) if r["pid"] == p.pid)
    assert row["rss_bytes"] > 0 and row["threads"] == 1 and row["uss_bytes"] is None and row["io_rchar_bytes"] is None
    assert s["job"]["rss_peak_bytes"] > 0 and s["job"]["cpu_ns"] >= 0
    assert s["job"]["io_rchar_bytes"] is None and s["absent"]["job.io_rchar_bytes"] == "denied"


@pytest.mark.parametrize("make", ["dead", "thread", "kernel", "word"])
def test_invalid_targets(run, tape, started, make, wait_until):
    pid = 1
    if make == "dead":
        p = started(["true"])
        p.wait()
        pid = p.pid
    elif make == "thread":
        p = started(script("import threading, time; threading.Thread(target=time.sleep, args=(300,)).start()"))
        wait_until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) > 1, "the thread")
        pid = max(int(t) for t in os.listdir(f"/proc/{p.pid}/task") if int(t) != p.pid)
    elif make == "kernel":
        pid = 2
        if not os.path.exists("/proc/2/comm") or "kthreadd" not in open("/proc/2/comm").read():
            pytest.skip("no kernel threads in sight")
    else:
        pid = "12x"
    done = run("record", "--pid", pid, "-o", tape, status=2)
    assert len(done.stderr.splitlines()) == 1
    if make == "thread":
        assert f"PID {pid} is a thread of process {p.pid} (" in done.stderr and f"--pid {p.pid}" in done.stderr
    assert not os.path.exists(tape)


# ---- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.baro", "x" * 255])
def test_output_is_not_overwritten(run, work, name):
    tape = work / name
    tape.write_text("mine")
    done = run("run", "-o", tape, "--", "true", status=125)
    assert len(done.stderr.splitlines()) == 1
    assert tape.read_text() == "mine"
    run("run", "-q", "--force", "-o", tape, "--", "true", status=0)
    assert tape.stat().st_mode & 0o777 == 0o600
    assert list(tape.parent.glob(tape.name + "*")) == [tape]


@pytest.mark.parametrize("argv, status, room", [
    (["run", "--", "/nonexistent/program"], 127, True),
    (["record", "--pid", "999999999"], 2, True),
    (["record", "--cgroup", "/nowhere"], 2, True),
    (["run", "-q", "--", "sh", "-c", "exit 3"], 3, False),
    (["record", "-q", "--host", "--for", "100ms"], 2, False),
])
def test_old_file_is_kept_until_something_is_recorded(run, tape, argv, status, room, wait_until):
    tape.write_text("mine")
    none = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    done = run(argv[0], "--force", "-o", tape, *argv[1:], status=status, before=None if room else none)
    wait_until(lambda: list(tape.parent.glob(tape.name + "*")) == [tape], "the old tape to be back")
    assert tape.read_text() == "mine"
    assert len(done.stderr.splitlines()) == 1 and ("can't write the tape: File too large" in done.stderr) != room


def test_metrics_are_chosen(run, tape):
    run.record(tape, ["sleep", "0.3"], "--metrics", "cpu,rss")
    rows = run.export(tape)
    assert all(r.get("pss_bytes") is None and r.get("io_read_bytes") is None for r in rows)
    assert rows[-1]["rss_bytes"] is not None
    run("record", "--pid", os.getpid(), "--for", "50ms", "-q", "--force", "-o", tape, "--metrics", "cpu", status=0)
    s = run.summary(tape)
    for name in ("io_read_bytes", "io_rchar_bytes", "run_delay_ns", "process_rss_peak_bytes"):
        assert s["job"][name] is None and s["absent"][f"job.{name}"] == "not asked"
    done = run("run", "--metrics", "cpu,nonsense", "--", "true", status=125)
    assert "nonsense" in done.stderr and len(done.stderr.splitlines()) == 1


def test_interval(run, tape):
    run.record(tape, ["sleep", "1"], "--interval", "100ms")
    times = [r["t_ns"] for r in run.export(tape, "job")]
    s = run.summary(tape)
    # the first after exec, the last at the end, and one for each time of the grid that was not missed or left out for
    # the budget
    assert len(times) == s["recorder"]["samples"]
    assert len(times) + s["recorder"]["missed"] + s["recorder"]["left_out"] >= 10


def test_recorder_counts_itself(run, tape):
    run.record(tape, ["sleep", "0.3"])
    r = run.summary(tape)["recorder"]
    assert r["cpu_ns"] > 0 and r["rss_peak_bytes"] > 100_000 and r["samples"] >= 2
    assert r["process_samples"] >= r["samples"] - 2
    assert r["sample_mean_ns"] > 0 and r["process_sample_mean_ns"] > 0


def test_kept_runs(run, work):
    for _ in range(3):
        run("run", "-q", "--", "true", status=0)
    done = run("ls", status=0)
    assert len([line for line in done.stdout.splitlines() if "true" in line]) == 3
    assert run.summary("@last")["command"] == ["true"]
    run("rm", "@1", status=0)
    assert len([line for line in run("ls", status=0).stdout.splitlines() if "true" in line]) == 2


def test_programs_of_others_do_not_wake_the_recorder(run, tape, monkeypatch):
    """Each that begins opens the C library, which is watched without events. 20,000 opens of it, none of which is a
    process of the job: the recorder ignores them after some. (One that is woken by each is woken 5,000 times or so.)"""
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    job = script("""
        import os, pathlib, re, subprocess
        subprocess.run(["sleep", "0.2"])
        library = re.search(r"/.*/libc.so.6$", pathlib.Path("/proc/self/maps").read_text(), re.M)[0]
        above = os.getppid()
        below = pathlib.Path(f"/proc/{above}/task/{above}/children").read_text().split()
        (recorder,) = [pathlib.Path("/proc", p) for p in below if int(p) != os.getpid()]
        woken = lambda: int(re.search(r"^voluntary.*\\t(.*)", (recorder / "status").read_text(), re.M)[1])
        before = woken()
        for i in range(20000):
            os.close(os.open(library, os.O_RDONLY))
        print(woken() - before)
        """)
    assert int(run("run", "-q", "-o", tape, "--", *job, status=0).stdout) < 1000
