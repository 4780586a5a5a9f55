#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SQL over the processes of a tape: sql.py TAPE ["select ... from process"]. Needs the packages barograph and duckdb."""

import sys

import barograph
import duckdb

QUERY = "select name, count(*) samples, max(rss_bytes) rss from process group by name order by rss desc"
with barograph.open(sys.argv[1]) as tape:
    process = tape.rows("process")  # an Arrow stream: read while the query runs, never copied
    print(duckdb.sql(sys.argv[2] if len(sys.argv) > 2 else QUERY))
