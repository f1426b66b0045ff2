"""Acts on several things, each in a transaction of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar
from uuid import UUID

import psycopg

from dotq._client import Client
from dotq._errors import DotqError
from dotq.cli._common import EXIT_CONNECT, EXIT_PARTLY, App, Problem, complain

Row = TypeVar("Row")


class Bulk(Generic[Row]):
    """What was done and what was refused."""

    def __init__(self, app: App, ids: Iterable[UUID], act: Callable[[Client, UUID], Row]) -> None:
        """Do them all; a refusal is printed and does not stop the others, a lost connection does."""
        self._app = app
        self.done: list[Row] = []
        self._refused: list[Problem] = []
        with app.session() as session:
            for chosen in ids:
                try:
                    with session.transaction() as client:
                        answer = act(client, chosen)
                except (DotqError, psycopg.Error) as error:
                    problem = app.problem(error)
                    app.explain_traceback()
                    complain(problem.message, sqlstate=problem.sqlstate, hint=problem.hint)
                    self._refused.append(problem)
                    if problem.code == EXIT_CONNECT:
                        break
                else:
                    self.done.append(answer)

    def leave(self, verb: str) -> None:
        """Exit with 7 when only some were done, with the code of the refusal when none was."""
        if self._refused and self.done:
            self._app.note(f"{len(self.done)} {verb}, {len(self._refused)} not")
            sys.exit(EXIT_PARTLY)
        if self._refused:
            sys.exit(self._refused[0].code)
