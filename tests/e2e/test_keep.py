# SPDX-License-Identifier: Apache-2.0
"""`--keep TIME|SIZE`: the tape is a folder of segments of which the oldest are removed; readers take it like a file."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("keep")

# A job that makes samples and short processes until it is told to end, and a tape that grows fast: 400 marks a second
# with texts that do not compress. It holds 100 MB at first.
BUSY = """
import os, secrets, subprocess, time
held = bytes(range(256)) * (100 << 12)
time.sleep(0.5)
del held
while True:
    for _ in range(3):
        subprocess.run(["/bin/true"])
    with open(os.environ["BARO_EVENTS"], "a") as marks:
        marks.writelines('{"mark": "noise", "text": "%s"}\\n' % secrets.token_hex(400) for _ in range(20))
    time.sleep(0.05)
"""
KEEP = 1_000_000
OPTIONS = ("-i", "50ms", "--overhead", "off", "--keep", "1MB")


def segments(tape):
    return sorted(p for p in pathlib.Path(tape).iterdir() if p.name.endswith(".baro")) if tape.is_dir() else []


def numbers(tape):
    return [int(p.stem) for p in segments(tape)]


def size(tape):
    total = 0
    for path in segments(tape):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


@pytest.fixture
def start(run):
    """start(tape, ...): a recording that lasts until end() or the end of the test."""
    started = []

    def begin(tape, **kw):
        options = ("run", "-o", tape, *OPTIONS, "--", sys.executable, "-c", BUSY)
        started.append(run.popen(*options, stdout=subprocess.DEVNULL, start_new_session=True, **kw))
        return started[-1]

    yield begin
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # also a job whose wrapper is gone
        except ProcessLookupError:
            pass
        process.wait()


def end(process):
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    return err


@pytest.fixture(scope="module")
def recorded(baro, tmp_path_factory):
    return {"folder": tmp_path_factory.mktemp("keep") / "t.baro"}


@pytest.fixture
def kept(run, start, tape, wait_until, recorded):
    """A tape whose first segments are removed, and whose recording has ended. It is recorded once; each test has a
    copy."""
    if not recorded["folder"].exists():
        process = start(tape, stderr=subprocess.DEVNULL)
        sizes = []
        wait_until(lambda: sizes.append(size(tape)) or (numbers(tape) or [0])[0] > 3, "segments to be removed", 300)
        end(process)
        recorded["most"] = max(sizes)
        shutil.copytree(tape, recorded["folder"])
        shutil.rmtree(tape)
    shutil.copytree(recorded["folder"], tape)
    return tape


def test_only_the_newest_part_is_kept(run, kept, recorded):
    there = numbers(kept)
    assert there == list(range(there[0], there[-1] + 1)) and there[0] > 3
    # One frame may be too many, until the oldest segment is removed.
    assert KEEP * 0.8 < recorded["most"] < KEEP + 150_000
    job = run.export(kept, "job")
    assert all(a["t_ns"] < b["t_ns"] for a, b in zip(job, job[1:]))
    assert job[0]["t_ns"] > 0
    done = run("summary", "-v", kept, status=0).stdout
    assert "of the recording were removed (--keep, baro trim)" in " ".join(done.split())
    assert "damaged" not in done
    summary = run.summary(kept)
    assert summary["removed_ns"] == job[0]["t_ns"]
    assert summary["exit"]["signal"] == "SIGTERM"
    # The totals and the peak are of the whole recording, the commands of the segments that are left.
    assert summary["job"]["rss_peak_bytes"] >= 100 << 20 and summary["job"]["rss_peak_age_ns"] < job[0]["t_ns"]
    assert summary["job"]["cpu_ns"] == job[-1]["cpu_ns"]
    assert summary["job"]["processes_started"] > sum(c["processes"] for c in summary["commands"])


@pytest.mark.parametrize("kind", ["process", "job", "exit", "event"])
def test_each_segment_is_a_tape(run, kept, kind):
    def recorded_of(tape):
        rows = run.export(tape, kind)
        for row in rows:  # a rate needs the sample before, which is in another segment
            row.pop("cores", None)
            row.pop("absent", None)
        return rows

    whole = recorded_of(kept)
    parts = []
    for segment in segments(kept):
        parts += recorded_of(segment)
    assert whole == parts and whole


def test_any_moment(run, kept):
    job = run.export(kept, "job", "-c", "t_ns")
    for row in [job[0], *job[1 :: max(1, len(job) // 12)], job[-1]]:
        shown = json.loads(run("show", "--json", kept, "--at", f"+{row['t_ns']}ns", status=0).stdout)
        assert shown["t_ns"] == row["t_ns"]


@pytest.mark.parametrize("args", [["report", "-o", "r.html"], ["report", "-o", "r.md"], ["report", "-o", "r.json"],
                                  ["plot", "cpu"], ["top", "--once"], ["export", "--format", "trace"], ["metrics"],
                                  ["show"]], ids=" ".join)
def test_all_readers_read_it(run, kept, args):
    done = run(args[0], kept, *args[1:], status=0)
    assert done.stderr == ""


def test_charts_begin_with_the_oldest_segment(run, kept):
    """If an hour of a week is kept, a chart of the whole week would be empty except for its last columns."""
    run("report", kept, "-o", "axis.json", status=0)
    report = json.loads((run.work / "axis.json").read_text())
    assert report["summary"]["removed_ns"] > 0
    for figure in report["figures"]:
        assert figure["from_ns"] == report["summary"]["removed_ns"]


def test_follow_has_all_rows(run, start, tape, wait_until):
    process = start(tape, stderr=subprocess.DEVNULL)
    wait_until(lambda: tape.is_dir() and run.instants(tape), "a sample")
    follower = run.popen("export", "-f", "--entity", "job", "-c", "t_ns", tape, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: numbers(tape)[0] > 2, "segments to be removed", 300)
    end(process)
    out, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    seen = [int(line) for line in out.split()[1:]]
    left = [row["t_ns"] for row in run.export(tape, "job", "-c", "t_ns")]
    assert seen[-len(left) :] == left and len(seen) > len(left)
    assert seen == sorted(set(seen))


def test_among_the_kept_runs(run, work):
    run("run", "-q", "--keep", "1h", "--", "true", status=0)
    folder = next(work.rglob("*-true-*.baro"))
    assert len(segments(folder)) == 1
    assert run("ls", status=0).stdout.split()[-1] == "true"
    assert run("summary", "-v", status=0).stdout.startswith("true")
    run("rm", "@1", status=0)
    assert not folder.exists()


def test_old_runs_are_removed(run, work):
    for _ in range(4):
        run("run", "-q", "--keep", "1h", "--", "sleep", "0.1", env={"BARO_KEEP": "2"}, status=0)
    assert len(list(work.rglob("*-sleep-*.baro"))) == 2


def test_existing_segments_are_not_replaced(run, tape):
    run.record(tape, ["true"], "--keep", "1h")
    done = run("run", "-o", tape, "--keep", "1h", "--", "true")
    assert done.returncode == 125 and "exists; --force replaces it" in done.stderr
    run("run", "-q", "-o", tape, "--keep", "1h", "--force", "--", "sh", "-c", "exit 3", status=3)
    assert run.summary(tape)["exit"]["status"] == 3
    other = tape.parent / "folder"
    other.mkdir()
    (other / "precious").write_text("x")
    done = run("run", "-o", other, "--keep", "1h", "--force", "--", "true")
    assert done.returncode == 125 and "not a tape in segments; it is left alone" in done.stderr
    assert run("rm", other).returncode != 0
    assert (other / "precious").exists()


def test_removed_while_it_is_written(run, start, tape, wait_until):
    process = start(tape, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(segments(tape)) > 1, "segments", 300)
    done = run("rm", tape)
    assert done.returncode != 0 and "still being written" in done.stderr
    run("rm", "--yes", tape, status=0)
    assert not tape.exists()
    assert "the tape was removed while it was written" in end(process)
    assert not tape.exists()


def test_segment_cannot_be_created(run, start, tape, wait_until):
    """A file has the name of the next segment: that is reported once, and no sample is lost."""
    process = start(tape, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: segments(tape), "the first segment", 300)
    (tape / "000002.baro").mkdir()
    wait_until(lambda: size(tape) > KEEP // 8, "the first segment to grow", 300)
    err = end(process)
    assert err.count("no new segment can be made") == 1
    assert numbers(tape) == [1, 2]  # the second is the folder
    assert run.summary(tape)["exit"]["signal"] == "SIGTERM" and len(run.instants(tape)) > 5


@pytest.mark.parametrize(
    "value,why",
    [("1s", "less than 10s"), ("100k", "less than 1MB"), ("soon", "neither a time"), ("", "neither a time")],
)
def test_wrong_values(run, value, why):
    done = run("run", "--keep", value, "--", "true")
    assert done.returncode == 125 and why in done.stderr and len(done.stderr.splitlines()) <= 2


def test_attached(run, tape):
    job = subprocess.Popen([sys.executable, "-c", BUSY], env={**os.environ, "BARO_EVENTS": "/dev/null"})
    try:
        run("record", "-q", "-o", tape, "--keep", "10s", "--pid", job.pid, "--for", "2s", status=0)
    finally:
        job.kill()
        job.wait()
    assert len(segments(tape)) > 1
    assert run.summary(tape)["removed_ns"] is None
    assert run.summary(tape)["job"]["cpu_ns"] > 0
