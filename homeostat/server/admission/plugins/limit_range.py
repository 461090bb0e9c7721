"""LimitRanges: default resources of a new Pod's containers, and bounds of what a Pod or a claim may ask for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity
from homeostat.server.admission.plugins.amounts import Amounts, amounts_of, pod_amounts
from homeostat.server.kinds.builtins.members import ensure_struct, struct, structs, text

_ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = (("containers", "container"), ("initContainers", "init container"))


def set_default_resources(pod: JsonObject, limits: Iterable[JsonObject]) -> None:
    """Fill requests and limits that containers lack, and note in an annotation which. In place.

    As in Kubernetes, the annotation says what the last LimitRange set that set anything.
    """
    for limit in limits:
        if text(limit, "type") != "Container":
            continue
        notes: list[str] = []
        for name, word in _LISTS:
            for container in structs(struct(pod, "spec"), name):
                notes += _fill(container, limit, word)
        if notes:
            annotations = ensure_struct(pod["metadata"], "annotations")
            if annotations is not None:
                annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _fill(container: JsonObject, limit: JsonObject, word: str) -> list[str]:
    resources = ensure_struct(container, "resources")
    notes: list[str] = []
    for kind, source, noun in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        lacking = [name for name in struct(limit, source) if name not in struct(resources, kind)]
        if not lacking or resources is None:
            continue
        amounts = ensure_struct(resources, kind)
        if amounts is not None:
            amounts.update({name: limit[source][name] for name in lacking})
            notes.append(f"{', '.join(sorted(lacking))} {noun} for {word} {text(container, 'name')}")
    return notes


def broken_limits(resource: str, obj: JsonObject, limits: Iterable[JsonObject]) -> list[str]:
    """Which bounds a Pod or a PersistentVolumeClaim does not keep."""
    check = _check_pod if resource == "pods" else _check_claim
    return [each for limit in limits for each in check(obj, limit)]


def _check_pod(pod: JsonObject, limit: JsonObject) -> list[str]:
    kind = text(limit, "type")
    if kind == "Pod":
        return _check(limit, pod_amounts(pod, "requests"), pod_amounts(pod, "limits"))
    if kind != "Container":
        return []
    found: list[str] = []
    for name, _ in _LISTS:
        for container in structs(struct(pod, "spec"), name):
            resources = struct(container, "resources")
            found += _check(limit, amounts_of(struct(resources, "requests")), amounts_of(struct(resources, "limits")))
    return found


def _check_claim(claim: JsonObject, limit: JsonObject) -> list[str]:
    if text(limit, "type") != "PersistentVolumeClaim":
        return []
    asked = amounts_of(struct(claim, "spec", "resources", "requests"))
    found = _each(limit, "min", lambda name, bound: _below(limit, name, bound, asked, {}))
    for name, bound in amounts_of(struct(limit, "max")).items():
        if name not in asked:
            found.append(f"maximum {name} usage per {limit['type']} is {bound}.  No request is specified")
        elif asked[name] > bound:
            found.append(f"maximum {name} usage per {limit['type']} is {bound}, but request is {asked[name]}")
    return found


def _check(limit: JsonObject, requests: Amounts, limits: Amounts) -> list[str]:
    return [
        *_each(limit, "min", lambda name, bound: _below(limit, name, bound, requests, limits)),
        *_each(limit, "max", lambda name, bound: _above(limit, name, bound, requests, limits)),
        *_each(limit, "maxLimitRequestRatio", lambda name, bound: _ratio(limit, name, bound, requests, limits)),
    ]


def _each(limit: JsonObject, name: str, check: Callable[[str, Quantity], str]) -> list[str]:
    found = [check(resource, bound) for resource, bound in sorted(amounts_of(struct(limit, name)).items())]
    return [each for each in found if each]


def _below(
    limit: JsonObject, name: str, bound: Quantity, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> str:
    said = f"minimum {name} usage per {limit['type']} is {bound}"
    if name not in requests:
        return f"{said}.  No request is specified"
    if requests[name] < bound:
        return f"{said}, but request is {requests[name]}"
    return f"{said}, but limit is {limits[name]}" if name in limits and limits[name] < bound else ""


def _above(limit: JsonObject, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    said = f"maximum {name} usage per {limit['type']} is {bound}"
    if name not in limits:
        return f"{said}.  No limit is specified"
    if limits[name] > bound:
        return f"{said}, but limit is {limits[name]}"
    return f"{said}, but request is {requests[name]}" if name in requests and requests[name] > bound else ""


def _ratio(limit: JsonObject, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    said = f"{name} max limit to request ratio per {limit['type']} is {bound}"
    if name not in requests or not requests[name].nanos:
        return f"{said}, but no request is specified or request is 0"
    if name not in limits or not limits[name].nanos:
        return f"{said}, but no limit is specified or limit is 0"
    if limits[name].nanos * 10**9 > bound.nanos * requests[name].nanos:
        return f"{said}, but provided ratio is {limits[name].nanos / requests[name].nanos:f}"
    return ""
