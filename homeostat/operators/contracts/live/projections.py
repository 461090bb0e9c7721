"""Services and workloads as the checks need them: the few fields that they compare.

The fields have the names of the API, so that `facts` and the offline checks read workloads by the same functions.
Pure.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.views.pod import Present


class _Seen(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Part of an object that we only read."""


class SeenMetadata(_Seen, frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class ServicePort(_Seen, frozen=True):
    port: int = 0


class ServiceSpec(_Seen, frozen=True):
    ports: tuple[ServicePort, ...] | None = None


class SeenService(_Seen, frozen=True):
    metadata: SeenMetadata = SeenMetadata()
    spec: ServiceSpec | None = None


class ContainerProbe(_Seen, frozen=True):
    initial_delay_seconds: int | None = None


class SeenContainer(_Seen, frozen=True):
    name: str = ""
    image: str | None = None
    readiness_probe: ContainerProbe | None = None
    liveness_probe: ContainerProbe | None = None


class SeenVolume(_Seen, frozen=True):
    persistent_volume_claim: Present | None = None
    empty_dir: Present | None = None


class SeenPodSpec(_Seen, frozen=True):
    containers: tuple[SeenContainer, ...] | None = None
    volumes: tuple[SeenVolume, ...] | None = None
    termination_grace_period_seconds: int | None = None


class SeenTemplate(_Seen, frozen=True):
    spec: SeenPodSpec | None = None


class Strategy(_Seen, frozen=True):
    type: str | None = None


class JobSpec(_Seen, frozen=True):
    template: SeenTemplate | None = None


class JobTemplate(_Seen, frozen=True):
    spec: JobSpec | None = None


class SeenWorkloadSpec(_Seen, frozen=True):
    replicas: int | None = None
    strategy: Strategy | None = None
    pod_management_policy: str | None = None
    volume_claim_templates: tuple[Present, ...] | None = None
    template: SeenTemplate | None = None
    job_template: JobTemplate | None = None


class SeenWorkload(_Seen, frozen=True):
    metadata: SeenMetadata = SeenMetadata()
    spec: SeenWorkloadSpec | None = None


def fields_of(seen: SeenService | SeenWorkload) -> JsonObject:
    fields: JsonObject = msgspec.to_builtins(seen)
    return fields
