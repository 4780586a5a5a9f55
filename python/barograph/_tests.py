# SPDX-License-Identifier: Apache-2.0
"""What --baro does (pytest_plugin.py). The process that runs tests measures them; the controller of xdist, or the only
process there is, has the recording, and gathers what the reports of tests bring."""

from __future__ import annotations

import bisect
import ctypes
import json
import os
import resource
import time
import warnings
from collections.abc import Generator
from typing import Any

import pytest

from . import _marks
from .errors import ArgumentError, Error, RecordingWarning, warn
from ._current import put as _put
from ._lib import lib, present
from .recorder import Recording, record
from .records import Exit
from .sample import Sample

_PREFIX = "baro."
_READ_AFTER = 0.02  # seconds: a shorter test has hardly a sample, and reading the tape costs more than it
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # of start times
_WAITS = 10.0  # seconds for the sample after a test that has a limit
_SIZES = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_SIZES.update({"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40})
_TIMES = {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600}


def quantity(value: Any, units: dict[str, float]) -> float:
    """ "200MB", "2 s", 3.5"""
    text = str(value).strip().replace(" ", "").lower()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        found = float(value) if isinstance(value, (int, float)) else float(number) * units[text[len(number) :]]
        if found != found:
            raise ValueError
        return found
    except (KeyError, ValueError, OverflowError):
        raise ArgumentError(f"{value!r} is no quantity; units are {', '.join(u for u in units if u)}") from None


def _warn(text: str) -> None:
    """Where warnings are errors, those of a hook would end the session."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", RecordingWarning)
        warn(text)


class _Own:
    """Functions as they were at the start. A test may replace them until its fixtures end, by their names in modules."""

    getpid = staticmethod(os.getpid)
    rusage = staticmethod(resource.getrusage)
    now = staticmethod(time.monotonic)
    now_ns = staticmethod(time.monotonic_ns)
    sleep = staticmethod(time.sleep)


class _Statm:
    """/proc/self/statm, kept open. A test may close it, have a file of its own of that number, or be a forked child."""

    def __init__(self) -> None:
        self._page = resource.getpagesize()
        self._fd, self._is = -1, (0, 0, 0)

    def _identity(self) -> tuple[int, int, int]:
        status = os.fstat(self._fd)
        return _Own.getpid(), status.st_ino, status.st_dev

    def rss(self) -> int:
        """0, which is a lower bound as well, where no descriptor is left."""
        try:
            ours = self._identity() == self._is
        except OSError:
            ours = False
        try:
            if not ours:
                self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
                self._is = self._identity()
            return int(os.pread(self._fd, 64, 0).split()[1]) * self._page
        except OSError:
            return 0


_statm = _Statm()


def _has_children() -> bool:
    """Is there a process that this one has started and not waited for?"""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


class _Used:
    """What a process and those that it has reaped have used so far."""

    __slots__ = ("cpu", "pid", "read", "reaped", "rss", "t_ns", "written")

    def __init__(self) -> None:
        self.pid = _Own.getpid()
        self.t_ns = _Own.now_ns()
        own, others = _Own.rusage(resource.RUSAGE_SELF), _Own.rusage(resource.RUSAGE_CHILDREN)
        self.reaped = others.ru_utime + others.ru_stime
        self.cpu = own.ru_utime + own.ru_stime + self.reaped
        # Blocks of 512 bytes that reached storage, as /proc/self/io has them.
        self.read = (own.ru_inblock + others.ru_inblock) * 512
        self.written = (own.ru_oublock + others.ru_oublock) * 512
        self.rss = _statm.rss()

    def since(self, begin: _Used) -> dict[str, Any]:
        """The counts of a fork begin at 0: a test may be one (pytest-forked)."""
        same = begin.pid == self.pid
        return {
            "cpu_s": round(self.cpu - same * begin.cpu, 6),
            "read_bytes": self.read - same * begin.read,
            "written_bytes": self.written - same * begin.written,
        }


class _Follower:
    """Reads what is new on the tape: peaks and processes below this one."""

    def __init__(self, path: str, pid: int) -> None:
        from .tape import Tape

        tape = Tape(path)
        self._cursor = tape._cursor()
        self._header = lib.baro_tape_header(self._cursor.handle.pointer)
        self._start_ns = tape.header.start_monotonic_ns
        self.own = pid
        self._members, self._others = {self.own}, set[int]()  # living processes below this one, and all that are not
        self._orphans: dict[int, list[Exit]] = {}  # by their parent's pid, which nothing on the tape was about so far
        self.last_ns = 0
        # In order of time (CLOCK_MONOTONIC): memory of all below, or of one that ended; when processes began, at the
        # earliest and at the latest.
        self._peaks: list[tuple[int, int]] = []
        self._began: list[tuple[int, int]] = []
        self._begins: dict[int, int] = {}  # at the latest, of each process that was seen
        self._cpu: dict[int, int] = {}  # so far, of those that may have begun in the test that runs

    def read(self) -> int:
        """Returns the time of the newest sample."""
        while True:
            taken = self._cursor.next()
            if taken is None:
                return self.last_ns
            if isinstance(taken, Sample):
                self._sample(taken)
            elif isinstance(taken, Exit):
                self._exit(taken)

    @property
    def goes_on(self) -> bool:
        return self._cursor.wait(0)

    def _exit(self, taken: Exit) -> None:
        """`sh -c "a; b"` ends after a and b do, and no sample may have had it: whose they are is known by then."""
        if taken.ppid in self._members or taken.pid in self._members:
            when = self._start_ns + taken.t_ns
            self._members.add(taken.pid)
            self._see(taken.id, taken._pointer, when, taken.get("cpu_ns", 0))
            bisect.insort(self._peaks, (when, int(taken.get("rss_peak_bytes", 0))))
            self._adopt(taken.pid)
        elif taken.ppid in self._others:
            self._orphans.pop(taken.pid, None)
        else:
            self._orphans.setdefault(taken.ppid, []).append(taken)

    def _adopt(self, pid: int) -> None:
        for child in self._orphans.pop(pid, ()):
            self._exit(child)

    def _sample(self, sample: Sample) -> None:
        self.last_ns = self._start_ns + sample.t_ns
        members, others, rss = {self.own}, set[int](), 0
        for process in sample.processes:  # parents before children
            # An orphan has another parent by now.
            if process.pid != self.own and process.ppid not in members and process.pid not in self._members:
                others.add(process.pid)
                continue
            members.add(process.pid)
            rss += int(process.get("rss_bytes", 0))
            if process.pid != self.own:
                self._see(process.id, process._pointer, self.last_ns, process.get("cpu_ns", 0))
        self._members, self._others = members, others
        for pid in members & self._orphans.keys():
            self._adopt(pid)
        bisect.insort(self._peaks, (self.last_ns, rss))

    def _see(self, number: int, row: int | None, when: int, cpu_ns: Any) -> None:
        """A process belongs to the test in which it began, which may be over by the first sample that has it. The
        kernel has the tick of its start: the tick begins at 985.8 ms, and it was found at 998.2 ms, so it began between
        985.8 and 995.8 ms."""
        self._cpu[number] = int(cpu_ns)
        if number not in self._begins:
            begin = int(present(lib.baro_row_begin_ns, ctypes.c_uint64, self._header, row))
            found = present(lib.baro_row_first_ns, ctypes.c_uint64, row) or when - self._start_ns
            end = max(begin, min(begin + _TICK_NS, found))
            self._begins[number] = self._start_ns + end
            bisect.insort(self._began, (self._start_ns + begin, self._start_ns + end))

    def began_in(self, tests: list[tuple[int, int]]) -> list[int]:
        """How many processes began in each of these stretches, which are in order of time. One that may have begun in
        two of them is counted in that which has more of its time: 985.8 to 995.8 ms is not of the test that ended at
        986.8 ms, but of the one that began at 991.8 ms."""
        counts, begins = [0] * len(tests), [begin for begin, _ in tests]
        for begin, end in self._began:
            i = bisect.bisect_right(begins, end) - 1
            best, most = -1, -1
            while i >= 0 and tests[i][1] >= begin:
                share = min(end, tests[i][1]) - max(begin, tests[i][0])
                best, most = (i, share) if share > most else (best, most)
                i -= 1
            if best >= 0:
                counts[best] += 1
        return counts

    def between(self, begin_ns: int, end_ns: int) -> tuple[int | None, int]:
        """(the highest memory, how many processes began, less those that forget() knew)"""
        inside = self._peaks[
            bisect.bisect_left(self._peaks, (begin_ns, 0)) : bisect.bisect_left(self._peaks, (end_ns + 1, 0))
        ]
        began = sum(end >= begin_ns for begin, end in self._began if begin <= end_ns)
        return max((rss for _, rss in inside), default=None), began

    def cpu_since(self, begin_ns: int) -> float:
        """Seconds that the processes which began since then have used so far."""
        return sum(used for number, used in self._cpu.items() if self._begins[number] >= begin_ns) / 1e9

    def forget(self, end_ns: int) -> None:
        self._cpu.clear()
        del self._peaks[: bisect.bisect_left(self._peaks, (end_ns + 1, 0))]
        del self._began[: bisect.bisect_left(self._began, (end_ns + 1, 0))]


class Plugin:
    def __init__(self, config: Any) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self.recording: Recording | None = None
        self.rows: list[dict[str, Any]] = []
        self._begin: _Used | None = None
        self._cpu_at_most: float | None = None  # of the test, also by processes that nobody has waited for
        self._follower: _Follower | None = None
        self._follows = True
        self._path = os.environ.get("BARO_TAPE")  # a test may change the environment
        try:
            _ = lib.baro_tape_header  # loads the library
        except Error:
            pass  # who needs it says so

    # ---- the recording ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self.is_worker:
            return
        tape, interval = self.config.getoption("--baro-tape"), self.config.getoption("--baro-interval")
        self.recording = record(tape, interval=interval, force=tape is not None)
        self.recording.start()
        self._path = self.recording.path or self._path

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self.recording is not None:
            self.recording.stop()
            if self.recording.path:
                self._look_again(self.recording.path)
        path = None if self.is_worker else self.config.getoption("--baro-rows")
        if path:
            try:
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in self.rows)
            except OSError as error:  # the summary of the tests is still to come
                _warn(f"baro: {error}")

    def _look_again(self, path: str) -> None:
        """The tape is complete now: it has what was not on it when a test ended."""
        try:
            followers = {pid: _Follower(path, pid) for pid in {row["pid"] for row in self.rows}}
            for follower in followers.values():
                follower.read()
        except (OSError, ImportError) as error:  # Error is one; others are those of no descriptor
            _warn(f"baro: {error}")
            return
        for pid, follower in followers.items():
            follower.last_ns = 1 << 63
            rows = sorted((row for row in self.rows if row["pid"] == pid), key=lambda row: int(row["begin_ns"]))
            tests = [(row["begin_ns"], row["begin_ns"] + int(row["wall_s"] * 1e9)) for row in rows]
            for row, (_, end_ns), count in zip(rows, tests, follower.began_in(tests)):
                self._complete(row, follower, end_ns)
                row["processes"] = count

    # ---- a test ----

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        self._begin = begin = _Used()
        yield
        # One line, when it is over: a recorder takes 1,000 a second in the long run.
        seconds = (_Own.now_ns() - begin.t_ns) / 1e9
        _put(_marks.line_of("phase", item.nodeid, {"seconds": seconds}))
        self._begin = None

    def _measured(self, waits: bool) -> dict[str, Any]:
        try:
            return self._measure(waits)
        except Exception as error:  # whatever a test has broken: the session goes on
            self._follower = self._cpu_at_most = None  # its descriptor may be closed
            _warn(f"baro: what a test used is not known: {error!r}")
            return {}

    def _measure(self, waits: bool) -> dict[str, Any]:
        begin, end = self._begin, _Used()
        assert begin is not None
        seconds = (end.t_ns - begin.t_ns) / 1e9
        found: dict[str, Any] = {
            "pid": end.pid,
            "begin_ns": begin.t_ns,  # CLOCK_MONOTONIC
            "wall_s": round(seconds, 6),
            "rss_peak_bytes": max(begin.rss, end.rss),
            "rss_peak_is_lower_bound": True,
            **end.since(begin),
        }
        self._cpu_at_most = None if _has_children() else found["cpu_s"]
        follower = self._follow() if seconds >= _READ_AFTER or waits else None
        if follower is None:
            return found
        late = _Own.now() + _WAITS
        while follower.read() < end.t_ns and waits and _Own.now() < late and follower.goes_on:
            _Own.sleep(0.005)
        self._complete(found, follower, end.t_ns)
        if not found["processes_is_lower_bound"]:
            below = follower.cpu_since(begin.t_ns)
            left = below - (end.reaped - (begin.pid == end.pid) * begin.reaped)
            # A tick, and 2 %: that much the kernel's counts differ.
            self._cpu_at_most = found["cpu_s"] + (left if left > _TICK_NS / 1e9 + 0.02 * below else 0)
        follower.forget(end.t_ns)
        return found

    @staticmethod
    def _complete(found: dict[str, Any], follower: _Follower, end_ns: int) -> None:
        """What the tape has of a test. It is written sample by sample: the end of a test may not be on it yet."""
        peak, found["processes"] = follower.between(found["begin_ns"], end_ns)
        found["processes_is_lower_bound"] = follower.last_ns < end_ns
        if peak is not None:
            found["rss_peak_bytes"] = max(peak, found["rss_peak_bytes"])
            found["rss_peak_is_lower_bound"] = follower.last_ns < end_ns

    def _follow(self) -> _Follower | None:
        if self._follower is not None and self._follower.own != _Own.getpid():
            self._follower = None  # the parent's
        if self._follower is None and self._follows and self._path:
            try:
                self._follower = _Follower(self._path, _Own.getpid())
            except (OSError, ImportError) as error:
                self._follows = False
                _warn(f"baro: {error}")
        return self._follower

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        limits = item.get_closest_marker("baro")
        if self._begin is None:
            return
        if call.when == "call" and limits is not None:
            self._judge(item, report, limits)
        if call.when == "teardown":
            found = item.stash_baro if hasattr(item, "stash_baro") else self._measured(False)
            item.user_properties += [(_PREFIX + name, value) for name, value in found.items()]
            report.user_properties = item.user_properties
            self._begin = _Used()  # of the same test, where a plug-in runs it again

    def _judge(self, item: Any, report: Any, limits: Any) -> None:
        """Fixtures and the test itself count, and what they started."""
        found = item.stash_baro = self._measured(True)
        given = {
            "rss": ("rss_peak_bytes", _SIZES, "bytes"),
            "cpu": ("cpu_s", _TIMES, "s"),
            "processes": ("processes", {"": 1.0}, ""),
        }
        unknown = set(limits.kwargs) - set(given)
        said = [f"baro: there is no limit {name}; there are {', '.join(given)}" for name in sorted(unknown)]
        said += ["baro: limits have names, such as rss='200MB'"] if limits.args else []
        for name, (fact, units, unit) in given.items():
            most, used = limits.kwargs.get(name), found.get(fact)
            if most is None:
                continue
            try:
                limit = quantity(most, units)
            except Exception as error:  # such as one that has no text
                said.append(f"baro: {name} can't be judged: {error}")
                continue
            at_most = self._cpu_at_most if name == "cpu" else used
            if name != "cpu" and found.get("processes_is_lower_bound", True):
                at_most = None  # not all of the test is on the tape
            if used is None or (used <= limit and (at_most is None or at_most > limit)):
                if self.config.getoption("--baro-unknown") != "pass":
                    said.append(f"baro: {name} can't be judged: {self._unknown(used, at_most)}")
            elif used > limit:
                text = f"{used:,} {unit}".strip()
                said.append(
                    f"baro: {name} {text} is more than {most} ({fact} of the test with its fixtures and processes)"
                )
        if said and report.outcome == "passed":
            report.outcome = "failed"
            where = [f"the recording: {self._path}, phase {item.nodeid!r}"] if self._path else []
            report.longrepr = "\n".join([*said, *where])

    def _unknown(self, at_least: Any, at_most: float | None) -> str:
        if at_most is not None:
            return f"at least {at_least:,} s, at most {at_most:,.6f} s with processes that nobody has waited for"
        if not self._path:
            return "nothing is recorded"
        return "no sample is later than the test" if self._follows else "the tape can't be read"

    # ---- all tests ----

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "teardown" or self.is_worker:
            return
        found = {n[len(_PREFIX) :]: v for n, v in report.user_properties if n.startswith(_PREFIX)}
        if found:
            worker = getattr(getattr(report, "node", None), "gateway", None)
            self.rows.append({"test": report.nodeid, **({"worker": worker.id} if worker is not None else {}), **found})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.is_worker or not self.rows:
            return
        most = self.config.getoption("--baro-most")
        for title, fact in (("CPU time", "cpu_s"), ("memory", "rss_peak_bytes")):
            rows = sorted(self.rows, key=lambda r: -r[fact])[:most]
            terminalreporter.write_sep("=", f"baro: most {title}, {len(rows)} of {len(self.rows)} tests")
            for row in rows:
                mark = ">" if row["rss_peak_is_lower_bound"] else " "
                processes = f"{row['processes']:3} proc" if row.get("processes") else " " * 8
                times = f"{row['cpu_s']:8.3f} s cpu {row['wall_s']:8.3f} s"
                memory = f"{mark}{row['rss_peak_bytes'] / 1e6:7.1f} MB"
                terminalreporter.write_line(f"{times}  {memory} {processes}  {row['test']}")
        if self.recording is not None and self.recording.path:
            terminalreporter.write_line(f"the recording: {self.recording.path}")
