"""The patch of a workload that adds the probes and resources which its containers lack.

Image tags, restarts and Pending Pods are never changed. Nor is a missing probe where neither the policy nor the
container names a port: a probe of a port where nobody listens kills a container that was well. The original guesses
8080 there; `defaultProbe.fallbackPort` has it so. What was injected is written on the workload, so that it can be taken
back. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, Literal

import msgspec

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.objects.time.timestamp import format_time
from homeostat.objects.views.pod import Container
from homeostat.objects.views.workload import Workload
from homeostat.operators.policy.api import INJECTED, OPERATOR, PATCHED_AT, PATCHED_BY
from homeostat.operators.policy.engine.invalid import PolicyFaultError
from homeostat.operators.policy.spec import DefaultProbe, DefaultResources, PolicySpec

Part = Literal["livenessProbe", "readinessProbe", "resources"]

PARTS: Final[tuple[Part, ...]] = ("livenessProbe", "readinessProbe", "resources")
PROBES: Final[frozenset[Part]] = frozenset({"livenessProbe", "readinessProbe"})
_INITIAL_DELAY_S, _PERIOD_S = 5, 10
_USUAL = DefaultProbe()


class Injection(msgspec.Struct, frozen=True):
    """The parts that one container gets."""

    container: str
    parts: frozenset[Part]


def lacking(container: Container, spec: PolicySpec) -> list[Part]:
    """What the policy wants of the container and has a value for, but perhaps no port."""
    parts: list[Part] = []
    if spec.require_liveness_probe and container.liveness_probe is None:
        parts.append("livenessProbe")
    if spec.require_readiness_probe and container.readiness_probe is None:
        parts.append("readinessProbe")
    resources = container.resources
    if spec.default_resources is not None and (resources is None or not (resources.requests or resources.limits)):
        parts.append("resources")
    return parts


def port_for(container: Container, given: DefaultProbe | None) -> int:
    """The policy's port, or else the container's first for TCP, or else the policy's last resort; 0 without any."""
    given = given or _USUAL
    first = next((each.container_port for each in container.ports or () if each.is_tcp), 0)
    return given.tcp_port or first or given.fallback_port or 0


def probe_for(container: Container, given: DefaultProbe | None) -> JsonObject:
    """A connection to the port, which there must be."""
    given = given or _USUAL
    delay, period = given.initial_delay_seconds, given.period_seconds
    return {
        "tcpSocket": {"port": port_for(container, given)},
        "initialDelaySeconds": _INITIAL_DELAY_S if delay is None else delay,
        "periodSeconds": _PERIOD_S if period is None else period,
    }


def resources_for(given: DefaultResources | None) -> JsonObject:
    given = given or DefaultResources()
    return {
        "requests": {"cpu": given.cpu_request or "100m", "memory": given.memory_request or "128Mi"},
        "limits": {"cpu": given.cpu_limit or "500m", "memory": given.memory_limit or "256Mi"},
    }


def check_defaults(spec: PolicySpec) -> None:
    """`PolicyFaultError` where a server would refuse what the policy gives; of no matter in audit mode."""
    if spec.default_resources is None or not spec.is_enforced:
        return
    given = resources_for(spec.default_resources)
    for unit in ("cpu", "memory"):
        request, limit = (_amount(given[part][unit], f"{unit}{part[:-1].capitalize()}") for part in given)
        if request > limit:
            told = f"request {given['requests'][unit]} exceeds limit {given['limits'][unit]}"
            raise PolicyFaultError("InvalidResources", f"spec.defaultResources.{unit}Request", told)


def _amount(text: str, field: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise PolicyFaultError("InvalidResources", f"spec.defaultResources.{field}", str(error)) from error


def patch_of(workload: Workload, injections: Iterable[Injection], spec: PolicySpec, *, now: datetime) -> JsonObject:
    """The strategic merge patch of the workload. Containers are told by name; all of them are in its template."""
    declared = {each.name: each for each in _containers(workload)}
    given = sorted(injections, key=lambda each: each.container)
    patched = [_patched(declared[each.container], each.parts, spec) for each in given]
    record = {each.container: sorted(each.parts) for each in given}
    told = encode(_merged(injected_of(workload), record)).decode()
    return {
        "metadata": {"annotations": {PATCHED_AT: format_time(now), INJECTED: told}},
        "spec": {"template": {"metadata": {"annotations": {PATCHED_BY: OPERATOR}}, "spec": {"containers": patched}}},
    }


def changes_of(workload: Workload, injections: Iterable[Injection], spec: PolicySpec) -> Iterator[str]:
    """The patch for people: the path of each field that is new, and its value."""
    declared = {each.name: each for each in _containers(workload)}
    for each in sorted(injections, key=lambda each: each.container):
        patched = _patched(declared[each.container], each.parts, spec)
        for part in PARTS:
            if part in patched:
                yield f"spec.template.spec.containers[{each.container}].{part} = {encode(patched[part]).decode()}"


def revert_of(workload: Workload) -> JsonObject | None:
    """The patch that takes back what was injected and is still there; None where nothing was."""
    record = injected_of(workload)
    names = {each.name for each in _containers(workload)}
    containers = [{"name": name, **dict.fromkeys(parts)} for name, parts in sorted(record.items()) if name in names]
    if not record:
        return None
    template: JsonObject = {"metadata": {"annotations": {PATCHED_BY: None}}}
    if containers:
        template["spec"] = {"containers": containers}
    return {"metadata": {"annotations": {PATCHED_AT: None, INJECTED: None}}, "spec": {"template": template}}


def injected_of(workload: Workload) -> dict[str, list[Part]]:
    """What was injected by container, as the workload says; what it says amiss is nothing."""
    try:
        return msgspec.json.decode(workload.annotations.get(INJECTED) or "{}", type=dict[str, list[Part]])
    except (msgspec.DecodeError, RecursionError):
        return {}


def is_patched(workload: Workload) -> bool:
    metadata = workload.template.metadata
    return metadata is not None and (metadata.annotations or {}).get(PATCHED_BY) == OPERATOR


def _containers(workload: Workload) -> tuple[Container, ...]:
    spec = workload.template.spec
    return () if spec is None else spec.containers or ()


def _patched(container: Container, parts: frozenset[Part], spec: PolicySpec) -> JsonObject:
    patch: JsonObject = {"name": container.name}
    for part in PARTS:
        if part in parts:
            wanted: Json = resources_for(spec.default_resources) if part == "resources" else None
            patch[part] = wanted or probe_for(container, spec.default_probe)
    return patch


def _merged(held: dict[str, list[Part]], more: dict[str, list[Part]]) -> dict[str, list[Part]]:
    names = sorted({*held, *more})
    return {name: sorted({*held.get(name, ()), *more.get(name, ())}) for name in names}
