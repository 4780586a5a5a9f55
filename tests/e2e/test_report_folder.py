# SPDX-License-Identifier: Apache-2.0
"""baro report -o DIR/ writes Markdown with a picture for each figure, completely or not at all."""

import re
import struct
import subprocess

import pytest

from readers import HOSTILE_NAME, call, good, one_line, tape  # noqa: F401

SIX = ("aggregate_uss", "rss_vs_uss", "total_footprint", "aggregate_cpu", "cpu_time", "instance_count")


def size_of(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def test_pictures_and_page(baro, work, tape):
    folder = work / "d"
    assert good(baro, "report", tape, "-o", f"{folder}/") == b""
    page = (folder / "report.md").read_text()
    files = {p.name for p in folder.iterdir()}
    assert files == {"report.md", *re.findall(r"\]\(([a-z_]+\.(?:png|svg))\)", page)}
    ending = "png" if "cpu.png" in files else "svg"
    assert {f"{name}.{ending}" for name in (*SIX, "cpu", "memory", "processes")} <= files
    if ending == "png":  # 12 x 5 inches at 150 dots each, as matplotlib made them; the last one 12 x 4
        for name in files - {"report.md"}:
            assert size_of(folder / name) == ((1800, 600) if name == "instance_count.png" else (1800, 750)), name
    assert HOSTILE_NAME not in page.encode() and "\x1b" not in page and "\\x1b[31m" in page
    # No temporary folder is left.
    assert [p.name for p in work.iterdir() if p.name.endswith(".part")] == []


def test_complete_or_not_at_all(baro, work, tape):
    folder = work / "d"
    folder.mkdir()
    good(baro, "report", tape, "-o", folder)  # an empty one is filled
    assert (folder / "report.md").exists()
    before = {p.name: p.stat().st_ino for p in folder.iterdir()}
    one_line(call(baro, "report", tape, "-o", f"{folder}/"), 2, "not empty", "--force")
    assert {p.name: p.stat().st_ino for p in folder.iterdir()} == before
    (folder / "mine.txt").write_text("mine")
    good(baro, "report", tape, "-o", f"{folder}/", "--force")
    after = {p.name: p.stat().st_ino for p in folder.iterdir()}
    assert after.pop("mine.txt") and set(after) == set(before) and after != before
    (work / "file").write_text("x")
    one_line(call(baro, "report", tape, "-o", f"{work}/file/"), 2, "not a folder")
    one_line(call(baro, "report", tape, "-o", f"{work}/no/such/"), 2, "can't write")
    assert not (work / "no").exists() and not [p for p in work.iterdir() if p.name.endswith(".part")]


@pytest.mark.parametrize("operand", ["t.baro", "."])
def test_full_disk_leaves_nothing(baro, work, tape, operand):
    """A limit on the size of files simulates the full disk: the larger pictures can't be written, of a tape nor of a
    folder of tapes."""
    r = subprocess.run(
        ["sh", "-c", 'trap "" XFSZ; ulimit -f 16; exec "$@"', "sh", baro, "report", str(work / operand), "-o", f"{work}/d/"],
        capture_output=True,
        timeout=60,
    )
    one_line(r, 2, "can't write", "File too large")
    assert not (work / "d").exists() and not [p for p in work.iterdir() if p.name.endswith(".part")]
