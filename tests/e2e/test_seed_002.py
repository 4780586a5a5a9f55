# SPDX-License-Identifier: Apache-2.0
"""The task monitor that barograph replaces (a loop over a process and its descendants with psutil: cores, user and
system time, resident memory, number of processes, and the disk usage of a
sandbox by du(1)) and `baro record --pid` at the same time, on the same task. The
counters of a control group decide which of the two is right. `pytest -s` prints the figures of both.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("psutil", reason="python3-psutil is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="makes a control group")]

# A worker that holds memory and burns CPU time, then many that are shorter than an interval, one after the other.
TASK = """
import os, subprocess, sys, time
burn = "import sys,time\\nheld=bytearray(b'x')*(int(sys.argv[1])<<20)\\ns=time.process_time()+float(sys.argv[2])\\n"
burn += "while time.process_time()<s: sum(range(2000))\\n"
go, more, end, sandbox = sys.argv[1:]
os.mkdir(sandbox + "/below")
with open(sandbox + "/below/data", "wb") as f:
    f.write(os.urandom(5 << 20))
os.link(sandbox + "/below/data", sandbox + "/again")
while not os.path.exists(go):
    time.sleep(0.01)
worker = subprocess.Popen([sys.executable, "-c", burn + "sys.stdin.read()", "60", "0.8"], stdin=subprocess.PIPE)
while not os.path.exists(more):
    time.sleep(0.01)
for _ in range(20):
    subprocess.run([sys.executable, "-c", burn, "1", "0.02"])
while not os.path.exists(end):
    time.sleep(0.01)
worker.stdin.close()
worker.wait()
"""


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Watched:
    def __init__(self, run, tape, work, cgroup, wait_until):
        self.run, self.tape, self.loop_file = run, tape, work / "loop.jsonl"
        self.go, self.more, self.end = (work / name for name in ("go", "more", "end"))
        self.sandbox = work / "sandbox"
        self.sandbox.mkdir()
        task = subprocess.Popen([sys.executable, "-c", TASK, self.go, self.more, self.end, self.sandbox],
                                preexec_fn=cgroup.enter)
        here = os.path.dirname(os.path.abspath(__file__))
        loop = subprocess.Popen([sys.executable, os.path.join(here, "seeds.py"), "tree", self.loop_file, "0.2",
                                 str(task.pid), self.sandbox], stdin=subprocess.PIPE)
        recorder = run.popen("record", "-q", "-o", tape, "--no-host", "-i", "200ms", "--overhead", "off",
                             "--du", self.sandbox, "--du-every", "1s", "--pid", task.pid)
        try:
            self.work_through(wait_until)
            assert task.wait(60) == 0 and recorder.wait(60) == 0
        finally:
            task.kill()
            loop.communicate(timeout=60)
            recorder.kill()
            recorder.wait()
        run.await_end(tape)
        stat = dict(line.split() for line in cgroup.read("cpu.stat").splitlines())
        self.judge = {key: int(stat[f"{key}_usec"]) / 1e6 for key in ("usage", "user", "system")}

    def job(self):
        return self.run.export(self.tape, "job")

    def work_through(self, wait_until):
        self.run.await_samples(self.tape)
        wait_until(lambda: rows_of(self.loop_file), "the loop")
        self.go.touch()
        wait_until(lambda: self.both_have(lambda user, rss: user > 0.7 and rss > 60 << 20), "the worker")
        self.more.touch()
        wait_until(lambda: len([e for e in self.run.export(self.tape, "exit") if e["sampled"] is not None]) >= 20,
                   "ends")
        least = 5 << 20
        wait_until(lambda: (self.disk() or 0) >= least and rows_of(self.loop_file)[-1]["disk"] >= least,
                   "the disk usage")
        self.end.touch()

    def disk(self):
        rows = self.run.export(self.tape, "directory")
        return rows[-1]["used_bytes"] if rows else None

    def both_have(self, is_there):
        loop, mine = rows_of(self.loop_file), self.job()
        return is_there(loop[-1]["user"], loop[-1]["rss"]) and is_there(mine[-1]["cpu_user_ns"] / 1e9,
                                                                        mine[-1]["rss_bytes"] or 0)

    def figures(self):
        """Returns the figures of the loop and of barograph."""
        loop, mine = rows_of(self.loop_file), self.job()
        summary = self.run.summary(self.tape)["job"]
        return {
            # What the loop has at the end is its last row: processes that ended before it are in none.
            "user": (loop[-1]["user"], mine[-1]["cpu_user_ns"] / 1e9),
            "system": (loop[-1]["system"], mine[-1]["cpu_system_ns"] / 1e9),
            "most user and system": (max(r["user"] + r["system"] for r in loop), mine[-1]["cpu_ns"] / 1e9),
            "peak of cores": (max(r.get("cpu", 0) for r in loop), summary["cores_peak"]),
            "peak of rss": (max(r["rss"] for r in loop), max(r["rss_bytes"] or 0 for r in mine)),
            "disk": (loop[-1]["disk"], self.disk()),
            "most processes": (max(r["processes"] for r in loop), summary["processes_peak"]),
            "most threads": (max(r["threads"] for r in loop), max(r["threads"] or 0 for r in mine)),
        }


def test_every_figure(run, tape, work, cgroup, wait_until):
    w = Watched(run, tape, work, cgroup, wait_until)
    found, total = w.figures(), w.judge["usage"]
    print()
    for key, values in found.items():
        judge = {"user": w.judge["user"], "system": w.judge["system"], "most user and system": total}.get(key)
        print(f"| {key} | " + " | ".join("-" if v is None else f"{v:,.3f}" for v in (*values, judge)) + " |")
    loop, mine = found["most user and system"]
    # CPU time from before baro attached is not in the job's total: the start of an interpreter.
    before = run.summary(tape)["before"]["cpu_ns"] or 0
    assert 0.96 * total - 0.2 < mine + before / 1e9 < total + 0.05, (found, total)
    assert loop < 0.85 * total and abs(mine - total) < abs(loop - total), (found, total)
    du = subprocess.run(["du", "-s", "--block-size=1", w.sandbox], capture_output=True, text=True, check=True)
    assert found["disk"] == (int(du.stdout.split()[0]),) * 2, found
    loop, mine = found["peak of rss"]
    assert abs(loop - mine) < 0.25 * mine, found
    assert found["most processes"][1] >= found["most processes"][0] >= 2, found
    assert found["most threads"][1] >= 2, found
    # A rate over another interval than a sample's: none is more than the machine has.
    assert 0 < found["peak of cores"][1] <= os.cpu_count(), found
