# SPDX-License-Identifier: Apache-2.0
"""A made-up training on two GPUs (fake_nvml.c) in which the cause of each rule about GPUs happens: what each reader
says."""

import os
import re

import pytest
from nvidia import gpus  # noqa: F401
from nvidia import GIB, end, poll, readings, rows, start

# One thread prepares the data and has work all the time.
JOB = """echo $$ > pid
echo "{\\"begin\\": \\"train\\"}" >> "$BARO_EVENTS"
while ! test -e go; do :; done
echo "{\\"end\\": \\"train\\"}" >> "$BARO_EVENTS" """


@pytest.fixture
def training(run, tape, gpus):
    """A tape, and the pid of the training."""
    gpus.write(devices=2)
    p = start(run, tape, gpus, job=JOB)
    try:
        poll(lambda: (run.work / "pid").exists() and (run.work / "pid").read_text().strip(), "the pid")
        pid = (run.work / "pid").read_text().strip()
        gpus.write("0 buffer none", "1 buffer none", "0 util 30", f"0 used {83 * GIB // 100 * 94}", "0 pviol 0.4",
                   "0 power 690", "0 reasons 4", "0 temp 84", "0 smactive 12", f"0 proc {pid} memory {60 * GIB}",
                   f"0 proc {pid} sm 20",
                   f"0 proc {os.getpid()} memory {9 * GIB}", f"0 proc {os.getpid()} sm 40", "@3 0 xid 94", devices=2)
        poll(lambda: len([r for r in readings(rows(run, tape)) if r["busy_job_ns"]]) >= 6 and rows(run, tape)[-1],
             "readings")
        poll(lambda: any(r["xid_errors"] for r in readings(rows(run, tape))), "the Xid")
    finally:
        end(run, p)
    return tape, int(pid)


def test_each_cause_has_its_verdict(run, training, work):
    tape, pid = training
    rules = {v["rule"]: v["title"] for v in run.summary(tape)["verdicts"]}
    assert {r for r in rules if r.startswith("gpu-")} == {
        "gpu-error", "gpu-shared", "gpu-idle", "gpu-unused", "gpu-memory", "gpu-throttled"}
    assert re.search(r"Xid error 94 of gpu0", rules["gpu-error"])
    assert re.search(r"used (3[5-9]|4\d) % of gpu0", rules["gpu-shared"])
    assert re.search(r"gpu0 was idle (69|7\d) % .* it waited for its data", rules["gpu-idle"])
    assert "1 of 2 GPUs: gpu1 was never used" in rules["gpu-unused"]
    assert "filled to 98 %" in rules["gpu-memory"] or "filled to 97 %" in rules["gpu-memory"]
    assert "throttled by its power limit" in rules["gpu-throttled"]

    # the terminal
    text = run("summary", "-v", tape, status=0).stdout
    assert re.search(r"gpu +2 × NVIDIA H100 80GB HBM3 · 1 of 2 used · .* GPU-seconds", text), text
    assert re.search(r"gpu0 +(2\d|3[01]) % busy, peak 30 % · multiprocessors", text) and "1 Xid error" in text
    assert re.search(r"gpu1 +0\.0 % busy", text)

    # one moment
    last = [r for r in readings(rows(run, tape)) if r["busy_job_ns"]][-2]
    shown = run("show", "--at", f"+{last['t_ns'] / 1e9 + 0.002:.3f}s", tape, status=0).stdout.splitlines()
    device = next(i for i, line in enumerate(shown) if line.endswith(" gpu0 NVIDIA H100 80GB HBM3"))
    use = r" *30% +\d+% +83\.8 GB +85\.9 GB +690 W +700 W +84 °C +1980 MHz gpu0"
    assert re.match(use, shown[device]), shown
    assert re.match(rf" *(1\d|2\d)% +64\.4 GB +{pid} sh$", shown[device + 1]), shown
    assert re.match(r" *0\.0% +0\.0% .* gpu1 NVIDIA H100 80GB HBM3$", shown[device + 2])

    # the page
    page = work / "page.html"
    run("report", tape, "-o", page, status=0)
    html = page.read_text()
    assert "<h3>GPU time</h3>" in html and 'data-fact="gpu.memory_job_peak_bytes">64.4' in html
    for title in ("GPU: utilisation", "GPU: memory in use", "GPU: use by others", "GPU: power",
                  "GPU: throttled by power",
                  "GPU: memory by process", "GPU: use by process"):
        assert title in html, title
    assert f"{pid} on gpu0" in html
