"""Puts the routes of the API together, at the root and below `/contracts`.

At the root it is as the original serves it. Below `/contracts` it is served beside the faces of other operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from homeostat.edge.handler import Handler
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.objects.json import encode
from homeostat.web.contracts.context import ContractsFace
from homeostat.web.contracts.origin import guarded
from homeostat.web.contracts.pages.comparison import Comparison
from homeostat.web.contracts.pages.registry import RegistryPages
from homeostat.web.contracts.pages.services import Services
from homeostat.web.contracts.pages.state import State
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.openapi.routes import Description
from homeostat.web.kit.refusal import RefusalError, refusal_reply, unknown
from homeostat.web.kit.routing import Add, Page, Route

if TYPE_CHECKING:
    from homeostat.web.kit.openapi.document import About

BELOW: Final = "/contracts"


def contracts_app(face: ContractsFace, *, figures: RestFigures | None = None) -> Handler:
    answering = Answering(figures or RestFigures())
    routes = Routes(refuse)
    served: list[Route] = []

    def add(method: str, pattern: str, page: Page) -> None:
        for below in ("", BELOW):
            routes.add(method, f"{below}{pattern}", answering.page(pattern, page))
        served.append((method, pattern))

    _add_pages(face, add)
    description = Description(served, _about, documents=("/openapi", "/openapi.json"), pages=("/docs",))
    description.add_routes(add)
    _Schemas(description).add_routes(add)
    return guarded(partial(answering.handle, routes), origin=face.settings.cors_origin)


def refuse(status: int, message: str) -> Reply:
    return refusal_reply(RefusalError(status, message))


def _about() -> About:
    from homeostat.web.contracts.operations import OPERATIONS
    from homeostat.web.kit.openapi.document import About

    return About("Homeostat: contracts", "Services, their contracts, versions and dependencies.", OPERATIONS)


def _add_pages(face: ContractsFace, add: Add) -> None:
    state, services, comparison, registry = State(face), Services(face), Comparison(face), RegistryPages(face)
    one = "/api/services/{name}"
    rows: tuple[tuple[str, str, Page], ...] = (
        ("GET", "/health", state.health),
        ("GET", "/metrics", state.metrics),
        ("GET", "/api/services", services.list),
        ("GET", one, services.show),
        ("GET", f"{one}/versions", services.versions),
        ("GET", f"{one}/versions/{{version}}", services.version),
        ("GET", f"{one}/sources", services.sources),
        ("GET", f"{one}/graph", services.graph),
        ("GET", f"{one}/dependents", services.dependents),
        ("GET", f"{one}/refs", services.references),
        ("GET", "/api/graph", comparison.graph),
        ("GET", "/api/diff", comparison.diff),
        ("GET", "/api/sources", state.sources),
        ("POST", "/api/refresh", state.refresh),
        ("POST", "/api/resolve", registry.resolve),
        ("POST", "/api/versions", registry.versions),
    )
    for row in rows:
        add(*row)
    if face.settings.has_diagnostics:
        add("GET", "/api/debug/sources", state.debug_sources)
        add("GET", "/api/debug/services", state.debug_services)


class _Schemas:
    """`/schemas`: the JSON Schemas of bodies. Public, as the document that they are part of."""

    def __init__(self, description: Description) -> None:
        self._description = description

    def add_routes(self, add: Add) -> None:
        add("GET", "/schemas", self.list)
        add("GET", "/schemas/{name}", self.show)

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        return Reply(200, encode({"schemas": sorted(await self._description.schemas())}))

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        found = (await self._description.schemas()).get(captured["name"].removesuffix(".json"))
        if found is None:
            raise unknown(f'there is no schema "{captured["name"]}"')
        return Reply(200, encode(found))
