# SPDX-License-Identifier: Apache-2.0
"""The HTML page of `baro report`: parsed by independent parsers, and compared with `summary --json`."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest
from conftest import SOURCE
from readers import HOSTILE, HOSTILE_ARGUMENT, HOSTILE_NAME, Page, call, good, unescape

# Each would do harm in some context: an element, an attribute, a script, a comment, CDATA, CSS.
NASTY = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "]]><svg/onload=alert(1)>",
    "&lt;b&gt;&#60;i&#62;",
    "</style><style>*{display:none}",
    "javascript:alert(1)//",
    "\u2028\u2029\u202e{{7*7}}${7*7}",
    "</textarea></title></svg>",
]


def page_of(baro, tape, *args):
    text = good(baro, "report", "-o", "-", *args, tape).decode()
    page = Page(text)
    check_safe(page, text)
    return page


def check_safe(page, text):
    """Checks what must be true of every page: nothing is loaded, no script but the build's own runs, SVG is XML."""
    assert page.comments == []
    known = {"html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "div", "span",
             "h1", "h2", "h3", "p", "ul", "li", "dl", "dt", "dd", "code", "kbd", "b", "i", "small", "button", "figure",
             "figcaption", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "script", "svg", "g",
             "path", "rect", "line", "circle", "text", "foreignobject"}
    assert set(page.tags) <= known
    for tag, name, value in page.attributes:
        assert not name.startswith("on") and name not in ("style", "src", "href", "xlink:href", "action",
                                                          "srcdoc"), (tag, name, value)
    assert "@import" not in text and "url(" not in text
    for address in re.findall(r"[a-z]+://[^\s\"'<]*", "".join(t for _, t in page.styles + page.scripts[-1:])):
        assert address == "http://www.w3.org/2000/svg", address  # the name of a namespace, which is not loaded
    (policy,) = [v for tag, name, v in page.attributes if tag == "meta" and name == "content" and "default-src" in v]
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for kind, elements in (("script-src", [t for a, t in page.scripts if not a]),
                           ("style-src", [t for _, t in page.styles])):
        (body,) = elements
        assert f"{kind} 'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'" in policy
    for svg in outer_svgs(text):
        xml.etree.ElementTree.fromstring(svg.replace("<svg", "<svg xmlns='http://www.w3.org/2000/svg'", 1))
    page.data()


def outer_svgs(text):
    """Returns the SVG elements of a page that are in no other SVG element."""
    depth = begin = 0
    for match in re.finditer(r"<svg[\s>]|</svg>", text[: text.index('<script type="application/json"')]):
        if match[0] != "</svg>":
            begin = begin if depth else match.start()
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                yield text[begin : match.end()]


def record(baro, tape, *command, options=()):
    r = subprocess.run([baro, "run", "-q", "-o", tape, *options, "--", *command], capture_output=True, timeout=120)
    assert tape.exists(), r.stderr.decode()
    return tape


BUSY = "import os,sys,time\nt=time.process_time()\nx=bytearray(30<<20)\nwhile time.process_time()-t<0.4: pass\nopen(sys.argv[1],'wb').write(x[:3<<20])\n"


@pytest.fixture(scope="module")
def job(baro, tmp_path_factory):
    """A tape of a small tree: a shell, three processes that fail, one that computes and writes."""
    work = tmp_path_factory.mktemp("page")
    script = work / "busy.py"
    script.write_text(BUSY)
    shell = f"for i in 1 2 3; do sh -c 'sleep 0.05; exit 3'; done; {sys.executable} {script} {work}/out & wait"
    return record(baro, work / "t.baro", "sh", "-c", shell, options=("-i", "50ms"))


def test_numbers_are_those_of_the_summary(baro, job):
    page, summary = page_of(baro, job), json.loads(good(baro, "summary", "--json", job))
    facts = {cells[0]["text"]: cells[1] for cells in page.table_rows("facts")[1:]}
    compared = 0
    for section in ("job", "limits", "host", "accounting", "recorder", "exit"):
        for name, value in summary[section].items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                assert float(facts[f"{section}.{name}"]["v"]) == value, (section, name)
                compared += 1
    assert compared > 40
    assert int(facts["wall_ns"]["v"]) == summary["wall_ns"]
    # The same fact has the same text everywhere.
    for name, text in page.facts.items():
        assert text == facts[name]["text"], name
    commands = page.table_rows("commands")[1:]
    assert [(c[0]["text"], int(c[2]["v"])) for c in commands] == [(c["name"], c["cpu_ns"]) for c in summary["commands"]]


def test_processes_are_those_of_the_tape(baro, job):
    page = page_of(baro, job)
    data, summary = page.data(), json.loads(good(baro, "summary", "--json", job))
    p = data["processes"]
    exits = {int(e["pid"]): e
             for e in map(json.loads, good(baro, "export", "-F", "jsonl", "--entity", "exit", job).splitlines())}
    assert p["all"] == len(p["pid"]) == summary["job"]["processes_started"]
    for i, pid in enumerate(p["pid"]):
        assert data["names"][p["name"][i]] == exits[pid]["name"]
        assert p["cpu_ns"][i] == exits[pid]["cpu_ns"]
        parent = p["parent"][i]
        assert parent == -1 or p["pid"][parent] == exits[pid]["ppid"]
    failed, statuses = page.table_rows("exits")[1:], [e["status"] for e in exits.values() if e["status"]]
    assert len(failed) == len(statuses) and all("exit 3" in [c["text"] for c in cells] for cells in failed)
    assert statuses == [3, 3, 3] or summary["accounting"]["event_source"] != "connector"  # perf reports no statuses


def test_io_of_processes_is_their_own(baro, work):
    """What a parent takes over from the children that it waited for counts once: the table has no more than the job."""
    write = f"dd if=/dev/zero of={work}/x bs=1M count=8 conv=fsync 2>/dev/null"
    job = record(baro, work / "t.baro", "sh", "-c", f"sh -c '{write}; true'; true", options=("-i", "20ms"))
    page, summary = page_of(baro, job), json.loads(good(baro, "summary", "--json", job))
    p, written = page.data()["processes"], summary["job"]["io_write_bytes"]
    if written < 8 << 20:
        pytest.skip("the file system of the test counts no writes")
    own = [v or 0 for v in p["io_write_bytes"]]
    assert sum(own) <= written and len(p["io_is_lower_bound"]) == len(own)
    (column,) = [i for i, c in enumerate(page.table_rows("processes")[0]) if c["text"] == "written"]
    assert sum(int(cells[column]["v"] or 0) for cells in page.table_rows("processes")[1:]) <= written


def test_attached_processes_have_what_they_used_since(baro, work, wait_until):
    """A process that ran before the recording: neither its row nor the sum of rows has more than the job."""
    spin = "import sys,time\nwhile time.process_time()<0.6: pass\nprint(1,flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        try:
            target.stdout.readline()
            for ends in (False, True):
                tape = work / f"{ends}.baro"
                recorder = subprocess.Popen([baro, "record", "-q", "-i", "50ms", "-o", tape, "--pid", str(target.pid)])
                wait_until(lambda: (tape.exists() and tape.stat().st_size
                                    and len(good(baro, "export", "-e", "job", tape).splitlines()) > 3))
                assert "running" in page_of(baro, tape).text
                if ends:
                    target.stdin.close()
                    target.wait(10)
                else:
                    recorder.terminate()
                recorder.wait(10)
                data, summary = page_of(baro, tape).data(), json.loads(good(baro, "summary", "--json", tape))
                assert sum(v or 0 for v in data["processes"]["cpu_ns"]) <= summary["job"]["cpu_ns"], ends
        finally:
            target.kill()


def test_processes_of_one_name_are_told_apart(baro, tmp_path):
    """By what differs in their command lines; flat charts are a line that opens."""
    work = tmp_path / "a folder of its own"
    work.mkdir()
    (work / "spin.py").write_text("import sys, time\nwhile time.process_time() < 0.15: pass\n")
    program = f"{sys.executable} spin.py --lr"
    tape = record(baro, tmp_path / "t.baro", "sh", "-c",
                  f"cd '{work}'; {program} 0.1; {program} 0.2; sleep 0.61; sleep 0.62", options=("-i", "20ms"))
    page = page_of(baro, tape)
    data, rows = page.data(), page.table_rows("processes")[1:]
    labels = {data["names"][k] for k in data["processes"]["label"] if k is not None}
    assert {"spin.py --lr 0.1", "spin.py --lr 0.2", "0.61", "0.62"} <= labels, labels
    names = [cells[0]["text"] for cells in rows]
    assert any(n.endswith(" spin.py --lr 0.2") for n in names) and "sleep 0.62" in names, names
    assert not [cells[9]["text"] for cells in rows if cells[9]["text"].startswith("/")]
    assert "details" in page.tags and "flat" in "".join(page.text)
    assert program in good(baro, "report", "-o", "-", tape).decode()  # with its folder, as a title or in the data


def test_first_screen(baro, tmp_path):
    """Verdicts are lines that open; phases stand beside them, a failed one can be seen however short it was; what the
    figures above them say, too, is folded."""
    tape = tmp_path / "t.baro"
    script = '$B phase long -- sleep 0.5; for i in 1 2; do $B phase rep -- true; done; $B phase outer -- $B phase "a<b" -- sh -c "exit 7"'
    subprocess.run([baro, "run", "-q", "-o", tape, "--", "sh", "-c", script], env={**os.environ, "B": str(baro)},
                   timeout=120)
    text = good(baro, "report", "-o", "-", tape).decode()
    check_safe(Page(text), text)
    verdicts = json.loads(good(baro, "summary", "--json", tape))["verdicts"]
    lines = re.findall(r'<b class="tag" title="(\w+)">([\w-]+)</b> <span class="vb">', text)
    assert sorted(lines) == sorted((v["weight"], v["rule"]) for v in verdicts) and ("problem", "failed") in lines
    rows = re.findall(r'<tr( class="fail")?><th scope="row" class="d(\d)" title="([^"]*)">(.*?)</th>(.*?)</tr>', text)
    assert [(bool(fail), depth, path) for fail, depth, path, _, _ in rows] == [
        (False, "0", "long"), (False, "0", "rep"), (True, "0", "outer"), (True, "1", "outer/a&lt;b")]
    assert "×2" in rows[1][3] and "status 7" in rows[3][3]
    assert 'width="4" class="failed"' in rows[3][4] and rows[1][4].count('width="4" class="done"') == 2
    assert re.search(r'<details class="used"><summary>[^<]*</summary>\s*<dl class="words">', text)
    assert text.index('<ul class="verdicts">') < text.index('class="gantt"') < text.index('class="used"')


def test_marks_are_few(baro, job):
    """What can be seen has at most ten marks of values that are not exact, and none of at least nothing; cells of tables
    say it in their titles. The foot explains them once."""
    text = good(baro, "report", "-o", "-", job).decode()
    body = text[text.index("<body>") : text.index('<script type="application/json"')]
    assert body.count("≥ at least") == 1 and "at least 0" not in body and "≥0" not in body
    seen = body[: body.index("<footer>")]
    seen = re.sub(r'<details(?! class="more").*?(<summary>.*?</summary>).*?</details>', r"\1", seen, flags=re.S)
    seen = re.sub("<title>.*?</title>", "", seen, flags=re.S)
    assert len(re.findall("[≥≤≈]", re.sub("<[^>]*>", "", seen))) <= 10
    marks = json.loads(good(baro, "summary", "--json", job))["marks"]
    words = {"lower_bound": "at least", "upper_bound": "at most", "estimate": "about"}
    for i, cells in enumerate(re.findall(r'<tr data-k="[^"]*">(<td><i class.*?)</tr>', body, re.S)):
        mark = marks.get(f"commands.{i}.cpu_ns")
        assert (f'title="{words[mark]}"' if mark else 'class="n" ') in re.findall(r"<td[^>]*>", cells)[2], cells


def test_the_machine_is_on_another_tape(baro, tmp_path, wait_until):
    """Its charts come from the tape beside, on the axis of the job; without one, a line says why they are not drawn."""
    host, job = tmp_path / "tapes/a-host-1.baro", tmp_path / "tapes/job.baro"
    host.parent.mkdir()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as target, subprocess.Popen(
        [baro, "record", "-q", "--host", "-i", "50ms", "-o", host]) as machine:
        try:
            wait_until(lambda: host.exists() and host.stat().st_size > 2000)
            subprocess.run([baro, "record", "-q", "--no-host", "-i", "50ms", "--for", "700ms", "--pid", str(target.pid),
                            "-o", job], check=True, timeout=60)
        finally:
            machine.terminate()
            target.kill()
    page = page_of(baro, job)
    charts = {c["id"]: c["curves"] for c in page.data()["charts"]}
    assert host.name in page.text and [v for v in charts["host_memory"][0]["v"] if v is not None]
    curves = {c["name"]: c["v"] for c in charts["host_cpu"]}
    assert list(curves)[0] == "the job" and max(v or 0 for v in curves["the job"]) > 0.05
    with_host = host.parent / "with.baro"
    subprocess.run([baro, "record", "-q", "--host", "--for", "100ms", "--pid", str(os.getpid()), "-o", with_host],
                   check=True, timeout=60)
    assert host.name not in good(baro, "report", "-o", "-", with_host).decode()
    host.unlink()
    text = good(baro, "report", "-o", "-", job).decode()
    assert text.count("no tape of the machine is beside it") == 1 and host.name not in text


def test_numbers_of_marks_are_curves(baro, tmp_path):
    """`baro mark`: loss of two kinds of marks in one chart; names that differ in digits are one curve."""
    script = 'for i in 1 2 3 4; do $B mark train loss=0.$((9 - i)) rows=${i}00; $B mark "valid $i" loss=0.9 once$i=1 delta=-$i; sleep 0.1; done'
    tape = tmp_path / "t.baro"
    subprocess.run([baro, "run", "-q", "-o", tape, "--", "sh", "-c", script], env={**os.environ, "B": str(baro)},
                   check=True, timeout=120)
    text = good(baro, "report", "-o", "-", tape).decode()
    charts = {c["id"]: c for c in page_of(baro, tape).data()["charts"] if c["id"].startswith("mark-")}
    assert len(charts) == 3 and "once1</h3>" not in text  # one value is no curve
    loss, rows, _ = charts.values()
    assert [c["name"] for c in loss["curves"]] == ["train", "valid #"] and [c["name"]
                                                                            for c in rows["curves"]] == ["train"]
    values = [v for v in loss["curves"][0]["v"] if v is not None]
    assert values[0] == 0.8 and values[-1] == 0.5 and values == sorted(values, reverse=True)
    assert rows["curves"][0]["v"][-1] is None or rows["curves"][0]["v"][-1] == 400
    assert "delta</b> (it has values below 0)" in text
    plot = good(baro, "plot", tape, "mark.loss").decode()
    assert "o valid #" in plot and "* train" in plot
    assert b"no two marks" in call(baro, "plot", tape, "mark.nothing").stderr


def test_moments_have_the_peak(baro, job):
    data = page_of(baro, job).data()
    samples = [json.loads(r) for r in good(baro, "export", "-F", "jsonl", "--entity", "process", job).splitlines()]
    sums = {}
    for row in samples:
        sums[row["t_ns"]] = sums.get(row["t_ns"], 0) + (row["rss_bytes"] or 0)
    best = max(data["moments"], key=lambda m: sum(x or 0 for x in m["p"][1::3]))
    assert abs(sum(x or 0 for x in best["p"][1::3]) * 1000 - max(sums.values())) < 1000 * len(best["p"])
    # Peaks are kept in the curves, too.
    (memory,) = [c for c in data["charts"] if c["id"] == "memory"]
    top = max(v for c in memory["curves"] if c["shape"] == 3 for v in c["v"] if v is not None)
    assert abs(top - max(sums.values())) <= 0.001 * top


def test_hostile_text(baro, tmp_path):
    """Names and command lines that would end every context that they are in."""
    script = tmp_path / "hostile.py"
    script.write_text(
        HOSTILE.replace(
            "time.sleep(0.2)",
            "[os.spawnv(os.P_WAIT, sys.executable, [sys.executable, '-c', 'pass', a]) for a in sys.argv[1:]]; time.sleep(0.2)",
        )
    )
    for name in (HOSTILE_NAME, b"</script><b>", b"\"'><i>&amp;"):
        tape = tmp_path / "t.baro"
        env = {**os.environb, b"NAME": name}
        subprocess.run([baro, "run", "-q", "-i", "50ms", "-o", tape, "--", sys.executable, str(script), *NASTY,
                        HOSTILE_ARGUMENT], env=env, capture_output=True, timeout=120)
        page = page_of(baro, tape)
        data = page.data()
        assert name[:15] in [unescape(n) for n in data["names"]]
        assert name[:15] in [unescape(c[0]["text"])[:len(name[:15])] for c in page.table_rows("processes")[1:]]
        for nasty in NASTY:
            quoted = nasty.encode().replace(b"'", b"'\\''")
            assert any(quoted in unescape(n) for n in data["names"]), nasty
        title = "".join(page.text)
        assert "<img src=x onerror=alert(1)>" in title  # as text: check_safe() found no such element
        tape.unlink()


EACH = 'for n in "$@"; do "$BARO_PROGRAM" phase "$n" -- true; "$BARO_PROGRAM" mark "$n" "a=$n" n=1; done'


@pytest.fixture(scope="module")
def hostile_phases(baro, tmp_path_factory):
    """Names of phases, texts and attributes of marks, and the path of the tape."""
    tape = tmp_path_factory.mktemp("hostile") / "x<b>\x1b[31m\u202e\"'&</title>".replace("/", "\u2215")
    names = [n.encode() for n in NASTY] + [HOSTILE_NAME, HOSTILE_ARGUMENT]
    argv = [baro, "run", "-q", "-i", "50ms", "-o", tape, "--", "sh", "-c", EACH, "sh", *names]
    subprocess.run(argv, env={**os.environ, "BARO_PROGRAM": str(baro)}, check=True, timeout=120)
    return tape, names


def test_hostile_phases(baro, hostile_phases):
    tape, names = hostile_phases
    page = page_of(baro, tape)
    assert [unescape(cells[0]["text"]) for cells in page.table_rows("phases")[1:]] == names
    marks = [unescape(cells[3]["text"]) for cells in page.table_rows("events")[1:] if cells[2]["text"] == "mark"]
    assert marks == [n + b" a=" + n + b" n=1" for n in names]
    assert any(unescape(text) == os.fsencode(tape.name) for text in page.text if "x<b>" in text)


def test_hostile_phases_in_other_outputs(baro, hostile_phases):
    tape, names = hostile_phases
    timeline = json.loads(good(baro, "report", "-F", "json", "-o", "-", tape))["timeline"]
    assert [unescape(i["name"]) for i in timeline if i["kind"] == "phase"] == names
    assert [unescape(i["name"]) for i in timeline if i["kind"] == "mark"] == names
    trace = json.loads(good(baro, "export", "-F", "trace", tape))["traceEvents"]
    assert set(names) <= {unescape(e["name"]) for e in trace}
    for output in ("svg", "txt"):
        path = tape.with_name(f"plot.{output}")
        good(baro, "plot", "-o", path, tape, "cpu")
        text = path.read_text()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        if output == "svg":
            spans = [e for e in xml.etree.ElementTree.fromstring(text).iter() if e.get("data-span") == "phase"]
            titles = [unescape(e.find("{*}title").text.rsplit(", ", 1)[0]) for e in spans]
            assert titles and set(titles) <= set(names), titles
    for args in (["report", "-F", "markdown", "-o", "-"], ["summary", "--by", "phase"]):
        text = good(baro, *args, tape).decode()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), args


def test_short_job_host_recording_and_collected_kind(baro, tmp_path):
    """A command that ends at once, the machine alone, and a kind that only the tape declares."""
    short = record(baro, tmp_path / "short.baro", "sh", "-c", "exit 3")
    page, verdicts = page_of(baro, short), json.loads(good(baro, "summary", "--json", short))["verdicts"]
    assert "exit 3" in page.text and verdicts
    for verdict in verdicts:
        assert verdict["title"] in "".join(page.text) and (verdict["advice"] or "") in "".join(page.text)
    subprocess.run([baro, "record", "--host", "--for", "400ms", "-i", "100ms", "-q", "-o", tmp_path / "host.baro"],
                   check=True, timeout=60)
    page = page_of(baro, tmp_path / "host.baro")
    assert page.table_rows("processes") == [] and "memory in use" in page.text
    page = page_of(baro, SOURCE / "tests/tape/v1-collect.baro")
    charts = [c for c in page.data()["charts"] if c["id"].startswith("kind-")]
    known = [{v for c in chart["curves"] for v in c["v"] if v is not None} for chart in charts]
    assert {21.5, 3} in known
    assert "weather: temperature" in "".join(page.text)


@pytest.mark.parametrize("part", [0, 0.02, 0.3, 0.7, 0.999])
def test_truncated_tapes(baro, job, tmp_path, part):
    """A tape truncated at any byte has a page, or one line of error message."""
    whole = job.read_bytes()
    cut = tmp_path / "cut.baro"
    cut.write_bytes(whole[: int(len(whole) * part)])
    r = call(baro, "report", "-o", "-", cut)
    if r.returncode == 0:
        page = Page(r.stdout.decode())
        check_safe(page, r.stdout.decode())
        text = "".join(page.text)
        assert "cut off" in text or (
            part > 0.5 and "exit 0" in text
        )  # what follows the end of the command is the index
    else:
        assert r.stdout == b"" and r.stderr.count(b"\n") == 1


def test_many_processes(baro, tmp_path):
    """Bars of many short processes are merged, and none is lost."""
    tape = record(baro, tmp_path / "t.baro", "sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); /bin/true; done")
    text = good(baro, "report", "-o", "-", tape).decode()
    page = Page(text)
    check_safe(page, text)
    bars = re.search(r'<div class="track bars">.*', text, re.S)[0]
    merged = [int(n.replace(",", "")) for n in re.findall(r"<b>×([\d,]+)</b>", bars)]
    single = len(re.findall(r'<li class="d\d+"', bars)) - len(merged)
    job = json.loads(good(baro, "summary", "--json", tape))["job"]
    assert sum(merged) + single == page.data()["processes"]["all"] == job["processes_started"]
    assert job["processes_started"] == 301 or job["processes_started_is_lower_bound"]
    assert len(merged) + single <= 72


# ---- colours ----


def luminance(color):
    """As WCAG 2 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def themes(page):
    """The variables of each theme: light, dark by choice, dark by the system's setting."""
    blocks = re.findall(r":root[^{}]*\{([^{}]*--back[^{}]*)\}", page.styles[0][1])
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks]
    assert len(found) >= 3 and found[1] == found[2], "both ways to the dark theme are the same"
    return found[:2]


# Which colour is drawn on which: cards, the page, and the darker rows of tables.
TEXTS = [(text, on) for text in ("text", "soft", "faint", "accent", "good", "bad", "warn") for on in ("card", "back")]
TEXTS += [("text", "grid"), ("soft", "grid"), ("bad", "grid"), ("soft", "line"), ("card", "accent")]
TEXTS += [(kind, kind + "-b") for kind in ("good", "bad", "warn")]


def test_contrast(baro, job):
    """WCAG AA: 4.5 for text, 3 for other visible parts: lines of charts, failed processes, the frame of the focus."""
    for theme in themes(page_of(baro, job)):
        for text, on in TEXTS:
            assert contrast(theme[text], theme[on]) >= 4.5, (text, on, theme[text], theme[on])
        for shape in ("accent", "bad"):
            assert contrast(theme[shape], theme["card"]) >= 3, shape
        for k in range(11):
            line = theme[f"k{k}"]
            if k in (3, 4, 6, 10):  # as the style sheet mixes them for thin lines
                mixed = [round(0.7 * int(line[i : i + 2], 16) + 0.3 * int(theme["text"][i : i + 2], 16))
                         for i in (1, 3, 5)]
                line = "#%02x%02x%02x" % tuple(mixed)
            assert contrast(line, theme["card"]) >= 3, (k, line)
