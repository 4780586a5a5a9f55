# SPDX-License-Identifier: Apache-2.0
"""Looks at what tools/qemu-check.sh made a machine say: lines "@@ WORD TEXT"."""

import json
import re
import sys


def read(path):
    said = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            at = line.find("@@ ")
            if at >= 0:
                word, _, text = line[at + 3:].rstrip("\n").partition(" ")
                said.setdefault(word, []).append(text)
    return said


def rows(said, word):
    return [json.loads(text) for text in said.get(word, [])]


def checks(said):
    """(what, whether it is so, what was found)"""
    yield "baro run ends like its command", said["run"] == ["3"], said["run"]
    yield "record --host exits 0", said["record"] == ["0"], said["record"]
    yield "baro summary exits 0", said["text"] == ["0"], said["text"]
    told = "\n".join(said.get("told", []))
    yield "baro doctor exits 0", said["doctor"] == ["0"], said["doctor"]
    yield "it says that there is v2 alone, and where it is", re.search(r"hierarchies +v2; this process is in /job/inner", told), told
    yield "it says which limits bind", "/job memory.max" in told and "/job/inner cpu.max" in told, told
    summary = json.loads(said["summary"][0])
    limits, host, usage = summary["limits"], summary["host"], int(said["usage"][0]) * 1000
    yield "memory limit of the group above", limits["memory_bytes"] == 99999744 and limits["memory_source"] == "cgroup /job memory.max", limits
    yield "quota of its own group", limits["cores"] == 0.5 and limits["cores_source"] == "cgroup /job/inner cpu.max", limits
    yield "memory of the machine", host["memory_total_bytes"] == int(said["memory"][0]) * 1024, host
    yield "cores of the machine", host["cores"] == 2, host
    looks = rows(said, "host")
    last = looks[-1]
    yield "more than one look", len(looks) > 1, len(looks)
    yield "6.1 has pressure, zswap and OOM kills", all(last[key] is not None for key in ("pressure_cpu_some_ns", "zswap_bytes", "oom_kills")), last
    yield "nothing falls", all(a["switches"] <= b["switches"] and a["uptime_ns"] <= b["uptime_ns"] for a, b in zip(looks, looks[1:])), last
    groups = {row["name"]: row for row in rows(said, "cgroup")}
    inner, job = groups.get("/job/inner", {}), groups.get("/job", {})
    yield "the group's CPU is the kernel's", 0 < inner.get("cpu_ns", 0) <= usage, (inner.get("cpu_ns"), usage)
    yield "it ran into its quota", inner.get("cpu_throttled_periods", 0) > 0 and inner.get("cpu_limit") == 0.5, inner
    yield "the limits of both", inner.get("pids_limit") == 60 and job.get("memory_limit_bytes") == 99999744, (inner, job)
    yield "the kernel's own mark of memory", 0 < job.get("memory_bytes", 0) <= job.get("memory_peak_bytes", 0), job


def main():
    said, failed = read(sys.argv[1]), 0
    if "done" not in said or not {"run", "record", "text", "doctor", "summary", "usage", "memory"} <= said.keys():
        sys.exit("qemu-check: the machine said no more than: " + json.dumps(said)[:2000])
    for line in said.get("seen", []) + said.get("told", []):
        print("#", line)
    for what, so, found in checks(said):
        print("ok" if so else "not ok", "-", what if so else f"{what} ({found})")
        failed += not so
    sys.exit(1 if failed else 0)


main()
