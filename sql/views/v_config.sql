drop view if exists dotq.v_config;
create view dotq.v_config as
select
    spec.key,
    config.value,
    case spec.value_type when 'boolean' then dotq.fn_config_boolean(spec.key)::text else dotq.fn_config_integer(spec.key)::text end as effective,
    spec.value_type,
    case spec.value_type when 'boolean' then 'true or false' else format('%s to %s', spec.minimum, spec.maximum) end as allowed,
    coalesce(dotq.fn_config_readable(spec.key, config.value), false) as readable,
    spec.key like '%.enabled' as is_gate,
    config.description,
    config.updated_at,
    config.updated_by
from dotq.fn_config_spec() as spec
left join dotq.dot_config as config on config.key = spec.key
order by spec.key;

comment on view dotq.v_config is 'Every gate and setting: the stored value, the one that counts, what is allowed, and who changed it last.';
grant select on dotq.v_config to dotq_worker, dotq_operator, dotq_reader;
