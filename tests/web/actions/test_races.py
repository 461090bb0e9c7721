"""Somebody else writes between what a caller has seen and what it writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.objects.json import JsonObject
from homeostat.web.actions.face import Face
from tests.web.actions.calling import Api, note

NOTE = "/apis/resources.homeostat.dev/v1/namespaces/default/notes/one"


class Interloper:
    """Writes to the resource right before the face first does."""

    def __init__(self, inner: Transport, client: Client, patch: JsonObject) -> None:
        self._inner, self._client, self._patch = inner, client, patch
        self.has_written = False

    async def send(self, method: str, path: str, **rest: Any) -> Response:
        if method in ("PUT", "DELETE") and path == NOTE and not self.has_written:
            self.has_written = True
            await self._client.merge(NOTE, self._patch)
        return await self._inner.send(method, path, **rest)

    async def stream(self, path: str, **rest: Any) -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, **rest)


@pytest.mark.parametrize(
    ("method", "patch", "is_conditional", "expected"),
    [
        ("PUT", {"spec": {"text": "theirs"}}, True, (412, "theirs")),
        ("DELETE", {"spec": {"text": "theirs"}}, True, (412, "theirs")),
        ("PUT", {"metadata": {"labels": {"team": "shop"}}}, True, (200, "mine")),
        ("PUT", {"spec": {"text": "theirs"}}, False, (200, "mine")),
    ],
    ids=["a-change-is-not-lost", "a-change-is-not-deleted", "what-is-not-declared-is-no-matter", "the-last-one-counts"],
)
async def test_what_was_declared_meanwhile_counts_for_who_asks_for_it(
    notes: Api,
    face: Face,
    client: Client,
    method: str,
    patch: JsonObject,
    is_conditional: bool,
    expected: tuple[int, str],
) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    seen = (await notes.get("/resources/1")).etag
    face.client = client.over(lambda inner: Interloper(inner, client, patch))
    headers = {"If_Match": seen} if is_conditional else {}
    body = {"spec": {"text": "mine"}} if method == "PUT" else None
    answer = await notes.call(method, "/resources/1", body, **headers)
    assert (answer.status, (await client.get(NOTE))["spec"]["text"]) == expected
    assert "deletionTimestamp" not in (await client.get(NOTE))["metadata"]
