# SPDX-License-Identifier: Apache-2.0
"""The members of the JSON of diff, check, trend and advise are those of docs/json.md. tests/e2e/test_limits.py compares
those of the summary."""

import json
import os
import re

import pytest

from conftest import SOURCE
from readers import sibling
from test_limits import members, names_of

RUNS = 12  # a change point needs ten


def documented(command):
    """Without members whose own members are documented."""
    text = (SOURCE / "docs" / "json.md").read_text().split(f"\n# JSON of `baro {command} --json`\n")[1]
    names = names_of(text.split("\n# ")[0])
    return {n for n in names if not any(other.startswith((f"{n}.", f"{n}[].")) for other in names)}


def found(run, *arguments, status=0):
    """Without keys that are data; of what alike things have, as the first of them has it."""
    names = set(members(json.loads(run(*arguments, status=status).stdout)))
    names = {"runs[].tags" if n.startswith("runs[].tags.") else n for n in names}
    alike = {n.rpartition(".")[0] for n in names if re.match(r"needed\.(?!cores)\w+\.", n)}
    return alike | {re.sub(r"^needed\.\w+\.", "needed.cores.", n) for n in names}


def test_every_member_is_documented(run, work):
    if not sibling(run.built, "baro-sqlite").exists():
        pytest.skip("built without SQLite, and so without trend and advise")
    cpus, job = os.sched_getaffinity(0), "head -c $(cat size) /dev/zero >out"
    try:
        for i in range(RUNS):  # the second half writes more, on one core
            side = "before" if i < RUNS // 2 else "after"
            (work / "size").write_text("1000000" if side == "before" else "8000000")
            if side == "after":
                os.sched_setaffinity(0, {min(cpus)})
            run("run", "-q", "-o", work / f"{side}-{i:02}.baro", "--tag", f"i={i}", "--", "sh", "-c", job, status=0, cwd=work)
    finally:
        os.sched_setaffinity(0, cpus)
    before, after = sorted(work.glob("before-*.baro")), sorted(work.glob("after-*.baro"))
    said = {
        "diff": found(run, "diff", "--json", "--before", work / "before-*", "--after", work / "after-*"),
        "check": found(run, "check", "--json", "--max", "wchar<0.5MB", "--max", "command:head cpu<1h", *before, *after,
                       status=1),
        "trend": found(run, "trend", "--json", "io_wchar", *before, *after),
        "advise": found(run, "advise", "--json", *before),
    }
    if len(cpus) == 1:  # no machine with other cores allowed
        said["check"].add("notes")
        said["diff"] |= {n for n in documented("diff") if n.startswith("circumstances[]")}
    for command, names in said.items():
        # A list of limits is empty where the needed memory is not known.
        left = {n for n in documented(command) - names if not n.startswith("limits[]") or command != "advise"}
        assert sorted(names - documented(command)) == [], f"in the JSON of {command}, and not in docs/json.md"
        assert sorted(left) == [], f"in docs/json.md, and not in the JSON of {command}"
