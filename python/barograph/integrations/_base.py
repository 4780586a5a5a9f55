# SPDX-License-Identifier: Apache-2.0
"""Phases that callbacks begin and end."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .._marks import Phase
from .._current import phase


def base_of(*names: str) -> Any:
    """A class of a framework, "module:Class": of one that was imported already, else of the first that can be."""
    split = [name.split(":") for name in names]
    for module, attribute in split:
        if module in sys.modules and hasattr(sys.modules[module], attribute):
            return getattr(sys.modules[module], attribute)
    error: ImportError | None = None
    for module, attribute in split:
        try:
            return getattr(import_module(module), attribute)
        except ImportError as why:
            error = error or why
    assert error is not None
    raise error


class Phases:
    """Those that are open, by name: an end without a begin does nothing."""

    def __init__(self) -> None:
        self._open: dict[str, Phase] = {}

    def begin(self, name: str, **attributes: Any) -> None:
        self.end(name)
        self._open[name] = phase(name, **attributes).begin()

    def end(self, name: str, **attributes: Any) -> None:
        found = self._open.pop(name, None)
        if found is not None:
            found.end(**attributes)

    def end_all(self, **attributes: Any) -> None:
        for name in reversed(list(self._open)):
            self.end(name, **attributes)


def numbers(given: Any) -> dict[str, float]:
    """What of it can be an attribute of a mark."""
    found: dict[str, float] = {}
    for name, value in dict(given or {}).items():
        try:
            found[str(name)] = float(value)
        except (TypeError, ValueError, OverflowError):
            pass  # a text, a matrix
    return found
