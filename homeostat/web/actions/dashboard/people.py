"""The users and roles of the REST API, and the tokens of the control plane, as the pages about access show them."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.runtime.faces.face import TokenFacts
from homeostat.web.dashboard.access.people import RoleFacts, UserFacts
from homeostat.web.identity.api import Permission
from homeostat.web.identity.records import Registers


class People:
    def __init__(self, registers: Registers, tokens: Callable[[], list[TokenFacts]] | None) -> None:
        self._registers, self._tokens = registers, tokens

    async def users(self) -> list[UserFacts]:
        await self._registers.ready()
        return [
            UserFacts(
                number=each.number,
                name=each.name,
                display_name=each.spec.display_name,
                source=each.spec.source,
                role=each.spec.role,
                is_admin=each.spec.is_admin,
                is_suspended=each.spec.is_suspended,
                created=each.created,
            )
            for each in self._registers.users
        ]

    async def roles(self) -> list[RoleFacts]:
        await self._registers.ready()
        return [
            RoleFacts(
                number=each.number,
                name=each.spec.name,
                description=each.spec.description,
                permissions=tuple(map(_text, each.permissions)) + each.spec.system_permissions,
            )
            for each in self._registers.roles
        ]

    def tokens(self) -> list[TokenFacts] | None:
        return None if self._tokens is None else self._tokens()


def _text(permission: Permission) -> str:
    return f"{', '.join(permission.operations)} {permission.type}/{permission.version}"
