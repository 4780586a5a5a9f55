# SPDX-License-Identifier: Apache-2.0
"""The log of all runs: `baro ls` with filters and columns, its catalogue, `trend` and `advise`; tags of git and CI."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys

import pytest

from conftest import SANITIZED
from jobs import script
from readers import Page, sibling
from test_cgroup import v1  # noqa: F401 (a fixture)
from test_report_page import check_safe


def listed(run, *options):
    return json.loads(run("ls", "--json", *options, status=0).stdout)


def tags_of(run, folder, **kw):
    tape = folder / "t.baro"
    run("run", "-q", "--force", "-o", tape, "--", "true", status=0, cwd=folder, **kw)
    return listed(run, tape)[0]["tags"]


def catalogue(run, work):
    if not sibling(run.built, "baro-sqlite").exists():
        pytest.skip("built without SQLite")
    return work / "home" / ".cache" / "barograph" / "log.sqlite"


# ---- where a run was started ----

COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "fedcba98" * 5


@pytest.fixture
def repository(run, work):
    """A repository of the user who runs baro, made by hand: git is not needed to read one."""
    folder = work / "repository"
    (folder / ".git" / "refs" / "heads" / "topic").mkdir(parents=True)
    (folder / "sub").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/topic/a\n")
    (folder / ".git" / "refs" / "heads" / "topic" / "a").write_text(COMMIT + "\n")
    own(run, folder)
    return folder


def own(run, folder):
    for path in [folder, *folder.rglob("*")]:
        if os.geteuid() == 0:
            os.lchown(path, run.uid or 0, -1)


def test_git(run, repository):
    git = repository / ".git"
    expected = {"git.branch": "topic/a", "git.commit": COMMIT}
    assert tags_of(run, repository) == expected
    assert tags_of(run, repository / "sub") == expected
    (git / "packed-refs").write_text(f"# pack-refs with: peeled\n{OTHER} refs/heads/topic/b\n" +
                                     f"{COMMIT} refs/tags/many/of/them\n" * 20000 + f"{OTHER} refs/heads/topic/a\n")
    own(run, repository)
    assert tags_of(run, repository) == expected, "a loose ref has precedence"
    (git / "refs" / "heads" / "topic" / "a").unlink()
    assert tags_of(run, repository) == {"git.branch": "topic/a", "git.commit": OTHER}
    (git / "packed-refs").unlink()
    assert tags_of(run, repository) == {"git.branch": "topic/a"}, "a branch without a commit"
    (git / "HEAD").write_text(COMMIT + "\n")
    assert tags_of(run, repository) == {"git.commit": COMMIT}


def test_git_worktree(run, repository, work):
    tree, git = work / "tree", repository / ".git" / "worktrees" / "tree"
    tree.mkdir()
    git.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {git}\n")
    (git / "HEAD").write_text("ref: refs/heads/topic/a\n")
    (git / "commondir").write_text("../..\n")
    own(run, tree)
    own(run, repository)
    assert tags_of(run, tree) == {"git.branch": "topic/a", "git.commit": COMMIT}


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git")
def test_git_itself(run, repository, work):
    """As git makes them."""
    folder = work / "real"
    folder.mkdir()
    (folder / "file").write_text("x")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for argv in (["init", "-q", "-b", "main"], ["add", "file"], ["commit", "-qm", "x"],
                 ["worktree", "add", "-q", "-b", "side", str(work / "side")]):
        subprocess.run([*git, *argv], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    for tree, branch in ((folder, "main"), (work / "side", "side")):
        own(run, folder)
        own(run, work / "side")
        assert tags_of(run, tree) == {"git.branch": branch, "git.commit": commit}


@pytest.mark.parametrize("head", [
    b"x" * 100000, b"ref: refs/heads/" + b"a" * 5000, bytes(range(256)), b"", b"ref: refs/heads/../../../secret\n",
    b"ref: refs/heads/a\0b\n", b"ref: /etc/passwd\n", b"ref: refs/heads/\x1b[2J\n", b"ref: refs/heads/a//b\n"])
def test_hostile_head(run, repository, head):
    (repository / ".git" / "HEAD").write_bytes(head)
    (repository / ".git" / "secret").write_text(OTHER)
    own(run, repository)
    assert tags_of(run, repository) == {}


def test_head_of_others(run, repository, work):
    """Links are not followed, and files of others not read; a pipe does not hold it up."""
    head, elsewhere = repository / ".git" / "HEAD", work / "elsewhere"
    elsewhere.write_text(COMMIT + "\n")
    own(run, work / "elsewhere")
    head.unlink()
    head.symlink_to(elsewhere)
    assert tags_of(run, repository) == {}
    head.unlink()
    os.mkfifo(head)
    own(run, repository)
    assert tags_of(run, repository) == {}
    head.unlink()
    head.write_text(COMMIT + "\n")
    own(run, repository)
    assert tags_of(run, repository) == {"git.commit": COMMIT}
    if os.geteuid() == 0:
        os.chown(head, 1234, -1)
        assert tags_of(run, repository) == {}
        own(run, repository)
        os.chown(repository / ".git", 1234, -1)
        assert tags_of(run, repository) == {}


def test_note_and_ci(run, repository):
    assert tags_of(run, repository / "sub", env={"CI": "true", "GITHUB_SHA": OTHER, "GITHUB_REF_NAME": "main",
                                                 "GITHUB_RUN_ID": "17", "GITHUB_JOB": "unit"}) == {
        "git.commit": OTHER, "git.branch": "main", "ci.run": "17", "ci.job": "unit"}
    tape = repository / "n.baro"
    run("run", "-q", "-o", tape, "--note", "before the\x1b[2J change", "--tag", "git.branch=mine", "--", "true", status=0,
        cwd=repository)
    assert listed(run, tape)[0]["tags"]["git.branch"] == "mine"
    shown = run("ls", "-c", "note,commit,branch,command", tape, status=0).stdout.split("\n")
    assert shown[0].split() == ["note", "commit", "branch", "command"]
    assert shown[1].split() == ["before", "the\\x1b[2J", "change", COMMIT[:12], "mine", "true"]
    assert "has 1 to 300 bytes" in run("run", "--note", "", "--", "true", status=125).stderr


# ---- the list ----

def test_filters(run, work):
    run("run", "-q", "--tag", "a=1", "--", "true", status=0)
    run("run", "-q", "--name", "nightly build", "--", "sh", "-c", "exit 3", status=3)
    run("run", "-q", "--", "sh", "-c", "kill -9 $$")
    assert [r["number"] for r in listed(run)] == [1, 2, 3]
    assert [r["number"] for r in listed(run, "--failed")] == [1, 2]
    assert [r["number"] for r in listed(run, "--command", "^nightly")] == [2]
    assert [r["number"] for r in listed(run, "--command", "sh -c 'exit 3'")] == [2]
    assert [r["number"] for r in listed(run, "--tag", "a=1", "--since", "1h")] == [3]
    assert len(listed(run, "--since", "2w")) == 3
    assert "is like that" in run("ls", "--command", "nothing", status=0).stderr
    for words in (["--since", "soon"], ["--command", "("], ["--sort", "color"], ["-c", "name,color"]):
        assert len(run("ls", *words, status=2).stderr.strip().split("\n")) == 1


def test_columns_and_order(run, work):
    for size in (1, 30, 10):
        run("run", "-q", "--name", f"m{size}", "--", *script(f"x = bytearray({size}000000)"), status=0)
    rows = run("ls", "--sort", "memory", "-c", "name,memory,command", status=0).stdout.splitlines()
    assert rows[0].split() == ["name", "memory", "command"]
    assert [r.split()[-1] for r in rows[1:]] == ["m1", "m10", "m30"]
    found = listed(run, "--sort", "memory", "-c", "memory,job.processes_started")
    assert [r["title"] for r in found] == ["m30", "m10", "m1"]
    assert found[0]["facts"]["job.rss_peak_bytes"] == run.summary("@2")["job"]["rss_peak_bytes"]
    assert found[0]["facts"]["job.processes_started"] == 1


# ---- the catalogue ----

def test_catalogue_is_used_and_follows_the_files(run, work):
    path = catalogue(run, work)
    tapes = work / "tapes"
    tapes.mkdir()
    tapes.chmod(0o1777)
    for name in ("a", "b"):
        run("run", "-q", "--name", name, "-o", tapes / f"{name}.baro", "--", "true", status=0)
    first = run("ls", "-c", "name,cpu,command", tapes, status=0).stdout
    with sqlite3.connect(path) as db:
        assert [r[0] for r in db.execute("select name from tape order by name")] == ["a.baro", "b.baro"]
        assert db.execute("select count(*) from figures").fetchone() == (2,)
        assert db.execute("select count(*) from tape where folder = ?", (str(tapes.resolve()),)).fetchone() == (2,)
    assert run("ls", "-c", "name,cpu,command", tapes, status=0).stdout == first
    # The second reading is from the catalogue: what was renamed in it is believed.
    with sqlite3.connect(path) as db:
        head = db.execute("select head from tape where name = 'a.baro'").fetchone()[0]
        assert head.count(b"a\0a\0") == 1
        db.execute("update tape set head = ? where name = 'a.baro'", (head.replace(b"a\0a\0", b"x\0x\0"),))
    assert [r["title"] for r in listed(run, tapes)] == ["x", "b"]
    # A file that has changed is read anew, and one that is gone is forgotten.
    os.utime(tapes / "a.baro", ns=(1, 1))
    assert [r["title"] for r in listed(run, tapes)] == ["a", "b"]
    (tapes / "a.baro").rename(tapes / "c.baro")
    (tapes / "aa.baro").write_bytes((tapes / "b.baro").read_bytes())
    listed(run, tapes)
    (tapes / "b.baro").unlink()
    listed(run, tapes)
    with sqlite3.connect(path) as db:
        assert [r[0] for r in db.execute("select name from tape order by name")] == ["a.baro", "aa.baro", "c.baro"]
        # a.baro is before the first of the list: nobody has looked for it.
        assert db.execute("select count(*) from figures where name = 'b.baro'").fetchone() == (0,)


def test_a_catalogue_that_lies(run, work):
    """It is made anew, or not used; the list is the same, and nothing is said but with -v."""
    path = catalogue(run, work)
    for name in ("a", "b"):
        run("run", "-q", "--name", name, "--", "true", status=0)
    right = run("ls", "-c", "name,cpu,command", status=0).stdout
    whole = path.read_bytes()

    def check(note=None):
        done = run("ls", "-v", "-c", "name,cpu,command", status=0)
        assert done.stdout == right and (note is None or note in done.stderr), done.stderr
        assert run("ls", "-c", "name,cpu,command", status=0).stderr == ""

    path.write_bytes(b"garbage" * 1000)
    check("made anew")
    path.write_bytes(whole[:5000])
    check()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    check()
    for sql in ("pragma user_version = 7", "drop table figures", "update tape set head = x'00'", "delete from tape",
                "update tape set head = zeroblob(100)", "update tape set head = 'text'", "update tape set name = null",
                "update figures set figures = zeroblob(length(figures))", "update figures set figures = 1",
                "update tape set size = 'x', inode = 1e300", "update tape set head = substr(head, 1, length(head) - 1)",
                "create table x (a); drop table tape; create view tape as select * from x"):
        with sqlite3.connect(path) as db:
            try:
                db.executescript(sql)
            except sqlite3.Error:
                continue
        check()
        run("advise", status=0)
    path.unlink()
    path.symlink_to(work / "elsewhere")
    check()
    assert not (work / "elsewhere").exists()


def test_without_a_catalogue(run, work):
    """No home, a home that can't be written, a folder of others."""
    path = catalogue(run, work)
    run("run", "-q", "--", "true", status=0)
    kept = listed(run)[0]["path"]
    for env in ({"HOME": None}, {"HOME": "/proc"}, {"HOME": "relative"}):
        assert "catalogue" in run("ls", "-v", kept, status=0, env=env).stderr
    if path.exists():
        path.parent.chmod(0o777)
        assert "can't use" in run("ls", "-v", status=0).stderr


def test_locked(run, work):
    """While another process writes, it works without the catalogue."""
    path = catalogue(run, work)
    run("run", "-q", "--", "true", status=0)
    listed(run)
    run("run", "-q", "--name", "new", "--", "true", status=0)
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("begin exclusive")
        assert [r["title"] for r in listed(run)] == ["new", None]
        db.execute("rollback")
    assert [r["title"] for r in listed(run)] == ["new", None]


def test_at_once(run, work):
    for i in range(5):
        run("run", "-q", "--name", f"n{i}", "--", "true", status=0)
    several = [run.popen("ls", "-c", "cpu,command", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for _ in range(8)]
    out = {p.communicate(timeout=60) for p in several}
    assert len(out) == 1 and out.pop()[1] == "" and all(p.returncode == 0 for p in several)


# ---- trend ----

def test_trend(run, work):
    for i in range(12):
        run("run", "-q", "--name", "job", "--tag", f"git.commit={COMMIT if i >= 6 else OTHER}", "--",
            *script(f"x = bytearray({10 if i < 6 else 90}000000)"), status=0)
    run("run", "-q", "--name", "job", "--", "false")
    found = json.loads(run("trend", "process_rss_peak", "--json", "^job$", status=0).stdout)
    assert found["fact"] == "job.process_rss_peak_bytes" and found["method"] == "e-divisive"
    assert len(found["runs"]) == 12 and found["left_out"]["failed"] == 1
    if all(r["mark"] is None for r in found["runs"]):
        (change,) = found["changes"]
        assert change["run"] == 6 and 70e6 < change["after"] - change["before"] < 90e6
        text = run("trend", "process_rss_peak", "job", status=0).stdout
        assert re.search(rf"^change at run 7: .* MB -> .* MB \(\+.*\n    @7, .*, commit {COMMIT[:12]}$", text, re.M), text
    text = run("trend", "processes", "job", status=0).stdout
    assert "no change of level" in text and "left out: 1 that failed" in text
    text = run("trend", "memory", "job", status=0, env={"LC_ALL": "C"}).stdout
    assert max(map(len, text.split("\n"))) <= 80 and text.isascii()
    run("trend", "cpu", "job", "-o", work / "t.svg", status=0)
    assert (work / "t.svg").read_text().startswith("<svg")
    assert "it ends with .html or .svg" in run("trend", "job", "-o", work / "t.gif", status=2).stderr
    run("trend", "process_rss_peak", "job", "-o", work / "t.html", status=0)
    text = (work / "t.html").read_text()
    page = Page(text)
    check_safe(page, text)
    rows = page.table_rows("runs")[1:]
    assert [float(c[2]["v"]) for c in rows] == [r["value"] for r in reversed(found["runs"])]
    assert [c[4]["text"] for c in rows] == [(COMMIT if i >= 6 else OTHER)[:12] for i in reversed(range(12))]
    data = page.data()
    assert data["charts"][0]["buckets"] == 12 and data["told"][0].startswith("run 1, ")
    assert "memory of the largest process, job: 12 runs" in "".join(page.text)


def test_trend_of_a_phase_and_of_a_mark(baro, run, work):
    """The values are those of the run's phase, as `diff` and `check` have them, and come from the catalogue again."""
    path = catalogue(run, work)
    for i in range(3):
        shell = (f'"$BARO_PROGRAM" phase link -- {sys.executable} -S -c "x = bytearray({i + 1}0000000)"; '
                 f'"$BARO_PROGRAM" mark epoch loss=9; "$BARO_PROGRAM" mark epoch loss=0.{i + 1}')
        run("run", "-q", "--name", "job", "--", "sh", "-c", shell, status=0, env={"BARO_PROGRAM": str(baro)})
    run("run", "-q", "--name", "job", "--", "true", status=0)
    for _ in range(2):
        found = json.loads(run("trend", "phase:link cpu", "job", "--json", status=0).stdout)
        assert found["fact"] == "phase:link cpu_ns" and len(found["runs"]) == 3 and found["left_out"]["absent"] == 1
        for row in found["runs"]:
            at = f"@{row['number']}"
            (d,) = [d for d in json.loads(run("diff", "--json", at, at, status=0).stdout)["differences"]
                    if (d["scope"], d["name"], d["fact"]) == ("phase", "link", "cpu_ns")]
            assert d["before"] == row["value"]
        loss = json.loads(run("trend", "mark.loss", "job", "--json", status=0).stdout)
        assert [r["value"] for r in loss["runs"]] == [0.1, 0.2, 0.3]
        with sqlite3.connect(path) as db:
            assert {r[0] for r in db.execute("select what from figure")} == {"phase:link cpu_ns", "mark.loss"}
    peak = json.loads(run("trend", "command:python* rss_peak", "job", "--json", status=0).stdout)
    assert [r["value"] for r in peak["runs"]] == sorted(r["value"] for r in peak["runs"]) and len(peak["runs"]) == 3
    assert run("trend", "phase:link cpu", "job", status=0).stdout.startswith("CPU time of phase link, job: 3 runs\n")
    with sqlite3.connect(path) as db:
        db.execute("update figure set figure = zeroblob(3)")
    assert json.loads(run("trend", "mark.loss", "job", "--json", status=0).stdout) == loss
    for words, said in ((["phase:link"], "'phase:link cpu'"), (["phase:link cpuu"], "did you mean cpu"),
                        (["phase:other cpu", "job"], "4 have no such value")):
        error = run("trend", *words, status=2).stderr
        assert said in error and error.count("\n") == 1


def test_trend_has_the_width_of_the_terminal(run):
    for i in range(5):
        run("run", "-q", "--name", "job", "--", *script(f"x = bytearray({i + 1}0000000)"), status=0)
    lines = run("trend", "process_rss_peak", "job", status=0).stdout.split("\n")
    dots = [line.rindex("\u2022") for line in lines if "\u2022" in line and "\u2524" in line or "\u2502" in line and "\u2022" in line]
    assert lines[0] == "memory of the largest process, job: 5 runs" and max(dots) > 65 and max(map(len, lines)) <= 80


def on_terminal(run, columns, *words):
    """The lines of a command on a terminal of so many columns."""
    command = shlex.join([str(run.binary), *map(str, words)])
    done = subprocess.run(["script", "-qec", f"stty cols {columns} rows 24; {command}", "/dev/null"], capture_output=True,
                          text=True, timeout=60, check=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TERM": "xterm"})
    return done.stdout.replace("\r", "").rstrip("\n").split("\n")


@pytest.mark.skipif(not shutil.which("script"), reason="no script(1)")
@pytest.mark.parametrize("columns", [60, 40])
def test_narrow_terminals(run, ptys, columns):
    """What is to be read wraps; the lines of `advise` that are to be copied stay whole."""
    for i in range(12):
        run("run", "-q", "--name", "nightly build of everything that there is", "--tag", f"git.commit={COMMIT}", "--",
            *script(f"x = bytearray({10 if i < 6 else 90}000000)"), status=0)
    for words in (["process_rss_peak"], ["cpu"]):
        lines = on_terminal(run, columns, "trend", *words, "nightly")
        assert max(map(len, lines)) <= columns, lines
    lines = on_terminal(run, columns, "advise", "--command", "nightly")
    text = lines[:lines.index("")]
    assert max(map(len, text)) <= columns, text
    assert "".join(lines).count("MemorySwapMax=0 -p RuntimeMaxSec") == 1, lines


@pytest.mark.skipif(not shutil.which("script"), reason="no script(1)")
def test_chosen_columns_fit_the_terminal(run, ptys):
    tags = [word for i in range(4) for word in ("--tag", f"key-{i}=platform-engineering-{i}")]
    run("run", "-q", "--name", "nightly build of everything that there is, in \u5927\u962a", *tags, "--", "true", status=0)
    for columns in (80, 40):
        for names in ("name,tags", "name,tags,command", "command,tags,cpu", "tags,cpu,memory,wall,bytes,start,read,written"):
            lines = on_terminal(run, columns, "ls", "-c", names)
            assert max(len(line) for line in lines) <= columns, lines
            assert "\u2026" in lines[-1] and len(lines) == 2, lines
    assert "key-3=platform-engineering-3" in run("ls", "-c", "name,tags,command", status=0).stdout  # whole in a pipe


def test_facts_have_the_names_that_check_knows(run):
    run("run", "-q", "--", *script("import sys; sys.stdout.write('x' * 300000)"), status=0, stdout=subprocess.DEVNULL)
    for short, fact in (("wchar", "job.io_wchar_bytes"), ("rchar", "job.io_rchar_bytes"), ("written", "job.io_write_bytes"),
                        ("read", "job.io_read_bytes"), ("processes", "job.processes_started")):
        assert json.loads(run("trend", short, "--json", status=0).stdout)["fact"] == fact
        run("check", "@last", "--max", f"{short}<=100GB" if "bytes" in fact else f"{short}<=100", status=0)


def test_trend_of_nothing(run, work):
    assert "no run fits" in run("trend", status=2).stderr
    run("run", "-q", "--", "true", status=0)
    text = run("trend", status=0).stdout
    assert "1 run" in text and "no change can be told" in text
    assert "no run" in run("trend", "nothing like that", status=2).stderr
    assert "neither a fact nor a tape" in run("trend", "cpu", "a", "b", status=2).stderr


def test_wrong_options(run, work):
    run("run", "-q", "--", "true", status=0)
    for call, says in (
        (("ls", "--since", "0s"), "'0s' is no time"),
        (("ls", "-c", "tag."), "there is no column tag."),
        (("trend", "--last", "501"), "501 runs are more than 500"),
        (("trend", "--last", "0"), "invalid number '0'"),
        (("advise", "--last", "0"), "invalid number '0'"),
        (("summary", "@1", work / "none"), ""),
        (("ls", "--tag", "a\tb"), "'a\\x09b' is not KEY=VALUE"),
    ):
        assert says in run(*call, status=2).stderr, call


# ---- advise ----

def test_advise(run, work):
    for size in (50, 60, 140):
        run("run", "-q", "--name", "job", "--", *script(f"""
            import time
            x = bytearray({size}000000)
            time.sleep(1.2)"""), status=0)
    found = json.loads(run("advise", "--json", status=0).stdout)
    assert found["runs"] == 3 and found["ask"]["time_ns"] == 60e9 and found["ask"]["memory_bytes"] % (64 << 20) == 0
    needed = found["needed"]["memory_bytes"]
    assert 140e6 <= needed["most"] <= 170e6 and 60e6 <= needed["median"] <= 90e6
    assert found["ask"]["memory_bytes"] >= 1.25 * needed["most"]
    killed = {int(limit["memory_bytes"]) >> 20: limit["killed"] for limit in found["limits"]}
    assert killed[128] == 1 and killed[max(killed)] == 0
    text = run("advise", status=0).stdout
    assert "of 3 runs would have been killed" in text and "128 MiB: 1" in text and "no run took 30 s" in text
    assert run("advise", "--for", "slurm", status=0).stdout.split("\n")[-2] == "#SBATCH --time=1"
    for word in ("Kubernetes", "MemoryMax=", "docker run", "mem_mb=", "memory '"):
        assert word in text
    # One formula: what the verdict says of a run is what is advised after it.
    one = json.loads(run("advise", "--json", "@1", status=0).stdout)["ask"]
    verdicts = [v for v in run.summary("@1")["verdicts"] if v["rule"] == "right-size"]
    for verdict in verdicts:
        said = {e["name"]: e["value"] for e in verdict["evidence"]}
        assert said["ask_memory_bytes"] == one["memory_bytes"] and said["ask_time_ns"] == one["time_ns"]
        assert said.get("ask_cores") == one["cores"]


def test_with_fewer_cores_threads_that_waited_wait_as_well(run, work):
    """Eight threads on so many cores take half of the cores twice the time at most, not eight times."""
    burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    run("run", "-q", "--", "sh", "-c", f"for k in 1 2 3 4 5 6 7 8; do sh -c '{burn}' & done; wait", status=0)
    text = run("advise", status=0).stdout
    asked = int(re.search(r"^cores +(\d+)", text, re.M)[1]) if "there was work" in text else 1
    for fewer, percent in re.findall(r"with (\d+) at least (\d+) % more time", text):
        assert int(percent) <= 100 * (asked / int(fewer) - 1), text


def test_a_time_limit_is_no_time(run, work):
    """The time of what timeout(1) ended is a lower bound: it is not advised."""
    run("run", "-q", "--", "timeout", "1.5", "sleep", "100", status=124)
    found = json.loads(run("advise", "--json", status=0).stdout)
    assert found["ask"]["time_ns"] is None and found["time_bounds"] == 1
    assert re.search(r"at least [1-9]", run("advise", status=0).stdout)
    assert "--time" not in run("advise", "--for", "slurm", status=0).stdout
    for verdict in run.summary("@1")["verdicts"]:
        if verdict["rule"] == "right-size":
            assert "how much it needs is not known" in verdict["advice"] and "--time" not in verdict["advice"]


def test_partial_runs_are_named(run, work):
    run("run", "-q", "-o", work / "a.baro", "--", *script("import time; time.sleep(1.1)"), status=0)
    (work / "b.baro").write_bytes((work / "a.baro").read_bytes()[:-200])
    (work / "c.baro").write_bytes(b"no tape")
    text = run("advise", work / "a.baro", work / "b.baro", work / "c.baro", status=0).stdout
    assert "1 of 3 runs: left out, as they can't be read" in text
    assert "1 of 3 runs: left out, as they run still or their tapes are cut off" in text and "it was seen once" in text
    assert "no run to advise after" in run("advise", work / "b.baro", status=2).stderr


def test_failed_runs_are_left_out(run, work):
    """A run that fails early needs less. If all failed, they are better than nothing, and it is said."""
    good, bad = (work / f"{name}.baro" for name in ("good", "bad"))
    run("run", "-q", "-o", good, "--", "sleep", "0.3", status=0)
    run("run", "-q", "-o", bad, "--", *script("x = bytearray(90000000); raise SystemExit(3)"), status=3)
    found = json.loads(run("advise", "--json", good, bad, status=0).stdout)
    assert found["runs"] == 1 and found["failed"] == 1 and found["needed"]["memory_bytes"]["most"] < 60e6
    assert "1 of 2 runs: failed, and left out" in run("advise", good, bad, status=0).stdout
    found = json.loads(run("advise", "--json", bad, status=0).stdout)
    assert found["runs"] == 1 and found["needed"]["memory_bytes"]["most"] > 90e6
    assert "failed: one that succeeds may need more" in run("advise", bad, status=0).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_out_of_memory_is_a_bound(run, v1):
    """What was killed at 60 MB needed more than that: half more is asked for, and it counts as killed at 60 MB."""
    limit = (256 if SANITIZED else 60) << 20
    group = v1("memory")
    group.write("memory.limit_in_bytes", limit)
    run("run", "-q", "--name", "job", "--", *script(f"x = bytearray({3 * limit})"), cgroup=group)
    found = json.loads(run("advise", "--json", status=0).stdout)
    if not found["memory_bounds"]:
        pytest.skip("which process was killed is not known here")
    assert found["ask"]["memory_bytes"] >= 1.5 * limit and found["time_bounds"] == 1
    assert all(row["killed"] + row["unknown"] == 1 for row in found["limits"])
    assert "out of memory, so that what they needed is a lower bound" in run("advise", status=0).stdout


def test_an_empty_folder_before_what_is_not_there(run, work):
    (work / "empty").mkdir()
    done = run("ls", work / "empty", work / "nope", status=2)
    assert done.stderr.endswith("nope: No such file or directory\n") and done.stderr.count("\n") == 1
    run("advise", work / "empty", work / "nope", status=2)


def test_the_same_wall_time_as_at_the_end(run, work):
    run("run", "-q", "--limit", "wall=300ms", "-o", work / "t.baro", "--", "sleep", "5", status=124)
    wall_ns = run.summary(work / "t.baro")["wall_ns"]
    listed = json.loads(run("ls", "--json", work / "t.baro", status=0).stdout)
    assert abs((listed if isinstance(listed, list) else listed["runs"])[0]["wall_ns"] - wall_ns) < 2_000_000
