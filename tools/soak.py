#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/soak.py BINARY SECONDS: records a job in which processes come and go all the time, and watches the recorder
from outside: its memory and its descriptors must not grow. Prints the values; the status is 1 if one grew.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

JOB = "while :; do for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait; /bin/true; done"


def rss_kib(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def main():
    binary, seconds = sys.argv[1], float(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="baro-soak-") as folder:
        job = subprocess.Popen(["sh", "-c", JOB], start_new_session=True, stderr=subprocess.DEVNULL)
        r = subprocess.Popen([binary, "record", "--pid", str(job.pid), "-q", "-i", "100ms", "-o", f"{folder}/t.baro"])
        time.sleep(min(10, seconds / 4))
        seen, end = [], time.monotonic() + seconds
        while time.monotonic() < end and r.poll() is None:
            seen.append((rss_kib(r.pid), len(os.listdir(f"/proc/{r.pid}/fd"))))
            time.sleep(1)
        r.send_signal(signal.SIGINT)
        status = r.wait()
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    tenth = max(1, len(seen) // 10)
    first, last = seen[:tenth], seen[-tenth:]
    memory = [statistics.median(m for m, _ in part) for part in (first, last)]
    files = [max(f for _, f in part) for part in (first, last)]
    print(
        f"soak: {seconds:.0f} s; memory {memory[0]:.0f} to {memory[1]:.0f} KiB, descriptors {files[0]} to {files[1]}, status {status}"
    )
    sys.exit(status != 0 or memory[1] > memory[0] + 256 or files[1] > files[0] + 8)


main()
