# SPDX-License-Identifier: Apache-2.0
"""GPUs by the made-up driver of tests/e2e/fake_nvml.c: found by a recorder that the package starts, and named as
MLflow's own monitor names them."""

import sys
import types

import pytest
from conftest import poll

import barograph
from barograph.mlflow import _names


def read_twice(rec):
    """Two readings, with the same device busy at both."""

    def readings():
        return {gpu.busy_ns for sample in rec.tape for gpu in sample.entities("gpu") if gpu.name == "gpu0"}

    poll(lambda: len(readings()) > 2, "readings of the GPU")


def test_names_of_mlflow(driver):
    # without a buffer, whose values end at times of their own: a short last interval has one more or less
    driver.write("0 buffer none", "0 util 40", "0 power 350", "0 used 2000000000", "1 mig 7", devices=2)
    with barograph.record("t.baro", interval="100ms", strict=True) as rec:
        read_twice(rec)
    namer, before, points = _names.Namer("system", None), None, []
    for sample in rec.tape:
        points.append(namer.point(sample, before))
        before = sample
    last = {key: value for point in points for key, value in point.items() if key.startswith("system/gpu_")}
    names = ("memory_usage_megabytes", "memory_usage_percentage", "utilization_percentage", "power_usage_watts",
             "power_usage_percentage")
    assert {f"system/gpu_0_{name}" for name in names} <= set(last)
    assert last["system/gpu_0_memory_usage_megabytes"] == pytest.approx(2600)  # with 600 MB that are reserved
    assert last["system/gpu_0_memory_usage_percentage"] == pytest.approx(100 * 2.6e9 / 85899345920)
    assert last["system/gpu_0_power_usage_watts"] == pytest.approx(350)
    assert last["system/gpu_0_power_usage_percentage"] == pytest.approx(50)
    key = "system/gpu_0_utilization_percentage"
    busy = [point[key] for point in points if key in point]
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


# ---- allocators of frameworks ---------------------------------------------------------------------------------------


class FakeTorch:
    """torch.cuda as far as it is asked: a made-up module, as torch for CPUs has no allocator of a GPU."""

    def __init__(self, initialized=True, fails=False):
        self.cuda = self
        self.initialized, self.fails = initialized, fails

    def is_initialized(self):
        return self.initialized

    def device_count(self):
        if not self.initialized:
            raise AssertionError("a GPU would be opened")
        if self.fails:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return 2

    def max_memory_allocated(self, i):
        return (61_000_000_000, 0)[i]

    def max_memory_reserved(self, i):
        return (70_000_000_000, 2_097_152)[i]


class FakeJax:
    class Device:
        def __init__(self, platform, stats):
            self.platform, self.stats = platform, stats

        def memory_stats(self):
            return self.stats

    def local_devices(self):
        return [self.Device("gpu", {"bytes_in_use": 5, "peak_bytes_in_use": 7_000}), self.Device("cpu", None),
                self.Device("cuda", None)]


def marked(monkeypatch, **modules):
    for name in ("torch", "jax", "jax._src.xla_bridge"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, "jax._src.xla_bridge" if name == "bridge" else name, module)
    with barograph.record("a.baro", interval="50ms", gpu=False, strict=True, force=True) as rec:
        pass
    return [(m.name, m.attributes) for m in rec.tape.marks]


def test_peaks_of_allocators_are_marks(monkeypatch):
    """No GPU is opened for it, and nothing fails: of a half imported torch, and of jax whose backends are not open."""
    bridge, none = types.SimpleNamespace(_backends={"cuda": 1}), types.SimpleNamespace(_backends={})
    of_torch = ("torch", {"gpu0_peak_bytes": 61e9, "gpu0_reserved_peak_bytes": 70e9, "gpu1_peak_bytes": 0,
                          "gpu1_reserved_peak_bytes": 2097152})
    for modules, marks in (({}, []), ({"torch": FakeTorch()}, [of_torch]), ({"torch": FakeTorch(initialized=False)}, []),
                           ({"torch": FakeTorch(fails=True)}, []), ({"torch": types.SimpleNamespace()}, []),
                           ({"jax": FakeJax()}, []), ({"jax": FakeJax(), "bridge": none}, []),
                           ({"jax": FakeJax(), "bridge": bridge}, [("jax", {"gpu0_peak_bytes": 7000})])):
        assert marked(monkeypatch, **modules) == marks, modules
    assert marked(monkeypatch) == []
    monkeypatch.setitem(sys.modules, "torch", FakeTorch())
    with barograph.record("a.baro", gpu=False, strict=True, force=True) as rec:
        assert rec.mark_allocators()["torch"]["gpu0_peak_bytes"] == 61_000_000_000
    assert [m.name for m in rec.tape.marks] == ["torch", "torch"]
