"""Users and roles as records, and the registers that cache and write them."""

from __future__ import annotations

import msgspec

from homeostat.client.base import Client
from homeostat.runtime.cache.informer import Informers
from homeostat.web.identity.api import REST_ROLE, REST_USER, Permission, RestRoleSpec, RestUserSpec, RestUserStatus
from homeostat.web.identity.permissions import numbered
from homeostat.web.kit.records.register import Record, Register


class User(Record, frozen=True, kw_only=True):
    spec: RestUserSpec = RestUserSpec()
    status: RestUserStatus = RestUserStatus()

    @property
    def can_administer(self) -> bool:
        """Whether the user is an administrator who can log in."""
        spec = self.spec
        return spec.is_admin and not spec.is_suspended and (spec.source == "ldap" or bool(spec.password_secret))


class Role(Record, frozen=True, kw_only=True):
    spec: RestRoleSpec

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return numbered(self.spec.permissions)


class Registers(msgspec.Struct, frozen=True):
    users: Register[User]
    roles: Register[Role]

    async def ready(self) -> None:
        await self.users.ready()
        await self.roles.ready()

    def role_of(self, user: User) -> Role | None:
        """None without a role, or if the role was deleted."""
        return self.roles.named(user.spec.role) if user.spec.role else None


def make_registers(client: Client, informers: Informers, *, namespace: str) -> Registers:
    return Registers(
        Register(client, informers, REST_USER, User, namespace=namespace),
        Register(client, informers, REST_ROLE, Role, namespace=namespace),
    )
