begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_error_fingerprint'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_error_fingerprint'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_error_fingerprint'::regproc), 'i', 'it looks at nothing but its arguments');
select matches(dotq.fn_error_fingerprint('disk full'), '^[0-9a-f]{12}$', 'a fingerprint is twelve characters');
select is(dotq.fn_error_fingerprint(null), null, 'no error has no fingerprint');
select is(dotq.fn_error_fingerprint(one), dotq.fn_error_fingerprint(other), promise)
from (
    values
        ('timeout after 0 s', 'timeout after 1200 s', 'numbers do not tell errors apart'),
        ('took 2 s', 'took 12.05 s', 'decimals do not tell errors apart'),
        ('host 10.0.0.1 is down', 'host 192.168.17.4 is down', 'addresses do not tell errors apart'),
        ('object at 0x7f00aa', 'object at 0xdeadbeef', 'memory addresses do not tell errors apart'),
        (
            'row 00000000-0000-0000-0000-000000000000 is locked', 'row FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF is locked',
            'uuids do not tell errors apart, in any letter case'
        ),
        (
            'commit deadbeefdeadbeefdeadbeefdeadbeefdeadbeef', 'commit 95d09f2b10159347eece71399a7e2e907ea3df4f',
            'hashes do not tell errors apart'
        ),
        (
            'ffffffff-ffff-ffff-ffff-ffffffffffff and ffffffff-ffff-ffff-ffff-ffffffffffff', '12 and 13',
            'a second uuid does not tell errors apart'
        ),
        ('id 7f0c1', 'id 12', 'short ids that begin with a digit do not tell errors apart'),
        ('key deadbeefdeadbeef', 'key a0a0a0a0a0a0a0a00', 'sixteen digits of a hash are an id'),
        ('no file ''a.txt''', 'no file ''other name.csv''', 'what stands in single quotes does not tell errors apart'),
        ('no file "a.txt"', 'no file ""', 'what stands in double quotes does not tell errors apart'),
        (E'a\n\tb', 'a b', 'blanks and line ends do not tell errors apart'),
        ('Disk Full', 'disk full', 'capitals do not tell errors apart'),
        (
            'try 1: ' || repeat('word ', 1500), 'try 1000000: ' || repeat('word ', 1500),
            'a number does not tell long errors apart, however many digits it has'
        )
) as listed (one, other, promise);
select isnt(dotq.fn_error_fingerprint(one), dotq.fn_error_fingerprint(other), promise)
from (
    values
        ('disk full', 'disk gone', 'words tell errors apart'),
        ('commit facade', 'commit decade', 'short words of the letters a to f are words'),
        ('key deadbeefdeadbee', 'key facefacefacefac', 'fifteen letters may be a word'),
        ('it''s dead', 'it''s gone', 'one lone quote hides nothing'),
        ('a b', 'ab', 'whether there is a blank tells errors apart'),
        ('row 5', 'row', 'whether there is a number tells errors apart'),
        (repeat('x', 999) || 'y', repeat('x', 999) || 'z', 'the thousandth character still counts')
) as listed (one, other, promise);
select is(
    dotq.fn_error_fingerprint(repeat('x', 1000) || 'y'), dotq.fn_error_fingerprint(repeat('x', 1000) || 'z'), 'what follows the first thousand does not count'
);

select * from finish();
rollback;
