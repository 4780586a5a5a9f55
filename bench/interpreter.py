#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What record() slows an interpreter down: the shortest benchmarks of pyperformance, in turn with and without it.

    python bench/interpreter.py FOLDER [PAIRS [NAME...]]    FOLDER: pyperformance/data-files/benchmarks (PyPI)

Each turn is some 20 ms of one benchmark's calls; both halves of a pair follow each other, and which is first changes.
CPU time of the process is compared, which a busy machine disturbs less than the wall clock. Printed are the median of
the ratios and the interval in which it lies with a probability of 95 %.
"""

import argparse
import math
import os
import runpy
import statistics
import sys
import tempfile
import time
import types

NAMES = ("unpack_sequence", "json_loads", "logging", "deepcopy", "typing_runtime_protocols")
TURN = 0.02  # seconds of CPU time


class Runner:
    """Takes what a benchmark gives to pyperf.Runner."""

    made = []

    def __init__(self, **_):
        self.argparser, self.metadata, self.args = argparse.ArgumentParser(), {}, None

    def parse_args(self, *_):
        known, _ = self.argparser.parse_known_args([])
        return known

    def bench_func(self, name, function, *arguments, **_):
        self.made.append((name, lambda: function(*arguments)))

    def bench_time_func(self, name, function, *arguments, **_):
        self.made.append((name, lambda: function(1, *arguments)))


def load(folder, name):
    sys.modules["pyperf"] = types.SimpleNamespace(Runner=Runner, perf_counter=time.perf_counter)
    Runner.made = []
    arguments, sys.argv = sys.argv, [name]
    try:
        runpy.run_path(os.path.join(folder, f"bm_{name}", "run_benchmark.py"), run_name="__main__")
    finally:
        sys.argv = arguments
    return Runner.made[0]


def turn(function, calls):
    begun = time.process_time()
    for _ in range(calls):
        function()
    return time.process_time() - begun


def calls_of(function):
    calls = 1
    while turn(function, calls) < TURN / 4:
        calls *= 2
    return max(1, round(calls * TURN / turn(function, calls)))


def compare(function, pairs):
    import barograph

    calls, ratios = calls_of(function), []
    for number in range(pairs):
        found = {}
        for recorded in (number % 2 == 0, number % 2 == 1):
            if recorded:
                with barograph.record("t.baro", force=True, strict=True):
                    found[True] = turn(function, calls)
            else:
                found[False] = turn(function, calls)
        ratios.append(found[True] / found[False] - 1)
    ratios.sort()
    half = 0.98 * math.sqrt(pairs)  # of the ranks between which the median lies
    low, high = ratios[max(0, int(pairs / 2 - half))], ratios[min(pairs - 1, math.ceil(pairs / 2 + half))]
    return statistics.median(ratios), low, high, ratios


def main(folder, pairs, names):
    folder = os.path.abspath(folder)
    os.chdir(tempfile.mkdtemp(prefix="barograph-bench-"))
    everything = []
    for name in names:
        _, function = load(folder, name)
        median, low, high, ratios = compare(function, pairs)
        everything += ratios
        print(f"{name:<26} {median * 100:+.2f} %  ({low * 100:+.2f} to {high * 100:+.2f})", flush=True)
    print(f"{'all':<26} {statistics.median(everything) * 100:+.2f} %")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200, sys.argv[3:] or NAMES)
