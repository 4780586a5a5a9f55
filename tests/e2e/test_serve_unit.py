# SPDX-License-Identifier: Apache-2.0
"""The systemd unit of `baro serve`: systemd accepts it, and with the capabilities that it leaves the observer records
as it does with all."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from conftest import needs_connector, poll
from serving import serve  # noqa: F401 (fixtures)


@pytest.fixture
def unit(baro):
    """The text of the unit that this build has made."""
    path = pathlib.Path(baro).with_name("baro-serve.service")
    if not path.exists():
        pytest.skip("built without libmicrohttpd")
    return path.read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_accepts_it(unit, baro, work):
    path = work / "baro-serve.service"
    path.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={baro}", unit, flags=re.M))
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
    assert r.returncode == 0 and "baro-serve" not in r.stderr, r.stderr


@needs_connector
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_its_capabilities_suffice(unit, run, baro, work, cgroup, started):
    """Another user's short processes in a group are named, with what they read and wrote."""
    (names,) = re.findall(r"^CapabilityBoundingSet=(.*)$", unit, flags=re.M)
    bounds = ",".join("+" + name[4:].lower() for name in names.split())
    keeps = ["setpriv", "--no-new-privs", f"--bounding-set=-all,{bounds}", "--inh-caps=-all"]
    group, folder, gate = cgroup.path / "job", work / "tapes", work / "gate"
    group.mkdir()
    os.mkfifo(gate)
    gate.chmod(0o666)
    script = f"read x < {gate}; dd if=/dev/zero of=/dev/null bs=1M count=50 2>/dev/null; sleep 600"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    started([*user, "sh", "-c", script], preexec_fn=type(cgroup)(group).enter)
    options = ["--interval", "100ms", "--overhead", "off", "--dir", folder, "--cgroup", f"{cgroup.path}/*"]
    observer = started([*keeps, baro, "observe", *options])
    tape = poll(lambda: next(folder.glob("*-job-*.baro"), None))
    run.await_samples(tape, 2)
    gate.write_text("\n")
    dd = poll(lambda: [e for e in run.export(tape, "exit") if e["name"] == "dd"])[0]
    observer.send_signal(signal.SIGTERM)
    observer.wait()
    assert run.summary(tape)["accounting"]["event_source"] == "connector"
    assert dd["uid"] == 65534 and dd["io_rchar_bytes"] >= 50 << 20 and dd["cpu_ns"] > 0
