"""Which kinds a server has, over every transport and on a real cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.client.discovery import Discovery
from homeostat.client.kinds import read_discovery
from homeostat.objects.errors import BadRequestError, InternalError, NotFoundError, UnavailableError
from homeostat.objects.kind import DEFINITION, DEPLOYMENT, Kind
from homeostat.plane import Plane

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


class Counting:
    """A transport that counts what is asked, and may refuse it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.count = 0
        self.is_refusing = False

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self.count += 1
        if self.is_refusing:
            return Response(500, b"{}")
        return await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)


async def test_a_kind_is_found_by_manifest_and_by_word(client: Client) -> None:
    discovery = Discovery(client)
    found = await discovery.find("apps/v1", "Deployment")
    assert found.path("shop", "a") == DEPLOYMENT.path("shop", "a")
    assert {"list", "watch", "patch"} <= found.verbs
    for word in ("deploy", "deployments", "Deployment", "DEPLOYMENT"):
        assert await discovery.find_word(word) == found
    assert (await discovery.find_word("events")).group == ""
    assert (await discovery.find_word("events", "events.k8s.io")).group == "events.k8s.io"
    assert not (await discovery.find_word("ns")).is_namespaced


async def test_what_is_known_costs_nothing_and_a_miss_asks_again_after_a_while(plane: Plane) -> None:
    transport = Counting(plane.client._transport)
    now = 0.0
    discovery = Discovery(Client(transport), clock=lambda: now)
    found = await asyncio.gather(*(discovery.find("v1", "Pod") for _ in range(10)))
    assert len(set(found)) == 1
    assert transport.count == 2
    await plane.client.create(DEFINITION.path(""), WIDGETS)
    with pytest.raises(NotFoundError, match="is its definition installed"):
        await discovery.find("example.com/v1", "Widget")
    assert transport.count == 2
    now = 5.0
    assert await discovery.find_word("wd", "example.com") == await discovery.find("example.com/v1", "Widget")
    assert transport.count == 4


async def test_while_a_server_fails_nothing_is_said_to_be_missing_and_what_is_known_stays(plane: Plane) -> None:
    transport = Counting(plane.client._transport)
    now = 0.0
    discovery = Discovery(Client(transport), clock=lambda: now)
    pod = await discovery.find("v1", "Pod")
    now, transport.is_refusing = 5.0, True
    results = await asyncio.gather(*(discovery.find_word("wd") for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in results] == [UnavailableError] * 5
    assert transport.count == 3
    assert await discovery.find("v1", "Pod") == pod
    with pytest.raises(InternalError):
        await discovery.refresh()
    now, transport.is_refusing = 10.0, False
    with pytest.raises(NotFoundError):
        await discovery.find_word("wd")


@pytest.mark.parametrize("document", [b'{"kind":"APIGroupList"}', b"[]", b"<html>"])
def test_a_server_without_aggregated_discovery_is_told(document: bytes) -> None:
    with pytest.raises(BadRequestError):
        list(read_discovery(document))


def test_a_resource_without_a_kind_is_passed_over() -> None:
    document = (
        b'{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":['
        b'{"resource":"as","scope":"Cluster"},{"resource":"bs","scope":"Cluster","responseKind":{"kind":"B"}}]}]}]}'
    )
    assert list(read_discovery(document)) == [Kind("g", "v1", "bs", "B", is_namespaced=False)]
