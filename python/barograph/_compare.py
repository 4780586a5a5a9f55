# SPDX-License-Identifier: Apache-2.0
"""What changed between two groups of runs, by libbaro's run set (baro/runset.h): what `baro diff` prints.

    result = barograph.compare("main-*.baro", "pr-*.baro")
    print(result)
    for row in result.rows: print(row.scope, row.name, row.fact, row.verdict, row.difference)
"""

from __future__ import annotations

import math
import os
import textwrap
from typing import Any, NamedTuple

from . import _abi
from ._lib import NEW, Handle, call, lib, make, raw, shown, text
from ._runs import Runs, runs
from ._tables import Table
from .errors import ArgumentError
from .rows import Made
from .summary import fold_of
from .tape import Tape

_VERDICTS = {b"unknown": "cannot tell"}  # the others are called as in libbaro
_LABELS = {
    "wall_ns": "wall time",
    "cpu_ns": "CPU",
    "rss_peak_bytes": "memory",
    "process_rss_peak_bytes": "largest process",
    "io_rchar_bytes": "read()",
    "io_wchar_bytes": "write()",
    "io_read_bytes": "disk read",
    "io_write_bytes": "disk written",
    "processes_started": "processes",
    "wait_status": "status",
    "busy_job_ns": "GPU busy",
    "memory_job_peak_bytes": "GPU memory",
}
_SHOWN = 8  # rows of each scope in text
_WORTH_NAMING = {"ns": 10e6, "bytes": 1e6}  # a smaller difference is not shown; of others 1


class Circumstance(NamedTuple):
    """What else differs between the two sides, and may be the cause; "several" where the runs of a side differ."""

    what: str
    before: str
    after: str


class Difference(NamedTuple):
    """A fact of both sides. before and after are medians, difference is theirs. shift: of several runs the Hodges-Lehmann
    estimate of the difference, of which interval has the ends; None: too few runs for one. verdict: "changed", "same", "cannot tell", "new",
    "gone", "small" (it certainly differs, by less than the absolute floor), "others" (other processes used the cores).
    runs_needed: about how many runs on each side would decide; None: decided, or not known. A difference below `floor`
    is not called a change. mark: None, "lower_bound", "upper_bound" or "estimate"."""

    scope: str
    name: str
    fact: str
    unit: str
    before: float | None
    after: float | None
    difference: float | None
    shift: float | None
    interval: tuple[float, float] | None
    verdict: str
    runs_needed: int | None
    mark: str | None
    floor: float | None
    runs_before: int
    runs_after: int

    @property
    def percent(self) -> float | None:
        return 100 * self.difference / self.before if self.before and self.difference is not None else None

    @property
    def label(self) -> str:
        """What text calls it."""
        of = _LABELS.get(self.fact, self.fact)
        return of if self.scope == "job" else f"{shown(self.name) or '(not known)'} {of}"

    def text_of(self, value: float | None) -> str:
        """A value of it with its unit and mark: "≥3.1 s"."""
        if value is None:
            return "-"
        if self.fact == "wait_status":
            return f"signal {os.WTERMSIG(int(value))}" if os.WIFSIGNALED(int(value)) else f"exit {int(value) >> 8}"
        sign = {None: "", "lower_bound": "≥", "upper_bound": "≤", "estimate": "≈"}[self.mark]
        return f"{sign}{_amount(value, self.unit)}"

    @property
    def difference_text(self) -> str:
        """ "+3.1 s (+12 %)" """
        if self.difference is None or self.fact == "wait_status":
            return ""
        percent = "" if self.percent is None else f" ({self.percent:+.{1 if abs(self.percent) < 9.95 else 0}f} %)"
        return f"{'-' if self.difference < 0 else '+'}{_amount(abs(self.difference), self.unit)}{percent}"

    @property
    def verdict_text(self) -> str:
        if self.verdict == "small" and self.floor is not None:
            return f"below {_amount(self.floor, self.unit)}"
        if self.verdict != "cannot tell":
            return "others used the cores" if self.verdict == "others" else self.verdict
        if self.runs_needed:
            return f"needs {self.runs_needed} runs"
        return "only a bound" if self.mark in ("lower_bound", "upper_bound") else "cannot tell"


def _amount(value: float, unit: str) -> str:
    scales = {"ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
              "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))}.get(unit)
    if scales is None or not value:
        return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
    scale, name = next(((s, n) for s, n in scales if value >= s), scales[0] if unit == "ns" else scales[-1])
    return f"{value / scale:.0f} {name}" if value >= 100 * scale or scale == 1 else f"{value / scale:#.3g} {name}"


class Comparison:
    """before, after: the runs; circumstances: what else differs; rows: facts of the job, then of phases, tasks and
    commands, of these the largest difference first."""

    def __init__(self, before: Runs, after: Runs) -> None:
        if not before or not after:
            raise ArgumentError("there is nothing to compare: it takes a run on both sides", _abi.BARO_E_RANGE)
        self.before, self.after = before, after
        handle = Handle(make(lib.baro_runset_new, NEW), lib.baro_runset_free, "the run set")
        at = handle.pointer
        for run in (*before, *after):
            tape = run._tape or Tape(run.path)  # one of its own is freed again
            with tape._cursor() as cursor:
                fold = fold_of(cursor.handle.pointer, _abi.BARO_FOLD_TIMELINE)
            call(lib.baro_runset_add, at, raw(run.path), fold.pointer)
            fold.close()
        call(lib.baro_runset_compare, at, len(before))
        found = [lib.baro_circumstance_get(at, i).contents for i in range(lib.baro_circumstance_count(at))]
        self.circumstances = [Circumstance(text(c.what), text(c.before), text(c.after)) for c in found]
        rows = [lib.baro_difference_get(at, i).contents for i in range(lib.baro_difference_count(at))]
        self.rows: Table[Difference] = Table(map(_difference, rows), "differences")

    def row(self, fact: str, scope: str = "job", name: str = "") -> Difference:
        """One of the rows."""
        for row in self.rows:
            if (row.scope, row.name, row.fact) == (scope, name, fact):
                return row
        raise ArgumentError(f"there is no row {scope} {name!r} {fact}", _abi.BARO_E_RANGE)

    @property
    def changed(self) -> Table[Difference]:
        """The rows that certainly changed, are new, or gone."""
        return Table([row for row in self.rows if row.verdict in ("changed", "new", "gone")], "differences")

    def table(self) -> Made:
        """The rows as an Arrow table."""
        types = {"unit": "text", "scope": "text", "name": "text", "fact": "text", "verdict": "text", "mark": "text",
                 "runs_needed": "whole", "runs_before": "whole", "runs_after": "whole"}
        names = [n for n in Difference._fields if n != "interval"]
        columns = {**{n: types.get(n, "real") for n in names}, "low": "real", "high": "real"}
        rows = [(*[getattr(row, n) for n in names], *(row.interval or (None, None))) for row in self.rows]
        return Made(columns, rows)

    @property
    def sentence(self) -> str:
        """What can be said, in one sentence or three."""
        job = [row for row in self.rows if row.scope == "job" and (row.before or row.after or row.fact == "wait_status")]
        changed = [row for row in job if row.verdict == "changed"]
        parts = [f"{row.label} {row.difference_text or _states(row)}{self._cause(row)}" for row in changed]
        if not changed:
            parts = [f"{row.label} {row.difference_text}" for row in self.rows if row.verdict == "changed"][:1]
        said = [f"Changed: {'; '.join(parts)}." if parts else "No change is certain."]
        for verdict, what in (("others", "Because others used the cores"), ("small", "A small difference"),
                              ("same", "The same"), ("cannot tell", "Cannot tell")):
            names = [row.label for row in job if row.verdict == verdict and row.fact != "wait_status"]
            said += [f"{what}: {', '.join(names)}."] if names else []
        return " ".join(said)

    def _cause(self, of: Difference) -> str:
        """The command that differs most in the same direction."""
        size = of.difference or 0.0
        rows = [(row.difference or 0.0, row) for row in self.rows if (row.scope, row.fact) == ("command", of.fact)]
        most = max((d / size for d, _ in rows if d / size > 0), default=0.0) if size else 0.0
        row = next((row for d, row in rows if size and most and d / size == most), None)
        if row is None or most < 1 / 3 or not _is_much(row):  # it explains too little
            return ""
        if row.fact == "rss_peak_bytes" and most > 1.2:  # it is larger than the job's peak has grown: at another time
            return ""
        share = f", {100 * most:.0f} % of it" if most < 0.995 else ""
        return f" ({shown(row.name) or '(not known)'} {row.difference_text.partition(' (')[0]}{share})"

    def _shown(self) -> list[Difference]:
        """The rows of the text: the job's, and of commands, phases and tasks what changed or may have."""
        counts: dict[str, int] = {}
        found = []
        for row in self.rows:
            if row.scope == "job":
                is_shown = bool(row.before or row.after) or row.fact == "wait_status"
            else:
                is_shown = row.verdict == "changed" or (row.verdict != "same" and _is_much(row))
                counts[row.scope] = counts.get(row.scope, 0) + is_shown
                is_shown = is_shown and counts[row.scope] <= _SHOWN
            found += [row] if is_shown else []
        return found

    def __str__(self) -> str:
        lines = [f"{shown(c.what)}: {shown(c.after)} instead of {shown(c.before)}" for c in self.circumstances]
        cells = [("", "before", "after", "difference", "")]
        cells += [(r.label, r.text_of(r.before), r.text_of(r.after), r.difference_text, r.verdict_text)
                  for r in self._shown()]
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        table = [
            f"{c[0]:<{widths[0]}}  " + "  ".join(f"{c[i]:>{widths[i]}}" for i in (1, 2, 3)) + f"  {c[4]}" for c in cells
        ]
        head = [f"! {', '.join(lines)}"] if lines else []
        return "\n".join([*head, textwrap.fill(self.sentence, 100), "", *[line.rstrip() for line in table]])

    def _repr_html_(self) -> str:
        from .html import comparison_html

        return comparison_html(self)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.before)} and {len(self.after)} runs: {len(self.changed)} rows changed>"


def _is_much(row: Difference) -> bool:
    size = row.difference if row.difference is not None else (row.after or 0.0) - (row.before or 0.0)
    return abs(size) >= _WORTH_NAMING.get(row.unit, 1)


def _states(row: Difference) -> str:
    return f"{row.text_of(row.after)} instead of {row.text_of(row.before)}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _difference(d: Any) -> Difference:
    answer = lib.baro_answer_name(d.answer)
    before, after, low, high = map(_number, (d.before, d.after, d.low, d.high))
    fact = d.fact.contents
    mark = lib.baro_value_mark(d.flags)
    return Difference(
        text(d.scope),
        text(d.name),
        text(fact.name),
        text(lib.baro_unit_name(fact.unit)),
        before,
        after,
        None if before is None or after is None else after - before,
        _number(d.shift),
        None if low is None or high is None else (low, high),
        _VERDICTS.get(answer, text(answer)),
        d.more_runs or None,
        text(mark) if mark else None,
        _number(d.floor),
        d.n_before,
        d.n_after,
    )


def compare(before: Any, after: Any) -> Comparison:
    """What changed between two groups of runs, and what cannot be told. Each is a tape or its path, "@2", a folder of
    tapes, a pattern such as "main-*.baro", or a list of these. Several runs on each side tell more than one."""
    return Comparison(runs(before), runs(after))
