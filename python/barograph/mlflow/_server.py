# SPDX-License-Identifier: Apache-2.0
"""MLflow's client, asked again until it answers."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from importlib import import_module
from typing import Any, Callable
from urllib.parse import unquote

from .._lib import shown
from ._position import Position, Refused

_PAUSES = (0.2, 60.0)  # seconds between two tries: the first, and the longest
_ANSWERS_WITHIN = {"artifacts": 600.0, "import": 600.0}  # seconds that a try has in any case
_WITHIN = 10.0  # of other tries
_FOR_GOOD = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE")


_USERINFO = re.compile(r"(?<=://)[^/?#\s'\"<>]*(?=@)|(?<=://)[^@:\s'\"<>]*:[^@\s'\"<>]*(?=@)")
_VALUE = re.compile(r"([?&;][\w-]*(?:passw|pwd|token|secret|key)[\w-]*=)[^&;#\s'\"<>]*", re.IGNORECASE)
_HEADER = re.compile(r"(authorization\W{1,8}\w+\W{1,3})[\w+/=.~-]+", re.IGNORECASE)  # as a proxy repeats it


def harmless(text: str, uri: str | None = None) -> str:
    """What a client or server says, which may repeat the URI: without passwords and what controls a terminal."""
    for given in (uri, os.environ.get("MLFLOW_TRACKING_URI")):
        password = (given or "").partition("://")[2].rpartition("@")[0].partition(":")[2]
        if password:
            text = text.replace(password, "***").replace(unquote(password), "***")
    for name in ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD", "DATABRICKS_TOKEN"):
        secret = os.environ.get(name, "").strip()  # one that ends with a newline is repeated as no header's value
        text = text.replace(secret, "***") if secret else text
    return shown(_HEADER.sub(r"\1***", _VALUE.sub(r"\1***", _USERINFO.sub("***", text))))


class _Overdue(BaseException):
    """No library takes it for an error of the network."""


class Server:
    def __init__(
        self,
        uri: str | None,
        position: Position,
        check: Callable[[], None],
        give_up: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        """check: is called before each try, and may end them all by Refused."""
        # A try is one try: what is sent again is decided here.
        os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
        os.environ["MLFLOW_ENABLE_ASYNC_LOGGING"] = "false"
        self._position, self._check, self._give_up, self._say, self._uri = position, check, give_up, say, uri
        self.client: Any = None
        self.do("import", lambda: self._connect(uri))

    def _connect(self, uri: str | None) -> None:
        mlflow = import_module("mlflow")
        if uri:
            mlflow.set_tracking_uri(uri)  # a client of MLflow 2.9 takes it for artifacts, whatever its own one is
        self.client = mlflow.MlflowClient(tracking_uri=uri or None)

    def limited(self, what: str, function: Callable[[], Any]) -> Any:
        """A server that sends a byte now and then, or one page after the other, keeps a try going for ever: a client's
        timeouts are for what comes next. So the try ends once it is not to be made again."""
        if threading.current_thread() is not threading.main_thread():
            return function()  # handlers of signals are the main thread's
        due = time.monotonic() + _ANSWERS_WITHIN.get(what, _WITHIN)

        def check(*_: object) -> None:
            if time.monotonic() > due and self._give_up():
                raise _Overdue

        before = signal.signal(signal.SIGALRM, check)
        signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
        try:
            return function()
        except _Overdue:
            raise TimeoutError("no whole answer in time") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)

    def do(self, what: str, function: Callable[[], Any], before_retry: Callable[[], Any] | None = None) -> Any:
        """before_retry: finds out what has arrived. It is asked until it answers as well."""
        pause, ask = _PAUSES[0], False
        while True:
            self._check()
            try:
                if ask and before_retry:
                    self.limited(what, before_retry)
                result = self.limited(what, function)
                if self._position.values.get("error"):
                    self._position.save(error=None)
                return result
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # whatever a client or a store raises
                text = harmless(f"{what}: {type(error).__name__}: {error}", self._uri)
                if getattr(error, "error_code", "") in _FOR_GOOD or isinstance(error, UnicodeError):
                    raise Refused(text) from error
                if isinstance(error, ImportError):
                    raise Refused(harmless(f"MLflow can't be imported by {sys.executable}: {error}")) from error
                ask = True
                self._position.save(error=text)
                self._say(text)
                if self._give_up():
                    raise
            time.sleep(pause)  # a ^C here must not show the error, which may name the URI
            pause = min(2 * pause, _PAUSES[1])
