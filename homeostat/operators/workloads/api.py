"""The kinds that are simulated, the parts of them that are kept in memory, and the annotations of the simulation. Pure.

All kinds are built in. Workloads are few, so their spec and status are kept whole; Pods are many, so only the
fields that decide something are kept.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

GROUP: Final = "simulation.homeostat.dev"
OUTCOME: Final = f"{GROUP}/outcome"
READY_AFTER: Final = f"{GROUP}/ready-after"
BACK_OFF: Final = f"{GROUP}/back-off"
STOP_AFTER: Final = f"{GROUP}/stop-after"
EXIT_CODE: Final = f"{GROUP}/exit-code"
USE: Final = f"{GROUP}/use"
"""What a Pod uses, for autoscalers."""
LOAD: Final = f"{GROUP}/load"
"""What all Pods of a workload use together."""
RULES_LABEL: Final = f"{GROUP}/rules"
"""A ConfigMap with this label holds rules for Pods."""

NODE: Final = Kind("", "v1", "nodes", "Node", is_namespaced=False)
SERVICE: Final = Kind("", "v1", "services", "Service", is_namespaced=True)
REPLICATION_CONTROLLER: Final = Kind("", "v1", "replicationcontrollers", "ReplicationController", is_namespaced=True)
CLAIM: Final = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", is_namespaced=True)
STORAGE_CLASS: Final = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", is_namespaced=False)
VOLUME: Final = Kind("", "v1", "persistentvolumes", "PersistentVolume", is_namespaced=False)
CONTROLLER_REVISION: Final = Kind("apps", "v1", "controllerrevisions", "ControllerRevision", is_namespaced=True)
JOB: Final = Kind("batch", "v1", "jobs", "Job", is_namespaced=True)
CRON_JOB: Final = Kind("batch", "v1", "cronjobs", "CronJob", is_namespaced=True)
AUTOSCALER: Final = Kind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", is_namespaced=True)
BUDGET: Final = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", is_namespaced=True)
ENDPOINTS: Final = Kind("", "v1", "endpoints", "Endpoints", is_namespaced=True)
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", is_namespaced=True)


class Owner(msgspec.Struct, frozen=True, rename="camel", gc=False):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = False
    block_owner_deletion: bool = False

    def is_of(self, kind: Kind) -> bool:
        """Whether it names an object of this kind, in any version."""
        return self.kind == kind.kind and self.api_version.rpartition("/")[0] == kind.group

    @property
    def reference(self) -> JsonObject:
        """As an object has it among its owners."""
        found: JsonObject = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid}
        if self.controller:
            found["controller"] = True
        if self.block_owner_deletion:
            found["blockOwnerDeletion"] = True
        return found


class Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    resource_version: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> Owner | None:
        for each in self.owner_references:
            if each.controller:
                return each
        return None

    @property
    def is_terminating(self) -> bool:
        return self.deletion_timestamp is not None


class Workload(msgspec.Struct, frozen=True):
    """Any kind with a spec and a status."""

    metadata: Meta
    spec: JsonObject = {}
    status: JsonObject = {}

    @property
    def key(self) -> tuple[str, str]:
        return self.metadata.namespace, self.metadata.name


class Revision(msgspec.Struct, frozen=True):
    """A ControllerRevision."""

    metadata: Meta
    data: JsonObject = {}
    revision: int = 0


class Rules(msgspec.Struct, frozen=True):
    """A ConfigMap with rules for Pods."""

    metadata: Meta
    data: dict[str, str] = {}


class Resources(msgspec.Struct, frozen=True, gc=False):
    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class Port(msgspec.Struct, frozen=True, rename="camel", gc=False):
    container_port: int = 0
    name: str = ""
    protocol: str = "TCP"
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")


class Exec(msgspec.Struct, frozen=True, gc=False):
    command: tuple[str, ...] = ()


class Address(msgspec.Struct, frozen=True, gc=False):
    host: str = ""
    """Empty for the Pod itself."""


class Probe(msgspec.Struct, frozen=True, rename="camel", gc=False):
    exec: Exec | None = None
    http_get: Address | None = None
    tcp_socket: Address | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3


class Sleep(msgspec.Struct, frozen=True, gc=False):
    seconds: int = 0


class Handler(msgspec.Struct, frozen=True, gc=False):
    sleep: Sleep | None = None


class Lifecycle(msgspec.Struct, frozen=True, rename="camel", gc=False):
    post_start: Handler | None = None
    pre_stop: Handler | None = None


class Mount(msgspec.Struct, frozen=True, rename="camel", gc=False):
    mount_path: str = ""


class Container(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[Port, ...] = ()
    restart_policy: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    volume_mounts: tuple[Mount, ...] = ()

    @property
    def has_post_start(self) -> bool:
        return self.lifecycle is not None and self.lifecycle.post_start is not None

    @property
    def pre_stop_s(self) -> int:
        """How long it sleeps before it stops."""
        handler = self.lifecycle.pre_stop if self.lifecycle is not None else None
        return handler.sleep.seconds if handler is not None and handler.sleep is not None else 0


class Claimed(msgspec.Struct, frozen=True, rename="camel", gc=False):
    claim_name: str = ""


class PodVolume(msgspec.Struct, frozen=True, rename="camel", gc=False):
    persistent_volume_claim: Claimed | None = None


class Gate(msgspec.Struct, frozen=True, rename="camel", gc=False):
    condition_type: str = ""


class System(msgspec.Struct, frozen=True, gc=False):
    """The operating system that a Pod is for."""

    name: str = ""


class Sysctl(msgspec.Struct, frozen=True):
    name: str


class PodSecurity(msgspec.Struct, frozen=True):
    sysctls: tuple[Sysctl, ...] = ()


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    os: System | None = None
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: JsonObject = {}
    tolerations: tuple[JsonObject, ...] = ()
    scheduling_gates: tuple[JsonObject, ...] = ()
    readiness_gates: tuple[Gate, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    restart_policy: str = "Always"
    host_network: bool = False
    host_ipc: bool = msgspec.field(name="hostIPC", default=False)
    security_context: PodSecurity = PodSecurity()
    scheduler_name: str = "default-scheduler"
    hostname: str = ""
    subdomain: str = ""
    topology_spread_constraints: tuple[JsonObject, ...] = ()
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    resources: Resources = Resources()
    """Of the whole Pod."""
    overhead: dict[str, str | int | float] = {}
    active_deadline_seconds: int | None = None

    @property
    def claims(self) -> list[str]:
        """The names of the PersistentVolumeClaims that the Pod uses."""
        used = (each.persistent_volume_claim for each in self.volumes)
        return [each.claim_name for each in used if each is not None]


class PodCondition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    transitioned: str | None = msgspec.field(name="lastTransitionTime", default=None)
    """The server creates a Pod that waits at a gate with a condition that has null here."""
    last_probe_time: str | None = None
    observed_generation: int = 0

    @property
    def last_transition_time(self) -> str:
        return self.transitioned or ""


class Waiting(msgspec.Struct, frozen=True, gc=False):
    reason: str = ""


class Terminated(msgspec.Struct, frozen=True, rename="camel", gc=False):
    exit_code: int = 0


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class Run(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Of an ephemeral container: when it began, and when and how it ended."""

    started_at: str | None = None
    finished_at: str | None = None
    exit_code: int = 0


class EphemeralState(msgspec.Struct, frozen=True, gc=False):
    running: Run | None = None
    terminated: Run | None = None


class EphemeralStatus(msgspec.Struct, frozen=True, gc=False):
    name: str
    state: EphemeralState = EphemeralState()


class PodStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    phase: str = "Pending"
    reason: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    host_ip: str = msgspec.field(name="hostIP", default="")
    start_time: str = ""
    nominated_node_name: str = ""
    observed_generation: int = 0
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[EphemeralStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> tuple[str, str]:
        return self.metadata.namespace, self.metadata.name

    def condition(self, name: str) -> PodCondition | None:
        for each in self.status.conditions:
            if each.type == name:
                return each
        return None

    @property
    def is_ready(self) -> bool:
        found = self.condition("Ready")
        return found is not None and found.status == "True"

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        return not self.is_finished and not self.metadata.is_terminating

    @property
    def restarts(self) -> int:
        """Of all containers together, as a Job counts them."""
        found = self.status
        return sum(each.restart_count for each in (*found.init_container_statuses, *found.container_statuses))

    @property
    def most_restarts(self) -> int:
        """Of the container that was restarted most often; init containers do not count."""
        return max((each.restart_count for each in self.status.container_statuses), default=0)

    @property
    def has_ready_containers(self) -> bool:
        found = self.status.container_statuses
        return bool(found) and all(each.ready for each in found)
