# SPDX-License-Identifier: Apache-2.0
"""What a program does to its interpreter while it is recorded: descriptors closed, interrupts, threads."""

import os
import signal
import sys
import threading
import time
import types

import pytest
from conftest import ended, in_threads, poll

import barograph
from barograph import _marks, _where, recorder


# ---- descriptors ----


def test_a_program_that_closes_all_descriptors(script):
    """As a daemon does. What it opens then, and a recording that begins then, may get the number that one had: nothing of
    ours is written there, marks arrive, and each recording can be stopped."""
    script("""
        import barograph, os
        def held():
            names = {n: os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if int(n) > 2
                     and os.path.exists(f"/proc/self/fd/{n}")}
            return {n for n, path in names.items() if path in opened}
        opened = set()
        a = barograph.record("a.baro", strict=True).start()
        opened.add(os.environ["BARO_EVENTS"])
        barograph.mark("before")
        before = held()
        os.closerange(3, 1024)
        b = barograph.record("b.baro", strict=True).start()
        opened.add(os.environ["BARO_EVENTS"])
        assert held() == before and len(before) == 1, (held(), before)
        a.mark("of a")
        b.mark("of b")
        a.stop()
        assert held() == before and a.tape.state == "ended" and not a.active
        os.closerange(3, 1024)
        mine = [os.open(f"mine{i}", os.O_RDWR | os.O_CREAT) for i in range(30)]
        b.mark("of b")
        barograph.mark("of the environment")
        with b.phase("p"):
            pass
        b.stop()
        assert not held() and b.tape.state == "ended"
        for fd in mine:
            os.fstat(fd)
        assert not any(os.path.getsize(f"mine{i}") for i in range(30))
    """).end()
    assert [m.name for m in barograph.open("a.baro").marks] == ["before", "of a"]
    assert [m.name for m in barograph.open("b.baro").marks] == ["of b", "of b", "of the environment"]
    assert [p.name for p in barograph.open("b.baro").phases] == ["p"]


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_standard_streams_are_never_ours(script, closed):
    """What a program writes to a stream that it has closed goes nowhere, and not among the marks."""
    job = script(f"""
        import os
        for fd in {closed}:
            os.close(fd)
        import barograph
        with barograph.record("t.baro", strict=True) as rec:
            held = [n for n in {closed} if os.path.exists(f"/proc/self/fd/{{n}}")]
            rec.mark("m")
            for fd in {closed}:
                try:
                    os.write(fd, b'{{"mark": "not a mark"}}\\n')
                except OSError:
                    pass
        os._exit(10 + len(held))
    """)
    job.process.communicate()
    assert job.process.returncode == 10
    assert [m.name for m in barograph.open("t.baro").marks] == ["m"]


def test_a_program_whose_functions_are_replaced(script):
    """gevent's os.waitpid() waits for ever for what has ended before its loop began, and eventlet has no poll()."""
    script("""
        import os, select
        def never(*_, **__):
            raise SystemExit("it was called")
        os.posix_spawn = os.waitpid = never
        del select.poll
        import barograph
        with barograph.record("t.baro", strict=True, interval="10ms", overhead="off") as rec:
            for number, _ in enumerate(rec.tape.follow()):
                if number > 2:
                    break
        assert rec.tape.state == "ended"
    """).end()


@pytest.mark.parametrize("limit", (0, 1, 2, 3, 5, 8))
def test_hardly_any_descriptors(script, limit):
    script(f"""
        import barograph, os, resource, warnings
        barograph.record, barograph.Tape
        warnings.simplefilter("ignore")
        highest = max(map(int, os.listdir("/proc/self/fd")))
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + {limit}, 4096))
        with barograph.record("t.baro") as rec:
            rec.mark("m")
            with rec.phase("p"):
                pass
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        assert rec.path is None or rec.tape.state == "ended"
        assert len(os.listdir("/proc/self/fd")) <= highest + 2
    """).end()


# ---- the environment ----


def test_no_descriptor_before_the_first_recording(script):
    """The package is imported, and nothing of it so far. Nothing fails, and later recordings are made."""
    script("""
        import asyncio, barograph, os, resource, sys, warnings
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        sys.modules.pop("importlib", None)
        kept = []
        try:
            while True:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        async def task():
            async with barograph.record():
                return 4
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with barograph.record("t.baro") as rec, barograph.phase("p"):
                rec.mark("x", a=1)
                barograph.mark("y", b=[])
            assert rec.path is None and not rec.active and rec.variables == () and rec.mark_allocators() == {}
            assert barograph.record(lambda: 3)() == 3 and barograph.phase("p")(lambda: 4)() == 4
            try:
                rec.summary
                raise SystemExit("no error")
            except OSError as error:
                assert "nothing is recorded: " in str(error)
            from barograph import mark, record
            with record():
                mark("x")
        assert "Too many open files" in str(caught[0].message)
        try:
            barograph.record(strict=True)
            raise SystemExit("no error")
        except OSError:
            pass
        for fd in kept:
            os.close(fd)
        assert asyncio.run(task()) == 4
        with record("t.baro", strict=True) as rec:
            mark("x")
            try:
                while True:
                    os.open("/dev/null", os.O_RDONLY)
            except OSError:
                pass
            rec.mark("y", b=[])
            assert rec(lambda: 3)() == 3 and rec.phase("p")(lambda: 4)() == 4
        assert not rec.active
    """).end()
    assert [mark.name for mark in ended("t.baro").marks] == ["x", "y"]


def test_recordings_that_end_in_any_order(monkeypatch):
    for outer in ("/outer.baro", None):
        monkeypatch.setenv("BARO_TAPE", outer) if outer else monkeypatch.delenv("BARO_TAPE")
        a, b, c = (barograph.record(f"{outer}{n}".strip("/") + ".baro", strict=True).start() for n in "abc")
        b.stop()
        assert os.environ["BARO_TAPE"] == c.path
        a.stop()
        assert os.environ["BARO_TAPE"] == c.path
        c.stop()
        assert os.environ.get("BARO_TAPE") == outer and not {"BARO_EVENTS", "BARO_PID"} & set(os.environ)


# ---- interrupts and threads ----


def recorders():
    """Processes of this program that record, of all interpreters below the folder of this test."""
    here, found = os.getcwd(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if b"record\0--background" in file.read() and os.readlink(f"/proc/{name}/cwd") == here:
                    found.append(int(name))
        except OSError:
            pass
    return found


def test_an_interrupt_while_it_starts(script):
    """The caller has no recording then: none is left behind. At each call that start() makes."""
    script("""
        import barograph, os, sys
        from barograph import recorder
        count = 0
        def trace(frame, event, arg):
            global count
            if event == "call" and "barograph" in frame.f_code.co_filename:
                count += 1
                if count == after:
                    sys.setprofile(None)
                    raise KeyboardInterrupt
        begun = interrupted = 0
        after = 0
        while begun < 6:
            after, count = after + 1, 0
            try:
                sys.setprofile(trace)
                with barograph.record(f"{after}.baro", strict=True) as rec:
                    sys.setprofile(None)
                    begun += 1
            except KeyboardInterrupt:
                interrupted += 1
            sys.setprofile(None)
            assert "BARO_TAPE" not in os.environ, after
        assert interrupted > 5, interrupted
        print("done", flush=True)
        sys.stdin.readline()
    """).line()
    poll(lambda: not recorders(), "the end of the recorders")


# Stands for baro: what it says comes before the interrupt, all of it or a part.
_SLOW = """#!/bin/sh
{ "$REAL" "$@" > said; until grep -q } said; do sleep 0.01; done; %s; sleep 2; } &
"""


@pytest.mark.parametrize("says, interrupts", (("cat said", 1), ("cat said", 2), ("head -c 9 said", 1), ("head -c 9 said", 2)))
def test_an_interrupt_while_the_recorder_reports(script, tmp_path, monkeypatch, says, interrupts):
    """The caller gets the interrupt, also where half a line has come, and the recorder that has said who it is ends."""
    monkeypatch.setenv("REAL", _where.baro())
    monkeypatch.setenv("BAROGRAPH_BARO", str(tmp_path / "slow"))
    (tmp_path / "slow").write_text(_SLOW % says)
    (tmp_path / "slow").chmod(0o755)
    script(
        """
        import barograph, select, sys
        from barograph import recorder
        once, left = recorder.read_report, int(sys.argv[1])
        def interrupted(fd, said, *within):
            global left
            if left:
                left -= 1
                select.select([fd], [], [])
                raise KeyboardInterrupt
            once(fd, said, *within)
        recorder.read_report = interrupted
        try:
            barograph.record("t.baro", strict=True).start()
            raise SystemExit("it began")
        except KeyboardInterrupt:
            pass
        print("done", flush=True)
        sys.stdin.readline()
    """,
        interrupts,
    ).line()
    if says == "cat said":
        poll(lambda: not recorders(), "the end of the recorders")


def test_an_interrupt_while_it_stops(script):
    script("""
        import barograph, os, signal, sys
        def handler(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, handler)
        for i in range(60):
            rec = barograph.record(f"{i}.baro", strict=True).start()
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 * (i + 1))
                rec.stop()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            rec.stop()
            assert "BARO_TAPE" not in os.environ
        print("done", flush=True)
        sys.stdin.readline()
    """).line()
    poll(lambda: not recorders(), "the end of the recorders")


def test_start_and_stop_from_several_threads(monkeypatch):
    """One recording at a time, and no descriptor or recorder is left."""
    before, rec = len(os.listdir("/proc/self/fd")), barograph.record()
    barrier, locks = threading.Barrier(4), set()

    def slow_lock():
        time.sleep(0.01)
        return threading.RLock()

    monkeypatch.setattr(recorder, "_thread", types.SimpleNamespace(RLock=slow_lock))

    def cycle():
        barrier.wait()
        locks.add(rec._alone())
        for _ in range(4):
            rec.start()
            rec.mark("x")
            rec.stop()

    in_threads([cycle] * 4)
    rec.stop()
    assert not rec.active and "BARO_EVENTS" not in os.environ and len(locks) == 1
    assert len(os.listdir("/proc/self/fd")) == before
    poll(lambda: not recorders(), "the end of the recorders")


def test_stop_in_a_handler_while_it_stops():
    def handler(*_):
        rec.stop()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for i in range(40):
            rec = barograph.record("t.baro", force=True, strict=True).start()
            signal.setitimer(signal.ITIMER_REAL, 0.00002 * (i + 1))
            rec.stop()
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("line", range(1, 6))
def test_marks_are_closed_in_a_handler_while_they_are_closed(tmp_path, line):
    """Whatever line of close() the handler interrupts, the file that the program opens in it stays open."""
    path, mine, lines = tmp_path / "events", [], [0]
    path.touch()
    events = _marks.Events(str(path))
    number = events._fd

    def handler(frame, what, _):
        lines[0] += what == "line"
        if what == "line" and lines[0] == line:
            sys.settrace(None)
            events.close()
            mine.append(os.open(tmp_path / "mine", os.O_RDWR | os.O_CREAT))
        return handler

    sys.settrace(lambda frame, *_: handler if frame.f_code is _marks.Events.close.__code__ else None)
    try:
        events.close()
    finally:
        sys.settrace(None)
    assert os.path.samestat(os.fstat(mine[0]), os.stat(tmp_path / "mine"))
    os.close(mine[0])
    with pytest.raises(OSError):
        os.fstat(number)  # the one of the marks is closed, too


def test_threads_that_mark_while_it_stops(tmp_path):
    """What the program opens as soon as the recording ends is not written to."""
    over, failed = threading.Event(), []
    current = [None]

    def marks():
        while not over.is_set():
            try:
                current[0] and current[0].mark("m", x=1)
                barograph.mark("n")
            except BaseException as error:
                failed.append(error)
                return

    threads = [threading.Thread(target=marks) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for i in range(30 if os.environ.get("BARO_FULL") else 8):
            current[0] = barograph.record("t.baro", force=True, strict=True).start()
            current[0].stop()
            mine = [os.open(tmp_path / f"mine{k}", os.O_RDWR | os.O_CREAT) for k in range(8)]
            sizes = [os.fstat(fd).st_size for fd in mine]
            for fd in mine:
                os.close(fd)
            assert not any(sizes), i
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failed


def test_threads_that_make_the_first_mark(script):
    """At the same moment: the file of $BARO_EVENTS is opened once."""
    with barograph.record("t.baro", strict=True):
        script("""
            import barograph, os, threading
            from barograph import _current, _marks
            gate, inside = threading.Barrier(4), threading.Barrier(4)
            class Slow(_marks.Events):
                def __init__(self, path):
                    super().__init__(path)
                    try:
                        inside.wait(0.2)  # for threads that open it as well
                    except threading.BrokenBarrierError:
                        pass
            _marks.Events = Slow
            def first():
                gate.wait()
                barograph.mark("m")
            threads = [threading.Thread(target=first) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            names = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
            held = [os.readlink(n) for n in names if os.path.lexists(n)]
            assert held.count(os.environ["BARO_EVENTS"]) == 1, held
        """).end()
    assert [m.name for m in barograph.open("t.baro").marks] == ["m"] * 4


def test_threads_that_mark_at_exit(script):
    script("""
        import barograph, threading
        rec = barograph.record("t.baro", strict=True).start()
        def marks():
            while True:
                rec.mark("m")
                with barograph.phase("p"):
                    pass
        for _ in range(4):
            threading.Thread(target=marks, daemon=True).start()
    """).end()
    assert ended("t.baro").state == "ended"


def test_a_fork_while_threads_mark(script):
    """The child may mark, whatever lock another thread of the parent had."""
    script("""
        import barograph, os, signal, threading
        rec = barograph.record("t.baro", strict=True).start()
        over = False
        def marks():
            while not over:
                rec.mark("m")
                barograph.mark("n")
        threads = [threading.Thread(target=marks) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(40):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                rec.mark("child")
                barograph.mark("child")
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        over = True
        for thread in threads:
            thread.join()
        rec.stop()
    """).end()


def test_a_block_that_began_after_one_that_failed(tmp_path):
    """With the same object."""
    rec = barograph.record(tmp_path / "t.baro", strict=True)
    (tmp_path / "t.baro").write_text("mine")
    with pytest.raises(barograph.RecordingError):
        with rec:
            pass
    (tmp_path / "t.baro").unlink()
    with rec:
        assert rec.active
    assert not rec.active and rec.tape.state == "ended"


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become another user")
def test_a_program_that_becomes_another_user(script):
    """It may not stop its recorder any more: a warning says so, and nothing is waited for."""
    script("""
        import barograph, os, warnings
        from barograph import recorder
        recorder._ENDS_WITHIN = 1e6
        rec = barograph.record("t.baro", strict=True).start()
        os.setgid(65534)
        os.setuid(65534)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rec.stop()
        assert "another user" in str(caught[0].message), caught[0].message
        assert not rec.active and "BARO_TAPE" not in os.environ
    """).end()
    assert ended("t.baro").state == "ended"


def test_a_block_goes_on_where_libbaro_is_not_installed(script):
    done = script(
        """
        import warnings, barograph
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with barograph.record("job.baro") as rec:
                with rec.phase("fit"):
                    print(rec.now, rec.now)
                rec.mark("epoch", loss=0.1)
        print(rec.path, [str(w.message).split(":")[0] for w in caught])
        """,
        env={**os.environ, "BAROGRAPH_LIBBARO": "/nonexistent/libbaro.so.0"},
    ).end()
    assert done.splitlines()[0] == "None None"
    assert done.count("job.baro is recorded, and can't be read here") == 1
    assert barograph.open("job.baro").marks[0].name == "epoch"


def test_a_monitor_measures_nothing_where_libbaro_is_not_installed(script, tmp_path):
    done = script(
        """
        import pathlib, sys, warnings
        warnings.simplefilter("ignore")
        from barograph.compat.pytyche import HWMonitor
        from barograph.compat.resource_tracker import ProcessTracker
        monitor = HWMonitor()
        monitor.start(pathlib.Path(sys.argv[1]), 1)
        ProcessTracker(interval=0.1)
        print(monitor.stop(), "the job goes on")
        """,
        tmp_path,
        env={**os.environ, "BAROGRAPH_LIBBARO": "/nonexistent/libbaro.so.0"},
    ).end()
    assert done == "(None, None, None) the job goes on\n"
