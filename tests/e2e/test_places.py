# SPDX-License-Identifier: Apache-2.0
"""Where people run it: in default and in restricted containers (contain.c, or an engine's), and where the kernel refuses
perf. docs/places.md has what each of these places sees."""

import errno
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys

import pytest
from conftest import ENGINE, ORDINARY, PATIENCE, beside, contained, poll, unshared

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
SHORT = "i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a container"),
    pytest.mark.not_sanitized("the values are those of a recorder within its budget"),
]


def placed(where, baro, work):
    """What to put in front of a command to run it there."""
    if where == "restricted":
        return contained(baro, work, uid=ORDINARY, restricted=True)
    if where == "paranoid":  # as a kernel of Debian or Ubuntu refuses it
        return [*unshared("-fp", "--mount-proc"), str(beside(baro, "forbid")), f"{PERF_EVENT_OPEN}={errno.EACCES}"]
    return contained(baro, work, perf=where == "with perf")


@pytest.mark.parametrize(
    "where, refused, grant",
    [
        ("container", "seccomp", "--cap-add PERFMON"),
        ("restricted", "seccomp", "--cap-add PERFMON"),
        ("paranoid", "perf_event_paranoid", "sysctl kernel.perf_event_paranoid=2"),
        ("with perf", None, None),
    ],
    ids=["container", "restricted", "paranoid", "with-perf"],
)
def test_what_would_grant_perf(run, baro, work, tape, where, refused, grant):
    """doctor says it, and the summary of a job of which something is missing."""
    via = placed(where, baro, work)
    found = re.search(r"^ +(yes|no) +perf  .*\n?.*", run("doctor", via=via, status=0).stdout, re.M)
    assert found[1] == ("no" if refused else "yes") and (grant or "perf") in found[0]
    done = run("run", "-v", "-o", tape, "--", "sh", "-c", f"{SHORT}; sleep 0.1; exit 3", via=via, status=3)
    s = run.summary(tape)
    assert s["accounting"]["perf_refused"] == refused and s["exit"]["status"] == 3
    # Each true takes about half a millisecond, and none is sampled but by chance.
    is_partial = s["job"]["processes_started_is_lower_bound"] or s["accounting"]["remainder_ratio"] > 0.02
    note = "is refused by" in done.stderr
    assert note == bool(refused and is_partial) and (not note or grant in " ".join(done.stderr.split()))


def test_nothing_is_said_where_nothing_is_missing(run, baro, work, tape):
    done = run("run", "-v", "-o", tape, "--", "sleep", "0.1", via=contained(baro, work), status=0)
    job = run.summary(tape)["job"]
    assert job["processes_started"] == 1
    assert ("is refused by" in done.stderr) == job["processes_started_is_lower_bound"]


def test_marks_without_a_temporary_folder(run, baro, work, tape):
    command = f"{baro} mark here; {baro} phase build -- true"
    run("run", "-q", "-o", tape, "--", "sh", "-c", command, via=placed("restricted", baro, work), status=0)
    assert {"mark", "phase_begin", "phase_end"} <= {e["event"] for e in run.export(tape, "event")}


def test_a_home_that_is_the_root(run, baro, work):
    done = run("run", "--", "true", via=placed("restricted", baro, work), env={"HOME": "/", "TMPDIR": f"{work}/"})
    assert "/.local/state" in done.stderr and str(work) in done.stderr and "//" not in done.stderr
    runs = f"{work}/runs/"
    done = run("run", "-o", "none/t.baro", "--", "true", cwd="/", status=125)
    assert "//" not in done.stderr
    assert f"{work}/runs/2" in run("run", "-v", "--", "true", env={"BARO_DIR": runs}, status=0).stderr


def test_tape_on_a_volume_of_another_user(run, baro, work):
    """The command is not executed: the tape was asked for."""
    (work / "volume").mkdir(mode=0o755)
    done = run("run", "-o", "volume/t.baro", "--", "touch", "ran", via=placed("restricted", baro, work), status=125)
    assert "volume/t.baro: Permission denied" in done.stderr and not (work / "ran").exists()


def first_process(word):
    """The pid of a container's first process that has this word in its command line."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            ids = re.search(r"^NSpid:(.*)", status.read_text(errors="replace"), re.M)[1].split()
            if len(ids) > 1 and ids[-1] == "1" and word in (status.parent / "cmdline").read_text():
                return int(ids[0])
        except OSError:
            pass  # it has ended


def test_first_process(run, baro, work, tape):
    """As the command of a container it reaps orphans and forwards signals, and ends as its command does."""
    argv = ["run", "-q", "--force", "-o", tape, "--", "sh", "-c"]
    zombies = "(/bin/true &); sleep 0.1; grep -l 'State:.Z' /proc/[0-9]*/status"
    command = f"trap 'exit 6' TERM; {zombies}; touch up; sleep 99 & wait"
    job = run.popen(*argv, command, via=contained(baro, work), stdout=subprocess.PIPE)
    poll((work / "up").exists, "the job")
    os.kill(first_process(str(tape)), signal.SIGTERM)
    assert job.communicate(timeout=PATIENCE)[0] == b"" and job.returncode == 6
    assert run.summary(tape)["exit"]["status"] == 6
    run(*argv, "kill -9 $$", via=contained(baro, work), status=137)


@pytest.mark.skipif(not ENGINE, reason="tools/podman-check.sh runs it")
def test_a_container_below_a_recording(run, baro, work, tape):
    """An engine that has no daemon: what the container uses is the job's."""
    burn = "import time\nwhile time.process_time() < 0.5: pass\nprint(time.process_time())"
    argv = [*contained(baro, work), sys.executable, "-S", "-c", burn]
    done = run("run", "-q", "-o", tape, "--", *argv, status=0)
    s = run.summary(tape)
    cpu = sum(c["cpu_ns"] or 0 for c in s["commands"] if c["name"].startswith("python"))
    assert float(done.stdout) * 1e9 * 0.99 < cpu < float(done.stdout) * 1e9 * 1.05 + 5e7
