"""`/dashboard/policies/{namespace}/{name}`: one policy: its score over time, violations and exemptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    POLICY_AUDIT_RESULT,
    AuditSpec,
    Violation,
)
from homeostat.web.dashboard.html.command import actions, command, nothing, shell
from homeostat.web.dashboard.html.components import chip, facts, many, message_text, moment, one_line, row, table
from homeostat.web.dashboard.html.layout import Page
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.html.redaction import plain_text
from homeostat.web.dashboard.link import edit_action, object_link
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query
from homeostat.web.kit.refusal import unknown
from homeostat.web.policy.dashboard.groups import GRAVEST, LOOKS, by_rule, by_workload, exemptions_table, remedies
from homeostat.web.policy.dashboard.history import Result, read_results, result_path, score_chart
from homeostat.web.policy.dashboard.links import PodLinks, pod_links
from homeostat.web.policy.dashboard.policies import HERE, Policy, score_bar, violations_chip

MOST_SHOWN: Final = 200
_MOST_NAMES: Final = 5
_policy = msgspec.json.Decoder(Policy)


class _Audit(msgspec.Struct, frozen=True):
    spec: AuditSpec


_audit = msgspec.json.Decoder(_Audit)


class ResultQuery(msgspec.Struct, frozen=True):
    """Which audit result; the newest one by default."""

    result: Annotated[str, Meta(max_length=253)] = ""


class Scope(NamedTuple):
    """Where the results of a policy are shown: of a ClusterDevOpsPolicy one namespace, which is in the path."""

    namespace: str
    path: str
    violations: int | None
    """Of the last evaluation there."""


class PolicyPage:
    def __init__(self, client: Client, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._client, self._now = client, now

    async def show(self, visit: Visit) -> Page:
        namespace, name = visit.captured["namespace"], visit.captured["name"]
        policy = await self._find(DEVOPS_POLICY.kind.path(namespace, name), f"Policy {namespace}/{name}")
        content: list[Node] = [
            *await _head(visit, DEVOPS_POLICY.kind, policy),
            *await self._results(visit, policy, Scope(namespace, policy.path, policy.status.violations)),
            exemptions_table(policy.spec.exemptions, self._now()),
        ]
        return Page(name, content, "Policies")

    async def show_of_cluster(self, visit: Visit) -> Page:
        name = visit.captured["name"]
        policy = await self._find(CLUSTER_DEVOPS_POLICY.kind.path("", name), f"Policy {name}")
        exemptions = exemptions_table(policy.spec.exemptions, self._now())
        head = await _head(visit, CLUSTER_DEVOPS_POLICY.kind, policy)
        chosen: list[Node] = []
        if namespace := visit.namespace:
            counts = {each.name: each.violations for each in policy.status.namespaces}
            here = place(policy.path, {"namespace": namespace})
            chosen = await self._results(visit, policy, Scope(namespace, here, counts.get(namespace)))
        return Page(name, [*head, _namespaces(policy, visit.namespace), *chosen, exemptions], "Policies")

    async def _results(self, visit: Visit, policy: Policy, scope: Scope) -> list[Node]:
        """The score over time in a namespace, and the violations of the newest audit result or of a chosen one."""
        namespace, wanted = scope.namespace, read_query(visit.request, ResultQuery).result
        results = await read_results(self._client, namespace, policy.metadata.uid)
        names = [each.name for each in results]
        if wanted and wanted not in names:
            raise unknown(f"Policy {policy.metadata.name} has no audit result {wanted}; old ones are deleted")
        chosen = wanted or (names[-1] if names else "")
        audit = await self._audit(namespace, chosen) if chosen else None
        is_met = not wanted and scope.violations == 0
        shown = audit.violations if audit is not None and not is_met else ()
        violations = sorted(shown, key=lambda each: GRAVEST[each.severity])
        total = audit.total_violations if audit is not None and not is_met else scope.violations or 0
        links = await pod_links(visit, namespace)
        return [
            _history(results, scope, chosen, f" in {namespace}" if not policy.metadata.namespace else ""),
            _as_of(audit, scope.path) if wanted and audit is not None else None,
            _since_then(scope, audit, chosen) if not wanted else None,
            el("div", by_rule(violations), by_workload(violations, links.workload), class_="columns")
            if violations
            else None,
            _planned(policy),
            remedies(violations),
            _violations(violations, total, links),
        ]

    async def _find(self, path: str, title: str) -> Policy:
        try:
            return _policy.decode(await self._client.fetch("GET", path))
        except NotFoundError as error:
            raise unknown(f"{title} not found") from error

    async def _audit(self, namespace: str, name: str) -> AuditSpec | None:
        """Audit results can be large and many: only one is read."""
        try:
            path = POLICY_AUDIT_RESULT.kind.path(namespace, name)
            return _audit.decode(await self._client.fetch("GET", path)).spec
        except (NotFoundError, msgspec.ValidationError):
            return None


def _history(results: Sequence[Result], scope: Scope, chosen: str, where: str) -> Markup:
    chart = score_chart(results, scope.path, chosen)
    few = nothing("The chart needs two audit results. One is written when something changes.")
    return el("section", el("h2", f"Score over time{where}"), chart if chart is not None else few)


async def _object(visit: Visit, kind: Kind, policy: Policy) -> Node:
    return await object_link(visit, kind, policy.metadata.namespace, policy.metadata.name)


async def _actions(visit: Visit, kind: Kind, policy: Policy) -> Node:
    where = policy.metadata
    place = ["-n", where.namespace] if where.namespace else []
    same = shell("homeostat", "policy", "analyze", *place, "--violations")
    return [
        actions(visit.viewer.proof, [await edit_action(visit, kind, where.namespace, where.name)]),
        el("p", "The Pods as they are now, on the command line: ", command(same), class_="note"),
    ]


async def _head(visit: Visit, kind: Kind, policy: Policy) -> list[Node]:
    status, where = policy.status, policy.metadata
    name = el("h1", where.name, " ", violations_chip(status))
    # Of an evaluated policy, the message repeats the numbers that follow.
    said = plain_text(status.message or "") if not status.classification else ""
    message = message_text(said, "message") if said else None
    return [
        el("p", el("a", "Policies", href=HERE), class_="crumbs"),
        el("div", el("div", name, message), class_="title"),
        await _actions(visit, kind, policy),
        facts(
            ("Score", score_bar(status)),
            ("Class of the score", status.classification or ""),
            ("Namespace", where.namespace or "all selected"),
            ("Mode", policy.spec.mode),
            ("Violations", status.violations if status.violations is not None else ""),
            ("Pods", status.pods if status.pods is not None else ""),
            ("Exempted", status.exempted or ""),
            ("Remediations", status.remediations_applied or ""),
            ("Failed patches", status.remediations_failed or ""),
            ("Object", await _object(visit, kind, policy)),
            ("Evaluated", moment(status.last_evaluated, "never")),
        ),
    ]


def _planned(policy: Policy) -> Node:
    """What a dry run of enforcement would change, and where it cannot."""
    planned, without = policy.status.planned_changes, policy.status.containers_without_port
    if not (planned or without):
        return None
    rows = [row(f"planned-{at}", *_parted(one_line(each))) for at, each in enumerate(sorted(planned)[:MOST_SHOWN])]
    body = table("Planned changes", ("Workload", "Change"), rows, class_="cards") if rows else None
    note = None
    if without:
        names = ", ".join(without[:_MOST_NAMES]) + (", ..." if len(without) > _MOST_NAMES else "")
        note = f"Without a declared containerPort no probe can be added to {names}."
    return el(
        "section", el("h2", "What enforcement would change"), body, el("p", note, class_="note") if note else None
    )


def _parted(change: str) -> tuple[Node, Node]:
    workload, _, text = change.partition(": ")
    return workload, el("span", text, class_="why")


def _violations(violations: Sequence[Violation], count: int, links: PodLinks) -> Markup:
    if not violations:
        text = "None recorded." if count else "None."
        return el("section", el("h2", "Violations"), el("div", el("p", text), class_="empty"))
    rows = [
        row(
            f"violation-{at}",
            links.pod(each.pod_name),
            each.container_name,
            chip(each.severity, LOOKS[each.severity]),
            each.violation_type,
            el("span", one_line(each.message), class_="why"),
        )
        for at, each in enumerate(violations[:MOST_SHOWN])
    ]
    summary = many(count, "violation")
    summary = f"{summary}; showing {len(rows):,}" if count > len(rows) else summary
    headings = ("Pod", "Container", "Severity", "Rule", "Message")
    body = table("Violations", headings, rows, class_="cards")
    return el("section", el("h2", "Violations"), el("p", summary, class_="summary"), body)


def _as_of(audit: AuditSpec, path: str) -> Markup:
    newest = el("a", "Show the newest", href=path)
    return el("p", "As of ", moment(audit.timestamp), ". ", newest, class_="summary")


def _since_then(scope: Scope, audit: AuditSpec | None, name: str) -> Node:
    """A policy is evaluated more often than results are written: at most one in an interval."""
    count = scope.violations
    if audit is None or count is None or count == audit.total_violations:
        return None
    result = el("a", "audit result", href=result_path(scope.path, name))
    then = many(audit.total_violations, "violation")
    if not count:
        return el("p", "The newest ", result, ", of ", moment(audit.timestamp), f", still has {then}.", class_="note")
    return el(
        "p",
        f"The last evaluation counted {many(count, 'violation')}. The lists are of the newest ",
        result,
        ", of ",
        moment(audit.timestamp),
        f", with {then}; the next one follows within the interval of the policy.",
        class_="note",
    )


def _namespaces(policy: Policy, chosen: str) -> Markup:
    """Each leads to its violations."""

    def link(name: str) -> Markup:
        current = "true" if name == chosen else None
        return el("a", name, href=place(policy.path, {"namespace": name}), aria_current=current)

    rows = [
        row(f"namespace-{each.name}", link(each.name), each.health_score, each.violations, each.pods)
        for each in policy.status.namespaces
    ]
    nothing = el("div", el("p", "None recorded."), class_="empty")
    body = table("Namespaces", ("Namespace", "Score", "Violations", "Pods"), rows) if rows else nothing
    hint = "Choose a namespace to see its violations." if rows and not chosen else None
    return el(
        "section", el("h2", "Namespaces with the lowest scores"), body, el("p", hint, class_="note") if hint else None
    )
