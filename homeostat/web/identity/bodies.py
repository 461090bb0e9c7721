"""Users and roles in responses. Pure. A response never holds a password hash or the name of its Secret."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.web.identity.api import Permission
from homeostat.web.identity.records import Role, User


def user_body(user: User, role: Role | None) -> JsonObject:
    spec = user.spec
    return {
        "id": user.number,
        "username": user.name,
        "email": spec.email or None,
        "display_name": spec.display_name or None,
        "source": spec.source,
        "is_admin": spec.is_admin,
        "status": "suspended" if spec.is_suspended else "active",
        "custom_role_id": role.number if role is not None else None,
        "created_at": user.created,
        "updated_at": user.updated,
        "last_login_at": user.status.last_login,
        "last_synced_at": user.status.last_synced,
    }


def role_body(role: Role) -> JsonObject:
    return {
        "id": role.number,
        "name": role.spec.name,
        "description": role.spec.description or None,
        "system_permissions": list(role.spec.system_permissions),
        "permissions": [permission_body(role, each) for each in role.permissions],
        "created_at": role.created,
        "updated_at": role.updated,
    }


def permission_body(role: Role, permission: Permission) -> JsonObject:
    return {
        "id": permission.id,
        "role_id": role.number,
        "resource_type_name": permission.type,
        "resource_type_version": permission.version,
        "operations": list(permission.operations),
        "created_at": permission.created or role.created,
    }


def token_claims(user: User, role: Role | None) -> JsonObject:
    return {
        "sub": str(user.number),
        "username": user.name,
        "is_admin": user.spec.is_admin,
        "source": user.spec.source,
        "custom_role_id": role.number if role is not None else None,
    }
