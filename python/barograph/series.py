# SPDX-License-Identifier: Apache-2.0
"""The course of a metric, in as many buckets as a chart has columns."""

from __future__ import annotations

from typing import Any
from collections.abc import Iterator

from . import _abi
from ._lib import NEW, Handle, call, lib, make, raw, text
from ._metrics import Registry
from .errors import ArgumentError


class Series:
    """A curve: `t` in seconds since the tape began, `values` the mean of each bucket; None where it is not known. No
    sampled peak is lost: it is in `most`."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit
        self.t: list[float] = []
        self.values: list[float | None] = []
        self.least: list[float | None] = []
        self.most: list[float | None] = []
        self.last: list[float | None] = []

    def _add(self, begin_ns: int, bucket: Any) -> None:
        known = bucket.covered_ns or bucket.points
        self.t.append(begin_ns / 1e9)
        self.values.append((bucket.mean if bucket.covered_ns else bucket.last) if known else None)
        self.least.append(bucket.min if known else None)
        self.most.append(bucket.max if known else None)
        self.last.append(bucket.last if known else None)

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[tuple[float, float | None]]:
        return zip(self.t, self.values)

    @property
    def peak(self) -> float | None:
        return max((v for v in self.most if v is not None), default=None)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns, for pandas.DataFrame() and the like."""
        return {"t": self.t, self.name: self.values, "least": self.least, "most": self.most}

    def __repr__(self) -> str:
        return f"<Series {self.name} ({self.unit}): {len(self)} buckets, peak {self.peak}>"


def _split(name: str) -> tuple[str, str, str | None]:
    """"disk.busy_ratio@sda" is ("disk", "busy_ratio", "sda")."""
    path, at, entity = name.partition("@")
    kind, dot, metric = path.rpartition(".")
    return (kind if dot else ""), metric, (entity if at else None)


def _add(series: int, registry: Registry, kind: int, metric: str, entity: str | None) -> tuple[int, str] | None:
    """Adds the curve of a metric, by its name with or without its unit."""
    encoded = raw(metric)
    named = None if entity is None else raw(entity)
    derived = lib.baro_derived_find(kind, encoded)
    if derived >= 0:
        row = lib.baro_derived_get(kind, derived).contents
        return call(lib.baro_series_add_derived, series, kind, 0, named, derived), text(row.unit)
    if metric == "count":
        return call(lib.baro_series_add_count, series, kind, named), ""
    found = next((m for m in registry.of(kind).values() if metric in (m.name, m.name[: -len(m.unit_name) - 1])), None)
    if found is None:
        return None
    if found.semantics == "counter":
        unit = f"{found.unit_name} per second".strip()
        return call(lib.baro_series_add_rate, series, kind, 0, named, found.id), unit
    return call(lib.baro_series_add_value, series, kind, 0, named, found.id), found.unit_name


def read(tape: int, registry: Registry, name: str, buckets: int, stretch: tuple[int, int]) -> Series:
    """A metric is looked for in its kind; without one, among those of the job, of processes, then of the machine."""
    kind_name, metric, entity = _split(name)
    kinds = (
        [registry.kind(kind_name)] if kind_name else [_abi.BARO_KIND_JOB, _abi.BARO_KIND_PROCESS, _abi.BARO_KIND_HOST]
    )
    if entity is not None and not kind_name:
        kinds = [_abi.BARO_KIND_PROCESS]
    if kinds[0] < 0:
        raise ArgumentError(f"there is no kind {kind_name}; there are {', '.join(registry.kinds())}")
    begin, end = stretch
    handle = Handle(
        make(lib.baro_series_new, NEW, begin, max(end, begin + 1), buckets), lib.baro_series_free, "the series"
    )
    for kind in kinds:
        added = _add(handle.pointer, registry, kind, metric, entity)
        if added is None:
            continue
        curve, unit = added
        call(lib.baro_series_read, handle.pointer, tape)
        series = Series(name, unit)
        for i in range(buckets):
            series._add(
                lib.baro_series_bucket_ns(handle.pointer, i), lib.baro_series_bucket(handle.pointer, curve, i).contents
            )
        return series
    raise ArgumentError(f"there is no metric {name}; `baro metrics` lists them")
