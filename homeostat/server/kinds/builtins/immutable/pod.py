"""What of a pod may not change once it is created: nearly all of its spec."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.immutable.equality import is_same
from homeostat.server.kinds.builtins.immutable.gated_pod import check_gates, check_selective, fixed_affinity
from homeostat.server.kinds.builtins.members import integer, items, struct, structs
from homeostat.server.kinds.builtins.mirror import check_mirror_update
from homeostat.server.kinds.builtins.profiles import check_app_armor_update
from homeostat.server.kinds.builtins.value import is_integer

_SAID = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_LISTS = ("containers", "initContainers")
_FREE = frozenset({*_LISTS, "activeDeadlineSeconds", "tolerations", "schedulingGates"})
# What may change while the pod waits at its scheduling gates.
_GATED = frozenset({"nodeSelector", "affinity"})


def check_pod_update(new: JsonObject, old: JsonObject) -> list[Cause]:
    after, before = struct(new, "spec"), struct(old, "spec")
    counts = [name for name in _LISTS if len(items(after, name)) != len(items(before, name))]
    if counts:
        return [forbidden(f"spec.{name}", "pod updates may not add or remove containers") for name in counts]
    causes = check_mirror_update(new, old) + check_app_armor_update(new, old)
    causes += _check_deadline(after, before) + _check_tolerations(after, before)
    causes += check_gates(after, before)
    is_gated = bool(items(before, "schedulingGates"))
    if is_gated:
        causes += check_selective(after, before)
    free = _FREE | _GATED if is_gated else _FREE
    is_moved = is_gated and not is_same(fixed_affinity(after), fixed_affinity(before))
    if is_moved or not is_same(_rest(after, before, free), _rest(before, before, free)):
        causes.append(forbidden("spec", _SAID))
    return causes


def _rest(spec: JsonObject, before: JsonObject, free: frozenset[str]) -> JsonObject:
    """The spec without what may change."""
    rest: dict[str, Json] = {name: value for name, value in spec.items() if name not in free}
    for name in _LISTS:
        rest[name] = [_without_image(each) for each in items(spec, name)]
    if integer(before, "terminationGracePeriodSeconds") < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return rest


def _without_image(container: Json) -> Json:
    return (
        {name: value for name, value in container.items() if name != "image"}
        if isinstance(container, dict)
        else container
    )


def _check_deadline(after: JsonObject, before: JsonObject) -> list[Cause]:
    path, old = "spec.activeDeadlineSeconds", before.get("activeDeadlineSeconds")
    if not is_integer(old):
        return []
    new = after.get("activeDeadlineSeconds")
    if new is None:
        return [invalid(path, None, "must not update from a positive integer to nil value")]
    if is_integer(new) and integer(after, "activeDeadlineSeconds") > integer(before, "activeDeadlineSeconds"):
        return [invalid(path, new, "must be less than or equal to previous value")]
    return []


def _check_tolerations(after: JsonObject, before: JsonObject) -> list[Cause]:
    if set(map(_untimed, structs(before, "tolerations"))) <= set(map(_untimed, structs(after, "tolerations"))):
        return []
    message = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden("spec.tolerations", message)]


def _untimed(toleration: JsonObject) -> frozenset[tuple[str, str]]:
    """Its texts."""
    return frozenset((name, value) for name, value in toleration.items() if isinstance(value, str) and value)
