"""A fresh install: the same by driver and by psql, under any schema name, safe to repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from dotq._migrate import MigrationError, migrate, plan, render, status
from dotq._sqlfiles import SchemaNameError, quote_name
from harness.backends import Backend
from harness.databases import Database
from migrate.support import Tree, catalogue, psql

ONE_TRANSACTION = ("-v", "ON_ERROR_STOP=1", "-1")
SCHEMAS = ["public", "jobs", "order", "My Schema", "größe", "a" * 63]


def test_driver_and_psql_make_the_same_database(server: Backend, empty_db: Database) -> None:
    connection = empty_db.connect()
    migrate(connection)
    by_driver = catalogue(connection)
    connection.execute("drop schema dotq cascade")
    connection.execute("alter default privileges for role dotq_owner grant execute on functions to public")
    done = psql(server, empty_db.dsn, render(), *ONE_TRANSACTION)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    by_psql = catalogue(connection)
    assert by_psql == by_driver
    assert len([name for name in by_psql if name.startswith("function fn_")]) > 50
    assert "rows dot_config" in by_psql


def test_the_file_is_the_same_every_time_and_whole(tree: Tree) -> None:
    assert render() == render()
    assert all(chunk.sql in render() for chunk in plan())
    assert "psql -v ON_ERROR_STOP=1 -1" in render().split("\n\n")[0]


def test_a_second_run_changes_nothing(server: Backend, empty_db: Database) -> None:
    connection = empty_db.connect()
    first = migrate(connection)
    assert [migration.version for migration in first.applied] == list(range(1, len(first.applied) + 1))
    before = catalogue(connection)
    marks = "select xmin::text, ctid::text, applied_at::text from dotq.{}"
    tables = [sql.SQL(marks).format(sql.Identifier(name)) for name in ("schema_migration", "schema_release")]
    rows = [connection.execute(query).fetchall() for query in tables]
    second = migrate(connection)
    assert (second.applied, second.unchanged) == ((), len(first.applied))
    assert psql(server, empty_db.dsn, render(), *ONE_TRANSACTION).returncode == 0
    assert catalogue(connection) == before
    assert [connection.execute(query).fetchall() for query in tables] == rows


@pytest.mark.parametrize("schema", SCHEMAS)
def test_any_schema_name_gives_the_same_objects(server: Backend, empty_db: Database, schema: str) -> None:
    connection = empty_db.connect()
    migrate(connection)
    usual = catalogue(connection)
    migrate(connection, schema=schema)
    assert catalogue(connection) == usual, "a second install beside it changed the first"
    other = catalogue(connection, schema)
    if schema == "public":
        # The schema is not ours: its owner and its other users keep what they have.
        assert "=U/" in other.pop("schema ")
        usual.pop("schema ")
    assert other == usual
    done = psql(server, empty_db.dsn, render(schema), *ONE_TRANSACTION)
    assert (done.returncode, done.stderr) == (0, "")
    if schema == "public":
        assert catalogue(connection, schema) == other | {"schema ": catalogue(connection, schema)["schema "]}
    else:
        assert catalogue(connection, schema) == other


def test_installed_under_another_name_nothing_reaches_for_the_usual_one(empty_db: Database) -> None:
    connection = empty_db.connect()
    migrate(connection, schema="My Schema")
    row = connection.execute("select to_regnamespace('dotq')").fetchone()
    assert row == (None,)
    bodies = connection.execute(
        "select proname, prosrc from pg_proc where pronamespace = '\"My Schema\"'::regnamespace"
    ).fetchall()
    assert [name for name, body in bodies if re.search(r"\bdotq\.", body)] == []
    assert connection.execute("select \"My Schema\".fn_config_boolean('queue.claim.enabled')").fetchone()


@pytest.mark.parametrize(
    "schema",
    ["", "  ", "pg_catalog", "pg_jobs", "information_schema", "a" * 64, "ü" * 32]
    + [f"a{character}b" for character in "'\"\\%$\n\0"],
)
def test_names_that_cannot_hold_an_install_are_refused(schema: str) -> None:
    with pytest.raises(SchemaNameError, match="cannot be used"):
        render(schema)


def test_every_word_that_needs_quotes_gets_them(empty_db: Database) -> None:
    words = empty_db.connect().execute("select word, quote_ident(word) from pg_get_keywords()").fetchall()
    assert [word for word, quoted in words if quoted != word and quote_name(word) == word] == []


@pytest.mark.parametrize("options", [(), ("-v", "ON_ERROR_STOP=1")])
def test_outside_one_transaction_the_file_changes_nothing(
    server: Backend, empty_db: Database, options: tuple[str, ...]
) -> None:
    connection = empty_db.connect()
    done = psql(server, empty_db.dsn, render(), *options)
    assert "dotq must be installed in one transaction; nothing was changed" in done.stderr
    assert "psql -v ON_ERROR_STOP=1 -1" in done.stderr
    assert connection.execute("select to_regnamespace('dotq')").fetchone() == (None,)


def test_outside_one_transaction_an_existing_install_is_left_alone(
    server: Backend, empty_db: Database, tree: Tree
) -> None:
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    before = catalogue(connection)
    tree.function("fn_book_count", "select 42::bigint")
    tree.write("migrations/0002_shelf.sql", "create table dotq.shelf (room text);")
    done = psql(server, empty_db.dsn, render(root=tree.root))
    assert "nothing was changed" in done.stderr
    assert catalogue(connection) == before


def test_any_client_may_send_the_file_as_one_query(empty_db: Database) -> None:
    connection = empty_db.connect()
    connection.execute(render().encode())
    by_query = catalogue(connection)
    connection.execute("drop schema dotq cascade")
    migrate(connection)
    assert catalogue(connection) == by_query


def test_the_file_takes_part_in_a_transaction_that_is_rolled_back(empty_db: Database) -> None:
    connection = empty_db.connect()
    with connection.transaction(force_rollback=True):
        connection.execute(render().encode())
        assert connection.execute("select count(*) > 0 from dotq.dot_config").fetchone() == (True,)
    assert connection.execute("select to_regnamespace('dotq')").fetchone() == (None,)
    settings = connection.execute("select current_user = session_user, current_setting('lock_timeout')").fetchone()
    assert settings == (True, "0")


def test_an_older_server_is_refused(server: Backend, empty_db: Database) -> None:
    raised_bar = render().replace("::integer < 150000", "::integer < 990000")
    done = psql(server, empty_db.dsn, raised_bar, *ONE_TRANSACTION)
    assert done.returncode == 3
    assert "dotq needs PostgreSQL 15 or later; this is" in done.stderr


def test_settings_of_the_session_do_not_change_the_result(empty_db: Database, tree: Tree) -> None:
    tree.write(
        "migrations/0002_dates.sql",
        "create table dotq.loan (since timestamptz default '2024-02-01', day date default '04/02/01',"
        " path text default 'a\\b', mark text default 'ü');\n"
        "create view dotq.loan_text as select timestamptz '2024-02-01 00:00' as since;\n",
    )
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    usual = catalogue(connection)
    connection.execute("drop schema dotq cascade")
    odd = empty_db.connect(
        options="-c search_path=nowhere -c standard_conforming_strings=off -c timezone=Asia/Tokyo"
        " -c datestyle=German -c intervalstyle=iso_8601 -c quote_all_identifiers=on -c client_encoding=LATIN1"
        " -c default_transaction_isolation=serializable -c default_transaction_read_only=on"
    )
    migrate(odd, root=tree.root)
    assert catalogue(connection) == usual
    shown = odd.execute("select current_setting('datestyle'), current_setting('transaction_isolation')").fetchone()
    assert shown == ("German, DMY", "serializable")


def test_everything_belongs_to_the_owner_and_nothing_to_everybody(empty_db: Database) -> None:
    connection = empty_db.connect()
    migrate(connection)
    strangers = connection.execute(
        """
        select name
        from (
            select relname, relnamespace, relowner from pg_class
            union all
            select proname, pronamespace, proowner from pg_proc
            union all
            select typname, typnamespace, typowner from pg_type
            union all
            select nspname, oid, nspowner from pg_namespace
        ) as object (name, home, owner)
        where home = 'dotq'::regnamespace and owner <> 'dotq_owner'::regrole
        """
    ).fetchall()
    assert strangers == []
    for role in ("dotq_producer", "dotq_worker", "dotq_operator", "dotq_reader"):
        rights = connection.execute(
            """
            select has_schema_privilege(%(role)s, 'dotq', 'USAGE'),
                has_schema_privilege(%(role)s, 'dotq', 'CREATE'),
                has_table_privilege(%(role)s, 'dotq.schema_migration', 'SELECT'),
                has_table_privilege(%(role)s, 'dotq.schema_release', 'SELECT')
            """,
            {"role": role},
        ).fetchone()
        assert rights == (True, False, False, False)
    everybody = connection.execute(
        """
        select has_schema_privilege('public', 'dotq', 'USAGE'),
            exists (
                select from pg_proc as p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
                where p.pronamespace = 'dotq'::regnamespace and a.grantee = 0
            )
        """
    ).fetchone()
    assert everybody == (False, False)


def test_rights_that_everybody_was_given_on_our_schema_are_taken_back(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    connection.execute("grant usage on schema dotq to public")
    migrate(connection, root=tree.root)
    assert connection.execute("select has_schema_privilege('public', 'dotq', 'USAGE')").fetchone() == (False,)


def test_a_function_that_forgets_to_revoke_is_still_closed_to_everybody(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    open_to_all = connection.execute("select has_function_privilege('public', 'dotq.fn_book_count()', 'EXECUTE')")
    assert open_to_all.fetchone() == (False,)


@pytest.mark.parametrize("schema", ["public", "dotq", "My Schema"])
@pytest.mark.parametrize("option", ["", " with grant option"])
def test_a_schema_where_others_may_create_is_refused_with_the_cure(
    empty_db: Database, tree: Tree, schema: str, option: str
) -> None:
    connection = empty_db.connect()
    migrate(connection, schema=schema, root=tree.root)
    before = catalogue(connection, schema)
    home = sql.Identifier(schema)
    with a_role(connection) as stranger:
        name = sql.Identifier(stranger)
        connection.execute(sql.SQL("grant create on schema {} to {}").format(home, name) + sql.SQL(option))
        with refused("JQ014", f"{stranger} may create objects in schema {schema}, so dotq cannot be kept") as hint:
            migrate(connection, schema=schema, root=tree.root)
        if option:
            handed_on = sql.SQL("set role {}; grant create on schema {} to dotq_reader; reset role")
            connection.execute(handed_on.format(name, home))
        else:
            connection.execute(sql.SQL("grant create on schema {} to public").format(home))
        names = f"dotq_reader, {stranger}" if option else f"{stranger}, everybody"
        with refused("JQ014", f"{names} may create objects in schema {schema}") as hint:
            migrate(connection, schema=schema, root=tree.root)
        connection.execute(hint[0].removeprefix("Run: ").encode())
        assert migrate(connection, schema=schema, root=tree.root).applied == ()
    assert catalogue(connection, schema) == before


def test_a_right_to_create_that_every_new_schema_gets_is_refused_with_the_cure(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, schema="first", root=tree.root)
    with a_role(connection) as stranger:
        connection.execute(
            sql.SQL("alter default privileges for role dotq_owner grant create on schemas to {}").format(
                sql.Identifier(stranger)
            )
        )
        with refused("JQ014", f"{stranger} may create objects in schema dotq") as hint:
            migrate(connection, root=tree.root)
        connection.execute(hint[0].removeprefix("Run: ").encode())
        assert migrate(connection, root=tree.root).applied


def test_those_who_could_do_anything_anyway_may_create(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    with a_role(connection, "superuser") as chief, a_role(connection) as landlord:
        connection.execute(
            sql.SQL("alter database {} owner to {}; grant create on schema public to {}, {}").format(
                sql.Identifier(empty_db.name), *map(sql.Identifier, (landlord, landlord, chief))
            )
        )
        assert migrate(connection, schema="public", root=tree.root).applied
        assert migrate(connection, schema="public", root=tree.root).applied == ()
        connection.execute(
            sql.SQL("alter database {} owner to current_user; revoke create on schema public from {}, {}").format(
                sql.Identifier(empty_db.name), sql.Identifier(landlord), sql.Identifier(chief)
            )
        )


@pytest.mark.parametrize("kind", ["function", "procedure"])
@pytest.mark.parametrize("installed", [False, True])
def test_a_function_of_somebody_else_under_one_of_our_names_is_refused_and_reported(
    empty_db: Database, tree: Tree, kind: str, installed: bool
) -> None:
    connection = empty_db.connect()
    if installed:
        migrate(connection, schema="public", root=tree.root)
    returns = "returns integer " if kind == "function" else ""
    with a_role(connection) as stranger:
        connection.execute(
            f"create {kind} public.fn_book_count(a integer) {returns}language sql as 'select 1'".encode()
        )
        name = sql.Identifier(stranger)
        owner = sql.SQL("alter {} public.fn_book_count(integer) owner to {}").format(sql.SQL(kind), name)
        connection.execute(owner)
        if installed:
            now = status(connection, "public", root=tree.root)
            arguments = "a integer" if kind == "function" else "IN a integer"
            assert now.state == "drifted"
            assert now.drifted == (f"foreign function fn_book_count({arguments}) of {stranger}",)
        words = f"function public.fn_book_count(integer) belongs to {stranger}, and dotq could call it"
        with refused("JQ014", words) as hint:
            migrate(connection, schema="public", root=tree.root)
        connection.execute(hint[0].removeprefix("Run: ").encode())
        assert bool(migrate(connection, schema="public", root=tree.root).applied) is not installed
        assert status(connection, "public", root=tree.root).state == "current"


def test_an_overload_cannot_be_planted_where_the_owner_calls(empty_db: Database) -> None:
    connection = empty_db.connect()
    migrate(connection, schema="public")
    with a_role(connection) as stranger:
        connection.execute(
            sql.SQL("grant create on schema public to {0}; set role {0}").format(sql.Identifier(stranger))
        )
        connection.execute(
            "create function public.fn_job_by_key(public.kind_name, text) returns integer language sql as 'select 1'"
        )
        connection.execute("reset role")
        assert status(connection, "public").drifted == (
            f"foreign function fn_job_by_key(public.kind_name, text) of {stranger}",
        )
        for words in ("may create objects in schema public", "fn_job_by_key(public.kind_name,text) belongs to"):
            with refused("JQ014", words) as hint:
                migrate(connection, schema="public")
            connection.execute(hint[0].removeprefix("Run: ").encode())
        migrate(connection, schema="public")
        assert status(connection, "public").state == "current"


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_without_unicode_is_refused(server: Backend, empty_db: Database, encoding: str) -> None:
    admin = empty_db.connect()
    name = f"{empty_db.name}_{encoding.lower()}"
    admin.execute(
        sql.SQL("create database {} encoding {} template template0 lc_collate 'C' lc_ctype 'C'").format(
            sql.Identifier(name), encoding
        )
    )
    words = f"dotq needs a database with encoding UTF8, since payloads are Unicode; {name} has {encoding}"
    try:
        with psycopg.connect(server.dsn(name), autocommit=True) as connection:
            with refused("JQ014", words) as hint:
                migrate(connection)
            assert "encoding 'UTF8' template template0" in hint[0]
        done = psql(server, server.dsn(name), render(), *ONE_TRANSACTION)
        assert done.returncode == 3
        assert words in done.stderr
    finally:
        admin.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))


def test_a_schema_of_somebody_else_is_refused_with_the_cure(empty_db: Database) -> None:
    connection = empty_db.connect()
    with a_role(connection) as stranger:
        connection.execute(sql.SQL("create schema dotq authorization {}").format(sql.Identifier(stranger)))
        with refused("JQ014", f"schema dotq belongs to {stranger}") as hint:
            migrate(connection)
        connection.execute(hint[0].removeprefix("Run: ").encode())
        assert migrate(connection).applied


def test_a_planted_ledger_is_refused(empty_db: Database) -> None:
    connection = empty_db.connect()
    connection.execute("create table public.schema_migration (version integer, name text, checksum text)")
    with refused("JQ014", "not a ledger that dotq made"):
        migrate(connection, schema="public")


def test_a_connection_in_a_transaction_is_refused(empty_db: Database) -> None:
    connection = empty_db.connect(autocommit=False)
    connection.execute("select 1")
    with refused("25001", "inside a transaction"):
        migrate(connection)


@contextmanager
def refused(sqlstate: str, words: str) -> Iterator[list[str]]:
    """The block must be refused with this code and these words; yields a list that gets the hint."""
    hints: list[str] = []
    with pytest.raises(MigrationError, match=re.escape(words)) as caught:
        yield hints
    assert caught.value.sqlstate == sqlstate
    hints.append(caught.value.hint or "")


@contextmanager
def a_role(connection: psycopg.Connection, attributes: str = "nosuperuser") -> Iterator[str]:
    """A role for as long as the block runs."""
    role = f"dotq_stranger_{uuid4().hex[:12]}"
    name = sql.Identifier(role)
    connection.execute(sql.SQL("create role {} ").format(name) + sql.SQL(attributes))
    try:
        yield role
    finally:
        connection.execute("reset role")
        connection.execute(sql.SQL("drop owned by {}; drop role {}").format(name, name))
