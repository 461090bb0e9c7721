"""The bodies of requests about users and roles. A change keeps each field that is absent or null."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from homeostat.web.identity.api import ANY, OPERATIONS, Operation, Source, SystemPermission, Text
from homeostat.web.kit.form import Name
from homeostat.web.kit.pages import PageQuery

Username = Name
Password = Annotated[str, Meta(min_length=8, max_length=1024)]
Title = Annotated[str, Meta(min_length=1, max_length=255)]
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
    """`custom_role_id: null` removes the role. A new password revokes the tokens that were issued before."""

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
    resource_type_name: Title = ANY
    resource_type_version: Title = ANY
    operations: Operations = OPERATIONS


class PermissionChange(msgspec.Struct, frozen=True):
    operations: Operations


class NewRole(msgspec.Struct, frozen=True, kw_only=True):
    name: Title
    description: Description | None = None
    system_permissions: SystemPermissions = ()
    permissions: Annotated[tuple[NewPermission, ...], Meta(max_length=1000)] = ()


class RoleChange(msgspec.Struct, frozen=True, kw_only=True):
    name: Title | None = None
    description: Description | None = None
    system_permissions: SystemPermissions | None = None
