"""`/dashboard/policies`: all policies with their scores.

If the policy operator was never installed, its kinds do not exist, and the list is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    ClusterPolicyStatus,
    PolicyStatus,
)
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.components import Row, chip, many, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import ListQuery, cut, filter_form, pager, summary
from homeostat.web.dashboard.link import create_links, several_note
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.watched import Derived, Watched
from homeostat.web.policy.dashboard.groups import ShownExemption

HERE: Final = f"{ROOT}/policies"
OF_CLUSTER: Final = f"{ROOT}/cluster-policies"
_LOOKS: Final = {"Healthy": "good", "Stable": "good", "Degraded": "warn", "Critical": "bad"}
_KINDS: Final = (CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY)


class PolicyMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""


class ShownEnforcement(msgspec.Struct, frozen=True, rename="camel"):
    dry_run: bool = False


class PolicySummary(msgspec.Struct, frozen=True, rename="camel"):
    enforcement_mode: str | None = None
    enforcement: ShownEnforcement | None = None
    exemptions: tuple[ShownExemption, ...] = ()

    @property
    def mode(self) -> str:
        mode = self.enforcement_mode or "audit"
        is_dry = mode == "enforce" and self.enforcement is not None and self.enforcement.dry_run
        return "enforce (dry run)" if is_dry else mode


class Policy(msgspec.Struct, frozen=True):
    """The fields of a policy that pages show, for both kinds: a cluster-wide policy has no namespace."""

    metadata: PolicyMetadata
    spec: PolicySummary = PolicySummary()
    raw_status: msgspec.Raw = msgspec.field(name="status", default=msgspec.Raw(b""))

    @property
    def status(self) -> ClusterPolicyStatus:
        """On a cluster, another program may write a status of another form."""
        try:
            return _status.decode(self.raw_status or b"{}")
        except msgspec.ValidationError:
            return ClusterPolicyStatus(message="unreadable status")

    @property
    def path(self) -> str:
        """The path of its page."""
        where = self.metadata
        return f"{HERE}/{where.namespace}/{where.name}" if where.namespace else f"{OF_CLUSTER}/{where.name}"


_status = msgspec.json.Decoder(ClusterPolicyStatus)


class PolicyRow(NamedTuple):
    policy: Policy
    status: ClusterPolicyStatus


class Policies:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._derived: dict[str, Derived[Policy, PolicyRow]] = {
            each.kind.plural: Derived(lambda policy: PolicyRow(policy, policy.status)) for each in _KINDS
        }

    async def show(self, visit: Visit) -> Page:
        query = read_query(visit.request, ListQuery)
        found = await self.lowest(visit)
        shown = cut([each for each in found if _matches(each, query)], query.page)
        body: Node = nothing("No policies match.") if found else await _none(visit)
        if shown.items:
            body = [policy_table(shown.items), pager(HERE, query.fields, shown)]
        namespaces = sorted({each.policy.metadata.namespace for each in found} - {""})
        content: list[Node] = [
            el("h1", "Policies"),
            filter_form(HERE, query, states=("Critical", "Degraded", "Stable", "Healthy"), namespaces=namespaces)
            if found
            else None,
            summary(shown, "policy", "policies") if found else None,
            body,
            await several_note(visit, *(each.kind for each in _KINDS)) if shown.items else None,
        ]
        return Page("Policies", content, "Policies")

    async def lowest(self, visit: Visit) -> list[PolicyRow]:
        """All policies that the visitor sees, lowest score first; those without a score come last."""
        found: list[PolicyRow] = []
        # Who sees some namespaces needs none of the cluster's.
        for each in (each for each in _KINDS if each.kind.is_namespaced or visit.scope is None):
            cache = await self._watched.all(each.kind, Policy)
            found += self._derived[each.kind.plural].of(cache) if cache is not None else []
        return sorted((each for each in found if visit.sees(each.policy.metadata.namespace)), key=_order)


async def _none(visit: Visit) -> Markup:
    return nothing(
        "No policies are declared. See what one consists of, and how your workloads would score:",
        "homeostat explain devopspolicy.spec",
        "homeostat policy analyze",
        links=await create_links(visit, *(each.kind for each in _KINDS)),
    )


def _matches(each: PolicyRow, query: ListQuery) -> bool:
    where = each.policy.metadata
    return (
        query.state in ("", each.status.classification)
        and query.namespace in ("", where.namespace)
        and query.q.strip().lower() in where.name
    )


def policy_table(policies: Sequence[PolicyRow]) -> Markup:
    headings = ("Policy", "Violations", "Score", "Class", "Pods", "Mode", "Message", "Evaluated")
    return table("Policies", headings, [_row(each) for each in policies], class_="policies")


def _row(each: PolicyRow) -> Row:
    policy, status, where = each.policy, each.status, each.policy.metadata
    return row(
        f"policy-{where.uid}",
        [el("a", where.name, href=policy.path), el("span", where.namespace or "all namespaces", class_="note")],
        violations_chip(status),
        score_bar(status),
        status.classification or "–",
        _number(status.pods),
        policy.spec.mode,
        el("span", one_line(status.message or ""), class_="why"),
        moment(status.last_evaluated, "never"),
    )


def score_bar(status: PolicyStatus) -> Node:
    score = status.health_score
    if score is None:
        return el("span", "–", class_="quiet")
    bar = el("rect", x=0, width=f"{score}%", height="100%", class_=f"look-{look_of(status)}")
    chart = el("svg", bar, class_="score", role="img", aria_label=f"{score} of 100")
    return [el("span", score, class_="count"), chart]


def look_of(status: PolicyStatus) -> str:
    """A score of 98 is in the class Healthy although there are violations, so the class alone is never `good`."""
    look = _LOOKS.get(status.classification or "", "plain")
    return "warn" if look == "good" and status.violations else look


def violations_chip(status: PolicyStatus) -> Markup:
    if not status.classification or status.violations is None:
        return chip("not evaluated", "phase-pending")
    text = many(status.violations, "violation") if status.violations else "no violations"
    return chip(text, look_of(status))


def _number(count: int | None) -> str:
    return f"{count:,}" if count is not None else "–"


def _order(each: PolicyRow) -> tuple[bool, int, str, str]:
    score, where = each.status.health_score, each.policy.metadata
    return score is None, score or 0, where.namespace, where.name
