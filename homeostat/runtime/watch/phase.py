"""The states of a watch as frozen values, and the state after a failure. Pure.

There are two kinds of failures. After a temporary one (refused for now, connection lost, silent) the watch resumes,
because its resource version or continue token is still valid. After any other error of the server it starts again.
"""

from __future__ import annotations

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError, ExpiredError, TooManyRequestsError, UnavailableError
from homeostat.runtime.cache.decoding import GarbledError


class Streaming(msgspec.Struct, frozen=True):
    """A watch that starts with the current state as initial events."""


class Listing(msgspec.Struct, frozen=True):
    """The page of `token`, or the first page; unpaged if a continue token expired before the end of the list."""

    token: str = ""
    is_paged: bool = True


class Watching(msgspec.Struct, frozen=True):
    """A watch from the newest resource version that was seen."""


Phase = Streaming | Listing | Watching


class Waiting(msgspec.Struct, frozen=True):
    delay_s: float
    reason: str
    then: Phase


State = Phase | Waiting


class SilentError(Exception):
    """A stream on which no more events arrive."""


class UnheardError(Exception):
    """A stream on which no event ever arrived. A server that was restored from a backup does not refuse a newer
    resource version: it waits until it reaches it.
    """


_NOT_NOW = (TooManyRequestsError, UnavailableError, UnreachableError, SilentError, OSError)
FAILURES = (ApiError, UnreachableError, SilentError, UnheardError, GarbledError, OSError)
"""Errors that a watch handles. Any other error is a defect and ends it."""


def after_failure(phase: Phase, error: Exception | None, *, start: Streaming | Listing) -> Phase:
    """The phase after a failed step. Without an error, the server closed the stream, as it may at any time."""
    match phase:
        case Watching():
            return phase if error is None or isinstance(error, _NOT_NOW) else start
        case Streaming():
            return phase if isinstance(error, TooManyRequestsError | UnavailableError) else Listing()
        case Listing() if isinstance(error, ExpiredError):
            return Listing(is_paged=False)
        case Listing():
            return phase if isinstance(error, _NOT_NOW) else Listing(is_paged=phase.is_paged)
