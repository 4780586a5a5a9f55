# SPDX-License-Identifier: Apache-2.0
"""baro plot: SVG, PNG and text show the figures of the summary, whatever the names of processes are."""

import json
import os
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from conftest import SOURCE
from readers import HOSTILE, HOSTILE_NAME, call, good, one_line, unescape

SVG = "{http://www.w3.org/2000/svg}"
JOB = "import time\nx = bytearray(60 << 20)\nt = time.process_time()\nwhile time.process_time() - t < 0.4: pass\n"


@pytest.fixture(scope="module")
def tape(baro, tmp_path_factory):
    """A job of a shell, a Python program, and one with a hostile name."""
    path = tmp_path_factory.mktemp("plot") / "t.baro"
    command = ["sh", "-c", '"$0" -c "$1"; "$0" -c "$2"', sys.executable, JOB, HOSTILE]
    options = ["-q", "-i", "20ms", "--overhead", "off", "--force"]
    env = {**os.environb, b"NAME": HOSTILE_NAME}
    subprocess.run([baro, "run", *options, "-o", str(path), "--", *command], env=env, timeout=60, check=True)
    return path


def svg(baro, tape, what, work, *options):
    path = work / f"{what.replace('.', '-')}.svg"
    good(baro, "plot", tape, what, "-o", path, *options)
    return ET.parse(path).getroot()


def groups(root, attribute):
    """{value of the attribute: element}"""
    return {g.get(attribute): g for g in root.iter(f"{SVG}g") if g.get(attribute) is not None}


def test_numbers_are_those_of_the_summary(baro, tape, work):
    summary = json.loads(good(baro, "summary", "--json", tape))
    memory = svg(baro, tape, "memory", work)
    (peak,) = groups(memory, "data-t-ns").values()
    assert float(peak.get("data-value")) == summary["job"]["rss_peak_bytes"]
    cpu = svg(baro, tape, "cpu", work)
    (peak,) = groups(cpu, "data-t-ns").values()
    assert float(peak.get("data-value")) == summary["job"]["cores_peak"]
    for root, name in ((memory, "memory_bytes"), (cpu, "cores")):
        if summary["limits"][name] is not None:
            (limit,) = groups(root, "data-limit").values()
            assert float(limit.get("data-value")) == summary["limits"][name]
    # The CPU time of the commands at the end is that of the summary. If a process takes another name, the plot has its
    # earlier CPU time under its earlier name, and the summary has all of it under its last name: so their sum is
    # compared.
    so_far = groups(svg(baro, tape, "cpu_time", work), "data-curve")
    total = sum(float(curve.get("data-last")) for curve in so_far.values())
    assert total == pytest.approx(sum(c["cpu_ns"] for c in summary["commands"]) / 1e9, rel=0.02)


def test_hostile_names_stay_text(baro, tape, work):
    for figure in ("cpu", "memory", "aggregate_uss", "instance_count"):
        root = svg(baro, tape, figure, work)
        names = [unescape(name) for name in groups(root, "data-curve")]
        assert HOSTILE_NAME in names, (figure, names)
        tags = ("svg", "title", "style", "rect", "g", "path", "text", "circle")
        assert {e.tag for e in root.iter()} <= {SVG + t for t in tags}
        assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or "href" in a]
    text = good(baro, "plot", tape, "cpu").decode()
    assert "\x1b" not in text and "\\x1b[31m" in text


def test_all_figures_can_be_drawn(baro, tape, work):
    names = [line.split()[0] for line in good(baro, "plot", "--list").decode().splitlines()]
    assert len(names) == len(set(names)) > 15
    for name in names:
        root = svg(baro, tape, name, work)
        assert root.get("data-figure") == name
        x, y, width, height = map(float, root.get("data-plot").split())
        assert x > 0 and y > 0 and x + width <= 900 and y + height <= 320
        # No line leaves the plot: all coordinates are numbers, and each path begins within it.
        for path in root.iter(f"{SVG}path"):
            assert re.fullmatch(r"[MhvlLz0-9. -]+", path.get("d")), path.get("d")[:200]
            for mx, my in re.findall(r"M([\d.]+) ([\d.]+)", path.get("d")):
                assert 0 <= float(mx) <= 900 and 0 <= float(my) <= 320


@pytest.mark.parametrize("name", ["v1-small", "v1-machine", "v1-entities", "v1-limits"])
def test_tapes_of_all_versions(baro, work, name):
    tape = SOURCE / "tests" / "tape" / f"{name}.baro"
    for what in ("cpu", "memory", "total_footprint", "host_cpu", "rss", "job.cores"):
        svg(baro, tape, what, work)
        assert good(baro, "plot", tape, what)


def test_png(baro, tape, work):
    path = work / "p.png"
    r = call(baro, "plot", tape, "cpu", "-o", path, "--width", "500", "--height", "200")
    if r.returncode == 2 and b"without cairo" in r.stderr:
        pytest.skip("built without cairo")
    assert r.returncode == 0, r.stderr
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (1000, 400)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_text_fits_and_is_ascii_where_necessary(baro, tape, width):
    env = {**os.environ, "COLUMNS": str(width)}
    for what in ("cpu", "memory", "rss", "io"):
        for line in good(baro, "plot", tape, what, env=env).decode().splitlines()[1:]:
            assert len(line) <= width or " peak " in line or "machine" in line or "\\x" in line, line
        plain = good(baro, "plot", tape, what, env={**env, "LC_ALL": "C"})
        assert all(c in range(0x20, 0x7F) or c == 0x0A for c in plain), plain


def test_metric_of_one_process_and_several_tapes(baro, tape, work):
    (curve,) = groups(svg(baro, tape, "process.rss", work), "data-curve").values()
    assert float(curve.get("data-max")) > 60 << 20
    other = work / "other.baro"
    subprocess.run([baro, "run", "-q", "-o", other, "--", "sleep", "0.2"], timeout=60, check=True)
    good(baro, "plot", tape, other, "job.cores", "-o", work / "two.svg")
    root = ET.parse(work / "two.svg").getroot()
    assert list(groups(root, "data-curve")) == ["t.baro", "other.baro"]
    name = b"rss@" + os.path.basename(sys.executable).encode()
    names = [c["name"] for c in json.loads(good(baro, "summary", "--json", tape))["commands"]]
    python = next(n for n in names if n.startswith("python"))
    assert float(groups(svg(baro, tape, f"rss@{python}", work), "data-curve")[python].get("data-max")) > 60 << 20, name


def test_range_of_time(baro, tape, work):
    root = svg(baro, tape, "rss", work, "--from", "+100ms", "--to", "50%")
    start, wall = int(root.get("data-start-ns")), json.loads(good(baro, "summary", "--json", tape))["wall_ns"]
    samples = [int(t) for t in good(baro, "export", "-e", "job", "-c", "t_ns", tape).split()[1:]]
    assert int(root.get("data-from-ns")) == min(samples, key=lambda t: abs(t - 100_000_000))
    assert int(root.get("data-to-ns")) - start == pytest.approx(wall / 2, rel=0.2)


def test_figure_may_be_the_first_argument(baro, tape, work):
    for what in ("cpu", "rss", "job.cores"):
        first, last = (good(baro, "plot", "--width", "80", *operands) for operands in ((what, tape), (tape, what)))
        assert first == last
    (work / "cpu").write_bytes(tape.read_bytes())
    assert "RSS" in subprocess.run([baro, "plot", "cpu", "memory"], cwd=work, stdout=subprocess.PIPE, text=True,
                                   timeout=60, check=True).stdout


def test_without_a_name_it_draws_cpu_and_memory(baro, tape, work):
    """It draws any number of tapes, and the newest run without any; for a tape of the machine, the machine's figures."""
    both = good(baro, "plot", "--width", "80", tape).decode()
    one = [good(baro, "plot", "--width", "80", tape, what).decode() for what in ("cpu", "memory")]
    assert both == "\n".join(one)
    env = {**os.environ, "XDG_STATE_HOME": str(work), "COLUMNS": "80"}
    subprocess.run([baro, "run", "-q", "--", "sleep", "0.1"], env=env, timeout=60, check=True)
    for operands in ((), ("@1",), ("@last", tape)):
        titles = [line for line in good(baro, "plot", *operands, env=env).decode().splitlines()
                  if " by command" in line]
        assert len(titles) == 2, (operands, titles)
    subprocess.run([baro, "record", "-q", "--host", "-o", work / "m.baro", "--for", "300ms"], timeout=60, check=True)
    assert "CPU of the machine" in good(baro, "plot", work / "m.baro").decode()


@pytest.mark.parametrize("utf8", [True, False])
def test_curves_of_two_tapes_differ_without_colours(baro, tape, work, utf8):
    other = work / "other.baro"
    subprocess.run([baro, "run", "-q", "-o", other, "--", "sleep", "0.3"], timeout=60, check=True)
    env = {**os.environ, "LC_ALL": "C.UTF-8" if utf8 else "C", "COLUMNS": "80"}
    lines = good(baro, "plot", tape, other, "job.cores", "--height", "6", env=env).decode().splitlines()
    plot = "".join(line[4:] for line in lines[1:7])
    assert lines[-1].split() == ["*", "t.baro", "o", "other.baro"]
    assert "*" in plot and "o" in plot and not any(0x2800 <= ord(c) < 0x2900 for c in plot), lines


def test_errors(baro, tape, work):
    one_line(call(baro, "plot", tape, "-o", work / "both.svg"), 2, "one figure", "baro plot --list")
    one_line(call(baro, "plot", tape, "cpu", "--height", "2"), 2, "from 3 to")
    one_line(call(baro, "plot", tape, "cpu", "--height", "20", "-o", work / "low.svg"), 2, "pixels")
    one_line(call(baro, "plot", "no_such", tape), 2, "no_such")
    one_line(call(baro, "plot", tape, "no_such"), 2, "no_such", "baro plot --list")
    one_line(call(baro, "plot", tape, "cpu", "-o", work / "x.gif"), 2, ".svg", ".png")
    one_line(call(baro, "plot", tape, "cpu", "--from", "50%", "--to", "10%"), 2, "--to is not after --from")
    one_line(call(baro, "plot", tape, "cpu", "--from", "x"), 2, "--from")
    one_line(call(baro, "plot", tape, "state"), 2, "state")
    (work / "there.svg").write_text("mine")
    one_line(call(baro, "plot", tape, "cpu", "-o", work / "there.svg"), 2, "--force")
    assert (work / "there.svg").read_text() == "mine"
