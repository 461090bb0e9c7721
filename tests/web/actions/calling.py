"""The REST API over HTTP, as its callers see it."""

from __future__ import annotations

from io import BytesIO
from typing import Any, NamedTuple

import aiohttp

from homeostat.objects.json import JsonObject, encode
from homeostat.testing.eventually import eventually

API = "/api/v1"
NOTE_TYPE: JsonObject = {
    "name": "Note",
    "version": "v1",
    "description": "A note on the shelf",
    "schema": {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string"},
            "size": {"type": "integer", "minimum": 1, "default": 3},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    },
}


class Answer(NamedTuple):
    status: int
    body: Any
    headers: Any

    @property
    def etag(self) -> str:
        found: str = self.headers["ETag"]
        return found


def note(name: str, text: str = "hello", **more: Any) -> JsonObject:
    return {
        "name": name,
        "resource_type_name": "Note",
        "resource_type_version": "v1",
        "action_plugin": "shelf",
        "spec": {"text": text},
        **more,
    }


class Api:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self.url = session, url

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Headers by names with underscores. Bytes are sent as they are."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = BytesIO(body if isinstance(body, bytes) else encode(body)) if body is not None else None
        path = path if path == "/" else f"{API}{path}" if not path.startswith(API) else path
        async with self._session.request(method, f"{self.url}{path}", headers=named, data=sent) as response:
            is_json = response.content_type == "application/json" and response.status != 204
            return Answer(response.status, await response.json() if is_json else None, response.headers)

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.call("GET", path, **headers)

    async def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return await self.call("POST", path, body, **headers)

    async def put(self, path: str, body: Any, **headers: str) -> Answer:
        return await self.call("PUT", path, body, **headers)

    async def delete(self, path: str, **headers: str) -> Answer:
        return await self.call("DELETE", path, **headers)

    async def made(self, path: str, body: Any) -> Any:
        answer = await self.post(path, body)
        assert answer.status == 201, answer
        return answer.body

    async def becomes(self, number: int, status: str) -> Any:
        """The resource once its status is this one, and its conditions agree."""
        wanted = {"ready": "True", "failed": "False"}.get(status)

        def is_so(answer: Answer) -> bool:
            told = {each["type"]: each["status"] for each in answer.body.get("conditions") or []}
            return answer.body.get("status") == status and (wanted is None or told.get("Ready") == wanted)

        return (await eventually(lambda: self.get(f"/resources/{number}"), is_so)).body

    async def is_gone(self, number: int) -> None:
        await eventually(lambda: self.get(f"/resources/{number}"), lambda each: each.status == 404)
