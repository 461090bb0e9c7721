"""`RepositoryWebhook`: a push webhook of a forge, which triggers a fetch of a repository. Pure data."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.crd.field_meta import Time
from homeostat.objects.declared import Declared
from homeostat.operators.sync.api.parts import ObjectRef, Part, SecretKey, Text, doc, kind

Provider = Literal["github", "gitlab", "gitea", "generic-hmac"]
HOOKS: Final = "/hooks/v1/repositorywebhooks"
"""The path of the receiver, before namespace and name."""


class BranchFilter(Part, frozen=True, kw_only=True):
    """Globs of branch names; `*` does not cross a slash."""

    include: Annotated[
        tuple[Text, ...], Meta(max_length=64), doc("Branches whose pushes trigger a sync. Default: all.")
    ] = ()
    exclude: Annotated[
        tuple[Text, ...], Meta(max_length=64), doc("Branches whose pushes do not, even if include matches them.")
    ] = ()


class WebhookSpec(Part, frozen=True, kw_only=True):
    repository_ref: Annotated[ObjectRef, doc("The ResourceRepository.")]
    provider: Annotated[Provider, doc("Who sends the webhook.")]
    secret_ref: Annotated[SecretKey, doc("The secret that the sender proves itself with.")]
    events: Annotated[
        tuple[Literal["push", "ping"], ...],
        Meta(max_length=2, extra_json_schema={"x-kubernetes-list-type": "set"}),
        doc("The events that count."),
    ] = ("push",)
    branch_filter: Annotated[BranchFilter | None, doc("Which branches count.")] = None
    suspend: Annotated[bool | None, doc("Ignore all webhooks.")] = None


class WebhookStatus(Status, frozen=True, kw_only=True, omit_defaults=True):
    webhook_path: Annotated[str | None, doc("The path of the receiver for this webhook.")] = None
    last_event_time: Annotated[Time | None, doc("When a valid webhook last arrived.")] = None
    last_delivery_id: Annotated[
        str | None, doc("The id of that delivery."), Meta(extra_json_schema={"maxLength": 256})
    ] = msgspec.field(default=None, name="lastDeliveryID")


class RepositoryWebhook(Declared, frozen=True, kw_only=True):
    spec: WebhookSpec


REPOSITORY_WEBHOOK: Final = CustomKind(
    kind("repositorywebhooks", "RepositoryWebhook", "rwh"),
    spec=WebhookSpec,
    status=WebhookStatus,
    columns=(
        Column("Provider", ".spec.provider"),
        Column("Repository", ".spec.repositoryRef.name"),
        Column("Path", ".status.webhookPath"),
        READY_COLUMN,
        AGE_COLUMN,
    ),
    description="A push webhook of a forge; it triggers a fetch of a ResourceRepository.",
    is_guarded=True,
)
