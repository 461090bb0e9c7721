"""The status of a Job."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, invalid
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, items, struct, structs, text
from homeostat.server.kinds.builtins.value import check_counts


def _check_job(new: JsonObject, old: JsonObject) -> list[Cause]:
    status, former, spec = struct(new, "status"), struct(old, "status"), struct(new, "spec")
    causes = check_counts(status, "status", "active", "succeeded", "failed", "ready", "terminating")
    if integer(status, "ready") > integer(status, "active"):
        causes.append(invalid("status.ready", integer(status, "ready"), "cannot set more ready pods than active"))
    # One that is elastic may have fewer completions than before.
    is_elastic = text(spec, "completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed",) if is_elastic else ("succeeded", "failed"):
        if integer(status, name) < integer(former, name):
            told = f"cannot decrease the number of {name} pods"
            causes.append(invalid(f"status.{name}", integer(status, name), told))
    causes += _check_uncounted(struct(status, "uncountedTerminatedPods"))
    if status.get("completionTime") is not None and not _is(status, "Complete"):
        told = "cannot set completionTime when there is no Complete=True condition"
        causes.append(invalid("status.completionTime", status["completionTime"], told))
    if status.get("failedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        told = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        causes.append(invalid("status.failedIndexes", status["failedIndexes"], told))
    if status.get("completedIndexes") and text(spec, "completionMode") != "Indexed":
        told = "cannot set non-empty completedIndexes when non-indexed completion mode"
        causes.append(invalid("status.completedIndexes", status["completedIndexes"], told))
    return causes


def _check_uncounted(pods: JsonObject) -> list[Cause]:
    """Pods that ended and are not counted yet, by uid: each is in one of the lists once."""
    causes: list[Cause] = []
    seen: set[object] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(items(pods, name)):
            path = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                causes.append(invalid(path, uid, "must not be empty"))
            elif isinstance(uid, str) and uid in seen:
                causes.append(duplicate(path, uid))
            seen.add(uid if isinstance(uid, str) else "")
    return causes


def _is(status: JsonObject, kind: str) -> bool:
    return any(text(each, "type") == kind and each.get("status") == "True" for each in structs(status, "conditions"))


CHECKS = {("batch", "Job"): _check_job}
