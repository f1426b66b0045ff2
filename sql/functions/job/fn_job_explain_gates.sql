create or replace function dotq.fn_job_explain_gates(p_job dotq.job_queue)
returns table (rank integer, blocker text, detail text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
select 30 + gate.ord::integer, 'gate_closed', format('the gate %s is closed', gate.key), format('select dotq.fn_config_set(%L, ''true'', %L);', gate.key, session_user)
from unnest(array['queue.job_substrate.enabled', 'queue.claim.enabled']) with ordinality as gate (key, ord)
where not dotq.fn_config_boolean(gate.key)
union all
select 40, 'kind_disabled', format('jobs of the kind %s are not handed out', p_job.job_kind),
    format('select dotq.fn_kind_set(%L, ''{"enabled": true}'', %L);', p_job.job_kind, session_user)
from dotq.job_kind where job_kind = p_job.job_kind and not enabled
union all
select 41, 'kind_paused', concat_ws(', ', format('paused by %s at %s', paused_by, paused_at), 'until ' || paused_until, 'because: ' || pause_reason),
    format('select dotq.fn_kind_resume(%L, %L);', p_job.job_kind, session_user)
from dotq.job_kind where job_kind = p_job.job_kind and paused_at is not null and (paused_until is null or paused_until > dotq.fn_clock_now())
$fn$;

comment on function dotq.fn_job_explain_gates is 'Blockers that lie in gates and in the kind: closed, disabled, paused.';
revoke all on function dotq.fn_job_explain_gates from public;
