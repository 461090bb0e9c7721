"""Where a watch stands, as frozen values, and where it goes on after a failure. Pure.

Two kinds of failure: "not now" (refused for now, broken, silent) keeps the place, since the version or the token is
still good; everything else that a server may say begins anew, since nothing is known of the place any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError, ExpiredError, TooManyRequestsError, UnavailableError
from homeostat.runtime.cache.decoding import GarbledError


@dataclass(slots=True, frozen=True)
class Streaming:
    """A watch that begins with everything there is."""


@dataclass(slots=True, frozen=True)
class Listing:
    """The page that `token` asks for, the first without; unpaged where a list outlived its tokens."""

    token: str = ""
    is_paged: bool = True


@dataclass(slots=True, frozen=True)
class Watching:
    """From the newest version seen."""


Phase = Streaming | Listing | Watching


@dataclass(slots=True, frozen=True)
class Waiting:
    delay_s: float
    reason: str
    then: Phase


State = Phase | Waiting


class SilentError(Exception):
    """A stream on which nothing comes any more."""


class UnheardError(Exception):
    """A stream on which nothing ever came. A server put back to a backup does not refuse a version that it has yet to
    reach: it waits.
    """


_NOT_NOW = (TooManyRequestsError, UnavailableError, UnreachableError, SilentError, OSError)
FAILURES = (ApiError, UnreachableError, SilentError, UnheardError, GarbledError, OSError)
"""What the world does to a watch; any other error is a mistake of ours and ends it."""


def after_failure(phase: Phase, error: Exception | None, *, start: Streaming | Listing) -> Phase:
    """Where to go on once a step failed; without an error the server ended the stream as it may."""
    match phase:
        case Watching():
            return phase if error is None or isinstance(error, _NOT_NOW) else start
        case Streaming():
            return phase if isinstance(error, TooManyRequestsError | UnavailableError) else Listing()
        case Listing() if isinstance(error, ExpiredError):
            return Listing(is_paged=False)
        case Listing():
            return phase if isinstance(error, _NOT_NOW) else Listing(is_paged=phase.is_paged)
