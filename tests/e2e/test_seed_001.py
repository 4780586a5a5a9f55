# SPDX-License-Identifier: Apache-2.0
"""The per-tool monitor that barograph replaces (a loop over psutil that asks each process whether its command has the
name of a tool) and barograph at the same time, on the same processes: each column of its table is compared. Where the
two differ the control group of each tool, or what the processes print about themselves, decides. `pytest -s` prints the
table.
"""

import csv
import io
import json
import os
import secrets
import signal
import subprocess
import sys
import time

import pytest
from conftest import needs_connector
from seeds import COLUMNS, read_tools, table

pytest.importorskip("psutil", reason="python3-psutil is not installed")
pytestmark = [pytest.mark.slow, needs_connector]

# Holds memory, waits for a file, burns CPU time, and prints how much it holds and when it began and ended.
TOOL = """#!{python}
import os, sys, time
began = time.monotonic()
held = bytearray(b"x") * (int(sys.argv[1]) << 20)
while not os.path.exists(sys.argv[3]):
    time.sleep(0.02)
spent = time.process_time() + float(sys.argv[2])
while time.process_time() < spent:
    sum(range(2000))
while not os.path.exists(sys.argv[4]):
    time.sleep(0.02)
with open("/proc/self/smaps_rollup") as f:
    rollup = dict((line.split()[0], int(line.split()[1]) << 10) for line in list(f)[1:])
uss = rollup["Private_Clean:"] + rollup["Private_Dirty:"]
print(began, time.monotonic(), rollup["Rss:"], uss, rollup["Pss:"])
"""
LONG = {"gulpy": [(40, 0.8), (20, 0.6)], "fmpy": [(30, 0.5)]}  # MB held and seconds of CPU time of each process
SHORT = 15  # summarypy: so many, one after the other, of 20 ms each


class Both:
    """The workload, with barograph and the loop beside it."""

    def __init__(self, run, tape, work, groups):
        self.run, self.tape, self.work = run, tape, work
        self.csv = work / "loop.csv"
        tag = secrets.token_hex(3)  # tools of other tests that run at the same time have other names; comm has 15 bytes
        self.names = {tool: f"{tool}{tag}" for tool in [*LONG, "summarypy"]}
        self.groups = {tool: groups() for tool in self.names}
        for name in self.names.values():
            (work / name).write_text(TOOL.format(python=sys.executable))
            (work / name).chmod(0o755)
        self.begun, self.ended = {}, {}
        self.said = {tool: [] for tool in self.names}

    def start(self, tool, mib, cpu, go, end):
        argv = [str(self.work / self.names[tool]), str(mib), str(cpu), str(go), str(end)]
        self.begun.setdefault(tool, time.monotonic())
        return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, preexec_fn=self.groups[tool].enter)

    def wait(self, tool, process):
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        self.said[tool].append([float(v) for v in out.split()])
        self.ended[tool] = time.monotonic()

    def rows_of_both(self, n):
        """Waits until both have sampled each living process, its memory included, n times."""
        loop = [r for r in read_tools(self.csv.read_text()) if r["uss_kb"] > 15 << 10]
        mine = [r for r in self.run.export(self.tape) if (r["uss_bytes"] or 0) > 15 << 20]
        return all(len([r for r in rows if r["pid"] == pid]) >= n for rows in (loop, mine) for pid in self.long_pids)

    def work_through(self, wait_until):
        go, end = self.work / "go", self.work / "end"
        long = [(tool, self.start(tool, *what, go, end)) for tool, many in LONG.items() for what in many]
        self.long_pids = [p.pid for _, p in long]
        wait_until(lambda: self.rows_of_both(3), "rows of all processes")
        go.touch()
        for _ in range(SHORT):
            self.wait("summarypy", self.start("summarypy", 0, 0.02, go, go))
        wait_until(lambda: self.rows_of_both(10), "more rows")
        end.touch()
        for tool, process in long:
            self.wait(tool, process)

    def record(self, wait_until):
        here = os.path.dirname(os.path.abspath(__file__))
        # The loop finds a name wherever it is mentioned. It would find the recorder's own command as well, so there the
        # name is not written in one piece.
        rules = [f"--task={tool}=^[^ ]*python[^ ]* [^ ]*/[{name[0]}]{name[1:]} " for tool, name in self.names.items()]
        recorder = self.run.popen("record", "-q", "-o", self.tape, "--no-host", "-i", "200ms", "--overhead", "off",
                                  *rules, stderr=subprocess.PIPE)
        loop = subprocess.Popen([sys.executable, os.path.join(here, "seeds.py"), "tools", self.csv, "0.2",
                                 *self.names.values()], stdin=subprocess.PIPE)
        try:
            self.run.await_samples(self.tape)
            wait_until(lambda: self.csv.exists() and self.csv.read_text(), "the loop")
            self.work_through(wait_until)
        finally:
            loop.communicate(timeout=60)
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, err
        self.run.await_end(self.tape)

    def read(self):
        """Returns for each tool the values of the loop, of barograph and of the reference, by column; None: it has
        none."""
        loop = table(read_tools(self.csv.read_text()))
        out = json.loads(self.run("summary", "--by", "task", "--json", self.tape, status=0).stdout)
        mine = {t["name"]: t for t in out["tasks"]}
        self.columns = {}
        for tool, name in self.names.items():
            self.columns[tool] = columns_of(loop.get(name, {}), mine[tool], self.judge(tool))

    def judge(self, tool):
        counted = dict(line.split() for line in self.groups[tool].read("cpu.stat").splitlines())
        said = self.said[tool]
        is_long = tool in LONG
        memory = {key: sum(s[i] for s in said) if is_long else None for i, key in ((2, "rss"), (3, "uss"), (4, "pss"))}
        return {**memory, "instances": len(said), "uss of one": max(s[3] for s in said),
                "user": int(counted["user_usec"]) / 1e6, "system": int(counted["system_usec"]) / 1e6,
                "total": int(counted["usage_usec"]) / 1e6,
                "mean of one": int(counted["usage_usec"]) / 1e6 / sum(s[1] - s[0] for s in said),
                "duration": max(s[1] for s in said) - min(s[0] for s in said)}


def columns_of(loop, t, judge):
    mine = {"instances": t["processes_started"], "samples": t["process_samples"],
            "uss of one": t["process_uss_peak_bytes"], "uss": t["uss_peak_bytes"], "rss": t["rss_peak_bytes"],
            "pss": t["pss_peak_bytes"], "peak of one": t["process_cores_peak"], "user": t["cpu_user_ns"] / 1e9,
            "system": t["cpu_system_ns"] / 1e9, "total": t["cpu_ns"] / 1e9, "mean uss": t["process_uss_mean_bytes"],
            "mean of one": t["process_cores_mean"], "duration": (t["end_ns"] - t["begin_ns"]) / 1e9}
    return {key: (loop.get(key), mine[key], judge.get(key)) for key in mine}


def as_text(key, v):
    if v is None:
        return "-"
    return f"{v / 1e6:.2f} MB" if "ss" in key and v > 1000 else f"{v:.3f}".rstrip("0").rstrip(".")


def both_of(run, tape, work, groups, wait_until):
    b = Both(run, tape, work, groups)
    b.record(wait_until)
    b.read()
    print()
    for tool, columns in b.columns.items():
        for key, values in columns.items():
            print(f"| {tool} | {key} | " + " | ".join(as_text(key, v) for v in values) + " |")
    return b


def test_every_column(run, tape, work, groups, wait_until):
    both = both_of(run, tape, work, groups, wait_until)
    for tool, columns in both.columns.items():
        check_counts(both, tool, columns)
        if tool in LONG:
            check_memory(columns)
            check_rates(columns)
    check_csv_of_the_monitor(both)


def check_counts(both, tool, c):
    n = len(both.said[tool])
    loop, mine, judge = c["instances"]
    assert mine == judge and (loop or 0) <= judge, c
    assert c["samples"][1] > 0 or tool not in LONG
    loop, mine, judge = c["total"]
    # The group does not count the fork before a process entered it; taskstats does not count the end of a process.
    assert 0.96 * judge - 0.005 * n < mine < judge + 0.03 * n, c
    assert (loop or 0) < judge + 0.03 * n, c
    # The kernel divides the sum of a group by the ticks of its own clock, as it does for each process.
    assert abs(c["user"][1] + c["system"][1] - mine) < 1e-6 and abs(c["user"][1] - c["user"][2]) < 0.3 * judge + 0.05, c
    if tool == "summarypy":
        assert (loop or 0) < 0.9 * judge < mine, c  # it misses most of them
    _, mine, judge = c["duration"]
    assert judge <= mine + 0.02 and mine <= both.ended[tool] - both.begun[tool] + 0.02, c


def check_memory(c):
    """All processes hold their memory until both have sampled it. The peaks of both are below what the processes hold
    at their end plus what they had freed by then."""
    for key in ("uss of one", "uss", "rss", "pss"):
        loop, mine, judge = c[key]
        assert abs(mine - judge) < 0.1 * judge and abs(loop - judge) < 0.1 * judge, (key, c)
    loop, mine, _ = c["mean uss"]
    assert 0.5 < loop / mine < 2, c  # means over different rows


def check_rates(c):
    loop, mine, _ = c["peak of one"]
    assert c["mean of one"][1] <= mine < 1.2, c
    assert loop < 1.6, c  # of ticks of 10 ms in 200 ms, when it is on time
    assert c["mean of one"][1] < 1.05 and c["mean of one"][0] < 1.3, c


def check_csv_of_the_monitor(both):
    """A program that reads the CSV of that monitor reads ours, and gets the figures of `summary --by task`."""
    text = both.run("export", "-d", "oasislmf", both.tape, status=0, text=False).stdout.decode()
    assert text.startswith(",".join(COLUMNS) + "\r\n") and "\r\r" not in text and text.endswith("\r\n")
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:]
    rows = read_tools(text.replace("\r\n", "\n"))
    assert len(rows) == len(lines)
    # As Python's csv module writes the monitor's values: a float as repr() writes it, and whole KiB.
    for line, row in zip(lines, rows, strict=True):
        assert line == [str(row[k]) for k in COLUMNS], line
    instants = [r["timestamp"] for r in rows]
    assert instants == sorted(instants)
    assert [(r["timestamp"], r["pid"]) for r in rows] == sorted((r["timestamp"], r["pid"]) for r in rows)
    of_csv = table(rows)
    for tool in both.names:
        mine = {key: values[1] for key, values in both.columns[tool].items()}
        n = len(both.said[tool])
        assert of_csv[tool]["instances"] == mine["instances"]
        assert abs(of_csv[tool]["total"] - mine["total"]) <= 0.001 * n, (of_csv[tool], mine)
        # User time from taskstats is in ticks, and user time in a sample is the kernel's share of the whole.
        assert abs(of_csv[tool]["user"] - mine["user"]) <= 0.3 * mine["total"] + 0.02 * n, (of_csv[tool], mine)
        # One more row of each at its end. Samples may have a process that has ended and was not waited for, which has no
        # row, or one that the count of its task does not have.
        assert n <= of_csv[tool]["samples"] <= mine["samples"] + 2 * n, (tool, n, text)
        if tool in LONG:
            for key in ("uss of one", "uss", "rss", "pss"):
                assert abs(of_csv[tool][key] - mine[key]) <= 1024 * n, (key, of_csv[tool], mine)
    assert {r["rss_kb"] for r in rows if r["pid"] in both.long_pids and r == last_of(rows, r["pid"])} == {0}


def last_of(rows, pid):
    return [r for r in rows if r["pid"] == pid][-1]


def test_csv_of_the_monitor_while_the_tape_grows(run, tape, work, wait_until):
    """Rows appear as samples do, and at the end the output is that of the whole tape."""
    name = f"gulpy{secrets.token_hex(4)}"
    (work / name).write_text(TOOL.format(python=sys.executable))
    (work / name).chmod(0o755)
    recorder = run.popen("record", "-q", "-o", tape, "--no-host", "-i", "50ms", "--exact", name)
    run.await_samples(tape)
    out = work / "rows.csv"
    with open(out, "wb") as file:
        follower = run.popen("export", "-f", "-d", "oasislmf", tape, stdout=file)
        tool = subprocess.Popen([str(work / name), "1", "0.1", "/", str(work / "end")], stdout=subprocess.DEVNULL)
        wait_until(lambda: f",{tool.pid}," in out.read_text(), "its rows")
        (work / "end").touch()
        assert tool.wait() == 0
        wait_until(lambda: out.read_text().rstrip().endswith(",0,0,0"), "its last row")
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(60) == 0 and follower.wait(60) == 0
    assert out.read_bytes() == run("export", "-d", "oasislmf", tape, status=0, text=False).stdout
