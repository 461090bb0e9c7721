"""`/dashboard/contracts/{namespace}/{name}`: one Pacto: its checks, what validation found, readiness, dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.operators.contracts.api import PACTO
from homeostat.web.contracts.dashboard.contracts import (
    HERE,
    CheckResult,
    PactoState,
    Readiness,
    ShownPacto,
    readiness_chip,
    status_chip,
)
from homeostat.web.dashboard.html.components import chip, facts, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import unknown

MOST_SHOWN: Final = 200
_LOOKS: Final = {"True": "good", "False": "bad", "Unknown": "warn"}
_WORDS: Final = {"True": "passed", "False": "failed", "Unknown": "unknown"}
_pacto = msgspec.json.Decoder(ShownPacto)


class ContractPage:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def show(self, visit: Visit) -> Page:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        try:
            pacto = _pacto.decode(await self._client.fetch("GET", PACTO.kind.path(namespace, name)))
        except NotFoundError as error:
            raise unknown(f"Contract {namespace}/{name} not found") from error
        status = pacto.status
        sections = [_head(pacto, status), _checks(status.conditions), _findings(status), _dependencies(status)]
        return Page(name, [*sections, _readiness(status.readiness)], "Contracts")


def _head(pacto: ShownPacto, status: PactoState) -> list[Node]:
    contract, target = status.contract, pacto.spec.target
    return [
        el("p", el("a", "Contracts", href=HERE), class_="crumbs"),
        el("div", el("h1", pacto.metadata.name, " ", status_chip(status)), class_="title"),
        facts(
            ("Namespace", pacto.metadata.namespace),
            ("Service", contract.service_name),
            ("Version", status.contract_version),
            ("Owner", contract.owner_display),
            ("Source", contract.resolved_ref),
            ("Revision", status.current_revision),
            ("Image", contract.image_ref),
            ("Target", target.service_name if target is not None else "none; the contract is only loaded"),
            ("Checks", f"{status.summary.passed} of {status.summary.total} passed" if status.summary.total else ""),
            ("Readiness", readiness_chip(status.readiness) if status.readiness is not None else ""),
            ("Reconciled", moment(status.last_reconciled_at, "never")),
        ),
    ]


def _checks(conditions: Sequence[CheckResult]) -> Markup:
    shown = sorted(conditions, key=lambda each: ("False", "Unknown", "True").index(each.status) if each.status else 3)
    rows = [
        row(
            f"check-{at}",
            each.type,
            chip(_WORDS.get(each.status, each.status or "unknown"), _LOOKS.get(each.status, "plain")),
            each.reason,
            el("span", one_line(each.message), class_="why"),
            moment(each.last_transition_time),
        )
        for at, each in enumerate(shown[:MOST_SHOWN])
    ]
    return _section("Checks", ("Check", "Result", "Reason", "Message", "Since"), rows, "Not evaluated yet.")


def _findings(status: PactoState) -> Node:
    found = [("error", each) for each in status.validation.errors]
    found += [("warning", each) for each in status.validation.warnings]
    if not found:
        return None
    rows = [
        row(
            f"finding-{at}",
            each.code or "–",
            chip(severity, "bad" if severity == "error" else "warn"),
            el("code", one_line(each.path)) if each.path else "–",
            el("span", one_line(each.message), class_="why"),
        )
        for at, (severity, each) in enumerate(found[:MOST_SHOWN])
    ]
    return _section("Findings", ("Code", "Severity", "Path", "Message"), rows, "")


def _dependencies(status: PactoState) -> Node:
    if not status.dependencies:
        return None
    rows = [
        row(f"dependency-{at}", each.name, "required" if each.required else "optional", each.compatibility, each.ref)
        for at, each in enumerate(status.dependencies[:MOST_SHOWN])
    ]
    return _section("Dependencies", ("Dependency", "Need", "Compatibility", "Reference"), rows, "")


def _readiness(readiness: Readiness | None) -> Node:
    if readiness is None:
        return None
    rows = [
        row(
            f"readiness-{at}",
            each.id,
            chip(each.status, "good" if each.status in ("done", "Current") else "warn"),
            each.weight,
            el("span", one_line(each.evidence), class_="why"),
            each.expires or "–",
        )
        for at, each in enumerate(readiness.checks[:MOST_SHOWN])
    ]
    return _section("Readiness", ("Check", "Status", "Weight", "Evidence", "Expires"), rows, "None.")


def _section(title: str, headings: Sequence[str], rows: Sequence[Markup], nothing: str) -> Markup:
    body = table(title, headings, rows) if rows else el("div", el("p", nothing), class_="empty")
    return el("section", el("h2", title), body)
