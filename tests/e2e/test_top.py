# SPDX-License-Identifier: Apache-2.0
"""The live view: printed, and on a terminal (tmux) with keys, other sizes, signals, and a shell that gets the terminal
back.
"""
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

import conftest
from conftest import PATIENCE, poll
from wrapping import children, comm, state

STTY = "stty -a | md5sum"


def test_what_happened_is_what_is_near(run, baro, work):
    """Printed, the list has what happened from ten minutes before the moment to five minutes after it."""
    lines = ["process 7 job cpu=0", *(f"begin {t}000 at-{t}" for t in range(0, 7200, 300))]
    lines += [f"sample {t}000" for t in range(0, 7200, 100)]
    lines = sorted(lines, key=lambda line: int(line.split()[1]) if line[0] in "bs" else 0)
    subprocess.run([conftest.beside(baro, "write_tape"), work / "long.baro"], input="\n".join(lines), text=True, check=True)
    text = run("top", "--at", "1h", work / "long.baro", status=0).stdout
    said = text[text.index("WHAT HAPPENED"):]
    assert re.findall(r"at-\d+", said) == ["at-3900", "at-3600", "at-3300", "at-3000"]
    assert said.endswith("(20 more, before and after: baro export -e event, -e phase)\n"), said


class Screen:
    """bash on a terminal of tmux."""

    def __init__(self, folder, columns=80, rows=24):
        self.folder, self.socket = folder, str(folder / "tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "bash --norc --noprofile")
        self.line("PS1='ready> '")
        self.until(r"ready>$")

    def tmux(self, *args):
        r = subprocess.run(["tmux", "-S", self.socket, *map(str, args)], stdout=subprocess.PIPE, timeout=60, check=True)
        return r.stdout.decode("utf-8", "replace")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def text(self):
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane", "-p").split("\n")).rstrip()

    def until(self, pattern, but=None):
        end = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            if re.search(pattern, text) and not (but and re.search(but, text)):
                return text
            assert time.monotonic() < end, f"no {pattern!r} in\n{text}"
            time.sleep(0.05)

    def size(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def pid_of(self, name):
        """Returns the pid of the program that runs below the shell."""
        shell = self.tmux("display", "-p", "#{pane_pid}").strip()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for pid in children(int(shell)):
                if comm(pid) == name:
                    return pid
            time.sleep(0.02)
        pytest.fail(f"no {name} under the shell")

    def is_alternate(self):
        return self.tmux("display", "-p", "#{alternate_on} #{cursor_flag}").split() != ["0", "1"]

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False)


@pytest.fixture
def screen(baro, work):
    if not shutil.which("tmux"):
        pytest.skip("no tmux")
    if b"libncursesw.so" not in pathlib.Path(baro).with_name("baro-top").read_bytes():
        pytest.skip("built without ncurses")
    s = Screen(work)
    yield s
    s.close()


@pytest.fixture
def job(run, work):
    """A recording that goes on until the test is over: a shell with a child that is easy to recognise."""
    tape = work / "live.baro"
    process = run.popen("run", "-q", "-o", tape, "--", "sh", "-c", "sleep $((4000 + 711)) & wait")
    run.await_samples(tape, 2)
    yield tape
    process.terminate()
    process.wait()


def start(screen, baro, tape, *options):
    screen.line(STTY)
    before = screen.until(r"[0-9a-f]{32}")
    screen.line("clear; " + shlex.join([baro, "top", *options, str(tape)]) + "; echo status=$?")
    screen.until("sleep 4711")
    return re.search(r"[0-9a-f]{32}", before)[0]


def check_restored(screen, stty):
    assert not screen.is_alternate()
    screen.line("clear; " + STTY)
    assert stty in screen.until(r"[0-9a-f]{32}")


def test_printed(run, work):
    """If standard output is no terminal it is printed once, with the numbers of the summary."""
    tape = run.record(work / "t", "for i in 1 2 3; do /bin/true; done; sleep 0.3")
    text = run("top", tape, status=0).stdout
    assert "\x1b" not in text and "sleep 0.3" in text and "exit 0" in text
    for command in run.summary(tape)["commands"]:
        row = re.search(rf"^.* {re.escape(command['name'] or '?')}$", text.split(" COMMAND")[2], re.M)
        count = ("\u2265" if command["processes_is_lower_bound"] else " ") + str(command["processes"])
        assert row and f"{count} " in row[0], (command, text)
    text = run("top", "--once", "-n", "1", "--at", "start", tape, status=0).stdout
    assert " at +" in text.split("\n")[0] and len(re.findall(r"^ +\d+ [A-Za-z] ", text, re.M)) == 1, text
    wrong = run("top", "--once", "--at", "yesterday", tape, status=2)
    assert "invalid time 'yesterday'" in wrong.stderr and wrong.stderr.count("\n") == 1


def test_nothing_recorded(run):
    r = run("top", status=2)
    assert r.stderr.count("\n") == 1 and "baro run" in r.stderr


def test_newest_running_recording_is_shown(run, job, work):
    """Without a name it shows the recording that is running, even if another one ended later."""
    kept = run.popen("run", "-q", "--", "sleep", "4712")
    folder = work / "home" / ".local" / "state" / "barograph"
    end = time.monotonic() + PATIENCE
    while not (folder.is_dir() and any(run.instants(p) for p in folder.glob("*.baro"))):
        assert time.monotonic() < end
        time.sleep(0.02)
    run("run", "-q", "--", "sleep", "0.01", status=0)
    text = run("top", status=0).stdout
    kept.terminate()
    kept.wait()
    assert "sleep 4712" in text and "running" in text
    assert "sleep 0.01" in run("top", "@1", status=0).stdout


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_hostile_names(run, hostile_tape, locale):
    environment = {"LC_ALL": locale, "COLUMNS": "300"}
    out = run("top", "--at", "peak", hostile_tape, status=0, text=False, env=environment).stdout
    assert b"\\x1b[31m" in out
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", out) and "\u202e".encode() not in out
    out.decode("utf-8" if locale == "C.UTF-8" else "ascii")


def test_keys(screen, baro, job):
    stty = start(screen, baro, job)
    assert screen.is_alternate()
    screen.keys("Tab")
    screen.until("COMMAND", but="sleep 4711")
    screen.keys("Tab")
    screen.until("WHAT HAPPENED")
    screen.keys("Tab")
    screen.until("sleep 4711")
    screen.keys("?")
    screen.until("regular expression")
    screen.keys("?")
    screen.until("sleep 4711")
    screen.line("/nobody")
    screen.until("no process matches")
    screen.keys("Escape")
    screen.keys("Escape")
    screen.until("sleep 4711")
    screen.keys("Home")
    screen.until("at \\+0")
    screen.line("g50%")
    screen.until("at \\+")
    screen.keys("End")
    screen.until("running", but="at \\+[0-9.]*s of")
    screen.keys("Enter")
    screen.until("run_delay +([0-9]|- \\()")  # a value, or the reason why it is absent
    screen.keys("Enter")
    screen.keys("f")
    screen.until(r"\[\+1\]", but="sleep 4711")
    screen.keys("q")
    screen.until("status=0")
    check_restored(screen, stty)


@pytest.mark.parametrize("columns,rows", [(40, 12), (200, 60), (10, 3)])
def test_resize(screen, baro, job, columns, rows):
    start(screen, baro, job)
    screen.size(columns, rows)
    screen.until("sh -c" if columns > 20 else "COMM|sh")
    screen.size(80, 24)
    screen.until("sleep 4711")
    screen.keys("q")
    screen.until("status=0")


@pytest.mark.parametrize("number,status", [(signal.SIGTERM, 143), (signal.SIGINT, 0), (signal.SIGHUP, 129)])
def test_signals_restore_the_terminal(screen, baro, job, number, status):
    stty = start(screen, baro, job)
    os.kill(screen.pid_of("baro-top"), number)
    screen.until(f"status={status}")
    check_restored(screen, stty)


def test_stopped_and_continued(screen, baro, job):
    stty = start(screen, baro, job)
    screen.keys("C-z")
    screen.until(r"Stopped")
    assert not screen.is_alternate()
    screen.line("fg")
    screen.until("sleep 4711.*", but="Stopped")
    assert screen.is_alternate()
    screen.keys("q")
    screen.until("ready>$")
    check_restored(screen, stty)


def test_end_of_the_job(screen, baro, run, work):
    """The view stays when the job ends, says how it ended, and shows the last moment with processes."""
    tape = work / "t"
    process = run.popen("run", "-q", "-o", tape, "--", "sh", "-c", "sleep $((4000 + 711)) & wait $!")
    run.await_samples(tape, 2)
    start(screen, baro, tape)
    process.terminate()
    process.wait()
    screen.until(r"killed by SIGTERM")
    screen.until("sleep 4711")
    screen.keys("q")
    screen.until("status=0")


def test_a_recording_that_has_ended_is_shown_at_its_peak(screen, baro, run, work):
    """At its end two idle processes are left: its verdict, a memory metric, and times on the axis are in the head."""
    grow = "import time; x = bytearray(50 << 20); time.sleep(0.4)"
    tape = run.record(work / "t", f"{sys.executable} -c '{grow}'; {run.binary} phase bad -- sh -c 'sleep 1; exit 3'",
                      "-i", "50ms", "--overhead", "off", status=3)
    start_ended = shlex.join([baro, "top", str(tape)])
    screen.line(f"clear; {start_ended}; echo status=$?")
    text = screen.until("python3?[0-9.]* -c")
    head, verdict, cores, memory = text.split("\n")[:4]
    peak = re.search(r"exit 3 · ▶ at \+(\S+)s of ", head)
    assert peak and abs(float(peak[1]) - run.summary(tape)["job"]["memory_peak_t_ns"] / 1e9) < 0.002, head
    assert re.match(r" ✗ failed: in phase bad: .*, status 3", verdict) and cores.startswith(" cores")
    assert re.match(r" memory rss +[\d.]+ MB of .* peak ", memory) and "·" not in memory, memory
    assert "─╵1 s─" in text, text
    screen.line("g12:00:00.5")
    screen.until("the tape has \\+0.000s to")
    screen.keys("End")
    screen.until("sleep 1", but="▶ at")
    screen.keys("q")
    screen.until("status=0")
    printed = run("top", tape, status=0).stdout.split("\n")
    assert printed[0].split(" · ")[-1] == head.split(" · ")[-1] and "failed: in phase bad" in printed[1]


def test_no_color(screen, baro, job):
    screen.line("export NO_COLOR=1")
    start(screen, baro, job)
    colors = screen.tmux("capture-pane", "-p", "-e")
    assert not re.search(r"\x1b\[[0-9;]*(3[0-8]|4[0-8])[;m]", colors)
    screen.keys("q")
    screen.until("status=0")


# ---- beside a job: baro run --top ----


def view_beside(wrapper):
    """Returns the pid of the view, which is in the process group of the wrapper and no child of it."""
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) == wrapper and comm(pid) == "baro-top":
                return pid
    return pytest.fail("no view")


def beside(screen, run, work, command, *options, quiet=("-q",)):
    """Starts it; the output of the command goes to a file."""
    tape = work / "beside.baro"
    argv = [run.binary, "run", "--top", *quiet, "-o", str(tape), *options, "--", "sh", "-c", command]
    screen.line("cd " + shlex.quote(str(work)))
    screen.line(STTY)
    stty = re.search(r"[0-9a-f]{32}", screen.until(r"[0-9a-f]{32}"))[0]
    screen.line("clear; " + shlex.join(argv) + " >log 2>&1; echo status=$?")
    return tape, stty


def test_beside_a_job(screen, run, work):
    """^C reaches the job; the terminal is as it was; the view is no part of the job."""
    tape, stty = beside(screen, run, work, "sleep $((4000 + 711)) & wait")
    screen.until("sleep 4711")
    screen.keys("C-c")
    screen.until("ready>$")
    screen.line("echo status=$?")
    screen.until("status=130")
    check_restored(screen, stty)
    run.await_end(tape)
    assert run.summary(tape)["job"]["processes_started"] == 2


def test_beside_a_job_that_ends(screen, run, work):
    """The status is the command's, even if it is over before anything could be shown."""
    for command in ("exit 7", "sleep 0.5; echo said; exit 8"):
        _, stty = beside(screen, run, work, command, "--force")
        screen.until("status=" + command[-1])
        check_restored(screen, stty)
    assert (work / "log").read_text() == "said\n"


def test_what_a_job_leaves_on_the_terminal(screen, run, work):
    """The last view with its processes, and the summary, which goes to the log as well; with -q the view alone."""
    screen.size(110, 60)
    beside(screen, run, work, "sleep 1.11; exit 8", quiet=())
    text = screen.until("status=8")
    assert "└─sleep 1.11" in text and "CORES" in text and "q quit" not in text, text
    assert re.search(r"^ ✗ failed +status 8", text, re.M) and re.search(r"^ +cpu .* of \d+ cores", text, re.M), text
    assert re.search(r"^ \S*/beside\.baro · all: baro summary -v ", text, re.M), text
    assert re.search(r"^ +cpu .* of \d+ cores", (work / "log").read_text(), re.M)
    screen.line("clear")
    beside(screen, run, work, "sleep 0.61; exit 9", "--force")
    text = screen.until("status=9")
    assert "CORES" in text and "baro summary" not in text, text


def stop_with_a_late_view(screen):
    """Ctrl-Z while the view gets no CPU time."""
    wrapper = screen.pid_of("baro")
    view = view_beside(wrapper)
    command = next(c for c in children(wrapper) if comm(c) == "sh")
    os.kill(view, signal.SIGSTOP)
    screen.keys("C-z")
    poll(lambda: state(command) == "T")
    time.sleep(0.2)  # enough for the shell to print its message, if it could
    os.kill(view, signal.SIGCONT)


def test_beside_a_job_that_stops(screen, run, work):
    """The shell gets the terminal after the view has left it; what it prints stays."""
    _, stty = beside(screen, run, work, "sleep $((4000 + 711)) & wait")
    screen.until("sleep 4711")
    screen.keys("C-z")
    screen.until("Stopped")
    screen.until("ready>$")
    assert not screen.is_alternate()
    screen.line("clear; " + STTY)
    assert stty in screen.until("[0-9a-f]{32}")
    screen.line("clear; fg")
    screen.until("sleep 4711", but="Stopped")
    stop_with_a_late_view(screen)
    screen.until("Stopped")
    screen.until("ready>$")
    assert not screen.is_alternate()
    screen.line("clear; fg")
    screen.until("sleep 4711", but="Stopped")
    screen.keys("q")
    screen.until("log 2>&1$")
    screen.keys("C-c")
    screen.until("ready>$")
    check_restored(screen, stty)


@pytest.mark.skipif(not shutil.which("script"), reason="no script(1)")
def test_without_a_keyboard_it_prints_once(run, tape, ptys):
    """Standard output is a terminal, standard input is not: nobody could end the view."""
    run.record(tape, ["sleep", "0.1"])
    command = f"stty cols 80 rows 24; {shlex.quote(str(run.binary))} top {shlex.quote(str(tape))} </dev/null"
    done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=True, env={**os.environ, "TERM": "xterm"})
    assert "sleep" in done.stdout and "\x1b[?1049h" not in done.stdout


def test_several_tapes_are_one_clear_line(run, work):
    folder = work / "job"
    folder.mkdir()
    for i in range(2):
        run.record(folder / f"{i}.baro", ["true"])
    for words in ([folder], sorted(folder.iterdir())):
        error = run("top", *words, status=2).stderr
        assert error.count("\n") == 1 and "top shows one" in error and "baro summary" in error


def test_beside_needs_the_terminal(run, work, ptys):
    """If standard output is no terminal, or there is none, it prints one line and the command does not run."""
    main, end = os.openpty()
    r = run("run", "--top", "-o", work / "t", "--", "touch", work / "ran", status=125, stdout=end)
    os.close(main)
    os.close(end)
    assert r.stderr.count("\n") == 1 and ">log" in r.stderr
    if not os.path.exists("/dev/tty") or subprocess.run(["setsid", "true"], check=False).returncode:
        return
    r = run("run", "--top", "-o", work / "t", "--", "touch", work / "ran", status=125, via=["setsid", "-w"])
    assert "no terminal" in r.stderr
    assert not (work / "ran").exists() and not (work / "t").exists()
