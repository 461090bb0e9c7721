"""`/dashboard/contracts`: all Pactos with their status, readiness and failed checks.

If the contracts operator was never installed, its kinds do not exist, and the list is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.conditions import PAUSED
from homeostat.operators.contracts.api import PACTO
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.components import Row, chip, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, cut, filter_form, pager, summary, tabs
from homeostat.web.dashboard.link import create_links, several_note
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.watched import Derived, Watched

HERE: Final = f"{ROOT}/contracts"
LOOKS: Final = {
    "Compliant": "good",
    "Reference": "plain",
    "Warning": "warn",
    "NonCompliant": "bad",
    "Unknown": "phase-pending",
}
_WORST: Final = ("NonCompliant", "Warning", "Unknown", "", "Compliant", "Reference")
TITLE: Final = "Contracts"
_MOST_CHECKS: Final = 3


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0


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
    expires: str = ""
    """The last day of the whole assessment; empty if each check has a day of its own."""
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
    observed_generation: int = 0
    current_revision: str = ""
    last_reconciled_at: str = ""
    summary: _Summary = _Summary()
    contract: _Identity = _Identity()
    validation: _Validation = _Validation()
    readiness: Readiness | None = None
    conditions: tuple[CheckResult, ...] = ()
    dependencies: tuple[Dependency, ...] = ()

    @property
    def is_paused(self) -> bool:
        return any(each.type == PAUSED and each.status == "True" for each in self.conditions)

    @property
    def checks(self) -> list[CheckResult]:
        return [each for each in self.conditions if each.type != PAUSED]


class _Workload(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""


class _Target(msgspec.Struct, frozen=True, rename="camel"):
    service_name: str = ""
    workload_ref: _Workload | None = None


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


_status = msgspec.json.Decoder(PactoState)


class ContractRow(NamedTuple):
    pacto: ShownPacto
    status: PactoState


class Contracts:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._derived: Derived[ShownPacto, ContractRow] = Derived(lambda each: ContractRow(each, each.status))

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, ListQuery)
        rows = await self.worst(visit)
        shown = cut([each for each in rows if _matches(each, query)], query.page)
        body: Node = nothing("No contracts match.") if rows else await no_contracts(visit)
        if shown.items:
            body = [contract_table(shown.items), pager(HERE, query.fields, shown)]
        namespaces = sorted({each.pacto.metadata.namespace for each in rows})
        content: list[Node] = [
            el("h1", TITLE),
            contract_tabs("Contracts"),
            filter_form(HERE, query, states=tuple(filter(None, _WORST)), namespaces=namespaces, word="name or service")
            if rows
            else None,
            summary(shown, "contract") if rows else None,
            body,
            await several_note(visit, PACTO.kind) if shown.items else None,
        ]
        return Page(TITLE, content, TITLE)

    async def worst(self, visit: Visit) -> list[ContractRow]:
        """All Pactos that the visitor sees, the worst status first."""
        cache = await self._watched.all(PACTO.kind, ShownPacto)
        every = self._derived.of(cache) if cache is not None else []
        return sorted((each for each in every if visit.sees(each.pacto.metadata.namespace)), key=_order)


async def no_contracts(visit: Visit) -> Markup:
    return nothing(
        "No contracts are bound. Write one, and bind it to a workload by a Pacto:",
        "homeostat contract init",
        "homeostat explain pacto.spec",
        "homeostat apply -f pacto.yaml",
        links=await create_links(visit, PACTO.kind),
    )


def contract_tabs(current: str) -> Markup:
    items = (("Contracts", HERE), ("Service graph", f"{HERE}/graph"), ("Readiness", f"{HERE}/readiness"))
    return tabs(TITLE, items, current)


def contract_table(pactos: Sequence[ContractRow]) -> Markup:
    headings = ("Contract", "Status", "Service", "Version", "Checks", "Readiness", "Failed", "Reconciled")
    return table("Contracts", headings, [_row(each) for each in pactos], class_="contracts")


def _row(each: ContractRow) -> Row:
    pacto, status, where = each.pacto, each.status, each.pacto.metadata
    failed = failed_checks(status)
    names = ", ".join(one.type for one in failed[:_MOST_CHECKS])
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


def status_chip(status: PactoState) -> list[Node]:
    paused = [" ", chip("paused", "warn")] if status.is_paused else []
    return [status_word_chip(status.contract_status), *paused]


def status_word_chip(word: str) -> Markup:
    return chip(word, LOOKS.get(word, "plain")) if word else chip("not evaluated", "phase-pending")


def readiness_chip(readiness: Readiness | None) -> Node:
    if readiness is None:
        return el("span", "–", class_="quiet")
    return chip(f"{readiness.score} of {readiness.min_score}", "good" if readiness.passing else "warn")


def failed_checks(status: PactoState) -> list[CheckResult]:
    return [each for each in status.checks if each.status == "False"]


def _order(each: ContractRow) -> tuple[int, str, str]:
    word = each.status.contract_status
    place = _WORST.index(word) if word in _WORST else len(_WORST)
    return place, each.pacto.metadata.namespace, each.pacto.metadata.name


def _matches(each: ContractRow, query: ListQuery) -> bool:
    where, word = each.pacto.metadata, query.q.strip().lower()
    return (
        query.state in ("", each.status.contract_status)
        and query.namespace in ("", where.namespace)
        and (word in where.name or word in each.status.contract.service_name.lower())
    )
