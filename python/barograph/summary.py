# SPDX-License-Identifier: Apache-2.0
"""The summary of a recording: facts in sections, as attributes.

    summary.job.cpu_ns              a number that knows whether it is exact
    summary.job.pss_peak_bytes      absent, with the reason, where it could not be read
    summary.host.pressure.io_some_ratio
    for command in summary.commands: print(command.name, command.cpu_ns)
"""

from __future__ import annotations

import ctypes
import json
from typing import Any
from collections.abc import Iterator

from . import _abi
from ._lib import NEW, Handle, call, lib, make, raw, text
from ._metrics import absent
from .values import Absent, Real, Text, Value, Whole, instant, plain


def fact_value(row: Any, fact: Any) -> Value:
    if row.absent:
        return absent(row.absent, text(fact.name))
    kind, flags = fact.type, int(row.flags)
    if kind == _abi.BARO_FACT_UNSIGNED:
        return Whole(row.u64, flags)
    if kind == _abi.BARO_FACT_SIGNED:
        return Whole(row.i64, flags)
    if kind == _abi.BARO_FACT_REAL:
        return Real(row.real, flags)
    if kind == _abi.BARO_FACT_BOOLEAN:
        return bool(row.u64)
    if kind == _abi.BARO_FACT_TIME:
        return instant(row.i64)
    return Text(text(row.text), flags)


class Row:
    """The facts of a section, or of a row of a table, as attributes."""

    def __init__(self, facts: dict[str, Value], helps: dict[str, str]) -> None:
        self._facts = facts
        self._helps = helps

    def __getattr__(self, name: str) -> Any:  # a Value; Any, so that typed programs may compute with it
        try:
            return self.__dict__["_facts"][name]
        except KeyError:
            raise AttributeError(
                f"there is no fact {name}; there are {', '.join(self.__dict__.get('_facts', ()))}"
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._facts]

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return iter(self._facts.items())

    def get(self, name: str, default: Any = None) -> Any:
        """A fact, or the default where it is absent."""
        value = getattr(self, name)
        return default if isinstance(value, Absent) else value

    def help(self, name: str) -> str:
        """What a fact means."""
        return self._helps[name]

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._facts.items()}

    def __repr__(self) -> str:
        return f"<{', '.join(f'{n}={v!r}' for n, v in self._facts.items() if not isinstance(v, Absent))}>"


def fold_of(tape: int, most: int) -> Handle:
    """What is made from a whole tape, up to a part of it (`BARO_FOLD_*`)."""
    return Handle(make(lib.baro_fold_of_tape, tape, most, NEW), lib.baro_fold_free, "the fold")


class _Facts:
    """The facts of a section, read once for all tapes: number, name and the library's constant; helps: by name."""

    def __init__(self, section: Any) -> None:
        numbers = range(section.first_fact, section.first_fact + section.fact_count)
        rows = [(number, lib.baro_summary_fact(number).contents) for number in numbers]
        self.facts = [(number, text(fact.name), fact) for number, fact in rows]
        self.helps = {text(fact.name): text(fact.help) for _, fact in rows}


_known: dict[int, _Facts] = {}


def _facts_of(section: Any) -> _Facts:
    first = int(section.first_fact)
    if first not in _known:
        _known[first] = _Facts(section)
    return _known[first]


class Summary:
    """All facts of a recording. What belongs to the recording as a whole (wall_ns, start, cpus, ...) is an attribute of
    the summary itself, all else of its section."""

    def __init__(self, tape: int, name: str) -> None:
        handle = fold_of(tape, _abi.BARO_FOLD_SUMMARY)
        summary = lib.baro_fold_summary(handle.pointer)
        self._sections: dict[str, Row | list[Row]] = {}
        self._json: dict[str, Any] | None = None
        self._name = name
        with handle.lock:
            for i in range(lib.baro_summary_section_count()):
                section = lib.baro_summary_section(i).contents
                facts = _facts_of(section)
                rows = [self._row(summary, facts, r) for r in range(lib.baro_summary_rows(summary, i))]
                self._sections[text(section.name)] = rows if section.is_table else rows[0]
        self._handle = handle
        for part, row in self._sections.items():  # host.pressure is an attribute of host as well
            parent, _, own = part.rpartition(".")
            if parent:
                self._sections[parent].__dict__[own] = row

    @staticmethod
    def _row(summary: int, of: _Facts, row: int) -> Row:
        value, facts = _abi.baro_value(), {}
        at, get = ctypes.byref(value), lib.baro_summary_value
        for number, name, fact in of.facts:
            get(summary, number, row, at)
            facts[name] = fact_value(value, fact)
        return Row(facts, of.helps)

    def __getattr__(self, name: str) -> Any:
        sections = self.__dict__.get("_sections", {})
        if name in sections and name:
            return sections[name]
        if f"host.{name}" in sections:
            return sections[f"host.{name}"]
        if "" in sections and not name.startswith("_"):
            return getattr(sections[""], name)
        raise AttributeError(name)

    def __getitem__(self, name: str) -> Any:
        """A section by its name: summary["host.pressure"]."""
        return self._sections[name]

    def __dir__(self) -> list[str]:
        whole = self._sections[""]
        names = [n.rpartition(".")[2] for n in self._sections if n]
        return [*super().__dir__(), *names, *(dir(whole) if isinstance(whole, Row) else [])]

    @property
    def sections(self) -> list[str]:
        return list(self._sections)

    @property
    def command(self) -> list[str]:
        """The command that was recorded."""
        return [str(row.argument) for row in self._sections["command"]]  # type: ignore[union-attr]

    def to_dict(self) -> dict[str, Any]:
        """As `baro summary --json` prints it; docs/json.md has its members."""
        if self._json is not None:
            return self._json
        parts: list[bytes] = []

        @_abi.baro_sink  # type: ignore[untyped-decorator]
        def sink(_: Any, at: int, length: int) -> int:
            parts.append(ctypes.string_at(at, length))
            return 0

        with self._handle.lock:
            call(lib.baro_summary_json, lib.baro_fold_summary(self._handle.pointer), raw(self._name), sink, None)
        made: dict[str, Any] = json.loads(b"".join(parts).decode("utf-8", "replace"))
        self._json = made
        return made

    def _repr_html_(self) -> str:
        from .html import summary_html

        return summary_html(self)

    def __repr__(self) -> str:
        job = self.job
        return f"<Summary: {job.cpu_ns / 1e9:.3f} s cpu, {job.processes_started!r} processes>" if not isinstance(
            job.cpu_ns, Absent
        ) else f"<Summary: cpu {job.cpu_ns!r}>"


class Evidence:
    """A number that a verdict rests on."""

    __slots__ = ("flags", "name", "text", "value")

    def __init__(self, row: Any) -> None:
        self.name, self.text = text(row.name), text(row.text)
        self.value: float = row.value
        self.flags: int = row.flags

    def __repr__(self) -> str:
        return f"<{self.name}: {self.text}>"


class Verdict:
    """What held the job up, what it came near to, what ended it, what to ask for next time: a sentence and its
    evidence."""

    __slots__ = ("advice", "begin_ns", "brief", "end_ns", "evidence", "hint", "phase", "rule", "title", "weight")

    def __init__(self, row: Any) -> None:
        self.rule, self.title, self.advice = text(row.rule), text(row.title), text(row.advice)
        self.brief, self.hint = text(row.brief), text(row.hint)
        self.weight = text(lib.baro_verdict_weight_name(row.weight))
        self.phase = None if row.phase is None else text(row.phase)
        self.begin_ns, self.end_ns = int(row.begin_ns), int(row.end_ns)
        self.evidence = [Evidence(row.evidence[i]) for i in range(row.evidence_count)]

    def __str__(self) -> str:
        return f"{self.title} {self.advice}".strip()

    def __repr__(self) -> str:
        return f"<Verdict {self.rule} ({self.weight}): {self}>"


def verdicts_of(tape: int) -> list[Verdict]:
    handle = fold_of(tape, _abi.BARO_FOLD_VERDICTS)
    found = lib.baro_fold_verdicts(handle.pointer)
    return [Verdict(lib.baro_verdicts_get(found, i).contents) for i in range(lib.baro_verdicts_count(found))]
