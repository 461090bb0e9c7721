"""Says what to do about a refused request if the reason is a missing permission.

Admission refuses with the same code and reason as authorization, so the server is asked: a SelfSubjectAccessReview
shows whether the caller is allowed to make the request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import msgspec

from homeostat.client.base import Client, Response, Transport, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject

_FORBIDDEN: Final = 403
_HINT: Final = "; grant the permission with a RoleBinding or ClusterRoleBinding"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class HintingTransport:
    """Adds a hint to the message of a refusal if the caller lacks the permission for the request."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        response = await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        return await self._explained(response, method, path)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        answer = await self._transport.stream(path, query=query, accept=accept)
        return await self._explained(answer, "WATCH", path) if isinstance(answer, Response) else answer

    async def _explained(self, response: Response, method: str, path: str) -> Response:
        if response.status != _FORBIDDEN or not await self._lacks_permission(method, path):
            return response
        try:
            status = msgspec.json.decode(response.body, type=dict)
        except msgspec.DecodeError:
            return response
        status["message"] = f"{status.get('message', 'forbidden')}{_HINT}"
        return response._replace(body=msgspec.json.encode(status))

    async def _lacks_permission(self, method: str, path: str) -> bool:
        attributes = attributes_of(method, path)
        if attributes is None:
            return False
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            answer = await Client(self._transport).create(_REVIEWS, review)
        except (ApiError, UnreachableError):
            return False
        return (answer.get("status") or {}).get("allowed") is False


def attributes_of(method: str, path: str) -> JsonObject | None:
    """The attributes that RBAC decides on; None if the path is not that of an object or a collection."""
    from homeostat.server.request.paths import parse_path

    parsed = parse_path(path)
    if parsed is None:
        return None
    match method:
        case "GET":
            verb = "get" if parsed.name else "list"
        case "DELETE":
            verb = "delete" if parsed.name else "deletecollection"
        case _:
            verb = _VERBS.get(method, "watch")
    attributes = {
        "verb": verb,
        "group": parsed.group,
        "version": parsed.version,
        "resource": parsed.plural,
        "subresource": parsed.subresource,
        "namespace": parsed.namespace,
        "name": parsed.name,
    }
    return {key: value for key, value in attributes.items() if value}
