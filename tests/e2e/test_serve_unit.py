# SPDX-License-Identifier: Apache-2.0
"""The systemd units: systemd accepts them, what they allow is little, and with the capabilities that they leave the
observer records, and the server reads, as with all."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest
from conftest import needs_connector, poll
from serving import serve  # noqa: F401 (fixtures)


NAMES = ("baro-machine", "baro-observe", "baro-serve", "baro-push")


@pytest.fixture
def units(baro, work):
    """A folder with the units that this build has made, which start this baro."""
    for name in NAMES:
        path = pathlib.Path(baro).with_name(f"{name}.service")
        if name in ("baro-serve", "baro-push") and not pathlib.Path(baro).with_name(name).exists():
            pytest.skip(f"built without {name}")
        assert path.exists(), "the build makes no such unit"
        text = re.sub(r"^ExecStart=\S+", f"ExecStart={baro}", path.read_text(), flags=re.M)
        (work / path.name).write_text(text)
    return work


def capabilities(units, name):
    """What setpriv takes to leave a program the capabilities of a unit."""
    (names,) = re.findall(r"^CapabilityBoundingSet=(.*)$", (units / f"{name}.service").read_text(), flags=re.M)
    bounds = ",".join("+" + name[4:].lower() for name in names.split())
    return ["setpriv", "--no-new-privs", f"--bounding-set=-all,{bounds}", "--inh-caps=-all"]


@pytest.mark.parametrize("name", NAMES)
def test_systemd_accepts_it(units, name):
    """Its exposure is below 3, its memory and processes are bounded."""
    text = (units / f"{name}.service").read_text()
    assert re.search(r"^MemoryMax=\d+[MG]$", text, flags=re.M) and re.search(r"^TasksMax=\d+$", text, flags=re.M)
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    argv = ["systemd-analyze", "verify", "--man=no", units / f"{name}.service"]
    r = subprocess.run(argv, capture_output=True, text=True)
    assert r.returncode == 0 and "baro-" not in r.stderr, r.stderr
    argv = ["systemd-analyze", "security", "--offline=true", "--no-pager", units / f"{name}.service"]
    r = subprocess.run(argv, capture_output=True, text=True)
    if "unrecognized option" in r.stderr:
        pytest.skip("systemd is older than 250")
    (exposure,) = re.findall(rf"Overall exposure level for {name}.service: ([0-9.]+)", r.stdout)
    assert float(exposure) < 3.0, r.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="records as another user")
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_the_server_reads_tapes_of_others(units, baro, work):
    """With the one capability that its unit leaves: a tape of another user that none but its owner may read."""
    folder = work / "tapes"
    folder.mkdir()
    subprocess.run([baro, "run", "-q", "-o", folder / "a.baro", "--", "true"], check=True)
    (folder / "a.baro").chmod(0o600)
    os.chown(folder / "a.baro", 65534, 65534)
    command = [*capabilities(units, "baro-serve"), baro, "serve", "--listen", "127.0.0.1:0", folder]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().strip()
        assert poll(lambda: '"result":"exit 0"' in urllib.request.urlopen(f"{url}api/v1/jobs").read().decode())
        assert urllib.request.urlopen(f"{url}jobs/a/report").status == 200
    finally:
        server.terminate()
        assert server.wait() == 0
        server.stdout.close()


@needs_connector
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_its_capabilities_suffice(units, run, baro, work, cgroup, started):
    """Another user's short processes in a group are named, with what they read and wrote."""
    group, folder, gate = cgroup.path / "job", work / "tapes", work / "gate"
    group.mkdir()
    os.mkfifo(gate)
    gate.chmod(0o666)
    script = f"read x < {gate}; dd if=/dev/zero of=/dev/null bs=1M count=50 2>/dev/null; sleep 600"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    started([*user, "sh", "-c", script], preexec_fn=type(cgroup)(group).enter)
    options = ["--interval", "100ms", "--overhead", "off", "--dir", folder, "--cgroup", f"{cgroup.path}/*"]
    observer = started([*capabilities(units, "baro-observe"), baro, "observe", *options])
    tape = poll(lambda: next(folder.glob("*-job-*.baro"), None))
    run.await_samples(tape, 2)
    gate.write_text("\n")
    dd = poll(lambda: [e for e in run.export(tape, "exit") if e["name"] == "dd"])[0]
    observer.send_signal(signal.SIGTERM)
    observer.wait()
    assert run.summary(tape)["accounting"]["event_source"] == "connector"
    assert dd["uid"] == 65534 and dd["io_rchar_bytes"] >= 50 << 20 and dd["cpu_ns"] > 0
