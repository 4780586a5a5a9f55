# SPDX-License-Identifier: Apache-2.0
"""What a program may pass to a recording and ask of it: values, paths, names and arguments of any kind."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ended, in_threads

import barograph


# ---- values ----


class _Raises:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


def test_a_mark_of_anything():
    """Nothing that a program gives makes a mark fail."""
    cyclic = []
    cyclic.append(cyclic)
    given = {"large": 10**6000, "negative": -(10**6000), "raises": _Raises(), "inside": [_Raises()],
             "keys": {(1, 2): 3, None: 4}, "cyclic": cyclic, "bytes": b"\xff", "surrogate": "a\udc80",
             "nan": float("nan"), 'quote"\n': 1, "more": [10**6000, {1, 2}]}
    with barograph.record("t.baro", strict=True) as rec:
        for name, value in given.items():
            rec.mark("m", **{name: value})
        rec.mark("a\udc80\n\0b")
        rec.mark(5)
        barograph.mark(None)
        with rec.phase("p", **given):
            pass
        for name in (10**6000, _Raises()):
            with rec.phase(name), barograph.phase(name):
                pass
        rec.mark("last")
    names = [m.name for m in rec.tape.marks]
    assert names.count("m") == len(given) and names[-1] == "last" and "5" in names and "None" in names
    assert [p.name for p in rec.tape.phases] == ["p", "<int>", "<int>", "<_Raises>", "<_Raises>"]


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
    with barograph.record("t.baro", pid=_Index(os.getpid()), until="all", strict=True) as rec:
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
        for force in (False, True):
            try:
                barograph.record("t.baro", strict=True, force=force).start()
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


def test_a_fork_while_the_library_is_loaded(script):
    barograph.run(["true"], tape="t.baro")
    script("""
        import barograph, os, threading, _thread
        from barograph import _lib
        loads, goes_on, load = _thread.allocate_lock(), _thread.allocate_lock(), _lib._load
        loads.acquire(), goes_on.acquire()
        def slow():
            loads.release()
            goes_on.acquire()
            return load()
        _lib._load = slow
        thread = threading.Thread(target=barograph.Tape, args=("t.baro",))
        thread.start()
        loads.acquire()
        pid = os.fork()
        if pid == 0:
            _lib._load = load
            os._exit(barograph.Tape("t.baro").state != "ended")
        status = os.waitpid(pid, 0)[1]
        goes_on.release()
        thread.join()
        raise SystemExit(status)
    """).end()


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

        in_threads([read] * 4, tape.close)
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
    done = barograph.run("(sleep 0.1; touch late) & exit 3", shell=True, wait_all=True, cwd=tmp_path, strict=True)
    assert done.returncode == 3 and (tmp_path / "late").exists()


# ---- arguments ----


def test_instants_that_are_none():
    tape = barograph.run(["sleep", "0.2"], tape="t.baro", interval="20ms").tape
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
    until, since = tape.rows("process", "pid", end=1e30), tape.rows("process", "pid", start=-5)
    assert len(until.to_dicts()) == len(since.to_dicts())


def test_names_with_a_nul():
    """Nothing that is before it is taken in its place."""
    tape = barograph.run(["true"], tape="t.baro").tape
    for call in (lambda: barograph.open("t.baro\0x"), lambda: barograph.open("@last\0"), lambda: tape.rows("process\0"),
                 lambda: tape.rows("process", "pid\0x"), lambda: tape.series("cores\0x", 5),
                 lambda: tape.series("cores@\ud800", 5), lambda: barograph.runs("\0")):
        with pytest.raises(barograph.ArgumentError):
            call()


def test_names_that_are_no_options():
    """What begins with a dash, and a name with the sign that ends names."""
    tape = barograph.run(["true"], tape="-t.baro").tape
    assert "<svg" in tape.plot("cpu") and os.path.exists(tape.report("r.html"))
    assert os.path.exists(tape.report("-r.html"))
    for figure in ("--help", "--list", "-o"):
        with pytest.raises(barograph.Error):
            tape.plot(figure)
    with pytest.raises(barograph.ArgumentError, match="a=b"):
        barograph.record("u.baro", tasks={"a=b": "x"})


def test_a_generator_that_is_open_when_the_interpreter_ends(script):
    """It is closed when much of the interpreter is gone already."""
    text = """
import barograph
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
