-- What took most core-hours in the last 30 days, and how many of those set aside for it were left idle. The ranks of a
-- job are one job.
select title,
       count(distinct run) as jobs,
       count(distinct user) as users,
       round(sum(core_hours), 3) as used_core_hours,
       round(sum(core_hours_unused), 3) as idle_core_hours
from share
where first_date >= today() - interval 30 day
group by title
order by used_core_hours desc, title
limit 20
