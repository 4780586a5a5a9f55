# SPDX-License-Identifier: Apache-2.0
"""record --background: a recorder that is nobody's child, and holds nothing of the program that started it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import poll
from wrapping import state

# A program that starts a recorder of itself, as the Python package does: it reaps the process that it started before it
# reads the line.
STARTS = """
import json, os, subprocess, sys
r, w = os.pipe()
held = os.open(sys.argv[1], os.O_RDONLY)
os.set_inheritable(held, True)
p = subprocess.Popen([sys.argv[1], "record", "--background", "--pid", str(os.getpid()), "-o", sys.argv[2]], stdout=w,
                     close_fds=False)
p.wait()
os.close(w)
line = os.fdopen(r).readline()
try:
    os.waitpid(-1, os.WNOHANG)
    print("a child is left")
except ChildProcessError:
    pass
with open(json.loads(line)["events"], "a") as events:
    events.write("hello\\n")
print(line, end="", flush=True)
sys.stdin.read()
os._exit(7)
"""


def program(run, tape, text=STARTS):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", text, run.binary, tape], text=True, **pipes)


def start(run, tape, text=STARTS):
    job = program(run, tape, text)
    return job, json.loads(job.stdout.readline())


def await_end(pid):
    poll(lambda: state(pid) in ("", "Z"), "the end of the recorder")


def test_it_is_nobodys_child_and_ends_with_its_target(run, tape):
    job, line = start(run, tape)
    with open(f"/proc/{line['pid']}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    assert int(fields[1]) != job.pid and int(fields[3]) == line["pid"]  # its parent; a session of its own
    assert int(fields[19]) == line["start_ticks"]

    def held():
        return {os.readlink(f"/proc/{line['pid']}/fd/{fd}") for fd in (0, 1, 2)}

    poll(lambda: held() == {"/dev/null"}, "descriptors of nothing")  # after the line
    assert run.binary not in [os.readlink(f"/proc/{line['pid']}/fd/{n}") for n in os.listdir(f"/proc/{line['pid']}/fd")]
    assert line["tape"] == str(tape) and os.path.exists(line["events"])
    job.communicate()
    await_end(line["pid"])
    summary = run.summary(tape)
    assert summary["job"]["processes_started"] == 1, "the process that started the recorder is none of the job"
    marks = [e for e in run.export(tape, "event") if e["event"] == "mark"]
    assert ["hello" in json.dumps(e) for e in marks] == [True]
    assert not os.path.exists(line["events"])


def test_sigterm_ends_it(run, tape):
    job, line = start(run, tape)
    os.kill(line["pid"], signal.SIGTERM)
    await_end(line["pid"])
    assert job.poll() is None
    run.await_end(tape)
    assert not os.path.exists(line["events"])
    job.communicate()


def test_it_says_why_nothing_is_recorded(run, tape):
    """And ends with the status of a recorder in the foreground."""
    wrong = {
        "no process has the pid": ["--pid", 999_999_999 % 4_194_304, "-o", tape],
        "can't use": ["--pid", os.getpid(), "-o", tape / "below" / "x.baro"],
        "no such control group": ["--cgroup", "/no/such", "-o", tape],
        "not a regular expression": ["--match", "x=(", "-o", tape],
    }
    for said, arguments in wrong.items():
        done = run("record", "--background", *arguments)
        alike = run("record", "--for", "10ms", *arguments)
        assert done.stdout == "" and said in done.stderr and done.stderr == alike.stderr
        assert done.returncode == alike.returncode == 2
        assert not tape.exists()


LAST = "os.waitpid(-1, os.WNOHANG)"
LATE = STARTS.replace("p.wait()\n", "").replace(LAST, f"p.wait(); {LAST}")
WAITS = STARTS.replace("p.wait()", "import time\nwhile time.process_time() < 0.2: pass\np.wait()")


@pytest.mark.parametrize("text", [LATE, WAITS], ids=["late", "waits for a CPU"])
def test_a_parent_that_reaps_late(run, tape, text):
    """It reaps the process that it started when it has read the line, as a shell does, or only after it has used 0.2 s
    of CPU time: that is no process of the job, and what it used is not the job's."""
    job, line = start(run, tape, text)
    job.communicate()
    await_end(line["pid"])
    rows = run("export", "--entity", "process", "-c", "pid", tape).stdout.split()[1:]
    assert set(rows) == {str(job.pid)}
    summary = run.summary(tape)
    assert summary["job"]["processes_started"] == summary["job"]["processes_ended"] == 1
    assert run("export", "--entity", "exit", "-c", "pid", tape).stdout.split()[1:] == [str(job.pid)]


def test_a_parent_that_never_reaps(run, tape):
    """It has nothing of what the process that started the recorder has used, so all of its own counts."""
    text = "import mmap, resource" + STARTS.replace("p.wait()\n", "").replace("os.waitpid(-1, os.WNOHANG)", "pass")
    text = text.replace("sys.stdin.read()", """
def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before, held = faults(), mmap.mmap(-1, 16 << 20)
held.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(0, len(held), 4096): held[i] = 1
print(faults() - before, flush=True)
sys.stdin.read()""")
    job = program(run, tape, text)
    out = [job.stdout.readline() for _ in range(3)]
    seen = len(run.instants(tape))
    poll(lambda: len(run.instants(tape)) > seen + 2, "two more samples")
    pid = json.loads(out[1])["pid"]
    os.kill(pid, signal.SIGTERM)
    await_end(pid)
    job.communicate()
    assert run.summary(tape)["job"]["faults_minor"] >= int(out[2])
