# SPDX-License-Identifier: Apache-2.0
"""A typical monitor written with psutil, or one that reads /proc: every INTERVAL seconds it reads PID and all its
descendants.

    peer_psutil.py psutil|proc PID INTERVAL [cheap]

psutil: cpu_times, memory_full_info (pss, uss), io_counters, num_threads, num_fds of each process, summed up; cheap:
cpu_times, memory_info and io_counters. proc: stat with the CPU time of reaped children, status, io, smaps_rollup, the
descriptors, children by task/PID/children. On SIGINT it prints one line of JSON: cpu_s, the CPU time that it attributes
to the job, peak_rss, the largest resident size of any process that it saw, and samples.
"""

import json
import os
import signal
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Psutil:
    def __init__(self, pid, cheap):
        import psutil

        self.psutil = psutil
        self.root = psutil.Process(pid)
        self.cheap = cheap
        self.cpu = {}

    def sample(self):
        peak = 0
        for p in [self.root] + self.root.children(recursive=True):
            try:
                t = p.cpu_times()
                self.cpu[p.pid, p.create_time()] = t.user + t.system
                memory = p.memory_info() if self.cheap else p.memory_full_info()
                peak = max(peak, memory.rss)
                p.io_counters()
                if not self.cheap:
                    p.num_threads(), p.num_fds()
            except self.psutil.Error:
                pass
        return peak


class Proc:
    def __init__(self, pid, cheap):
        self.pid = pid
        self.cheap = cheap
        self.cpu = {}

    def read(self, pid, name):
        with open(f"/proc/{pid}/{name}", encoding="latin-1") as f:
            return f.read()

    def sample(self):
        peak, todo = 0, [self.pid]
        while todo:
            pid = todo.pop()
            try:
                stat = self.read(pid, "stat").rpartition(")")[2].split()
                self.cpu[pid, stat[19]] = sum(map(int, stat[11:15])) / TICK
                peak = max(peak, int(stat[21]) * PAGE)
                todo += map(int, self.read(pid, f"task/{pid}/children").split())
                self.read(pid, "io")
                if not self.cheap:
                    self.read(pid, "status"), self.read(pid, "smaps_rollup"), os.listdir(f"/proc/{pid}/fd")
            except OSError:
                pass
        return peak


def main():
    kind, pid, interval = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    monitor = {"psutil": Psutil, "proc": Proc}[kind](pid, "cheap" in sys.argv[4:])
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    due, peak, samples = time.monotonic(), 0, 0
    while True:
        try:
            peak = max(peak, monitor.sample())
            samples += 1
        except Exception:  # the root is gone
            break
        due += interval
        if signal.sigtimedwait(ends, max(0, due - time.monotonic())):
            break
    # The root's own value includes its reaped children, where that is read at all: the sum over living processes counts
    # none twice.
    total = max(monitor.cpu.values(), default=0) if kind == "proc" else sum(monitor.cpu.values())
    print(json.dumps({"cpu_s": total, "peak_rss": peak, "samples": samples}), flush=True)


main()
