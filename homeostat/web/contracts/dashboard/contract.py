"""`/dashboard/contracts/{namespace}/{name}`: one Pacto: its checks, what validation found, readiness, dependencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SERVICE
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.contracts.api import PACTO, REQUESTED
from homeostat.operators.contracts.engine.checks.verdict import (
    CONTRACT_VALID,
    OF_SERVICE,
    READINESS_EXPIRING,
    READINESS_SATISFIED,
)
from homeostat.operators.contracts.engine.dates import parse_date
from homeostat.web.contracts.dashboard.contracts import (
    HERE,
    TITLE,
    CheckResult,
    PactoState,
    ShownPacto,
    readiness_chip,
    status_chip,
)
from homeostat.web.contracts.dashboard.findings import target_in, target_kind
from homeostat.web.contracts.dashboard.readiness import remaining
from homeostat.web.contracts.dashboard.revisions import Revisions
from homeostat.web.dashboard.html.command import Action, actions, annotate
from homeostat.web.dashboard.html.components import Row, chip, facts, message_text, moment, one_line, row, table
from homeostat.web.dashboard.html.conditions import unobserved
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el, link
from homeostat.web.dashboard.link import edit_action, joined, object_link
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Question
from homeostat.web.kit.refusal import forbidden, unknown

MOST_SHOWN: Final = 200
_OF_READINESS: Final = (READINESS_SATISFIED, READINESS_EXPIRING)
"""Conditions that the numbers of checks leave out. The latter is True if the gate drops soon."""
_LOOKS: Final = {"True": "good", "False": "bad", "Unknown": "warn"}
_WORDS: Final = {"True": "passed", "False": "failed", "Unknown": "unknown"}
_pacto = msgspec.json.Decoder(ShownPacto)


class ContractPage:
    def __init__(
        self, client: Client, revisions: Revisions, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._client, self._revisions, self._now = client, revisions, now

    async def show(self, visit: Visit) -> Page:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        try:
            pacto = _pacto.decode(await self._client.fetch("GET", PACTO.kind.path(namespace, name)))
        except NotFoundError as error:
            raise unknown(f"Contract {namespace}/{name} not found") from error
        status = pacto.status
        may_act = await visit.caller.allows(_question(namespace, name))
        objects = await _objects(visit, pacto)
        content: list[Node] = [
            _title(pacto, status),
            unobserved(pacto.metadata.generation, status.observed_generation),
            actions(
                visit.viewer.proof,
                [
                    _reconcile(namespace, name) if may_act else None,
                    await edit_action(visit, PACTO.kind, namespace, name),
                ],
            ),
            _facts(pacto, status, objects, self._now().date()),
            _checks([each for each in status.checks if each.type not in _OF_READINESS], objects),
            _findings(status),
            _dependencies(status),
            _readiness(status),
            await self._revisions.section(namespace, name, status.current_revision),
        ]
        return Page(name, content, TITLE)

    async def reconcile(self, visit: Visit) -> str:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        if not await visit.caller.allows(_question(namespace, name)):
            raise forbidden(f"{visit.caller.username} is not allowed to patch pactos in the namespace {namespace}")
        patch: JsonObject = {"metadata": {"annotations": {REQUESTED: format_micro_time(self._now())}}}
        try:
            await visit.client(self._client).merge(PACTO.kind.path(namespace, name), patch)
        except NotFoundError as error:
            raise unknown(f"Contract {namespace}/{name} not found") from error
        return f"{HERE}/{namespace}/{name}"


def _question(namespace: str, name: str) -> Question:
    return Question(PACTO.kind.group, PACTO.kind.plural, "patch", namespace, name)


def _reconcile(namespace: str, name: str) -> Action:
    path = f"{HERE}/{namespace}/{name}/reconcile"
    return Action("Reconcile now", path, annotate("pacto", namespace, name, REQUESTED), is_primary=True)


def _title(pacto: ShownPacto, status: PactoState) -> list[Node]:
    return [
        el("p", el("a", TITLE, href=HERE), class_="crumbs"),
        el("div", el("h1", pacto.metadata.name, " ", status_chip(status)), class_="title"),
    ]


class _Objects(NamedTuple):
    """Links to the Pacto, and to what its contract is checked against: where somebody goes to fix what failed."""

    own: Node
    service: Node = None
    workload: Node = None

    @property
    def target(self) -> Node:
        return joined([self.service, self.workload]) or "none; the contract is loaded and not checked"

    def of_check(self, check: str) -> Node:
        """The object that a check is about; None for one of the contract itself."""
        if check == CONTRACT_VALID:
            return None
        return self.service if check in OF_SERVICE else self.workload


async def _objects(visit: Visit, pacto: ShownPacto) -> _Objects:
    where, target = pacto.metadata, target_in(pacto)
    own = await object_link(visit, PACTO.kind, where.namespace, where.name)
    if target is None:
        return _Objects(own)
    service = await object_link(visit, SERVICE, where.namespace, target.service) if target.service else None
    return _Objects(own, service, await object_link(visit, target_kind(target), where.namespace, target.workload))


def _facts(pacto: ShownPacto, status: PactoState, objects: _Objects, today: date) -> Markup:
    contract = status.contract
    service = contract.service_name
    until = parse_date(status.readiness.passing_until) if status.readiness is not None else None
    return facts(
        ("Namespace", pacto.metadata.namespace),
        ("Service", el("a", service, href=f"{HERE}/graph?{urlencode({'focus': service})}") if service else ""),
        ("Version", status.contract_version),
        ("Owner", contract.owner_display),
        ("Source", contract.resolved_ref),
        ("Revision", status.current_revision),
        ("Image", contract.image_ref),
        ("Target", objects.target),
        ("Object", objects.own),
        ("Checks", f"{status.summary.passed} of {status.summary.total} passed" if status.summary.total else ""),
        ("Readiness", readiness_chip(status.readiness) if status.readiness is not None else ""),
        ("Ready until", remaining(until, today) if until is not None else ""),
        ("Reconciled", moment(status.last_reconciled_at, "never")),
    )


def _checks(conditions: Sequence[CheckResult], objects: _Objects) -> Markup:
    shown = sorted(conditions, key=lambda each: ("False", "Unknown", "True").index(each.status) if each.status else 3)
    rows = [
        row(
            f"check-{at}",
            [each.type, el("span", about, class_="note") if (about := objects.of_check(each.type)) else None],
            chip(_WORDS.get(each.status, each.status or "unknown"), _LOOKS.get(each.status, "plain")),
            each.reason,
            message_text(each.message),
            moment(each.last_transition_time),
        )
        for at, each in enumerate(shown[:MOST_SHOWN])
    ]
    return _section("Checks", ("Check", "Result", "Reason", "Message", "Since"), rows, "Not evaluated yet.", "cards")


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
            message_text(each.message),
        )
        for at, (severity, each) in enumerate(found[:MOST_SHOWN])
    ]
    return _section("Findings", ("Code", "Severity", "Path", "Message"), rows, "", "cards")


def _dependencies(status: PactoState) -> Node:
    if not status.dependencies:
        return None
    rows = [
        row(f"dependency-{at}", each.name, "required" if each.required else "optional", each.compatibility, each.ref)
        for at, each in enumerate(status.dependencies[:MOST_SHOWN])
    ]
    return _section("Dependencies", ("Dependency", "Need", "Compatibility", "Reference"), rows, "")


def _readiness(status: PactoState) -> Node:
    """What the operator says of the gate, and the checks that count for it."""
    readiness = status.readiness
    if readiness is None:
        return None
    said = [
        el("p", chip(_gate(each), _gate_look(each)), " ", message_text(each.message, "quiet"))
        for kind in _OF_READINESS
        for each in status.checks
        if each.type == kind
    ]
    rows = [
        row(
            f"readiness-{at}",
            each.id,
            chip(each.status, "good" if each.status in ("done", "Current") else "warn"),
            each.weight,
            el("span", link(one_line(each.evidence)), class_="why"),
            each.expires or "–",
        )
        for at, each in enumerate(readiness.checks[:MOST_SHOWN])
    ]
    return _section("Readiness", ("Check", "Status", "Weight", "Evidence", "Expires"), rows, "None.", said=said)


def _gate(condition: CheckResult) -> str:
    if condition.type == READINESS_EXPIRING:
        return "expires soon"
    return {"True": "ready", "False": "not ready"}.get(condition.status, "unknown")


def _gate_look(condition: CheckResult) -> str:
    return "warn" if condition.type == READINESS_EXPIRING else _LOOKS.get(condition.status, "plain")


def _section(
    title: str, headings: Sequence[str], rows: Sequence[Row], nothing: str, class_: str = "", said: Node = None
) -> Markup:
    body = table(title, headings, rows, class_=class_) if rows else el("div", el("p", nothing), class_="empty")
    return el("section", el("h2", title), said, body)
