"""`/dashboard/policies/{namespace}/{name}`: one policy, and the violations in its newest audit result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.declared import OwnerReference
from homeostat.objects.errors import NotFoundError
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    POLICY_AUDIT_RESULT,
    AuditSpec,
    Violation,
)
from homeostat.web.dashboard.html.components import chip, facts, many, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.redaction import plain_text
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.refusal import unknown
from homeostat.web.policy.dashboard.policies import HERE, Policy, class_chip, score_bar

MOST_SHOWN: Final = 200
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_LOOKS: Final = {"critical": "bad", "high": "bad", "medium": "warn", "low": "plain"}
_GRAVEST: Final = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_policy = msgspec.json.Decoder(Policy)


class _ResultMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    creation_timestamp: str = ""
    owner_references: tuple[OwnerReference, ...] = ()


class _Result(msgspec.Struct, frozen=True):
    metadata: _ResultMetadata


class _Results(msgspec.Struct, frozen=True):
    items: list[_Result] | None
    """null if there are none, as kube-apiserver sends it."""


class _Audit(msgspec.Struct, frozen=True):
    spec: AuditSpec


_results = msgspec.json.Decoder(_Results)
_audit = msgspec.json.Decoder(_Audit)


class PolicyPage:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def show(self, visit: Visit) -> Page:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        policy = await self._find(DEVOPS_POLICY.kind.path(namespace, name), f"Policy {namespace}/{name}")
        audit = await self._newest(policy)
        violations = sorted(audit.violations, key=lambda each: _GRAVEST[each.severity]) if audit is not None else []
        return Page(name, [*_head(policy), _violations(violations, policy.status.violations or 0)], "Policies")

    async def show_of_cluster(self, visit: Visit) -> Page:
        name = visit.captured["name"]
        policy = await self._find(CLUSTER_DEVOPS_POLICY.kind.path("", name), f"Policy {name}")
        return Page(name, [*_head(policy), _namespaces(policy)], "Policies")

    async def _find(self, path: str, title: str) -> Policy:
        try:
            return _policy.decode(await self._client.fetch("GET", path))
        except NotFoundError as error:
            raise unknown(f"{title} not found") from error

    async def _newest(self, policy: Policy) -> AuditSpec | None:
        """Audit results can be large and many: only the newest is read."""
        where = policy.metadata
        path = POLICY_AUDIT_RESULT.kind.path(where.namespace)
        try:
            listed = _results.decode(await self._client.fetch("GET", path, accept=_METADATA_ONLY)).items or []
            ours = [each.metadata for each in listed if any(o.uid == where.uid for o in each.metadata.owner_references)]
            if not ours:
                return None
            newest = max(ours, key=lambda each: (each.creation_timestamp, each.name))
            path = POLICY_AUDIT_RESULT.kind.path(where.namespace, newest.name)
            return _audit.decode(await self._client.fetch("GET", path)).spec
        except (NotFoundError, msgspec.ValidationError):
            return None


def _head(policy: Policy) -> list[Node]:
    status, where = policy.status, policy.metadata
    name = el("h1", where.name, " ", class_chip(status))
    message = el("p", plain_text(status.message or ""), class_="message")
    return [
        el("p", el("a", "Policies", href=HERE), class_="crumbs"),
        el("div", el("div", name, message), class_="title"),
        facts(
            ("Score", score_bar(status)),
            ("Namespace", where.namespace or "all selected"),
            ("Mode", policy.spec.enforcement_mode or "audit"),
            ("Violations", status.violations if status.violations is not None else ""),
            ("Pods", status.pods if status.pods is not None else ""),
            ("Exempted", status.exempted or ""),
            ("Remedied", status.remediations_applied or ""),
            ("Failed patches", status.remediations_failed or ""),
            ("Evaluated", moment(status.last_evaluated, "never")),
        ),
    ]


def _violations(violations: Sequence[Violation], count: int) -> Markup:
    if not violations:
        text = "None recorded." if count else "None."
        return el("section", el("h2", "Violations"), el("div", el("p", text), class_="empty"))
    rows = [
        row(
            f"violation-{at}",
            each.pod_name,
            each.container_name,
            chip(each.severity, _LOOKS[each.severity]),
            each.violation_type,
            el("span", one_line(each.message), class_="why"),
        )
        for at, each in enumerate(violations[:MOST_SHOWN])
    ]
    summary = many(count, "violation")
    summary = f"{summary}; showing {len(rows):,}" if count > len(rows) else summary
    headings = ("Pod", "Container", "Severity", "Rule", "Message")
    body = table("Violations", headings, rows)
    return el("section", el("h2", "Violations"), el("p", summary, class_="summary"), body)


def _namespaces(policy: Policy) -> Markup:
    rows = [
        row(f"namespace-{each.name}", each.name, each.health_score, each.violations, each.pods)
        for each in policy.status.namespaces
    ]
    nothing = el("div", el("p", "None recorded."), class_="empty")
    body = table("Namespaces", ("Namespace", "Score", "Violations", "Pods"), rows) if rows else nothing
    return el("section", el("h2", "Namespaces with the lowest scores"), body)
