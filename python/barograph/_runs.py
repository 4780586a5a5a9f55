# SPDX-License-Identifier: Apache-2.0
"""The kept runs: what `baro run`, `baro record` and record() wrote where no file was named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from ._lib import NEW, Handle, lib, make, raw, text
from .errors import Error
from .tape import Tape
from .values import plain



class Run:
    """A kept run; its tape is opened when it is asked for."""

    def __init__(self, path: str, name: str, size: int, number: int) -> None:
        self.path, self.name, self.bytes, self.number = path, name, size, number
        self._tape: Tape | None = None

    @property
    def tape(self) -> Tape:
        if self._tape is None:
            self._tape = Tape(self.path)
        return self._tape

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.tape, name)

    def to_dict(self) -> dict[str, Any]:
        """A row of a table: what the run was, and the facts of the job."""
        header, summary = self.tape.header, self.tape.summary
        row = {
            "path": self.path,
            "name": header.name or " ".join(header.argv) or ", ".join(str(t.name) for t in summary["targets"]),
            "start": header.start,
            "host": header.host,
            "state": self.tape.state,
            "wall_ns": plain(summary.wall_ns),
            "exit_status": plain(summary.exit.status),
            "exit_signal": plain(summary.exit.signal),
        }
        return {**row, **summary.job.to_dict()}

    def __repr__(self) -> str:
        return f"<Run @{self.number} {self.name}>"


class Runs(Sequence[Run]):
    """Runs, the newest first. `runs[0]` is @last."""

    def __init__(self, runs: list[Run], folder: str) -> None:
        self._runs, self.folder = runs, folder

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, i: Any) -> Any:
        return Runs(self._runs[i], self.folder) if isinstance(i, slice) else self._runs[i]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def filter(self, condition: Callable[[Run], Any]) -> Runs:
        """Those for which it is true. A run that can't be read is left out."""
        kept = []
        for run in self._runs:
            try:
                if condition(run):
                    kept.append(run)
            except Error:
                pass
        return Runs(kept, self.folder)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One table of many runs: a row for each, for pandas.DataFrame() and the like. A run that can't be read has its
        path and the error alone."""
        rows = []
        for run in self._runs:
            try:
                rows.append(run.to_dict())
            except Error as error:
                rows.append({"path": run.path, "error": str(error)})
        return rows

    def __repr__(self) -> str:
        return f"<{len(self)} runs in {self.folder}>"


def runs(folder: str | os.PathLike[str] | None = None) -> Runs:
    """The kept runs, or the tapes in any folder."""
    if folder is None:
        pointer = make(lib.baro_runs_list, NEW, 0)
    else:
        pointer = make(lib.baro_runs_list_folder, NEW, raw(os.fspath(folder)))
    handle = Handle(pointer, lib.baro_runs_free, "the list")
    found = [
        Run(
            text(lib.baro_runs_path(handle.pointer, i)),
            text(lib.baro_runs_name(handle.pointer, i)),
            lib.baro_runs_bytes(handle.pointer, i),
            i + 1,
        )
        for i in range(lib.baro_runs_count(handle.pointer))
    ]
    return Runs(found, text(lib.baro_runs_folder(handle.pointer)))

