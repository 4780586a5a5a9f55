# SPDX-License-Identifier: Apache-2.0
"""The memory to ask for: about the smallest limit with which a job ends, whatever its processes share or do not map."""
import sys

import pytest

MIB = 1 << 20
FORK = """
import os, sys, time, mmap
def workers(n, work=lambda: None):
    kids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            work(); time.sleep(.8); os._exit(0)
        kids.append(pid)
    for pid in kids: os.waitpid(pid, 0)
"""
SCRIPTS = {
    "forks": "a = bytearray(120 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1\nworkers(4)",
    "shared": "m = mmap.mmap(-1, 120 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\n"
    "workers(4, lambda: [m[i] for i in range(0, len(m), 4096)])",
    "own": "workers(4, lambda: globals().update(b=bytearray(30 << 20)))",
    "tmpfs": "f = open('/dev/shm/baro-test-%d' % os.getpid(), 'wb')\nos.unlink(f.name)\n"
    "for i in range(120): f.write(b'x' * (1 << 20))\nf.flush()\ntime.sleep(.5)",
}


def needed(run, tape, body):
    run("run", "-q", "-o", tape, "--overhead", "off", "--", sys.executable, "-c", FORK + body, status=0)
    return run.summary(tape)


@pytest.mark.not_sanitized("what the sanitizers add to the recorder is not the job's, but it is slow")
@pytest.mark.parametrize("kind", SCRIPTS)
def test_what_a_limit_needs(run, tape, kind):
    """120 MB each time, whoever maps them, and up to 40 MB of five interpreters."""
    limits = needed(run, tape, SCRIPTS[kind])["limits"]
    assert 115 * MIB < limits["memory_peak_bytes"] < 165 * MIB, limits
    assert limits["memory_peak_at_most_bytes"] >= limits["memory_peak_bytes"]
    assert (limits["memory_peak_shared_bytes"] > 115 * MIB) == (kind in ("shared", "tmpfs")), limits


@pytest.mark.not_sanitized("what the sanitizers add to the recorder is not the job's, but it is slow")
@pytest.mark.parametrize("where", ["mmap", "tmpfs"])
@pytest.mark.parametrize("writes", [False, True])
def test_shared_memory_of_workers_counts_once(run, tape, where, writes):
    """Eight workers share 200 MB, and each has 4 MB of its own beside what it shares with its parent. The truth is what
    the kernel says of the parts of all while they wait: the page faults of shared memory are no memory of their own."""
    made = {"mmap": "m = mmap.mmap(-1, 200 << 20)",
            "tmpfs": "f = open('/dev/shm/baro-test-%d' % os.getpid(), 'w+b')\nos.unlink(f.name)\n"
                     "f.truncate(200 << 20)\nm = mmap.mmap(f.fileno(), 200 << 20)"}[where]
    touch = "m[i] = 2" if writes else "m[i]"
    result = run("run", "-q", "-o", tape, "--", sys.executable, "-c", f"""import mmap, os, sys, time
{made}
for i in range(0, len(m), 4096): m[i] = 1
(ready, done), (gate, go) = os.pipe(), os.pipe()
kids = []
for _ in range(8):
    kids.append(os.fork())
    if kids[-1] == 0:
        own = bytearray(4 << 20)
        for i in range(0, len(own), 4096): own[i] = 1
        for i in range(0, len(m), 4096): {touch}
        os.write(done, b"x")
        os.read(gate, 1)
        os._exit(0)
for _ in kids: os.read(ready, 1)
time.sleep(1)
parts = page_tables = 0
for pid in [os.getpid(), *kids]:
    for line in open(f"/proc/{{pid}}/smaps_rollup"):
        parts += int(line.split()[1]) << 10 if line.startswith(("Pss_Anon", "Pss_Shmem")) else 0
    for line in open(f"/proc/{{pid}}/status"):
        page_tables += int(line.split()[1]) << 10 if line.startswith("VmPTE") else 0
print(parts, page_tables)
os.write(go, b"x" * 8)
for pid in kids: os.waitpid(pid, 0)
""", status=0)
    parts, page_tables = map(int, result.stdout.split())
    limits = run.summary(tape)["limits"]
    least, most = limits["memory_peak_bytes"], limits["memory_peak_at_most_bytes"]
    truth = parts + page_tables
    assert least <= 1.03 * truth and most >= 0.97 * truth, (truth, limits)
    assert least >= 0.9 * truth, (truth, limits)


def test_zombies_hold_nothing(run, tape):
    body = "for _ in range(150):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(1.2)"
    summary = needed(run, tape, body)
    assert summary["limits"]["memory_peak_bytes"] < 64 * MIB, summary["limits"]
    advice = next(v for v in summary["verdicts"] if v["rule"] == "right-size")
    assert " needed " in advice["title"] and "--mem=" in advice["advice"], advice
