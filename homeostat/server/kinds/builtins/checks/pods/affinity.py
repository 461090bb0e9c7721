"""What says where a pod may run: affinity, spread over topologies, tolerations."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain, label_value, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import integer, items, numbered, strings, struct, structs, text
from homeostat.server.kinds.builtins.value import check_choice, check_text, is_integer

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POSITIVE = "must be greater than zero"
_NO_OPERATOR = "not a valid selector operator"


def check_placement(spec: JsonObject, path: str) -> list[Cause]:
    """Everything of a pod's spec that a scheduler reads."""
    affinity = struct(spec, "affinity")
    causes: list[Cause] = []
    if affinity:
        at = f"{path}.affinity"
        causes += _check_node_affinity(struct(affinity, "nodeAffinity"), f"{at}.nodeAffinity")
        for name in ("podAffinity", "podAntiAffinity"):
            causes += _check_pod_affinity(struct(affinity, name), f"{at}.{name}")
    if items(spec, "topologySpreadConstraints"):
        causes += _check_spread(spec, path)
    return causes


def _check_node_affinity(affinity: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    needed = affinity.get(_REQUIRED)
    if isinstance(needed, dict):
        at = f"{path}.{_REQUIRED}"
        if not items(needed, "nodeSelectorTerms"):
            causes.append(required(f"{at}.nodeSelectorTerms", "must have at least one node selector term"))
        for term_at, term in numbered(needed, "nodeSelectorTerms", at):
            causes += check_node_term(term, term_at)
    for at, preferred in numbered(affinity, _PREFERRED, path):
        causes += _check_weight(preferred, at)
        causes += check_node_term(struct(preferred, "preference"), f"{at}.preference", has_any_values=True)
    return causes


def check_node_term(term: JsonObject, path: str, *, has_any_values: bool = False) -> list[Cause]:
    """A term of a node selector; a preference may name values that no label can have."""
    causes: list[Cause] = []
    for at, each in numbered(term, "matchExpressions", path):
        causes += _check_expression(each, at, has_any_values=has_any_values)
    for at, each in numbered(term, "matchFields", path):
        causes += _check_field(each, at)
    return causes


def _check_expression(each: JsonObject, path: str, *, has_any_values: bool) -> list[Cause]:
    values, operator = strings(each, "values"), text(each, "operator")
    causes: list[Cause] = []
    match operator:
        case "In" | "NotIn":
            if not values:
                causes.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        case "Exists" | "DoesNotExist":
            if values:
                message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                causes.append(forbidden(f"{path}.values", message))
        case "Gt" | "Lt":
            if len(values) != 1:
                message = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                causes.append(required(f"{path}.values", message))
        case _:
            causes.append(invalid(f"{path}.operator", operator, _NO_OPERATOR))
    causes += check_text(text(each, "key"), f"{path}.key", qualified_name)
    for index, value in enumerate(() if has_any_values else values):
        causes += check_text(value, f"{path}.values[{index}]", label_value)
    return causes


def _check_field(each: JsonObject, path: str) -> list[Cause]:
    values, operator, key = strings(each, "values"), text(each, "operator"), text(each, "key")
    causes: list[Cause] = []
    if operator not in ("In", "NotIn"):
        causes.append(invalid(f"{path}.operator", operator, _NO_OPERATOR))
    elif len(values) != 1:
        message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.append(required(f"{path}.values", message))
    if key != "metadata.name":
        causes.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return causes
    for index, value in enumerate(values):
        causes += check_text(value, f"{path}.values[{index}]", dns1123_subdomain)
    return causes


def _check_weight(weighted: JsonObject, path: str) -> list[Cause]:
    weight = integer(weighted, "weight")
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _check_pod_affinity(affinity: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, term in numbered(affinity, _REQUIRED, path):
        causes += _check_pod_term(term, at)
    for at, weighted in numbered(affinity, _PREFERRED, path):
        causes += _check_weight(weighted, at)
        causes += _check_pod_term(struct(weighted, "podAffinityTerm"), f"{at}.podAffinityTerm")
    return causes


def _check_pod_term(term: JsonObject, path: str) -> list[Cause]:
    causes = check_selector(term.get("labelSelector"), f"{path}.labelSelector")
    causes += check_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in strings(term, "namespaces"):
        causes += check_text(name, f"{path}.namespace", dns1123_label)
    key = text(term, "topologyKey")
    if not key:
        causes.append(required(f"{path}.topologyKey", "can not be empty"))
    causes += check_text(key, f"{path}.topologyKey", qualified_name)
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        causes += _check_label_keys(term, name, path)
    other = set(strings(term, "mismatchLabelKeys"))
    for index, name in enumerate(strings(term, "matchLabelKeys")):
        if name in other:
            message = "exists in both matchLabelKeys and mismatchLabelKeys"
            causes.append(invalid(f"{path}.matchLabelKeys[{index}]", name, message))
    return causes


def _check_label_keys(holder: JsonObject, name: str, path: str) -> list[Cause]:
    keys = strings(holder, name)
    if keys and holder.get("labelSelector") is None:
        return [forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")]
    return [
        cause for index, key in enumerate(keys) for cause in check_text(key, f"{path}.{name}[{index}]", qualified_name)
    ]


def _check_spread(spec: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    constraints = structs(spec, "topologySpreadConstraints")
    pairs = [(text(each, "topologyKey"), text(each, "whenUnsatisfiable")) for each in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, (at, each) in enumerate(numbered(spec, "topologySpreadConstraints", path)):
        key, action = pairs[index]
        if integer(each, "maxSkew") <= 0:
            causes.append(invalid(f"{at}.maxSkew", integer(each, "maxSkew"), _POSITIVE))
        if not key:
            causes.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            causes.append(unsupported(f"{at}.whenUnsatisfiable", action, _ACTIONS))
        if last[pairs[index]] > index:
            causes.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        causes += _check_domains(each, action, at)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            causes += check_choice(each, name, at, ("Ignore", "Honor"))
        causes += _check_label_keys(each, "matchLabelKeys", at)
        causes += check_selector(each.get("labelSelector"), f"{at}.labelSelector")
    return causes


def _check_domains(constraint: JsonObject, action: str, path: str) -> list[Cause]:
    domains = constraint.get("minDomains")
    if not is_integer(domains):
        return []
    causes: list[Cause] = []
    if integer(constraint, "minDomains") <= 0:
        causes.append(invalid(f"{path}.minDomains", domains, _POSITIVE))
    if action != "DoNotSchedule":
        message = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        causes.append(invalid(f"{path}.minDomains", domains, message))
    return causes


def check_taints(spec: JsonObject) -> list[Cause]:
    """The taints of a Node; Kubernetes reports them below `metadata`."""
    causes: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    for at, taint in numbered(spec, "taints", "metadata"):
        key, effect = text(taint, "key"), text(taint, "effect")
        causes += check_text(key, f"{at}.key", qualified_name)
        if text(taint, "value"):
            causes += check_text(taint["value"], f"{at}.value", label_value)
        if not effect:
            causes.append(required(f"{at}.effect"))
        elif effect not in EFFECTS:
            causes.append(unsupported(f"{at}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            causes.append(duplicate(at, taint))
        seen.add((key, effect))
    return causes
