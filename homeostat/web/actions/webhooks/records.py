"""Webhooks as stored, and as callers send and see them.

A field that is absent from an update stays as it is; a null filter is removed, so that the webhook is called for all
types or versions again.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from homeostat.objects.json import JsonObject
from homeostat.web.actions.webhooks.api import (
    WRITES,
    FailurePolicy,
    Ordering,
    RestWebhookSpec,
    Text,
    TimeoutSeconds,
    Url,
    WebhookType,
    Write,
)
from homeostat.web.kit.pages import PageQuery
from homeostat.web.kit.records.register import Record

Name = Annotated[str, Meta(min_length=1, max_length=255)]
Operations = Annotated[tuple[Write, ...], Meta(min_length=1, max_length=16)]


class Webhook(Record, frozen=True, kw_only=True):
    spec: RestWebhookSpec


class NewWebhook(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    webhook_url: Url
    webhook_type: WebhookType
    operations: Operations = WRITES
    resource_type_name: Text | None = None
    resource_type_version: Text | None = None
    timeout_seconds: TimeoutSeconds = 10
    failure_policy: FailurePolicy = "Fail"
    ordering: Ordering = 0


class WebhookChange(msgspec.Struct, frozen=True, kw_only=True):
    name: Name | None = None
    webhook_url: Url | None = None
    webhook_type: WebhookType | None = None
    operations: Operations | None = None
    resource_type_name: Text | UnsetType | None = UNSET
    resource_type_version: Text | UnsetType | None = UNSET
    timeout_seconds: TimeoutSeconds | None = None
    failure_policy: FailurePolicy | None = None
    ordering: Ordering | None = None


class WebhookFilter(PageQuery, frozen=True, kw_only=True):
    resource_type_name: str | None = None
    resource_type_version: str | None = None
    webhook_type: WebhookType | None = None

    def takes(self, hook: RestWebhookSpec) -> bool:
        return (
            self.resource_type_name in (None, hook.resource_type)
            and self.resource_type_version in (None, hook.resource_version)
            and self.webhook_type in (None, hook.type)
        )


_NAMES = {
    "name": "name",
    "webhook_url": "url",
    "webhook_type": "type",
    "operations": "operations",
    "resource_type_name": "resource_type",
    "resource_type_version": "resource_version",
    "timeout_seconds": "timeout_seconds",
    "failure_policy": "failure_policy",
    "ordering": "ordering",
}
"""The names of the fields in the API and in the spec."""
_FILTERS = frozenset({"resource_type_name", "resource_type_version"})


def new_spec(form: NewWebhook) -> RestWebhookSpec:
    given = {kept: getattr(form, name) for name, kept in _NAMES.items()}
    return RestWebhookSpec(**{kept: value for kept, value in given.items() if value is not None})


def changed_spec(spec: RestWebhookSpec, form: WebhookChange) -> RestWebhookSpec:
    changes: dict[str, object] = {}
    for name, kept in _NAMES.items():
        value = getattr(form, name)
        if name in _FILTERS:
            if value is not UNSET:
                changes[kept] = value or ""
        elif value is not None:
            changes[kept] = value
    return replace(spec, **changes)


def webhook_body(webhook: Webhook) -> JsonObject:
    spec = webhook.spec
    fields: JsonObject = {name: getattr(spec, kept) for name, kept in _NAMES.items()}
    fields |= {name: fields[name] or None for name in _FILTERS}
    return {"id": webhook.number, **fields, "created_at": webhook.created, "updated_at": webhook.updated}
