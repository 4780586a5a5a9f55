# SPDX-License-Identifier: Apache-2.0
"""A chart of a tape: its text is SVG; a notebook draws it."""

from __future__ import annotations

import os

from .errors import ArgumentError


class Chart(str):
    """The source of an SVG, as a str. `.save("memory.png")` writes it; a notebook shows the picture."""

    _made_by: tuple[str, str, int, int] = ("", "", 0, 0)

    def __new__(cls, svg: str = "", tape: str = "", figure: str = "", width: int = 0, height: int = 0) -> Chart:
        self = super().__new__(cls, svg)
        self._made_by = (tape, figure, width, height)
        return self

    @property
    def svg(self) -> str:
        """The source alone."""
        return str.__str__(self)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes a file, .svg or .png, and replaces one of that name. A PNG has twice as many pixels each way, and is
        drawn anew from the tape. Returns the path."""
        from ._programs import save_plot

        name = os.fspath(path)
        ending = os.path.splitext(name)[1].lower()
        if ending == ".svg":
            with open(name, "w", encoding="utf-8") as file:
                file.write(self.svg)
        elif ending == ".png":
            save_plot(name, *self._made_by)
        else:
            raise ArgumentError(f"{name}: a chart is saved as .svg or .png")
        return name

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        from .html import STYLE, picture_html

        return STYLE + picture_html(self.svg, self._made_by[1])

    def __repr__(self) -> str:
        return f"<Chart {self._made_by[1]}: {len(self)} characters of SVG; .save(path)>"
