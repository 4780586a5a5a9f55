# SPDX-License-Identifier: Apache-2.0
"""What each reader says of tasks: the same figures everywhere, at any moment, while a recording goes on and after it;
and names of tasks that are markup, formulas or terminal sequences."""

import csv
import io
import json
import os
import re
import secrets
import signal
import subprocess
import sys

import pytest
from conftest import SOURCE, tasks_by_name
from readers import unescape
from test_injection import plain, strict

# Holds memory and burns CPU time until a file is there.
TOOL = """#!{python}
import os, sys, time
held = bytearray(b"x") * (30 << 20)
spent = time.process_time() + 0.2
while time.process_time() < spent:
    sum(range(2000))
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""


class Tools:
    """A recording of tasks with these names, a process of each."""

    def __init__(self, run, tape, work, names, wait_until):
        self.run, self.tape, self.work, self.names = run, tape, work, names
        self.tools = [f"t{i}{secrets.token_hex(4)}" for i in range(len(names))]
        for tool in self.tools:
            (work / tool).write_text(TOOL.format(python=sys.executable))
            (work / tool).chmod(0o755)
        rules = [o for name, tool in zip(names, self.tools) for o in ("--task", name + f"=/{tool} ".encode())]
        options = ["-q", "-o", tape, "-i", "100ms", "--overhead", "off"]
        self.recorder = run.popen("record", *options, *map(os.fsdecode, rules))
        self.processes = []
        try:
            run.await_samples(tape)
            self.processes = [subprocess.Popen([work / tool, work / "end"]) for tool in self.tools]
            wait_until(self.all_known, "memory and CPU time of each task")
        except BaseException:
            self.stop()
            raise

    def all_known(self):
        last = {unescape(t["name"]): t for t in self.run.export(self.tape, "task")}
        return all((last.get(n, {}).get("uss_bytes") or 0) > 25 << 20 and last[n]["cpu_ns"] > 15e7 for n in self.names)

    def stop(self):
        (self.work / "end").touch()
        for p in self.processes:
            p.wait(60)
        if self.recorder.poll() is None:
            self.recorder.send_signal(signal.SIGINT)
        assert self.recorder.wait(60) == 0
        self.run.await_end(self.tape)

    def out(self, *args):
        return self.run(*args, status=0).stdout

    def json(self, *args):
        return json.loads(self.out(*args))


@pytest.fixture
def tools(run, tape, work, wait_until):
    made = []

    def make(*names):
        made.append(Tools(run, tape, work, list(names), wait_until))
        return made[-1]

    yield make
    for t in made:
        if t.recorder.poll() is None:
            t.stop()


def test_every_reader(tools, work, tape):
    t = tools(b"gul", b"fmp")
    # While the recording goes on.
    now = t.json("show", "--json", tape)
    assert [x["name"] for x in now["tasks"]] == ["gul", "fmp"]
    assert {p["task"] for p in now["processes"]} == {"gul", "fmp"}
    gul = t.json("show", "--json", "--task", "gul", tape)
    assert [x["name"] for x in gul["tasks"]] == ["gul"] and {p["task"] for p in gul["processes"]} == {"gul"}
    living = now["t_ns"]
    t.stop()
    check_history(t, tape, living)
    by_task = list(tasks_by_name(t.json("summary", "--by", "task", "--json", tape)).values())
    assert by_task == t.json("summary", "--json", tape)["tasks"]
    assert [x["name"] for x in by_task] == ["gul", "fmp"]
    assert re.search(r"^ .* ≥?[\d.]+  (gul|fmp)$", t.out("summary", "-v", tape), re.M)
    check_reports(t, tape, work, by_task)
    check_plots(t, tape)
    top = t.out("top", "--once", "--at", f"+{living / 1e9:.3f}s", tape)
    assert re.search(r"^ +PID TASK ", top, re.M) and re.search(r"^ +CORES +LIVE .* TASK$", top, re.M), top
    for name in ("gul", "fmp"):
        assert re.search(rf"^ +\d+ {name} ", top, re.M) and re.search(rf"^ +[\d.]+ +1 .* {name}$", top, re.M), top


def check_history(t, tape, living):
    """A task that has ended is there at each moment."""
    t_ns = f"+{living / 1e9:.3f}s"
    text = t.out("show", "--at", t_ns, tape)
    assert re.search(r"^ +[\d.]+ +1 +[\d.]+ MB .* ms +1 gul$", text, re.M), text
    lines = text.splitlines()
    assert any(re.match(r" +PID TASK .* COMMAND$", line) for line in lines), text
    rows = [line for line in lines if f"/{t.tools[0]} " in line]
    assert len(rows) == 1 and " gul " in rows[0], text
    only = t.out("show", "--at", t_ns, "--task", "fmp", tape)
    assert re.search(r" 1 fmp$", only, re.M) and only.count("gul") == 1 and f"/{t.tools[1]} " in only, only  # the title has both
    ended = t.json("show", "--json", "--at", "end", "--pick", "before", tape)
    cpu = {x["name"]: x["cpu_ns"] for x in ended["tasks"]}
    assert cpu["gul"] > 15e7 and cpu["fmp"] > 15e7
    missing = t.run("show", "--task", "no", tape)
    assert missing.returncode and missing.stderr.count("\n") == 1 and "the tape has gul, fmp" in missing.stderr


def check_reports(t, tape, work, by_task):
    t.out("report", tape, "-o", work / "r.html")
    html = (work / "r.html").read_text()
    assert 'id="tasks"' in html and "CPU by task (cores)" in html and "Memory by task (RSS)" in html
    markdown = t.out("report", tape, "-o", "-", "-F", "markdown")
    assert "### Tasks" in markdown and re.search(r"^\| `gul` \|", markdown, re.M)
    figures = {f["id"]: f for f in t.json("report", tape, "-o", "-", "-F", "json")["figures"]}
    assert {"gul", "fmp"} <= {c["name"] for c in figures["cpu_tasks"]["curves"]}
    t.out("report", tape, "-o", f"{work}/r/")
    page = (work / "r" / "report.md").read_text()
    assert "## By task" in page and "CPU time by task so far" in page and "by command, summed" not in page
    for plot in ("aggregate_uss", "rss_vs_uss", "total_footprint", "aggregate_cpu", "cpu_time", "instance_count"):
        assert list((work / "r").glob(plot + ".*")), plot


def check_plots(t, tape):
    text = t.out("plot", tape, "memory_tasks")
    assert "gul" in text and "fmp" in text
    assert "gul" in t.out("plot", tape, "task.cores@gul")


def test_without_tasks(run, tape, work):
    run.record(tape, "sleep 0.1")
    assert run.summary(tape)["tasks"] == []
    assert "tasks" not in json.loads(run("show", "--json", tape, status=0).stdout)
    assert "TASK" not in run("show", tape, status=0).stdout
    run("report", tape, "-o", work / "r.html", status=0)
    html = (work / "r.html").read_text()
    assert 'id="tasks"' not in html and "by task" not in html
    assert "has no tasks" in run("show", "--task", "x", tape).stderr
    # The plots are by program then, as is the tool of the dialect.
    rows = list(csv.DictReader(io.StringIO(run("export", "-d", "oasislmf", tape, status=0).stdout)))
    assert {r["tool"] for r in rows} <= {"sh", "sleep", "baro"} and rows


def test_lists(run, tape, work):
    text = run("export", "--list", status=0).stdout
    for name in ("csv", "jsonl", "trace", "oasislmf", "spare-cores", "process", "task", "directory"):
        assert re.search(rf"^  {name} +\w", text, re.M), name
    of_tape = run("export", "--list", SOURCE / "tests/tape/v1-collect.baro", status=0).stdout
    assert set(text.splitlines()) <= set(of_tape.splitlines())
    assert re.search(r"^  pulse +of this tape alone", of_tape, re.M), of_tape


HOSTILE = [b"<script>alert(1)</script>&\"'", b"+cmd|' /C calc'!A0", b"@SUM(1,2)", b"\x1b[31mred\x1b]0;title\x07",
           "\u202etxt.exe\u200b".encode(), b"a|b`c`*d*_e_[f](g)\\", b"tab\tand, comma", b"x" * 63]


def test_hostile_names(tools, work, tape):
    t = tools(*HOSTILE)
    t.stop()
    read = lambda *args: plain(t.run(*args, status=0, text=False).stdout.replace(b"\r\n", b"\n"))
    names = {unescape(x["name"]) for x in strict(read("summary", "--json", tape))["tasks"]}
    assert names == set(HOSTILE)
    text = (["summary", "--by", "task"], ["summary"], ["show", "--at", "50%"], ["plot", "cpu_tasks"], ["top", "--once"])
    for args in text:
        order = [args[0], tape, *args[1:]] if args[0] == "plot" else [*args, tape]
        assert read(*order)
    for entity in ("task", "process", "exit"):
        rows = list(csv.reader(io.StringIO(read("export", "-e", entity, "--safe", tape), newline=""), strict=True))
        assert len({len(row) for row in rows}) == 1
        assert not any(re.match(r"[=+@\t\r]", cell) for row in rows[1:] for cell in row), entity
        objects = [strict(line) for line in read("export", "-e", entity, "-F", "jsonl", tape).splitlines()]
        assert {unescape(o["name"] if entity == "task" else o["task"]) for o in objects} <= set(HOSTILE)
    rows = list(csv.reader(io.StringIO(read("export", "-d", "oasislmf", tape), newline=""), strict=True))
    assert {unescape(row[1]) for row in rows[1:]} == set(HOSTILE) and {len(row) for row in rows} == {9}
    strict(read("export", "-F", "trace", tape))
    check_hostile_reports(t, work, tape)


def check_hostile_reports(t, work, tape):
    t.out("report", tape, "-o", work / "h.html")
    html = plain((work / "h.html").read_bytes())
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html
    markdown = plain(t.run("report", tape, "-o", "-", "-F", "markdown", status=0, text=False).stdout)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in markdown.split("### Tasks")[1].split("</details>")[0].split("\n")
              if line.startswith("|")}
    assert len(widths) == 1 and "<script>" not in re.sub(r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown)
    t.out("plot", tape, "cpu_tasks", "-o", work / "h.svg")
    assert "<script>" not in plain((work / "h.svg").read_bytes())
    strict(t.out("report", tape, "-o", "-", "-F", "json"))
    t.out("report", tape, "-o", f"{work}/h/")
    assert plain((work / "h" / "report.md").read_bytes())


def test_a_dialect_says_that_memory_is_old(run, tape):
    """A dialect has no column for a mark: the command says of how many samples pss and uss are old, or not whole."""
    script = "for i in 1 2 3 4 5 6; do sleep 0.3 & sleep 0.01; done; wait"
    assert run("run", "-q", "-i", "50ms", "-o", tape, "--", "sh", "-c", script).returncode == 0
    rows = list(csv.DictReader(io.StringIO(run("export", "-e", "job", "--columns", "t_ns,lower_bounds,pss_stale", tape,
                                               status=0).stdout)))
    vague = [r for r in rows
             if {"pss_bytes", "uss_bytes"} & set(r["lower_bounds"].split()) or r["pss_stale"] not in ("", "0")]
    for dialect in ("oasislmf", "spare-cores", "spare-cores-0.5"):
        told = re.search(r"in the rows of (\d+) sample", run("export", "-d", dialect, tape, status=0).stderr)
        assert (int(told[1]) if told else 0) == len(vague), (dialect, told, vague)


def test_oasislmf_has_tasks_alone(run, tape):
    """Where tasks are named, other processes of the job have no rows; of one process neither part of its CPU time
    falls, however late its end is reported."""
    run("run", "-q", "-i", "10ms", "--overhead", "off", "-o", tape, "--", "sh", "-c",
        f"{run.binary} run --task burn -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.1'; sleep 0.1; :")
    rows = list(csv.DictReader(io.StringIO(run("export", "-d", "oasislmf", tape, status=0).stdout)))
    begun = [i for i, r in enumerate(rows) if r["tool"] == "burn"][0]
    assert {r["tool"] for r in rows[begun:]} == {"burn"}
    last = {}
    for r in rows:
        user, system = last.get(r["pid"], (0, 0))
        last[r["pid"]] = float(r["cpu_user_s"]), float(r["cpu_sys_s"])
        assert last[r["pid"]][0] >= user and last[r["pid"]][1] >= system, r
    task = run.export(tape, "task")
    for was, now in zip(task, task[1:]):
        assert now["cpu_user_ns"] >= was["cpu_user_ns"] and now["cpu_system_ns"] >= was["cpu_system_ns"]


def test_no_task_is_dropped_without_a_word(run, tape, work):
    """A line figure has eight curves: its title says whose are missing. The Markdown has what all tasks took."""
    lines = "".join(f"{run.binary} run --task task{i} -- sleep 0.2 & " for i in range(9))
    run("run", "-q", "-i", "50ms", "--overhead", "off", "-o", tape, "--", "sh", "-c", lines + "wait", status=0)
    for figure in ("cpu_time", "aggregate_uss", "aggregate_cpu", "instance_count", "rss_vs_uss"):
        done = run("plot", "-o", work / f"{figure}.svg", tape, figure)
        if "built without" in done.stderr:
            pytest.skip(done.stderr)
        text = (work / f"{figure}.svg").read_text()
        assert re.search(r"\(not drawn: task\d\)", text), figure
    text = run("report", "--format", "markdown", "-o", "-", tape, status=0).stdout
    rows = sum(t["process_samples"] for t in run.summary(tape)["tasks"])
    assert f"\n{rows:,} samples of processes of tasks · peak uss of all processes together " in text
    assert " % of the machine's memory · memory of the machine " in text and "| mean cores of one |" in text


BUILD = """
i=0; while [ $i -lt 20 ]; do sh -c 'j=0; while [ $j -lt 800 ]; do j=$((j+1)); done; /bin/true'; i=$((i+1)); done
{python} -c 'import time; t = time.process_time() + 0.1
while time.process_time() < t: pass'
"""


@pytest.fixture
def build(run, tape, work):
    """A recording without tasks."""
    (work / "build.sh").write_text(BUILD.format(python=sys.executable))
    run("run", "-q", "-i", "20ms", "--overhead", "off", "-o", tape, "--", "sh", work / "build.sh", status=0)
    return tape


def by_task(run, *args):
    return tasks_by_name(json.loads(run("summary", "--by", "task", "--json", *args, status=0).stdout))


def test_rules_of_a_reader(run, build, work):
    """By names, which the tape has of every process: the sums are those of all exits."""
    exits = run.export(build, "exit")
    of = lambda name: sum(e["cpu_ns"] or 0 for e in exits if e["name"].startswith(name))
    tasks = by_task(run, "--task", "py=^python", "--task", "leaf=^true", "--task", "rest=^sh", build)
    assert list(tasks) == ["py", "leaf", "rest"]
    assert abs(tasks["py"]["cpu_ns"] - of("python")) <= 1e6 and abs(tasks["leaf"]["cpu_ns"] - of("true")) <= 1e6
    # a sample may have a fork of the shell that executes another program later: it was of both tasks
    assert sum(t["processes_started"] for t in tasks.values()) >= len(exits)
    assert sum(t["commands_unread"] or 0 for t in tasks.values()) == 0
    everything = by_task(run, "--task", "all=build.sh", build)["all"]
    assert everything["processes_started"] == len(exits)
    assert abs(everything["cpu_ns"] - sum(e["cpu_ns"] or 0 for e in exits)) <= 1e6
    # the shells that no sample has may have had such a command line, and say so
    unsure = by_task(run, "--task", "x=while .*true", build)["x"]
    assert unsure["commands_unread"] != 0 and unsure["processes_started_is_lower_bound"]
    (work / "tasks.yaml").write_text("tasks: {leaf: {exact: 'true'}}")
    assert by_task(run, "--tasks", work / "tasks.yaml", build)["leaf"]["cpu_ns"] == tasks["leaf"]["cpu_ns"]


def test_every_command_takes_rules(run, build, work):
    rule = ["--task", "py=^python"]
    rows = [json.loads(x) for x in run("export", "-F", "jsonl", *rule, build, status=0).stdout.splitlines()]
    assert {r["task"] for r in rows} == {"py", None}
    exits = [json.loads(x) for x in run("export", "-F", "jsonl", "-e", "exit", *rule, build, status=0).stdout.splitlines()]
    assert [e["name"].startswith("python") for e in exits] == [e["task"] == "py" for e in exits]
    of_task = [json.loads(x) for x in run("export", "-F", "jsonl", "-e", "task", *rule, build, status=0).stdout.splitlines()]
    assert len(of_task) == len(run.export(build, "job")) and of_task[-1]["cpu_ns"] >= 0.1e9
    run("report", *rule, "-o", work / "r.html", build, status=0)
    assert "CPU by task" in (work / "r.html").read_text()
    assert "py" in run("plot", *rule, build, "cpu_tasks", status=0).stdout
    assert re.search(r" TASK$", run("top", "--once", "--at", "end", *rule, build, status=0).stdout, re.M)
    # a moment, read by itself, is what it is on the way
    middle = of_task[len(of_task) // 2]
    at = json.loads(run("show", "--json", "--at", f"+{middle['t_ns'] / 1e9:.9f}s", *rule, build, status=0).stdout)
    assert at["tasks"][0]["cpu_ns"] == middle["cpu_ns"]
    for bad, words in (("x", "write NAME=REGEX"), ("a=(", "Unmatched ("), ("a=" + "(a{1,99}){1,999}", "steps")):
        out = run("summary", "--task", bad, build)
        assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1
    (work / "pins.yaml").write_text("tasks: {a: {pid: 1}}")
    assert "can be recorded" in run("summary", "--tasks", work / "pins.yaml", build).stderr


def test_rules_of_a_recording(run, tape, work):
    """run and record write them to the header: all who read the tape have the tasks; so has a copy, as rows."""
    script = "sh -c 'i=0; while [ $i -lt 90000 ]; do i=$((i+1)); done'; sleep 0.5; true"
    out = run("run", "-v", "-i", "20ms", "--task", "loop=while .*90000 ", "--task", "nap=^sleep", "--name", "rules", "-o", tape,
              "--", "bash", "-c", script, status=0)
    tasks = by_task(run, tape)
    assert tasks["nap"]["processes_started"] == 1 and tasks["loop"]["cpu_ns"] > 10e6
    text = run("summary", "--by", "task", tape, status=0).stdout
    assert out.stderr.startswith("rules ") and all(line in out.stderr for line in text.splitlines()), (out.stderr, text)
    assert by_task(run, "--task", "other=^true", tape).keys() == {"other"}
    run("anonymize", tape, "-o", work / "a.baro", status=0)
    hidden = by_task(run, work / "a.baro")
    assert [t["cpu_ns"] for t in hidden.values()] == [t["cpu_ns"] for t in tasks.values()] and not hidden.keys() & tasks.keys()


def test_rules_on_an_old_tape(run):
    """Its own task, which its recorder has summed up, and others."""
    old = SOURCE / "tests/tape/v1-collect.baro"
    assert by_task(run, old)["hash=^sha"]["cpu_ns"] > 0
    assert by_task(run, "--task", "all=.", old)["all"]["processes_started"] >= 6
