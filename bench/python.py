#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs: python.py [ROUNDS]. The package is that of the checkout or the one that is installed.

Times are medians; the slow-down is that of work in the interpreter, with and without a recording in turn."""

import os
import statistics
import subprocess
import sys
import tempfile
import time


def median_ms(values):
    return f"{statistics.median(values) * 1e3:.2f} ms"


def work():
    """About 100 ms: calls, dicts, floats."""
    total, table = 0.0, {}
    for i in range(400_000):
        table[i & 1023] = total
        total += (i * 7919 % 1000) / 3.0
    return total


def timed(function):
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


def importing(code):
    took = []
    for _ in range(15):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def main(rounds):
    import barograph

    os.chdir(tempfile.mkdtemp(prefix="barograph-bench-"))
    path = [p for p in sys.path if p]
    bare = importing("pass")
    for code in ("import barograph", "import barograph; barograph.record", "import barograph; barograph.Tape"):
        print(f"{code:<40} {(importing(f'import sys; sys.path[:0] = {path!r}; {code}') - bare) * 1e3:.1f} ms")

    starts, stops = [], []
    for _ in range(200):
        a = time.perf_counter()
        rec = barograph.record("t.baro", force=True, strict=True).start()
        b = time.perf_counter()
        rec.stop()
        starts.append(b - a)
        stops.append(time.perf_counter() - b)
    print(f"{'start(), stop()':<40} {median_ms(starts)}, {median_ms(stops)}")

    with barograph.record("m.baro", strict=True) as rec:
        marks = []
        for _ in range(100):
            begun = time.perf_counter()
            for _ in range(20):
                rec.mark("epoch", loss=0.1)
            marks.append((time.perf_counter() - begun) / 20)
            time.sleep(0.02)
        print(f"{'mark(name, loss=0.1)':<40} {statistics.median(marks) * 1e6:.2f} us")
        begun = time.perf_counter()
        for _ in range(500):
            with rec.phase("x"):
                pass
        print(f"{'with phase(name)':<40} {(time.perf_counter() - begun) / 500 * 1e6:.2f} us")

    plain, recorded = [], []
    for i in range(rounds):
        plain.append(timed(work))
        with barograph.record(f"{i}.baro", strict=True):
            recorded.append(timed(work))
    for name, which in (("wall", 0), ("CPU time", 1)):
        ratios = sorted(r[which] / p[which] - 1 for p, r in zip(plain, recorded))
        low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
        print(
            f"slow-down of the interpreter, {name:<10} {statistics.median(ratios) * 100:+.2f} % (9 in 10 between {low * 100:+.1f} and {high * 100:+.1f})"
        )
        least = min(r[which] for r in recorded) / min(p[which] for p in plain) - 1
        print(f"{'  least against least':<40} {least * 100:+.2f} %")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
