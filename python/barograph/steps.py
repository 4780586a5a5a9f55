# SPDX-License-Identifier: Apache-2.0
"""The steps of a job, and the chain of last finishers: what `baro summary --by step` prints.

    for step in tape.steps.items[:3]: print(step.name, step.cmdline, step.responsible_ns)
    for link in tape.steps.chain: print(link.step.name if link.step else "unknown", link.end_ns - link.begin_ns)
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from . import _abi
from ._lib import NEW, Handle, lib, make, text
from .summary import Row, fact_value

AFTER = {_abi.BARO_LINK_NEXT: "next", _abi.BARO_LINK_SLOT: "slot", _abi.BARO_LINK_LAST: "last"}


class Step(Row):
    """A process that a driver started, such as a compile of make, with all below it: facts as attributes."""

    name: str
    cmdline: str | None
    driver: Step | None
    pid: int
    begin_ns: int
    end_ns: int
    occurrence: int
    is_driver: bool
    is_idle: bool

    def __init__(self, row: Any, facts: dict[str, Any], helps: dict[str, str]) -> None:
        super().__init__(facts, helps)
        self.name = text(row.name)
        self.cmdline = text(row.cmdline) if row.cmdline else None
        self.driver = None
        for member in ("pid", "begin_ns", "end_ns", "occurrence"):
            setattr(self, member, int(getattr(row, member)))
        self.is_driver, self.is_idle = bool(row.is_driver), bool(row.is_idle)

    def to_dict(self) -> dict[str, Any]:
        own = {k: v for k, v in self.__dict__.items() if not k.startswith("_") and k != "driver"}
        return {**own, **super().to_dict()}


class Link(NamedTuple):
    """From begin to end the job waited for this step; None: it is not known for which one. after: what the link waited
    for: "next", "slot", "last", or None."""

    step: Step | None
    begin_ns: int
    end_ns: int
    after: str | None
    saving_most_ns: int


class Steps:
    """items: the steps, those that are responsible for most of the wall time first; chain: the links in order."""

    def __init__(self, tape: int) -> None:
        handle = Handle(make(lib.baro_steps_of_tape, tape, NEW), lib.baro_steps_free, "the steps")
        at, value = handle.pointer, _abi.baro_value()
        facts = [lib.baro_steps_fact(f).contents for f in range(lib.baro_steps_fact_count())]
        helps = {text(f.name): text(f.help) for f in facts}
        rows = [lib.baro_steps_get(at, i).contents for i in range(lib.baro_steps_count(at))]
        self.begin_ns: int = lib.baro_steps_begin_ns(at)
        self.end_ns: int = lib.baro_steps_end_ns(at)
        self.items: list[Step] = []
        for i, row in enumerate(rows):
            used = {}
            for f, fact in enumerate(facts):
                lib.baro_steps_value(at, i, f, ctypes.byref(value))
                used[text(fact.name)] = fact_value(value, fact)
            self.items.append(Step(row, used, helps))
        for step, row in zip(self.items, rows):
            step.driver = self.items[row.driver] if row.driver >= 0 else None
        links = [lib.baro_steps_link(at, i).contents for i in range(lib.baro_steps_links(at))]
        self.chain = [
            Link(self.items[n.step] if n.step >= 0 else None, n.begin_ns, n.end_ns, AFTER.get(n.after), n.saving_most_ns)
            for n in links
        ]
