"""Write the asynchronous client: the synchronous one with async and await where they belong.

python tests/driver/twin.py     write python/dotq/_aclient.py anew
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "dotq"
SOURCE = PACKAGE / "_client.py"
TWIN = PACKAGE / "_aclient.py"

_CHANGES = [
    (
        r'\A"""The driver: (.*?)"""',
        r'"""The driver for asyncio, made from _client.py by tests/driver/twin.py: change it there."""',
    ),
    (r"\bpsycopg\.(Connection|Cursor)\b", r"psycopg.Async\1"),
    (r"^class Client:", "class AsyncClient:"),
    (r"^    def (?!__)", "    async def "),
    (r"(?<!def )\bself\._run\(", "await self._run("),
    (r"await (self\._run\(.*\))\[0\]$", r"(await \1)[0]"),
    (r"\bwith psycopg\.", "async with psycopg."),
    (r"\bcursor\.(execute|fetchall)\(", r"await cursor.\1("),
]


def twin(text: str) -> str:
    """The asynchronous client for a synchronous one."""
    for pattern, replacement in _CHANGES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    TWIN.write_text(twin(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    subprocess.run(["ruff", "format", "--quiet", str(TWIN)], check=True)
