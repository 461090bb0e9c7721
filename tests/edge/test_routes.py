"""The route table: which handler a request finds, and its answer if there is none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.edge.routes import RouteHandler, Routes
from tests.edge.wire import connected, running


def named(name: str) -> RouteHandler:
    def handler(request: Request, captures: Mapping[str, str]) -> Reply:
        return Reply(200, f"{name} {dict(captures)}".encode(), "text/plain")

    return handler


def routes() -> Routes:
    table = Routes()
    for method, pattern in [
        ("GET", "/"),
        ("GET", "/healthz"),
        ("GET", "/api/{type}"),
        ("POST", "/api/{type}"),
        ("GET", "/api/{type}/{name}"),
        ("DELETE", "/api/{type}/{name}"),
        ("GET", "/api/special"),
        ("GET", "/api/{type}/{name}/history"),
        ("GET", "/static/{file:path}"),
    ]:
        table.add(method, pattern, named(f"{method} {pattern}"))
    return table


def ask(method: str, path: str) -> Reply:
    reply = routes()(Request(method, path, "", Headers(), b"", Peer(""), {}))
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/", "GET / {}"),
        ("GET", "", "GET / {}"),
        ("GET", "/healthz", "GET /healthz {}"),
        ("GET", "/healthz/", "GET /healthz {}"),
        ("HEAD", "/healthz", "GET /healthz {}"),
        ("GET", "/api/web", "GET /api/{type} {'type': 'web'}"),
        ("POST", "/api/web", "POST /api/{type} {'type': 'web'}"),
        ("GET", "/api/special", "GET /api/special {}"),
        ("GET", "/api/special/x", "GET /api/{type}/{name} {'type': 'special', 'name': 'x'}"),
        ("GET", "/api/a%2Fb/c%20d", "GET /api/{type}/{name} {'type': 'a/b', 'name': 'c d'}"),
        ("GET", "/api/a/b/history", "GET /api/{type}/{name}/history {'type': 'a', 'name': 'b'}"),
        ("GET", "/static/js/app.js", "GET /static/{file:path} {'file': 'js/app.js'}"),
        ("GET", "/static", "GET /static/{file:path} {'file': ''}"),
    ],
)
def test_a_request_finds_its_handler(method: str, path: str, found: str) -> None:
    assert ask(method, path).body == found.encode()


@pytest.mark.parametrize("path", ["/nothing", "/api", "/api/a/b/c", "/healthz/x", "*"])
def test_an_unknown_path_is_404(path: str) -> None:
    assert ask("GET", path).status == 404


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/api/web", "GET, HEAD, POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("PATCH", "/api/a/b", "DELETE, GET, HEAD"),
    ],
)
def test_a_known_path_with_another_method_is_405_and_says_which(method: str, path: str, allow: str) -> None:
    reply = ask(method, path)
    assert (reply.status, reply.headers) == (405, (("Allow", allow),))


@pytest.mark.parametrize("pattern", ["/healthz", "/static/{file:path}/more"])
def test_a_route_that_cannot_be_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="route"):
        routes().add("GET", pattern, named("again"))


async def test_a_table_of_routes_is_a_handler() -> None:
    async with running(routes()) as server, connected(server) as client:
        assert (await client.get("/api/web")).body == b"GET /api/{type} {'type': 'web'}"
        assert (await client.get("/nothing")).status == 404
