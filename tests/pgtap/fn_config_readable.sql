begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_config_readable'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader'],
    'every role may call it, and nobody else'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_config_readable'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_config_readable'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_config_readable('queue.claim.enabled', value), readable, promise)
from (
    values
        ('true', true, 'a switch may be true'),
        ('false', true, 'a switch may be false'),
        ('on', true, 'a switch may be on'),
        ('off', true, 'a switch may be off'),
        ('yes', true, 'a switch may be yes'),
        ('no', true, 'a switch may be no'),
        ('1', true, 'a switch may be 1'),
        ('0', true, 'a switch may be 0'),
        (' TRUE ', true, 'blanks and capitals do not matter to a switch'),
        ('maybe', false, 'a switch is never maybe'),
        ('t', false, 'a switch is spelled out'),
        ('2', false, 'a switch is no number'),
        ('', false, 'a switch is not empty'),
        (null, false, 'a switch is not null')
) as listed (value, readable, promise);
select is(dotq.fn_config_readable('queue.retry.max_attempts_default', value), readable, promise)
from (
    values
        ('0', false, 'one below the smallest number is refused'),
        ('1', true, 'the smallest number is taken'),
        ('2', true, 'a number in the range is taken'),
        ('1000', true, 'the largest number is taken'),
        ('1001', false, 'one above the largest number is refused'),
        (' 7 ', true, 'blanks around a number do not matter'),
        ('000000007', true, 'leading zeros do not matter'),
        ('0000000007', false, 'ten digits are no number of ours'),
        ('99999999999999999999', false, 'a number too large for an integer is refused, not an error'),
        ('-1', false, 'a negative number is refused'),
        ('+5', false, 'a number has no sign'),
        ('5.0', false, 'a number has no decimals'),
        ('5e1', false, 'a number has no exponent'),
        ('five', false, 'a word is no number'),
        (E'5\n', false, 'a line end is no blank'),
        ('true', false, 'a switch is no number'),
        ('', false, 'a number is not empty'),
        (null, false, 'a number is not null')
) as listed (value, readable, promise);
select is(dotq.fn_config_readable('queue.retry.backoff_base_sec', '0'), true, 'the range is that of the key: a backoff may be 0');
select is(dotq.fn_config_readable('queue.nonsense', 'true'), false, 'a key that is no setting can hold nothing');
select is(dotq.fn_config_readable(null, 'true'), false, 'no key can hold nothing');

select * from finish();
rollback;
