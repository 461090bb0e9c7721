"""Requests over real sockets: to a plane, and to servers that misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from homeostat.client.base import Client, Response
from homeostat.client.endpoint.kubeconfig import Endpoint, KubeconfigError
from homeostat.client.http.transport import HttpTransport, UnreachableError, open_transport
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request
from homeostat.edge.server import serve
from homeostat.edge.stream import Stream, frame
from homeostat.objects.errors import NotFoundError

NAMESPACES = "/api/v1/namespaces"


async def test_a_client_writes_reads_and_watches_a_plane(endpoint: Endpoint) -> None:
    async with open_transport(endpoint) as transport:
        client = Client(transport)
        _, revision = await client.list(NAMESPACES)
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
        assert (await client.get(f"{NAMESPACES}/new"))["metadata"]["name"] == "new"
        events = client.watch(NAMESPACES, resourceVersion=revision)
        event = await asyncio.wait_for(anext(events), 30)
        assert (event.type, event.obj["metadata"]["name"]) == ("ADDED", "new")
        with pytest.raises(NotFoundError):
            await client.get(f"{NAMESPACES}/missing")
        with pytest.raises(NotFoundError):
            await anext(client.watch("/api/v1/nonsense"))


async def test_an_object_of_any_size_is_one_event(endpoint: Endpoint) -> None:
    path = f"{NAMESPACES}/default/configmaps"
    data = {"text": "x" * 900_000}
    async with open_transport(endpoint) as transport:
        client = Client(transport)
        await client.create(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
        event = await asyncio.wait_for(anext(client.watch(path)), 30)
    assert event.obj["data"] == data


async def test_a_server_of_another_authority_is_not_trusted(endpoint: Endpoint) -> None:
    async with open_transport(replace(endpoint, authority=None)) as transport:
        with pytest.raises(UnreachableError, match="not trusted"):
            await transport.send("GET", "/version")
    async with open_transport(replace(endpoint, authority=None, is_verified=False)) as transport:
        assert (await transport.send("GET", "/version")).status == 200


async def test_a_certificate_that_is_none_is_reported(endpoint: Endpoint) -> None:
    with pytest.raises(KubeconfigError, match="cannot be used"):
        async with open_transport(replace(endpoint, certificate=b"nonsense")):
            pass


@asynccontextmanager
async def answering(
    handler: Callable[[Request], Reply | StreamReply], **options: object
) -> AsyncIterator[HttpTransport]:
    server = await serve(handler)
    try:
        async with open_transport(
            Endpoint(server=f"http://127.0.0.1:{server.port}", token="t"),
            **options,  # type: ignore[arg-type]
        ) as transport:
            yield transport
    finally:
        await server.stop(grace_s=0)


async def test_credentials_and_forms_are_in_the_request() -> None:
    seen: list[Request] = []

    def handler(request: Request) -> Reply:
        seen.append(request)
        return Reply(200, b"{}", "application/json")

    async with answering(handler) as transport:
        await transport.send("PATCH", "/a%2Fb", query="x=1", body=b"{}", content_type="application/x", accept="text/y")
    (request,) = seen
    assert (request.method, request.query, request.body) == ("PATCH", "x=1", b"{}")
    assert request.headers["authorization"] == "Bearer t"
    assert request.headers["content-type"] == "application/x"
    assert request.headers["accept"] == "text/y"
    assert request.headers["user-agent"].startswith("homeostat/")


async def test_warnings_are_handed_on() -> None:
    warnings: list[str] = []

    def handler(request: Request) -> Reply:
        headers = (("Warning", '299 - "use \\"v2\\""'), ("Warning", '299 - "one", 299 - "two"'))
        return Reply(200, b"{}", "application/json", headers)

    async with answering(handler, on_warning=warnings.append) as transport:
        await transport.send("GET", "/")
    assert warnings == ['use "v2"', "one", "two"]


async def test_a_redirect_is_not_followed() -> None:
    def handler(request: Request) -> Reply:
        return Reply(302, b"", "text/plain", (("Location", "http://127.0.0.1:1/elsewhere"),))

    async with answering(handler) as transport:
        assert (await transport.send("GET", "/")).status == 302
        answer = await transport.stream("/")
    assert isinstance(answer, Response)
    assert answer.status == 302


async def test_a_page_is_not_the_api() -> None:
    async with answering(lambda _: Reply(200, b"<html>", "text/html")) as transport:
        with pytest.raises(UnreachableError, match="does not speak the Kubernetes API"):
            await transport.send("GET", "/api")


async def test_a_silent_stream_is_given_up() -> None:
    def handler(request: Request) -> StreamReply:
        def start(stream: Stream) -> None:
            stream.send(frame(b'{"type":"ADDED"'))

        return StreamReply(200, start)

    async with answering(handler, silence_s=0.1) as transport:
        lines = await transport.stream("/")
        assert not isinstance(lines, Response)
        with pytest.raises(UnreachableError, match="no answer in time"):
            await anext(lines)


async def test_nobody_listening_is_unreachable() -> None:
    async with open_transport(Endpoint(server="http://127.0.0.1:1")) as transport:
        with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:1: Connection refused"):
            await transport.send("GET", "/")
        with pytest.raises(UnreachableError, match="Connection refused"):
            await transport.stream("/")
