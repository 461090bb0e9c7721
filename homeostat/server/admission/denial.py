"""A denial whose code and reason were chosen by a webhook or by the author of a policy."""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.objects.errors import ApiError, Cause


class DeniedError(ApiError):
    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        kind: str = "",
        group: str = "",
        name: str = "",
        causes: Iterable[Cause] = (),
        retry_after_s: int = 0,
    ) -> None:
        super().__init__(message, kind=kind, group=group, name=name, causes=causes, retry_after_s=retry_after_s)
        self.code, self.reason = code, reason
