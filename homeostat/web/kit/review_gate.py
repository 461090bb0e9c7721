"""Authenticates bearer tokens of the Kubernetes API by TokenReview, and checks permissions by SubjectAccessReview.

A member of `system:masters` is an administrator. For everybody else the permissions on a type's resources are those on
its kind in the namespace of this server. Answers are cached for some seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.objects.json import JsonObject
from homeostat.web.kit.gate import Operation, Question, SystemPermission, bearer_token
from homeostat.web.kit.refusal import unauthorized

MASTERS: Final = "system:masters"
REMEMBERED_S: Final = 10.0
_MOST_REMEMBERED: Final = 4096
_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_RIGHTS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_VERBS: Final[dict[Operation, str]] = {"CREATE": "create", "READ": "get", "UPDATE": "update", "DELETE": "delete"}


class Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """Maps types and permissions of an HTTP app to kinds and verbs of the Kubernetes API."""

    of_type: Callable[[str, str], tuple[str, str]]
    """From a type's name and version to group and plural of its kind."""
    permissions: Mapping[SystemPermission, Question]


class ReviewedCaller:
    """A user of the Kubernetes API."""

    id = 0
    is_cluster_user = True

    def __init__(self, user: JsonObject, client: Client, *, token: str, namespace: str, kinds: Kinds) -> None:
        self.username: str = user.get("username") or ""
        self.groups = tuple(user.get("groups") or ())
        self.is_admin = MASTERS in self.groups
        self._user, self._client, self._namespace, self._kinds = user, client, namespace, kinds
        self._answers: dict[Question, bool] = {}
        self._token = token
        self._acting: Client | None = None

    def client(self, own: Client) -> Client:
        if self._acting is None:
            self._acting = own.bearing(self._token)
        return self._acting

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        if self.is_admin:
            return True
        group, plural = self._kinds.of_type(type_name, type_version)
        return await self.allows(Question(group, plural, _VERBS[operation], self._namespace))

    async def has(self, permission: SystemPermission) -> bool:
        return await self.allows(self._kinds.permissions[permission])

    async def may_read_secret(self, name: str) -> bool:
        return await self.allows(Question("", "secrets", "get", self._namespace, name))

    async def allows(self, question: Question) -> bool:
        if self.is_admin:
            return True
        if question not in self._answers:
            spec = {
                **{name: value for name, value in self._user.items() if name in ("uid", "groups", "extra") and value},
                "user": self.username,
                "resourceAttributes": question._asdict(),
            }
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
            answer = await self._client.create(_RIGHTS, review)
            self._answers[question] = bool(answer["status"].get("allowed"))
        return self._answers[question]


class ReviewGate:
    """`clock` counts seconds."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        kinds: Kinds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._namespace, self._kinds, self._clock = client, namespace, kinds, clock
        self._known: dict[bytes, tuple[float, ReviewedCaller]] = {}

    async def identify(self, request: Request) -> ReviewedCaller:
        token = bearer_token(request)
        if not token:
            raise unauthorized()
        key, now = sha256(token.encode()).digest(), self._clock()
        until, caller = self._known.get(key, (now, None))
        if caller is None or until <= now:
            caller = await self._review(token)
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = (now + REMEMBERED_S, caller)
        return caller

    async def _review(self, token: str) -> ReviewedCaller:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._client.create(_TOKENS, review))["status"]
        if not status.get("authenticated"):
            raise unauthorized("the token is not valid")
        return ReviewedCaller(status["user"], self._client, token=token, namespace=self._namespace, kinds=self._kinds)
