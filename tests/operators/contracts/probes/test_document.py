"""The document that a service serves, from servers that misbehave."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.probes.document import MAX_DOCUMENT_BYTES, send_document, unpacked
from homeostat.operators.contracts.probes.request import probe_client
from tests.external.servers import serving


async def _answer(request: web.Request) -> web.StreamResponse:
    match request.path:
        case "/json":
            return web.json_response({"paths": {}})
        case "/yaml":
            return web.Response(text="paths: {}", content_type="application/yaml")
        case "/untyped":
            return web.Response(body=b"paths: {}", content_type="application/octet-stream")
        case "/html":
            return web.Response(text="<html>", content_type="text/html")
        case "/empty":
            return web.json_response(body=b" ")
        case "/large":
            return web.Response(body=b" " * (MAX_DOCUMENT_BYTES + 1), content_type="application/json")
        case "/moved":
            return web.Response(status=307, headers={"Location": "json"})
        case "/loop":
            return web.Response(status=302, headers={"Location": "/loop"})
        case "/away":
            return web.Response(status=302, headers={"Location": "http://169.254.169.254/secrets"})
        case _:
            return web.Response(status=404)


async def _sent(url: str) -> Outcome:
    async with probe_client({}, connections=4) as client:
        return await send_document(client, url, asyncio.get_running_loop().time)


@pytest.mark.parametrize(
    ("path", "body", "error"),
    [
        ("/json", b'{"paths": {}}', ""),
        ("/yaml", b"paths: {}", ""),
        ("/untyped", b"paths: {}", ""),
        ("/moved", b'{"paths": {}}', ""),
        ("/html", b"", "it answered text/html; expected JSON or YAML"),
        ("/empty", b"", "it answered without a document"),
        ("/large", b"", "expected at most 2097152 bytes"),
        ("/loop", b"", "it redirects more than 3 times"),
        ("/away", b"", "it redirects to another host, which is not followed"),
        ("/none", b"", "it answered 404; expected 200"),
    ],
)
async def test_a_document_is_read_within_limits(path: str, body: bytes, error: str) -> None:
    async with serving(_answer) as url:
        outcome = await _sent(url + path)
    assert unpacked(outcome) == body
    assert error in outcome.error
    assert bool(outcome.error) == bool(error)


async def test_a_service_that_does_not_listen_has_no_document() -> None:
    assert (await _sent("http://127.0.0.1:1/openapi.json")).error
