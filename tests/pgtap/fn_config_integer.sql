begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_config_integer'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader'],
    'every role may call it, and nobody else'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_config_integer'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_config_integer'::regproc), 's', 'it changes nothing');

create function pg_temp.stored(p_key text, p_value text)
returns integer
language plpgsql
as $fn$
begin
    delete from dotq.dot_config where key = p_key;

    if p_value is not null then
        insert into dotq.dot_config (key, value) values (p_key, p_value);
    end if;

    return dotq.fn_config_integer(p_key);
end
$fn$;

select is(dotq.fn_config_integer('queue.lease.duration_sec'), 300, 'a lease lasts 300 seconds after an install');
select is(pg_temp.stored('queue.retry.max_attempts_default', value), counts, promise)
from (
    values
        ('7', 7, 'a stored number counts'),
        (' 07 ', 7, 'blanks and leading zeros do not matter'),
        ('1', 1, 'the smallest number counts'),
        ('1000', 1000, 'the largest number counts'),
        ('0', 5, 'below the range the safe value counts'),
        ('1001', 5, 'above the range the safe value counts'),
        ('many', 5, 'the safe value counts for what is no number'),
        ('-3', 5, 'the safe value counts for a negative number'),
        ('', 5, 'the safe value counts for an empty one'),
        (null, 5, 'the safe value counts for a missing one')
) as listed (value, counts, promise);
select is(pg_temp.stored('queue.lease.max_sec', 'x'), 86400, 'the safe value is that of the key');
select throws_ok(
    $$select dotq.fn_config_integer('queue.nonsense')$$, 'JQ011', 'key: ''queue.nonsense'' is not a number among the settings', 'a misspelled key is an error'
);
select throws_ok(
    $$select dotq.fn_config_integer('queue.claim.enabled')$$,
    'JQ011', 'key: ''queue.claim.enabled'' is not a number among the settings', 'a switch is no number'
);
select throws_ok('select dotq.fn_config_integer(null)', 'JQ011', 'key: null is not a number among the settings', 'no key is no number');
set local role dotq_reader;
select is(dotq.fn_config_integer('queue.retry.max_attempts_default'), 5, 'a reader can read a number without rights on the table');
reset role;

select * from finish();
rollback;
