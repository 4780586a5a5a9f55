# SPDX-License-Identifier: Apache-2.0
"""baro summary --by step: jobs whose steps and chain are known by construction. tests/unit/test_steps.c has lives typed
by hand, with their values."""

import json
import shutil
import subprocess
import sys

import pytest


def steps(run, tape):
    got = json.loads(run("summary", "--by", "step", "--json", tape, status=0).stdout)
    check(got)
    return got


def check(got):
    """What is true of each tape: shares add up to the wall time, links follow each other from the start to the end."""
    n = len(got["steps"])
    shares = [s["responsible_ns"] for s in got["steps"]]
    assert abs(sum(shares) - got["wall_ns"]) <= n and shares == sorted(shares, reverse=True)
    assert got["wall_ns"] == got["end_ns"] - got["begin_ns"]
    at = got["begin_ns"]
    for link in got["chain"]:
        assert link["begin_ns"] == at and link["end_ns"] > at
        assert link["step"] is None or link["step"] < n
        at = link["end_ns"]
    assert at == got["end_ns"]
    for s in got["steps"]:
        assert s["driver"] is None or got["steps"][s["driver"]]["is_driver"]
        assert not s["is_idle"] or s["responsible_ns"] == 0


def words(step):
    return step["cmdline"] or step["name"]


def chain(got):
    """The steps of the chain that are no drivers, in order."""
    at = [got["steps"][link["step"]] for link in got["chain"] if link["step"] is not None]
    return [words(s) for s in at if not s["is_driver"] and s["pid"]]


def named(got, part):
    found = [s for s in got["steps"] if part in words(s) and not s["is_driver"]]
    assert len(found) == 1, (part, [words(s) for s in got["steps"]])
    return found[0]


BURN = "timeout {0} sh -c 'while :; do :; done'"


def test_one_after_the_other(run_both, tape):
    run_both.record(tape, ["sh", "-c", f"sleep 0.7; {BURN.format(0.4)}; sleep 0.6; exit 3"], status=3)
    got = steps(run_both, tape)
    assert [c.split()[0] for c in chain(got)] == ["sleep", "sh", "sleep"]
    links = [link for link in got["chain"] if not got["steps"][link["step"]]["is_driver"]]
    assert [link["after"] for link in links] == [None, "next", "next"]
    assert all(link["saving_most_ns"] == 0 for link in links)  # a script runs one at a time
    for part in "sleep 0.7", "while", "sleep 0.6":
        s = named(got, part)
        assert s["alone_ns"] == s["responsible_ns"] > 0 and s["has_ended"]
    assert named(got, "while")["processes"] == 2  # timeout waits for it
    assert named(got, "while")["cpu_ns"] > named(got, "sleep 0.7")["cpu_ns"]


def test_one_long_tail(run_both, tape):
    run_both.record(tape, ["sh", "-c", "sleep 2 & sleep 0.2 & sleep 0.4 & wait; exit 3"], status=3)
    got = steps(run_both, tape)
    assert chain(got) == ["sleep 2"]
    assert words(got["steps"][0]) == "sleep 2"
    assert named(got, "sleep 0.2")["responsible_ns"] < named(got, "sleep 0.4")["responsible_ns"]
    assert all(link["saving_most_ns"] == 0 for link in got["chain"])  # never for a sleep


def test_a_server_has_no_share(run, tape):
    run.record(tape, ["sh", "-c", f"sleep 100 & {BURN.format(0.5)}; {BURN.format(0.3)}; kill $!; exit 3"], status=3)
    got = steps(run, tape)
    assert named(got, "sleep 100")["is_idle"]
    assert [c.split()[0] for c in chain(got)] == ["sh", "sh"]
    assert "1 step idled" in run("summary", "--by", "step", tape, status=0).stdout


@pytest.fixture
def project(work):
    """A make with a make below it. Each object takes a while; big.o is begun last, and takes longest."""
    (work / "sub").mkdir()
    (work / "Makefile").write_text(
        "all: a b sub big\n\tsleep 0.3 # link\n"
        "a b:\n\tsleep 0.$(words 1 2 3) # $@\n"
        "sub:\n\t$(MAKE) -C sub\n"
        f"big:\n\t{BURN.format(1.5)}; true big\n"
        ".PHONY: all a b sub big\n")
    (work / "sub" / "Makefile").write_text("all: c d\nc d:\n\tsleep 0.2; true $@\n")
    return work


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
def test_make(run_both, tape, project):
    run_both.record(tape, ["make", "-C", str(project), "-j2"])
    got = steps(run_both, tape)
    drivers = [s for s in got["steps"] if s["is_driver"] and s["pid"]]
    assert [s["name"] for s in drivers].count("make") == 2
    big = next(s for s in got["steps"] if "true big" in words(s) or "while" in words(s))
    assert big["cpu_ns"] > 0 and big["responsible_ns"] > got["wall_ns"] // 3
    assert "link" in chain(got)[-1] or chain(got)[-1].startswith("sleep 0.3")
    links = [link for link in got["chain"] if got["steps"][link["step"]] is big]
    assert links and 0 <= max(link["saving_most_ns"] for link in links) <= big["alone_ns"]
    text = run_both("summary", "--by", "step", tape, status=0).stdout
    assert "starting it first saves up to" in text and "chain of last finishers" in text


@pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("make"), reason="no compiler")
def test_a_compile_is_one_step(run, tape, work):
    for name in "abcd":
        (work / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
    (work / "Makefile").write_text("all: a.o b.o c.o d.o\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n")
    run.record(tape, ["make", "-C", str(work), "-j2"])
    got = steps(run, tape)
    compiles = [s for s in got["steps"] if s["name"] == "gcc"]
    assert len(compiles) == 4 and sorted(s["occurrence"] for s in compiles) == [1, 2, 3, 4]
    assert sum(s["processes"] for s in compiles) >= 8  # each with its cc1, and as
    assert {got["steps"][s["driver"]]["name"] for s in compiles} == {"make"}


def c_files(work, n=4):
    (work / "src").mkdir()
    for i in range(n):
        functions = "\n".join(f"int f{i}_{k}(int a) {{ return a * {k} + f{i}_{k - 1}(a); }}" for k in range(1, 400))
        (work / "src" / f"u{i}.c").write_text(f"int f{i}_0(int a) {{ return a; }}\n{functions}\n")
    (work / "src" / "main.c").write_text("int main(void) { return 0; }\n")


def compiled(got):
    return sorted(words(s).rsplit("/", 1)[-1] for s in got["steps"] if s["cmdline"] and ".c" in s["cmdline"]
                  and not s["is_driver"])


@pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("make"), reason="no compiler")
def test_a_recipe_of_several_commands_is_named_by_its_compiler(run, tape, work):
    c_files(work)
    (work / "Makefile").write_text("all: $(patsubst src/%.c,obj/%.o,$(wildcard src/u*.c))\n"
                                   "obj/%.o: src/%.c\n\t@mkdir -p obj; gcc -O2 -c -o $@ $<\n")
    run.record(tape, ["make", "-C", str(work), "-j2"])
    got = steps(run, tape)
    assert compiled(got) == [f"u{i}.c" for i in range(4)], [words(s) for s in got["steps"]]
    assert {s["name"] for s in got["steps"] if s["cmdline"] and "u1.c" in s["cmdline"]} == {"gcc"}


@pytest.mark.skipif(not shutil.which("meson") or not shutil.which("ninja") or not shutil.which("gcc"),
                    reason="no meson, ninja or compiler")
def test_ninja(run, tape, work):
    c_files(work)
    (work / "meson.build").write_text("project('p', 'c')\nexecutable('prog', 'src/main.c', "
                                      + ", ".join(f"'src/u{i}.c'" for i in range(4)) + ")\n")
    subprocess.run(["meson", "setup", work / "b", work], check=True, capture_output=True)
    run.record(tape, ["ninja", "-C", str(work / "b"), "-j2"])
    got = steps(run, tape)
    known = {f"u{i}.c" for i in range(4)} & set(compiled(got))  # on a busy machine not the arguments of all are read
    text = run("summary", "--by", "step", tape, status=0).stdout
    assert known and any(s["name"] == "ninja" and s["is_driver"] for s in got["steps"])
    assert ".c.o" not in text  # the source, not what it depends on
    assert all(f" {name}\n" in text for name in known)


def test_pytest(run, tape, work):
    (work / "test_a.py").write_text(
        "import subprocess\n"
        "def test_one(): subprocess.run(['sleep', '0.3'])\n"
        "def test_two(): subprocess.run(['sh', '-c', 'sleep 0.2; sleep 0.1'])\n")
    run.record(tape, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(work / "test_a.py")])
    text = run("summary", "--by", "step", tape, status=0).stdout
    assert " pytest itself" in text and "sleep 0.3" in text
    got = steps(run, tape)
    assert any("pytest" in words(s) for s in got["steps"] if s["is_driver"])
    assert named(got, "sleep 0.2")["processes"] == 3


@pytest.mark.skipif(not shutil.which("snakemake"), reason="no snakemake")
def test_snakemake_as_documented(run, tape, work):
    """docs/workflows.md: steps, and rules as phases."""
    (work / "Snakefile").write_text(
        'rule all:\n    input: "a.sorted"\n'
        'rule numbers:\n    output: "{s}.txt"\n'
        f'    shell: "{run.binary} phase {{rule}} sample={{wildcards.s}} -- seq 1 300000 > {{output}}"\n'
        'rule order:\n    input: "{s}.txt"\n    output: "{s}.sorted"\n'
        f"    shell: r\"{run.binary} phase {{rule}} -- bash -euo pipefail -c 'sort -R {{input}} | uniq > {{output}}'\"\n")
    run.record(tape, ["snakemake", "-q", "-c2", "-d", str(work), "-s", str(work / "Snakefile")])
    text = run("summary", "--by", "step", tape, status=0).stdout
    assert "snakemake itself" in text
    text = run("summary", "--by", "phase", tape, status=0).stdout
    assert "numbers sample=a" in text and "order" in text


def test_by_scanning_alone(run, tape):
    """No event reports ends: which of two was last is not known where one scan found both gone."""
    run.record(tape, ["sh", "-c", "sleep 0.5 & sleep 0.5 & wait; sleep 0.4; exit 3"], status=3,
               env={"BARO_NO_EVENTS": "1"})
    got = steps(run, tape)
    assert {s["name"] for s in got["steps"] if s["pid"]} == {"sh", "sleep"}


def test_a_single_command(run_both, tape):
    run_both.record(tape, ["sleep", "0.1"])
    got = steps(run_both, tape)
    assert [words(s) for s in got["steps"] if s["pid"]] == ["sleep 0.1"]
    assert chain(got) == ["sleep 0.1"]


def test_widths_and_hostile_names(run, tape, work):
    evil = work / "a\x1b[31m\nb"
    evil.write_text("#!/bin/sh\nsleep 0.1\n")
    evil.chmod(0o755)
    run.record(tape, ["sh", "-c", '"$1"; sleep 0.1; exit 3', "sh", str(evil)], status=3)
    steps(run, tape)
    for options in [], ["-v"]:
        out = run("summary", "--by", "step", *options, tape, status=0).stdout
        assert "\x1b" not in out and "sleep 0.1" in out


def test_the_page_has_them(run, tape, work):
    run.record(tape, ["sh", "-c", f"sleep 0.3; {BURN.format(0.4)}; exit 3"], status=3)
    run("report", "-o", work / "page.html", tape, status=0)
    html = (work / "page.html").read_text()
    assert 'data-table="steps"' in html and "chain of last finishers" in html and "sleep 0.3" in html
    run.record(tape.with_name("one.baro"), ["true"])
    run("report", "-o", work / "one.html", tape.with_name("one.baro"), status=0)
    assert 'data-table="steps"' not in (work / "one.html").read_text()


def test_several_tapes_and_wrong_words(run, tape):
    run.record(tape, ["true"])
    other = run.record(tape.with_name("other.baro"), ["true"])
    assert "--by is for one tape" in run("summary", "--by", "step", tape, other, status=2).stderr
    assert "step" in run("summary", "--by", "steps", tape, status=2).stderr


def test_rows_of_every_format_are_those_of_the_summary(run, tape):
    """baro export -e step: the same steps in the same order; tests/e2e/test_formats.py compares the formats."""
    run("run", "-q", "-o", tape, "--", "sh", "-c", "sleep 0.1; sort /etc/passwd >/dev/null; sh -c 'kill -9 $$'; true", status=0)
    got, rows = steps(run, tape), run.export(tape, "step", "--columns",
                                             "t_ns,end_ns,pid,start_ticks,name,occurrence,driver_pid,driver_start_ticks,is_driver,"
                                             "is_idle,is_open,cmdline,status,signal,responsible_ns,cpu_ns,phase,lower_bounds")
    assert len(rows) == len(got["steps"]) > 3
    for row, step in zip(rows, got["steps"]):
        driver = got["steps"][step["driver"]] if step["driver"] is not None else {"pid": None, "start_ticks": None}
        assert (row["t_ns"], row["end_ns"], row["is_open"]) == (step["begin_ns"], step["end_ns"], not step["has_ended"])
        assert (row["driver_pid"], row["driver_start_ticks"]) == (driver["pid"] or None, driver["start_ticks"] or None)
        assert row["signal"] == {"SIGKILL": 9, None: None}[step["signal"]] and row["phase"] is None
        assert row["lower_bounds"].split() == [name for name, mark in step["marks"].items() if mark == "lower_bound"]
        for name in "name", "occurrence", "is_driver", "is_idle", "cmdline", "status", "responsible_ns", "cpu_ns":
            assert row[name] == step[name], name
        assert (row["pid"], row["start_ticks"]) == (step["pid"] or None, step["start_ticks"] or None)
    assert "step" in run("export", "--list", status=0).stdout
    assert "exclude each other" in run("export", "-f", "-e", "step", tape, status=2).stderr
