"""The patch of a workload that adds probes and resources to containers without them.

Enforcement never changes image tags, restarts and Pending Pods. It adds no probe if neither the policy nor the
container names a port: a probe of a port without a listener would kill a healthy container. The original assumes
port 8080 there; `defaultProbe.fallbackPort: 8080` does the same. An annotation of the workload records what was
injected, so that it can be reverted. Pure.
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
_DEFAULTS = DefaultProbe()


class Injection(msgspec.Struct, frozen=True):
    """The parts that are added to one container."""

    container: str
    parts: frozenset[Part]


def missing_parts(container: Container, spec: PolicySpec) -> list[Part]:
    """The parts that the policy requires and can add, apart from the port of a probe, which may be unknown."""
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
    """The policy's `tcpPort`, or the first TCP port of the container, or the policy's `fallbackPort`, or 0."""
    given = given or _DEFAULTS
    first = next((each.container_port for each in container.ports or () if each.is_tcp), 0)
    return given.tcp_port or first or given.fallback_port or 0


def probe_for(container: Container, given: DefaultProbe | None) -> JsonObject:
    """A TCP probe. A port must be known."""
    given = given or _DEFAULTS
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
    """`PolicyFaultError` if a server would reject the resources. In audit mode they are not checked."""
    if spec.default_resources is None or not spec.is_enforced:
        return
    given = resources_for(spec.default_resources)
    for unit in ("cpu", "memory"):
        request, limit = (_amount(given[part][unit], f"{unit}{part[:-1].capitalize()}") for part in given)
        if request > limit:
            text = f"request {given['requests'][unit]} exceeds limit {given['limits'][unit]}"
            raise PolicyFaultError("InvalidResources", f"spec.defaultResources.{unit}Request", text)


def _amount(text: str, field: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise PolicyFaultError("InvalidResources", f"spec.defaultResources.{field}", str(error)) from error


def patch_of(workload: Workload, injections: Iterable[Injection], spec: PolicySpec, *, now: datetime) -> JsonObject:
    """The strategic merge patch of the workload. Every container of `injections` must be in the template."""
    declared = {each.name: each for each in _containers(workload)}
    given = sorted(injections, key=lambda each: each.container)
    patched = [_patched(declared[each.container], each.parts, spec) for each in given]
    record = {each.container: sorted(each.parts) for each in given}
    annotation = encode(_merged(injected_of(workload), record)).decode()
    return {
        "metadata": {"annotations": {PATCHED_AT: format_time(now), INJECTED: annotation}},
        "spec": {"template": {"metadata": {"annotations": {PATCHED_BY: OPERATOR}}, "spec": {"containers": patched}}},
    }


def changes_of(workload: Workload, injections: Iterable[Injection], spec: PolicySpec) -> Iterator[str]:
    """The patch as text: the path of each new field, and its value."""
    declared = {each.name: each for each in _containers(workload)}
    for each in sorted(injections, key=lambda each: each.container):
        patched = _patched(declared[each.container], each.parts, spec)
        for part in PARTS:
            if part in patched:
                yield f"spec.template.spec.containers[{each.container}].{part} = {encode(patched[part]).decode()}"


def revert_of(workload: Workload) -> JsonObject | None:
    """The patch that removes what was injected and is still there; None if nothing was injected."""
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
    """The injected parts by container, from the annotation of the workload; an invalid annotation counts as empty."""
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


def _merged(first: dict[str, list[Part]], more: dict[str, list[Part]]) -> dict[str, list[Part]]:
    names = sorted({*first, *more})
    return {name: sorted({*first.get(name, ()), *more.get(name, ())}) for name in names}
