#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each original and its drop-in cost on the same work at the same time: cost.py [SECONDS [NAME...]]. Each script
is in a control group of its own, whose cpu.stat has all of it: the interpreter, what it starts, recorder and helpers.
Needs root, cgroup v2 and $BAROGRAPH_ORIGINALS."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import originals

def root():
    with open("/proc/self/mounts") as mounts:
        return pathlib.Path(next(line.split()[1] for line in mounts if line.split()[2] == "cgroup2"))


SOURCE = pathlib.Path(__file__).resolve().parents[3]
JOB = """
import os, subprocess, sys, time
held = bytearray(200_000_000)
child = "import time; held = bytearray(20_000_000)\\nwhile True:\\n e = time.process_time() + .02\\n while time.process_time() < e: pass\\n time.sleep(.2)"
children = [subprocess.Popen([sys.executable, "-S", "-c", child]) for _ in range(6)]
print("ready", flush=True)
try: sys.stdin.readline()
finally: [c.kill() for c in children]
"""
MEASURED = """
import json, resource, sys, threading, time
def measured(begin, end):
    print("begun", flush=True); sys.stdin.readline()
    used = resource.getrusage(resource.RUSAGE_SELF)
    begin()
    time.sleep({seconds})
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({{"threads": threading.active_count(), "own": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}}), flush=True)
    sys.stdin.readline()
    end()
pid = int(sys.argv[1])
"""
SCRIPTS = {
    "stouputils": """
import os; os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"; import mlflow
mlflow.set_tracking_uri("file:" + os.getcwd() + "/runs")
with mlflow.start_run():
    monitor = ProcessMetricsMonitor(pid, sampling_interval=1)
    measured(monitor.start, monitor.finish)
""",
    "oasislmf": "monitor = ResourceMonitor('log', 1.0, generate_report=False); measured(lambda: monitor.start(pid), monitor.stop)\n",
    "aurora": """
import collections
Status = collections.namedtuple("Status", "process pid")
class Monitor:
    def get_active_processes(self): return [(Status("work", pid), 1)]
    def get_sandbox(self): return None
monitor = TaskResourceMonitor("t", Monitor(), process_collection_interval=Amount(1, Time.SECONDS), history_time=Amount(10, Time.MINUTES))
measured(monitor.start, monitor.kill)
""",
    "resource_tracker": """
tracker = ResourceTracker(pid, interval=1, discover_cloud=False)
measured(tracker.start, tracker.stop)
""",
    "pytyche": "import pathlib; monitor = HWMonitor(); measured(lambda: monitor.start(pathlib.Path('out'), 1), monitor.stop)\n",
}


def preludes(name):
    def of(release):
        return f"ORIGINAL = {str(originals.need(release))!r}\n"

    theirs = {
        "stouputils": lambda: of("stouputils-1.28.0") + originals.STOUPUTILS,
        "oasislmf": lambda: of("oasislmf-2.5.8") + originals.FILE.format(path="oasislmf/execution/resource_monitor.py"),
        "aurora": lambda: of("aurora") + originals.AURORA_ORIGINAL,
        "resource_tracker": lambda: (
            of("resource_tracker-0.5.0")
            + "import sys; sys.path.insert(0, ORIGINAL)\nfrom resource_tracker import ResourceTracker\n"
        ),
        "pytyche": lambda: of("pytyche-0.2.1") + originals.FILE.format(path="pytyche/diagnostics/run_monitor.py"),
    }
    return theirs[name](), f"from barograph.compat.{name} import *\n"


def cpu_of(group):
    return int((group / "cpu.stat").read_text().split()[1]) / 1e6


def empty(group):
    """Recorder and helpers end by themselves."""
    for _ in range(400):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def measure(name, seconds, folder):
    environment = {**os.environ, "BAROGRAPH_BARO": str(SOURCE / "build/baro"), "BAROGRAPH_LIBBARO": str(SOURCE / "build/libbaro.so.0"),
                   "PYTHONPATH": str(SOURCE / "python"), "BARO_DIR": str(folder / "runs"), "BARO_ANNOUNCED": ""}
    job = subprocess.Popen([sys.executable, "-S", "-c", JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    job.stdout.readline()
    groups, scripts = [], []
    for side, prelude in zip(("theirs", "ours"), preludes(name)):
        group = root() / f"compat-cost-{os.getpid()}-{name}-{side}"
        group.mkdir()
        groups.append(group)
        place = folder / name / side
        place.mkdir(parents=True)
        # Tools are named there as a monitored program would be, not in this command line.
        path = place / "script.py"
        path.write_text(prelude + MEASURED.format(seconds=seconds) + SCRIPTS[name])
        scripts.append(subprocess.Popen([sys.executable, "-W", "ignore", path, str(job.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=place, env=environment, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda g=group: (g / "cgroup.procs").write_text(str(os.getpid()))))
    try:
        for script in scripts:
            assert script.stdout.readline() == "begun\n"
        before = [cpu_of(group) for group in groups]
        for script in scripts:
            script.stdin.write("go\n")
            script.stdin.flush()
        results = [json.loads(script.stdout.readline()) for script in scripts]
        whole = [cpu_of(group) - b for group, b in zip(groups, before)]
        for script in scripts:
            script.communicate("end\n", timeout=100)
    finally:
        for script in scripts:
            script.kill()
        job.communicate(b"\n")
        for group in groups:
            empty(group)
    (theirs, ours) = results
    print(f"{name:17} script {theirs['own'] * 1e3:7.1f} {ours['own'] * 1e3:7.1f} ms   all {whole[0] * 1e3:7.1f} {whole[1] * 1e3:7.1f} ms   "
          f"{whole[0] / whole[1]:5.1f} times   threads {theirs['threads']} {ours['threads']}", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory(prefix="compat-cost-") as folder:
        for name in sys.argv[2:] or SCRIPTS:
            measure(name, seconds, pathlib.Path(folder))


if __name__ == "__main__":
    main()
