# SPDX-License-Identifier: Apache-2.0
"""Phases and marks that the job named, notable events, and what the job used during each phase."""

from __future__ import annotations

import ctypes
import os
from typing import Any
from collections.abc import Iterator, Mapping

from . import _abi
from ._lib import lib, text
from ._metrics import attribute
from .summary import Row, fact_value, fold_of


class Item:
    """A phase, a mark, or something notable that happened."""

    def __init__(self, row: Any) -> None:
        self.name, self.text = text(row.name), text(row.text)
        self.begin_ns, self.end_ns = int(row.begin_ns), int(row.end_ns)
        self.is_problem = bool(row.is_problem)
        self.error_ns = int(row.error_ns)
        self.pid, self.start_ticks = int(row.pid), int(row.start_ticks)
        self.id = int(row.id)
        self.attributes: dict[str, Any] = {
            text(row.attribute[i].name): attribute(row.attribute[i]) for i in range(row.attribute_count)
        }

    @property
    def begin(self) -> float:
        """Seconds since the tape began."""
        return self.begin_ns / 1e9

    @property
    def end(self) -> float:
        return self.end_ns / 1e9

    @property
    def duration(self) -> float:
        """In seconds."""
        return (self.end_ns - self.begin_ns) / 1e9

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text!r} at {self.begin:.3f} s>"


class Mark(Item):
    """A moment that the job named."""


class Notable(Item):
    """What happened to the job or the recording: "oom_kill", "gap", ...; `is_problem` says which matter."""


class Phase(Item, Mapping):  # type: ignore[type-arg]
    """A phase of the job, with what the job used during it: `phase.cpu_ns`, `phase.rss_peak_bytes`, ...

    `path` has the names of the phases around it: "test/flaky". `status` and `signal` are those of its command (`baro
    phase NAME -- COMMAND`), None if it has none or ended in the other way. It is a mapping as well, so that
    `pandas.DataFrame(tape.phases)` has columns."""

    def __init__(self, row: Any, used: Row, path: str, wait_status: int | None) -> None:
        super().__init__(row)
        self.is_open = bool(row.is_open)
        self.depth = int(row.depth)
        self.parent: Phase | None = None
        self.path = path
        known, killed = wait_status is not None, os.WIFSIGNALED(wait_status or 0)
        self.status = os.WEXITSTATUS(wait_status or 0) if known and not killed else None
        self.signal = os.WTERMSIG(wait_status or 0) if killed else None
        self.used = used

    @property
    def is_failed(self) -> bool:
        """Its command ended with another status than 0, or by a signal."""
        return bool(self.status or self.signal)

    def to_dict(self) -> dict[str, Any]:
        """Its columns: as of tape.rows("phase"), times in nanoseconds, what is absent None."""
        return {
            "t_ns": self.begin_ns,
            "end_ns": self.end_ns,
            "name": self.name,
            "path": self.path,
            "parent": self.parent.path if self.parent else None,
            "depth": self.depth,
            "is_open": self.is_open,
            "status": self.status,
            "signal": self.signal,
            "attributes": self.attributes,
            **self.used.to_dict(),
        }

    def get(self, name: str, default: Any = None) -> Any:
        """A column, or the default where it is absent."""
        value = self.to_dict().get(name)
        return default if value is None else value

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    __eq__ = object.__eq__  # two phases with the same values are two
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:  # a Value, as of a Row
        used = self.__dict__.get("used")
        if used is None or name.startswith("_"):
            raise AttributeError(name)
        return getattr(used, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name, _ in self.used)]

    def __repr__(self) -> str:
        end = "open" if self.is_open else f"{self.duration:.3f} s"
        return f"<Phase {self.text!r} at {self.begin:.3f} s, {end}>"


def path_of(timeline: int, item: int) -> str:
    size = lib.baro_timeline_path(timeline, item, None, 0) + 1
    path = ctypes.create_string_buffer(size)
    lib.baro_timeline_path(timeline, item, path, size)
    return text(path.value)


class Timeline:
    """All of them, in order of time."""

    def __init__(self, tape: int) -> None:
        handle = fold_of(tape, _abi.BARO_FOLD_TIMELINE)
        made = lib.baro_fold_timeline(handle.pointer)
        facts = [lib.baro_timeline_fact(f).contents for f in range(lib.baro_timeline_fact_count())]
        helps = {text(f.name): text(f.help) for f in facts}
        rows = [lib.baro_timeline_get(made, i).contents for i in range(lib.baro_timeline_count(made))]
        self.items: list[Item] = []
        value, status = _abi.baro_value(), ctypes.c_int()
        for i, row in enumerate(rows):
            if row.kind != _abi.BARO_TIMELINE_PHASE:
                self.items.append((Mark if row.kind == _abi.BARO_TIMELINE_MARK else Notable)(row))
                continue
            used = {}
            for f, fact in enumerate(facts):
                lib.baro_timeline_value(made, i, f, ctypes.byref(value))
                used[text(fact.name)] = fact_value(value, fact)
            known = lib.baro_timeline_status(made, i, ctypes.byref(status)) == _abi.BARO_PRESENT
            self.items.append(Phase(row, Row(used, helps), path_of(made, i), status.value if known else None))
        for item, row in zip(self.items, rows):
            parent = self.items[row.parent] if row.parent >= 0 else None
            if isinstance(item, Phase) and isinstance(parent, Phase):
                item.parent = parent

    @property
    def phases(self) -> list[Phase]:
        return [i for i in self.items if isinstance(i, Phase)]

    @property
    def marks(self) -> list[Mark]:
        return [i for i in self.items if isinstance(i, Mark)]

    @property
    def notable(self) -> list[Notable]:
        return [i for i in self.items if isinstance(i, Notable)]
