# SPDX-License-Identifier: Apache-2.0
"""baro serve: the JSON of the Thermos observer."""

import subprocess

import pytest
from conftest import poll
from serving import kept, running, serve  # noqa: F401 (fixtures)


def test_thermos_clients(serve, running, kept):
    running("sh", "-c", "while :; do :; done")
    s = serve()
    active = poll(lambda: [j for j in s.jobs(state="running") if j.get("now") and j["now"]["cores"]])[0]["id"]
    s.summed(4)
    assert s.json("/j/task_id_count") == {"active": 1, "finished": 3, "all": 4}
    assert s.json("/j/task_ids/active")["task_ids"] == [active]
    page = s.json("/j/task_ids/finished/1/1")
    assert len(page["task_ids"]) == 1 and page["task_count"] == 3
    task = s.json(f"/j/task/{active}")[active]
    assert (
        task["state"] == "ACTIVE"
        and task["resource_consumption"]["cpu"] > 0
        and task["resource_consumption"]["ram"] > 0
    )
    failed = s.jobs(search="exit")[0]["id"]
    both = s.json(f"/j/task?task_id={active},{failed},nothing")
    assert set(both) == {active, failed} and both[failed]["state"] == "FAILED"
    processes = s.json(f"/j/processes?task_ids={active}")[active]
    ((name, process),) = processes.items()
    assert process["state"] == "RUNNING" and process["used"]["rss"] > 0 and process["process_name"] == name
    assert s.json("/j/process/nothing/at/0") == {}
    ended = s.json(f"/j/process/{failed}")
    assert ended["return_code"] == 3 and "used" not in ended


def test_disk(serve, running, work):
    """Directories of the job and sandboxes of tasks, each once: one lies in another one."""
    outer, sandbox = work / "outer", work / "outer" / "sandbox"
    sandbox.mkdir(parents=True)
    (outer / "a").write_bytes(bytes(300_000))
    (sandbox / "b").write_bytes(bytes(100_000))
    running("cat", options=("--du", str(outer), "--du", str(sandbox), "--du-every", "1s"))
    running("sleep", "600")
    s = serve()
    found = poll(lambda: len(j := s.jobs(state="running")) == 2 and j)
    jobs = {j["command"][0]: j["id"] for j in found}

    def used(command):
        return s.json(f"/j/task/{jobs[command]}")[jobs[command]]["resource_consumption"]

    def blocks(path):
        return sum(p.lstat().st_blocks * 512 for p in [path, *path.rglob("*")])

    poll(lambda: used("cat")["disk"] == blocks(outer) > 400_000)
    assert used("cat")["disk_is_lower_bound"] is False
    assert used("sleep")["disk"] is None


def test_disk_of_tasks(serve, run, work, started):
    """A task has its own sandboxes, the job those of all."""
    for name in ("one", "two", "none"):
        (work / name).mkdir()
        (work / name / "file").write_bytes(bytes(100_000))
    pids = [started(["sleep", "600"]).pid for _ in range(3)]
    (work / "tasks.yaml").write_text(
        f"tasks:\n"
        f"  first: {{pid: {pids[0]}, sandbox: one}}\n"
        f"  second: {{pid: {pids[1]}, sandbox: two}}\n"
        f"  third: {{pid: {pids[2]}}}\n"
    )
    if run("tasks", work / "tasks.yaml").returncode:
        pytest.skip("built without libyaml")
    (work / "tapes").mkdir()
    options = ("-q", "-i", "100ms", "--du-every", "1s", "--task", work / "tasks.yaml", "-o", work / "tapes" / "t.baro")
    recording = run.popen("record", *options)
    try:
        s = serve(folder=work / "tapes")
        poll(lambda: s.jobs(state="running"))
        both = poll(lambda: s.json("/j/task/t")["t"]["resource_consumption"]["disk"])
        processes = s.json("/j/processes?task_ids=t")["t"]
    finally:
        recording.terminate()
        recording.wait()
    disk = {name: process["used"]["disk"] for name, process in processes.items()}
    assert disk["first"] >= 100_000 and disk["second"] >= 100_000 and disk["third"] is None
    assert both == disk["first"] + disk["second"]


def test_how_a_job_ended(serve, run, work, started):
    """SUCCESS is said of a job whose exit status is known to be 0, and of no other."""
    (work / "tapes").mkdir()
    lives, ends = started(["sleep", "600"]), started(["cat"], stdin=subprocess.PIPE)

    def recorded(name, *options):
        return run.popen(*options[:1], "-q", "-i", "100ms", "-o", work / "tapes" / f"{name}.baro", *options[1:])

    for name, command in (("good", "true"), ("bad", "exit 3"), ("killed", "kill $$")):
        recorded(name, "run", "--", "sh", "-c", command).wait()
    left = recorded("left", "record", "--pid", lives.pid)
    unknown = recorded("unknown", "record", "--pid", ends.pid)
    s = serve(folder=work / "tapes")
    poll(lambda: {j["id"] for j in s.jobs(state="running")} == {"left", "unknown"})
    assert s.json("/j/task/left")["left"]["state"] == "ACTIVE" and s.json("/j/task/left")["left"]["result"] is None
    left.terminate()
    ends.stdin.close()
    ends.wait()
    left.wait()
    unknown.wait()
    s.summed(5)
    poll(lambda: not s.jobs(state="running"))
    states = {i: t for j in s.jobs() for i, t in s.json(f"/j/task/{j['id']}").items()}
    assert {i: (t["state"], t["result"]) for i, t in states.items() if i != "unknown"} == {
        "good": ("SUCCESS", "exit 0"),
        "bad": ("FAILED", "exit 3"),
        "killed": ("KILLED", "killed by SIGTERM"),
        "left": ("LOST", "detached"),
    }
    # Where its exit is reported to the recorder, the status is known.
    assert (states["unknown"]["state"], states["unknown"]["result"]) in (("LOST", "ended"), ("SUCCESS", "exit 0"))
    assert states["left"]["processes"]["lost"] and not states["left"]["processes"]["success"]
