# SPDX-License-Identifier: Apache-2.0
"""A driver of NVIDIA that does what a script says (fake_nvml.c), for the tests of GPUs: the driver of a test,
recordings beside it, and what is read of these."""

import functools
import json
import os
import pathlib
import shutil
import subprocess

import conftest
import pytest
from conftest import PATIENCE

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
GIB = 1 << 30

# A GPU is read once a second, and each condition runs baro.
poll = functools.partial(conftest.poll, least=0.2)

DEVICE = """
{n} name NVIDIA H100 80GB HBM3
{n} uuid GPU-0000000{n}-1111-2222-3333-444444444444
{n} bus 00000000:1{n}:00.0
{n} total 85899345920
{n} reserved 600000000
{n} used 1073741824
{n} power 100
{n} limit 700
{n} energy 5000
{n} temp 41
{n} memtemp 50
{n} sm 1980
{n} mem 2619
{n} smmax 1980
{n} memmax 2619
{n} util 0
{n} memutil 0
{n} enc 0
{n} dec 0
{n} reasons 0
{n} pstate 0
{n} ecc 0
{n} ecc2 0
{n} replays 0
{n} remapped 0
{n} pviol 0
{n} tviol 0
{n} sviol 0
{n} bviol 0
{n} rviol 0
{n} pcietx 0
{n} pcierx 0
{n} pciegen 5
{n} pciewidth 16
"""


class Gpus:
    """A driver of a test: its script, and the environment in which baro finds it."""

    def __init__(self, work, library):
        self.script = work / "gpus.txt"
        self.calls = work / "calls"
        self.root = work / "root"
        (self.root / "dev").mkdir(parents=True)
        (self.root / "dev" / "nvidiactl").touch()
        self.env = {
            "LD_LIBRARY_PATH": library,
            "FAKE_NVML": self.script,
            "BARO_GPU_ROOT": self.root,
            "BARO_HOST_PROC": "/proc",
            "CUDA_VISIBLE_DEVICES": None,
        }

    def write(self, *lines, devices=1):
        text = f"devices {devices}\n" + "".join(DEVICE.format(n=n) for n in range(devices))
        fresh = self.script.with_suffix(".new")
        fresh.write_text(text + "\n".join(lines) + "\n")
        fresh.rename(self.script)


_BUILT = {}


def fake_library(factory, *flags, without=()):
    """The folder of a libnvidia-ml.so.1; without: functions that an old driver does not have."""
    key = (flags, tuple(without))
    if key not in _BUILT:
        if not shutil.which("gcc"):
            pytest.skip("no gcc")
        folder = factory.mktemp("nvml")
        script = folder / "map"
        script.write_text("{ " + (f"local: {'; '.join(without)}; " if without else "") + "};\n")
        hide = [f"-Wl,--version-script={script}"] if without else []
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", f"-I{SOURCE}/src", *flags, *hide,
             "-o", folder / "libnvidia-ml.so.1", HERE / "fake_nvml.c"],
            check=True,
        )
        folder.chmod(0o755)
        _BUILT[key] = str(folder)
    return _BUILT[key]


@pytest.fixture
def gpus(work, tmp_path_factory, baro):
    if not pathlib.Path(baro).with_name("baro-gpu").exists():
        pytest.skip("baro-gpu is not built")
    return Gpus(work, fake_library(tmp_path_factory))


WAIT = "while test ! -e go; do sleep 0.1; done"
JOB = f"echo $$ > pid; {WAIT}"


def start(run, tape, gpus, *options, job=WAIT, env=None):
    return run.popen("run", "-q", "-i", "200ms", "-o", tape, *options, "--", "sh", "-c", job,
                     env={**gpus.env, **(env or {})})


def end(run, p):
    (run.work / "go").touch()
    assert p.wait(timeout=PATIENCE) == 0


def rows(run, tape, entity="gpu"):
    """Of a recording that goes on: empty while the tape is not there or has no header yet."""
    done = run("export", "--format", "jsonl", "--entity", entity, tape)
    if done.returncode == 2 and ("nothing was recorded" in done.stderr or "No such file" in done.stderr):
        return []
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def record_until(run, tape, gpus, condition, *options, env=None, entity="gpu"):
    """Records until the rows of that kind are as they should be. Returns those of the whole recording."""
    p = start(run, tape, gpus, *options, env=env)
    try:
        poll(lambda: condition(rows(run, tape, entity)), f"rows of {entity}")
    finally:
        end(run, p)
    return run.export(tape, entity)


def named(found, name="gpu0"):
    return [r for r in found if r["name"] == name]


def rate(found, column):
    """The growth of a counter over the time between two readings, the last ones that differ from the first."""
    first, last = found[0], found[-1]
    return (last[column] - first[column]) / (last["read_at_ns"] - first["read_at_ns"])


def readings(found, name="gpu0"):
    """One row for each reading."""
    by = {}
    for r in named(found, name):
        if r["read_at_ns"]:
            by[r["read_at_ns"]] = r
    return [by[t] for t in sorted(by)]


def warnings(run, tape):
    return [e["text"] for e in rows(run, tape, "event") if e["event"] == "warning"]


def with_process(run, tape, gpus, lines, condition, *options, entity="gpu_process", env=None, devices=1, always=()):
    """lines: from when the job's process is known, which is {pid}; always: from the beginning, too."""
    if always:
        gpus.write(*always, devices=devices)
    p = start(run, tape, gpus, *options, job=JOB, env=env)
    try:
        poll(lambda: (run.work / "pid").exists() and (run.work / "pid").read_text().strip(), "the pid")
        pid = (run.work / "pid").read_text().strip()
        gpus.write(*always, *[line.format(pid=pid, other=os.getpid()) for line in lines], devices=devices)
        poll(lambda: condition(rows(run, tape, entity)), f"rows of {entity}")
    finally:
        end(run, p)
    return run.export(tape, "gpu"), run.export(tape, "gpu_process")


def helpers_of(pid):
    """Processes baro-gpu below the recorder, which is the wrapper's child or its parent's."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(errors="replace")  # names of other tests' processes
            if "(baro-gpu)" in text and str(pid) in ancestors(int(path.parent.name)):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def ancestors(pid):
    out = []
    while pid > 1:
        out.append(str(pid))
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[1])
    return out
