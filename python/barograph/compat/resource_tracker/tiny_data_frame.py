# SPDX-License-Identifier: Apache-2.0
"""A table of columns, with what resource_tracker's TinyDataFrame can do. For real work:
pandas.DataFrame(table.to_dict())."""

from __future__ import annotations

import csv
import io
import logging
from collections import defaultdict
from collections.abc import Iterator
from csv import DictReader
from time import sleep
from typing import Any, Callable, NamedTuple

_log = logging.getLogger(__name__)


class StatSpec(NamedTuple):
    """A statistic of a column."""

    column: str
    agg: Callable[..., Any]
    agg_name: str | None = None
    round: int | None = None


def _value(text: str | None) -> Any:
    if not isinstance(text, str):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class TinyDataFrame:
    """Columns of equal length, from a dict of lists, a list of dicts, or a file of CSV."""

    def __init__(
        self,
        data: dict[str, list[Any]] | list[dict[str, Any]] | None = None,
        csv_file_path: str | None = None,
        retries: int = 0,
        retry_delay: float = 0.1,
    ) -> None:
        assert (data is None) != (csv_file_path is None), "either data or csv_file_path must be provided"
        if csv_file_path is not None:
            data = self._read(csv_file_path, retries, retry_delay)
        assert isinstance(data, (dict, list)), "data must be a dictionary or a list"
        self.columns: list[str] = []
        self._data: list[list[Any]] = []
        if isinstance(data, dict):
            self.columns, self._data = list(data), list(data.values())
        elif data and isinstance(data[0], dict):
            self.columns = list(dict.fromkeys(name for row in data for name in row))
            self._data = [[row.get(name) for row in data] for name in self.columns]

    @classmethod
    def _read(cls, path: str, retries: int, delay: float) -> list[dict[str, Any]]:
        for attempt in range(retries + 1):
            try:
                return cls._parse(_text_of(path))
            except Exception as error:
                if attempt == retries:
                    raise RuntimeError(f"Failed to read CSV file after {retries + 1} attempts: {path}") from error
                sleep(delay * 2**attempt)
        raise AssertionError

    @staticmethod
    def _parse(text: str) -> list[dict[str, Any]]:
        rows = list(DictReader(io.StringIO(text, newline="")))
        if any(None in row for row in rows):
            raise ValueError("a row has more cells than the header")
        return [{str(name): _value(cell) for name, cell in row.items()} for row in rows]

    def __len__(self) -> int:
        return len(self._data[0]) if self.columns else 0

    def _column(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise KeyError(f"Column '{name}' not found")
        return self._data[self.columns.index(name)]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return TinyDataFrame({name: self._column(name) for name in key})
        if isinstance(key, int):
            return {name: column[key] for name, column in zip(self.columns, self._data)}
        if isinstance(key, slice):
            return TinyDataFrame({name: column[key] for name, column in zip(self.columns, self._data)})
        raise TypeError(f"Invalid key type: {type(key)}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def __setitem__(self, key: str, value: list[Any]) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Column name must be a string, got {type(key)}")
        if len(self) > 0 and len(value) != len(self):
            raise ValueError(f"Length of values ({len(value)}) must match dataframe length ({len(self)})")
        if key in self.columns:
            self._data[self.columns.index(key)] = value
        else:
            self.columns.append(key)
            self._data.append(value)

    def head(self, n: int = 5) -> TinyDataFrame:
        """The first rows."""
        return TinyDataFrame({name: column[:n] for name, column in zip(self.columns, self._data)})

    def tail(self, n: int = 5) -> TinyDataFrame:
        """The last rows."""
        return TinyDataFrame({name: column[-n:] for name, column in zip(self.columns, self._data)})

    def __repr__(self) -> str:
        first = f" First row as a dict: {self[0]}" if len(self) else ""
        return f"TinyDataFrame with {len(self)} rows and {len(self.columns)} columns.{first}"

    def __str__(self) -> str:
        title = f"TinyDataFrame with {len(self)} rows and {len(self.columns)} columns:\n"
        if not len(self):
            return title + "Empty dataframe"
        shown = [[str(cell) for cell in column[:10]] for column in self._data]
        widths = [max(map(len, [name, *cells])) for name, cells in zip(self.columns, shown)]
        lines = [
            " | ".join(name.ljust(width) for name, width in zip(self.columns, widths)),
            "-+-".join("-" * width for width in widths),
        ]
        for row in zip(*shown):
            lines.append(" | ".join(_aligned(cell, width) for cell, width in zip(row, widths)))
        if len(self) > 10:
            lines.append("...".ljust(len(lines[0])))
        return title + "\n".join(lines)

    def rename(self, columns: dict[str, str]) -> TinyDataFrame:
        """Renames columns, and returns the table itself."""
        for name in columns:
            if name not in self.columns:
                raise KeyError(f"Column '{name}' not found in dataframe")
        self.columns = [columns.get(name, name) for name in self.columns]
        return self

    def to_csv(self, csv_file_path: str | None = None, quote_strings: bool = True) -> str | None:
        """Writes CSV to a file, or returns it."""
        out = io.StringIO(newline="")
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC if quote_strings else csv.QUOTE_MINIMAL)
        writer.writerow(self.columns)
        writer.writerows(zip(*self._data))
        if csv_file_path is None:
            return out.getvalue()
        with open(csv_file_path, "w", newline="") as file:
            file.write(out.getvalue())
        return None

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return list(self)

    def stats(self, specs: list[StatSpec]) -> dict[str, dict[str, Any]]:
        """{column: {statistic: value}}, over the values that are there. None where there is none."""
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        for spec in specs:
            name = spec.agg_name or str(getattr(spec.agg, "__name__", "agg"))
            try:
                values = [v for v in self._column(spec.column) if v not in (None, "")]
                value = spec.agg(values) if values else None
                found[spec.column][name] = value if spec.round is None or value is None else round(value, spec.round)
            except Exception as error:
                _log.error("Error collecting statistic on %s with %s: %s", spec.column, name, error)
        return found


def _aligned(cell: str, width: int) -> str:
    """Numbers to the right."""
    return cell.rjust(width) if isinstance(_value(cell), (int, float)) else cell.ljust(width)


def urlopen(path: str) -> Any:
    from urllib.request import urlopen  # it is large

    return urlopen(path)


def _text_of(path: str) -> str:
    if path.startswith(("http://", "https://")):
        with urlopen(path) as answer:
            return str(answer.read().decode("utf-8"))
    with open(path, newline="") as file:
        return file.read()
