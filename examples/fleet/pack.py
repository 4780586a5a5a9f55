#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the tables of `baro export --fleet`: pack.py FROM TO. TO has the same rows, one file for each table and day in
place of one for each machine and day, which for many machines is many times faster to query. A day that is packed and
has not changed since is left alone, so that it can be run every hour. Needs duckdb."""

import pathlib
import sys

import duckdb


def pack(day, to):
    """One that is interrupted leaves the old file."""
    files = sorted(map(str, day.rglob("*.parquet")))
    to.mkdir(parents=True, exist_ok=True)
    file, new = to / "part.parquet", to / "part.parquet.new"
    if file.exists() and all(pathlib.Path(each).stat().st_mtime < file.stat().st_mtime for each in files):
        return 0
    rows = duckdb.sql(
        f"select * from read_parquet({files!r}, hive_partitioning = false, union_by_name = true) order by start"
    )
    rows.write_parquet(str(new), compression="zstd")
    new.replace(file)
    return 1


def main():
    source, to = map(pathlib.Path, sys.argv[1:3])
    days = [day for table in sorted(source.glob("[a-z]*")) for day in sorted(table.glob("date=*"))]
    packed = sum(pack(day, to / day.relative_to(source)) for day in days)
    print(f"{packed} of {len(days)} days packed")


if __name__ == "__main__":
    main()
