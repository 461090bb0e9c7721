"""The status of a `Pacto` and of a `PactoRevision`, as types for their schemas.

`engine/` computes the values. A field with a zero value is omitted, unless the original always writes it: those are
the fields without a default. Pure data.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import Status
from homeostat.objects.crd.field_meta import Time
from homeostat.operators.contracts.engine.checks.verdict import MAX_CHANGES, ContractStatus
from homeostat.operators.contracts.engine.views.status import MAX_FINDINGS, MAX_PROPERTIES
from homeostat.operators.contracts.spec import Part, doc

CheckStatus = Literal["done", "partial", "not-done", "deferred", "Current", "Expired", "Invalid"]


class Summary(Part, frozen=True, kw_only=True):
    """The number of checks, without those that are pending."""

    total: int
    passed: int
    failed: int


class OwnerContact(Part, frozen=True, kw_only=True):
    type: str = ""
    value: str = ""
    purpose: str = ""


class ContractOwner(Part, frozen=True, kw_only=True):
    team: str = ""
    dri: str = ""
    contacts: tuple[OwnerContact, ...] = ()


class ContractIdentity(Part, frozen=True, kw_only=True):
    """Which contract was loaded."""

    service_name: str = ""
    version: str = ""
    owner: ContractOwner | None = None
    owner_display: Annotated[str, doc("The team, or else the responsible person.")] = ""
    image_ref: str = ""
    resolved_ref: Annotated[str, doc("The reference in the registry, with the tag that was chosen.")] = ""


class Issue(Part, frozen=True, kw_only=True):
    code: str = ""
    path: str = ""
    message: str = ""


class Validation(Part, frozen=True, kw_only=True):
    """What validation of the contract found."""

    valid: bool
    errors: Annotated[tuple[Issue, ...], Meta(max_length=MAX_FINDINGS)] = ()
    warnings: Annotated[tuple[Issue, ...], Meta(max_length=MAX_FINDINGS)] = ()


class ServiceResource(Part, frozen=True, kw_only=True):
    name: str
    exists: bool


class WorkloadResource(Part, frozen=True, kw_only=True):
    name: str
    kind: str
    exists: bool


class Resources(Part, frozen=True, kw_only=True):
    """Whether the target exists."""

    service: ServiceResource | None = None
    workload: WorkloadResource | None = None


class PortComparison(Part, frozen=True, kw_only=True):
    """The ports of the interfaces and those of the Service."""

    expected: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    unexpected: tuple[int, ...] = ()


class Endpoint(Part, frozen=True, kw_only=True):
    url: str
    reachable: bool
    status_code: int | None = None
    latency_ms: int | None = None
    error: str = ""


class EndpointResults(Part, frozen=True, kw_only=True):
    """The results of the last probes."""

    health: Endpoint | None = None
    metrics: Endpoint | None = None


class ApiDrift(Part, frozen=True, kw_only=True):
    """How the OpenAPI document that the service serves differs from the one of its contract."""

    interface: str
    url: str
    breaking: int
    potentially_breaking: int
    non_breaking: int
    changes: Annotated[tuple[str, ...], Meta(max_length=MAX_CHANGES)] = ()


class InterfaceView(Part, frozen=True, kw_only=True):
    name: str
    type: Literal["http", "grpc", "event"]
    port: int | None = None
    visibility: str = ""
    has_contract_file: Annotated[bool, doc("Whether the contract names a file; not whether the bundle has it.")]


class Property(Part, frozen=True, kw_only=True):
    key: str
    value: str = ""
    type: str = ""


Properties = Annotated[tuple[Property, ...], Meta(max_length=MAX_PROPERTIES)]


class ConfigurationView(Part, frozen=True, kw_only=True):
    name: str
    has_schema: bool
    ref: str = ""
    value_keys: tuple[str, ...] = ()
    secret_keys: tuple[str, ...] = ()
    overridden_keys: tuple[str, ...] = ()
    properties: Properties = ()


class PolicyView(Part, frozen=True, kw_only=True):
    name: str
    has_schema: bool
    schema: str = ""
    ref: str = ""
    title: str = ""
    description: str = ""
    properties: Properties = ()


class DependencyView(Part, frozen=True, kw_only=True):
    name: str = ""
    ref: str
    required: bool
    compatibility: str = ""


class RuntimeView(Part, frozen=True, kw_only=True):
    """The runtime section of the contract."""

    workload: str = ""
    state_type: str = ""
    persistence_scope: str = ""
    persistence_durability: str = ""
    data_criticality: str = ""
    upgrade_strategy: str = ""
    graceful_shutdown_seconds: int | None = None
    health_interface: str = ""
    health_path: str = ""
    health_initial_delay_seconds: int | None = None
    metrics_interface: str = ""
    metrics_path: str = ""


class ScalingView(Part, frozen=True, kw_only=True):
    replicas: int | None = None
    min: int | None = None
    max: int | None = None


class ObservedRuntime(Part, frozen=True, kw_only=True):
    """What runs; absent if the workload does not exist."""

    workload_kind: str = ""
    deployment_strategy: str = ""
    pod_management_policy: str = ""
    termination_grace_period_seconds: int | None = None
    container_images: tuple[str, ...] = ()
    has_pvc: Annotated[bool, doc("Whether a PersistentVolumeClaim is mounted.")] = msgspec.field(name="hasPVC")
    has_empty_dir: bool
    health_probe_initial_delay_seconds: int | None = None


class ReadinessRevision(Part, frozen=True, kw_only=True):
    date: str
    version: str
    author: str
    description: str


class ReadinessCheck(Part, frozen=True, kw_only=True):
    id: str
    type: str = ""
    category: str = ""
    status: CheckStatus
    evidence: str = ""
    description: str = ""
    weight: int
    earned_weight: int | None = None
    excluded: bool | None = None
    expires: str = ""
    days_remaining: int | None = None


class ReadinessView(Part, frozen=True, kw_only=True):
    """The readiness assessment: the fields of contract 1.1 and those of 1.2."""

    score: int | None = None
    min_score: int | None = None
    passing: bool | None = None
    total_weight: int | None = None
    earned_weight: int | None = None
    current_weight: int | None = None
    expires: str = ""
    expired: bool | None = None
    days_remaining: int | None = None
    passing_until: Annotated[str, doc("The last day on which the gate is met, if nothing is renewed.")] = ""
    current_count: int | None = None
    expired_count: int | None = None
    invalid_count: int | None = None
    done_count: int | None = None
    partial_count: int | None = None
    not_done_count: int | None = None
    deferred_count: int | None = None
    revisions: tuple[ReadinessRevision, ...] = ()
    checks: tuple[ReadinessCheck, ...] = ()


class PactoStatus(Status, frozen=True, omit_defaults=True):
    contract_status: Annotated[
        ContractStatus | None, doc("Whether the running workload matches the contract, without its readiness.")
    ] = None
    resolution_policy: Literal["Latest", "PinnedTag", "PinnedDigest"] | None = None
    summary: Summary | None = None
    contract_version: str = ""
    current_revision: Annotated[str, doc("The PactoRevision of the contract that is in use.")] = ""
    last_reconciled_at: Time | None = None
    contract: ContractIdentity | None = None
    validation: Validation | None = None
    resources: Resources | None = None
    ports: PortComparison | None = None
    endpoints: EndpointResults | None = None
    api_drift: Annotated[tuple[ApiDrift, ...], doc("Of the documents that spec.checks.openapi names.")] = ()
    interfaces: tuple[InterfaceView, ...] = ()
    configurations: tuple[ConfigurationView, ...] = ()
    policies: tuple[PolicyView, ...] = ()
    dependencies: tuple[DependencyView, ...] = ()
    runtime: RuntimeView | None = None
    scaling: ScalingView | None = None
    metadata: dict[str, str] | None = None
    observed_runtime: ObservedRuntime | None = None
    readiness: ReadinessView | None = None


class RevisionStatus(Status, frozen=True, omit_defaults=True):
    resolved: bool | None = None
    contract_hash: Annotated[str, doc("The SHA-256 of the contract file as it was pulled.")] = ""
    created_at: Time | None = None
