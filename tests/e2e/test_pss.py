# SPDX-License-Identifier: Apache-2.0
"""PSS of processes that sleep changes as others fork, end and write: against smaps_rollup, read by the job itself."""

import json

import pytest

from jobs import script

MB = 1_000_000

SHARERS = """
    import json, os, signal, time
    b = bytearray(150_000_000)
    for i in range(0, len(b), 4096): b[i] = 1
    time.sleep(0.5)
    kids = []
    for i in range(4):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        kids.append(pid)
        time.sleep(0.15)
    def total():
        sum = 0
        for p in [os.getpid(), *kids]:
            for line in open(f"/proc/{{p}}/smaps_rollup"):
                if line.startswith("Pss:"):
                    sum += int(line.split()[1]) * 1024
        return sum
    time.sleep({rest})
    told = [total()]
    for p in kids[:2]:
        os.kill(p, signal.SIGKILL)
        os.waitpid(p, 0)
    del kids[:2]
    time.sleep({rest})
    told.append(total())
    print(json.dumps(told), flush=True)
    for p in kids:
        os.kill(p, signal.SIGKILL)
    """


@pytest.mark.parametrize("env", [(), (("BARO_NO_EVENTS", "1"),)], ids=["events", "scan"])
def test_sharers_that_sleep(run, tape, env, monkeypatch):
    for name, value in env:
        monkeypatch.setenv(name, value)
    done = run("run", "-q", "-o", tape, "--", *script(SHARERS.format(rest=2.5)), status=0)
    told = json.loads(done.stdout)
    s, rows = run.summary(tape), run.export(tape)
    job = s["job"]
    pss = {}
    for r in rows:
        if r["state"] != "Z":  # those that have ended hold nothing
            pss.setdefault(r["t_ns"], []).append(r.get("pss_bytes"))
    marked = {r["t_ns"] for r in run.export(tape, "job") if r.get("pss_stale")}
    sure = [v for t, v in pss.items() if t not in marked and None not in v]
    # with five, and after two of them had ended: what is not marked is right
    for truth, members in zip(told, (5, 3)):
        found = [sum(v) for v in sure if len(v) == members]
        if not found:  # a busy machine: it is not read in time, and that is said
            assert s["recorder"]["thinned"] + s["recorder"]["left_out"] + s["recorder"]["missed"] > 0
            continue
        assert any(abs(f - truth) < truth / 12 for f in found), (truth, found)
        assert max(found) < max(told) * 1.1, (
            truth,
            found,
        )  # before, a sum of values from before the forks: 200 of 156 MB
    if not job.get("pss_peak_is_approximate"):
        assert job["pss_peak_bytes"] < max(told) * 1.1, (job, told)
    for r in rows:
        if r.get("pss_bytes") is not None and r.get("rss_bytes") is not None:
            assert r["pss_bytes"] <= r["rss_bytes"] and r["uss_bytes"] <= r["rss_bytes"]


def test_sums_that_lack_a_process(run, tape):
    """A row of the job names the sums that some process's value is missing from; PSS of new ones is read later."""
    run.record(tape, ["sh", "-c", "sleep 0.3 & sleep 0.3 & sleep 0.3 & wait"])
    values = {}
    for r in run.export(tape):
        if r["state"] != "Z":
            values.setdefault(r["t_ns"], []).append(r)
    found = set()
    for row in run.export(tape, "job"):
        for name in ("pss_bytes", "rss_bytes", "threads"):
            known = [r[name] is not None for r in values.get(row["t_ns"], [])]
            is_bound = name in row["lower_bounds"].split()
            assert is_bound == (any(known) and not all(known)), (name, row)
            found.add((name, is_bound))
    assert ("rss_bytes", False) in found
