# SPDX-License-Identifier: Apache-2.0
"""Shared by qemu_check.py and arm64_check.py: reads the lines "@@ WORD TEXT" that a guest wrote on its console, and
prints a report of checks in TAP.
"""

import sys


def read(path, needed):
    """Returns the texts of each word, as {word: [text, ...]}. Exits if a word of `needed` is missing: the guest has not
    finished."""
    said = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            at = line.find("@@ ")
            if at >= 0:
                word, _, text = line[at + 3 :].rstrip("\n").partition(" ")
                said.setdefault(word, []).append(text)
    if not needed <= said.keys():
        sys.exit(f"the guest did not say {' '.join(sorted(needed - said.keys()))}; it said: {str(said)[:4000]}")
    return said


def report(checks):
    """Prints each (what, whether it holds, what was found) and exits: 1 if one does not hold."""
    failed = 0
    for what, so, found in checks:
        print("ok" if so else "not ok", "-", what if so else f"{what} ({found})")
        failed += not so
    sys.exit(1 if failed else 0)
