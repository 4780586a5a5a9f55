# SPDX-License-Identifier: Apache-2.0
"""What one observer of many jobs costs, beside a monitor with a thread for each job.

    observe.py JOBS baro|threads [-s SECONDS] [-i INTERVAL] [-- OPTION...]

Makes JOBS control groups of ten processes each, of which one wakes up once a second, and has them watched for SECONDS
(default 30), after a start of at least ten. Prints one line of JSON: the CPU time of the tool and its children as a share of a
core (of its own control group), its memory (PSS), and how many samples of a job it took in a second. OPTIONs go to
baro. threads: a thread for each job that reads its processes with psutil once in each INTERVAL.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import measure

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BARO", HERE.parent / "build/baro")).parent
PROCESSES = 10


def watch_by_threads(pids, interval):
    """As the task observer that barograph replaces: a thread for each task, with psutil objects of its processes; CPU
    time since the previous sample, memory, state and threads of each."""
    counts = [0] * len(pids)
    signal.signal(signal.SIGUSR1, lambda *_: print(sum(counts), flush=True))
    import psutil

    def loop(i):
        root, known, before, history = psutil.Process(pids[i]), {}, {}, []
        while True:
            begin = time.time()
            total = [0.0] * 5
            for p in [root] + root.children(recursive=True):
                p = known.setdefault(p.pid, p)
                with contextlib.suppress(psutil.Error), p.oneshot():
                    times, memory = p.cpu_times(), p.memory_info()
                    used = times.user + times.system
                    total[0] += used - before.get(p.pid, 0)
                    before[p.pid] = used
                    total[1] += memory.rss
                    total[2] += memory.vms
                    total[3] += p.num_threads()
                    total[4] += p.nice()
                    p.status()
            history.append((begin, total))
            del history[:-180]
            counts[i] += 1
            time.sleep(max(0, begin + interval - time.time()))

    for i in range(len(pids)):
        threading.Thread(target=loop, args=(i,), daemon=True).start()
    while True:
        signal.pause()


@contextlib.contextmanager
def jobs(n):
    """n control groups of ten processes; yields the name of the folder that they are in, and their first pids."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="baro-bench-", dir=measure._mount()))
    procs, groups = [], []
    try:
        for i in range(n):
            group = measure.Cgroup(top / f"job-{i:04}")
            group.path.mkdir()
            groups.append(group)
            command = [BUILD / "bench/population", str(PROCESSES - 1), "1", "1000000", "64"]
            procs.append(subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=measure.become(None, group)))
        for p in procs:
            p.stdout.readline()
        (top / "tool").mkdir()
        yield top, [p.pid for p in procs]
    finally:
        for p in procs:
            p.kill()
        for p in procs:
            p.wait()
        for _ in range(200):
            for g in [*(g.path for g in groups), top / "tool", top]:
                with contextlib.suppress(OSError):
                    g.rmdir()
            if not top.exists():
                break
            time.sleep(0.05)


def rate(folder):
    """Returns the samples per job and second, from the tapes themselves; the mean of all jobs."""
    rates = []
    for tape in pathlib.Path(folder).glob("*job-*"):
        said = json.loads(subprocess.run([BUILD / "baro", "summary", "--json", tape], capture_output=True).stdout)
        rates.append(said["recorder"]["samples"] / said["wall_ns"] * 1e9)
    return sum(rates) / len(rates)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("jobs", type=int)
    parser.add_argument("tool", choices=["baro", "threads"])
    parser.add_argument("-s", type=float, default=30, dest="seconds")
    parser.add_argument("-i", default="1s", dest="interval")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    a, options = parser.parse_args(words[:split]), words[split + 1:]
    with jobs(a.jobs) as (top, pids), measure.folder() as folder:
        tool = measure.Cgroup(top / "tool")
        if a.tool == "baro":
            command = [BUILD / "baro", "observe", "--dir", folder, "--cgroup", f"{top}/job-*", "-i", a.interval, *options]
        else:
            command = [sys.executable, __file__, "--watch", a.interval.rstrip("s"), *map(str, pids)]
        p = subprocess.Popen(command, preexec_fn=measure.become(None, tool), stdout=subprocess.PIPE, text=True)
        time.sleep(10 + a.jobs / 20)  # until all jobs have begun
        cpu, begin = tool.cpu_s(), time.monotonic()
        if a.tool == "threads":
            p.send_signal(signal.SIGUSR1)
            n = int(p.stdout.readline())
        time.sleep(a.seconds)
        cpu, wall, memory = tool.cpu_s() - cpu, time.monotonic() - begin, measure.memory_kib(p.pid)
        result = {"jobs": a.jobs, "tool": a.tool, "cpu_percent": round(100 * cpu / wall, 2),
                  "memory_mib": round(memory / 1024, 1)}
        if a.tool == "threads":
            p.send_signal(signal.SIGUSR1)
            result["samples_per_job_s"] = round((int(p.stdout.readline()) - n) / wall / a.jobs, 3)
        p.send_signal(signal.SIGTERM)
        p.wait()
        if a.tool == "baro":
            result["samples_per_job_s"] = round(rate(folder), 3)
            result["tapes_mib"] = round(sum(f.stat().st_size for f in folder.rglob("*.baro") if f.is_file()) / 2**20, 1)
        print(json.dumps(result))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch_by_threads([int(p) for p in sys.argv[3:]], float(sys.argv[2]))
    main()
