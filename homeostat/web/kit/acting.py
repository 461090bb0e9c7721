"""Writes on behalf of a caller.

A user of the Kubernetes API acts with their own token, so that RBAC, admission, managed fields and the audit log are
about them. Users of an HTTP app alone do not exist in the Kubernetes API: for them this server acts, after it has
checked their role.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from homeostat.client.base import Client, Response, Transport, error_in
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import forbidden, unauthorized


def acting_client(caller: Caller, own: Client) -> Client:
    """`own` is the client of this server. With the result, `RefusalError` 401 or 403 if the API refuses the caller."""
    return caller.client(own).over(_Refusing) if caller.is_cluster_user else own


class _Refusing:
    """Tells a refusal of the caller from one of this server, which is an error of its installation."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        answer = await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        _check(answer)
        return answer

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        answer = await self._transport.stream(path, query=query, accept=accept)
        if isinstance(answer, Response):
            _check(answer)
        return answer


def _check(answer: Response) -> None:
    match answer.status:
        case 401:
            raise unauthorized("the token is not valid")
        case 403:
            raise forbidden(error_in(answer).message)
