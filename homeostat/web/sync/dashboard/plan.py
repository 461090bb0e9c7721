"""What a sync would change now: the plan that the operator computes on request. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Final

from homeostat.objects.conditions import READY, find
from homeostat.operators.sync.api.policy import PLAN_REQUESTED, PlannedSync, PolicyStatus, SyncPolicy, plan_request
from homeostat.web.dashboard.html.command import Action, actions, annotate, nothing
from homeostat.web.dashboard.html.components import chip, many, moment
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.redaction import plain_text
from homeostat.web.sync.dashboard.differences import resource_list
from homeostat.web.sync.dashboard.policies import policy_path

_WORDS: Final = {
    "create": "to create",
    "update": "to update",
    "delete": "to delete",
    "undeclared": "not declared, kept",
    "unknown": "that cannot be compared",
    "gone": "gone already",
}


def plan_section(proof: str, policy: SyncPolicy, status: PolicyStatus, branch: str = "") -> Markup:
    """Without a proof there is no button: the visitor may not request a plan. `branch` is the newest commit of the
    repository, empty if it is unknown.
    """
    where = policy.metadata
    ask = Action(
        "Plan now",
        f"{policy_path(where.namespace, where.name)}/plan",
        annotate("syncpolicy", where.namespace, where.name, PLAN_REQUESTED),
    )
    requested = plan_request(policy)
    is_awaited = bool(requested) and (status.plan is None or status.plan.request != requested)
    body: Node = nothing("Compare the repository with the server now, without changing anything.")
    if is_awaited:
        body = nothing(_awaited(status))
    elif status.plan is not None:
        body = [_outdated(status.plan, status, branch), _plan(status.plan)]
    return el("section", el("h2", "What would change now"), actions(proof, [ask]) if proof else None, body, id="plan")


def _awaited(status: PolicyStatus) -> str:
    """A policy that cannot be synced is not compared either: its condition says why."""
    ready = find(status.conditions, READY)
    why = f" Not ready: {plain_text(ready.message)}" if ready is not None and ready.status == "False" else ""
    return f"Requested; waiting for the operator.{why}"


def _outdated(plan: PlannedSync, status: PolicyStatus, branch: str) -> Node:
    """What happened after the plan was computed; None if nothing did."""
    last = max(status.last_attempt_time or "", status.last_successful_sync_time or "")
    if last > plan.time:
        why: Node = ["A sync ran ", moment(last), ", after this plan."]
    elif plan.revision and branch and branch != plan.revision:
        why = f"The repository has a newer commit, {branch[:12]}."
    else:
        return None
    return el("p", chip("outdated", "warn"), " ", why, " Plan again to see what would change now.", class_="outdated")


def _plan(plan: PlannedSync) -> Node:
    head = el(
        "p", "Compared ", moment(plan.time), f" at revision {plan.revision[:12]}. {_counts(plan)}", class_="summary"
    )
    if plan.error:
        return [head, el("p", plain_text(plan.error), class_="trouble", role="alert")]
    held = el("p", f"Nothing of it would be carried out: {plain_text(plan.held)}", class_="note") if plan.held else None
    return [
        head,
        held,
        resource_list(plan.resources, "planned") if plan.resources else nothing("Nothing would change."),
    ]


def _counts(plan: PlannedSync) -> str:
    if plan.error:
        return ""
    counts = Counter(each.result for each in plan.resources)
    parts = [f"{count} {_WORDS.get(word, word)}" for word, count in counts.items()]
    parts += [f"{plan.resources_omitted:,} more not listed"] if plan.resources_omitted else []
    return ", ".join([*parts, f"{many(plan.unchanged, 'resource')} as declared"]) + "."
