# SPDX-License-Identifier: Apache-2.0
"""The follower: reads a tape while it grows and sends it to MLflow through MLflow's own client.

Exactly once: a batch is announced in the position file before it is sent, and there marked as sent after the answer. A
store of SQL takes the same point twice as one, a store of files does not, and a batch whose answer was lost may have
arrived. So whenever that is not known, the server is asked for the newest step of each key, and only what is missing is
sent. Points of a batch are in the order of their steps; a store writes them in that order.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Callable

from .. import _marks
from .._lib import shown
from ..errors import Error, NotATapeError, TapeNotFoundError
from ..sample import Sample
from ..tape import Tape
from . import NAMES
from ._end import End
from ._names import Namer, Point
from ._points import Metric, Step, merged, missing
from ._position import Position, Refused, destination, identity, path_of, read
from ._run import Finder
from ._server import Server, harmless

_MOST_METRICS = 1000  # of a batch
_FLUSH_EVERY = 5.0  # seconds
_LOOK_EVERY = 10.0  # seconds, at the state of the run
_PATIENCE = 86400.0  # seconds after the end of the tape
_BEGINS_WITHIN = 60.0
_LONGEST_WISH = 1000  # characters
_ENDED = ("FINISHED", "FAILED", "KILLED")


class Follower:
    def __init__(self, request: dict[str, Any], position: Position, say: Callable[[str], None]) -> None:
        self.request, self.position, self._say = request, position, say
        self.tape = _open(request["tape"])
        self._identity = identity(self.tape)
        self._ended_at: float | None = None
        self._looked = time.monotonic()

    def _is_replaced(self) -> bool:
        """Is another tape at its path by now?"""
        try:
            return identity(Tape(self.tape.path)) != self._identity
        except Error:
            return False

    def _check(self) -> None:
        """What was read before this is of its own tape."""
        if self._is_replaced():
            raise Refused(f"{self.tape.path} is another tape by now")

    def _gives_up(self) -> bool:
        """No longer asks a server that is not there: a day after the tape's end, or once there is another tape."""
        if self._is_replaced():
            return True
        if self._ended_at is None and self.tape.state != "running":
            self._ended_at = time.monotonic()
        patience = float(self.request.get("patience", _PATIENCE))
        return self._ended_at is not None and time.monotonic() - self._ended_at > patience

    def connect(self, uri: str | None) -> Server:
        self.position.save(to=destination(uri))
        self.server = Server(uri, self.position, self._check, self._gives_up, self._say)
        return self.server

    @property
    def names(self) -> str:
        return str(self.request.get("names", "system"))

    @property
    def run_id(self) -> str:
        return str(self.position.values["run_id"])

    # ---- metrics ----

    def steps(self) -> Iterator[Step | None]:
        """From the position on; None where there is nothing more at the moment."""
        at, every = self.position.values, float(self.request.get("every") or 0) * 1e9
        number, since = int(at.get("next", 0)), int(at.get("t_ns", -1))
        namer, before = self._namer(), None
        collected: list[Point] = []
        for sample in self._samples(since):
            if sample is None:
                yield None
                continue
            if sample.t_ns > since:
                collected.append(namer.point(sample, before))
            before = sample
            if collected and (sample.t_ns >= since + every or since < 0):
                yield Step(number, sample.t_ns, sample.time_ns // 1_000_000, merged(collected))
                number, since, collected = number + 1, sample.t_ns, []
        if collected and before is not None:
            yield Step(number, before.t_ns, before.time_ns // 1_000_000, merged(collected))

    def _samples(self, since: int = -1) -> Iterator[Sample | None]:
        """From that one on, to the end. None where there is nothing more at the moment."""
        with self.tape._cursor() as cursor:
            if since >= 0:
                yield cursor.seek(since)
            while True:
                record = cursor.next()
                if isinstance(record, Sample):
                    yield record
                elif record is None:
                    if not cursor.wait(0):
                        return
                    yield None
                    self._pause(cursor.poll_fd())

    def _namer(self) -> Namer:
        limit = self.tape.summary["limits"].get("memory_bytes") if self.names == "process" else None
        first = None
        if self.position.values.get("t_ns") is not None:
            first = next(iter(self.tape), None)
        return Namer(self.names, float(limit) if limit else None, first, bool(self.request.get("machine", True)))

    def _pause(self, *descriptors: int) -> None:
        self._watch()
        poll = select.poll()
        for fd in descriptors:
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        poll.poll(500)

    def _watch(self) -> None:
        """The recording of a run ends with the run."""
        if not self.request.get("stop") or time.monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = time.monotonic()
        try:
            status = self.server.limited("run", lambda: self.server.client.get_run(self.run_id).info.status)
        except Exception:
            return
        header = self.tape.header
        if status in _ENDED:
            end_recorder(header.recorder_pid or 0, header.recorder_start_ticks or 0)

    def send_metrics(self) -> None:
        if not self.request.get("live", True):
            for _ in self.tape.records(follow=True):
                pass
        pending = self.position.values.get("pending")  # was it sent before we were killed?
        flush_every = float(os.environ.get("BAROGRAPH_MLFLOW_FLUSH") or _FLUSH_EVERY)
        most = min(int(os.environ.get("BAROGRAPH_MLFLOW_BATCH") or _MOST_METRICS), _MOST_METRICS)
        batch: list[Step] = []
        size, began = 0, time.monotonic()
        for step in self.steps():
            if step is not None:
                if batch and size + len(step.point) > most:
                    self._send(batch, pending)
                    batch, size, pending = [], 0, None
                if not batch:
                    began = time.monotonic()
                batch.append(step)
                size += len(step.point)
            if batch and (
                batch[-1].number == pending if pending is not None else time.monotonic() - began >= flush_every
            ):
                self._send(batch, pending)
                batch, size, pending = [], 0, None
        if batch:
            self._send(batch, pending)

    def _send(self, batch: list[Step], pending: int | None) -> None:
        metric: Any = import_module("mlflow.entities").Metric
        points: list[Metric] = [(k, v, s.time_ms, s.number) for s in batch for k, v in s.point.items()]
        left = points
        if pending is None:
            self.position.save(pending=batch[-1].number)

        def ask() -> None:
            nonlocal left
            left = missing(self.server.client, self.run_id, points)

        def send() -> None:
            if left:
                self.server.client.log_batch(self.run_id, metrics=[metric(*p) for p in left])

        if pending is not None:
            self.server.do("newest steps", ask)
        self.server.do("metrics", send, ask)
        sent = int(self.position.values.get("points", 0)) + len(points)
        last = batch[-1]
        self.position.save(next=last.number + 1, t_ns=last.t_ns, points=sent, pending=None)

    def run(self) -> None:
        if Finder(self.request, self.position, self.tape, self.connect).find() is None:
            raise Refused("no run of MLflow began in this recording")
        if self.position.values["stage"] == "waiting":
            self.position.save(stage="metrics")
        if self.position.values["stage"] == "metrics":
            self.send_metrics()
            self.position.save(stage="summary")
        end = End(self.tape, self.server, self.position, self.request.get("summary"))
        if self.position.values["stage"] == "summary":
            end.send_summary()
        end.send_artifacts(files=bool(self.request.get("artifacts", True)))


def end_recorder(pid: int, ticks: int) -> None:
    """Ends nothing where the tape does not say who its recorder is: it has 0 then, as what is not there any more."""
    try:
        if pid and ticks and _marks.start_ticks(pid) == ticks:
            os.kill(pid, signal.SIGTERM)
    except OSError:
        pass


def _open(path: str) -> Tape:
    """It may have no header yet."""
    end = time.monotonic() + _BEGINS_WITHIN
    while True:
        try:
            return Tape(path)
        except TapeNotFoundError:
            raise
        except NotATapeError:
            if time.monotonic() > end:
                raise
        time.sleep(0.05)


def _position(request: dict[str, Any]) -> Position | None:
    """None: another follower sends this tape. One that sends the tape which was at its path before notices that."""
    path = path_of(request)
    while True:
        try:
            return Position(path)
        except BlockingIOError:
            own = identity(_open(request["tape"]))
            if read(path).get("tape", own) == own:
                return None
        time.sleep(0.2)


def follow(request: dict[str, Any], say: Callable[[str], None] = lambda _: None) -> int:
    """Sends a tape to its end; returns an exit status."""
    for name in ("BARO_EVENTS", "BARO_TAPE", "BARO_PID", "BAROGRAPH_MLFLOW", "MLFLOW_RUN_ID"):
        os.environ.pop(name, None)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # a server that floods it with an answer takes no memory from the job
    except OSError:
        pass
    request["tape"] = os.path.abspath(request["tape"])
    if not _relative(request):
        os.chdir("/")  # no folder of others': an empty one in $LD_LIBRARY_PATH is the working directory
    try:
        position = _position(request)
    except (OSError, Refused) as error:
        say(f"nothing is sent: {error}")
        return 1
    if position is None:
        say("it is being sent already")
        return 0
    try:
        follower = Follower(request, position, say)
        position.belongs_to(identity(follower.tape))
        if position.values.get("stage") == "done":
            say("all of it was sent before")
            return 0
        follower.request = _as_before(request, position)
        follower.run()
    except Refused as error:
        position.save(refused=True, error=str(error))
    except Exception as error:
        position.save(error=position.values.get("error") or harmless(f"{type(error).__name__}: {error}"))
    finally:
        position.close()
    at = position.values
    if at.get("stage") != "done":
        say(f"not all of it was sent: {at.get('error')}")
        return 1
    say(f"run {shown(str(at.get('run_id')))} has {at.get('points')} points")
    return 0


def _as_before(request: dict[str, Any], position: Position) -> dict[str, Any]:
    """How it is sent can't change in the middle of a tape. Where to is what the caller says, and not the file."""
    before = position.values.get("request", {})
    if before.get("names") in NAMES:
        request["names"] = before["names"]
    if isinstance(before.get("every"), (int, float)):
        request["every"] = before["every"]
    if isinstance(before.get("machine"), bool):
        request["machine"] = before["machine"]
    if before.get("summary") is not None:
        request["summary"] = before["summary"]
    fixed = {k: request[k] for k in ("names", "every", "machine") if request.get(k) is not None}
    if request.get("summary") is not None and len(str(request["summary"])) <= _LONGEST_WISH:
        fixed["summary"] = request["summary"]  # a longer one would not fit into a line of the position
    session = request.get("session") or position.values.get("session")
    position.save(request=fixed, session=session, stage=position.values.get("stage", "waiting"), refused=None)
    return request


def _relative(request: dict[str, Any]) -> bool:
    """Does the store's URI depend on the working directory?"""
    uri = str(request.get("uri") or os.environ.get("MLFLOW_TRACKING_URI") or "")
    return not uri.startswith(("http://", "https://", "sqlite:////", "file:///", "databricks"))
