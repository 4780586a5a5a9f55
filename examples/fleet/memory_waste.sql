-- Who wasted most memory this month: what was set aside for their jobs and never needed, in GB for an hour.
-- Jobs without a limit have wasted nothing, and are not here. bounds: jobs that needed at least what is known, so that
-- wasted_gb_hours is at most what it says.
select user,
       count(*) as jobs,
       round(sum(gb_hours_unused), 3) as wasted_gb_hours,
       round(100 * sum(gb_hours_unused) / sum(gb_hours_allowed), 1) as percent_wasted,
       count(*) filter (where concat(',', upper_bounds, ',') like '%,memory_unused_byte_seconds,%') as bounds
from job
where date >= date_trunc('month', today()) and memory_unused_byte_seconds is not null
group by user
order by wasted_gb_hours desc, user
limit 20
