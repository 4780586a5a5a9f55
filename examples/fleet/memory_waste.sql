-- Who wasted most memory this month: what was set aside for their jobs and never needed, in GB for an hour.
-- Jobs without a limit have wasted nothing, and those that ran out of memory lacked it (kills.sql): they are not here.
-- bounds: jobs that needed at least what is known, so that wasted_gb_hours is at most what it says.
select user,
       count(distinct run) as jobs,
       round(sum(gb_hours_unused), 3) as wasted_gb_hours,
       round(100 * sum(gb_hours_unused) / sum(gb_hours_allowed), 1) as percent_wasted,
       sum(is_bound) as bounds
from share
where first_date >= date_trunc('month', today()) and gb_hours_allowed is not null and is_killed = 0
group by user
order by wasted_gb_hours desc, user
limit 20
