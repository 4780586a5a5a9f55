-- Jobs of the last 30 days by the GPU hours that they held and did not use.
select name, user, model,
       count(distinct id) as jobs,
       round(sum(watched_ns - coalesce(busy_job_ns, 0)) / 3.6e12, 3) as gpu_hours_idle,
       round(100.0 * sum(busy_job_ns) / sum(watched_ns), 1) as percent_busy
from device
where date >= today() - interval 30 day and watched_ns > 0
group by name, user, model
order by gpu_hours_idle desc, name, user
limit 20
