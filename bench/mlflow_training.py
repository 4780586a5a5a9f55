#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training with workers, monitored in four ways: what each costs the script and what it finds.

    python bench/mlflow_training.py [ROUNDS [TREES]]             an interpreter with mlflow, scikit-learn, psutil, stouputils
    python bench/mlflow_training.py ROUNDS EPOCHS torch          PyTorch on the CPU, with two workers that load

A way whose package is missing is left out; stouputils is taken from $BAROGRAPH_ORIGINALS (tests/python/compat/originals.py)
where that is set. Each run is a process of its own that logs to a SQLite store. Printed are medians:

own            CPU time of the script's own process in the stretch that is monitored, with the monitor's threads
job            the same with workers and what joblib starts besides, by rusage and /proc/PID/schedstat: what is to be found
found_cpu      what MLflow has of it at the end: the sum of shares by time (stouputils), the summary (barograph)
held_mb        the kernel's mark VmHWM of the script: it holds 400 MB more for 0.3 s
peak_mb        the highest memory that MLflow has of the job
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

WAYS = ("nothing", "mlflow", "stouputils", "barograph")
SCRIPT = """
import contextlib, json, os, resource, sys, time
import mlflow
from mlflow import MlflowClient

way, amount, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if what == "torch":
    import torch
    data = torch.utils.data.TensorDataset(torch.rand(20_000, 100), torch.rand(20_000, 1))
    net = torch.nn.Sequential(torch.nn.Linear(100, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    steps = torch.optim.SGD(net.parameters(), 0.01)
else:
    from joblib.externals.loky import get_reusable_executor
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score
    x, y = make_classification(2000, 20, random_state=0)

def train():
    if what != "torch":
        for _ in range(2):
            cross_val_score(RandomForestClassifier(amount, random_state=0), x, y, cv=4, n_jobs=2)
        return
    for _ in range(amount):
        for inputs, wanted in torch.utils.data.DataLoader(data, 200, num_workers=2):
            steps.zero_grad()
            torch.nn.functional.mse_loss(net(inputs), wanted).backward()
            steps.step()

def used():
    own, theirs = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, theirs.ru_utime + theirs.ru_stime

def left():
    "CPU time of children that were not waited for."
    found = 0
    for pid in open(f"/proc/self/task/{os.getpid()}/children").read().split():
        for task in os.listdir(f"/proc/{pid}/task"):
            found += int(open(f"/proc/{pid}/task/{task}/schedstat").read().split()[0])
    return found / 1e9

def monitor():
    if way == "stouputils" and "BAROGRAPH_ORIGINALS" in os.environ:
        names = {"ORIGINAL": os.environ["BAROGRAPH_ORIGINALS"] + "/stouputils-1.28.0"}
        exec(os.environ["SHIM"], names)
        return names["ProcessMetricsMonitor"](sampling_interval=1)
    if way == "stouputils":
        from stouputils.mlflow.process_metrics_monitor import ProcessMetricsMonitor
        return ProcessMetricsMonitor(sampling_interval=1)
    if way == "barograph":
        import barograph.mlflow
        return barograph.mlflow.record("run.baro", names="baro", force=True)
    return contextlib.nullcontext()

if way == "mlflow":
    mlflow.set_system_metrics_sampling_interval(1)
    mlflow.set_system_metrics_samples_before_logging(1)
with mlflow.start_run(log_system_metrics=way == "mlflow") as run:
    before, began = used(), time.monotonic()
    with monitor() as made:
        held = bytearray(400_000_000)
        time.sleep(0.3)
        del held
        train()
        wall = time.monotonic() - began
        if what != "torch":
            get_reusable_executor().shutdown(wait=True)  # the kernel's count has what was waited for
        there = left()
    after = used()
cpu = [b - a for a, b in zip(before, after)]
mark = next(int(n.split()[1]) for n in open("/proc/self/status") if n.startswith("VmHWM"))
found = {"wall": wall, "own": cpu[0], "job": sum(cpu) + there, "held_mb": mark * 1024 / 1e6}
client = MlflowClient()
def history(key):
    return [m.value for m in client.get_metric_history(run.info.run_id, key)]
if way == "barograph":
    made._hooks[0].upload.wait(120)
    run = client.get_run(run.info.run_id)
    found["found_cpu"] = run.data.metrics["summary/cpu_ns"] / 1e9
    found["peak_mb"] = run.data.metrics["summary/rss_peak_bytes"] / 1e6
    found["points"] = len(history("job/rss_bytes"))
elif way == "stouputils":
    found["peak_mb"] = max(history("process/memory_rss_megabytes")) * 1.048576
    shares = client.get_metric_history(run.info.run_id, "process/cpu_usage_percentage")
    ends = [m.timestamp / 1000 for m in shares]
    found["found_cpu"] = sum(m.value / 100 * (b - a) for m, a, b in zip(shares[1:], ends, ends[1:]))
    found["points"] = len(history("process/memory_rss_megabytes"))
elif way == "mlflow":
    found["points"] = len(history("system/cpu_utilization_percentage"))
print("RESULT", json.dumps(found))
"""


def shim():
    try:
        from originals import STOUPUTILS
    except ImportError:
        return ""  # without pytest
    return STOUPUTILS


def main():
    results = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        sys.path[:0] = [
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "python", *more)
            for more in ((), ("compat",))
        ]
        env = {
            **os.environ,
            "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
            "PYTHONWARNINGS": "ignore",
            "SHIM": shim(),
        }
        rounds, amount, what = (sys.argv[1:] + ["3", "60", "trees"][len(sys.argv) - 1 :])[:3]
        for _ in range(int(rounds)):
            for way in WAYS:
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT, way, amount, what],
                    env=env,
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                line = next((n for n in done.stdout.splitlines() if n.startswith("RESULT ")), None)
                if line is None:
                    print(way, done.stderr[-500:], file=sys.stderr)
                else:
                    results[way].append(json.loads(line.removeprefix("RESULT ")))
                    print(way, results[way][-1], file=sys.stderr, flush=True)
    for way, found in results.items():
        if not found:
            continue
        names = sorted({name for one in found for name in one})
        print(way, {name: round(statistics.median(one[name] for one in found if name in one), 2) for name in names})


if __name__ == "__main__":
    main()
