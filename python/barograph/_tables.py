# SPDX-License-Identifier: Apache-2.0
"""Lists of what a tape has: a notebook shows them as tables."""

from __future__ import annotations

from typing import Any, Generic, TypeVar
from collections.abc import Iterable

T = TypeVar("T")


class Table(list[T], Generic[T]):
    """A list. kind: the table that html.py has for it."""

    kind: str = ""

    def __init__(self, items: Iterable[T] = (), kind: str = "") -> None:
        super().__init__(items)
        self.kind = kind

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Table(found, self.kind) if isinstance(index, slice) else found

    def _repr_html_(self) -> str:
        from .html import table_html

        return table_html(self)
