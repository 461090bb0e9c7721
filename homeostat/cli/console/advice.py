"""Adds to the message of a refused request what to do about it.

Admission refuses with the same code and reason as authorization, so the server is asked: a SelfSubjectAccessReview
shows whether the caller is allowed to make the request. Only a request that failed costs another one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from homeostat.client.base import Client, Response, Transport, UnreachableError
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class AdvisingTransport:
    """`on_refused_credential` returns the advice about a credential that the server does not accept."""

    def __init__(self, transport: Transport, on_refused_credential: Callable[[], str]) -> None:
        self._transport, self._on_refused_credential = transport, on_refused_credential

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
        if response.status not in {_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND}:
            return response
        try:
            status = msgspec.json.decode(response.body, type=dict)
        except msgspec.DecodeError:
            return response
        advice = await self._advice(response.status, status, method, path)
        if not advice:
            return response
        status["message"] = f"{status.get('message') or status.get('reason') or 'refused'}{advice}"
        return response._replace(body=msgspec.json.encode(status))

    async def _advice(self, code: int, status: JsonObject, method: str, path: str) -> str:
        if code == _UNAUTHORIZED:
            return f": {self._on_refused_credential()}"
        attributes = attributes_of(method, path)
        if attributes is None:
            return ""
        if code == _NOT_FOUND:
            return _missing(status.get("details") or {}, attributes)
        return await self._grant(attributes) if await self._lacks_permission(attributes) else ""

    async def _grant(self, attributes: JsonObject) -> str:
        from homeostat.cli.auth.caller import find_caller

        caller = await find_caller(Client(self._transport))
        if caller is None:
            return "; grant the permission with a RoleBinding or ClusterRoleBinding"
        return f"; an administrator allows it with: {caller.grant(*_asked(attributes))}"

    async def _lacks_permission(self, attributes: JsonObject) -> bool:
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


def _missing(details: JsonObject, attributes: JsonObject) -> str:
    """The namespace that an object was looked for in, or what to do about one that does not exist."""
    namespace, kind = attributes.get("namespace"), details.get("kind")
    if kind == "namespaces" and attributes["resource"] != "namespaces":
        return f"; create it first: add a Namespace to the files, or: kubectl create namespace {details.get('name')}"
    if namespace and attributes.get("name") and details.get("name") == attributes["name"]:
        return f' in namespace "{namespace}"'
    return ""


def _asked(attributes: JsonObject) -> tuple[list[str], list[str]]:
    """The request as arguments of `auth grant`: verb, resource and name; and the namespace."""
    resource = ".".join(filter(None, (attributes["resource"], attributes.get("group"))))
    subresource = attributes.get("subresource")
    wanted = [attributes["verb"], f"{resource}/{subresource}" if subresource else resource]
    # A rule for one name allows no request that names no object.
    if attributes.get("name") and attributes["verb"] not in {"create", "deletecollection"}:
        wanted.append(attributes["name"])
    namespace = attributes.get("namespace")
    return wanted, ["-n", namespace] if namespace else ["-A"]


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


async def missing_text(client: Client, error: ApiError) -> str:
    """The message of the error. If an object does not exist, it names the namespaces that have one of this name."""
    from homeostat.cli.objects.targets import find_elsewhere

    found = await find_elsewhere(client, error) if isinstance(error, NotFoundError) else []
    if not found:
        return error.message
    return f"{error.message}; it is in namespace {' and '.join(found)}: pass -n {found[0]}"
