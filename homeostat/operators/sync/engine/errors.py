"""The six kinds of errors that every part of a synchronisation raises, and the exit code of each. Pure.

A text names the thing, the expectation and the fact. `of` puts the resource in front of it, once.
"""

from __future__ import annotations

from typing import ClassVar, Final, TypeVar

LONGEST_SHOWN: Final = 300
"""Characters of a server's answer that an error repeats."""

S = TypeVar("S", bound="SyncError")


class SyncError(Exception):
    """Anything else than the five below."""

    kind: ClassVar[str] = "Internal"
    exit_code: ClassVar[int] = 1
    resource: str = ""
    status: int = 0
    """Of the answer that it stands for."""
    retry_after_s: float | None = None
    """How long the server asked to wait."""


class ValidationError(SyncError):
    """The input is wrong: a path, a file, metadata, or a request that the server refuses as such."""

    kind = "Validation"
    exit_code = 2


class NotFoundError(SyncError):
    kind = "NotFound"
    exit_code = 3


class AuthError(SyncError):
    kind = "Auth"
    exit_code = 4


class ConflictError(SyncError):
    kind = "Conflict"
    exit_code = 5


class TransportError(SyncError):
    """The server cannot be reached, or it failed."""

    kind = "Transport"
    exit_code = 6


class ListShapeError(ValidationError):
    """The answer is not a list of objects."""


class UnrenderedError(ValidationError):
    """A template refers to a value that is missing here; another source may have it."""


def of(resource: str, error: S) -> S:
    """The same error with the resource that it belongs to in front of its text."""
    if error.resource:
        return error
    text = str(error)
    if not text.startswith(resource):
        error.args = (f"{resource}: {text}",)
    error.resource = resource
    return error


def of_kind(kind: str, text: str) -> SyncError:
    """The error of a kind, as a plan or a report names it."""
    kinds = (ValidationError, NotFoundError, AuthError, ConflictError, TransportError)
    return next((each for each in kinds if each.kind == kind), SyncError)(text)


def from_status(status: int, text: str) -> SyncError:
    """The error that an HTTP status means."""
    if status in (401, 403):
        return AuthError(text)
    if status == 404:
        return NotFoundError(text)
    if status == 409:
        return ConflictError(text)
    return ValidationError(text) if 400 <= status < 500 else TransportError(text)
