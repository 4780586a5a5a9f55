#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What many recorders cost on one machine, each with an event source of its own, and with that of an observer.

shared_events.py [--baro build/baro] [--runs 100] [--forks 2000] [--seconds 20] [--cases root,root+observer,...]

Starts that many `baro run` at once. Each records a job that starts its share of --forks processes a second, one after
the other (true, or the program given by --program). Prints for each case the CPU time of the recorders (and wrappers)
per recorder, of the observer, and of the whole machine, and how much of the jobs' CPU time was attributed to processes.
Cases: root, ordinary, root+observer, ordinary+observer, and none (the same jobs without baro). A case takes --seconds
and some seconds more. Only root can run all of them.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

NOBODY = 65534
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # an ordinary user can execute it
JOB = """
import os, sys, time
rate, seconds, program, gate = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
while not os.path.exists(gate): time.sleep(0.02)
begin = due = time.monotonic()
due += (os.getpid() % 100) / 100 / rate
n = 0
while due < begin + seconds:
    time.sleep(max(0, due - time.monotonic()))
    os.waitpid(os.posix_spawn(program, [program], {}), 0)
    n += 1
    due += 1 / rate
print(n)
"""


def drop(user):
    def child():
        if user == "ordinary" and os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)

    return child


def machine_busy():
    """CPU time of the machine, all but idle and waiting, in s."""
    fields = [int(v) for v in open("/proc/stat", encoding="ascii").readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def cpu_of(pid):
    """CPU time of a process and of its ended children, in s."""
    fields = open(f"/proc/{pid}/stat", encoding="latin1").read().rsplit(")", 1)[1].split()
    return sum(int(v) for v in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def on_signal(number, _frame):
    sys.exit(128 + number)


def end(started):
    """Ends what still runs: the recorders end with their jobs, which get the signal from their wrappers."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for p in started:
        if p.poll() is None:
            p.terminate()
    for p in started:
        p.wait()


def start_observer(baro, work, started):
    folder = work / "events"
    folder.mkdir(mode=0o755)
    env = dict(os.environ, BARO_OBSERVER=str(folder / "socket"), HOME=str(work))
    p = subprocess.Popen([baro, "observe", "--dir", work / "observed", "--cgroup", "/no such group"], env=env)
    started.append(p)
    while not (folder / "socket").exists():
        time.sleep(0.01)
    return p, str(folder / "socket")


def run_case(case, o, work, processes):
    user, _, shared = case.partition("+")
    work.mkdir()
    work.chmod(0o1777)
    gate = work / "gate"
    baro = str(o.baro)
    observer, path = start_observer(baro, work, processes) if shared else (None, "")
    env = dict(os.environ, BARO_OBSERVER=path, HOME=str(work))
    job = [PYTHON, "-S", "-c", JOB, str(o.forks / o.runs), str(o.seconds), o.program, str(gate)]
    jobs = []
    for i in range(o.runs):
        argv = job if user == "none" else [baro, "run", "-q", "-o", str(work / f"{i}.baro"), "--", *job]
        jobs.append(subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, preexec_fn=drop(user), cwd=work))
        processes.append(jobs[-1])
    time.sleep(3)
    busy, watched, begin = machine_busy(), cpu_of(observer.pid) if observer else 0, time.monotonic()
    gate.touch()
    time.sleep(o.seconds)
    wall = time.monotonic() - begin
    busy, watched = machine_busy() - busy, cpu_of(observer.pid) - watched if observer else 0
    started = sum(int(p.communicate(timeout=o.seconds * 10 + 60)[0]) for p in jobs)
    if observer:
        observer.send_signal(signal.SIGTERM)
        observer.wait()
    row = {"case": case, "processes a second": started / wall, "machine %": 100 * busy / wall}
    if observer:
        row["observer %"] = 100 * watched / wall
    if user != "none":
        row.update(read_tapes(baro, work, o.runs, started))
    return row


def read_tapes(baro, work, runs, started):
    all_ = []
    for i in range(runs):
        out = subprocess.run([baro, "summary", "--json", work / f"{i}.baro"], capture_output=True, check=True).stdout
        all_.append(json.loads(out))
    ratios = [100 * s["recorder"]["cpu_after_start_ratio"] for s in all_]
    named, kernel = (sum(s["accounting"][k] for s in all_) for k in ("cpu_counted_ns", "cpu_kernel_ns"))
    return {
        "recorder %": statistics.mean(ratios),
        "most %": max(ratios),
        "start ms": statistics.mean(s["recorder"]["cpu_to_start_ns"] for s in all_) / 1e6,
        "named %": 100 * named / kernel,
        "counted": sum(s["job"]["processes_started"] for s in all_) - runs,
        "started": started,
        "lossy": sum(s["job"]["processes_started_is_lower_bound"] for s in all_),
        "source": "/".join(sorted({s["accounting"]["event_source"] or "none" for s in all_})),
    }


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--baro", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1] / "build" / "baro")
    a.add_argument("--runs", type=int, default=100)
    a.add_argument("--forks", type=float, default=2000, help="processes a second in all jobs together")
    a.add_argument("--seconds", type=float, default=20)
    a.add_argument("--program", default="/bin/true")
    a.add_argument("--cases", default="none,root,root+observer,ordinary,ordinary+observer")
    o = a.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix="baro-shared-"))
    base.chmod(0o755)
    for path in o.baro.resolve().parent.glob("*baro*"):  # where an ordinary user can execute it
        if path.is_file():
            shutil.copy(path, base / path.name)
    o.baro = base / o.baro.name
    started = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        for i, case in enumerate(o.cases.split(",")):
            row = run_case(case, o, base / str(i), started)
            print("  ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    finally:
        end(started)
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
