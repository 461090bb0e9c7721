"""Which kinds a server has, over every transport and on a real cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from homeostat.client.base import Client, Response, Transport, UnreachableError
from homeostat.client.discovery import Discovery, discover
from homeostat.client.kinds import Discovered, GroupVersion, read_discovery, read_group_version
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


async def test_a_kind_is_found_by_the_names_of_a_manifest(client: Client) -> None:
    discovery = Discovery(client)
    found = await discovery.find("apps/v1", "Deployment")
    assert found.path("shop", "a") == DEPLOYMENT.path("shop", "a")
    assert {"list", "watch", "patch"} <= found.verbs
    assert {"deploy", "deployment", "deployments"} <= found.words()
    assert (await discovery.find("v1", "Event")).group == ""
    assert not (await discovery.find("v1", "Namespace")).is_namespaced


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
    assert (await discovery.find("example.com/v1", "Widget")).short_names == ("wd",)
    assert transport.count == 4


async def test_while_a_server_fails_nothing_is_said_to_be_missing_and_what_is_known_stays(plane: Plane) -> None:
    transport = Counting(plane.client._transport)
    now = 0.0
    discovery = Discovery(Client(transport), clock=lambda: now)
    pod = await discovery.find("v1", "Pod")
    now, transport.is_refusing = 5.0, True
    results = await asyncio.gather(
        *(discovery.find("example.com/v1", "Widget") for _ in range(5)), return_exceptions=True
    )
    assert [type(each) for each in results] == [UnavailableError] * 5
    assert transport.count == 3
    assert await discovery.find("v1", "Pod") == pod
    with pytest.raises(InternalError):
        await discovery.refresh()
    now, transport.is_refusing = 10.0, False
    with pytest.raises(NotFoundError):
        await discovery.find("example.com/v1", "Widget")


class Plain:
    """A way to a server on which nothing but plain JSON is asked for, and on which some paths are broken."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.broken: dict[str, Response | UnreachableError] = {}
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self.asked.append(path)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            broken = self.broken.get(path)
            if isinstance(broken, UnreachableError):
                raise broken
            accept = ",".join(each for each in accept.split(",") if "as=" not in each)
            return broken or await self._transport.send(method, path, query=query, body=body, accept=accept)
        finally:
            self.at_once -= 1

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)


AWAY = Response(503, b'{"kind":"Status","code":503,"reason":"ServiceUnavailable","message":"no endpoints"}')


async def test_a_server_without_aggregated_discovery_lists_the_same(client: Client) -> None:
    plain = Plain(client._transport)
    told, expected = await discover(Client(plain)), await discover(client)
    assert sorted(told.kinds, key=str) == sorted(expected.kinds, key=str)
    has_group = [bool(each.group) for each in told.kinds]
    assert has_group == sorted(has_group)
    assert (told.stale, expected.stale) == ((), ())
    versions = {each.api_version for each in expected.kinds}
    assert {"/api/v1", "/apis/apps/v1"} <= set(plain.asked)
    assert len(plain.asked) == len(set(plain.asked)) >= 2 + len(versions)
    assert 1 < plain.most_at_once <= 8


async def test_a_kind_is_found_without_aggregated_discovery(client: Client) -> None:
    discovery = Discovery(Client(Plain(client._transport)))
    assert await discovery.find("apps/v1", "Deployment") == await Discovery(client).find("apps/v1", "Deployment")


@pytest.mark.parametrize(
    "broken",
    [AWAY, Response(403, b"{}"), Response(200, b"<html>"), UnreachableError("no answer")],
    ids=["503", "403", "no JSON", "no answer"],
)
async def test_a_group_version_that_cannot_be_asked_takes_no_other_with_it(
    client: Client, broken: Response | UnreachableError
) -> None:
    plain = Plain(client._transport)
    plain.broken["/apis/apps/v1"] = broken
    told = await discover(Client(plain))
    assert told.stale == ("apps/v1",)
    versions = {each.api_version for each in told.kinds}
    assert ("apps/v1" in versions, {"v1", "batch/v1"} <= versions) == (False, True)


async def test_a_group_version_that_has_gone_meanwhile_is_not_missed(client: Client) -> None:
    plain = Plain(client._transport)
    plain.broken["/apis/apps/v1"] = Response(404, b"404 page not found")
    assert (await discover(Client(plain))).stale == ()


async def test_a_server_that_lists_nothing_is_in_trouble(client: Client) -> None:
    plain = Plain(client._transport)
    plain.broken["/api/v1"] = AWAY
    with pytest.raises(UnavailableError, match="no endpoints"):
        await discover(Client(plain))


async def test_an_unknown_kind_of_a_stale_group_version_is_unavailable_and_not_missing(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    plain = Plain(client._transport)
    plain.broken["/apis/apps/v1"] = AWAY
    discovery = Discovery(Client(plain))
    with pytest.raises(UnavailableError, match="discovery of apps/v1 failed; is its API server running"):
        await discovery.find("apps/v1", "Deployment")
    with pytest.raises(NotFoundError):
        await discovery.find("batch/v1", "Deployment")
    assert (await discovery.find("batch/v1", "Job")).group == "batch"
    assert discovery.stale == ("apps/v1",)
    await discovery.refresh()
    assert [each.message for each in caplog.records if "discovery" in each.name] == ["discovery incomplete"]


async def test_what_was_known_of_a_group_version_stays_while_it_is_stale(client: Client) -> None:
    plain = Plain(client._transport)
    discovery = Discovery(Client(plain))
    deployment = await discovery.find("apps/v1", "Deployment")
    plain.broken["/apis/apps/v1"] = AWAY
    for _ in range(2):
        await discovery.refresh()
        assert await discovery.find("apps/v1", "Deployment") == deployment
    plain.broken["/apis/apps/v1"] = Response(200, b'{"kind":"APIResourceList","resources":null}')
    await discovery.refresh()
    with pytest.raises(NotFoundError):
        await discovery.find("apps/v1", "Deployment")


@pytest.mark.parametrize("document", [b'{"kind":"Status"}', b"[]", b"<html>", b"[" * 100_000], ids=range(4))
def test_what_is_no_discovery_is_reported(document: bytes) -> None:
    with pytest.raises(BadRequestError, match="discovery cannot be read"):
        read_discovery(document)


def test_of_plain_documents_the_preferred_version_comes_first() -> None:
    groups = (
        b'{"kind":"APIGroupList","groups":[{"name":"g","versions":[{"groupVersion":"g/v1","version":"v1"},'
        b'{"groupVersion":"g/v2","version":"v2"}],"preferredVersion":{"groupVersion":"g/v2","version":"v2"}}]}'
    )
    assert read_discovery(groups) == [GroupVersion("g", "v2"), GroupVersion("g", "v1")]
    assert read_discovery(b'{"kind":"APIVersions","versions":["v1"]}') == [GroupVersion("", "v1")]
    assert read_discovery(b'{"kind":"APIGroupList","groups":null}') == []


def test_of_plain_documents_subresources_are_no_kinds() -> None:
    document = (
        b'{"kind":"APIResourceList","resources":[{"name":"bs","kind":"B","namespaced":false,"verbs":null},'
        b'{"name":"bs/status","kind":"B","namespaced":false,"verbs":["get"]}]}'
    )
    of = GroupVersion("g", "v1")
    assert read_group_version(document, of) == [Kind("g", "v1", "bs", "B", is_namespaced=False)]


def test_an_aggregated_document_marks_what_is_stale() -> None:
    document = (
        b'{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"g"},"versions":['
        b'{"version":"v1","freshness":"Stale"},{"version":"v2","freshness":"Current"}]}]}'
    )
    assert read_discovery(document) == Discovered([], ("g/v1",))


def test_a_resource_without_a_kind_is_passed_over() -> None:
    document = (
        b'{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":['
        b'{"resource":"as","scope":"Cluster"},{"resource":"bs","scope":"Cluster","responseKind":{"kind":"B"}}]}]}]}'
    )
    assert read_discovery(document) == Discovered([Kind("g", "v1", "bs", "B", is_namespaced=False)])
