drop view if exists dotq.v_error_code;
create view dotq.v_error_code as
select code, name, meaning, remedy
from (
    values
        ('22023', 'invalid_argument', 'An argument is missing, malformed or out of range; the message names it.', 'Mend the argument; the hint says what is allowed.'),
        ('JQ001', 'gate_closed', 'A gate of dot_config is closed.', 'Open the gate, or wait until an operator does.'),
        ('JQ002', 'job_not_found', 'There is no job with this id.', 'Check the id; the job may be past its retention.'),
        ('JQ003', 'lease_lost', 'The lease is not current: the job was taken back after the lease ran out, was handed back, or has ended.', 'Drop the result; do not retry the call.'),
        ('JQ004', 'wrong_state', 'The job is in a state that does not allow this.', 'Look at the job with fn_job_get.'),
        ('JQ005', 'kind_unknown', 'The kind is not registered.', 'Register it with fn_kind_set, or turn queue.kind.strict off.'),
        ('JQ006', 'kind_disabled', 'The kind is disabled.', 'Enable it with fn_kind_set.'),
        ('JQ007', 'payload_invalid', 'The payload does not fit the schema of its kind.', 'Mend the payload; retrying does not help.'),
        ('JQ008', 'dead_letter_not_found', 'There is no dead letter with this id.', 'Check the id in v_dead_letter_triage.'),
        ('JQ009', 'replay_conflict', 'Another job holds the idempotency key of the dead letter.', 'Let that job end or cancel it, then replay; a kind that retains keys holds them while finished jobs are kept.'),
        ('JQ010', 'already_triaged', 'The dead letter is closed or was replayed.', 'Set it to acknowledged with fn_dead_letter_triage, then replay.'),
        ('JQ011', 'setting_unknown', 'There is no setting with this key.', 'v_config lists the keys.'),
        ('JQ012', 'migration_edited', 'A migration that was applied has been edited since.', 'Restore the file and write a new migration.'),
        ('JQ013', 'schema_newer', 'The database was migrated by a newer dotq.', 'Upgrade dotq.'),
        ('JQ014', 'install_refused', 'The database or the schema does not allow the installation; the message says why.', 'The hint has the statement that helps.')
) as listed (code, name, meaning, remedy);

comment on view dotq.v_error_code is 'Every SQLSTATE that dotq''s functions raise, what it means and what to do.';
grant select on dotq.v_error_code to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
