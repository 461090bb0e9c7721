"""`/users`, for administrators. Deleting a user suspends it: its number and name are not used again.

At least one administrator who can log in remains. If two administrators demote each other at the same moment, both
requests are undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import UnsetType
from msgspec.structs import replace

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import AlreadyExistsError, ApiError, NotFoundError
from homeostat.objects.json import encode
from homeostat.web.identity.api import RestUserSpec
from homeostat.web.identity.bodies import user_body
from homeostat.web.identity.credentials.hashes import Hashes
from homeostat.web.identity.credentials.password import Passwords
from homeostat.web.identity.forms import NewUser, UserChange, UserFilter
from homeostat.web.identity.records import Registers, User
from homeostat.web.kit.callers import require_admin
from homeostat.web.kit.form import read_body, read_number, read_query
from homeostat.web.kit.gate import Caller, Gate
from homeostat.web.kit.pages import page_of
from homeostat.web.kit.records.register import Register
from homeostat.web.kit.refusal import RefusalError, unknown, unprocessable


class Users:
    """`now` returns the wall clock."""

    def __init__(
        self,
        registers: Registers,
        gate: Gate,
        *,
        hashes: Hashes,
        passwords: Passwords,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._registers, self._users, self._gate = registers, registers.users, gate
        self._hashes, self._passwords, self._now = hashes, passwords, now

    async def create(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        form = await read_body(request, NewUser)
        role = self._role_name(form.custom_role_id)
        if self._users.named(form.username) is not None:
            raise taken(form.username)
        spec = RestUserSpec(
            email=form.email or "", display_name=form.display_name or "", is_admin=form.is_admin, role=role
        )
        return self._reply(201, await self.add(form.username, form.password, spec, self._users.acting(caller)))

    async def add(self, username: str, password: str, spec: RestUserSpec, acting: Register[User] | None = None) -> User:
        """`acting` writes on behalf of a caller; without one, this server acts."""
        secret = await self._hashes.create(username, await self._passwords.hash(password))
        try:
            number = await self._users.take_number()
            user = await (acting or self._users).add(username, replace(spec, password_secret=secret), number=number)
        except (ApiError, RefusalError) as error:
            await self._hashes.delete(secret)
            raise taken(username) if isinstance(error, AlreadyExistsError) else error from error
        return user

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require_admin(self._gate, request)
        wanted = read_query(request, UserFilter)
        page, headers = page_of(request, wanted, (each for each in self._users if _is_wanted(each, wanted)))
        bodies = [user_body(each, self._registers.role_of(each)) for each in page]
        return Reply(200, encode(bodies), headers=headers)

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require_admin(self._gate, request)
        return self._reply(200, self._find(captured))

    async def change(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        user, form = self._find(captured), await read_body(request, UserChange)
        role = None if isinstance(form.custom_role_id, UnsetType) else self._role_name(form.custom_role_id)
        secret = ""
        if form.password is not None:
            if user.spec.source != "manual":
                raise unprocessable(("body", "password"), "the password of this user is managed by LDAP")
            secret = await self._hashes.create(user.name, await self._passwords.hash(form.password))
        try:
            changed = await self._edit(caller, user, lambda spec: self._changed(spec, form, role=role, secret=secret))
        except (ApiError, RefusalError):
            await self._hashes.delete(secret)
            raise
        if secret:
            await self._hashes.delete(user.spec.password_secret)
        return self._reply(200, changed)

    async def suspend(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await require_admin(self._gate, request)
        await self._edit(caller, self._find(captured), lambda spec: self._changed(spec, UserChange(status="suspended")))
        return Reply(204)

    def _changed(
        self, spec: RestUserSpec, form: UserChange, *, role: str | None = None, secret: str = ""
    ) -> RestUserSpec:
        is_suspended = spec.is_suspended if form.status is None else form.status == "suspended"
        revokes_tokens = bool(secret) or (is_suspended and not spec.is_suspended)
        return replace(
            spec,
            email=spec.email if form.email is None else form.email,
            display_name=spec.display_name if form.display_name is None else form.display_name,
            is_admin=spec.is_admin if form.is_admin is None else form.is_admin,
            is_suspended=is_suspended,
            role=spec.role if role is None else role,
            password_secret=secret or spec.password_secret,
            tokens_after=round(self._now(), 6) if revokes_tokens else spec.tokens_after,
        )

    async def _edit(self, caller: Caller, user: User, change: Callable[[RestUserSpec], RestUserSpec]) -> User:
        users = self._users.acting(caller)
        is_demoted = user.can_administer and not _changed_user(user, change).can_administer
        if is_demoted and not any(each.can_administer for each in self._users if each.number != user.number):
            raise last_admin()
        try:
            changed = await users.edit(user, change)
        except NotFoundError as error:
            raise unknown("User not found") from error
        if is_demoted and not any(each.can_administer for each in await self._users.fresh()):
            # Another request demoted the other administrator meanwhile, and undoes it as well. The server writes it:
            # the caller may have lost the permission.
            is_admin, is_suspended = user.spec.is_admin, user.spec.is_suspended
            await self._users.edit(user, lambda spec: replace(spec, is_admin=is_admin, is_suspended=is_suspended))
            raise last_admin()
        return changed

    def _find(self, captured: Mapping[str, str]) -> User:
        found = self._users.find(read_number(captured, "id"))
        if found is None:
            raise unknown("User not found")
        return found

    def _role_name(self, number: int | None) -> str:
        if number is None:
            return ""
        role = self._registers.roles.find(number)
        if role is None:
            raise unprocessable(("body", "custom_role_id"), f"custom role {number} not found")
        return role.name

    def _reply(self, status: int, user: User) -> Reply:
        return Reply(status, encode(user_body(user, self._registers.role_of(user))))


def taken(username: str) -> RefusalError:
    return RefusalError(409, f"User '{username}' already exists")


def last_admin() -> RefusalError:
    return RefusalError(409, "this is the last administrator who can log in; create another one first")


def _changed_user(user: User, change: Callable[[RestUserSpec], RestUserSpec]) -> User:
    return msgspec.structs.replace(user, spec=change(user.spec))


def _is_wanted(user: User, wanted: UserFilter) -> bool:
    status = "suspended" if user.spec.is_suspended else "active"
    return (
        wanted.source in (None, user.spec.source)
        and wanted.is_admin in (None, user.spec.is_admin)
        and wanted.status in (None, status)
    )
