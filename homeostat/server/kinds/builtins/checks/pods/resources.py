"""What pods and containers may request: amounts, pages of memory, and devices that are claimed."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity
from homeostat.server.kinds.builtins.members import numbered, struct, structs, text
from homeostat.server.kinds.builtins.requested import requested
from homeostat.server.kinds.builtins.value import check_quantities, check_text, not_found, quantity_of

# May be requested beyond what is guaranteed.
_OVERCOMMITTED = ("cpu", "memory", "ephemeral-storage")
_OF_PODS = ("cpu", "memory")
_PAGES = "hugepages-"
_WHOLE = 10**9


def check_resources(resources: JsonObject, path: str, *, is_pod: bool = False) -> list[Cause]:
    """`is_pod` is for what all containers of a pod share."""
    limits, requests = struct(resources, "limits"), struct(resources, "requests")
    causes: list[Cause] = []
    for kind, amounts in (("limits", limits), ("requests", requests)):
        causes += check_quantities(amounts, f"{path}.{kind}")
        for name, value in amounts.items():
            check = _check_pod_resource if is_pod else _check_resource
            causes += check(name, value, f"{path}.{kind}[{name}]")
    has_pages = any(name.startswith(_PAGES) for name in (*limits, *requests))
    if has_pages and not any(name in each for name in ("cpu", "memory") for each in (limits, requests)):
        causes.append(forbidden(path, "HugePages require cpu or memory"))
    for name, value in requests.items():
        causes += _check_request(name, quantity_of(value), quantity_of(limits.get(name)), path)
    return causes


def _check_request(name: str, wanted: Quantity | None, limit: Quantity | None, path: str) -> list[Cause]:
    if wanted is None:
        return []
    if limit is None:
        is_needed = not is_overcommitted(name)
        told = "Limit must be set for non overcommitable resources"
        return [required(f"{path}.limits", told)] if is_needed else []
    if not is_overcommitted(name) and wanted != limit:
        return [invalid(f"{path}.requests", str(wanted), f"must be equal to {name} limit of {limit}")]
    if wanted > limit:
        message = f"must be less than or equal to {name} limit of {limit}"
        return [invalid(f"{path}.requests", str(wanted), message)]
    return []


def is_overcommitted(name: str) -> bool:
    """Whether more of it may be limited than is requested."""
    return not name.startswith(_PAGES) and not _is_extended(name)


def _is_extended(name: str) -> bool:
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")


def _check_resource(name: str, value: object, path: str) -> list[Cause]:
    if name.startswith(_PAGES):
        return _check_pages(name, value, path)
    if "/" not in name:
        return _check_standard(name, path)
    amount = quantity_of(value)
    is_whole = amount is None or amount.nanos % _WHOLE == 0
    return [] if is_whole else [invalid(path, value, "must be an integer")]


def _check_standard(name: str, path: str) -> list[Cause]:
    if name in _OVERCOMMITTED:
        return []
    return [
        invalid(path, name, "must be a standard resource type or fully qualified"),
        invalid(path, name, "must be a standard resource for containers"),
    ]


def check_resource_name(name: str, path: str) -> list[Cause]:
    """The name of what a container may request."""
    causes = check_text(name, path, qualified_name)
    return causes if causes or "/" in name or name.startswith(_PAGES) else _check_standard(name, path)


def _check_pod_resource(name: str, value: object, path: str) -> list[Cause]:
    if name.startswith(_PAGES):
        return _check_pages(name, value, path)
    if name in _OF_PODS:
        return []
    if "/" not in name and name not in _OVERCOMMITTED:
        return [invalid(path, name, "must be a standard resource type or fully qualified")]
    return [unsupported(path, name, (*_OF_PODS, _PAGES))]


def _check_pages(name: str, value: object, path: str) -> list[Cause]:
    """Pages of memory come whole; their size is in the name."""
    size, amount = quantity_of(name.removeprefix(_PAGES)), quantity_of(value)
    if size is None or amount is None or size.nanos <= 0 or amount.nanos % size.nanos == 0:
        return []
    return [invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")]


def check_pod_resources(spec: JsonObject, path: str) -> list[Cause]:
    """The resources of the pod as a whole; they cover what its containers ask for."""
    resources, at = spec.get("resources"), f"{path}.resources"
    if not isinstance(resources, dict):
        return []
    if struct(spec, "os").get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    causes: list[Cause] = []
    if resources.get("claims") is not None:
        causes.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    causes += check_resources(resources, at, is_pod=True)
    limits = {name: quantity_of(value) for name, value in struct(resources, "limits").items()}
    for index, container in enumerate(structs(spec, "containers")):
        for name, value in struct(container, "resources", "limits").items():
            own, most = quantity_of(value), limits.get(name)
            if own is not None and most is not None and own > most:
                message = f"must be less than or equal to pod limits of {most}"
                causes.append(invalid(f"{at}.containers[{index}][{name}].limits", str(own), message))
    return causes + _check_totals(spec, struct(resources, "requests"), f"{at}.requests")


def _check_totals(spec: JsonObject, requests: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    totals = requested(spec) if requests else {}
    for name, value in requests.items():
        whole, total = quantity_of(value), totals.get(name, 0)
        if whole is not None and total > whole.nanos:
            told = Quantity(total, whole.family)
            message = f"must be greater than or equal to aggregate container requests of {told}"
            causes.append(invalid(f"{path}[{name}]", str(whole), message))
    return causes


def check_resource_claims(resources: JsonObject, path: str, claims: frozenset[str]) -> list[Cause]:
    """The claims of a container are of its pod; a request is claimed once, alone or with its whole claim."""
    causes: list[Cause] = []
    taken: set[str] = set()
    in_part: set[str] = set()
    for at, claim in numbered(resources, "claims", path):
        name, request = text(claim, "name"), text(claim, "request")
        if not name:
            causes.append(required(at))
            continue
        if request and name not in taken:
            causes += check_text(request, f"{at}.request", dns1123_label)
        key = f"{name}/{request}" if request else name
        if name in taken or key in taken or (not request and name in in_part):
            causes.append(duplicate(at, key))
        taken.add(key)
        if request:
            in_part.add(name)
        if name not in claims:
            causes.append(not_found(at, name))
    return causes
