#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tools/soak_machine.py BINARY SECONDS [KEEP]: records the machine at 10 Hz into a folder of segments, with --keep,
--thin-after and a recorder that is killed and started again, and watches it. Its memory must not grow, the folder must
stay within its bound, and the only gaps on the tape must be those between two recorders. As root it records all
processes, else the machine alone."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

RESTARTS = 4
GROWS_KIB = 1024  # after a third of the time
SHORT_KIB = 16384  # of a recorder of a few seconds: its tables grow with a burst of processes of others
GAP_NS = 5_000_000_000


def rss_kib(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def folder_bytes(tape):
    total = 0
    for p in tape.iterdir():
        try:
            total += p.stat().st_size
        except FileNotFoundError:  # a segment that was removed or thinned meanwhile
            pass
    return total


def record(baro, tape, keep, seconds, kill):
    """One recorder: its memory after a third of the time and at the end, and the most bytes that the folder had."""
    what = "--all" if os.geteuid() == 0 else "--host"
    p = subprocess.Popen([baro, "record", what, "--keep", keep, "--thin-after", "10s", "-i", "100ms", "-q", "-o", tape])
    end, early, most = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        time.sleep(0.5)
        if p.poll() is not None:
            sys.exit(f"soak: the recorder ended with {p.returncode}")
        if not early and end - time.monotonic() < seconds * 2 / 3:
            early = rss_kib(p.pid)
        most = max(most, folder_bytes(tape) if tape.is_dir() else 0)
    late = rss_kib(p.pid)
    p.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
    p.wait()
    return early, late, most


def main():
    baro, seconds, keep = sys.argv[1], float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "20MB"
    faults = []
    with tempfile.TemporaryDirectory(prefix="baro-soak-") as folder:
        tape = pathlib.Path(folder) / "m.baro"
        goes_on = os.geteuid() == 0  # record --host makes a new folder each time
        parts = RESTARTS + 1 if goes_on else 1
        for i in range(parts):
            early, late, most = record(baro, tape, keep, seconds / parts, kill=i % 2 == 0)
            print(f"soak: part {i + 1}: memory {early} to {late} KiB, folder {most / 1e6:.1f} MB at most", flush=True)
            if late > early + (GROWS_KIB if seconds / parts >= 60 else SHORT_KIB):
                faults.append(f"memory grew from {early} to {late} KiB")
            if keep.endswith("MB") and most > int(keep[:-2]) * 1e6 * 1.1:
                faults.append(f"the folder had {most} bytes")
        export = [baro, "export", tape, "--entity"]
        rows = subprocess.check_output([*export, "host", "-F", "jsonl"], text=True).splitlines()
        at = [json.loads(r)["t_ns"] for r in rows]
        events = [json.loads(r) for r in subprocess.check_output([*export, "event", "-F", "jsonl"], text=True).splitlines()]
        gaps = [e for e in events if e["event"] == "gap"]
        holes = [(a, b) for a, b in zip(at, at[1:]) if b - a > GAP_NS]
        between = [h for h in holes if not any(h[0] <= g["t_ns"] <= h[1] + GAP_NS for g in gaps)]
        print(f"soak: {len(at)} samples, {len(gaps)} gaps, {len(between)} of {len(holes)} holes without a gap")
        if between or len(gaps) > parts:
            faults.append(f"holes in the tape: {between[:3]}, gaps: {len(gaps)}")
    for fault in faults:
        print(f"soak: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
