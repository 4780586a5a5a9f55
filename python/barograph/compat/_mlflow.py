# SPDX-License-Identifier: Apache-2.0
"""The process that logs to MLflow for compat.stouputils: barograph.mlflow's follower, with other metrics and steps. The
tape keeps all that is not logged yet, and the position beside it how far that is."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from typing import Any

from ..mlflow._follow import Follower, end_recorder
from ..mlflow._points import Step
from ..mlflow._position import Position, Refused, path_of
from ..mlflow._server import harmless
from ..sample import Sample
from .stouputils import Collector, mean_of


def _say(**what: Any) -> None:
    try:
        os.write(1, json.dumps(what).encode() + b"\n")
    except OSError:
        pass  # the interpreter that started this is gone


class _Log(Follower):
    def __init__(self, settings: dict[str, Any], tape: str, recorder: tuple[int, int]) -> None:
        request = {"tape": tape, "uri": settings["uri"], "run_id": settings["run_id"]}
        super().__init__(request, Position(path_of(request)), self._failed)
        self._settings, self._recorder = settings, recorder
        self._told = bool(settings["own"])  # the recording of this process ends with it
        self._warned = False

    @property
    def step(self) -> int:
        return int(self.position.values.get("next", self._settings["step"]))

    def _failed(self, text: str) -> None:
        """Warns of the first failure, and not of those that follow it."""
        if not self._warned:
            _say(step=self.step, warning=f"Failed to log process metrics at step {self.step}: {text} (tried again)")
        self._warned = True

    def _gives_up(self) -> bool:
        self._watch()  # also while there is no server
        return super()._gives_up()

    def _watch(self) -> None:
        """The recording ends with the interpreter."""
        if not self._told and _interpreter_is_gone():
            end_recorder(*self._recorder)
            self._told = True

    def _pause(self, *descriptors: int) -> None:
        super()._pause(*descriptors, -1 if self._told else 0)

    def steps(self) -> Iterator[Step | None]:
        """The means of some samples, at the time of the last of them."""
        prefix, number = self._settings["prefix"], self.step
        collector = Collector(self._settings["memory"], self._settings["cores"], zeros=False)
        waiting: list[dict[str, float]] = []

        def step(last: Sample) -> Step:
            point = {prefix + name: value for name, value in mean_of(waiting).items()}
            return Step(number, last.t_ns, last.time_ns // 1_000_000, point)

        last = None
        for sample in self._samples():
            if sample is None:
                yield None
                continue
            last = sample
            waiting.append(collector.of_sample(sample))
            if len(waiting) >= self._settings["samples"]:
                yield step(sample)
                number, waiting = number + 1, []
        if waiting and last is not None:
            yield step(last)

    def run(self) -> None:
        self.connect(self._settings["uri"])
        _say(step=self.step)  # MLflow is imported: from now on finish() waits
        self.position.save(run_id=self._settings["run_id"], stage="metrics", next=self.step)
        self.send_metrics()
        self.position.save(stage="done")


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


def main() -> None:
    path, recorder, ticks = _line(0), int(_line(0)), int(_line(0))
    settings = json.loads(_line(0))
    os.environ.setdefault("BAROGRAPH_MLFLOW_FLUSH", "0")  # each step as soon as it is there, as the original
    step = settings["step"]
    try:
        log = _Log(settings, path, (recorder, ticks))
        try:
            log.run()
        finally:
            step = log.step
    except Exception as error:
        lost = "" if isinstance(error, Refused) else f" The rest is in {path}"
        said = harmless(f"Failed to log process metrics at step {step}: {error}{lost}", settings["uri"])
        _say(step=step, warning=said)
        sys.exit(1)
    _say(step=step)
