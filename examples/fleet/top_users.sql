-- Who used most in the last 30 days. The ranks of a job are one job. GPU hours are those in which a GPU was busy with
-- the job.
select user,
       count(distinct run) as jobs,
       round(sum(core_hours), 3) as used_core_hours,
       round(sum(gpu_busy_ns) / 3.6e12, 3) as gpu_hours,
       round(sum(io_read_bytes + io_write_bytes) / 1e9, 3) as disk_gb,
       round(max(memory_needed_bytes) / 1e9, 3) as most_memory_gb,
       round(100.0 * count(distinct case when is_failed then run end) / count(distinct run), 1) as percent_failed
from job
where date >= today() - interval 30 day
group by user
order by used_core_hours desc, user
limit 20
