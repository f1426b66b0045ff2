-- The one place that reads the clock, so that a test can stop it inside its own transaction. The wall clock, not now():
-- a lease granted after a lock wait must not be born expired.
create or replace function dotq.fn_clock_now()
returns timestamptz
language sql
volatile
set search_path = pg_catalog, pg_temp
as $fn$
select clock_timestamp()
$fn$;

comment on function dotq.fn_clock_now is 'The time by which the queue decides: the server''s clock, moving inside a transaction.';
revoke all on function dotq.fn_clock_now from public;
grant execute on function dotq.fn_clock_now to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
