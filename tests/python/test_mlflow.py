# SPDX-License-Identifier: Apache-2.0
"""Recordings in a real MLflow 3: a server on loopback, read back by MLflow's own client. Between them and the follower
are faults: mlflow_server.Proxy. The store is one of files, which has a point twice if it is sent twice, and needs no
migrations; in the full check SQLite. Skipped where MLflow can't be had."""

import collections
import os
import signal
import subprocess
import time

import mlflow_server
import pytest
from conftest import PATIENCE, poll
from test_mlflow_follow import expected

import barograph
import barograph.mlflow

FULL = os.environ.get("BARO_FULL") == "1"
BARO = os.environ.get("BAROGRAPH_BARO", "baro")
FAST = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "2", "BAROGRAPH_MLFLOW_FLUSH": "0.1"}


@pytest.fixture(scope="module")
def python():
    return mlflow_server.python()


@pytest.fixture(scope="module")
def server(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    running = mlflow_server.Server(python, folder, None if FULL else f"file://{folder}/store")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def client(python, server):
    one = mlflow_server.Client(python, server.uri, *([] if FULL else [server.store]))
    yield one
    one.stop()


@pytest.fixture
def proxy(server):
    made = []

    def make(*plan, **options):
        made.append(mlflow_server.Proxy(server, plan, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("tape") / "made.baro"
    loop = f"while [ ! -e {path}.end ]; do sleep 0.05; done"
    command = [BARO, "run", "-q", "--interval", "10ms", "--overhead", "off", "-o", str(path), "--", "sh", "-c", loop]
    with subprocess.Popen(command) as running:  # as many samples on a busy machine as on an idle one
        poll(lambda: path.exists() and path.stat().st_size and len(list(barograph.open(path))) >= 50, "50 samples")
        path.with_name(f"{path.name}.end").touch()
    assert running.returncode == 0
    return path


@pytest.fixture
def tape(made, tmp_path):
    copy = tmp_path / "made.baro"
    copy.write_bytes(made.read_bytes())
    return copy


def begin(python, uri, tape, *arguments, **more):
    return subprocess.Popen([python, "-m", "barograph.mlflow", "log", str(tape), *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=mlflow_server.environment(MLFLOW_TRACKING_URI=uri, **{**FAST, **more}))


def send(python, uri, tape, *arguments, **more):
    process = begin(python, uri, tape, *arguments, **more)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    return out


def script(python, uri, text, *arguments, **more):
    return subprocess.Popen([python, "-c", text, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env=mlflow_server.environment(MLFLOW_TRACKING_URI=uri, **{**FAST, **more}))


def check_all_once(client, tape, run, names="system"):
    found = client("run", run)
    points = collections.Counter((k, v, t, s) for k, v, t, s in found["metrics"])
    assert max(points.values()) == 1
    assert {p for p in points if not p[0].startswith("summary/")} == set(expected(tape, names))
    assert any(p[0] == "summary/cpu_seconds" for p in points)
    return found


def test_a_tape_of_yesterday(python, server, client, tape):
    out = send(python, server.uri, tape, "--names", "process")
    header = barograph.open(tape).header
    (run,) = client("find", "tags.`baro.tape` = 'made.baro'")
    assert run in out
    found = check_all_once(client, tape, run, "process")
    assert found["status"] == "FINISHED"
    assert found["start"] == header.start_ns // 1_000_000 <= found["end"]
    assert sorted(found["files"]) == [f"barograph/{n}"
                                      for n in ("made.baro", "report.html", "summary.json", "verdicts.json")]
    assert found["params"]["baro.cpus"] == str(header.cpus)
    assert found["tags"]["baro.host"] == header.host and found["tags"]["mlflow.runName"] == "sh"
    assert "sent before" in send(python, server.uri, tape, "--names", "process")
    assert client("served", run) == found


FAULTS = ("cut", "cut-after", "429", "500", "500-after", "garbage", "garbage-after", "half-after", "stall",
          "stall-after")


class Killer:
    """kill -9 for the follower at a batch that is about to go to the server, or has got there."""

    def __init__(self, number, when):
        self.number, self.when, self.pid, self.done = number, when, None, False

    def __call__(self, number, when):
        if not self.done and (number, when) == (self.number, self.when):
            self.done = True
            os.kill(poll(lambda: self.pid, "its pid"), signal.SIGKILL)


def request_of(tape, run, to, names="system"):
    return {"tape": str(tape), "uri": to.uri, "run_id": run, "names": names, "live": True, "artifacts": False}


@pytest.mark.parametrize("number", (1, 2, 3, 4, 5, 6, 8) if FULL else (3,))
def test_faults_of_the_network_and_kills(client, proxy, tape, number):
    run, small = client("new"), {**FAST, "BAROGRAPH_MLFLOW_BATCH": "60"}
    for when in ("before", "after"):
        killer = Killer(number, when)
        killer.pid = client("begin", request_of(tape, run, proxy(on_batch=killer)), small)
        assert client("end", killer.pid)[0] == -signal.SIGKILL
    between = proxy("ok", *FAULTS)
    assert client("end", client("begin", request_of(tape, run, between), small))[0] == 0
    assert 0 < between.largest <= 60
    check_all_once(client, tape, run)
    assert client("run", run)["status"] == "RUNNING", "the run is not ours to end"


def followers(tape):
    """Those that are processes of the job: none should be."""
    return [p.cmdline for p in barograph.open(tape).processes if "barograph.mlflow.__main__" in (p.cmdline or "")]


TRAIN = """
import os, sys, time
import mlflow, barograph.mlflow
with mlflow.start_run() as run:
    print(run.info.run_id, flush=True)
    with barograph.mlflow.record("live.baro", interval="20ms", wait=float(sys.argv[1])) as rec:
        for epoch in range(10):
            mlflow.log_metric("loss", 1 / (epoch + 1), step=epoch)
            time.sleep(0.05)
        sys.stdin.readline()
"""


def test_the_server_is_gone_for_a_while(python, client, proxy, tmp_path):
    between = proxy()
    program = script(python, between.uri, TRAIN, PATIENCE)
    run = program.stdout.readline().strip()
    poll(lambda: between.batches >= 12, "the points of the program and some of ours")
    between.close()
    time.sleep(0.5)  # of tape
    between.open()
    _, err = program.communicate("\n", timeout=PATIENCE)
    assert program.returncode == 0, err
    found = client("run", run)
    assert len([p for p in found["metrics"] if p[0] == "loss"]) == 10
    points = collections.Counter((k, v, t, s) for k, v, t, s in found["metrics"] if k.startswith("system/"))
    assert set(points) == set(expected("live.baro")) and max(points.values()) == 1
    assert found["status"] == "FINISHED" and "barograph/live.baro" in found["files"]
    assert not followers("live.baro")


AUTO = """
import sys, time
import mlflow
{line}
for name in {names}:
    with mlflow.start_run(run_name=name) as run:
        with mlflow.start_run(nested=True):
            time.sleep(0.2)
        print("run", run.info.run_id, flush=True)
"""
ENTRY = "[mlflow.run_context_provider]\nbarograph = barograph.mlflow._auto:RunContext\n"


def as_installed(folder):
    """What pip would have written: MLflow finds its plug-ins by it."""
    info = folder / "site" / "barograph-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: barograph\nVersion: 0.1.0\n", encoding="ascii")
    (info / "entry_points.txt").write_text(ENTRY, encoding="ascii")
    return f"{folder / 'site'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"


@pytest.mark.parametrize("how", ("call", "variable") if FULL else ("variable",))
def test_autolog(python, server, client, tmp_path, how):
    line = "import barograph.mlflow; barograph.mlflow.autolog(interval='20ms', wait=120)" if how == "call" else ""
    more = ({} if how == "call" else {"BAROGRAPH_MLFLOW": "1", "BAROGRAPH_MLFLOW_WAIT": "120",
                                      "PYTHONPATH": as_installed(tmp_path)})
    names = ("one", "two") if FULL else ("one",)
    program = script(python, server.uri, AUTO.format(line=line, names=names), **more)
    out, err = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, err
    runs = [line.split()[1] for line in out.splitlines() if line.startswith("run ")]
    tapes = sorted((run.path for run in barograph.runs()), key=os.path.basename)
    assert len(runs) == len(tapes) == len(names)
    for run, tape in zip(runs, tapes):
        found = check_all_once(client, tape, run)
        assert len(found["tags"]["baro.session"]) == 32
    assert not client("find", f"tags.`mlflow.parentRunId` = '{runs[0]}' and tags.`baro.session` LIKE '%'")


RUNS = """
import sys, time
import mlflow
with mlflow.start_run() as run:
    time.sleep(0.3)
    print("run", run.info.run_id)
sys.exit(3)
"""


@pytest.mark.parametrize("how", ("its own run", "a given run", "no run") if FULL else ("its own run",))
def test_baro_run(python, server, client, tmp_path, how):
    given = client("new")
    program = ["sleep", "0.2"] if how == "no run" else [python, "-c", RUNS]
    more = {"MLFLOW_RUN_ID": given} if how == "a given run" else {}
    if how == "its own run":
        more["PYTHONPATH"] = as_installed(tmp_path)
    done = subprocess.run(
        [BARO, "run", "-q", "--mlflow", "-o", "run.baro", "--", *program], capture_output=True, text=True, timeout=PATIENCE, check=False,
        env=mlflow_server.environment(MLFLOW_TRACKING_URI=server.uri, BAROGRAPH_PYTHON=python, **{**FAST, **more}),
    )
    assert done.returncode == (0 if how == "no run" else 3), done.stderr
    if how == "no run":
        start = barograph.open("run.baro").header.start_ns // 1_000_000
        (run,) = poll(lambda: client("find", f"attributes.start_time = {start}"), "a run of its own")
    else:
        (run,) = (line.split()[1] for line in done.stdout.splitlines() if line.startswith("run "))
        assert how == "its own run" or run == given
    poll(lambda: (lambda status, files: "barograph/run.baro" in files and status == "FINISHED")(*client("state", run)),
         "the end")
    check_all_once(client, "run.baro", run)
    assert not followers("run.baro")
