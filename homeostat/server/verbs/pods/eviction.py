"""POST of a Pod's `eviction`: delete it if its PodDisruptionBudget allows that.

A budget that allows a disruption is charged before the Pod is deleted, in one write, so that two evictions cannot use
up the same allowance. Pods that do not run, or are not ready while enough others are, are deleted without a charge.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from homeostat.objects.errors import (
    BadRequestError,
    Cause,
    ConflictError,
    ForbiddenError,
    InternalError,
    TooManyRequestsError,
)
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.access.user import SELF
from homeostat.server.kinds.builtins.label_selector import matches
from homeostat.server.kinds.builtins.members import integer, struct, structs, text
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.request.options import Options
from homeostat.server.request.paths import ObjectPath
from homeostat.server.verbs.delete import (
    DeleteOptions,
    Preconditions,
    check_preconditions,
    complete_options,
    delete_object,
)
from homeostat.server.verbs.pods.condition import with_condition
from homeostat.server.verbs.pods.request import CREATED, EVICTION, admitted
from homeostat.server.view.answer import one
from homeostat.server.view.encode import object_of
from homeostat.server.write.change import change
from homeostat.store.base import Scope

_BUDGETS: Final = "poddisruptionbudgets"
_GONE_ANYWAY = frozenset({"Succeeded", "Failed", "Pending"})
_MOST_DISRUPTED = 2000
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_STILL_PROCESSED_S = 10
_TRIES = 20
_NONE_LEFT: JsonObject = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}
_EVICTED: JsonObject = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
    "lastProbeTime": None,
}


@offloaded
async def evict(call: Call) -> Answer:
    options = _delete_options(call, await admitted(call, EVICTION))
    for _ in range(_TRIES):
        pod = object_of(call.kind, call.record())
        check_preconditions(call, options, pod)
        pinned = await _charge(call, pod)
        asked = _pinned(options, pod) if pinned else options
        try:
            await delete_object(call, asked, note=lambda obj: _disrupted(call, obj), is_admitted=True)
        except ConflictError:
            # The Pod may have become ready meanwhile, and then its budget has to be asked.
            is_changed = str(call.record().revision) != pod["metadata"]["resourceVersion"]
            if asked is options or not is_changed:
                raise
            continue
        return one(call, CREATED, status=201)
    raise _too_many("pod is being changed too often", _STILL_PROCESSED_S)


def _delete_options(call: Call, eviction: JsonObject) -> DeleteOptions:
    try:
        options = msgspec.convert(eviction.get("deleteOptions") or {}, DeleteOptions)
    except msgspec.ValidationError as error:
        raise BadRequestError(f"deleteOptions of the Eviction: {error}") from error
    return complete_options(call, options)


def _pinned(options: DeleteOptions, pod: JsonObject) -> DeleteOptions:
    """The options with the Pod's revision as a precondition, unless the client named one."""
    wanted = options.preconditions or Preconditions()
    if wanted.resource_version is not None:
        return options
    pinned = msgspec.structs.replace(wanted, resource_version=pod["metadata"]["resourceVersion"])
    return msgspec.structs.replace(options, preconditions=pinned)


async def _charge(call: Call, pod: JsonObject) -> bool:
    """Charge the Pod's budget, or return True if the Pod may go without while it stays as it is."""
    phase = text(struct(pod, "status"), "phase")
    if "deletionTimestamp" in pod["metadata"] or phase in _GONE_ANYWAY:
        return phase == "Pending" and "deletionTimestamp" not in pod["metadata"]
    budgets = _budgets_of(call, pod)
    if not budgets:
        return False
    if len(budgets) > 1:
        raise InternalError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    budget = budgets[0]
    if not _is_ready(pod) and _may_go_unready(budget):
        return True
    await _decrement(call, budget, pod["metadata"]["name"])
    return False


def _budgets_of(call: Call, pod: JsonObject) -> list[JsonObject]:
    scope = Scope(f"{_BUDGETS}.policy", call.namespace)
    budgets = [decode_stored(record.value) for record in call.store.select(scope)]
    labels = struct(pod, "metadata", "labels")
    selectors = [(budget, struct(budget, "spec").get("selector")) for budget in budgets]
    # A budget without a selector protects nothing, one with an empty selector every Pod.
    return [budget for budget, selector in selectors if isinstance(selector, dict) and matches(selector, labels)]


def _is_ready(pod: JsonObject) -> bool:
    conditions = structs(struct(pod, "status"), "conditions")
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _may_go_unready(budget: JsonObject) -> bool:
    status = struct(budget, "status")
    wanted = integer(status, "desiredHealthy")
    is_kept = wanted > 0 and integer(status, "currentHealthy") >= wanted
    return is_kept or text(struct(budget, "spec"), "unhealthyPodEvictionPolicy") == "AlwaysAllow"


async def _decrement(call: Call, budget: JsonObject, pod: str) -> None:
    kind = call.backend.registry.find("policy", "v1", _BUDGETS)
    assert kind is not None
    own = replace(
        call,
        kind=kind,
        path=ObjectPath("policy", "v1", _BUDGETS, call.namespace, budget["metadata"]["name"], "status"),
        user=SELF,
        options=Options(dry_run=call.options.dry_run, field_manager="homeostat"),
        body=b"",
        subresource="status",
        warnings=[],
    )
    await change(own, lambda stored: charged(stored, pod, own.timestamp()))


def charged(budget: JsonObject, pod: str, now: str) -> JsonObject:
    """The budget after one disruption more; the error where it allows none."""
    name, status = budget["metadata"]["name"], struct(budget, "status")
    allowed, disrupted = integer(status, "disruptionsAllowed"), struct(status, "disruptedPods")
    if integer(status, "observedGeneration") < integer(budget["metadata"], "generation"):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", _STILL_PROCESSED_S)
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(disrupted) > _MOST_DISRUPTED:
        raise _forbidden(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if allowed == 0:
        wanted, healthy = integer(status, "desiredHealthy"), integer(status, "currentHealthy")
        raise _too_many(f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently")
    after: JsonObject = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**disrupted, pod: now}}
    if allowed == 1:
        seen = {"observedGeneration": integer(status, "observedGeneration")}
        after["conditions"] = with_condition(status, _NONE_LEFT | seen, now)
    return {**budget, "metadata": dict(budget["metadata"]), "status": after}


def _too_many(why: str, retry_after_s: int = 0) -> TooManyRequestsError:
    return TooManyRequestsError(_REFUSED, causes=[Cause("DisruptionBudget", why)], retry_after_s=retry_after_s)


def _forbidden(name: str, why: str) -> ForbiddenError:
    message = f'poddisruptionbudget.policy "{name}" is forbidden: {why}'
    return ForbiddenError(message, kind="poddisruptionbudget", group="policy", name=name)


def _disrupted(call: Call, pod: JsonObject) -> None:
    """Add the condition that says why the Pod ends. In place."""
    status = struct(pod, "status")
    pod["status"] = {**status, "conditions": with_condition(status, _EVICTED, call.timestamp())}
