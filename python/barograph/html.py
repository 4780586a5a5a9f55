# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: the facts, the verdicts and the report's charts, without scripts.

The charts are pictures (SVG in <img>), so that their styles are theirs alone and follow light and dark by themselves;
the rest has no colours of its own.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

from ._lib import shown
from .errors import Error
from .values import Absent, Value

if TYPE_CHECKING:
    from .tape import Tape

_MOST = 60_000  # bytes of a saved notebook, which keeps its output for ever
_FIGURES = ("cpu", "memory")
# A chart is light or dark as the scheme of its element: that of the notebook's theme, where it is known, else that of
# the browser.
_STYLE = (
    "<style>"
    "[data-jp-theme-light=true] img.barograph,.vscode-light img.barograph{color-scheme:light}"
    "[data-jp-theme-light=false] img.barograph,.vscode-dark img.barograph{color-scheme:dark}"
    "</style>"
)
_SCALES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


def _bytes(value: Value) -> str:
    if not isinstance(value, int) or isinstance(value, Absent):
        return "not known"
    scale, unit = next(((s, u) for s, u in _SCALES if value >= s), (1, "B"))
    return f"{getattr(value, 'mark', '')}{int(value) / scale:.3g} {unit}"


def _seconds(value: Value) -> str:
    if not isinstance(value, int):
        return "not known"
    return f"{getattr(value, 'mark', '')}{int(value) / 1e9:.3g} s"


def _number(value: Value) -> str:
    if isinstance(value, (int, float)):
        return f"{getattr(value, 'mark', '')}{float(value):.3g}"
    return "not known"


def _end(tape: Tape) -> str:
    end = tape.summary.exit
    if tape.state == "running":
        return "running"
    if end.is_detached is True:
        return "recording stopped"
    if isinstance(end.status, int):
        return f"exit {int(end.status)}"
    return str(end.signal) if end.signal else "end not known"


def _picture(tape: Tape, figure: str) -> str:
    try:
        svg = tape.plot(figure)
    except Error as error:
        return f"<p><small>{html.escape(str(error))}</small></p>"
    encoded = base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    return f'<img class="barograph" alt="{figure}" style="max-width:100%" src="data:image/svg+xml;base64,{encoded}">'


def tape_html(tape: Tape) -> str:
    summary = tape.summary
    job = summary.job
    title = " ".join(tape.header.argv) or tape.header.name or ", ".join(str(t.name) for t in summary["targets"])
    cores = f"{_number(job.cores_mean)} cores of {tape.header.cpus}, peak {_number(job.cores_peak)}"
    rows = (
        ("CPU", f"{_seconds(job.cpu_ns)}, {cores}"),
        ("memory", f"peak {_bytes(job.rss_peak_bytes)} rss, {_bytes(job.pss_peak_bytes)} pss"),
        ("storage", f"read {_bytes(job.io_read_bytes)}, wrote {_bytes(job.io_write_bytes)}"),
        ("processes", f"{_number(job.processes_started)} started, {_number(job.processes_peak)} at once"),
    )
    cells = "".join(
        f'<tr><td style="text-align:left;opacity:.7">{name}</td>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    said = "".join(f"<li>{html.escape(shown(str(v)))}</li>" for v in tape.verdicts if v.weight != "note")
    text = (
        f"<div>{_STYLE}<p><strong>{html.escape(shown(title))}</strong> &middot; {html.escape(_end(tape))} &middot; "
        f"{_seconds(summary.wall_ns)}</p><table>{cells}</table>"
        + (f"<ul>{said}</ul>" if said else "")
    )
    for figure in _FIGURES:
        picture = _picture(tape, figure)
        if len(text) + len(picture) < _MOST:
            text += picture
    return text + "</div>"
