# SPDX-License-Identifier: Apache-2.0
"""Recording from inside an interpreter: what is on the tape, and that the interpreter has nothing of it."""

import asyncio
import datetime
import functools
import gc
import os
import pickle
import resource
import signal
import subprocess
import time
import warnings

import pytest
from conftest import ended, in_threads, poll

import barograph
from barograph import _where
from barograph.compat.stouputils import ProcessMetricsMonitor

BUSY = """
import time
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


def descriptors():
    return {os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{n}")}


def no_child_is_left():
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_block_is_recorded():
    before = descriptors()
    with barograph.record("t.baro", strict=True) as rec:
        assert rec.active
        no_child_is_left()
        with rec.phase("fit", rows=3):
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
        rec.mark("epoch", loss=0.25, step=7, name="first", good=True, more=[1, {"a": None}], time=1.5)
        subprocess.run(["sh", "-c", "exit 3"], check=False)
        now = rec.now
        assert now is not None and os.getpid() in [p.pid for p in now.processes] and now.rss_bytes > 0
    no_child_is_left()
    assert descriptors() == before
    assert not rec.active
    tape = rec.tape
    assert tape.path == os.path.abspath("t.baro") and tape.state == "ended"
    assert tape.header.targets == [os.getpid()]
    assert tape.summary.job.cpu_ns >= 150_000_000
    assert tape.summary.exit.is_detached is True
    (phase,) = tape.phases
    assert phase.name == "fit" and phase.attributes == {"rows": 3} and not phase.is_open
    assert phase.cpu_ns >= 100_000_000
    (mark,) = tape.marks
    assert mark.attributes == {"loss": 0.25, "step": 7, "name": "first", "good": True, "more": [1, {"a": None}],
                               "time_": 1.5}
    assert mark.pid == os.getpid()
    (ended,) = tape.exits
    # A container has no connector, and nothing else says the status of a process that is not the recorder's child.
    assert ended.returncode == 3 or (not ended.returncode and tape.summary.accounting.event_source != "connector")


def test_the_recorder_is_not_in_the_job():
    """Start and stop may be called twice. children=False: nor are children."""
    rec = barograph.record("t.baro", children=False, strict=True)
    assert rec.start() is rec and rec.start() is rec
    subprocess.run(["true"], check=True)
    assert rec.stop() is rec and rec.stop() is rec
    assert [p.pid for p in rec.tape.processes] == [os.getpid()] and rec.summary.job.processes_started == 1


def test_a_cell_that_is_run_again():
    """A recording of this program that is still there ends where force=True takes its tape."""
    first = barograph.record("t.baro", force=True, strict=True).start()
    with pytest.warns(barograph.RecordingWarning, match="t.baro is recorded by this program: that recording ends"):
        second = barograph.record("t.baro", force=True, strict=True).start()
    assert not first.active and second.active and os.environ["BARO_TAPE"] == second.path
    second.stop()
    assert "BARO_TAPE" not in os.environ


def test_nested_and_side_by_side():
    with barograph.record("a.baro", strict=True) as a:
        with barograph.record("b.baro", strict=True) as b:
            barograph.mark("inner")
            b.mark("b")
            a.mark("a")
            assert os.environ["BARO_TAPE"] == b.path
        barograph.mark("outer")
        assert os.environ["BARO_TAPE"] == a.path
    assert "BARO_TAPE" not in os.environ
    assert [m.name for m in b.tape.marks] == ["inner", "b"]
    assert [m.name for m in a.tape.marks] == ["a", "outer"]
    barograph.mark("nowhere")


def test_many_at_once():
    recordings = [barograph.record(f"{i}.baro", strict=True).start() for i in range(20)]
    for i, rec in enumerate(recordings):
        rec.mark(f"m{i}")
    for rec in recordings[::2] + recordings[1::2]:
        rec.stop()
    assert [[m.name for m in rec.tape.marks] for rec in recordings] == [[f"m{i}"] for i in range(20)]
    no_child_is_left()


def test_from_threads():
    def one(i):
        with barograph.record(f"{i}.baro", strict=True) as rec:
            rec.mark(f"m{i}")

    in_threads([functools.partial(one, i) for i in range(8)])
    assert [[m.name for m in barograph.open(f"{i}.baro").marks] for i in range(8)] == [[f"m{i}"] for i in range(8)]


def test_nothing_grows():
    gc.collect()  # of tests before: PyPy counts no references
    before = descriptors()
    for _ in range(100):
        barograph.record("t.baro", force=True, strict=True).start().stop()
    assert descriptors() == before
    no_child_is_left()


def test_decorators():
    @barograph.record
    def plain(x):
        """Its text."""
        return x + 1

    @barograph.record()
    async def coroutine(x):
        await asyncio.sleep(0)
        return x + 2

    @barograph.record()
    def generator(x):
        got = yield x
        yield got

    @barograph.record()
    async def stream(x):
        got = yield x
        try:
            yield got
        except KeyError:
            yield "caught"

    assert plain(1) == 2 and plain.__doc__ == "Its text." and plain(2) == 3
    assert asyncio.run(coroutine(1)) == 3
    g = generator(5)
    assert next(g) == 5 and g.send("sent") == "sent"
    g.close()

    async def drive():
        s = stream(7)
        return [await s.__anext__(), await s.asend("sent"), await s.athrow(KeyError())]

    assert asyncio.run(drive()) == [7, "sent", "caught"]
    assert len(barograph.runs()) == 5, "each call is a recording of its own"


def test_async_with():
    async def main():
        turns = 0

        async def other():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        async with barograph.record("t.baro", strict=True) as rec:
            async with rec.phase("part"):
                await asyncio.sleep(0.01)
        task.cancel()
        return turns

    assert asyncio.run(main()) > 2
    assert [p.name for p in barograph.open("t.baro").phases] == ["part"]


def test_phases_say_what_failed():
    with barograph.record("t.baro", strict=True) as rec:
        with pytest.raises(ValueError), rec.phase("bad"):
            raise ValueError("no")

        @rec.phase("called")
        def called():
            return 5

        assert called() == 5 and called() == 5
    assert [(p.name, p.attributes) for p in rec.tape.phases] == [("bad", {"error": "ValueError"}), ("called", {}),
                                                                 ("called", {})]


def test_without_asyncio():
    """As trio runs coroutines: there is no loop of asyncio, and nothing to wait for it."""

    async def main():
        async with barograph.record("t.baro", strict=True) as rec, rec.phase("part"):
            pass

    with pytest.raises(StopIteration):
        main().send(None)
    assert [p.name for p in barograph.open("t.baro").phases] == ["part"]


def test_the_object_in_a_process_that_got_it_pickled():
    """As workers of joblib and of forkserver do: it marks there, holds one descriptor, and neither stops the recording
    nor begins another one in its place."""
    with barograph.record("t.baro", force=True, strict=True) as rec:
        sent = pickle.dumps(rec)
        held = len(descriptors())
        again = [pickle.loads(sent) for _ in range(5)]
        assert len(descriptors()) <= held + 1
        for each in again:
            assert not each.stop().active
            with each:
                each.mark("there")
            assert not each.active
        if not (child := os.fork()):
            with rec:
                os._exit(rec.active)
        assert os.waitpid(child, 0)[1] == 0 and rec.active
    assert [m.name for m in rec.tape.marks] == ["there"] * 5
    again[0].mark("nowhere")
    assert pickle.loads(sent).tape.path == rec.path


def test_tasks_and_options():
    with barograph.record("t.baro", tasks={"sleepers": "^sleep"}, interval=0.01, metrics="cpu,rss", cmdline=False, host=False,
                          overhead="off", strict=True) as rec:
        subprocess.run(["sleep", "0.1"], check=True)
    assert [str(t.name) for t in rec.tape.tasks] == ["sleepers"]
    assert rec.tape.header.interval_ns == 10_000_000
    process = next(iter(rec.tape)).processes[0]
    assert not process.pss_bytes and process.pss_bytes.reason == "not asked"


def test_a_time_may_be_of_any_type():
    for time_of in (0.02, datetime.timedelta(milliseconds=20), "20ms"):
        with barograph.record("t.baro", interval=time_of, gpu=0, force=True, strict=True) as rec:
            pass
        assert rec.tape.header.interval_ns == 20_000_000
    for wrong in (float("nan"), float("inf"), None):
        with pytest.raises(barograph.ArgumentError, match="is no time"):
            barograph.record(interval=wrong)


# ---- what can't be recorded ----


def test_the_tape_vanishes():
    with barograph.record("t.baro", strict=True) as rec:
        os.unlink("t.baro")
        assert rec.now is None


def test_the_program_goes_on_where_nothing_can_be_recorded(tmp_path):
    (tmp_path / "t.baro").write_text("mine")
    with pytest.warns(barograph.RecordingWarning, match="t.baro"):
        with barograph.record("t.baro") as rec:
            rec.mark("x")
            with rec.phase("y"):
                pass
            assert rec.now is None
    assert (tmp_path / "t.baro").read_text() == "mine" and rec.path is None
    with pytest.raises(barograph.RecordingError, match="t.baro"):
        barograph.record("t.baro", strict=True).start()
    with pytest.raises(barograph.RecordingError):
        rec.tape  # noqa: B018
    no_child_is_left()


def test_without_the_program(monkeypatch):
    monkeypatch.setenv("BAROGRAPH_BARO", "/nonexistent/baro")

    @barograph.record
    def decorated():
        pass

    async def recorded():
        async with barograph.record():
            pass

    def entered():
        with barograph.record():
            pass

    with pytest.warns(barograph.RecordingWarning, match="/nonexistent/baro") as said:
        for begin in (entered, decorated, lambda: barograph.record().start(), lambda: asyncio.run(recorded())):
            begin()
        ProcessMetricsMonitor(os.getpid()).collect_once()
    assert [warning.filename for warning in said] == [__file__] * 5  # the line of the program that wanted it
    with pytest.raises(barograph.RecordingError):
        barograph.record(strict=True).start()
    with pytest.warns(barograph.RecordingWarning):
        done = barograph.run(["sh", "-c", "exit 3"])
    assert done.returncode == 3 and done.tape is None


def test_of_a_process_that_is_gone():
    job = subprocess.Popen(["true"])
    job.wait()
    with pytest.raises(barograph.RecordingError, match="no process has the pid"):
        barograph.record(pid=job.pid, strict=True).start()


def test_a_recorder_that_was_killed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with barograph.record("t.baro", strict=True) as rec:
            os.kill(rec.tape.header.recorder_pid, signal.SIGKILL)
            poll(lambda: not rec.active, "the end of the recorder")
            rec.mark("still no error")
    assert barograph.open("t.baro").state == "cut off"


# ---- how an interpreter ends ----

ENDS = {
    "kill": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    "_exit": ("os._exit(5)", 5),
    "exit": ("sys.exit(6)", 6),
    "abort": ("os.abort()", -6),
    "error": ("raise ValueError", 1),
    "error in a block": ("with rec: raise KeyError", 1),
    # ^C is for the program: the recorder is in a session of its own.
    "interrupt": ("signal.signal(signal.SIGINT, signal.default_int_handler); os.killpg(0, signal.SIGINT)", -2),
    "the machine": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_tape_is_whole_however_the_interpreter_ends(script, how):
    code, status = ENDS[how]
    script(f"""{BUSY}
import barograph, os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
rec = barograph.record("t.baro", strict=True, host={'"only"' if how == "the machine" else True}).start()
rec.mark("before")
busy(0.05)
{code}
""", start_new_session=True).end(status)
    tape = ended("t.baro")
    assert [m.name for m in tape.marks] == ["before"]
    assert how == "the machine" or tape.summary.job.cpu_ns >= 30_000_000


def test_exec(script):
    job = script("""
import barograph, os
barograph.record("t.baro", strict=True).start()
os.execv("/bin/sh", ["sh", "-c", "exit 4"])
""")
    job.end(4)
    tape = ended("t.baro")
    assert len(tape.processes) == 1
    kinds = [e.kind for e in tape.events]
    if "source" not in kinds and tape.summary.accounting.event_source != "connector":
        pytest.skip("no connector here, and perf had not begun")
    assert "exec" in kinds


def test_a_fork_does_not_stop_its_parents_recording(script):
    job = script("""
import barograph, os, sys
with barograph.record("t.baro", strict=True) as rec:
    pid = os.fork()
    if pid == 0:
        rec.mark("in the child")
        barograph.mark("of the environment")
        assert not rec.active
        sys.exit(3)                      # leaves the block, and runs what atexit has
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3 if hasattr(os, "waitstatus_to_exitcode") else True
    assert rec.active
    rec.mark("in the parent")
""")
    job.end(0)
    tape = barograph.open("t.baro")
    assert sorted(m.name for m in tape.marks) == ["in the child", "in the parent", "of the environment"]
    child = next(p for p in tape.processes if p.pid != job.process.pid)
    assert {m.pid for m in tape.marks if m.name != "in the parent"} == {child.pid}


def test_where_the_interpreter_has_no_posix_spawn(script):
    """As PyPy: that of the C library is called. Signals have their defaults in what is started, and none is blocked."""
    script("""
        import os, posix, signal
        for name in ("posix_spawn", "POSIX_SPAWN_DUP2", "POSIX_SPAWN_OPEN"):
            vars(os).pop(name, None)
            vars(posix).pop(name, None)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
        import barograph
        with barograph.record("t.baro", strict=True, metrics="cpu,rss") as rec:
            with open(f"/proc/{rec.tape.header.recorder_pid}/status") as file:
                status = dict(line.rstrip("\\n").split(":\\t") for line in file if line.startswith("Sig"))
            assert not int(status["SigBlk"], 16) & 1 << signal.SIGUSR1 - 1, status
            assert not int(status["SigIgn"], 16) & 1 << signal.SIGTERM - 1, status
            try:
                os.waitpid(-1, os.WNOHANG)
                raise AssertionError("a child was left")
            except ChildProcessError:
                pass
        assert rec.tape.state == "ended" and rec.summary.job.cpu_ns > 0
        os.environ["BAROGRAPH_BARO"] = "/nothing/baro"
        try:
            barograph.record("u.baro", strict=True).start()
            raise AssertionError("it began")
        except barograph.Error as error:
            assert "/nothing/baro" in str(error), error
    """).end()


@pytest.mark.parametrize("action", ["SIG_IGN", "SIG_DFL"])
def test_a_program_that_ignores_or_reaps_children(script, action):
    """With SIGCHLD ignored the kernel reaps; and a thread may wait for any child."""
    job = script(f"""
import barograph, os, signal, threading, time
signal.signal(signal.SIGCHLD, signal.{action})
stop = False
def reap():
    while not stop:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        time.sleep(0.0001)
threading.Thread(target=reap, daemon=True).start()
for i in range(5):
    with barograph.record(f"{{i}}.baro", strict=True) as rec:
        rec.mark("m")
    assert [m.name for m in rec.tape.marks] == ["m"]
stop = True
""")
    job.end(0)


# ---- run() ----


def test_run_is_subprocess_run(tmp_path):
    (tmp_path / "t.baro").touch(0o600)
    done = barograph.run(["sh", "-c", "cat; echo err >&2; exit 3"], input="in", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "in", "err\n")
    assert done.args[0] == "sh"
    assert done.tape.summary.exit.status == 3 and done.tape.header.argv[0] == "sh"
    assert barograph.open("@last").path == done.tape.path
    assert barograph.run("exit 4", shell=True).returncode == 4
    with pytest.raises(FileNotFoundError):
        barograph.run(["no-such-command-at-all"])
    with pytest.raises(FileNotFoundError):
        barograph.run(["./no-such-command"], cwd="/")
    with pytest.raises(PermissionError):
        barograph.run([os.path.abspath("t.baro")])
    with pytest.raises(subprocess.CalledProcessError) as failed:
        barograph.run(["false"], check=True)
    assert failed.value.tape.summary.exit.status == 1


def test_run_ends_what_takes_too_long(tmp_path, monkeypatch):
    with pytest.raises(subprocess.TimeoutExpired):
        barograph.run(["sleep", "1000"], timeout=0.3, tape="t.baro")
    (tmp_path / "slow").write_text(f"#!/bin/sh\nsleep 0.2\nexec {_where.baro()} \"$@\"")
    (tmp_path / "slow").chmod(0o755)
    monkeypatch.setenv("BAROGRAPH_BARO", str(tmp_path / "slow"))
    with pytest.raises(subprocess.TimeoutExpired):  # before it has begun: the tape is the other one's
        barograph.run(["sleep", "1001"], timeout=0, tape="t.baro", force=True)
    assert ended("t.baro").summary.exit.signal == "SIGKILL"


@pytest.mark.parametrize("how", ["nothing has begun", "it has ended", "no tape"])
def test_run_ends_what_no_tape_names(how):
    """A command that is not on the tape yet, one that has left a process behind, and a tape that can't be written."""
    more = {"no tape": {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}}.get(how, {})
    command = f"(sleep 8; : >done) {'&' if how == 'it has ended' else ''}"
    with pytest.raises(subprocess.TimeoutExpired):
        timeout = 0 if how == "nothing has begun" else 0.3
        barograph.run(command, shell=True, wait_all=how == "it has ended", timeout=timeout, tape="t.baro", **more)
    assert not os.path.exists("done"), "it went on to its end"
    assert how == "no tape" or ended("t.baro").summary.exit


def test_the_machine_alone():
    with barograph.record("t.baro", host="only", gpu=False, interval="20ms", strict=True) as rec:
        with rec.phase("work", n=1):
            barograph.mark("here")
            poll(lambda: len(list(rec.tape)) > 2, "samples")
            poll(lambda: rec.tape.series("host.cpu_busy_ratio", 5).peak, "two readings of the machine")
    assert not rec.tape.processes and all(s.host.memory_used_bytes > 0 for s in rec.tape)
    assert rec.tape.series("host.cpu_busy_ratio", 5).peak > 0
    assert [p.name for p in rec.tape.phases] == ["work"] and "here" in [m.name for m in rec.tape.marks]
    for more in ({"pid": 1}, {"tasks": {"a": "b"}}, {"metrics": "cpu"}):
        with pytest.raises(barograph.ArgumentError, match="no processes"):
            barograph.record(host="only", **more)
