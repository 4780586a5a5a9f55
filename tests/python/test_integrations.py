# SPDX-License-Identifier: Apache-2.0
"""Callbacks with stand-ins for their frameworks, workers of pools, records of logging, and cells of notebooks."""

import asyncio
import copy
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import time
import types

import pytest
from conftest import PATIENCE, poll

import barograph
from barograph.integrations import keras, lightning, transformers, workers
from barograph.integrations.logging import MarkHandler


def stand_in(monkeypatch, path, name):
    """A framework that has been imported."""
    parts = path.split(".")
    for i in range(1, len(parts) + 1):
        module = types.ModuleType(".".join(parts[:i]))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    base = type(name, (), {})
    setattr(sys.modules[path], name, base)
    return base


class State:
    epoch, global_step, current_epoch = 0, 7, 0
    callback_metrics = {"loss": 0.5, "name": "text"}


def drive(monkeypatch, which):
    if which == "keras":
        base = stand_in(monkeypatch, "keras.callbacks", "Callback")
        made = keras.callback()
        made.on_train_begin()
        made.on_epoch_begin(0)
        made.on_epoch_end(0, {"loss": 0.5})
        made.on_train_end()
    elif which == "lightning":
        base = stand_in(monkeypatch, "lightning.pytorch", "Callback")
        made = lightning.callback()
        made.on_fit_start(State, None)
        made.on_train_epoch_start(State, None)
        made.on_train_epoch_end(State, None)
        made.on_fit_end(State, None)
    else:
        base = stand_in(monkeypatch, "transformers", "TrainerCallback")
        made = transformers.callback()
        made.on_train_begin(None, State, None, model=None)
        made.on_epoch_begin(None, State, None)
        made.on_log(None, State, None, logs={"loss": 0.5, "name": "text", "large": 10**400})
        made.on_train_end(None, State, None)
    assert isinstance(made, base)


@pytest.mark.parametrize(("which", "outer", "mark"),
                         [("keras", "fit", "epoch end"), ("lightning", "fit", "epoch end"),
                          ("transformers", "train", "log")])
def test_callbacks(monkeypatch, which, outer, mark):
    with barograph.record("run.baro") as rec:
        drive(monkeypatch, which)
    phases = {p.name: p for p in rec.tape.phases}
    assert set(phases) == {outer, "epoch"} and not any(p.is_open for p in phases.values())
    assert phases["epoch"].parent.name == outer and phases["epoch"].attributes["number"] == 0
    (found,) = rec.tape.marks
    assert found.name == mark and found.attributes["loss"] == 0.5 and "name" not in found.attributes


@pytest.mark.parametrize("which", ("keras", "lightning", "transformers", "dask"))
def test_callbacks_go_to_workers_that_are_spawned(monkeypatch, which):
    """Pickled, as `strategy="ddp_spawn"` does, and copied."""
    made = {"keras": ("keras.callbacks", "Callback", keras.callback),
            "lightning": ("lightning.pytorch", "Callback", lightning.callback),
            "transformers": ("transformers", "TrainerCallback", transformers.callback),
            "dask": ("distributed", "WorkerPlugin", lambda: workers.dask_plugin("dask"))}
    path, name, make = made[which]
    base = stand_in(monkeypatch, path, name)
    callback = make()
    for other in (pickle.loads(pickle.dumps(callback)), copy.deepcopy(callback)):
        assert isinstance(other, base) and type(other).__name__ == "Barograph" and other is not callback
        assert getattr(other, "name", None) == getattr(callback, "name", None)


def test_an_exception_ends_what_is_open(monkeypatch):
    stand_in(monkeypatch, "lightning.pytorch", "Callback")
    with barograph.record("run.baro") as rec:
        made = lightning.callback()
        made.on_fit_start(State, None)
        made.on_train_epoch_start(State, None)
        made.on_exception(State, None, KeyError("x"))
    assert {(p.name, p.is_open) for p in rec.tape.phases} == {("fit", False), ("epoch", False)}


def test_nothing_is_imported_first():
    names = "keras lightning transformers workers logging".split()
    text = (
        f"import sys\nimport {', '.join('barograph.integrations.' + n for n in names)}\nprint('\\n'.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"keras", "lightning", "transformers", "distributed", "joblib", "tensorflow",
                                           "torch", "ctypes"}


def test_a_framework_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras.callbacks", None)
    monkeypatch.setitem(sys.modules, "tensorflow.keras.callbacks", None)
    monkeypatch.setitem(sys.modules, "keras", None)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError):
        keras.callback()


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.parametrize("method", ("fork", "spawn", "forkserver", "futures"))
def test_workers_are_tasks(method, script):
    """In an interpreter of its own, so that the start methods have no modules of pytest to import."""
    with open("program.py", "w", encoding="utf-8") as file:
        file.write(f"""
import concurrent.futures, multiprocessing, sys, time
import barograph
from barograph.integrations.workers import named

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

if __name__ == "__main__":
    method = {method!r}
    with barograph.record("run.baro", interval="20ms") as rec:
        if method == "futures":
            pool = concurrent.futures.ProcessPoolExecutor(2, initializer=named("loader"))
        else:
            pool = multiprocessing.get_context(method).Pool(2, initializer=named("loader", print), initargs=("begun",))
        with pool:
            list(pool.map(burn, [0.1] * 4))
        burn(0.2)
""")
    subprocess.run([sys.executable, "program.py"], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
    tape = barograph.open("run.baro")
    (task,) = tape.tasks
    assert task.name == "loader" and 1 <= task.processes_started <= 2
    assert 400_000_000 <= task.cpu_ns <= tape.summary.job.cpu_ns - 200_000_000


def test_workers_of_a_server_that_an_earlier_recording_has_begun(script):
    """A fork server keeps the environment with which it began."""
    with open("program.py", "w", encoding="utf-8") as file:
        file.write("""
import multiprocessing
import barograph
from barograph.integrations.workers import named

def work(i):
    barograph.mark("worked", i=i)

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    for n in range(2):
        with barograph.record(f"{n}.baro", strict=True):
            with context.Pool(2, initializer=named("loader")) as pool:
                pool.map(work, range(4))
""")
    subprocess.run([sys.executable, "program.py"], check=True, timeout=PATIENCE)
    for n in range(2):
        tape = barograph.open(f"{n}.baro")
        assert [t.name for t in tape.tasks] == ["loader"]
        assert sorted(m.attributes["i"] for m in tape.marks) == [0, 1, 2, 3]


def test_task_of_a_process_itself():
    with barograph.record("run.baro", interval="20ms", overhead="off") as rec:
        pid = os.fork()
        if pid == 0:
            barograph.task("child")
            burn(0.2)
            os._exit(0)
        os.waitpid(pid, 0)
    (task,) = rec.tape.tasks
    assert (task.name, task.processes_started) == ("child", 1) and task.cpu_ns >= 200_000_000
    # A moment between two samples by each mode, and a curve.
    low, high = [s for s in rec.tape if s.entities("task") and s.entities("task")[0].get("cpu_ns")][:2]
    middle = (low.t_ns + high.t_ns) / 2e9
    low, high = (s.entities("task")[0].cpu_ns for s in (low, high))
    found = {p: rec.tape.at(middle, p).entities("task")[0].cpu_ns for p in ("before", "after", "nearest", "interpolate")}
    assert found["before"] == low and found["after"] == high and found["nearest"] in (low, high), found
    assert low <= found["interpolate"] <= high and (low == high or low < found["interpolate"] < high)
    most = max(s.entities("task")[0].get("rss_bytes") or 0 for s in rec.tape if s.entities("task"))
    assert rec.tape.series("task.rss_bytes@child").peak == most
    barograph.task("nobody records")


def test_task_of_a_process_that_is_not_known_yet(monkeypatch):
    """Without events a process is found by a scan, after its mark was read: it is of the task all the same."""
    monkeypatch.setenv("BARO_NO_EVENTS", "1")
    with barograph.record("run.baro", interval="500ms", overhead="off") as rec:
        pid = os.fork()
        if pid == 0:
            barograph.task("child")
            time.sleep(PATIENCE)
            os._exit(0)
        try:
            poll(lambda: any(p.pid == pid for p in barograph.open("run.baro").processes), "the child")
            poll(lambda: barograph.open("run.baro").tasks, "the task")
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    (task,) = rec.tape.tasks
    assert (task.name, task.processes_started) == ("child", 1)


JOBLIB = """
import joblib
with barograph.record("run.baro"):
    joblib.Parallel(2, backend="loky", initializer=workers.named("fold"))(joblib.delayed(burn)(0.1) for _ in range(4))
"""
DASK = """
import distributed
with (
    barograph.record("run.baro"),
    distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster,
    distributed.Client(cluster) as client,
):
    client.register_plugin(workers.dask_plugin("fold"))
    client.submit(burn, 0.4).result()
"""
BURN = """
import time
import barograph
from barograph.integrations import workers

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

if __name__ == "__main__":
"""
LONG = pytest.mark.skipif(os.environ.get("BARO_FULL") != "1", reason="long: BARO_FULL=1")


@pytest.mark.parametrize("code", (JOBLIB, pytest.param(DASK, marks=LONG)), ids=("joblib", "dask"))
def test_workers_of_others_are_tasks(code, tmp_path, others):
    """In an interpreter of its own: their workers outlive the recording."""
    (tmp_path / "program.py").write_text(BURN + textwrap.indent(code, "    "), encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (task,) = barograph.open("run.baro").tasks
    assert task.name == "fold" and task.cpu_ns >= 300_000_000


def test_logging():
    logger = logging.getLogger("train")
    handler = MarkHandler(logging.WARNING)
    logger.addHandler(handler)
    try:
        with barograph.record("run.baro") as rec:
            logger.warning("the loss is %s", "NaN")
            logger.info("not this")
            try:
                raise KeyError("x")
            except KeyError:
                logger.exception("it failed")
    finally:
        logger.removeHandler(handler)
    first, second = rec.tape.marks
    assert (first.name == "the loss is NaN" and first.attributes["level"] == "WARNING"
            and first.attributes["logger"] == "train")
    assert second.attributes["error"] == "KeyError"


@pytest.fixture
def shell(others):
    from IPython.testing import globalipapp as testing

    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "barograph")
    return shell


def test_magics(shell):
    shell.run_cell("%%baro fit\nvalue = sum(range(1000))")
    assert shell.user_ns["value"] == 499500
    assert [p.name for p in shell.user_ns["_baro"].tape.phases] == ["fit"]
    shell.run_line_magic("baro", "on")
    shell.run_cell("value = 1", store_history=True)
    rec = shell.run_line_magic("baro", "off")
    assert len(rec.tape.phases) >= 1 and not rec.active


@pytest.mark.parametrize("code", ("1/0", "x = = 1", "raise KeyboardInterrupt", "import asyncio\nawait asyncio.sleep(0)\n1/0"))
def test_an_error_in_a_recorded_cell(code, capsys, shell):
    """The cell fails, as it does without the magic: what runs all cells of a notebook stops there. It is shown once."""
    bare = shell.run_cell(code)
    capsys.readouterr()
    done = shell.run_cell(f"%%baro\n{code}")
    wrong, right = (r.error_in_exec or r.error_before_exec for r in (done, bare))
    assert not done.success and type(wrong) is type(right)
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count(type(right).__name__ + ":" if str(right) else type(right).__name__ + " ") <= 2
    assert shell.user_ns["_baro"].tape.state == "ended"
    assert shell.run_cell("value = 2").success, "errors of later cells are shown again"
    shell.run_cell("1/0")
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_cell_that_awaits_in_a_loop(capsys, shell):
    """As in a notebook: a magic can't run it there."""
    async def cell(code):
        return shell.run_cell(code)

    done = asyncio.run(cell("%%baro\nimport asyncio\nawait asyncio.sleep(0)"))
    assert type(done.error_in_exec).__name__ == "UsageError"
    assert "async with barograph.record()" in capsys.readouterr().err
    assert asyncio.run(cell("%%baro\nvalue = 7")).success and shell.user_ns["value"] == 7


def test_cells_inside_of_a_recorded_session(capsys, shell):
    shell.run_cell("%baro on", store_history=True)
    shell.run_cell("%%baro inner\nvalue = 1", store_history=True)
    shell.run_cell("value = 2", store_history=True)
    session = barograph._current.active[-1]
    shell.run_line_magic("unload_ext", "barograph")
    assert not session.active and "BARO_TAPE" not in os.environ
    assert not [p.name for p in session.tape.phases if p.is_open]
    capsys.readouterr()


def test_a_recorded_line_inside_of_a_recorded_cell(shell, capsys):
    for outer in ("%%baro outer", "%baro on"):
        done = shell.run_cell(f"{outer}\n%baro value = 3\nvalue += 1", store_history=True)
        assert done.success and shell.user_ns["value"] == 4, done
        shell.run_line_magic("baro", "off")
    done = shell.run_cell("%%baro outer\n%baro 1/0\nvalue = 5")
    assert isinstance(done.error_in_exec, ZeroDivisionError) and shell.user_ns["value"] == 4
    capsys.readouterr()
    shell.run_cell("1/0")
    assert "ZeroDivisionError" in capsys.readouterr().out, "errors of later cells are shown again"


def test_who_shows_errors_in_a_shell_stays(shell, capsys):
    """As rich.traceback.install() sets it, before a recorded cell or in one."""
    shown = []

    def own(*_, **__):
        shown.append(1)

    shell.user_ns["own"], shell.user_ns["shell"] = own, shell
    try:
        shell.showtraceback = own
        assert shell.run_cell("%%baro\nvalue = 1").success
        assert shell.showtraceback is own and not shown
        del shell.showtraceback
        assert shell.run_cell("%%baro\nshell.showtraceback = own").success
        assert shell.showtraceback is own
        shell.run_cell("%%baro\n1/0")
        assert shown == [1]
        del shell.showtraceback
        around = "show = shell.showtraceback\nshell.showtraceback = lambda *a, **k: (own(), show(*a, **k))"
        assert shell.run_cell(f"%%baro\n{around}").success
        capsys.readouterr()
        shell.run_cell("1/0")
        assert shown == [1, 1] and "ZeroDivisionError" in capsys.readouterr().out
    finally:
        vars(shell).pop("showtraceback", None)


def test_a_session_does_not_keep_its_shell():
    """What has %baro is freed with all else that it has."""
    import gc
    import weakref

    class Shell:
        def register_magic_function(self, function, kind, name):
            self.magics = function

    shell = Shell()
    barograph.load_ipython_extension(shell)
    kept = weakref.ref(shell)
    del shell
    gc.collect()
    assert kept() is None
