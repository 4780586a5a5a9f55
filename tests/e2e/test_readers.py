# SPDX-License-Identifier: Apache-2.0
"""The readers on real tapes, parsed by parsers of other projects; and one line of error message for bad input."""

import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest
from conftest import SOURCE
from readers import HOSTILE_NAME, call, good, one_line, tape, unescape  # noqa: F401 (tape is a fixture)

# ---- the formats that other programs rely on -------------------------------------------------------------------------

MEMBERS = {
    "": "tape command start wall_ns exit job accounting commands recorder absent",
    "exit": "status signal",
    "job": "cpu_ns cpu_user_ns cpu_system_ns cores_mean cores_peak rss_peak_bytes pss_peak_bytes uss_peak_bytes pss_peak_age_ns "
    "process_rss_peak_bytes io_read_bytes io_write_bytes io_rchar_bytes io_wchar_bytes threads_peak fds_peak processes_peak "
    "processes_started processes_unsampled",
    "accounting": "cpu_counted_ns cpu_kernel_ns kernel_source event_source remainder_ratio lossy_intervals",
    "recorder": "cpu_ns rss_peak_bytes samples process_samples missed left_out sample_mean_ns process_sample_mean_ns forks_refused",
}


def test_summary_json(baro, tape):
    d = json.loads(good(baro, "summary", "--json", tape))
    for section, names in MEMBERS.items():
        at = d[section] if section else d
        for name in names.split():
            assert name in at, f"{section}.{name}"
            if at[name] is None and (section, name) not in {("exit", "signal")}:
                assert f"{section}.{name}" in d["absent"]
    for command in d["commands"]:
        assert {"name", "processes", "cpu_ns", "rss_peak_bytes"} <= set(command)
    assert d["command"][:2] == ["sh", "-c"]
    assert d["exit"].items() >= {"status": 3, "signal": None}.items()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", d["start"])
    assert d["job"]["cpu_ns"] == d["job"]["cpu_user_ns"] + d["job"]["cpu_system_ns"]
    assert d["job"]["cpu_ns"] >= 250e6
    assert d["job"]["rss_peak_bytes"] >= 20 << 20
    assert d["job"]["process_rss_peak_bytes"] >= 20 << 20
    assert d["accounting"]["kernel_source"] == "wait4"
    assert d["accounting"]["event_source"] in ("connector", "perf", "scan")
    assert d["accounting"]["cpu_kernel_ns"] == d["job"]["cpu_ns"]
    closure = 1 - d["accounting"]["cpu_counted_ns"] / d["accounting"]["cpu_kernel_ns"]
    assert abs(closure - d["accounting"]["remainder_ratio"]) < 1e-9
    counted = sum(c["cpu_ns"] or 0 for c in d["commands"])
    assert d["accounting"]["cpu_counted_ns"] == min(counted, d["job"]["cpu_ns"])
    assert all(re.fullmatch(r"[a-z_]+(\.\d+)?\.?[a-z_]*", path) for path in d["absent"])


def test_block_is_the_same_live_and_later(baro, work):
    live = subprocess.run([baro, "run", "-v", "-o", str(work / "l.baro"), "sh", "-c", "sleep 0.1; true"], capture_output=True)
    assert live.returncode == 0 and live.stdout == b""
    assert live.stderr == good(baro, "summary", "-v", work / "l.baro")


MACHINE = pathlib.Path(__file__).parents[1] / "tape" / "v1-machine.baro"
READINGS = [2, 3, 5, 6, 8, 9, 11]  # the seconds in which it was read


@pytest.mark.parametrize("entity,each", [("host", 1), ("cpu", 2), ("disk", 2), ("fs", 2), ("net", 2), ("sensor", 2),
                                         ("cgroup", 2)])
def test_machine_rows(run, entity, each):
    """There is a row for each reading of the machine, not for each sample; and one for each part that was present."""
    rows = run.export(MACHINE, entity)
    assert [row["t_ns"] // 10**9 for row in rows] == [
        s for s in READINGS if entity != "disk" or s > 2 for _ in range(each if s < 6 else 1)]
    if entity != "host":
        assert {row["name"].split()[0] for row in rows} == {entity} and rows[-1]["label"] == "later \\xff"


# ---- choosing rows and columns ---------------------------------------------------------------------------------------


def test_columns(baro, tape):
    assert good(baro, "export", "-c", "pid,rss,time", tape).splitlines()[0] == b"pid,rss_bytes,time"
    rows = good(baro, "export", "-e", "job", "-c", "t,cores,pss", tape).splitlines()
    assert rows[0] == b"t_ns,cores,pss_bytes" and len(rows) > 3
    assert good(baro, "export", "-e", "sensor", "-c", "name,temperature", tape)[:25] == b"name,temperature_celsius\n"


def test_dash_is_standard_output(baro, tape, work):
    assert good(baro, "export", "-o", "-", tape, cwd=work) == good(baro, "export", tape)
    assert good(baro, "export", "--force", "--output=-", tape, cwd=work) == good(baro, "export", tape)
    assert not (work / "-").exists()


def test_broken_pipe_is_quiet(baro, tape):
    r = subprocess.run(f"'{baro}' export '{tape}' | head -n 1", shell=True, capture_output=True, text=True)
    assert r.stderr == "" and r.stdout.startswith("time,")


def test_follow_to_the_end(baro, work):
    path = work / "f.baro"
    job = subprocess.Popen([baro, "run", "-q", "-o", str(path), "--interval", "50ms", "--", "sh", "-c",
                            "for i in 1 2 3 4 5; do sleep 0.2; done"])
    while not path.exists() or path.stat().st_size == 0:
        time.sleep(0.01)
    followers = [subprocess.Popen([baro, "export", "-f", *a, str(path)], stdout=subprocess.PIPE)
                 for a in (["-e", "job"], ["-e", "exit", "-F", "jsonl"], ["-c", "t,pid,name,cpu"])]
    show = subprocess.Popen([baro, "show", "-f", "--json", str(path)], stdout=subprocess.PIPE)
    assert job.wait(60) == 0
    out = [f.communicate(timeout=60)[0] for f in followers]
    shown = show.communicate(timeout=60)[0].splitlines()
    assert all(f.returncode == 0 for f in followers) and show.returncode == 0
    assert out[0] == good(baro, "export", "-e", "job", path)
    assert out[1] == good(baro, "export", "-e", "exit", "-F", "jsonl", path)
    assert out[2] == good(baro, "export", "-c", "t,pid,name,cpu", path)
    times = [json.loads(line)["t_ns"] for line in shown]
    assert times == sorted(set(times)) and len(times) >= 2  # how many samples it shows depends on the machine


FOREIGN = ["unshare", "--fork", "--pid", "--mount-proc"]  # the recorder's pid does not exist there


@pytest.mark.parametrize("via", [[], FOREIGN], ids=["here", "other namespace"])
def test_follow_ends_when_the_recorder_is_killed(baro, work, started, wait_until, via):
    """No process writes any more: follow prints all that was written, exits with 0, and says why. A recorder that is
    stopped is still writing."""
    if via and subprocess.run([*via, "true"], capture_output=True).returncode:
        pytest.skip("no PID namespace can be made here")
    path = work / "k.baro"
    job = started(["sleep", "1000"])
    recorder = subprocess.Popen([baro, "record", "-q", "--pid", str(job.pid), "-i", "20ms", "-o", str(path)])
    wait_until(lambda: path.exists() and path.stat().st_size > 0, "a tape")
    followers = [subprocess.Popen([*via, baro, *a, "-f", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for a in (["export", "-e", "job"], ["export", "-F", "jsonl"], ["show"], ["show", "--json"])]
    wait_until(lambda: len(call(baro, "export", path).stdout.splitlines()) > 3, "some samples")
    assert all(f.poll() is None for f in followers)
    recorder.send_signal(signal.SIGSTOP)  # it is alive, and writes nothing
    time.sleep(1.5)
    assert all(f.poll() is None for f in followers)
    recorder.kill()
    recorder.wait()
    done = [(*f.communicate(timeout=60), f.returncode) for f in followers]
    for out, err, status in done:
        assert status == 0 and out and b"no recorder writes" in err and str(path).encode() in err
    assert done[0][0] == good(baro, "export", "-e", "job", path) and done[1][0] == good(baro, "export", "-F", "jsonl",
                                                                                        path)


def test_states_of_tapes(baro, started, wait_until):
    """A running, an ended and a truncated tape are distinguished by ls and by the summary."""
    assert call(baro, "run", "-q", "true").returncode == 0
    job = started(["sleep", "1000"])
    both = [subprocess.Popen([baro, "record", "-q", "--pid", str(job.pid)]) for _ in range(2)]
    runs = wait_until(
        lambda: [r for r in json.loads(good(baro, "ls", "--json")) if r.get("wall_ns")][2:]
        and json.loads(good(baro, "ls", "--json")),
        "three runs with samples",
    )
    assert sorted(r["state"] for r in runs) == ["ended", "running", "running"]
    both[0].kill()
    both[0].wait()
    runs = json.loads(good(baro, "ls", "--json"))
    assert sorted(r["state"] for r in runs) == ["cut off", "ended", "running"]
    lines = good(baro, "ls").decode().splitlines()
    assert (
        sum("  cut off  " in line for line in lines)
        == sum("  running  " in line for line in lines)
        == sum("  exit 0  " in line for line in lines)
        == 1
    )
    for r in runs:
        text = good(baro, "summary", "-v", f"@{r['number']}").decode().splitlines()[0]
        assert {"ended": "exit 0", "running": "running", "cut off": "cut off"}[r["state"]] in text
        d = json.loads(good(baro, "summary", "--json", f"@{r['number']}"))
        if r["state"] == "running":
            assert d["exit"]["status"] is d["exit"]["signal"] is None and d["accounting"]["kernel_source"] == "ledger"
            assert d["absent"]["exit.status"] == d["absent"]["exit.signal"]
    both[1].send_signal(signal.SIGINT)
    both[1].wait(60)
    assert sorted(r["state"] for r in json.loads(good(baro, "ls", "--json"))) == ["cut off", "ended", "ended"]


# ---- kept runs -------------------------------------------------------------------------------------------------------


def test_ls_and_rm(baro, started, work):
    """The newest is the last row, as many rows as asked for; an attached run is listed with its command."""
    assert json.loads(good(baro, "ls", "--json")) == []
    for status in (0, 1, 2):
        assert call(baro, "run", "-q", "sh", "-c", f"exit {status}").returncode == status
    job = started(["sleep", "1234"])
    assert call(baro, "record", "-q", "--pid", str(job.pid), "--for", "300ms").returncode == 0
    runs = json.loads(good(baro, "ls", "--json"))
    assert [r["result"] for r in runs[1:]] == ["exit 2", "exit 1", "exit 0"] and [r["number"] for r in runs] == [1, 2, 3, 4]
    assert all(r["complete"] and r["error"] is None and r["wall_ns"] > 0 and r["command"][0] == "sh" for r in runs[1:])
    assert json.loads(good(baro, "ls", "--json", "-n", "1")) == runs[:1]
    lines = good(baro, "ls").decode().splitlines()
    assert [line.split()[0] for line in lines] == ["@4", "@3", "@2", "@1"]
    assert lines[-1].endswith(f"  sleep 1234 (pid {job.pid})") and good(baro, "ls", "--lines=all").decode().splitlines() == lines
    two = good(baro, "ls", "-n", "2").decode().splitlines()  # columns are as wide as their widest cell
    assert [line.split() for line in two] == [line.split() for line in lines[-2:]]
    first = good(baro, "ls", env=dict(os.environ, TZ="XXX-5:45")).decode().splitlines()[0]
    assert re.search(r"  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:45  ", first)
    assert json.loads(good(baro, "summary", "--json", "@3"))["exit"]["status"] == 1
    good(baro, "rm", "@1", "@2", "@4")  # all are looked up before one is removed
    assert [r["result"] for r in json.loads(good(baro, "ls", "--json"))] == ["exit 1"]
    assert call(baro, "rm", "--all").returncode == 2
    good(baro, "rm", "--all", "--yes")
    assert json.loads(good(baro, "ls", "--json")) == []
    (work / "notes.baro").write_text("these are my notes, longer than a header of anything would have to be\n" * 50)
    (work / "d.baro").mkdir()
    for other in (work / "notes.baro", work / "d.baro"):
        assert call(baro, "rm", other).returncode == 2 and other.exists()


def on_terminal(argv, columns, lines, folder):
    """Returns what a command writes on a terminal of that size, as lines without escape sequences."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.chdir(folder)
        os.execve(argv[0], [str(a) for a in argv], {**os.environ, "TERM": "xterm", "BARO_DIR": str(folder / "runs")})
    out = b""
    try:
        while got := os.read(fd, 65536):
            out += got
    except OSError:
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    last = out.decode().replace("\r", "").split("\x1b[2J")[-1]
    return [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line) for line in last.split("\n")]


@pytest.fixture(scope="module")
def runs(baro, tmp_path_factory):
    """A folder with a tape and many kept runs."""
    folder = tmp_path_factory.mktemp("runs")
    env = {**os.environ, "BARO_DIR": str(folder / "runs")}
    job = "for i in 1 2 3 4 5 6 7 8; do sleep 0.4 & done; wait; exit 3"
    assert call(baro, "run", "-q", "-o", folder / "t.baro", "--", "sh", "-c", job, env=env).returncode == 3
    for _ in range(12):
        good(baro, "run", "-q", "true", env=env)
    return folder


@pytest.mark.parametrize("columns", [40, 57, 80, 120])
def test_fits_the_terminal(baro, runs, ptys, columns):
    """No line is longer than the terminal is wide, so the terminal breaks no word; ls and show -f are no longer than it
    is high."""
    for args in (["summary"], ["show"], ["show", "--at", "+200ms"], ["show", "--at", "+1h"], ["show", "--at", "peak"],
                 ["show", "--top", "2", "--at", "+200ms"], ["show", "-f"]):
        lines = on_terminal([baro, *args, "t.baro"], columns, 14, runs)
        assert all(len(line) <= columns for line in lines if "t.baro" not in line), (args, lines)
        assert args != ["show", "-f"] or len(lines) <= 14, lines
    for args in (["ls"], ["ls", "--help"], ["run", "--help"], ["export", "--help"], ["--help"], ["metrics"],
                 ["run", "-o", "-", "true"], ["show", "--help"], ["record", "--help"]):
        lines = on_terminal([baro, *args], columns, 10, runs)
        assert all(len(line) <= columns for line in lines), (args, [line for line in lines if len(line) > columns])
        assert args != ["ls"] or len(lines) <= 10 and "older" in lines[0] and lines[-2].split()[0] == "@1"


def test_top(baro, work):
    """If there are more processes than asked for, the heaviest are shown, and the number of the others is printed."""
    path = work / "top.baro"
    loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    job = f"for n in 1 2 3; do sleep 60 & all=\"$all $!\"; done; sh -c '{loop}'; kill $all"
    argv = [baro, "run", "-q", "-i", "50ms", "--overhead", "off", "-o", path, "--", "sh", "-c", job]
    assert call(*argv).returncode == 0
    text = good(baro, "export", "-c", "t_ns,pid,cores,rss_bytes", "--format", "jsonl", path)
    rows = [json.loads(line) for line in text.decode().splitlines()]
    busiest = max(rows, key=lambda row: row["cores"] or 0)["t_ns"]
    then = [row for row in rows if row["t_ns"] == busiest]
    heaviest = max(then, key=lambda row: (row["cores"] or 0, row["rss_bytes"] or 0))
    at = ["show", "--at", f"+{busiest}ns", path]
    all_ = good(baro, *at).decode().splitlines()
    top = good(baro, *at, "--top", "1").decode().splitlines()
    n = next(i for i, line in enumerate(all_) if line.split()[:1] == ["PID"])
    assert top[:n] == all_[:n] and len(top) == n + 3
    others = len(all_[n + 1 :]) - 1
    assert top[n + 1].split()[0] == str(heaviest["pid"]) and top[-1].startswith(f"({others} more, ")
    assert good(baro, *at, "-n", "all").decode().splitlines() == all_
    one_line(call(baro, "show", "--top", "1", "--json", path), 2, "--json")
    one_line(call(baro, "show", "--top", "0", path), 2, "--top")


# ---- metrics, doctor, help -------------------------------------------------------------------------------------------


def test_metrics(baro):
    rows = json.loads(good(baro, "metrics", "--json"))
    names = {(r["kind"], r["name"]) for r in rows}
    assert len(names) == len(rows)
    assert {("process", "pss_bytes"), ("job", "cpu_ns"), ("exit", "rss_peak_bytes"), ("recorder", "missed")} <= names
    assert len(good(baro, "metrics").splitlines()) == len(rows)
    derived = [r for r in rows if r["semantics"] == "derived"]
    assert rows[-len(derived):] == derived, "after the recorded ones"
    for r in derived:
        assert all((r["kind"], name) in names for name in r["from"] + r["per"]) and r["from"] and r["help"]
    kinds = {r["kind"] for r in derived if r["name"] == "cores"}
    assert kinds == {"process", "job", "recorder", "host", "cpu", "cgroup", "task"}


def made_of_tables(baro, *what):
    return subprocess.check_output([SOURCE / "tools/make-docs", baro, *what], text=True)


def test_help_and_docs(baro):
    overview = good(baro, "--help").decode()
    assert overview == good(baro, "help").decode() == good(baro).decode()
    for command in re.findall(r"^  ([a-z]+)  ", overview, re.M):
        text = good(baro, "help", command).decode()
        if b"is not installed" not in call(baro, command, "--help").stderr:  # the build lacked its library
            assert good(baro, command, "--help").decode() == text
        assert all(len(line) <= 100 for line in text.splitlines())
        assert made_of_tables(baro, "man", command).startswith(f"baro-{command}(1)")
    completion = made_of_tables(baro, "bash")
    subprocess.run(["bash", "-n"], input=completion, text=True, check=True)
    done = subprocess.run(
        [
            "bash",
            "-c",
            'eval "$1"; COMP_WORDS=(baro export --fo); COMP_CWORD=2; _baro 2>/dev/null; echo "${COMPREPLY[@]}"',
            "bash",
            completion,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--format=" in done.stdout and "--force" in done.stdout
    made_of_tables(baro, "check")


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args, word", [
    (["run", "--intervl", "1s", "true"], "--interval"),
    (["run", "--interval", "5", "true"], "unit"),
    (["run", "--interval", "1ms", "true"], "10ms"),
    (["run", "--interval", "2h", "true"], "1h"),
    (["run", "--metrics", "cpu,rsss", "true"], "rss"),
    (["run", "--overhead", "x", "true"], "--overhead"),
    (["run", "--overhead", "200%", "true"], "100%"),
    (["run", "-o"], "FILE"),
    (["run", "-o", "-", "true"], "./-"),
    (["run", "--output=-", "true"], "./-"),
    (["run", "-m=-pss", "true"], "-m -pss or --metrics=-pss"),
    (["run", "--metrics=-pxs", "true"], "did you mean pss"),
    (["run"], "command"),
    (["run", "-x", "true"], "-x"),
])
def test_bad_run(baro, work, args, word):
    one_line(call(baro, *args, cwd=work), 125, word)
    assert not (work / "home" / ".local").exists()


@pytest.mark.parametrize("args, word", [
    (["record"], "--pid"),
    (["record", "--pid", "0"], "0"),
    (["record", "--pid", "abc"], "abc"),
    (["record", "--pid", "4194305"], "4194305"),
    (["record", "--pid", "1", "make"], "make"),
    (["record", "--host", "--no-host"], "one of them"),
    (["record", "--host", "--for", "0s"], "0s"),
    (["record", "--host", "--for", "x"], "x"),
    (["record", "--host", "--for", "5"], "5"),
    (["record", "--cgroup", "/a", "--cgroup", "/b"], "given twice; one control group is recorded at a time"),
    (["summary", "--jsn"], "--json"),
    (["summary", "nothing-here"], "nothing-here"),
    (["summary", "@7"], "no run is kept"),
    (["summary", "@x"], "@x"),
    (["show", "--at", "soon"], "soon"),
    (["show", "--at", "+5"], "unit"),
    (["show", "--pick", "none"], "before"),
    (["show", "-f", "--at", "+1s"], "--follow"),
    (["export", "--format", "xml"], "csv"),
    (["ls", "x"], "x"),
    (["rm"], "@last"),
    (["metrics", "--json=1"], "no value"),
    (["smmary"], "summary"),
    (["--frob"], "--frob"),
    (["help", "nothing"], "nothing"),
])
def test_bad_elsewhere(baro, work, args, word):
    one_line(call(baro, *args, cwd=work), 2, word)


def test_bad_columns(baro, tape):
    one_line(call(baro, "export", "-e", "thread", tape), 2, "--entity thread", "process, job, event")
    one_line(call(baro, "export", "-c", "time,rsss", tape), 2, "rsss", "rss")
    one_line(call(baro, "export", "-e", "event", "-c", "pss", tape), 2, "pss")
    one_line(call(baro, "export", "-o", tape.parent / "none" / "x", tape), 2, "none/x")
    one_line(call(baro, "export", "--force", "-o", "/dev/null", tape), 2, "/dev/null")


def test_bad_tapes(baro, tape, work):
    whole = tape.read_bytes()
    bad = {"empty": b"", "short": whole[:10], "text": b"time,pid\n" * 1000, "zeros": bytes(4096),
           "elf": pathlib.Path("/bin/true").read_bytes()}
    for name, content in bad.items():
        path = work / name
        path.write_bytes(content)
        for command in ("summary", "show", "export"):
            one_line(call(baro, command, path), 2, name)
    (work / "folder").mkdir()
    for command in ("summary", "show", "export"):
        one_line(call(baro, command, work / "folder"), 2, "no tapes in", "folder")


def test_truncated_tape_is_readable(baro, tape, work):
    whole = tape.read_bytes()
    cut = work / "cut.baro"
    cut.write_bytes(whole[: len(whole) // 8 * 7])  # behind the header, which is half of a short tape
    d = json.loads(good(baro, "summary", "--json", cut))
    assert d["recorder"]["samples"] > 0 and d["exit"]["status"] is None
    rows = list(csv.DictReader(io.StringIO(good(baro, "export", cut).decode())))
    assert rows and rows == list(csv.DictReader(io.StringIO(good(baro, "export", tape).decode())))[: len(rows)]


def test_full_output(baro, tape):
    with open("/dev/full", "w") as full:
        for args in (["export", tape], ["summary", tape], ["summary", "--json", tape], ["metrics"], ["show", tape]):
            r = subprocess.run([baro, *map(str, args)], stdout=full, stderr=subprocess.PIPE)
            assert r.returncode == 2 and r.stderr.count(b"\n") == 1 and b"No space" in r.stderr


def test_a_part_of_cpu_that_is_not_known_is_left_out(run):
    """The tape has no system time of the job."""
    text = run("summary", "-v", SOURCE / "tests/tape/v1-small.baro", status=0).stdout
    assert "660 ms (user ≥1.05 ms) ·" in text
