create or replace function dotq.fn_queue_fsck()
returns table (invariant text, subject text, detail text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
select 'a lease is held exactly by leased and in_progress jobs', job_id::text, format('state %s, lease_owner %s', state, lease_owner)
from dotq.job_queue
where (state in ('leased', 'in_progress')) <> (lease_owner is not null)
   or lease_owner is not null and (lease_until is null or lease_token is null or lease_seconds is null)
union all
select 'finished_at is set exactly on jobs that have ended', job_id::text, format('state %s, finished_at %s', state, finished_at)
from dotq.job_queue
where (state in ('succeeded', 'failed', 'dead_letter', 'cancelled', 'cleaned')) <> (finished_at is not null)
union all
select 'attempts never exceed max_attempts', job_id::text, format('attempts %s of %s', attempts, max_attempts)
from dotq.job_queue
where attempts > max_attempts
union all
select 'a waiting job has an attempt left', job_id::text, format('attempts %s of %s', attempts, max_attempts)
from dotq.job_queue
where state in ('queued', 'retry_waiting') and attempts >= max_attempts
union all
select 'an idempotency key has at most one active job', min(job_id::text), format('kind %s, key %s, %s jobs', job_kind, idempotency_key, count(*))
from dotq.job_queue
where state in ('queued', 'leased', 'in_progress', 'retry_waiting') and idempotency_key <> job_id::text
group by job_kind, idempotency_key
having count(*) > 1
union all
select 'every job that ended badly has its dead letter', q.job_id::text, format('state %s, no dead letter', q.state)
from dotq.job_queue as q
where q.state in ('failed', 'dead_letter')
  and not exists (select from dotq.job_dead_letter as d where d.job_id = q.job_id)
union all
select 'a dead letter belongs to a job that ended badly', d.dead_letter_id::text, format('job %s is %s', q.job_id, q.state)
from dotq.job_dead_letter as d
join dotq.job_queue as q on q.job_id = d.job_id
where q.state not in ('failed', 'dead_letter', 'cleaned')
union all
select 'a lease token is held once', min(job_id::text), format('token %s on %s jobs', lease_token, count(*))
from dotq.job_queue
where lease_owner is not null
group by lease_token
having count(*) > 1
union all
select 'no lease token is ahead of its sequence', job_id::text, format('token %s, sequence at %s', lease_token, pg_sequence_last_value('dotq.lease_token_seq'))
from dotq.job_queue
where lease_token > coalesce(pg_sequence_last_value('dotq.lease_token_seq'), 0)
union all
select 'every job has a registered kind', q.job_id::text, format('kind %s', q.job_kind)
from dotq.job_queue as q
where not exists (select from dotq.job_kind as k where k.job_kind = q.job_kind)
union all
select 'every setting can be read', spec.key, coalesce('value ' || quote_literal(config.value), 'missing')
from dotq.fn_config_spec() as spec
left join dotq.dot_config as config on config.key = spec.key
where not coalesce(dotq.fn_config_readable(spec.key, config.value), false)
$fn$;

comment on function dotq.fn_queue_fsck is 'Every invariant of the queue as a query: no rows means that it is sound. Reads the whole queue; run it when in doubt, not in a loop.';
revoke all on function dotq.fn_queue_fsck from public;
grant execute on function dotq.fn_queue_fsck to dotq_operator;
