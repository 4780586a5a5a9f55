# SPDX-License-Identifier: Apache-2.0
"""The page of `baro diff`: the rows of the text, and the curves of both runs, aligned by phases."""

import json
import os
import re
import subprocess

import pytest
from browser import CHROMIUM, Browser
from jobs import PYTHON
from readers import Page, good, unescape
from test_report_page import NASTY, check_safe

BURN = "import time; x = bytearray({} * 1000000)\nwhile time.process_time() < {}: pass"
STEP = '"$BARO_PROGRAM" phase {} -- {}\n'


def burn(seconds, megabytes=1):
    return f'{PYTHON} -S -c "{BURN.format(megabytes, seconds)}"'


def record(baro, tape, *steps):
    """Each step is a phase: its name and its command."""
    script = "".join(STEP.format(*step) for step in steps)
    subprocess.run([baro, "run", "-q", "-i", "50ms", "-o", tape, "--", "sh", "-c", script],
                   env={**os.environ, "BARO_PROGRAM": str(baro)}, check=True, timeout=120)
    return tape


@pytest.fixture(scope="module")
def pair(baro, tmp_path_factory):
    work = tmp_path_factory.mktemp("pair")
    record(baro, work / "a.baro", ("load", burn(0.2)), ("train", burn(0.2)), ("save", burn(0.1)))
    record(baro, work / "b.baro", ("load", burn(0.2)), ("extra", burn(0.1)), ("train", burn(0.8, 60)), ("save", burn(0.1)))
    return work, work / "a.baro", work / "b.baro"


@pytest.fixture(scope="module")
def page(baro, pair):
    work, a, b = pair
    good(baro, "diff", a, b, "-o", work / "d.html")
    text = (work / "d.html").read_text()
    page = Page(text)
    check_safe(page, text)
    return page, text


def lanes(text):
    """The phases of both lanes: name -> (begin, end) on the axis."""
    found = re.findall(r'class="lane".*?</svg></div></div>', text, re.S)
    return [{name: (int(b), int(e)) for b, e, name in
             re.findall(r'data-b="(\d+)" data-e="(\d+)"><title>(\w+) [^<]*</title>', lane)} for lane in found]


def test_rows_are_those_of_the_text(baro, pair, page):
    _, a, b = pair
    told = json.loads(good(baro, "diff", "--json", a, b))
    lines = good(baro, "diff", a, b).decode()
    rows = [[c["text"].replace("\u00a0", " ") for c in cells] for name in ("job", "phase", "command")
            for cells in page[0].table_rows(name)[1:]]
    assert len(rows) > 10
    for cells in rows:
        words = [": ".join(cells[:-5]), *cells[-4:], cells[-5]]
        assert re.search("^" + r" +".join(re.escape(w) for w in words if w) + "$", lines, re.M), (cells, lines)
    text = "".join(page[0].text).replace("\u00a0", " ")
    assert told["sentence"] in text and "Of one run only a large change can be told" in text
    assert len(rows) == len(re.findall(r"^(?!before|after|After|! | |Of one|No |It |Phase |The same).*\S.*$", lines, re.M))


def test_phases_of_one_name_are_at_one_place(page):
    before, after = lanes(page[1])
    assert list(before) == ["load", "train", "save"] and list(after) == ["load", "extra", "train", "save"]
    assert all(before[name] == after[name] for name in before)
    assert "time of the run after" in page[1] and "aligned by the phases" in page[1]
    data = page[0].data()
    assert [c["id"] for c in data["charts"]] == ["cpu", "memory", "read", "written"]
    assert all([k["name"] for k in c["curves"]] == ["before", "after"] for c in data["charts"])
    assert len(data["told"]) == data["charts"][0]["buckets"]
    assert data["told"][0].startswith("before +0.") and data["told"] == sorted(data["told"])
    memory = data["charts"][1]["curves"]

    def most(curve, span):
        n, axis = len(curve["v"]), data["to_ns"]
        return max(v or 0 for i, v in enumerate(curve["v"]) if span[0] <= (i + 0.5) / n * axis <= span[1])

    assert most(memory[1], after["train"]) > 60e6 > most(memory[0], before["train"])
    assert most(memory[1], after["load"]) < 60e6, "the peak is within its phase"
    begin, end = (i * len(memory[0]["v"]) / data["to_ns"] for i in after["extra"])
    between = memory[0]["v"][int(begin) + 3:int(end) - 3]  # the moment between its phases, on a slow machine
    assert max(v or 0 for v in between) < 60e6, "the run before has no such phase"


def test_runs_without_common_phases_begin_together(baro, pair):
    work, a, _ = pair
    other = record(baro, work / "other.baro", ("else", burn(0.1)))
    good(baro, "diff", a, other, "-o", work / "o.html")
    text = (work / "o.html").read_text()
    assert "The runs have no phase in common" in text and "told" not in Page(text).data()


def test_the_median_run_is_named(baro, pair):
    work, a, b = pair
    good(baro, "diff", "--before", a, "--before", b, "--after", b, "-o", work / "n.html")
    assert re.search(r"The curves before are those of \S+/[ab].baro, the median of 2 runs", (work / "n.html").read_text())


def test_hostile_names(baro, tmp_path):
    for name in ("a", "b"):
        script = "".join(f'"$BARO_PROGRAM" phase "${{{i + 1}}}" -- sleep 0.0{i}\n' for i in range(len(NASTY)))
        subprocess.run([baro, "run", "-q", "-i", "50ms", "-o", tmp_path / f"<b>{name}&\"'</title>".replace("/", "\u2215"),
                        "--", "sh", "-c", script, "sh", *NASTY],
                       env={**os.environ, "BARO_PROGRAM": str(baro)}, check=True, timeout=120)
    tapes = sorted(tmp_path.iterdir())
    good(baro, "diff", *tapes, "-o", tmp_path / "d.html")
    text = (tmp_path / "d.html").read_text()
    page = Page(text)
    check_safe(page, text)
    assert any("<b>a&" in t for t in page.text)
    names = {unescape(t.rsplit(" ", 2)[0]).decode() for t in page.text}
    assert set(NASTY) <= names


def test_names_of_outputs(baro, pair, run):
    work, a, b = pair
    run("diff", a, b, "-o", work / "x.md", status=0)
    assert (work / "x.md").read_text() == run("diff", a, b, "--markdown", status=0).stdout
    run("diff", a, b, "-o", work / "x.json", status=0)
    assert json.loads((work / "x.json").read_text())["format"] == 1
    assert "exists" in run("diff", a, b, "-o", work / "x.json", status=2).stderr
    assert "exclude each other" in run("diff", a, b, "--json", "-o", work / "y.html", status=2).stderr
    assert "it ends with .html, .md, .json or .txt" in run("diff", a, b, "-o", work / "x.pdf", status=2).stderr


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium")
def test_in_a_browser(pair, page):
    work = pair[0]
    browser = Browser(work / "profile")
    try:
        browser.open(f"file://{work}/d.html", width=420)
        assert browser.complaints() == [] and len(browser.requests()) == 1
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        x, y, w, h = browser.run("(() => { const e = document.querySelector('#c-cpu .tp'); e.scrollIntoView({block: 'center'});"
                                 " const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")
        browser.mouse("mouseMoved", x + w / 2, y + h / 2)
        browser.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        told = browser.run("document.querySelector('.when').textContent")
        assert re.fullmatch(r"before \+\d+\.\d{3}s, after \+\d+\.\d{3}s", told)
        for key in ("+", "t", "?"):
            browser.key(key)
        assert browser.complaints() == []
    finally:
        browser.close()
