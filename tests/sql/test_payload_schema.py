"""Payload schemas in SQL against the `jsonschema` package: the same verdict on generated schemas and values.

Known differences, all pinned below or outside what is generated here:
- `pattern` is PostgreSQL's dialect of regular expressions, not Python's nor ECMAScript's;
- `minLength` and the other sizes are written as whole numbers (2, not 2.0);
- `$ref` points into `$defs` or `definitions` of the whole schema; a nested `$id` does not move it.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from harness.databases import Database, Harness

Json = Any

SEED = 20300101
SCHEMAS = 300
VALUES_PER_SCHEMA = 8
LIMITS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
SIZES = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
CHOICES = ["anyOf", "oneOf", "allOf"]
PARTS = ["properties", "additionalProperties", "items"]
SIMPLE = ["type", "required", "enum", "const", "pattern", "uniqueItems", "$ref", *LIMITS, *SIZES]
KEYWORDS = [*SIMPLE, *PARTS, *CHOICES]
TYPES = ["null", "boolean", "number", "integer", "string", "array", "object"]
NAMES = ["a", "b", "c", "type"]
NUMBERS: list[Json] = [0, 1, 2, 3, -1, 1.0, 1.5, 2.5, 1e20]
SCALARS: list[Json] = [None, True, False, *NUMBERS, "", "a", "ab", "abc", "b", "é€", "😀", "1"]
PATTERNS = ["^a", "b$", "^[a-c]+$", "a|1", "^.{2}$", "[^a]", "^(ab)?c*$"]
DEFS: dict[str, Json] = {
    "Leaf": {"type": ["integer", "string"], "maximum": 2, "maxLength": 2},
    "Tree": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Tree"}, "b": {"items": {"$ref": "#/$defs/Leaf"}}},
        "additionalProperties": {"$ref": "#/$defs/Leaf"},
    },
    "Nothing": False,
}


class Generator:
    """Schemas inside the supported subset, and values near what they speak about."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def schema(self) -> dict[str, Json]:
        """A whole schema with its definitions."""
        schema = self._part(3)
        while not isinstance(schema, dict):
            schema = self._part(3)
        return {**schema, "$defs": DEFS}

    def value(self, depth: int = 3) -> Json:
        """Any JSON; small names and numbers, so that it often meets what a schema says."""
        draw = self.random.random()
        if depth == 0 or draw < 0.35:
            return self.random.choice(SCALARS)
        if draw < 0.6:
            return [self.value(depth - 1) for _ in range(self.random.randint(0, 3))]
        names = self.random.sample(NAMES, self.random.randint(0, 3))
        return {name: self.value(depth - 1) for name in names}

    def values(self, schema: dict[str, Json]) -> Iterator[Json]:
        """Half of them free, half shaped after the schema."""
        for number in range(VALUES_PER_SCHEMA):
            yield self._shaped(schema, 3) if number % 2 else self.value()

    def _part(self, depth: int) -> Json:
        if self.random.random() < 0.08:
            return self.random.choice([True, True, False])
        choices = KEYWORDS if depth else SIMPLE
        keywords = self.random.sample(choices, self.random.randint(1, 3))
        return {keyword: self._content(keyword, max(depth - 1, 0)) for keyword in keywords}

    def _content(self, keyword: str, depth: int) -> Json:
        draw = self.random
        makers: dict[str, Callable[[], Json]] = {
            "type": lambda: draw.choice([draw.choice(TYPES), draw.sample(TYPES, draw.randint(1, 4))]),
            "properties": lambda: {name: self._part(depth) for name in draw.sample(NAMES, draw.randint(0, 3))},
            "required": lambda: draw.sample(NAMES, draw.randint(0, 2)),
            "enum": lambda: [self.value(1) for _ in range(draw.randint(1, 5))],
            "const": lambda: self.value(1),
            "uniqueItems": lambda: draw.random() < 0.8,
            "pattern": lambda: draw.choice(PATTERNS),
            "$ref": lambda: "#/$defs/" + draw.choice(list(DEFS)),
            "items": lambda: self._part(depth),
            "additionalProperties": lambda: self._part(depth),
        }
        makers.update(dict.fromkeys(CHOICES, lambda: [self._part(depth) for _ in range(draw.randint(1, 3))]))
        makers.update(dict.fromkeys(LIMITS, lambda: draw.choice(NUMBERS)))
        makers.update(dict.fromkeys(SIZES, lambda: draw.randint(0, 3)))
        return makers[keyword]()

    def _shaped(self, schema: Json, depth: int) -> Json:
        """A value that has a fair chance to fit, so that both verdicts are common."""
        draw = self.random
        if not isinstance(schema, dict) or depth == 0 or draw.random() < 0.1:
            return self.value(1)
        if "const" in schema or "enum" in schema:
            return draw.choice([*schema.get("enum", []), schema.get("const")])
        forms = [form for keyword in CHOICES for form in schema.get(keyword, [])]
        if "$ref" in schema:
            forms.append(DEFS[schema["$ref"].rsplit("/", 1)[1]])
        return self._shaped(draw.choice(forms), depth) if forms else self._built(schema, depth)

    def _built(self, schema: dict[str, Json], depth: int) -> Json:
        draw = self.random
        if schema.keys() & {"items", "minItems", "maxItems", "uniqueItems"}:
            size = draw.randint(schema.get("minItems", 0), schema.get("minItems", 0) + 2)
            return [self._shaped(schema.get("items"), depth - 1) for _ in range(size)]
        if schema.keys() & {
            "properties",
            "required",
            "additionalProperties",
            "minProperties",
            "maxProperties",
        }:
            known: dict[str, Json] = schema.get("properties", {})
            names = {*known, *schema.get("required", []), *draw.sample(NAMES, draw.randint(0, 1))}
            rest = schema.get("additionalProperties")
            return {name: self._shaped(known.get(name, rest), depth - 1) for name in sorted(names)}
        return draw.choice(SCALARS)


def keywords_of(schema: Json) -> set[str]:
    """Every keyword that a schema or one of its parts uses, its definitions left aside."""
    if not isinstance(schema, dict):
        return set()
    found = {keyword for keyword in schema if keyword != "$defs"}
    parts: list[Json] = [*schema.get("properties", {}).values(), *map(schema.get, PARTS[1:])]
    parts += [form for keyword in CHOICES for form in schema.get(keyword, [])]
    return found.union(*(keywords_of(part) for part in parts))


def sql_problems(database: Database, pairs: list[tuple[Json, Json]]) -> list[str | None]:
    """What fn_payload_problem says to each pair."""
    schemas, values = ([json.dumps(item) for item in side] for side in zip(*pairs, strict=True))
    rows = database.connect().execute(
        "select dotq.fn_payload_problem(schema::jsonb, value::jsonb)"
        " from unnest(%s::text[], %s::text[]) with ordinality as pair (schema, value, ord) order by ord",
        [schemas, values],
    )
    return [problem for (problem,) in rows.fetchall()]


@pytest.fixture(scope="module")
def database(harness: Harness) -> Iterator[Database]:
    """One for the whole file: nothing here writes."""
    with harness.clone(harness.bare_template) as database:
        yield database


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Json, Json]]:
    """The generated schemas, each with its values; the same ones in every run."""
    generator = Generator(SEED)
    schemas = [generator.schema() for _ in range(SCHEMAS)]
    return [(schema, value) for schema in schemas for value in generator.values(schema)]


def test_both_take_every_generated_schema(database: Database, pairs: list[tuple[Json, Json]]) -> None:
    schemas = {json.dumps(schema) for schema, _ in pairs}
    for schema in schemas:
        Draft202012Validator.check_schema(json.loads(schema))
    rows = database.connect().execute(
        "select schema, dotq.fn_payload_schema_problem(schema::jsonb) from unnest(%s::text[]) as schema",
        [sorted(schemas)],
    )
    assert [row for row in rows.fetchall() if row[1] is not None] == []


def test_same_verdict_on_every_pair(database: Database, pairs: list[tuple[Json, Json]]) -> None:
    differences: list[tuple[str, str, str | None]] = []
    seen: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for (schema, value), problem in zip(pairs, sql_problems(database, pairs), strict=True):
        fits = Draft202012Validator(schema).is_valid(value)
        seen[fits].update(keywords_of(schema))
        if fits != (problem is None):
            differences.append((json.dumps(schema), json.dumps(value), problem))
    assert differences[:5] == []
    # A generator of trivial pairs would let anything pass: each keyword must be met with either verdict.
    assert [keyword for keyword in KEYWORDS if min(seen[True][keyword], seen[False][keyword]) < 20] == []


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("^a$", "a\n", False),  # Python's $ also matches before a last line end
        (r"^\Aab\Z$", "ab", True),
        (r"\mab\M", "x ab y", True),  # word edges are \m and \M
        ("[[:digit:]]", "7", True),  # POSIX classes
        ("(?i)AB", "ab", True),
    ],
)
def test_patterns_are_postgresqls(database: Database, pattern: str, value: str, fits: bool) -> None:
    schema = {"pattern": pattern}
    assert (sql_problems(database, [(schema, value)]) == [None]) is fits


def test_a_size_is_written_as_a_whole_number(database: Database) -> None:
    Draft202012Validator.check_schema({"minLength": 2.0})
    row = database.connect().execute("""select dotq.fn_payload_schema_problem('{"minLength": 2.0}')""").fetchone()
    assert row == ("$.minLength: must be a whole number from 0",)


def test_a_nested_id_does_not_move_a_reference(database: Database) -> None:
    inner = {"$id": "https://example.com/inner", "$ref": "#/$defs/A", "$defs": {"A": {"const": 1}}}
    schema = {"properties": {"a": inner}, "$defs": {"A": {"const": 2}}}
    assert Draft202012Validator(schema).is_valid({"a": 1})
    assert sql_problems(database, [(schema, {"a": 1}), (schema, {"a": 2})]) == ["$.a: must be 2", None]
