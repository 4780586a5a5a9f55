# SPDX-License-Identifier: Apache-2.0
"""What `--push` costs a job: prints its wall time, the samples of its tape, and the recorder's CPU time, without it, with
a store that takes all, with one that is down, and with an address where nothing listens.

    bench/push.py [ROUNDS]      (build/baro)
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))

from lying import Store  # noqa: E402

BARO = SOURCE / "build" / "baro"
JOB = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; sleep 2"


def measure(options):
    with tempfile.TemporaryDirectory() as folder:
        tape = f"{folder}/t.baro"
        begun = time.monotonic()
        subprocess.run([BARO, "run", "-q", "-i", "100ms", "-o", tape, *options, "--", "sh", "-c", JOB], check=True,
                       env={**os.environ, "XDG_STATE_HOME": folder})
        wall = time.monotonic() - begun
        found = json.loads(subprocess.run([BARO, "summary", "--json", tape], capture_output=True, check=True).stdout)
        return wall, found["recorder"]["samples"], found["recorder"]["cpu_ns"] / 1e6


def main():
    up, down = Store(), Store(lambda n: "503")
    kinds = {"without": [], "taken": ["--push", up.url()], "down": ["--push", down.url()],
             "nothing listens": ["--push", "prometheus+http://127.0.0.1:9"]}
    found = {name: [] for name in kinds}
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 6):
        for name, options in kinds.items():
            found[name].append(measure(options))
    print(f"{'push':<16} {'wall s':>8} {'samples':>8} {'recorder CPU ms':>16}")
    for name, all_of in found.items():
        print(f"{name:<16}" + "".join(f" {statistics.median(column):>{width}.{digits}f}" for column, width, digits in
                                      zip(zip(*all_of), (8, 8, 16), (3, 0, 1))))


main()
