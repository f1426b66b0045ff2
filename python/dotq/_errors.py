"""One exception per SQLSTATE that dotq's functions raise; anything unknown passes untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg


class DotqError(Exception):
    """Base of every error that dotq raises itself."""

    sqlstate: str | None = None

    def __init__(self, message: str, *, sqlstate: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate or type(self).sqlstate
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.message), self.__dict__


def _revive(kind: type[DotqError], message: str) -> DotqError:
    """Remake a pickled error, so that it crosses a process boundary whole."""
    return kind(message)


class InvalidArgument(DotqError):
    """An argument is missing, malformed or out of range; the message names it."""

    sqlstate = "22023"


class GateClosed(DotqError):
    """A gate is closed: an operator has stopped this."""

    sqlstate = "JQ001"


class JobNotFound(DotqError):
    """There is no job with this id."""

    sqlstate = "JQ002"


class LeaseLost(DotqError):
    """The lease is not current. Drop the result and do not retry the call."""

    sqlstate = "JQ003"


class WrongState(DotqError):
    """The job is in a state that does not allow this."""

    sqlstate = "JQ004"


class KindUnknown(DotqError):
    """The kind is not registered."""

    sqlstate = "JQ005"


class KindDisabled(DotqError):
    """The kind is disabled."""

    sqlstate = "JQ006"


class PayloadInvalid(DotqError):
    """The payload does not fit the schema of its kind; retrying does not help."""

    sqlstate = "JQ007"


class DeadLetterNotFound(DotqError):
    """There is no dead letter with this id."""

    sqlstate = "JQ008"


class ReplayConflict(DotqError):
    """An active job has the idempotency key of the dead letter."""

    sqlstate = "JQ009"


class AlreadyTriaged(DotqError):
    """The dead letter is closed or was replayed."""

    sqlstate = "JQ010"


class SettingUnknown(DotqError):
    """There is no setting with this key."""

    sqlstate = "JQ011"


class MigrationEdited(DotqError):
    """A migration that was applied has been edited since."""

    sqlstate = "JQ012"


class SchemaNewer(DotqError):
    """The database was migrated by a newer dotq."""

    sqlstate = "JQ013"


class InstallRefused(DotqError):
    """The database or the schema does not allow the installation."""

    sqlstate = "JQ014"


class PayloadUndecodable(DotqError):
    """JSON that PostgreSQL holds and Python cannot read; raised for that one value, when it is read."""


class CommitIndeterminate(DotqError):
    """The commit is on the primary; whether a synchronous standby has it is not known."""


BY_SQLSTATE: dict[str, type[DotqError]] = {
    "22023": InvalidArgument,
    "JQ001": GateClosed,
    "JQ002": JobNotFound,
    "JQ003": LeaseLost,
    "JQ004": WrongState,
    "JQ005": KindUnknown,
    "JQ006": KindDisabled,
    "JQ007": PayloadInvalid,
    "JQ008": DeadLetterNotFound,
    "JQ009": ReplayConflict,
    "JQ010": AlreadyTriaged,
    "JQ011": SettingUnknown,
    "JQ012": MigrationEdited,
    "JQ013": SchemaNewer,
    "JQ014": InstallRefused,
}


def translate(error: psycopg.Error) -> Exception:
    """dotq's own exception for an error of its functions; any other error as it is."""
    kind = BY_SQLSTATE.get(error.sqlstate or "")
    if kind is None:
        return error
    return kind(error.diag.message_primary or str(error), hint=error.diag.message_hint)
