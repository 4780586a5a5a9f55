# SPDX-License-Identifier: Apache-2.0
"""baro serve: /metrics as promtool and a real Prometheus read it."""

import json
import os
import re
import shutil
import socket
import subprocess
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from conftest import SOURCE, poll
from nvidia import end, gpus, start  # noqa: F401 (a fixture)
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
    assert re.search(rf'^baro_job_processes{{baro_job="{job}"}} 1$', text, re.M)
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
    if " cgroup" not in open("/proc/self/mounts").read():
        pytest.skip("no control groups are mounted here")
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
    named = re.findall(r'^baro_task_processes\{baro_job="t",task="([^"]+)"\} \d+$', text, re.M)
    assert named == [f"p{p}" for p in pids] + [f"t{i}" for i in range(250)]
    assert len(re.findall(r"^baro_process_threads\{", text, re.M)) == 2
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series)), "a series twice"


class Prometheus:
    """A server that scrapes `baro serve` as docs/serve.md says, but each 300 ms."""

    def __init__(self, work, port):
        text = (SOURCE / "docs/serve.md").read_text()
        config = textwrap.dedent(re.search(r"^ +scrape_configs:\n(?: {6,}.*\n)+", text, re.M)[0])
        assert config.count("localhost:2276") == 1
        (work / "prometheus.yml").write_text(
            "global: {scrape_interval: 300ms}\n" + config.replace("localhost:2276", f"127.0.0.1:{port}"))
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.url = f"http://127.0.0.1:{s.getsockname()[1]}"
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
             f"--web.listen-address={self.url[7:]}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, query):
        """The series that are the answer now; None if there is no server yet."""
        url = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            pytest.fail(f"{query}: {error.read().decode()}")
        except OSError:
            return None


@pytest.fixture
def prometheus(work):
    servers = []

    def start(port):
        if not shutil.which("prometheus"):
            pytest.skip("there is no prometheus")
        servers.append(Prometheus(work, port))
        return servers[-1]

    yield start
    for server in servers:
        server.process.kill()
        server.process.wait()


def test_documented_queries_join(serve, running, prometheus):
    """With the set-up of docs/serve.md, names are joined to values: no label of a job is one that Prometheus makes."""
    running("sh", "-c", "while :; do :; done")
    p = prometheus(serve().port)
    text = (SOURCE / "docs/serve.md").read_text()
    queries = re.findall(r"^    ((?:baro_|rate|count by).*)$", text, re.M)
    assert len(queries) == 3
    for query in queries:
        (found,) = poll(lambda query=query: p.ask(query), query)
        assert "exported_job" not in found["metric"]
    (found,) = p.ask("baro_job_processes")
    assert found["metric"]["job"] == "barograph" and found["value"][1] == "1"
    (found,) = p.ask("baro_job_processes * on (instance, baro_job) group_left (command) baro_job_info")
    assert found["metric"]["command"] == "sh -c 'while :; do :; done'"


NOT_HERE = re.compile(r"baro_(cgroup|gpu|phase|task|sensor|host_oom|job_exit)|offset 1h")  # what these recordings don't have


def dashboard_queries():
    """Each query of the dashboards, with the variables that Grafana would put in."""
    for path in sorted((SOURCE / "examples/grafana").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                query = re.sub(r"\$(instance|job)\b", ".*", target["expr"])
                query = re.sub(r"\$__(rate_interval|range)", "5s", query)
                assert "$" not in query
                yield f"{path.stem}: {panel['title']}", query


def test_dashboard(serve, running, run, work, prometheus):
    """Each panel has an answer; those of control groups, GPUs and so on have one where there is a recording of such."""
    (work / "tapes").mkdir()
    gate = work / "gate"
    os.mkfifo(gate)
    recording = run.popen("run", "-q", "-i", "100ms", "--overhead", "off", "-o", work / "tapes" / "runs.baro", "--",
                          "sh", "-c", "while :; do :; done")
    ends = run.popen("run", "-q", "-i", "100ms", "-o", work / "tapes" / "ends.baro", "--", "sh", "-c", f"read x <{gate}; exit 3")
    try:
        s = serve(folder=work / "tapes")
        p = prometheus(s.port)
        poll(lambda: len(p.ask("baro_job_info") or ()) == 2)
        gate.write_text("x\n")
        assert ends.wait() == 3
        for title, query in dashboard_queries():
            if NOT_HERE.search(query):
                assert p.ask(query) is not None, query  # its form
            else:
                poll(lambda query=query: p.ask(query), f"{title}: {query}")
    finally:
        for r in (recording, ends):
            r.terminate()
            r.wait()


def test_gpus_of_a_job(serve, run, gpus, work):
    """Each with the job whose recorder reads it; that of the driver of fake_nvml.c is busy half of the time."""
    gpus.write("0 util 50", "0 buffer none", devices=2)
    (work / "tapes").mkdir()
    recording = start(run, work / "tapes" / "t.baro", gpus)
    try:
        s = serve(folder=work / "tapes")
        body = poll(lambda: b"baro_gpu_busy_seconds_total{" in (b := s.ask("/metrics")[2]) and b).decode()
        found = re.findall(r'^baro_gpu_memory_total_bytes\{baro_job="t",gpu="(gpu\d)"\} \d', body, re.M)
        assert found == ["gpu0", "gpu1"]
    finally:
        end(run, recording)
