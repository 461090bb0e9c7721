"""The kinds RestUser and RestRole: who may use the HTTP apps of a process, and what a role allows.

No controller reconciles them, but they can be declared with kubectl like any object. The name of the object is the user
name; the `id` of REST clients is a label. The objects hold no secrets: a password hash is stored elsewhere, under
a name that the user refers to.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, Column, CustomKind
from homeostat.objects.crd.field_meta import Count, Time
from homeostat.objects.kind import Kind

_GROUP: Final = "homeostat.dev"
_VERSION: Final = "v1alpha1"
ANY: Final = "*"

Operation = Literal["CREATE", "READ", "UPDATE", "DELETE"]
SystemPermission = Literal["view_webhooks", "view_plugins"]
Source = Literal["manual", "ldap"]
OPERATIONS: Final[tuple[Operation, ...]] = ("CREATE", "READ", "UPDATE", "DELETE")

Text = Annotated[str, Meta(max_length=255)]


class _Part(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    pass


class RestUserSpec(_Part, frozen=True):
    email: Text = ""
    display_name: Text = ""
    source: Source = "manual"
    is_admin: bool = False
    is_suspended: bool = False
    role: Annotated[Text, Meta(description="The name of a RestRole. Without one, the user may only log in.")] = ""
    password_secret: Annotated[Text, Meta(description="The name of the stored password hash. Set by the API.")] = ""
    tokens_after: Annotated[
        float, Meta(ge=0, description="Tokens issued before this time are invalid; in seconds since 1970.")
    ] = 0.0
    directory_name: Annotated[
        str, Meta(max_length=1024, description="The distinguished name in the directory, for source ldap.")
    ] = ""


class RestUserStatus(_Part, frozen=True, omit_defaults=True):
    last_login: Time | None = None
    last_synced: Time | None = None


class Permission(_Part, frozen=True):
    """Allowed operations on the resources of a type. `*` stands for any type, or any version."""

    id: Count = 0
    type: Annotated[Text, Meta(min_length=1)] = ANY
    version: Annotated[Text, Meta(min_length=1)] = ANY
    operations: Annotated[tuple[Operation, ...], Meta(max_length=16)] = OPERATIONS
    created: Time | None = None


class RestRoleSpec(_Part, frozen=True):
    name: Annotated[Text, Meta(min_length=1)]
    description: Annotated[str, Meta(max_length=4096)] = ""
    system_permissions: Annotated[tuple[SystemPermission, ...], Meta(max_length=16)] = ()
    permissions: Annotated[tuple[Permission, ...], Meta(max_length=1000)] = ()


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
    description="A user of the REST API.",
    read_by="nobody",
    written_by="nobody",
)
REST_ROLE: Final = CustomKind(
    Kind(_GROUP, _VERSION, "restroles", "RestRole", is_namespaced=True),
    spec=RestRoleSpec,
    status=None,
    columns=(Column("Role", ".spec.name"), Column("Description", ".spec.description", priority=1), AGE_COLUMN),
    description="The permissions of users of the REST API.",
    read_by="nobody",
    written_by="nobody",
)
KINDS: Final = (REST_USER, REST_ROLE)
