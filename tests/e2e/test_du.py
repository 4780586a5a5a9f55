# SPDX-License-Identifier: Apache-2.0
"""--du DIR: what directories take, compared with du(1) and find(1); whatever is wrong with one costs its own rows."""

import os
import subprocess
import time

import pytest
from conftest import PATIENCE, poll
from jobs import script


def du(folder):
    """(bytes allocated, inodes) as du(1) has them."""
    sizes = subprocess.check_output(["du", "-s", "-x", "--block-size=1", folder], text=True)
    inodes = subprocess.check_output(["du", "-s", "-x", "--inodes", folder], text=True)
    return int(sizes.split()[0]), int(inodes.split()[0])


def apparent(folder):
    """Sizes of files and links; du(1) adds those of directories, or not, by its version."""
    lines = subprocess.check_output(
        ["find", folder, "-xdev", "-type", "f,l", "-printf", "%i %s\n"], text=True
    ).splitlines()
    return sum(int(line.split()[1]) for line in set(lines))


def last(run, tape):
    """The last row of each directory, by its path."""
    return {row["name"]: row for row in run.export(tape, "directory")}


def numbers(row, *names):
    return [row[name] for name in names]


def record(run, tape, *options, **kw):
    """Until each directory was walked, or is known to be none; with the summary that is printed."""
    job = f"while test ! -e {run.work}/go; do sleep 0.05; done"
    p = run.popen("run", "-i", "100ms", "-o", tape, *options, "--", "sh", "-c", job, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True, **kw)
    end = time.monotonic() + PATIENCE

    def are_walked(rows):
        return rows and all(row["walks"] or not os.path.isdir(path) for path, row in rows.items())

    while not are_walked(rows := last(run, tape) if run.instants(tape) else {}):
        assert time.monotonic() < end, rows
        time.sleep(0.05)
    (run.work / "go").touch()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0, err
    return subprocess.CompletedProcess(p.args, 0, out, err)


@pytest.fixture
def tree(work):
    folder = work / "tree"
    (folder / "a" / "b").mkdir(parents=True)
    for i in range(300):
        (folder / f"f{i}").write_bytes(b"x" * (i * 37))
        (folder / "a" / f"d{i}").mkdir()
    for i in range(50):
        os.link(folder / "f299", folder / "a" / "b" / f"l{i}")
    with open(folder / "sparse", "wb") as f:
        f.truncate(1 << 30)
        f.seek(1 << 20)
        f.write(b"y" * 5000)
    (folder / "link").symlink_to("nowhere")
    os.mkfifo(folder / "a" / "pipe")
    return folder


def test_as_du_and_find(run_both, tape, tree):
    r = record(run_both, tape, "--du", tree)
    row = last(run_both, tape)[str(tree)]
    used, inodes = du(tree)
    assert numbers(row, "used_bytes", "apparent_bytes", "unread") == [used, apparent(tree), 0]
    assert row["walks"] >= 1
    assert row["files"] + row["directories"] == inodes
    names = len(subprocess.check_output(["find", tree]).splitlines())
    assert row["files"] == names - row["directories"] - 50, "the links"
    assert "type=" in row["attributes"] and "device=" in row["attributes"]
    assert "disk of" in r.stderr and "sparse" in r.stderr
    fact = run_both.summary(tape)["directories"]
    assert [(f["path"], f["used_bytes"], f["is_lower_bound"]) for f in fact] == [(str(tree), used, False)]
    assert fact[0]["read_age_ns"] > 0 and fact[0]["walk_ns"] > 0


def test_grows_and_shrinks(run, tape, work, wait_until):
    """A job that waits until its file was seen, and until it was seen removed; the peak stays."""
    (work / "d").mkdir()
    job = """dd if=/dev/zero of=d/big bs=1000 count=5000 2>&-; while [ ! -e go ]; do sleep 0.1; done
             rm d/big; while [ ! -e end ]; do sleep 0.1; done"""
    p = run.popen("run", "-o", tape, "--du", "d/.", "--du-every", "1s", "--", "sh", "-c", job,
                  cwd=work, stderr=subprocess.PIPE, text=True)

    def used():
        return [r["used_bytes"] or 0 for r in run.export(tape, "directory")] if run.instants(tape) else []

    wait_until(lambda: max(used(), default=0) > 5000000, "the file in a sample")
    (work / "go").touch()
    wait_until(lambda: used()[-1] < 5000000, "its end in a sample")
    (work / "end").touch()
    text = p.communicate(timeout=60)[1]
    row = last(run, tape)[str(work / "d")]
    assert row["used_bytes"] == du(work / "d")[0] and row["used_peak_bytes"] > 5000000
    assert "peak 5.0" in text
    rows = run.export(tape, "directory")
    times = [r["read_at_ns"] for r in rows if r["read_at_ns"]]
    assert times == sorted(times) and len(set(times)) == row["walks"]
    assert all(r["t_ns"] >= r["read_at_ns"] - 200000000 for r in rows if r["read_at_ns"]), "the last sample's is later"
    page = work / "r.html"
    run("report", "-o", page, tape)
    assert "directory: used_bytes" in page.read_text()
    assert "used_bytes" in run("plot", tape, "directory.used_bytes").stdout
    assert f"directory {work}/d: used_bytes" in run("show", tape).stdout


def test_other_mounts_are_not_entered(run, tape, tree):
    inside = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none a/b && head -c 9000000 /dev/zero >a/b/f && '
              'mount --bind . a/d0 && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], cwd=tree, capture_output=True).returncode:
        pytest.skip("no mounts: needs root")
    record(run, tape, "--du", tree, via=inside, cwd=tree)
    row = last(run, tape)[str(tree)]
    size = os.lstat(tree / "a" / "b").st_blocks * 512 + os.lstat(tree / "a" / "d0").st_blocks * 512
    links = row["files"]
    assert row["used_bytes"] == du(tree)[0] - size and links == len(
        {e.inode() for e in os.scandir(tree) if not e.is_dir(follow_symlinks=False)}
        | {e.inode() for e in os.scandir(tree / "a") if not e.is_dir(follow_symlinks=False)}
    )


def test_what_may_not_be_read_makes_a_lower_bound(run_ordinary, tape, work):
    (work / "d" / "open").mkdir(parents=True)
    (work / "d" / "closed").mkdir()
    (work / "d" / "closed" / "f").write_bytes(b"x" * 100000)
    (work / "d" / "open" / "f").write_bytes(b"x" * 100000)
    (work / "d" / "closed").chmod(0)
    r = record(run_ordinary, tape, "--du", work / "d")
    row = last(run_ordinary, tape)[str(work / "d")]
    assert numbers(row, "unread", "files", "directories", "apparent_bytes") == [1, 1, 3, 100000]
    assert "≥1" in r.stderr and "1 entry not counted" in r.stderr
    fact = run_ordinary.summary(tape)["directories"][0]
    assert fact["is_lower_bound"] is True


def test_one_that_is_not_there(run, tape, work):
    """What controls a terminal is written escaped, also by the recorder, which says why a size is not known."""
    (work / "file").touch()
    (work / "d").mkdir()
    none = r"a\x1b[31m\xe2\x80\xaeb"
    r = record(run, tape, *(word for name in ("a\x1b[31m\u202eb", "file", "d", "d") for word in ("--du", work / name)))
    rows = last(run, tape)
    assert set(rows) == {str(work / name) for name in (none, "file", "d")}
    assert rows[str(work / none)]["used_bytes"] is None and rows[str(work / "d")]["directories"] == 1
    lines = [line for line in r.stderr.splitlines() if line.startswith("baro run: disk of")]
    assert lines == [f"baro run: disk of {work}/{none}: No such file or directory",
                     f"baro run: disk of {work}/file: Not a directory"]
    assert "not a directory, or it could not be read" in " ".join(run("summary", "-v", tape, status=0).stdout.split())


def test_files_that_come_and_go(run, tape, work):
    """A job that makes, renames and removes files all the time: every walk ends."""
    (work / "d").mkdir()
    churn = """
        import os, time
        while not os.path.exists("quiet"):
            os.mkdir("d/a")
            open("d/a/f", "w").close()
            os.rename("d/a", "d/b")
            os.remove("d/b/f")
            os.rmdir("d/b")
        while not os.path.exists("go"):
            time.sleep(0.05)
        """
    argv = ["run", "-o", tape, "--du", "d", "--du-every", "1s", "--", *script(churn)]
    p = run.popen(*argv, cwd=work, stderr=subprocess.PIPE, text=True)

    def row():
        return last(run, tape).get(str(work / "d")) if run.instants(tape) else None

    poll(lambda: (row() or {"walks": 0})["walks"] >= 3, "three walks")
    (work / "quiet").touch()
    poll(lambda: numbers(row(), "files", "directories", "unread") == [0, 1, 0], "a walk of what is left")
    (work / "go").touch()
    assert "baro run: " not in p.communicate()[1] and p.returncode == 0
    assert numbers(row(), "files", "directories", "unread") == [0, 1, 0]


def test_wrong_calls(run):
    assert "1s to 24h" in run("run", "--du", "x", "--du-every", "1ms", "true", status=125).stderr
    assert "empty" in run("run", "--du", "", "true", status=125).stderr


def test_one_that_hangs_costs_its_own_rows(run, tape, work, hanging, wait_until):
    (work / "d").mkdir()
    (work / "d" / "f").write_bytes(b"x" * 5000)
    folder = hanging.folder
    p = run.popen("run", "-i", "100ms", "-o", tape, "--du", folder, "--du", work / "d", "--du-every", "1s", "--", "sh",
                  "-c", "while [ ! -e go ]; do sleep 0.1; done", cwd=work, stderr=subprocess.PIPE, text=True)

    def walks(name):
        return last(run, tape).get(str(name), {"walks": 0})["walks"] if run.instants(tape) else 0

    wait_until(lambda: walks(folder) and walks(work / "d"), "a walk of both")
    hanging.hang()

    def reported():
        return "has not answered" in run("export", "--entity", "event", tape).stdout

    wait_until(reported, "the event")
    before = walks(work / "d")
    wait_until(lambda: walks(work / "d") > before, "another walk of the other one")
    (work / "go").touch()
    text = p.communicate(timeout=60)[1]
    assert p.returncode == 0
    lines = [line for line in text.splitlines() if line.startswith("baro run: ")]
    assert lines == [f"baro run: disk of {folder}: it has not answered for 5 s"]
    hanging.resume()
