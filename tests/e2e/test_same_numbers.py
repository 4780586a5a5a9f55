# SPDX-License-Identifier: Apache-2.0
"""All outputs of a tape show the same numbers: the text, its form on a terminal, JSON, Markdown, the page and the
trace. Each is parsed again and compared with the facts as JSON has them, to the digits that are shown.
"""

import functools
import json
import re
import subprocess

import pytest

from readers import Page, good

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "cores": 1, "": 1}
AMOUNT = r"([\d.]+)(?: (B|kB|MB|GB|ns|µs|ms|s)\b)?"

# What is shown of the job: its label in the text, and the fact.
SHOWN = [
    (r"(?m)exit 0 · " + AMOUNT + r"(?: ·|$)", "wall_ns"),
    (r"cpu\W+≥?" + AMOUNT + r" \(user", "job.cpu_ns"),
    (r"\(user ≈?" + AMOUNT, "job.cpu_user_ns"),
    (r"([\d.]+)() cores of", "job.cores_mean"),
    (r"memory\W+peak ≥?" + AMOUNT + r" pss|$", "job.pss_peak_bytes"),
    (r"memory\W+peak ≥?" + AMOUNT + r" rss|$", "job.rss_peak_bytes"),
    (r"(?i)i/o\W+read\(\) ≥?" + AMOUNT + r", write\(\)", "job.io_rchar_bytes"),
    (r"(?i)write\(\) ≥?" + AMOUNT, "job.io_wchar_bytes"),
    (r"pages ([\d,]+)() minor", "job.faults_minor"),
    (r"([\d,]+)() started", "job.processes_started"),
]


@pytest.fixture(scope="module")
def recorded(baro, tmp_path_factory):
    """A tape of some work, and its facts."""
    work = tmp_path_factory.mktemp("same")
    path = work / "t.baro"
    script = (
        "python3 -c 'import time; x = bytearray(60 << 20); sum(range(9000000)); time.sleep(1)';"
        f"dd if=/dev/zero of={work}/f bs=1M count=20 2>/dev/null; cat {work}/f >/dev/null; true"
    )
    subprocess.run([baro, "run", "-q", "-o", path, "--", "sh", "-c", script], check=True, timeout=120)
    summary = json.loads(good(baro, "summary", "--json", path))
    return path, summary


def check_text(text, summary):
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert re.search(r"memory\W+peak", text), text
    for pattern, name in SHOWN:
        found = re.search(pattern, text)
        assert found, (pattern, text)
        if not found.group(0):
            continue  # it has the other kind of memory
        number, unit = found.group(1).replace(",", ""), found.group(2) or ""
        value, shown = functools.reduce(dict.get, name.split("."), summary), float(number) * UNITS[unit]
        digits = len(number.split(".")[1]) if "." in number else 0
        assert abs(shown - value) <= 0.5001 * UNITS[unit] / 10**digits, (name, found.group(0), value)


def test_text_and_documents(baro, recorded, tmp_path):
    path, summary = recorded
    check_text(good(baro, "summary", "-v", path).decode(), summary)
    good(baro, "report", "-o", f"{tmp_path}/all/", path)
    for text in (good(baro, "report", "-F", "markdown", "-o", "-", path).decode(), (tmp_path / "all" / "report.md").read_text()):
        check_text(text.replace("<br>", " · ").replace(" | ", "  ").replace("**", ""), summary)
    page = Page(good(baro, "report", "-F", "html", "-o", "-", path).decode())
    check_text(" · ".join(" ".join(part.split()) for part in page.text if part.strip()), summary)


def test_terminal(baro, recorded, ptys):
    command = f"stty cols 100 rows 50; LC_ALL=C.UTF-8 {baro} summary -v {recorded[0]}"
    done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, timeout=60)
    text = done.stdout.decode().replace("\r\n", "\n")
    assert "█" in text
    head, _, rest = text.partition("\n")
    # Without the curves, whose only figure of the summary is the value of a full block.
    lines = [line for line in rest.splitlines() if not re.search("[▁▂▃▄▅▆▇█╵]", line)]
    check_text("\n".join([head, *lines]), recorded[1])
    full = re.search(r"memory.*[▁█].*?([\d.]+) (MB) (pss|rss)", re.sub(r"\x1b\[[0-9;]*m", "", text))
    assert abs(float(full[1]) * 1e6 - recorded[1]["job"][f"{full[3]}_peak_bytes"]) <= 0.5e6


def test_markdown_has_no_lower_bound_of_zero(run_ordinary, baro, tape):
    """If a process was too short to be read, only root knows what it wrote: "at least 0 B" says nothing."""
    run_ordinary.record(tape, "sleep 0; sleep 0.5 & sleep 0; sleep 0; wait", "-i", "100ms", "--overhead", "off")
    text = good(baro, "report", "-F", "markdown", "-o", "-", tape).decode().replace("\u00a0", " ")
    table = text.partition("### Commands\n")[2]
    assert "| command | processes |" in table and "≥0 B" not in table, text
    assert (" | - |" in table) == ("\n`-`: not known" in table), text  # what the dash means is said, where there is one


def test_trace(baro, recorded):
    events = json.loads(good(baro, "export", "-F", "trace", recorded[0]))["traceEvents"]
    bars = [e for e in events if e["ph"] == "X" and e.get("cat") == "process"]
    assert len(bars) == recorded[1]["job"]["processes_started"]
    by_name = {}
    for bar in bars:
        by_name[bar["name"]] = by_name.get(bar["name"], 0) + (bar["args"]["cpu_ns"] or 0)
    # A bar has all of its process, a command what was used as that command: bash executes python3.
    assert sum(by_name.values()) == sum(c["cpu_ns"] for c in recorded[1]["commands"])
    assert set(by_name) <= {c["name"] for c in recorded[1]["commands"]}
    for kind in ("rss", "pss"):
        values = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "memory " + kind]
        assert max(values) <= recorded[1]["job"][f"{kind}_peak_bytes"]


def peak_of(figure):
    """Returns the highest value that is drawn of the whole job."""
    total = next(c for c in figure["curves"] if c["name"] in ("job", "RSS"))
    return max(v for v in total["max"] if v is not None)


def test_figures(baro, recorded):
    """The curves have no higher peak than the summary, and not less than its samples."""
    figures = {f["id"]: f for f in json.loads(good(baro, "report", "-F", "json", "-o", "-", recorded[0]))["figures"]}
    job = recorded[1]["job"]
    kind = "pss" if "PSS" in figures["memory"]["title"] else "rss"
    assert 0.9 * job[f"{kind}_peak_bytes"] <= peak_of(figures["memory"]) <= job[f"{kind}_peak_bytes"]
    assert peak_of(figures["cpu"]) <= recorded[1]["cpus"] * 1.2
