# SPDX-License-Identifier: Apache-2.0
"""baro serve: the JSON of the Thermos observer."""

import os
import pwd
import subprocess

import pytest
from conftest import poll
from serving import Document, kept, running, serve  # noqa: F401 (fixtures)


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


@pytest.mark.not_sanitized("a sanitizer's library has to be the first")
def test_users_of_the_machine_are_not_asked_for(serve, kept, work):
    """getpwuid_r(3) of glibc ends the program where memory runs out within it."""
    (work / "no.c").write_text("#include <stdlib.h>\nint getpwuid_r(void) { abort(); }\n")
    done = subprocess.run(["gcc", "-shared", "-fPIC", "-o", work / "no.so", work / "no.c"], check=False)
    if done.returncode:
        pytest.skip("no shared library can be made")
    s = serve(env=os.environ | {"LD_PRELOAD": str(work / "no.so")})
    task = s.summed(3)[0]["id"]
    assert s.json(f"/j/task/{task}")[task]["user"] == pwd.getpwuid(os.geteuid()).pw_name


def test_disk(serve, running, work):
    """Directories of the job and sandboxes of tasks, each once: one lies in another one. The names of two others only
    begin like that of the outer one."""
    outer, sandbox = work / "outer", work / "outer" / "sandbox"
    others = [work / "outer-most", work / "outermost"]
    for path in (sandbox, *others):
        path.mkdir(parents=True)
    (outer / "a").write_bytes(bytes(300_000))
    (sandbox / "b").write_bytes(bytes(100_000))
    for path in others:
        (path / "c").write_bytes(bytes(50_000))
    named = [word for path in (outer, sandbox, *others) for word in ("--du", str(path))]
    running("cat", options=(*named, "--du-every", "1s"))
    running("sleep", "600")
    s = serve()
    found = poll(lambda: len(j := s.jobs(state="running")) == 2 and j)
    jobs = {j["command"][0]: j["id"] for j in found}

    def used(command):
        return s.json(f"/j/task/{jobs[command]}")[jobs[command]]["resource_consumption"]

    def blocks(path):
        return sum(p.lstat().st_blocks * 512 for p in [path, *path.rglob("*")])

    poll(lambda: used("cat")["disk"] == sum(blocks(path) for path in (outer, *others)) > 500_000)
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


def test_processes_of_a_job(serve, run, work, started):
    """Each has its own state, times and exit code; also when the job has ended, and for a server that begins then."""
    folder = work / "tapes"
    folder.mkdir()
    script = (
        f"{run.binary} run --task good -- sleep 0.2 & "
        f"{run.binary} run --task 'evil/1 x' -- sh -c 'read line <go; exit 9' & "
        f"{run.binary} run --task killed -- sh -c 'kill -9 $$' & wait; exit 0"
    )
    os.mkfifo(work / "go")
    machine = run.popen("record", "-q", "--host", "-i", "1s", "-o", folder / "machine.baro")
    job = run.popen(
        "run", "-q", "-i", "50ms", "--overhead", "off", "-o", folder / "job.baro", "--", "sh", "-c", script, cwd=work
    )
    s = serve(folder=folder)

    def processes(server):
        return server.json("/j/processes?task_ids=job").get("job", {})

    def states(server):
        return {name: p["state"] for name, p in processes(server).items()}

    expected = {"good": "SUCCESS", "evil/1 x": "RUNNING", "killed": "KILLED"}
    poll(lambda: states(s) == expected)
    used = processes(s)["evil/1 x"]["used"]
    assert used["vms"] > 0 and used["nice"] == os.getpriority(os.PRIO_PROCESS, 0)
    assert processes(s)["evil/1 x"]["used"]["status"] == "sleeping"
    poll(lambda: s.json("/j/task_id_count") == {"active": 1, "finished": 0, "all": 1})
    (work / "go").write_text("\n")
    assert job.wait() == 0
    poll(lambda: s.json("/j/task/job")["job"]["state"] == "SUCCESS")
    s.summed(1)
    for server in (s, serve(folder=folder)):
        poll(lambda: server.json("/j/task_ids/finished")["task_ids"] == ["job"])
        assert states(server) == {"good": "SUCCESS", "evil/1 x": "FAILED", "killed": "KILLED"}
        assert {name: p["return_code"] for name, p in processes(server).items()} == {
            "good": 0,
            "evil/1 x": 9,
            "killed": -9,
        }
        begins = [p["start_time"] for p in processes(server).values()]
        ends = {name: p["stop_time"] for name, p in processes(server).items()}
        assert len(set(begins)) == 3 and ends["evil/1 x"] > ends["good"] and ends["evil/1 x"] > ends["killed"]
        for name in ("evil%2F1%20x", "evil/1%20x", "evil%2F1%20x/0", "evil%2F1%20x/-1"):
            assert server.json(f"/j/process/job/{name}")["return_code"] == 9, name
        assert server.json("/j/process/job/evil") == {} == server.json("/j/process/job/good/1")
        task = server.json("/j/task/job")["job"]
        assert task["user"] == pwd.getpwuid(os.geteuid()).pw_name
        assert {k: v for k, v in task["processes"].items() if v} == {
            "success": ["good"],
            "failed": ["evil/1 x"],
            "killed": ["killed"],
        }
        assert task["resource_consumption"]["user"] > 0 and task["resource_consumption"]["cpu"] is not None
    machine.terminate()
    machine.wait()
    text = run("summary", "--by", "task", folder / "job.baro").stdout
    assert (
        "\nevil/1 x ended with 9\n" in text and "\nkilled was killed by SIGKILL\n" in text and "good ended" not in text
    )
    rows = {t["name"]: t for t in run.summary(folder / "job.baro")["tasks"]}
    assert {n: (t["exit_code"], t["exit_signal"]) for n, t in rows.items()} == {
        "good": (0, 0),
        "evil/1 x": (9, 0),
        "killed": (None, 9),
    }


def test_rows_of_the_list(serve, kept):
    """What the observer's templates and observer.js read; an offset below 0 counts from the end."""
    s = serve()
    s.summed(3)
    everything = s.json("/j/task_ids")["task_ids"]
    page = s.json("/j/task_ids/all/-2")
    assert page["task_ids"] == everything[1:] and page["offset"] == 1
    assert s.json("/j/task_ids/all/-20")["task_ids"] == everything
    keys = {"task_id", "name", "role", "launch_timestamp", "state", "state_timestamp", "ports"}
    used = {"cpu", "ram", "user", "system", "rss", "vms", "nice", "status", "threads", "disk"}
    for row in page["tasks"]:
        assert keys | used <= set(row) and used <= set(row["resource_consumption"])


def test_its_answers_fit_openapi(serve, run, work, running):
    """Jobs with tasks, without, running, or without a known end, and tapes that can't be read."""
    folder = work / "tapes"
    folder.mkdir()
    run("run", "-q", "--task", "made", "-o", folder / "tasks.baro", "--", "sh", "-c", "exit 3")
    run("run", "-q", "-o", folder / "plain.baro", "--", "sh", "-c", "kill -9 $$")
    whole = (folder / "plain.baro").read_bytes()
    (folder / "cut.baro").write_bytes(whole[:-30])
    (folder / "short.baro").write_bytes(whole[:40])
    (folder / "empty.baro").write_bytes(b"")
    (folder / "other.baro").write_bytes(b"no tape" * 100)
    run("record", "-q", "--machine", "--for", "200ms", "-o", folder / "machine.baro")
    running("cat", options=("-o", folder / "running.baro", "--task", "now"))
    s = serve(folder=folder)
    poll(lambda: len(s.jobs()) >= 6 and all("cpu_ns" in j or j["state"] in ("unreadable", "new") for j in s.jobs()))
    document = Document(s)
    ids = [j["id"] for j in s.jobs()]
    for which in ("all", "active", "finished"):
        document.check("/j/task_ids/{which}", f"/j/task_ids/{which}")
        document.check("/j/task_ids/{which}/{offset}", f"/j/task_ids/{which}/-3")
        document.check("/j/task_ids/{which}/{offset}/{number}", f"/j/task_ids/{which}/1/2")
    document.check("/j/task_ids/{which}", "/j/task_ids/none", status=404)
    document.check("/j/task_ids/{which}/{offset}", "/j/task_ids/all/x", status=400)
    rows = {r["task_id"]: r for r in document.check("/j/task_ids")["tasks"]}
    document.check("/j/task_id_count")
    for job in [*ids, "nothing"]:
        document.check("/j/task", f"/j/task?task_id={job}")
        task = document.check("/j/task/{task}", f"/j/task/{job}").get(job)
        first = document.check("/j/process/{task}", f"/j/process/{job}")
        document.check("/j/process/{task}/{process}", f"/j/process/{job}/made/0")
        document.check("/j/processes", f"/j/processes?task_ids={job}")
        if job in ("empty", "other", "short") and task:
            assert task["launch_timestamp"] is None is task["state_timestamp"], task
        elif task and job != "machine":
            assert task["launch_timestamp"] > 1e9 and task["state_timestamp"] >= task["launch_timestamp"], task
            assert first["process_name"] and rows[job]["launch_timestamp"] == task["launch_timestamp"]
    assert {"tasks", "plain", "cut", "running"} <= set(rows)


def test_name_of_a_task_file(serve, run, work, started):
    """It is the name of the recording, everywhere; without one these are the tasks, without quotes."""
    folder = work / "tapes"
    folder.mkdir()
    pids = [started(["sleep", "600"]).pid for _ in range(2)]
    tasks = f"tasks:\n  one: {{pid: {pids[0]}}}\n  two: {{pid: {pids[1]}}}\n"
    for file, text in (("named", "name: nightly run\n" + tasks), ("plain", tasks)):
        (work / f"{file}.yaml").write_text(text)
        r = run("record", "-q", "--for", "300ms", "--task", work / f"{file}.yaml", "-o", folder / f"{file}.baro")
        if "built without" in r.stderr or "baro-tasks" in r.stderr:
            pytest.skip("built without libyaml")
    expected = {"named": "nightly run", "plain": "one, two"}
    s = serve(folder=folder)
    s.summed(2)
    assert {j["id"]: j["name"] for j in s.jobs()} == {j["id"]: j["title"] for j in s.jobs()} == expected
    for tape, name in expected.items():
        path = folder / f"{tape}.baro"
        assert run.summary(path)["name"] == name and run("summary", path).stdout.startswith(name + " ")
        assert s.json(f"/j/task/{tape}")[tape]["name"] == name
        assert f"<title>{name}".encode() in s.ask(f"/jobs/{tape}/report")[2]
