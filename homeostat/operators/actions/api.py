"""The kinds of this operator: `ResourceType`, `Reconciliation`, `RunOutput`, and the fields that all resources share.

A resource type becomes a CustomResourceDefinition of the group `resources.homeostat.dev` (`types/definition.py`). A
resource is an object of that kind: its `spec` follows the schema of the type, `action` stands beside it, and its status
is the same for all types.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.crd.field_meta import Count, Time
from homeostat.objects.declared import Declared
from homeostat.objects.kind import Kind
from homeostat.objects.schema.schema import Rule
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.operators.actions.runs.run import Changes, Part, Purpose, Run, Steps, Trigger

GROUP: Final = "homeostat.dev"
RESOURCES: Final = "resources.homeostat.dev"
FINALIZER: Final = f"{RESOURCES}/destroy"
REQUESTED: Final = f"{GROUP}/reconcile"
"""An annotation: a new value triggers a reconciliation now."""
CANCEL: Final = f"{GROUP}/cancel"
"""An annotation: the ticket of a run to cancel. It has no effect on any other run."""
RESOURCE_UID: Final = f"{GROUP}/resource-uid"
"""A label of a Reconciliation: the uid of its resource."""
ID: Final = f"{GROUP}/id"
"""A label of types, resources and their history: the number that the REST API identifies them by."""
TYPE_VERSION: Final = f"{GROUP}/type-version"
"""A label of a resource: the version of its type that it was declared with. All versions share one set of objects."""
METADATA: Final = f"{GROUP}/metadata"
"""An annotation of types and resources: the `metadata` of REST bodies, as JSON."""
COUNTERS: Final = "homeostat-rest-ids"
"""The ConfigMap with the last numbers of the REST API."""
STATE_PREFIX: Final = "homeostat-state-"
"""How the names of Secrets begin that hold the state of a plugin."""
DEGRADED: Final = "Degraded"

Phase = Literal["pending", "reconciling", "ready", "failed", "deleting"]
Seconds = Annotated[int, Meta(ge=1, le=10**9)]


class ActionReference(msgspec.Struct, frozen=True, rename="camel"):
    """The plugin that reconciles a resource, and its configuration."""

    plugin: Annotated[str, Meta(max_length=253)] = ""
    config: dict[str, Any] = {}


class ResourceStatus(Status, frozen=True, omit_defaults=True):
    """What was last observed of the resource, and its current run."""

    phase: Phase = "pending"
    message: str = ""
    outputs: dict[str, Any] = msgspec.field(default_factory=dict)
    reconciled_generation: Count = 0
    """The newest metadata.generation that was applied."""
    attempted_digest: str = ""
    applied_digest: str = ""
    retries: Count = 0
    last_run: Time | None = None
    next_run: Time | None = None
    handled_request: str = ""
    sequence: Count = 0
    """The number of runs so far; tickets are made of it."""
    reconciliations: Count = 0
    """The number of reconciliations so far; names of history entries are made of it."""
    has_effects: bool = False
    """Something may have been created that has to be destroyed."""
    is_destroyed: bool = False
    run: Run | None = None


class Resource(Declared, frozen=True):
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    action: ActionReference | None = None


class Retry(msgspec.Struct, frozen=True, rename="camel"):
    """How long a failed resource waits before a retry: twice as long each time, up to a maximum, with jitter.

    Fields that are absent have the defaults of the operator, which are 60, 3600 and 0.1 unless its settings say
    otherwise.
    """

    base_seconds: Seconds | None = None
    max_seconds: Seconds | None = None
    jitter: Annotated[float, Meta(ge=0, le=1)] | None = None


class Keep(msgspec.Struct, frozen=True, rename="camel"):
    """How much history each resource keeps."""

    entries: Annotated[int, Meta(ge=1, le=10_000)] = 50
    max_age_days: Annotated[int, Meta(ge=1, le=36_500)] = 90


class ResourceTypeSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.name == oldSelf.name && self.version == oldSelf.version && "
            "(has(self.plural) ? self.plural : '') == (has(oldSelf.plural) ? oldSelf.plural : '') && "
            "(has(self.kind) ? self.kind : '') == (has(oldSelf.kind) ? oldSelf.kind : '')",
            "name, version, kind and plural are immutable because resources refer to them; declare another type",
        ),
    )

    name: Annotated[
        str,
        Meta(min_length=1, max_length=63, description="The name of the type: DatabaseCluster, or database-cluster."),
    ]
    version: Annotated[str, Meta(min_length=1, max_length=63)] = "v1"
    schema: Annotated[
        dict[str, Any], Meta(description="The schema of a resource's spec: JSON Schema, or OpenAPI v3.")
    ] = {}
    description: Annotated[str, Meta(max_length=4096)] = ""
    plural: Annotated[str, Meta(max_length=63)] = ""
    kind: Annotated[
        str,
        Meta(
            max_length=63,
            description="The kind of the resources; default: derived from the name. Set it if two names give one kind.",
        ),
    ] = ""
    short_names: tuple[str, ...] = ()
    is_deprecated: bool = False
    is_forced: Annotated[
        bool,
        Meta(description="Accept a schema that live resources do not match. They must match it when they next change."),
    ] = False
    action: ActionReference = ActionReference()
    resource_fields: Annotated[
        Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=253)], ...], Meta(max_length=100)] | None,
        Meta(
            description=(
                "Fields of action.config that resources of the type may set. Default: those that the plugin considers "
                "safe, so no addresses, headers, templates or references to Secrets."
            ),
        ),
    ] = None
    interval_seconds: Annotated[
        Seconds | None,
        Meta(
            description=(
                "Seconds between two checks of a ready resource for drift. Default: 300, or the setting "
                "of the operator."
            )
        ),
    ] = None
    retry: Retry = Retry()
    history: Keep = Keep()


class ResourceTypeStatus(Status, frozen=True, omit_defaults=True):
    plural: str = ""
    incompatible_resources: Annotated[tuple[str, ...], Meta(max_length=100)] = ()
    """Live resources that do not match the schema, with the reason."""


class ResourceType(Declared, frozen=True):
    spec: ResourceTypeSpec


class ReconciliationSpec(Part, frozen=True, kw_only=True):
    """The record of one reconciliation. It stays when the resource is deleted."""

    resource_kind: str
    resource_version: str
    resource_name: str
    resource_uid: str
    generation: int
    trigger: Trigger
    purpose: Purpose | None = None
    """The purpose of its run; `plan` if nothing had to be done, or if making the plan failed."""
    ticket: str = ""
    """The ticket of its run; empty for a plan that was made without a run."""
    is_success: bool
    phase: Literal["completed", "failed", "cancelled"]
    plugin: str = ""
    plan_output: str = ""
    apply_output: str = ""
    error: str = ""
    changes: Changes = Changes()
    is_drift: bool = False
    url: str = ""
    started: Time
    finished: Time
    steps: Steps = Steps()
    duration_seconds: Annotated[float, Meta(ge=0)] = 0.0


class Reconciliation(Declared, frozen=True):
    spec: ReconciliationSpec


class RunOutputSpec(Part, frozen=True, kw_only=True):
    """The output of a run so far, if the run takes longer than a moment. Only the end of a long output is stored."""

    ticket: str
    purpose: Purpose
    generation: Count = 0
    began: Time
    text: str = ""
    length: Count = 0
    """The length of the whole output, in characters."""
    is_ended: bool = False


class RunOutput(Declared, frozen=True):
    spec: RunOutputSpec


RESOURCE_TYPE: Final = CustomKind(
    Kind(GROUP, "v1alpha1", "resourcetypes", "ResourceType", is_namespaced=False, short_names=("rt",)),
    spec=ResourceTypeSpec,
    status=ResourceTypeStatus,
    columns=(
        Column("Type", ".spec.name"),
        Column("Version", ".spec.version"),
        Column("Plugin", ".spec.action.plugin"),
        READY_COLUMN,
        AGE_COLUMN,
    ),
    description="A type of resource: the schema of its resources, and the action that reconciles them.",
    # Its configuration may hold secrets.
    read_by="edit",
    is_guarded=True,
)
RECONCILIATION: Final = CustomKind(
    Kind(GROUP, "v1alpha1", "reconciliations", "Reconciliation", is_namespaced=True, short_names=("rec",)),
    spec=ReconciliationSpec,
    status=None,
    columns=(
        Column("Kind", ".spec.resourceKind"),
        Column("Resource", ".spec.resourceName"),
        Column("Trigger", ".spec.trigger"),
        Column("Success", ".spec.isSuccess", "boolean"),
        Column("Drift", ".spec.isDrift", "boolean"),
        Column("Seconds", ".spec.durationSeconds", "number"),
        Column("Error", ".spec.error", priority=1),
        AGE_COLUMN,
    ),
    description="The record of one reconciliation of a resource.",
    # Its plan and its log repeat values of the spec.
    read_by="edit",
    written_by="nobody",
    selectable=(".spec.resourceKind", ".spec.resourceName", ".spec.resourceUid"),
)
RUN_OUTPUT: Final = CustomKind(
    Kind(GROUP, "v1alpha1", "runoutputs", "RunOutput", is_namespaced=True),
    spec=RunOutputSpec,
    status=None,
    columns=(
        Column("Purpose", ".spec.purpose"),
        Column("Ended", ".spec.isEnded", "boolean"),
        Column("Length", ".spec.length", "integer"),
        AGE_COLUMN,
    ),
    description="The output of a resource's current run.",
    read_by="edit",
    written_by="nobody",
)
KINDS: Final = (RESOURCE_TYPE, RECONCILIATION, RUN_OUTPUT, RESOURCE_INPUT)
