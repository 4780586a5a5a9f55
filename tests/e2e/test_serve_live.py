# SPDX-License-Identifier: Apache-2.0
"""baro serve: Server-Sent Events of a job and of the list."""

import json
import subprocess

from conftest import poll
from serving import Stream, running, serve  # noqa: F401 (fixtures)


def test_live_events_are_the_tape(serve, running, baro):
    job = running("cat")
    s = serve()
    found = poll(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stream = Stream(s, f"/api/v1/jobs/{found}/live")
    assert stream.response.getheader("Content-Type").startswith("text/event-stream")
    events = stream.events()
    got = [next(events) for _ in range(5)]
    stream.close()
    # It comes back with the last id that it has, and misses nothing.
    stream = Stream(s, f"/api/v1/jobs/{found}/live", Last_Event_ID=got[-1]["id"])
    events = stream.events()
    got.append(next(events))
    job.stdin.close()
    got += list(events)
    assert got[-1]["event"] == "end" and json.loads(got[-1]["data"])["id"] == found
    stream.close()
    ids = [e["id"] for e in got[:-1]]
    assert len(ids) == len(set(ids))
    times = [json.loads(e["data"])["t_ns"] for e in got if e["event"] == "sample"]
    rows = subprocess.run(
        [baro, "export", "-F", "jsonl", "-e", "job", "-c", "t_ns", "@1"], capture_output=True, check=True
    ).stdout
    taped = [json.loads(line)["t_ns"] for line in rows.splitlines()]
    assert times == taped[taped.index(times[0]) :]


def test_live_list(serve, running):
    s = serve()
    stream = Stream(s, "/api/v1/live")
    job = running("cat")
    seen = []
    for event in stream.events():
        seen.append((event["event"], json.loads(event["data"])["state"]))
        if seen[-1] == ("job", "running"):
            job.stdin.close()
        if seen[-1] == ("job", "ended"):
            break
    stream.close()


def test_many_streams_and_one_that_stops_reading(serve, running):
    running("cat", options=("--interval", "20ms"))
    s = serve()
    job = poll(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stuck = Stream(s, f"/api/v1/jobs/{job}/live?exits=1")  # and it reads nothing more
    streams = [Stream(s, f"/api/v1/jobs/{job}/live") for _ in range(63)]
    assert all(next(x.events())["event"] == "sample" for x in streams)
    assert s.json(f"/api/v1/jobs/{job}/live", status=503)["error"]["code"] == "too_many"
    for x in streams:
        x.close()
    stuck.close()
    poll(lambda: b"\nbaro_serve_streams 0\n" in s.ask("/metrics")[2])
