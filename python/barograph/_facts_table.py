# SPDX-License-Identifier: Apache-2.0
"""Runs as one table: a row for each run and fact, with its bounds, and what the run was."""

from __future__ import annotations

from typing import Any
from collections.abc import Iterable, Iterator

from . import _abi
from ._lib import lib, text
from .errors import ArgumentError, Error
from .rows import Made
from .summary import Row
from .tape import Tape
from .values import Absent

# Sections of the summary by scope, and whether they are tables. The names of facts tell sections of a scope apart.
_SECTIONS = {
    "job": ("", "exit", "job", "limits", "gpu", "energy"),
    "command": ("commands",),
    "task": ("tasks",),
    "device": ("gpus",),
    "host": ("host", "host.pressure"),
}
SCOPES = ("job", "command", "phase", "task", "device", "disk", "host")
_LABELS = {
    "run": "text",
    "title": "text",
    "command_line": "text",
    "start": "time",
    "state": "text",
    "host": "text",
    "machine": "text",
    "cpu_model": "text",
    "kernel": "text",
    "cores_allowed": "real",
    "memory_allowed_bytes": "real",
    "commit": "text",
    "branch": "text",
    "version": "text",
}
_CELLS = {
    "scope": "text",
    "name": "text",
    "occurrence": "whole",
    "fact": "text",
    "unit": "text",
    "value": "real",
    "low": "real",
    "high": "real",
    "mark": "text",
    "absent": "text",
}
_MARKS = {"at least ": "lower_bound", "at most ": "upper_bound", "about ": "estimate"}  # as in JSON

Cell = tuple[str, str, int, str, Any]  # scope, name, occurrence, fact, value


def table_of(runs: Iterable[Any], scopes: str | Iterable[str] | None, facts: str | Iterable[str] | None) -> Made:
    wanted = _listed(scopes, SCOPES)
    unknown = [scope for scope in wanted or () if scope not in SCOPES]
    if unknown:
        raise ArgumentError(f"there is no scope {unknown[0]!r}; there are {', '.join(SCOPES)}", _abi.BARO_E_RANGE)
    only = None if facts is None else set(_listed(facts, ()))
    units = _units()
    labels: list[dict[str, Any]] = []
    cells: list[list[tuple[Any, ...]]] = []
    for run in runs:
        try:
            tape = run._tape or Tape(run.path)  # one of its own is freed again
            mine = [
                _cell(cell, most, units)
                for cell, most in _with_bounds(_cells(tape, wanted))
                if _plain(cell[3]) in units and (only is None or cell[3] in only)
            ]
            labels.append(_labels(tape))
        except Error as error:  # it is not dropped in silence
            mine = [("run", "", 1, "", "", None, None, None, None, f"can't be read: {error}")]
            labels.append({"run": run.path})
        cells.append(mine)
    tags = sorted({name for label in labels for name in label if name.startswith("tag_")})
    names = [*_LABELS, *tags]
    rows = [
        (*[label.get(name) for name in names], *cell) for label, mine in zip(labels, cells) for cell in mine
    ]
    return Made({**_LABELS, **dict.fromkeys(tags, "text"), **_CELLS}, rows)


def _listed(of: str | Iterable[str] | None, default: Iterable[str]) -> list[str]:
    return list(default) if of is None else of.split(",") if isinstance(of, str) else list(of)


def _units() -> dict[str, str]:
    """Of numbers by the names of their facts and metrics, which have one unit wherever they stand."""
    found = {}
    for get in lib.baro_summary_fact, lib.baro_timeline_fact, lambda i: lib.baro_metric_get(_abi.BARO_KIND_DISK, i):
        number = 0
        while of := get(number):
            if getattr(of.contents, "type", None) not in (_abi.BARO_FACT_TEXT, _abi.BARO_FACT_TIME):
                found[text(of.contents.name)] = text(lib.baro_unit_name(of.contents.unit))
            number += 1
    return found


def _labels(tape: Tape) -> dict[str, Any]:
    header, limits = tape.header, tape.summary["limits"]
    tags = header.tags
    return {
        "run": tape.path,
        "title": header.name or None,
        "command_line": " ".join(header.argv) or None,
        "start": header.start_ns,
        "state": tape.state,
        "host": header.host or None,
        "machine": header.machine or None,
        "cpu_model": header.cpu_model or None,
        "kernel": header.kernel or None,
        "cores_allowed": limits.get("cores_at_most"),
        "memory_allowed_bytes": limits.get("memory_at_most_bytes"),
        "commit": tags.get("git.commit"),
        "branch": tags.get("git.branch"),
        "version": header.version or None,
        **{f"tag_{key}": value for key, value in tags.items()},
    }


def _cells(tape: Tape, scopes: list[str]) -> Iterator[Cell]:
    for scope, sections in _SECTIONS.items():
        seen: set[str] = set()
        for section in sections if scope in scopes else ():
            found = tape.summary[section]
            for row in found if isinstance(found, list) else [found]:
                yield from _of_row(scope, row, seen, section)
            if isinstance(found, Row):
                seen.update(name for name, _ in found)
    counts: dict[str, int] = {}
    for phase in tape.phases if "phase" in scopes else ():
        counts[phase.path] = counts.get(phase.path, 0) + 1
        for fact, value in phase.used:
            yield "phase", phase.path, counts[phase.path], fact, value
    if "disk" in scopes:
        yield from _disks(tape)


def _of_row(scope: str, row: Row, seen: set[str], section: str) -> Iterator[Cell]:
    name = str(row.get("name", "")) if scope in ("command", "task", "device") else ""
    for fact, value in row:
        yield scope, name, 1, f"{section}.{fact}" if fact in seen else fact, value


def _disks(tape: Tape) -> Iterator[Cell]:
    """What each disk did from its first reading to its last."""
    of = _abi.BARO_KIND_DISK
    metrics = [lib.baro_metric_get(of, i).contents for i in range(lib.baro_metric_count(of))]
    counters = [text(m.name) for m in metrics if m.semantics == _abi.BARO_SEM_COUNTER]
    rows = tape.rows("disk", ["name", *counters]).to_dict()
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for i, name in enumerate(rows["name"]):
        first.setdefault(name, i)
        last[name] = i
    for name, i in first.items():
        for fact in counters:
            begin, end = rows[fact][i], rows[fact][last[name]]
            if begin is not None and end is not None and end >= begin:
                yield "disk", name, 1, fact, end - begin


def _with_bounds(cells: Iterator[Cell]) -> Iterator[tuple[Cell, Any]]:
    """With the upper bound that the summary has of some values: X_at_most_bytes is that of X_bytes."""
    group: list[Cell] = []
    for cell in cells:
        if group and group[-1][:3] != cell[:3]:
            yield from _bounded(group)
            group = []
        group.append(cell)
    yield from _bounded(group)


def _bounded(group: list[Cell]) -> Iterator[tuple[Cell, Any]]:
    by_name = {cell[3]: cell[4] for cell in group}
    for cell in group:
        stem, _, unit = cell[3].rpartition("_")
        most = by_name.get(f"{stem}_at_most_{unit}", by_name.get(f"{cell[3]}_at_most"))
        yield cell, None if isinstance(most, Absent) else most


def _plain(fact: str) -> str:
    return fact.rpartition(".")[2]


def _cell(cell: Cell, most: Any, units: dict[str, str]) -> tuple[Any, ...]:
    scope, name, occurrence, fact, value = cell
    unit = units[_plain(fact)]
    if isinstance(value, Absent):
        return scope, name, occurrence, fact, unit, None, None, None, None, value.reason
    number, mark = float(value), _MARKS.get(getattr(value, "mark", ""))
    low = 0.0 if mark == "upper_bound" else None if mark == "estimate" else number
    high = (None if most is None else float(most)) if mark == "lower_bound" else None if mark == "estimate" else number
    return scope, name, occurrence, fact, unit, number, low, high, mark, None
