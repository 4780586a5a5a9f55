# SPDX-License-Identifier: Apache-2.0
"""Shared by the end-to-end tests. They run the real binary on real processes and read real tapes.

Run by `./check`, or alone:  /usr/bin/python3 -m pytest tests/e2e -k name
The binary is $BARO, else build/baro. $BARO_SANITIZED=1 means that it was built with sanitizers.

Nothing here asserts a timing, and no test should: a test states what is true whatever the load of the machine.
"""

import fcntl
import functools
import itertools
import json
import os
import pathlib
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import zlib

import pytest

from control_group import Cgroup, cgroup2_mounts
from programs import copy_programs
from readers import hostile_tape  # noqa: F401 (a fixture)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ORDINARY = 65534  # nobody: a user that owns no files
PATIENCE = 180  # seconds that a test waits for what is sure to come: only a hang takes so long, on any machine

SANITIZED = os.environ.get("BARO_SANITIZED") == "1"
ENGINE = os.environ.get("BARO_ENGINE", "")  # the command that runs a container, up to the image
FULL = os.environ.get("BARO_FULL") == "1"  # the full check
os.environ["BARO_ANNOUNCED"] = ""  # the runs of a test are not those of a server of another one
if SANITIZED:
    # A sanitized recorder uses many times the CPU time of an ordinary one and would leave out most samples to stay
    # within its budget. All processes that tests start inherit this; --overhead on the command line has precedence.
    os.environ["BARO_NO_BUDGET"] = "1"
LEFT_OUT = []  # names of functions
SLOW = int(
    os.environ.get("BARO_SLOW", "1")
)  # how many times slower this machine is: an emulated CPU takes longer until a process has ended

# A shell ignores these signals for background commands, and our commands would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# nohup(1) does so with this one. A handler keeps us alive and is not inherited over execve(2).
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_configure(config):
    config.addinivalue_line("markers", "not_sanitized(reason): meaningless on a binary built with sanitizers")
    config.addinivalue_line("markers", "slow: takes long; only in the full check (BARO_FULL=1)")
    config.addinivalue_line("markers",
                            "alone: changes or counts something of the whole machine; runs when no other test does")
    config.addinivalue_line("markers", "long: takes 7 seconds or more; starts first, so that no other waits for it")
    config.addinivalue_line("markers",
                            "xdist_group(name): tests that share a costly fixture run in one process (of pytest-xdist)")


@functools.cache
def covered():
    """Functions that reach hardly any line of C of their own: MODULE::FUNCTION."""
    return set((SOURCE / "tests" / "e2e" / "covered.txt").read_text().split("\n"))


def is_named(config):
    """Are tests named on the command line? Then they are all there."""
    return any("::" in arg for arg in config.invocation_params.args if isinstance(arg, str))


def pytest_pycollect_makeitem(collector, name, obj):
    """Leaves functions out before their cases are made, in each of pytest's processes: in the quick check those marked
    slow, under sanitizers those that are covered."""
    if FULL or not name.startswith("test") or is_named(collector.config):
        return None
    marks = [*collector.iter_markers(), *getattr(obj, "pytestmark", ())]
    slow = any(mark.name == "slow" for mark in marks)
    left_out = slow or (SANITIZED and f"{collector.path.name}::{name}" in covered())
    LEFT_OUT.extend([name] if left_out else [])
    return [] if left_out else None


def pytest_terminal_summary(terminalreporter):
    if LEFT_OUT:
        terminalreporter.write_line(f"{len(LEFT_OUT)} functions are left out; BARO_FULL=1 runs them")


def one_of_each(items):
    """Keeps one case of each test function: users, sources and parameters differ in the job and its surroundings, and
    hardly in the lines of C that are executed, which is what sanitizers check. Which one it is depends on the
    function's name, so that all users and sources occur. The full check runs all."""
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0].partition("@")[0], []).append(item)
    return [found[zlib.crc32(name.encode()) % len(found)] for name, found in cases.items()]


def pairwise(items):
    """Keeps as many cases of each test function as it takes to have each value of two parameters, or each pair of
    values of more. Example: of two users and two sources of events it keeps two cases, in which both users and both
    sources occur. Which cases it keeps depends on the function's name. A list of tuples is one parameter. The full
    check runs the whole product."""
    functions, chosen = {}, []
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, cases in functions.items():
        first = zlib.crc32(name.encode()) % len(cases)
        left = {}
        for item in cases[first:] + cases[:first]:
            # The names of the values, one for each decorator or fixture with parameters; pytest has no public list.
            values = list(enumerate(item.callspec._idlist if hasattr(item, "callspec") else ()))
            left[item] = set(itertools.combinations(values, 2) if len(values) > 2 else values)
        wanted = set().union(*left.values())
        chosen += [] if wanted else cases
        while wanted:
            chosen.append(max(left, key=lambda item: len(left[item] & wanted)))
            wanted -= left[chosen[-1]]
    return chosen


def pytest_collection_modifyitems(config, items):
    if not FULL and not is_named(config):
        quick = [item for item in items if not item.get_closest_marker("slow")]
        ids = {item.nodeid for item in (one_of_each(quick) if SANITIZED else pairwise(quick))}
        chosen = [item for item in items if item.nodeid in ids]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in ids])
        items[:] = chosen
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        mark = item.get_closest_marker("not_sanitized")
        if SANITIZED and mark:
            reason = mark.args[0] if mark.args else mark.kwargs.get("reason", "")
            item.add_marker(pytest.mark.skip(reason=f"sanitizers: {reason}"))
        if item.get_closest_marker("slow") and not FULL:
            item.add_marker(pytest.mark.skip(reason="slow: run with BARO_FULL=1"))


def has_connector():
    """Does the process connector report the processes that we see? It is in the initial network namespace alone, and
    speaks of the initial PID namespace. Before Linux 6.6 the kernel counts listeners by these requests alone: with one
    that only leaves, the next program that listens gets nothing."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11) as s:  # NETLINK_CONNECTOR
            s.bind((0, 1))
            for operation in (1, 2):  # PROC_CN_MCAST_LISTEN, PROC_CN_MCAST_IGNORE
                s.send(struct.pack("=IHHIIIIIIHHI", 40, 3, 0, 0, 0, 1, 1, 0, 0, 4, 0, operation))
    except OSError:
        return False
    return os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"


needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")
needs_connector = pytest.mark.skipif(os.geteuid() != 0 or not has_connector(),
                                     reason="needs root and the process connector, which a container lacks")


@functools.lru_cache
def refusal(argv):
    """What is said if a command is refused; "" if it can be executed."""
    if not shutil.which(argv[0]):
        return f"there is no {argv[0]}"
    done = subprocess.run(argv, check=False, capture_output=True, text=True, errors="replace")
    return done.returncode and (done.stderr.strip() or f"{shlex.join(argv)}: status {done.returncode}")


def unshared(*flags):
    """unshare(1) with these flags, as a list to put in front of a command. Skips the test where that is refused, as in a
    chroot without user namespaces."""
    argv = ("unshare", *flags)
    why = refusal((*argv, "true"))
    if why:
        pytest.skip(why)
    return list(argv)


def contained(binary, *volumes, uid=None, restricted=False, perf=False):
    """A default container, as a list to put in front of a command: with these folders in it (PATH or FROM:TO). Skips
    the test where it can't be made. It is our own (contain.c), or with BARO_ENGINE that of an engine
    (tools/podman-check.sh)."""
    mounts = [word for volume in volumes for word in ("-v", str(volume))]
    if ENGINE:
        argv = [*ENGINE.split(), f"-v={SOURCE}:{SOURCE}:ro"]
        argv += [word if ":" in word or word == "-v" else f"{word}:{word}" for word in mounts]
        argv += [f"--workdir={volumes[0]}", *([] if uid is None else ["--user", f"{uid}:{uid}"])]
        argv += ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"] if restricted else []
        return [*argv, *(["--security-opt=seccomp=unconfined"] if perf else []), "localhost/baro-host-root"]
    program = str(beside(binary, "contain"))
    why = refusal((program, "true"))
    if why:
        pytest.skip(why)
    user = [] if uid is None else ["-u", str(uid)]
    return [program, *(["-r"] if restricted else []), *(["-p"] if perf else []), *user, *mounts]


def poll(condition, what="the condition", timeout=PATIENCE, least=0.01):
    """Returns the first value of condition() that is true. Most conditions run baro. The pause is eight times as long
    as they took, so that tests that wait leave the CPUs to others (at twice as long they took a fifth of the CPU time
    of all tests), and `least` seconds."""
    end = time.monotonic() + timeout
    while True:
        began = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            pytest.fail(f"waited {timeout} s for {what}")
        time.sleep(min(max(8 * (now - began), least), 0.4))


def lock_events(path):
    """Opens a file as a recorder has $BARO_EVENTS: with the lock without which `baro mark` writes to no file
    (src/recorder/marks/marks_file.h). The lock lasts until it is closed."""
    file = open(path, "ab")
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 1 << 62, 1, 0))  # F_OFD_SETLK
    return file


# ---- the binary and where it writes ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def baro():
    """Absolute path of the binary, as a string."""
    path = pathlib.Path(os.environ.get("BARO", SOURCE / "build" / "baro")).resolve()
    if not os.access(path, os.X_OK):
        pytest.exit(f"{path}: not there; build it first (make), or say where it is in $BARO", returncode=3)
    return str(path)


def beside(binary, name):
    """Returns the path of a program that the build made for tests (meson.build)."""
    return pathlib.Path(binary).parent / "tests" / "e2e" / name


@pytest.fixture(scope="session", autouse=True)
def within_reach(tmp_path_factory):
    """Lets an ordinary user execute what is in pytest's folders, which only root can enter otherwise. (With
    pytest-xdist there is one folder more.)"""
    base = tmp_path_factory.getbasetemp()
    for place in (base, *base.parents):
        status = place.stat()
        if status.st_uid == os.geteuid() and status.st_mode & 0o077 == 0:
            place.chmod(0o711)


@pytest.fixture
def work():
    """A folder for each test, in which an ordinary user may write, too."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="baro-e2e-"))
    path.chmod(0o1777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tmp_path(work):
    """pytest's own has a parent that each other pytest of this user closes to all others when it begins."""
    path = work / "tmp"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def isolated(work, monkeypatch):
    """Keeps tests away from the user's own runs. A sanitizer report fails the test that caused it, even if it comes
    from a recorder whose stderr is not read."""
    home = work / "home"
    home.mkdir()
    home.chmod(0o1777)
    reports = work / "sanitizer"
    reports.mkdir()
    reports.chmod(0o1777)
    ours = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CI", "JENKINS_URL", "NO_COLOR", "COLUMNS")
    for name in [n for n in os.environ if n.startswith("BARO_") or n in ours]:
        if name not in ("BARO_SANITIZED", "BARO_FULL", "BARO_SLOW", "BARO_NO_BUDGET", "BARO_ANNOUNCED"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)  # of pytest alone
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    if SANITIZED:
        # LeakSanitizer stops its process with ptrace, which is not allowed for a process that isn't dumpable (the
        # wrapper). So leaks are checked only in readers that run() calls, and in the unit tests.
        monkeypatch.setenv("ASAN_OPTIONS", f"detect_leaks=0:log_path={reports}/report")
        monkeypatch.setenv("UBSAN_OPTIONS", f"print_stacktrace=1:log_path={reports}/report")
    yield
    found = sorted(reports.iterdir()) if reports.is_dir() else []
    assert not found, "sanitizer report:\n" + found[0].read_text(errors="replace")[:8000]


@pytest.fixture
def tape(work):
    """A path for a tape that does not exist yet."""
    return work / "t.baro"


# ---- running it ----------------------------------------------------------------------------------------------------


def _drop_to(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


class Facts(dict):
    """An object of `baro summary --json`. facts["cpu_is_lower_bound"]: does one of cpu and cpu_... have that mark? None
    where none of them is known."""

    def __init__(self, values, marks, path):
        super().__init__(values)
        self.marks, self.path = marks, path

    def __missing__(self, name):
        covers, found, mark = name.rpartition("is_")
        if not found or mark not in ("lower_bound", "upper_bound", "estimate"):
            raise KeyError(name)
        known = [k for k, v in self.items() if (k + "_").startswith(covers) and isinstance(v, (int, float))]
        return any(self.marks.get(self.path + k) == mark for k in known) if known else None

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default


def facts_of(found, marks, path):
    if isinstance(found, list):
        return [facts_of(value, marks, f"{path}{i}.") for i, value in enumerate(found)]
    if not isinstance(found, dict):
        return found
    inner = {name: facts_of(value, marks, f"{path}{name}.") for name, value in found.items()}
    return Facts(inner, marks, path)


def tasks_by_name(out):
    """Of `baro summary --by task --json`: each task has its marks."""
    return {t["name"]: Facts({k: v for k, v in t.items() if k != "marks"}, t.get("marks", {}), "") for t in out["tasks"]}


class Runner:
    """Runs the binary, as root or as an ordinary user. Every call has a deadline and leaves no process behind."""

    def __init__(self, binary, work, uid=None):
        self.work = work
        self.uid = uid
        self.built = self.binary = binary
        if uid is not None:
            # That user may have no access to the build folder.
            self.binary = copy_programs(binary, work)

    def popen(self, *args, cgroup=None, before=None, via=(), env=None, **kw):
        """Starts baro. cgroup: a Cgroup to start it in; before: called last in the child; via: a command that executes
        baro and still has our privileges; env: added variables (None removes one)."""
        uid = self.uid
        argv = [self.binary, *map(str, args)]
        if via:
            argv = [*via,
                    *(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid is not None else []),
                    *argv]

        def child():
            if cgroup is not None:
                cgroup.enter()
            if uid is not None:
                _drop_to(uid)
            if before is not None:
                before()

        full = dict(os.environ)
        for name, value in (env or {}).items():
            if value is None:
                full.pop(name, None)
            else:
                full[name] = str(value)
        kw.setdefault("cwd", str(self.work))
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(argv, preexec_fn=None if via else child, env=full, **kw)

    def __call__(self, *args, timeout=120, status=None, text=True, input=None, **kw):
        """Runs baro to its end and returns the CompletedProcess; with status=N any other exit status is a failure."""
        env = dict(kw.pop("env", None) or {})
        if SANITIZED and args and args[0] not in ("run", "record"):
            env.setdefault("ASAN_OPTIONS", os.environ["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1"))
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        if input is not None:
            kw["stdin"] = subprocess.PIPE
        if text:
            kw.setdefault("encoding", "utf-8")
            kw.setdefault("errors", "surrogateescape")
        process = self.popen(*args, env=env, **kw)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"baro {' '.join(map(str, args))}: not done after {timeout} s\n{out}\n{err}")
        if status is not None and process.returncode != status:
            pytest.fail(
                f"baro {' '.join(map(str, args))}: status {process.returncode}, expected {status}\n{out}\n{err}"
            )
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def record(self, tape, argv, *options, status=0, **kw):
        """`baro run -q -o TAPE OPTIONS -- ARGV`; fails if the exit status is not `status`. Returns the tape."""
        if isinstance(argv, str):
            argv = ["sh", "-c", argv]
        self("run", "-q", "-o", tape, *options, "--", *argv, status=status, **kw)
        assert os.path.getsize(tape) > 0
        return tape

    @staticmethod
    def await_end(tape):
        """Waits for the end mark: a recorder that shares a limit with its job may outlast the wrapper. In a folder the
        newest segment has it."""
        tape = pathlib.Path(tape)
        poll(lambda: (sorted(tape.iterdir())[-1] if tape.is_dir() else tape).read_bytes().endswith(b"BAROEND\n"),
             f"the end of {tape}")

    def lost_events(self, tape):
        """Were events lost, as on a busy machine? Then counts are lower bounds, and only then."""
        return any(e["event"] == "lossy" for e in self.export(tape, "event"))

    def instants(self, tape):
        """The times of the samples on a tape, in ns; empty while the tape has no header yet or does not exist."""
        done = self("export", "--format", "jsonl", "--entity", "job", "-c", "t_ns", tape)
        return [json.loads(line)["t_ns"] for line in done.stdout.splitlines()] if done.returncode == 0 else []

    def await_samples(self, tape, n=1):
        """Waits until a running recording has n samples on its tape."""
        poll(lambda: len(self.instants(tape)) >= n, f"{n} samples on {tape}")

    def listens(self, tape):
        """Does a running recording receive events yet? Without the connector it tries perf, which it opens before the
        first sample that is taken 20 ms or more after the start."""
        instants = self.instants(tape)
        if not instants:
            return False
        if self.summary(tape)["accounting"]["event_source"] == "connector":
            return True
        return instants[-1] > 100_000_000 or any(e["event"] == "source" for e in self.export(tape, "event"))

    def record_gated(self, tape, argv, reached, *options, status=0, **kw):
        """Records a command that reads a byte from the FIFO `gate` in its work folder at some point. It gets the byte
        when reached() is true, for example when a value is on the tape, however long that takes on a busy machine."""
        gate = self.work / "gate"
        os.mkfifo(gate)
        gate.chmod(0o666)
        process = self.popen("run", "-q", "-o", tape, *options, "--",
                             *(["sh", "-c", argv] if isinstance(argv, str) else argv), **kw)
        held = os.open(gate, os.O_RDWR)  # opened for both, so that no open(2) blocks
        try:
            poll(lambda: reached() or process.poll() is not None, "what the job waits for")
            assert process.poll() is None, f"it ended before its time, with {process.returncode}"
            os.write(held, b"\n")
            assert process.wait(timeout=120) == status
        finally:
            process.kill()
            process.wait()
            os.close(held)
            gate.unlink()
        return tape

    def summary(self, tape):
        """`baro summary --json` as a dict, whose objects are Facts."""
        found = json.loads(self("summary", "--json", tape, status=0).stdout)
        return facts_of(found, found["marks"], "")

    def export(self, tape, entity="process", *options):
        """`baro export --format jsonl` as a list of dicts."""
        done = self("export", "--format", "jsonl", "--entity", entity, *options, tape, status=0)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def run(baro, work):
    """run("summary", "-v", tape, status=0), run.record(tape, ["make"]), run.summary(tape), run.export(tape),
    run.popen(...)"""
    return Runner(baro, work)


@pytest.fixture
def run_ordinary(baro, work):
    """`run` as a user without privileges: the user of the tests, if that is not root."""
    return Runner(baro, work, uid=ORDINARY if os.geteuid() == 0 else None)


@pytest.fixture(params=["root", "ordinary"])
def run_both(request, baro, work):
    """The test runs twice: as root (skipped if we are not root) and as an ordinary user."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("not root")
    return Runner(baro, work, uid=ORDINARY if request.param == "ordinary" and os.geteuid() == 0 else None)


@pytest.fixture
def sanitized():
    return SANITIZED


# ---- the kernel's count of CPU time ----------------------------------------------------------------------------------


@pytest.fixture
def groups():
    """groups(): a new control group."""
    made = []

    def make():
        for mount in cgroup2_mounts():
            if os.access(mount, os.W_OK):
                group = Cgroup(pathlib.Path(tempfile.mkdtemp(prefix="baro-e2e-", dir=mount)))
                made.append(group)
                if (group.path / "cpu.stat").exists():
                    return group
        pytest.skip("no cgroup v2 that we may make a group in")

    yield make
    for group in made:
        group.remove()


@pytest.fixture
def cgroup(groups):
    """A Cgroup, to be passed to popen/run/record as cgroup=. Truth measures the job alone, without baro."""
    return groups()


@pytest.fixture
def wait_until():
    """poll(), for tests that take it as a fixture."""
    return poll


@pytest.fixture(scope="session")
def ptys():
    """Skips the test if there are no pseudo-terminals, as in a container without devpts."""
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError as no:
        pytest.skip(f"no pseudo-terminal: {no}")


# ---- jobs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def compiled(work):
    """compiled(name, source): path of a program made from C."""

    if not shutil.which("gcc"):
        pytest.skip("no gcc")

    def make(name, source):
        (work / f"{name}.c").write_text(textwrap.dedent(source))
        subprocess.run(["gcc", "-O1", "-pthread", "-o", work / name, work / f"{name}.c"], check=True)
        (work / name).chmod(0o755)
        return str(work / name)

    return make


@pytest.fixture
def cores():
    """The number of CPUs that a job may use, which is two at least."""
    n = len(os.sched_getaffinity(0))
    if n < 2:
        pytest.skip("one CPU")
    return n


@pytest.fixture(params=["events", "scan"])
def source(request, monkeypatch):
    """The test runs twice: with the event sources of this machine, and with scanning only."""
    if request.param == "scan":
        monkeypatch.setenv("BARO_NO_EVENTS", "1")
    return request.param


@pytest.fixture
def started():
    """started(argv): starts a process that is killed when the test ends."""
    all_ = []

    def start(argv, **kw):
        p = subprocess.Popen(argv, **kw)
        all_.append(p)
        return p

    yield start
    for p in all_:
        p.kill()
        p.wait()


@pytest.fixture
def fuse(tmp_path):
    """fuse(): mounts fuse_files.py and returns its process, with `.folder`, `.hang()`, `.hang_reads()`, `.held()` and
    `.resume()`. fuse("EINVAL"): fsync(2) fails with that error. The test is skipped if mounting is not possible."""
    servers = []

    def mount(*options):
        program = pathlib.Path(__file__).with_name("fuse_files.py")
        server = subprocess.Popen([sys.executable, program, tempfile.mkdtemp(dir=tmp_path), *options],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server.folder = server.args[2]
        if server.stdout.readline() != "mounted\n":
            pytest.skip("no FUSE: " + (server.communicate()[1].strip().splitlines() or ["it ended"])[-1])

        def held():
            assert server.stdout.readline() == "held\n"

        def hang():
            server.send_signal(signal.SIGUSR1)
            held()

        server.hang, server.held = hang, held
        server.hang_reads = lambda: server.send_signal(signal.SIGHUP)
        server.resume = lambda: server.send_signal(signal.SIGUSR2)
        servers.append(server)
        return server

    yield mount
    for server in servers:
        server.kill()
        server.wait()
        subprocess.run(["umount", "-l", server.folder], check=False)


@pytest.fixture
def hanging(fuse):
    """A folder on a file system that a test can make hang."""
    return fuse()


class Truth:
    """The kernel's CPU time of the command alone: the command enters a cgroup of its own, below the one in which baro
    runs. An ordinary user may move processes between the two, because both belong to that user.

    The program that enters (enter.c) measures what its process used before, which the cgroup has not counted, right
    before and right after entering. It may be preempted in between, so the truth is an interval, mostly of some 50 us.
    """

    def __init__(self, runner, cgroup):
        self.runner = runner
        self.outer = cgroup
        self.cgroup = Cgroup(cgroup.path / "job")
        self.cgroup.path.mkdir()
        self.is_root = os.geteuid() == 0 and runner.uid is None
        self.slack_ns = SLOW * 5_000_000
        self.note = runner.work / "used-before"
        self.program = runner.work / "enter"  # that user may have no access to the build folder
        shutil.copy(beside(runner.built, "enter"), self.program)
        self.program.chmod(0o755)
        if runner.uid is not None:
            for group in (self.outer, self.cgroup):
                group.path.chmod(0o755)
                os.chown(group.path / "cgroup.procs", runner.uid, runner.uid)

    def entering(self, path=None):
        """The start of a command line that enters the cgroup and executes the rest. path: where it sees the group."""
        return [str(self.program), str(path or self.cgroup.path), str(self.note)]

    def record(self, tape, argv, *options, **kw):
        argv = ["sh", "-c", argv] if isinstance(argv, str) else argv
        return self.runner.record(tape, [*self.entering(), *argv], *options, cgroup=self.outer, **kw)

    def most_ns(self):
        return self.cgroup.usage_ns() + int(self.note.read_text().split()[1])

    def check(self, summary, within=0.001):
        counted = summary["job"]["cpu_ns"]
        least, most = (self.cgroup.usage_ns() + int(used) for used in self.note.read_text().split())
        assert least * (1 - within) - self.slack_ns <= counted <= most * (1 + within) + self.slack_ns, (least, counted,
                                                                                                        most)


@pytest.fixture
def truth(run_both, cgroup):
    return Truth(run_both, cgroup)
