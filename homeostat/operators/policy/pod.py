"""A Pod as the checks see it: the few fields they ask for, decoded straight from the server's bytes.

Made for many: what the replicas of a workload have in common (spec, status and labels are equal once addresses and
times are left out) is held once, so that 100,000 Pods cost tens of megabytes. Whatever Kubernetes may write as null may
be null here. Unknown fields are passed over; a field of the wrong type is msgspec's `ValidationError` with its path.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache

import msgspec

_MOST_SHARED = 65_536
_NO_LABELS: Mapping[str, str] = {}


@lru_cache(_MOST_SHARED)
def _shared(value: Hashable) -> Hashable:
    """The first of all values that are equal to this one."""
    return value


@lru_cache(_MOST_SHARED)
def _shared_labels(labels: tuple[tuple[str, str | None], ...]) -> Mapping[str, str]:
    return {key: value or "" for key, value in labels}


class _Seen(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Part of an object, read and never written."""


class Present(_Seen, frozen=True):
    """Something of which only matters that it is there."""


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
        share = msgspec.structs.force_setattr
        share(self, "namespace", _shared(self.namespace))
        if self.labels:
            share(self, "labels", _shared_labels(tuple(self.labels.items())))
        if self.owner_references:
            share(self, "owner_references", _shared(self.owner_references))


class Pod(_Seen, frozen=True):
    metadata: PodMetadata = PodMetadata()
    spec: PodSpec | None = None
    status: PodStatus | None = None

    def __post_init__(self) -> None:
        share = msgspec.structs.force_setattr
        if self.spec is not None:
            share(self, "spec", _shared(self.spec))
        if self.status is not None:
            share(self, "status", _shared(self.status))

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
        # The values were made texts when they were shared.
        return self.metadata.labels or _NO_LABELS  # type: ignore[return-value]


decode_pod = msgspec.json.Decoder(Pod).decode
