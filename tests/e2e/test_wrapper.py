# SPDX-License-Identifier: Apache-2.0
"""Bare against wrapped: whatever is done to a command, and whatever it does, must come out the same.

Each test runs with each wrapper there is: `wrapdummy` (with a recorder that only listens) and `baro run -q`. BARO names
the binary (build/baro); wrapdummy and probe lie in tests/e2e beside it, or are named by WRAPDUMMY and PROBE.
"""
import ctypes
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BARO = os.environ.get("BARO", str(ROOT / "build" / "baro"))
BESIDE = pathlib.Path(BARO).parent / "tests" / "e2e"
DUMMY = os.environ.get("WRAPDUMMY", str(BESIDE / "wrapdummy"))
PROBE = os.environ.get("PROBE", str(BESIDE / "probe"))
QUIET = {"stderr": subprocess.DEVNULL}
PATIENCE = 20  # seconds until something that should happen is taken not to; nothing is measured by it

WRAPPERS = {}
if os.access(DUMMY, os.X_OK):
    WRAPPERS["dummy"] = [DUMMY, "--"]
if os.access(BARO, os.X_OK) and b"run" in subprocess.run([BARO, "--help"], capture_output=True).stdout:
    WRAPPERS["baro"] = [BARO, "run", "-q", "--"]
assert WRAPPERS, "build first: neither %s nor %s is there" % (DUMMY, BARO)


@pytest.fixture(params=sorted(WRAPPERS))
def wrap(request, tmp_path, monkeypatch):
    monkeypatch.setenv("BARO_DIR", str(tmp_path / "runs"))
    for name in ("BARO_TAPE", "BARO_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return WRAPPERS[request.param]


def run(argv, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE * 3, **kw)


def shell(text, prefix, **kw):
    """Runs a bash text in which {W} stands for the wrapper, or for nothing."""
    return run(["bash", "-c", text.replace("{W}", shlex.join(prefix)).replace("{P}", shlex.quote(PROBE))], **kw)


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.01)
    pytest.fail("never came about: " + what)


def state(pid):
    try:
        text = pathlib.Path("/proc/%d/stat" % pid).read_bytes()
    except OSError:
        return ""
    return text[text.rindex(b")") + 2 :].split()[0].decode()


def children(pid):
    try:
        return [int(c) for c in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]
    except OSError:
        return []


def comm(pid):
    try:
        return pathlib.Path("/proc/%d/comm" % pid).read_text().strip()
    except OSError:
        return ""


def held(pid):
    """What its descriptors point to."""
    links = []
    for entry in os.scandir("/proc/%d/fd" % pid):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass  # closed in the meantime
    return links


def recorder_of(wrapper):
    return until("a recorder", lambda: next((c for c in children(wrapper) if comm(c) == "baro-recorder"), None))


def read_when(path, pattern):
    def look():
        try:
            return re.search(pattern, pathlib.Path(path).read_text())
        except OSError:
            return None

    return until("%s in %s" % (pattern, path), look)


# ---- how it ends ----


@pytest.mark.parametrize("status", [0, 1, 2, 3, 42, 124, 125, 126, 127, 128, 129, 130, 137, 143, 254, 255])
def test_exit_status(wrap, status):
    assert run(wrap + ["sh", "-c", "exit %d" % status]).returncode == status


STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
DEADLY = [n for n in range(1, 65) if n not in STOPPING]


@pytest.mark.parametrize("number", DEADLY)
def test_death_by_signal(wrap, number):
    """Also signals that end nobody (CHLD, URG, WINCH, CONT): then the status after it."""
    command = ["perl", "-e", "kill %d, $$; select undef, undef, undef, 0.02; exit 7" % number]
    assert run(wrap + command).returncode == run(command).returncode


def test_death_says_what_the_shell_would_say(wrap):
    text = "{W} sh -c 'kill -SEGV $$'; echo $?; {W} sh -c 'kill -9 $$'; echo $?"
    bare, wrapped = shell(text, []), shell(text, wrap)
    assert wrapped.stdout == bare.stdout == b"139\n137\n"
    assert b"Segmentation fault" in wrapped.stderr and b"Killed" in wrapped.stderr


def test_no_core_of_its_own(wrap):
    shell("ulimit -c unlimited; {W} sh -c 'ulimit -c 0; kill -SEGV $$'", wrap)
    assert not [f for f in os.listdir(".") if f.startswith("core")]


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
    """As env(1): 127 for what is not there, 126 for what can't be executed."""
    exec_failures(tmp_path)
    bare, wrapped = run(["env", "--", command]), run(wrap + [command])
    assert wrapped.returncode == bare.returncode
    assert wrapped.stdout == bare.stdout
    if bare.returncode in (126, 127) and command != "./garbage":
        assert wrapped.stderr.count(b"\n") == 1
        assert not list((tmp_path / "runs").rglob("*.baro"))


@pytest.mark.parametrize("args", [0, 3, 60000])
def test_script_without_interpreter(wrap, tmp_path, args):
    (tmp_path / "script").write_text('echo $# "$0"\nexit 5\n')
    (tmp_path / "script").chmod(0o755)
    command = ["./script"] + ["a"] * args
    bare, wrapped = run(["env"] + command), run(wrap + command)
    assert (wrapped.returncode, wrapped.stdout) == (bare.returncode, bare.stdout)
    assert wrapped.returncode == 5


# ---- what the command is given ----

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
MAY_DIFFER = re.compile(rb"^(env (BARO_(TAPE|PID)|_|OUT)=.*|ids ppid=\d+ )", re.M)


def inherited(text, prefix, out):
    out.touch(mode=0o666)
    out.chmod(0o666)
    done = shell(text, prefix, env={**os.environ, "OUT": str(out)})
    facts = MAY_DIFFER.sub(b"", out.read_bytes())
    facts = re.sub(rb"(dev=\S+ )ino=\d+ (mode=1\d{4} )", rb"\1\2", facts)  # pipes are made for each run
    facts = facts.replace(b"arg 0 " + PROBE.encode(), b"")
    return done.returncode, [line for line in facts.split(b"\n") if line]


# AddressSanitizer lowers the core limit, takes SIGSEGV and reserves terabytes of address space, all before main().
SANITIZERS_CHANGE = re.compile("ulimit -[cv]|--ignore-signal .W.")


def not_under_sanitizers(text):
    if os.environ.get("BARO_SANITIZED") == "1" and SANITIZERS_CHANGE.search(text):
        pytest.skip("the sanitizer's own doing")


@pytest.mark.parametrize("text", INHERITED, ids=lambda t: t.replace("{W} {P} $OUT", "@"))
def test_inherited(wrap, tmp_path, text):
    not_under_sanitizers(text)
    for place in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        place.chmod(0o755)  # for those who drop their rights
    out = tmp_path / "out"
    bare = inherited(text, [], out)
    out.unlink()
    wrapped = inherited(text, wrap, out)
    assert len(bare[1]) > 40, "the probe said nothing"
    assert wrapped == bare


def test_environment_adds_only_ours(wrap, tmp_path):
    bare = set(run(["env", "-0"]).stdout.split(b"\0"))
    wrapped = run(wrap + ["env", "-0"]).stdout.split(b"\0")
    added = set(wrapped) - bare
    assert bare <= set(wrapped)
    assert all(a.startswith((b"BARO_PID=", b"BARO_TAPE=")) for a in added) and added
    assert len(wrapped) == len(set(wrapped))


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


# ---- descriptors are let go of ----

WAIT_FOR_STOP = "while [ ! -e stop ]; do sleep 0.02; done"


def test_pipe_reader_sees_eof_when_the_command_closes_it(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo out; exec >&-; " + WAIT_FOR_STOP], stdout=subprocess.PIPE)
    try:
        ready = select.select([job.stdout], [], [], PATIENCE)[0]
        assert ready and os.read(job.stdout.fileno(), 100) == b"out\n"
        ready = select.select([job.stdout], [], [], PATIENCE)[0]
        assert ready and os.read(job.stdout.fileno(), 100) == b""
        assert job.poll() is None
    finally:
        open("stop", "w").close()
        assert job.wait(PATIENCE) == 0


def test_writer_sees_epipe_when_the_command_closes_stdin(wrap):
    command = ["sh", "-c", "exec <&-; echo closed > closed; " + WAIT_FOR_STOP]
    job = subprocess.Popen(wrap + command, stdin=subprocess.PIPE)
    try:
        read_when("closed", "closed")

        def refused():
            try:
                os.write(job.stdin.fileno(), b"x")
            except BrokenPipeError:
                return True

        until("EPIPE", refused)
    finally:
        open("stop", "w").close()
        assert job.wait(PATIENCE) == 0


def test_lock_is_free_when_the_command_drops_it(wrap):
    text = "flock -n lock true && exit 9; exec 9>&-; echo dropped >dropped; " + WAIT_FOR_STOP
    text = "exec 9>lock; flock 9; exec " + shlex.join(wrap + ["sh", "-c", text])
    job = subprocess.Popen(["bash", "-c", text])
    try:
        read_when("dropped", "dropped")
        until("the lock", lambda: run(["flock", "-n", "lock", "true"]).returncode == 0)
    finally:
        open("stop", "w").close()
        assert job.wait(PATIENCE) == 0


def test_lock_is_kept_while_the_command_holds_it(wrap):
    text = "exec 9>lock; flock 9; {W} sh -c 'sleep 0.1; flock -n lock true; echo $?'"
    assert shell(text, wrap).stdout == b"1\n"


def test_jobserver(wrap, tmp_path):
    (tmp_path / "Makefile").write_text(
        "all:\n\t+$(W) $(MAKE) sub\nsub: a b c d\na b c d:\n\t@echo $@ $(MAKEFLAGS); sleep 0.05\n"
    )
    done = run(["make", "-j4", "W=" + shlex.join(wrap)])
    assert done.returncode == 0
    assert b"warning" not in done.stderr and b"jobserver" in done.stdout


def test_stdin_is_not_read(wrap):
    text = "printf 'one\\ntwo\\n' | ({W} true; {W} head -c 0; cat)"
    assert shell(text, wrap).stdout == b"one\ntwo\n"
    text = "printf 'one\\ntwo\\n' > in; ({W} sh -c 'read x; echo got $x'; cat) < in"
    assert shell(text, wrap).stdout == shell(text, []).stdout


def test_early_closed_reader(wrap):
    text = "{W} yes | head -1; echo ${PIPESTATUS[@]}"
    assert shell(text, wrap).stdout == shell(text, []).stdout == b"y\n141 0\n"


# ---- signals ----


class Watched:
    """A command that writes down each signal it gets, under the wrapper."""

    def __init__(self, wrap):
        self.job = subprocess.Popen(wrap + [PROBE, "--signals", "signals"])
        self.pid = int(read_when("signals", r"ready (\d+)").group(1))

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        assert self.job.wait(PATIENCE) == 0
        return [line for line in pathlib.Path("signals").read_text().split("\n")[1:-2]]


NOT_TO_CATCH = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, 32, 33}


@pytest.mark.parametrize("number", [n for n in range(1, 65) if n not in NOT_TO_CATCH])
def test_signal_is_passed_on(wrap, number):
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
def test_signal_to_the_wrapper_ends_the_job(wrap, number):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; exec sleep 60"])
    read_when("up", "up")
    os.kill(job.pid, number)
    assert job.wait(PATIENCE) == -number


def test_signal_right_after_the_start(wrap):
    for _ in range(30):
        job = subprocess.Popen(wrap + ["sleep", "60"])
        # Before our exec is done the signal meets Python's child; after it, the wrapper at whatever it does.
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


def test_kill_of_the_group(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; sleep 60"], start_new_session=True)
    read_when("up", "up")
    os.killpg(job.pid, signal.SIGTERM)
    assert job.wait(PATIENCE) == -signal.SIGTERM


def test_group_signal_from_the_command_is_not_sent_back(wrap):
    code = "$n = 0; $SIG{USR1} = sub { $n++ }; kill 'USR1', 0; select undef, undef, undef, 0.2; print $n"
    done = run(wrap + ["perl", "-e", code], start_new_session=True)
    assert (done.returncode, done.stdout) == (0, b"1")


def test_alarm_set_before_exec(wrap):
    command = ["perl", "-e", "use Time::HiRes; Time::HiRes::alarm(0.2); exec @ARGV"]
    assert run(command + wrap + ["sleep", "60"]).returncode == -signal.SIGALRM


@pytest.mark.parametrize("text", [
    "timeout 0.2 {W} sleep 60; echo $?",
    "timeout -s INT 0.2 {W} sleep 60; echo $?",
    "timeout -k 0.1 0.1 {W} sh -c 'trap \"\" TERM; sleep 60' 2>/dev/null; echo $?",
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
        """bash says what was killed by what, with its pid and with the line that it ran."""
        text = re.sub(rb"(?m)^baro run: .*\n", b"", done.stderr)  # where it can't keep its tape
        text = text.replace(shlex.join(wrap).encode(), b"")
        return b" ".join(varying.sub(b"", text).split())

    bare, wrapped = shell(text, []), shell(text, wrap)
    assert (wrapped.returncode, wrapped.stdout) == (bare.returncode, bare.stdout)
    assert said(wrapped) == said(bare)


def test_first_process_of_a_namespace(wrap):
    """It can't end by a default signal: 128 + n, a named difference."""
    text = "unshare -pf --mount-proc {W} sh -c 'kill -TERM $$'; echo $?"
    assert shell(text, wrap).stdout == b"143\n"


# ---- stops ----


def stopped_by(pid):
    """The signal by which our child stopped, as a shell sees it."""

    def look():
        got, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if got and os.WIFSTOPPED(status):
            return os.WSTOPSIG(status)

    return until("a stop", look)


def own_group(argv):
    """In a group of its own, as a shell would start it: only then do TSTP, TTIN and TTOU stop anybody."""
    return subprocess.Popen(argv, preexec_fn=lambda: os.setpgid(0, 0))


@pytest.mark.parametrize("number", sorted(STOPPING))
def test_command_stops_itself(wrap, number):
    job = own_group(wrap + ["sh", "-c", "kill -%d $$; exit 12" % number])
    assert stopped_by(job.pid) == number
    job.send_signal(signal.SIGCONT)
    assert job.wait(PATIENCE) == 12


def test_stop_and_go_many_times(wrap):
    job = own_group(wrap + ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do kill -STOP $$; done; exit 13"])
    # The command is continued with the group and may stop again before the wrapper has woken: two stops can be seen as one.
    for _ in range(11):
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        assert os.WSTOPSIG(status) == signal.SIGSTOP
        os.killpg(job.pid, signal.SIGCONT)
    job.returncode = os.waitstatus_to_exitcode(status)
    assert job.returncode == 13


def test_stop_passed_on(wrap):
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
    """As cpulimit does, and kill -9 of a stopped job by its command's pid: the recorder wakes the wrapper."""
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


# ---- a terminal ----


class Terminal:
    """bash with job control on a terminal of its own."""

    PROMPT = "ready-for-more> "

    def __init__(self, wrap=None, argv=None):
        self.text = ""
        self.wrap = shlex.join(wrap or [])
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1=self.PROMPT, TERM="dumb", HISTFILE="/dev/null")
            argv = argv or ["bash", "--norc", "--noprofile", "--noediting", "-i"]
            os.execvp(argv[0], argv)
        if not argv:
            self.expect(re.escape(self.PROMPT))

    def expect(self, pattern):
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end() :]
                return found
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                pytest.fail("no %r in %r" % (pattern, self.text))
            try:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                pytest.fail("no %r in %r at the end" % (pattern, self.text))

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.type(text.replace("{W}", self.wrap) + "\n")

    def asks(self, text, pattern):
        """Runs a line whose output, not its echo, has the pattern; returns after the prompt."""
        self.line(text)
        found = self.expect(pattern)
        self.expect(re.escape(self.PROMPT))
        return found

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(wrap):
    t = Terminal(wrap)
    yield t
    t.close()


def sleeping(terminal):
    """Until the sleep under the shell is there and asleep."""

    def look():
        todo = [terminal.pid]
        for pid in todo:
            todo += children(pid)
        return [p for p in todo if comm(p) == "sleep" and state(p) == "S"]

    return until("a sleep", look)[0]


@pytest.mark.parametrize("key,status", [("\x03", 130), ("\x1c", 131)], ids=["ctrl-c", "ctrl-backslash"])
def test_keys_that_end(terminal, key, status):
    terminal.line("{W} sleep 60")
    sleeping(terminal)
    terminal.type(key)
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=%d\r" % status)


def test_ctrl_c_comes_once(terminal):
    code = "$|=1; $n=0; $SIG{INT}=sub{$n++}; print qq(u).qq(p\\n); "
    code += "select undef,undef,undef,0.02 until $n; select undef,undef,undef,0.3; print qq(n=$n.\\n)"
    terminal.line("{W} perl -e '%s'" % code)
    terminal.expect("up\r")
    terminal.type("\x03")
    assert terminal.expect(r"n=(\d+)\.").group(1) == "1"


def test_command_that_handles_ctrl_c(terminal):
    terminal.line("{W} sh -c 'trap \"exit 33\" INT; echo u''p; while :; do sleep 0.05; done'")
    terminal.expect("up\r")
    terminal.type("\x03")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=33\r")


def test_stop_by_key_and_foreground(terminal):
    terminal.line("{W} sleep 60")
    for _ in range(3):
        pid = sleeping(terminal)
        terminal.type("\x1a")
        terminal.expect("Stopped")
        terminal.expect(re.escape(terminal.PROMPT))
        assert state(pid) == "T"
        terminal.asks("jobs", "Stopped")
        terminal.line("fg")
        until("going on", lambda: state(pid) == "S")
    terminal.type("\x03")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=130\r")


def test_stop_background_and_foreground(terminal):
    terminal.line("{W} sleep 60")
    pid = sleeping(terminal)
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("bg", r"&\r")
    until("going on", lambda: state(pid) == "S")
    terminal.asks("jobs", "Running")
    terminal.line("fg")
    time.sleep(0.1)
    terminal.type("\x03")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=130\r")


def test_command_that_ignores_ctrl_z_keeps_the_terminal(terminal):
    terminal.line("{W} sh -c 'trap \"\" TSTP; echo u''p; read x; echo got=$x.'")
    terminal.expect("up\r")
    terminal.type("\x1a")
    time.sleep(0.1)
    terminal.type("line\n")
    terminal.expect(r"got=line\.")
    terminal.expect(re.escape(terminal.PROMPT))


def test_command_that_stops_itself_gives_the_terminal_back(terminal):
    terminal.line("{W} sh -c 'kill -STOP $$; exit 21'")
    terminal.expect("Stopped")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.line("fg")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=21\r")


def test_handles_ctrl_z_itself(terminal):
    """As editors do: put the terminal in order, then stop the whole group."""
    code = "$|=1; $SIG{TSTP}=sub{print qq(tidy\\n); $SIG{TSTP}=q(DEFAULT); kill q(TSTP),0; "
    code += "select undef,undef,undef,0.1; print qq(back.\\n); exit 5}; print qq(u).qq(p\\n); sleep 60 while 1"
    terminal.line("{W} perl -e '%s'" % code)
    terminal.expect("up\r")
    terminal.type("\x1a")
    terminal.expect("tidy\r")
    terminal.expect("Stopped")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.line("fg")
    terminal.expect(r"back\.")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=5\r")


def test_background_read_stops(terminal):
    terminal.line("{W} sh -c 'read x; echo got=$x.' &")
    terminal.expect(re.escape(terminal.PROMPT))

    def stopped():
        terminal.line("jobs")
        return terminal.expect(r"Stopped|Running").group(0) == "Stopped"

    until("the stop", stopped)
    terminal.line("fg")
    time.sleep(0.1)
    terminal.type("line\n")
    terminal.expect(r"got=line\.")


def test_isatty_size_and_foreground(terminal):
    tests = "test -t 0 && test -t 1 && test -t 2 && stty size"
    foreground = "[ $(ps -o pgid= -p $$) = $(ps -o tpgid= -p $$) ] && echo f''ine"
    terminal.asks("{W} sh -c '%s && %s'" % (tests, foreground), "0 0\r\nfine\r")


def test_shell_within(terminal):
    """A command that takes the terminal for groups of its own, and gives it back."""
    terminal.asks("{W} bash --norc --noprofile --noediting -i", "")
    terminal.asks("echo level=$SHLVL", r"level=\d+\r")
    terminal.line("sleep 60")
    pid = sleeping(terminal)
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.line("fg")
    until("going on", lambda: state(pid) == "S")
    terminal.type("\x03")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.line("exit 9")
    terminal.expect(re.escape(terminal.PROMPT))
    terminal.asks("echo status=$?", "status=9\r")


def test_hangup_reaches_the_command(wrap):
    """As leader of a session the wrapper is the only one that hears of a lost terminal."""
    command = ["sh", "-c", "trap 'echo hup > hup; exit' HUP; echo u''p; while :; do sleep 0.05; done"]
    t = Terminal(argv=wrap + command)
    t.expect("up\r")
    os.close(t.fd)
    read_when("hup", "hup")
    os.waitpid(t.pid, 0)


# ---- the recorder and the wrapper die or hang ----


def test_recorder_is_killed(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; %s; kill -USR2 $$" % WAIT_FOR_STOP], **QUIET)
    read_when("up", "up")
    os.kill(recorder_of(job.pid), signal.SIGKILL)
    time.sleep(0.05)
    assert job.poll() is None
    open("stop", "w").close()
    assert job.wait(PATIENCE) == -signal.SIGUSR2


def test_recorder_hangs(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo up > up; %s; exit 14" % WAIT_FOR_STOP], **QUIET)
    read_when("up", "up")
    recorder = recorder_of(job.pid)
    os.kill(recorder, signal.SIGSTOP)
    open("stop", "w").close()
    assert job.wait(PATIENCE) == 14
    until("the recorder's end", lambda: state(recorder) in ("", "Z"))


def test_recorder_hangs_while_much_is_reaped(wrap):
    text = "echo up > up; %s; for i in $(seq 600); do (true &); done; exit 15" % WAIT_FOR_STOP
    job = subprocess.Popen(wrap + ["bash", "-c", text], **QUIET)
    read_when("up", "up")
    os.kill(recorder_of(job.pid), signal.SIGSTOP)
    open("stop", "w").close()
    assert job.wait(PATIENCE * 2) == 15


def test_wrapper_is_killed(wrap):
    job = subprocess.Popen(wrap + ["sh", "-c", "echo $$ > up; %s; echo done > done" % WAIT_FOR_STOP], **QUIET)
    pid = int(read_when("up", r"(\d+)\n").group(1))
    recorder = recorder_of(job.pid)
    job.kill()
    job.wait()
    time.sleep(0.05)
    assert state(pid) in ("S", "R", "D")
    open("stop", "w").close()
    read_when("done", "done")
    until("the recorder's end", lambda: state(recorder) in ("", "Z"))


def test_recorder_is_out_of_reach(wrap):
    """Neither keys nor kills of the group meet it, and it holds none of the job's files but stderr."""
    command = ["sh", "-c", "echo up > up; %s" % WAIT_FOR_STOP]
    job = subprocess.Popen(wrap + command, stdout=subprocess.PIPE, start_new_session=True)
    read_when("up", "up")
    recorder = recorder_of(job.pid)
    until("a session", lambda: os.getsid(recorder) == recorder)
    ours = os.readlink("/proc/self/fd/%d" % job.stdout.fileno())
    until("letting go", lambda: ours not in held(recorder))
    until("letting go", lambda: ours not in held(job.pid))
    for number in (1, 2, 3, 10, 12, 13, 14, 15, 20, 24, 25):
        os.kill(recorder, number)
    time.sleep(0.05)
    assert state(recorder) in ("S", "R", "D")
    open("stop", "w").close()
    assert job.wait(PATIENCE) == 0
    job.stdout.close()


def test_no_process_to_be_had(wrap, tmp_path):
    tmp_path.chmod(0o777)
    text = "setpriv --reuid 64123 --clear-groups prlimit --nproc=1 {W} sh -c 'echo on; exit 17'"
    done = shell(text, wrap)
    assert (done.returncode, done.stdout) == (17, b"on\n")


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 8])
def test_no_descriptors_to_be_had(wrap, limit):
    # The loader of a dynamic program needs one more than three.
    text = "prlimit --nofile=%d:20000 {W} sh -c 'kill -USR1 $$' 2>/dev/null" % max(limit, 4)
    bare, wrapped = shell(text, []), shell(text, wrap)
    assert wrapped.returncode == bare.returncode


# ---- descendants ----

needs_dummy = pytest.mark.skipif("dummy" not in WRAPPERS, reason="wrapdummy is not built")


def logged(tmp_path, command, *options):
    log = tmp_path / "log"
    env = {**os.environ, "BARO_DIR": str(tmp_path)}
    done = run([DUMMY, *options, "--log", str(log), "--"] + command, env=env, cwd=tmp_path)
    lines = [line.split() for line in log.read_text().splitlines()]
    return done, [dict([("kind", words[0])] + [w.split("=") for w in words[1:]]) for words in lines]


@needs_dummy
def test_orphans_are_reaped_with_their_status(tmp_path):
    text = "for i in 1 2 3; do (setsid sh -c \"sleep 0.1; exit 4$i\" &) ; done; sleep 0.4; exit 3"
    done, facts = logged(tmp_path, ["sh", "-c", text])
    assert done.returncode == 3
    reaped = [f for f in facts if f["kind"] == "reaped"]
    assert sorted(os.waitstatus_to_exitcode(int(f["status"])) for f in reaped) == [3, 41, 42, 43]
    assert all(int(f["stat"]) > 50 for f in reaped)
    assert [f["kind"] for f in facts][0] == "started" and facts[-1]["kind"] == "ended" and facts[-1]["reaped"] == "4"


@needs_dummy
def test_orphans_are_left_to_others_when_asked(tmp_path):
    done, facts = logged(tmp_path, ["sh", "-c", "(sh -c 'sleep 0.1; exit 41' &); sleep 0.3; exit 3"], "--no-subreaper")
    assert done.returncode == 3 and facts[-1]["reaped"] == "1"


@needs_dummy
def test_the_recorder_is_not_the_jobs(tmp_path):
    _, facts = logged(tmp_path, ["true"])
    assert [f["kind"] for f in facts] == ["started", "reaped", "ended"]
    assert int(facts[1]["cpu_ns"]) > 0
    assert 0 < int(facts[0]["floor"])
    assert int(facts[1]["maxrss"]) >= int(facts[1]["total_maxrss"]) > 0


@needs_dummy
def test_stops_and_signals_are_told(tmp_path):
    log = tmp_path / "log"
    job = own_group([DUMMY, "--log", str(log), "sh", "-c", "trap : USR1; kill -TSTP $$; sleep 0.2; exit 2"])
    assert stopped_by(job.pid) == signal.SIGTSTP
    job.send_signal(signal.SIGCONT)
    job.send_signal(signal.SIGUSR1)
    assert job.wait(PATIENCE) == 2
    text = log.read_text()
    assert "stopped pid" in text and "continued pid" in text and "number=10" in text


@needs_dummy
def test_failed_exec_is_told(tmp_path):
    done, facts = logged(tmp_path, ["./nonexistent"])
    assert done.returncode == 127 and [(f["kind"], f["number"]) for f in facts] == [("failed", "2")]


def test_survivors_are_left(wrap):
    survivor = "(setsid sh -c 'echo $$ > pid; sleep 0.3; echo lived > lived' >/dev/null 2>&1 &)"
    done = run(wrap + ["sh", "-c", survivor + "; while [ ! -s pid ]; do sleep 0.01; done"])
    assert done.returncode == 0
    read_when("lived", "lived")


def test_hundred_orphans(wrap):
    text = "for i in $(seq 100); do (sleep 0.0$((i % 9)) &); done; exit 19"
    assert run(wrap + ["bash", "-c", text]).returncode == 19


def test_stopped_orphan_does_not_hold_it_up(wrap):
    done = run(wrap + ["sh", "-c", "(sh -c 'kill -STOP $$' >/dev/null 2>&1 & echo $! > pid); sleep 0.2; exit 20"])
    assert done.returncode == 20
    os.kill(int(pathlib.Path("pid").read_text()), signal.SIGKILL)


# ---- the kernel refuses ----

REFUSALS = [
    ["inject=close_range:error=ENOSYS"],  # before Linux 5.9
    ["inject=socketpair:error=EMFILE"],
    ["inject=clone:error=EAGAIN:when=1"],
    ["inject=clone:error=EAGAIN:when=2"],
    ["inject=clone:error=EAGAIN"],
    ["inject=mmap:error=ENOMEM:when=200+"],
    ["inject=sendto:error=EAGAIN:when=1"],
    ["inject=sendto:error=ENOBUFS"],
    ["inject=prctl:error=EINVAL"],
    ["inject=getitimer:error=EINVAL"],
    ["inject=shutdown:error=ENOTCONN"],
    ["inject=rt_sigtimedwait:error=EINTR:when=1..3"],
    ["inject=wait4:error=EINTR:when=1"],
    ["inject=openat:error=ENFILE", "-P", "/dev/null"],
    ["inject=openat:error=ENFILE", "-P", "/proc/self/status"],
    ["inject=setrlimit,prlimit64:error=EPERM"],
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda r: " ".join(r))
def test_refused_by_the_kernel(wrap, refusal):
    """Whatever is refused to the wrapper (and to it alone), the job runs and its end is told right."""
    if os.environ.get("BARO_SANITIZED") == "1":
        pytest.skip("the sanitizer's own calls would be refused too")
    strace = ["strace", "-o", "/dev/null", "-e", refusal[0], *refusal[1:]]
    if run(strace + ["true"]).returncode != 0:
        pytest.skip("strace can't do that here")
    done = run(strace + wrap + ["sh", "-c", "echo out; kill -USR1 $$"])
    assert done.stdout == b"out\n"
    assert done.returncode == -signal.SIGUSR1


def test_letting_go_without_close_range(wrap):
    strace = ["strace", "-o", "/dev/null", "-e", "inject=close_range:error=ENOSYS"]
    read, write = os.pipe()
    job = subprocess.Popen(strace + wrap + ["bash", "-c", "exec %d>&-; %s" % (write, WAIT_FOR_STOP)], pass_fds=[write])
    # strace tries things out on children of its own first.
    wrapper = until("the wrapper", lambda: next((c for c in children(job.pid) if comm(c) not in ("", "strace")), None))
    os.close(write)
    try:
        ours = "pipe:[%d]" % os.fstat(read).st_ino
        until("letting go", lambda: ours not in held(wrapper))
    finally:
        open("stop", "w").close()
        assert job.wait(PATIENCE) == 0
        os.close(read)
