"""A plane, and a conversion webhook of the same event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from tests.api.conftest import Api
from tests.api.objects import CRDS
from tests.differential.conversions import definition
from tests.differential.converter import convert
from tests.server.admission.conftest import api, hooks, identity, plane  # noqa: F401
from tests.server.admission.hooks import Identity


class Webhook:
    """`reviews` has the wanted version and the names of the objects of each review; `stop` makes it hang."""

    def __init__(self, bundle: str) -> None:
        self.reviews: list[tuple[str, list[str]]] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.arrived = asyncio.Event()
        self.failure = ""
        self.agents: set[str] = set()
        self.port = 0
        self._bundle = bundle

    @property
    def converted(self) -> list[str]:
        return [f"{version.rpartition('/')[2]} {name}" for version, names in self.reviews for name in names]

    def conversion(self, **webhook: Any) -> dict[str, Any]:
        config = {"url": f"https://localhost:{self.port}/convert", "caBundle": self._bundle}
        return {
            "strategy": "Webhook",
            "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"], **webhook},
        }

    async def handle(self, request: Request) -> Reply:
        review = msgspec.json.decode(request.body)
        asked = review["request"]
        self.agents.add(request.headers.get("user-agent", ""))
        self.reviews.append((asked["desiredAPIVersion"], [each["metadata"]["name"] for each in asked["objects"]]))
        self.arrived.set()
        await self.goes_on.wait()
        result = {"status": "Failure", "message": self.failure} if self.failure else {"status": "Success"}
        converted = [convert(each, asked["desiredAPIVersion"]) for each in asked["objects"]]
        for each in converted:
            if each["apiVersion"].endswith("v2") and "size" in each["metadata"].get("labels", {}):
                each["metadata"] = {**each["metadata"], "labels": {"width": each["metadata"]["labels"]["size"]}}
        response = {"uid": asked["uid"], "result": result, "convertedObjects": converted}
        return Reply(200, msgspec.json.encode({**review, "response": response}))


@pytest.fixture
async def webhook(identity: Identity, api: Api) -> AsyncIterator[Webhook]:  # noqa: F811
    """Of the definition of Tables, which the plane has."""
    webhook = Webhook(identity.bundle)
    server = await serve(webhook.handle, port=0, ssl=identity.server)
    webhook.port = server.port
    assert (await api("POST", CRDS, definition(webhook.conversion()))).status == 201
    try:
        yield webhook
    finally:
        webhook.goes_on.set()
        await server.stop(grace_s=0.2)
