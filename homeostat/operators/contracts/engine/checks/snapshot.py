"""The observed facts of a target, read from a Service and a workload. Pure.

Objects come from a cluster or from manifests. The API server fills in defaults; for manifests, `with_defaults` fills in
the defaults that the checks use.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject

DEFAULT_GRACE_S: Final = 30
DEPLOYMENT: Final = "Deployment"
STATEFUL_SET: Final = "StatefulSet"
_JOBS: Final = ("Job", "CronJob")
KINDS: Final = (DEPLOYMENT, STATEFUL_SET, "ReplicaSet", "Job", "CronJob")


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a workload that exists."""

    kind: str
    deployment_strategy: str = ""
    pod_management_policy: str = ""
    termination_grace_period_s: int | None = None
    images: tuple[str, ...] = ()
    """Of the regular containers, in their order."""
    named_images: tuple[tuple[str, str], ...] = ()
    """The same with the names of the containers."""
    replicas: int | None = None
    """None for a kind without replicas, or if it is not set."""
    has_claim: bool = False
    has_empty_dir: bool = False
    probe_delay_s: int | None = None
    """Of the first container's readiness probe, else of its liveness probe."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """`service_ports` is None for a Service that does not exist, `workload` for a workload that does not."""

    service_ports: tuple[int, ...] | None = None
    workload: Workload | None = None

    @property
    def has_service(self) -> bool:
        return self.service_ports is not None


def observe(
    service: JsonObject | None, workload: JsonObject | None, *, kind: str, with_defaults: bool = False
) -> Snapshot:
    """Read the facts; `kind` is the requested kind, and an unknown kind is read as a Deployment."""
    return Snapshot(
        service_ports=None if service is None else service_ports(service),
        workload=None if workload is None else read_workload(workload, kind, with_defaults=with_defaults),
    )


def service_ports(service: JsonObject) -> tuple[int, ...]:
    found = (each.get("port") for each in _list(_map(service.get("spec")).get("ports")))
    return tuple(each for each in found if type(each) is int)


def read_workload(workload: JsonObject, kind: str, *, with_defaults: bool = False) -> Workload:
    spec = _map(workload.get("spec"))
    holder = _map(_map(spec.get("jobTemplate")).get("spec")) if kind == "CronJob" else spec
    pod = _map(_map(holder.get("template")).get("spec"))
    containers, volumes = _list(pod.get("containers")), _list(pod.get("volumes"))
    is_deployment = kind == DEPLOYMENT or kind not in KINDS
    strategy = _text(_map(spec.get("strategy")).get("type")) if is_deployment else ""
    policy = _text(spec.get("podManagementPolicy")) if kind == STATEFUL_SET else ""
    grace = _integer(pod.get("terminationGracePeriodSeconds"))
    replicas = None if kind in _JOBS else _integer(spec.get("replicas"))
    if with_defaults:
        replicas = 1 if replicas is None and kind not in _JOBS else replicas
        strategy = strategy or ("RollingUpdate" if is_deployment else "")
        policy = policy or ("OrderedReady" if kind == STATEFUL_SET else "")
        grace = DEFAULT_GRACE_S if grace is None else grace
    return Workload(
        kind=kind,
        deployment_strategy=strategy,
        pod_management_policy=policy,
        termination_grace_period_s=grace,
        images=tuple(_text(each.get("image")) for each in containers),
        named_images=tuple((_text(each.get("name")), _text(each.get("image"))) for each in containers),
        replicas=replicas,
        has_claim=any(each.get("persistentVolumeClaim") is not None for each in volumes)
        or (kind == STATEFUL_SET and bool(_list(spec.get("volumeClaimTemplates")))),
        has_empty_dir=any(each.get("emptyDir") is not None for each in volumes),
        probe_delay_s=_probe_delay(containers[0]) if containers else None,
    )


def _probe_delay(container: JsonObject) -> int | None:
    """Return the delay of the readiness or liveness probe; an unset delay is 0. Startup probes are ignored."""
    for name in ("readinessProbe", "livenessProbe"):
        probe = container.get(name)
        if isinstance(probe, dict):
            return _integer(probe.get("initialDelaySeconds")) or 0
    return None


def _map(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list | tuple) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: Json) -> int | None:
    return value if type(value) is int else None
