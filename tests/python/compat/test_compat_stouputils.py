# SPDX-License-Identifier: Apache-2.0
"""compat.stouputils beside the original, and what of it needs no original."""

import atexit
import collections
import inspect
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time
import types

import originals
import pytest
from conftest import PATIENCE, ended, poll

import barograph
from barograph.compat import _base, stouputils
from barograph.compat.stouputils import METRICS, Collector, ProcessMetricsMonitor, mean_of
from barograph.mlflow import _position

SCRIPT = """
import json, os, resource, sys, threading
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow
mlflow.set_tracking_uri("file:" + os.getcwd() + "/runs")
pid = int(sys.argv[1])
with mlflow.start_run() as run:
    monitor = ProcessMetricsMonitor(pid, sampling_interval=0.25, samples_before_logging=1)
    used = resource.getrusage(resource.RUSAGE_SELF)
    with monitor as entered:
        alive, kind = monitor.thread.is_alive(), monitor.thread.name
        threads = [t.name for t in threading.enumerate()]
        print("begun", flush=True)
        sys.stdin.readline()
after = resource.getrusage(resource.RUSAGE_SELF)
found = {"same": entered is monitor, "alive": alive, "name": kind, "threads": threads, "after": monitor.thread is None,
         "step": monitor.step, "run": run.info.run_id, "attributes": sorted(n for n in vars(monitor) if n[0] != "_"),
         "cpu": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}
client = mlflow.MlflowClient()
keys = client.get_run(run.info.run_id).data.metrics
found["metrics"] = {k: [[m.step, m.timestamp / 1000, m.value] for m in client.get_metric_history(run.info.run_id, k)] for k in keys}
print(json.dumps(found))
"""
OURS = "from barograph.compat.stouputils import ProcessMetricsMonitor\n"


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = originals.need("stouputils-1.28.0", "psutil", "mlflow")
    tmp = tmp_path_factory.mktemp("stouputils")
    job = originals.Job(tmp)
    theirs = originals.start(tmp / "theirs", f"ORIGINAL = {str(folder)!r}\n" + originals.STOUPUTILS, SCRIPT, job.pid)
    ours = originals.start(tmp / "ours", OURS, SCRIPT, job.pid)
    originals.begun(theirs, ours)
    job.go()
    job.wait()
    return job, *originals.results(theirs, ours)


def test_what_a_script_sees_is_the_same(both):
    _, theirs, ours = both
    for key in ("same", "alive", "name", "after"):
        assert ours[key] == theirs[key], key
    assert set(theirs["attributes"]) - {"_"} <= set(ours["attributes"])
    assert "ProcessMetricsMonitor" in theirs["threads"] and "ProcessMetricsMonitor" not in ours["threads"]


def test_the_nine_metrics_have_names_steps_and_types(both):
    _, theirs, ours = both
    assert set(ours["metrics"]) == set(theirs["metrics"]) == {"process/" + name for name in METRICS}
    for name, points in ours["metrics"].items():
        steps = [step for step, _, _ in points]
        # The last one may be of the ended job, which has used something, but has no memory and no threads any more.
        assert steps == sorted(set(steps)) and steps[-1] >= ours["step"] - 2, name
        assert all(isinstance(value, float) for _, _, value in points)
    assert ours["step"] >= theirs["step"] // 2 and ours["step"] > 8


@pytest.mark.parametrize("name", ["memory_rss_megabytes", "memory_vms_megabytes", "memory_usage_percentage", "num_threads", "num_fds",
                                  "memory_uss_megabytes", "io_read_megabytes", "io_write_megabytes"])
def test_where_the_job_stands_still_values_agree(both, name):
    job, theirs, ours = both
    found = [{value for _, t, value in of["metrics"]["process/" + name] if job.still + 0.3 < t < job.moves}
             for of in (theirs, ours)]
    assert found[0] and found[1]
    assert max(found[1]) == pytest.approx(max(found[0]), rel=0.01, abs=0.01)


def _cpu_of(result):
    """Percent of a core times the time since the value before."""
    points = result["metrics"]["process/cpu_usage_percentage"]
    times = {step: t for step, t, _ in result["metrics"]["process/memory_rss_megabytes"]}
    return sum(value / 100 * (t - times[step - 1]) for step, t, value in points if step - 1 in times)


def test_cpu_time_is_what_the_kernel_says(both):
    """The children of the job are shorter than a sample: the original loses them."""
    job, theirs, ours = both
    assert _cpu_of(ours) == pytest.approx(job.cpu, rel=0.1)
    assert _cpu_of(theirs) < 0.8 * job.cpu


def test_what_was_written_does_not_fall(both):
    job, _, ours = both
    values = [value for _, _, value in ours["metrics"]["process/io_write_megabytes"]]
    assert values == sorted(values)
    assert values[-1] - values[0] >= 8


def test_it_costs_the_script_less_than_the_original(both):
    _, theirs, ours = both
    assert ours["cpu"] < theirs["cpu"]


def test_signature_and_defaults():
    parameters = inspect.signature(ProcessMetricsMonitor).parameters
    defaults = {n: p.default for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert defaults == {"pid": None, "children": True, "sampling_interval": 10.0, "samples_before_logging": 1,
                        "prefix": "process/", "verbose": False, "max_memory_megabytes": None, "max_cpu_count": None}
    monitor = ProcessMetricsMonitor(samples_before_logging=-3, max_memory_megabytes=5.0, max_cpu_count=2.0)
    assert (monitor.samples_before_logging, monitor.max_memory_megabytes, monitor.max_cpu_count) == (1, 5.0, 2.0)
    assert monitor.thread is None and monitor.run_id is None and monitor.step == 0 and monitor.samples == []


def test_collect_once_aggregate_and_the_two_limits():
    monitor = ProcessMetricsMonitor(max_memory_megabytes=1000.0, max_cpu_count=4.0)
    plain = ProcessMetricsMonitor()
    first = monitor.collect_once()
    plain.collect_once()
    assert list(first) == list(METRICS) and first["cpu_usage_percentage"] == 0.0
    assert first["memory_usage_percentage"] == pytest.approx(first["memory_rss_megabytes"] / 10)

    def both():
        """On a busy machine others may run between the two calls."""
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        return [m.collect_once()["cpu_usage_percentage"] for m in (monitor, plain)]

    assert any(0 < quarter and quarter * 4 == pytest.approx(whole, rel=0.3)
               for quarter, whole in (both() for _ in range(20)))
    assert monitor.aggregate([]) == {}
    assert monitor.aggregate([{"a": 1.0, "b": 2.0}, {"a": 3.0}]) == {"a": 2.0, "b": 2.0}
    assert set(ProcessMetricsMonitor(2**22 + 1).collect_once().values()) == {0.0}


@pytest.fixture
def fake_mlflow(monkeypatch):
    """As much of MLflow as is asked in the interpreter."""
    module = types.ModuleType("mlflow")
    module.logged = []
    module.active = types.SimpleNamespace(info=types.SimpleNamespace(run_id="7"))
    module.active_run = lambda: module.active
    module.get_tracking_uri = lambda: "nothing"
    module.log_metrics = lambda metrics, step, run_id: module.logged.append((step, run_id, metrics))
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return module


def test_nothing_of_the_working_directory_is_executed(fake_mlflow, monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("open('executed', 'w')")
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:.:")
    assert _base.Companion([sys.executable, "-c", ""]).end(PATIENCE)
    assert not (tmp_path / "executed").exists()
    begun = []
    monkeypatch.setattr(_base, "Companion", begun.append)
    monkeypatch.syspath_prepend(".")
    with pytest.raises(AttributeError):
        ProcessMetricsMonitor().start()
    assert str(tmp_path) not in begun[0][3].split("\n")


def test_those_that_go_on_keep_no_descriptor_and_share_the_wait_at_the_end(monkeypatch):
    """In a container: of 15 short blocks 30 descriptors were left, and without a server each was waited for."""
    monkeypatch.setattr(stouputils, "_is_in_container", lambda: True)
    monkeypatch.setattr(stouputils, "_left", {})
    before, waits = len(os.listdir("/proc/self/fd")), []
    for _ in range(3):
        companion = _base.Companion(["/bin/cat"])
        stouputils._Logger(companion).leave(5.0)
        poll(lambda: companion.has_ended)
    assert len(os.listdir("/proc/self/fd")) == before
    stouputils._left.clear()
    for seconds in (5.0, 7.0, 6.0):
        stouputils._left[type("Companion", (), {"end": staticmethod(waits.append)})] = seconds
    stouputils._wait_for_left()
    atexit.unregister(stouputils._wait_for_left)
    assert len(waits) == 3 and max(waits) <= 7.0


def test_warnings_and_no_exception(fake_mlflow):
    with pytest.warns(RuntimeWarning, match="PID 4194305 does not exist. ProcessMetricsMonitor will not start.") as said:
        ProcessMetricsMonitor(4194305).start()
        with ProcessMetricsMonitor(4194305):
            pass
    assert [warning.filename for warning in said] == [__file__] * 2
    fake_mlflow.active = None
    with pytest.warns(RuntimeWarning, match="No active MLflow run found. ProcessMetricsMonitor will not start."):
        ProcessMetricsMonitor().start()
    ProcessMetricsMonitor().finish()

    def fail(*_, **__):
        raise ConnectionError("no answer of http://me:s3cr3t@h/")

    fake_mlflow.log_metrics = fail
    with pytest.warns(RuntimeWarning, match="step 0: no answer of http://\\*\\*\\*@h/"):
        ProcessMetricsMonitor().publish({"a": 1.0})


def test_a_method_of_a_subclass_is_called(fake_mlflow):
    """Then a thread there is: it is what the caller asks for."""

    class Mine(ProcessMetricsMonitor):
        def publish(self, metrics):
            seen.append((threading.current_thread().name, metrics))
            super().publish(metrics)

    seen = []
    with Mine(sampling_interval=0.05, samples_before_logging=2, prefix="x/") as monitor:
        poll(lambda: len(seen) > 2, "three batches")
        with pytest.warns(RuntimeWarning, match="already running"):
            monitor.start()
    assert seen[0][0] == "ProcessMetricsMonitor" and set(seen[0][1]) == set(METRICS)
    steps = [step for step, _, _ in fake_mlflow.logged]
    assert steps == list(range(len(steps))) and monitor.step == len(steps)
    assert {run for _, run, _ in fake_mlflow.logged} == {"7"} and "x/num_fds" in fake_mlflow.logged[0][2]


def test_the_store_has_what_async_with_logged(tmp_path, script, monkeypatch, mlflow_library):
    text = textwrap.dedent("""
        import asyncio, json, os, sys
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        import mlflow
        from barograph.compat.stouputils import ProcessMetricsMonitor
        mlflow.set_tracking_uri("file:" + sys.argv[1])
        async def main():
            ticks = 0
            with mlflow.start_run() as run:
                async with ProcessMetricsMonitor(sampling_interval=0.1, samples_before_logging=3, prefix="p/") as monitor:
                    await asyncio.sleep(0.6)
            print(json.dumps([monitor.step, run.info.run_id]))
        asyncio.run(main())
    """)
    step, run = json.loads(script(text, tmp_path / "store").end())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    client = MlflowClient("file:" + str(tmp_path / "store"))
    poll(lambda: len(client.get_metric_history(run, "p/num_threads")) == step, "all steps")
    assert 2 <= step <= 6 and set(client.get_run(run).data.metrics) == {"p/" + n for n in METRICS}


DOWN = """
import json, time, types, warnings
import mlflow
mlflow.active_run = lambda: types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))
mlflow.get_tracking_uri = lambda: "nowhere"
from barograph.compat.stouputils import ProcessMetricsMonitor
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    monitor = ProcessMetricsMonitor(sampling_interval=0.05, samples_before_logging=2)
    monitor.start()
    time.sleep(0.6)
    while not monitor.thread.has_begun: time.sleep(0.01)
    monitor.finish()
print(json.dumps([monitor.recording.path, monitor.max_memory_megabytes, [str(w.message) for w in said]]))
"""
FAKE = pathlib.Path(__file__).resolve().parents[1] / "fake_mlflow"


def _points(path, megabytes, step=0):
    """(name, value, time, step) for each two samples."""
    collector, samples, points = Collector(megabytes, None, zeros=False), [], []
    for sample in [*barograph.open(path), None]:
        if sample is not None:
            samples.append((sample, collector.of_sample(sample)))
        if len(samples) == 2 or (sample is None and samples):
            means, time_ms = mean_of([metrics for _, metrics in samples]), samples[-1][0].time_ns // 1_000_000
            points += [("process/" + name, value, time_ms, step) for name, value in means.items()]
            samples, step = [], step + 1
    return points


def _logged(store):
    lines = (store / "store").read_text(encoding="utf-8").splitlines() if (store / "store").exists() else []
    return collections.Counter(tuple(json.loads(line)[2:]) for line in lines)


SHORT = DOWN.replace("import mlflow\n", "import mlflow\nimport os; os.unlink(os.environ['GO'])\n").replace("time.sleep(0.6)\n    while not monitor.thread.has_begun: time.sleep(0.01)", """\
time.sleep(0.3)
    monitor.finish()
    first = monitor.recording.path, monitor.step
    monitor.start()
    time.sleep(0.3)""").replace("[monitor.recording.path", "[*first, monitor.recording.path, monitor.step")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """That of fake_mlflow. At the end, also of a test that fails, nothing keeps its followers."""
    folder = tmp_path / "fake"
    folder.mkdir()
    monkeypatch.setenv("FAKE_MLFLOW", str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{FAKE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    yield folder
    (folder / "plan").write_text("", encoding="ascii")
    (tmp_path / "go").touch()


def test_a_block_is_over_before_mlflow_is_imported(script, tmp_path, store, monkeypatch):
    """Nobody waits for the import, and no point is lost. The same monitor again goes on with the next step."""
    slow, go = tmp_path / "slow" / "mlflow", tmp_path / "go"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text(
        f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        f"__path__.append({str(FAKE / 'mlflow')!r})\nexec(open({str(FAKE / 'mlflow' / '__init__.py')!r}).read())\n"
    )
    go.touch()
    monkeypatch.setenv("GO", str(go))
    monkeypatch.setenv("PYTHONPATH", f"{slow.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    first, step, second, end, megabytes, said = json.loads(script(SHORT).end())
    assert not said and not _logged(store) and step >= 2
    go.touch()
    expected = [*_points(first, megabytes), *_points(second, megabytes, step)]
    poll(lambda: len(_logged(store)) >= len(expected), "all points")
    assert _logged(store) == collections.Counter(expected) and max(p[3] for p in expected) == end - 1


@pytest.mark.parametrize("there", [True, False])
def test_a_logger_that_can_keep_no_position_says_so(store, tmp_path, there):
    """Nor read its tape."""
    tape = barograph.run(["true"], tape=tmp_path / "t.baro").tape.path
    os.mkdir(f"{tape}.mlflow-{_position._hash('r')}")
    tape = tape if there else "/nonexistent/t.baro"
    given = {"uri": "", "run_id": "r", "prefix": "", "step": 7, "samples": 1, "memory": 1, "cores": None, "own": True}
    done = subprocess.run([sys.executable, "-c", "from barograph.compat._mlflow import main; main()"], check=False,
                          text=True, input=f"{tape}\n1\n1\n{json.dumps(given)}\n", capture_output=True,
                          env={**os.environ, "XDG_STATE_HOME": tape})
    said = json.loads(done.stdout)
    assert said["step"] == 7 and "Failed to log process metrics at step 7" in said["warning"] and tape in said["warning"]


def test_nothing_is_lost_when_the_interpreter_is_killed(script, store):
    text = DOWN.replace("time.sleep(0.6)", "print(json.dumps([monitor.recording.path, monitor.max_memory_megabytes]), flush=True); time.sleep(60)")
    running = script(text)
    path, megabytes = json.loads(running.line())
    poll(lambda: len(list(barograph.open(path))) > 8, "samples")
    running.process.kill()
    ended(path)
    expected = _points(path, megabytes)
    poll(lambda: len(_logged(store)) >= len(expected), "all points")
    assert _logged(store) == collections.Counter(expected)


@pytest.mark.parametrize("plan", ("error\n" * 10000, "ok\nlost\nok\nhalf-lost\nok\nlost", "refused"),
                         ids=("down", "lost", "refused"))
def test_a_server_that_is_down_or_loses_answers(script, store, plan):
    """The store of fake_mlflow has a point twice that it gets twice."""
    (store / "plan").write_text(plan, encoding="ascii")
    path, megabytes, said = json.loads(script(DOWN).end())

    if plan == "refused":
        assert "Failed to log process metrics at step 0" in said[0] and "no such run" in said[0] and not _logged(store)
        return
    if plan.startswith("error"):
        assert not _logged(store) and "nobody is there (tried again)" in said[0] and path in said[-1] and len(said) == 2
        (store / "plan").write_text("", encoding="ascii")
    expected = _points(path, megabytes)
    poll(lambda: len(_logged(store)) >= len(expected), "all points")
    assert _logged(store) == collections.Counter(expected) and len(expected) > 9 * 2
