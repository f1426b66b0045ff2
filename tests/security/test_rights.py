"""Who may do what: exactly the rights written here, tried for real by logins that have one role each."""

from __future__ import annotations

import pytest

from harness.databases import Database
from harness.world import ROLES, build, public_functions, statement
from security.support import DENIED, call, login, outcome

PRODUCER, WORKER, OPERATOR, READER = ROLES

# The letters of the roles that may call a function: producer, worker, operator, reader.
FUNCTIONS = {
    "fn_clock_now": "pwor",
    "fn_config_boolean": "pwor",
    "fn_config_integer": "pwor",
    "fn_config_readable": "pwor",
    "fn_config_set": "o",
    "fn_config_spec": "pwor",
    "fn_dead_letter_replay": "o",
    "fn_dead_letter_replay_many": "o",
    "fn_dead_letter_triage": "o",
    "fn_fence_assert": "wo",
    "fn_job_ack": "wo",
    "fn_job_cancel": "po",
    "fn_job_claim": "wo",
    "fn_job_claim_many": "wo",
    "fn_job_enqueue": "po",
    "fn_job_explain": "pwo",
    "fn_job_fail_or_retry": "wo",
    "fn_job_get": "pwo",
    "fn_job_heartbeat": "wo",
    "fn_job_list": "o",
    "fn_job_move_to_dead_letter": "o",
    "fn_job_release": "wo",
    "fn_job_reschedule": "o",
    "fn_job_start": "wo",
    "fn_job_timeline": "o",
    "fn_kind_get": "pwo",
    "fn_kind_pause": "o",
    "fn_kind_resume": "o",
    "fn_kind_set": "o",
    "fn_leader_acquire": "wo",
    "fn_payload_problem": "pwo",
    "fn_queue_fsck": "o",
    "fn_queue_heartbeat_tick": "wo",
    "fn_queue_maintain": "wo",
    "fn_queue_reap": "wo",
    "fn_queue_stale_check": "wor",
    "fn_worker_deregister": "wo",
    "fn_worker_register": "wo",
}
VIEWS = {
    "v_catalog": "pwor",
    "v_config": "wor",
    "v_config_audit": "o",
    "v_dead_letter_group": "o",
    "v_dead_letter_triage": "o",
    "v_error_code": "pwor",
    "v_job_dead_letter_summary": "or",
    "v_job_queue_backlog": "pwor",
    "v_job_recent": "pwor",
    "v_job_stuck": "wor",
    "v_kind": "pwor",
    "v_queue_health": "wor",
    "v_queue_status": "wor",
    "v_worker_fleet": "wor",
}
LETTERS = {PRODUCER: "p", WORKER: "w", OPERATOR: "o", READER: "r"}
TRIGGER = "suppress_redundant_updates_trigger()"
EACH_ROLE = pytest.mark.parametrize("role", [*ROLES, "nobody"])

_RELATIONS = """
select relname, relkind::text from pg_class
where relnamespace = 'dotq'::regnamespace and relkind in ('r', 'p', 'v', 'S')
order by 1
"""
# Every function that is not granted, with arguments of the right types, all null.
_UNGRANTED = """
select p.oid::regprocedure::text, format('select dotq.%%I(%%s)', p.proname, (
    select string_agg(format('null::%%s', format_type(a.type, null)), ', ' order by a.place)
    from unnest(p.proargtypes::oid[]) with ordinality as a (type, place)
))
from pg_proc as p
where p.pronamespace = 'dotq'::regnamespace and p.proname <> all (%s)
"""


def may(table: dict[str, str], name: str, role: str) -> bool:
    return LETTERS.get(role, "-") in table.get(name, "")


def members(role: str) -> tuple[str, ...]:
    return () if role == "nobody" else (role,)


@EACH_ROLE
def test_a_role_may_call_its_functions_and_no_others(db: Database, role: str) -> None:
    admin = db.connect()
    world = build(admin)
    functions = public_functions(admin)
    assert set(functions) == set(FUNCTIONS), "a public function is missing from the list of rights, or is gone"
    ungranted = admin.execute(_UNGRANTED, [list(FUNCTIONS)]).fetchall()
    assert len(ungranted) > 30
    with login(db, *members(role)) as conn:
        found = {name: outcome(conn, call(name, world.arguments(function))) for name, function in functions.items()}
        expected = {name: "ok" if may(FUNCTIONS, name, role) else DENIED for name in functions}
        assert found == expected
        called = {name: outcome(conn, query) for name, query in ungranted}
        assert {name: state for name, state in called.items() if state != DENIED} == {}


@EACH_ROLE
def test_a_role_may_read_its_views_and_touch_no_table(db: Database, role: str) -> None:
    admin = db.connect()
    build(admin)
    relations = admin.execute(_RELATIONS).fetchall()
    assert {name for name, kind in relations if kind == "v"} == set(VIEWS)
    assert len(relations) > len(VIEWS) + 5
    wrong = {}
    with login(db, *members(role)) as conn:
        for name, kind in relations:
            attempts = [f"table dotq.{name}"]
            if kind == "S":
                attempts += [f"select nextval('dotq.{name}')", f"select setval('dotq.{name}', 1)"]
                attempts += [f"select currval('dotq.{name}')"]
            else:
                attempts += [f"insert into dotq.{name} default values", f"delete from dotq.{name}"]
                attempts += [
                    f"lock table dotq.{name} in access exclusive mode",
                    f"table dotq.{name} for update",
                ]
                attempts += [f"copy dotq.{name} to stdout"] if kind != "v" else []
                attempts += [f"truncate dotq.{name}"] if kind != "v" else []
                column = admin.execute(
                    "select attname from pg_attribute where attrelid = %s::regclass and attnum = 2",
                    [f"dotq.{name}"],
                ).fetchone()
                assert column is not None
                attempts += [f'update dotq.{name} set "{column[0]}" = "{column[0]}"']
                attempts += [f'select "{column[0]}" from dotq.{name}'] if kind != "v" else []
            for attempt in attempts:
                expected = "ok" if attempt == f"table dotq.{name}" and may(VIEWS, name, role) else DENIED
                state = outcome(conn, attempt)
                # PostgreSQL refuses to lock or to change the rows of some views before it looks at rights.
                cannot = kind == "v" and state in {"0A000", "55000"} and attempt != f"table dotq.{name}"
                if state != expected and not cannot:
                    wrong[attempt] = state
    assert wrong == {}


@EACH_ROLE
def test_a_role_cannot_change_the_schema_or_become_another(db: Database, role: str) -> None:
    tricks = [
        "create table dotq.mine (n integer)",
        "create function dotq.mine() returns integer language sql as 'select 1'",
        "create or replace function dotq.fn_clock_now() returns timestamptz language sql as 'select now()'",
        "create type dotq.mine as (n integer)",
        "create operator dotq.=== (leftarg = text, rightarg = text, function = texteq)",
        "alter function dotq.fn_clock_now() owner to current_user",
        "alter function dotq.fn_job_enqueue security invoker",
        "alter function dotq.fn_job_enqueue set search_path = public",
        "alter function dotq.fn_job_enqueue reset all",
        "drop function dotq.fn_clock_now()",
        "comment on function dotq.fn_clock_now is 'mine'",
        "alter table dotq.job_queue disable trigger all",
        "alter table dotq.job_queue owner to current_user",
        "alter table dotq.job_queue add column mine integer",
        f"create trigger mine before insert on dotq.job_queue for each row execute function {TRIGGER}",
        "create rule mine as on insert to dotq.job_queue do instead nothing",
        "create policy mine on dotq.job_queue using (true)",
        "create index on dotq.job_queue (job_id)",
        "create statistics dotq.mine on job_id, state from dotq.job_queue",
        "alter view dotq.v_kind owner to current_user",
        "alter domain dotq.safe_json drop constraint job_queue_payload_safe_check",
        "alter sequence dotq.lease_token_seq restart",
        "alter schema dotq owner to current_user",
        "drop schema dotq cascade",
        "alter default privileges for role dotq_owner grant all on tables to public",
        "set role dotq_owner",
        "set local role dotq_owner",
        "select set_config('role', 'dotq_owner', false)",
        "set session authorization dotq_owner",
        "alter role dotq_owner login",
        "alter role current_user superuser",
        "set session_replication_role = replica",
        f"create event trigger mine on ddl_command_start execute function {TRIGGER}",
        "copy (select 1) to program 'true'",
        "select pg_read_file('PG_VERSION')",
        "do $$ begin perform set_config('role', 'dotq_owner', true); end $$",
        *(f"set role {other}" for other in ROLES if other != role),
        *(f"grant {other} to current_user" for other in (*ROLES, "dotq_owner") if other != role),
    ]
    with login(db, *members(role)) as conn:
        found = {trick: outcome(conn, trick) for trick in tricks}
        assert {trick: state for trick, state in found.items() if state != DENIED} == {}
        grants = [
            "grant select on dotq.job_queue to public",
            "grant execute on function dotq.fn_job_enqueue to public",
        ]
        for grant in grants:
            outcome(conn, grant)
            conn.execute("select 1")
    admin = db.connect()
    open_to_all = admin.execute(
        "select has_table_privilege('public', 'dotq.job_queue', 'select'), "
        "has_function_privilege('public', 'dotq.fn_job_enqueue'::regproc, 'execute')"
    ).fetchone()
    assert open_to_all == (False, False)


def test_a_reader_sees_no_payload_and_no_error_text_anywhere(db: Database) -> None:
    admin = db.connect()
    world = build(admin)
    admin.execute("analyze")
    functions = public_functions(admin)
    views = [name for name, kind in admin.execute(_RELATIONS).fetchall() if kind == "v"]

    def sweep(role: str) -> str:
        """Everything the role can make the database say."""
        said = []
        with login(db, role) as conn:
            conn.add_notice_handler(lambda diagnostic: said.append(str(diagnostic.message_primary)))
            conn.execute(
                "create function pg_temp.peek(p_row text) returns boolean language plpgsql cost 0.0000001 as "
                "$fn$ begin raise notice 'peek %', p_row; return true; end $fn$"
            )
            for name in (view for view in views if may(VIEWS, view, role)):
                said.append(str(conn.execute(f"table dotq.{name}".encode()).fetchall()))
                peek = f"select from dotq.{name} as t where pg_temp.peek(t::text)"
                conn.execute(peek.encode())
            for name, function in functions.items():
                if may(FUNCTIONS, name, role):
                    with conn.transaction(force_rollback=True):
                        said.append(str(conn.execute(statement(function), world.arguments(function)).fetchall()))
            said.append(str(conn.execute("select * from pg_stats where schemaname = 'dotq'").fetchall()))
            said.append(str(conn.execute("select * from pg_stat_activity where usename <> current_user").fetchall()))
        return "\n".join(said)

    seen = sweep(READER)
    assert "peek" in seen
    assert "mail" in seen, "the reader does see that there is work"
    assert "CANARY" not in seen
    for secret in ("CANARY payload", "CANARY error"):
        assert secret in sweep(OPERATOR), "the control: an operator does see it"
    columns = admin.execute(
        "select table_name, column_name from information_schema.columns where table_schema = 'dotq' "
        "and table_name = any (%s) and column_name "
        "~ '^(payload.*|result|.*_error|error_message|checkpoint|progress|metadata|.*_note)$'",
        [[view for view in views if may(VIEWS, view, READER)]],
    ).fetchall()
    assert columns == []


def test_nobody_is_a_member_of_the_owner_or_has_a_right_that_is_not_listed(db: Database) -> None:
    admin = db.connect()
    owner = admin.execute(
        "select rolsuper, rolcanlogin, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication "
        "from pg_roles where rolname = 'dotq_owner'"
    ).fetchone()
    assert owner == (False,) * 6
    bases = admin.execute(
        "select m.roleid::regrole::text from pg_auth_members as m where m.member = any (%s::regrole[])",
        [["dotq_owner", *ROLES]],
    ).fetchall()
    assert bases == [], "a role of dotq is a member of another role"
    acls = admin.execute(
        """
        select distinct coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC')
        from (
            select proacl as acl, proowner as owner from pg_proc where pronamespace = 'dotq'::regnamespace
            union all
            select relacl, relowner from pg_class where relnamespace = 'dotq'::regnamespace
            union all
            select nspacl, nspowner from pg_namespace where nspname = 'dotq'
        ) as o, aclexplode(o.acl) as a
        where a.grantee <> o.owner
        order by 1
        """
    ).fetchall()
    assert [row[0] for row in acls] == sorted(ROLES)
    grantable = admin.execute(
        "select count(*) from pg_proc, aclexplode(proacl) as a where pronamespace = 'dotq'::regnamespace "
        "and a.is_grantable and a.grantee <> proowner"
    ).fetchone()
    assert grantable == (0,)
