#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table: what baro costs and how accurate it is, compared with other tools, on the same work in the same run.

    bench/table.py [--build FOLDER] [--rounds N] [--markdown FILE] [QUESTION...]

Needs root, for cgroups. The cgroup's count and wait4 are the truth. Medians; nothing is asserted. Nothing else should
run meanwhile.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import measure
from measure import median, popen, run
from tools import PYTHON, Baro, HostFloor, Psutil, host_watchers, machine, wait_ready, watchers

HERE = pathlib.Path(__file__).resolve().parent
ROWS = []
QUESTIONS = {}


def question(f):
    QUESTIONS[f.__name__] = f
    return f


def say(what, who, value, note=""):
    ROWS.append((what, who, value, note))
    print(f"  {who:24} {value:32} {note}", flush=True)


def head(text):
    print(f"\n{text}", flush=True)
    measure.quiet()


class Bench:
    def __init__(self, build, rounds):
        self.baro = str(build / "baro")
        self.work = str(build / "bench" / "work")
        self.population = str(build / "bench" / "population")
        self.build = build
        self.rounds = rounds

    @contextlib.contextmanager
    def people(self, n, busy, period_us=100000):
        p = popen([self.population, n, busy, period_us], stdout=subprocess.PIPE, text=True)
        wait_ready(p)
        try:
            yield p.pid
        finally:
            p.kill()
            p.wait()
            time.sleep(0.5)

    def recorded(self, argv, uid=None, interval="1s", options=()):
        """Runs argv under baro, both in cgroups of their own. Returns (summary, CPU of the job, wall)."""
        with measure.cgroup(for_everybody=True) as groups, measure.folder() as folder:
            own = folder / "baro"
            shutil.copy(self.baro, own)
            inner = ["sh", "-c", f'echo 0 > {groups.job.path}/cgroup.procs; exec "$@"', "sh", *map(str, argv)]
            begin = time.monotonic()
            run(
                [own, "run", "-q", "-i", interval, *options, "-o", folder / "t.baro", "--", *inner],
                uid,
                groups.tool,
                cwd=folder,
                stdout=subprocess.DEVNULL,
            )
            wall = time.monotonic() - begin
            return Baro(self.baro).summary(folder / "t.baro"), groups.job.cpu_s(), wall


# ---- accuracy --------------------------------------------------------------------------------------------------------


def make_compile_tree(folder, n=150):
    for i in range(n):
        (folder / f"f{i}.c").write_text(f"#include <stdio.h>\nint f{i}(int x) {{ return printf(\"%d\", x * {i}); }}\n")
    (folder / "Makefile").write_text("OBJ := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJ)\nclean:\n\trm -f *.o\n")


def peers_count(bench, what, argv, cpu_of):
    for tool in (Psutil("psutil"), Psutil("proc")):
        if not tool.there():
            say(what, tool.name, "not installed")
            continue
        with measure.cgroup() as groups, measure.folder() as folder:
            p = popen(argv, None, groups.job, stdout=subprocess.DEVNULL)
            tool.start(p.pid, 1, folder)
            p.wait()
            time.sleep(0.2)
            tool.stop()
            say(what, tool.name, f"{cpu_of(tool.said()) / groups.job.cpu_s():.1%} of the cgroup's count")


def counted(bench, what, argv):
    for who, uid in (("baro, ordinary user", measure.NOBODY), ("baro, root", None)):
        ratios, named = [], []
        for _ in range(bench.rounds):
            s, truth, _ = bench.recorded(argv, uid)
            ratios.append(s["job"]["cpu_ns"] / 1e9 / truth)
            named.append(s["accounting"]["cpu_counted_ns"] / 1e9 / truth)
        say(what, who, f"{median(ratios):.2%} of the cgroup's count", f"{median(named):.1%} attributed to processes")
    peers_count(bench, what, argv, lambda said: said.get("cpu_s", 0))


@question
def storm(bench):
    head("CPU of 2,000 processes of 5 ms each, at 1 s")
    counted(bench, "CPU of 2,000 processes of 5 ms", [bench.work, "storm", 2000, 5])


@question
def compile(bench):
    head("the same for make -j2 of 150 small compiles")
    with measure.folder() as src:
        make_compile_tree(src)
        counted(bench, "CPU of make -j2, 150 compiles", ["make", "-s", "-B", "-j2", "-C", src, "all"])


@question
def spike(bench):
    head("a 500 MB spike of 50 ms, 12 times, samples at 1 s: how many were found, to 1 %")
    truth = 500 << 20
    argv = [bench.work, "spike", 12, 500, 50]
    with measure.folder() as folder:
        run([bench.baro, "run", "-q", "-i", "1s", "-o", folder / "t.baro", "--", *argv])
        done = subprocess.run(
            [bench.baro, "export", "-e", "exit", "-c", "rss_peak_bytes", folder / "t.baro"],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks = [int(v) for v in done.stdout.split()[1:] if v]
        found = sum(truth <= v <= truth * 1.01 for v in peaks)
        say("500 MB for 50 ms, samples at 1 s", "baro", f"{found} of 12")
    for tool in (Psutil("psutil"), Psutil("proc")):
        if not tool.there():
            continue
        with measure.folder() as folder:
            p = popen(argv)
            tool.start(p.pid, 1, folder)
            p.wait()
            tool.stop()
            seen = tool.said().get("peak_rss", 0) >= truth * 0.99
            say("500 MB for 50 ms, samples at 1 s", tool.name, "at least one of 12" if seen else "0 of 12")


# ---- cost ------------------------------------------------------------------------------------------------------------


def sure(ratios):
    """Returns the two pairs between which the median of all such pairs lies, 19 times in 20, whatever their
    distribution."""
    n = len(ratios)
    if n < 6:
        return ""
    at = max(0, int(n / 2 - 0.98 * n**0.5))
    return f", 19 times in 20 between {sorted(ratios)[at]:+.1%} and {sorted(ratios)[-1 - at]:+.1%}"


def slowdown(bench, what, argv, others=()):
    """Runs all of them in each round, so that slow drifts affect them alike, in random order, because the first one of
    a round runs under other conditions than the last."""
    prefixes = {"bare": [], "baro": [bench.baro, "run", "-q", "--force", "-o", "t.baro", "--"], **dict(others)}
    more, bare = {name: [] for name in prefixes if name != "bare"}, []
    with measure.folder() as folder:
        for i in range(bench.rounds * 10):
            wall = {}
            names = [name for name in prefixes if i < bench.rounds or name in ("bare", "baro")]
            for name in random.sample(names, len(names)):
                begin = time.monotonic()
                run([*prefixes[name], *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
                wall[name] = time.monotonic() - begin
            bare.append(wall["bare"])
            for name in names[1:]:
                more[name].append(wall[name] / wall["bare"] - 1)
    for name, ratios in more.items():
        say(
            what,
            name,
            f"{median(ratios):+.1%} wall",
            f"median of {len(ratios)} pairs{sure(ratios)}; bare {median(bare):.2f} s",
        )


@question
def slow(bench):
    head("slow-down of such jobs")
    monitor = (
        [("resource_monitor", ["resource_monitor", "-i", "1", "-O", "rm", "--"])]
        if shutil.which("resource_monitor")
        else []
    )
    slowdown(bench, "slow-down, 500 processes of 5 ms", [bench.work, "storm", 500, 5], monitor)
    with measure.folder() as src:
        make_compile_tree(src, 600)
        slowdown(bench, "slow-down, make -j2, 600 compiles", ["make", "-s", "-B", "-j2", "-C", src, "all"], monitor)


def cost(bench, tool, pid, n, interval, seconds, cheap=False, settle=6):
    """CPU seconds per sample and memory of a tool that watches pid, once it has settled."""
    with measure.cgroup() as groups, measure.folder() as folder:
        tool.start(pid, interval, folder, groups.tool, cheap=cheap)
        time.sleep(settle)
        before, begin = groups.tool.cpu_s(), time.monotonic()
        time.sleep(seconds)
        used, passed = groups.tool.cpu_s() - before, time.monotonic() - begin
        memory = measure.memory_kib(tool.process.pid)
        tape = (folder / "t.baro").stat().st_size if (folder / "t.baro").exists() else 0
        tool.stop()
        samples = passed / interval
        return {
            "us": used / samples / n * 1e6,
            "share": used / passed,
            "kib": memory,
            "bytes": tape / ((passed + settle) / interval) / n,
        }


def floor(bench, what, pid, interval, seconds):
    """The system calls that a sample needs, without processing their results."""
    with measure.folder() as folder:
        done = subprocess.run(
            [
                bench.build / "bench" / "floor",
                what,
                str(int(interval * 1e6)),
                str(int(seconds / interval)),
                *map(str, measure.children(pid)),
            ],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    return float(done.stdout)


def say_costs(what, tools, seen):
    us = {tool: median(c["us"] for c in costs) for tool, costs in seen.items()}
    for tool in tools:
        if tool not in seen:
            say(what, tool.name, "not installed")
            continue
        kib, size = (median(c[key] for c in seen[tool]) for key in ("kib", "bytes"))
        tape = f", tape {size:.1f} bytes per process-sample" if size else ""
        say(what, tool.name, f"{us[tool]:.1f} µs ({us[tool] / us[tools[0]]:.1f} ×)", f"{kib / 1024:.1f} MiB{tape}")


@question
def tree(bench):
    head("CPU per process and sample: 201 processes, 10 of them busy, 1 Hz, all metrics with PSS and USS")
    what = "µs per process-sample, 201 processes, 10 busy, 1 Hz"
    with bench.people(200, 10) as pid:
        floors = {"clocks": [], "files": []}
        tools = watchers(bench.baro)
        seen = {tool: [] for tool in tools if tool.there()}
        for _ in range(bench.rounds):
            for name, us in floors.items():
                us.append(floor(bench, name, pid, 1, 8))
            for tool in seen:
                n = len([d for d in os.listdir("/proc") if d.isdigit()]) if tool.whole_machine else 201
                seen[tool].append(cost(bench, tool, pid, n, 1, 20))
        say(what, "floor: a clock each", f"{median(floors['clocks']):.2f} µs")
        say(what, "floor: and four files", f"{median(floors['files']):.2f} µs", "of those that ran, and a write")
        say_costs(what, tools, seen)


@question
def busy(bench):
    head(
        "the same with every process busy, 1 Hz: baro with cheap metrics alone, the loops with all that they read and with as little"
    )
    what = "µs per process-sample, 101 processes, all busy, cheap"
    with bench.people(100, 100) as pid:
        baro, *others = watchers(bench.baro)[:3]
        tools = [baro, *others, *(Psutil(tool.kind, "the same few alone") for tool in others)]
        seen = {tool: [] for tool in tools if tool.there()}
        for _ in range(bench.rounds):
            for tool in seen:
                seen[tool].append(cost(bench, tool, pid, 101, 1, 15, cheap=tool not in others))
        say_costs(what, tools, seen)


@question
def share(bench):
    head("as more of 201 processes are busy, 1 Hz, all metrics")
    for busy in (0, 2, 20, 200):
        with bench.people(200, busy) as pid:
            c = cost(bench, Baro(bench.baro, "--no-host"), pid, 201, 1, 15)
            say(
                f"{busy} of 201 processes busy at 1 Hz",
                "baro",
                f"{c['share']:.3%} of a core, {c['us']:.1f} µs each",
                f"tape {c['bytes']:.1f} bytes per process-sample",
            )


@question
def scale(bench):
    head("as the number of processes grows, 1 Hz, all metrics, all asleep but one in a hundred")
    for n in (10, 100, 1000, 10000):
        with bench.people(n, (n + 99) // 100, 1000000) as pid:
            c = cost(
                bench, Baro(bench.baro, "--no-host"), pid, n + 1, 1, 20, settle=6 if n < 10000 else 25
            )  # PSS of all is read within a budget
            say(
                f"{n:,} processes at 1 Hz",
                "baro",
                f"{c['share']:.2%} of a core, {c['us']:.2f} µs each",
                f"{c['kib'] / 1024:.1f} MiB",
            )


@question
def host(bench):
    head(
        "CPU of one reading of the machine, no process recorded; the floor reads the same files and does nothing with them"
    )
    for interval, rate in ((1, "1 Hz"), (0.1, "10 Hz")):
        what = f"µs per host sample, {rate}"
        peers = host_watchers(bench.baro, interval)
        tools = [HostFloor(bench.build), *(t for t in peers if t.there())]
        seen = {t: [] for t in tools}
        for _ in range(bench.rounds):
            for t in tools:
                seen[t].append(cost(bench, t, None, 1, interval, 20 if interval == 1 else 10))
        us = {t: median(c["us"] for c in seen[t]) for t in tools}
        for t in tools:
            c, ratio = seen[t][-1], us[t] / us[tools[1]]
            tape = f", tape {c['bytes']:.0f} bytes per sample" if c["bytes"] else ""
            say(what, t.name, f"{us[t]:.0f} µs ({ratio:.2f} ×)", f"{c['kib'] / 1024:.1f} MiB{tape}")
        for t in peers:
            if not t.there():
                say(what, t.name, "not installed")


@question
def true(bench):
    head("wall added to `true` (interleaved)")
    argv = [
        bench.build / "bench" / "wrap_true",
        "400",
        "/bin/true",
        ",",
        bench.baro,
        "run",
        "-q",
        "--",
        "/bin/true",
        ",",
        "/bin/true",
    ]
    if shutil.which("time"):
        argv += [",", shutil.which("time"), "-o", "/dev/null", "/bin/true"]
    with measure.folder() as folder:
        done = subprocess.run(
            [str(a) for a in argv],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "BARO_DIR": str(folder)},
        )
    for line in done.stdout.splitlines():
        words = line.split()
        name = " ".join(words[words.index("median", 8) + 3:]) if "median" in words[8:] else line
        print(f"  {line}")
        if "baro" in name or "time" in name:
            say(
                "wall added to true",
                "baro" if "baro" in name else "GNU time",
                f"{line.split('(+')[1].split(')')[0].strip()} µs",
            )


def mapped(bench, tool, mb):
    """Returns (mmap/munmap per second, longest, faults per second, longest, CPU of the tool as a share of a core) of a
    process with mb megabytes that the tool watches at 10 Hz."""
    p = popen([bench.work, "mmap", mb, 6], stdout=subprocess.PIPE, text=True)
    with measure.folder() as folder, measure.cgroup() as groups:
        wait_ready(p)
        if tool:
            tool.start(p.pid, 0.1, folder, groups.tool)
        time.sleep(1)
        started, begin = groups.tool.cpu_s(), time.monotonic()
        words = p.stdout.readline().split()
        p.wait()
        share = (groups.tool.cpu_s() - started) / (time.monotonic() - begin)
        if tool:
            tool.stop()
    return *map(float, words), share


def say_mapped(what, who, seen, bare):
    maps, stall, faults, fault, share = (median(column) for column in zip(*seen))
    bare = [median(column) for column in zip(*bare)]
    say(
        what,
        who,
        f"{maps / bare[0] - 1:+.1%} mmap, {faults / bare[2] - 1:+.1%} faults",
        f"longest {stall / 1e3:.1f} and {fault / 1e3:.1f} ms (bare {bare[1] / 1e3:.1f} and {bare[3] / 1e3:.1f}); {share:.1%} of a core",
    )


@question
def mmap(bench):
    head(
        "what a process of 4 GB in 4 KiB pages feels of being watched at 10 Hz: mmap and page faults a second, and the longest that one took; its two threads keep two CPUs busy"
    )
    tools = [None] + [t for t in watchers(bench.baro)[:3] if t.there()]
    seen = {t: [] for t in tools}
    for _ in range(bench.rounds):
        for t in tools:
            seen[t].append(mapped(bench, t, 4096))
    for t in tools[1:]:
        say_mapped("4 GB process, watched at 10 Hz", t.name, seen[t], seen[None])


@question
def size(bench):
    head("the same as the process grows; baro alone")
    for mb in (10, 100, 1000):
        bare, watched = [], []
        for _ in range(bench.rounds):
            bare.append(mapped(bench, None, mb))
            watched.append(mapped(bench, Baro(bench.baro, "--no-host"), mb))
        say_mapped(f"{mb} MB process, watched at 10 Hz", "baro", watched, bare)


def exported(bench, tape, form):
    done = subprocess.run([bench.baro, "export", "-F", form, tape], capture_output=True, check=True)
    return len(done.stdout)


@question
def tape(bench):
    head("bytes per process-sample: 201 processes at 1 Hz for a minute, all metrics, its beginning included")
    for busy in (40, 154):
        what = f"bytes per process-sample, {busy / 2:.0f} % of 200 active"
        with bench.people(200, busy, 1000000) as pid, measure.folder() as folder:
            tool, at = Baro(bench.baro, "--no-host"), folder / "t.baro"
            tool.start(pid, 1, folder)
            time.sleep(10)
            early = at.stat().st_size
            time.sleep(50)
            size = at.stat().st_size
            tool.stop()
            say(what, "baro", f"{size / 60 / 201:.1f}", f"{(size - early) / 50 / 201:.1f} after the first 10 s")
            for form in ("csv", "jsonl"):
                say(what, f"the same as {form.upper()}", f"{exported(bench, at, form) / 60 / 201:.0f}")


# ---- the whole table -------------------------------------------------------------------------------------------------


def markdown(path):
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"Measured on {datetime.date.today()}, {machine()}.\n\n| what | who | figure | |\n|---|---|---|---|\n")
        before = None
        for what, who, value, note in ROWS:
            f.write(f"| {what if what != before else ''} | {who} | {value} | {note} |\n")
            before = what


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("question", nargs="*", metavar="QUESTION", help=" ".join(QUESTIONS))
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench/table.py: needs root, for cgroups of its own")
    print(f"{machine()}; {PYTHON}")
    bench = Bench(args.build.resolve(), args.rounds)
    unknown = [q for q in args.question if q not in QUESTIONS]
    if unknown:
        sys.exit(f"bench/table.py: {unknown[0]}: not one of {chr(32).join(QUESTIONS)}")
    for name in args.question or QUESTIONS:
        QUESTIONS[name](bench)
    if args.markdown:
        markdown(args.markdown)


main()
