begin;
select plan(58);

-- The substrate as migration 050 delivered it: names, columns, checks, indexes, triggers, settings and functions.
create function pg_temp.columns_of(p_table text)
returns table (place bigint, name text, base_type text, not_null boolean, fallback text)
language sql
as $fn$
select row_number() over (order by a.attnum), a.attname::text, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null), a.attnotnull,
    regexp_replace(pg_get_expr(d.adbin, d.adrelid), '::[a-z_. ]+$', '')
from pg_attribute as a
join pg_type as t on t.oid = a.atttypid
left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ('dotq.' || p_table)::regclass and a.attnum > 0 and not a.attisdropped
$fn$;

create function pg_temp.indexes_of(p_table text)
returns table (name text, definition text)
language sql
as $fn$
select i.indexrelid::regclass::text, replace(replace(pg_get_indexdef(i.indexrelid), 'dotq.', ''), '::text', '')
from pg_index as i
where i.indrelid = ('dotq.' || p_table)::regclass
$fn$;

-- A job or a dead letter as it should be, with one column made wrong.
create function pg_temp.put(p_table text, p_changes jsonb)
returns void
language plpgsql
as $fn$
declare
    l_row jsonb := case p_table
        when 'job_queue' then jsonb_build_object(
            'job_id', gen_random_uuid(), 'job_kind', 'mail', 'state', 'queued', 'payload_json', '{}'::jsonb, 'priority', 100, 'scheduled_at', now(),
            'attempts', 0, 'max_attempts', 5, 'idempotency_key', gen_random_uuid(), 'actor', 'ann', 'created_at', now(), 'updated_at', now(),
            'crash_count', 0, 'metadata', '{}'::jsonb, 'key_retained', false
        )
        when 'job_dead_letter' then jsonb_build_object(
            'dead_letter_id', gen_random_uuid(), 'job_id', gen_random_uuid(), 'job_kind', 'mail', 'payload_json', '{}'::jsonb, 'final_error', 'boom',
            'attempts', 1, 'actor', 'ann', 'idempotency_key', 'k', 'moved_at', now(), 'moved_by', 'bob', 'triage_status', 'pending', 'cause', 'moved',
            'error_fingerprint', 'f', 'priority', 100, 'max_attempts', 5, 'crash_count', 0, 'metadata', '{}'::jsonb, 'job_created_at', now()
        )
        else jsonb_build_object(
            'executor_name', 'e' || random(), 'executor_kind', 'DOT', 'last_tick_at', now(), 'last_tick_status', 'ok', 'ticks_total', 0,
            'metadata', '{}'::jsonb, 'created_at', now(), 'updated_at', now()
        )
    end || p_changes;
begin
    case p_table
        when 'job_queue' then insert into dotq.job_queue select * from jsonb_populate_record(null::dotq.job_queue, l_row);
        when 'job_dead_letter' then insert into dotq.job_dead_letter select * from jsonb_populate_record(null::dotq.job_dead_letter, l_row);
        else insert into dotq.queue_heartbeat select * from jsonb_populate_record(null::dotq.queue_heartbeat, l_row);
    end case;
end
$fn$;

-- The name of the constraint that refuses a row; null when it is taken.
create function pg_temp.refused_by(p_table text, p_changes jsonb)
returns text
language plpgsql
as $fn$
declare
    l_name text;
begin
    perform pg_temp.put(p_table, p_changes);
    return null;
exception
    when check_violation or not_null_violation or unique_violation then
        get stacked diagnostics l_name = constraint_name;
        return coalesce(nullif(l_name, ''), sqlstate);
end
$fn$;

-- After an install.
select is_empty($$select from dotq.job_queue$$, 'there is no job after an install');
select is_empty($$select from dotq.job_dead_letter$$, 'there is no dead letter after an install');
select is_empty($$select from dotq.queue_heartbeat$$, 'there is no executor after an install');
select results_eq(
    $$select key, value from dotq.dot_config
      where key in ('queue.job_substrate.enabled', 'queue.worker.enabled', 'queue.notify.enabled', 'queue.heartbeat.enabled',
          'queue.heartbeat.stale_threshold_seconds', 'queue.retry.max_attempts_default', 'queue.retry.backoff_base_sec', 'queue.lease.duration_sec')
      order by key$$,
    $$values
        ('queue.heartbeat.enabled', 'false'),
        ('queue.heartbeat.stale_threshold_seconds', '300'),
        ('queue.job_substrate.enabled', 'false'),
        ('queue.lease.duration_sec', '300'),
        ('queue.notify.enabled', 'false'),
        ('queue.retry.backoff_base_sec', '10'),
        ('queue.retry.max_attempts_default', '5'),
        ('queue.worker.enabled', 'false')$$,
    'the eight settings are there: four closed gates, four numbers'
);

-- Columns.
select results_eq(
    $$select name, base_type, not_null, fallback from pg_temp.columns_of('job_queue') where place between 2 and 21 order by place$$,
    $$values
        ('job_kind', 'text', true, null),
        ('state', 'text', true, '''queued'''),
        ('source_ref', 'text', false, null),
        ('target_ref', 'text', false, null),
        ('payload_ref', 'text', false, null),
        ('payload_json', 'jsonb', true, '''{}'''),
        ('priority', 'integer', true, '100'),
        ('scheduled_at', 'timestamp with time zone', true, 'now()'),
        ('picked_at', 'timestamp with time zone', false, null),
        ('finished_at', 'timestamp with time zone', false, null),
        ('lease_owner', 'text', false, null),
        ('lease_until', 'timestamp with time zone', false, null),
        ('attempts', 'integer', true, '0'),
        ('max_attempts', 'integer', true, '5'),
        ('idempotency_key', 'text', true, null),
        ('actor', 'text', true, null),
        ('run_id', 'uuid', false, null),
        ('last_error', 'text', false, null),
        ('created_at', 'timestamp with time zone', true, 'now()'),
        ('updated_at', 'timestamp with time zone', true, 'now()')$$,
    'job_queue has the columns of the substrate, in their order, with their types, defaults and nullability'
);
select results_eq(
    $$select name, base_type, not_null from pg_temp.columns_of('job_queue') where place = 1$$, $$values ('job_id', 'uuid', true)$$, 'job_id comes first'
);
insert into dotq.job_queue (job_kind, idempotency_key, actor) values ('mail', 'defaults', 'ann'), ('mail', 'defaults 2', 'ann');
select is((select count(distinct job_id) from dotq.job_queue), 2::bigint, 'and gives itself a value');
select is((select array_agg(distinct substr(job_id::text, 15, 1)) from dotq.job_queue), array['7'], 'of version 7');
select cmp_ok(
    (select abs(extract(epoch from clock_timestamp()) * 1000 - ('x' || lpad(replace(left(job_id::text, 13), '-', ''), 16, '0'))::bit(64)::bigint) from dotq.job_queue limit 1),
    '<', 600000::numeric, 'that begins with the time'
);
select results_eq(
    $$select name, base_type, not_null, fallback from pg_temp.columns_of('job_dead_letter') where place <= 18 order by place$$,
    $$values
        ('dead_letter_id', 'uuid', true, 'gen_random_uuid()'),
        ('job_id', 'uuid', true, null),
        ('job_kind', 'text', true, null),
        ('source_ref', 'text', false, null),
        ('target_ref', 'text', false, null),
        ('payload_ref', 'text', false, null),
        ('payload_json', 'jsonb', true, null),
        ('final_error', 'text', true, null),
        ('attempts', 'integer', true, null),
        ('actor', 'text', true, null),
        ('run_id', 'uuid', false, null),
        ('idempotency_key', 'text', true, null),
        ('moved_at', 'timestamp with time zone', true, 'now()'),
        ('moved_by', 'text', true, null),
        ('triage_status', 'text', true, '''pending'''),
        ('triage_note', 'text', false, null),
        ('triaged_at', 'timestamp with time zone', false, null),
        ('triaged_by', 'text', false, null)$$,
    'job_dead_letter has the columns of the substrate'
);
select results_eq(
    $$select name, base_type, not_null, fallback from pg_temp.columns_of('queue_heartbeat') order by place$$,
    $$values
        ('executor_name', 'text', true, null),
        ('executor_kind', 'text', true, null),
        ('last_tick_at', 'timestamp with time zone', true, 'now()'),
        ('last_tick_status', 'text', true, '''ok'''),
        ('ticks_total', 'bigint', true, '0'),
        ('current_job_id', 'uuid', false, null),
        ('lease_owner', 'text', false, null),
        ('metadata', 'jsonb', true, '''{}'''),
        ('created_at', 'timestamp with time zone', true, 'now()'),
        ('updated_at', 'timestamp with time zone', true, 'now()')$$,
    'queue_heartbeat has the columns of the substrate'
);
select results_eq(
    $$select conrelid::regclass::text, conname::text collate "default", pg_get_constraintdef(oid) from pg_constraint
      where contype = 'p' and conrelid in ('dotq.job_queue'::regclass, 'dotq.job_dead_letter'::regclass, 'dotq.queue_heartbeat'::regclass) order by 1$$,
    $$values
        ('job_dead_letter', 'job_dead_letter_pkey', 'PRIMARY KEY (dead_letter_id)'),
        ('job_queue', 'job_queue_pkey', 'PRIMARY KEY (job_id)'),
        ('queue_heartbeat', 'queue_heartbeat_pkey', 'PRIMARY KEY (executor_name)')$$,
    'each table has its primary key'
);
select is_empty(
    $$select from pg_constraint where contype = 'f' and conrelid in ('dotq.job_queue'::regclass, 'dotq.job_dead_letter'::regclass)$$,
    'a dead letter outlives its job: there is no foreign key'
);

-- Checks of job_queue.
select is(pg_temp.refused_by('job_queue', '{}'), null, 'a job as it should be is taken');
select is(pg_temp.refused_by('job_queue', '{"job_kind": " "}'), 'job_queue_job_kind_check', 'a blank kind is refused');
select is(pg_temp.refused_by('job_queue', '{"job_kind": null}'), '23502', 'a kind is required');
select results_eq(
    $$select pg_temp.refused_by('job_queue', jsonb_build_object('state', state) || case
            when state in ('leased', 'in_progress') then '{"lease_owner": "w", "lease_until": "2030-01-01"}'::jsonb
            when state in ('queued', 'retry_waiting') then '{}'
            else '{"finished_at": "2030-01-01"}'
        end)
      from unnest(array['queued', 'leased', 'in_progress', 'succeeded', 'failed', 'retry_waiting', 'dead_letter', 'cancelled', 'cleaned', 'running']) as state$$,
    $$values (null), (null), (null), (null), (null), (null), (null), (null), (null), ('job_queue_state_check')$$,
    'the nine states are taken, and no other'
);
select results_eq(
    $$select key from unnest(array['body', 'content', 'raw', 'vector', 'embedding', 'secret', 'token', 'password', 'ssn', 'personal_data', 'subject']) as key
      where pg_temp.refused_by('job_queue', jsonb_build_object('payload_json', jsonb_build_object(key, 1))) is distinct from 'job_queue_payload_safe_check'$$,
    $$values ('subject')$$,
    'the ten denied keys are refused in a payload, and no other'
);
select is(
    pg_temp.refused_by('job_queue', '{"payload_json": {"a": [{"b": {"PassWord ": 1}}]}}'), 'job_queue_payload_safe_check',
    'they are refused at any depth, in any letter case, with blanks around them'
);
select is(pg_temp.refused_by('job_queue', '{"payload_json": {"nobody": {"tokens": "secret"}}}'), null, 'words that only contain them are taken, and so are values');
select is(pg_temp.refused_by('job_queue', '{"attempts": -1}'), 'job_queue_attempts_check', 'attempts are not negative');
select is(pg_temp.refused_by('job_queue', '{"max_attempts": 0}'), 'job_queue_max_attempts_check', 'at least one attempt is allowed');
select is(pg_temp.refused_by('job_queue', '{"max_attempts": 1}'), null, 'one is enough');
select is(pg_temp.refused_by('job_queue', '{"priority": -1}'), 'job_queue_priority_check', 'a priority is not negative');
select is(pg_temp.refused_by('job_queue', '{"priority": 0}'), null, 'zero is a priority');
select is(pg_temp.refused_by('job_queue', '{"actor": " "}'), 'nonblank_text_check', 'a blank actor is refused');
select is(pg_temp.refused_by('job_queue', '{"scheduled_at": "infinity"}'), 'finite_time_check', 'a job is due at a finite time');
select is(
    pg_temp.refused_by('job_queue', '{"state": "leased", "lease_owner": "w"}'), 'job_queue_lease_and_finish_check', 'a lease with an owner has an end'
);
select is(
    pg_temp.refused_by('job_queue', '{"state": "leased", "lease_until": "2030-01-01"}'), 'job_queue_lease_and_finish_check', 'a lease with an end has an owner'
);
select is(pg_temp.refused_by('job_queue', '{"state": "leased"}'), 'job_queue_lease_and_finish_check', 'a leased job has a lease');
select is(
    pg_temp.refused_by('job_queue', '{"lease_owner": "w", "lease_until": "2030-01-01"}'), 'job_queue_lease_and_finish_check', 'a waiting job has none'
);
select results_eq(
    $$select pg_temp.refused_by('job_queue', jsonb_build_object('state', state)) from unnest(array['succeeded', 'failed', 'dead_letter', 'cancelled', 'cleaned']) as state$$,
    $$select 'job_queue_lease_and_finish_check' from generate_series(1, 5)$$,
    'a job that has ended says when'
);
select is(pg_temp.refused_by('job_queue', '{"finished_at": "2030-01-01"}'), 'job_queue_lease_and_finish_check', 'a job that has not ended does not');

-- Checks of job_dead_letter and queue_heartbeat.
select is(pg_temp.refused_by('job_dead_letter', '{}'), null, 'a dead letter as it should be is taken');
select is(pg_temp.refused_by('job_dead_letter', '{"final_error": " "}'), 'nonblank_text_check', 'a dead letter says what went wrong');
select is(pg_temp.refused_by('job_dead_letter', '{"moved_by": ""}'), 'nonblank_text_check', 'and who moved it');
select is(pg_temp.refused_by('job_dead_letter', '{"attempts": -1}'), 'job_queue_attempts_check', 'its attempts are not negative');
select is(pg_temp.refused_by('job_dead_letter', '{"payload_json": {"x": {"Raw": 1}}}'), 'job_queue_payload_safe_check', 'its payload has no denied key');
select results_eq(
    $$select pg_temp.refused_by('job_dead_letter', jsonb_build_object('triage_status', status))
      from unnest(array['pending', 'acknowledged', 'manual_replay', 'escalated', 'closed', 'done']) as status$$,
    $$values (null), (null), (null), (null), (null), ('job_dead_letter_triage_status_check')$$,
    'the five triage states are taken, and no other'
);
select results_eq(
    $$select pg_temp.refused_by('queue_heartbeat', jsonb_build_object('executor_kind', kind))
      from unnest(array['DOT', 'Agent', 'Hermes', 'Codex', 'PG_worker', 'external_worker', 'future_Kestra_adapter', 'dot']) as kind$$,
    $$values (null), (null), (null), (null), (null), (null), (null), ('queue_heartbeat_executor_kind_check')$$,
    'the seven kinds of executors are taken, and no other'
);
select results_eq(
    $$select pg_temp.refused_by('queue_heartbeat', jsonb_build_object('last_tick_status', status)) from unnest(array['ok', 'warn', 'error', 'fine']) as status$$,
    $$values (null), (null), (null), ('queue_heartbeat_last_tick_status_check')$$,
    'the three tick states are taken, and no other'
);
select is(pg_temp.refused_by('queue_heartbeat', '{"executor_name": " "}'), 'nonblank_text_check', 'an executor has a name');
select is(pg_temp.refused_by('queue_heartbeat', '{"metadata": {"Token": 1}}'), 'job_queue_payload_safe_check', 'its metadata has no denied key');

-- Indexes.
select results_eq(
    $$select * from pg_temp.indexes_of('job_queue')
      where name in ('job_queue_idempotency_active_uq', 'job_queue_state_scheduled_idx', 'job_queue_lease_until_idx', 'job_queue_job_kind_state_idx', 'job_queue_created_at_idx')
      order by name$$,
    $$values
        ('job_queue_created_at_idx', 'CREATE INDEX job_queue_created_at_idx ON job_queue USING btree (created_at DESC)'),
        ('job_queue_idempotency_active_uq', 'CREATE UNIQUE INDEX job_queue_idempotency_active_uq ON job_queue USING btree (job_kind, idempotency_key)'
            || ' WHERE (((state) = ANY (ARRAY[''queued'', ''leased'', ''in_progress'', ''retry_waiting''])) AND (idempotency_key <> (job_id)))'),
        ('job_queue_job_kind_state_idx', 'CREATE INDEX job_queue_job_kind_state_idx ON job_queue USING btree (job_kind, state)'),
        ('job_queue_lease_until_idx', 'CREATE INDEX job_queue_lease_until_idx ON job_queue USING btree (lease_until)'
            || ' WHERE ((state) = ANY (ARRAY[''leased'', ''in_progress'']))'),
        ('job_queue_state_scheduled_idx', 'CREATE INDEX job_queue_state_scheduled_idx ON job_queue USING btree (priority, scheduled_at, job_id)'
            || ' WHERE ((state) = ANY (ARRAY[''queued'', ''retry_waiting'']))')$$,
    'job_queue has an index for keys, for the claim, for the reaper, for the views and for retention'
);
select is(pg_temp.refused_by('job_queue', '{"idempotency_key": "defaults"}'), 'job_queue_idempotency_active_uq', 'an active key of a kind is taken');
select is(
    pg_temp.refused_by('job_queue', '{"idempotency_key": "defaults", "state": "retry_waiting"}'), 'job_queue_idempotency_active_uq', 'in every active state'
);
select is(pg_temp.refused_by('job_queue', '{"idempotency_key": "defaults", "state": "cleaned", "finished_at": "2030-01-01"}'), null, 'a finished one is free');
select is(pg_temp.refused_by('job_queue', '{"idempotency_key": "defaults", "job_kind": "sms"}'), null, 'and so is that of another kind');
select results_eq(
    $$select * from pg_temp.indexes_of('job_dead_letter') where name <> 'job_dead_letter_pkey' order by name$$,
    $$values
        ('job_dead_letter_fingerprint_idx', 'CREATE INDEX job_dead_letter_fingerprint_idx ON job_dead_letter USING btree (job_kind, error_fingerprint, moved_at DESC)'),
        ('job_dead_letter_job_id_uq', 'CREATE UNIQUE INDEX job_dead_letter_job_id_uq ON job_dead_letter USING btree (job_id)'),
        ('job_dead_letter_triage_idx', 'CREATE INDEX job_dead_letter_triage_idx ON job_dead_letter USING btree (triage_status, moved_at DESC)')$$,
    'job_dead_letter has three: one letter per job, letters by triage, letters by error'
);
select results_eq(
    $$select * from pg_temp.indexes_of('queue_heartbeat') where name <> 'queue_heartbeat_pkey'$$,
    $$values ('queue_heartbeat_last_tick_idx', 'CREATE INDEX queue_heartbeat_last_tick_idx ON queue_heartbeat USING btree (last_tick_at)')$$,
    'queue_heartbeat has one, by time'
);

-- Triggers.
select results_eq(
    $$select tgname::text collate "default", tgrelid::regclass::text, tgfoid::regproc::text, pg_get_triggerdef(oid) like '%BEFORE UPDATE ON%FOR EACH ROW%', tgenabled::text
      from pg_trigger where not tgisinternal and tgrelid in ('dotq.job_queue'::regclass, 'dotq.queue_heartbeat'::regclass) order by 1$$,
    $$values
        ('tr_job_queue_updated_at', 'job_queue', 'fn_job_queue_updated_at', true, 'O'),
        ('tr_queue_heartbeat_updated_at', 'queue_heartbeat', 'fn_job_queue_updated_at', true, 'O')$$,
    'two triggers keep updated_at fresh, before an update, by the same function'
);
update dotq.job_queue set updated_at = '2000-01-01 00:00:00+00' where idempotency_key = 'defaults 2';
update dotq.job_queue set last_error = 'by hand' where idempotency_key = 'defaults 2';
select cmp_ok(
    (select updated_at from dotq.job_queue where idempotency_key = 'defaults 2'), '>=', now(), 'an update by hand refreshes updated_at of a job'
);
update dotq.queue_heartbeat set updated_at = '2000-01-01 00:00:00+00';
update dotq.queue_heartbeat set ticks_total = 1;
select cmp_ok((select min(updated_at) from dotq.queue_heartbeat), '>=', now(), 'and of an executor');

-- Functions.
select results_eq(
    $$select proname::text collate "default", pronargs::integer, prosecdef, provolatile::text, prorettype::regtype::text from pg_proc
      where pronamespace = 'dotq'::regnamespace
        and proname in ('fn_job_enqueue', 'fn_job_claim', 'fn_job_ack', 'fn_job_move_to_dead_letter', 'fn_job_fail_or_retry', 'fn_queue_heartbeat_tick',
            'fn_queue_stale_check', 'fn_job_queue_updated_at')
      order by proname$$,
    $$values
        ('fn_job_ack', 3, true, 'v', 'jsonb'),
        ('fn_job_claim', 3, true, 'v', 'jsonb'),
        ('fn_job_enqueue', 11, true, 'v', 'jsonb'),
        ('fn_job_fail_or_retry', 4, true, 'v', 'jsonb'),
        ('fn_job_move_to_dead_letter', 3, true, 'v', 'jsonb'),
        ('fn_job_queue_updated_at', 0, false, 'v', 'trigger'),
        ('fn_queue_heartbeat_tick', 6, true, 'v', 'jsonb'),
        ('fn_queue_stale_check', 1, false, 's', 'jsonb')$$,
    'the eight functions are there once each, with their arity, rights and result'
);
select results_eq(
    $$select proname::text collate "default", pg_get_function_identity_arguments(oid) from pg_proc
      where oid in ('dotq.fn_job_enqueue'::regproc, 'dotq.fn_job_claim'::regproc, 'dotq.fn_job_ack'::regproc, 'dotq.fn_job_move_to_dead_letter'::regproc,
          'dotq.fn_job_fail_or_retry'::regproc, 'dotq.fn_queue_heartbeat_tick'::regproc, 'dotq.fn_queue_stale_check'::regproc)
      order by proname$$,
    $$values
        ('fn_job_ack', 'p_job_id uuid, p_lease text, p_result jsonb'),
        ('fn_job_claim', 'p_worker_id text, p_lease_seconds integer, p_allowed_kinds text[]'),
        ('fn_job_enqueue', 'p_job_kind text, p_actor text, p_idempotency_key text, p_payload_json jsonb, p_source_ref text, p_target_ref text,'
            || ' p_payload_ref text, p_priority integer, p_scheduled_at timestamp with time zone, p_max_attempts integer, p_run_id uuid'),
        ('fn_job_fail_or_retry', 'p_job_id uuid, p_lease text, p_error text, p_retryable boolean'),
        ('fn_job_move_to_dead_letter', 'p_job_id uuid, p_final_error text, p_moved_by text'),
        ('fn_queue_heartbeat_tick', 'p_executor_name text, p_executor_kind text, p_status text, p_current_job_id uuid, p_lease_owner text, p_metadata jsonb'),
        ('fn_queue_stale_check', 'p_threshold_seconds integer')$$,
    'their arguments have the agreed names, types and order'
);

-- Views.
select results_eq(
    $$select name from pg_temp.columns_of('v_queue_health') where place <= 25 order by place$$,
    $$values ('executor_name'), ('executor_kind'), ('last_tick_at'), ('last_tick_status'), ('seconds_since_tick'), ('freshness'), ('ticks_total'),
        ('current_job_id'), ('lease_owner'), ('queued_count'), ('leased_count'), ('in_progress_count'), ('succeeded_count'), ('failed_count'),
        ('retry_waiting_count'), ('dead_letter_count'), ('cancelled_count'), ('cleaned_count'), ('dead_letter_pending_count'),
        ('dead_letter_open_count'), ('stale_threshold_seconds'), ('gate_job_substrate'), ('gate_worker'), ('gate_notify'), ('gate_heartbeat')$$,
    'the first 25 columns of v_queue_health are the contract'
);
select results_eq(
    $$select name from pg_temp.columns_of('v_job_queue_backlog') where place <= 8 order by place$$,
    $$values ('job_kind'), ('state'), ('row_count'), ('oldest_created_at'), ('newest_created_at'), ('next_scheduled_at'), ('avg_attempts'), ('max_attempts')$$,
    'v_job_queue_backlog sums up by kind and state'
);
select results_eq(
    $$select name from pg_temp.columns_of('v_job_dead_letter_summary') where place <= 3 order by place$$,
    $$values ('job_kind'), ('triage_status'), ('row_count')$$,
    'v_job_dead_letter_summary sums up by kind and triage state'
);

select * from finish();
rollback;
