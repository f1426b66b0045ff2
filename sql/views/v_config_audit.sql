drop view if exists dotq.v_config_audit;
create view dotq.v_config_audit as
select audit_id, changed_at, key, old_value, new_value, changed_by, login
from dotq.dot_config_audit
order by audit_id desc;

comment on view dotq.v_config_audit is 'Who changed which gate, setting or kind, newest first; a kind appears as kind:<name>, a rescheduled job as job:<id>.';
grant select on dotq.v_config_audit to dotq_operator;
