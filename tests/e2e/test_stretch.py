# SPDX-License-Identifier: Apache-2.0
"""--from and --to: readers of a stretch of a tape; --by service, user, ...; baro diff --at."""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import SOURCE
from serving import Server

sys.path.insert(0, str(SOURCE / "tests"))
import tape_reader  # noqa: E402

SPIN_IN_SH = "n=0; while test $n -lt 20000; do n=$((n + 1)); done"
SPIN = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass\n"


def summary(run, tape, *options):
    return json.loads(run("summary", "--json", tape, *options, status=0).stdout)


def rows(run, tape, kind, *options):
    return list(csv.DictReader(io.StringIO(run("export", "-e", kind, tape, *options, status=0).stdout)))


def commands(of):
    return {c["name"]: c for c in of["commands"]}


@pytest.fixture(scope="module")
def recorded(baro, tmp_path_factory):
    """Two spinners, one after the other; the second one begins at the mark."""
    work = tmp_path_factory.mktemp("stretch")
    (work / "spin.py").write_text(SPIN)
    for name in ("first", "second"):
        os.symlink(sys.executable, work / name)
    job = './first -S spin.py 0.4; sleep 0.3; "$BARO" mark second; sleep 0.3; sh -c "kill -9 \\$\\$"; exec ./second -S spin.py 0.5'
    argv = [baro, "run", "-q", "-i", "50ms", "--overhead", "off", "-o", "run.baro", "--", "sh", "-c", job]
    subprocess.run(argv, cwd=work, env={**os.environ, "BARO": str(baro)}, check=True)
    return work / "run.baro"


@pytest.fixture(scope="module")
def edge(recorded, baro):
    """The time of the mark, as --from takes it."""
    out = subprocess.run([baro, "export", "-e", "event", recorded], check=True, capture_output=True, text=True).stdout
    return next(int(e["t_ns"]) for e in csv.DictReader(io.StringIO(out)) if e["event"] == "mark")


def test_a_stretch_has_what_was_used_in_it(run, recorded, edge):
    whole, later = summary(run, recorded), summary(run, recorded, "--from", f"+{edge / 1e9:.9f}s")
    earlier = summary(run, recorded, "--to", f"+{edge / 1e9:.9f}s")
    assert later["is_stretch"] and not whole["is_stretch"]
    assert "second" in commands(later) and "first" not in commands(later)
    assert "first" in commands(earlier) and "second" not in commands(earlier)
    job = rows(run, recorded, "job")
    base = min(job, key=lambda r: abs(int(r["t_ns"]) - edge))
    assert later["start_ns"] == int(base["t_ns"])
    for fact in ("cpu_ns", "io_rchar_bytes", "faults_minor"):
        column = {"faults_minor": "faults_minor"}.get(fact, fact)
        assert later["job"][fact] == int(job[-1][column]) - int(base[column]), fact
    # A process that was there before counts with what it used since then.
    before = next(int(r["cpu_ns"]) for r in rows(run, recorded, "process") if r["t_ns"] == base["t_ns"])
    assert commands(later)["second"]["cpu_ns"] <= commands(whole)["second"]["cpu_ns"] + before
    assert 0 < later["job"]["cpu_ns"] < whole["job"]["cpu_ns"]
    # The two stretches lack nothing in between.
    assert summary(run, recorded, "--to", f"+{int(base['t_ns']) / 1e9:.9f}s")["job"]["cpu_ns"] == int(base["cpu_ns"])


def test_every_reader_takes_a_stretch(run, work, recorded, edge):
    at = ("--from", f"+{edge / 1e9:.9f}s")
    part = [int(r["t_ns"]) for r in rows(run, recorded, "job", *at)]
    assert part == [t for t in (int(r["t_ns"]) for r in rows(run, recorded, "job")) if t >= part[0]]
    assert part[0] == min((int(r["t_ns"]) for r in rows(run, recorded, "job")), key=lambda t: abs(t - edge))
    for command in (["show"], ["plot", "cpu"], ["top", "--once"], ["summary", "-v"], ["summary", "--by", "phase"]):
        assert run(*command, recorded, *at, status=0).stdout, command
    run("report", recorded, *at, "-o", work / "page.html", status=0)
    assert 'class="stretch"' in (work / "page.html").read_text()
    run("report", recorded, *at, "-o", work / "page.json", status=0)
    run("trim", recorded, *at, "-o", work / "trimmed.baro", status=0)
    one, other = summary(run, recorded, *at), summary(run, work / "trimmed.baro")
    del one["tape"], other["tape"]
    assert one == other
    assert tape_reader.read(work / "trimmed.baro").header[70] == [b"\1"]


def test_no_advice_after_a_part(run, work, recorded, edge):
    """What a stretch needed is a lower bound of what the job needs."""
    at = ("--from", f"+{edge / 1e9:.9f}s")
    rules = [{v["rule"] for v in summary(run, recorded, *options)["verdicts"]} for options in ((), at)]
    assert "right-size" in rules[0] and "right-size" not in rules[1]
    run("trim", recorded, *at, "-o", work / "part.baro", status=0)
    said = run("advise", work / "part.baro", status=2).stderr
    assert "1 run still, are cut off or a part of a run" in said, said
    assert "1 of 2 runs: left out" in run("advise", work / "part.baro", recorded, status=0).stdout


def test_outside_of_the_tape(run, recorded):
    for option, when in (("--from", "+1h"), ("--to", "2001-02-03T04:05:06Z")):
        said = run("summary", recorded, option, when, status=2).stderr
        assert "the tape has +0." in said and said.count("\n") == 1, said
    assert "--to is not after --from" in run("summary", recorded, "--from", "90%", "--to", "10%", status=2).stderr
    assert "excl" in run("summary", recorded, "--by", "user", "--task", "a=b", status=2).stderr


def test_by_user_and_command(run, recorded):
    users = json.loads(run("summary", "--json", "--by", "user", recorded, status=0).stdout)["tasks"]
    assert len(users) == 1
    assert users[0]["processes_started"] == summary(run, recorded)["job"]["processes_started"]
    found = json.loads(run("summary", "--json", "--by", "command", recorded, status=0).stdout)["tasks"]
    assert {"first", "second"} <= {t["name"] for t in found}
    text = run("summary", "--by", "command", recorded, status=0).stdout
    assert text.splitlines()[0].split()[-1] == "task"


def test_by_lists_the_largest(run, work, tape):
    """Of many groups the rest is one line; -v and JSON have all, and so has a list of tasks that the user made."""
    for i in range(20):
        os.symlink("/bin/true", work / f"few-{i}")
    run("run", "-q", "-o", tape, "--", "sh", "-c", f"{SPIN_IN_SH}; for i in {work}/few-*; do $i; done", status=0)
    all_ = json.loads(run("summary", "--json", "--by", "command", tape, status=0).stdout)["tasks"]
    lines = run("summary", "--by", "command", tape, status=0).stdout.splitlines()
    assert len(all_) > 20 and len(lines) < 22
    assert lines[1].split()[-1] == "sh" and f"{len(all_) - 15} more used " in "\n".join(lines)
    whole = run("summary", "-v", "--by", "command", tape, status=0).stdout
    assert all(f"few-{i}\n" in whole for i in range(20)) and " more used" not in whole
    tasks = [word for i in range(20) for word in ("--task", f"t{i}=few-{i}$")]
    assert "t19\n" in run("summary", "--by", "task", *tasks, tape, status=0).stdout


def test_by_of_a_stretch(run, recorded, edge):
    at = ("--from", f"+{edge / 1e9:.9f}s")
    tasks = json.loads(run("summary", "--json", "--by", "command", recorded, *at, status=0).stdout)["tasks"]
    cpu = sum(t["cpu_ns"] for t in tasks)
    whole = summary(run, recorded, *at)["job"]["cpu_ns"]
    assert abs(cpu - whole) <= 0.1 * whole + 20e6


def test_stretches_that_follow_each_other_add_up(run, recorded):
    """Each edge is the nearest sample. What ended between a sample and an edge is of one stretch, too."""
    ends = rows(run, recorded, "exit")
    edges = [f"+{(int(e['t_ns']) + 1000) / 1e9:.9f}s" for e in ends[:3]]
    parts = list(zip(["start", *edges], [*edges, "end"], strict=True))
    samples = [int(r["t_ns"]) for r in rows(run, recorded, "job")]
    found, total, until = [], {}, 0
    for since, to in parts:
        at = ("--from", since, "--to", to)
        found += [(e["pid"], e["t_ns"]) for e in rows(run, recorded, "exit", *at)]
        part = [int(r["t_ns"]) for r in rows(run, recorded, "job", *at)]
        assert not until or part[0] == until
        if to != "end":
            edge = round(float(to[1:-1]) * 1e9)
            assert abs(part[-1] - edge) == min(abs(t - edge) for t in samples)
        until = part[-1]
        for t in json.loads(run("summary", "--json", "--by", "command", recorded, *at, status=0).stdout)["tasks"]:
            for fact in ("cpu_ns", "processes_started", "io_rchar_bytes"):
                total[t["name"], fact] = total.get((t["name"], fact), 0) + t[fact]
    assert sorted(found) == sorted((e["pid"], e["t_ns"]) for e in ends)
    for t in json.loads(run("summary", "--json", "--by", "command", recorded, status=0).stdout)["tasks"]:
        for fact in ("cpu_ns", "processes_started", "io_rchar_bytes"):
            assert total.get((t["name"], fact), 0) == t[fact], (t["name"], fact)


def test_what_moved(run, recorded, edge):
    text = run("diff", recorded, "--at", f"+{edge / 1e9 + 0.2:.3f}s", status=0).stdout
    assert "against" in text.splitlines()[0]
    found = json.loads(run("diff", "--json", recorded, "--at", f"+{edge / 1e9:.3f}s", status=0).stdout)
    moved, (killed,) = found["moved"], found["events"]
    assert len(moved) <= 3 and "second" in [m["name"] for m in moved]
    assert "killed" in text and killed["text"] in text and killed["event"] == "killed" and killed["times"] == 1
    assert edge < killed["t_ns"] == killed["last_t_ns"] < edge + 10e9
    assert found["pressure"].keys() == {"cpu", "memory", "io"} and found["filesystems"] == []
    half = edge / 1e9
    two = run("diff", recorded, "--before", f"start-+{half:.3f}s", "--after", f"+{half:.3f}s-end", status=0).stdout
    assert "second" in two
    assert "name two tapes" in run("diff", recorded, "--before", "x", "--after", "y", status=2).stderr


def test_what_comes_first_of_what_happened(run, work, tape):
    """Twelve processes are killed, and then the job reaches a limit: that is the first line of the events."""
    for i in range(12):
        os.symlink("/bin/sleep", work / f"victim-{i}")
    (work / "spin.py").write_text(SPIN)
    victims = " ".join(f'"{work}/victim-{i}" 100 & all="$all $!";' for i in range(12))
    job = f"sleep 0.5; {victims} sleep 0.5; kill -9 $all; wait; {sys.executable} -S {work}/spin.py 0.6; sleep 0.5"
    options = ("-i", "50ms", "--limit", "cpu=400ms", "--on-limit", "mark")
    run("run", "-q", *options, "-o", tape, "--", "sh", "-c", job, status=0)
    text = run("diff", tape, "--at", "+0.3s", status=0).stdout
    told = [line.split(" ", 1)[1] for line in text.splitlines() if line[2:3] == ":" and " against " not in line]
    assert "CPU time" in told[0] and len(told) == 10, text
    assert all(line.startswith("victim-") for line in told[1:]) and "more events" in text, text


# ---- folders of segments ----


def test_a_folder(run, baro, work):
    """Segments, of which one is broken and one foreign: the rest is read, and a warning names them."""
    folder = work / "kept"
    argv = [baro, "run", "-q", "-i", "20ms", "--keep", "16s", "--overhead", "off", "-o", folder, "--"]
    subprocess.run([*argv, "sh", "-c", "sleep 3.5"], check=True, timeout=120)
    whole = [int(r["t_ns"]) for r in rows(run, folder, "job")]
    middle = whole[len(whole) // 2]
    part = rows(run, folder, "job", "--from", f"+{middle / 1e9:.9f}s")
    assert [int(r["t_ns"]) for r in part] == [t for t in whole if t >= middle]
    assert run("show", folder, "--at", "50%", status=0).stdout
    files = sorted(folder.glob("*.baro"))
    assert len(files) > 2
    broken = files[1]
    there = [int(r["t_ns"]) for r in rows(run, broken, "job")]
    broken.write_bytes(b"x" * 4096)
    run("run", "-q", "-o", folder / "000900.baro", "--", "true", status=0)
    done = run("export", "-e", "job", "-c", "t_ns", folder, status=0)
    assert [int(t) for t in done.stdout.split()[1:]] == [t for t in whole if t not in there]
    said = done.stderr.splitlines()
    assert sum(str(broken) in line for line in said) == 1, said
    assert sum("000900.baro is of another recording" in line for line in said) == 1, said


def test_a_moment_of_a_folder_names_the_segments_that_it_meets(run, baro, work):
    """Broken ones elsewhere in the folder are not looked at: there may be a thousand segments."""
    source, folder = work / "source.baro", work / "kept"
    run("run", "-q", "-o", source, "--", "sleep", "2", status=0)
    tool = pathlib.Path(baro).parent / "tests/e2e/replay_tape"
    subprocess.run([tool, source, folder, "2400", "300"], check=True)
    files = sorted(folder.glob("*.baro"))
    assert len(files) >= 8
    for i in (1, 5):
        files[i].write_bytes(b"x" * 4096)
    for argv in (("show", folder, "--at", "+1499s"), ("top", "--once", folder, "--at", "+1499s")):
        said = run(*argv, status=0).stderr
        assert str(files[5]) in said and str(files[1]) not in said, said
    said = run("summary", folder, status=0).stderr
    assert str(files[5]) in said and str(files[1]) in said, said


def test_phases_that_began_before(run, baro, work):
    """Before the stretch their begin is read; if its segment was removed, they run since before."""
    folder, nested = work / "kept", f"{baro} phase inner -- sleep 2; sleep 1.5"
    argv = [baro, "run", "-q", "-i", "20ms", "--keep", "16s", "--overhead", "off", "-o", folder, "--"]
    subprocess.run([*argv, baro, "phase", "outer", "--", "sh", "-c", nested], check=True, timeout=120)

    def phases(*options):
        found = json.loads(run("summary", "--by", "phase", "--json", folder, *options, status=0).stdout)
        assert "unmatched_end" not in [e["name"] for e in found["events"]]
        return {p["name"]: p for p in found["phases"]}

    whole, part = phases(), phases("--from", "1.5s", "--to", "1.8s")
    assert whole.keys() == part.keys() == {"outer", "inner"} and part["outer"]["is_open"]
    assert {n: p["begin_ns"] for n, p in whole.items()} == {n: p["begin_ns"] for n, p in part.items()}
    assert phases("--from", "3s").keys() == {"outer"}
    first, *others = sorted(folder.glob("*.baro"))
    first.unlink()
    left = phases()
    begin = int(rows(run, folder, "job")[0]["t_ns"])
    for name, phase in left.items():
        assert phase["begins_before"] and phase["begin_ns"] == begin and phase["end_ns"] == whole[name]["end_ns"]
        assert phase["marks"]["cpu_ns"] == "lower_bound"
    text = run("summary", "--by", "phase", folder, status=0).stdout
    assert re.search(r"^≤\+\S+ +≥\S+ s .* outer$", text, re.M) and "≤ began before that" in text, text
    assert "in phase outer since before +" in run("show", "--at", f"+{begin / 1e9 + 0.1:.3f}s", folder, status=0).stdout


def test_a_moment_in_a_hole_of_a_folder(run, baro, work):
    """Between segments: the sample before is shown, and it is said between which samples there is none."""
    source, folder = work / "source.baro", work / "kept"
    run("run", "-q", "-o", source, "--", "sleep", "2", status=0)
    tool = pathlib.Path(baro).parent / "tests/e2e/replay_tape"
    subprocess.run([tool, source, folder, "3000", "300"], check=True)
    for number in (3, 4):
        (folder / f"{number:06}.baro").unlink()
    seconds = [int(r["t_ns"]) / 1e9 for r in rows(run, folder, "job")]
    before, after = next((a, b) for a, b in zip(seconds, seconds[1:]) if b - a > 100)
    for at in (before + 10, before + 300, after - 30):
        for command in ("show", "top"):
            done = run(command, folder, "--at", f"{at:.3f}s", status=0)
            said = re.search(r"the tape has no sample between (\+1\dmin\S+s) and (\+20min\S+s)\n", done.stderr)
            assert said and f"▶ at {said[1]} " in done.stdout, done
    done = run("show", folder, "--at", f"{at:.3f}s", "--pick", "after", status=0)
    assert f"▶ at {said[2]} " in done.stdout, done.stdout
    assert "no sample" not in run("top", folder, "--at", f"{before - 30:.3f}s", status=0).stderr


def test_serve_has_the_report_of_a_stretch(baro, work, recorded, edge):
    folder = work / "tapes"
    folder.mkdir()
    (folder / "job.baro").write_bytes(recorded.read_bytes())
    server = Server(baro, folder=folder)
    try:
        (job,) = server.summed(1)
        page = f"/jobs/{job['id']}"
        got, _, body = server.ask(f"{page}/report?from=%2B{edge / 1e9:.3f}s&by=command")
        assert got == 200 and b'class="stretch"' in body
        assert server.ask(f"{page}/report?from=%2B9h")[0] == 404
        assert server.ask(f"{page}/machine")[0] == 404
    finally:
        server.process.terminate()
        server.process.communicate(timeout=60)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
@pytest.mark.not_sanitized("the plain binary is enough")
def test_a_file_system_that_was_filled(run, work, tape):
    """Its size is read every ten seconds."""
    mount = work / "full"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", mount], check=True)
    try:
        fill = f"sleep 3; head -c 5M /dev/zero > {mount}/file; sleep 22"
        run("run", "-q", "-i", "200ms", "-o", tape, "--", "sh", "-c", fill, status=0)
    finally:
        subprocess.run(["umount", mount], check=True)
    assert f"file system {mount}: 0 % to 100 % full" in run("diff", tape, "--at", "+5s", status=0).stdout
    (found,) = json.loads(run("diff", "--json", tape, "--at", "+5s", status=0).stdout)["filesystems"]
    assert found["name"] == str(mount)
    assert found["used_ratio"] == {"before": pytest.approx(0, abs=0.01), "after": pytest.approx(1, abs=0.01)}
