-- Which commands take more CPU time for a process since the kernel changed: the newest kernel against the one before,
-- on CPUs of the same model. A figure of a job that is a lower bound is no value, and is left out. Medians of the jobs;
-- fewer than 20 jobs on a side say nothing.
with kernels as (
    select kernel, row_number() over (order by min(start) desc) as age from command group by kernel
),
each as (
    select c.command as command, c.cpu_model as cpu_model, k.age as age, c.cpu_ns / c.processes / 1e6 as ms
    from command as c join kernels as k on c.kernel = k.kernel
    where k.age <= 2 and c.processes > 0 and c.cpu_ns is not null
      and concat(',', coalesce(c.lower_bounds, ''), ',') not like '%,cpu_ns,%'
),
sides as (
    select command, cpu_model,
           count(*) filter (where age = 2) as jobs_before,
           count(*) filter (where age = 1) as jobs_after,
           median(ms) filter (where age = 2) as ms_before,
           median(ms) filter (where age = 1) as ms_after
    from each group by command, cpu_model
)
select command, cpu_model, jobs_before, jobs_after,
       round(ms_before, 3) as ms_before, round(ms_after, 3) as ms_after,
       round(100 * (ms_after / ms_before - 1), 1) as percent_slower
from sides
where jobs_before >= 20 and jobs_after >= 20 and ms_after > 1.05 * ms_before
order by ms_after / ms_before desc
limit 20
