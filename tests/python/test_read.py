# SPDX-License-Identifier: Apache-2.0
"""Reading tapes: the same numbers as `baro`, absent values with their reasons, growing tapes, many runs."""

import asyncio
import datetime
import gc
import json
import os
import pickle
import shutil
import subprocess
import sys

import pytest
from conftest import INSTALLED, SOURCE, in_threads

import barograph
from barograph import _where, values


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A tape of a few processes, with a phase."""
    made = tmp_path_factory.mktemp("tape") / "t.baro"
    code = (
        "import subprocess, time, barograph\n"
        "with barograph.phase('work', n=1):\n"
        "    for i in range(3): subprocess.run(['sh', '-c', 'exit %d' % i])\n"
        "    end = time.process_time() + 0.3\n"
        "    while time.process_time() < end: pass\n"
        "barograph.mark('half', loss=0.5)\n"
        "held = bytearray(50_000_000)\n"
        "time.sleep(0.2)\n"
    )
    done = barograph.run([sys.executable, "-c", code], tape=made, interval="10ms", overhead="off")
    assert done.returncode == 0
    return str(made)


@pytest.fixture
def tape(path):
    return barograph.open(path)


def baro(*arguments):
    return subprocess.run([_where.baro(), *arguments], capture_output=True, text=True, check=True).stdout


def test_names_and_tags(tmp_path):
    done = barograph.run(["true"], tape=tmp_path / "t.baro", name="a job", tags={"k": "v=w", "empty": ""})
    assert done.tape.tags == done.tape.header.tags == {"k": "v=w", "empty": ""} and done.tape.header.name == "a job"
    assert done.tape.summary.to_dict()["tags"] == done.tape.tags
    with pytest.raises(barograph.RecordingError, match="a=b"):
        barograph.run(["true"], tags={"a=b": "c"}, strict=True)


def test_header(tape):
    header = tape.header
    assert header.argv[0] == sys.executable and header.mode == "run" and header.has_start
    assert header.host == os.uname().nodename and header.cpus >= 1 and header.uid == os.getuid()
    assert abs((datetime.datetime.now().astimezone() - header.start).total_seconds()) < 3600


def test_a_number_that_the_header_lacks_is_none():
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "tape")
    if not os.path.isdir(folder):
        pytest.skip("needs the tree")
    old, small = (barograph.open(os.path.join(folder, f"v1-{name}.baro")).header for name in ("limits", "small"))
    assert [old.cpus, old.memory_bytes, old.recorder_pid, old.recorder_start_ticks, old.clock_ticks] == [None] * 5
    assert (small.cpus, small.memory_bytes, small.uid, old.segment, old.cpu_model) == (8, 1 << 40, 1000, 0, "")


def test_the_summary_is_that_of_baro(tape, path):
    said = json.loads(baro("summary", "--json", path))
    assert tape.summary.to_dict() == {k: v for k, v in said.items() if k not in ("verdicts", "phases")}
    for section in ("job", "limits", "exit"):
        for name, value in getattr(tape.summary, section):
            if name in said[section]:
                expected = said[section][name]
                got = value.reason if isinstance(value, barograph.Absent) and expected is not None else value
                if isinstance(value, barograph.Absent):
                    assert expected is None, name
                else:
                    assert got == pytest.approx(expected) if isinstance(expected, float) else got == expected, name
    assert [str(c.name) for c in tape.commands] == [c["name"] for c in said["commands"]]
    assert tape.summary.wall_ns == said["wall_ns"] and tape.summary.cpus == said["cpus"]
    assert tape.summary.host.pressure is tape.summary["host.pressure"]
    assert [(v.rule, v.title) for v in tape.verdicts] == [(v["rule"], v["title"]) for v in said["verdicts"]]


def test_absent_is_not_zero(tape):
    value = tape.summary.job.tcp_sent_bytes
    assert isinstance(value, barograph.Absent) and not value and value.reason == "not asked"
    for wrong in (lambda: value + 1, lambda: value > 0, lambda: float(value), lambda: sum([value]),
                  lambda: f"{value:.1f}"):
        with pytest.raises(TypeError, match="tcp_sent_bytes is absent"):
            wrong()
    assert tape.summary.job.get("tcp_sent_bytes", -1) == -1
    assert tape.summary.job.to_dict()["tcp_sent_bytes"] is None
    assert "absent" in f"{value}"


def test_values_know_how_exact_they_are(tape):
    value = tape.summary.job.cpu_ns
    assert isinstance(value, int) and value > 300_000_000
    assert value.is_lower_bound == (tape.summary.to_dict()["marks"].get("job.cpu_ns") == "lower_bound")
    assert pickle.loads(pickle.dumps(value)).flags == value.flags
    from barograph.values import LOWER_BOUND, UPPER_BOUND, Real, Whole

    assert repr(Whole(3, LOWER_BOUND)) == "at least 3" and str(Real(0.5)) == "0.5"
    assert repr(Whole(3, LOWER_BOUND | UPPER_BOUND)) == "about 3", "as baro_value_prefix()"
    assert json.dumps(Whole(3, LOWER_BOUND)) == "3"


@pytest.mark.skipif(INSTALLED, reason="the tapes are in the checkout")
@pytest.mark.parametrize("name", ["v1-small.baro", "v1-tasks.baro", "v2-series"])
def test_values_have_the_marks_of_the_json(name):
    """Each number of each section, and no other."""
    summary, found = barograph.open(SOURCE / "tests" / "tape" / name).summary, {}
    for section in summary.sections:
        rows = summary[section]
        for i, row in enumerate(rows if isinstance(rows, list) else [rows]):
            where = (section, str(i) if isinstance(rows, list) else "")
            found.update({".".join(filter(None, (*where, fact))): value for fact, value in row if isinstance(value, (int, float))})
    marks = summary.to_dict()["marks"]
    assert marks and set(marks) == {path for path, value in found.items() if not getattr(value, "is_exact", True)}
    for path, mark in marks.items():
        value = found[path]
        either = value.is_estimate or (value.is_lower_bound and value.is_upper_bound)
        assert mark == ("estimate" if either else "lower_bound" if value.is_lower_bound else "upper_bound"), path


@pytest.mark.skipif(INSTALLED, reason="the tapes are in the checkout")
def test_a_segment_that_is_removed_while_the_folder_is_read(tmp_path, monkeypatch):
    folder = shutil.copytree(SOURCE / "tests" / "tape" / "v2-series", tmp_path / "t.baro")
    tape, scandir = barograph.open(folder), os.scandir

    def scan(path):
        found = list(scandir(path))
        (folder / "000001.baro").unlink(missing_ok=True)
        return iter(found)

    monkeypatch.setattr(os, "scandir", scan)
    assert tape.summary.job.cpu_ns > 0


def test_processes_and_exits(tape, path):
    rows = [json.loads(line) for line in baro("export", "--entity", "exit", "--format", "jsonl", path).splitlines()]
    assert [(e.pid, e.name, e.get("cpu_ns")) for e in tape.exits] == [(r["pid"], r["name"], r["cpu_ns"]) for r in rows]
    processes = {p.pid: p for p in tape.processes}
    assert len(processes) == tape.summary.job.processes_started
    for e in tape.exits:
        p = processes[e.pid]
        assert p.end_ns == e.t_ns and (not e.get("cpu_ns") or p.cpu_ns == e.cpu_ns)
    shells = [p for p in tape.processes if p.name == "sh"]
    assert {p.returncode for p in shells if isinstance(p.returncode, int)} <= {0, 1, 2}
    main = tape.processes[0]
    assert main.rss_peak_bytes > 50_000_000 and main.returncode == 0
    assert set(main.to_dict()) >= {"pid", "name", "cpu_ns", "begin_ns"}


def test_tasks_by_rules(tape, path):
    assert not tape.tasks
    asked = barograph.open(path, tasks={"shells": "^sh", "rest": "."})
    shells, rest = asked.tasks
    assert (shells.name, shells.processes_started) == ("shells", len([e for e in tape.exits if e.name == "sh"]))
    assert abs(shells.cpu_ns + rest.cpu_ns - sum(p.cpu_ns for p in tape.processes if p.cpu_ns)) < 5e6
    assert [t.cpu_ns for t in asked.at("end").entities("task")] == [shells.cpu_ns, rest.cpu_ns]
    with pytest.raises(barograph.Error, match="regular expression"):
        barograph.open(path, tasks={"x": "("}).tasks  # noqa: B018


def test_steps(tape, path):
    steps = tape.steps
    assert steps is tape.steps
    assert abs(sum(s.responsible_ns for s in steps.items) - (steps.end_ns - steps.begin_ns)) <= len(steps.items)
    assert sum(s.processes for s in steps.items) == tape.summary.job.processes_started
    assert steps.chain[0].begin_ns == steps.begin_ns and steps.chain[-1].end_ns == steps.end_ns
    for link, after in zip(steps.chain, steps.chain[1:]):
        assert link.end_ns == after.begin_ns and (link.step is None or link.step in steps.items)
    first = steps.items[0]
    assert first.driver is None or first.driver.is_driver
    assert {"name", "cmdline", "pid", "responsible_ns", "rss_peak_bytes"} <= set(first.to_dict())
    assert "driver" not in first.to_dict() and "wall time" in first.help("responsible_ns")


def test_timeline(tape):
    (phase,) = tape.phases
    assert phase.name == "work" and phase.attributes == {"n": 1} and phase.cpu_ns > 250_000_000
    assert phase.processes_started >= 1 and phase.duration > 0.25
    assert phase.path == "work" and phase.parent is None and phase.status is None and not phase.is_failed
    assert dict(phase)["cpu_ns"] == phase.cpu_ns and list(phase)[:4] == ["t_ns", "end_ns", "name", "path"]
    assert phase.get("nothing", 5) == 5 and phase == phase and len({phase, *tape.phases}) == 1
    (row,) = tape.rows("phase").to_dicts()
    assert {name: row[name] for name in phase if name != "attributes"} == {
        name: value for name, value in phase.items() if name != "attributes"}
    (mark,) = tape.marks
    assert mark.name == "half" and mark.attributes == {"loss": 0.5} and mark.begin >= phase.end
    assert {n.name for n in tape.notable} >= {"start", "end"}
    with pytest.raises(AttributeError):
        phase.no_such_fact  # noqa: B018


def test_instants(tape):
    peak = tape.at("peak")
    assert peak.sum("rss_bytes") > 50_000_000
    first, last = tape.at("start"), tape.at("end")
    assert first.t_ns == tape.range_ns[0] and last.t_ns == tape.range_ns[1]
    assert first.t < tape.at("50%").t < last.t and tape.at("-0.1").t < last.t
    assert tape.at(0.1).t_ns == pytest.approx(100_000_000, abs=60_000_000)
    assert tape.at(0.1, "before").t <= 0.1 <= tape.at(0.1, "after").t
    assert tape.at(tape.header.start + datetime.timedelta(seconds=0.2)).t > first.t
    assert tape.at(1e6, "exact") is None
    with pytest.raises(barograph.ArgumentError):
        tape.at("soon")
    process = max(peak.processes, key=lambda p: p.rss_bytes)  # PyPy itself has more than 50 MB
    assert process.rss_bytes > 50_000_000
    assert peak.process(process.pid).id == process.id
    assert process.cmdline and process.state in ("R", "S", "D") and process.threads == 1
    assert peak.host.cpus >= 1 and peak.entities("cpu")[0].name == "cpu0"
    assert peak.recorder.samples > 0
    with pytest.raises(AttributeError):
        process.no_such_metric  # noqa: B018


def test_a_closed_tape_is_said(path):
    with barograph.open(path) as tape:
        pass
    for use in (lambda: tape.summary, lambda: tape.at("peak"), lambda: next(iter(tape)), lambda: tape.state):
        with pytest.raises(barograph.ClosedError, match="is closed"):
            use()


def test_series(tape):
    cores = tape.series("cores", 50)
    assert len(cores) == len(cores.t) == 50 and cores.unit == "cores"
    assert 0 < cores.peak <= os.cpu_count() * 1.2
    width = cores.t[1] - cores.t[0]
    assert sum(v or 0 for v in cores.values) * width == pytest.approx(tape.summary.job.cpu_ns / 1e9, rel=0.2)
    assert tape.summary.job.cores_peak / 2 < cores.peak < tape.summary.job.cores_peak * 1.5
    assert max(v for v in tape.series("rss", 20).most if v is not None) > 50_000_000
    name = tape.processes[0].name
    assert tape.series(f"process.rss@{name}").peak > 50_000_000
    assert tape.series("host.memory_used_bytes", 5).unit == "bytes"
    assert tape.series("process.count").peak >= 1
    assert tape.series("cpu.busy_ratio@cpu0", 10).unit == "ratio"
    assert len(tape.series("cores", 10, start=0.1, end=0.2)) == 10
    for wrong in ("nothing", "nothing.at_all", "job.nothing"):
        with pytest.raises(barograph.ArgumentError, match="nothing"):
            tape.series(wrong)


def test_iteration(tape):
    samples = list(tape)
    assert [s.t_ns for s in samples] == sorted(s.t_ns for s in samples)
    assert len(samples) == tape.summary.recorder.samples
    assert samples[0].job.cpu_ns <= samples[-1].job.cpu_ns
    kinds = {type(r).__name__ for r in tape.records()}
    assert {"Sample", "Exit", "Event"} <= kinds
    a, b = iter(tape), iter(tape)
    assert next(a).t_ns == next(b).t_ns, "each iteration has a position of its own"


def test_a_growing_tape():
    job = subprocess.Popen(["sleep", "1000"])
    try:
        rec = barograph.record("g.baro", pid=job.pid, interval="20ms", strict=True).start()
        tape = rec.tape
        assert tape.state == "running" and tape.header.targets == [job.pid] and "BARO_TAPE" not in os.environ
        seen = []
        for sample in tape.follow(timeout=60):
            seen.append(sample.t_ns)
            if len(seen) == 5:
                rec.stop()
        assert seen == sorted(set(seen)) and len(seen) >= 5
        assert tape.state == "ended"
        assert seen == [s.t_ns for s in tape]
    finally:
        job.kill()
        job.wait()


def test_a_growing_tape_with_asyncio():
    async def main():
        async with barograph.record("g.baro", interval="20ms", strict=True) as rec:
            n = 0
            async for _ in rec.tape:
                n += 1
                if n == 5:
                    break
            await rec.astop()
            return n, [s async for s in rec.tape]

    n, samples = asyncio.run(main())
    assert n == 5 and len(samples) >= 5


def test_one_tape_in_many_threads(tape):
    found = []

    def use():
        for _ in range(3):
            found.append((int(tape.summary.job.cpu_ns), len(tape.processes), len(list(tape)), tape.at("peak").t_ns))

    in_threads([use] * 4)
    assert len(found) == 12 and len(set(found)) == 1


def test_nothing_leaks(path):
    def use():
        tape = barograph.open(path)
        return tape.summary, tape.processes, list(tape), tape.series("cores"), tape.timeline, tape.verdicts

    def fds():
        gc.collect()  # PyPy counts no references
        return len(os.listdir("/proc/self/fd"))

    use()
    before = fds()
    for _ in range(10):
        use()
    assert fds() == before


def test_errors_have_the_librarys_text(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.baro"):
        barograph.open("nothing.baro")
    with pytest.raises(barograph.TapeNotFoundError):
        barograph.open("@last")
    with pytest.raises(barograph.ArgumentError):
        barograph.open("@first")
    (tmp_path / "x.baro").write_text("no tape at all, but long enough to be looked at" * 100)
    with pytest.raises(barograph.NotATapeError, match="x.baro") as error:
        barograph.open(tmp_path / "x.baro")
    assert isinstance(error.value, (OSError, ValueError)) and error.value.code == -5001
    with pytest.raises(barograph.NotATapeError):
        barograph.Tape.from_bytes(b"")


def test_torn_at_every_place(path):
    """A tape that is cut off is read up to there."""
    with open(path, "rb") as file:
        data = file.read()
    counts = []
    for end in range(0, len(data), max(1, len(data) // 50)):
        try:
            counts.append(len(list(barograph.Tape.from_bytes(data[:end]))))
        except barograph.NotATapeError:
            assert not counts
    assert counts == sorted(counts) and counts[-1] > 3


@pytest.mark.skipif(INSTALLED, reason="needs the tree")
def test_tapes_of_every_version():
    tapes = sorted((SOURCE / "tests" / "tape").rglob("*.baro"))
    assert tapes
    for each in tapes:
        try:
            tape = barograph.open(each)
        except barograph.Error:
            continue
        assert isinstance(tape.summary.to_dict(), dict)
        for sample in tape:
            sample.job.to_dict(), sample.host.to_dict(), [p.to_dict() for p in sample.processes]
        assert tape.timeline.items is not None and tape.verdicts is not None and tape.processes is not None


def test_runs(tmp_path):
    for status in (0, 1, 2):
        barograph.run(["sh", "-c", f"exit {status}"])
    runs = barograph.runs()
    assert len(runs) == 3 and runs[0].path == barograph.open("@1").path
    rows = runs.to_dicts()
    assert [r["exit_status"] for r in rows] == [2, 1, 0] and rows[0]["processes_started"] == 1
    failed = runs.filter(lambda r: r.summary.exit.status)
    assert [r.number for r in failed] == [1, 2]
    assert len(runs[1:]) == 2
    (tmp_path / "runs" / "20200101T000000.000000Z-x-1.baro").write_text("broken")
    assert "error" in barograph.runs().to_dicts()[-1]
    assert len(barograph.runs(tmp_path / "runs")) == 4


def test_reports_and_notebooks(tape, tmp_path):
    page = tape.report(tmp_path / "r.html")
    assert "<html" in open(page).read().lower()
    with pytest.raises(barograph.Error, match="r.html"):
        tape.report(tmp_path / "r.html")
    tape.report(tmp_path / "r.html", force=True)
    shown = tape._repr_html_()
    # A picture is light or dark as its element is, which the notebook's theme decides.
    assert shown.count('<img class="barograph"') == 2 and "[data-jp-theme-light=false] img.barograph" in shown
    hostile = barograph.run(["true", "\x1b[2J\u202e<b>"], tape=tmp_path / "hostile.baro").tape._repr_html_()
    assert "\\x1b[2J\\xe2\\x80\\xae&lt;b&gt;" in hostile and "\x1b" not in hostile and "\u202e" not in hostile
    assert "<script" not in shown and shown.count("data:image/svg+xml") == 2 and len(shown) < 70_000
    with pytest.raises(barograph.Error):
        tape.plot("no-such-figure")


def test_a_plot_is_a_picture_and_its_source(tape, tmp_path):
    """A notebook draws it; to older code it is a str."""
    plot = tape.plot("memory")
    assert isinstance(plot, str) and plot.startswith("<svg") and "prefers-color-scheme" in plot
    assert plot.svg == str(plot) == plot._repr_svg_() and type(plot.svg) is str
    assert plot._repr_html_().count('<img class="barograph" alt="memory"') == 1 and "<svg" not in repr(plot)
    assert open(plot.save(tmp_path / "m.svg")).read() == plot.svg
    try:
        plot.save(tmp_path / "m.png")
        plot.save(tmp_path / "m.png")  # it is replaced
        assert (tmp_path / "m.png").read_bytes()[:4] == b"\x89PNG"
    except barograph.Error as error:
        assert "built without" in str(error)
    with pytest.raises(ValueError, match=r"m\.pdf: a chart is saved as \.svg or \.png"):
        plot.save("m.pdf")
    assert pickle.loads(pickle.dumps(plot)).svg == plot


def test_tables_of_notebooks(tmp_path):
    """What a tape has is lists, which a notebook shows as tables, with signs before what is not exact."""
    script = "import barograph, sys, time\nwith barograph.phase('a<b>'): time.sleep(0.1)\nsys.exit(3)"
    tape = barograph.run([sys.executable, "-c", script], tape=tmp_path / "t.baro").tape
    assert "&middot; exit 3 &middot;" in tape.summary._repr_html_()
    phases = tape.phases
    assert phases == list(phases) and [p.name for p in phases[:1]] == ["a<b>"]
    shown = phases._repr_html_()
    assert "a&lt;b&gt;" in shown and shown.count("<tr>") == 2 and "took" in shown
    assert shown == phases[:1]._repr_html_()
    commands = tape.commands._repr_html_()
    assert all(str(c.name) in commands for c in tape.commands) and commands.count("<tr>") == 1 + len(tape.commands)
    verdicts = tape.verdicts._repr_html_()
    assert "failed" in verdicts and "at least" not in verdicts + commands + shown
    assert values.Whole(3, values.LOWER_BOUND).sign == "\u2265"
    assert tape.tasks._repr_html_().count("<tr>") == 1 + len(tape.tasks)


def test_errors_of_rows_list_what_there_is(tape):
    with pytest.raises(ValueError, match=r"no rows of 'proc'; it has: process, job, .*event"):
        tape.rows("proc")
    with pytest.raises(ValueError, match=r"there is no column 'cpuu'; there are: time, t_ns, .*cpu_ns"):
        tape.rows("process", "t_ns,cpuu")
