"""What FlowSchemas and PriorityLevelConfigurations may look like."""

from __future__ import annotations

from math import ceil, log2

from homeostat.objects.errors import Cause, are_enough, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.flow_control import EXEMPT, MANDATORY, default_objects
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import integer, items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import check_required, check_text, is_integer

_MAX_PRECEDENCE = 10_000
_MAX_QUEUES = 10_000_000
_MAX_HASH_BITS = 60
_MAX_ENTRIES = 5_000
"""Of all lists below `rules`. Kubernetes has no limit; here the event loop compiles schemas and compares requests."""
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}


def _check_schema(obj: JsonObject) -> list[Cause]:
    spec, name = struct(obj, "spec"), text(struct(obj, "metadata"), "name")
    causes = _check_precedence(integer(spec, "matchingPrecedence"), name)
    if isinstance(method := spec.get("distinguisherMethod"), dict) and text(method, "type") not in _METHODS:
        causes.append(unsupported("spec.distinguisherMethod.type", method, _METHODS))
    level = struct(spec, "priorityLevelConfiguration")
    if text(level, "name"):
        causes += check_required(level, "name", "spec.priorityLevelConfiguration", dns1123_subdomain)
    else:
        causes.append(required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    if (total := _entries(items(spec, "rules"))) > _MAX_ENTRIES:
        message = f"rules, subjects and names: must have at most {_MAX_ENTRIES} together, got {total}"
        return [*causes, forbidden("spec.rules", message)]
    for at, rule in numbered(spec, "rules", "spec"):
        causes += _check_rule(rule, at)
        if are_enough(causes):
            break
    return causes + _check_fixed("FlowSchema", obj, name) + _check_conditions(obj)


def _entries(value: Json) -> int:
    """How many items all lists in it have."""
    if isinstance(value, list):
        return len(value) + sum(map(_entries, value))
    return sum(map(_entries, value.values())) if isinstance(value, dict) else 0


def _check_fixed(kind: str, obj: JsonObject, name: str) -> list[Cause]:
    """The mandatory ones are as they are, but for what users may set of the level `exempt`."""
    if name not in MANDATORY:
        return []
    fixed = next(each for each in default_objects() if (each["kind"], each["metadata"]["name"]) == (kind, name))
    found, wanted, but = dict(struct(obj, "spec")), dict(fixed["spec"]), ""
    if "exempt" in wanted:
        found["exempt"] = wanted["exempt"]
        but = " except the 'spec.exempt' field"
    return [] if found == wanted else [invalid("spec", found, f"spec of '{name}'{but} must equal the fixed value")]


_METHODS = ("ByNamespace", "ByUser")


def _check_precedence(value: int, name: str) -> list[Cause]:
    at = "spec.matchingPrecedence"
    if value <= 0:
        return [invalid(at, value, "must be a positive value")]
    if value > _MAX_PRECEDENCE:
        return [invalid(at, value, f"must not be greater than {_MAX_PRECEDENCE}")]
    if value == 1 and name != EXEMPT:
        return [invalid(at, value, "only the schema named 'exempt' may have matchingPrecedence 1")]
    return []


def _check_rule(rule: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, subject in numbered(rule, "subjects", path):
        causes += _check_subject(subject, at)
    if not rule.get("subjects"):
        causes.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        causes.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for at, each in numbered(rule, "resourceRules", path):
        causes += _check_verbs(each, at)
        causes += _check_some(each, "apiGroups", at, "resource rules must supply at least one api group", "api groups")
        causes += _check_some(each, "resources", at, "resource rules must supply at least one resource", "resources")
        causes += _check_namespaces(each, at)
    for at, each in numbered(rule, "nonResourceRules", path):
        causes += _check_verbs(each, at)
        message = "nonResourceURLs must contain at least one value"
        causes += _check_some(each, "nonResourceURLs", at, message, "non-resource URLs")
        if "*" not in strings(each, "nonResourceURLs"):
            for index, url in enumerate(strings(each, "nonResourceURLs")):
                causes += check_text(url, f"{at}.nonResourceURLs[{index}]", _url_messages)
    return causes


def _check_subject(subject: JsonObject, path: str) -> list[Cause]:
    kind = text(subject, "kind")
    if kind not in _SUBJECTS:
        return [unsupported(f"{path}.kind", kind, _SUBJECTS)]
    own = _SUBJECTS[kind]
    at, value = f"{path}.{own}", subject.get(own)
    causes: list[Cause] = []
    if not isinstance(value, dict):
        causes.append(required(at, f"{own} is required when subject kind is '{kind}'"))
    elif kind != "ServiceAccount":
        causes += check_required(value, "name", at)
    else:
        causes += check_required(value, "name", at, None if text(value, "name") == "*" else dns1123_subdomain)
        if text(value, "namespace"):
            causes += check_required(value, "namespace", at, dns1123_label)
        else:
            causes.append(required(f"{at}.namespace", "must specify namespace for service account"))
    return causes + [
        forbidden(f"{path}.{other}", f"{other} is forbidden when subject kind is not '{of}'")
        for of, other in _SUBJECTS.items()
        if of != kind and subject.get(other) is not None
    ]


def _check_verbs(rule: JsonObject, path: str) -> list[Cause]:
    verbs = strings(rule, "verbs")
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        return [unsupported(f"{path}.verbs", verbs, _VERBS)]
    return _check_some(rule, "verbs", path, "verbs must contain at least one value", "verbs")


def _check_some(rule: JsonObject, name: str, path: str, message: str, others: str) -> list[Cause]:
    """At least one value; `*` alone."""
    values = strings(rule, name)
    if not values:
        return [required(f"{path}.{name}", message)]
    if "*" in values and len(values) > 1:
        return [invalid(f"{path}.{name}", values, f"if '*' is present, must not specify other {others}")]
    return []


def _check_namespaces(rule: JsonObject, path: str) -> list[Cause]:
    names = strings(rule, "namespaces")
    if not names and rule.get("clusterScope") is True:
        return []
    message = "resource rules that are not cluster scoped must supply at least one namespace"
    causes = _check_some(rule, "namespaces", path, message, "namespaces")
    if "*" in names:
        return causes
    intro = "each member of this list must be '*' or a DNS-1123 label; "
    for index, name in enumerate(names):
        causes += [invalid(f"{path}.namespaces[{index}]", name, intro + each) for each in dns1123_label(name)]
    return causes


def _url_messages(url: str) -> list[str]:
    if not url:
        return ["must not be empty"]
    if not url.startswith("/"):
        return ["must start with slash"]
    if " " in url:
        return ["must not contain white-space"]
    if "//" in url:
        return ["must not contain double slash"]
    if "*" in url.removesuffix("/*"):
        return ["wildcard can only do suffix matching"]
    return []


def _check_level(obj: JsonObject) -> list[Cause]:
    spec, name = struct(obj, "spec"), text(struct(obj, "metadata"), "name")
    kind, limited, exempt = text(spec, "type"), spec.get("limited"), spec.get("exempt")
    causes: list[Cause] = []
    if (name == EXEMPT) != (kind == "Exempt"):
        causes.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            causes.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        own = struct(spec, "exempt")
        causes += _check_shares(own, "spec.exempt") + _check_lent(own, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            causes.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if isinstance(limited, dict):
            causes += _check_limited(limited)
        else:
            causes.append(required("spec.limited", "must not be empty when type is Limited"))
    else:
        causes.append(unsupported("spec.type", kind, ("Exempt", "Limited")))
    return causes + _check_fixed("PriorityLevelConfiguration", obj, name) + _check_conditions(obj)


def _check_shares(level: JsonObject, path: str) -> list[Cause]:
    shares = integer(level, "nominalConcurrencyShares")
    if shares >= 0:
        return []
    return [invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")]


def _check_lent(level: JsonObject, path: str) -> list[Cause]:
    lent = integer(level, "lendablePercent")
    if 0 <= lent <= 100:
        return []
    return [invalid(f"{path}.lendablePercent", lent, "must be between 0 and 100, inclusive")]


def _check_limited(limited: JsonObject) -> list[Cause]:
    causes = _check_shares(limited, "spec.limited")
    response, at = struct(limited, "limitResponse"), "spec.limited.limitResponse"
    kind, queuing = text(response, "type"), response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            message = "must be nil if limited.limitResponse.type is not Limited"
            causes.append(forbidden(f"{at}.queuing", message))
    elif kind != "Queue":
        causes.append(unsupported(f"{at}.type", kind, ("Queue", "Reject")))
    elif isinstance(queuing, dict):
        causes += _check_queuing(queuing, f"{at}.queuing")
    else:
        causes.append(required(f"{at}.queuing", "must not be empty if limited.limitResponse.type is Limited"))
    causes += _check_lent(limited, "spec.limited")
    borrowed = limited.get("borrowingLimitPercent")
    if is_integer(borrowed) and integer(limited, "borrowingLimitPercent") < 0:
        message = "if specified, must be a non-negative integer"
        causes.append(invalid("spec.limited.borrowingLimitPercent", borrowed, message))
    return causes


def _check_queuing(queuing: JsonObject, path: str) -> list[Cause]:
    length, queues, hand = (integer(queuing, each) for each in ("queueLengthLimit", "queues", "handSize"))
    causes: list[Cause] = []
    if length <= 0:
        causes.append(invalid(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        causes.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MAX_QUEUES:
        causes.append(invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    if hand <= 0:
        causes.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        causes.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif queues <= _MAX_QUEUES and ceil(log2(queues) * hand) > _MAX_HASH_BITS:
        message = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        causes.append(invalid(f"{path}.handSize", hand, f"{message} {_MAX_HASH_BITS}"))
    return causes


def _check_conditions(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    types: set[str] = set()
    for at, condition in numbered(struct(obj, "status"), "conditions", "status"):
        kind = text(condition, "type")
        if kind in types:
            causes.append(duplicate(f"{at}.type", kind))
        if not kind:
            causes.append(required(f"{at}.type"))
        types.add(kind)
    return causes


_GROUP = "flowcontrol.apiserver.k8s.io"
CHECKS = {(_GROUP, "FlowSchema"): _check_schema, (_GROUP, "PriorityLevelConfiguration"): _check_level}
