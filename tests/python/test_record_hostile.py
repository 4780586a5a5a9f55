# SPDX-License-Identifier: Apache-2.0
"""What a program does to its interpreter while it is recorded: descriptors closed, interrupts, threads, values of any
kind."""

import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest
from conftest import ended, poll

import barograph
from barograph import _where


# ---- descriptors ----


def test_a_program_that_closes_all_descriptors(script):
    """As a daemon does. What it opens then may get the number of the one for marks: nothing of ours is written there,
    marks arrive, and the recording can be stopped."""
    script("""
        import barograph, os
        rec = barograph.record("t.baro", strict=True).start()
        barograph.mark("before")
        os.closerange(3, 1024)
        mine = [os.open(f"mine{i}", os.O_RDWR | os.O_CREAT) for i in range(30)]
        rec.mark("after")
        barograph.mark("of the environment")
        with rec.phase("p"):
            pass
        rec.stop()
        assert rec.tape.state == "ended" and not rec.active
        for fd in mine:
            os.fstat(fd)
        assert not any(os.path.getsize(f"mine{i}") for i in range(30))
    """).end()
    assert [m.name for m in barograph.open("t.baro").marks] == ["before", "after", "of the environment"]
    assert [p.name for p in barograph.open("t.baro").phases] == ["p"]


def test_marks_of_a_job_that_closes_all_descriptors(script):
    with barograph.record("t.baro", strict=True):
        script("""
            import barograph, os
            barograph.mark("before")
            os.closerange(3, 1024)
            mine = [os.open(f"mine{i}", os.O_RDWR | os.O_CREAT) for i in range(30)]
            barograph.mark("after")
            assert not any(os.path.getsize(f"mine{i}") for i in range(30))
        """).end()
    assert [m.name for m in barograph.open("t.baro").marks] == ["before", "after"]


def test_a_recording_whose_descriptor_another_recording_has(script):
    """A program closes all, and a recording that begins then gets the number that one before it had."""
    script("""
        import barograph, os
        def held():
            names = {n: os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if int(n) > 2
                     and os.path.exists(f"/proc/self/fd/{n}")}
            return {n for n, path in names.items() if path in opened}
        opened = set()
        a = barograph.record("a.baro", strict=True).start()
        opened.add(os.environ["BARO_EVENTS"])
        before = held()
        os.closerange(3, 1024)
        b = barograph.record("b.baro", strict=True).start()
        opened.add(os.environ["BARO_EVENTS"])
        assert held() == before and len(before) == 1, (held(), before)
        a.mark("of a")
        b.mark("of b")
        a.stop()
        assert held() == before
        b.mark("of b")
        b.stop()
        assert not held()
    """).end()
    assert [m.name for m in barograph.open("a.baro").marks] == ["of a"]
    assert [m.name for m in barograph.open("b.baro").marks] == ["of b"] * 2


def test_standard_streams_are_never_ours(script):
    """What a program writes to a stream that it has closed goes nowhere, and not among the marks."""
    script("""
        import os
        for fd in (0, 1, 2):
            os.close(fd)
        import barograph
        with barograph.record("t.baro", strict=True) as rec:
            held = [n for n in (0, 1, 2) if os.path.exists(f"/proc/self/fd/{n}")]
            rec.mark("m")
            for fd in (0, 1, 2):
                try:
                    os.write(fd, b'{"mark": "not a mark"}\\n')
                except OSError:
                    pass
        os._exit(10 + len(held))
    """).end(10)
    assert [m.name for m in barograph.open("t.baro").marks] == ["m"]


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


def test_recordings_that_end_in_any_order():
    names = ("BARO_EVENTS", "BARO_TAPE", "BARO_PID")
    a, b, c = (barograph.record(f"{n}.baro", strict=True).start() for n in "abc")
    b.stop()
    assert os.environ["BARO_TAPE"] == c.path
    a.stop()
    assert os.environ["BARO_TAPE"] == c.path
    c.stop()
    assert not [n for n in names if n in os.environ]


def test_an_outer_recording_is_there_again(monkeypatch):
    monkeypatch.setenv("BARO_TAPE", "/outer.baro")
    a, b = (barograph.record(f"{n}.baro", strict=True).start() for n in "ab")
    a.stop()
    b.stop()
    assert os.environ["BARO_TAPE"] == "/outer.baro"


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
        once, left = recorder.Recording._read, int(sys.argv[1])
        def interrupted(fd, said, *within):
            global left
            if left:
                left -= 1
                select.select([fd], [], [])
                raise KeyboardInterrupt
            once(fd, said, *within)
        recorder.Recording._read = staticmethod(interrupted)
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


def test_stop_from_several_threads():
    for _ in range(20):
        rec = barograph.record("t.baro", force=True, strict=True).start()
        failed, gate = [], threading.Barrier(8)

        def stop(rec=rec, failed=failed, gate=gate):
            gate.wait()
            try:
                rec.stop()
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=stop) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert ended("t.baro")


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
        for i in range(30):
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


# ---- values ----


class _Raises:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


def test_a_mark_of_anything():
    """Nothing that a program gives makes a mark fail."""
    cyclic = []
    cyclic.append(cyclic)
    given = {
        "large": 10**6000,
        "negative": -(10**6000),
        "raises": _Raises(),
        "inside": [_Raises()],
        "keys": {(1, 2): 3, None: 4},
        "cyclic": cyclic,
        "bytes": b"\xff",
        "surrogate": "a\udc80",
        "nan": float("nan"),
        'quote"\n': 1,
        "more": [10**6000, {1, 2}],
    }
    with barograph.record("t.baro", strict=True) as rec:
        for name, value in given.items():
            rec.mark("m", **{name: value})
        rec.mark("a\udc80\n\0b")
        rec.mark(5)
        barograph.mark(None)
        with rec.phase("p", **given):
            pass
        rec.mark("last")
    names = [m.name for m in rec.tape.marks]
    assert names.count("m") == len(given) and names[-1] == "last" and "5" in names and "None" in names
    assert len(rec.tape.phases) == 1


@pytest.mark.parametrize("name", [b"t\xff.baro", b"t\n.baro", "t \u00e4'\"\\.baro".encode(), b"-t.baro"])
@pytest.mark.parametrize("kind", ("text", "bytes"))
def test_any_path(name, kind):
    path = name if kind == "bytes" else os.fsdecode(name)
    with barograph.record(path, strict=True) as rec:
        rec.mark("m")
        assert rec.now is not None
    assert os.fsencode(rec.path) == os.path.join(os.getcwdb(), name)
    assert [m.name for m in barograph.open(path).marks] == ["m"] == [m.name for m in rec.tape.marks]


def test_a_folder_of_any_name(script, monkeypatch):
    os.mkdir(b"runs\xff")
    monkeypatch.setenv("BARO_DIR", os.fsdecode(os.path.join(os.getcwdb(), b"runs\xff")))
    with barograph.record(strict=True) as rec:
        rec.mark("m")
    assert [m.name for m in rec.tape.marks] == ["m"]
    assert [m.name for m in barograph.open("@last").marks] == ["m"]


class _Index:
    """As numbers of numpy are."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def test_a_pid_of_any_kind():
    with barograph.record("t.baro", pid=_Index(os.getpid()), strict=True) as rec:
        pass
    assert rec.tape.header.targets == [os.getpid()]
    for pid in (0, -1, 1 << 40, []):
        with pytest.raises((barograph.RecordingError, barograph.ArgumentError)):
            barograph.record("u.baro", pid=pid, strict=True).start()


# ---- places ----


def test_a_folder_that_was_removed(script):
    script("""
        import os, warnings
        os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
        import barograph
        with barograph.record(strict=True) as rec:
            rec.mark("m")
        assert rec.tape.state == "ended"
        try:
            barograph.record("t.baro", strict=True).start()
            raise SystemExit("it began")
        except barograph.RecordingError:
            pass
        done = barograph.run(["true"])
        assert done.returncode == 0 and done.tape
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = barograph.run(["sh", "-c", "exit 3"], tape="t.baro")
        assert done.returncode == 3 and done.tape is None and len(caught) == 1
    """).end()


def test_a_home_that_cannot_be_written(script):
    """The tape is elsewhere, and a warning says where."""
    env = {k: v for k, v in os.environ.items() if k not in ("BARO_DIR", "XDG_STATE_HOME")}
    script(
        """
        import barograph, os, warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with barograph.record() as rec:
                rec.mark("m")
            assert rec.tape.state == "ended" and not rec.path.startswith("/proc/nothing")
            assert len(caught) == 1 and os.path.dirname(rec.path) in str(caught[0].message), (rec.path, caught)
            os.unlink(rec.path)
            done = barograph.run(["sh", "-c", "exit 3"])
            assert done.returncode == 3 and done.tape and not done.tape.path.startswith("/proc/nothing")
            os.unlink(done.tape.path)
    """,
        env={**env, "HOME": "/proc/nothing"},
    ).end()


# ---- reading ----


def test_a_tape_that_parent_and_child_read(tmp_path):
    barograph.run([sys.executable, "-c", "import time; time.sleep(0.3)"], tape="t.baro", interval="10ms")
    whole = [s.t_ns for s in barograph.open("t.baro")]
    reading = iter(barograph.open("t.baro"))
    begun = [next(reading).t_ns for _ in range(5)]
    r, w = os.pipe()
    pid = os.fork()
    rest = [s.t_ns for s in reading]
    if pid == 0:
        os.write(w, str(hash(tuple(rest))).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert begun + rest == whole
    assert os.read(r, 100).decode() == str(hash(tuple(rest)))
    os.close(r)
    os.close(w)


def test_a_tape_that_is_closed_while_threads_read():
    barograph.run([sys.executable, "-c", "import time; time.sleep(0.3)"], tape="t.baro", interval="10ms")
    for _ in range(20):
        tape, failed = barograph.open("t.baro"), []

        def read(tape=tape, failed=failed):
            try:
                for sample in tape:
                    sample.job.get("cpu_ns")
                    [p.get("rss_bytes") for p in sample.processes]
                tape.summary.job.get("cpu_ns")
                tape.rows("process").to_dict()
            except barograph.ClosedError:
                pass
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        tape.close()
        for thread in threads:
            thread.join()
        assert not failed


@pytest.mark.parametrize("what", ("folder", "fifo", "zero", "null", "socket", "proc"))
def test_what_is_no_tape(script, what):
    script(f"""
        import barograph, os, signal, socket
        signal.alarm(60)
        os.mkdir("folder"); os.mkfifo("fifo")
        socket.socket(socket.AF_UNIX).bind("socket")
        path = {{"zero": "/dev/zero", "null": "/dev/null", "proc": "/proc/self/mem"}}.get({what!r}, {what!r})
        try:
            barograph.open(path)
            raise SystemExit("it is a tape")
        except barograph.Error:
            pass
    """).end()


# ---- run() ----


def test_run_takes_what_subprocess_takes(tmp_path):
    def out(*arguments, **options):
        want = subprocess.run(*arguments, capture_output=True, check=False, **options)
        done = barograph.run(*arguments, capture_output=True, strict=True, **options)
        assert (done.returncode, done.stdout) == (want.returncode, want.stdout)
        return done.stdout

    assert out([b"printf", b"%s", b"a\xff"]) == b"a\xff"
    assert out(pathlib.Path("/bin/true")) == b""
    assert out(b"true") == b""
    assert out(["echo $0 $1", "a", "b"], shell=True) == b"a b\n"
    assert out(b"echo x", shell=True) == b"x\n"
    assert out("readlink /proc/$$/exe; true", shell=True, executable="/bin/bash").endswith(b"/bash\n")
    assert out(["sh", "-c", "exit 3"], executable="/bin/bash") == b""
    assert out(["pwd"], cwd=tmp_path) == os.fsencode(tmp_path) + b"\n"
    r, w = os.pipe()
    os.write(w, b"passed")
    os.close(w)
    done = barograph.run(["cat", f"/proc/self/fd/{r}"], pass_fds=[r], capture_output=True)
    assert done.stdout == b"passed"
    os.close(r)


# ---- arguments ----


def test_instants_that_are_none():
    barograph.run(["sleep", "0.2"], tape="t.baro", interval="20ms")
    tape = barograph.open("t.baro")
    for wrong in (float("nan"), float("inf"), "nan", "inf", "1e400", "nan%"):
        with pytest.raises(barograph.ArgumentError):
            tape.at(wrong)
    for wrong in (float("nan"), float("inf")):
        for stretch in ({"start": wrong}, {"end": wrong}):
            with pytest.raises(barograph.ArgumentError):
                tape.series("cores", 5, **stretch)
            with pytest.raises(barograph.ArgumentError):
                tape.rows("process", "pid", **stretch)
        with pytest.raises(barograph.ArgumentError):
            tape.time_ns(wrong)
    first, last = tape.range_ns
    assert tape.at(-1).t_ns == tape.at("start").t_ns == first and tape.at(1e30).t_ns == last
    assert not tape.rows("process", "pid", start=1e30).to_dicts()
    assert len(tape.rows("process", "pid", end=1e30).to_dicts()) == len(tape.rows("process", "pid", start=-5).to_dicts())


def test_names_that_are_no_options():
    """What begins with a dash, and a name with the sign that ends names."""
    barograph.run(["true"], tape="-t.baro")
    tape = barograph.open("-t.baro")
    assert "<svg" in tape.plot("cpu") and os.path.exists(tape.report("r.html"))
    assert os.path.exists(tape.report("-r.html"))
    for figure in ("--help", "--list", "-o"):
        with pytest.raises(barograph.Error):
            tape.plot(figure)
    for wrong in ({"tasks": {"a=b": "x"}}, {"collect": {"a=b": "true"}}):
        with pytest.raises(barograph.ArgumentError, match="a=b"):
            barograph.record("u.baro", **wrong)


def test_a_generator_that_is_open_when_the_interpreter_ends(script):
    """It is closed when much of the interpreter is gone already."""
    text = """
import barograph
from barograph import _where
@barograph.record("t.baro", strict=True)
def work():
    yield 1
    yield 2
it = work()
next(it)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert not done.stderr
    assert ended("t.baro").state == "ended"


def test_a_recorder_that_does_not_know_when_it_began():
    """As under qemu-user, which makes up /proc/self/stat of what it runs."""
    from barograph._process import Recorder

    line = '{"pid": %d, "start_ticks": 0, "tape": null, "events": null}' % os.getpid()
    assert not Recorder(line.encode()).has_ended
