# SPDX-License-Identifier: Apache-2.0
"""baro serve --cgroup: the observer that it starts, keeps running and ends."""

import os
import pathlib
import re
import signal
import subprocess

import pytest
from conftest import poll
from serving import serve  # noqa: F401 (fixtures)


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid):
    """Also where nobody reaps what has lost its parent."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_it_records_control_groups(serve, run, baro, work, cgroup, started):
    """The observer is started, again where it was killed, and ended; a job stays on one tape. A server that is killed
    takes its observer with it, and the next one goes on."""
    folder = work / "tapes"
    group = cgroup.path / "job.service"
    group.mkdir()
    started(["sh", "-c", "while :; do :; done"], preexec_fn=type(cgroup)(group).enter)
    options = ["--cgroup", f"{cgroup.path}/*", "--interval", "100ms", "--keep", "64MB", "--total", "1GB"]
    s = serve(*options, folder=folder, env=dict(os.environ, BARO_NO_BUDGET="1"))

    def used(server, more_than):
        """The job in the list, once it has used that much more CPU time."""

        def look():
            for j in server.jobs(state="running"):
                if "-job.service-" in j["id"] and j.get("now"):
                    cpu_ns = server.json(f"/api/v1/jobs/{j['id']}/sample")["job"]["cpu_ns"]
                    return cpu_ns > more_than and j["now"]["cores"] and (j["id"], cpu_ns)
            return None

        return poll(look)

    job, cpu_ns = used(s, 0)
    (observer,) = children(s.process.pid)
    assert s.json("/healthz")["observer"] == {"is_running": True, "starts": 1}
    os.kill(observer, signal.SIGKILL)
    poll(lambda: s.json("/healthz")["observer"] == {"is_running": True, "starts": 2})
    assert used(s, cpu_ns)[0] == job
    metrics = s.ask("/metrics")[2]
    assert b"\nbaro_observer_up 1\n" in metrics and b"\nbaro_observer_starts_total 2\n" in metrics
    for family in ("cgroup_cpu_seconds_total", "job_info"):
        assert re.search(rf'\nbaro_{family}{{baro_job="{job}",.*unit="job.service"}} \d'.encode(), metrics)
    (second,) = children(s.process.pid)
    r = subprocess.run([baro, "observe", "--dir", folder, "--cgroup", "none"], capture_output=True, text=True)
    assert r.returncode == 2 and "another baro observe records into" in r.stderr and len(r.stderr.splitlines()) == 1
    status, text = s.stop()
    assert status == 0 and is_gone(second)
    assert re.findall("baro observe ended.*", text) == [
        "baro observe ended unexpectedly (signal 9); it is started again in 1 s"
    ]

    s = serve(*options, folder=folder)
    job_again, cpu_ns = used(s, cpu_ns)
    assert job_again == job
    (observer,) = children(s.process.pid)
    s.process.kill()
    s.process.wait()
    poll(lambda: is_gone(observer))
    s = serve(*options, folder=folder)
    assert used(s, cpu_ns)[0] == job
    assert len(list(folder.glob("*-job.service-*.baro"))) == 1
    gaps = [e for e in run.export(folder / f"{job}.baro", "event") if e["event"] == "gap"]
    assert len(gaps) == 3


def test_it_records_task_files(serve, baro, work, started):
    """The job of a task file is in the list, in /metrics and has a report while the file is there, and ends with it; an
    observer that was killed is started again, and goes on with its tape."""
    if not pathlib.Path(baro).with_name("baro-tasks").exists():
        pytest.skip("built without libyaml")
    folder, files = work / "tapes", work / "files"
    files.mkdir()
    pid = started(["sleep", "600"]).pid
    s = serve("--tasks", files, "--interval", "100ms", folder=folder, env=dict(os.environ, BARO_NO_BUDGET="1"))

    def running():
        return [j["id"] for j in s.jobs(state="running") if "-nightly-" in j["id"] and j.get("now")]

    poll(lambda: s.jobs(state="running"))
    (files / ".a.yaml").write_text(f"name: nightly\ntasks: {{web: {{pid: {pid}}}}}\n")
    (files / ".a.yaml").rename(files / "a.yaml")
    (job,) = poll(running)
    (task,) = s.json(f"/api/v1/jobs/{job}/tasks")["tasks"]
    assert task["name"] == "web" and task["processes"] == 1
    assert f'baro_task_processes{{baro_job="{job}",task="web"}} 1\n' in s.ask("/metrics")[2].decode()
    status, _, page = s.ask(f"/jobs/{job}/report")
    assert status == 200 and b"web" in page
    (observer,) = children(s.process.pid)
    os.kill(observer, signal.SIGKILL)
    poll(lambda: "gap" in [e["event"] for e in s.json(f"/api/v1/jobs/{job}/events")["events"]])
    poll(lambda: running() == [job])
    (files / "a.yaml").unlink()
    poll(lambda: s.json(f"/api/v1/jobs/{job}")["job"]["result"] == "detached" and not running())
    assert s.json(f"/api/v1/jobs/{job}")["job"]["state"] == "ended"
    status, text = s.stop()
    assert status == 0 and re.findall("baro observe ended.*", text) == [
        "baro observe ended unexpectedly (signal 9); it is started again in 1 s"
    ]


def test_wrong_options_of_the_observer(baro, work):
    if not pathlib.Path(baro).with_name("baro-serve").exists():
        pytest.skip("built without libmicrohttpd")
    for options, says in (
        (["--cgroup", "x"], "name the folder"),
        (["--keep", "1d", work], "--keep applies to"),
        (["--cgroup", "", work], "PATTERN is empty"),
        (["--cgroup", "x", "--keep", "1s", work], "less than 10s"),
        (["--cgroup", "x", "--total", "1MB", work], "less than 16MB"),
        (["--cgroup", "x", "--interval", "1ms", work], "10ms to 1h"),
    ):
        r = subprocess.run([baro, "serve", *options], capture_output=True, text=True, timeout=60)
        assert r.returncode == 2 and says in r.stderr and len(r.stderr.splitlines()) == 1, (options, r)
