# SPDX-License-Identifier: Apache-2.0
"""Which run of MLflow a tape belongs to: one that is named, one that the recorded program began, or a new one."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any, Callable

from ..records import Event
from ..tape import Tape
from ._auto import TAG, _with_password
from ._position import Position
from ._server import Server
from ._summary import utf8

_MOST_PAGES = 1000  # of 1000 experiments each


class Finder:
    def __init__(
        self, request: dict[str, Any], position: Position, tape: Tape, connect: Callable[[str | None], Server]
    ) -> None:
        self.request, self.position, self.tape, self._connect = request, position, tape, connect

    def find(self) -> Server | None:
        """The server that has the run, whose id is in the position; None: there is no run for this tape."""
        if self.position.values.get("run_id"):
            return self._connect(self.request.get("uri"))
        if self.request.get("run_id"):
            server = self._connect(self.request.get("uri"))
            self.position.save(run_id=self.request["run_id"])
            return server
        session = self.request.get("session")
        if session:  # we record it ourselves: what it says is the user's word
            uri = self.request.get("uri") or self._uri_on_tape()
            if uri is not None:
                server = self._connect(uri)
                found = self._search_until_end(server, session)
                if found:
                    self.position.save(run_id=found)
                    return server
            if not self.request.get("or_new"):
                return None
        self._wait_for_end_of(session)
        server = self._connect(self.request.get("uri"))
        self._new_run(server)
        return server

    def _wait_for_end_of(self, session: Any) -> None:
        """As long as the command may begin a run of its own, none is made for it."""
        if session:
            for _ in self.tape.records(follow=True):
                pass

    def _uri_on_tape(self) -> str | None:
        """Where the program that is recorded has its runs. It says so with a mark; None: it began none."""
        for record in self.tape.records(follow=True):
            if isinstance(record, Event) and record.kind == "mark" and record.name == "mlflow.start_run":
                if record.attributes.get("system_metrics"):  # MLflow's own monitor logs the machine
                    self.request["machine"] = False
                    self.position.save(request={**self.position.values["request"], "machine": False})
                return _with_password(str(record.attributes.get("tracking_uri", ""))) or ""
        return None

    @staticmethod
    def _search(client: Any, session: str) -> str | None:
        """The run with our tag: the first one that has no parent."""
        ids: list[str] = []
        token = None
        for _ in range(_MOST_PAGES):
            page = client.search_experiments(page_token=token)
            ids += [e.experiment_id for e in page]
            token = page.token
            if not token:
                break
        else:
            raise RuntimeError(f"more than {_MOST_PAGES} pages of experiments")
        found: list[Any] = []
        for i in range(0, len(ids), 100):
            found += client.search_runs(ids[i : i + 100], filter_string=f"tags.`{TAG}` = '{session}'", max_results=100)
        own = [r for r in found if "mlflow.parentRunId" not in r.data.tags] or found
        return str(min(own, key=lambda r: r.info.start_time).info.run_id) if own else None

    def _search_until_end(self, server: Server, session: str) -> str | None:
        """The run is made a moment after its tag was asked for."""
        pause, last = 0.1, False
        while True:
            found: str | None = server.do("search", lambda: self._search(server.client, session))
            if found or last:
                return found
            last = self.tape.state != "running"
            time.sleep(pause)
            pause = min(2 * pause, 10.0)

    def _new_run(self, server: Server) -> None:
        """The tag finds it again if the answer is lost."""
        session = self.position.values.get("session") or self.request.get("session") or uuid.uuid4().hex
        self.position.save(session=session)
        header = self.tape.header
        experiment = self.request.get("experiment_id") or server.do(
            "experiment", lambda: self._experiment(server.client)
        )
        name = utf8(header.name or os.path.basename(header.argv[0] if header.argv else self.tape.path))
        found = server.do("search", lambda: self._search(server.client, session))

        def search() -> None:
            nonlocal found
            found = self._search(server.client, session)

        def create() -> Any:
            if found:
                return found
            tags = {TAG: session, "mlflow.runName": name, "mlflow.source.name": utf8(" ".join(header.argv)) or name}
            made = server.client.create_run(experiment, start_time=header.start_ns // 1_000_000, tags=tags)
            if not made.info.run_id:
                raise RuntimeError("the answer names no run")  # of something else than MLflow
            return made.info.run_id

        self.position.save(run_id=server.do("create", create, search), created=True)

    @staticmethod
    def _experiment(client: Any) -> str:
        given = os.environ.get("MLFLOW_EXPERIMENT_ID")
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if given or not name:
            return given or "0"
        found = client.get_experiment_by_name(name)
        return str(found.experiment_id if found else client.create_experiment(name))
