"""What a Job makes of failed Pods and of completed indexes, by its own rules. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.jobs.indexes import Span, count, overlap, parse_indexes

COUNT: Final = "Count"


class Verdict(NamedTuple):
    action: str
    """`FailJob`, `FailIndex`, `Ignore` or `Count`."""
    message: str = ""


def verdict_on(job: Workload, pod: Pod) -> Verdict:
    """Of the first rule of `podFailurePolicy` that matches a failed Pod; otherwise the failure counts."""
    for place, rule in enumerate((job.spec.get("podFailurePolicy") or {}).get("rules") or ()):
        reason = _exit_code(rule.get("onExitCodes"), pod) or _condition(rule.get("onPodConditions"), pod)
        if reason:
            action = rule["action"]
            return Verdict(action, f"{reason} matching {action} rule at index {place}")
    return Verdict(COUNT)


def _exit_code(wanted: JsonObject | None, pod: Pod) -> str:
    if wanted is None:
        return ""
    values = wanted.get("values") or ()
    for each in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = each.state.terminated
        if ended is None or not ended.exit_code or wanted.get("containerName") not in (None, each.name):
            continue
        if (ended.exit_code in values) == (wanted.get("operator") == "In"):
            return (
                f"Container {each.name} for pod {pod.metadata.namespace}/{pod.metadata.name} "
                f"failed with exit code {ended.exit_code}"
            )
    return ""


def _condition(wanted: Iterable[JsonObject] | None, pod: Pod) -> str:
    for each in wanted or ():
        found = pod.condition(each.get("type") or "")
        if found is not None and found.status == (each.get("status") or "True"):
            return f"Pod {pod.metadata.namespace}/{pod.metadata.name} has condition {found.type}"
    return ""


def success_message(job: Workload, done: list[Span]) -> str:
    """Which rule of `successPolicy` the completed indexes meet; empty if none."""
    completions = job.spec.get("completions") or 0
    for place, rule in enumerate((job.spec.get("successPolicy") or {}).get("rules") or ()):
        wanted, least = rule.get("succeededIndexes"), rule.get("succeededCount")
        spans = [(0, completions - 1)] if wanted is None else parse_indexes(wanted, completions)
        met = count(overlap(done, spans))
        if met >= (count(spans) if least is None else least):
            return f"Matched rules at index {place}"
    return ""
