# SPDX-License-Identifier: Apache-2.0
"""baro serve: /metrics as promtool and a real Prometheus read it."""

import re
import shutil
import subprocess
import time

import pytest
from conftest import poll
from serving import running, serve  # noqa: F401 (fixtures)


def test_metrics(serve, running):
    running("sh", "-c", "while :; do :; done")
    s = serve("--metrics-processes", "2")
    body = poll(lambda: b"baro_job_cpu_seconds_total{" in (b := s.ask("/metrics")[2]) and b"baro_host_" in b and b)
    if shutil.which("promtool"):
        check = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
        assert check.returncode == 0 and not check.stdout + check.stderr, check.stdout + check.stderr
    text = body.decode()
    job = s.jobs(state="running")[0]["id"]
    assert re.search(rf'^baro_job_processes{{job="{job}"}} 1$', text, re.M)
    assert len(re.findall(r"^baro_process_cpu_seconds_total\{.*pid=", text, re.M)) == 1
    assert len(re.findall(r"^# EOF$", text, re.M)) == 0
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series)), "a series twice"
    status, headers, body = s.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0") and body.endswith(
        b"# EOF\n"
    )
    assert b"# TYPE baro_job_cpu_seconds counter\n# UNIT baro_job_cpu_seconds seconds\n" in body
    assert all(" " in line for line in body.decode().splitlines())


def test_hostile_names_in_metrics(serve, running, work):
    """Of processes, which are there if they are asked for."""
    name = work / 'a"b\\c\n{x="1"} 5'
    shutil.copy("/bin/cat", name)
    running(str(name))
    s = serve("--metrics-processes", "5")
    assert b"pid=" not in serve().ask("/metrics")[2]
    body = poll(lambda: b"baro_process_cpu_seconds_total{" in (b := s.ask("/metrics")[2]) and b)
    for line in body.decode().splitlines():
        assert line.startswith("#") or re.fullmatch(
            r'[a-z_0-9]+(\{[a-z_]+="(?:[^"\\]|\\.)*"(,[a-z_]+="(?:[^"\\]|\\.)*")*\})? \S+', line
        ), line


def test_a_tape_without_the_machine_never_wins(serve, run, work, started):
    """It has a control group, which is read more often than the machine on the other tape."""
    (work / "tapes").mkdir()
    pid = started(["sleep", "600"]).pid
    recordings = [run.popen("record", "-q", *options, "--overhead", "off", "-o", work / "tapes" / f"{name}.baro")
                  for name, options in {"host": ("--host", "-i", "2s"),
                                        "job": ("--pid", pid, "--no-host", "-i", "50ms")}.items()]
    try:
        s = serve(folder=work / "tapes")
        poll(lambda: s.json("/api/v1/host")["sample"] and len([j for j in s.jobs(state="running") if j["now"]]) == 2)
        poll(lambda: s.json("/api/v1/jobs/job/entities/cgroup")["entities"])
        for _ in range(8):
            time.sleep(0.3)
            got = s.json("/api/v1/host")
            assert got["job"] == "host" and got["sample"]["host"]["memory_available_bytes"] > 0
            text = s.ask("/metrics")[2].decode()
            assert "\nbaro_host_memory_available_bytes " in text and "\nbaro_cpu_" in text
    finally:
        for r in recordings:
            r.terminate()
            r.wait()


def test_many_entities_cost_what_their_values_cost(serve, run, work, started):
    """Each of many tasks has its series, once."""
    pids = [started(["sleep", "600"]).pid for _ in range(3)]
    tasks = "".join(f"  t{i}: {{match: 'nothing-{i}'}}\n" for i in range(250))
    (work / "tasks.yaml").write_text("tasks:\n" + "".join(f"  p{p}: {{pid: {p}}}\n" for p in pids) + tasks)
    if run("tasks", work / "tasks.yaml").returncode:
        pytest.skip("built without libyaml")
    (work / "tapes").mkdir()
    recording = run.popen("record", "-q", "-i", "200ms", "--tasks", work / "tasks.yaml", "-o", work / "tapes" / "t.baro")
    try:
        s = serve("--metrics-processes", "2", folder=work / "tapes")
        text = poll(lambda: "baro_task_processes{" in (t := s.ask("/metrics")[2].decode()) and t)
    finally:
        recording.terminate()
        recording.wait()
    named = re.findall(r'^baro_task_processes\{job="t",task="([^"]+)"\} \d+$', text, re.M)
    assert named == [f"p{p}" for p in pids] + [f"t{i}" for i in range(250)]
    assert len(re.findall(r"^baro_process_threads\{", text, re.M)) == 2
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series)), "a series twice"
