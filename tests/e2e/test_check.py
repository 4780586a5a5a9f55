# SPDX-License-Identifier: Apache-2.0
"""`baro check` and `baro run --check`: limits of what runs may use, and what can't be told of them."""

import json
import pathlib
import re
import shutil
import tempfile
import xml.etree.ElementTree

import pytest

from conftest import Runner
from jobs import PYTHON

BURN = "import time\nwhile time.process_time() < {}: pass"
HOLD = "import time; b = bytearray({}_000_000); time.sleep(0.2)"


@pytest.fixture(scope="module")
def job(baro):
    """A tape with two phases: one burns 0.4 s of CPU time, one holds 60 MB."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="baro-e2e-"))
    script = (f"{baro} phase burn -- {PYTHON} -S -c '{BURN.format(0.4)}'\n"
              f"{baro} phase hold -- {PYTHON} -S -c '{HOLD.format(60)}'")
    Runner(baro, folder)("run", "-q", "-o", folder / "job.baro", "--", "sh", "-ec", script, status=0)
    yield folder / "job.baro"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def check(run):
    """Checks limits, and returns those by their text; ret["status"] is that of the command."""

    def check_(*args, limits=(), status=None):
        options = [word for limit in limits for word in ("--max", limit)]
        done = run("check", "--json", *options, *args)
        assert status is None or done.returncode == status, done
        told = json.loads(done.stdout)
        assert told["status"] == done.returncode
        return told, {limit["limit"]: limit for limit in told["limits"]}

    return check_


def test_kept_broken_and_not_known(check, run, job):
    limits = ["cpu<100ms", "cpu<100s", "phase:burn cpu<=10s", "phase:hold rss_peak<30MB", "command:python3 rss_peak<30MB",
              "command:pyth* processes<2", "processes<=500", "status<=0", "phase:brun cpu<1s", "warn wall<1ms"]
    told, found = check(job, limits=limits, status=1)
    answers = {text: limit["answer"] for text, limit in found.items()}
    assert answers == dict.fromkeys(limits, "kept") | dict.fromkeys(
        ["cpu<100ms", "command:python3 rss_peak<30MB", "command:pyth* processes<2", "warn wall<1ms"], "broken") | {
            "phase:brun cpu<1s": "unknown", "phase:hold rss_peak<30MB": answers["phase:hold rss_peak<30MB"]}
    assert answers["phase:hold rss_peak<30MB"] in ("broken", "unknown"), "a sample may have come too late"
    cpu = found["cpu<100ms"]
    assert cpu["value"] > 0.4e9 and re.fullmatch(r"[\d.]+ ms \(\d+ %\) over", cpu["why"])
    assert cpu["cause"].startswith("python3 ")
    assert found["phase:brun cpu<1s"]["why"] == "no phase has this name; there is burn"
    assert found["command:pyth* processes<2"]["why"].startswith("python3: not below 2")
    assert found["warn wall<1ms"]["cause"].startswith("longest phase ")
    text = run("check", job, *(w for limit in limits for w in ("--max", limit)), status=1).stdout
    assert re.search(r"^broken +cpu<100ms +[\d.]+ ms +[\d.]+ ms \(\d+ %\) over: python3 ", text, re.M), text
    assert "kept  " not in text and "10 limits, 1 run: " in text
    assert re.search(r"^kept +status<=0 +exit 0$", run("check", "-v", "--max", "status<=0", job, status=0).stdout, re.M)


def test_statuses(run, job):
    unknown = ["check", "--max", "phase:none cpu<1s", job]
    assert "cannot tell" in run(*unknown, status=0).stdout
    run(*unknown, "--unknown", "fail", status=3)
    run(*unknown, "--unknown", "fail", "--max", "cpu<1ns", status=1)
    run("check", "--max", "warn cpu<1ns", job, status=0)
    run("check", "--max", "warn phase:none cpu<1s", "--unknown", "fail", job, status=0)
    assert "no limit is given" in run("check", job, status=2).stderr
    assert "nowhere.baro" in run("check", "--max", "cpu<1s", "nowhere.baro", status=2).stderr


@pytest.mark.parametrize(("text", "what"), [
    ("cpu", "is no limit: write FACT<VALUE"),
    ("cpu>3s", "is no limit: write FACT<VALUE"),
    ("cpu<5", "'5' has no unit of time"),
    ("rss_peak<2s", "write 512, 10k, 1.5GB or 2GiB"),
    ("rss<2GB", "did you mean rss_peak?"),
    ("phase:a xyzzy<2", "is no fact of a phase: wall, cpu, rss_peak"),
    ("process:a cpu<2s", "is not command:NAME, phase:NAME or task:NAME"),
    ("command: cpu<2s", "is not command:NAME, phase:NAME or task:NAME"),
    ("cpu<=base*2", "the base is written as base, 1.05*base"),
    ("cpu<=0*base", "more than 0 and at most 1000"),
    ("processes<x", "write 500 or 1.05"),
    ("unknown maybe", "write unknown fail or unknown warn"),
])
def test_mistakes_in_a_budget(run, work, text, what):
    """One line with file and line, before anything runs."""
    (work / "a.budget").write_text(f"# first\n\ncpu<3s # fine\n  {text}\n")
    for command, status in ((["check", "--list"], 2), (["run", "-q"], 125)):
        option = "--budget" if "check" in command else "--check"
        rest = [] if "check" in command else ["--", "touch", work / "was_run"]
        line = run(*command, option, work / "a.budget", *rest, status=status).stderr
        assert line.startswith(f"baro check: {work}/a.budget:4: ") and what in line and line.count("\n") == 1, line
    assert not (work / "was_run").exists()


def test_a_budget(run, check, work, job):
    """Comments, line ends of other systems, the directive, names with blanks and signs."""
    (work / "b.budget").write_bytes(b"# c\r\ncpu<100s\r\n\tphase:a b cpu < 1s\t# why\nwarn  wall <= 1h30m\nunknown fail")
    told, found = check("--budget", work / "b.budget", job, status=3)
    assert [(limit["limit"], limit["line"]) for limit in told["limits"]] == [
        ("cpu<100s", 2), ("phase:a b cpu < 1s", 3), ("warn  wall <= 1h30m", 4)]
    assert run("check", "--budget", work / "b.budget", "--list", status=0).stdout == (
        "cpu<100s\nphase:a b cpu < 1s\nwarn  wall <= 1h30m\n")
    check("--budget", work / "b.budget", "--unknown", "warn", job, status=0)
    (work / "c.budget").write_bytes(b"cpu<1s\0\n")
    assert "is no budget" in run("check", "--budget", work / "c.budget", status=2).stderr
    (work / "d.budget").write_text("# nothing\n")
    assert "has no limit" in run("check", "--budget", work / "d.budget", status=2).stderr


def test_tapes_that_are_not_whole(check, run, work, job):
    """They are named, and count as lower bounds, or as runs of which nothing is known."""
    whole = job.read_bytes()
    cut, junk = work / "cut.baro", work / "junk.baro"
    cut.write_bytes(whole[:len(whole) * 9 // 10])
    junk.write_bytes(b"no tape at all, but some bytes of it" * 10)
    told, found = check(cut, limits=["cpu<100s", "cpu<1ns"], status=1)
    assert found["cpu<100s"]["answer"] == "unknown" and "lower bound" in found["cpu<100s"]["why"]
    assert found["cpu<1ns"]["answer"] == "broken", "at least so much is more"
    assert any("cut off" in note and "cut.baro" in note for note in told["notes"])
    told, found = check(job, junk, limits=["cpu<100s", "processes<500", "processes<2"], status=1)
    assert told["runs_unread"] == 1 and any("junk.baro" in note for note in told["notes"])
    assert found["cpu<100s"]["why"] == "1 of 2 runs have no value" and found["cpu<100s"]["answer"] == "unknown"
    assert found["processes<2"]["answer"] == "broken"
    (work / "nothing.baro").write_bytes(b"")
    assert run("check", "--max", "cpu<100s", junk, status=2).stderr == f"baro check: {junk} is not a tape\n"
    line = run("check", "--max", "cpu<100s", "--junit", work / "j.xml", junk, work / "nothing.baro", status=2).stderr
    assert line == f"baro check: none of the 2 tapes can be read: {junk} is not a tape\n", line
    assert not (work / "j.xml").exists()
    run("run", "-q", "-o", work / "killed.baro", "--", "sh", "-c", "kill -9 $$")
    told, found = check(work / "killed.baro", limits=["cpu<100s", "status<=0"], status=1)
    assert found["cpu<100s"]["answer"] == "unknown" and "a signal ended" in told["notes"][0]


def test_several_runs(check, run, work):
    """A peak and a count are limits on each run, a time is one on the median."""
    for i, n in enumerate([1, 1, 1, 1, 1, 3]):
        run("run", "-q", "-o", work / f"{i}.baro", "--", "sh", "-c", "sleep 0.01;" * n + ":", status=0)
    told, found = check(f"{work}/*.baro", limits=["processes<4", "processes<5", "wall<1ns", "wall<1h"], status=1)
    assert len(told["runs"]) == 6
    assert [limit["answer"] for limit in told["limits"]] == ["broken", "kept", "broken", "kept"]
    assert found["processes<4"]["value"] == 4 and found["wall<1h"]["low"] <= found["wall<1h"]["value"] <= found["wall<1h"]["high"]


def update(run, work, *tapes, why="because", status=0):
    return run("check", "--budget", work / "a.budget", "--update", "--why", why, *tapes, status=status)


def test_the_base(check, run, work):
    (work / "a.budget").write_text("processes<=base\ncpu<=1.05*base\ncommand:* processes<=base+1\ncpu<100s\n")
    budget, base = ["--budget", work / "a.budget"], work / "a.budget.json"
    one, two = ("sleep", "0.05"), ("sh", "-c", "sleep 0.05; sleep 0; sleep 0; sleep 0")
    for i in range(5):
        run("run", "-q", "-o", work / f"{i}.baro", "--", *one, status=0)
    run("run", "-q", "-o", work / "more.baro", "--", *two, status=0)
    told, found = check(*budget, work / "0.baro", status=0)
    assert "there is no base" in found["processes<=base"]["why"] and found["cpu<100s"]["answer"] == "kept"
    update(run, work, f"{work}/[0-4].baro", why="first\nruns")
    written = json.loads(base.read_text())
    assert written["why"] == "first\\x0aruns" and set(written["machine"]) == {"cpu_model", "architecture", "cores"}
    assert [(v["scope"], v["fact"], v["runs"]) for v in written["values"]][:2] == [("job", "processes_started", 5), ("job", "cpu_ns", 5)]
    value = written["values"][1]
    assert value["least"] <= value["median"] <= value["most"]
    told, found = check(*budget, work / "0.baro")
    assert found["processes<=base"]["answer"] == "kept" and found["processes<=base"]["allowed"] == 1
    told, found = check(*budget, work / "more.baro", status=1)
    assert found["processes<=base"]["answer"] == "broken" and found["processes<=base"]["why"] == "4 (400 %) over 1"
    assert found["processes<=base"]["cause"].startswith("sleep "), "which is not the base's, once"
    assert found["command:* processes<=base+1"]["answer"] == "broken", "sleep ran four times"
    # times of another machine are not compared, counts are
    base.write_text(base.read_text().replace('"cores": "', '"cores": "1'))
    told, found = check(*budget, work / "more.baro", status=1)
    assert found["cpu<=1.05*base"]["answer"] == "unknown"
    assert found["cpu<=1.05*base"]["why"] == "another machine: cores allowed differs from that of the base"
    assert found["processes<=base"]["answer"] == "broken" and found["cpu<100s"]["answer"] == "kept"


def test_no_base_of_failed_runs(run, work):
    (work / "a.budget").write_text("processes<=base\n")
    run("run", "-q", "-o", work / "a.baro", "--", "sh", "-c", "exit 3", status=3)
    assert "is no base" in update(run, work, work / "a.baro", status=2).stderr
    assert not (work / "a.budget.json").exists()
    assert "belong together" in run("check", "--budget", work / "a.budget", "--update", status=2).stderr
    (work / "a.budget").write_text("processes<=3\n")
    assert "no limit is relative" in update(run, work, work / "a.baro", status=2).stderr


@pytest.mark.parametrize(("text", "line"), [
    ("", 1), ("[]", 1), ('{"format": 2}', 1), ('{"format": 1}', 1), ('{"format": 1,\n"values":\n[{"scope": "job"}]}', 3),
    ('{"format": 1, "values": [],\n"machine": 3}', 2), ('{"format": 1, "values": []}\nx', 2),
    ('{"format": 1, "values": [{"scope": "job", "name": "", "fact": "cpu_ns", "runs": 1, "median": 3, "least": 4, "most": 5}]}', 1),
    ('{"format": 1, "values": [\n{"scope": "job", "name": "", "fact": "cpu_ns", "runs": 1, "median": 3.5, "least": 3, "most": 5}]}', 2),
    ('{"format": 1, "values": [\n{"scope": "job", "name": 7, "fact": "cpu_ns", "runs": 1, "median": 3, "least": 3, "most": 5}]}', 2),
    ('{"format": 1,\n"values": {}}', 2), ('{"format": 1,\n\n"values": [],}', 3),
])
def test_a_base_with_a_mistake(run, work, job, text, line):
    (work / "base.json").write_text(text)
    done = run("check", "--max", "cpu<=base", "--base", work / "base.json", job, status=2)
    assert done.stderr.startswith(f"baro check: {work}/base.json:{line}: ") and done.stderr.count("\n") == 1, done.stderr


def test_one_step(run, work):
    (work / "a.budget").write_text("processes<=1\n")
    tape = ["run", "-q", "--check", work / "a.budget", "-o"]
    done = run(*tape, work / "a.baro", "--", "echo", "hello", status=0)
    assert done.stdout == "hello\n" and done.stderr == "1 limit, 1 run: 1 kept\n"
    done = run(*tape, work / "b.baro", "--", "sh", "-c", "sleep 0; :", status=1)
    assert done.stdout == "" and re.match(r"broken  processes<=1  2  1 \(100 %\) over: ", done.stderr)
    done = run(*tape, work / "c.baro", "--", "sh", "-c", "sleep 0; exit 7", status=7)
    assert "broken  processes<=1" in done.stderr and "ended with status 7" in done.stderr
    run(*tape, work / "d.baro", "--", "no-such-command", status=127)
    assert "can't read" in run("run", "-q", "--check", work / "nowhere", "--", "true", status=125).stderr


def test_files_of_services(run, work, job, monkeypatch):
    """JUnit, annotations with at most nine and how many more, the job summary, metrics and code quality."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(work / "step.md"))
    limits = ["cpu<1ns", "command:python3 cpu<1ns", "warn wall<1ns", 'phase:"<&%,:\n cpu<1s', "processes<500"]
    limits += [f"threads_peak<{i / 100}" for i in range(8)]
    options = [w for limit in limits for w in ("--max", limit)]
    done = run("check", "--github", "--junit", work / "j.xml", "--gitlab-metrics", work / "m.txt", "--gitlab-quality",
               work / "q.json", *options, job, status=1)
    annotations = [line for line in done.stdout.split("\n") if line.startswith("::")]
    assert len(annotations) == 10 and annotations[-1] == "::warning::and 3 more"
    assert annotations[0].startswith("::error title=broken::cpu<1ns: ") and " %25) over: python3 " in annotations[0]
    assert annotations[2].startswith("::warning title=broken::warn wall<1ns: ")
    assert (work / "step.md").read_text().startswith("## ✗ 13 limits, 1 run: 1 kept, 10 broken, 1 broken that only warn,")

    suite = xml.etree.ElementTree.parse(work / "j.xml").find("testsuite")
    assert suite.attrib | {"tests": "13", "failures": "10", "errors": "0", "skipped": "2"} == suite.attrib
    cases = suite.findall("testcase")
    assert cases[3].get("name") == 'phase:"<&%,:\\x0a cpu<1s' and cases[3].find("skipped") is not None
    assert cases[0].find("failure").get("message").startswith("broken, ") and cases[4].find("system-out") is not None

    quality = json.loads((work / "q.json").read_text())
    assert len(quality) == 12 and len({q["fingerprint"] for q in quality}) == 5, "one for each fact, whatever its limit"
    assert [q["severity"] for q in quality[:4]] == ["major", "major", "minor", "info"]
    assert all(set(q) == {"description", "check_name", "fingerprint", "severity", "location"} for q in quality)

    text = (work / "m.txt").read_text()
    assert text.endswith("# EOF\n") and text.count("# TYPE baro_threads_peak gauge") == 1
    assert re.search(r"^baro_cpu_seconds 0?\.?\d+(\.\d+)?$", text, re.M)
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    samples = {(s.name, *s.labels.items()): s.value for f in parser.text_string_to_metric_families(text) for s in f.samples}
    assert samples["baro_processes_started", ] >= 3 and 0.4 < samples["baro_cpu_seconds", ("command", "python3")] < 100
    assert samples["baro_threads_peak", ] >= 1 and len(samples) == 5


def test_unknown_fails_in_junit(run, work, job):
    run("check", "--max", "phase:none cpu<1s", "--unknown", "fail", "--junit", work / "j.xml", job, status=3)
    suite = xml.etree.ElementTree.parse(work / "j.xml").find("testsuite")
    assert suite.get("errors") == "1" and suite.find("testcase/error") is not None
    run("check", "--max", "phase:none cpu<1s", "--unknown", "fail", "--github", job, status=2)
