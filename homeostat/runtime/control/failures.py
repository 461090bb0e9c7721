"""What the log says of looks that end badly: what goes on in the same way is told once."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from homeostat.client.base import UnreachableError
from homeostat.objects.decision import Stalled
from homeostat.objects.errors import ApiError
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.runtime.control.operator import Request
from homeostat.runtime.control.outcome import reason_of

log = logging.getLogger(__name__)

_THEIRS = (ApiError, UnreachableError, TimeoutError, UnreadableError)
"""Where in our code these came up helps nobody."""
_REPEATED = (
    "the same actions are asked for right after they were done: act does not bring about what decide asks for; "
    "let decide compare only what act sets, and observe what it has set"
)


class Complaints:
    """Of one controller. Remembers the objects that are in trouble."""

    def __init__(self) -> None:
        self._troubled: dict[Request, str] = {}
        self._repeating: set[Request] = set()

    def failed(self, request: Request, error: Exception) -> None:
        if self._is_new(request, error):
            exc_info = None if isinstance(error, _THEIRS) else error
            log.error("failed", extra=told_of(request, error), exc_info=exc_info)

    def stalled(self, request: Request, error: Stalled) -> None:
        self._repeating.discard(request)
        if self._is_new(request, error):
            log.warning("stalled", extra=told_of(request, error))

    def repeated(self, request: Request, actions: Iterable[object]) -> None:
        """The actions themselves are not told: they may hold secrets."""
        self._troubled.pop(request, None)
        if request not in self._repeating:
            self._repeating.add(request)
            names = ", ".join(dict.fromkeys(type(each).__name__ for each in actions))
            log.warning("repeated", extra={"object": str(request), "actions": names, "told": _REPEATED})

    def acted(self, request: Request) -> None:
        """It was decided on; whether what was done shows in the world, the next look tells."""
        self._troubled.pop(request, None)

    def forget(self, request: Request) -> None:
        self._troubled.pop(request, None)
        self._repeating.discard(request)

    def clear(self) -> None:
        self._troubled.clear()
        self._repeating.clear()

    def _is_new(self, request: Request, error: Exception) -> bool:
        known, trouble = self._troubled.get(request), trouble_of(error)
        self._troubled[request] = trouble
        return known != trouble


def trouble_of(error: Exception) -> str:
    return f"{reason_of(error)}: {error}"


def told_of(request: Request, error: Exception) -> dict[str, str]:
    return {"object": str(request), "reason": reason_of(error), "told": str(error)}
