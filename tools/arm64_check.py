# SPDX-License-Identifier: Apache-2.0
"""Looks at what tools/arm64-check.sh made a guest say (lines "@@ WORD TEXT"), and whether this machine reads its tapes
alike."""

import sys

# Not understood yet: on the emulated 6.1 the READ records of perf tell less than half of the CPU that ended processes
# used.
TODO = {"perf_tells_usage", "perf_attaches_to_what_runs"}


def read(path):
    said = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            at = line.find("@@ ")
            if at >= 0:
                word, _, text = line[at + 3:].rstrip("\n").partition(" ")
                said.setdefault(word, []).append(text)
    return said


def checks(said, here):
    """(what, whether it is so, what was found)"""
    yield "the guest is an aarch64", said["machine"][0].startswith("aarch64 "), said["machine"]
    yield "baro run ends like its command", said["run"] == ["3"], said["run"]
    for text in said.get("unit", []):
        name, status, passed, *failed = text.split(" ", 3)
        names = {one.rpartition(" - ")[2] for one in "".join(failed).split(";") if one}
        todo = f" # TODO {' '.join(sorted(names))}" if names and names <= TODO else ""
        yield f"unit {name}: {passed} passed{todo}", status == "0" or bool(todo), failed + said.get("said", [])
    yield "end-to-end tests: " + said["e2e"][0].partition(" ")[2], said["e2e"][0].startswith("0 "), "\n".join(
        said.get("e2e-said", [])
    )
    there = dict(text.rsplit(" ", 2)[:1] + [text] for text in said.get("reading", []))
    for line in here:
        what = line.rsplit(" ", 2)[0]
        yield f"both read alike: {what}", there.get(what) == line, (there.get(what), line)
    yield "a tape of each architecture was read", {
        "arm.baro summary-json",
        "x86.baro summary-json",
    } <= there.keys(), sorted(there)


def main():
    said, failed = read(sys.argv[1]), 0
    if not {"machine", "run", "e2e", "done"} <= said.keys():
        sys.exit("arm64-check: the guest said no more than: " + str(said)[:4000])
    with open(sys.argv[2], encoding="utf-8") as f:
        here = f.read().splitlines()
    for what, so, found in checks(said, here):
        print("ok" if so else "not ok", "-", what if so else f"{what} ({found})")
        failed += not so
    sys.exit(1 if failed else 0)


main()
