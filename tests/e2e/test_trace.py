# SPDX-License-Identifier: Apache-2.0
"""`export --format trace` for Perfetto: checked by the rules of the Trace Event Format, and against the exits of the
same tape.
"""

import json

import pytest

from conftest import SOURCE
from readers import HOSTILE_NAME, call, good, one_line, tape, unescape  # noqa: F401

NUMBER = (int, float)


def trace_of(baro, path):
    text = good(baro, "export", "--format", "trace", path).decode()
    trace = json.loads(text)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    # One event per line: the file can be read and searched while it is written.
    lines = text.splitlines()
    assert lines[-1] == "]}"
    assert [json.loads(line.rstrip(",")) for line in lines[1:-1]] == trace["traceEvents"]
    return trace


def check_format(events):
    """Checks what the format requires of each phase of event that is used."""
    asynchronous = {}
    for e in events:
        assert e["ph"] in ("X", "C", "i", "M", "b", "e"), e
        assert isinstance(e["name"], str) and e["name"], e
        assert isinstance(e["pid"], int) and e["pid"] > 0, e
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            assert list(e["args"]) == ["name" if e["name"].endswith("_name") else "sort_index"]
            continue
        assert isinstance(e["ts"], NUMBER) and e["ts"] >= 0, e
        if e["ph"] == "C":
            assert e["args"] and all(isinstance(v, NUMBER) for v in e["args"].values()), e
            continue
        assert isinstance(e["tid"], int) and isinstance(e["cat"], str), e
        if e["ph"] == "X":
            assert isinstance(e["dur"], NUMBER) and e["dur"] >= 0, e
        elif e["ph"] in "be":
            asynchronous.setdefault((e["cat"], e["id"], e["name"]), []).append((e["ts"], e["ph"]))
        else:
            assert e["s"] in ("g", "p", "t"), e
    for pair in asynchronous.values():
        assert [ph for _, ph in sorted(pair)] == ["b", "e"], pair


def check_rows(events):
    """Each row has a name, and its bars do not overlap unless one lies within the other."""
    named = {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M" and e["name"].endswith("_name")}
    rows = {}
    for e in events:
        if e["ph"] != "M":
            assert (e["pid"], e.get("tid")) in named, e
        if e["ph"] == "X":
            begin = round(e["ts"] * 1000)
            rows.setdefault((e["pid"], e["tid"]), []).append((begin, -(begin + round(e["dur"] * 1000))))
    for row, bars in rows.items():
        stack = []
        for begin, minus_end in sorted(bars):
            while stack and stack[-1] <= begin:
                stack.pop()
            assert not stack or -minus_end <= stack[-1], (row, begin, minus_end, stack)
            stack.append(-minus_end)
    tids = {}
    for pid, tid in named:
        assert tid is None or tids.setdefault(tid, pid) == pid  # a row belongs to one group


def bars(trace):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "process"]


def check(baro, path):
    trace = trace_of(baro, path)
    events = trace["traceEvents"]
    check_format(events)
    check_rows(events)
    exits = [json.loads(line) for line in good(baro, "export", "-F", "jsonl", "-e", "exit", path).splitlines()]
    shown = json.loads(good(baro, "show", "--json", path))
    samples = [json.loads(line) for line in good(baro, "export", "-F", "jsonl", "-e", "job", path).splitlines()]
    end = max([e["t_ns"] for e in exits] + [s["t_ns"] for s in samples])
    ended = [b for b in bars(trace) if "source" in b["args"]]
    assert len(ended) == len(exits)
    identity = sorted((b["args"]["pid"], b["args"]["start_ticks"] or 0) for b in ended)
    assert identity == sorted((e["pid"], e["start_ticks"] or 0) for e in exits)
    by_identity = {(e["pid"], e["start_ticks"]): e for e in exits}
    for bar in bars(trace):
        assert round((bar["ts"] + bar["dur"]) * 1000) <= end, bar
    for bar in ended:
        e = by_identity[bar["args"]["pid"], bar["args"]["start_ticks"]]
        assert round((bar["ts"] + bar["dur"]) * 1000) == max(e["t_ns"], round(bar["ts"] * 1000)), (bar, e)
        for key, value in bar["args"].items():
            if key != "absent":
                assert value == e[key], key
    return trace, shown


def test_bars_are_the_exits_and_counters_the_samples(baro, tape):
    """Names and command lines stay text."""
    trace, _ = check(baro, tape)
    assert trace["otherData"]["command"][0] == "sh" and HOSTILE_NAME in [unescape(b["name"]) for b in bars(trace)]
    text = good(baro, "export", "--format", "trace", tape)
    assert not any(c < 0x20 and c != 0x0A for c in text) and b"\x7f" not in text and text.decode()
    rows = [json.loads(x) for x in good(baro, "export", "-F", "jsonl", "-e", "job", tape).splitlines()]
    values = {}
    for e in trace["traceEvents"]:
        if e["ph"] == "C" and e["pid"] == 1:
            values.setdefault(e["name"], []).append((round(e["ts"] * 1000), *e["args"].values()))
    names = {e["name"] for e in trace["traceEvents"] if e["ph"] == "C"}
    assert {"cpu", "memory rss", "processes", "i/o read", "memory used"} <= names
    rss, last = dict(values["memory rss"]), None
    for row in rows:
        last = rss.get(row["t_ns"], last)
        assert last == row["rss_bytes"]
    # The area under the rate is the counter's growth.
    cpu = sorted(values["cpu"])
    area = sum((b[0] - a[0]) * a[1] for a, b in zip(cpu, cpu[1:]))
    counted = [row for row in rows if row["t_ns"] <= cpu[-1][0]][-1]["cpu_ns"]
    assert cpu[-1][1] == 0 and area == pytest.approx(counted, rel=1e-6)


def test_living_processes_have_a_bar(run, baro, work):
    """Attached, and stopped while its target lives: a bar up to the last sample."""
    target = run.popen("run", "-q", "-o", work / "t.baro", "--", "sleep", "1000")
    try:
        run("record", "--pid", str(target.pid), "--for", "200ms", "-q", "-o", work / "a.baro", status=None)
        trace, shown = check(baro, work / "a.baro")
        living = [b for b in bars(trace) if "source" not in b["args"]]
        assert sorted(b["args"]["pid"] for b in living) == sorted(p["pid"] for p in shown["processes"])
        assert living
    finally:
        target.terminate()
        target.wait()


@pytest.mark.parametrize("name", ["v1-small", "v1-machine", "v1-entities", "v1-limits"])
def test_old_tapes(baro, name):
    trace = trace_of(baro, SOURCE / "tests" / "tape" / f"{name}.baro")
    check_format(trace["traceEvents"])
    check_rows(trace["traceEvents"])


def test_followed(baro, run, work):
    """A trace of a growing tape ends with the tape, and equals the one that is made of it afterwards."""
    job = run.popen("run", "-q", "-o", work / "t.baro", "--", "sh", "-c", "sleep 0.3; true; sleep 0.3")
    run.await_samples(work / "t.baro")
    followed = good(baro, "export", "--format", "trace", "-f", work / "t.baro")
    job.wait()
    assert followed == good(baro, "export", "--format", "trace", work / "t.baro")


@pytest.mark.parametrize("option",
                         [["--columns", "pid"], ["--entity", "job"], ["--dialect", "spare-cores"], ["--safe"]], ids=str)
def test_trace_has_no_choice_of_rows(baro, tape, option):
    one_line(call(baro, "export", "--format", "trace", *option, tape), 2, option[0], "trace")
