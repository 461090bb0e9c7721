"""What the kinds of dynamic resource allocation may look like: claims, their templates, device classes and slices."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, too_long, too_many, unsupported
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain, label_value, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.objects.memory.cache import cached
from homeostat.objects.names import check_annotations, check_labels
from homeostat.server.kinds.builtins.checks.csi import driver_name
from homeostat.server.kinds.builtins.checks.pods.affinity import check_node_term
from homeostat.server.kinds.builtins.members import integer, items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_quantity, check_required, check_text

if TYPE_CHECKING:
    from homeostat.cel import Environment

_MAX_REQUESTS = 32
_MAX_CHOICES = 8
_MAX_CONSUMERS = 256
_MAX_DEVICES = 128
_MAX_ATTRIBUTES = 32
_MAX_ATTRIBUTE_BYTES = 64
_MAX_EXPRESSION = 10 * 1024
MAX_SELECTOR_CHARACTERS = 32 * 1024
"""Of all CEL selectors of one object: each is compiled when the object is written."""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_EFFECTS = ("NoExecute", "NoSchedule")
_VALUES = ("bool", "int", "string", "version")
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
Check = Callable[[JsonObject, str], list[Cause]]


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """An attribute is of any type until a device is at hand."""
    from homeostat.cel import BOOL, DYN, STRING, Environment, MapType, ObjectType

    by_domain = MapType(key=STRING, value=MapType(key=STRING, value=DYN))
    fields = {"driver": STRING, "attributes": by_domain, "capacity": by_domain, "allowMultipleAllocations": BOOL}
    return Environment({"device": ObjectType("kubernetes.DRADevice", fields=fields)})


def _check_set(obj: JsonObject, name: str, path: str, limit: int, check: Check, key: str = "") -> list[Cause]:
    """Every item keeps `check`, there are not too many, and `key` differs."""
    causes: list[Cause] = []
    if (total := len(items(obj, name))) > limit:
        return [too_many(f"{path}.{name}", total, limit)]
    for at, each in numbered(obj, name, path):
        causes += check(each, at)
    seen: set[str] = set()
    for at, each in numbered(obj, name, path) if key else ():
        value = text(each, key)
        if value in seen:
            causes.append(duplicate(f"{at}.{key}", value))
        seen.add(value)
    return causes


def _check_claim(obj: JsonObject) -> list[Cause]:
    return _check_claim_spec(struct(obj, "spec"), "spec") + _check_claim_status(obj)


def _check_template(obj: JsonObject) -> list[Cause]:
    metadata, at = struct(obj, "spec", "metadata"), "spec.metadata"
    causes = check_labels(metadata.get("labels"), f"{at}.labels")
    causes += check_annotations(metadata.get("annotations"), f"{at}.annotations")
    causes += [
        forbidden(f"{at}.{name}", "cannot be set")
        for name, value in metadata.items()
        if value and name not in ("labels", "annotations")
    ]
    return causes + _check_claim_spec(struct(obj, "spec", "spec"), "spec.spec")


def _check_claim_spec(spec: JsonObject, path: str) -> list[Cause]:
    devices, at = struct(spec, "devices"), f"{path}.devices"
    known = _request_names(devices)

    def check_config(config: JsonObject, where: str) -> list[Cause]:
        return _check_references(config, where, known) + _check_opaque(config, where)

    def check_constraint(constraint: JsonObject, where: str) -> list[Cause]:
        causes = _check_references(constraint, where, known)
        name = constraint.get("matchAttribute")
        if name is None:
            return [*causes, required(f"{where}.matchAttribute")]
        return causes + _check_attribute_name(text(constraint, "matchAttribute"), f"{where}.matchAttribute", full=True)

    causes = _check_set(devices, "requests", at, _MAX_REQUESTS, _check_request, "name")
    causes += _check_set(devices, "constraints", at, _MAX_REQUESTS, check_constraint)
    causes += _check_set(devices, "config", at, _MAX_REQUESTS, check_config)
    return causes + _check_selector_length(spec, path)


def _check_selector_length(spec: JsonObject, path: str) -> list[Cause]:
    holders = [struct(each, "exactly") for _, each in numbered(struct(spec, "devices"), "requests", "")]
    for _, each in numbered(struct(spec, "devices"), "requests", ""):
        holders += [choice for _, choice in numbered(each, "firstAvailable", "")]
    found = sum(len(text(struct(each, "cel"), "expression")) for it in [spec, *holders] for each in _selectors(it))
    if found <= MAX_SELECTOR_CHARACTERS:
        return []
    message = f"Too long: the selectors have {found} characters in total; limit {MAX_SELECTOR_CHARACTERS}"
    return [Cause("FieldValueTooLong", message, path)]


def _selectors(holder: JsonObject) -> list[JsonObject]:
    return [each for _, each in numbered(holder, "selectors", "")]


def _request_names(devices: JsonObject) -> frozenset[str]:
    """The names that other parts of a claim may refer to: a request, or a request and one of its choices."""
    names: set[str] = set()
    for _, request in numbered(devices, "requests", ""):
        name = text(request, "name")
        names.add(name)
        names |= {f"{name}/{text(each, 'name')}" for _, each in numbered(request, "firstAvailable", "")}
    return frozenset(names)


def _check_references(holder: JsonObject, path: str, known: frozenset[str]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, name in enumerate(strings(holder, "requests")):
        if name not in known:
            causes.append(invalid(f"{path}.requests[{index}]", name, _NO_REQUEST))
        if name in seen:
            causes.append(duplicate(f"{path}.requests[{index}]", name))
        seen.add(name)
    return causes


def _check_request(request: JsonObject, path: str) -> list[Cause]:
    causes = check_required(request, "name", path, dns1123_label)
    choices, exactly = items(request, "firstAvailable"), request.get("exactly")
    causes += _check_set(request, "firstAvailable", path, _MAX_CHOICES, _check_choice, "name")
    if isinstance(exactly, dict):
        causes += _check_wanted(exactly, f"{path}.exactly")
    if not choices and exactly is None:
        causes.append(required(path, _ONE_KIND))
    elif choices and exactly is not None:
        causes.append(invalid(path, None, f"{_ONE_KIND}, but multiple fields are set"))
    return causes


def _check_choice(choice: JsonObject, path: str) -> list[Cause]:
    return check_required(choice, "name", path, dns1123_label) + _check_wanted(choice, path)


def _check_wanted(wanted: JsonObject, path: str) -> list[Cause]:
    causes = check_required(wanted, "deviceClassName", path, dns1123_subdomain)
    causes += _check_set(wanted, "selectors", path, _MAX_REQUESTS, _check_selector)
    mode, count = text(wanted, "allocationMode"), integer(wanted, "count")
    if mode == "All":
        if count:
            causes.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode != "ExactCount":
        causes.append(unsupported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    elif count <= 0:
        causes.append(invalid(f"{path}.count", count, "must be greater than zero"))
    for at, toleration in numbered(wanted, "tolerations", path):
        causes += _check_toleration(toleration, at)
    return causes


def _check_toleration(toleration: JsonObject, path: str) -> list[Cause]:
    key, operator = text(toleration, "key"), text(toleration, "operator")
    causes = check_text(key, f"{path}.key", qualified_name) if key else []
    if operator == "Exists":
        if text(toleration, "value"):
            message = "must be empty for operator `Exists`"
            causes.append(invalid(f"{path}.value", text(toleration, "value"), message))
    elif operator != "Equal":
        causes.append(unsupported(f"{path}.operator", operator, ("Equal", "Exists")))
    else:
        causes += check_text(text(toleration, "value"), f"{path}.value", label_value)
    return causes + (check_choice(toleration, "effect", path, _EFFECTS) if text(toleration, "effect") else [])


def _check_selector(selector: JsonObject, path: str) -> list[Cause]:
    if not isinstance(selector.get("cel"), dict):
        return [required(f"{path}.cel")]
    expression, at = text(struct(selector, "cel"), "expression"), f"{path}.cel.expression"
    if len(expression) > _MAX_EXPRESSION:
        return [too_long(at, _MAX_EXPRESSION)]
    fault = _fault(expression)
    return [invalid(at, expression, fault)] if fault else []


@cached(64, longest=10 * 1024)
def _fault(expression: str) -> str:
    """What is wrong with a selector's expression. Classes and claims that are written often repeat theirs."""
    from homeostat.cel import BOOL, DYN, CompileError

    try:
        program = _environment().compile(expression)
    except CompileError as error:
        return f"compilation failed: {error}"
    return "" if program.type in (BOOL, DYN) else "must evaluate to bool or the unknown type"


def _check_opaque(config: JsonObject, path: str) -> list[Cause]:
    opaque, at = config.get("opaque"), f"{path}.opaque"
    if not isinstance(opaque, dict):
        return [required(at)]
    causes = check_required(opaque, "driver", at, driver_name)
    if opaque.get("parameters") is None:
        causes.append(required(f"{at}.parameters"))
    return causes


def _check_claim_status(obj: JsonObject) -> list[Cause]:
    status = struct(obj, "status")

    def check_consumer(consumer: JsonObject, path: str) -> list[Cause]:
        return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not text(consumer, name)]

    causes = _check_set(status, "reservedFor", "status", _MAX_CONSUMERS, check_consumer, "uid")
    if items(status, "reservedFor") and status.get("allocation") is None:
        causes.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    return causes


def _check_class(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_set(spec, "selectors", "spec", _MAX_REQUESTS, _check_selector)
    causes += _check_set(spec, "config", "spec", _MAX_REQUESTS, _check_opaque)
    return causes + _check_selector_length(spec, "spec")


def _check_slice(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_required(spec, "driver", "spec", driver_name)
    causes += _check_pool(struct(spec, "pool"))
    given = [f"`{name}`" for name in _PLACES if spec.get(name) not in (None, False, "")]
    causes += [
        invalid(f"spec.{name}", False, "must be either unset or set to true")
        for name in ("allNodes", "perDeviceNodeSelection")
        if spec.get(name) is False
    ]
    if node := text(spec, "nodeName"):
        causes += check_text(node, "spec.nodeName", dns1123_subdomain)
    elif spec.get("nodeName") == "":
        causes.append(invalid("spec.nodeName", "", "must be either unset or set to a non-empty string"))
    if isinstance(selector := spec.get("nodeSelector"), dict):
        causes += _check_node_selector(selector, "spec.nodeSelector")
    if not given:
        causes.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        causes.append(invalid("spec", f"{{{', '.join(given)}}}", f"{_ONE_PLACE}, but multiple fields are set"))
    return causes + _check_set(spec, "devices", "spec", _MAX_DEVICES, _check_device, "name")


def _check_node_selector(selector: JsonObject, path: str) -> list[Cause]:
    terms, at = items(selector, "nodeSelectorTerms"), f"{path}.nodeSelectorTerms"
    causes = [] if terms else [required(at, "must have at least one node selector term")]
    for where, term in numbered(selector, "nodeSelectorTerms", path):
        causes += check_node_term(term, where)
    if len(terms) != 1:
        causes.append(invalid(at, terms, "must have exactly one node selector term"))
    return causes


def _check_pool(pool: JsonObject) -> list[Cause]:
    name, count, generation = text(pool, "name"), integer(pool, "resourceSliceCount"), integer(pool, "generation")
    causes = [] if name else [required("spec.pool.name")]
    for part in name.split("/") if name else ():
        causes += check_text(part, "spec.pool.name", dns1123_subdomain)
    if count <= 0:
        causes.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        causes.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return causes


def _check_device(device: JsonObject, path: str) -> list[Cause]:
    causes = check_required(device, "name", path, dns1123_label)
    attributes, capacity = struct(device, "attributes"), struct(device, "capacity")
    if (total := len(attributes) + len(capacity)) > _MAX_ATTRIBUTES:
        message = f"the total number of attributes and capacities must not exceed {_MAX_ATTRIBUTES}"
        return [*causes, invalid(path, total, message)]
    for name in attributes:
        at = f"{path}.attributes[{name}]"
        causes += _check_attribute_name(name, at) + _check_attribute(struct(attributes, name), at)
    for name in capacity:
        at = f"{path}.capacity[{name}]"
        causes += _check_attribute_name(name, at) + check_quantity(struct(capacity, name).get("value"), at)
    return causes


def _check_attribute(attribute: JsonObject, path: str) -> list[Cause]:
    given = [name for name in _VALUES if attribute.get(name) is not None]
    if not given:
        return [required(path, "exactly one value must be specified")]
    if len(given) > 1:
        return [invalid(path, attribute, "exactly one value must be specified")]
    value, at = text(attribute, given[0]), f"{path}.{given[0]}"
    causes: list[Cause] = []
    if given[0] == "version" and not _VERSION.fullmatch(value):
        causes.append(invalid(at, value, "must be a string compatible with semver.org spec 2.0.0"))
    if len(value.encode()) > _MAX_ATTRIBUTE_BYTES:
        causes.append(too_long(at, _MAX_ATTRIBUTE_BYTES))
    return causes


def _check_attribute_name(name: str, path: str, *, full: bool = False) -> list[Cause]:
    """`domain/name`; without `full` the domain may be absent and is then the driver's."""
    if not name:
        return [required(path, "name required")]
    domain, slash, own = name.rpartition("/")
    causes = check_text(domain, path, driver_name) if slash else []
    if full and not slash:
        causes.append(invalid(path, name, "must include a domain"))
    if not _IDENTIFIER.fullmatch(own):
        message = "a valid C identifier must start with alphabetic character or '_', followed by a string of"
        causes.append(invalid(path, own, f"{message} alphanumeric characters or '_', and has at most 32 characters"))
    return causes


_GROUP = "resource.k8s.io"
CHECKS = {
    (_GROUP, "ResourceClaim"): _check_claim,
    (_GROUP, "ResourceClaimTemplate"): _check_template,
    (_GROUP, "DeviceClass"): _check_class,
    (_GROUP, "ResourceSlice"): _check_slice,
}
