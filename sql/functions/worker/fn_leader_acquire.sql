-- One row per duty and a compare-and-set on it: the row lock makes two candidates take turns, and the second then sees the
-- first one's term. The clock is read after that lock. Renewing keeps the term; every change of hands, and every return
-- after the lease ran out, raises it.
create or replace function dotq.fn_leader_acquire(p_duty text, p_worker_id text, p_lease_seconds integer default 30)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_leader dotq.queue_leader;
    l_now timestamptz;
    l_won boolean := false;
begin
    perform dotq.fn_text_assert('duty', p_duty, 200);
    perform dotq.fn_worker_id_assert(p_worker_id);

    if p_lease_seconds is null or p_lease_seconds not between 1 and 86400 then
        raise exception 'lease_seconds: % is out of range', coalesce(p_lease_seconds::text, 'null')
            using errcode = '22023', hint = 'Allowed: 1 to 86400.';
    end if;

    insert into dotq.queue_leader (duty, worker_id, term, acquired_at, leader_until)
    values (p_duty, p_worker_id, 0, '-infinity', '-infinity')
    on conflict (duty) do nothing;

    select * into l_leader from dotq.queue_leader where duty = p_duty for update;
    l_now := dotq.fn_clock_now();

    if l_leader.leader_until <= l_now then
        l_won := true;
        l_leader.worker_id := p_worker_id;
        l_leader.term := l_leader.term + 1;
        l_leader.acquired_at := l_now;
    elsif l_leader.worker_id = p_worker_id then
        l_won := true;
    end if;

    if l_won then
        l_leader.leader_until := l_now + make_interval(secs => p_lease_seconds);

        update dotq.queue_leader
        set worker_id = l_leader.worker_id, term = l_leader.term,
            acquired_at = l_leader.acquired_at, leader_until = l_leader.leader_until
        where duty = p_duty;
    end if;

    return jsonb_build_object(
        'ok', true, 'duty', p_duty, 'is_leader', l_won, 'leader', l_leader.worker_id,
        'term', l_leader.term, 'leader_until', l_leader.leader_until
    );
end
$fn$;

comment on function dotq.fn_leader_acquire is
'Lead a duty, or go on leading it: {ok, duty, is_leader, leader, term, leader_until}. Two workers never lead in one term.
Raises 22023 (bad argument).';
revoke all on function dotq.fn_leader_acquire from public;
grant execute on function dotq.fn_leader_acquire to dotq_worker, dotq_operator;
