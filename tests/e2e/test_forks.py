# SPDX-License-Identifier: Apache-2.0
"""The number of processes: exact, or marked as a lower bound; with each event source, and in each kind of namespace. A
tree that grows while the recorder starts is the hardest case.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from conftest import ORDINARY, SOURCE, needs_connector, needs_strace
from jobs import script

# A network namespace of its own has no process connector.
WAYS = {
    "init": [],
    "net": ["unshare", "-n"],
    "pid": ["unshare", "-n", "-p", "-f", "--mount-proc"],
    "user": ["unshare", "-U", "-r", "-n"],
}
ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def grow():
    """grow DEPTH WIDTH LIFE starts 1 + DEPTH * WIDTH processes, itself among them. (Another run of pytest removes other
    users' access to pytest's own folder, so the program lies elsewhere.)"""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="baro-grow-"))
    folder.chmod(0o755)
    subprocess.run(["gcc", "-O1", "-o", folder / "grow", SOURCE / "tests/e2e/grow.c"], check=True)
    yield str(folder / "grow")
    shutil.rmtree(folder, ignore_errors=True)


def in_namespaces(run, way, *args):
    """Runs baro with these arguments in namespaces of its own."""
    if way in ("net", "pid") and not ROOT:
        pytest.skip("network and PID namespaces need root")
    ordinary = (
        ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"] if run.uid is not None else []
    )
    inner = [] if way == "user" else ordinary
    outer = ordinary if way == "user" else []
    return subprocess.run([*outer, *WAYS[way], *inner, run.binary, *map(str, args)], check=False, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=run.work)


def record(run, way, tape, argv, *options):
    tape.unlink(missing_ok=True)
    done = in_namespaces(run, way, "run", "-q", *options, "-o", tape, "--", *argv)
    if "unshare: " in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


def check_counts(run, tape, started):
    """The number is exact or marked, and no process is recorded twice. Returns whether it is marked."""
    summary = run.summary(tape)
    job = summary["job"]
    marked = job["processes_started_is_lower_bound"]
    counts = (job["processes_started"], started, summary["accounting"]["event_source"])
    assert job["processes_started"] <= started if marked else job["processes_started"] == started, counts
    identities = collections.Counter(
        (e["pid"], e["start_ticks"]) for e in run.export(tape, "exit") if e["start_ticks"] is not None
    )
    assert not [i for i, n in identities.items() if n > 1]
    return marked


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("depth, width, life", [(40, 1, 500), (1, 40, 30000), (20, 10, 10000)])
def test_tree_that_grows_while_the_recorder_starts(run_both, way, tape, grow, depth, width, life):
    done = record(run_both, way, tape, [grow, str(depth), str(width), str(life)])
    assert done.returncode == 0, done.stderr
    check_counts(run_both, tape, 1 + depth * width)


@pytest.mark.parametrize("way", WAYS)
def test_scanning_counts_a_lower_bound(run_both, way, tape, grow, monkeypatch):
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    assert record(run_both, way, tape, [grow, "10", "10", "2000"]).returncode == 0
    check_counts(run_both, tape, 101)


def test_members_between_two_samples(run_both, tape, monkeypatch):
    """Without events, processes are found as they begin, by their pids, and have the names of their programs; threads
    are none. There is no sample between the first and the last one."""
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    threads = "import threading, time; [threading.Thread(target=time.sleep, args=(0.2,)).start() for i in range(50)]"
    shell = f"for i in 1 2 3 4; do sleep 0.2; done; (exec sleep 0.2); /usr/bin/python3 -c '{threads}'; exit 0"
    done = record(run_both, "init", tape, ["sh", "-c", shell], "--overhead", "off", "-i", "1h")
    assert done.returncode == 0, done.stderr
    names = collections.Counter(e["name"] for e in run_both.export(tape, "exit"))
    # On a busy machine a program may not be read again after its exec: then it has its parent's name.
    assert names["sleep"] >= 3 and names["python3"] == 1 and sum(names.values()) == 7, names
    assert run_both.summary(tape)["job"]["processes_started"] == 7


@pytest.mark.skipif(not ROOT, reason="a network namespace of its own needs root")
def test_zombies_are_counted_once(run, tape):
    """Events come late and are lost in such a storm; a process that a scan finds first is the same one when its fork is
    reported."""
    for way in ("net", "pid"):
        done = record(run, way, tape, script("""
            import os, time
            for i in range(3000):
                if os.fork() == 0:
                    os._exit(0)
            time.sleep(0.3)
            """))
        assert done.returncode == 0, done.stderr
        check_counts(run, tape, 3001)


@pytest.mark.skipif(not ROOT, reason="a network namespace of its own needs root")
def test_long_lived_parents_are_counted_exactly(run, tape, work):
    """If no process lived and ended before perf was attached, and none was missed, the number is exact. Retried,
    because other processes may have used up a pid meanwhile."""
    for _ in range(5):
        assert (
            record(
                run,
                "pid",
                tape,
                ["sh", "-c", "sh -c 'sleep 0.3; for i in 1 2 3 4 5; do sleep 0.01; done' & sleep 0.4; sleep 0.1; wait"],
            ).returncode
            == 0
        )
        if run.summary(tape)["accounting"]["event_source"] != "perf":
            pytest.skip("perf_event_open(2) is refused")
        if not check_counts(run, tape, 10):
            return
    pytest.fail("a lower bound in each of five runs")


@pytest.mark.skipif(not ROOT, reason="the kernel's filter needs root")
@pytest.mark.parametrize("depth, width, life", [(40, 3, 2000), (3, 100, 20000)])
def test_counts_beside_foreign_forks(run, tape, grow, started, depth, width, life):
    """The kernel filters out foreign forks once there are enough of them; forks of the job are never filtered,
    whichever fork is in progress when filtering begins."""
    started(["sh", "-c", "while :; do (:); (:); done"])
    job = f"{grow} {depth} {width} {life}; sleep 0.3; {grow} {depth} {width} {life}; {grow} 1 1 1000; exit 0"
    run.record(tape, ["sh", "-c", job])
    check_counts(run, tape, 2 + 2 * (1 + depth * width) + 2)


@needs_strace
@pytest.mark.not_sanitized("strace counts a sanitizer's calls too")
def test_the_wrapper_waits_for_a_cpu_before_it_starts_the_command(run, tape):
    """The command begins 60 ms after the wrapper has noted the time: it is no other process with the same pid."""
    late = ["strace", "-f", "-o", "/dev/null", "-e", "trace=clone", "-e", "inject=clone:delay_enter=60000", "--"]
    if subprocess.run([*late, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace can't do that here")
    argv = [*late, run.binary, "run", "-q", "-o", tape, "--", "sh", "-c", "/bin/true; /bin/true; sleep 0.1"]
    subprocess.run(argv, timeout=60, check=True)
    s = run.summary(tape)["job"]
    assert s["processes_started"] == 4 or s["processes_started_is_lower_bound"], s


@needs_connector
@needs_strace
@pytest.mark.not_sanitized("strace counts a sanitizer's calls too")
def test_baro_waits_for_a_cpu_before_it_asks_for_events(run, tape, work, wait_until):
    """More events than the default buffer of a socket holds come before the kernel is asked for them. It sends nothing
    to a socket that has overflown, nor a reply. There are events as long as someone has asked for them: the first
    recording."""
    late = ["strace", "-f", "-o", "/dev/null", "-e", "trace=bind", "-e", "inject=bind:delay_exit=700000", "--"]
    if subprocess.run([*late, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace can't do that here")
    other = work / "foreign.baro"
    foreign = run.popen("run", "-q", "-o", other, "--", "sh", "-c", "while :; do (:); (:); done")
    run.await_samples(other)
    wait_until(lambda: run.summary(other)["accounting"]["event_source"] == "connector", "events of the first recording")
    subprocess.run([*late, run.binary, "run", "-q", "-o", tape, "--", "sleep", "0.1"], timeout=60, check=True)
    foreign.terminate()
    foreign.wait()
    assert run.summary(tape)["accounting"]["event_source"] == "connector"
