"""`/dashboard/contracts`: all Pactos with their status, readiness and failed checks, for administrators.

If the contracts operator was never installed, its kinds do not exist, and the list is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.operators.contracts.api import PACTO
from homeostat.web.dashboard.html.components import chip, heading, many, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.sessions import ROOT
from homeostat.web.dashboard.visit import Visit

HERE: Final = f"{ROOT}/contracts"
LOOKS: Final = {"Compliant": "good", "Reference": "plain", "Warning": "warn", "NonCompliant": "bad", "Unknown": "warn"}
_WORST: Final = ("NonCompliant", "Warning", "Unknown", "", "Compliant", "Reference")
MOST_SHOWN: Final = 500
MOST_IN_OVERVIEW: Final = 8
_MOST_CHECKS: Final = 3


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""


class CheckResult(msgspec.Struct, frozen=True, rename="camel"):
    """A condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class _Summary(msgspec.Struct, frozen=True):
    total: int = 0
    passed: int = 0
    failed: int = 0


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    service_name: str = ""
    owner_display: str = ""
    resolved_ref: str = ""
    image_ref: str = ""


class ReadinessItem(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    type: str = ""
    status: str = ""
    evidence: str = ""
    weight: int = 0
    expires: str = ""


class Readiness(msgspec.Struct, frozen=True, rename="camel"):
    """Zero values are not stored."""

    score: int = 0
    min_score: int = 0
    passing: bool = False
    passing_until: str = ""
    checks: tuple[ReadinessItem, ...] = ()


class Issue(msgspec.Struct, frozen=True):
    code: str = ""
    path: str = ""
    message: str = ""


class _Validation(msgspec.Struct, frozen=True):
    errors: tuple[Issue, ...] = ()
    warnings: tuple[Issue, ...] = ()


class Dependency(msgspec.Struct, frozen=True):
    name: str = ""
    ref: str = ""
    required: bool = False
    compatibility: str = ""


class PactoState(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of the status that pages show."""

    contract_status: str = ""
    contract_version: str = ""
    current_revision: str = ""
    last_reconciled_at: str = ""
    summary: _Summary = _Summary()
    contract: _Identity = _Identity()
    validation: _Validation = _Validation()
    readiness: Readiness | None = None
    conditions: tuple[CheckResult, ...] = ()
    dependencies: tuple[Dependency, ...] = ()


class _Target(msgspec.Struct, frozen=True, rename="camel"):
    service_name: str = ""


class _Spec(msgspec.Struct, frozen=True):
    target: _Target | None = None


class ShownPacto(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    raw_status: msgspec.Raw = msgspec.field(name="status", default=msgspec.Raw(b""))

    @property
    def status(self) -> PactoState:
        """On a cluster, another program may write a status of another form."""
        try:
            return _status.decode(self.raw_status or b"{}")
        except msgspec.ValidationError:
            return PactoState(contract_status="Unknown")

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"{HERE}/{self.metadata.namespace}/{self.metadata.name}"


class _List(msgspec.Struct, frozen=True):
    items: list[ShownPacto]


_list = msgspec.json.Decoder(_List)
_status = msgspec.json.Decoder(PactoState)


class Contracts:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def show(self, visit: Visit) -> Page:
        found = await self.worst()
        summary = many(len(found), "contract")
        if len(found) > MOST_SHOWN:
            summary = f"{summary}, of which these {MOST_SHOWN} are in the worst state"
        nothing = el("div", el("p", "No contracts are bound."), class_="empty")
        body = [el("p", summary, class_="summary"), contract_table(found[:MOST_SHOWN])] if found else nothing
        return Page("Contracts", [el("h1", "Contracts"), body], "Contracts")

    async def summary(self, visit: Visit) -> Node:
        found = await self.worst()
        if not found:
            return None
        more = el("a", f"All {len(found):,} contracts", href=HERE) if len(found) > MOST_IN_OVERVIEW else None
        return el("section", heading("Contracts", more), contract_table(found[:MOST_IN_OVERVIEW]))

    async def worst(self) -> list[ShownPacto]:
        """All Pactos, the worst status first."""
        try:
            found = _list.decode(await self._client.fetch("GET", PACTO.kind.path(""))).items
        except NotFoundError:
            return []
        return sorted(found, key=_order)


def contract_table(pactos: Sequence[ShownPacto]) -> Markup:
    headings = ("Contract", "Status", "Service", "Version", "Checks", "Readiness", "Failed", "Reconciled")
    return table("Contracts", headings, [_row(each) for each in pactos], class_="contracts")


def _row(pacto: ShownPacto) -> Markup:
    status, where = pacto.status, pacto.metadata
    failed = failed_checks(status)
    names = ", ".join(each.type for each in failed[:_MOST_CHECKS])
    more = f" and {len(failed) - _MOST_CHECKS} more" if len(failed) > _MOST_CHECKS else ""
    return row(
        f"contract-{where.uid}",
        [el("a", where.name, href=pacto.path), el("span", where.namespace, class_="note")],
        status_chip(status),
        status.contract.service_name or "–",
        status.contract_version or "–",
        f"{status.summary.passed} of {status.summary.total}" if status.summary.total else "–",
        readiness_chip(status.readiness),
        el("span", one_line(f"{names}{more}"), class_="why"),
        moment(status.last_reconciled_at, "never"),
    )


def status_chip(status: PactoState) -> Markup:
    word = status.contract_status
    return chip(word, LOOKS.get(word, "plain")) if word else chip("not evaluated", "phase-pending")


def readiness_chip(readiness: Readiness | None) -> Node:
    if readiness is None:
        return el("span", "–", class_="quiet")
    return chip(f"{readiness.score} of {readiness.min_score}", "good" if readiness.passing else "warn")


def failed_checks(status: PactoState) -> list[CheckResult]:
    return [each for each in status.conditions if each.status == "False"]


def _order(pacto: ShownPacto) -> tuple[int, str, str]:
    word = pacto.status.contract_status
    place = _WORST.index(word) if word in _WORST else len(_WORST)
    return place, pacto.metadata.namespace, pacto.metadata.name
