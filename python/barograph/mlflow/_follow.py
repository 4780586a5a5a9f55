# SPDX-License-Identifier: Apache-2.0
"""The follower: reads a tape while it grows and sends it to MLflow through MLflow's own client.

Exactly once: a batch is announced in the position file before it is sent, and there marked as sent after the answer. A
store of SQL takes the same point twice as one, a store of files does not, and a batch whose answer was lost may have
arrived. So whenever that is not known, the server is asked for the newest step of each key, and only what is missing is
sent. Points of a batch are in the order of their steps; a store writes them in that order.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any, Callable

from .. import _marks
from ..errors import NotATapeError, TapeNotFoundError
from ..records import Event
from ..sample import Sample
from ..tape import Tape
from ._auto import TAG
from ._names import Namer, Point, is_rate
from ._position import Position, path_of
from ._summary import artifacts_of, metrics_of, params_of, tags_of

MOST_METRICS, MOST_PARAMS, MOST_TAGS = 1000, 100, 100  # of a batch
_FLUSH_EVERY = 5.0  # seconds
_LOOK_EVERY = 10.0  # seconds, at the state of the run
_PAUSES = (0.2, 60.0)  # seconds between two tries: the first, and the longest
_PATIENCE = 86400.0  # seconds after the end of the tape
_BEGINS_WITHIN = 60.0
_FOR_GOOD = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE")
_ENDED = ("FINISHED", "FAILED", "KILLED")


class Refused(Exception):
    """The server or MLflow will never take it."""


class Step:
    """A sample on its way."""

    __slots__ = ("number", "point", "t_ns", "time_ms")

    def __init__(self, number: int, t_ns: int, time_ms: int, point: Point) -> None:
        self.number, self.t_ns, self.time_ms, self.point = number, t_ns, time_ms, point


class Server:
    """MLflow's client, asked again until it answers."""

    def __init__(
        self, uri: str | None, position: Position, give_up: Callable[[], bool], say: Callable[[str], None]
    ) -> None:
        # A try is one try: what is sent again is decided here.
        os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
        os.environ["MLFLOW_ENABLE_ASYNC_LOGGING"] = "false"
        self._position, self._give_up, self._say = position, give_up, say
        self.client: Any = None
        self.do("import", lambda: self._connect(uri))

    def _connect(self, uri: str | None) -> None:
        self.client = import_module("mlflow").MlflowClient(tracking_uri=uri or None)

    def do(self, what: str, function: Callable[[], Any], before_retry: Callable[[], Any] | None = None) -> Any:
        """before_retry: finds out what has arrived. It is asked until it answers as well."""
        pause, ask = _PAUSES[0], False
        while True:
            try:
                if ask and before_retry:
                    before_retry()
                result = function()
                if self._position.values.get("error"):
                    self._position.save(error=None)
                return result
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # whatever a client or a store raises
                text = f"{what}: {type(error).__name__}: {error}"
                if getattr(error, "error_code", "") in _FOR_GOOD:
                    raise Refused(text) from error
                if isinstance(error, ImportError):
                    raise Refused(f"MLflow can't be imported by {sys.executable}: {error}") from error
                ask = True
                self._position.save(error=text)
                self._say(text)
                if self._give_up():
                    raise
                time.sleep(pause)
                pause = min(2 * pause, _PAUSES[1])


class Follower:
    def __init__(self, request: dict[str, Any], position: Position, say: Callable[[str], None]) -> None:
        self.request, self.position, self._say = request, position, say
        self.names = str(request.get("names", "system"))
        self.tape = self._open(request["tape"])
        self._ended_at: float | None = None
        self._looked = time.monotonic()
        self.server: Server = Server.__new__(Server)

    def _open(self, path: str) -> Tape:
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

    def _gives_up(self) -> bool:
        """No longer asks a server that is not there: a day after the tape's end."""
        if self._ended_at is None and self.tape.state != "running":
            self._ended_at = time.monotonic()
        patience = float(self.request.get("patience", _PATIENCE))
        return self._ended_at is not None and time.monotonic() - self._ended_at > patience

    # ---- which run ----

    def connect(self, uri: str | None) -> None:
        self.server = Server(uri, self.position, self._gives_up, self._say)

    @property
    def run_id(self) -> str:
        return str(self.position.values["run_id"])

    def find_run(self) -> bool:
        """False: there is no run for this tape."""
        if self.position.values.get("run_id"):
            self.connect(self.position.values.get("found_uri") or self.request.get("uri"))
            return True
        if self.request.get("run_id"):
            self.connect(self.request.get("uri"))
            self.position.save(run_id=self.request["run_id"])
            return True
        session = self.request.get("session")
        if session:
            uri = self.request.get("uri") or self._uri_on_tape()
            if uri is not None:
                self.connect(uri)
                found = self._search_until_end(session)
                if found:
                    self.position.save(run_id=found, found_uri=uri)
                    return True
            if not self.request.get("or_new"):
                return False
        self._wait_for_end_of(session)
        self.connect(self.request.get("uri"))
        self._new_run()
        return True

    def _wait_for_end_of(self, session: Any) -> None:
        """As long as the command may begin a run of its own, none is made for it."""
        if session:
            for _ in self.tape.records(follow=True):
                pass

    def _uri_on_tape(self) -> str | None:
        """Where the program that is recorded has its runs. It says so with a mark; None: it began none."""
        for record in self.tape.records(follow=True):
            if isinstance(record, Event) and record.kind == "mark" and record.name == "mlflow.start_run":
                uri = str(record.attributes.get("tracking_uri", ""))
                own = os.environ.get("MLFLOW_TRACKING_URI", "")
                from ._auto import _without_password

                return own if _without_password(own) == uri else uri  # the password is not on the tape
        return None

    def _search(self, session: str) -> str | None:
        """The run with our tag: the first one that has no parent."""
        client = self.server.client
        ids: list[str] = []
        token = None
        while True:
            page = client.search_experiments(page_token=token)
            ids += [e.experiment_id for e in page]
            token = page.token
            if not token:
                break
        found: list[Any] = []
        for i in range(0, len(ids), 100):
            found += client.search_runs(ids[i : i + 100], filter_string=f"tags.`{TAG}` = '{session}'", max_results=100)
        own = [r for r in found if "mlflow.parentRunId" not in r.data.tags] or found
        return str(min(own, key=lambda r: r.info.start_time).info.run_id) if own else None

    def _search_until_end(self, session: str) -> str | None:
        """The run is made a moment after its tag was asked for."""
        pause, last = 0.1, False
        while True:
            found: str | None = self.server.do("search", lambda: self._search(session))
            if found or last:
                return found
            last = self.tape.state != "running"
            time.sleep(pause)
            pause = min(2 * pause, 10.0)

    def _new_run(self) -> None:
        """The tag finds it again if the answer is lost."""
        import uuid

        session = self.position.values.get("session") or self.request.get("session") or uuid.uuid4().hex
        self.position.save(session=session)
        header = self.tape.header
        experiment = self.request.get("experiment_id") or self.server.do("experiment", self._experiment)
        name = header.name or os.path.basename(header.argv[0] if header.argv else self.tape.path)
        found = self.server.do("search", lambda: self._search(session))

        def search() -> None:
            nonlocal found
            found = self._search(session)

        def create() -> Any:
            if found:
                return found
            tags = {TAG: session, "mlflow.runName": name, "mlflow.source.name": " ".join(header.argv) or name}
            made = self.server.client.create_run(experiment, start_time=header.start_ns // 1_000_000, tags=tags)
            return made.info.run_id

        self.position.save(run_id=self.server.do("create", create, search), created=True)

    def _experiment(self) -> str:
        given = os.environ.get("MLFLOW_EXPERIMENT_ID")
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if given or not name:
            return given or "0"
        found = self.server.client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self.server.client.create_experiment(name))

    # ---- metrics ----

    def steps(self) -> Iterator[Step | None]:
        """From the position on; None where there is nothing more at the moment."""
        at, every = self.position.values, float(self.request.get("every") or 0) * 1e9
        number, since = int(at.get("next", 0)), int(at.get("t_ns", -1))
        namer, before = self._namer(), None
        collected: list[Point] = []
        due = since + every
        with self.tape._cursor() as cursor:
            if since >= 0:
                before = cursor.seek(since)
            while True:
                record = cursor.next()
                if record is None:
                    if self._over(cursor):
                        break
                    yield None
                    cursor_fd = cursor.poll_fd()
                    self._pause(cursor_fd)
                    continue
                if not isinstance(record, Sample) or record.t_ns <= since:
                    continue
                collected.append(namer.point(record, before))
                before = record
                if record.t_ns >= due or since < 0:
                    yield Step(number, record.t_ns, record.time_ns // 1_000_000, _merged(collected))
                    number, since, collected = number + 1, record.t_ns, []
                    due = record.t_ns + every
        if collected and before is not None:
            yield Step(number, before.t_ns, before.time_ns // 1_000_000, _merged(collected))

    def _namer(self) -> Namer:
        limit = self.tape.summary["limits"].get("memory_bytes") if self.names == "process" else None
        first = None
        if self.position.values.get("t_ns") is not None:
            first = next(iter(self.tape), None)
        return Namer(self.names, float(limit) if limit else None, first)

    def _over(self, cursor: Any) -> bool:
        return not cursor.wait(0)

    def _pause(self, fd: int) -> None:
        import select

        self._watch_run()
        poll = select.poll()
        if fd >= 0:
            poll.register(fd, select.POLLIN)
        poll.poll(500)

    def _watch_run(self) -> None:
        """The recording of a run ends with the run."""
        if not self.request.get("stop") or time.monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = time.monotonic()
        try:
            status = self.server.client.get_run(self.run_id).info.status
        except Exception:
            return
        header = self.tape.header
        if status in _ENDED and _marks.start_ticks(header.recorder_pid) == header.recorder_start_ticks:
            os.kill(header.recorder_pid, signal.SIGTERM)

    def send_metrics(self) -> None:
        if not self.request.get("live", True):
            for _ in self.tape.records(follow=True):
                pass
        pending = self.position.values.get("pending")  # was it sent before we were killed?
        flush_every = float(os.environ.get("BAROGRAPH_MLFLOW_FLUSH") or _FLUSH_EVERY)
        most = min(int(os.environ.get("BAROGRAPH_MLFLOW_BATCH") or MOST_METRICS), MOST_METRICS)
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
        points = [(k, v, s.time_ms, s.number) for s in batch for k, v in s.point.items()]
        left = points
        if pending is None:
            self.position.save(pending=batch[-1].number)

        def missing() -> None:
            nonlocal left
            left = self._missing(points)

        def send() -> None:
            if left:
                self.server.client.log_batch(self.run_id, metrics=[metric(*p) for p in left])

        if pending is not None:
            self.server.do("newest steps", missing)
        self.server.do("metrics", send, missing)
        sent = int(self.position.values.get("points", 0)) + len(points)
        last = batch[-1]
        self.position.save(next=last.number + 1, t_ns=last.t_ns, points=sent, pending=None)

    def _missing(self, points: list[tuple[str, float, int, int]]) -> list[tuple[str, float, int, int]]:
        """Those that the server does not have."""
        newest: dict[str, tuple[int, int]] = {}
        for metric in getattr(self.server.client.get_run(self.run_id).data, "_metric_objs", ()):
            newest[metric.key] = (metric.step, metric.timestamp)
        ours: dict[str, list[tuple[int, int]]] = {}
        for key, _, time_ms, step in points:
            ours.setdefault(key, []).append((step, time_ms))
        there: dict[str, set[tuple[int, int]]] = {}
        for key, of_key in ours.items():
            last = newest.get(key)
            if last is None:
                there[key] = set()
            elif last in of_key:
                there[key] = {p for p in of_key if p <= last}
            elif last < of_key[0] and last[1] <= of_key[0][1]:
                there[key] = set()
            else:  # somebody else sends this key as well
                history = self.server.client.get_metric_history(self.run_id, key)
                there[key] = {(m.step, m.timestamp) for m in history}
        return [p for p in points if (p[3], p[2]) not in there[p[0]]]

    # ---- the end ----

    def send_summary(self) -> None:
        entities: Any = import_module("mlflow.entities")
        tape, client = self.tape, self.server.client
        end_ms = tape.time_ns(tape.range_ns[1] / 1e9) // 1_000_000
        facts = [(key, value, end_ms, 0) for key, value in metrics_of(tape).items()]
        left = facts

        def missing() -> None:
            nonlocal left
            left = self._missing(facts)

        self.server.do("summary", missing)  # it may have been sent before
        for i in range(0, len(facts), MOST_METRICS):
            self.server.do(
                "summary",
                lambda: client.log_batch(
                    self.run_id, metrics=[entities.Metric(*p) for p in left[i : i + MOST_METRICS]]
                ),
                missing,
            )
        tags, params = tags_of(tape), params_of(tape)
        try:
            for i in range(0, len(params), MOST_PARAMS):
                some = [entities.Param(k, v) for k, v in list(params.items())[i : i + MOST_PARAMS]]
                self.server.do("parameters", partial(client.log_batch, self.run_id, params=some))
        except Refused:  # a parameter can't change: another recording of this run has had others
            tags.update({f"{k}.{tape.header.host}": v for k, v in params.items()})
        for i in range(0, len(tags), MOST_TAGS):
            some_tags = [entities.RunTag(k, v) for k, v in list(tags.items())[i : i + MOST_TAGS]]
            self.server.do("tags", partial(client.log_batch, self.run_id, tags=some_tags))
        self.position.save(stage="artifacts", points=int(self.position.values.get("points", 0)) + len(facts))

    def send_artifacts(self) -> None:
        import tempfile

        if self.request.get("artifacts", True):
            with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
                for path, where in artifacts_of(self.tape, folder):
                    if os.path.isdir(path):
                        where = f"{where}/{os.path.basename(path)}"
                    try:
                        self.server.do("artifacts", partial(self._put, path, where))
                    except Refused as error:
                        self.position.save(error=str(error))
        if self.position.values.get("created"):
            self.server.do("end", self._end_run)
        self.position.save(stage="done")

    def _put(self, path: str, where: str) -> None:
        put = self.server.client.log_artifacts if os.path.isdir(path) else self.server.client.log_artifact
        put(self.run_id, path, where)

    def _end_run(self) -> None:
        end, tape = self.tape.summary.exit, self.tape
        status = "FINISHED"
        if isinstance(end.status, int) and end.status:
            status = "FAILED"
        if end.signal or tape.state == "cut off":
            status = "KILLED"
        end_ms = tape.time_ns(tape.range_ns[1] / 1e9) // 1_000_000
        self.server.client.set_terminated(self.run_id, status, end_ms)

    def run(self) -> None:
        if not self.find_run():
            raise Refused("no run of MLflow began in this recording")
        if self.position.values["stage"] == "waiting":
            self.position.save(stage="metrics")
        if self.position.values["stage"] == "metrics":
            self.send_metrics()
            self.position.save(stage="summary")
        if self.position.values["stage"] == "summary":
            self.send_summary()
        self.send_artifacts()


def _merged(points: list[Point]) -> Point:
    """One point for several samples: the highest of what is a level, the mean of what is a rate."""
    if len(points) == 1:
        return points[0]
    keys: dict[str, list[float]] = {}
    for point in points:
        for key, value in point.items():
            keys.setdefault(key, []).append(value)
    return {k: sum(v) / len(v) if is_rate(k) else max(v) for k, v in keys.items()}


def follow(request: dict[str, Any], say: Callable[[str], None] = lambda _: None) -> int:
    """Sends a tape to its end; returns an exit status."""
    for name in ("BARO_EVENTS", "BARO_TAPE", "BARO_PID", "BAROGRAPH_MLFLOW", "MLFLOW_RUN_ID"):
        os.environ.pop(name, None)
    request["tape"] = os.path.abspath(request["tape"])
    os.chdir(os.path.dirname(request["tape"]) or "/") if not _relative(request) else None
    try:
        position = Position(path_of(request))
    except BlockingIOError:
        say("it is being sent already")
        return 0
    if position.values.get("stage") == "done":
        say("all of it was sent before")
        return 0
    # How it is sent can't change in the middle of a tape.
    before = position.values.get("request", {})
    request = {
        **request,
        **before,
        "uri": request.get("uri") or (None if os.environ.get("MLFLOW_TRACKING_URI") else before.get("uri")),
    }
    fixed = {k: request[k] for k in ("names", "every", "session", "or_new", "uri") if request.get(k) is not None}
    position.save(request=fixed, stage=position.values.get("stage", "waiting"), refused=None)
    try:
        Follower(request, position, say).run()
    except Refused as error:
        position.save(refused=True, error=str(error))
    except Exception as error:
        position.save(error=position.values.get("error") or f"{type(error).__name__}: {error}")
    finally:
        position.close()
    at = position.values
    if at.get("stage") != "done":
        say(f"not all of it was sent: {at.get('error')}")
        return 1
    say(f"run {at.get('run_id')} has {at.get('points')} points")
    return 0


def _relative(request: dict[str, Any]) -> bool:
    """Does the store's URI depend on the working directory?"""
    uri = str(request.get("uri") or os.environ.get("MLFLOW_TRACKING_URI") or "")
    return not uri.startswith(("http://", "https://", "sqlite:////", "file:///", "databricks"))
