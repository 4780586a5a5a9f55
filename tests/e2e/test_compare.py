# SPDX-License-Identifier: Apache-2.0
"""`baro compare`: commands are run in turn, and compared."""

import json
import re
import signal
import statistics
import subprocess

from jobs import PYTHON


def burn(seconds):
    return f"{PYTHON} -S -c 'import time\nwhile time.process_time() < {seconds}: pass'"


def test_two_commands(run, work):
    done = run("compare", "-n", "5", "--keep", work / "tapes", "--export-json", work / "h.json", burn(0.05), burn(0.2),
               status=0)
    assert re.search(r"^ +cpu +[\d.]+ ms \([\d.]+ ms to [\d.]+ ms\) +[\d.]+×, changed", done.stdout, re.M), done.stdout
    assert "median of 5 (range)" in done.stdout and done.stderr == ""
    assert sorted(p.name for p in (work / "tapes").iterdir()) == [f"{c}-00{i}.baro" for c in "ab" for i in range(1, 6)]
    of_diff = run("diff", "--before", f"{work}/tapes/a-*", "--after", f"{work}/tapes/b-*", status=0).stdout
    for label in ("wall", "cpu", "processes"):  # of the same tapes it says the same
        answer = re.search(rf"^[b ] +{label} .* [\d.]+×, (.*)$", done.stdout, re.M)[1]
        assert re.search(rf"^{label} .*  {answer}$", of_diff, re.M), (done.stdout, of_diff)
    results = json.loads((work / "h.json").read_text())["results"]
    assert [r["command"].replace("\\x0a", "\n") for r in results] == [burn(0.05), burn(0.2)]
    for r in results:
        assert len(r["times"]) == 5 and min(r["times"]) == r["min"] <= r["median"] <= r["max"] == max(r["times"])
        assert abs(statistics.mean(r["times"]) - r["mean"]) < 1e-9 and r["exit_codes"] == [0] * 5
        assert abs(statistics.stdev(r["times"]) - r["stddev"]) < 1e-9, "as hyperfine: of a sample"
        assert r["median"] == statistics.median(r["times"])
        assert r["user"] + r["system"] > 0.04 and min(r["memory_usage_byte"]) > 2 << 20
    assert results[1]["user"] + results[1]["system"] > 0.15


def test_turns_go_forth_and_back(run, work):
    run("compare", "-n", "3", "-w", "1", "-p", f"printf p >>{work}/log", f"printf a >>{work}/log",
        f"printf b >>{work}/log", status=0)
    assert (work / "log").read_text() == "papb" + "papb" + "pbpa" + "papb"


def test_a_name_may_have_an_equals_sign(run, work):
    """It was a rule of tasks once."""
    run("run", "-q", "--name", "A=1 true", "-o", work / "t.baro", "--", "true", status=0)
    assert "A=1 true" in run("summary", work / "t.baro", status=0).stdout


def test_values_of_a_parameter(run, work):
    done = run("compare", "-n", "1", "-L", "n 1,2", "--keep", work / "t", f"echo x{{n}} >>{work}/log", status=0)
    assert (work / "log").read_text() == "x1\nx2\n" and "echo x2" in done.stdout
    assert "-L 'NAME a,b,c'" in run("compare", "-L", "n", "true", status=2).stderr


def test_a_command_that_fails(run, work, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(work))
    done = run("compare", "-n", "3", f"echo x >>{work}/log; exit 3", status=1)
    tape = re.search(r"run 1 of .* failed; its tape is (\S+\.baro) ", done.stderr)[1]
    assert (work / "log").read_text() == "x\n" and run.summary(tape)["exit"]["status"] == 3
    done = run("compare", "-n", "3", "-i", f"echo x >>{work}/log; exit 3", status=0)
    assert (work / "log").read_text() == "x\n" * 4 and "median of 3" in done.stdout and "3 of 3 runs of" in done.stderr
    assert len([p for p in work.iterdir() if p.name.startswith("baro-compare-")]) == 1, "of the set that failed"
    assert "--prepare failed: exit 1" in run("compare", "-p", "exit 1", "true", status=2).stderr


def test_interrupted(run, work, wait_until):
    """What was measured before counts."""
    p = run.popen("compare", "-n", "100", f"echo x >>{work}/log; sleep 0.05", stdout=-1, stderr=-1, text=True)
    wait_until(lambda: (work / "log").exists() and (work / "log").read_text().count("x") >= 5, "five runs")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    n = int(re.search(r"interrupted: the figures are of (\d+) runs, of 100 that were asked for", err)[1])
    assert p.returncode == 130 and n >= 4 and f"median of {n} (range)" in out


def test_a_file_that_cannot_be_written_ends_it_before_the_runs(run, work):
    for path in (work, work / "none" / "h.json"):
        done = run("compare", "-n", "1", "--export-json", path, f"touch {work}/ran", status=2)
        assert str(path) in done.stderr and done.stderr.count("\n") == 1 and not (work / "ran").exists()


def test_outliers_are_named_and_not_dropped(run, work):
    """One of eight runs sleeps: it has a line, and the range has it."""
    job = f"echo x >>{work}/log; [ $(wc -l <{work}/log) = 5 ] && sleep 3; true"
    done = run("compare", "-n", "8", "--export-json", work / "h.json", job, status=0)
    assert re.search(r"^run 5 took 3\.\d+ s, the others [\d.]+ \S+ to [\d.]+ \S+: ", done.stdout, re.M), done.stdout
    assert max(json.loads((work / "h.json").read_text())["results"][0]["times"]) >= 3


def test_bars_fit_a_terminal(run, work):
    """A bar for each command, in a terminal alone."""
    shell = f"stty cols 80 rows 24; {run.binary} compare -n 6 'sleep 0.01' 'sleep 0.1'"
    done = subprocess.run(["script", "-qc", shell, "/dev/null"], capture_output=True, text=True, check=True)
    bars = re.findall(r"^[ab]  [█▒┃─#=|-]+ *[\d.]+ \w+ \(.*\)$", done.stdout.replace("\r", ""), re.M)
    assert "┃ the median" in done.stdout and all(b.count("┃") == 1 for b in bars)
    assert len(bars) == 2 and max(map(len, bars)) <= 80, done.stdout
    assert "▒" not in run("compare", "-n", "1", "true", "true", status=0).stdout


def test_run_several_times(run, work):
    """`baro run -n`: the command without a shell, its output shown, the tapes kept with -o."""
    done = run("run", "-n", "3", "-w", "1", "-p", f"printf p >>{work}/log", "-o", work / "set", "--", "sh", "-c",
               'printf a >>"$1"; echo said', "x", f"{work}/log", status=0)
    assert (work / "log").read_text() == "pa" * 4 and done.stdout.count("said\n") == 4
    assert "median of 3 (range)" in done.stdout and len(list((work / "set").iterdir())) == 3
    assert "--tag and --runs: one of them" in run("run", "-n", "2", "--tag", "a=b", "--", "true", status=125).stderr
    assert "--warmup is for --runs" in run("run", "-w", "2", "--", "true", status=125).stderr
    assert run("run", "-n", "2", "--", "false", status=1).stderr.count("failed; its tape is") == 1


def test_without_a_shell(run, work):
    run("compare", "-n", "2", "-x", "--", "touch", work / "a b;c", status=0)
    assert (work / "a b;c").exists()
    assert "one of them" in run("compare", "-x", "-L", "n 1,2", "true", status=2).stderr
