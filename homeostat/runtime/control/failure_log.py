"""Logs failed reconciliations: a failure that repeats unchanged is logged once."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from homeostat.client.base import UnreachableError
from homeostat.objects.decision import Stalled
from homeostat.objects.errors import ApiError
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.runtime.control.failure_conditions import reason_of
from homeostat.runtime.control.operator import Request

log = logging.getLogger(__name__)

_THEIRS = (ApiError, UnreachableError, TimeoutError, UnreadableError)
"""Logged without a traceback: they come from outside our code."""
_REPEATED = (
    "decide returned the same actions right after act carried them out; "
    "let decide compare only what act sets, and let observe read it"
)


class Failures:
    """The failures of one controller, by object."""

    def __init__(self) -> None:
        self._failing: dict[Request, str] = {}
        self._repeating: set[Request] = set()

    def failed(self, request: Request, error: Exception) -> None:
        if self._is_new(request, error):
            exc_info = None if isinstance(error, _THEIRS) else error
            log.error("failed to reconcile", extra=log_fields(request, error), exc_info=exc_info)

    def stalled(self, request: Request, error: Stalled) -> None:
        self._repeating.discard(request)
        if self._is_new(request, error):
            log.warning("reconciliation stalled", extra=log_fields(request, error))

    def repeated(self, request: Request, actions: Iterable[object]) -> None:
        """Logs the names of the actions only: the actions may hold secrets."""
        self._failing.pop(request, None)
        if request not in self._repeating:
            self._repeating.add(request)
            names = ", ".join(dict.fromkeys(type(each).__name__ for each in actions))
            fields = {"object": str(request), "actions": names, "hint": _REPEATED}
            log.warning("actions had no effect; retrying", extra=fields)

    def acted(self, request: Request) -> None:
        """A decision was carried out; the next reconciliation shows whether it had its effect."""
        self._failing.pop(request, None)

    def forget(self, request: Request) -> None:
        self._failing.pop(request, None)
        self._repeating.discard(request)

    def clear(self) -> None:
        self._failing.clear()
        self._repeating.clear()

    @property
    def reasons(self) -> dict[Request, str]:
        """Why objects fail now."""
        return self._failing

    def _is_new(self, request: Request, error: Exception) -> bool:
        known, summary = self._failing.get(request), summary_of(error)
        self._failing[request] = summary
        return known != summary


def summary_of(error: Exception) -> str:
    return f"{reason_of(error)}: {error}"


def log_fields(request: Request, error: Exception) -> dict[str, str]:
    return {"object": str(request), "reason": summary_of(error)}
