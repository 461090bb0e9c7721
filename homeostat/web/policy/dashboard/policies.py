"""`/dashboard/policies`: all policies with their scores, for administrators.

If the policy operator was never installed, its kinds do not exist, and the list is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    ClusterPolicyStatus,
    PolicyStatus,
)
from homeostat.web.dashboard.html.components import chip, heading, many, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.sessions import ROOT
from homeostat.web.dashboard.visit import Visit

HERE: Final = f"{ROOT}/policies"
OF_CLUSTER: Final = f"{ROOT}/cluster-policies"
LOOKS: Final = {"Healthy": "good", "Stable": "good", "Degraded": "warn", "Critical": "bad"}
MOST_SHOWN: Final = 500
MOST_IN_OVERVIEW: Final = 8


class PolicyMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str = ""


class PolicySummary(msgspec.Struct, frozen=True, rename="camel"):
    enforcement_mode: str | None = None


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


class _List(msgspec.Struct, frozen=True):
    items: list[Policy]


_list = msgspec.json.Decoder(_List)
_status = msgspec.json.Decoder(ClusterPolicyStatus)


class Policies:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def show(self, visit: Visit) -> Page:
        found = await self.lowest()
        summary = many(len(found), "policy", "policies")
        if len(found) > MOST_SHOWN:
            summary = f"{summary}, of which these {MOST_SHOWN} have the lowest scores"
        nothing = el("div", el("p", "No policies are declared."), class_="empty")
        body = [el("p", summary, class_="summary"), policy_table(found[:MOST_SHOWN])] if found else nothing
        return Page("Policies", [el("h1", "Policies"), body], "Policies")

    async def summary(self, visit: Visit) -> Node:
        found = await self.lowest()
        if not found:
            return None
        more = el("a", f"All {len(found):,} policies", href=HERE) if len(found) > MOST_IN_OVERVIEW else None
        return el("section", heading("Policies", more), policy_table(found[:MOST_IN_OVERVIEW]))

    async def lowest(self) -> list[Policy]:
        """All policies, lowest score first; those without a score come last."""
        found = [each for kind in (CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY) for each in await self._all(kind.kind)]
        return sorted(found, key=_order)

    async def _all(self, kind: Kind) -> list[Policy]:
        try:
            return _list.decode(await self._client.fetch("GET", kind.path(""))).items
        except NotFoundError:
            return []


def policy_table(policies: Sequence[Policy]) -> Markup:
    headings = ("Policy", "Score", "Class", "Violations", "Pods", "Mode", "Message", "Evaluated")
    return table("Policies", headings, [_row(each) for each in policies], class_="policies")


def _row(policy: Policy) -> Markup:
    status, where = policy.status, policy.metadata
    return row(
        f"policy-{where.uid}",
        [el("a", where.name, href=policy.path), el("span", where.namespace or "all namespaces", class_="note")],
        score_bar(status),
        class_chip(status),
        _number(status.violations),
        _number(status.pods),
        policy.spec.enforcement_mode or "audit",
        el("span", one_line(status.message or ""), class_="why"),
        moment(status.last_evaluated, "never"),
    )


def score_bar(status: PolicyStatus) -> Node:
    score = status.health_score
    if score is None:
        return el("span", "–", class_="quiet")
    look = f"look-{LOOKS.get(status.classification or '', 'plain')}"
    bar = el("rect", x=0, width=f"{score}%", height="100%", class_=look)
    chart = el("svg", bar, class_="score", role="img", aria_label=f"{score} of 100")
    return [el("span", score, class_="count"), chart]


def class_chip(status: PolicyStatus) -> Markup:
    word = status.classification or ""
    return chip(word, LOOKS.get(word, "plain")) if word else chip("not evaluated", "phase-pending")


def _number(count: int | None) -> str:
    return f"{count:,}" if count is not None else "–"


def _order(policy: Policy) -> tuple[bool, int, str, str]:
    score = policy.status.health_score
    return score is None, score or 0, policy.metadata.namespace, policy.metadata.name
