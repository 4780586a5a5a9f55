# SPDX-License-Identifier: Apache-2.0
"""Checks what a guest of tools/arm64-check.sh printed (lines "@@ WORD TEXT"), and whether this machine reads its tapes
in the same way.
"""

import sys

import guest


def checks(said, here):
    """Returns (what, whether it holds, what was found) for each check."""
    yield "the guest is an aarch64", said["machine"][0].startswith("aarch64 "), said["machine"]
    yield "baro run ends like its command", said["run"] == ["3"], said["run"]
    for text in said.get("unit", []):
        name, status, passed, *failed = text.split(" ", 3)
        yield f"unit {name}: {passed} passed", status == "0", failed + said.get("said", [])
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
    said = guest.read(sys.argv[1], {"machine", "run", "e2e", "done"})
    with open(sys.argv[2], encoding="utf-8") as f:
        here = f.read().splitlines()
    guest.report(checks(said, here))


main()
