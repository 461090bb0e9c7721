"""Renders a contract as a Markdown document. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.openapi import METHODS, read_paths
from homeostat.operators.contracts.engine.document.contract import Contract, Interface
from homeostat.operators.contracts.engine.graph.graph import Graph, Node
from homeostat.operators.contracts.engine.readiness import assess
from homeostat.operators.contracts.engine.views.readiness import readiness_lines
from homeostat.operators.contracts.engine.views.status import as_text, schema_properties

_MOST_ENDPOINTS = 500


class Endpoint(msgspec.Struct, frozen=True):
    method: str
    path: str
    summary: str = ""


def endpoints(bundle: Bundle, interface: Interface) -> list[Endpoint]:
    """Return the operations of an interface's OpenAPI document; empty for other files."""
    paths = read_paths(bundle.files, interface.contract) if interface.contract else None
    found = []
    for path, item in (paths or {}).items():
        for method in METHODS:
            if method in item:
                operation = item[method] if isinstance(item[method], dict) else {}
                found.append(Endpoint(method.upper(), path, as_text(operation.get("summary") or "")))
    return found[:_MOST_ENDPOINTS]


def render_doc(bundle: Bundle, graph: Graph, today: date) -> str:
    contract = bundle.contract
    sections = {
        "Architecture": list(_architecture(graph)),
        "Interfaces": list(_interfaces(bundle)),
        "Configuration": list(_configurations(bundle)),
        "Policies": [f"- **{each.name}**: `{each.ref or each.schema}`" for each in contract.policies],
        "Dependencies": list(_dependencies(contract)),
        "Readiness": list(_readiness(contract, today)),
        "Metadata": [f"- **{key}**: {_cell(as_text(value))}" for key, value in (contract.metadata or {}).items()],
    }
    shown = {title: lines for title, lines in sections.items() if lines}
    parts = [f"# {contract.service.name}", "", _summary(contract), "", *_concepts(contract), "## Contents", ""]
    parts += [f"- [{title}](#{title.lower()})" for title in shown]
    for title, lines in shown.items():
        parts += ["", f"## {title}", "", *lines]
    text = "\n".join(parts)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return f"{text.rstrip()}\n"


def summary_sentence(contract: Contract) -> str:
    """Return what the service is, to follow its name."""
    runtime = contract.runtime
    kind = f"is a {runtime.state.type} {runtime.workload} workload" if runtime else "is a service"
    counts = [
        f"{len(parts)} {one if len(parts) == 1 else many}"
        for one, many, parts in (
            ("interface", "interfaces", contract.interfaces),
            ("dependency", "dependencies", contract.dependencies),
        )
        if parts
    ]
    return f"{kind}{' with ' if counts else ''}{' and '.join(counts)}."


def _summary(contract: Contract) -> str:
    service = contract.service
    owned = f" It is owned by `{service.owner_display}`." if service.owner_display else ""
    return f"**{service.name}** `{service.version}` {summary_sentence(contract)}{owned}"


def _concepts(contract: Contract) -> Iterator[str]:
    rows = list(concept_rows(contract))
    if rows:
        yield from ("| Concept | Value |", "|---|---|")
        yield from (f"| {name} | `{value}` |" for name, value in rows)
        yield ""


def concept_rows(contract: Contract) -> Iterator[tuple[str, str]]:
    """Return the facts of a contract that are single values, by name."""
    if contract.service.image is not None:
        yield "Image", contract.service.image.ref
    if contract.service.chart is not None:
        yield "Chart", f"{contract.service.chart.ref} {contract.service.chart.version}"
    runtime = contract.runtime
    if runtime is not None:
        yield "Workload", runtime.workload
        yield "State", runtime.state.type
        yield "Persistence", f"{runtime.state.persistence.scope}, {runtime.state.persistence.durability}"
        yield "Data criticality", runtime.state.data_criticality
        if runtime.lifecycle is not None and runtime.lifecycle.upgrade_strategy:
            yield "Upgrade strategy", runtime.lifecycle.upgrade_strategy
        if runtime.lifecycle is not None and runtime.lifecycle.graceful_shutdown_seconds is not None:
            yield "Graceful shutdown", f"{runtime.lifecycle.graceful_shutdown_seconds} s"
        for name, endpoint in (("Health", runtime.health), ("Metrics", runtime.metrics)):
            if endpoint is not None:
                yield name, f"{endpoint.interface} {endpoint.path}".rstrip()
    if contract.scaling is not None:
        scaling = contract.scaling
        yield "Replicas", f"{scaling.min} to {scaling.max}" if scaling.replicas is None else str(scaling.replicas)


def _architecture(graph: Graph) -> Iterator[str]:
    yield from ("```mermaid", "graph TB")
    names: dict[str, str] = {}
    lines = list(_edges(graph.root, names))
    for label, key in names.items():
        yield f'  {key}["{_plain(label)}"]'
    yield from dict.fromkeys(lines)
    yield "```"


def _edges(node: Node, names: dict[str, str]) -> Iterator[str]:
    start = _key(f"{node.name} {node.version}", names)
    for edge in node.dependencies:
        if edge.node is None:
            continue
        end = _key(f"{edge.node.name} {edge.node.version}", names)
        arrow = "-->" if edge.required else "-.->"
        yield f'  {start} {arrow}|"{_plain(edge.compatibility)}"| {end}'
        if not edge.shared:
            yield from _edges(edge.node, names)


def _key(label: str, names: dict[str, str]) -> str:
    return names.setdefault(label, f"n{len(names)}")


def _plain(text: str) -> str:
    return text.replace('"', "'").replace("\n", " ")


def _interfaces(bundle: Bundle) -> Iterator[str]:
    for each in bundle.contract.interfaces:
        port = "" if each.port is None else f", port {each.port}"
        visibility = f", {each.visibility}" if each.visibility else ""
        yield from (f"### {each.name}", "", f"Type {each.type}{port}{visibility}.", "")
        found = endpoints(bundle, each)
        if found:
            yield from ("| Method | Path | Summary |", "|---|---|---|")
            yield from (f"| `{one.method}` | `{one.path}` | {_cell(one.summary)} |" for one in found)
            yield ""


def _configurations(bundle: Bundle) -> Iterator[str]:
    for each in bundle.contract.configurations:
        yield from (f"### {each.name}", "")
        if each.ref:
            yield from (f"Defined by `{each.ref}`.", "")
        rows: list[JsonObject] = list(schema_properties(each.schema, bundle.files))
        if rows:
            yield from ("| Key | Type | Default |", "|---|---|---|")
            yield from (f"| `{row['key']}` | {row.get('type', '')} | {_cell(row['value'])} |" for row in rows)
            yield ""


def _dependencies(contract: Contract) -> Iterator[str]:
    if contract.dependencies:
        yield from ("| Name | Reference | Versions | Required |", "|---|---|---|---|")
    for each in contract.dependencies:
        need = "yes" if each.required else "no"
        yield f"| {each.name} | `{each.ref}` | `{_cell(each.compatibility)}` | {need} |"


def _readiness(contract: Contract, today: date) -> Iterator[str]:
    assessment = assess(contract, today)
    if assessment is not None:
        yield from ("```text", *readiness_lines(assessment)[1:], "```")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
