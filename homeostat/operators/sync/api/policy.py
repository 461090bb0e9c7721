"""`SyncPolicy`: which part of a repository is kept in force on which server, and how. Pure data.

Status fields up to `resourceStats` are those of the original; what follows is ours.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from homeostat.objects.crd.custom_kind import Column, CustomKind, Status
from homeostat.objects.crd.field_meta import Count, Time
from homeostat.objects.declared import Declared
from homeostat.operators.sync.api.parts import GROUP, LONGEST_TEXT, Duration, ObjectRef, Part, Text, doc, kind
from homeostat.operators.sync.run.options import SyncOptions

REQUESTED: Final = f"{GROUP}/reconcile-requested-at"
"""An annotation: each new value starts a full sync now."""
PLAN_REQUESTED: Final = f"{GROUP}/plan-requested-at"
"""An annotation: each new value computes the plan of a full sync now, and changes nothing."""
MOST_REPORTED: Final = 100
MOST_SYNCS: Final = 20
LONGEST_MESSAGE: Final = 1024
MOST_FIELDS: Final = 20
LONGEST_VALUE: Final = 256
LARGEST_CHANGES: Final = 64 << 10
"""Characters of all values of `changes` together."""
Mode = Literal["incremental", "full"]


class Source(Part, frozen=True, kw_only=True):
    """The part of the repository."""

    path: Annotated[Text, doc("The logical path, such as /customers; a missing leading slash is added.")]
    recursive: Annotated[bool, doc("Whether everything below the path is synced.")] = True


class PolicySpec(Part, frozen=True, kw_only=True):
    resource_repository_ref: ObjectRef
    managed_server_ref: ObjectRef
    secret_store_ref: ObjectRef
    source: Source
    sync: Annotated[SyncOptions, doc("What a sync may do. Fields other than prune and force are ours.")] = SyncOptions()
    sync_interval: Annotated[Duration, doc("How often everything is compared with the server.")] = "5m"
    full_resync_cron: Annotated[Text | None, doc("Five cron fields in UTC: when everything is compared besides.")] = (
        None
    )
    suspend: Annotated[bool, doc("Stop syncing.")] = False


class ResourceStats(Part, frozen=True, kw_only=True):
    """Counts of the last sync; zeros are left out."""

    targeted: Count = 0
    applied: Count = 0
    pruned: Count = 0
    failed: Count = 0


class FieldChange(Part, frozen=True, kw_only=True):
    """One field that differed. Values are JSON; secrets are hidden, and long values are cut."""

    pointer: Annotated[str, Meta(max_length=LONGEST_MESSAGE)]
    declared: Annotated[
        str, Meta(max_length=LONGEST_VALUE), doc("What the repository declares; empty for nothing.")
    ] = ""
    live: Annotated[str, Meta(max_length=LONGEST_VALUE), doc("What the server had; empty for nothing.")] = ""


class ResourceReport(Part, frozen=True, kw_only=True):
    """What became of one resource."""

    path: str
    result: Annotated[str, doc("created, updated, deleted, gone, undeclared, held or failed.")]
    message: Annotated[str, Meta(max_length=LONGEST_MESSAGE)] = ""
    kind: Annotated[
        str, doc("The category of a failure: Validation, NotFound, Auth, Conflict, Transport or Internal.")
    ] = ""
    fields: Annotated[tuple[str, ...], Meta(max_length=MOST_FIELDS), doc("JSON pointers of what differed.")] = ()
    changed_by: Annotated[str, doc("Who changed the object last, if the server reports it.")] = ""
    changes: Annotated[
        tuple[FieldChange, ...],
        Meta(max_length=MOST_FIELDS),
        doc("What differed: declared against live, of the first resources alone if there is much."),
    ] = ()


class PlannedSync(Part, frozen=True, kw_only=True):
    """What a full sync would have done at a time."""

    time: Time
    request: Annotated[Text, doc("The value of the annotation that requested it.")]
    revision: str = ""
    error: Annotated[str, Meta(max_length=LONGEST_MESSAGE), doc("Why there is no plan.")] = ""
    held: Annotated[str, Meta(max_length=LONGEST_MESSAGE), doc("Why nothing of it would be carried out.")] = ""
    unchanged: Count = 0
    resources: Annotated[
        tuple[ResourceReport, ...],
        Meta(max_length=MOST_REPORTED),
        doc("What would be done to each: create, update, delete, undeclared (kept) or unknown."),
    ] = ()
    resources_omitted: Count = 0


class SyncRecord(Part, frozen=True, kw_only=True):
    """A sync that changed or held something, applied another revision, or failed."""

    time: Time
    trigger: str
    mode: Mode
    revision: str
    created: Count = 0
    updated: Count = 0
    deleted: Count = 0
    held: Annotated[Count, doc("Changes that were held; in the mode observe, all changes.")] = 0
    failed: Count = 0
    error: Annotated[str, Meta(max_length=LONGEST_VALUE)] = ""
    duration_seconds: Annotated[float, Meta(ge=0)] = 0.0


class Failure(Part, frozen=True, kw_only=True):
    """Why the last sync failed, and when it is retried."""

    reason: str
    message: Annotated[str, Meta(max_length=2 * LONGEST_MESSAGE)]
    count: Annotated[Count, doc("How many syncs failed in a row.")] = 1
    mode: Mode = "full"
    retry_time: Time


class Attempt(Part, frozen=True, kw_only=True):
    """A sync that has begun and not ended."""

    mode: Mode
    trigger: str
    time: Time


class PolicyStatus(Status, frozen=True, kw_only=True, omit_defaults=True):
    last_attempt_time: Time | None = None
    last_successful_sync_time: Time | None = None
    last_full_resync_time: Time | None = None
    last_attempted_repo_revision: str | None = None
    last_applied_repo_revision: str | None = None
    last_sync_mode: Mode | None = None
    last_secret_resource_version_hash: str | None = None
    resource_stats: ResourceStats | None = None
    last_applied_generation: Annotated[Count | None, doc("The metadata.generation of the last successful sync.")] = None
    last_dependencies_hash: Annotated[
        str | None, doc("Identifies the specs of repository, server and store of the last successful sync.")
    ] = None
    last_inputs_hash: Annotated[
        str | None, doc("Identifies all that the last sync depended on, whatever its result.")
    ] = None
    last_handled_request: Annotated[str | None, doc("The last handled value of the trigger annotation.")] = None
    last_trigger: Annotated[str | None, doc("Why the last sync ran.")] = None
    attempt: Attempt | None = None
    failure: Failure | None = None
    held: Annotated[Count | None, doc("Changes that were held; the resources say why.")] = None
    held_message: Annotated[str | None, doc("Why the first of them was held.")] = None
    drifted: Annotated[
        Count | None, doc("Resources that differ from the repository after the last sync: held or failed.")
    ] = None
    resources: Annotated[
        tuple[ResourceReport, ...],
        Meta(max_length=MOST_REPORTED),
        doc("Failed and changed resources of the last sync."),
    ] = ()
    resources_omitted: Annotated[Count | None, doc("Resources that are not listed because there are too many.")] = None
    plan: Annotated[PlannedSync | None, doc("The plan that was last requested.")] = None
    history: Annotated[
        tuple[SyncRecord, ...],
        Meta(max_length=MOST_SYNCS),
        doc("The last syncs, the newest first; one that found everything as before is not recorded."),
    ] = ()


class SyncPolicy(Declared, frozen=True, kw_only=True):
    spec: PolicySpec


def plan_request(policy: SyncPolicy) -> str:
    """The value of the annotation that requests a plan, as far as the status keeps it; empty for none."""
    return policy.metadata.annotations.get(PLAN_REQUESTED, "")[:LONGEST_TEXT]


SYNC_POLICY: Final = CustomKind(
    kind("syncpolicies", "SyncPolicy", "sp"),
    spec=PolicySpec,
    status=PolicyStatus,
    columns=(
        Column("Repo", ".spec.resourceRepositoryRef.name"),
        Column("Server", ".spec.managedServerRef.name"),
        Column("Revision", ".status.lastAppliedRepoRevision"),
        Column("Last Sync", ".status.lastSuccessfulSyncTime", "date"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Drift", ".status.drifted", "integer"),
        Column("Mode", ".spec.sync.mode", priority=1),
        Column("Message", '.status.conditions[?(@.type=="Ready")].message', priority=1),
    ),
    description="Keeps the objects of a server as a part of a repository declares them.",
    is_guarded=True,
)
