"""The first page of a contract's documentation: what the service is, offers, needs and how ready it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.document.contract import Contract, Owner
from homeostat.operators.contracts.engine.graph.graph import Edge, Graph
from homeostat.operators.contracts.engine.readiness import assess
from homeostat.operators.contracts.engine.views.doc import concept_rows, endpoints, summary_sentence
from homeostat.operators.contracts.engine.views.status import POINTER, as_text, schema_properties
from homeostat.web.dashboard.html.markup import Node, el, link
from homeostat.web.documentation.diagram import draw
from homeostat.web.documentation.frame import Link, anchor, badge, code, section, table

_KINDS = {"done": "good", "Current": "good", "partial": "warn", "not-done": "bad", "Expired": "bad", "Invalid": "bad"}


def overview_content(bundle: Bundle, graph: Graph, today: date, pages: dict[str, str]) -> tuple[list[Node], list[Link]]:
    """Return the content, and its sections. `pages` has the addresses of pages of interfaces by name."""
    contract = bundle.contract
    found: dict[str, list[Node]] = {
        "At a glance": list(_glance(contract)),
        "Architecture": list(_architecture(graph)),
        "Interfaces": list(_interfaces(bundle, pages)),
        "Configuration": list(_configurations(bundle)),
        "Policies": list(_policies(contract)),
        "Dependencies": list(_dependencies(contract)),
        "Readiness": list(_readiness(contract, today)),
        "Metadata": list(_metadata(contract)),
    }
    shown = {title: content for title, content in found.items() if content}
    top: list[Node] = [
        el("h1", contract.service.name),
        el("div", badge(contract.service.version, "busy"), list(_marks(contract)), class_="badges"),
        el("p", f"{contract.service.name} {summary_sentence(contract)}", class_="lead"),
    ]
    sections = [(title, f"#{anchor(title)}") for title in shown]
    return [*top, *(section(title, *content) for title, content in shown.items())], sections


def _marks(contract: Contract) -> Iterator[Node]:
    if contract.service.owner_display:
        yield badge(f"owned by {contract.service.owner_display}")
    if contract.runtime is not None:
        yield badge(contract.runtime.workload)
        yield badge(contract.runtime.state.type)
    yield badge(f"contract {contract.pacto_version}")


def _glance(contract: Contract) -> Iterator[Node]:
    rows: list[tuple[str, Node]] = [(name, code(value)) for name, value in concept_rows(contract)]
    owner = contract.service.owner
    if isinstance(owner, Owner):
        rows += [(name, value) for name, value in (("Team", owner.team), ("Directly responsible", owner.dri)) if value]
        rows += [(f"Contact ({each.type})", link(each.value)) for each in owner.contacts]
    if rows:
        yield el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in rows])


def _architecture(graph: Graph) -> Iterator[Node]:
    drawn = draw(graph)
    if drawn is None:
        return
    yield el("div", drawn, class_="wide")
    broken = [each for each in _edges(graph) if each.error]
    for each in broken[:20]:
        yield el("p", badge("unresolved", "bad"), " ", code(each.ref), f" {each.error}")
    for conflict in graph.conflicts:
        yield el("p", badge("conflict", "warn"), f" {conflict.name}: {', '.join(conflict.versions)}")
    for cycle in graph.cycles:
        yield el("p", badge("cycle", "warn"), f" {' → '.join(cycle)}")


def _edges(graph: Graph) -> Iterator[Edge]:
    yield from graph.root.dependencies
    for _, node in graph.root.walk():
        yield from node.dependencies


def _interfaces(bundle: Bundle, pages: dict[str, str]) -> Iterator[Node]:
    cards = []
    for each in bundle.contract.interfaces:
        count = len(endpoints(bundle, each))
        facts = [each.type]
        facts += [f"port {each.port}"] if each.port is not None else []
        facts += [each.visibility] if each.visibility else []
        facts += [f"{count} operation{'s' if count != 1 else ''}"] if count else []
        inside = (el("strong", each.name), el("span", " · ".join(facts), class_="soft"))
        page = pages.get(each.name)
        cards.append(el("a", *inside, href=page, class_="card") if page else el("div", *inside, class_="card"))
    if cards:
        yield el("div", cards, class_="cards")


def _configurations(bundle: Bundle) -> Iterator[Node]:
    for each in bundle.contract.configurations:
        yield el("h3", each.name)
        if each.ref:
            yield el("p", "Defined by ", code(each.ref))
        rows = [
            (code(row["key"]), row.get("type", ""), row["value"])
            for row in schema_properties(each.schema, bundle.files)
        ]
        if rows:
            yield table(("Key", "Type", "Default"), rows)
        values = [
            (code(key), "a secret" if isinstance(value, str) and value.startswith(POINTER) else code(as_text(value)))
            for key, value in sorted((each.values or {}).items())
        ]
        if values:
            yield el("h4", "Values")
            yield table(("Key", "Value"), values)


def _policies(contract: Contract) -> Iterator[Node]:
    if contract.policies:
        yield table(("Name", "Schema"), [(each.name, code(each.ref or each.schema)) for each in contract.policies])


def _dependencies(contract: Contract) -> Iterator[Node]:
    needs = {True: badge("required", "warn"), False: badge("optional")}
    rows = [
        (each.name, code(each.compatibility), needs[each.required], code(each.ref)) for each in contract.dependencies
    ]
    if rows:
        yield table(("Name", "Versions", "", "Reference"), rows)


def _readiness(contract: Contract, today: date) -> Iterator[Node]:
    found = assess(contract, today)
    if found is None:
        return
    verdict = badge("passing", "good") if found.is_passing else badge("not passing", "bad")
    expires = f", expires {found.expires}" if found.is_dated and found.expires else ""
    yield el("p", verdict, f" Score {found.score} of 100; {found.min_score} are needed{expires}.")
    yield el("p", el("meter", str(found.score), min=0, max=100, value=found.score, low=found.min_score))
    rows = [
        (
            each.check.id,
            badge(each.status, _KINDS.get(each.status, "")),
            str(each.check.weight),
            link(each.check.evidence),
        )
        for each in found.checks
    ]
    yield table(("Check", "Status", "Weight", "Evidence"), rows)


def _metadata(contract: Contract) -> Iterator[Node]:
    if contract.metadata:
        yield table(("Key", "Value"), [(code(key), as_text(value)) for key, value in contract.metadata.items()])
