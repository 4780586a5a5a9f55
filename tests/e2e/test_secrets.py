# SPDX-License-Identifier: Apache-2.0
"""Secrets are placed wherever a recording takes text from: no output of the tape contains one."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
from conftest import unshared
from test_cgroup import v1  # noqa: F401 (v1 is a fixture)

ENTITIES = ["process", "job", "event", "exit", "host", "cpu", "disk", "fs", "net", "sensor", "cgroup"]
CANARY = "Kw7xCanary{}"  # with a word or number appended that says where it was placed
NAMED = """
import ctypes, subprocess, sys, time
ctypes.CDLL(None).prctl(15, b"token=Kw7xCanar", 0, 0, 0)
sleep = "import time; time.sleep(0.5)"
subprocess.Popen([sys.executable, "-c", sleep, "--password=Kw7xCanaryCHILD", "https://u:Kw7xCanaryURL@h/", "Authorization: Bearer Kw7xCanaryHEAD"])
subprocess.Popen(["curl", "-c", sleep, "-u", "bob:Kw7xCanaryUSER"], executable=sys.executable)
time.sleep(0.7)
"""


def everything(run, tape):
    """Returns the output of all readers for the tape."""
    out = {}
    for entity in ENTITIES:
        for fmt in ("csv", "jsonl"):
            out[f"{entity} {fmt}"] = run("export", "--format", fmt, "--entity", entity, tape, status=0).stdout
    out["summary"] = run("summary", "-v", tape, status=0).stdout
    out["summary --json"] = run("summary", "--json", tape, status=0).stdout
    for at in ("+0s", "+0.4s"):
        out[f"show {at}"] = run("show", tape, "--at", at).stdout
    out["ls"] = run("ls", env={"BARO_DIR": tape.parent}).stdout
    return out


def is_clean(run, tape, *also):
    for what, text in [("tape", tape.read_bytes().decode("latin1")), *everything(run, tape).items(), *also]:
        at = text.find("Kw7xCanar")
        assert at < 0, f"{what}: {text[max(0, at - 60):at + 60]}"


def test_command_lines_names_and_environment(run_both, tape):
    env = {
        "SLURM_JOB_ID": "token=" + CANARY.format("ID"),
        "SLURM_STEP_ID": "https://u:" + CANARY.format("STEP") + "@h",
        "SLURM_PROCID": "password=" + CANARY.format("RANK"),
        "SLURM_JOB_NAME": "secret=" + CANARY.format("NAME"),
        "SLURM_CPUS_ON_NODE": "token=" + CANARY.format("CPUS"),
        "PBS_O_PATH": CANARY.format("PBS"),
        "LSB_JOBNAME": CANARY.format("LSF"),
    }
    cwd = pathlib.Path(tape.parent) / ("token=" + CANARY.format("CWD"))
    cwd.mkdir()
    cwd.chmod(0o777)
    script = cwd.parent / "named.py"
    script.write_text(NAMED)
    done = run_both(
        "run", "-o", tape, "--", sys.executable, script, "--password", CANARY.format("ARGV"), status=0, env=env, cwd=cwd
    )
    is_clean(run_both, tape, ("stderr", done.stderr))
    names = {r["name"] for entity in ("process", "exit") for r in run_both.export(tape, entity)}
    assert "token=***" in names, names


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts, sets a host name")
def test_of_a_long_command_the_beginning_is_recorded(run, tape):
    """Redaction has a cost for each byte. A secret that is cut in its middle is not recorded."""
    words = ["w" * 100] * 600 + ["f" * 4908 + " https://me:" + CANARY.format("CUT") + "@host"] + ["v" * 100000] * 8
    run("run", "-o", tape, "--", "true", *words, status=0)
    command = json.loads(run("summary", "--json", tape, status=0).stdout)["command"]
    assert command[:601] == ["true", *words[:600]]
    assert len(command) <= 604 and command[-1].endswith("...") and sum(map(len, command)) <= 65536 + 100
    is_clean(run, tape)


def test_mounts_and_host(run, tape, work):
    point = work / ("mnt:token=" + CANARY.format("POINT"))
    point.mkdir()
    script = (
        f"mount -t tmpfs 'https://bob:{CANARY.format('URL')}@cloud.test/dav' {point} && echo token={CANARY.format('H')} > /proc/sys/kernel/hostname && "
        f'exec "$@"'
    )
    # File systems are read by a helper, in a busy machine after seconds.
    until = 'i=0; until "$1" export -e fs "$2" | grep -q cloud || [ $i -gt 300 ]; do i=$((i+1)); sleep 0.2; done'
    argv = [*unshared("-m", "-u", "--propagation", "private"), "sh", "-c", script, "sh", run.binary, "run", "-o", tape,
            "--", "sh", "-c", until, "sh", run.binary, tape]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90)
    if done.returncode and ("ermitted" in done.stderr or "denied" in done.stderr):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    rows = run.export(tape, "fs")
    assert any("https://bob:***@cloud.test/dav" in r["label"] for r in rows), rows
    is_clean(run, tape, ("stderr", done.stderr))


@pytest.mark.parametrize("how", ["run", "record"])
@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_control_groups(run, tape, v1, how):
    name = "baro-e2e-" + next(tempfile._get_candidate_names()) + ":token=" + CANARY.format("GROUP")
    group = v1("memory", name)
    group.write("memory.limit_in_bytes", 100 << 20)
    job = [sys.executable, "-c", "import time; x = bytearray(20 << 20); time.sleep(0.6)"]
    if how == "run":
        done = run("run", "-o", tape, "--", *job, before=group.enter, status=0)
    else:
        target = subprocess.Popen(job, preexec_fn=group.enter)
        done = run("record", "-o", tape, "--cgroup", group.path, "--for", "0.3s", status=0)
        target.wait()
    found = run.summary(tape)["limits"]
    assert "token=***" in found["memory_source"] and found["memory_group_ratio"] > 0.1, found
    is_clean(run, tape, ("stderr", done.stderr))
