#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the queries beside it on the tables of a folder: measure.py DIR [duckdb|chdb...]. The best of three."""

import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
VIEWS = ("views.sql", "views.clickhouse.sql")


def in_duckdb():
    try:
        import duckdb
    except ImportError:
        sys.exit("duckdb is not installed: pip install duckdb, or measure.py DIR chdb")

    db = duckdb.connect()
    db.sql("set timezone = 'UTC'")
    db.sql((HERE / "views.sql").read_text())
    return lambda text: db.sql(text).fetchall()


def in_chdb():
    try:
        from chdb import session
    except ImportError:
        sys.exit("chdb is not installed: pip install chdb, or measure.py DIR duckdb")

    db = session.Session()
    for statement in (HERE / "views.clickhouse.sql").read_text().split(";\n"):
        if statement.strip():
            db.query(statement)
    return lambda text: str(db.query(text, "TSV")).splitlines()


def main():
    os.chdir(sys.argv[1])
    for engine in sys.argv[2:] or ["duckdb", "chdb"]:
        query = {"duckdb": in_duckdb, "chdb": in_chdb}[engine]()
        for path in sorted(HERE.glob("*.sql")):
            if path.name in VIEWS:
                continue
            took = []
            for _ in range(3):
                begun = time.monotonic()
                rows = query(path.read_text())
                took.append(time.monotonic() - begun)
            print(f"{engine:7} {path.stem:16} {min(took):6.2f} s (first {took[0]:.2f})  {len(rows)} rows  {str(rows[:1])[:110]}")


if __name__ == "__main__":
    main()
