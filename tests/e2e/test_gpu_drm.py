# SPDX-License-Identifier: Apache-2.0
"""GPUs of DRM by trees of /sys and /proc that a test writes: devices of amdgpu, i915 and xe, and what each process of
the job used of them by fdinfo."""

import pytest
from conftest import PATIENCE
from nvidia import GIB, JOB, WAIT, poll, rate, readings, rows, warnings

MIB = 1 << 20


class Tree:
    def __init__(self, work):
        self.work = work
        self.root = work / "root"
        self.env = {"BARO_GPU_ROOT": self.root}

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(f"{text}\n")
        fresh.rename(path)

    def card(self, n, driver, bus, files, card_files=None):
        """/sys as the kernel has it: the card's link to its device, and the device's to its driver."""
        device = self.root / "sys" / "devices" / bus
        device.mkdir(parents=True)
        (self.root / "sys" / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (device / "driver").symlink_to(f"../../drivers/{driver}")
        folder = self.root / "sys" / "class" / "drm" / f"card{n}"
        folder.mkdir(parents=True)
        (folder / "device").symlink_to(f"../../../devices/{bus}")
        for name, value in files.items():
            self.write(f"sys/devices/{bus}/{name}", value)
        for name, value in (card_files or {}).items():
            self.write(f"sys/class/drm/card{n}/{name}", value)

    def client(self, pid, fd, *lines, to="/dev/dri/renderD128"):
        """One descriptor of a process. What the helper may look at in between has its fdinfo, as in /proc."""
        folder = self.root / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True, exist_ok=True)
        self.write(f"proc/{pid}/fdinfo/{fd}", "pos:\t0\nflags:\t02\n" + "\n".join(lines))
        if not (folder / "fd" / str(fd)).is_symlink():
            (folder / "fd" / str(fd)).symlink_to(to)


@pytest.fixture
def tree(work):
    return Tree(work)


def recorded(run, tape, tree, steps, conditions, job=JOB):
    """Records; each step gets the job's pid and changes the tree, after the condition before it holds."""
    p = run.popen("run", "-q", "-i", "200ms", "-o", tape, "--", "sh", "-c", job, env=tree.env)
    try:
        poll(lambda: (run.work / "pid").exists() and (run.work / "pid").read_text().strip(), "the pid")
        pids = [int(w) for w in (run.work / "pid").read_text().split()]
        for step, condition in zip(steps, conditions):
            step(*pids)
            poll(condition, "what the step changes")
    finally:
        (run.work / "go").touch()
        assert p.wait(timeout=PATIENCE) == 0
    return rows(run, tape), rows(run, tape, "gpu_process")


AMD = {"gpu_busy_percent": 75, "mem_busy_percent": 20, "mem_info_vram_used": 3 * GIB, "mem_info_vram_total": 16 * GIB,
       "mem_info_gtt_used": 64 * MIB, "product_name": "Radeon RX 7800", "power/runtime_status": "active",
       "hwmon/hwmon4/power1_average": 150000000, "hwmon/hwmon4/power1_cap": 263000000,
       "hwmon/hwmon4/temp1_input": 61000, "hwmon/hwmon4/freq1_input": 2400000000}


def amd_client(client, gfx_ns, vram_kib, extra=()):
    return ["drm-driver:\tamdgpu", f"drm-client-id:\t{client}", "drm-pdev:\t0000:0a:00.0",
            f"drm-memory-vram:\t{vram_kib} KiB", "drm-memory-gtt: \t2048 KiB", f"drm-engine-gfx:\t{gfx_ns} ns", *extra]


def test_clients_count_once(run, tape, tree):
    """One client by four descriptors of two processes is one; a second client of the same process adds to it."""
    tree.card(0, "amdgpu", "0000:0a:00.0", AMD)
    job = f"sleep 1000 & echo $$ $! > pid; {WAIT}; kill $!"

    def begin(pid, child):
        for who, fd in ((pid, 5), (pid, 6), (child, 5), (child, 7)):
            tree.client(who, fd, *amd_client(1, 10**12, 1024 * 1024))
        tree.client(pid, 3, "eventfd-count: 0", to="anon_inode:[eventfd]")

    def go_on(pid, child):
        for who, fd in ((pid, 5), (pid, 6), (child, 5), (child, 7)):
            tree.client(who, fd,
                        *amd_client(1, 10**12 + 300_000_000, 2 * 1024 * 1024, ["drm-engine-dec:\t50000000 ns"]))
        tree.client(pid, 9, *amd_client(2, 0, 512 * 1024))

    def go_back(pid, child):
        """Values of a client may go back: the larger one holds until it is passed."""
        tree.client(pid, 5, *amd_client(1, 10**12, 2 * 1024 * 1024, ["drm-engine-dec:\t50000000 ns"]))

    devices, mine = recorded(
        run, tape, tree, [begin, go_on, go_back],
        [lambda: any(r["memory_job_bytes"] == GIB for r in rows(run, tape)),
         lambda: any(r["memory_job_bytes"] == 2 * GIB + 512 * MIB for r in rows(run, tape)),
         lambda: len(readings(rows(run, tape), "card0")) >= 5], job)
    pid = int((run.work / "pid").read_text().split()[0])
    row = [r for r in readings(devices, "card0") if r["memory_job_bytes"]][-1]
    assert (row["memory_job_bytes"], row["memory_job_peak_bytes"]) == (2 * GIB + 512 * MIB,) * 2
    assert row["processes_job"] == 1 and row["processes_others"] is None
    assert row["memory_others_bytes"] is None and row["memory_unattributed_bytes"] is None
    assert (row["system_memory_bytes"], row["memory_used_bytes"]) == (64 * MIB, 3 * GIB)
    assert {r["owner_pid"] for r in mine} == {pid}
    last = [r for r in mine if r["memory_bytes"]][-1]
    # the growth from the second step on, or with the first one, since the client was not there before
    assert last["busy_ns"] - min(r["busy_ns"] for r in mine) == 300_000_000
    assert last["decoder_busy_ns"] == 50_000_000 and last["encoder_busy_ns"] == last["copy_busy_ns"] == 0
    assert last["system_memory_bytes"] == 4 * MIB
    assert last["memory_peak_bytes"] == 2 * GIB + 512 * MIB
    assert row["busy_job_ns"] - min(r["busy_job_ns"] or 0 for r in devices) >= 300_000_000


def test_rocm_is_not_idle(run, tape, tree):
    """Compute of ROCm is not in fdinfo: use is absent, not 0, and what it holds is in the compute driver's file."""
    tree.card(0, "amdgpu", "0000:0a:00.0", AMD)
    tree.write("sys/class/kfd/kfd/topology/nodes/0/properties", "location_id 0\ndomain 0")
    tree.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0")
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties", f"simd_count 4\nlocation_id {0x0a00}\ndomain 0")
    tree.write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "4711")

    def begin(pid):
        tree.write(f"sys/class/kfd/kfd/proc/{pid}/vram_4711", 5 * GIB)
        tree.client(pid, 5, *amd_client(1, 0, 1024))

    devices, mine = recorded(run, tape, tree, [begin], [lambda: any(r["memory_job_bytes"] for r in rows(run, tape))])
    last = [r for r in mine if r["memory_bytes"]][-1]
    assert last["memory_bytes"] == 5 * GIB and last["busy_ns"] is None
    assert [r for r in readings(devices, "card0") if r["memory_job_bytes"]][-1]["busy_job_ns"] is None


def test_hybrid_of_intel(run, tape, tree):
    """An integrated GPU of i915 and a discrete one of xe: cycles, capacities, memory of the machine and of the card."""
    tree.card(0, "i915", "0000:00:02.0", {"power/runtime_status": "active"},
              {"gt_act_freq_mhz": 350, "gt_cur_freq_mhz": 300, "gt_max_freq_mhz": 1300})
    tree.card(1, "xe", "0000:03:00.0",
              {"tile0/gt0/freq0/act_freq": 2400, "tile0/gt0/freq0/max_freq": 2850, "hwmon/hwmon3/energy1_input": 10**9,
               "hwmon/hwmon3/power1_max": 190000000, "hwmon/hwmon3/temp2_input": 55000,
               "hwmon/hwmon3/temp3_input": 60000})
    tree.card(2, "ast", "0000:05:00.0", {})  # the graphics of a management controller is no GPU

    def xe(cycles, total):
        return ["drm-driver:\txe", "drm-client-id:\t3", "drm-pdev:\t0000:03:00.0", "drm-total-system:\t0",
                "drm-total-vram0:\t1024 MiB", "drm-resident-vram0:\t1000 MiB", f"drm-cycles-ccs:\t{cycles}",
                f"drm-total-cycles-ccs:\t{total}", "drm-engine-capacity-ccs:\t4"]

    def i915(render):
        return ["drm-driver:\ti915", "drm-pdev:\t0000:00:02.0", "drm-client-id:\t3",
                "drm-resident-system0:\t64 MiB", "drm-resident-stolen-system0:\t8 MiB",
                f"drm-engine-render:\t{render} ns", "drm-engine-video:\t0 ns", "drm-engine-capacity-video:\t2"]

    def begin(pid):
        tree.client(pid, 5, *i915(7))
        tree.client(pid, 6, *xe(0, 1000))

    def go_on(pid):
        """Half of its 4 engines since the reading before."""
        tree.write("sys/devices/0000:03:00.0/hwmon/hwmon3/energy1_input", 10**9 + 77 * 10**6)
        tree.client(pid, 5, *i915(200_000_007))
        tree.client(pid, 6, *xe(2000, 2000))

    def seen(name, *columns):
        return any(r["name"] == name and all(r[c] for c in columns) for r in rows(run, tape, "gpu_process"))

    devices, mine = recorded(run, tape, tree, [begin, go_on],
                             [lambda: seen("card0", "memory_bytes") and seen("card1", "memory_bytes"),
                              lambda: seen("card0", "busy_ns") and seen("card1", "busy_ns")])
    assert {r["name"] for r in devices} == {"card0", "card1"}
    one, two = (readings(devices, n)[-1] for n in ("card0", "card1"))
    assert (one["label"], one["clock_hertz"], one["clock_most_hertz"]) == ("Intel", 350e6, 1300e6)
    assert one["busy_ns"] is None and one["energy_joules"] is None and one["memory_used_bytes"] is None
    assert (two["clock_hertz"], two["energy_joules"], two["energy_estimated"]) == (2.4e9, 77, 0)
    assert (two["power_limit_watts"], two["temperature_celsius"], two["memory_temperature_celsius"]) == (190, 55, 60)
    assert max(r["power_watts"] or 0 for r in devices) > 0
    by = {n: [r for r in mine if r["name"] == n and r["memory_bytes"]] for n in ("card0", "card1")}
    assert by["card0"][-1]["memory_bytes"] == by["card0"][-1]["system_memory_bytes"] == 64 * MIB
    assert by["card1"][-1]["memory_bytes"] == 1000 * MIB
    assert by["card0"][-1]["busy_ns"] - by["card0"][0]["busy_ns"] in (200_000_000, 200_000_007)
    grown = [r for r in by["card1"] if r["busy_ns"]]
    steps = sorted({r["read_at_ns"] for r in by["card1"]})
    before = [t for t in steps if t < grown[0]["read_at_ns"]][-1]
    # half of a second at least, and no more than half of the time since the reading before, of which a slow recorder
    # may have passed one
    assert 450_000_000 < grown[0]["busy_ns"] <= 1.1 * (grown[0]["read_at_ns"] - before) / 2
    assert not [w for w in warnings(run, tape) if "GPU" in w]


def test_no_card_that_computes(run, tape, tree):
    """Nothing is started for what a server or a virtual machine has."""
    tree.card(0, "ast", "0000:05:00.0", {})
    tree.card(1, "virtio-pci", "0000:06:00.0", {})
    run.record(tape, "sleep 0.5", env=tree.env)
    assert not run.export(tape, "gpu")


NO_JOB = {name: None for name in ("memory_job_bytes", "memory_job_peak_bytes", "busy_job_ns", "processes_job")}
# Driver of the device, its bus and files; lines of the process's client, which has the driver's name, and None where it
# has none; what the process has of the device, and what the device's row says.
CARDS = [
    # It measures no times unless an administrator wants it.
    ("panfrost", "ff9a0000.gpu", {},
     ["drm-maxfreq-fragment:\t799999987 Hz", "drm-curfreq-fragment:\t799999987 Hz", "drm-total-memory:\t64 MiB",
      "drm-resident-memory:\t32 MiB"],
     {"memory_bytes": 32 * MIB, "busy_ns": None}, {"memory_job_bytes": 32 * MIB, "busy_job_ns": None}),
    # It never does.
    ("etnaviv", "etnaviv", {}, ["drm-total-memory:\t16 MiB", "drm-shared-memory:\t0"],
     {"memory_bytes": 16 * MIB, "busy_ns": None}, {"memory_job_bytes": 16 * MIB, "busy_job_ns": None}),
    # Before 6.8 it does not say what memory a client has.
    ("i915", "0000:00:02.0", {}, ["drm-engine-render:\t7 ns"],
     {"memory_bytes": None}, {"memory_job_bytes": None, "memory_job_peak_bytes": None}),
    # There are no lines of engines that are idle.
    ("amdgpu", "0000:0a:00.0", AMD, ["drm-memory-vram:\t1024 KiB"], {"busy_ns": 0}, {"busy_job_ns": 0}),
    # Memory on the chip is not the machine's.
    ("amdgpu", "0000:0b:00.0", AMD,
     ["drm-memory-vram:\t1024 KiB", "drm-memory-gtt: \t2048 KiB", "drm-engine-gfx:\t5 ns", "drm-resident-cpu:\t64 KiB",
      *(f"drm-resident-{name}:\t4 MiB" for name in ("gds", "doorbell", "mmioremap"))],
     {"memory_bytes": MIB, "system_memory_bytes": 2 * MIB + 64 * 1024}, {"memory_job_bytes": MIB}),
    ("amdgpu", "0000:0c:00.0", AMD, None, None,
     {"label": "Radeon RX 7800", "memory_used_bytes": 3 * GIB, "memory_total_bytes": 16 * GIB, "power_watts": 150,
      "power_limit_watts": 263, "temperature_celsius": 61, "clock_hertz": 2.4e9, "busy_peak_ratio": 0.75,
      "energy_estimated": 1, "memory_job_bytes": 0, "busy_job_ns": 0, "memory_others_bytes": None}),
    # A card that sleeps is left asleep.
    ("amdgpu", "0000:0d:00.0", {**AMD, "power/runtime_status": "suspended"}, None, None,
     {"busy_ns": None, "power_watts": None}),
    ("xe", "0000:03:00.0", {"power/runtime_status": "suspended", "hwmon/hwmon3/energy1_input": 5}, None, None,
     {"energy_joules": None}),
    # The driver of the device of msm is that of the display, or of the GPU where that has a device of its own.
    ("adreno", "3d00000.gpu", {}, ["drm-engine-gpu:\t5 ns", "drm-resident-memory:\t8 MiB"],
     {"memory_bytes": 8 * MIB}, {"label": "msm"}),
    # These do not say what a process used: it is not 0.
    ("nouveau", "0000:01:00.0", {"hwmon/hwmon2/temp1_input": 44000, "hwmon/hwmon2/power1_input": 21000000}, None, None,
     {"label": "nouveau", "temperature_celsius": 44, "power_watts": 21, "energy_estimated": 1, "busy_ns": None,
      "memory_used_bytes": None, **NO_JOB}),
    ("asahi", "406400000.gpu", {}, None, None,
     {"label": "asahi", "power_watts": None, "busy_ns": None, "memory_used_bytes": None, **NO_JOB}),
    # Of more engines than there is room for, the first are recorded, and an event says so.
    ("i915", "0000:00:03.0", {}, ["drm-resident-system0:\t64 MiB", *(f"drm-engine-e{i}:\t{i + 5} ns" for i in range(30))],
     {"memory_bytes": 64 * MIB}, {"memory_job_bytes": 64 * MIB}),
]


def test_what_each_driver_says(run, tape, tree):
    """One process uses devices of many makers, and each has its own; what a driver does not say is absent."""
    for n, (driver, bus, files, *_) in enumerate(CARDS):
        tree.card(n, driver, bus, files)

    def begin(pid):
        tree.client(pid, 99, "ino:\t7")
        for n, (driver, bus, _, lines, *_) in enumerate(CARDS):
            where = [f"drm-pdev:\t{bus}"] if bus.startswith("0000:") else []
            name = "msm" if driver == "adreno" else driver
            if lines:
                tree.client(pid, 5 + n, f"drm-driver:\t{name}", "drm-client-id:\t7", *where, *lines)

    def seen():
        found = rows(run, tape, "gpu_process")
        clients = [n for n, card in enumerate(CARDS) if card[3]]
        return len(readings(rows(run, tape), "card10")) >= 4 and all(
            any(r["name"] == f"card{n}" and (r["memory_bytes"] or r["busy_ns"] is not None) for r in found)
            for n in clients)

    devices, mine = recorded(run, tape, tree, [begin], [seen])
    for n, (driver, _, _, lines, held, says) in enumerate(CARDS):
        row = [r for r in readings(devices, f"card{n}") if not lines or r["processes_job"]][-1]
        assert {k: row[k] for k in says} == says, driver
        found = [r for r in mine if r["name"] == f"card{n}" and r["memory_bytes"] != 0]
        assert bool(found) == bool(lines) and (not lines or {k: found[-1][k] for k in held} == held), driver
    assert any("engines of one" in w for w in warnings(run, tape))
    one = readings(devices, "card5")
    assert rate(one, "busy_ns") == pytest.approx(0.75, rel=0.02)
    assert rate(one, "energy_joules") * 1e9 == pytest.approx(150, rel=0.02)
