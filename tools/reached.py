#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chooses the end-to-end tests that ./check repeats under sanitizers, and writes the others to tests/e2e/covered.txt.

    tools/reached.py [SHARE]

Builds with clang's coverage (tools/reached.c) into build-reached/build, runs the unit tests and fuzz corpora, then one
case of each end-to-end test. Tests are chosen by how many places of the code they reach for their CPU time, until the
chosen ones reach SHARE (0.96) of what all reach beyond the unit tests. Needs clang and llvm-symbolizer
(tools/deps.sh full fuzz).

As a plug-in of pytest (-p reached) it lets each test note what it reaches.
"""

import collections
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[1]
FOLDER = SOURCE / "build-reached" / "build"
RUNTIME = SOURCE / "build-reached" / "reached.o"
LIST = SOURCE / "tests" / "e2e" / "covered.txt"
LEAST_SECONDS = 0.15  # what a test costs besides the CPU time of its children that were waited for

# ---- the plug-in ----------------------------------------------------------------------------------------------------


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    name = item.nodeid.partition("[")[0].partition("@")[0]
    place = pathlib.Path(os.environ["REACHED_ROOT"], "e2e-" + re.sub(r"\W+", "_", name))
    place.mkdir(exist_ok=True)
    place.chmod(0o777)
    os.environ["REACHED"] = str(place)
    before = cpu_seconds()
    yield
    (place / "cost").write_text(json.dumps([name, cpu_seconds() - before]))


# ---- the build ------------------------------------------------------------------------------------------------------


def build(*targets):
    subprocess.run([SOURCE / "tools" / "build.sh", FOLDER, "-Dstatic=false", "-Db_lundef=false",
                    "-Dc_args=['-fsanitize-coverage=trace-pc-guard,pc-table','-g1']", f"-Dc_link_args=['{RUNTIME}']"],
                   env=dict(os.environ, CC="clang", TARGETS=" ".join(targets)), check=True)


def executables():
    """Those that are built by default. libbaro.a is left out: it can't have the names of tools/reached.c."""
    targets = json.loads((FOLDER / "meson-info" / "intro-targets.json").read_text())
    return [os.path.relpath(path, FOLDER) for target in targets for path in target["filename"]
            if target["type"] == "executable" and target["build_by_default"]]


# ---- what was reached -----------------------------------------------------------------------------------------------


def run_units(root):
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", FOLDER], text=True))
    place = root / "units"
    place.mkdir()
    for test in tests:
        if any(suite.split(":")[-1] in ("unit", "fuzz") for suite in test["suite"]):
            env = dict(os.environ, REACHED=str(place), **test["env"])
            subprocess.run(test["cmd"], env=env, cwd=test["workdir"] or FOLDER, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_e2e(root):
    LIST.write_text("")
    env = dict(os.environ, REACHED_ROOT=str(root), BARO=str(FOLDER / "baro"), BARO_SANITIZED="1",
               PYTHONPATH=str(SOURCE / "tools"), LC_ALL="C.UTF-8")
    subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reached", "-n", "4",
                    "--dist", "loadgroup", "tests/e2e"], cwd=SOURCE, env=env, check=False, stdin=subprocess.DEVNULL)


def lines_of_places(root):
    """Returns for PROGRAM.PLACES the line of the source of each place. Programs with as many places as most are
    libbaro.so in different programs."""
    files = list((root / "addresses").iterdir())
    built = {path.name: path for path in FOLDER.rglob("*") if os.access(path, os.X_OK) and path.is_file()}
    library = collections.Counter(path.suffix for path in files).most_common(1)[0][0]
    lines = {}
    for path in files:
        program = next(FOLDER.glob("libbaro.so.*.*")) if path.suffix == library else built.get(path.stem)
        if not program:
            continue
        done = subprocess.run(["llvm-symbolizer-14", f"--obj={program}", "--functions=none", "--inlining=false",
                               "--output-style=GNU"], input=path.read_text(), capture_output=True, text=True, check=True)
        found = [os.path.relpath(line.split(" (")[0], SOURCE) for line in done.stdout.splitlines() if line.strip()]
        lines[path.name] = found
    return lines


def reached(place, lines):
    found = set()
    for path in place.glob("*.hit"):
        at = lines.get(path.stem, ())
        found |= {at[i] for i, hit in enumerate(path.read_bytes()[: len(at)]) if hit and at[i].startswith("src/")}
    return found


def choose(tests, units, share):
    """tests: name -> (seconds of CPU, lines). Returns the names of the chosen tests."""
    left = set().union(*(lines for _, lines in tests.values())) - units
    allowed = len(left) * (1 - share)
    chosen = {}
    while len(left) > allowed:
        name = max(tests, key=lambda name: len(tests[name][1] & left) / (LEAST_SECONDS + tests[name][0]))
        chosen[name] = tests[name][0]
        left -= tests[name][1]
    return chosen


def write_list(covered):
    files = collections.defaultdict(list)
    for name in covered:
        path, function = name.split("::", 1)
        files[pathlib.Path(path).name].append(function)
    text = ("# Tests that reach hardly any line of C that no other test reaches, made by tools/reached.py: ./check does\n"
            "# not repeat them under sanitizers; ./check --full does.\n")
    for path in sorted(files):
        text += "".join(f"{path}::{function}\n" for function in sorted(files[path]))
    LIST.write_text(text)


def main():
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.96
    with tempfile.TemporaryDirectory(prefix="reached-") as scratch:
        root = pathlib.Path(scratch)
        (root / "addresses").mkdir()
        RUNTIME.parent.mkdir(exist_ok=True)
        for path in (root, root / "addresses"):
            path.chmod(0o777)
        subprocess.run(["clang", "-O2", "-fPIC", "-c", SOURCE / "tools" / "reached.c", "-o", RUNTIME], check=True)
        build("unit-programs", "fuzz-programs")
        build(*executables())
        run_units(root)
        run_e2e(root)
        lines = lines_of_places(root)
        units = reached(root / "units", lines)
        tests = {}
        for place in root.glob("e2e-*"):
            name, seconds = json.loads((place / "cost").read_text())
            tests[name] = (seconds, reached(place, lines))
    chosen = choose(tests, units, share)
    write_list(set(tests) - set(chosen))
    print(f"{len(chosen)} of {len(tests)} tests, {sum(chosen.values()):.0f} of {sum(t[0] for t in tests.values()):.0f} s"
          f" of CPU time, reach {share:.1%} of what all reach beyond the unit tests")


if __name__ == "__main__":
    main()
