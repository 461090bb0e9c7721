"""A Pod as operators see it: the few fields that they read, decoded straight from the server's bytes.

100,000 Pods take tens of megabytes: the replicas of a workload share what they have in common (spec, status and labels
are equal once addresses and times are left out), and so do different workloads for common parts. The creation time is
kept only while a Pod is Pending. Fields that Kubernetes may write as null may be null here. Unknown fields are
skipped; a field of the wrong type is msgspec's `ValidationError` with its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern

import msgspec

from homeostat.objects.memory.pool import Pool
from homeostat.objects.views.labels import Labels, labels_of

_MOST_SHARED, _FEW_SHARED = 65_536, 4096
_NO_LABELS = Labels()
_PENDING = "Pending"


class _Seen(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Part of an object that we only read."""


class Present(_Seen, frozen=True):
    """A value of which we only need to know that it is present."""


class Amounts(_Seen, frozen=True):
    cpu: str | int | float | None = None
    memory: str | int | float | None = None


class Resources(_Seen, frozen=True):
    requests: Amounts | None = None
    limits: Amounts | None = None


class SecurityContext(_Seen, frozen=True):
    privileged: bool | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None


class Port(_Seen, frozen=True):
    container_port: int = 0
    protocol: str | None = None

    @property
    def is_tcp(self) -> bool:
        return self.protocol in (None, "", "TCP")


class Container(_Seen, frozen=True):
    name: str = ""
    image: str | None = None
    liveness_probe: Present | None = None
    readiness_probe: Present | None = None
    resources: Resources | None = None
    security_context: SecurityContext | None = None
    ports: tuple[Port, ...] | None = None


class HostPath(_Seen, frozen=True):
    path: str = ""


class Volume(_Seen, frozen=True):
    host_path: HostPath | None = None


class PodSpec(_Seen, frozen=True):
    containers: tuple[Container, ...] | None = None
    security_context: SecurityContext | None = None
    volumes: tuple[Volume, ...] | None = None


class Reason(_Seen, frozen=True):
    reason: str | None = None


class ContainerState(_Seen, frozen=True):
    waiting: Reason | None = None
    terminated: Reason | None = None


class ContainerStatus(_Seen, frozen=True):
    name: str = ""
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(_Seen, frozen=True):
    phase: str | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Owner(_Seen, frozen=True):
    kind: str = ""
    name: str = ""


class PodMetadata(_Seen, frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    labels: Mapping[str, str | None] | None = None
    owner_references: tuple[Owner, ...] | None = None

    def __post_init__(self) -> None:
        put = msgspec.structs.force_setattr
        put(self, "namespace", intern(self.namespace))
        if self.labels:
            put(self, "labels", labels_of(self.labels))
        if self.owner_references:
            put(self, "owner_references", _owners.share(self.owner_references))


class Pod(_Seen, frozen=True):
    metadata: PodMetadata = PodMetadata()
    spec: PodSpec | None = None
    status: PodStatus | None = None

    def __post_init__(self) -> None:
        put = msgspec.structs.force_setattr
        if self.spec is not None:
            put(self, "spec", _specs.share(self.spec))
        if self.status is not None:
            put(self, "status", _statuses.share(self.status))
        made_at = self.metadata.creation_timestamp
        if made_at is not None:
            is_asked = self.status is not None and self.status.phase == _PENDING
            put(self.metadata, "creation_timestamp", _times.share(made_at) if is_asked else None)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def containers(self) -> tuple[Container, ...]:
        return () if self.spec is None else self.spec.containers or ()

    @property
    def statuses(self) -> tuple[ContainerStatus, ...]:
        return () if self.status is None else self.status.container_statuses or ()

    @property
    def phase(self) -> str | None:
        return None if self.status is None else self.status.phase

    @property
    def labels(self) -> Mapping[str, str]:
        return labels_of(self.metadata.labels or _NO_LABELS)


def _slim_container(container: Container) -> Container:
    """Its own name and image, and parts shared with other containers."""
    return Container(
        intern(container.name),
        container.image,
        container.liveness_probe and _PROBE,
        container.readiness_probe and _PROBE,
        container.resources and _resources.share(container.resources),
        container.security_context and _contexts.share(container.security_context),
        container.ports and _ports.share(container.ports),
    )


def _slim_spec(spec: PodSpec) -> PodSpec:
    containers = None if spec.containers is None else tuple(map(_slim_container, spec.containers))
    context = spec.security_context and _contexts.share(spec.security_context)
    return PodSpec(containers, context, spec.volumes and _volumes.share(spec.volumes))


def _slim_owners(owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    return tuple(Owner(intern(each.kind), each.name) for each in owners)


_PROBE = Present()
_specs = Pool[PodSpec](_MOST_SHARED, _slim_spec)
_statuses = Pool[PodStatus](_MOST_SHARED)
_owners = Pool[tuple[Owner, ...]](_MOST_SHARED, _slim_owners)
_times = Pool[str](_FEW_SHARED)
_resources = Pool[Resources](_FEW_SHARED)
_contexts = Pool[SecurityContext](_FEW_SHARED)
_ports = Pool[tuple[Port, ...]](_FEW_SHARED)
_volumes = Pool[tuple[Volume, ...]](_FEW_SHARED)
