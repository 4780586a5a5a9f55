# SPDX-License-Identifier: Apache-2.0
"""pytest --baro, in a pytest of its own."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import pytest

import barograph

SUITE = """
import subprocess, sys, time
import pytest

def test_empty():
    pass

def test_cpu():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass

@pytest.fixture
def held():
    return bytearray(100_000_000)

@pytest.mark.baro(rss="2GB", cpu="20 s", processes=5)
def test_memory_of_a_fixture(held):
    time.sleep(0.2)

@pytest.mark.baro(processes=2)
def test_too_many():
    for _ in range(4):
        subprocess.run(["true"])

@pytest.mark.baro(rss="1MB")
def test_too_large():
    pass

@pytest.mark.baro(cpu="10ms")
def test_too_long():
    test_cpu()

@pytest.mark.baro(memory=3)
def test_no_such_limit():
    pass

@pytest.mark.baro(rss="1MB")
def test_that_fails_itself():
    assert 1 == 2
"""
BAD = {"test_too_many", "test_too_large", "test_too_long", "test_no_such_limit", "test_that_fails_itself"}


def session(tmp_path, *options, suite=SUITE):
    (tmp_path / "test_suite.py").write_text(suite)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "barograph.pytest_plugin", "-p", "no:cacheprovider",
               "--rootdir", tmp_path]
    env = {**os.environ, "PYTEST_ADDOPTS": ""}
    done = subprocess.run([*command, *options, tmp_path / "test_suite.py"], capture_output=True, text=True, check=False,
                          env=env)
    return done.stdout + done.stderr


def check(tmp_path, out):
    rows = {r["test"].rpartition("::")[2]: r
            for r in map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())}
    assert len(rows) == 8
    assert rows["test_cpu"]["cpu_s"] >= 0.15 and rows["test_empty"]["cpu_s"] < rows["test_cpu"]["cpu_s"]
    assert rows["test_memory_of_a_fixture"]["rss_peak_bytes"] > 100_000_000
    assert rows["test_too_many"]["processes"] == 4 and not rows["test_too_many"]["processes_is_lower_bound"]
    assert "baro: most CPU time, 3 of 8 tests" in out and "baro: most memory" in out
    cases = {c.get("name"): c for c in xml.etree.ElementTree.parse(tmp_path / "j.xml").iter("testcase")}
    assert {n for n, c in cases.items() if c.find("failure") is not None} == BAD
    for case in cases.values():
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        assert float(properties["baro.cpu_s"]) >= 0 and int(properties["baro.rss_peak_bytes"]) > 0
    assert "processes 4 is more than 2" in out and "there is no limit memory" in out
    assert "is more than 1MB" in cases["test_too_large"].find("failure").text
    assert "1 == 2" in cases["test_that_fails_itself"].find("failure").text
    tape = barograph.open(tmp_path / "t.baro")
    assert {p.name.rpartition("::")[2] for p in tape.phases} == set(rows)


LEFT = """
import subprocess, sys, time
import pytest

held = []

def leave(then):
    code = f"import os, time\\nwhile time.process_time() < 0.3: pass\\nos.write(1, b'x'); {then}"
    held.append(subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE))
    held[-1].stdout.read(1)

@pytest.mark.baro(cpu="200ms")
def test_that_leaves_a_busy_one():
    leave("time.sleep(60)")

@pytest.mark.baro(cpu="200ms")
def test_that_leaves_a_dead_one():
    leave("")

@pytest.mark.baro(cpu="100 s")
def test_that_stays_within():
    leave("")

def test_that_leaves_one():
    subprocess.Popen(["sleep", "0.5"])

def test_after_it():
    held[0].kill()
    time.sleep(0.2)

def test_whose_child_has_children():
    # 5 processes, none of which a sample finds. Those that sh starts end before it.
    subprocess.run(["sh", "-c", "/bin/true; /bin/true; /bin/true; /bin/true; :"])
"""


def test_whose_a_process_is(tmp_path):
    """It belongs to the test that started it, also if it outlives the test, or ends before its parent was seen; then
    its CPU time is not known exactly."""
    out = session(tmp_path, "--baro", "--baro-rows", "rows.jsonl", "--baro-interval", "100ms", suite=LEFT)
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    rows = {r["test"].rpartition("::")[2]: r for r in map(json.loads, lines)}
    assert out.count("baro: cpu can't be judged: at least ") == 2 and "2 failed, 4 passed" in out, out
    assert {name: row["processes"] for name, row in rows.items()} == {"test_that_leaves_a_busy_one": 1,
                                                                      "test_that_leaves_a_dead_one": 1,
                                                                      "test_that_stays_within": 1,
                                                                      "test_that_leaves_one": 1, "test_after_it": 0,
                                                                      "test_whose_child_has_children": 5}


OPTIONS = ("--baro", "--baro-tape", "t.baro", "--baro-rows", "rows.jsonl", "--junitxml", "j.xml", "--baro-most", "3")


def test_what_each_test_uses(tmp_path):
    out = session(tmp_path, *OPTIONS)
    assert "5 failed, 3 passed" in out, out
    check(tmp_path, out)


def test_with_xdist(tmp_path):
    pytest.importorskip("xdist")
    out = session(tmp_path, *OPTIONS, "-n", "2")
    assert "5 failed, 3 passed" in out, out
    check(tmp_path, out)


ROUGH = """
import os, resource, time
import pytest

def test_closes_descriptors():
    os.closerange(3, 50)
    for name in ("a", "b", "c", "d", "e", "f"):
        os.open(name, os.O_RDWR | os.O_CREAT)

class Frozen:
    # As pytest-freezer does: until the fixtures of the test end, and wherever the functions were imported to.
    def __init__(self, monkeypatch):
        import barograph._tests
        real = time.monotonic, time.monotonic_ns
        for module in (time, barograph._tests):
            for name in [name for name, value in vars(module).items() if value in real]:
                monkeypatch.setattr(module, name, lambda: 1 << 62)
        monkeypatch.setattr(time, "sleep", self.refuse)
        monkeypatch.setattr(os, "getpid", self.refuse)
        monkeypatch.setattr(resource, "getrusage", self.refuse)

    def refuse(self, *_):
        raise RuntimeError("it was called")

@pytest.mark.baro(rss="1TB", cpu="1 h")
def test_frozen(monkeypatch):
    Frozen(monkeypatch)

@pytest.mark.baro(rss="1TB")
def test_that_breaks_what_measures(monkeypatch):
    import barograph._tests
    monkeypatch.setattr(barograph._tests._Used, "__init__", Frozen.refuse)

def test_environment():
    os.environ.clear()

@pytest.mark.baro(rss="1 parsec")
def test_unit():
    pass

@pytest.mark.baro("200MB")
def test_without_a_name():
    pass

@pytest.mark.baro(rss=float("nan"))
def test_no_number():
    pass

@pytest.mark.baro(rss=b"x", cpu=None)
def test_type():
    pass

@pytest.mark.baro(rss=10**400)
def test_huge():
    pass

def test_no_descriptor_is_left(request):
    import barograph._tests
    os.close(barograph._tests._statm._fd)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    request.config.held = held, before

def test_after_it(request):
    held, before = request.config.held
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    for fd in held:
        os.close(fd)

@pytest.mark.baro(rss="1TB", cpu="1 h")
def test_last():
    pass
"""


def test_tests_that_are_rough(tmp_path):
    """A limit that can't be read fails its test, and none ends the session."""
    strict = ("-s", "-p", "no:faulthandler", "-W", "error", "--baro", "--baro-rows")
    out = session(tmp_path, *strict, "rows.jsonl", suite=ROUGH)
    assert "INTERNALERROR" not in out and "6 failed, 6 passed" in out, out
    for words in ("'1 parsec' is no quantity", "nan is no quantity", "limits have names"):
        assert words in out, words
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 11 and all(row["rss_peak_bytes"] > 1_000_000 for row in rows)
    out = session(tmp_path, "-s", "--baro", "-k", "test_last", "--baro-rows", "/dev/full", suite=ROUGH)
    assert "1 passed" in out and "No space left on device" in out, out


FORKED = """
import json, os, time
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, json.dumps([each._to_json() for each in runtestprotocol(item, log=False)], default=str).encode())
        os._exit(0)
    os.close(w)
    with open(r) as file:
        for each in json.load(file):
            item.ihook.pytest_runtest_logreport(report=pytest.TestReport._from_json(each))
    os.wait()
    return True
"""
TWICE = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        item._initrequest()
        runtestprotocol(item, nextitem=nextitem)
    return True
"""
BURNS = """
import pytest, time

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

burn(0.3)

@pytest.mark.baro(cpu="300ms")
@pytest.mark.parametrize("seconds", [0.2, 0.4])
def test_cpu(seconds):
    burn(seconds)
"""


def test_tests_that_are_forks(tmp_path):
    """As those of pytest-forked are: the counts of a fork begin at 0."""
    (tmp_path / "conftest.py").write_text(FORKED)
    out = session(tmp_path, "--baro", "--baro-rows", "rows.jsonl", suite=BURNS)
    assert "1 failed, 1 passed" in out and "FAILED test_suite.py::test_cpu[0.4]" in out, out
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["cpu_s"] >= least for row, least in zip(rows, (0.2, 0.4))] == [True, True]
    assert all(row["read_bytes"] >= 0 and row["written_bytes"] >= 0 for row in rows)


def test_tests_that_are_run_again(tmp_path):
    """As pytest-rerunfailures does: what is judged is one run."""
    (tmp_path / "conftest.py").write_text(TWICE)
    out = session(tmp_path, "--baro", suite=BURNS)
    assert "2 failed, 2 passed" in out and "FAILED test_suite.py::test_cpu[0.2]" not in out, out


def test_without_the_option_it_does_nothing(tmp_path):
    out = session(tmp_path)
    assert "1 failed, 7 passed" in out and "baro:" not in out, out
    code = "import sys, pytest; before = set(sys.modules); import barograph.pytest_plugin; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["barograph", "barograph.pytest_plugin"]


def test_where_nothing_can_be_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("BAROGRAPH_BARO", "/nonexistent/baro")
    out = session(tmp_path, "--baro")
    assert "RecordingWarning" in out and "baro: most CPU time" in out, out
    assert "6 failed, 2 passed" in out, out
    assert "processes can't be judged: nothing is recorded" in out and "rss can't be judged" in out
    out = session(tmp_path, "--baro", "--baro-unknown=pass")
    assert "4 failed, 4 passed" in out and "judged" not in out, out
