# SPDX-License-Identifier: Apache-2.0
"""Quantities, as twitter.common.quantity has them; its own are taken as well, and numbers of seconds."""

from __future__ import annotations

import datetime
import enum
import functools
from importlib import import_module
from typing import Any


class Time(enum.IntEnum):
    """Units of time, in nanoseconds."""

    NANOSECONDS = 1
    MICROSECONDS = 1000
    MILLISECONDS = 1000**2
    SECONDS = 1000**3
    MINUTES = 60 * 1000**3
    HOURS = 3600 * 1000**3
    DAYS = 86400 * 1000**3

    def __str__(self) -> str:
        return ("ns", "us", "ms", "secs", "mins", "hrs", "days")[list(Time).index(self)]


@functools.total_ordering
class Amount:
    """So much of a unit; 120 s are 2 min."""

    def __init__(self, amount: float, unit: Time) -> None:
        self._ns = amount * unit
        self._unit = max((each for each in Time if each >= unit and self._ns % each == 0), default=unit)
        self._amount = amount if self._unit == unit else int(self._ns // self._unit)

    def amount(self) -> float:
        return self._amount

    def unit(self) -> Time:
        return self._unit

    def as_(self, unit: Time) -> float:
        """In another unit."""
        return self._ns / unit

    def __str__(self) -> str:
        return f"{self._amount} {self._unit}"

    def __repr__(self) -> str:
        return f"Amount({self._amount}, {self._unit})"

    def __hash__(self) -> int:
        return hash(self._ns)

    def __eq__(self, other: object) -> bool:
        return self._ns == other._ns if isinstance(other, Amount) else NotImplemented

    def __lt__(self, other: Amount) -> bool:
        return self._ns < other._ns if isinstance(other, Amount) else NotImplemented

    def __add__(self, other: Amount) -> Amount:
        return Amount(self._ns + other._ns, Time.NANOSECONDS) if isinstance(other, Amount) else NotImplemented

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self._ns - other._ns, Time.NANOSECONDS) if isinstance(other, Amount) else NotImplemented

    def __mul__(self, factor: int) -> Amount:
        return Amount(self._ns * factor, Time.NANOSECONDS)

    __rmul__ = __mul__


def seconds(amount: Any) -> float:
    if isinstance(amount, Amount):
        return amount.as_(Time.SECONDS)
    if isinstance(amount, datetime.timedelta):
        return amount.total_seconds()
    if hasattr(amount, "as_"):
        theirs = import_module("twitter.common.quantity").Time
        return float(amount.as_(theirs.SECONDS))
    return float(amount)
