"""`/dashboard/contracts/graph`: who depends on whom, and what a service takes down with it (`?focus=NAME`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from homeostat.operators.contracts.engine.services.catalogue import Catalogue, Service
from homeostat.web.contracts.dashboard.contracts import HERE, contract_tabs, no_contracts, status_word_chip
from homeostat.web.contracts.dashboard.diagram import MOST_NODES, Box, Drawing, Line, draw
from homeostat.web.contracts.dashboard.services import Services
from homeostat.web.dashboard.html.command import command, nothing, shell
from homeostat.web.dashboard.html.components import Row, chip, many, row, table
from homeostat.web.dashboard.html.diagram import zoom
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import PAGE, cut, pager, summary
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import unknown

GRAPH: Final = f"{HERE}/graph"
MOST_LINES: Final = 2000
MOST_BOXES: Final = 2 * MOST_NODES
"""With those of services that no Pacto binds."""
MOST_LISTED: Final = 200
_TITLE: Final = "Contracts"


class GraphQuery(msgspec.Struct, frozen=True):
    focus: Annotated[str, Meta(max_length=256)] = ""
    page: Annotated[int, Meta(ge=1, le=10**6)] = 1


def focus_path(name: str) -> str:
    return f"{GRAPH}?{urlencode({'focus': name})}"


class GraphPage:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def show(self, visit: Visit) -> Page:
        query, catalogue = read_query(visit.request, GraphQuery), await self._services.catalogue(visit.scope)
        if query.focus and not _is_known(catalogue, query.focus):
            raise unknown(f"no service {query.focus}; see {GRAPH}")
        if not len(catalogue):
            body: Node = await no_contracts(visit)
            return Page("Service graph", [el("h1", _TITLE), contract_tabs("Service graph"), body], _TITLE)
        catalogue.refresh()
        affected = catalogue.steps_to(query.focus) if query.focus else {}
        names = _shown(catalogue, query.focus, affected)
        # Of a large graph it takes some tens of milliseconds.
        drawing = await asyncio.to_thread(_draw, catalogue, names, query.focus, affected) if names else None
        # Services may have changed meanwhile, and each radius that is not computed is a search through the graph.
        catalogue.refresh()
        content: list[Node] = [
            el("h1", _TITLE),
            contract_tabs("Service graph"),
            _heading(query.focus, affected),
            _figure(drawing) if drawing is not None else _too_large(catalogue, query.focus),
            _cycles(drawing) if drawing is not None else None,
            _radius(catalogue, query.focus, affected) if query.focus else _services(catalogue, query.page),
        ]
        return Page(f"{query.focus}: blast radius" if query.focus else "Service graph", content, _TITLE)


def _is_known(catalogue: Catalogue, name: str) -> bool:
    return catalogue.get(name) is not None or bool(catalogue.users_of(name))


def _requirements(catalogue: Catalogue, service: Service) -> dict[str, Line]:
    """By target; several dependencies on one service count as one, required if one is."""
    found: dict[str, Line] = {}
    for each in service.instances.values():
        for dependency in each.dependencies:
            end = catalogue.target_of(dependency.ref)
            known = found.get(end)
            is_required = dependency.required or (known is not None and known.is_required)
            found[end] = Line(service.name, end, is_required, dependency.compatibility)
    return found


def _shown(catalogue: Catalogue, focus: str, affected: Iterable[str]) -> set[str]:
    """All services; of a graph that is too large those around the focus, and none without a focus."""
    if len(catalogue) <= MOST_NODES:
        return {each.name for each in catalogue.in_order()}
    if not focus:
        return set()
    service = catalogue.get(focus)
    needed = _requirements(catalogue, service) if service is not None else {}
    return {focus, *list(affected)[: MOST_NODES // 2], *list(needed)[: MOST_NODES // 2]}


def _draw(catalogue: Catalogue, names: set[str], focus: str, affected: dict[str, int]) -> Drawing | None:
    """None if too much leads from or to these services."""
    boxes: dict[str, Box] = {}
    lines: list[Line] = []
    is_whole = len(catalogue) <= MOST_NODES
    for name in sorted(names):
        service = catalogue.get(name)
        if service is None:
            boxes[name] = Box(name, "", "external", focus_path(name))
            continue
        first = service.primary
        boxes[name] = Box(name, first.version, first.status, focus_path(name))
        for end, line in sorted(_requirements(catalogue, service).items()):
            if end in names or (is_whole and catalogue.get(end) is None):
                lines.append(line)
        if len(lines) > MOST_LINES:
            return None
    for each in lines:
        boxes.setdefault(each.end, Box(each.end, "", "external", focus_path(each.end)))
    if len(boxes) > MOST_BOXES:
        return None
    return draw(boxes, lines, focus=focus, affected=affected)


def _heading(focus: str, affected: dict[str, int]) -> Markup:
    if not focus:
        return el(
            "p",
            "An arrow leads from a service to what it depends on. Choose one to see what depends on it.",
            class_="summary",
        )
    return el(
        "p",
        f"If {focus} fails, {many(len(affected), 'service')} {'is' if len(affected) == 1 else 'are'} affected. ",
        el("a", "Show all alike", href=GRAPH),
        class_="summary",
    )


def _figure(drawing: Drawing) -> Markup:
    words = (("good", "compliant"), ("warn", "warning"), ("bad", "not compliant"), ("phase-pending", "unknown"))
    legend: list[Node] = [chip(word, look) for look, word in words]
    legend += [
        el("span", "dashed: optional", class_="note"),
        el("span", "dotted box, thick line: cycle", class_="note"),
    ]
    figure = el("div", drawing.svg, class_="scroll graph", role="region", aria_label="Service graph", tabindex=0)
    return el("figure", figure, el("figcaption", zoom(), legend), class_="services-graph")


def _cycles(drawing: Drawing) -> Node:
    if not drawing.cycles:
        return None
    items = [
        el("li", [[el("a", name, href=focus_path(name)), " → "] for name in each], each[0]) for each in drawing.cycles
    ]
    return el("section", el("h2", many(len(drawing.cycles), "cycle")), el("ul", items, class_="steps"))


def _too_large(catalogue: Catalogue, focus: str) -> Markup:
    if focus:
        return nothing(f"{focus} has too many neighbours to draw.")
    if len(catalogue) > MOST_NODES:
        many_of_them = f"{len(catalogue):,} services are too many to draw at once (at most {MOST_NODES})."
    else:
        many_of_them = f"The services have more dependencies than can be drawn at once (at most {MOST_LINES:,})."
    return nothing(f"{many_of_them} Choose one below to see its part.")


def _radius(catalogue: Catalogue, focus: str, affected: dict[str, int]) -> Node:
    service = catalogue.get(focus)
    rows = [_row(catalogue, each, _steps(steps)) for each, steps in islice(affected.items(), MOST_LISTED)]
    body = (
        table("Affected services", ("Service", "Status", "Version", "Depends on it", "Contracts"), rows)
        if rows
        else nothing(f"No service requires {focus}.")
    )
    same = command(shell("homeostat", "contract", "impact", focus, "-A"))
    how = el("p", "The same on the command line: ", same, class_="note")
    own: Node = None
    if service is not None:
        needed = sorted(_requirements(catalogue, service).values())
        links: list[Node] = [
            [el("a", each.end, href=focus_path(each.end)), " " if each.is_required else " (optional) "]
            for each in needed[:MOST_LISTED]
        ]
        more = f" and {len(needed) - MOST_LISTED:,} more " if len(needed) > MOST_LISTED else None
        contracts = _contracts(service)
        bound = [el("strong", "Its contracts: "), contracts] if contracts else None
        own = el("p", el("strong", "It depends on: "), links or "nothing. ", more, bound)
    return el("section", el("h2", f"Blast radius of {focus}"), own, body, how)


def _steps(count: int) -> str:
    return "directly" if count == 1 else f"through {many(count - 1, 'service')}"


def _row(catalogue: Catalogue, name: str, how: str) -> Row:
    service = catalogue.get(name)
    assert service is not None
    first = service.primary
    return row(
        f"service-{name}",
        el("a", name, href=focus_path(name)),
        status_word_chip(first.status),
        first.version or "–",
        how,
        _contracts(service),
    )


def _contracts(service: Service) -> list[Node]:
    pactos = [each for each in service.instances.values() if each.namespace][:5]
    return [
        [el("a", f"{each.namespace}/{each.name}", href=f"{HERE}/{each.namespace}/{each.name}"), " "] for each in pactos
    ]


def _services(catalogue: Catalogue, page: int) -> Markup:
    """Services with the largest blast radius come first."""
    ordered = sorted(catalogue.in_order(), key=lambda each: (-catalogue.radius(each.name), each.name))
    shown = cut(ordered, page, PAGE)
    rows = [_row(catalogue, each.name, many(catalogue.radius(each.name), "service")) for each in shown.items]
    headings = ("Service", "Status", "Version", "Blast radius", "Contracts")
    return el(
        "section",
        el("h2", "Services"),
        summary(shown, "service"),
        table("Services", headings, rows),
        pager(GRAPH, {}, shown),
    )
