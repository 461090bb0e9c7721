"""Who makes the requests of a command, and the command that would allow them one more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError

_ACCOUNT: Final = "system:serviceaccount:"


class Caller(NamedTuple):
    user: str
    groups: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f'user "{self.user}"' if self.user else f'group "{self.groups[0]}"'

    @property
    def _subject(self) -> tuple[str, str]:
        if self.user.startswith(_ACCOUNT):
            return "--serviceaccount", self.user.removeprefix(_ACCOUNT)
        return ("--user", self.user) if self.user else ("--group", self.groups[0])

    def grant(self, wanted: Sequence[str], where: Sequence[str]) -> str:
        """The command that allows it: `wanted` is a verb, a resource and perhaps a name, `where` the namespace."""
        return shlex.join(("homeostat", "auth", "grant", *wanted, *self._subject, *where))


async def find_caller(client: Client) -> Caller | None:
    """None if the server does not say, as before Kubernetes 1.28."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = await client.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    except (ApiError, UnreachableError):
        return None
    found = (answer.get("status") or {}).get("userInfo") or {}
    return Caller(str(found.get("username") or ""), tuple(found.get("groups") or ()))
