#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What record() slows an interpreter down: the shortest benchmarks of pyperformance, in turn with and without it.

    python bench/interpreter.py FOLDER [PAIRS [INTERVAL [NAME...]]]

FOLDER is pyperformance/data-files/benchmarks (PyPI).

One recording; with an INTERVAL (10ms) it has no budget, so that each turn of some 10 ms of CPU time has a sample;
"auto" is the recording as it is without options. Its recorder is stopped (SIGSTOP) in one half of each pair; both
halves follow each other, and which is first changes. CPU time of the process is compared, which a busy machine disturbs
less than the wall clock. Printed are the median of the ratios, the interval in which it lies with a probability of
95 %, and the ratio of the sums.
"""

import argparse
import math
import os
import runpy
import signal
import statistics
import sys
import tempfile
import time
import types

NAMES = ("unpack_sequence", "json_loads", "logging", "deepcopy", "typing_runtime_protocols")
TURN = 0.01  # seconds of CPU time


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


def compare(function, pairs, interval):
    import barograph

    calls, ratios, sums = calls_of(function), [], {True: 0.0, False: 0.0}
    overhead = None if interval == "auto" else "off"
    with barograph.record("t.baro", interval=interval, overhead=overhead, force=True, strict=True) as rec:
        recorder = rec.tape.header.recorder_pid
        for number in range(pairs):
            found = {}
            for recorded in (number % 2 == 0, number % 2 == 1):
                os.kill(recorder, signal.SIGCONT if recorded else signal.SIGSTOP)
                found[recorded] = turn(function, calls)
                sums[recorded] += found[recorded]
            ratios.append(found[True] / found[False] - 1)
        os.kill(recorder, signal.SIGCONT)
    ratios.sort()
    half = 0.98 * math.sqrt(pairs)  # of the ranks between which the median lies
    low, high = ratios[max(0, int(pairs / 2 - half))], ratios[min(pairs - 1, math.ceil(pairs / 2 + half))]
    return statistics.median(ratios), low, high, sums[True] / sums[False] - 1, len(list(rec.tape))


def main(folder, pairs, interval, names):
    folder = os.path.abspath(folder)
    os.chdir(tempfile.mkdtemp(prefix="barograph-bench-"))
    for name in names:
        _, function = load(folder, name)
        found = compare(function, pairs, interval)
        median, low, high, of_sums = (f"{value * 100:+.2f}" for value in found[:4])
        print(f"{name:<26} {median} % ({low} to {high}), of the sums {of_sums} %, {found[4]} samples", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    given = [*sys.argv[2:4], *("1000", "10ms")[len(sys.argv[2:4]) :]]
    main(sys.argv[1], int(given[0]), given[1], sys.argv[4:] or NAMES)
