-- Jobs of the last 30 days that were killed for memory, by the kernel (OOM) or by a limit of `baro run --limit`.
select title, user,
       count(*) filter (where oom_kills > 0) as oom_killed,
       count(*) filter (where ended_by in ('memory', 'rss')) as over_limit,
       round(max(memory_needed_bytes) / 1e9, 3) as needed_gb_at_least,
       round(min(memory_limit_bytes) / 1e9, 3) as least_limit_gb,
       max(start) as last
from job
where date >= today() - interval 30 day and (oom_kills > 0 or ended_by in ('memory', 'rss'))
group by title, user
order by count(*) desc, title, user
limit 20
