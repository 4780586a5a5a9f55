# SPDX-License-Identifier: Apache-2.0
"""What is left after a run: no descriptor of the job's, no process, no zombie; and the times at which the command began
and ended.
"""

import os
import pathlib
import resource
import select
import subprocess
import sys
import time

import pytest
from conftest import needs_strace, unshared

from wrapping import PATIENCE, recorder_of

# A process 1 that waits only for the processes that it started: as an application does that is a container's first
# process.
NOT_REAPING = """
import os, sys, time
def zombies():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open(f"/proc/{pid}/stat").read()
        except OSError:
            continue
        if text[text.rindex(")") + 2] == "Z":
            found.append(text)
    return found
for i in range(int(sys.argv[1])):
    os.waitpid(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)
print(len(zombies()), *zombies(), sep="\\n")
"""


def in_pid_namespace(argv):
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [*unshared("--pid", "--fork", "--mount-proc", *user), *argv]


# The second reading is long enough for helpers to exist, the third for the one that reads file systems, sensors and
# smaps; the last has a group of its own.
@pytest.mark.alone(
    "a hanging file system of another test holds the helper that reads filesystem sizes, and such a helper is left behind"
)
@pytest.mark.parametrize(
    ("times", "options", "command"),
    [
        (40, [], ["true"]),
        (8, [], ["sleep", "0.3"]),
        (1, [], ["sleep", "2.3"]),
        (3, ["--no-host"], ["sleep", "0.4"]),
        (3, ["--cgroup", "own"], ["sleep", "0.3"]),
    ],
    ids=["short", "helper", "long", "no host", "group"],
)
def test_no_process_is_left_to_process_1(run, work, times, options, command):
    argv = in_pid_namespace(
        [sys.executable, "-c", NOT_REAPING, str(times), run.binary, "run", "-q", *options, "--", *command]
    )
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True, cwd=work)
    assert done.stdout.splitlines()[0] == "0", done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_process_1_waits_for_a_slow_recorder(run, tape, work, cgroup, wait_until):
    """Its end ends the whole PID namespace: a recorder that gets no CPU for more than a second would leave a tape
    without an end."""
    freeze = cgroup.path / "cgroup.freeze"
    if not freeze.exists():
        pytest.skip("before Linux 5.2")
    p = run.popen("run", "-q", "-o", tape, "--", "sh", "-c", "until [ -e go ]; do sleep 0.02; done; exit 3",
                  via=in_pid_namespace([]))
    run.await_samples(tape)
    wrapper = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()[0]
    cgroup.write("cgroup.procs", recorder_of(int(wrapper)))
    freeze.write_text("1")
    wait_until(lambda: "frozen 1" in cgroup.read("cgroup.events"), "a frozen recorder")
    (work / "go").touch()
    time.sleep(1.5)
    freeze.write_text("0")
    assert p.wait(PATIENCE) == 3
    assert run.summary(tape)["exit"]["status"] == 3


@pytest.mark.parametrize("quiet", [["-q"], []], ids=["quiet", "summary"])
def test_hung_file_system_holds_no_stream(run, hanging, quiet):
    """A process that reads the job's stderr sees its end, though the recorder hangs in a write(2)."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    p = run.popen("run", *quiet, "-i", "10ms", "-o", f"{hanging.folder}/t", "--", "sh", "-c", "echo up; read x; exit 4",
                  **pipes)
    assert p.stdout.readline() == b"up\n"
    recorder = recorder_of(p.pid)
    hanging.hang()
    p.stdin.close()
    assert p.wait(PATIENCE) == 4
    output = b""
    for stream in (p.stdout, p.stderr):
        while True:
            assert select.select([stream], [], [], PATIENCE)[0], "no end of file"
            got = os.read(stream.fileno(), 4096)
            if not got:
                break
            output += got
    assert os.path.exists(f"/proc/{recorder}"), "it was to hang"
    assert b"has not finished" in output and len(output.splitlines()) == 1
    hanging.resume()


def test_stderr_pipe_that_is_not_read(run, tape):
    """The pipe of stderr is full: the end does not wait for it longer than for a recorder."""
    r, w = os.pipe()
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, bytes(4096))
    except BlockingIOError:
        pass
    os.set_blocking(w, True)
    p = run.popen("run", "-o", tape, "--", "sh", "-c", "exit 5", stderr=w)
    os.close(w)
    assert p.wait(PATIENCE) == 5
    os.close(r)
    assert run.summary(tape)["exit"]["status"] == 5


def test_disk_full(run, work, wait_until):
    """The message is printed once and at once, by the wrapper; the job is not disturbed; where there is room again the
    recording goes on, and the gap is on the tape."""
    small = work / "small"
    small.mkdir()
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], check=True)
    try:
        p = run.popen("run", "-q", "-i", "10ms", "-o", small / "t", "--", "sh", "-c", "read x; exit 6",
                      stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: (small / "t").exists() and (small / "t").stat().st_size > 0, "a tape")
        with open(small / "filler", "wb", buffering=0) as f:
            try:
                while f.write(bytes(4096)):
                    pass
            except OSError:
                pass
        assert select.select([p.stderr], [], [], PATIENCE)[0]
        assert b"No space left" in os.read(p.stderr.fileno(), 4096)
        assert p.poll() is None
        (small / "filler").unlink()
        wait_until(lambda: any(e["event"] == "gap" for e in run.export(small / "t", "event")), "the gap on the tape")
        assert p.communicate(b"", PATIENCE)[1] == b"" and p.returncode == 6
        assert run.export(small / "t", "event")[-1]["event"] == "end"
        instants = run.instants(small / "t")
        assert instants == sorted(set(instants))
    finally:
        subprocess.run(["umount", "-l", small], check=True)


STOPWATCH = "import time; a = time.monotonic_ns(); time.sleep(0.05); print(a, time.monotonic_ns())"


@needs_strace
@pytest.mark.not_sanitized("strace counts a sanitizer's calls too")
def test_start_precedes_the_commands_own_clock(run, tape):
    """Also if the recorder is late at the start: only the recorder calls setpgid(), which is delayed."""
    late = ["strace", "-f", "-o", "/dev/null", "-e", "trace=setpgid", "-e", "inject=setpgid:delay_enter=300000", "--"]
    if subprocess.run([*late, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace can't do that here")
    done = subprocess.run([*late, run.binary, "run", "-q", "-o", tape, "--", sys.executable, "-c", STOPWATCH],
                          capture_output=True, text=True, timeout=60, check=True)
    begun, ended = map(int, done.stdout.split())
    summary = run.summary(tape)
    assert summary["wall_ns"] >= ended - begun
    assert summary["job"]["cpu_ns"] <= summary["wall_ns"]


# ---- a limit leaves no room for baro: the job runs all the same, and one line says that nothing was recorded ---------


@pytest.fixture
def static(compiled):
    """compiled(), but without a dynamic loader, which needs descriptors and stack of its own."""

    def make(name, source):
        program = compiled(name, source)
        argv = ["gcc", "-O1", "-static", "-o", program, f"{program}.c"]
        if subprocess.run(argv, capture_output=True, check=False).returncode:
            pytest.skip("no libc to link statically")
        return program

    return make


NINE = "int main(void) { return 9; }"


def nothing_recorded(stderr):
    lines = stderr.splitlines()
    assert len(lines) == 1 and "nothing was recorded: " in lines[0], stderr


@pytest.mark.not_sanitized("a sanitizer needs more")
@pytest.mark.parametrize("options", [[], ["-o", "t.baro"]], ids=["kept", "output"])
def test_three_descriptors(run_both, static, work, options):
    command = [static("nine", NINE)]
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    done = run_both("run", *options, "--", *command, before=limit, status=9)
    nothing_recorded(done.stderr)
    assert not (work / "t.baro").exists()


@pytest.mark.not_sanitized("a sanitizer needs more")
@pytest.mark.parametrize("limit", ["4", "4:20000", "5:20000", "6:20000", "7:20000", "8:20000"])
def test_few_descriptors(run_ordinary, limit):
    command = ["sh", "-c", "echo on; exit 17"]
    bare = subprocess.run(["prlimit", f"--nofile={limit}", *command], capture_output=True, check=False)
    done = run_ordinary("run", "-q", "--", *command, via=["prlimit", f"--nofile={limit}", "--"])
    assert (done.returncode, done.stdout.encode()) == (bare.returncode, bare.stdout)
    assert limit != "4" or "nothing was recorded" in done.stderr, done.stderr


@pytest.mark.parametrize("processes", [0, 1], ids=["none", "at the limit"])
@pytest.mark.parametrize(
    "options", [[], ["-q"], ["--cgroup", "none", "-o", "t.baro"]], ids=["plain", "quiet", "output"]
)
def test_no_more_processes(run_ordinary, work, processes, options):
    """The command replaces baro."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    command = ["sh", "-c", 'echo "$PPID"; exit 17']
    done = run_ordinary("run", *options, "--", *command, before=limit, status=17)
    assert int(done.stdout) == os.getpid()
    nothing_recorded(done.stderr)
    assert "Resource temporarily unavailable" in done.stderr
    assert not (work / "t.baro").exists() and not list(work.rglob("*.baro"))


@pytest.mark.not_sanitized("a sanitizer needs more")
@pytest.mark.parametrize("size", [128, 256])
def test_small_stack(run, tape, size):
    """Soft and hard limit, in KiB: what runs bare runs here, and is recorded."""
    limited = ["prlimit", f"--stack={size << 10}", "--"]
    done = run("run", "-q", "-o", tape, "--", "sh", "-c", "ulimit -s; exit 9", via=limited)
    assert (done.returncode, done.stdout) == (9, f"{size}\n"), done.stderr
    assert run.summary(tape)["exit"]["status"] == 9
