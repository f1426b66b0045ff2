"""The generated reference is current, whole, and does not depend on where it is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dotq._catalog import main, render_catalogue
from dotq._migrate import migrate
from dotq._sqlfiles import load
from harness.databases import Database
from migrate.support import Tree

REFERENCE = Path(__file__).parents[2] / "sql" / "README.md"


def test_the_reference_is_current(empty_db: Database) -> None:
    connection = empty_db.connect()
    migrate(connection)
    found = render_catalogue(connection).splitlines()
    assert found == REFERENCE.read_text(encoding="utf-8").splitlines(), (
        "sql/README.md is out of date: python -m dotq._catalog --output sql/README.md"
    )


def test_everything_has_a_comment(empty_db: Database) -> None:
    connection = empty_db.connect()
    migrate(connection)
    silent = connection.execute(
        """
        select proname from pg_proc
        where pronamespace = 'dotq'::regnamespace and obj_description(oid, 'pg_proc') is null
        union all
        select relname from pg_class
        where relnamespace = 'dotq'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
          and obj_description(oid, 'pg_class') is null
        """
    ).fetchall()
    assert silent == []


def test_every_file_has_its_entry_and_every_link_its_file() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    files = load()
    links = set(re.findall(r"\]\(((?:functions|bootstrap)[^)]*)\)", text))
    assert links == {file.path for file in files.functions} | {"bootstrap.sql"}
    headings = set(re.findall(r"^### (v_\w+)$", text, re.MULTILINE))
    assert headings == {file.stem for file in files.views}


def test_an_entry_says_what_a_caller_must_know(empty_db: Database, tree: Tree) -> None:
    tree.write(
        "functions/book/fn_book_lend.sql",
        "create or replace function dotq.fn_book_lend(p_title text, p_days numeric(4, 1) default 14,"
        " p_note text default 'a, b') returns text language sql security definer"
        " set search_path = pg_catalog, pg_temp as $fn$ select 'ok' $fn$;\n"
        "comment on function dotq.fn_book_lend is 'Lend a book.\nRaises JQ002 (no such\nbook).';\n"
        "grant execute on function dotq.fn_book_lend to dotq_worker, dotq_operator;\n",
    )
    connection = empty_db.connect()
    migrate(connection, root=tree.root)
    text = render_catalogue(connection, root=tree.root)
    entry = text[text.index("#### fn_book_lend") :].split("\n\n| helper")[0]
    assert entry == (
        "#### fn_book_lend\n\nLend a book.\n\n```text\nfn_book_lend(\n    p_title text,\n"
        "    p_days numeric DEFAULT 14,\n    p_note text DEFAULT 'a, b'::text\n) -> text\n```\n\n"
        "definer · for `dotq_operator`, `dotq_worker` · [source](functions/book/fn_book_lend.sql)\n\n"
        "Raises JQ002 (no such book)."
    )
    assert "1 for callers, 2 helpers" in text


def test_the_command_writes_and_checks(empty_db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    migrate(empty_db.connect())
    target = tmp_path / "README.md"
    assert main(["--dsn", empty_db.dsn, "--check", str(target)]) == 1
    assert "out of date" in capsys.readouterr().err
    assert main(["--dsn", empty_db.dsn, "--output", str(target)]) == 0
    assert main(["--dsn", empty_db.dsn, "--check", str(target)]) == 0
    target.write_text(target.read_text() + "x")
    assert main(["--dsn", empty_db.dsn, "--check", str(target)]) == 1
