"""A SQL file as single statements with their line numbers, the way psql would send them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(
    r"""
      (?P<comment>--[^\n]*)
    | (?P<block>/\*)
    | (?P<text>[eE]'(?:[^'\\]|''|\\.)*' | '(?:[^']|'')*' | "(?:[^"]|"")*")
    | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<end>;)
    | (?P<space>\s+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_OPERATOR = re.compile(r"[-+*/<>=~!@#%^&|`?:]+")
_NUMBER = re.compile(r"\d[\w.]*")
_INCLUDE = re.compile(r"\\ir (\S+)\s*")


@dataclass(frozen=True)
class Statement:
    """One statement and the line it starts on."""

    text: str
    line: int


def read_script(path: Path) -> list[Statement]:
    """The statements of a file, with what it includes by psql's \\ir in place; those keep their own line numbers."""
    found: list[Statement] = []
    rest: list[str] = []
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        include = _INCLUDE.fullmatch(line)
        if include is None:
            rest.append(line)
            continue
        found += _numbered(rest, number - len(rest))
        found += read_script(path.parent / include[1])
        rest = []
    return found + _numbered(rest, text.count("\n") + 1 - len(rest))


def _numbered(lines: list[str], first: int) -> list[Statement]:
    return [Statement(statement.text, statement.line + first - 1) for statement in split("".join(lines))]


def split(script: str) -> Iterator[Statement]:
    """Cut a script at its semicolons, outside of quotes, dollar quotes and comments."""
    position, start = 0, None
    while position < len(script):
        match = _TOKEN.match(script, position)
        assert match is not None
        kind, after = match.lastgroup, match.end()
        if kind == "block":
            after = _block_end(script, position)
        elif kind == "dollar":
            closing = script.find(match.group(), after)
            after = len(script) if closing < 0 else closing + len(match.group())
        if start is None and kind not in ("comment", "block", "space", "end"):
            start = position
        if kind == "end" and start is not None:
            yield Statement(script[start:position], script.count("\n", 0, start) + 1)
            start = None
        position = after
    if start is not None and script[start:].strip():
        yield Statement(script[start:].rstrip(), script.count("\n", 0, start) + 1)


def _block_end(script: str, position: int) -> int:
    """The end of a block comment; they nest."""
    depth = 0
    for match in re.finditer(r"/\*|\*/", script[position:]):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return position + match.end()
    return len(script)


def code_tokens(script: str) -> Iterator[tuple[int, str]]:
    """Words, numbers and operators with their positions; what is quoted or commented is passed over."""
    position = 0
    while position < len(script):
        match = _TOKEN.match(script, position)
        assert match is not None
        after = match.end()
        if match.lastgroup == "block":
            after = _block_end(script, position)
        elif match.lastgroup == "dollar":
            closing = script.find(match.group(), after)
            after = len(script) if closing < 0 else closing + len(match.group())
        elif match.lastgroup == "word":
            yield position, match.group()
        elif match.lastgroup == "other":
            longer = _OPERATOR.match(script, position) or _NUMBER.match(script, position)
            if longer is not None:
                after = longer.end()
            yield position, script[position:after]
        position = after
