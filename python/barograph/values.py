# SPDX-License-Identifier: Apache-2.0
"""Values that know how exact they are, and what stands in the place of one that is absent."""

from __future__ import annotations

import datetime
from typing import Any, Union

LOWER_BOUND, ESTIMATE, UPPER_BOUND = 1, 2, 4


class _Flags:
    """A number is used as any other; besides it knows whether it is exact."""

    flags: int = 0

    @property
    def is_lower_bound(self) -> bool:
        """It may be too small."""
        return bool(self.flags & LOWER_BOUND)

    @property
    def is_estimate(self) -> bool:
        """It may be wrong either way."""
        return bool(self.flags & ESTIMATE)

    @property
    def is_upper_bound(self) -> bool:
        """It may be too large."""
        return bool(self.flags & UPPER_BOUND)

    @property
    def is_exact(self) -> bool:
        return not self.flags

    @property
    def mark(self) -> str:
        """What stands before it in text, as of baro_value_prefix(): "at least ", "about ", "at most " or ""."""
        least, most = self.is_lower_bound, self.is_upper_bound
        if self.is_estimate or (least and most):
            return "about "
        return "at least " if least else "at most " if most else ""

    @property
    def sign(self) -> str:
        """The same as a sign: "≥", "≈", "≤" or ""."""
        return {"at least ": "≥", "about ": "≈", "at most ": "≤"}.get(self.mark, "")


class Whole(_Flags, int):
    """A whole number; in the unit that its name ends with."""

    def __new__(cls, value: int = 0, flags: int = 0) -> Whole:
        self = super().__new__(cls, value)
        self.flags = flags
        return self

    def __repr__(self) -> str:
        return self.mark + int.__repr__(self)

    __str__ = int.__repr__


class Real(_Flags, float):
    """A number with a fraction."""

    def __new__(cls, value: float = 0.0, flags: int = 0) -> Real:
        self = super().__new__(cls, value)
        self.flags = flags
        return self

    def __repr__(self) -> str:
        return self.mark + float.__repr__(self)

    __str__ = float.__repr__


class Text(_Flags, str):
    """A text."""

    def __new__(cls, value: str = "", flags: int = 0) -> Text:
        self = super().__new__(cls, value)
        self.flags = flags
        return self


class Absent:
    """A value that is not there. It is false, and nothing can be computed with it: an absent value is not zero.
    `reason` says why: "denied", "unsupported", "gone", "not asked", ...; "none" where there is nothing to be known."""

    __slots__ = ("name", "reason")

    def __init__(self, reason: str, name: str = "") -> None:
        self.reason = reason
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<absent: {self.reason}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Absent) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash(("absent", self.reason))

    def _refuse(self, *_: object) -> Any:
        raise TypeError(f"{self.name or 'the value'} is absent: {self.reason}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __index__ = _refuse
    __neg__ = __round__ = __mod__ = __rmod__ = _refuse

    def __format__(self, spec: str) -> str:
        return repr(self) if not spec else str(self._refuse())


Value = Union[Whole, Real, Text, bool, datetime.datetime, Absent]


def plain(value: Any) -> Any:
    """For JSON and tables: a value without its flags; None where it is absent."""
    if isinstance(value, Absent):
        return None
    if isinstance(value, Whole):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return str(value) if isinstance(value, Text) else value


def instant(realtime_ns: int) -> datetime.datetime:
    """Nanoseconds since 1970 as a time with its zone, UTC. A datetime has microseconds."""
    whole, rest = divmod(realtime_ns, 1_000_000_000)
    return datetime.datetime.fromtimestamp(whole, datetime.timezone.utc).replace(microsecond=rest // 1000)
