# SPDX-License-Identifier: Apache-2.0
"""GPUs by the made-up driver of tests/e2e/fake_nvml.c: found by a recorder that the package starts, and named as MLflow's own
monitor names them."""

import importlib.util
import os
import pathlib
import sys

import pytest
from conftest import INSTALLED, poll

import barograph
from barograph import _where
from barograph.mlflow import _names, _points

E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"


@pytest.fixture
def driver(tmp_path, tmp_path_factory, monkeypatch):
    if INSTALLED or not os.path.exists(os.path.join(os.path.dirname(_where.baro()), "baro-gpu")):
        pytest.skip("needs the tree, and baro-gpu in its build")
    spec = importlib.util.spec_from_file_location("e2e_gpu", E2E / "nvidia.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    gpus = made.Gpus(tmp_path, made.fake_library(tmp_path_factory))
    for name, value in gpus.env.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, str(value))
    return gpus


def read_twice(rec):
    """Two readings, with the same device busy at both."""

    def readings():
        return {gpu.busy_ns for sample in rec.tape for gpu in sample.entities("gpu") if gpu.name == "gpu0"}

    poll(lambda: len(readings()) > 2, "readings of the GPU")


def test_names_of_mlflow(driver):
    driver.write("0 util 40", "0 power 350", "0 used 2000000000", "1 mig 7", devices=2)
    with barograph.record("t.baro", interval="100ms", strict=True) as rec:
        read_twice(rec)
    namer, before, points = _names.Namer("system", None), None, []
    for sample in rec.tape:
        points.append(namer.point(sample, before))
        before = sample
    last = {key: value for point in points for key, value in point.items() if key.startswith("system/gpu_")}
    names = ("memory_usage_megabytes", "memory_usage_percentage", "utilization_percentage", "power_usage_watts", "power_usage_percentage")
    assert {f"system/gpu_0_{name}" for name in names} <= set(last)
    assert last["system/gpu_0_memory_usage_megabytes"] == pytest.approx(2600)  # with 600 MB that are reserved
    assert last["system/gpu_0_memory_usage_percentage"] == pytest.approx(100 * 2.6e9 / 85899345920)
    assert last["system/gpu_0_power_usage_watts"] == pytest.approx(350)
    assert last["system/gpu_0_power_usage_percentage"] == pytest.approx(50)
    busy = [point["system/gpu_0_utilization_percentage"] for point in points if "system/gpu_0_utilization_percentage" in point]
    assert busy and busy[-1] == pytest.approx(40, abs=1)
    assert len(busy) < len(points)  # one value for each reading, not for each sample
    assert not [key for key in last if "mig" in key or key.startswith("system/gpu_2")]


def test_without_gpus(driver):
    driver.write()
    with barograph.record("t.baro", interval="50ms", gpu=False, strict=True) as rec:
        poll(lambda: len(list(rec.tape)) > 5, "samples")
    assert not any(sample.entities("gpu") for sample in rec.tape)
    done = barograph.run([sys.executable, "-c", "pass"], gpu=False, tape="u.baro")
    assert done.returncode == 0 and not any(sample.entities("gpu") for sample in done.tape)


def test_means_and_peaks():
    points = [{"system/gpu_0_utilization_percentage": 20.0, "system/gpu_0_power_usage_watts": 5.0},
              {"system/gpu_0_utilization_percentage": 40.0, "system/gpu_0_power_usage_watts": 3.0}]  # fmt: skip
    assert _points.merged(points) == {"system/gpu_0_utilization_percentage": 30.0, "system/gpu_0_power_usage_watts": 5.0}
