"""Label selectors as they stand in objects: whether one matches, how it prints, and what may be wrong with it."""

from __future__ import annotations

from homeostat.objects.errors import Cause, are_enough, forbidden, invalid, required
from homeostat.objects.identifiers import is_label_value, label_value, qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.names import check_labels
from homeostat.objects.selectors import selects
from homeostat.server.kinds.builtins.members import numbered, strings, struct, structs, text

_NONE = "<none>"


def is_empty(selector: Json) -> bool:
    return not struct(selector, "matchLabels") and not structs(struct(selector), "matchExpressions")


def matches(selector: Json, labels: JsonObject) -> bool:
    """An empty selector matches everything, as in Kubernetes; a malformed one nothing."""
    return selects(struct(selector), labels)


def print_labels(labels: Json) -> str:
    if not isinstance(labels, dict) or not labels:
        return _NONE
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def print_selector(selector: Json) -> str:
    """`a=b,c in (d,e),!f`, ordered by key; `<none>` for an empty one."""
    parts = [(key, f"{key}={value}") for key, value in struct(selector, "matchLabels").items()]
    parts += [(text(each, "key"), _printed(each)) for each in structs(struct(selector), "matchExpressions")]
    return ",".join(printed for _, printed in sorted(parts, key=lambda part: part[0])) or _NONE


def _printed(requirement: JsonObject) -> str:
    key, values = text(requirement, "key"), ",".join(sorted(strings(requirement, "values")))
    match text(requirement, "operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return key


def check_selector(selector: Json, path: str) -> list[Cause]:
    causes = check_labels(struct(selector, "matchLabels"), f"{path}.matchLabels")
    for at, requirement in numbered(struct(selector), "matchExpressions", path):
        causes += check_requirement(requirement, at)
    return causes


def check_requirement(requirement: JsonObject, path: str, *, allows_unknown: bool = False) -> list[Cause]:
    """What is wrong with a match expression; `allows_unknown` is for operators of later versions."""
    causes: list[Cause] = []
    operator, values = text(requirement, "operator"), strings(requirement, "values")
    if operator in ("In", "NotIn"):
        if not values:
            causes.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden(f"{path}.values", message))
    elif not allows_unknown:
        causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = text(requirement, "key")
    causes += [invalid(f"{path}.key", key, each) for each in qualified_name(key)]
    for index, value in enumerate(values):
        if not is_label_value(value):
            causes += [invalid(f"{path}.values[{index}]", value, each) for each in label_value(value)]
            if are_enough(causes):
                break
    return causes
