# SPDX-License-Identifier: Apache-2.0
"""The file of a tape when others change its folder, its name or its contents, and which messages are printed."""

import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

from conftest import ORDINARY, SANITIZED
from wrapping import comm

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="root and another user are needed")
ROUNDS = 15 if SANITIZED else 30


def recorder_of(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if comm(int(child)) == "baro-recorder":
            return int(child)
    return None


def kill_if_there(pid):
    """On a busy machine the job, and with it the recorder, may have ended already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def samples(baro, path):
    done = subprocess.run([baro, "export", "-e", "job", "-F", "jsonl", str(path)], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else None


@pytest.mark.long
@pytest.mark.parametrize("replaces", [True, False])
def test_a_recorder_that_is_killed_at_any_time(baro, work, replaces):
    """There is either the old file (or none) or the new tape, no other file, and the message agrees. Which of the two
    occurs depends on the machine."""
    chance, folder = random.Random(7), work / "f"
    folder.mkdir()
    tape = folder / "t.baro"
    for _ in range(ROUNDS):
        if replaces:
            tape.write_text("mine")
        argv = [baro, "run", "-q", *["--force"][:replaces], "-o", str(tape), "--", "sleep", "0.1"]
        p = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
        recorder = None
        while recorder is None and p.poll() is None:
            recorder = recorder_of(p.pid)
        time.sleep(chance.random() * (0.02 if replaces else 0.004))
        if recorder:
            kill_if_there(recorder)
        said = p.communicate()[1]
        assert p.returncode == 0 and [f.name for f in folder.iterdir()] in (["t.baro"], [] if not replaces else None), said
        if not tape.exists() or tape.read_bytes() == b"mine":
            assert "nothing was recorded" in said and (not replaces or "as it was" in said)
        else:
            assert samples(baro, tape) is not None and "nothing was recorded" not in said, said
            tape.unlink()


def test_full_disk_leaves_no_empty_tape(run, work, monkeypatch):
    runs = work / "runs"
    monkeypatch.setenv("BARO_DIR", str(runs))
    run("run", "-q", "--", "true", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)), status=0)
    assert list(runs.iterdir()) == []


# ---- while the tape is written ---------------------------------------------------------------------------------------


def complete(baro, tape):
    done = subprocess.run([baro, "summary", "--json", str(tape)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["exit"]["status"] == 0 and tape.read_bytes().endswith(b"BAROEND\n")


def cut(tape, left):
    while tape.stat().st_size <= left:
        time.sleep(0.05)
    os.truncate(tape, left)


# What happens to a tape meanwhile, what is said of it, and where the recording is then.
MEANWHILE = {
    "removed": (lambda baro, tape: tape.unlink(), "removed while it was written", "t.baro"),
    "replaced": (lambda baro, tape: tape.with_name("other").rename(tape), "t-2.baro", "t-2.baro"),
    "moved": (lambda baro, tape: tape.rename(tape.with_name("moved.baro")), "moved", "moved.baro"),
    "cut 0": (lambda baro, tape: cut(tape, 0), "cut off while it was written", "t.baro"),
    "cut 100": (lambda baro, tape: cut(tape, 100), "cut off while it was written", "t.baro"),
    "cut 8000": (lambda baro, tape: cut(tape, 8000), "cut off while it was written", "t.baro"),
    "rm": (lambda baro, tape: subprocess.run([baro, "rm", "--yes", tape], check=True), "removed", None),
}


def test_what_others_do_to_a_tape_while_it_is_written(baro, work):
    """One line says it, the recording goes on, and a file of somebody else stays as it is. Seven at the same time."""
    started = {}
    for name in MEANWHILE:
        folder = work / name
        folder.mkdir()
        (folder / "other").write_text("another user's")
        argv = [baro, "run", "-q", "-i", "20ms", "-o", folder / "t.baro", "--", "sh", "-c", f"until test -e '{folder}/go'; do sleep 0.05; done; sleep 2.5"]
        started[name] = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    for name, (does, *_) in MEANWHILE.items():
        tape = work / name / "t.baro"
        while not samples(baro, tape):
            time.sleep(0.05)
        does(baro, tape)
        (work / name / "go").touch()
    for name, (_, words, there) in MEANWHILE.items():
        said = started[name].communicate(timeout=120)[1]
        assert started[name].returncode == 0, name
        (line,) = [line for line in said.splitlines() if "while it was written" in line]
        assert words in line, (name, line)
        left = {p.name for p in (work / name).iterdir()} - {"go", "other"}
        assert left == ({there} if there else set()) | ({"t.baro"} if name == "replaced" else set()), name
        if there:
            assert complete(baro, work / name / there), name
        if there == "t.baro":
            assert len(samples(baro, work / name / there)) > 10, name
    assert (work / "replaced" / "t.baro").read_text() == "another user's"


# ---- folders of other users ------------------------------------------------------------------------------------------

SWAP = """
import os, sys
os.setgid({uid}); os.setuid({uid})
os.chdir(sys.argv[1])
while True:
    try:
        os.rename("d", "real"); os.symlink(sys.argv[2], "d")
        os.unlink("d"); os.rename("real", "d")
    except OSError:
        pass
"""


@root_only
@pytest.mark.parametrize("argv", [["true"], ["/nonexistent/program"]])
def test_root_does_not_follow_a_swapped_folder(baro, work, argv):
    """Another user swaps the folder for a link into root's: no file is created there, and none is removed."""
    public, victim = work / "public", work / "victim"
    victim.mkdir(mode=0o755)
    public.mkdir()
    (public / "d").mkdir()
    for path in (public, public / "d"):
        os.chown(path, ORDINARY, ORDINARY)
    (victim / "t.baro").write_text("precious")
    attacker = subprocess.Popen([sys.executable, "-c", SWAP.format(uid=ORDINARY), str(public), str(victim)])
    try:
        for i in range(ROUNDS * 3):
            for name in ("t.baro", f"t{i}.baro"):
                subprocess.run([baro, "run", "-q", "--force", "-o", str(public / "d" / name), "--", *argv],
                               capture_output=True, timeout=60)
    finally:
        attacker.kill()
        attacker.wait()
    assert [f.name for f in victim.iterdir()] == ["t.baro"]
    assert (victim / "t.baro").read_text() == "precious"


@root_only
@pytest.mark.parametrize("mode, owner, why",
                         [(0o777, 0, "everybody may remove"), (0o755, ORDINARY, "belongs to another user")])
def test_root_keeps_no_runs_in_folders_of_others(run, work, monkeypatch, mode, owner, why):
    runs = work / "runs"
    runs.mkdir()
    os.chown(runs, owner, owner)
    runs.chmod(mode)
    monkeypatch.setenv("BARO_DIR", str(runs))
    monkeypatch.setenv("TMPDIR", str(work))
    done = run("run", "-q", "--", "true", status=0)
    assert why in done.stderr and str(runs) in done.stderr
    assert list(runs.iterdir()) == []
    done = run("ls", "--json", status=0)
    assert why in done.stderr and len(json.loads(done.stdout)) == 1


@root_only
def test_link_made_by_root_is_followed(run, work):
    (work / "real").mkdir()
    (work / "link").symlink_to("real")
    run("run", "-q", "-o", work / "link" / "t.baro", "--", "true", status=0)
    assert (work / "real" / "t.baro").stat().st_size > 1000


def test_run_with_a_future_time_is_not_the_last(run, work, monkeypatch):
    runs = work / "runs"
    monkeypatch.setenv("BARO_DIR", str(runs))
    run("run", "-q", "--", "true", status=0)
    real = next(runs.iterdir())
    (runs / real.name.replace(real.name[:4], "2099")).write_bytes(real.read_bytes())
    rows = json.loads(run("ls", "--json", status=0).stdout)
    assert [r["name"][:4] for r in rows] == [real.name[:4], "2099"]


def test_rm_all_while_others_remove(run, work, monkeypatch):
    """A recording that ends removes old kept runs: a run that is gone already is no failure."""
    runs = work / "runs"
    monkeypatch.setenv("BARO_DIR", str(runs))
    run("run", "-q", "--", "true", status=0)
    real = next(runs.iterdir())
    data = real.read_bytes()
    for i in range(300):
        (runs / f"20260101T000000.{i:06}Z-x-1.baro").write_bytes(data)
    p = run.popen("rm", "--all", "--yes", stderr=subprocess.PIPE, text=True)
    for path in sorted(runs.iterdir()):
        path.unlink(missing_ok=True)
    said = p.communicate()[1]
    assert p.returncode == 0 and said == ""
    assert list(runs.iterdir()) == []


@root_only
@pytest.mark.parametrize("fsync", ["EINVAL", "EOPNOTSUPP", "ENOSYS"])
def test_file_system_without_fsync(run, fuse, fsync):
    """The recorder calls fdatasync(2) after each frame there. What was written is kept, whatever fdatasync(2) returns.
    """
    server = fuse(fsync)
    tape = f"{server.folder}/t.baro"
    done = run("run", "-q", "-i", "10ms", "-o", tape, "--", "sh", "-c", "sleep 0.2; exit 4", status=4)
    # On a busy machine this server may take longer than the wrapper waits for the recorder.
    assert done.stdout == "" and (done.stderr == "" or "has not finished" in done.stderr)
    run.await_end(tape)
    summary = run.summary(tape)
    assert summary["exit"]["status"] == 4
    assert summary["recorder"]["damaged_bytes"] == 0
    assert len(samples(run.binary, tape)) > 1
    assert server.stdout.readline() == "fsync\n"


def test_folders_of_tapes(run, work, monkeypatch):
    """A folder of tapes is a list in natural order; one tape in it is that tape; a folder of segments is one tape."""
    monkeypatch.setenv("BARO_DIR", str(work / "runs"))
    tapes, one, kept = work / "tapes", work / "one", work / "kept"
    tapes.mkdir(), one.mkdir(), (work / "empty").mkdir()
    for i in (10, 2, 1):
        run("run", "-q", "-o", tapes / f"task-{i}.baro", "--", "sh", "-c", f"exit {i}", status=i)
    run("run", "-q", "--keep", "1h", "-o", kept, "--", "true", status=0)
    (one / "a.baro").write_bytes((tapes / "task-2.baro").read_bytes())
    names = [f"{tapes}/task-{i}.baro" for i in (1, 2, 10)]

    def listed(*args):
        return [line.split()[0] for line in run("ls", *args, status=0).stdout.splitlines()]

    assert listed(tapes) == listed(f"{tapes}/") == listed(tapes / "*.baro") == listed(tapes, names[0]) == names
    assert listed("-n", "1", tapes) == names[-1:] and listed(kept, one) == [str(kept), f"{one}/a.baro"]
    rows = json.loads(run("ls", "--json", tapes, status=0).stdout)
    assert [(r["path"], r["number"], r["result"]) for r in rows] == [
        (name, None, f"exit {i}") for name, i in zip(names, (1, 2, 10), strict=True)]

    lines = run("summary", tapes, status=0).stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == names and lines[3].endswith(f"baro report -o FILE.md {tapes}")
    assert run("summary", *names, status=0).stdout.splitlines()[:3] == lines[:3]
    for command in (("show",), ("top", "--once"), ("export",), ("summary", "--json"), ("summary", "--by", "phase")):
        said = run(*command, tapes, status=2).stderr
        assert said.count("\n") == 1 and ("3" in said or command[0] == "top"), said
        assert run(*command, one, status=0).stdout == run(*command, one / "a.baro", status=0).stdout
        assert "no tapes in" in run(*command, work / "empty", status=2).stderr
        run(*command, kept, status=0)
    assert f"such as {names[0]} " in run("show", tapes, status=2).stderr

    assert "no tapes in" in run("ls", work / "empty", status=0).stderr and listed(work / "empty") == []
    assert "no tapes in" in run("ls", status=0).stderr
    assert "can't open" in run("ls", work / "nothing", status=2).stderr


def test_tapes_with_names_among_kept_runs(run, work, monkeypatch):
    """The folder of kept runs may have tapes that somebody named; @1 is none of them."""
    runs = work / "runs"
    monkeypatch.setenv("BARO_DIR", str(runs))
    for status in (3, 4):
        run("run", "-q", "--", "sh", "-c", f"exit {status}", status=status)
    for i in (10, 9):
        run("run", "-q", "-o", runs / f"named-{i}.baro", "--", "true", status=0)
    lines = run("ls", status=0).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [f"{runs}/named-9.baro", f"{runs}/named-10.baro", "@2", "@1"]
    rows = json.loads(run("ls", "--json", status=0).stdout)
    assert [(r["number"], r["result"]) for r in rows] == [(1, "exit 4"), (2, "exit 3"), (None, "exit 0"), (None, "exit 0")]
    assert [r["number"] for r in json.loads(run("ls", "--json", "-n", "3", status=0).stdout)] == [1, 2, None]
    assert "exit 4" in run("summary", "@1", status=0).stdout.splitlines()[0]


def test_tags(run, work, monkeypatch):
    """On the tape, in lists and their filters, in JSON; in copies; anonymous in an anonymized one."""
    monkeypatch.setenv("BARO_DIR", str(work / "runs"))
    (work / "tapes").mkdir()
    plain, tagged = work / "tapes/1.baro", work / "tapes/2.baro"
    run("run", "-q", "-o", plain, "--", "true", status=0)
    assert "tags" not in run("ls", plain, status=0).stdout and json.loads(run("ls", "--json", plain).stdout)[0]["tags"] == {}
    run("run", "-q", "-o", tagged, "--name", "my job", "--tag", "ci/branch=old", "--tag", "note=a=b \x1b[31mµ", "--tag",
        "ci/branch=main", "--tag", "token=hunter2hunter2", "--", "true", status=0)
    with subprocess.Popen(["sleep", "100"]) as job:
        run("record", "-q", "--pid", str(job.pid), "--for", "50ms", "--tag", "a=1", status=0)
        job.kill()
    want = {"ci/branch": "main", "note": "a=b \\x1b[31mµ"}
    for command in (("summary", "--json", tagged), ("ls", "--json", tagged)):
        found = json.loads(run(*command, status=0).stdout)
        tags = (found if isinstance(found, dict) else found[0])["tags"]
        assert "hunter2" not in tags.pop("token") and tags == want
    assert "my job" in run("summary", tagged, status=0).stdout.splitlines()[0]
    lines = run("ls", work / "tapes", status=0).stdout.splitlines()
    assert "ci/branch=main note=a=b" in lines[1] and "my job" in lines[1] and "ci/" not in lines[0]
    assert "\x1b" not in lines[1]

    def listed(*args):
        return [line.split()[0] for line in run("ls", *args, status=0).stdout.splitlines()]

    assert listed("--tag", "ci/branch=main", work / "tapes") == [str(tagged)] and listed("--tag", "a=1") == ["@1"]
    assert listed("--tag", "ci/branch=main", "--tag", "a=1", work / "tapes") == listed("--tag", "ci/branch=old") == []

    run("trim", tagged, "--from", "0s", "-o", work / "part.baro", status=0)
    run("anonymize", tagged, "-o", work / "other.baro", status=0)
    assert json.loads(run("ls", "--json", work / "part.baro").stdout)[0]["tags"]["ci/branch"] == "main"
    (other,) = json.loads(run("ls", "--json", work / "other.baro").stdout)
    assert len(other["tags"]) == 3 and all(other["tags"].values()) and "main" not in str(other) and "branch" not in str(other)
    for wrong in ("=x", "no", "a b=c", "k" * 64 + "=x", "k=" + "v" * 1024):
        said = run("run", "-q", "--tag", wrong, "--", "true", status=125).stderr
        assert said.count("\n") == 1 and "--tag" in said
