"""The kind `RestWebhook`: a webhook that the REST API calls before it writes a resource. It is not reconciled."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, Column, CustomKind
from homeostat.objects.kind import Kind

Write = Literal["CREATE", "UPDATE", "DELETE"]
WebhookType = Literal["mutating", "validating"]
FailurePolicy = Literal["Fail", "Ignore"]
WRITES: Final[tuple[Write, ...]] = ("CREATE", "UPDATE", "DELETE")

Text = Annotated[str, Meta(max_length=255)]
Url = Annotated[str, Meta(min_length=1, max_length=2048)]
TimeoutSeconds = Annotated[int, Meta(ge=1, le=60)]
Ordering = Annotated[int, Meta(ge=-(10**6), le=10**6)]


class RestWebhookSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    name: Annotated[Text, Meta(min_length=1)]
    url: Url
    type: WebhookType
    operations: Annotated[tuple[Write, ...], Meta(max_length=16)] = WRITES
    resource_type: Annotated[Text, Meta(description="The resource type; empty for all types.")] = ""
    resource_version: Annotated[Text, Meta(description="The version of the type; empty for all versions.")] = ""
    timeout_seconds: TimeoutSeconds = 10
    failure_policy: FailurePolicy = "Fail"
    ordering: Ordering = 0


REST_WEBHOOK: Final = CustomKind(
    Kind("homeostat.dev", "v1alpha1", "restwebhooks", "RestWebhook", is_namespaced=True),
    spec=RestWebhookSpec,
    status=None,
    columns=(
        Column("Webhook", ".spec.name"),
        Column("Type", ".spec.type"),
        Column("Order", ".spec.ordering", "integer"),
        Column("On failure", ".spec.failurePolicy"),
        Column("URL", ".spec.url", priority=1),
        AGE_COLUMN,
    ),
    description="A webhook that the REST API calls before it writes a resource.",
    read_by="nobody",
    written_by="nobody",
)
