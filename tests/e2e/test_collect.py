# SPDX-License-Identifier: Apache-2.0
"""--collect NAME=COMMAND: what a program prints becomes rows of a kind of its own; a faulty program loses its own rows
only.
"""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

import pytest
from conftest import PATIENCE

READINGS = 6  # a file that the job waits for

# A collector in Python, of a kind that the registry does not have, with help, labels, an owner and a counter. It notes
# each reading in a file, so that a job can wait for a reading and not for a time.
GOOD = """
import os, sys, time
n = 0
while True:
    n += 1
    print(f'''# HELP beats Readings so far.
# TYPE beats counter
beats{{part="heart"}} {n}
rest_seconds{{part="heart"}} 0.25
flow_bytes{{side="left",valve="2"}} {4096 * n}
open{{side="left",valve="2"}} 1
share_ratio{{pid="{os.environ["BARO_PID"]}"}} 0.5
# EOF''', flush=True)
    open(sys.argv[1], "a").write("x")
    time.sleep(0.1)
"""

BAD = {
    "hangs": "sleep 1000",
    "floods": "yes",
    "floods_readings": """yes 'a 1
# EOF'""",
    "floods_without_lines": "cat /dev/zero",
    "floods_errors": "yes >&2",
    "garbage": """while sleep 0.05; do echo 'hello "{[ world'; echo '# EOF'; done""",
    "binary": "cat /dev/urandom",
    "dies_at_once": "echo no device >&2; exit 3",
    "dies_later": "echo 'a 1'; echo '# EOF'; sleep 0.3; exit 4",
    "stops": "kill -STOP $$",
    "killed": "kill -KILL $$",
    "closes_its_output": "exec >&-; sleep 1000",
    "partial": """while sleep 0.05; do printf 'a{b="'; done""",
    "ignores-term": "trap '' TERM; while :; do sleep 1; done",
    "leaves_children": """echo 'a 1'; echo '# EOF'; (sleep 1000 & setsid sleep 1001 &); sleep 0.2""",
    "not_there": "/nonexistent/program",
    "many_columns": """i=0; while [ $i -lt 200 ]; do echo "column_$i $i"; i=$((i+1)); done; echo '# EOF'; sleep 1000""",
    "many_rows": """i=0; while [ $i -lt 5000 ]; do echo "m{r=\\"$i\\"} $i"; i=$((i+1)); done; echo '# EOF'; sleep 1000""",
}


@pytest.fixture
def mark(monkeypatch):
    """A marker in the environment of all processes that baro starts."""
    text = "BARO_TEST_" + uuid.uuid4().hex
    monkeypatch.setenv(text, "1")
    return text.encode()


def marked(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        process = pathlib.Path("/proc") / pid
        try:
            if mark in (process / "environ").read_bytes():
                found.append((int(pid), (process / "cmdline").read_bytes().replace(b"\0", b" ")))
        except OSError:
            continue
    return [f for f in found if f[0] != os.getpid()]


def none_left(mark):
    until = time.monotonic() + PATIENCE  # until a killed process is gone
    while marked(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert marked(mark) == []


@pytest.fixture
def good(work):
    script = work / "good.py"
    script.write_text(GOOD)
    return f"good=exec {sys.executable} {script} {work}/beats"


def job(work, status=0):
    """Ends once the good collector has printed some readings."""
    return f"while [ $(wc -c <{work}/beats 2>/dev/null || echo 0) -lt {READINGS} ]; do sleep 0.05; done; exit {status}"


def record(baro, tape, command, *collect, options=()):
    named = [word for text in collect for word in ("--collect", text)]
    return subprocess.run(
        [baro, "run", "-o", str(tape), *options, *named, "--", "sh", "-c", command], capture_output=True, text=True,
        timeout=120
    )


def rows(baro, tape, kind):
    run = subprocess.run([baro, "export", str(tape), "--entity", kind], capture_output=True, text=True)
    if run.returncode:  # never a reading
        return []
    return list(csv.DictReader(io.StringIO(run.stdout)))


def names(baro, tape):
    """Returns the names, without processes whose name is not known: perf does not report the name of a process that
    ended before it was attached."""
    return {row["name"] for kind in ("process", "exit") for row in rows(baro, tape, kind)} - {""}


def test_kind_not_in_the_registry(baro, tape, work, good, mark):
    run = record(baro, tape, job(work, 7), good)
    assert run.returncode == 7
    assert "collector" not in run.stderr
    found = rows(baro, tape, "good")
    heart = [int(float(r["beats"])) for r in found if r["name"] == "part=heart"]
    assert heart and heart == sorted(set(heart)), "each reading once, in order"
    left = [r for r in found if r["name"] == "side=left,valve=2"]
    assert {int(r["flow_bytes"]) for r in left} == {4096 * n for n in heart}
    assert {r["open"] for r in left} == {"1"} and {r["beats"] for r in left} == {""}
    pid = next(r["pid"] for r in rows(baro, tape, "process"))
    owned = [r for r in found if r["name"] == f"pid={pid}"]
    assert len(owned) == len(heart) and {r["share_ratio"] for r in owned} == {"0.5"}
    listed = subprocess.run([baro, "metrics", str(tape)], capture_output=True, text=True).stdout
    line = next(text.split() for text in listed.splitlines() if text.startswith("good") and " beats " in text)
    assert line[:3] == ["good", "beats", "counter"] and line[3:] == ["Readings", "so", "far."]
    assert not {"python3", "good.py"} & names(baro, tape), "it is no process of the job"
    none_left(mark)


@pytest.mark.parametrize("what", BAD)
def test_faulty_collector_loses_its_own_rows_only(baro, tape, work, good, mark, what):
    run = record(baro, tape, job(work, 7), f"bad={BAD[what]}", good)
    assert run.returncode == 7
    beats = [int(float(r["beats"])) for r in rows(baro, tape, "good") if r["name"] == "part=heart"]
    assert beats and beats == sorted(set(beats))
    assert rows(baro, tape, "job") and rows(baro, tape, "process")
    assert names(baro, tape) <= {"sh", "wc", "sleep", "dash", "bash"}, "no process of a collector is the job's"
    none_left(mark)
    warnings = [r["text"] for r in rows(baro, tape, "event") if r["event"] == "warning"]
    if what == "dies_at_once":
        assert "collector bad ended with status 3; last words: no device" in warnings
        assert "collector bad: ended with status 3" in run.stderr and "last words: no device" in run.stderr
    elif what == "killed":
        assert "collector bad was ended by signal 9" in warnings
    elif what == "garbage":
        assert any("is not OpenMetrics text" in text for text in warnings)
    elif what == "many_rows":
        assert any("rows, columns or values of readings that are too large" in text for text in warnings)
    elif what == "many_columns":
        text = next(text for text in warnings if "collector bad left out:" in text)
        assert "72 columns beyond the 128 that a kind has, the first is column_128" in text
        assert "72 columns" in run.stderr
        assert len(rows(baro, tape, "bad")[0]) == 128 + 5  # and time, t_ns, name, label, attributes
    elif what == "leaves_children":
        assert {r["a"] for r in rows(baro, tape, "bad")} == {"1"}


@pytest.mark.parametrize("whom", ["baro-recorder", "baro-collect", "sh"])
def test_sigkill(baro, tape, work, good, mark, whom):
    """SIGKILL of the recorder, of the process that runs the collector, and of the collector: no process of it stays,
    and the job goes on."""
    command = "while [ ! -e %s/go ]; do sleep 0.05; done; exit 9" % work
    collect = f"tree=echo 'a 1'; echo '# EOF'; touch {work}/there; sleep 1000 & setsid sleep 1001; :"
    run = subprocess.Popen([baro, "run", "-o", str(tape), "--collect", collect, "--", "sh", "-c", command],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (work / "there").exists():
        assert run.poll() is None
        time.sleep(0.02)
    for pid, line in marked(mark):
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            if name == whom and (whom != "sh" or (b"touch" in line and b"baro" not in line.split()[0])):
                os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended in the meantime
    (work / "go").touch()
    assert run.wait(60) == 9
    none_left(mark)


def test_collector_stopped_and_killed_while_it_prints(baro, tape, work, good, mark):
    """The collector itself is stopped, continued and killed from outside; it is started again."""
    command = f"while [ ! -e {work}/go ]; do sleep 0.05; done"
    run = subprocess.Popen([baro, "run", "-q", "-o", str(tape), "--collect", good, "--", "sh", "-c", command])
    beats = work / "beats"

    def wait(more):
        until = len(beats.read_text()) + more if beats.exists() else more
        while not beats.exists() or len(beats.read_text()) < until:
            assert run.poll() is None
            time.sleep(0.02)

    def pid():
        return next(p for p, line in marked(mark) if line.startswith(sys.executable.encode()) and b"good.py" in line)

    wait(3)
    os.kill(pid(), signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(pid(), signal.SIGCONT)
    wait(3)
    os.kill(pid(), signal.SIGKILL)
    wait(3)  # it was started again
    (work / "go").touch()
    assert run.wait(60) == 0
    warnings = [r["text"] for r in rows(baro, tape, "event") if r["event"] == "warning"]
    assert "collector good was ended by signal 9" in warnings
    none_left(mark)


# Faulty collectors during which the recorder must go on; the program gets the name of a file that it creates once it
# has begun.
PACE = {
    "stopped": "touch {there}; kill -STOP $$",
    "floods": "touch {there}; yes",
    "floods_rows": """touch {there}; yes 'x{{name="a"}} 1
x{{name="b"}} 2
# EOF'""",
    "no_end": "touch {there}; yes 'x{{a=\"' | tr -d '\\n'",
    "dies_again_and_again": "touch {there}; kill -KILL $$",
    "long_lines": """touch {there}; while :; do printf 'x{{name="%01000000d"}} 1\\n' 0; done""",
}


@pytest.mark.parametrize("what", PACE)
def test_samples_go_on_beside_a_faulty_collector(baro, tape, work, mark, what):
    """The tape gets sample after sample meanwhile: the job ends only when it has seen 20."""
    collect = "bad=" + PACE[what].format(there=work / "there")
    command = f"while [ ! -e {work}/go ]; do sleep 0.05; done"
    run = subprocess.Popen([baro, "run", "-q", "-i", "50ms", "--overhead", "off", "-o", str(tape), "--collect", collect,
                            "--", "sh", "-c", command], stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while not (work / "there").exists() and time.monotonic() < until:
        time.sleep(0.02)
    before = len(rows(baro, tape, "job"))
    while len(rows(baro, tape, "job")) < before + 20:
        assert run.poll() is None and time.monotonic() < until, "the recorder waits for its collector"
        time.sleep(0.05)
    (work / "go").touch()
    assert run.wait(60) == 0
    none_left(mark)


def test_started_again_after_each_reading(baro, tape, work, mark):
    command = f"while [ $(wc -l <{work}/starts 2>/dev/null || echo 0) -lt 4 ]; do sleep 0.05; done"
    collect = f"""once=echo start >>{work}/starts; echo '# TYPE n_total counter'
        echo "n_total{{a=\\"b c\\"}} $(wc -l <{work}/starts)" """
    run = record(baro, tape, command, collect, options=["-i", "100ms"])
    assert run.returncode == 0 and "collector" not in run.stderr
    counts = [float(r["n_total"]) for r in rows(baro, tape, "once")]
    assert counts and counts == sorted(counts)
    assert {r["name"] for r in rows(baro, tape, "once")} == {'a="b c"'}
    none_left(mark)


def test_record(baro, tape, work, good, mark):
    target = subprocess.Popen(["sh", "-c", job(work)])
    argv = [baro, "record", "-q", "--pid", str(target.pid), "-o", str(tape), "--collect", good]
    run = subprocess.run(argv, timeout=120)
    target.wait()
    assert run.returncode == 0
    assert rows(baro, tape, "good")
    none_left(mark)


@pytest.mark.parametrize(
    "text",
    ["", "x", "=true", "X=true", "1x=true", "a-b=true", "x=", "x= ", "process=true", "host=true", "event=true",
     "a" * 64 + "=true"],
)
def test_refused(baro, tape, text):
    run = record(baro, tape, "exit 0", text)
    assert run.returncode == 125 and "--collect" in run.stderr and run.stderr.count("\n") == 1
    assert not tape.exists()


def test_twice(baro, tape):
    run = record(baro, tape, "exit 0", "x=true", "x=true")
    assert run.returncode == 125 and "x is the name of another kind" in run.stderr


def test_show_has_the_values_at_that_moment(baro, work, tape, good):
    """One line for each row at the end of the head, and the same rows as JSON."""
    assert record(baro, tape, job(work), good).returncode == 0
    shown = subprocess.run([baro, "show", str(tape)], capture_output=True, text=True, check=True).stdout
    lines = [line for line in shown.splitlines() if line.startswith("good")]
    assert len(lines) == 3, shown
    moment = json.loads(subprocess.run([baro, "show", "--json", str(tape)], capture_output=True, check=True).stdout)
    by_name = {row["name"]: row for row in moment["entities"]["good"]}
    beats = by_name["part=heart"]["beats"]
    assert any(
        line.startswith(f"good part=heart: beats {beats}, ") and "rest_seconds 0.25" in line for line in lines
    ), lines
    assert by_name["part=heart"]["label"] == ""
    assert any("valve=2: flow_bytes " in line and "kB" in line for line in lines), lines
