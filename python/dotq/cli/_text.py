"""Text for a terminal: harmless, measured, cut to fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TextIO

from rich.cells import cell_len, set_cell_size

_JOINER = "\u200d"
_GAP = 2


def clean(text: str, *, lines: bool = False) -> str:
    """Show control characters instead of obeying them: error texts come from anywhere."""
    keep = "\n\t" if lines else ""
    if text.isprintable():
        return text
    shown = []
    for character in text:
        if character in keep or character == _JOINER:
            shown.append(character)
        elif character in "\r\n\t\u2028\u2029":
            shown.append(" ")
        elif unicodedata.category(character) in ("Cc", "Cf", "Cs"):
            shown.append(character.encode("unicode_escape").decode("ascii"))
        else:
            shown.append(character)
    return "".join(shown)


def encodable(text: str, stream: TextIO) -> str:
    """Letters that a stream cannot carry, by their codes; the ellipsis, which is ours, as a tilde."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("…", "~").encode(encoding, "backslashreplace").decode(encoding)
    return text


def span(seconds: float) -> str:
    """A length of time in at most four characters or so: 45s, 12m, 3h, 9d."""
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < 1:
        return f"{sign}{seconds * 1000:.0f}ms" if seconds else "0s"
    for size, unit, limit in ((1, "s", 100), (60, "m", 100), (3600, "h", 48)):
        if seconds < size * limit:
            return f"{sign}{seconds / size:.0f}{unit}"
    return f"{sign}{seconds / 86400:.0f}d"


def relative(moment: datetime | None, now: datetime) -> str:
    """'3m ago', 'in 2h'; both times are the server's."""
    if moment is None:
        return ""
    distance: timedelta = moment - now
    seconds = distance.total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


@dataclass(frozen=True)
class Column:
    """One column of a table: how narrow it may get, and whether it may be left out on a narrow terminal."""

    title: str
    narrow: int | None = None
    optional: bool = False
    right: bool = False


def layout(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[list[str]]:
    """The lines of a table as padded cells, heading first; fits `width` if the columns allow it.

    Optional columns are left out when they are empty, and from the right while there is no room.
    """
    table = [[column.title for column in columns], *[[clean(cell) for cell in row] for row in rows]]
    sizes = [max(cell_len(row[index]) for row in table) for index in range(len(columns))]
    chosen = [i for i, column in enumerate(columns) if not column.optional or any(row[i] for row in table[1:])]
    if width is not None:
        chosen, sizes = _fit(columns, chosen, sizes, width)
    lines = []
    for row in table:
        cells = []
        for place, index in enumerate(chosen):
            cell, size = row[index], sizes[index]
            if cell_len(cell) > size:
                cell = set_cell_size(cell, max(size - 1, 0)).rstrip() + "…"
            padding = " " * (size - cell_len(cell))
            last = place == len(chosen) - 1
            cells.append(padding + cell if columns[index].right else cell + ("" if last else padding))
        lines.append(cells)
    return lines


def _fit(columns: Sequence[Column], chosen: list[int], sizes: list[int], width: int) -> tuple[list[int], list[int]]:
    """Narrow the widest column that may be narrowed, one cell at a time; then leave out optional ones."""
    chosen = list(chosen)
    while True:
        fitted = list(sizes)
        room = width - _GAP * (len(chosen) - 1)
        while sum(fitted[index] for index in chosen) > room:
            able = [i for i in chosen if (narrow := columns[i].narrow) is not None and fitted[i] > narrow]
            if not able:
                break
            fitted[max(able, key=lambda index: fitted[index])] -= 1
        spare = [index for index in chosen if columns[index].optional]
        if sum(fitted[index] for index in chosen) <= room or not spare:
            return chosen, fitted
        chosen.remove(spare[-1])
