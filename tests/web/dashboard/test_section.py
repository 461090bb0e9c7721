"""Sections: the dashboard consists of those that it is given, and leaves out what a visitor may not see."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from homeostat.client.base import Client, Response
from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.errors import ForbiddenError
from homeostat.operators.catalog import declared_sections
from homeostat.runtime.faces.face import load_reference
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.web.dashboard.dashboard import Dashboard
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.section import Section, open_sections
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.answering import answered
from homeostat.web.kit.gate import Administrator
from homeostat.web.kit.routing import Page as Handle
from homeostat.web.kit.sessions.sessions import Sessions
from tests.web.dashboard.site import Document


class Closed:
    """A server that refuses everything."""

    async def send(self, method: str, path: str, **options: object) -> Response:
        return Response(403, b"{}")

    async def stream(self, path: str, **options: object) -> Response | AsyncIterator[bytes]:
        return Response(403, b"{}")


class Visitor(Administrator):
    is_admin = False


async def shelves(visit: Visit) -> Page:
    return Page("Shelves", el("h1", "Shelves"), "Shelves")


async def broken(visit: Visit) -> Page:
    raise RuntimeError("the reason")


async def two_shelves(visit: Visit) -> Node:
    return el("p", "two shelves")


async def unreadable(visit: Visit) -> Node:
    raise ForbiddenError("this server may not read vaults")


SHELVES = Section(
    title="Shelves", path="/dashboard/shelves", views={"/dashboard/shelves": shelves}, summary=two_shelves
)
VAULTS = Section(
    title="Vaults",
    path="/dashboard/vaults",
    views={"/dashboard/vaults": shelves, "/dashboard/broken": broken},
    summary=unreadable,
    is_for_administrators=True,
)


async def opened(path: str, caller: Administrator) -> tuple[int, Document]:
    async def identify(request: Request) -> Administrator:
        return caller

    async def log_in(request: Request, captured: Mapping[str, str]) -> Reply:
        return Reply(200)

    routes: dict[tuple[str, str], Handle] = {}
    client = Client(Closed())
    sessions = Sessions(NamespaceSecrets(client, "default"), life_s=60)
    dashboard = Dashboard([SHELVES, VAULTS], client=client, identify=identify, log_in=log_in, sessions=sessions)
    dashboard.add_routes(lambda method, pattern, page: routes.update({(method, pattern): page}))
    request = Request("GET", path, "", Headers(), b"", Peer("127.0.0.1"), {})
    reply = await answered(routes["GET", path], request, {})
    assert isinstance(reply, Reply)
    assert isinstance(reply.body, bytes)
    return reply.status, Document(reply.body.decode())


async def test_home_leaves_out_what_this_server_may_not_read() -> None:
    status, page = await opened("/dashboard", Administrator("admin"))
    assert (status, "two shelves" in page.one("main").text) == (200, True)
    assert [each.text for each in page.all("li")] == ["Home", "Shelves", "Vaults", "Objects"]


async def test_a_section_for_administrators_is_hidden_from_others() -> None:
    _, page = await opened("/dashboard", Visitor("reader"))
    assert [each.text for each in page.all("li")] == ["Home", "Shelves"]
    status, page = await opened("/dashboard/vaults", Visitor("reader"))
    assert (status, "Vaults is for administrators." in page.one("main").text) == (403, True)
    assert (await opened("/dashboard/shelves", Visitor("reader")))[0] == 200


async def test_an_unexpected_error_is_a_page_without_its_reason() -> None:
    status, page = await opened("/dashboard/broken", Administrator("admin"))
    assert (status, page.one("h1").text) == (500, "Internal error")
    assert "the reason" not in page.one("main").text
    assert len(page.one("code").text) == 32, "the request id"


def test_every_declared_section_can_be_opened() -> None:
    found = declared_sections()
    assert found
    assert all(callable(load_reference(each.open)) and each.rules for each in found)


async def test_sections_are_imported_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import threading\nimported_in = threading.get_ident()\ndef open_it(client, within): return imported_in\n"
    (tmp_path / "a_section_of_a_test.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = await open_sections([DeclaredSection(open="a_section_of_a_test:open_it")], cast("Client", None))
    assert cast("object", found) != threading.get_ident()
