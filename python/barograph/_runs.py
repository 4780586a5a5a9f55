# SPDX-License-Identifier: Apache-2.0
"""Sets of runs: the kept ones, which `baro run`, `baro record` and record() wrote where no file was named, and any."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable

from ._lib import NEW, Handle, lib, make, raw, text
from .errors import ArgumentError, Error, TapeNotFoundError
from .tape import Tape
from .values import plain

if TYPE_CHECKING:
    from .rows import Made

_SEGMENT = re.compile(r"\d{6,}\.baro")  # a folder of nothing else is one tape


class Run:
    """A run; its tape is opened when it is asked for. number: 2 of @2; 0: it has none."""

    def __init__(self, path: str, name: str, size: int = 0, number: int = 0, tape: Tape | None = None) -> None:
        self.path, self.name, self.bytes, self.number = path, name, size, number
        self._tape = tape

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
        return f"<Run @{self.number} {self.name}>" if self.number else f"<Run {self.name}>"


class Runs(Sequence[Run]):
    """Runs; the kept ones are the newest first: `runs[0]` is @last."""

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

    def table(self, scopes: str | Iterable[str] | None = None, facts: str | Iterable[str] | None = None) -> Made:
        """Every fact of every run as one Arrow table: a row for each run, scope ("job", "command", "phase", "task",
        "device", "disk", "host"), name and fact, with its value and bounds, and what the run was: command, tags, commit,
        host, kernel, limits, version. scopes and facts select some."""
        from ._facts_table import table_of

        return table_of(self, scopes, facts)

    def __repr__(self) -> str:
        return f"<{len(self)} runs in {self.folder}>" if self.folder else f"<{len(self)} runs>"


def runs(*of: Any) -> Runs:
    """The kept runs; or the runs that are named: tapes and their paths, "@2", folders of tapes, patterns such as
    "main-*.baro", and lists of these. A run that is named twice is there once."""
    if not of:
        return _listed(None)
    if len(of) == 1 and isinstance(of[0], (str, os.PathLike)) and _is_folder(os.fspath(of[0])):
        return _listed(os.fspath(of[0]))
    found: dict[Any, Run] = {}
    for each in of:
        for run in _named(each):
            found.setdefault(os.path.realpath(run.path) if os.path.exists(run.path) else id(run), run)
    return Runs(list(found.values()), "")


def _named(of: Any) -> Iterable[Run]:
    if isinstance(of, Run):
        return [of]
    tape = of if isinstance(of, Tape) else getattr(of, "tape", None)  # what record() and run() return
    if isinstance(tape, Tape):
        return [Run(tape.path, os.path.basename(tape.path), tape=tape)]
    if not isinstance(of, (str, os.PathLike)):
        return [run for each in of for run in _named(each)]
    path = os.fsdecode(of)
    if "\0" in path:
        raise ArgumentError("a path has no NUL")
    if path.startswith("@"):
        return [Run(Tape(path).path, path)]
    if _is_folder(path):
        return sorted(_listed(path), key=_natural)
    if os.path.exists(path):
        return [Run(path, os.path.basename(path))]
    matching = [run for each in glob.glob(path) for run in _named(each)]
    if not matching:
        raise TapeNotFoundError(f"there is no tape {path}")
    return sorted(matching, key=_natural)


def _natural(run: Run) -> list[Any]:
    """task-2 before task-10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", run.path)]


def _is_folder(path: str) -> bool:
    """Is it a folder of tapes, and not a tape in segments?"""
    return os.path.isdir(path) and not any(map(_SEGMENT.fullmatch, os.listdir(path)))


def _listed(folder: str | None) -> Runs:
    if folder is None:
        pointer = make(lib.baro_runs_list, NEW, 0)
    else:
        pointer = make(lib.baro_runs_list_folder, NEW, raw(folder))
    handle = Handle(pointer, lib.baro_runs_free, "the list")
    found = [
        Run(
            text(lib.baro_runs_path(handle.pointer, i)),
            text(lib.baro_runs_name(handle.pointer, i)),
            lib.baro_runs_bytes(handle.pointer, i),
            i + 1 if folder is None else 0,
        )
        for i in range(lib.baro_runs_count(handle.pointer))
    ]
    return Runs(found, text(lib.baro_runs_folder(handle.pointer)))

