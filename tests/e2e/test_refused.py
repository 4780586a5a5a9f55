# SPDX-License-Identifier: Apache-2.0
"""Forks and memory that limits refused to a job, in whichever control group they are counted; the peak of that group;
and which memory is the job's.
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest
from jobs import after_mounts
from test_cgroup import attach, mount_of, v1, waiting  # noqa: F401 (v1 is a fixture)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")

EATER = [sys.executable, "-c", "import sys, time; time.sleep(float(sys.argv[1])); x = bytearray(300 << 20)"]
FORKER = """
    #include <errno.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    /* Forks 40 processes that wait, and prints how many forks were refused. With an argument, once that file is opened for writing. */
    int main(int argc, char **argv)
    {
        int refused = 0;
        pid_t all[40];
        if (argc > 1 && !fopen(argv[1], "r"))
            return 1;
        for (int i = 0; i < 40; i++) {
            all[i] = fork();
            if (all[i] == 0) {
                pause();
                _exit(0);
            }
            refused += all[i] < 0 && errno == EAGAIN;
        }
        for (int i = 0; i < 40; i++) {
            if (all[i] > 0) {
                kill(all[i], SIGKILL);
                waitpid(all[i], NULL, 0);
            }
        }
        printf("%d\\n", refused);
        return 0;
    }
"""


def refusals(group):
    return int(group.read("pids.events").split()[1])


def await_reading(run, tape, wait_until):
    """Refusals count from the first reading of the group on; a job that ends before it has none."""
    wait_until(lambda: run.instants(tape) and run.export(tape, "cgroup"), "a reading of the group")


def test_forks_in_a_shared_group(run, tape, work, v1, compiled, wait_until):
    """v1 counts threads in another group than memory, and what was refused before the job does not count."""
    group, forker = v1("pids"), compiled("forker", FORKER)
    group.write("pids.max", 20)
    before = int(subprocess.run([forker], preexec_fn=group.enter, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert refusals(group) == before > 0
    os.mkfifo(work / "go")
    p = run.popen("run", "-v", "-o", tape, "--", forker, work / "go", before=group.enter, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)
    await_reading(run, tape, wait_until)
    (work / "go").write_text("")
    out, err = p.communicate(timeout=60)
    summary = run.summary(tape)
    found, ours = summary["limits"], summary["recorder"]["forks_refused"]  # a helper may be started meanwhile
    assert found["forks_refused"] == refusals(group) - before - ours == int(out)
    assert found["pids"] == 20 and group.path.name in found["pids_source"]
    assert f"{int(out)} forks refused: at most 20 threads by cgroup" in err


# It forks no more until the test writes a line.
FULL = "sleep 2750 & a=$!; sleep 2750 & b=$!; sleep 2750 & : >full; read line; kill $a $b $!; exit 0"


def fill(run, tape, group, wait_until):
    """Starts a recording, and makes its group full once the job has all its processes. The helper is killed, and the
    next one is refused. Returns the process, and what was refused before."""
    full, before = run.work / "full", refusals(group)
    pipes = {name: subprocess.PIPE for name in ("stdin", "stderr")}
    p = run.popen("run", "-o", tape, "--", "sh", "-c", FULL, before=group.enter, text=True, **pipes)
    comm = lambda pid: pathlib.Path(f"/proc/{pid}/comm").read_text().strip()  # noqa: E731
    helpers = lambda: full.exists() and [pid for pid in group.pids() if comm(pid) == "baro-helper"]  # noqa: E731
    found = wait_until(helpers, "a helper")
    group.write("pids.max", len(group.pids()) - len(found))
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: refusals(group) > before, "a helper that is refused")
    return p, before


def test_group_full_before_the_job_began(run, tape, v1, wait_until):
    """Forks that the recorder itself is refused in a full group are not the job's, and it does not retry at once."""
    group = v1("pids")
    p, before = fill(run, tape, group, wait_until)
    await_reading(run, tape, wait_until)
    text = p.communicate("\n", timeout=60)[1]
    assert p.returncode == 0
    summary = run.summary(tape)
    assert summary["limits"]["forks_refused"] == 0
    assert 0 < summary["recorder"]["forks_refused"] == refusals(group) - before <= 6
    assert "refused" not in text


def test_refused_helper_is_started_again(run, tape, v1, wait_until):
    group = v1("pids")
    p, _ = fill(run, tape, group, wait_until)
    group.write("pids.max", 100)
    wait_until(lambda: any(r["cmdline"] == "sleep 2750" and r["pss_bytes"] for r in run.export(tape)), "what it reads")
    p.communicate("\n", timeout=60)
    assert p.returncode == 0


CHILD = ["sh", "-c", "/bin/true && echo out; exit 9"]


@pytest.mark.not_sanitized("a sanitizer needs more")
@pytest.mark.parametrize("most", range(2, 7))
def test_few_processes_are_the_jobs(run, tape, v1, most):
    """The command has one child. What recording takes of pids.max is not the job's: with 3 it is not recorded, with 5
    no helper is started."""
    group = v1("pids")
    group.write("pids.max", most)
    done = run("run", "-q", "-o", tape, "--", *CHILD, before=group.enter)
    assert (done.returncode, done.stdout) == (9, "out\n"), done.stderr
    assert refusals(group) == 0
    if most < 4:
        why = f"pids.max of the control group is {most}, and recording takes 4 processes"
        assert done.stderr == f"baro run: nothing was recorded: {why}\n"
        assert not tape.exists()
        return
    assert done.stderr == ""
    warnings = [e["text"] for e in run.export(tape, "event") if e["event"] == "warning"]
    why = f"no helper was started: pids.max of the control group is {most}; with 6 it would be"
    assert warnings == ([] if most > 5 else [why])


@pytest.mark.not_sanitized("a sanitizer needs more")
def test_no_recorder_stays_where_no_command_can_start(run_ordinary, work):
    """The limit is that of a user, and the recorder was the last process allowed: it ends before the command runs."""

    def enter():
        os.setgid(54321)
        os.setuid(54321)
        resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))

    work.chmod(0o777)
    run_ordinary.uid = None  # the programs lie where this user may enter
    done = run_ordinary("run", "-q", "-o", work / "none.baro", "--", *CHILD, before=enter)
    assert (done.returncode, done.stdout) == (9, "out\n"), done.stderr
    assert "nothing was recorded" in done.stderr and done.stderr.count("\n") == 1
    assert not (work / "none.baro").exists()


def test_forks_in_an_own_group(run, tape, work, compiled):
    """A group's counts are those since its beginning, whenever the first reading was."""
    pids, forker = mount_of("pids"), compiled("forker", FORKER)
    script = f"here={pids}$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup); echo $here; echo 10 > $here/pids.max; {forker}; sed 's/max //' $here/pids.events; sleep 0.2"
    done = run("run", "-o", tape, "--cgroup", "own", "--", "sh", "-c", script, status=0)
    summary = run.summary(tape)
    where, refused, counted = done.stdout.split()
    if "/baro-" not in where:
        pytest.skip("no group of its own that counts threads")
    refused, counted = int(refused), int(counted)
    assert summary["cgroup"] == "own" and 0 < refused == counted == summary["limits"]["forks_refused"]
    assert "forks refused" in done.stderr


def test_own_group_without_memory_controller(run, tape, v1):
    """The memory of a group above does not stand in for it."""
    group = v1("memory")
    read_only = f'mount -o remount,bind,ro {mount_of("memory")}'
    own = [run.binary, "run", "-q", "-o", tape, "--cgroup", "own"]
    argv = after_mounts(read_only, *own, "--", "sleep", "0.2")
    holds = "x = bytearray(80 << 20); print(1, flush=True); import time; time.sleep(1000)"
    other = subprocess.Popen([sys.executable, "-c", holds], preexec_fn=group.enter, stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        subprocess.run(argv, preexec_fn=group.enter, check=True, timeout=60)
    finally:
        other.kill()
        other.wait()
    summary = run.summary(tape)
    assert summary["cgroup"] == "own"
    assert summary["limits"]["memory_peak_of"] in ("processes", "process")
    assert summary["limits"]["memory_peak_bytes"] < 40 << 20
    rows = [r for r in run.export(tape, "cgroup") if "memory" in r["label"]]
    assert rows and int(rows[-1]["memory_bytes"]) > 80 << 20


@pytest.mark.parametrize("own", ["none", "own"])
def test_peak_at_the_limit_is_full(run, tape, work, v1, own):
    """A process is killed between two readings; once the peak rises to the limit for it, once it was there already."""
    group = v1("memory")
    group.write("memory.limit_in_bytes", 64 << 20)
    for name in ("a", "b"):
        tape = work / f"{name}.baro"
        done = run("run", "-v", "-o", tape, "--cgroup", own, "--", *EATER, "0.3", before=group.enter, status=-signal.SIGKILL)
        run.await_end(tape)
        found, row = run.summary(tape)["limits"], run.export(tape, "cgroup")[-1]
        if own == "none":
            assert group.path.name in row["name"] and "v1 memory" in row["label"]
            assert row["memory_limit_bytes"] == 64 << 20 and row["oom_kills"] >= 1 and row["memory_limit_hits"] >= 1
            assert row["cpu_limit"] is None, "the hierarchy of the memory controller does not count CPU time"
        assert found["memory_group_ratio"] == 1 and found["oom_kills"] == 1 and found["oom_kills_in_group"] == 1
        assert 0.25 < found["memory_peak_ratio"] <= 1
        assert "100 %" in done.stderr and "1 process OOM-killed" in done.stderr


def test_record_a_memory_group(run, tape, work, v1, wait_until):
    """The group is given by its path below /sys/fs/cgroup. It does not count CPU time, and is the job all the same."""
    group = v1("memory")
    if pathlib.Path("/sys/fs/cgroup") not in group.path.parents:
        pytest.skip("mounted elsewhere")
    group.write("memory.limit_in_bytes", 200 << 20)
    job, go = waiting(group, work, f"exec {sys.executable} -c 'x = bytearray(100 << 20); open(\"{work}/go\").read()'")
    done = run("record", "--cgroup", "no/such", "-o", str(tape), status=2)
    assert "no such control group" in done.stderr and len(done.stderr.splitlines()) == 1
    recorder = attach(run, tape, group.path.relative_to("/sys/fs/cgroup"), wait_until)
    go()
    wait_until(lambda: run.summary(tape)["limits"]["memory_peak_bytes"] > 90 << 20, "its memory on the tape")
    go()
    assert recorder.wait(60) == 0, recorder.stderr.read()
    job.wait()
    summary = run.summary(tape)
    assert summary["cgroup"] == "target" and summary["accounting"]["kernel_source"] == "ledger"
    assert summary["limits"]["memory_peak_of"] in ("cgroup", "processes")
    # the kernel notes its maximum before it charges the last pages of a batch
    assert 90 << 20 < summary["limits"]["memory_peak_bytes"] <= int(group.read("memory.max_usage_in_bytes")) + (1 << 20)
