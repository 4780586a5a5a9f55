#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of a large fleet out of real ones, to see how fast queries are: replay.py FROM TO [JOBS]. They
are packed, as pack.py does it.

FROM is a folder of `baro export --fleet`. Each of its jobs is copied, with its commands, phases, devices and tags, to
hosts and days and users at random, and its figures are multiplied by a random factor. Half of the hosts get another
kernel on day 30, with which every command whose name begins with a to m takes a tenth more CPU time. Needs duckdb.
"""

import pathlib
import sys
import time

import duckdb

HOSTS, DAYS, USERS = 200, 60, 40
COPIES = """
create table copies as
with sources as (select id, row_number() over (order by id) - 1 as number from source_job),
     each as (select i, hash(i) as h, i % (select count(*) from sources) as number from range({jobs}) t(i))
select s.id as old, i, md5(concat(s.id, i)) as id, hash(h + 1) % {hosts} as node,
       current_date - cast(hash(h + 2) % {days} as integer) as date,
       (hash(h + 3) % 86400000)::bigint as ms, concat('user', hash(h + 4) % {users}) as user,
       exp(((hash(h + 5) % 10000) + (hash(h + 6) % 10000) + (hash(h + 7) % 10000)) / 10000.0 - 1.5) as factor,
       case when node % 2 = 0 and current_date - date < 30 then '6.99.1-next' end as kernel
from each join sources s using (number)
where not (node % 50 = 7 and date >= current_date - 2)  -- a few machines have fallen silent
"""
SCALED = ("_ns", "_bytes", "_seconds", "_joules")
FIXED = ("memory_limit_bytes", "machine_memory_bytes", "memory_total_bytes")  # of the machine, not of the job


def columns(db, table):
    """The expressions for the columns of a copy."""
    for name, kind, *_ in db.sql(f"describe source_{table}").fetchall():
        if name == "id":
            yield "c.id as id"
        elif name == "job_id":
            yield "case when t.job_id is not null then concat(t.job_id, '.', c.i) end as job_id"
        elif name == "start":
            yield "(c.date::timestamp + to_milliseconds(c.ms))::timestamptz as start"
        elif name == "host":
            yield "concat('node', c.node) as host"
        elif name in ("user", "date"):
            yield f"c.{name} as {name}"
        elif name == "kernel":
            yield "coalesce(c.kernel, t.kernel) as kernel"
        elif table == "command" and name == "cpu_ns":
            slower = "case when c.kernel is not null and t.command < 'n' then 1.1 else 1 end"
            yield f"(t.cpu_ns * c.factor * {slower})::bigint as cpu_ns"
        elif name.endswith(SCALED) and name not in FIXED and kind in ("BIGINT", "DOUBLE"):
            yield f"(t.{name} * c.factor)::{kind} as {name}"
        else:
            yield f"t.{name} as {name}"


def main():
    source, to = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    db = duckdb.connect()
    db.sql("set timezone = 'UTC'; set partitioned_write_max_open_files = 300; set preserve_insertion_order = false")
    tables = "job", "command", "phase", "device", "tag"
    for table in tables:
        files = f"{source}/{table}/**/*.parquet"
        db.sql(f"create table source_{table} as select * from read_parquet('{files}', hive_partitioning = true)")
    db.sql(COPIES.format(jobs=jobs, hosts=HOSTS, days=DAYS, users=USERS))
    for table in tables:
        begun = time.monotonic()
        rows = f"select {', '.join(columns(db, table))} from source_{table} t join copies c on t.id = c.old"
        empty = to / table / "date=1970-01-01"
        empty.mkdir(parents=True)  # the columns of a table without rows
        db.sql(f"copy (select * exclude (date) from source_{table} limit 0) to '{empty}/part.parquet'")
        db.sql(
            f"copy ({rows} order by c.date, c.node, c.ms) to '{to}/{table}' "
            "(format parquet, compression zstd, partition_by (date), overwrite_or_ignore)"
        )
        print(f"{table}: {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
