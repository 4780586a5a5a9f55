# SPDX-License-Identifier: Apache-2.0
"""Bare against wrapped: how the command ends, what it inherits, descriptors, signals, stops."""
import ctypes
import os
import pathlib
import re
import select
import shlex
import signal
import subprocess
import sys

import pytest
from conftest import unshared

from wrapping import own_group, PATIENCE, PROBE, read_when, run, shell, state, stopped_by, until, WAIT_FOR_STOP, wrap  # noqa: F401 (a fixture)


# ---- how the command ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 2, 3, 42, 124, 125, 126, 127, 128, 129, 130, 137, 143, 254, 255])
def test_exit_status(wrap, status):
    assert run(wrap + ["sh", "-c", "exit %d" % status]).returncode == status


STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
DEADLY = [n for n in range(1, 65) if n not in STOPPING]


@pytest.mark.parametrize("number", DEADLY)
def test_death_by_signal(wrap, number):
    """Also signals that end no process (CHLD, URG, WINCH, CONT): then the status after it."""
    command = ["perl", "-e", "kill %d, $$; select undef, undef, undef, 0.02; exit 7" % number]
    assert run(wrap + command).returncode == run(command).returncode


def exec_failures(tmp_path):
    (tmp_path / "plain").write_text("echo no mode\n")
    (tmp_path / "dir").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "badinterp").write_text("#!/nonexistent/sh\n")
    (tmp_path / "badinterp").chmod(0o755)
    (tmp_path / "garbage").write_bytes(b"\x7fELF" + b"\0" * 60)
    (tmp_path / "garbage").chmod(0o755)


@pytest.mark.parametrize(
    "command",
    ["nonexistent-command", "./nonexistent", "./plain", "./dir", "./loop", "./plain/x", "", "./badinterp",
     "x" * 300, "/" + "x" * 5000, "./garbage"],
    ids=lambda c: (c[:20] or "empty"),
)
def test_exec_failure(wrap, tmp_path, command):
    """As env(1): 127 for a missing program, 126 for one that can't be executed."""
    exec_failures(tmp_path)
    bare, wrapped = run(["env", "--", command]), run(wrap + [command])
    assert wrapped.returncode == bare.returncode
    assert wrapped.stdout == bare.stdout
    if bare.returncode in (126, 127) and command != "./garbage":
        assert wrapped.stderr.count(b"\n") == 1
        assert not list((tmp_path / "runs").rglob("*.baro"))


@pytest.mark.parametrize(
    "path",
    [None, "", ":/bin", "/bin:", "denied:found", "found:denied", "denied", "plain:found", "none:found", "script:found"],
    ids=lambda p: "unset" if p is None else p[:20] or "empty",
)
def test_path_is_searched(wrap, tmp_path, monkeypatch, path):
    """As execvp(3) does it, which env(1) uses: a file that can't be executed is skipped, and is the reason if no other
    one is found."""
    for folder, mode, text in (
        ("found", 0o755, "#!/bin/sh\necho found\n"),
        ("denied", 0o644, "echo no\n"),
        ("script", 0o755, "echo script $0\n"),
        (".", 0o755, "#!/bin/sh\necho here\n"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "looked-for").write_text(text)
        (tmp_path / folder / "looked-for").chmod(mode)
    (tmp_path / "plain").write_text("")
    if path is None:
        monkeypatch.delenv("PATH")
    else:
        monkeypatch.setenv("PATH", path)
    bare, wrapped = run(["/usr/bin/env", "--", "looked-for"]), run(wrap + ["looked-for"])
    assert (wrapped.returncode, wrapped.stdout) == (bare.returncode, bare.stdout)
    assert bare.returncode in ((0,) if path in ("", ":/bin", "/bin:") or path and "found" in path else (126, 127))


@pytest.mark.parametrize("args", [0, 3, 60000])
def test_script_without_interpreter(wrap, tmp_path, args):
    (tmp_path / "script").write_text('echo $# "$0"\nexit 5\n')
    (tmp_path / "script").chmod(0o755)
    command = ["./script"] + ["a"] * args
    bare, wrapped = run(["env"] + command), run(wrap + command)
    assert (wrapped.returncode, wrapped.stdout) == (bare.returncode, bare.stdout)
    assert wrapped.returncode == 5


# ---- what the command inherits ---------------------------------------------------------------------------------------

INHERITED = [
    "{W} {P} $OUT",
    "exec 3</dev/null 4>>file 7<>file; {W} {P} $OUT",
    "exec 9>lock; flock 9; {W} {P} $OUT",
    "exec 250</etc/passwd; read x <&250; {W} {P} $OUT",
    "exec 0<&-; {W} {P} $OUT",
    "exec 1>&-; {W} {P} $OUT",
    "exec 2>&-; {W} {P} $OUT",
    "exec 0<&- 1>&-; {W} {P} $OUT",
    "exec 1>&- 2>&-; {W} {P} $OUT",
    "exec 0<&- 1>&- 2>&-; {W} {P} $OUT",
    "exec 0<&- 1>&- 2>&- 3</etc/passwd 5</dev/null; {W} {P} $OUT",
    "exec 0</etc/passwd 1>file 2>&1; {W} {P} $OUT",
    "echo x | {W} {P} $OUT | cat",
    "exec >/dev/full 2>/dev/full; {W} {P} $OUT",
    "umask 077; {W} {P} $OUT",
    "umask 777; rm -f $OUT; touch $OUT; {W} {P} $OUT",
    "cd /; {W} {P} $OUT",
    "nice -n 7 {W} {P} $OUT",
    "chrt -b 0 {W} {P} $OUT",
    "chrt -i 0 {W} {P} $OUT",
    "chrt -f 3 {W} {P} $OUT",
    "ionice -c3 {W} {P} $OUT",
    "taskset 1 {W} {P} $OUT",
    "choom -n 321 -- {W} {P} $OUT",
    "ulimit -n 64; {W} {P} $OUT",
    "ulimit -Sn 20; {W} {P} $OUT",
    "ulimit -c unlimited; {W} {P} $OUT",
    "ulimit -c 0; ulimit -f 100; ulimit -t 60; {W} {P} $OUT",
    "ulimit -v 4000000; {W} {P} $OUT",
    "ulimit -s 512; {W} {P} $OUT",
    "ulimit -u 5000 -l 100 -q 1000 -i 99; {W} {P} $OUT",
    "trap '' CHLD; {W} {P} $OUT",
    "trap '' PIPE; {W} {P} $OUT",
    "trap '' INT QUIT HUP TERM TSTP TTIN TTOU; {W} {P} $OUT",
    "env --ignore-signal=CHLD,USR1,XFSZ,XCPU {W} {P} $OUT",
    "env --block-signal=CHLD {W} {P} $OUT",
    "env --block-signal=TERM,INT,USR2,RTMIN+3,TSTP {W} {P} $OUT",
    "env --block-signal {W} {P} $OUT",
    "env --ignore-signal {W} {P} $OUT",
    "nohup {W} {P} $OUT 2>/dev/null",
    "setpriv --pdeathsig TERM {W} {P} $OUT",
    "setpriv --no-new-privs {W} {P} $OUT",
    "setpriv --reuid 65534 --regid 65534 --clear-groups {W} {P} $OUT",
    "env -i {W} {P} $OUT",
    "env -u PATH {W} {P} $OUT",
    "PATH= {W} {P} $OUT",
    "env A=1 =x B= {W} {P} $OUT",
    "env $'A=\\xff\\xfe\\n1' {W} {P} $OUT",
    "{W} {P} $OUT '' 'a b' $'\\xff\\xfe' $'new\\nline' -- -q --help",
    "setarch -R {W} {P} $OUT",
    "perl -e 'use Time::HiRes; alarm 500; exec @ARGV' {W} {P} $OUT",
    "perl -e 'use Time::HiRes qw(setitimer ITIMER_PROF); setitimer(ITIMER_PROF, 500, 3); exec @ARGV' {W} {P} $OUT",
    "perl -e 'syscall(157, 36, 1, 0, 0, 0) if `uname -m` =~ /x86_64/; exec @ARGV' {W} {P} $OUT",  # a subreaper
    "timeout --foreground 60 {W} {P} $OUT",
]
MAY_DIFFER = re.compile(rb"^(env (BARO_(TAPE|PID|EVENTS)|_|OUT)=.*|ids ppid=\d+ )", re.M)


def inherited(text, prefix, out):
    out.touch(mode=0o666)
    out.chmod(0o666)
    done = shell(text, prefix, env={**os.environ, "OUT": str(out)})
    facts = MAY_DIFFER.sub(b"", out.read_bytes())
    facts = re.sub(rb"(dev=\S+ )ino=\d+ (mode=1\d{4} )", rb"\1\2", facts)  # pipes are made for each run
    facts = facts.replace(b"arg 0 " + PROBE.encode(), b"")
    return done.returncode, [line for line in facts.split(b"\n") if line]


# AddressSanitizer lowers the core limit, catches SIGSEGV and reserves terabytes of address space, all before main().
SANITIZERS_CHANGE = re.compile("ulimit -[cv]|--ignore-signal .W.")


def not_under_sanitizers(text):
    if os.environ.get("BARO_SANITIZED") == "1" and SANITIZERS_CHANGE.search(text):
        pytest.skip("the sanitizer's own doing")


@pytest.mark.parametrize("text", INHERITED, ids=lambda t: t.replace("{W} {P} $OUT", "@"))
def test_inherited(wrap, tmp_path, text):
    not_under_sanitizers(text)
    tmp_path.chmod(0o755)  # for tests that drop their privileges
    out = tmp_path / "out"
    if "--reuid" in text and not all(place.stat().st_mode & 0o001 for place in pathlib.Path(PROBE).resolve().parents):
        pytest.skip("the build is below a folder that an ordinary user can't enter")
    bare = inherited(text, [], out)
    if text.startswith("chrt") and bare[0]:
        pytest.skip("chrt is refused here")
    out.unlink()
    wrapped = inherited(text, wrap, out)
    assert len(bare[1]) > 40, "the probe said nothing"
    assert wrapped == bare


def test_environment_adds_only_ours(wrap, tmp_path):
    bare = set(run(["env", "-0"]).stdout.split(b"\0"))
    wrapped = run(wrap + ["env", "-0"]).stdout.split(b"\0")
    added = set(wrapped) - bare
    assert bare <= set(wrapped)
    assert all(a.startswith((b"BARO_PID=", b"BARO_TAPE=", b"BARO_EVENTS=")) for a in added) and added
    assert len(wrapped) == len(set(wrapped))


def test_environment_keeps_names_like_ours(wrap):
    others = {name: "kept" for name in ("BARO_PI", "BARO_PIDS", "BARO_TAPES", "BARO_TAPE_", "BARO_EVENTS2", "OUR_BARO_PID")}
    wrapped = run(wrap + ["env", "-0"], env={**os.environ, **others}).stdout.split(b"\0")
    assert {f"{name}=kept".encode() for name in others} <= set(wrapped)


def test_run_in_run(wrap):
    done = run(wrap + wrap + ["sh", "-c", "env | grep -c ^BARO_PID=; kill -USR1 $$"])
    assert (done.returncode, done.stdout) == (-signal.SIGUSR1, b"1\n")


def test_large_environment(wrap):
    """2 MB; and so near the limit that our variables don't fit."""
    big = {**os.environ, **{"BIG%d" % i: "x" * 100000 for i in range(20)}}
    text = "ulimit -s unlimited; {W} sh -c 'echo ${#BIG7}'"
    assert shell(text, wrap, env=big).stdout == b"100000\n"
    base = {"PATH": os.environ["PATH"]}
    code = """import os, sys, subprocess
low, high = 0, 4000000
def fits(n, prefix):
    args = ["x" * 100000] * (n // 100000) + ["y" * (n % 100000)]
    try:
        return subprocess.run(prefix + ["/bin/true"] + args, env={}, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False
while high - low > 1:
    middle = (low + high) // 2
    low, high = (middle, high) if fits(middle, []) else (low, middle)
below = low - sum(len(p) + 1 + 8 for p in sys.argv[1:])
print(fits(below, sys.argv[1:]))
"""
    os.symlink(wrap[0], "w")  # a path no longer than that of true, so that only the arguments count
    assert run([sys.executable, "-c", code, "./w"] + wrap[1:], env=base).stdout == b"True\n"


# ---- the wrapper closes descriptors ----------------------------------------------------------------------------------


def test_what_the_command_closes_is_closed(wrap):
    """A reader of its output sees the end, a writer to its input EPIPE, and its lock is free, while it goes on."""
    text = "flock -n lock true && exit 9; echo out; exec <&- >&- 9>&-; echo closed >closed; " + WAIT_FOR_STOP
    text = "exec 9>lock; flock 9; exec " + shlex.join(wrap + ["sh", "-c", text])
    job = subprocess.Popen(["bash", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def refused():
        try:
            os.write(job.stdin.fileno(), b"x")
        except BrokenPipeError:
            return True

    try:
        for expected in (b"out\n", b""):
            ready = select.select([job.stdout], [], [], PATIENCE)[0]
            assert ready and os.read(job.stdout.fileno(), 100) == expected
        read_when("closed", "closed")
        until("EPIPE", refused)
        until("the lock", lambda: run(["flock", "-n", "lock", "true"]).returncode == 0)
        assert job.poll() is None
    finally:
        open("stop", "w").close()
        assert job.wait(PATIENCE) == 0


def test_jobserver(wrap, tmp_path):
    (tmp_path / "Makefile").write_text(
        "all:\n\t+$(W) $(MAKE) sub\nsub: a b c d\na b c d:\n\t@echo $@ $(MAKEFLAGS); sleep 0.05\n"
    )
    done = run(["make", "-j4", "W=" + shlex.join(wrap)])
    assert done.returncode == 0
    assert b"warning" not in done.stderr and b"jobserver" in done.stdout


# ---- signals ----


class Watched:
    """A command, under the wrapper, that writes down each signal it gets."""

    def __init__(self, wrap):
        self.job = subprocess.Popen(wrap + [PROBE, "--signals", "signals"])
        self.pid = int(read_when("signals", r"ready (\d+)").group(1))

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        assert self.job.wait(PATIENCE) == 0
        return [line for line in pathlib.Path("signals").read_text().split("\n")[1:-2]]


NOT_TO_CATCH = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, 32, 33}


@pytest.mark.parametrize("number", [n for n in range(1, 65) if n not in NOT_TO_CATCH])
def test_signal_is_forwarded(wrap, number):
    watched = Watched(wrap)
    os.kill(watched.job.pid, number)
    read_when("signals", r"signal %d code 0 " % number)
    assert len(watched.end()) == 1


def test_queued_values_are_kept_in_order(wrap):
    libc = ctypes.CDLL(None, use_errno=True)
    watched = Watched(wrap)
    for value in range(5):
        assert libc.sigqueue(watched.job.pid, signal.SIGRTMIN + 2, ctypes.c_void_p(value + 100)) == 0
    assert libc.sigqueue(watched.job.pid, signal.SIGUSR1, ctypes.c_void_p(7)) == 0
    read_when("signals", r"(?s)value 104.*")
    read_when("signals", r"signal 10 code -1 pid %d value 7" % os.getpid())
    got = [line for line in watched.end() if line.startswith("signal %d " % (signal.SIGRTMIN + 2))]
    assert got == ["signal %d code -1 pid %d value %d" % (signal.SIGRTMIN + 2, os.getpid(), 100 + i) for i in range(5)]


@pytest.mark.parametrize("number", [1, 2, 3, 6, 10, 11, 13, 14, 15, 36])
@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_signal_ends_the_job(wrap, kill, number):
    """A signal to the wrapper, and one to its group."""
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; exec sleep 60"], start_new_session=True)
    read_when("up", "up")
    kill(job.pid, number)
    assert job.wait(PATIENCE) == -number


def test_signal_right_after_the_start(wrap):
    for _ in range(30):
        job = subprocess.Popen(wrap + ["sleep", "60"])
        # Before our exec is done Python's child gets the signal; after it, the wrapper gets it at some point of its
        # code.
        job.send_signal(signal.SIGTERM)
        assert job.wait(PATIENCE) == -signal.SIGTERM


def test_command_that_ignores_term(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "trap '' TERM INT; echo up > up; " + WAIT_FOR_STOP + "; exit 4"])
    read_when("up", "up")
    for _ in range(3):
        job.send_signal(signal.SIGTERM)
        job.send_signal(signal.SIGINT)
    open("stop", "w").close()
    assert job.wait(PATIENCE) == 4


def test_ignored_on_entry_stays_ignored(wrap):
    text = "trap '' HUP; {W} sh -c 'echo up > up; %s; exit 3'" % WAIT_FOR_STOP
    job = subprocess.Popen(["bash", "-c", "trap '' HUP; exec " + text[13:].replace("{W}", shlex.join(wrap))])
    read_when("up", "up")
    job.send_signal(signal.SIGHUP)
    open("stop", "w").close()
    assert job.wait(PATIENCE) == 3


def test_group_signal_from_the_command_is_not_sent_back(wrap):
    code = "$n = 0; $SIG{USR1} = sub { $n++ }; kill 'USR1', 0; select undef, undef, undef, 0.2; print $n"
    done = run(wrap + ["perl", "-e", code], start_new_session=True)
    assert (done.returncode, done.stdout) == (0, b"1")


@pytest.mark.parametrize("text", [
    "timeout 0.2 {W} sleep 60; echo $?",
    "timeout -s INT 0.2 {W} sleep 60; echo $?",
    "(echo $BASHPID >pid; exec timeout -k 0.1 60 {W} sh -c 'trap \"\" TERM; kill `cat pid`; sleep 60') 2>/dev/null; echo $?",
    "{W} timeout 0.2 sleep 60; echo $?",
    "timeout --foreground 0.2 {W} sleep 60; echo $?",
    "{W} sh -c 'trap \"exit 9\" TERM; kill -TERM $$'; echo $?",
    "{W} sleep 60 & kill %1; wait %1; echo $?",
    "{W} sh -c 'sleep 2 >/dev/null 2>&1 & wait' & sleep 0.2; kill -USR1 $!; wait $!; echo $?",
    "nohup {W} true; echo $?",
    "{W} env -i sh -c 'echo x' 2>&1; echo $?",
    "env -i {W} /bin/echo x; echo $?",
    "setsid -w {W} sh -c 'exit 6'; echo $?",
    "{W} setsid -w sh -c 'exit 6'; echo $?",
    "{W} {W} {W} sh -c 'exit 6'; echo $?",
    "{W} sh -c 'kill -SEGV $$'; echo $?; {W} sh -c 'kill -9 $$'; echo $?",  # bash says how each was killed
    "ulimit -c unlimited; {W} sh -c 'ulimit -c 0; kill -SEGV $$'; echo core*",
    "perl -e 'use Time::HiRes; Time::HiRes::alarm(0.2); exec @ARGV' {W} sleep 60; echo $?",
    "exec 9>lock; flock 9; {W} sh -c 'sleep 0.1; flock -n lock true; echo $?'",
    "printf 'one\\ntwo\\n' | ({W} true; {W} head -c 0; cat)",
    "printf 'one\\ntwo\\n' > in; ({W} sh -c 'read x; echo got $x'; cat) < in",
    "{W} yes | head -1; echo ${PIPESTATUS[@]}",
    "echo a | {W} cat | {W} sed s/a/b/; echo ${PIPESTATUS[@]}",
    "! {W} false && echo not",
    "x=$({W} echo sub); echo $x",
    "set -e; {W} true; {W} false; echo never",
    "{W} sh -c 'echo err >&2; echo out'",
    "{W} sh -c 'sleep 0.05 & echo $(jobs | wc -l); exit 0'; echo $?",
    "time -p true; {W} bash -c 'kill -PIPE $$'; echo $?",
    "xargs -n1 {W} echo < <(seq 3); echo $?",
    "find /etc/passwd -exec {W} echo {} \\;; echo $?",
    "strace -f -o /dev/null {W} sh -c 'exit 8'; echo $?",
    "unshare -pf {W} sh -c 'exit 5'; echo $?",
    "ulimit -t 1; {W} sh -c 'while :; do :; done'; echo $?",
    "ulimit -f 1; {W} sh -c 'head -c 100000 /dev/zero > big'; echo $?; ls -s big | cut -c1",
    "ulimit -v 500000; {W} perl -e '$x = \"x\" x 900000000' 2>/dev/null; echo $?",
])
def test_in_the_shell(wrap, text):
    not_under_sanitizers(text)
    varying = re.compile(rb"line \d+: *\d*|nohup: .*|^(real|user|sys) .*", re.M)

    def said(done):
        """bash reports which process was killed, with its pid and with the line that it ran."""
        text = re.sub(rb"(?m)^baro run: .*\n", b"", done.stderr)  # where it can't keep its tape
        text = text.replace(shlex.join(wrap).encode(), b"")
        return b" ".join(varying.sub(b"", text).split())

    for _ in range(5):  # on a busy machine some commands alone end either way, as with timeout -k 0.1
        bare, wrapped = ((d.returncode, d.stdout, said(d)) for d in (shell(text, []), shell(text, wrap)))
        if wrapped == bare:
            break
    assert wrapped == bare


def test_first_process_of_a_namespace(wrap):
    """It can't end by a default signal: its status is 128 + n, a documented difference."""
    text = shlex.join(unshared("-pf", "--mount-proc")) + " {W} sh -c 'kill -TERM $$'; echo $?"
    assert shell(text, wrap).stdout == b"143\n"


# ---- stops ----


@pytest.mark.parametrize("number", sorted(STOPPING))
def test_command_stops_itself(wrap, number):
    job = own_group(wrap + ["sh", "-c", "kill -%d $$; exit 12" % number])
    assert stopped_by(job.pid) == number
    job.send_signal(signal.SIGCONT)
    assert job.wait(PATIENCE) == 12


def test_stop_and_go_many_times(wrap):
    job = own_group(wrap + ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do kill -STOP $$; done; exit 13"])
    # The command is continued with the group and may stop again before the wrapper has woken: two stops can be seen as
    # one.
    for _ in range(11):
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        assert os.WSTOPSIG(status) == signal.SIGSTOP
        os.killpg(job.pid, signal.SIGCONT)
    job.returncode = os.waitstatus_to_exitcode(status)
    assert job.returncode == 13


def test_stop_is_forwarded(wrap):
    job = own_group(wrap + ["sh", "-c", "echo $$ > pid; exec sleep 60"])
    pid = int(read_when("pid", r"(\d+)\n").group(1))
    job.send_signal(signal.SIGTSTP)
    assert stopped_by(job.pid) == signal.SIGTSTP
    assert state(pid) == "T"
    job.send_signal(signal.SIGCONT)
    until("the command going on", lambda: state(pid) == "S")
    job.send_signal(signal.SIGTERM)
    assert job.wait(PATIENCE) == -signal.SIGTERM


def test_command_alone_is_continued_or_killed(wrap):
    """As cpulimit does, and as kill -9 of a stopped job by its command's pid: the recorder wakes the wrapper."""
    job = own_group(wrap + ["sh", "-c", "echo $$ > pid; %s; exit 3" % WAIT_FOR_STOP])
    pid = int(read_when("pid", r"(\d+)\n").group(1))
    os.kill(pid, signal.SIGSTOP)
    assert stopped_by(job.pid) == signal.SIGSTOP
    os.kill(pid, signal.SIGCONT)
    until("the wrapper going on", lambda: state(job.pid) == "S")
    os.kill(pid, signal.SIGSTOP)
    assert stopped_by(job.pid) == signal.SIGSTOP
    os.kill(pid, signal.SIGKILL)
    assert job.wait(PATIENCE) == -signal.SIGKILL
