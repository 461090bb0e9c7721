"""`/custom-roles` and the permissions below them, for administrators.

Deleting a role removes it from its users first. A permission is found below its own role only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import encode
from homeostat.objects.time.timestamp import format_time
from homeostat.web.identity.api import Permission, RestRoleSpec, RestUserSpec, SystemPermission
from homeostat.web.identity.bodies import permission_body, role_body
from homeostat.web.identity.forms import NewPermission, NewRole, PermissionChange, RoleChange
from homeostat.web.identity.permissions import numbered
from homeostat.web.identity.records import Registers, Role
from homeostat.web.kit.callers import require_admin
from homeostat.web.kit.form import read_body, read_number, read_query
from homeostat.web.kit.gate import Caller, Gate
from homeostat.web.kit.pages import PageQuery, page_of
from homeostat.web.kit.records.titles import TakenError, add_titled, edit_titled
from homeostat.web.kit.refusal import RefusalError, unknown


class Roles:
    def __init__(self, registers: Registers, gate: Gate) -> None:
        self._registers, self._roles, self._gate = registers, registers.roles, gate

    async def create(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        form = await read_body(request, NewRole)
        _check_apart(form.permissions)
        spec = RestRoleSpec(
            name=form.name,
            description=form.description or "",
            system_permissions=_once(form.system_permissions),
            permissions=numbered(_permission(each) for each in form.permissions),
        )
        try:
            role = await add_titled(self._roles.acting(caller), "role", spec)
        except TakenError as error:
            raise _taken(error) from error
        return Reply(201, encode(role_body(role)))

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require_admin(self._gate, request)
        page, headers = page_of(request, read_query(request, PageQuery), self._roles)
        return Reply(200, encode([role_body(each) for each in page]), headers=headers)

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require_admin(self._gate, request)
        return Reply(200, encode(role_body(self._find(captured))))

    async def change(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        role, form = self._find(captured), await read_body(request, RoleChange)
        changed = await self._edit(caller, role, lambda spec: _changed(spec, form))
        return Reply(200, encode(role_body(changed)))

    async def delete(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        role = self._find(captured)
        users = self._registers.users.acting(caller)
        for user in users:
            if user.spec.role == role.name:
                await users.edit(user, lambda spec: _without_role(spec, role.name))
        await self._roles.acting(caller).remove(role)
        return Reply(204)

    async def add_permission(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        role, form = self._find(captured), await read_body(request, NewPermission)
        number = 0

        def add(spec: RestRoleSpec) -> RestRoleSpec:
            nonlocal number
            current = numbered(spec.permissions)
            if _about(form) in {(each.type, each.version) for each in current}:
                raise RefusalError(409, "Permission for this resource type/version already exists")
            permissions = numbered((*current, _permission(form)))
            number = permissions[-1].id
            return replace(spec, permissions=permissions)

        changed = await self._edit(caller, role, add)
        return Reply(201, encode(permission_body(changed, _named(changed, number))))

    async def change_permission(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        role, form = self._find(captured), await read_body(request, PermissionChange)
        number = _named(role, read_number(captured, "permission")).id
        changed = await self._edit(caller, role, lambda spec: _with_operations(spec, number, form))
        return Reply(200, encode(permission_body(changed, _named(changed, number))))

    async def delete_permission(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        role = self._find(captured)
        number = _named(role, read_number(captured, "permission")).id
        await self._edit(caller, role, lambda spec: _without(spec, number))
        return Reply(204)

    async def _edit(self, caller: Caller, role: Role, change: Callable[[RestRoleSpec], RestRoleSpec]) -> Role:
        try:
            return await edit_titled(self._roles.acting(caller), role, change)
        except TakenError as error:
            raise _taken(error) from error
        except NotFoundError as error:
            raise unknown("Role not found") from error

    def _find(self, captured: Mapping[str, str]) -> Role:
        found = self._roles.find(read_number(captured, "id"))
        if found is None:
            raise unknown("Role not found")
        return found


def _taken(title: TakenError) -> RefusalError:
    return RefusalError(409, f"Role '{title}' already exists")


def _once(given: tuple[SystemPermission, ...]) -> tuple[SystemPermission, ...]:
    return tuple(dict.fromkeys(given))


def _about(form: NewPermission) -> tuple[str, str]:
    return form.resource_type_name, form.resource_type_version


def _check_apart(forms: tuple[NewPermission, ...]) -> None:
    if len({_about(each) for each in forms}) < len(forms):
        raise RefusalError(409, "two permissions have the same type and version")


def _permission(form: NewPermission) -> Permission:
    operations = tuple(dict.fromkeys(form.operations))
    return Permission(
        type=form.resource_type_name,
        version=form.resource_type_version,
        operations=operations,
        created=format_time(datetime.now(UTC)),
    )


def _named(role: Role, number: int) -> Permission:
    found = next((each for each in role.permissions if each.id == number), None)
    if found is None:
        raise unknown("Permission not found")
    return found


def _changed(spec: RestRoleSpec, form: RoleChange) -> RestRoleSpec:
    return replace(
        spec,
        name=spec.name if form.name is None else form.name,
        description=spec.description if form.description is None else form.description,
        system_permissions=(
            spec.system_permissions if form.system_permissions is None else _once(form.system_permissions)
        ),
    )


def _with_operations(spec: RestRoleSpec, number: int, form: PermissionChange) -> RestRoleSpec:
    operations = tuple(dict.fromkeys(form.operations))
    current = numbered(spec.permissions)
    return replace(
        spec,
        permissions=tuple(replace(each, operations=operations) if each.id == number else each for each in current),
    )


def _without(spec: RestRoleSpec, number: int) -> RestRoleSpec:
    return replace(spec, permissions=tuple(each for each in numbered(spec.permissions) if each.id != number))


def _without_role(spec: RestUserSpec, role: str) -> RestUserSpec:
    return replace(spec, role="") if spec.role == role else spec
