begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_backoff_delay'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_backoff_delay'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_backoff_delay'::regproc), 'v', 'it may answer differently each time');

insert into dotq.job_kind (job_kind, registered_by, backoff_strategy, backoff_base_sec, backoff_cap_sec, backoff_jitter)
values
    ('plain', 'a', 'exponential', null, null, 0),
    ('exponential', 'a', 'exponential', 3, null, 0),
    ('quadratic', 'a', 'quadratic', null, null, 0),
    ('quadratic2', 'a', 'quadratic', 2, null, 0),
    ('linear', 'a', 'linear', 7, null, 0),
    ('linear_plain', 'a', 'linear', null, null, 0),
    ('fixed', 'a', 'fixed', 30, null, 0),
    ('fixed_plain', 'a', 'fixed', null, null, 0),
    ('none', 'a', 'exponential', 0, null, 0),
    ('capped', 'a', 'exponential', 10, 40, 0),
    ('at_once', 'a', 'exponential', 10, 0, 0),
    ('huge', 'a', 'quadratic', 86400, null, 0),
    ('jitter', 'a', 'fixed', 100, null, 0.5),
    ('wild', 'a', 'fixed', 100, 120, 1);

create function pg_temp.delays(p_kind text, variadic p_attempts integer[])
returns integer[]
language sql
as $fn$
select array_agg(extract(epoch from dotq.fn_backoff_delay(p_kind, attempts))::integer order by ord)
from unnest(p_attempts) with ordinality as listed (attempts, ord)
$fn$;

select is(
    pg_temp.delays('plain', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1000),
    array[10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 10240, 10240],
    'a kind that says nothing waits 10 seconds and twice as long each time, up to 10240'
);
select is(pg_temp.delays('plain', 0, -1, null), array[10, 10, 10], 'no attempt yet counts as the first');
select is(pg_temp.delays('never registered', 1, 2, 11), array[10, 20, 10240], 'a kind that is not registered waits as one that says nothing');
select is(pg_temp.delays(null, 2), array[20], 'no kind waits as one that says nothing');
select is(pg_temp.delays('exponential', 1, 2, 3, 11, 12), array[3, 6, 12, 3072, 3072], 'exponential doubles the base of its kind, ten times');
select is(pg_temp.delays('quadratic', 1, 2, 3, 4), array[5, 20, 45, 80], 'quadratic is 5 seconds by the square of the attempts');
select is(pg_temp.delays('quadratic2', 1, 2, 3), array[2, 8, 18], 'quadratic takes the base of its kind');
select is(pg_temp.delays('linear', 0, 1, 2, 3, 100), array[7, 7, 14, 21, 700], 'linear is the base by the attempts');
select is(pg_temp.delays('linear_plain', 1, 3), array[10, 30], 'linear takes the configured base when its kind has none');
select is(pg_temp.delays('fixed', 1, 2, 99), array[30, 30, 30], 'fixed is the base, always');
select is(pg_temp.delays('fixed_plain', 5), array[10], 'fixed takes the configured base when its kind has none');
select is(pg_temp.delays('none', 1, 5), array[0, 0], 'a base of 0 means at once');
select is(pg_temp.delays('capped', 1, 2, 3, 4, 9), array[10, 20, 40, 40, 40], 'no delay is over the cap of its kind');
select is(pg_temp.delays('at_once', 5), array[0], 'a cap of 0 means at once');
select is(pg_temp.delays('huge', 5, 6, 1000), array[2160000, 2592000, 2592000], 'no delay is over 30 days');

update dotq.dot_config set value = '4' where key = 'queue.retry.backoff_base_sec';
select is(pg_temp.delays('plain', 1, 2), array[4, 8], 'the configured base counts at once');
select is(pg_temp.delays('quadratic', 1, 2), array[5, 20], 'the base of quadratic is not the configured one');

create temp table drawn as
select kind, extract(epoch from dotq.fn_backoff_delay(kind, 1)) as seconds
from unnest(array['jitter', 'wild']) as kind, generate_series(1, 400);

select is_empty($$select seconds from drawn where kind = 'jitter' and seconds not between 50 and 150$$, 'jitter stays within its share of the delay');
select ok((select bool_or(seconds < 75) and bool_or(seconds > 125) from drawn where kind = 'jitter'), 'jitter goes both ways');
select cmp_ok((select count(distinct seconds) from drawn where kind = 'jitter'), '>', 300::bigint, 'jitter spreads the retries');
select is_empty($$select seconds from drawn where kind = 'wild' and seconds not between 0 and 120$$, 'jitter never goes below 0 or over the cap');
select is((select max(seconds)::integer from drawn where kind = 'wild'), 120, 'the cap comes after the jitter');

select * from finish();
rollback;
