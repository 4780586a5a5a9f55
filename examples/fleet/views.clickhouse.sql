-- ClickHouse (clickhouse local, chDB), in the folder of `baro export --fleet`: the tables, and what a job and its waste are in people's units.
create or replace view job as
    select *, coalesce(name, command_line, cgroup) as title,
           wall_ns / 3.6e12 as wall_hours,
           cpu_ns / 3.6e12 as core_hours,
           cpu_unused_core_seconds / 3600 as core_hours_unused,
           memory_unused_byte_seconds / 3.6e12 as gb_hours_unused,
           memory_limit_bytes * (wall_ns / 3.6e12) / 1e9 as gb_hours_allowed,
           (exit_status > 0 or exit_signal is not null or ended_by is not null) as is_failed
    from file('job/**/*.parquet', Parquet);
create or replace view command as select * from file('command/**/*.parquet', Parquet);
create or replace view phase as select * from file('phase/**/*.parquet', Parquet);
create or replace view device as select * from file('device/**/*.parquet', Parquet);
create or replace view tag as select * from file('tag/**/*.parquet', Parquet);
