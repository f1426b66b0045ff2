begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_config_boolean'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader'],
    'every role may call it, and nobody else'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_config_boolean'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_config_boolean'::regproc), 's', 'it changes nothing');

create function pg_temp.stored(p_key text, p_value text)
returns boolean
language plpgsql
as $fn$
begin
    delete from dotq.dot_config where key = p_key;

    if p_value is not null then
        insert into dotq.dot_config (key, value) values (p_key, p_value);
    end if;

    return dotq.fn_config_boolean(p_key);
end
$fn$;

select is(dotq.fn_config_boolean('queue.job_substrate.enabled'), false, 'the master gate is closed after an install');
select is(dotq.fn_config_boolean('queue.claim.enabled'), true, 'the gate of claims is open after an install');
select is(pg_temp.stored('queue.claim.enabled', value), counts, promise)
from (
    values
        ('true', true, 'true opens'),
        ('false', false, 'false closes'),
        (' On ', true, 'on opens, whatever its letters and blanks'),
        ('yes', true, 'yes opens'),
        ('1', true, '1 opens'),
        ('TRUE', true, 'TRUE opens'),
        ('off', false, 'off closes'),
        ('no', false, 'no closes'),
        ('0', false, '0 closes'),
        ('FALSE', false, 'FALSE closes'),
        ('maybe', false, 'a gate with a value that cannot be read is closed'),
        ('', false, 'a gate with an empty value is closed'),
        (null, false, 'a gate without a value is closed')
) as listed (value, counts, promise);
select is(pg_temp.stored('queue.kind.strict', 'maybe'), true, 'the safe value is that of the key: strict when it cannot be read');
select is(pg_temp.stored('queue.kind.strict', null), true, 'strict when it is missing');
select is(pg_temp.stored('queue.kind.strict', 'off'), false, 'not strict when it says so');
select throws_ok(
    $$select dotq.fn_config_boolean('queue.nonsense')$$, 'JQ011', 'key: ''queue.nonsense'' is not a gate or switch', 'a misspelled gate is an error, never open'
);
select throws_ok(
    $$select dotq.fn_config_boolean('queue.lease.max_sec')$$, 'JQ011', 'key: ''queue.lease.max_sec'' is not a gate or switch', 'a number is no switch'
);
select throws_ok('select dotq.fn_config_boolean(null)', 'JQ011', 'key: null is not a gate or switch', 'no key is no switch');
set local role dotq_producer;
select is(dotq.fn_config_boolean('queue.claim.enabled'), false, 'a producer can read a gate without rights on the table');
reset role;

select * from finish();
rollback;
