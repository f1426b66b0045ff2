drop view if exists dotq.v_dead_letter_triage;
create view dotq.v_dead_letter_triage as
select
    letter.dead_letter_id,
    letter.job_id,
    letter.job_kind::text as task_type,
    kind.owner_agent as agent_name,
    letter.triage_status,
    letter.cause,
    letter.final_error::text as error_message,
    letter.error_fingerprint,
    letter.payload_json::jsonb as payload,
    letter.payload_ref,
    letter.source_ref,
    letter.target_ref,
    letter.attempts::integer,
    letter.max_attempts::integer,
    letter.crash_count::integer,
    letter.idempotency_key,
    letter.actor::text,
    letter.run_id,
    letter.workflow_id,
    letter.job_created_at,
    letter.moved_at,
    letter.moved_by::text,
    letter.triage_note,
    letter.triaged_at,
    letter.triaged_by,
    letter.replayed_as
from dotq.job_dead_letter as letter
left join dotq.job_kind as kind on kind.job_kind = letter.job_kind
order by letter.moved_at desc;

comment on view dotq.v_dead_letter_triage is 'The triage desk: every dead letter with its error, agent, task type, payload and attempts, newest first.';
grant select on dotq.v_dead_letter_triage to dotq_operator;
