"""The kinds behind the REST API: who may use it, in what role, and who is asked before a resource is written.

They are records of the face that serves the API and nobody reconciles them, but they can be declared with kubectl like
anything else. A user's name is the object's; what a REST client calls `id` is a label. Nothing here is secret: a
password's hash lies in a Secret that the user names.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, Column, CustomKind
from homeostat.objects.kind import Kind
from homeostat.operators.actions.runs.run import Count, Time

_GROUP: Final = "homeostat.dev"
_VERSION: Final = "v1alpha1"
ANY: Final = "*"

Operation = Literal["CREATE", "READ", "UPDATE", "DELETE"]
Write = Literal["CREATE", "UPDATE", "DELETE"]
SystemPermission = Literal["view_webhooks", "view_plugins"]
Source = Literal["manual", "ldap"]
WebhookType = Literal["mutating", "validating"]
FailurePolicy = Literal["Fail", "Ignore"]
OPERATIONS: Final[tuple[Operation, ...]] = ("CREATE", "READ", "UPDATE", "DELETE")
WRITES: Final[tuple[Write, ...]] = ("CREATE", "UPDATE", "DELETE")

Text = Annotated[str, Meta(max_length=255)]
Url = Annotated[str, Meta(min_length=1, max_length=2048)]
TimeoutSeconds = Annotated[int, Meta(ge=1, le=60)]
Ordering = Annotated[int, Meta(ge=-(10**6), le=10**6)]


class _Part(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    pass


class RestUserSpec(_Part, frozen=True):
    email: Text = ""
    display_name: Text = ""
    source: Source = "manual"
    is_admin: bool = False
    is_suspended: bool = False
    role: Annotated[Text, Meta(description="The name of a RestRole; none may nothing but log in.")] = ""
    password_secret: Annotated[Text, Meta(description="The Secret that holds the hash of the password.")] = ""
    tokens_after: Annotated[float, Meta(ge=0, description="Tokens from before are void; in seconds since 1970.")] = 0.0
    directory_name: Annotated[str, Meta(max_length=1024, description="The distinguished name, of source ldap.")] = ""


class RestUserStatus(_Part, frozen=True, omit_defaults=True):
    last_login: Time | None = None
    last_synced: Time | None = None


class Permission(_Part, frozen=True):
    """What may be done to the resources of a type. `*` stands for any type, or any version."""

    id: Count = 0
    type: Annotated[Text, Meta(min_length=1)] = ANY
    version: Annotated[Text, Meta(min_length=1)] = ANY
    operations: Annotated[tuple[Operation, ...], Meta(max_length=16)] = OPERATIONS


class RestRoleSpec(_Part, frozen=True):
    name: Annotated[Text, Meta(min_length=1)]
    description: Annotated[str, Meta(max_length=4096)] = ""
    system_permissions: Annotated[tuple[SystemPermission, ...], Meta(max_length=16)] = ()
    permissions: Annotated[tuple[Permission, ...], Meta(max_length=1000)] = ()


class RestWebhookSpec(_Part, frozen=True):
    name: Annotated[Text, Meta(min_length=1)]
    url: Url
    type: WebhookType
    operations: Annotated[tuple[Write, ...], Meta(max_length=16)] = WRITES
    resource_type: Annotated[Text, Meta(description="Empty for all types.")] = ""
    resource_version: Annotated[Text, Meta(description="Empty for all versions.")] = ""
    timeout_seconds: TimeoutSeconds = 10
    failure_policy: FailurePolicy = "Fail"
    ordering: Ordering = 0


REST_USER: Final = CustomKind(
    Kind(_GROUP, _VERSION, "restusers", "RestUser", is_namespaced=True),
    spec=RestUserSpec,
    status=RestUserStatus,
    columns=(
        Column("Admin", ".spec.isAdmin", "boolean"),
        Column("Role", ".spec.role"),
        Column("Suspended", ".spec.isSuspended", "boolean"),
        Column("Source", ".spec.source"),
        AGE_COLUMN,
    ),
    description="Somebody who may use the REST API.",
)
REST_ROLE: Final = CustomKind(
    Kind(_GROUP, _VERSION, "restroles", "RestRole", is_namespaced=True),
    spec=RestRoleSpec,
    status=None,
    columns=(Column("Role", ".spec.name"), Column("Description", ".spec.description", priority=1), AGE_COLUMN),
    description="What users of the REST API may do.",
)
REST_WEBHOOK: Final = CustomKind(
    Kind(_GROUP, _VERSION, "restwebhooks", "RestWebhook", is_namespaced=True),
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
    description="Who is asked before the REST API writes a resource.",
)
KINDS: Final = (REST_USER, REST_ROLE, REST_WEBHOOK)
