# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: the facts, the verdicts and the report's charts, without scripts.

The charts are pictures (SVG in <img>), so that their styles are theirs alone and follow light and dark by themselves;
the rest has no colours of its own.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any, Callable
from collections.abc import Iterable, Sequence

from ._lib import shown
from .errors import Error
from .values import LOWER_BOUND, Absent, Value, Whole

if TYPE_CHECKING:
    from ._compare import Comparison
    from ._tables import Table
    from .summary import Row, Summary, Verdict
    from .tape import Tape
    from .timeline import Phase

_MOST = 60_000  # bytes of a saved notebook, which keeps its output for ever
_FIGURES = ("cpu", "memory")
# A chart is light or dark as the scheme of its element: that of the notebook's theme, where it is known, else that of
# the browser.
STYLE = (
    "<style>"
    "[data-jp-theme-light=true] img.barograph,.vscode-light img.barograph{color-scheme:light}"
    "[data-jp-theme-light=false] img.barograph,.vscode-dark img.barograph{color-scheme:dark}"
    "</style>"
)
_SCALES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
_ROWS = 50  # of a table; more are counted


def _sign(value: Any) -> str:
    return str(getattr(value, "sign", ""))


def _bytes(value: Value) -> str:
    if not isinstance(value, int) or isinstance(value, Absent) or (not value and _sign(value)):
        return "not known"  # "at least 0" says nothing
    scale, unit = next(((s, u) for s, u in _SCALES if value >= s), (1, "B"))
    return f"{_sign(value)}{int(value) / scale:.3g} {unit}"


def _seconds(value: Value) -> str:
    if not isinstance(value, int):
        return "not known"
    ns = int(value)
    scale, unit = (1e9, "s") if ns >= 1e9 or not ns else (1e6, "ms") if ns >= 1e6 else (1e3, "µs")
    digits = f"{ns / scale:.0f}" if ns >= 1e11 else f"{ns / scale:.3g}"
    return f"{_sign(value)}{digits} {unit}"


def _number(value: Value) -> str:
    if isinstance(value, int):
        return f"{_sign(value)}{int(value):,}"
    if isinstance(value, float):
        return f"{_sign(value)}{float(value):.{2 if value < 10 else 1}f}"
    return "not known"


# ---- tables ----


def _cell(tag: str, value: str, align: str) -> str:
    return f'<{tag} style="text-align:{align}">{html.escape(shown(value)).replace("not known", "&ndash;")}</{tag}>'


def _table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], count: int) -> str:
    """columns: the title and how its cells are aligned."""
    head = "".join(_cell("th", title, align) for title, align in columns)
    body = "".join(
        "<tr>" + "".join(_cell("td", value, align) for value, (_, align) in zip(row, columns)) + "</tr>" for row in rows
    )
    more = f"<p><small>{count - _ROWS} more</small></p>" if count > _ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _phase_row(phase: Phase) -> list[str]:
    status = phase.attributes.get("status")
    return [
        "\u2003" * phase.depth + phase.name,
        f"+{phase.begin:.3f}s",
        _seconds(Whole(phase.end_ns - phase.begin_ns, LOWER_BOUND if phase.is_open else 0)),
        _seconds(phase.used.cpu_ns),
        _number(phase.used.cores_mean),
        _bytes(phase.used.rss_peak_bytes),
        f"\u2717 {status}" if status else "not ended" if phase.is_open else "",
    ]


def _row_of(name: str) -> Callable[[Row], list[str]]:
    def cells(row: Row) -> list[str]:
        return [
            str(row.name),
            _number(getattr(row, name)),
            _seconds(row.cpu_ns),
            _bytes(row.rss_peak_bytes),
            _bytes(row.io_read_bytes),
            _bytes(row.io_write_bytes),
        ]

    return cells


def _verdict_row(verdict: Verdict) -> list[str]:
    where = f"in {verdict.phase}: " if verdict.phase else ""
    return [verdict.weight, verdict.rule, where + verdict.brief, verdict.hint]


def _verdict_html(verdict: Verdict) -> str:
    _, rule, what, to_do = (html.escape(shown(text)) for text in _verdict_row(verdict))
    return f"<strong>{rule}</strong>: {what}" + (f" &rarr; {to_do}" if to_do else "")


_USED = (("processes", "right"), ("cpu", "right"), ("peak rss", "right"), ("read", "right"), ("wrote", "right"))
_TABLES: dict[str, tuple[Sequence[tuple[str, str]], Callable[[Any], list[str]]]] = {
    "phases": (
        (
            ("phase", "left"),
            ("began", "right"),
            ("took", "right"),
            ("cpu", "right"),
            ("cores", "right"),
            ("peak rss", "right"),
            ("status", "left"),
        ),
        _phase_row,
    ),
    "commands": ((("command", "left"), *_USED), _row_of("processes")),
    "tasks": ((("task", "left"), *_USED), _row_of("processes_started")),
    "differences": (
        (("", "left"), ("before", "right"), ("after", "right"), ("difference", "right"), ("", "left")),
        lambda d: [d.label, d.text_of(d.before), d.text_of(d.after), d.difference_text, d.verdict_text],
    ),
    "verdicts": ((("weight", "left"), ("rule", "left"), ("what", "left"), ("what to do", "left")), _verdict_row),
}


def table_html(table: Table[Any]) -> str:
    columns, cells = _TABLES[table.kind]
    return f"<div>{_table(columns, map(cells, list(table)[:_ROWS]), len(table))}</div>"


def comparison_html(of: Comparison) -> str:
    from ._tables import Table

    said = "".join(f"<li>{html.escape(shown(f'{c.what}: {c.after} instead of {c.before}'))}</li>" for c in of.circumstances)
    head = (f"<ul>{said}</ul>" if said else "") + f"<p>{html.escape(of.sentence)}</p>"
    return f"<div>{head}{table_html(Table(of._shown(), 'differences'))}</div>"


def _used_html(summary: Summary) -> str:
    job, cpus = summary.job, summary.cpus
    cores = f"{_number(job.cores_mean)} cores of {cpus}, peak {_number(job.cores_peak)}"
    rows = [
        ("CPU", f"{_seconds(job.cpu_ns)}, {cores}"),
        ("memory", f"peak {_bytes(job.rss_peak_bytes)} rss, {_bytes(job.pss_peak_bytes)} pss"),
        ("storage", f"read {_bytes(job.io_read_bytes)}, wrote {_bytes(job.io_write_bytes)}"),
        ("processes", f"{_number(job.processes_started)} started, {_number(job.processes_peak)} at once"),
    ]
    if job.get("run_delay_ns", 0) >= 10_000_000:
        rows.append(("waiting", f"{_seconds(job.run_delay_ns)} for a core"))
    cells = "".join(
        f'<tr><td style="text-align:left;opacity:.7">{name}</td>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"


def _head_html(title: str, end: str, summary: Summary) -> str:
    return (
        f"<p><strong>{html.escape(shown(title))}</strong> &middot; {html.escape(end)} &middot; "
        f"{_seconds(summary.wall_ns)}</p>"
    )


def summary_html(summary: Summary) -> str:
    title = " ".join(summary.command) or str(summary[""].get("name", ""))
    return f"<div>{_head_html(title, _end_of(summary), summary)}{_used_html(summary)}</div>"


# ---- a tape ----


def _end_of(summary: Summary) -> str:
    end = summary.exit
    if end.is_detached is True:
        return "recording stopped"
    if isinstance(end.status, int):
        return f"exit {int(end.status)}"
    return str(end.signal) if end.signal else "end not known"


def _picture(tape: Tape, figure: str) -> str:
    try:
        return picture_html(tape.plot(figure).svg, figure)
    except Error as error:
        return f"<p><small>{html.escape(str(error))}</small></p>"


def picture_html(svg: str, figure: str) -> str:
    encoded = base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    alt = html.escape(shown(figure))
    return f'<img class="barograph" alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{encoded}">'


def tape_html(tape: Tape) -> str:
    summary = tape.summary
    title = " ".join(tape.header.argv) or tape.header.name or ", ".join(str(t.name) for t in summary["targets"])
    end = "running" if tape.state == "running" else _end_of(summary)
    said = "".join(f"<li>{_verdict_html(v)}</li>" for v in tape.verdicts if v.weight != "note")
    text = f"<div>{STYLE}{_head_html(title, end, summary)}{_used_html(summary)}" + (f"<ul>{said}</ul>" if said else "")
    for figure in _FIGURES:
        picture = _picture(tape, figure)
        if len(text) + len(picture) < _MOST:
            text += picture
    return text + "</div>"
