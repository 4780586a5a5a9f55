# SPDX-License-Identifier: Apache-2.0
"""baro serve while the file system of tapes does not answer."""

import concurrent.futures
import http.client
import json
import os
import shutil

import pytest
from conftest import poll
from serving import Stream, running, serve  # noqa: F401 (fixtures)


@pytest.mark.long
def test_requests_that_open_tapes_that_hang(serve, hanging, run, work, monkeypatch):
    """Each gets an answer, and no other request waits for them, however many there are: of any kind that reads a
    tape, of jobs that have ended, which nobody follows."""
    announced = work / "announced"
    monkeypatch.setenv("BARO_ANNOUNCED", str(announced))
    run("run", "-q", "-o", work / "good.baro", "--", "true")
    good = next(announced.iterdir()).name[:-5]
    for i in range(12):
        shutil.copyfile(work / "good.baro", f"{hanging.folder}/h{i}.baro")
    s = serve("--announced", folder=hanging.folder)
    s.summed(13)
    streams = [Stream(s, f"/api/v1/jobs/{good}/live") for _ in range(2)]
    hanging.hang_reads()
    kinds = ("/jobs/{}/report", "/api/v1/jobs/{}/processes", "/api/v1/jobs/{}/live", "/api/v1/jobs/{}/verdicts", "/api/v1/jobs/{}")
    try:
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            asked = [pool.submit(s.ask, kinds[i % 5].format(f"h{i}")) for i in range(12)]
            hanging.held()
            assert s.ask("/healthz")[0] == 200 and s.ask("/metrics")[0] == 200 and s.ask("/api/v1/jobs")[0] == 200
            answers = [f.result() for f in asked]
        codes = {json.loads(body)["error"]["code"] for status, _, body in answers if status != 200}
        assert codes == {"hangs"} and sum(status == 503 for status, _, _ in answers) >= 9
        for path in kinds:
            if "live" not in path:
                assert s.ask(path.format(good))[0] == 200
        assert [next(one.events())["event"] for one in streams]
        assert "error" in s.json("/api/v1/jobs/h0/processes", 503)  # at once
        stuck = len(os.listdir(f"/proc/{s.process.pid}/task"))
    finally:
        hanging.resume()
    poll(lambda: s.ask("/api/v1/jobs/h0/processes")[0] == 200 and s.ask("/jobs/h5/report")[0] == 200)
    poll(lambda: len(os.listdir(f"/proc/{s.process.pid}/task")) < stuck)
    for one in streams:
        one.close()


@pytest.mark.long
def test_other_jobs_go_on_while_the_tape_of_one_hangs(serve, hanging, running, work, monkeypatch):
    """Another thread takes the place of the one that waits for that tape, and it is read again once it can be."""
    monkeypatch.setenv("BARO_ANNOUNCED", str(work / "announced"))
    running("sleep", "600", options=("-o", f"{hanging.folder}/stuck.baro"))
    running("sleep", "600", options=("-o", str(work / "other.baro")))
    poll(lambda: "stuck.baro" in os.listdir(hanging.folder) and (work / "other.baro").exists())
    s = serve("--announced", folder=hanging.folder)
    poll(lambda: len([j for j in s.jobs(state="running") if j["now"]]) == 2)
    job = lambda name: next(j for j in s.jobs() if j["id"] == name)  # noqa: E731
    other = next(j["id"] for j in s.jobs() if j["id"] != "stuck")
    stuck, goes_on = Stream(s, "/api/v1/jobs/stuck/live"), Stream(s, f"/api/v1/jobs/{other}/live")
    events = goes_on.events()
    next(stuck.events()), next(events)
    hanging.hang_reads()
    hanging.held()
    try:
        running("sleep", "600", options=("-o", str(work / "third.baro")))
        poll(lambda: len([j for j in s.jobs(state="running") if j["now"] and j["id"] != "stuck"]) == 2)
        assert "does not answer" in poll(lambda: json.loads(s.ask("/healthz")[2])["error"])
        before = job(other)
        poll(lambda: job(other) != before)
        # Those that were made before it hangs, and then more than fit into that time.
        last = json.loads(next(events)["data"])["t_ns"]
        poll(lambda: json.loads(next(events)["data"])["t_ns"] > last + 12 * 10**9)
        assert stuck.response.read() is not None  # its connection ends
    except http.client.IncompleteRead:
        pass
    finally:
        hanging.resume()
    stuck.close(), goes_on.close()
    poll(lambda: not json.loads(s.ask("/healthz")[2])["error"])
    before = job("stuck")
    poll(lambda: job("stuck") != before)
