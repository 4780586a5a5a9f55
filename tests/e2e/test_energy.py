# SPDX-License-Identifier: Apache-2.0
"""Energy of CPUs and memory by powercap, on a tree that a test writes: what is added up, counters that wrap, and
meters that may not be read or say nonsense."""

import json
import os

import pytest
from conftest import PATIENCE
from nvidia import WAIT, poll, rows


class Powercap:
    def __init__(self, work):
        self.root = work / "root"
        self.base = self.root / "sys" / "class" / "powercap"
        self.env = {"BARO_GPU_ROOT": self.root}

    def zone(self, path, name, uj, most=262143328850):
        folder = self.base / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "name").write_text(name + "\n")
        (folder / "max_energy_range_uj").write_text(f"{most}\n")
        self.set(path, uj)

    def set(self, path, uj):
        (self.base / path / "energy_uj").write_text(f"{uj}\n")


@pytest.fixture
def powercap(work):
    return Powercap(work)


def recorded(run, tape, powercap, change):
    """Records, changes the tree after the first reading, and returns the last row of each meter."""
    p = run.popen("run", "-q", "-i", "200ms", "-o", tape, "--", "sh", "-c", WAIT, env=powercap.env)
    try:
        poll(lambda: rows(run, tape, "energy"), "the first reading")
        change()
    finally:
        (run.work / "go").touch()
        assert p.wait(timeout=PATIENCE) == 0
    return {r["name"]: r for r in run.export(tape, "energy")}


def test_what_is_added_up(run, tape, powercap):
    """package and dram, each once: core is within, psys is more, mmio is the package again, and dies of one socket
    show the same counter. One wraps, and one that is switched off says far more than its range."""
    powercap.zone("intel-rapl:0", "package-0", 1000)
    powercap.zone("intel-rapl:0:0", "core", 500)
    powercap.zone("intel-rapl:0:1", "dram", 100)
    powercap.zone("intel-rapl:1", "psys", 5000)
    powercap.zone("intel-rapl:2", "package-1", 777)
    powercap.zone("intel-rapl:3", "package-2", 777)
    powercap.zone("intel-rapl:4", "package-3", 262_143_000_000)
    powercap.zone("intel-rapl:5", "package-4", 60293987000000)
    powercap.zone("intel-rapl-mmio:0", "package-0", 1000)

    def change():
        for path, uj in (("intel-rapl:0", 11_001_000), ("intel-rapl:0:0", 8_000_500), ("intel-rapl:0:1", 2_000_100),
                         ("intel-rapl:1", 30_005_000), ("intel-rapl:2", 4_000_777), ("intel-rapl:3", 4_000_777),
                         ("intel-rapl-mmio:0", 11_001_000), ("intel-rapl:4", 1_671_150)):
            powercap.set(path, uj)

    rows = recorded(run, tape, powercap, change)
    assert {n: (r["energy_joules"], r["counted"]) for n, r in rows.items()} == {
        "package-0": (11, 1), "package-0/core": (8, 0), "package-0/dram": (2, 1), "psys": (30, 0), "package-1": (4, 1),
        "package-2": (4, 0), "package-3": (2, 1), "package-4": (None, 1), "package-0 (mmio)": (11, 0)}
    assert rows["package-3"]["wraps"] == 1
    energy = run.summary(tape)["energy"]
    assert energy["machine_joules"] == pytest.approx(19)
    assert energy["job_is_estimate"] is True and 0 < energy["job_joules"] <= 19
    assert "CPUs and memory 19.0 J" in run("summary", "-v", tape, status=0).stdout


def test_denied(run_ordinary, tape, powercap):
    """As an ordinary user: no helper is started for what can't be read."""
    powercap.zone("intel-rapl:0", "package-0", 1)
    os.chmod(powercap.base / "intel-rapl:0" / "energy_uj", 0o400)
    run_ordinary.work.chmod(0o777)
    run_ordinary.record(tape, "sleep 0.5", env=powercap.env)
    assert not run_ordinary.export(tape, "energy")
    assert run_ordinary.summary(tape)["energy"] is None


def test_carbon_is_arithmetic(run, tape, powercap):
    """Energy times what the user says: 360 J are a ten-thousandth of a kWh. Nothing is on the tape of it."""
    powercap.zone("intel-rapl:0", "package-0", 0)
    recorded(run, tape, powercap, lambda: powercap.set("intel-rapl:0", 360_000_000))
    assert run.summary(tape)["carbon"] is None
    for option in ("350", "350g/kWh", "0.35kg/kWh"):
        found = json.loads(run("summary", "--json", "--carbon", option, tape, status=0).stdout)
        carbon = found["carbon"]
        assert carbon["grams_per_kwh"] == pytest.approx(350)
        assert carbon["machine_grams"] == pytest.approx(0.035)
        assert 0 < carbon["job_grams"] <= carbon["machine_grams"] and found["marks"]["carbon.job_grams"] == "estimate"
        assert carbon["gpu_grams"] is None
    text = run("summary", "-v", "--carbon", "350g/kWh", tape, status=0).stdout
    assert "CPUs and memory 0.035 g" in text and "350 g/kWh as given, times energy" in text
    for wrong in ("", "x", "5g/Wh", "0", "20000", "-1"):
        assert "carbon" in run("summary", "-v", "--carbon", wrong, tape, status=2).stderr


def test_sensors_that_leap(run, tape, powercap):
    """More than any machine takes is a fault of the sensor: it is absent, and no energy."""
    sys = powercap.root / "sys" / "class"
    files = {"hwmon/hwmon0/name": "a", "hwmon/hwmon0/power1_input": 5_000_000,
             "hwmon/hwmon0/power2_input": (1 << 64) - 1, "hwmon/hwmon0/energy1_input": 1000,
             "power_supply/BAT0/type": "Battery", "power_supply/BAT0/status": "Discharging",
             "power_supply/BAT0/current_now": (1 << 64) - 1, "power_supply/BAT0/voltage_now": (1 << 64) - 1}
    for name, value in files.items():
        (sys / name).parent.mkdir(parents=True, exist_ok=True)
        (sys / name).write_text(f"{value}\n")

    def change():
        (sys / "hwmon/hwmon0/energy1_input").write_text(f"{1 << 63}\n")
        (sys / "hwmon/hwmon0/power1_input").write_text(f"{1 << 63}\n")

    rows = recorded(run, tape, powercap, change)
    assert set(rows) == {"a/power1", "a/power2", "a/energy1", "battery/BAT0"}
    for row in rows.values():
        assert row["power_watts"] is None and (row["energy_joules"] or 0) < 1000, row
    assert {rows[name]["energy_joules"] for name in ("a/power2", "battery/BAT0", "a/energy1")} == {None}


def test_hwmon_and_batteries(run, tape, powercap, work):
    """Meters beside RAPL: they are not added to it. A battery counts while it gives; chips of GPUs are theirs."""
    sys = powercap.root / "sys" / "class"
    files = {
        "hwmon/hwmon0/name": "power_meter",
        "hwmon/hwmon0/power1_average": 210_000_000,
        "hwmon/hwmon0/power1_label": "System",
        "hwmon/hwmon1/name": "fam15h_power",
        "hwmon/hwmon1/power1_input": 40_000_000,
        "hwmon/hwmon1/power1_average": 7,
        "hwmon/hwmon1/power1_crit": 1,
        "hwmon/hwmon2/name": "amdgpu",
        "hwmon/hwmon2/power1_average": 5,
        "hwmon/hwmon3/name": "some_chip",
        "hwmon/hwmon3/energy2_input": 1000,
        "hwmon/hwmon3/temp1_input": 30000,
        "power_supply/BAT0/type": "Battery",
        "power_supply/BAT0/status": "Discharging",
        "power_supply/BAT0/current_now": 2_000_000,
        "power_supply/BAT0/voltage_now": 11_000_000,
        "power_supply/AC/type": "Mains",
        "power_supply/mouse/type": "Battery",
        "power_supply/mouse/scope": "Device",
    }
    for name, value in files.items():
        path = sys / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def change():
        (sys / "hwmon/hwmon3/energy2_input").write_text("9001000\n")
        (sys / "power_supply/BAT0/status").write_text("Charging\n")

    rows = recorded(run, tape, powercap, change)
    assert set(rows) == {"power_meter/System", "fam15h_power/power1", "some_chip/energy2", "battery/BAT0"}
    assert all(r["counted"] == 0 for r in rows.values())
    assert rows["power_meter/System"]["power_watts"] == 210 and rows["fam15h_power/power1"]["power_watts"] == 40
    assert rows["some_chip/energy2"]["energy_joules"] == 9
    assert rows["battery/BAT0"]["power_watts"] == 0 and rows["battery/BAT0"]["energy_joules"] > 0
    first = run.export(tape, "energy")
    assert [r["power_watts"] for r in first if r["name"] == "battery/BAT0"][0] == 22
    seconds = (rows["power_meter/System"]["read_at_ns"] - min(r["read_at_ns"] for r in first)) / 1e9
    assert rows["power_meter/System"]["energy_joules"] == pytest.approx(210 * seconds, rel=0.01)
    assert run.summary(tape)["energy"] is None  # nothing of RAPL


# ---- the PMU "power" of perf ----


@pytest.fixture
def pmu(powercap):
    """A PMU in a tree of files whose type and event are those of perf's clock: it counts nanoseconds on CPU 0, here 1
    and 0.5 W."""
    if os.geteuid() != 0 and int(open("/proc/sys/kernel/perf_event_paranoid").read()) > 0:
        pytest.skip("perf_event_open(2) for a whole CPU is not allowed")
    folder = powercap.root / "sys" / "bus" / "event_source" / "devices" / "power"
    (folder / "events").mkdir(parents=True)
    for name, text in (("type", "1"), ("cpumask", "0"), ("events/energy-pkg", "event=0x0"),
                       ("events/energy-pkg.scale", "1e-9"),
                       ("events/energy-pkg.unit", "Joules"), ("events/energy-ram", "event=0x00"),
                       ("events/energy-ram.scale", "0.5e-9"), ("events/energy-cores", "event=0x0"),
                       ("events/energy-cores.scale", "no")):
        (folder / name).write_text(text + "\n")
    return powercap


def watts(run, tape, name):
    meters = [r for r in run.export(tape, "energy") if r["name"] == name and r["read_at_ns"]]
    found = {r["read_at_ns"]: r["energy_joules"] for r in meters}
    first, last = min(found), max(found)
    return (found[last] - found[first]) / (last - first) * 1e9 if last > first else None


@pytest.mark.parametrize("denied", [False, True])
def test_the_pmu_where_powercap_is_not(run, tape, pmu, denied):
    """Absent, or not readable: then what perf counts stands in its place, with the same names, once."""
    if denied:
        pmu.zone("intel-rapl:0", "package-0", 1000)
        (pmu.base / "intel-rapl:0" / "energy_uj").unlink()
        (pmu.base / "intel-rapl:0" / "energy_uj").mkdir()
    rows = recorded(run, tape, pmu, lambda: None)
    assert {n: r["counted"] for n, r in rows.items()} == {"package-0": 1, "package-0/dram": 1}
    assert watts(run, tape, "package-0") == pytest.approx(1, rel=0.05)
    assert watts(run, tape, "package-0/dram") == pytest.approx(0.5, rel=0.05)
    assert rows["package-0"]["wraps"] is None and rows["package-0"]["power_watts"] is None


def test_powercap_before_the_pmu(run, tape, pmu):
    pmu.zone("intel-rapl:0", "package-0", 1000)
    rows = recorded(run, tape, pmu, lambda: pmu.set("intel-rapl:0", 7_001_000))
    assert {n: r["energy_joules"] for n, r in rows.items()} == {"package-0": 7}


def test_a_pmu_without_packages_is_none(run, tape, pmu):
    """As in some virtual machines, which have psys alone: nothing is started for it."""
    folder = pmu.root / "sys" / "bus" / "event_source" / "devices" / "power" / "events"
    (folder / "energy-pkg").rename(folder / "energy-psys")
    (folder / "energy-pkg.scale").rename(folder / "energy-psys.scale")
    run.record(tape, "sleep 0.5", env=pmu.env)
    assert not run.export(tape, "energy")
