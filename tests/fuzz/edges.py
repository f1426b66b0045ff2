"""What callers pass by mistake or on purpose: for each type, the values at and beyond its edges."""

from __future__ import annotations

import json
from typing import Any

DENIED = (
    "body",
    "content",
    "raw",
    "vector",
    "embedding",
    "secret",
    "token",
    "password",
    "ssn",
    "personal_data",
)
NOWHERE = "00000000-0000-0000-0000-000000000000"
LARGE = "x" * 1_000_000

TEXTS: list[str | None] = [
    None, "", " ", "   ", "\t", "\n", " \t\r\n ", "a\x01b", "a\nb", "a\rb", "\x7f", "x" * 200,
    "x" * 201, "x" * 256,
    "x" * 10_000, LARGE,
    "ünïcödé", "漢字 😀", "\u202eabc\u202c", "\u200b", "\u00a0", "\ufeff", "e\u0301", "'",
    "''", '"', "\\", "\\'", "'; drop table dotq.job_queue; --", "$$", "$fn$", "$1", "%", "%s%%I", "{}",
    "(", "[",
    "a#b", "#", "w1#", "#1", "w1#1", "w1#-1", "w1#1#1", "w1#999999999999999999",
    "w1#9999999999999999999", "w1# 1",
    "w1\n#1", "null", "NULL", "-1", "0", "1.5", "1e3", "true", NOWHERE, "queued", "closed", "../../etc",
    "$.a.b",
]  # fmt: skip
INTEGERS: list[int | None] = [
    None, -(2**31), -1, 0, 1, 2, 1000, 1001, 10_000, 10_001, 86_400, 86_401, 604_800, 604_801, 2**31 - 1,
]  # fmt: skip
TIMES: list[str | None] = [
    None, "infinity", "-infinity", "4713-01-01 00:00:00+00 BC", "0001-01-01 00:00:00+00 BC",
    "0001-01-01 00:00:00+00",
    "1970-01-01 00:00:00+00", "2999-12-31 00:00:00+00", "9999-12-31 23:59:59+00", "10000-01-01 00:00:00+00",
    "294276-12-31 00:00:00+00", "now", "epoch",
]  # fmt: skip
UUIDS: list[str | None] = [None, NOWHERE, "ffffffff-ffff-ffff-ffff-ffffffffffff"]
ARRAYS: list[list[Any] | None] = [
    None, [], [None], ["a", None], [""], ["  "], ["a\nb"], ["x" * 201], ["x"] * 1000, ["x"] * 1001, [LARGE],
    [["mail", "b"], ["c", "d"]], ["mail", "mail"], ["queued", "nonsense"], ["{", "}", ",", '"'], ["null"],
]  # fmt: skip


def nested(levels: int, kind: str = "array") -> str:
    """JSON that many levels deep."""
    return "[" * levels + "]" * levels if kind == "array" else '{"a":' * levels + "1" + "}" * levels


JSONS: list[str | None] = [
    None, "null", "true", "0", "-1", "3.0", "1e2", "0.1", '"x"', '""', "[]", "[1]", "[null]", "{}",
    '{"a": 1}',
    nested(64), nested(65), nested(5000), nested(63, "object"), nested(64, "object"), nested(5000,
    "object"),
    '{"a": ' + nested(5000) + "}", "9" * 5000, '{"n": ' + "9" * 5000 + "}", '{"n": -' + "9" * 5000 + "}",
    '{"n": 0.' + "0" * 5000 + "1}", '{"n": 1e400}', '{"n": 1e-400}', '{"n": 1e308}', '{"n": -1e309}',
    json.dumps(LARGE), json.dumps({"a": LARGE}), json.dumps({LARGE: 1}),
    json.dumps({f"k{n}": n for n in range(10_000)}),
    json.dumps(list(range(10_000))), '{"": 1}', '{"a\\nb": 1}', '{"a": "\\u202e"}',
    '{"a": "\\ud83d\\ude00"}',
    '{"a": "\\u0000"}', '{"a": "\\ud800"}', "{", "nonsense", '{"$": {"*": "**"}}',
    *(json.dumps({key: 1}) for key in DENIED),
    '{"a": [{"b": {"Secret": 1}}]}', '{"PASSWORD": 1}', '{" token ": 1}', '{"\\ttoken\\n": 1}',
    '[{"ssn": null}]',
    '{"a": {"Personal_Data": {}}}',
]  # fmt: skip

BY_TYPE: dict[str, list[Any]] = {
    "text": TEXTS,
    "integer": INTEGERS,
    "boolean": [None, True, False],
    "timestamp with time zone": TIMES,
    "uuid": UUIDS,
    "text[]": ARRAYS,
    "jsonb": JSONS,
}

# Values for one place inside a JSON argument, whatever belongs there.
INSIDE: list[str] = [
    "null", "true", "false", "0", "1", "-1", "2", "3.0", "0.5", "1e2", "1e10", "1e400", "-1e400",
    "9" * 5000, '""', '"  "',
    '"x"', '"a\\nb"', '"("', '"(a"', '"*"', '"\\\\"', '"#/$defs/a"', '"#/$defs/"', '"#"',
    '"[[:nonsense:]]"',
    json.dumps("x" * 200), json.dumps("x" * 201), json.dumps("x" * 501), json.dumps(LARGE), "[]", "[1]",
    "[null]", '["x"]',
    "[{}]", "[[]]", '["object"]', '["object", "object"]', "{}", '{"a": 1}', '{"a": null}', '{"a": {}}',
    '{"a": {"type": 1}}',
    '{"type": "string"}', '{"$ref": "#/$defs/a"}', '{"secret": 1}', nested(40), nested(40, "object"),
    nested(5000),
    nested(5000, "object"),
]  # fmt: skip

KEYWORDS = (
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum",
    "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "uniqueItems",
    "minProperties", "maxProperties", "anyOf", "oneOf", "allOf", "$ref", "$defs", "title", "format",
    "nonsense",
)  # fmt: skip

# Schemas that refer to themselves without ever looking at a smaller value.
CIRCLES = [
    '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}',
    '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}',
    '{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}',
    '{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}',
    '{"$ref": "#/$defs/a", "$defs": {"a": {"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}',
]


def schemas() -> list[str]:
    """JSON Schemas with something wrong in one keyword, at the top and inside."""
    found = [*CIRCLES, '{"$ref": "#/$defs/nowhere"}']
    for keyword in KEYWORDS:
        for value in INSIDE:
            part = f'{{"{keyword}": {value}}}'
            found.append(part)
            if len(value) < 100:
                found.append('{"properties": {"to": ' + part + '}, "$defs": {"a": {}}}')
    return found
