begin;
select plan(9);

select is(dotq.fn_text_line('a plain text'), 'a plain text', 'a plain text stays as it is');
select is(dotq.fn_text_line(null), null, 'null stays null');
select is(dotq.fn_text_line(''), '', 'an empty text stays empty');
select is(dotq.fn_text_line(E'a\nb\tc\rd\x01e\x7ff\x1fg'), 'a b c d e f g', 'every control character becomes a blank, so that a message has one line');
select is(dotq.fn_text_line('grün 漢 😀 ''"\'), 'grün 漢 😀 ''"\', 'letters of any language and quotes stay');
select is(dotq.fn_text_line(repeat('x', 300)), repeat('x', 300), 'three hundred characters are quoted in full');
select is(dotq.fn_text_line(repeat('x', 301)), repeat('x', 299) || '…', 'one more is cut, and the cut is marked');
select is(char_length(dotq.fn_text_line(repeat(E'\n', 1000000))), 300, 'a megabyte does not end up in a message');
select is(
    (select count(*) from unnest(array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader', 'public']) as role where has_function_privilege(role, 'dotq.fn_text_line(text)', 'execute')),
    0::bigint, 'nobody calls it from outside'
);

select * from finish();
rollback;
