# SPDX-License-Identifier: Apache-2.0
"""What is sent once a tape is complete: summary, limits, host and versions, report and tape, and the end of the run."""

from __future__ import annotations

import tempfile
from functools import partial
from importlib import import_module
from typing import Any

from ..tape import Tape
from ._points import missing
from ._position import Position, Refused
from ._server import Server
from ._summary import artifacts_of, metrics_of, params_of, tags_of

MOST_METRICS, MOST_PARAMS, MOST_TAGS = 1000, 100, 100  # of a batch


class End:
    def __init__(self, tape: Tape, server: Server, position: Position, wish: Any = None) -> None:
        self.tape, self.server, self.position, self._wish = tape, server, position, wish
        self.run_id = str(position.values["run_id"])

    def send_summary(self) -> None:
        entities: Any = import_module("mlflow.entities")
        tape, client = self.tape, self.server.client
        end_ms = tape.time_ns(tape.range_ns[1] / 1e9) // 1_000_000
        facts = [(key, value, end_ms, 0) for key, value in metrics_of(tape, self._wish).items()]
        left = facts

        def ask() -> None:
            nonlocal left
            left = missing(client, self.run_id, facts)

        self.server.do("summary", ask)  # it may have been sent before
        for i in range(0, len(facts), MOST_METRICS):
            self.server.do(
                "summary",
                lambda: client.log_batch(
                    self.run_id, metrics=[entities.Metric(*p) for p in left[i : i + MOST_METRICS]]
                ),
                ask,
            )
        tags, params = tags_of(tape, self._wish), params_of(tape)
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

    def send_artifacts(self, *, files: bool) -> None:
        """files: the artifacts themselves, not the end of the run alone."""
        if files:
            with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
                for path, where in artifacts_of(self.tape, folder):
                    try:
                        self.server.do("artifacts", partial(self.server.client.log_artifact, self.run_id, path, where))
                    except Refused as error:
                        self.position.save(error=str(error))
        if self.position.values.get("created"):
            self.server.do("end", self._end_run)
        self.position.save(stage="done")

    def _end_run(self) -> None:
        end, tape = self.tape.summary.exit, self.tape
        status = "FINISHED"
        if isinstance(end.status, int) and end.status:
            status = "FAILED"
        if end.signal or tape.state == "cut off":
            status = "KILLED"
        end_ms = tape.time_ns(tape.range_ns[1] / 1e9) // 1_000_000
        self.server.client.set_terminated(self.run_id, status, end_ms)
