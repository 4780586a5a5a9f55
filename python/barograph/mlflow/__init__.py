# SPDX-License-Identifier: Apache-2.0
"""Recordings in MLflow: `barograph.mlflow.record()`, `log()`, `autolog()`.

    with mlflow.start_run():
        with barograph.mlflow.record():
            train()

    barograph.mlflow.log("yesterday.baro", run_id="...")

MLflow is imported by a process of its own, the follower, which reads the tape and sends what is on it: the tape is the
spool. Whatever the server does, nothing is lost and nothing waits. How far it got stands in a file beside the tape.
Nothing large is imported here: this module is loaded by MLflow itself, as a plug-in.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping

from ..errors import ArgumentError, warn

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    from ..recorder import Recording
    from ..tape import Tape

__all__ = ["NAMES", "Upload", "autolog", "log", "record"]

NAMES = ("system", "process", "baro")
"""What metrics are called: as MLflow's own system metrics, as `process/cpu_usage_percentage` and its like, or as in
barograph's own documentation."""

_POLL = 0.05  # seconds
_BEGINS_WITHIN = 10.0


def _check(names: str) -> None:
    if names not in NAMES:
        raise ArgumentError(f"names={names!r}: one of {', '.join(NAMES)}")


def _wish_of(summary: str | Iterable[str] | None) -> str | list[str] | None:
    if summary is None:
        return None
    from ._facts import wish_of

    return wish_of(summary)


def _active_run() -> tuple[str | None, str | None]:
    """The run that is active in this thread, and the tracking URI, as far as MLflow was imported."""
    mlflow: Any = sys.modules.get("mlflow")
    if mlflow is None or not hasattr(mlflow, "active_run"):
        return None, None
    run = mlflow.active_run()
    return (str(run.info.run_id) if run else None), str(mlflow.get_tracking_uri())


def _experiment() -> str | None:
    """The experiment of mlflow.set_experiment(), which a process of its own would not know."""
    fluent: Any = sys.modules.get("mlflow.tracking.fluent")
    found = getattr(fluent, "_active_experiment_id", None)
    return str(found) if found else None


class Upload:
    """A recording on its way to MLflow."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._since = 0  # what is in the file was written before
        self._tape: str | None = None  # which one: the file may be of another that was at its path

    @property
    def path(self) -> str:
        """The file that says how far it got."""
        from ._position import path_of

        return path_of(self._request)

    def _read(self) -> dict[str, Any]:
        from ._position import read

        at = read(self.path)
        return at if self._tape in (None, at.get("tape", self._tape)) else {}

    @property
    def run_id(self) -> str | None:
        """The run of MLflow; None as long as it is not known."""
        found = self._read().get("run_id") or self._request.get("run_id")
        return str(found) if found else None

    @property
    def state(self) -> str:
        """ "waiting", "metrics", "summary", "artifacts", "done", or "refused": `error` says why."""
        at = self._read()
        refused = at.get("refused") and at.get("number", self._since + 1) > self._since
        return "refused" if refused else str(at.get("stage", "waiting"))

    @property
    def done(self) -> bool:
        """Is all of it with MLflow?"""
        return self.state == "done"

    @property
    def error(self) -> str | None:
        """What the server or MLflow said last, if that was an error."""
        found = self._read().get("error")
        return str(found) if found else None

    @property
    def points(self) -> int:
        """How many values of metrics MLflow has so far."""
        return int(self._read().get("points", 0))

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until all is with MLflow; False if it is not. What has not arrived by then still does, unless
        the tape was removed. A follower that was killed is started again."""
        from ._position import is_followed

        end = None if timeout is None else time.monotonic() + timeout
        while True:
            state = self.state
            if state in ("done", "refused"):
                return state == "done"
            tape = self._request.get("tape")
            if tape and not is_followed(self.path):
                if not os.path.exists(tape):
                    return False
                self._start()
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(_POLL)

    def _start(self) -> None:
        """Starts a follower, and gives it the time to say that it is there."""
        from ._position import is_followed
        from ._start import start

        self._since = int(self._read().get("number", 0))
        start(self._request)
        patience = time.monotonic() + _BEGINS_WITHIN
        while time.monotonic() < patience and not is_followed(self.path):
            if self.state == "done" or int(self._read().get("number", 0)) > self._since:
                return
            time.sleep(0.002)

    def __repr__(self) -> str:
        return f"<Upload of {self._request.get('tape')}: {self.state}, {self.points} points>"


def _request(
    run_id: str | None,
    names: str,
    live: bool,
    every: float | None,
    artifacts: bool,
    patience: float | None,
    summary: str | Iterable[str] | None = None,
) -> dict[str, Any]:
    _check(names)
    for number in every, patience:
        if number is not None and not number >= 0:
            raise ArgumentError(f"{number!r} is no number of seconds")
    active, uri = _active_run()
    request: dict[str, Any] = {"names": names, "live": live, "artifacts": artifacts}
    run = run_id or active or os.environ.get("MLFLOW_RUN_ID")
    for name, value in (
        ("uri", uri), ("run_id", run), ("experiment_id", _experiment()), ("every", every), ("patience", patience),
        ("summary", _wish_of(summary)),
    ):  # fmt: skip
        if value is not None:
            request[name] = value
    fluent: Any = sys.modules.get("mlflow.tracking.fluent")
    if run in getattr(fluent, "run_id_to_system_metrics_monitor", ()):
        request["machine"] = False  # MLflow logs it to this run: a key has one writer
    return request


def log(
    tape: str | os.PathLike[str] | Tape | Recording,
    run_id: str | None = None,
    *,
    live: bool = True,
    wait: float | None = None,
    names: str = "system",
    every: float | None = None,
    artifacts: bool = True,
    summary: str | Iterable[str] | None = None,
    patience: float | None = None,
) -> Upload:
    """Sends a recording to MLflow, through a process of its own.

    tape: a path, "@last", a Tape, or a Recording, also one that has not begun yet. run_id: the run of MLflow; without
    it that of mlflow.start_run() in this thread, else $MLFLOW_RUN_ID, else one that is made for the tape and has its
    times. live: as the tape grows; False: once it is complete. wait: seconds to wait until all has arrived. names:
    "system", "process" or "baro". every: seconds between points (default: each sample). artifacts: also the report, the
    verdicts and the tape itself. summary: which facts of the whole recording are metrics `summary/...`: names such as
    "cpu_seconds" (default: a dozen, in seconds and MB) or facts such as "rss_peak_bytes", or "all": every fact of the
    job, in ns and bytes. patience: for how many seconds after the end of the recording an absent server is
    asked again (default: a day).

    The same tape may be sent again: what has arrived stays as it is, and the rest follows.
    """
    from ..recorder import Recording
    from ..tape import Tape
    from ._position import going_on, identity
    from ._start import start

    request = _request(run_id, names, live, every, artifacts, patience, summary)
    upload = Upload(request)
    _warn_without_mlflow()
    if isinstance(tape, Recording):
        if tape.path is None:
            tape._hooks.append(_Hook(upload, wait))
            return upload
        request["tape"] = tape.path
        if not tape.active:
            upload._tape = identity(tape.tape)
        else:
            if wait is not None:
                tape._hooks.append(_Hook(upload, wait, started=True))
            wait = None
    else:
        opened = tape if isinstance(tape, Tape) else Tape(tape)
        if not os.path.exists(opened.path):
            raise ArgumentError(f"{opened.path} is no file: the tape can't be sent")
        request["tape"], upload._tape = opened.path, identity(opened)
    request["tape"] = os.path.abspath(request["tape"])
    request.update(going_on(request))
    upload._since = int(upload._read().get("number", 0))
    if wait is None:
        start(request)
    else:
        upload.wait(wait)
    return upload


def _warn_without_mlflow() -> None:
    from importlib.util import find_spec

    if "mlflow" not in sys.modules and find_spec("mlflow") is None:
        warn("MLflow is not installed here: nothing is sent until it is")


class _Hook:
    """What a Recording does for an upload. The follower starts before the recorder, which has not to find out then
    that it is no process of the job."""

    def __init__(self, upload: Upload, wait: float | None, started: bool = False) -> None:
        self.upload, self._wait, self._started = upload, wait, started
        self._pipe = -1

    def before(self) -> None:
        if not self._started and self._pipe < 0:
            from ._start import start_waiting

            self._pipe = start_waiting()

    def begun(self, path: str | None) -> None:
        if self._started:
            return
        if path is not None:
            from ._start import tell

            self.upload._request["tape"] = os.path.abspath(path)
            try:
                os.unlink(self.upload.path)  # of a tape that this one has replaced
            except OSError:
                pass
            tell(self._pipe, self.upload._request)
            self._started = True
        if self._pipe >= 0:
            os.close(self._pipe)  # without a line the follower ends
            self._pipe = -1

    def ended(self) -> None:
        if self._wait is not None and self._started:
            try:
                self.upload.wait(self._wait)
            except OSError as error:  # the end of a recording raises nothing
                warn(f"how far it was sent is not known: {error}")
        self._started = False


def record(
    path: str | os.PathLike[str] | None = None,
    *,
    run_id: str | None = None,
    wait: float | None = None,
    names: str = "system",
    every: float | None = None,
    artifacts: bool = True,
    summary: str | Iterable[str] | None = None,
    patience: float | None = None,
    interval: str | float = "auto",
    tasks: Mapping[str, str] | None = None,
    children: bool = True,
    pid: int | Iterable[int] | None = None,
    force: bool = False,
    **options: Any,
) -> Recording:
    """barograph.record() whose tape is sent to MLflow while it grows. The arguments are those of log() and of
    barograph.record(); wait: seconds that the end of the recording waits until all has arrived."""
    from ..recorder import record as recorded

    def make() -> Recording:
        made: Recording = recorded(
            path, interval=interval, tasks=tasks, children=children, pid=pid, force=force, **options
        )
        made._again = make
        log(
            made,
            run_id,
            wait=wait,
            names=names,
            every=every,
            artifacts=artifacts,
            summary=summary,
            patience=patience,
        )
        return made

    return make()


def autolog(
    enable: bool = True,
    *,
    names: str = "system",
    wait: float | None = None,
    summary: str | Iterable[str] | None = None,
    **options: Any,
) -> None:
    """From now on each run of mlflow.start_run() is recorded, from its start to its end, and what was recorded is sent
    to it. Nothing of MLflow is patched: it asks its plug-ins for tags whenever a run starts, and this is one.
    BAROGRAPH_MLFLOW=1 in the environment does the same without a line in the program. The options are those of log()
    and of barograph.record()."""
    from . import _auto

    _check(names)
    wish = _wish_of(summary)
    _auto.enable({"names": names, "wait": wait, "summary": wish, **options} if enable else None)
