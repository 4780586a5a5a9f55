# SPDX-License-Identifier: Apache-2.0
"""baro serve: Server-Sent Events of a job and of the list."""

import http.client
import json
import re
import socket
import subprocess

import pytest
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
    rows = subprocess.run([baro, "export", "-F", "jsonl", "-e", "job", "-c", "t_ns", "@1"], capture_output=True,
                          check=True).stdout
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
    running("cat")
    s = serve()
    job = poll(lambda: [j for j in s.jobs(state="running") if j.get("now")])[0]["id"]
    stuck = Stream(s, f"/api/v1/jobs/{job}/live?exits=1")  # and it reads nothing more
    streams = [Stream(s, f"/api/v1/jobs/{job}/live") for _ in range(31)]
    assert all(next(x.events())["event"] == "sample" for x in streams)
    # Half of the places are for one user, and each of these streams has taken something lately; one that has not, on a
    # machine that is busy with others, gives way.
    refused = poll(lambda: (x := Stream(s, f"/api/v1/jobs/{job}/live").response).status == 503 and x)
    assert json.loads(refused.read())["error"]["code"] == "too_many"
    for x in streams:
        x.close()
    stuck.close()
    poll(lambda: b"\nbaro_serve_streams 0\n" in s.ask("/metrics")[2])


def streams(server):
    return int(re.search(rb"\nbaro_serve_streams (\d+)\n", server.ask("/metrics")[2])[1])


def test_places_of_clients_that_have_left(serve):
    """Also of streams on which nothing is sent, and of clients that have closed their half alone."""
    s = serve()
    left = [Stream(s, "/api/v1/live") for _ in range(32)]
    assert streams(s) == 32
    for i, x in enumerate(left):
        if i % 2:
            x.socket.shutdown(socket.SHUT_WR)
        else:
            x.close()
    # Before the next heartbeat, with which all of them would be noticed.
    poll(lambda: streams(s) == 0, timeout=10)
    for x in left[1::2]:
        x.close()
    x = Stream(s, "/api/v1/live")
    assert x.response.status == 200 and streams(s) == 1
    x.close()


def test_the_oldest_idle_stream_gives_way(serve):
    s = serve()
    first, *others = [Stream(s, "/api/v1/live") for _ in range(32)]
    newest = poll(lambda: (x := Stream(s, "/api/v1/live")).response.status == 200 and x)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        first.response.read()
    assert streams(s) == 32
    for x in (first, newest, *others):
        x.close()
