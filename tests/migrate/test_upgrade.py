"""Upgrades: forward only, all or nothing, one at a time, and what was changed by hand is seen."""

from __future__ import annotations

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from dotq._migrate import MigrationError, migrate, render, status
from dotq._sqlfiles import SqlFilesError, load, sql_root
from harness.backends import Backend
from harness.databases import Database, wait_blocked
from migrate.support import Tree, catalogue, psql


def next_release(tree: Tree) -> None:
    """The library's second release: a column more, a function and a view fewer, both others changed."""
    tree.write(
        "migrations/0002_shelves.sql",
        "alter table dotq.book alter column title type varchar(80), add column shelf text default 'A';\n",
    )
    tree.remove("functions/book/fn_book_oldest.sql")
    tree.function("fn_book_count", "select count(*) from dotq.book where shelf is not null")
    tree.function("fn_shelf_first", "select min(shelf) from dotq.book", returns="text")
    tree.remove("views/v_book_short.sql")
    tree.view("v_book", "select shelf, title from dotq.book")


@pytest.fixture
def library(tree: Tree) -> Tree:
    """The library's first release."""
    tree.function("fn_book_oldest", "select 1::bigint")
    tree.view("v_book_short", "select title from dotq.book where pages < 100")
    return tree


def test_upgrade_and_fresh_install_end_the_same(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute("insert into dotq.book values ('Emma', 474)")
    next_release(library)
    report = migrate(connection, root=library.root)
    assert [migration.name for migration in report.applied] == ["0002_shelves"]
    assert connection.execute("select shelf, title from dotq.v_book").fetchall() == [("A", "Emma")]
    upgraded = catalogue(connection)
    migrate(connection, schema="fresh", root=library.root)
    fresh = catalogue(connection, "fresh")
    assert {name: fact for name, fact in upgraded.items() if fresh.get(name) != fact} == {}
    assert upgraded.keys() == fresh.keys()
    assert "function fn_book_oldest()" not in upgraded
    assert status(connection, root=library.root).state == "current"


def earlier_release(root: Path) -> Path:
    """This release as an earlier one might have been: a result column and a parameter fewer, one named otherwise."""
    shutil.copytree(sql_root(), root)

    def edit(path: str, *changes: tuple[str, str]) -> None:
        text = (root / path).read_text(encoding="utf-8")
        for pattern, new in changes:
            text, count = re.subn(pattern, new, text)
            assert count == 1, f"{path} no longer has {pattern}"
        (root / path).write_text(text, encoding="utf-8")

    edit(
        "functions/job/fn_job_claim_many.sql",
        (r",\s*last_error text(?=\s*\)\s*language)", ""),
        (r", t\.last_error\b", ""),
    )
    edit(
        "functions/job/fn_job_insert.sql",
        (r",\s*p_replay_of\s+uuid default null", ""),
        (r"\bp_replay_of,", "null,"),
    )
    edit("functions/job/fn_job_get.sql", (r"(?<=fn_job_get\()\s*p_job_id\b", "p_id"))
    return root


@pytest.mark.parametrize("route", ["driver", "psql"])
def test_changed_signatures_end_as_in_a_fresh_install(
    server: Backend, empty_db: Database, tmp_path: Path, route: str
) -> None:
    def install(schema: str = "dotq", root: Path | None = None) -> None:
        if route == "driver":
            migrate(connection, schema=schema, root=root)
        else:
            done = psql(server, empty_db.dsn, render(schema, root=root), "-v", "ON_ERROR_STOP=1", "-1")
            assert (done.returncode, done.stderr, done.stdout) == (0, "", "")

    def oids() -> dict[str, int]:
        found = connection.execute("select proname, oid from pg_proc where pronamespace = 'dotq'::regnamespace")
        return dict(found.fetchall())

    connection = empty_db.connect()
    install(root=earlier_release(tmp_path / "earlier"))
    old, old_oids = catalogue(connection), oids()
    install()
    upgraded, upgraded_oids = catalogue(connection), oids()
    install("fresh")
    fresh = catalogue(connection, "fresh")
    assert {name: fact for name, fact in upgraded.items() if fresh.get(name) != fact} == {}
    assert upgraded.keys() == fresh.keys()
    assert status(connection).state == "current"
    changed = {"fn_job_claim_many", "fn_job_insert", "fn_job_get"}
    for function in changed:
        was, now = ({n: f for n, f in facts.items() if f"function {function}(" in n} for facts in (old, upgraded))
        assert len(was) == len(now) == 1, f"{function} has an overload"
        assert was != now, f"{function} was the same in the earlier release"
    assert {name for name, oid in upgraded_oids.items() if old_oids[name] != oid} == changed


def test_an_overload_left_by_hand_makes_way(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    before = catalogue(connection)
    connection.execute("set role dotq_owner")
    connection.execute("create function dotq.fn_book_count(integer) returns integer return $1")
    connection.execute("reset role")
    migrate(connection, root=library.root)
    assert catalogue(connection) == before


@pytest.mark.parametrize("route", ["driver", "psql"])
def test_a_function_that_cannot_make_way_is_refused_with_what_holds_it(
    server: Backend, empty_db: Database, library: Tree, route: str
) -> None:
    library.function("fn_book_stamp", "begin return new; end", language="plpgsql", returns="trigger")
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute("create trigger tr_book before update on dotq.book execute function dotq.fn_book_stamp()")
    before = catalogue(connection)
    library.function("fn_book_stamp", "begin return 1; end", language="plpgsql", returns="integer")
    words = (
        "cannot change return type of existing function, and it cannot be dropped: "
        "trigger tr_book on table dotq.book depends on function dotq.fn_book_stamp()"
    )
    if route == "driver":
        with pytest.raises(MigrationError) as caught:
            migrate(connection, root=library.root)
        assert caught.value.message == f"functions/book/fn_book_stamp.sql: {words}"
        assert caught.value.sqlstate == "JQ014"
        assert "Drop what depends on the function" in (caught.value.hint or "")
    else:
        done = psql(server, empty_db.dsn, render(root=library.root), "-v", "ON_ERROR_STOP=1", "-1")
        assert done.returncode == 3
        assert words in done.stderr
    assert catalogue(connection) == before


@pytest.mark.parametrize(
    ("text", "words", "sqlstate"),
    [
        ("create function dotq.fn_book_count() returns bigint as 'select 1'", "no language specified", "42P13"),
        (
            "create function dotq.fn_book_count(a text) returns bigint language sql as 'select 1';\n"
            "create function dotq.fn_book_count(a integer) returns bigint language sql as 'select 1';\n"
            "comment on function dotq.fn_book_count is 'Two.'",
            "is not unique",
            "42725",
        ),
    ],
)
@pytest.mark.parametrize("installed", [False, True])
def test_a_file_that_is_wrong_in_itself_is_no_reason_to_drop(
    empty_db: Database, library: Tree, *, installed: bool, text: str, words: str, sqlstate: str
) -> None:
    connection = empty_db.connect()
    if installed:
        migrate(connection, root=library.root)
    before = catalogue(connection)
    library.write("functions/book/fn_book_count.sql", text)
    with pytest.raises(MigrationError, match=f"^functions/book/fn_book_count.sql: .*{words}") as caught:
        migrate(connection, root=library.root)
    assert caught.value.sqlstate == sqlstate
    assert catalogue(connection) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_failure_half_way_leaves_the_old_release_working(empty_db: Database, library: Tree, dry_run: bool) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    before = catalogue(connection)
    next_release(library)
    library.write("migrations/0003_fines.sql", "create table dotq.fine (cents integer);\n\nselect 1 / 0;\n")
    with pytest.raises(MigrationError, match=r"^migrations/0003_fines.sql: division by zero$") as caught:
        migrate(connection, root=library.root, dry_run=dry_run)
    assert (caught.value.sqlstate, caught.value.file) == ("22012", "migrations/0003_fines.sql")
    assert catalogue(connection) == before
    assert connection.execute("select dotq.fn_book_count(), dotq.fn_book_oldest()").fetchone() == (0, 1)


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("migrations/0002_bad.sql", "-- one\n\ncreate table dotq.a (b text);\ncreate tabel dotq.c ();\n", 4),
        ("migrations/0002_bad.sql", "create table dotq.a (b text);\n\nselect nothing\nfrom dotq.a;\n", 3),
        ("functions/fn_bad.sql", "\ncreate or replace function dotq.fn_bad()\nretruns text\n", 3),
        (
            "functions/fn_bad.sql",
            "create or replace function dotq.fn_bad() returns integer language plpgsql as $fn$\n"
            "begin\n    return 1;\n    oops;\nend\n$fn$;\n",
            4,
        ),
        (
            "functions/fn_bad.sql",
            "create or replace function dotq.fn_bad() returns integer language plpgsql as $fn$\n"
            "begin\n    return (select from where);\nend\n$fn$;\n",
            3,
        ),
        (
            "functions/fn_bad.sql",
            "create or replace function dotq.fn_bad() returns bigint language sql as $fn$\n"
            "select count(*)\nfrom dotq.missing\n$fn$;\n",
            3,
        ),
        ("views/v_bad.sql", "create view dotq.v_bad as\nselect title,\n    author from dotq.book;\n", 3),
    ],
)
def test_an_error_names_its_file_and_line(empty_db: Database, tree: Tree, path: str, text: str, line: int) -> None:
    tree.write(path, text)
    with pytest.raises(MigrationError, match=f"^{path} line {line}: ") as caught:
        migrate(empty_db.connect(), root=tree.root)
    assert (caught.value.file, caught.value.line) == (path, line)


def test_functions_may_call_ones_that_come_later(empty_db: Database, tree: Tree) -> None:
    tree.function("fn_a_first", "select dotq.fn_b_second()")
    tree.function("fn_b_second", "select dotq.fn_book_count()")
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    assert connection.execute("select dotq.fn_a_first()").fetchone() == (0,)


def test_a_text_full_of_dollar_quotes_survives(empty_db: Database, tree: Tree) -> None:
    odd = "select $dotq_do$ $dotq_file$ $dotq_file1$ $$ $fn$ 100% :x \\n 'quoted' $fn$ $dotq_do$"
    tree.write("migrations/0002_odd.sql", f"create view dotq.odd as {odd} as words;\n")
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    words = connection.execute("select words from dotq.odd").fetchone()
    assert words == (" $dotq_file$ $dotq_file1$ $$ $fn$ 100% :x \\n 'quoted' $fn$ ",)


def test_an_edited_migration_is_refused(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    before = catalogue(connection)
    tree.write("migrations/0001_books.sql", "create table dotq.book (title text);\n")
    tree.function("fn_book_count", "select 1::bigint")
    assert status(connection, root=tree.root).state == "edited"
    with pytest.raises(MigrationError, match="edited after it was applied to this database: 0001_books") as caught:
        migrate(connection, root=tree.root)
    assert caught.value.sqlstate == "JQ012"
    assert catalogue(connection) == before


def test_other_line_ends_are_no_edit(empty_db: Database, tree: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    for path in tree.root.rglob("*.sql"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert status(connection, root=tree.root).state == "current"
    assert migrate(connection, root=tree.root).applied == ()


def test_a_database_from_the_future_is_refused(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    library.write("migrations/0002_later.sql", "create table dotq.later (at timestamptz);\n")
    migrate(connection, root=library.root)
    before = catalogue(connection)
    library.remove("migrations/0002_later.sql")
    assert status(connection, root=library.root).state == "unknown"
    with pytest.raises(MigrationError, match=r"does not know: 2 \(0002_later\)") as caught:
        migrate(connection, root=library.root)
    assert caught.value.sqlstate == "JQ013"
    assert catalogue(connection) == before


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("migrations/0003_gap.sql", "select 1;", "migration 0002 is missing before migrations/0003_gap.sql"),
        ("migrations/0001_again.sql", "select 1;", "two migrations have the number 0001"),
        ("migrations/2_short.sql", "select 1;", "is not named like migrations/0001_words.sql"),
        ("migrations/0002_Upper.sql", "select 1;", "is not named like migrations/0001_words.sql"),
        ("migrations/more/0002_deep.sql", "select 1;", "is not named like migrations/0001_words.sql"),
        ("functions/fn_a.sql", "create function dotq.fn_b()", "does not create function dotq.fn_a"),
        ("functions/other/fn_book_count.sql", "function dotq.fn_book_count", "has two files"),
        ("views/v_a.sql", "create view v_a as select 1", "does not create view dotq.v_a"),
        ("functions/fn_a.sql", "function dotq.fn_a()\nselect 'dotq'", "line 2: 'dotq' would stay the same"),
        (
            "migrations/0002_s.sql",
            "grant usage on schema dotq to x;",
            "line 1: schema dotq would stay the same",
        ),
    ],
)
def test_files_that_make_no_sense_are_refused_before_anything_runs(
    tree: Tree, path: str, text: str, words: str
) -> None:
    tree.write(path, text)
    with pytest.raises(SqlFilesError) as caught:
        load(tree.root)
    assert words in caught.value.message


def test_dry_run_shows_everything_and_changes_nothing(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    fresh = migrate(connection, root=library.root, dry_run=True)
    assert [migration.name for migration in fresh.applied] == ["0001_books"]
    assert connection.execute("select to_regnamespace('dotq')").fetchone() == (None,)
    migrate(connection, root=library.root)
    before = catalogue(connection)
    next_release(library)
    upgrade = migrate(connection, root=library.root, dry_run=True)
    assert [migration.name for migration in upgrade.applied] == ["0002_shelves"]
    assert catalogue(connection) == before


def test_a_locked_table_ends_the_wait_and_changes_nothing(empty_db: Database, library: Tree) -> None:
    connection, holder = empty_db.connect(), empty_db.connect()
    migrate(connection, root=library.root)
    before = catalogue(connection)
    next_release(library)
    with holder.transaction():
        holder.execute("lock table dotq.book in access share mode")
        began = time.monotonic()
        with pytest.raises(MigrationError, match=r"^migrations/0002_shelves.sql: .*lock timeout") as caught:
            migrate(connection, root=library.root, lock_timeout="200ms")
        assert time.monotonic() - began < 5
    assert caught.value.sqlstate == "55P03"
    assert "--lock-timeout" in (caught.value.hint or "")
    assert catalogue(connection) == before
    assert migrate(connection, root=library.root, lock_timeout="200ms").applied


@pytest.mark.parametrize("isolation", [None, psycopg.IsolationLevel.SERIALIZABLE])
def test_a_second_migrator_waits_and_then_finds_nothing_to_do(
    empty_db: Database, library: Tree, isolation: psycopg.IsolationLevel | None
) -> None:
    first, second, watcher = (empty_db.connect() for _ in range(3))
    second.isolation_level = isolation
    with ThreadPoolExecutor(1) as pool:
        with first.transaction():
            first.execute("select pg_advisory_xact_lock(1685025905, 0)")
            waiting = pool.submit(migrate, second, root=library.root)
            wait_blocked(watcher, second.info.backend_pid)
            # What the other migrator does meanwhile, in the transaction that holds the lock.
            first.execute(render(root=library.root).encode())
        report = waiting.result(timeout=30)
    assert (report.applied, report.unchanged) == ((), 1)
    assert status(first, root=library.root).state == "current"


def test_the_wait_for_another_migrator_is_bounded_and_says_why(empty_db: Database, tree: Tree) -> None:
    holder, connection = empty_db.connect(), empty_db.connect()
    with holder.transaction():
        holder.execute("select pg_advisory_xact_lock(1685025905, 0)")
        with pytest.raises(MigrationError, match="another dotq migration is still running") as caught:
            migrate(connection, root=tree.root, wait_timeout="100ms")
        assert caught.value.sqlstate == "55P03"
        query = (caught.value.hint or "").removeprefix("Its process: ")
        assert connection.execute(query.encode()).fetchall() == [(holder.info.backend_pid,)]
    assert connection.execute("select to_regnamespace('dotq')").fetchone() == (None,)


def test_a_view_that_somebody_built_upon_is_not_torn_away(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute("create view public.report as select * from dotq.v_book")
    with pytest.raises(MigrationError, match="view v_book is used by an object that dotq did not make") as caught:
        migrate(connection, root=library.root)
    assert caught.value.sqlstate == "JQ014"
    assert connection.execute("select count(*) from public.report").fetchone() == (0,)
    connection.execute("drop view public.report")
    migrate(connection, root=library.root)


def test_status_tells_each_state(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    assert status(connection, root=library.root).state == "missing"
    migrate(connection, root=library.root)
    now = status(connection, root=library.root)
    assert (now.state, now.drifted, now.functions_and_views_current) == ("current", (), True)
    assert [(m.name, m.state, m.applied_by) for m in now.migrations] == [
        ("0001_books", "applied", connection.info.user)
    ]
    library.function("fn_book_count", "select 7::bigint")
    assert status(connection, root=library.root).state == "behind"
    migrate(connection, root=library.root)
    assert status(connection, root=library.root).state == "current"
    library.write("migrations/0002_more.sql", "create table dotq.more (a text);\n")
    later = status(connection, root=library.root)
    assert (later.state, [m.state for m in later.migrations]) == ("behind", ["applied", "pending"])


@pytest.mark.parametrize(
    ("by_hand", "name", "undo"),
    [
        ("alter table dotq.book add column spy text", "table book", "alter table dotq.book drop column spy"),
        ("alter table dotq.book drop constraint book_pages_check", "constraint book.book_pages_check", None),
        (
            "drop index dotq.book_title_idx",
            "index book_title_idx",
            "create index book_title_idx on dotq.book (title)",
        ),
    ],
)
def test_a_table_changed_by_hand_stays_reported_until_it_is_undone(
    empty_db: Database, library: Tree, by_hand: str, name: str, undo: str | None
) -> None:
    library.write("migrations/0002_index.sql", "create index book_title_idx on dotq.book (title);\n")
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute(by_hand.encode())
    for _ in range(2):
        now = status(connection, root=library.root)
        assert (now.state, now.drifted) == ("drifted", (name,))
        migrate(connection, root=library.root)
    undo = undo or "alter table dotq.book add constraint book_pages_check check (pages > 0)"
    connection.execute(undo.encode())
    assert status(connection, root=library.root).state == "current"


def test_functions_and_views_changed_by_hand_are_reported_and_repaired(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    before = catalogue(connection)
    connection.execute("alter function dotq.fn_book_count() security definer")
    connection.execute("create or replace view dotq.v_book as select upper(title) as title from dotq.book")
    connection.execute("drop function dotq.fn_book_oldest()")
    now = status(connection, root=library.root)
    assert now.state == "drifted"
    assert now.drifted == ("function fn_book_count()", "function fn_book_oldest()", "view v_book")
    migrate(connection, root=library.root)
    assert status(connection, root=library.root).state == "current"
    assert catalogue(connection) == before


def test_what_an_administrator_adds_or_tunes_is_no_drift(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute("alter table dotq.book set (fillfactor = 50)")
    connection.execute("create index by_pages on dotq.book (pages)")
    connection.execute("grant select on dotq.book to dotq_reader")
    for _ in range(2):
        assert status(connection, root=library.root).state == "current"
        migrate(connection, root=library.root)
    connection.execute("drop index dotq.by_pages")
    assert status(connection, root=library.root).state == "current"


def test_a_function_of_somebody_else_survives_when_ours_of_that_name_goes(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, schema="public", root=library.root)
    connection.execute("create function public.fn_book_oldest(integer) returns integer return $1")
    library.remove("functions/book/fn_book_oldest.sql")
    migrate(connection, schema="public", root=library.root)
    left = connection.execute("select oid::regprocedure::text from pg_proc where proname = 'fn_book_oldest'")
    assert left.fetchall() == [("fn_book_oldest(integer)",)]


def test_partitions_that_come_and_go_are_no_drift(empty_db: Database, library: Tree) -> None:
    library.write(
        "migrations/0002_history.sql",
        "create table dotq.history (day date not null primary key) partition by range (day);\n"
        "create table dotq.history_1 partition of dotq.history"
        " for values from ('2024-01-01') to ('2024-01-02');\n",
    )
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute("drop table dotq.history_1")
    assert status(connection, root=library.root).state == "current"


def test_after_a_server_upgrade_the_fingerprints_are_taken_anew(empty_db: Database, library: Tree) -> None:
    connection = empty_db.connect()
    migrate(connection, root=library.root)
    connection.execute('update dotq.schema_release set server_major = 14, objects = \'{"view v_book": "old"}\'')
    assert status(connection, root=library.root).state == "current", "another major may print it differently"
    migrate(connection, root=library.root)
    connection.execute("alter table dotq.book add column spy text")
    assert status(connection, root=library.root).drifted == ("table book",)
