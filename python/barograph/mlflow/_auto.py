# SPDX-License-Identifier: Apache-2.0
"""What MLflow asks for tags when a run starts (entry point mlflow.run_context_provider). A tag with a name that nobody
else has tells the follower which run it is.

BAROGRAPH_MLFLOW is "1": the run is recorded from here on. It is such a name: `baro run --mlflow` records already."""

from __future__ import annotations

import os
import sys
import threading

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ..recorder import Recording

TAG = "baro.session"
_YES = ("1", "true", "yes", "on")
_own = (
    "path",
    "interval",
    "tasks",
    "children",
    "metrics",
    "du",
    "keep",
    "overhead",
    "host",
    "gpu",
    "cmdline",
    "force",
)

_options: dict[str, Any] | None = None
_recordings: dict[int, Recording] = {}  # of each thread, in which one run after the other starts


def _from_environment() -> dict[str, Any]:
    options: dict[str, Any] = {"names": os.environ.get("BAROGRAPH_MLFLOW_NAMES") or "system"}
    if os.environ.get("BAROGRAPH_MLFLOW_SUMMARY"):
        from ._facts import from_text

        options["summary"] = from_text(os.environ["BAROGRAPH_MLFLOW_SUMMARY"])
    try:
        options["wait"] = float(os.environ["BAROGRAPH_MLFLOW_WAIT"])
    except (KeyError, ValueError):
        pass
    return options


def enable(options: dict[str, Any] | None) -> None:
    global _options
    _options = options
    registry: Any = sys.modules.get("mlflow.tracking.context.registry")
    if options is None or registry is None:
        return  # an entry point is loaded with MLflow
    registry = registry._run_context_provider_registry
    if not any(isinstance(provider, RunContext) for provider in registry):
        registry.register(RunContext)  # the package is not installed, and so has no entry points


def _start_of_run() -> FrameType | None:
    """The call of start_run(). MLflow asks for tags in other cases as well."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(8):
        if frame is None:
            break
        if frame.f_code.co_name == "start_run" and frame.f_globals.get("__name__") == "mlflow.tracking.fluent":
            return frame
        frame = frame.f_back
    return None


def _logs_machine(start_run: FrameType) -> bool:
    """Will MLflow's own monitor log the machine to this run? It writes the same keys."""
    given = start_run.f_locals.get("log_system_metrics")
    if given is None:
        given = os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() in ("true", "1")
    return bool(given)


class RunContext:
    """As mlflow.tracking.context.RunContextProvider, which it need not import."""

    def in_context(self) -> bool:
        given = os.environ.get("BAROGRAPH_MLFLOW", "").lower()
        return _options is not None or (bool(given) and given not in ("0", "false", "no", "off"))

    def tags(self) -> dict[str, str]:
        start_run = _start_of_run()
        if start_run is None:
            return {}
        mlflow: Any = sys.modules["mlflow"]
        if mlflow.active_run() is not None:
            return {}  # a nested run: it is a part of what is recorded
        given = os.environ.get("BAROGRAPH_MLFLOW", "")
        if _options is None and given.lower() not in _YES:
            from .._current import mark

            uri = _without_password(str(mlflow.get_tracking_uri()))
            mark("mlflow.start_run", tracking_uri=uri, system_metrics=_logs_machine(start_run))
            return {TAG: given}
        options = dict(_options) if _options is not None else _from_environment()
        return {TAG: _record(options, str(mlflow.get_tracking_uri()), not _logs_machine(start_run))}


def _without_password(uri: str) -> str:
    head, sep, rest = uri.partition("://")
    return f"{head}://{rest.rpartition('@')[2]}" if sep and "@" in rest.partition("/")[0] else uri


def _with_password(uri: Any, *known: Any) -> str | None:
    """What was written without a password, with the one that the caller or the environment has."""
    for own in (*known, os.environ.get("MLFLOW_TRACKING_URI")):
        if own and _without_password(str(own)) == uri:
            return str(own)
    return str(uri) if uri else None


def _record(options: dict[str, Any], uri: str, machine: bool) -> str:
    import atexit
    import uuid

    from ..recorder import record
    from . import Upload, _Hook

    session = uuid.uuid4().hex
    old = _recordings.pop(threading.get_ident(), None)
    if old is not None:
        old.stop()
    recording: Recording = record(options.pop("path", None), **{k: options.pop(k) for k in _own if k in options})
    wait = options.pop("wait", None)
    request = {"live": True, "artifacts": True, **options, "uri": uri, "session": session, "stop": True}
    request["machine"] = machine
    recording._hooks.append(_Hook(Upload({k: v for k, v in request.items() if v is not None}), wait))
    recording.start()
    _recordings[threading.get_ident()] = recording
    if wait is not None:
        atexit.register(recording.stop)
    return session
