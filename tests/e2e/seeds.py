# SPDX-License-Identifier: Apache-2.0
"""Minimal forms of the two sampling loops that barograph replaces, to run beside it: `python3 seeds.py tools FILE
INTERVAL NAME...` samples the processes whose command has one of the names (as a per-tool monitor does), `python3
seeds.py tree FILE INTERVAL PID` samples a process and its descendants (as a task monitor does). Both end when standard
input does.
"""

import collections
import csv
import json
import re
import select
import subprocess
import sys
import time

COLUMNS = ["timestamp", "tool", "pid", "cpu_pct", "cpu_user_s", "cpu_sys_s", "rss_kb", "uss_kb", "pss_kb"]


def waits(interval):
    """Waits until the next sample. Returns False at the end."""
    return not select.select([sys.stdin], [], [], interval)[0]


def tools(path, interval, *names):
    import psutil

    rule = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        while True:
            now = time.time()
            for p in psutil.process_iter(["pid", "cmdline"]):
                try:
                    found = rule.search(" ".join(p.info["cmdline"] or []))
                    # The monitor's own command has the names as well.
                    if not found or "seeds.py" in " ".join(p.info["cmdline"]):
                        continue
                    percent, cpu, memory = p.cpu_percent(), p.cpu_times(), p.memory_full_info()
                    kib = [v // 1024 for v in (memory.rss, memory.uss, memory.pss)]
                    rows.writerow([now, found[0], p.pid, percent, round(cpu.user, 3), round(cpu.system, 3), *kib])
                except psutil.Error:
                    continue
            file.flush()
            if not waits(interval):
                return


def tree(path, interval, pid, sandbox):
    import psutil

    before, at = {}, None
    with open(path, "w", encoding="utf-8") as file:
        while True:
            now, cpu, row = time.monotonic(), {}, collections.Counter()
            try:
                root = psutil.Process(int(pid))
                members = [root, *root.children(recursive=True)]
            except psutil.Error:
                members = []
            for p in members:
                try:
                    with p.oneshot():
                        times, rss, threads = p.cpu_times(), p.memory_info().rss, p.num_threads()
                except psutil.Error:
                    continue
                cpu[p.pid] = times.user + times.system
                row.update(user=times.user, system=times.system, rss=rss, threads=threads, processes=1)
            if at is not None and cpu:
                row["cpu"] = sum(v - before.get(k, 0) for k, v in cpu.items()) / (now - at)
            before, at = cpu, now
            du = subprocess.run(["du", "-s", "--block-size=1", sandbox], capture_output=True, text=True, check=False)
            row["disk"] = int(du.stdout.split()[0])
            if cpu:
                file.write(json.dumps(row) + "\n")
                file.flush()
            if not waits(interval):
                return


def read_tools(text):
    """Returns the rows of the CSV as that monitor's report reads them: a row with a cell that is no number is left out.
    """
    rows = []
    for row in csv.DictReader(text.splitlines()):
        try:
            kinds = [float, str, int, float, float, float, int, int, int]
            rows.append({k: kind(row[k]) for k, kind in zip(COLUMNS, kinds, strict=True)})
        except ValueError:
            continue
    return rows


def table(rows):
    """Returns the figures of that report, by tool; memory in bytes, CPU in cores and seconds."""
    found = {}
    for tool in sorted({r["tool"] for r in rows}):
        of = [r for r in rows if r["tool"] == tool]
        instants, final = collections.defaultdict(list), collections.defaultdict(lambda: [0.0, 0.0])
        for r in of:
            instants[r["timestamp"]].append(r)
            last = final[r["pid"]]
            last[:] = max(last[0], r["cpu_user_s"]), max(last[1], r["cpu_sys_s"])

        def most(column):
            return 1024 * max(sum(r[column] for r in rows_at) for rows_at in instants.values())

        found[tool] = {"instances": len(final), "samples": len(of), "uss of one": 1024 * max(r["uss_kb"] for r in of),
                       "uss": most("uss_kb"), "rss": most("rss_kb"), "pss": most("pss_kb"),
                       "peak of one": max(r["cpu_pct"] for r in of) / 100, "user": sum(v[0] for v in final.values()),
                       "system": sum(v[1] for v in final.values()), "total": sum(sum(v) for v in final.values()),
                       "mean uss": 1024 * sum(r["uss_kb"] for r in of) / len(of),
                       "mean of one": sum(r["cpu_pct"] for r in of) / len(of) / 100,
                       "duration": max(instants) - min(instants)}
    return found


if __name__ == "__main__":
    loop, target, seconds, *what = sys.argv[1:]
    {"tools": tools, "tree": tree}[loop](target, float(seconds), *what)
