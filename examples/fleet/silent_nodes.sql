-- Machines that sent jobs in the last 30 days, but none that began in the last day: is their recorder or export gone?
select host, count(*) as jobs, max(start) as last_job,
       count(*) filter (where state = 'cut off') as jobs_without_end
from job
where date >= today() - interval 30 day
group by host
having max(date) < today() - interval 1 day
order by last_job, host
limit 200
