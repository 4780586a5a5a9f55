# SPDX-License-Identifier: Apache-2.0
"""Checks what a machine of tools/qemu-check.sh printed: lines "@@ WORD TEXT"."""

import json
import re
import sys

import guest


def rows(said, word):
    return [json.loads(text) for text in said.get(word, [])]


def checks(said):
    """Returns (what, whether it holds, what was found) for each check."""
    yield "baro run ends like its command", said["run"] == ["3"], said["run"]
    yield "record --host exits 0", said["record"] == ["0"], said["record"]
    yield "baro summary exits 0", said["text"] == ["0"], said["text"]
    doctor = "\n".join(said.get("doctor-text", []))
    yield "baro doctor exits 0", said["doctor"] == ["0"], said["doctor"]
    yield "it says that there is v2 alone, and where it is", re.search(
        r"hierarchies +v2; this process is in /job/inner", doctor
    ), doctor
    yield "it says which limits bind", "/job memory.max" in doctor and "/job/inner cpu.max" in doctor, doctor
    summary = json.loads(said["summary"][0])
    limits, host, usage = summary["limits"], summary["host"], int(said["usage"][0]) * 1000
    yield "memory limit of the group above", limits["memory_bytes"] == 99999744 and limits[
        "memory_source"
    ] == "cgroup /job memory.max", limits
    yield "quota of its own group", limits["cores"] == 0.5 and limits[
        "cores_source"
    ] == "cgroup /job/inner cpu.max", limits
    yield "memory of the machine", host["memory_total_bytes"] == int(said["memory"][0]) * 1024, host
    yield "cores of the machine", host["cores"] == 2, host
    limited = json.loads(said["limit-summary"][0])
    yield "a limit of memory ends the job with 124", said["limit-run"][0].startswith("124 "), said["limit-run"]
    yield "all of it, and its group is removed", said["limit-left"] == ["0 "] or said["limit-left"] == ["0"], said[
        "limit-left"
    ]
    yield "the kernel's limit is what ended it", limited["exit"]["ended_by"] == "memory" and limited["limits_reached"][0][
        "by"
    ] == "kernel", limited["limits_reached"]
    looks = rows(said, "host")
    last = looks[-1]
    yield "more than one look", len(looks) > 1, len(looks)
    yield "6.1 has pressure, zswap and OOM kills", all(
        last[key] is not None for key in ("pressure_cpu_some_ns", "zswap_bytes", "oom_kills")
    ), last
    yield "nothing falls", all(
        a["switches"] <= b["switches"] and a["uptime_ns"] <= b["uptime_ns"] for a, b in zip(looks, looks[1:])
    ), last
    groups = {row["name"]: row for row in rows(said, "cgroup")}
    inner, job = groups.get("/job/inner", {}), groups.get("/job", {})
    yield "the group's CPU is the kernel's", 0 < inner.get("cpu_ns", 0) <= usage, (inner.get("cpu_ns"), usage)
    yield "it ran into its quota", inner.get("cpu_throttled_periods", 0) > 0 and inner.get("cpu_limit") == 0.5, inner
    yield "the limits of both", inner.get("pids_limit") == 60 and job.get("memory_limit_bytes") == 99999744, (
        inner,
        job,
    )
    yield from of_its_own(said)
    yield from survivors(said)
    yield from verdicts(said)
    yield "the kernel's own mark of memory", 0 < job.get("memory_bytes", 0) <= job.get("memory_peak_bytes", 0), job


def of_its_own(said):
    """baro run --cgroup: returns (what, whether it holds, what was found)."""
    for name, group in (("auto", "/handed/baro-"), ("forced", "/other/baro-")):
        ran, left, summary = (
            said[name + "-run"][0].split(),
            said[name + "-left"],
            json.loads(said[name + "-summary"][0]),
        )
        yield f"{name}: the command is in a group of its own", ran[0] == "5" and ran[1].startswith(group), ran
        yield f"{name}: with these controllers and no others", sorted(ran[2:]) == ["io", "memory", "pids"], ran
        yield f"{name}: nothing is left of it", left == [""], left
        row = json.loads(said[name + "-group"][0])
        yield f"{name}: CPU, memory and threads are its own", row["cpu_ns"] > 0 and row[
            "memory_peak_bytes"
        ] >= 20 << 20 and row["pids"] is not None, row
        # Its own mark, as no reading of the group had the 20 MB that dd held for a moment.
        needed = summary["limits"]["memory_peak_bytes"]
        yield f"{name}: memory is at most the kernel's mark", 20 << 20 <= needed <= row["memory_peak_bytes"], (needed, row)
        yield f"{name}: CPU by the kernel's count", summary["accounting"]["kernel_source"] == "cgroup", summary[
            "accounting"
        ]
    ran, summary = said["none-run"][0].split(), json.loads(said["none-summary"][0])
    yield "none: not delegated, nothing changes", ran == ["5", "/other"] and summary["accounting"][
        "kernel_source"
    ] == "wait4", ran
    ran, summary = said["crowded-run"][0].split(), json.loads(said["crowded-summary"][0])
    yield "crowded: a group without controllers", ran[0] == "5" and len(ran) == 2 and ran[1].startswith(
        "/handed/baro-"
    ), ran
    yield "crowded: its CPU is the kernel's count all the same", summary["accounting"][
        "kernel_source"
    ] == "cgroup", summary["accounting"]


def survivors(said):
    """Processes that outlive the command, and groups that are left: returns (what, whether it holds, what was found).
    """
    for name, what, left in (
        ("daemon-left", "it keeps its group, and no controllers", ["group"]),
        ("daemon-next", "what it left is swept when it has ended", []),
        (
            "nested-left",
            "who made a group with controllers for its own keeps all",
            ["group", "leaf", "io", "memory", "pids"],
        ),
        ("killed-left", "where both are killed the controllers stay on", ["group", "leaf", "io", "memory", "pids"]),
    ):
        yield f"{name[:6]}: {what}", said[name][0].split() == left, said[name]


# The problem of each job of tools/qemu-verdicts: (the rule that makes a verdict, a part of its title, the exit status).
SUFFERED = {
    "quota": ("cpu-quota", "the quota is 0.40 cores (cgroup /quota)", "0"),
    "oom": ("oom", "OOM-killed (qemu-job): the limit is 50.0 MB (cgroup /oom memory.max)", "137"),
    "near": ("memory-near-limit", "of the limit of 100 MB (cgroup /near memory.max)", "0"),
    "high": ("memory-limit", "it hit its limit of 50.0 MB (cgroup /high)", "0"),
    "reread": ("page-cache", "its memory limit of 16.0 MB (cgroup /reread)", "0"),
    "disk": ("io-wait", "it read 0 B and wrote ", "0"),
    "owned": ("io-wait", "it read 0 B and wrote ", "0"),
}
# Sizes, and verdicts that a busy host causes in its guest, which stands still at times, or grows slowly.
BESIDES = {"right-size", "dominates", "cpu-steal", "cpu-neighbour", "serial-tail", "slow-start", "leak"}


def verdicts(said):
    """The verdicts on jobs with one problem each: returns (what, whether it holds, what was found)."""
    found = {}
    for text in said.get("verdicts", []):
        name, status, summary = text.split(" ", 2)
        found[name] = status, {v["rule"]: v for v in json.loads(summary)["verdicts"]}
    for name, (rule, title, ends) in SUFFERED.items():
        status, made = found.get(name, ("none", {}))
        yield f"{name}: it ends as it has to", status == ends, status
        titles = {v: made[v]["title"] for v in made}
        yield f"{name}: the verdict is {rule}, and there is no other", made.keys() - BESIDES == {rule}, titles
        yield f"{name}: what it says", title in titles.get(rule, ""), titles
    for name, source in (("disk", "state D"), ("owned", "control group")):
        evidence = found.get(name, (0, {}))[1].get("io-wait", {}).get("evidence", [])
        yield f"{name}: known by {source}", any(source in e.get("text", "") for e in evidence), evidence


def main():
    said = guest.read(sys.argv[1], {"run", "record", "text", "doctor", "summary", "usage", "memory", "done"})
    for line in said.get("seen", []) + said.get("doctor-text", []):
        print("#", line)
    guest.report(checks(said))


main()
