"""The SQL files that dotq ships: where they are, in which order, under which schema name."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from dotq._errors import DotqError

DEFAULT_SCHEMA = "dotq"

_OWN_SCHEMA = re.compile(r"\bdotq\.")
_BARE_SCHEMA = re.compile(r"""'dotq'|"dotq"|\bschema\s+(?:if\s+(?:not\s+)?exists\s+)?dotq\b(?!\.)""", re.I)
_MIGRATION_NAME = re.compile(r"(\d{4})_[a-z0-9]+(?:_[a-z0-9]+)*\.sql")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
# A name is put into literals, format strings and comments as well, where these would end or change the text.
_UNUSABLE = re.compile(r"""['"\\$%\x00-\x1f\x7f]""")
_MAX_NAME_BYTES = 63
# Words that PostgreSQL takes as a schema name only in quotes.
_KEYWORDS = frozenset(
    """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean
    both case cast char character check coalesce collate collation column concurrently constraint create
    cross current_catalog current_date current_role current_schema current_time current_timestamp
    current_user dec decimal default deferrable desc distinct do else end except exists extract false
    fetch float for foreign freeze from full grant greatest group grouping having ilike in initially
    inner inout int integer intersect interval into is isnull join json json_array json_arrayagg
    json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value
    lateral leading least left like limit localtime localtimestamp merge_action national natural nchar
    none normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay
    placing position precision primary real references returning right row select session_user setof
    similar smallint some substring symmetric system_user table tablesample then time timestamp to
    trailing treat trim true union unique user using values varchar variadic verbose when where window
    with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
    xmlserialize xmltable
    """.split()  # noqa: SIM905
)


class SchemaNameError(DotqError, ValueError):
    """A schema name that dotq cannot be installed under."""


class SqlFilesError(DotqError):
    """The SQL files themselves are wrong: misnamed, missing, or not one install."""


@dataclass(frozen=True)
class SqlFile:
    """One file, with line ends as PostgreSQL will see them."""

    path: str
    text: str

    @property
    def stem(self) -> str:
        """The file name without its ending: for a function or view, the object's name."""
        return Path(self.path).stem

    @property
    def checksum(self) -> str:
        """SHA-256 of the text; the same on every platform, under every schema name."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class SqlFiles:
    """All files of one release, each list in the order of application."""

    bootstrap: SqlFile
    migrations: tuple[SqlFile, ...]
    functions: tuple[SqlFile, ...]
    views: tuple[SqlFile, ...]
    release: SqlFile

    @property
    def checksum(self) -> str:
        """SHA-256 over what every run re-applies: functions and views, names and texts."""
        digest = hashlib.sha256()
        for file in (*self.functions, *self.views):
            digest.update(f"{file.path}\0{file.checksum}\n".encode())
        return digest.hexdigest()


def sql_root() -> Path:
    """Where the SQL files are: inside the installed package, or in the repository it is run from."""
    here = Path(__file__).resolve()
    packaged = here.parent / "_sql"
    return packaged if packaged.is_dir() else here.parents[2] / "sql"


def check_schema_name(name: str) -> str:
    """Return the name, or raise SchemaNameError saying why nothing can be installed under it."""
    if not name.strip():
        reason = "it is empty"
    elif len(name.encode()) > _MAX_NAME_BYTES:
        reason = f"it is longer than {_MAX_NAME_BYTES} bytes"
    elif name.startswith("pg_") or name == "information_schema":
        reason = "PostgreSQL reserves it for itself"
    elif found := _UNUSABLE.search(name):
        reason = f"it contains {found.group()!r}"
    else:
        return name
    raise SchemaNameError(f"schema name {name!r} cannot be used: {reason}")


def quote_name(name: str) -> str:
    """The name as SQL needs it: in quotes only where PostgreSQL would want them."""
    if _PLAIN_NAME.fullmatch(name) and name not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def under_schema(text: str, schema: str) -> str:
    """The same SQL for an install under another schema: every `dotq.` names that one instead."""
    if schema == DEFAULT_SCHEMA:
        return text
    qualifier = quote_name(schema) + "."
    return _OWN_SCHEMA.sub(lambda _: qualifier, text)


def load(root: Path | None = None) -> SqlFiles:
    """Read and check all files of an SQL root."""
    root = root or sql_root()
    if not (root / "bootstrap.sql").is_file():
        raise SqlFilesError(f"the SQL files of dotq are missing: no bootstrap.sql in {root}")
    files = SqlFiles(
        bootstrap=_read(root, root / "bootstrap.sql"),
        migrations=_folder(root, "migrations"),
        functions=_folder(root, "functions"),
        views=_folder(root, "views"),
        release=_read(root, root / "release.sql"),
    )
    _check_migrations(files.migrations)
    _check_objects(files.functions, "function")
    _check_objects(files.views, "view")
    for file in (*files.migrations, *files.functions, *files.views):
        _check_schema_word(file)
    return files


def _folder(root: Path, name: str) -> tuple[SqlFile, ...]:
    found = (root / name).rglob("*.sql")
    return tuple(sorted((_read(root, path) for path in found), key=lambda file: file.path))


def _read(root: Path, path: Path) -> SqlFile:
    relative = path.relative_to(root).as_posix()
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise SqlFilesError(f"cannot read {relative}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SqlFilesError(f"{relative} is not UTF-8 (byte {error.start})") from error
    if "\0" in text:
        raise SqlFilesError(f"{relative} contains a zero byte")
    return SqlFile(relative, text.replace("\r\n", "\n").removeprefix("\ufeff"))


def _check_migrations(files: tuple[SqlFile, ...]) -> None:
    if not files:
        raise SqlFilesError("no migrations found")
    for expected, file in enumerate(files, start=1):
        match = _MIGRATION_NAME.fullmatch(file.path.removeprefix("migrations/"))
        if not match:
            raise SqlFilesError(f"{file.path} is not named like migrations/0001_words.sql")
        number = int(match.group(1))
        if number < expected:
            first = files[expected - 2].path
            raise SqlFilesError(f"two migrations have the number {number:04}: {first}, {file.path}")
        if number > expected:
            raise SqlFilesError(f"migration {expected:04} is missing before {file.path}")


def _check_objects(files: tuple[SqlFile, ...], kind: str) -> None:
    seen: dict[str, str] = {}
    for file in files:
        if file.stem in seen:
            raise SqlFilesError(f"{kind} {file.stem} has two files: {seen[file.stem]}, {file.path}")
        seen[file.stem] = file.path
        if not re.search(rf"\b{kind}\s+dotq\.{re.escape(file.stem)}\b", file.text, re.IGNORECASE):
            raise SqlFilesError(f"{file.path} does not create {kind} dotq.{file.stem}")


def _check_schema_word(file: SqlFile) -> None:
    for number, line in enumerate(file.text.splitlines(), start=1):
        if not line.lstrip().startswith("--") and (found := _BARE_SCHEMA.search(line)):
            raise SqlFilesError(
                f"{file.path} line {number}: {found.group()} would stay the same under another schema name; "
                "write the schema only as a prefix of an object"
            )
