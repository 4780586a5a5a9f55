# SPDX-License-Identifier: Apache-2.0
"""Runs the same command bare and wrapped, in many environments: exit status, output and error output must be the same.
"""

import os
import shutil
import subprocess

import pytest
from conftest import FULL

ENDINGS = {
    **{f"exit-{n}": f"echo out; echo err >&2; exit {n}" for n in (0, 1, 2, 124, 125, 126, 127, 137, 255)},
    **{
        f"by-{s}": f"echo out; kill -{s} $$; sleep 0.1"
        for s in ("TERM", "KILL", "INT", "HUP", "SEGV", "ABRT", "USR1", "PIPE", "ALRM")
    },
}

# What precedes the command, and how the outermost process is started.
SURROUNDINGS = {
    "plain": [],
    "time": ["/usr/bin/time", "-o", "/dev/null"],
    "timeout": ["timeout", "60"],
    "timeout-foreground": ["timeout", "--foreground", "60"],
    "nohup": ["nohup"],
    "setsid": ["setsid", "-w"],
    "env-i": ["env", "-i", "PATH=" + os.environ.get("PATH", "")],
    "nice": ["nice", "-n", "5"],
    "shell": ["sh", "-c", '"$@"; exit $?', "sh"],
    "shell-exec": ["sh", "-c", 'exec "$@"', "sh"],
    "background": ["sh", "-c", '"$@" & wait $!; exit $?', "sh"],
    "subshell": ["bash", "-c", '( "$@" ); exit $?', "bash"],
    "pipeline": ["bash", "-c", '"$@" | cat; exit ${PIPESTATUS[0]}', "bash"],
    "twice": ["BARO", "run", "-q", "-o", "INNER", "--"],
    "stdin-closed": ["sh", "-c", 'exec "$@" <&-', "sh"],
    "stdout-closed": ["sh", "-c", 'exec "$@" >&-', "sh"],
    "stderr-closed": ["sh", "-c", 'exec "$@" 2>&-', "sh"],
    "stdout-full": ["sh", "-c", 'exec "$@" >/dev/full', "sh"],
    "fds": ["sh", "-c", 'exec 3</dev/null 4>/dev/null 9<&0; exec "$@"', "sh"],
    "umask": ["sh", "-c", 'umask 077; cd /; exec "$@"', "sh"],
    "int-ignored": ["sh", "-c", 'trap "" INT; exec "$@"', "sh"],
    "chld-ignored": [
        "python3",
        "-S",
        "-c",
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execvp(sys.argv[1], sys.argv[1:])",
    ],
    "no-files": ["sh", "-c", 'ulimit -n 20; exec "$@"', "sh"],
    "script": ["script", "-qec", "COMMAND", "/dev/null"],
}


def outcome(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    # A shell reports which of its children a signal ended, by a number that differs each time.
    err = [
        line
        for line in done.stderr.decode(errors="replace").splitlines()
        if "sh: line" not in line and "bash: line" not in line
    ]
    return done.returncode, done.stdout, err


# Each surrounding with three endings, so that each ending has four surroundings; the full check has all pairs.
PAIRS = [
    (ending, surrounding)
    for i, ending in enumerate(ENDINGS)
    for j, surrounding in enumerate(SURROUNDINGS)
    if FULL or (i - j * 3) % len(ENDINGS) < 3
]


@pytest.mark.parametrize(("ending", "surrounding"), PAIRS)
def test_same_as_bare(baro, work, request, surrounding, ending):
    before = SURROUNDINGS[surrounding]
    if surrounding == "script":
        request.getfixturevalue("ptys")
    if before and before[0] != "BARO" and not shutil.which(before[0]):
        pytest.skip(f"no {before[0]}")
    command = ["sh", "-c", ENDINGS[ending]]

    def argv(prefix, n):
        words = [*prefix, *command]
        if surrounding == "script":
            quoted = " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)
            return [quoted if w == "COMMAND" else w for w in before]
        # A wrapper within a wrapper is compared with one alone.
        outer = (
            []
            if surrounding == "twice" and not prefix
            else [baro if w == "BARO" else str(work / f"inner{n}") if w == "INNER" else w for w in before]
        )
        return [*outer, *words]

    bare = outcome(argv([], 0))
    wrapped = outcome(argv([baro, "run", "-q", "-o", str(work / "t.baro"), "--"], 1))
    assert wrapped == bare
    assert os.path.getsize(work / "t.baro") > 0
