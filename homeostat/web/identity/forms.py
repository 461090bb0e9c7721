"""What callers send about users and roles. Of a change, a field that is absent or null is left as it is."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from homeostat.web.identity.api import ANY, OPERATIONS, Operation, Source, SystemPermission, Text
from homeostat.web.kit.pages import PageQuery

Username = Annotated[str, Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")]
Password = Annotated[str, Meta(min_length=8, max_length=1024)]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
Description = Annotated[str, Meta(max_length=4096)]
Status = Literal["active", "suspended"]
Number = Annotated[int, Meta(ge=0, le=2**53)]
Operations = Annotated[tuple[Operation, ...], Meta(min_length=1, max_length=16)]
SystemPermissions = Annotated[tuple[SystemPermission, ...], Meta(max_length=16)]


class NewUser(msgspec.Struct, frozen=True, kw_only=True):
    username: Username
    password: Password
    email: Text | None = None
    display_name: Text | None = None
    is_admin: bool = False
    custom_role_id: Number | None = None


class UserChange(msgspec.Struct, frozen=True, kw_only=True):
    """A role that is null is taken away. A new password voids the tokens that were given for the old one."""

    email: Text | None = None
    display_name: Text | None = None
    is_admin: bool | None = None
    status: Status | None = None
    custom_role_id: Number | UnsetType | None = UNSET
    password: Password | None = None


class UserFilter(PageQuery, frozen=True, kw_only=True):
    source: Source | None = None
    is_admin: bool | None = None
    status: Status | None = None


class NewPermission(msgspec.Struct, frozen=True, kw_only=True):
    resource_type_name: Name = ANY
    resource_type_version: Name = ANY
    operations: Operations = OPERATIONS


class PermissionChange(msgspec.Struct, frozen=True):
    operations: Operations


class NewRole(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    description: Description | None = None
    system_permissions: SystemPermissions = ()
    permissions: Annotated[tuple[NewPermission, ...], Meta(max_length=1000)] = ()


class RoleChange(msgspec.Struct, frozen=True, kw_only=True):
    name: Name | None = None
    description: Description | None = None
    system_permissions: SystemPermissions | None = None
