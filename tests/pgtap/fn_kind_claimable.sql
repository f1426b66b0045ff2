begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_claimable'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_claimable'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_claimable'::regproc), 's', 'it changes nothing');

delete from dotq.job_kind;
select is(dotq.fn_kind_claimable(null, '2030-01-01 12:00:00+00'), null, 'without kinds there is none to claim');
insert into dotq.job_kind (job_kind, registered_by, enabled, paused_at, paused_until)
values
    ('open', 'a', true, null, null),
    ('other', 'a', true, null, null),
    ('off', 'a', false, null, null),
    ('paused', 'a', true, '2030-01-01', null),
    ('later', 'a', true, '2030-01-01', '2030-01-01 12:00:01+00'),
    ('now', 'a', true, '2030-01-01', '2030-01-01 12:00:00+00'),
    ('earlier', 'a', true, '2030-01-01', '2030-01-01 11:59:59+00'),
    ('off_and_over', 'a', false, '2030-01-01', '2030-01-01 11:59:59+00');

create function pg_temp.claimable(p_allowed text[])
returns text[]
language sql
as $fn$
select array_agg(kind order by kind) from unnest(dotq.fn_kind_claimable(p_allowed, '2030-01-01 12:00:00+00')) as kind
$fn$;

select is(
    pg_temp.claimable(null),
    array['earlier', 'now', 'open', 'other'],
    'all but those disabled or paused; a pause is over at the very moment it names'
);
select is(pg_temp.claimable(array['open']), array['open'], 'only what is allowed');
select is(
    pg_temp.claimable(array['open', 'paused', 'off', 'later', 'unknown', 'now', 'open']),
    array['now', 'open'],
    'what is allowed must also be registered, enabled and not paused, and is named once'
);
select is(dotq.fn_kind_claimable(array['off', 'unknown'], '2030-01-01 12:00:00+00'), null, 'null when none of the allowed may be claimed');
select is(dotq.fn_kind_claimable('{}', '2030-01-01 12:00:00+00'), null, 'null when nothing is allowed');
select is(dotq.fn_kind_claimable(array['later'], '2030-01-01 12:00:01+00'), array['later'], 'the time is the one given');

select * from finish();
rollback;
