# SPDX-License-Identifier: Apache-2.0
"""baro serve: the JSON of the Thermos observer."""

from serving import eventually, kept, running, serve  # noqa: F401 (fixtures)


def test_thermos_clients(serve, running, kept):
    running("sh", "-c", "while :; do :; done")
    s = serve()
    active = eventually(lambda: [j for j in s.jobs(state="running") if j.get("now") and j["now"]["cores"]])[0]["id"]
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
