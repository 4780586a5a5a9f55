# SPDX-License-Identifier: Apache-2.0
"""Quantities, as twitter.common.quantity has them; its own are taken as well, and numbers of seconds."""

from __future__ import annotations

import datetime
from importlib import import_module
from typing import Any


class Time:
    """Units of time."""

    NANOSECONDS = 1e-9
    MICROSECONDS = 1e-6
    MILLISECONDS = 1e-3
    SECONDS = 1.0
    MINUTES = 60.0
    HOURS = 3600.0
    DAYS = 86400.0


class Amount:
    """So much of a unit."""

    def __init__(self, amount: float, unit: float) -> None:
        self._amount, self._unit = amount, unit

    def as_(self, unit: float) -> float:
        """In another unit."""
        return self._amount * self._unit / unit

    def __repr__(self) -> str:
        return f"Amount({self._amount} x {self._unit:g} s)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.as_(1.0) == other.as_(1.0)

    def __hash__(self) -> int:
        return hash(self.as_(1.0))


def seconds(amount: Any) -> float:
    if isinstance(amount, Amount):
        return amount.as_(Time.SECONDS)
    if isinstance(amount, datetime.timedelta):
        return amount.total_seconds()
    if hasattr(amount, "as_"):
        theirs = import_module("twitter.common.quantity").Time
        return float(amount.as_(theirs.SECONDS))
    return float(amount)
