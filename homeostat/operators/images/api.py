"""The kind `ImageUpdate`: what the operator remembers and reports of one tracked Deployment.

The operator creates one for each, with the Deployment's name and as its dependent. `spec.pin` stops updates: a person
sets it, or the operator does when it sees that a person has set another tag. Removing it resumes them; deleting the
object makes the operator forget all it knew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.declared import Declared
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

if TYPE_CHECKING:
    from homeostat.operators.images.engine.annotations import Tracked

GROUP: Final = "images.homeostat.dev"
REQUESTED: Final = "gitops.operator.reconcile_requested_at"
"""An annotation of a Deployment: each new value triggers a pass over it."""
MOST_HISTORY: Final = 10
MOST_NOTICES: Final = 10
MOST_PROPOSALS: Final = 10
FINALIZER: Final = f"{GROUP}/pull-requests"
"""On an ImageUpdate with proposals, so that they are cleared before it is gone."""
PINNED: Final = "Pinned"
"""The type of the condition that says whether updates are stopped."""

_Text = Annotated[str, Meta(max_length=1024)]
_Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    pass


class Pin(_Part, frozen=True, kw_only=True):
    """Stops updates."""

    tag: Annotated[_Text, Meta(description="The tag that is kept.")] = ""
    reason: Annotated[_Text, Meta(description="Why, for people.")] = ""


class ImageUpdateSpec(_Part, frozen=True, kw_only=True):
    pin: Annotated[Pin | None, Meta(description="Stops updates until it is removed.")] = None


class Written(_Part, frozen=True, kw_only=True):
    """A tag that the operator wrote."""

    time: _Time
    old: Annotated[_Text, Meta(description="The tag before; empty if there was none.")] = ""
    new: _Text
    commit: Annotated[_Text, Meta(description="The commit of the manifests repository.")] = ""


class PullRequest(_Part, frozen=True, kw_only=True):
    """The request that proposes a tag, where changes are delivered by requests."""

    url: _Text = ""
    branch: _Text = ""
    state: Annotated[
        Literal["open", "refused", "changed"],
        Meta(description="refused: closed without a merge; changed: somebody else pushed to its branch."),
    ] = "open"
    proposed: Annotated[
        tuple[_Text, ...], Meta(description="The tags that were proposed, the last one first.", max_length=MOST_HISTORY)
    ] = ()


class Proposal(_Part, frozen=True, kw_only=True):
    """A branch with a change of the workload, until the operator has cleared it."""

    branch: _Text
    workload: Annotated[_Text, Meta(description="The workload: NAME of a Deployment, KIND/NAME of others.")]
    settings: Annotated[
        dict[str, Annotated[str, Meta(max_length=4096)]],
        Meta(description="The annotations that say where the branch is, without gitops.operator."),
    ] = {}


class Result(_Part, frozen=True, kw_only=True):
    """The result of the last pass that differed from the one before."""

    action: _Text
    message: Annotated[str, Meta(max_length=4096)] = ""
    time: _Time


class Notice(_Part, frozen=True, kw_only=True):
    """A notification to send."""

    id: _Text
    time: _Time
    text: Annotated[str, Meta(max_length=4096)]
    action: _Text = ""
    old: _Text = ""
    new: _Text = ""
    commit: _Text = ""


class ImageUpdateStatus(Status, frozen=True, kw_only=True, omit_defaults=True):
    image: _Text | None = None
    tag: Annotated[_Text | None, Meta(description="The tag in the manifests repository.")] = None
    wanted: Annotated[_Text | None, Meta(description="The tag that is due.")] = None
    since: Annotated[_Time | None, Meta(description="Since when the due tag is known.")] = None
    attempt: Annotated[_Text | None, Meta(description="A tag that is being written.")] = None
    commit: Annotated[_Text | None, Meta(description="The last commit that the operator pushed.")] = None
    pull_request: PullRequest | None = None
    proposals: Annotated[
        tuple[Proposal, ...],
        Meta(max_length=MOST_PROPOSALS, description="Branches that the operator clears once nobody needs them."),
    ] = ()
    result: Result | None = None
    history: Annotated[tuple[Written, ...], Meta(max_length=MOST_HISTORY)] = ()
    notified: Annotated[_Text | None, Meta(description="Identifies the last notification.")] = None
    reported: Annotated[_Text | None, Meta(description="Identifies the last status of a commit.")] = None
    outbox: Annotated[
        tuple[Notice, ...], Meta(max_length=MOST_NOTICES, description="Notifications that were not sent yet.")
    ] = ()
    handled_request: Annotated[_Text | None, Meta(description="The last handled value of the trigger.")] = None


class ImageUpdate(Declared, frozen=True, kw_only=True):
    spec: ImageUpdateSpec = ImageUpdateSpec()


IMAGE_UPDATE: Final = CustomKind(
    Kind(GROUP, "v1", "imageupdates", "ImageUpdate", is_namespaced=True, short_names=("imu",)),
    spec=ImageUpdateSpec,
    status=ImageUpdateStatus,
    columns=(
        Column("Image", ".status.image"),
        Column("Tag", ".status.tag"),
        Column("Wanted", ".status.wanted", priority=1),
        Column("Result", ".status.result.action"),
        Column("Pinned", ".spec.pin.tag"),
        Column("Request", ".status.pullRequest.url", priority=1),
        READY_COLUMN,
        AGE_COLUMN,
    ),
    description="What the operator of image updates knows of a Deployment, and a pin that stops updates of it.",
)
KINDS: Final = (IMAGE_UPDATE,)


def owned(tracked: Tracked) -> JsonObject:
    """A new ImageUpdate of the workload."""
    owner: JsonObject = {
        "apiVersion": tracked.kind.api_version,
        "kind": tracked.kind.kind,
        "name": tracked.name,
        "uid": tracked.uid,
        "controller": True,
    }
    new = IMAGE_UPDATE.kind.new(tracked.record)
    new["metadata"]["ownerReferences"] = [owner]
    return new
