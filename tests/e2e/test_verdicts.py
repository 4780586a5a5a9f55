# SPDX-License-Identifier: Apache-2.0
"""Jobs with one problem each: the rule for that problem makes its verdict, and no other rule makes one.

Each runs in a control group of its own that has precedence over the rest of the machine where that is possible, so that
the job behaves as intended on a busy machine, too. Verdicts that a busy machine causes are allowed as well:
OF_THE_MACHINE. Each verdict has sizes and advice.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import textwrap
import threading

import pytest
from control_group import Cgroup, cgroup2_mounts
from jobs import PYTHON, script

pytestmark = pytest.mark.not_sanitized(
    "what a recorder with sanitizers takes of CPU and memory is a verdict of its own"
)

OF_THE_MACHINE = {"cpu-neighbour", "cpu-steal"}
ALWAYS = {"right-size", "dominates"}
BURN = "import time\nend = time.monotonic() + {0}\nwhile time.monotonic() < end: pass\n"
BURNS = """
    import os, struct, sys, time
    def burn(n, seconds): # in n processes, which begin and end together also where a fork takes long
        children, (r, w) = [], os.pipe()
        for _ in range(n):
            child = os.fork()
            if not child:
                end, = struct.unpack("d", os.read(r, 8))
                while time.monotonic() < end: pass
                os._exit(0)
            children.append(child)
        os.write(w, n * struct.pack("d", time.monotonic() + seconds))
        for child in children: os.waitpid(child, 0)
"""


def burning(text):
    return script(textwrap.dedent(BURNS) + text)


# ---- control groups --------------------------------------------------------------------------------------------------


class Groups:
    """The control groups that a workload runs in: `set("memory", v1=("memory.limit_in_bytes", ...), v2=("memory.max", ...))`."""

    def __init__(self):
        self.made = {}

    @staticmethod
    def _mount(controller):
        with open("/proc/mounts", encoding="ascii") as mounts:
            for words in map(str.split, mounts):
                if words[2] == "cgroup" and controller in words[3].split(","):
                    return pathlib.Path(words[1]), 1
        for mount in cgroup2_mounts():
            if controller in (pathlib.Path(mount) / "cgroup.subtree_control").read_text().split():
                return pathlib.Path(mount), 2
        return None, 0

    def group(self, controller):
        """Returns the group and its version; None if none is available."""
        mount, version = self._mount(controller)
        if mount is None or not os.access(mount, os.W_OK):
            return None, 0
        if mount not in self.made:
            try:
                self.made[mount] = Cgroup(tempfile.mkdtemp(prefix="baro-e2e-", dir=mount))
            except OSError:
                return None, 0
        return self.made[mount], version

    def set(self, controller, v1, v2, needed=True):
        group, version = self.group(
            {"io": "blkio"}.get(controller, controller) if self._mount("blkio")[0] else controller
        )
        name, value = v1 if version == 1 else v2
        if group is None or not (group.path / name).exists():
            if needed:
                pytest.skip(f"no control group with {controller} that we may make")
            return
        group.write(name, value)

    def enter(self):
        for group in self.made.values():
            group.enter()

    def remove(self):
        for group in self.made.values():
            group.remove()


@pytest.fixture
def groups():
    found = Groups()
    if os.geteuid() == 0:
        found.set("cpu", ("cpu.shares", 262144), ("cpu.weight", 10000), needed=False)
    yield found
    found.remove()


@pytest.fixture
def verdicts(run, tape, groups):
    """verdicts(argv, status=0): runs the job and returns its verdicts by rule."""

    def judge(argv, *options, status=0, **kw):
        run("run", "-q", "--overhead", "off", "-o", tape, *options, "--", *argv, before=groups.enter, status=status, **kw)
        run.await_end(tape)
        return {v["rule"]: v for v in run.summary(tape)["verdicts"]}

    return judge


def has_enough(run, tape):
    """A job with fewer than ten samples gets no verdict on its use of the machine. Where there are many CPUs and
    processes, the budget of a short job is used up before."""
    return len(run.instants(tape)) >= 10


def check(found, *expected):
    said = {name: v["title"] for name, v in found.items()}
    made = set(found) - ALWAYS - (OF_THE_MACHINE - set(expected))
    if "waited for storage" in said.get("serial-tail", ""):  # the disk is busy with others
        made -= {"serial-tail"} - set(expected)
    if made != set(expected) and "cpu-neighbour" in set(found) - set(expected):
        pytest.skip(f"the job had no precedence: {found['cpu-neighbour']['title']}")
    assert made == set(expected), said
    for v in found.values():
        assert v["title"].endswith(".") and v["evidence"]
        assert v["begin_ns"] <= v["end_ns"]


# ---- healthy jobs ----------------------------------------------------------------------------------------------------


def test_healthy(verdicts, run, tape):
    """As many busy processes as there are cores."""
    found = verdicts(burning(f"burn({len(os.sched_getaffinity(0))}, 1.7)"))
    check(found)
    assert not has_enough(run, tape) or "Next time ask for" in found["right-size"]["advice"]


def test_idle(run, tape, groups):
    """A job that waits until there are enough samples of it."""

    def is_long_enough():
        instants = run.instants(tape)
        return len(instants) >= 12 and instants[-1] >= 2e9

    run.record_gated(tape, "read line <gate", is_long_enough, before=groups.enter)
    run.await_end(tape)
    check({v["rule"]: v for v in run.summary(tape)["verdicts"]}, "idle")


# ---- CPU -------------------------------------------------------------------------------------------------------------


def test_few_cores(verdicts, run, tape):
    """If other jobs had more than a fifth of the machine's cores, this job did not keep all of them busy."""
    n = len(os.sched_getaffinity(0))
    found = verdicts(burning(f"burn({4 * n}, 1.7)"))
    kept_busy = has_enough(run, tape) and run.summary(tape)["job"]["cores_mean"] >= 0.8 * n
    check(found, *(["few-cores"] if kept_busy else []))
    if kept_busy and n == os.cpu_count():
        assert found["few-cores"]["advice"].startswith(f"Start at most {n} thread")


NEIGHBOURS = """
import os, signal, time
signal.sigwait({{signal.SIGUSR1}})
for _ in range({0} - 1):
    if not os.fork(): break
end = time.monotonic() + 30
while time.monotonic() < end: pass
"""


def test_neighbour(verdicts, groups, started, cores):
    """The job starts and ends its neighbours: they have precedence over this process, too, which would take long. It
    does so by signals, as a file takes its time on a busy disk."""

    def enter():
        groups.enter()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})

    pid = started([PYTHON, "-S", "-c", NEIGHBOURS.format(3 * cores)], preexec_fn=enter, start_new_session=True).pid
    found = verdicts(burning(f"import signal\nos.kill({pid}, signal.SIGUSR1)\nburn({cores}, 1.7)\nos.killpg({pid}, 9)"))
    check(found, "cpu-neighbour")


# ---- memory ----------------------------------------------------------------------------------------------------------


def limit_memory(groups, mb):
    groups.set("memory", ("memory.limit_in_bytes", mb << 20), ("memory.max", mb << 20))


ONE_CORE = [PYTHON, "-S", "-c", BURN.format(1.7)]
NEAR_LIMIT = """
    import time
    x = bytearray(89 << 20)
    for _ in range(20): # it also works: a job that only sleeps is idle
        end = time.monotonic() + 0.05
        while time.monotonic() < end: pass
        time.sleep(0.05)"""
GROWING = """
    import time
    kept, begin = [], time.monotonic()
    while time.monotonic() < begin + 2.5:
        kept.append(bytearray(2 << 20))
        end = time.monotonic() + 0.015
        while time.monotonic() < end: pass
        time.sleep(0.015)"""
FORKING = """
    import os, time
    while time.process_time() < 0.3: pass
    refused, children = 0, []
    for _ in range(30):
        try:
            pid = os.fork()
        except OSError:
            refused += 1
            continue
        if not pid:
            time.sleep(0.5)
            os._exit(0)
        children.append(pid)
    for pid in children: os.waitpid(pid, 0)
    assert refused"""
# The job, the limit of its control group, its status, the rule that makes a verdict, and words of that.
JOBS = {
    "one-core": (ONE_CORE, None, 0, "one-core", ""),
    "cpu-quota": (ONE_CORE, ("cpu", ("cpu.cfs_quota_us", 40000), ("cpu.max", "40000 100000")), 0, "cpu-quota",
                  "the quota is 0.40 cores"),
    "serial-tail": (lambda n: burning(f"burn({n}, 1.5)\nburn(1, 1.4)"), None, 0, "serial-tail", "it waited for "),
    "sleeps-at-its-end": (lambda n: burning(f"burn({n}, 1.5)\nfor _ in range(90): time.sleep(0.015)"), None, 0, None, ""),
    "serial-start": (lambda n: burning(f"burn(1, 1.4)\nburn({n}, 1.5)"), None, 0, "slow-start", ""),
    "slow-start": (lambda n: burning(f"time.sleep(1.4)\nburn({n}, 1.5)"), None, 0, "slow-start", "did next to nothing"),
    "near-limit": (script(NEAR_LIMIT), ("memory", ("memory.limit_in_bytes", 100 << 20), ("memory.max", 100 << 20)), 0,
                   "memory-near-limit", ""),
    "pids-limit": (script(FORKING), ("pids", ("pids.max", 12), ("pids.max", 12)), 0, "pids-limit", ""),
    "short": (["true"], None, 0, None, ""),
    "killed": (["sh", "-c", "ulimit -c 0; kill -SEGV $$"], None, -signal.SIGSEGV, "killed", "SIGSEGV ended it after"),
    "failed": (["sh", "-c", "no-such-command-here 2>/dev/null"], None, 127, "failed", "was not found"),
}
SLOW = {"sleeps-at-its-end", "serial-start"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in JOBS])
def test_job(verdicts, groups, cores, name):
    job, limit, status, rule, words = JOBS[name]
    if limit:
        groups.set(*limit)
    found = verdicts(job(cores) if callable(job) else job, status=status)
    check(found, *[rule][: bool(rule)])
    assert not rule or words in found[rule]["title"] + (found[rule]["advice"] or "")
    assert rule != "serial-tail" or found[rule]["begin_ns"] > 0
    assert name != "short" or found == {}


def test_a_tail_names_its_step(verdicts, work):
    """The last of three steps began when the others had ended; it might have begun with them."""
    (work / "burn.py").write_text("import sys, time\nt = time.thread_time()\n"
                                  "while time.thread_time() - t < float(sys.argv[1]): pass\n")
    steps = f"cd {work}; for i in 1 2; do python3 burn.py 0.8 & done; wait; python3 burn.py 1.6"
    found = verdicts(["sh", "-c", steps])
    if "serial-tail" not in found:
        pytest.skip("the machine was too busy for a tail")
    tail = found["serial-tail"]
    assert "it waited for python3 burn.py 1.6, " in tail["title"]
    evidence = {e["name"]: e["value"] for e in tail["evidence"]}
    if evidence.get("saving_ns") is not None:  # not where others held it up, too
        assert "Starting python3 burn.py 1.6 first" in tail["advice"]
        assert 0 < evidence["saving_ns"] <= evidence["step_ns"]


def test_growth_of_a_short_job_is_a_note(verdicts):
    """It may fill its memory once. On a busy machine it grows by steps, of which nothing is said."""
    found = verdicts(script(GROWING))
    leak = found.pop("leak", None)
    check(found)
    assert not leak or (leak["weight"] == "note" and not leak["advice"] and "grew steadily to its end" in leak["title"])


def test_oom(verdicts, groups):
    limit_memory(groups, 48)
    found = verdicts(script("import time\ntime.sleep(0.25)\nx = bytearray(200 << 20)"), status=-signal.SIGKILL)
    found.pop("idle", None)  # on a busy machine the kernel takes a second to kill it
    check(found, "oom")


REREAD = """
    import mmap, sys, time
    with open(sys.argv[1], "rb") as f:
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    m.madvise(mmap.MADV_RANDOM)
    begin, passes, sum = time.monotonic(), 0, 0
    while passes < 4 or time.monotonic() < begin + 1.5:
        passes += 1
        for at in range(0, len(m), 4096): sum += m[at]
"""


@pytest.fixture
def on_disk(work):
    """Files of a tmpfs are memory: they are neither dropped from the page cache nor read again."""
    done = subprocess.run(["stat", "-f", "-c", "%T", work], stdout=subprocess.PIPE, text=True, check=True)
    if done.stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip(f"{work} is on a tmpfs")


@pytest.fixture
def large_file(work, on_disk):
    path = work / "large"
    with open(path, "wb") as f:
        for _ in range(32):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def test_memory_limit(run, tape, verdicts, groups, on_disk):
    """The memory that it holds leaves next to no room for what it writes."""
    limit_memory(groups, 64)
    found = verdicts(script("""
        import os, time
        x, part, n = bytearray(52 << 20), bytes(1 << 20), 0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            n += 1
            with open("out", "wb") as f:
                for _ in range(40): f.write(part)
            for at in range(0, len(x), 4096): x[at] = n & 255
        os.unlink("out")"""), status=None)
    if "oom" in found:  # a v1 group does not slow a writer down to what the disk takes
        pytest.skip(f"the disk is busy: {found['oom']['title']}")
    assert run.summary(tape)["exit"]["status"] == 0
    check(found, "memory-limit")


def test_page_cache(verdicts, groups, large_file):
    """It reads a file that does not fit into the rest of the limit, over and over."""
    limit_memory(groups, 24)
    check(verdicts([*script(REREAD), large_file]), "page-cache")


@pytest.fixture
def swap():
    """Swap space in compressed memory, for as long as the test runs."""
    device = pathlib.Path("/sys/block/zram0")
    if os.geteuid() != 0 or not device.exists() or not shutil.which("mkswap"):
        pytest.skip("no zram")
    if int((device / "disksize").read_text()):
        pytest.skip("zram is in use")
    (device / "disksize").write_text(str(256 << 20))
    subprocess.run(["mkswap", "/dev/zram0"], check=True, capture_output=True)
    on = subprocess.run(["swapon", "/dev/zram0"], capture_output=True)
    if on.returncode == 0:
        yield
        subprocess.run(["swapoff", "/dev/zram0"], check=False)
    (device / "reset").write_text("1")
    if on.returncode:
        pytest.skip("can't swap here")


@pytest.mark.slow
@pytest.mark.alone
def test_swap(verdicts, groups, swap):
    limit_memory(groups, 64)
    check(verdicts(script("""
        import time
        x, n, end = bytearray(120 << 20), 0, time.monotonic() + 3
        while time.monotonic() < end:
            n += 1
            for at in range(0, len(x), 4096): x[at] = n & 255""")), "swap")


# ---- what a job waits for --------------------------------------------------------------------------------------------


def disk_of(path):
    """Returns MAJOR:MINOR of the disk that a folder is on."""
    device = os.stat(path).st_dev
    node = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not node.exists():
        pytest.skip("not on a disk")
    if (node / "partition").exists():
        return (node.resolve().parent / "dev").read_text().strip()
    return f"{os.major(device)}:{os.minor(device)}"


@pytest.mark.parametrize("cgroup", ["none", pytest.param("own", marks=pytest.mark.slow)])
def test_slow_disk(verdicts, groups, work, cgroup):
    """Detected by the state of its processes; in a control group of its own by the pressure there."""
    disk = disk_of(work)
    groups.set("io", ("blkio.throttle.write_bps_device", f"{disk} 4000000"), ("io.max", f"{disk} wbps=4000000"))
    found = verdicts(["dd", "if=/dev/zero", f"of={work}/f", "bs=1M", "count=10", "oflag=direct"], "--cgroup", cgroup,
                     stderr=subprocess.DEVNULL)
    check(found, "io-wait")
    source = {e["name"]: e["text"] for e in found["io-wait"]["evidence"]}["source"]
    assert ("control group" in source) == (cgroup == "own")


LOCK = """
    #include <pthread.h>
    #include <time.h>
    #include <unistd.h>
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static volatile unsigned long done;
    static time_t end;
    static void *work(void *arg)
    {
        (void)arg;
        while (time(NULL) < end) {
            pthread_mutex_lock(&lock);
            for (int i = 0; i < 2000; i++)
                done++;
            usleep(20);
            pthread_mutex_unlock(&lock);
        }
        return NULL;
    }
    int main(void)
    {
        pthread_t thread[8];
        end = time(NULL) + 4;
        for (int i = 0; i < 8; i++)
            pthread_create(&thread[i], NULL, work, NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(thread[i], NULL);
        return 0;
    }
"""


def test_lock_contention(verdicts, compiled, cores):
    found = verdicts([compiled("locking", LOCK)])
    check(found, "lock-contention")
    assert "locking" in found["lock-contention"]["title"]


FORKS = """
    #include <pthread.h>
    #include <signal.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void *work(void *arg)
    {
        sleep(1000);
        return arg;
    }
    int main(void)
    {
        pthread_t thread;
        signal(SIGALRM, _exit);
        alarm(2);
        pthread_create(&thread, NULL, work, NULL);
        for (;;)
            if (vfork() == 0)
                _exit(0);
            else
                wait(NULL);
    }
"""


def test_waiting_for_children_is_no_lock(verdicts, compiled):
    assert "lock-contention" not in verdicts([compiled("forking", FORKS)], status=signal.SIGALRM)


@pytest.fixture
def slow_server():
    """Sends a byte fifty times a second to each client."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve():
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                while not over.wait(0.02):
                    connection.sendall(b"x")

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    over.set()
    listener.close()
    thread.join()


def test_network(verdicts, slow_server):
    check(verdicts(script(f"""
        import socket
        with socket.create_connection(("127.0.0.1", {slow_server})) as s:
            for _ in range(200): s.recv(1)""")), "network-wait")


# ---- processes, and the end of jobs ----------------------------------------------------------------------------------


def test_many_processes(verdicts):
    true = shutil.which("true")
    found = verdicts(["sh", "-c", f"i=0; while [ $i -lt 800 ]; do {true}; i=$((i+1)); done"])
    assert "many-processes" in found
    check({k: v for k, v in found.items() if k != "one-core"}, "many-processes")


LONG = "i=0; while [ $i -lt 99999999 ]; do i=$((i+1)); done"


@pytest.mark.parametrize("limit, job, status, cause", [
    ("-t 1", LONG, -signal.SIGKILL, "used up its limit of CPU time, 1.00 s (RLIMIT_CPU"),
    ("-t 1", f"({LONG}); exit 3", 3, "used up its limit of CPU time, 1.00 s (RLIMIT_CPU"),
    ("-t 9", "sleep 0.1; kill -9 $$", -signal.SIGKILL, "somebody else sent it"),
    ("-f 1", "exec head -c 99999 /dev/zero >file", -signal.SIGXFSZ, "limit of its size (RLIMIT_FSIZE, `ulimit -f`)"),
    ("-f 1", "head -c 99999 /dev/zero >file; exit $?", 153, "limit of its size (RLIMIT_FSIZE, `ulimit -f`)"),
])
def test_limit_of_a_process(verdicts, limit, job, status, cause):
    found = verdicts(["sh", "-c", f"ulimit -c 0; ulimit {limit}; {job}"], status=status)
    assert cause in found["failed" if status > 0 else "killed"]["title"]


def test_client(verdicts, compiled):
    docker = compiled("docker", "int main(void) { return 0; }")
    check(verdicts([docker, "run", "image"]), "client")
    assert verdicts([docker, "ps"], "--force") == {}


# ---- phases ----------------------------------------------------------------------------------------------------------


def test_short_phases_of_one_name(verdicts, cores):
    """None of the epochs is a tenth of the time; together they are a half, and use one core."""
    found = verdicts(
        script("""
        import json, os, time
        def event(**line):
            with open(os.environ["BARO_EVENTS"], "a") as f:
                f.write(json.dumps({**line, "monotonic_ns": time.monotonic_ns()}) + "\\n")
        for _ in range(20):
            event(begin="epoch")
            end = time.process_time() + 0.1
            while time.process_time() < end: pass
            event(end="epoch")
            time.sleep(0.1)
    """),
        "--overhead",
        "50%",
    )
    check(found, "one-core")
    assert found["one-core"]["phase"] == "epoch"
    assert "all 20 phases of this name together" in found["one-core"]["advice"]
