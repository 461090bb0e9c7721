"""A document that a server answers with becomes resources; a server in trouble declares nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import SECRET
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.external.servers import own_authority, serving
from tests.operators.actions.inputs.input_plane import InputPlane, thing


class Inventory:
    def __init__(self) -> None:
        self.body: bytes = b"[]"
        self.status = 200
        self.headers: dict[str, str] = {}
        self.asked: list[dict[str, str]] = []
        self.answered: list[int] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.headers))
        tag, date = self.headers.get("ETag"), self.headers.get("Last-Modified")
        is_known = (tag and request.headers.get("If-None-Match") == tag) or (
            not tag and date and request.headers.get("If-Modified-Since") == date
        )
        status = 304 if is_known and self.status == 200 else self.status
        self.answered.append(status)
        return web.Response(status=status, body=b"" if status == 304 else self.body, headers=self.headers)


@pytest.fixture
async def inventory() -> AsyncIterator[tuple[Inventory, str]]:
    inventory = Inventory()
    async with serving(inventory.answer) as url:
        yield inventory, f"{url}/things?secret=no"


@pytest.mark.parametrize("header", ["ETag", "Last-Modified", ""])
async def test_a_document_is_followed_and_not_sent_again_unless_it_changes(
    plane: InputPlane, inventory: tuple[Inventory, str], header: str
) -> None:
    server, url = inventory
    server.body, server.headers = encode([thing("a"), thing("b")]), {header: '"1"'} if header else {}
    await plane.declare_input("inventory", "url", {"url": url})
    await plane.become({"a": "hello", "b": "hello"})
    if header:
        await eventually(lambda: 304 in server.answered)
    server.body = (
        b"- apiVersion: resources.homeostat.dev/v1\n  kind: Thing\n  metadata: {name: a}\n  spec: {text: bye}\n"
    )
    server.headers = {header: '"2"'} if header else {}
    await plane.become({"a": "bye"})


async def test_a_header_may_be_a_secret(plane: InputPlane, inventory: tuple[Inventory, str]) -> None:
    server, url = inventory
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "api"}, "stringData": {"token": "s3cret"}}
    await plane.client.create(SECRET.path("default"), secret)
    reference = {"store": "secret", "key": "api/token", "prefix": "Bearer "}
    await plane.declare_input("inventory", "url", {"url": url, "headers": {"Authorization": reference}})
    obj = await plane.reported("inventory", reason="InSync", declared=0)
    assert server.asked[0]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in str(obj["status"])


async def test_an_authority_of_one_s_own_may_be_given(plane: InputPlane, tmp_path: Path) -> None:
    server = Inventory()
    tls, authority = own_authority(tmp_path)
    async with serving(server.answer, tls) as url:
        await plane.declare_input("wary", "url", {"url": url})
        await plane.reported("wary", reason="Unreachable")
        await plane.declare_input("odd", "url", {"url": url, "caCertificate": "none"})
        await plane.reported("odd", reason="InvalidConfig")
        await plane.declare_input("own", "url", {"url": url, "caCertificate": authority})
        await plane.reported("own", reason="InSync")


TROUBLES: dict[str, tuple[JsonObject, str]] = {
    "gone": ({"status": 404}, "SourceRefused"),
    "down": ({"status": 503}, "SourceRefused"),
    "redirect": ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "SourceRefused"),
    "empty": ({"body": b" \n"}, "SourceEmpty"),
    "odd": ({"body": b"<html>{"}, "Incomplete"),
    "large": ({"body": b'"' + b"x" * (17 << 20) + b'"'}, "AnswerTooLarge"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_server_in_trouble_deletes_nothing(
    plane: InputPlane, inventory: tuple[Inventory, str], trouble: str
) -> None:
    server, url = inventory
    server.body = encode([thing("a")])
    await plane.declare_input("inventory", "url", {"url": url}, prune={"maxPercent": 100})
    await plane.reported("inventory", reason="InSync", applied=1)
    change, reason = TROUBLES[trouble]
    for word, value in change.items():
        setattr(server, word, value)
    await plane.hasten("inventory")
    await plane.reported("inventory", reason=reason)
    assert await plane.things() == {"a": "hello"}
    server.status, server.headers, server.body = 200, {}, b"[]"
    await plane.hasten("inventory")
    await plane.become({})


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "https://me:pass@127.0.0.1/", "/etc/passwd"])
async def test_addresses_that_are_refused(plane: InputPlane, url: str) -> None:
    await plane.declare_input("inventory", "url", {"url": url})
    obj = await plane.reported("inventory", reason="InvalidConfig")
    assert "pass" not in condition_of(obj, "Ready")["message"].replace("password", "")
