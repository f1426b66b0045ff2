-- attempts = 0 would shift by minus one, which overflows; it counts as the first attempt. A kind that is not registered has
-- no jitter and waits as configured for all kinds.
create or replace function dotq.fn_backoff_delay(p_job_kind text, p_attempts integer)
returns interval
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_kind dotq.job_kind;
    l_attempt bigint := greatest(p_attempts, 1);
    l_base bigint;
    l_delay numeric;
begin
    select * into l_kind from dotq.job_kind where job_kind = p_job_kind;
    l_base := coalesce(
        l_kind.backoff_base_sec,
        case when l_kind.backoff_strategy = 'quadratic' then 5 else dotq.fn_config_integer('queue.retry.backoff_base_sec') end
    );
    l_delay := case l_kind.backoff_strategy
        when 'fixed' then l_base
        when 'linear' then l_base * l_attempt
        when 'quadratic' then l_base * l_attempt * l_attempt
        else l_base * (1 << least(l_attempt - 1, 10)::integer)
    end;
    l_delay := l_delay * (1 + coalesce(l_kind.backoff_jitter, 0) * (random() * 2 - 1)::numeric);

    return make_interval(secs => least(l_delay, coalesce(l_kind.backoff_cap_sec, 2592000))::double precision);
end
$fn$;

comment on function dotq.fn_backoff_delay is
'How long a job of this kind waits after its nth attempt failed: exponential 10, 20, 40 … 10240 s by default, or as its kind says; never over 30 days.';
revoke all on function dotq.fn_backoff_delay from public;
