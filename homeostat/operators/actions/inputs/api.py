"""The kind `ResourceInput`: a source of declarations for resources of a namespace, and the state of its last read."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.crd.field_meta import Count, Time
from homeostat.objects.declared import Declared
from homeostat.objects.kind import Kind
from homeostat.objects.schema.schema import Rule
from homeostat.operators.actions.runs.run import Part

INPUT: Final = "homeostat.dev/input"
"""A label of resources: the input that created them. Other inputs do not change or delete them."""
DIGEST: Final = "homeostat.dev/input-digest"
"""An annotation of resources: the digest of the last applied declaration."""
SOURCE: Final = "homeostat.dev/input-source"
"""An annotation of resources: the file or message that declares them."""
FINALIZER: Final = "homeostat.dev/input"
MOST_ERRORS: Final = 50
_LONGEST_LABEL = 63


class Prune(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Whether resources that are no longer declared are deleted. Nothing is deleted while a part of the source is
    unreadable.
    """

    is_enabled: bool = True
    max_percent: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="The largest share of the input's resources that is deleted at once. Larger deletions "
            "are reported, not performed.",
        ),
    ] = 50


class ResourceInputSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    plugin: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=253,
            description="The input plugin: git, url, amqp, or one of an installed package.",
        ),
    ]
    config: dict[str, Any] = {}
    interval_seconds: Annotated[int, Meta(ge=1, le=10**6, description="Seconds between two reads of the source.")] = 60
    prune: Prune = Prune()
    deletion_policy: Annotated[
        Literal["Orphan", "Delete"], Meta(description="What happens to the resources when the input is deleted.")
    ] = "Orphan"


class SourceError(Part, frozen=True, kw_only=True):
    """An error in one file, message or resource of the source."""

    source: str
    message: str


class ResourceInputStatus(Status, frozen=True, omit_defaults=True):
    revision: str = ""
    """The last revision that was read: a commit, an ETag or a hash."""
    revision_time: Time | None = None
    """When the revision was first seen."""
    declared: Count = 0
    applied: Count = 0
    """Resources that match their declarations."""
    failed: Count = 0
    """Resources and files that could not be applied."""
    pending_deletions: Count = 0
    """Resources that are no longer declared and were not deleted."""
    taken: Count = 0
    rejected: Count = 0
    """Messages of a queue that were applied and rejected; after a crash the numbers may be too low."""
    errors: Annotated[tuple[SourceError, ...], Meta(max_length=MOST_ERRORS)] = ()


class ResourceInput(Declared, frozen=True):
    spec: ResourceInputSpec


RESOURCE_INPUT: Final = CustomKind(
    Kind("homeostat.dev", "v1alpha1", "resourceinputs", "ResourceInput", is_namespaced=True, short_names=("ri",)),
    spec=ResourceInputSpec,
    status=ResourceInputStatus,
    columns=(
        Column("Plugin", ".spec.plugin"),
        Column("Revision", ".status.revision", priority=1),
        Column("Declared", ".status.declared", "integer"),
        Column("Applied", ".status.applied", "integer"),
        Column("Failed", ".status.failed", "integer"),
        READY_COLUMN,
        Column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
        Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
        AGE_COLUMN,
    ),
    rules=(Rule(f"self.metadata.name.size() <= {_LONGEST_LABEL}", "the name must fit into a label value"),),
    description="A source that declares resources of the namespace: a Git repository, a URL or a queue.",
    # It decides where secrets are sent, and its configuration may hold some.
    read_by="nobody",
    written_by="nobody",
)
