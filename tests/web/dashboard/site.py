"""The dashboard as a browser without scripts sees it: pages over HTTP, parsed."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import urlencode

import aiohttp

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.testing.eventually import eventually

_VOID = {"input", "link", "meta", "wbr"}


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str]
    text: str


class Document(HTMLParser):
    """All elements with their texts, in the order of their ends; what is not nested well fails."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(source)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in _VOID:
            self.elements.append(Element(tag, given, ""))
        else:
            self._open.append((tag, given, []))

    def handle_data(self, data: str) -> None:
        for _, _, text in self._open:
            text.append(data)

    def handle_endtag(self, tag: str) -> None:
        opened, attributes, text = self._open.pop()
        assert opened == tag, (opened, tag)
        self.elements.append(Element(tag, attributes, "".join(text)))

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """With these values; of `class_`, one of the words."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [each for each in self.elements if each.tag == tag and _has(each, wanted)]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


def _has(element: Element, wanted: Mapping[str, str]) -> bool:
    return all(
        value in element.attributes.get(name, "").split() if name == "class" else element.attributes.get(name) == value
        for name, value in wanted.items()
    )


class Page(NamedTuple):
    status: int
    source: str
    headers: Mapping[str, str]

    @property
    def document(self) -> Document:
        return Document(self.source)

    @property
    def text(self) -> str:
        return self.document.one("main").text


class Site:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self.url = session, url

    async def open(self, path: str = "", **headers: str) -> Page:
        return await self._ask("GET", path, None, headers)

    async def send(self, path: str, form: Mapping[str, str], **headers: str) -> Page:
        return await self._ask("POST", path, form, headers)

    async def bearer(self, username: str, password: str) -> str:
        """The `Authorization` of a user of the REST API."""
        granted = await self.declare("/auth/login", {"username": username, "password": password})
        return f"Bearer {granted['access_token']}"

    async def _ask(self, method: str, path: str, form: Mapping[str, str] | None, headers: Mapping[str, str]) -> Page:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = BytesIO(urlencode(form).encode()) if form is not None else None
        where = f"{self.url}/dashboard{path}"
        async with self._session.request(method, where, headers=named, data=body, allow_redirects=False) as answer:
            return Page(answer.status, await answer.text(), answer.headers)

    async def declare(self, path: str, body: JsonObject, **headers: str) -> Any:
        """By the REST API."""
        where = f"{self.url}/api/v1{path}"
        async with self._session.post(where, data=BytesIO(encode(body)), headers=headers) as answer:
            told = await answer.json()
            assert answer.status < 300, told
            return told

    async def remove(self, number: int) -> None:
        async with self._session.delete(f"{self.url}/api/v1/resources/{number}") as answer:
            assert answer.status == 202, await answer.text()

    async def shows(self, path: str, text: str) -> Page:
        """The page, once it says this."""
        return await eventually(lambda: self.open(path), lambda page: text in page.source)


def note(name: str, **spec: Json) -> JsonObject:
    kind = {"resource_type_name": "Note", "resource_type_version": "v1", "action_plugin": "shelf"}
    return {"name": name, **kind, "spec": {"text": "hello", **spec}}
