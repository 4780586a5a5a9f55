# SPDX-License-Identifier: Apache-2.0
"""What one observer of many jobs costs, beside a monitor with a thread for each job.

    observe.py [-j 10,100,1000] [-t off,base,budget,threads,tasks,record] [-s SECONDS] [-i INTERVAL] [-n PROCESSES]
               [-w WAKING] [-b BUSY] [-- OPTION...]

A job is a control group of PROCESSES processes (default 10). In a share of the jobs (BUSY, default 1), WAKING of them
(default 1) wake up once a second; all others sleep. For each number of jobs, the tools watch the same groups one after
the other:

    off      baro observe --overhead off, with a sample each INTERVAL (default 1 s)
    base     the same with the program that the environment names in BARO_BASE, to compare two versions
    budget   the same within the default budget
    threads  a thread for each job that reads its processes with psutil once in each INTERVAL
    tasks    as off, with a task file for each job instead, which has one rule: a regular expression for its commands
    record   baro record --task with the first of these files alone

Each is measured for some seconds after all jobs have begun: its CPU time as a share of a core (of its own control
group, children included), its memory (PSS), and how many samples of a job it took in a second. SECONDS is for all of
it together (default 140), the making of the groups included. At the end a table is printed. OPTIONs go to baro.

Needs root, cgroup v2, a C compiler (as `make` does), and psutil for the threads. The groups are made next to each other
in a new group at the top of the hierarchy, so that no limit of the group that this runs in applies.
"""

import argparse
import contextlib
import json
import mmap
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import threading
import time

import measure

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BARO", HERE.parent / "build/baro")).resolve().parent
BASE = os.environ.get("BARO_BASE")
TOOLS = {"off": "baro observe --overhead off", "base": "that of BARO_BASE", "budget": "baro observe", "threads": "a thread for each job",
         "tasks": "baro observe --tasks --overhead off", "record": "baro record --task, one job"}
WARM_S, WINDOW_LEAST_S, WINDOW_MOST_S = 4, 4, 20
TAPES_MOST = 20  # whose samples are counted


# ---- the monitor that is compared with ----


def watch_by_threads(path, pids, interval):
    """As the task observer that barograph replaces: a thread for each task, with psutil objects of its processes; CPU
    time since the previous sample, memory, state and threads of each. Counts its samples in a file."""
    import psutil

    with open(path, "r+b") as f:
        counts = memoryview(mmap.mmap(f.fileno(), 8 * len(pids))).cast("Q")

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
    threading.Event().wait()


def counted(path):
    return sum(memoryview(path.read_bytes()).cast("Q"))


# ---- the groups ----


def new_group():
    """A group at the top of a hierarchy of version 2, with the controllers that groups there have."""
    error = "there is no cgroup v2"
    for line in open("/proc/mounts"):
        if line.split()[2] != "cgroup2":
            continue
        try:
            top = pathlib.Path(tempfile.mkdtemp(prefix="baro-bench-", dir=line.split()[1]))
        except OSError as e:
            error = str(e)
            continue
        for controller in (top / "cgroup.controllers").read_text().split():
            if controller in ("cpu", "io", "memory", "pids"):
                with contextlib.suppress(OSError):
                    (top / "cgroup.subtree_control").write_text(f"+{controller}")
        return top
    sys.exit(f"observe.py: no control group can be made: {error}")


def remove(groups):
    for _ in range(400):
        for g in groups:
            with contextlib.suppress(OSError):
                g.rmdir()
        if not groups[-1].exists():
            return
        time.sleep(0.05)
    print(f"observe.py: {groups[-1]} can't be removed", file=sys.stderr)


@contextlib.contextmanager
def jobs(n, a):
    """n control groups with processes; yields the group that they are in, and their first pids."""
    top = new_group()
    procs, groups = [], []
    try:
        for i in range(n):
            group = measure.Cgroup(top / f"job-{i:04}")
            group.path.mkdir()
            groups.append(group)
            waking = a.waking if (i + 1) * a.busy // 1 > i * a.busy // 1 else 0
            command = [f"population-{i:04}", str(a.processes - 1), str(waking), "1000000", "64"]
            procs.append(
                subprocess.Popen(
                    command,
                    executable=BUILD / "bench/population",
                    stdout=subprocess.PIPE,
                    preexec_fn=measure.become(None, group),
                )
            )
        for p in procs:
            p.stdout.readline()
        yield top, [p.pid for p in procs]
    finally:
        for p in procs:
            p.kill()
        for p in procs:
            p.wait()
            p.stdout.close()
        remove([*(g.path for g in groups), top])


# ---- one measurement ----


def samples_of(tapes):
    """All samples so far on these tapes."""
    n = 0
    for tape in tapes:
        said = subprocess.run([BUILD / "baro", "summary", "--json", tape], capture_output=True).stdout
        with contextlib.suppress(ValueError, KeyError, TypeError):
            n += json.loads(said)["recorder"]["samples"]
    return n


def some_tapes(folder):
    tapes = sorted(folder.glob("*job-*.baro"))
    return tapes[:: max(1, len(tapes) // TAPES_MOST)]


def command_of(tool, top, pids, folder, a):
    if tool == "threads":
        (folder / "counts").write_bytes(bytes(8 * len(pids)))
        return [sys.executable, __file__, "--watch", folder / "counts", str(a.interval), *map(str, pids)]
    if tool in ("tasks", "record"):
        files = folder / "files"
        files.mkdir()
        for i in range(len(pids)):
            (files / f"job-{i:04}.yaml").write_text(f"tasks: {{all: {{match: '^population-{i:04} '}}}}\n")
        what = ["--tasks", files, "--dir", folder] if tool == "tasks" else \
               ["-q", "--tasks", files / "job-0000.yaml", "-o", folder / "job-0000.baro"]
    else:
        what = ["--dir", folder, "--cgroup", f"{top}/job-*"]
    command = [BASE if tool == "base" else BUILD / "baro", "record" if tool == "record" else "observe", *what, "-i", f"{a.interval:g}s"]
    return [*command, *(["--overhead", "off"] if tool != "budget" else []), *a.options]


def measured(tool, top, pids, until, a):
    tool_group = measure.Cgroup(top / tool)
    tool_group.path.mkdir()
    with measure.folder() as folder:
        expected = 1 if tool == "record" else len(pids)
        p = subprocess.Popen(command_of(tool, top, pids, folder, a), preexec_fn=measure.become(None, tool_group))
        try:
            late = time.monotonic() + expected / 50
            while tool != "threads" and time.monotonic() < late and len(list(folder.glob("*job-*.baro"))) < expected:
                time.sleep(0.2)
            time.sleep(WARM_S)
            tapes = some_tapes(folder)
            count = (lambda: counted(folder / "counts")) if tool == "threads" else lambda: samples_of(tapes)
            n, since = count(), time.monotonic()
            cpu, begin = tool_group.cpu_s(), time.monotonic()
            time.sleep(min(WINDOW_MOST_S, max(WINDOW_LEAST_S, until - begin)))
            cpu, wall = tool_group.cpu_s() - cpu, time.monotonic() - begin
            if p.poll() is not None:
                return {"error": f"ended with status {p.returncode}"}
            of = len(pids) if tool == "threads" else len(tapes)
            result = {"cpu": 100 * cpu / wall, "memory": measure.memory_kib(p.pid) / 1024, "watched": len(pids),
                      "rate": (count() - n) / (time.monotonic() - since) / max(of, 1)}
            if tool != "threads":
                result["watched"] = len(list(folder.glob("*job-*.baro")))
        finally:
            p.terminate()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
            remove([tool_group.path])
    return result


# ---- all of them ----


def print_table(rows, a):
    print(f"\n{os.cpu_count()} CPUs, Linux {platform.release()}, {a.processes} processes in a job, an interval of "
          f"{a.interval:g} s; CPU in % of a core\n")
    print("| jobs | tool | jobs watched | CPU | CPU for a process and second | memory | for a job | samples of a job in a second |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for n, tool, r in rows:
        words = f"{r['watched']:,} | {r['cpu']:.2f} % | {r['cpu'] * 1e4 / n / a.processes:.2f} µs | " \
                f"{r['memory']:.1f} MiB | {r['memory'] * 1024 / n:.0f} KiB | {r['rate']:.3f}" if "cpu" in r else \
                f"| | | | | {r['error']}"
        print(f"| {n:,} | {TOOLS[tool]} | {words} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-j", default="10,100,1000", dest="jobs", help="how many jobs, such as 10,100")
    parser.add_argument(
        "-t", default="off,budget,threads", dest="tools", help="some of off,base,budget,threads,tasks,record"
    )
    parser.add_argument("-s", type=float, default=140, dest="seconds", help="for all of it")
    parser.add_argument("-i", type=float, default=1, dest="interval", help="in seconds")
    parser.add_argument("-n", type=int, default=10, dest="processes", help="in each job, at least 2")
    parser.add_argument("-w", type=int, default=1, dest="waking", help="processes of a job that wake up")
    parser.add_argument("-b", type=float, default=1, dest="busy", help="the share of jobs in which they do")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    a = parser.parse_args(words[:split])
    a.options, a.jobs, a.tools = words[split + 1:], [int(n) for n in a.jobs.split(",")], a.tools.split(",")
    if not set(a.tools) <= set(TOOLS) or a.processes < 2 or min(a.jobs) < 1:
        parser.error("see the beginning of this file")
    return a


def main():
    a = arguments()
    if os.geteuid() != 0:
        sys.exit("observe.py: needs root")
    if not (BUILD / "baro").exists():
        sys.exit(f"observe.py: {BUILD}/baro is not there: run make, or set BARO")
    if not (BUILD / "bench/population").exists():
        (BUILD / "bench").mkdir(exist_ok=True)
        subprocess.run(["cc", "-O2", "-o", BUILD / "bench/population", HERE / "population.c"], check=True)
    if "threads" in a.tools and subprocess.run([sys.executable, "-c", "import psutil"], capture_output=True).returncode:
        print("observe.py: without psutil there is nothing to compare with", file=sys.stderr)
        a.tools.remove("threads")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a pipe for each job
    end, left, rows = time.monotonic() + a.seconds, len(a.jobs) * len(a.tools), []
    for n in a.jobs:
        with jobs(n, a) as (top, pids):
            for tool in a.tools:
                share = (end - time.monotonic() - sum(a.jobs) / 150) / left  # the rest: to end, and to count samples
                r = measured(tool, top, pids, time.monotonic() + share, a)
                rows.append((n, tool, r))
                left -= 1
                print(json.dumps({"jobs": n, "tool": tool, **r}), file=sys.stderr, flush=True)
    print_table(rows, a)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch_by_threads(sys.argv[2], [int(p) for p in sys.argv[4:]], float(sys.argv[3]))
    else:
        main()
