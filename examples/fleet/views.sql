-- DuckDB, in the folder of `baro export --fleet`: the tables, and what a job and its waste are in people's units.
-- run: the same for all ranks of a job, each of which is a row of `job`.
create or replace view job as
    select *, coalesce(name, command_line, cgroup) as title,
           coalesce(job_id, id) as run,
           wall_ns / 3.6e12 as wall_hours,
           cpu_ns / 3.6e12 as core_hours,
           cpu_unused_core_seconds / 3600 as core_hours_unused,
           memory_unused_byte_seconds / 3.6e12 as gb_hours_unused,
           case when memory_unused_byte_seconds is not null
                then memory_limit_bytes * (wall_ns / 3.6e12) / 1e9 end as gb_hours_allowed,
           (exit_status > 0 or exit_signal is not null or ended_by is not null) as is_failed
    from read_parquet('job/**/*.parquet', hive_partitioning = true);
create or replace view command as select * from read_parquet('command/**/*.parquet', hive_partitioning = true);
create or replace view phase as select * from read_parquet('phase/**/*.parquet', hive_partitioning = true);
create or replace view device as select * from read_parquet('device/**/*.parquet', hive_partitioning = true);
create or replace view tag as select * from read_parquet('tag/**/*.parquet', hive_partitioning = true);
-- What a job had on a machine: the ranks of a step share what was set aside there, but for the cores to which each of
-- them is bound. 4 ranks that need 1 GB each of a limit of 10 GB for an hour leave 6 GB hours, not 4 times 9.
create or replace view share as
    select min(j.date) as first_date, min(j.run) as run, min(j.title) as title, min(j.user) as user, min(j.host) as host,
           count(*) as ranks, sum(j.core_hours) as core_hours,
           max(j.gb_hours_allowed) as gb_hours_allowed,
           case when max(j.gb_hours_allowed) is not null
                then greatest(max(j.gb_hours_allowed) - sum(j.gb_hours_allowed - j.gb_hours_unused), 0) end as gb_hours_unused,
           max(case when concat(',', j.upper_bounds, ',') like '%,memory_unused_byte_seconds,%' then 1 else 0 end) as is_bound,
           max(case when j.ended_by in ('memory', 'rss') or j.oom_kills > 0 then 1 else 0 end) as is_killed,
           case when min(j.cores_allowed_source) = 'affinity' then sum(j.core_hours_unused)
                when max(j.core_hours_unused) is not null
                then greatest(max(j.core_hours_unused + j.core_hours) - sum(j.core_hours), 0) end as core_hours_unused
    from (select *, case when rank is null then id
                         else concat(run, '/', coalesce(step_id, ''), '/', coalesce(attempt, 0), '/', host) end as part
          from job) as j
    group by j.part;
