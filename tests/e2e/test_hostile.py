# SPDX-License-Identifier: Apache-2.0
"""Tapes made to do harm: readers end, after little CPU time, whatever the tape contains."""

import json
import resource
import struct
import subprocess

import pytest

from conftest import SANITIZED, SOURCE
from tapefile import BLOCK, HEAD, Tape, with_field

CPU = 40 if SANITIZED else 10  # seconds of CPU time; the bugs that these tests found took more than twice as much
ENTITIES = ["process", "job", "exit", "event", "host", "cpu", "disk", "fs", "net", "sensor", "cgroup", "recorder"]


def call(baro, *argv):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))

    return subprocess.run([baro, *map(str, argv)], preexec_fn=limit, capture_output=True, timeout=300)


def survives(baro, *argv):
    done = call(baro, *argv)
    assert done.returncode in (0, 1, 2), (argv, done.returncode, done.stderr)
    return done


@pytest.fixture(scope="module")
def small():
    return Tape((SOURCE / "tests" / "tape" / "v1-machine.baro").read_bytes())


@pytest.mark.parametrize("field", [10, 11, 13, 14, 15, 16, 26, 28, 30, 33])
@pytest.mark.parametrize("number", [0, 1 << 31, (1 << 64) - 1])
def test_header_numbers_are_not_divided_by(baro, work, small, field, number):
    """clk_tck above 10^9 ended `export -d` by SIGFPE."""
    frames = [list(f) for f in small.frames]
    frames[0][2] = with_field(frames[0][2], field, number)
    path = work / "t.baro"
    path.write_bytes(small.preamble + b"".join(small.frame(*f) for f in frames))
    survives(baro, "summary", path)
    survives(baro, "summary", "--json", path)
    survives(baro, "show", path)
    for dialect in ("pidtracker", "spare-cores"):
        survives(baro, "export", "-d", dialect, path)


def empty_blocks(small, n):
    blocks = b"".join(small.frame(BLOCK, 0, struct.pack("<Q", t) + b"\0\0\0") for t in range(n))
    return small.front() + blocks


def claims(small, n):
    """Valid frames, and between each two of them a frame header that claims to be as long as all the rest."""
    good = small.frame(77, 0, b"")
    bad = small.frame(78, 0, b"")[:6]
    total = n * (len(good) + HEAD)
    return small.front() + b"".join(good + bad + struct.pack("<II", total - i * (len(good) + HEAD) - 100, 0)
                                    for i in range(n - 8))


def sparse(small):
    """Some frames, followed by a sparse file that has a few bytes here and there."""
    def write(path):
        with path.open("wb") as f:
            f.write(bytes(small))
            for at in range(1 << 32, 200 << 30, 1 << 32):
                f.seek(at)
                f.write(b"\xb2\xe5")
            f.truncate(200 << 30)

    return write


def test_tapes_that_cost_little(baro, work, small, monkeypatch):
    """Blocks without a sample, each of which was once read to the end of the tape, false lengths of frames, and holes.
    And with all of them among the kept runs the valid one is listed as usual."""
    runs = work / "runs"
    runs.mkdir(mode=0o700)
    monkeypatch.setenv("BARO_DIR", str(runs))
    made = {"good": bytes(small), "blocks": empty_blocks(small, 20000), "claims": claims(small, 150000), "sparse": sparse(small)}
    for i, (name, content) in enumerate(made.items()):
        path = runs / f"20260101T00000{i}.000000Z-{name}-1.baro"
        try:
            content(path) if callable(content) else path.write_bytes(content)
        except OSError as e:
            pytest.skip(f"can not make such a file here: {e}")
        for argv in (["summary"], ["show"], ["show", "--at", "50%"], ["export"]):
            survives(baro, *argv, path)
    (runs / "20260101T000001.000000Z-blocks-1.baro").write_bytes(empty_blocks(small, 200000))
    done = survives(baro, "ls", "--json")
    rows = {r["name"].split("-")[1]: r for r in json.loads(done.stdout)}
    assert done.returncode == 0 and set(rows) == set(made)
    assert rows["good"]["error"] is None and rows["good"]["complete"] and rows["good"]["wall_ns"] > 0


def test_ls_reads_the_end_of_a_long_tape(baro, work, monkeypatch):
    """The end is the same whether it is found by the index or, in a truncated tape, by searching backwards."""
    runs = work / "runs"
    runs.mkdir(mode=0o700)
    monkeypatch.setenv("BARO_DIR", str(runs))
    subprocess.run([baro, "run", "-q", "-i", "10ms", "--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.1; done"],
                   check=True, timeout=60)
    whole = next(runs.iterdir())
    data = Tape(whole.read_bytes())
    cut = runs / whole.name.replace("-sh-", "-cut-")
    cut.write_bytes(data.preamble + b"".join(data.frame(*f) for f in data.frames[:-1]))
    rows = {r["name"].split("-")[1]: r for r in json.loads(survives(baro, "ls", "--json").stdout)}
    assert rows["sh"]["wall_ns"] == rows["cut"]["wall_ns"] > 0
    assert rows["sh"]["complete"] and not rows["cut"]["complete"]
