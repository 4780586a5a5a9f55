# SPDX-License-Identifier: Apache-2.0
"""The process that logs to MLflow for compat.stouputils: it follows the tape, which keeps all that is not logged yet."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import Any

from ..sample import Sample
from ..tape import Tape
from .stouputils import Collector, mean_of

_GIVES_UP_AFTER = 600.0  # seconds without an answer, once the recording has ended
_PAUSES = (0.2, 1.0, 5.0, 30.0)


def _say(**what: Any) -> None:
    try:
        os.write(1, json.dumps(what).encode() + b"\n")
    except OSError:
        pass  # the interpreter that started this is gone


class _Log:
    def __init__(self, settings: dict[str, Any], tape: Tape) -> None:
        from mlflow.tracking import MlflowClient

        self.settings, self.tape = settings, tape
        self.client = MlflowClient(settings["uri"])
        self.step: int = settings["step"]
        self.ended_at: float | None = None

    def batch(self, samples: list[tuple[Sample, dict[str, float]]]) -> None:
        """One step: the means of some samples, at the time of the last of them."""
        from mlflow.entities import Metric

        stamp = samples[-1][0].time_ns // 1_000_000
        prefix = self.settings["prefix"]
        metrics = [Metric(prefix + n, v, stamp, self.step) for n, v in mean_of([m for _, m in samples]).items()]
        tries = 0
        while True:
            try:
                self.client.log_batch(self.settings["run_id"], metrics=metrics)
                self.step += 1
                return
            except Exception as error:
                if not self._goes_on(error, tries):
                    _say(step=self.step, warning=f"Failed to log process metrics at step {self.step}: {error}")
                    sys.exit(1)
                time.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
                tries += 1

    def _goes_on(self, error: Exception, tries: int) -> bool:
        """A run that is gone will not come back; a server may."""
        if getattr(error, "error_code", "") in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE"):
            return False
        if tries == 0:
            _say(step=self.step, warning=f"Failed to log process metrics at step {self.step}: {error} (tried again)")
        if self.ended_at is None and self.tape.state != "running":
            self.ended_at = time.monotonic()
        return self.ended_at is None or time.monotonic() - self.ended_at < _GIVES_UP_AFTER


def _line(fd: int) -> str:
    got = b""
    while not got.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            sys.exit(0)
        got += byte
    return got.decode().rstrip("\n")


def _interpreter_is_gone() -> bool:
    poll = select.poll()
    poll.register(0, select.POLLIN)
    return bool(poll.poll(0))


def _stop(pid: int, ticks: int) -> None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            if int(file.read().rpartition(b")")[2].split()[19]) == ticks:
                os.kill(pid, 15)
    except OSError:
        pass


def main() -> None:
    path, recorder, ticks = _line(0), int(_line(0)), int(_line(0))
    settings = json.loads(_line(0))
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    tape = Tape(path)
    log = _Log(settings, tape)
    collector = Collector(settings["memory"], settings["cores"], zeros=False)
    waiting: list[tuple[Sample, dict[str, float]]] = []
    told = settings["own"]  # the recording of this process ends with it
    with tape._cursor() as cursor:
        while True:
            record = cursor.next()
            if record is None:
                if not told and _interpreter_is_gone():
                    _stop(recorder, ticks)
                    told = True
                if not cursor.wait(0):
                    break
                poll = select.poll()
                if cursor.poll_fd() >= 0:
                    poll.register(cursor.poll_fd(), select.POLLIN)
                if not told:
                    poll.register(0, select.POLLIN)
                poll.poll(1000)
                continue
            if isinstance(record, Sample):
                waiting.append((record, collector.of_sample(record)))
                if len(waiting) >= settings["samples"]:
                    log.batch(waiting)
                    waiting = []
    if waiting:
        log.batch(waiting)
    _say(step=log.step)
