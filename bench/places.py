#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each kind of place sees of real jobs, as a Markdown table: docs/places.md has the newest.

    bench/places.py [--build FOLDER] [--rounds N] [--overhead SHARE] [--redis SOURCE] [--place REGEX] [JOB...]

Needs root. Others may use the machine meanwhile: what runs here has its own autogroup with the best priority, and
figures are CPU time. Truth is what root sees on the host, where the kernel reports each process; of memory, a group of
its own (memory.stat, every 10 ms; with the recorder, about 2 MB).
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

import measure

HERE = pathlib.Path(__file__).resolve().parent
TEST = """import subprocess, time, pytest
@pytest.mark.parametrize("n", range(10))
def test_it(n):
    end = time.process_time() + 0.02
    while time.process_time() < end: pass
    assert subprocess.run(["expr", "1", "+", "1"], stdout=subprocess.PIPE).stdout == b"2\\n"
"""


def loop(milliseconds, times):
    def make(folder, options):
        work = options.build / "bench" / "work"
        return f"i=0; while [ $i -lt {times} ]; do {work} burn {milliseconds}; i=$((i+1)); done"

    return make


def compile_job(folder, options):
    subprocess.run([HERE.parent / "tools" / "make-workload.sh", folder], check=True)
    return "make -s -j2 >out 2>&1"


def redis(folder, options):
    shutil.copytree(options.redis, folder, dirs_exist_ok=True, symlinks=True)
    return "make -j2 -C src MALLOC=libc OPTIMIZATION=-O0 redis-server >out 2>&1"


def pytest(folder, options):
    for i in range(6):
        (folder / f"test_{i}.py").write_text(TEST)
    return f"{options.python} -m pytest -q -p no:cacheprovider -n 2 >out 2>&1"


def cargo(folder, options):
    names = [f"part{i}" for i in range(12)]
    (folder / "Cargo.toml").write_text(f'[workspace]\nresolver = "2"\nmembers = {json.dumps(names)}\n')
    for i, name in enumerate(names):
        (folder / name / "src").mkdir(parents=True)
        (folder / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n')
        body = "".join(f"pub fn f{j}(v: &[u64]) -> u64 {{ v.iter().map(|x| x * {j} + {i}).sum() }}\n" for j in range(40))
        (folder / name / "src" / "lib.rs").write_text(body)
        (folder / name / "src" / "main.rs").write_text(f'fn main() {{ println!("{{}}", {name}::f1(&[1])); }}\n')
    (folder / "Cargo.lock").unlink(missing_ok=True)
    return "cargo build -q --offline -j2 >out 2>&1"


JOBS = {
    "compile": compile_job,
    "redis": redis,
    "pytest -n 2": pytest,
    "cargo": cargo,
    "200 of 5 ms": loop(5, 200),
    "40 of 50 ms": loop(50, 40),
    "8 of 500 ms": loop(500, 8),
}
# A container has a C library of its own, so that programs of others are not noticed in it.
OWN_LIBRARY = """cp "$(ldd /bin/sh | sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p')" libc.copy
mount --bind libc.copy "$(ldd /bin/sh | sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p')" && exec "$@\""""
USER = ["setpriv", f"--reuid={measure.NOBODY}", f"--regid={measure.NOBODY}", "--clear-groups"]
# options of contain.c, None: on the host; in front of it; BARO_NO_EVENTS; is the recorder started by a shell?
PLACES = {
    "host, root": (None, [], False, False),
    "host, user": (None, USER, False, False),
    "host, user without events": (None, USER, True, False),
    "default container": ([], [], False, False),
    "default container, started in it": ([], [], False, True),
    "container with perf": (["-p"], [], False, False),
    "restricted": (["-r", "-u", str(measure.NOBODY)], [], False, False),
}


class Memory:
    """The largest anonymous memory of a control group."""

    def __init__(self):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        self.word, top = ("rss ", v1) if v1.is_dir() else ("anon ", pathlib.Path("/sys/fs/cgroup"))
        self.path, self.peak, self.done = pathlib.Path(tempfile.mkdtemp(prefix="baro-", dir=top)), 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        with open(self.path / "memory.stat", "rb", buffering=0) as stat:
            while not self.done.wait(0.01):
                text = "\n" + os.pread(stat.fileno(), 8192, 0).decode()
                self.peak = max(self.peak, int(text.split("\n" + self.word, 1)[1].split("\n", 1)[0]))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()
        for _ in range(400):
            with contextlib.suppress(OSError):
                return self.path.rmdir()
            time.sleep(0.05)


def execute(argv, folder, no_events):
    """Runs it in groups of its own. Returns (CPU time, peak of anonymous memory)."""
    env = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "CARGO_NET_OFFLINE": "true"}
    env |= {"BARO_NO_EVENTS": "1"} if no_events else {}
    with measure.cgroup() as groups, Memory() as memory:

        def enter():
            groups.tool.enter()
            (memory.path / "cgroup.procs").write_text("0")
            os.setsid()
            with contextlib.suppress(OSError):
                pathlib.Path("/proc/self/autogroup").write_text("-20")

        done = subprocess.run(argv, cwd=folder, env=env, preexec_fn=enter, stdin=subprocess.DEVNULL)
        return groups.tool.cpu_s(), memory.peak, done.returncode


def one(job, place, options, recorded):
    contained, before, no_events, by_shell = PLACES[place]
    with measure.folder() as folder:
        shutil.copy(options.build / "baro", folder / "baro")
        work = folder / "work"
        work.mkdir()
        argv = ["sh", "-c", f"cd {work} && {JOBS[job](work, options)}"]  # a volume has another mount than its path had
        if recorded:
            argv = [folder / "baro", "run", "-q", "--overhead", options.overhead, "-o", folder / "t.baro", "--", *argv]
        if by_shell:
            argv = ["sh", "-c", f"{shlex.join(map(str, argv))}; exit $?"]
        if contained is not None:
            volumes = ["-v", folder]
            argv = [options.build / "tests" / "e2e" / "contain", *contained, *volumes, *argv]
            argv = ["unshare", "-m", "sh", "-c", OWN_LIBRARY, "sh", *argv]
        subprocess.run(["chmod", "-R", "a+rwX", folder], check=True)
        cpu, peak, status = execute(list(map(str, [*before, *argv])), work, no_events)
        if status:
            raise SystemExit(f"{job}, {place}: status {status}")
        if not recorded:
            return {"cpu": cpu}
        read = subprocess.run([options.build / "baro", "summary", "--json", folder / "t.baro"], stdout=subprocess.PIPE)
        return {"cpu": cpu, "group_peak": peak, **figures(json.loads(read.stdout))}


def figures(s):
    return {
        "names": Counter({c["name"]: c["processes"] for c in s["commands"]}),
        "cpu_of": {c["name"]: (c["cpu_ns"] or 0) / s["job"]["cpu_ns"] for c in s["commands"]},
        "started": s["job"]["processes_started"],
        "attributed": 1 - s["accounting"]["remainder_ratio"],
        "samples": s["recorder"]["samples"] / (s["wall_ns"] / 1e9),
        "cost": s["recorder"]["cpu_ratio"],
        "peak": (s["limits"]["memory_peak_bytes"] or 0) / 1e6,
        "peak_mark": "≥ " * (s["marks"].get("limits.memory_peak_bytes") == "lower_bound"),
        "source": s["accounting"]["event_source"],
        "wall": s["wall_ns"] / 1e9,
    }


def right(seen, truth):
    """The part of the job's CPU time that is of the command that root's reading says, in percent."""
    cpu = {name: sum(r["cpu_of"].get(name, 0) for r in truth) / len(truth) for r in truth for name in r["cpu_of"]}
    return [100 * sum(min(share, cpu.get(name, 0)) for name, share in r["cpu_of"].items() if name) for r in seen]


def span(values, form):
    low, high = (form.format(v) for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--overhead", default="1%")
    parser.add_argument("--redis", type=pathlib.Path, help="a folder with the sources of Redis")
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has pytest and pytest-xdist")
    parser.add_argument("--place", default="", help="only places whose name matches this expression")
    parser.add_argument("--bare", action="store_true", help="also each job without a recorder: the slow-down")
    parser.add_argument("jobs", nargs="*")
    options = parser.parse_args()
    options.build = options.build.resolve()
    (options.build / "bench").mkdir(exist_ok=True)
    subprocess.run(["cc", "-O2", "-pthread", "-o", options.build / "bench" / "work", HERE / "work.c"], check=True)
    if os.geteuid():
        raise SystemExit("needs root")
    columns = ["job", "place", "events", "found", "named", "CPU with a name", "the right one", "samples/s", "% of a core"]
    print("|", " | ".join([*columns, "memory needed, MB (group)", "CPU added"]), "|")
    print("|---" * (len(columns) + 2) + "|")
    for job in options.jobs or [j for j in JOBS if j != "redis" or options.redis]:
        truth = None
        for place in [p for p in PLACES if p == "host, root" or re.search(options.place, p)]:
            seen, added = [], []
            for _ in range(options.rounds):
                bare = one(job, place, options, False)["cpu"] if options.bare else 0
                seen.append(one(job, place, options, True))
                added.append(seen[-1]["cpu"] / bare - 1 if bare else 0)
            truth = truth or seen
            row = [
                job,
                place,
                seen[0]["source"],
                span([r["started"] for r in seen], "{}") + f" of {truth[0]['started']}",
                span([sum((r["names"] & truth[0]["names"]).values()) for r in seen], "{}"),
                span([100 * r["attributed"] for r in seen], "{:.1f}") + " %",
                span(right(seen, truth), "{:.0f}") + " %",
                span([r["samples"] for r in seen], "{:.0f}"),
                span([100 * r["cost"] for r in seen], "{:.1f}"),
                max(r["peak_mark"] for r in seen)
                + span([r["peak"] for r in seen], "{:.0f}")
                + f" ({span([r['group_peak'] / 1e6 for r in seen], '{:.0f}')})",
                span([100 * a for a in added], "{:+.1f}") + " %" if options.bare else "",
            ]
            print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
