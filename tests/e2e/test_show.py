# SPDX-License-Identifier: Apache-2.0
"""baro show: which sample it shows, and the tree of processes."""

import csv
import datetime
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from readers import call, good, one_line, tape  # noqa: F401 (tape is a fixture)


def test_show_says_which_sample(baro, tape):
    rows = list(csv.DictReader(io.StringIO(good(baro, "export", "-e", "job", tape).decode())))
    samples = [int(r["t_ns"]) for r in rows]
    middle = samples[len(samples) // 2]
    at = json.loads(good(baro, "show", "--at", f"+{middle}ns", "--json", tape))
    assert (at["t_ns"], at["sample"]) == (middle, "at")
    assert (at["job"]["lower_bounds"] or "") == rows[len(samples) // 2]["lower_bounds"]
    assert "lower_bounds" not in at["job"]["absent"]
    before = json.loads(good(baro, "show", "--at", f"+{middle + 1}ns", "--json", tape))
    assert (before["t_ns"], before["sample"]) == (middle, "before")
    after = json.loads(good(baro, "show", "--at", f"+{middle - 1}ns", "--pick", "after", "--json", tape))
    assert (after["t_ns"], after["sample"]) == (middle, "after")
    nearest = json.loads(good(baro, "show", "--at", f"+{middle - 1}ns", "--pick", "nearest", "--json", tape))
    assert (nearest["t_ns"], nearest["sample"]) == (middle, "nearest")
    last = json.loads(good(baro, "show", "--json", tape))
    assert last["sample"] == "last" and last["processes"]
    assert last["t_ns"] == max(int(r["t_ns"]) for r in rows if int(r["processes"]))
    end = json.loads(good(baro, "show", "--at", "-0s", "--json", tape))
    assert end["t_ns"] == samples[-1]
    for at in ("start", "0", "0%", "+0s"):
        assert json.loads(good(baro, "show", "--at", at, "--json", tape))["t_ns"] == samples[0]
    assert json.loads(good(baro, "show", "--at", "end", "--json", tape))["t_ns"] == last["t_ns"]
    half = json.loads(good(baro, "show", "--at", "50%", "--json", tape))
    assert half["t_ns"] <= half["asked_ns"] < samples[-1] and half["sample"] in ("at", "before")


def test_show_the_last_with_processes(run, work):
    """However many samples after it are empty: the wrapper, which would report the end, gets no CPU."""
    path = work / "late.baro"
    job = run.popen("run", "-q", "-i", "10ms", "-o", path, "--", "sleep", "1000")
    run.await_samples(path, 3)
    job.send_signal(signal.SIGSTOP)
    command = json.loads(run("show", "--json", path, status=0).stdout)["processes"][0]["pid"]
    os.kill(command, signal.SIGKILL)
    run.await_samples(path, len(run.instants(path)) + 5)
    job.send_signal(signal.SIGCONT)
    assert job.wait(60) == -signal.SIGKILL
    rows = run.export(path, "job")
    last = [row["t_ns"] for row in rows if row["processes"]][-1]
    assert not any(row["processes"] for row in rows[-3:])
    for at in ([], ["--at", "end"]):
        shown = json.loads(run("show", "--json", *at, path, status=0).stdout)
        assert shown["t_ns"] == last and [p["name"] for p in shown["processes"]] == ["sleep"]
    assert ": the last sample with processes\n" in run("show", path, status=0).stdout


def test_show_outside_of_the_tape(baro, tape):
    """A moment outside of the tape is an error, in one line with the moments that the tape has."""
    for at, where in (("2001-01-01T00:00:00Z", "before the beginning"), ("+1h", "after the end"),
                      ("-1h", "before the beginning"), ("2101-01-01T00:00:00Z", "after the end")):
        r = call(baro, "show", "--at", at, tape, env=dict(os.environ, TZ="XXX-3"))
        one_line(r, 2, where, at, "+0.000s to +", "+03:00 to 2")
    # 12:31 is before a recording that began at 12:40, and after one of 12:20.
    start = json.loads(good(baro, "summary", "--json", tape))["start"]
    begin = datetime.datetime.fromisoformat(start.replace("Z", "+00:00"))
    for minutes, where in ((-10, "before the beginning"), (10, "after the end")):
        clock = f"{begin + datetime.timedelta(minutes=minutes):%H:%M}"
        env = dict(os.environ, TZ="UTC")
        for command in ("show", "top"):
            one_line(call(baro, command, "--at", clock, tape, env=env), 2, clock + " is " + where, "the tape has +0.000s")
    one_line(call(baro, "plot", "--from", "+1h", tape), 2, "--from +1h is after the end", "the tape has +0.000s")
    one_line(call(baro, "trim", tape, "-o", "x.baro", "--from", "+1h"), 2, "+1h is after the end", "the tape has")
    for pick in ("nearest", "after"):
        one_line(call(baro, "show", "--at", "+1h", "--pick", pick, tape), 2, "after the end")


def test_show_finds_moments_that_are_printed(baro, work):
    """--at accepts each moment that summary, show and export print, and shows that sample; in any time zone."""
    path = work / "p.baro"
    grow = "import time\nx = []\nfor i in range(20): x.append(bytearray(4 << 20)); time.sleep(0.02)\ndel x\ntime.sleep(0.3)"
    assert call(baro, "run", "-q", "-i", "10ms", "-o", path, "--", sys.executable, "-c", grow).returncode == 0
    env = dict(os.environ, TZ="XXX-5:45")
    samples = [int(r["t_ns"]) for r in csv.DictReader(io.StringIO(good(baro, "export", "-e", "job", path).decode()))]
    text = good(baro, "summary", "-v", path, env=env).decode()
    moment = re.search(r"peak .* at (\+\S+s)[:\n ]", text)
    peak = json.loads(good(baro, "show", "--json", "--at", "peak", path))
    assert peak["sample"] == "at"
    if moment:  # else the peak was between two samples
        shown = json.loads(good(baro, "show", "--json", "--at", moment[1], path))["t_ns"]
        assert abs(shown - peak["t_ns"]) < 10**6
    for t in samples[:: max(1, len(samples) // 10)]:
        if sum(other // 10**6 == t // 10**6 for other in samples) > 1:
            continue  # ages are printed in ms; on a busy machine two samples may be in one
        head = good(baro, "show", "--at", f"+{t}ns", path, env=env).decode().splitlines()[0]
        age, when = re.match(r"(\S+), (\S+): the sample at that time$", head).groups()
        assert when.endswith("+05:45")
        utc = json.loads(good(baro, "show", "--json", "--at", f"+{t}ns", path))["time"]
        assert utc.endswith("Z")
        for at in (age, when, when.split("T")[1][:-6], utc):
            found = json.loads(good(baro, "show", "--json", "--at", at, path, env=env))
            assert (found["t_ns"], found["sample"]) == (t, "at"), at
    start = re.search(r"started +(\S+) on", text)[1]
    assert json.loads(good(baro, "show", "--json", "--at", start, path, env=env))["t_ns"] == samples[0]


def test_show_takes_local_time(baro, tape, work):
    """The zone comes from its file, also if the zone's name could be read as a rule (EST5EDT)."""
    if not shutil.which("zic", path="/usr/sbin:/usr/bin"):
        pytest.skip("no zic")
    (work / "zones").write_text("Zone EST5EDT 3:00 - XXX\n")
    subprocess.run([shutil.which("zic", path="/usr/sbin:/usr/bin"), "-d", work / "zone", work / "zones"], check=True)
    begin = json.loads(good(baro, "show", "--at", "+0s", "--json", tape))["time"]
    there = datetime.datetime.fromisoformat(begin.replace("Z", "+00:00")) + datetime.timedelta(hours=3, seconds=1)
    env = dict(os.environ, TZ="EST5EDT", TZDIR=str(work / "zone"))
    shown = [json.loads(good(baro, "show", "--json", "--at", at, tape, env=env))["t_ns"]
             for at in (there.strftime("%Y-%m-%dT%H:%M:%S"), there.strftime("%H:%M:%S"))]
    utc = json.loads(good(baro, "show", "--json", "--at",
                          (there - datetime.timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ"), tape))["t_ns"]
    assert shown == [utc, utc]


def test_show_tree(run, work):
    path = work / "tree.baro"

    def lines(**env):
        return [line for line in run("show", path, env=env).stdout.splitlines() if re.match(r" *\d+ .*head -c1 gate", line)]

    def all_are_known():
        shown[:] = lines(), lines(LC_ALL="C")
        return len(shown[0]) == len(shown[1]) == 3

    shown = []
    run.record_gated(path, "sh -c 'head -c1 gate; true'; true", all_are_known)
    tree, in_ascii = shown
    assert "  └─head" in tree[2] and "└─sh -c" in tree[1]
    assert "  `-head" in in_ascii[2] and "".join(in_ascii).isascii()


# ---- following -------------------------------------------------------------------------------------------------------


def test_cores_of_the_rest_are_a_lower_bound_where_some_are_not_known(baro):
    tape = pathlib.Path(__file__).resolve().parents[1] / "tape/v1-small.baro"
    first, last = (good(baro, "show", "--top", "1", "--at", at, tape).decode() for at in ("start", "end"))
    assert "\n(2 more, at least 0.00 cores)\n" in first
    assert "\n(1 more, 0.02 cores)\n" in last
