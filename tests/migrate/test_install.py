"""A fresh install: the same by driver and by psql, under any schema name, safe to repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from dotq._migrate import MigrationError, migrate, plan, render
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
    connection.execute("grant usage, create on schema dotq to public")
    migrate(connection, root=tree.root)
    left = connection.execute(
        "select has_schema_privilege('public', 'dotq', 'USAGE'), has_schema_privilege('public', 'dotq', 'CREATE')"
    )
    assert left.fetchone() == (False, False)


def test_a_function_that_forgets_to_revoke_is_still_closed_to_everybody(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    open_to_all = connection.execute("select has_function_privilege('public', 'dotq.fn_book_count()', 'EXECUTE')")
    assert open_to_all.fetchone() == (False,)


def test_a_schema_where_everybody_may_create_is_refused_with_the_cure(empty_db: Database) -> None:
    connection = empty_db.connect()
    connection.execute("grant create on schema public to public")
    with refused("JQ014", "everybody may create objects in schema public") as hint:
        migrate(connection, schema="public")
    connection.execute(hint[0].removeprefix("Run: ").encode())
    assert migrate(connection, schema="public").applied


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
def a_role(connection: psycopg.Connection) -> Iterator[str]:
    """A role for as long as the block runs."""
    row = connection.execute("select 'dotq_stranger_' || pg_backend_pid()").fetchone()
    assert row
    name = sql.Identifier(row[0])
    connection.execute(sql.SQL("create role {}").format(name))
    try:
        yield row[0]
    finally:
        connection.execute(sql.SQL("drop owned by {}; drop role {}").format(name, name))
